//! Breadth-first search in explicit undirected graphs that lie on disk, with its transfers counted block by block.
//!
//! * [`Way::MunagalaRanade`] (1999): one look into the adjacency lists for every vertex, and one sort for every layer, which is
//!   compared with the two before it: O(|V| + sort(|V| + |E|)) blocks.
//! * [`Way::MehlhornMeyer`] (2002): vertices are first put into clusters of near ones. The search then reads a whole cluster
//!   when it meets the first of its vertices and keeps the lists that are not needed yet in a sorted pool:
//!   O(sqrt(|V| scan(|V| + |E|)) + sort(|V| + |E|)) expected, which is less where distances are long.
//!
//! What is small stays in RAM, and sorts that fit there write nothing.

mod adjacency;
mod clusters;
mod layers;
mod pool;
mod set;
mod text;

pub use text::{Input, InputError, ParseError};

use crate::layered::Trouble;
use hadal_store::run::{Codec, RunFile, RunOptions};
use hadal_store::{Disk, RecordShape};
use set::{Gathering, Set};

/// Bytes of a block, as transfers count them.
const BLOCK: usize = 4096;
/// Shares of the memory: what a set may take in RAM, and what a sort may.
const HELD_SHARE: u64 = 16;
const SORT_SHARE: u64 = 8;

/// How the search is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Without preparation.
    MunagalaRanade,
    /// With clusters.
    MehlhornMeyer(Clustering),
}

/// How clusters are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clustering {
    /// They grow around vertices that are drawn by this seed.
    Drawn(u64),
    /// They are the pieces of a walk around a spanning tree, which is found in RAM: 36 bytes for every vertex.
    Tour,
}

/// A graph on disk: both directions of every edge, sorted by where they begin.
pub struct Graph<'d> {
    room: Room<'d>,
    edges: Set,
    vertices: u64,
}

/// What a search found and moved.
#[derive(Clone, Debug)]
pub struct Distances {
    /// Vertices at each distance.
    pub layers: Vec<u64>,
    /// Pairs of vertex and distance, by distance and vertex.
    pub run: RunFile,
    /// Clusters, where there are such.
    pub clusters: u64,
    /// Blocks moved to make them.
    pub clustering_blocks: u64,
    /// Blocks moved by the search itself.
    pub searching_blocks: u64,
}

/// The disk and the memory that everything works with.
#[derive(Clone, Copy)]
pub(crate) struct Room<'d> {
    disk: &'d Disk,
    memory: u64,
}

impl<'d> Room<'d> {
    /// Runs of records of so many words.
    fn options(&self, words: usize) -> RunOptions {
        RunOptions {
            codec: Codec::Plain,
            block_bytes: BLOCK,
            chunk_bytes: BLOCK,
            ..RunOptions::new(RecordShape::states(words), 0)
        }
    }

    fn gather(&self, words: usize) -> Gathering<'d> {
        Gathering::new(*self, words)
    }

    fn blocks(&self) -> u64 {
        self.disk.traffic.blocks()
    }
}

impl<'d> Graph<'d> {
    /// Sorts the edges, each of which may be given once or more often, in either direction.
    pub fn build(
        disk: &'d Disk,
        memory: u64,
        edges: impl IntoIterator<Item = Result<(u64, u64), Trouble>>,
    ) -> Result<Self, Trouble> {
        let room = Room { disk, memory };
        let mut sorted = room.gather(2);
        for edge in edges {
            let (from, to) = edge?;
            sorted.push(&[to, from])?;
            sorted.push(&[from, to])?;
        }
        let edges = sorted.finish()?;
        let (mut vertices, mut last) = (0, None);
        let mut walk = edges.walk()?;
        while let Some(&[_, from]) = walk.peek() {
            vertices += u64::from(last != Some(from));
            last = Some(from);
            walk.step()?;
        }
        drop(walk);
        Ok(Graph { room, edges, vertices })
    }

    /// Vertices with an edge.
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Edges, each direction counted.
    pub fn edges(&self) -> u64 {
        self.edges.len()
    }

    /// The distance of every vertex that can be reached from `start`.
    pub fn search(&self, start: u64, way: Way) -> Result<Distances, Trouble> {
        match way {
            Way::MunagalaRanade => layers::search(self, start),
            Way::MehlhornMeyer(clustering) => pool::search(self, start, clustering),
        }
    }
}
