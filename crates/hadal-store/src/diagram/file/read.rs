//! Reading back: every node is made anew, after checking that it can be one.

use std::io::Read;

use crate::error::checksums_agree;
use crate::{Governor, OverBudget};

use super::super::closed::ClosedDiagram;
use super::super::core::Diagram;
use super::super::levels::Levels;
use super::super::node::{self, EMPTY, FIRST_INLINE, MAX_INLINE, Ref, TERMINAL};
use super::super::nodes::Full;
use super::super::shard::{Set, Shard};
use super::{
    CLOSED_MAGIC, DiagramReadError, FIRST_NUMBER, INLINE_NUMBER, MAGIC, MAX_BLOCK_BYTES, MAX_ROOTS,
    MAX_SHARDS, VERSION, block_checksum, header_checksum,
};

fn corrupted(block: Option<u64>, what: &'static str) -> DiagramReadError {
    DiagramReadError::Corrupted { block, what }
}

/// What a header says.
struct Header {
    levels: Levels,
    nodes: u64,
    /// Names, and numbers of nodes.
    roots: Vec<(String, u64)>,
    checksum: u64,
}

/// What is known about a node once it is made.
#[derive(Clone, Copy)]
struct Made {
    node: Ref,
    height: u16,
    chain: bool,
}

impl Diagram {
    /// Reads the diagram that `input` begins with; its sets are found by [`Diagram::root`].
    ///
    /// Needs 8 bytes for each node more than the diagram, reserved for the time of the call.
    pub fn read_from(input: &mut impl Read, governor: &Governor) -> Result<Self, DiagramReadError> {
        let header = Header::read(input)?;
        let bytes =
            header.nodes.saturating_mul(size_of::<Made>() as u64).saturating_add(MAX_BLOCK_BYTES as u64);
        let _lease = governor.try_reserve(bytes, "reading the diagram")?;
        let mut diagram = Diagram::new(header.levels.clone(), governor)?;
        let mut reader =
            NodeReader { diagram: &mut diagram, made: Vec::with_capacity(header.nodes as usize) };
        let mut body = Vec::with_capacity(MAX_BLOCK_BYTES);
        let mut block = 0;
        while (reader.made.len() as u64) < header.nodes {
            read_block(input, &header, block, &mut body)?;
            let mut rest = body.as_slice();
            while !rest.is_empty() {
                reader.take_node(&mut rest).map_err(|fault| match fault {
                    Fault::Corrupted(what) => corrupted(Some(block), what),
                    Fault::OverBudget(over) => over.into(),
                })?;
            }
            if reader.made.len() as u64 > header.nodes {
                return Err(corrupted(Some(block), "there are more nodes than announced"));
            }
            block += 1;
        }
        let made = reader.made;
        for (name, number) in header.roots {
            let found = match number {
                0 => None,
                number if number & INLINE_NUMBER != 0 => Some(inline_root(number, &diagram.levels)),
                _ => {
                    Some(number.checked_sub(FIRST_NUMBER).and_then(|index| made.get(index as usize)).copied())
                }
            };
            let node = match found {
                None => EMPTY,
                Some(Some(found)) if usize::from(found.height) == diagram.levels.count() => found.node,
                Some(_) => return Err(corrupted(None, "a set is not made of whole states")),
            };
            let root = diagram.add_root(&name);
            diagram.roots[root.0].node = node;
        }
        diagram.live = diagram.nodes.used();
        Ok(diagram)
    }
}

impl ClosedDiagram {
    /// Reads a closed set of states of `words` words with its frontier and next layer. All memory is taken
    /// from `governor`; the number of threads starts at 1.
    pub fn read_from(
        input: &mut impl Read,
        words: usize,
        governor: &Governor,
    ) -> Result<Self, DiagramReadError> {
        let mut fixed = [0; 16];
        input.read_exact(&mut fixed)?;
        check_kind(&fixed, CLOSED_MAGIC)?;
        let count = u32::from_le_bytes([fixed[12], fixed[13], fixed[14], fixed[15]]) as usize;
        if usize::from(u16::from_le_bytes([fixed[10], fixed[11]])) != words {
            return Err(DiagramReadError::Foreign("its states have another width"));
        }
        if count == 0 || count > MAX_SHARDS {
            return Err(corrupted(None, "the number of shards cannot be"));
        }
        let mut rest = vec![0; count * 8 + (count - 1) * words * 8];
        read_checked(input, &fixed, &mut rest)?;
        let mut numbers = rest.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes));
        let (mut shards, mut firsts): (Vec<Shard>, Vec<Vec<u64>>) = (Vec::new(), Vec::new());
        for index in 0..count {
            let len = numbers.next().unwrap_or(0);
            if index > 0 {
                firsts.push(numbers.by_ref().take(words).collect());
            }
            let diagram = Diagram::read_from(input, governor)?;
            if shards.first().is_some_and(|first| first.diagram.levels() != diagram.levels()) {
                return Err(corrupted(None, "shards are cut differently"));
            }
            let shard = Shard::over(diagram, len);
            if shard.diagram.count(shard.root(Set::Closed))? != len {
                return Err(corrupted(None, "the number of closed states is not what was announced"));
            }
            shards.push(shard);
        }
        let levels = shards[0].diagram.levels().clone();
        if levels.words() != words {
            return Err(DiagramReadError::Foreign("its states have another width"));
        }
        Ok(Self::from_shards(levels, governor, shards, firsts))
    }
}

impl Header {
    fn read(input: &mut impl Read) -> Result<Self, DiagramReadError> {
        let mut fixed = [0; 32];
        input.read_exact(&mut fixed)?;
        check_kind(&fixed, MAGIC)?;
        let short = |at: usize| usize::from(u16::from_le_bytes([fixed[at], fixed[at + 1]]));
        let (words, levels, roots) = (short(10), short(12), short(14));
        let long = |at: usize| {
            let mut bytes = [0; 8];
            bytes.copy_from_slice(&fixed[at..at + 8]);
            u64::from_le_bytes(bytes)
        };
        let (nodes, names) = (long(16), long(24));
        if roots > MAX_ROOTS || names > (roots * (1 + 255 + 8)) as u64 {
            return Err(corrupted(None, "the number of sets cannot be"));
        }
        if nodes > u64::from(u32::MAX) {
            return Err(corrupted(None, "the number of nodes cannot be"));
        }
        let mut rest = vec![0; levels + names as usize];
        let checksum = read_checked(input, &fixed, &mut rest)?;
        let (widths, mut names) = rest.split_at(levels);
        let levels =
            Levels::from_widths(words, widths).map_err(|_| corrupted(None, "the levels cannot be"))?;
        let mut named = Vec::with_capacity(roots);
        for _ in 0..roots {
            named.push(take_root(&mut names).ok_or_else(|| corrupted(None, "the names of sets do not end"))?);
        }
        Ok(Header { levels, nodes, roots: named, checksum })
    }
}

fn take_root(bytes: &mut &[u8]) -> Option<(String, u64)> {
    let &len = bytes.split_off_first()?;
    let name = String::from_utf8_lossy(bytes.split_off(..usize::from(len))?).into_owned();
    let mut number = [0; 8];
    number.copy_from_slice(bytes.split_off(..8)?);
    Some((name, u64::from_le_bytes(number)))
}

fn check_kind(fixed: &[u8], magic: &[u8; 8]) -> Result<(), DiagramReadError> {
    if &fixed[..8] != magic {
        return Err(DiagramReadError::Foreign("it does not begin like one"));
    }
    if u16::from_le_bytes([fixed[8], fixed[9]]) != VERSION {
        return Err(DiagramReadError::Foreign("it has another version"));
    }
    Ok(())
}

/// Reads the rest of a header and the checksum of all of it.
fn read_checked(input: &mut impl Read, fixed: &[u8], rest: &mut [u8]) -> Result<u64, DiagramReadError> {
    input.read_exact(rest)?;
    let mut checksum = [0; 8];
    input.read_exact(&mut checksum)?;
    let checksum = u64::from_le_bytes(checksum);
    if !checksums_agree(header_checksum(&[fixed, rest].concat()), checksum) {
        return Err(corrupted(None, "the checksum of the header does not match"));
    }
    Ok(checksum)
}

fn read_block(
    input: &mut impl Read,
    header: &Header,
    block: u64,
    body: &mut Vec<u8>,
) -> Result<(), DiagramReadError> {
    let mut front = [0; 12];
    input.read_exact(&mut front)?;
    let [checksum @ .., a, b, c, d] = front;
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    if len == 0 || len > MAX_BLOCK_BYTES {
        return Err(corrupted(Some(block), "its length cannot be"));
    }
    body.resize(len, 0);
    input.read_exact(body)?;
    if !checksums_agree(block_checksum(body, header.checksum, block), u64::from_le_bytes(checksum)) {
        return Err(corrupted(Some(block), "its checksum does not match"));
    }
    Ok(())
}

/// The root that is a short chain itself, if it is one for these levels.
fn inline_root(number: u64, levels: &Levels) -> Option<Made> {
    let node = u32::try_from(number & !INLINE_NUMBER).ok().filter(|&node| node >= FIRST_INLINE)?;
    make_inline(&node::inline_labels(node), levels).filter(|made| made.node == node)
}

/// The reference that is a chain of these labels, the last ones of a state.
fn make_inline(labels: &[u8], levels: &Levels) -> Option<Made> {
    let level = levels.count().checked_sub(labels.len())?;
    let admitted = labels.iter().enumerate().all(|(index, &label)| levels.admits(level + index, label));
    admitted.then(|| Made { node: node::inline(labels), height: labels.len() as u16, chain: true })
}

enum Fault {
    Corrupted(&'static str),
    OverBudget(OverBudget),
}

struct NodeReader<'d> {
    diagram: &'d mut Diagram,
    made: Vec<Made>,
}

impl NodeReader<'_> {
    /// Makes the node that `bytes` begins with.
    fn take_node(&mut self, bytes: &mut &[u8]) -> Result<(), Fault> {
        let claim = node::parse(bytes).ok_or(Fault::Corrupted("a node has no form that a node can have"))?;
        let count = if claim.leaf {
            0
        } else if claim.chain {
            1
        } else {
            claim.labels.len()
        };
        let mut children = Vec::with_capacity(count);
        let mut below = 0;
        for index in 0..count {
            let child = self.take_child(bytes).ok_or(Fault::Corrupted("a child is no earlier node"))?;
            if index > 0 && child.height != below {
                return Err(Fault::Corrupted("children differ in height"));
            }
            if claim.chain && child.chain {
                return Err(Fault::Corrupted("a chain follows a chain"));
            }
            below = child.height;
            children.push(child.node);
        }
        let height = usize::from(below) + if claim.chain { claim.labels.len() } else { 1 };
        let levels = &self.diagram.levels;
        let Some(level) = levels.count().checked_sub(height) else {
            return Err(Fault::Corrupted("a node is higher than a state"));
        };
        let admitted = claim
            .labels
            .iter()
            .enumerate()
            .all(|(index, &label)| levels.admits(if claim.chain { level + index } else { level }, label));
        if !admitted {
            return Err(Fault::Corrupted("a label is wider than its level"));
        }
        let nodes = &mut self.diagram.nodes;
        let before = nodes.count();
        let node = if claim.chain {
            nodes.make_chain(&claim.labels, children.first().copied().unwrap_or(TERMINAL))
        } else {
            children.resize(claim.labels.len(), TERMINAL);
            nodes.make_branch(&claim.labels, &children)
        };
        let node = node.map_err(|Full| Fault::OverBudget(self.diagram.exhausted()))?;
        if self.diagram.nodes.count() == before {
            return Err(Fault::Corrupted("a node is there twice, or should not be stored"));
        }
        self.made.push(Made { node, height: height as u16, chain: claim.chain });
        Ok(())
    }

    fn take_child(&self, bytes: &mut &[u8]) -> Option<Made> {
        let mut distance = 0u64;
        for shift in (0..63).step_by(7) {
            let &byte = bytes.split_off_first()?;
            distance |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 && distance == 0 {
                let len = usize::from(*bytes.split_off_first()?);
                let labels = (1..=MAX_INLINE).contains(&len).then(|| bytes.split_off(..len))??;
                return make_inline(labels, &self.diagram.levels);
            }
            if byte < 0x80 {
                let index = (self.made.len() as u64).checked_sub(distance)?;
                return self.made.get(index as usize).copied();
            }
        }
        None
    }
}
