//! The search layer by layer (Munagala and Ranade 1999), and what both searches share: the layers as they are found.

use super::adjacency::Lists;
use super::set::{Building, Set};
use super::{Distances, Graph, Room};
use crate::layered::Trouble;
use hadal_store::run::{RunKind, RunWriter};

/// Searches with one look into the adjacency lists for every vertex.
pub(super) fn search(graph: &Graph, start: u64) -> Result<Distances, Trouble> {
    let room = graph.room;
    let mut lists = Lists::of(&graph.edges)?;
    let mut found = Found::begin(room, &[start])?;
    loop {
        let mut next = room.gather(1);
        lists.rewind()?;
        let mut walk = found.layer.walk()?;
        while let Some(&[vertex]) = walk.peek() {
            lists.each(vertex, |edge| next.push(&edge[..1]))?;
            walk.step()?;
        }
        drop(walk);
        if !found.go_on(next.finish()?)? {
            return found.finish(0, 0);
        }
    }
}

/// The layers found so far. Records are vertices, with what belongs to them before the last word.
pub(super) struct Found<'d> {
    room: Room<'d>,
    words: usize,
    pub(super) layer: Set,
    before: Set,
    layers: Vec<u64>,
    distances: RunWriter,
    blocks_before: u64,
}

impl<'d> Found<'d> {
    /// With a first layer of one vertex.
    pub(super) fn begin(room: Room<'d>, start: &[u64]) -> Result<Self, Trouble> {
        let words = start.len();
        let mut layer = Building::new(room, words);
        layer.push(start)?;
        let blocks_before = room.blocks();
        let distances = RunWriter::create(room.disk, RunKind::Distances, &room.options(2))?;
        let (layer, before) = (layer.finish()?, Building::new(room, words).finish()?);
        let mut found = Found { room, words, layer, before, layers: Vec::new(), distances, blocks_before };
        found.note()?;
        Ok(found)
    }

    /// Writes down the layer.
    fn note(&mut self) -> Result<(), Trouble> {
        let depth = self.layers.len() as u64;
        let mut walk = self.layer.walk()?;
        while let Some(record) = walk.peek() {
            self.distances.push(&[record[self.words - 1], depth])?;
            walk.step()?;
        }
        self.layers.push(self.layer.len());
        Ok(())
    }

    /// The next layer: the neighbours of this one that are neither in it nor in the one before. Whether there are some.
    pub(super) fn go_on(&mut self, neighbours: Set) -> Result<bool, Trouble> {
        let mut next = Building::new(self.room, self.words);
        let (mut here, mut before) = (self.layer.walk()?, self.before.walk()?);
        let mut walk = neighbours.walk()?;
        while let Some(record) = walk.peek() {
            let vertex = record[self.words - 1];
            if !here.has(vertex)? && !before.has(vertex)? {
                next.push(record)?;
            }
            walk.step()?;
        }
        drop((here, before));
        let next = next.finish()?;
        self.before = std::mem::replace(&mut self.layer, next);
        if self.layer.is_empty() {
            return Ok(false);
        }
        self.note()?;
        Ok(true)
    }

    /// What the search found; so many clusters were made before, with so many blocks.
    pub(super) fn finish(self, clusters: u64, clustering_blocks: u64) -> Result<Distances, Trouble> {
        let Found { room, layers, distances, blocks_before, .. } = self;
        let run = distances.finish()?;
        let searching_blocks = room.blocks() - blocks_before;
        Ok(Distances { layers, run, clusters, clustering_blocks, searching_blocks })
    }
}
