//! A set of numbers as a file of a run: words, least significant byte first (`docs/format.md`, section 4).

use super::ManifestFile;
use crate::error::{Corrupted, ReadError, WriteError};
use crate::vfs::{Caching, Disk};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// How files of words are named.
const KIND: &str = "set";
/// Words written or read at a time.
const CHUNK: usize = 8 << 10;

/// Writes words to a new file, synced; returns it with a checksum of all its bytes.
pub fn write_words(disk: &Disk, words: impl Iterator<Item = u64>) -> Result<(ManifestFile, u64), WriteError> {
    let name = disk.fresh_name(KIND);
    let failed = |error| WriteError::io(&name, error);
    let file = disk.vfs.create(&name, Caching::Buffered).map_err(failed)?;
    let mut words = words.peekable();
    let (mut whole, mut chunk, mut at) = (Xxh3::new(), Vec::with_capacity(8 * CHUNK), 0u64);
    let mut tail = Vec::new();
    while words.peek().is_some() {
        chunk.clear();
        words.by_ref().take(CHUNK).for_each(|word| chunk.extend_from_slice(&word.to_le_bytes()));
        file.write_at(at, &chunk).map_err(failed)?;
        whole.update(&chunk);
        at += chunk.len() as u64;
        tail.extend_from_slice(&chunk[chunk.len().saturating_sub(64)..]);
        tail.drain(..tail.len().saturating_sub(64));
    }
    file.sync().map_err(failed)?;
    disk.traffic.add_written(at);
    let known = ManifestFile { name, bytes: at, records: at / 8, tail_checksum: xxh3_64(&tail) };
    Ok((known, whole.digest()))
}

/// Reads such a file; `take` gets each word. Nothing that it took counts where the file turns out damaged.
pub fn read_words(
    disk: &Disk,
    (name, checksum): (&str, u64),
    mut take: impl FnMut(u64),
) -> Result<(), ReadError> {
    let failed = |error| ReadError::io(name, error);
    let file = disk.vfs.open(name, Caching::Buffered).map_err(failed)?;
    let length = file.len().map_err(failed)?;
    let (mut whole, mut chunk, mut at) = (Xxh3::new(), vec![0; 8 * CHUNK], 0);
    while at < length {
        let got = file.read_at(at, &mut chunk).map_err(failed)?;
        if got == 0 || !got.is_multiple_of(8) {
            return Err(Corrupted::file(name, "it is cut short").into());
        }
        whole.update(&chunk[..got]);
        for word in chunk[..got].chunks_exact(8) {
            take(word.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)));
        }
        at += got as u64;
    }
    disk.traffic.add_read(length);
    match whole.digest() == checksum {
        true => Ok(()),
        false => Err(Corrupted::file(name, "its bytes are not what was written").into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::governor::Governor;
    use crate::vfs::{Folder, IoThreads};
    use std::sync::Arc;

    #[test]
    fn words_come_back_and_a_changed_byte_is_noticed() {
        let folder = tempfile::tempdir().expect("a folder");
        let vfs = Arc::new(Folder::create(folder.path()).expect("a folder"));
        let disk = Disk::new(vfs, IoThreads::new(1), Governor::unlimited(), 0);
        for count in [0usize, 1, 7, 8 << 10, 20_001] {
            let words: Vec<u64> = (0..count as u64).map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15)).collect();
            let (file, checksum) = write_words(&disk, words.iter().copied()).expect("it is written");
            assert_eq!(file.bytes, 8 * count as u64);
            let mut back = Vec::new();
            read_words(&disk, (&file.name, checksum), |word| back.push(word)).expect("it is read");
            assert_eq!(back, words);
            if count > 0 {
                let path = folder.path().join(&file.name);
                let mut bytes = std::fs::read(&path).expect("it is there");
                bytes[count * 4] ^= 1;
                std::fs::write(&path, bytes).expect("it is changed");
                assert!(read_words(&disk, (&file.name, checksum), |_| {}).is_err());
            }
        }
    }
}
