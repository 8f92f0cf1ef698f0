//! Writing: live nodes bottom-up, children as distances, checksummed blocks.

use std::io::{self, Write};

use super::super::closed::ClosedDiagram;
use super::super::collect::Marks;
use super::super::core::{Diagram, Root};
use super::super::node::{self, Ref, TERMINAL, UNIT};
use super::super::shard::Set;
use super::{
    BLOCK_BYTES, CLOSED_MAGIC, FIRST_NUMBER, INLINE_NUMBER, MAGIC, MAX_BLOCK_BYTES, MAX_ROOTS, VERSION,
    block_checksum, header_checksum,
};

impl Diagram {
    /// Writes the given sets.
    ///
    /// Beside a block of 64 KiB this needs only the mark bits that the arena's lease includes.
    pub fn write_to(&self, roots: &[Root], out: &mut impl Write) -> io::Result<()> {
        debug_assert!(roots.len() <= MAX_ROOTS);
        let arena = self.nodes.arena();
        let mut marks = Marks::starts(arena, roots.iter().map(|&root| self.node(root)));
        marks.index();
        let number = |node: Ref| match node {
            node if node::is_stored(node) => FIRST_NUMBER + u64::from(marks.rank(node)),
            node if node <= TERMINAL => u64::from(node),
            node => INLINE_NUMBER | u64::from(node),
        };
        let checksum = self.write_header(roots, marks.len() as u64, &number, out)?;

        let mut block = Block { body: Vec::with_capacity(MAX_BLOCK_BYTES), number: 0, seed: checksum };
        for (index, unit) in marks.ones().enumerate() {
            let own = FIRST_NUMBER + index as u64;
            block.body.extend_from_slice(node::without_children(arena, unit * UNIT));
            node::each_child(arena, unit * UNIT, |child| {
                if node::is_stored(child) {
                    put_varint(&mut block.body, own - number(child));
                } else {
                    let labels = node::inline_labels(child);
                    block.body.extend_from_slice(&[0, labels.len() as u8]);
                    block.body.extend_from_slice(&labels);
                }
            });
            if block.body.len() >= BLOCK_BYTES {
                block.flush(out)?;
            }
        }
        if !block.body.is_empty() {
            block.flush(out)?;
        }
        Ok(())
    }

    fn write_header(
        &self,
        roots: &[Root],
        nodes: u64,
        number: &impl Fn(Ref) -> u64,
        out: &mut impl Write,
    ) -> io::Result<u64> {
        let mut names = Vec::new();
        for &root in roots {
            let name = self.roots[root.0].name.as_bytes();
            let name = &name[..name.len().min(255)];
            names.push(name.len() as u8);
            names.extend_from_slice(name);
            names.extend_from_slice(&number(self.node(root)).to_le_bytes());
        }
        let mut header = MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        // Levels bound the words used, and the number of roots is checked above.
        header.extend_from_slice(&(self.levels.words() as u16).to_le_bytes());
        header.extend_from_slice(&(self.levels.count() as u16).to_le_bytes());
        header.extend_from_slice(&(roots.len() as u16).to_le_bytes());
        header.extend_from_slice(&nodes.to_le_bytes());
        header.extend_from_slice(&(names.len() as u64).to_le_bytes());
        header.extend(self.levels.widths());
        header.extend_from_slice(&names);
        let checksum = header_checksum(&header);
        header.extend_from_slice(&checksum.to_le_bytes());
        out.write_all(&header)?;
        Ok(checksum)
    }
}

impl ClosedDiagram {
    /// Writes closed set, frontier and next layer.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        let mut header = CLOSED_MAGIC.to_vec();
        header.extend_from_slice(&VERSION.to_le_bytes());
        header.extend_from_slice(&(self.levels.words() as u16).to_le_bytes());
        header.extend_from_slice(&(self.shards.len() as u32).to_le_bytes());
        for (index, shard) in self.shards.iter().enumerate() {
            header.extend_from_slice(&shard.len.to_le_bytes());
            if index > 0 {
                header.extend(self.firsts[index - 1].iter().flat_map(|word| word.to_le_bytes()));
            }
        }
        let checksum = header_checksum(&header);
        header.extend_from_slice(&checksum.to_le_bytes());
        out.write_all(&header)?;
        for shard in &self.shards {
            shard.diagram.write_to(&Set::ALL.map(|set| shard.root(set)), out)?;
        }
        Ok(())
    }
}

struct Block {
    body: Vec<u8>,
    number: u64,
    seed: u64,
}

impl Block {
    fn flush(&mut self, out: &mut impl Write) -> io::Result<()> {
        out.write_all(&block_checksum(&self.body, self.seed, self.number).to_le_bytes())?;
        out.write_all(&(self.body.len() as u32).to_le_bytes())?;
        out.write_all(&self.body)?;
        self.body.clear();
        self.number += 1;
        Ok(())
    }
}

fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
