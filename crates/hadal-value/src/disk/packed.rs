//! Equations as they are swept: rows one after the other in few bytes, in chunks of which the first node is known. They are made from
//! the sorted run when a process begins, and belong to it alone.

use super::DiskError;
use super::rows::Row;
use hadal_store::Disk;
use hadal_store::vfs::{Caching, VfsFile};
use std::ops::Range;
use std::sync::Arc;

/// Bytes of a chunk, at least, unless memory is short.
const CHUNK: u64 = 1 << 16;

/// Rows in a file.
pub(super) struct Packed {
    file: Arc<dyn VfsFile>,
    /// The first node of each chunk and where it begins; at last the end of the file.
    chunks: Vec<(u64, u64)>,
}

/// Rows being written.
pub(super) struct Packing {
    disk: Disk,
    name: String,
    file: Arc<dyn VfsFile>,
    chunks: Vec<(u64, u64)>,
    held: Vec<u8>,
    written: u64,
    last: u64,
    size: u64,
}

impl Packing {
    /// A file on `disk` for so many bytes at most, about.
    pub fn new(disk: &Disk, bytes: u64) -> Result<Self, DiskError> {
        let name = disk.fresh_name("packed");
        let file = disk.vfs.create(&name, Caching::Buffered)?;
        // Few chunks where there is much, small ones where there is little room.
        let size = (bytes / 4096).max(CHUNK).min((disk.governor.limit() / 64).max(4 << 10));
        let chunks = Vec::new();
        Ok(Packing { disk: disk.clone(), name, file, chunks, held: Vec::new(), written: 0, last: 0, size })
    }

    /// Adds the row of a node, in ascending order.
    pub fn push(&mut self, node: u64, row: &Row) -> Result<(), DiskError> {
        if self.held.len() as u64 >= self.size {
            self.flush()?;
        }
        if self.held.is_empty() {
            self.chunks.push((node, self.written));
            self.last = node;
        }
        let out = &mut self.held;
        write(out, node - std::mem::replace(&mut self.last, node));
        write(out, row.ends.len() as u64);
        for (branches, reward) in row.choices() {
            write(out, u64::from(reward));
            write(out, branches.len() as u64);
            for &(to, weight) in branches {
                let away = to.wrapping_sub(node) as i64;
                // Small in either direction.
                write(out, (away << 1 ^ away >> 63) as u64);
                write(out, u64::from(weight));
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), DiskError> {
        self.file.write_at(self.written, &self.held)?;
        self.disk.traffic.add_written(self.held.len() as u64);
        self.written += self.held.len() as u64;
        self.held.clear();
        Ok(())
    }

    /// What was written.
    pub fn finish(mut self) -> Result<Packed, DiskError> {
        self.flush()?;
        self.chunks.push((u64::MAX, self.written));
        Ok(Packed { file: self.disk.vfs.open(&self.name, Caching::Buffered)?, chunks: self.chunks })
    }
}

impl Packed {
    /// Tells the rows of the nodes of a range, in order.
    pub fn scan(&self, range: &Range<u64>, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        let first = self.chunks.partition_point(|chunk| chunk.0 <= range.start).saturating_sub(1);
        let (mut bytes, mut row) = (Vec::new(), Row::default());
        for pair in self.chunks[first..].windows(2) {
            let ((mut node, begin), (_, end)) = (pair[0], pair[1]);
            if node >= range.end {
                break;
            }
            bytes.resize((end - begin) as usize, 0);
            let mut read = 0;
            while read < bytes.len() {
                match self.file.read_at(begin + read as u64, &mut bytes[read..])? {
                    0 => return Err(DiskError::Damaged("packed equations are cut off".into())),
                    more => read += more,
                }
            }
            let mut rest = &bytes[..];
            while !rest.is_empty() {
                node += take(&mut rest);
                if node >= range.end {
                    return Ok(());
                }
                unpack(node, &mut rest, &mut row);
                if node >= range.start {
                    each(node, &row);
                }
            }
        }
        Ok(())
    }
}

fn unpack(node: u64, rest: &mut &[u8], row: &mut Row) {
    row.clear();
    for _ in 0..take(rest) {
        row.rewards.push(take(rest) as u32);
        for _ in 0..take(rest) {
            let away = take(rest);
            let to = node.wrapping_add(away >> 1 ^ (away & 1).wrapping_neg());
            row.branches.push((to, take(rest) as u32));
        }
        row.ends.push(row.branches.len() as u32);
    }
}

/// Seven bits a byte, the lowest first; the last byte has no eighth.
fn write(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[inline]
fn take(rest: &mut &[u8]) -> u64 {
    let (mut value, mut shift) = (0, 0);
    while let Some((&byte, more)) = rest.split_first() {
        *rest = more;
        value |= u64::from(byte & 0x7F) << shift;
        if byte < 0x80 {
            break;
        }
        shift += 7;
    }
    value
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_store::Governor;
    use hadal_store::vfs::{Folder, IoThreads};

    #[test]
    fn rows_of_any_range_are_read_as_they_were_packed() {
        let place = tempfile::tempdir().expect("a place");
        let folder = Arc::new(Folder::create(place.path()).expect("a folder"));
        let disk = Disk::new(folder, IoThreads::new(1), Governor::new(1 << 18), 0);
        let mut random = hadal_testkit::Random::new(3);
        let (mut packing, mut rows) = (Packing::new(&disk, 1 << 20).expect("a file"), Vec::new());
        let mut node = 5;
        for _ in 0..3000 {
            let mut row = Row::default();
            for _ in 0..1 + random.below(3usize) {
                for _ in 0..1 + random.below(4usize) {
                    row.branches.push((random.below(1u64 << 33), random.below(1u32 << 20)));
                }
                row.ends.push(row.branches.len() as u32);
                row.rewards.push(random.below(1u32 << 30));
            }
            packing.push(node, &row).expect("written");
            rows.push((node, row));
            node += 1 + random.below(3u64) * random.below(1000u64);
        }
        let packed = packing.finish().expect("finished");
        assert!(packed.chunks.len() > 3, "{}", packed.chunks.len());
        for range in [0..u64::MAX, 5..6, 0..5, 1000..2000, node / 2..node / 2 + 50_000, node..node + 9] {
            let mut wanted = rows.iter().filter(|(node, _)| range.contains(node));
            let read = packed.scan(&range, |node, row| {
                let (expected, same) = wanted.next().expect("a row");
                assert_eq!((node, &row.branches), (*expected, &same.branches), "{range:?}");
                assert_eq!((&row.ends, &row.rewards), (&same.ends, &same.rewards));
            });
            assert!(read.is_ok() && wanted.next().is_none(), "{range:?}");
        }
    }
}
