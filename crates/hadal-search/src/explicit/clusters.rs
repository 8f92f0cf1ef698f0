//! Clusters of near vertices.

use super::set::{Building, Set};
use super::{BLOCK, Clustering, Graph, Room};
use crate::layered::Trouble;
use hadal_system::random::SplitMix;

/// Which cluster each vertex is in: pairs of cluster and vertex, by vertex.
pub(super) struct Clusters {
    pub(super) of_vertices: Set,
    /// Clusters have numbers below this.
    pub(super) count: u64,
    /// The cluster of the start.
    pub(super) of_start: u64,
}

/// Bytes in RAM for every vertex while a walk around a spanning tree is made.
const TOUR_BYTES: u64 = 36;

pub(super) fn of(graph: &Graph, start: u64, clustering: Clustering) -> Result<Clusters, Trouble> {
    match clustering {
        Clustering::Drawn(seed) => drawn(graph, start, seed),
        Clustering::Tour => tour(graph, start),
    }
}

/// The share of vertices that are masters: as many clusters as balance reading one with going through the pool.
fn share(graph: &Graph) -> f64 {
    let (vertices, edges) = (graph.vertices.max(1) as f64, graph.edges.len() as f64);
    let records = (BLOCK / 16) as f64;
    ((vertices + edges) / (vertices * records)).sqrt().min(1.0)
}

/// Clusters grow around masters, all by one step in each pass over what is left of the graph.
fn drawn(graph: &Graph, start: u64, seed: u64) -> Result<Clusters, Trouble> {
    let room = graph.room;
    let share = share(graph);
    let mut masters = room.gather(2);
    masters.push(&[0, start])?;
    let (mut count, mut last) = (1, None);
    let mut walk = graph.edges.walk()?;
    while let Some(&[_, vertex]) = walk.peek() {
        if last != Some(vertex) && vertex != start {
            let drawn = SplitMix::new(seed ^ SplitMix::new(vertex).bits()).bits();
            if (drawn >> 11) as f64 / ((1u64 << 53) as f64) < share {
                masters.push(&[count, vertex])?;
                count += 1;
            }
        }
        last = Some(vertex);
        walk.step()?;
    }
    drop(walk);
    let mut captured = room.gather(2);
    let mut boundary = masters.finish()?;
    let mut rest: Option<Set> = None;
    while !boundary.is_empty() {
        let left = rest.as_ref().unwrap_or(&graph.edges);
        let Round { requests, next } = grow(room, left, &boundary, &mut captured)?;
        (boundary, rest) = (requests, Some(next));
    }
    Ok(Clusters { of_vertices: captured.finish()?, count, of_start: 0 })
}

/// What a round asks for, and the edges of vertices that are in no cluster.
struct Round {
    requests: Set,
    next: Set,
}

/// Takes the vertices of the boundary that are in no cluster yet into the first that asks, which then asks for their neighbours.
fn grow<'d>(
    room: Room<'d>,
    left: &Set,
    boundary: &Set,
    captured: &mut super::set::Gathering<'d>,
) -> Result<Round, Trouble> {
    let (mut requests, mut next) = (room.gather(2), Building::new(room, 2));
    let (mut edges, mut asking) = (left.walk()?, boundary.walk()?);
    let mut last = None;
    while let Some(&[to, vertex]) = edges.peek() {
        // Of several clusters that ask, the one of the least number comes first, and stays while the vertex does.
        match (asking.has(vertex)?, asking.peek()) {
            (true, Some(&[cluster, _])) => {
                if last != Some(vertex) {
                    captured.push(&[cluster, vertex])?;
                    last = Some(vertex);
                }
                requests.push(&[cluster, to])?;
            }
            _ => next.push(&[to, vertex])?,
        }
        edges.step()?;
    }
    drop((edges, asking));
    Ok(Round { requests: requests.finish()?, next: next.finish()? })
}

/// Pieces of a walk around a spanning tree of what can be reached. The tree lies in RAM.
fn tour(graph: &Graph, start: u64) -> Result<Clusters, Trouble> {
    let room = graph.room;
    let bytes = graph.vertices * TOUR_BYTES;
    let _memory = room.disk.governor.try_reserve(bytes, "a spanning tree")?;
    let tree = Tree::of(graph)?;
    let piece = (1.0 / share(graph)).ceil() as u64;
    let mut of_vertices = room.gather(2);
    let mut of_start = 0;
    let count = tree.walk_around(start, |vertex, position| {
        let cluster = position / piece;
        if vertex == start {
            of_start = cluster;
        }
        of_vertices.push(&[cluster, vertex])
    })? / piece
        + 1;
    Ok(Clusters { of_vertices: of_vertices.finish()?, count, of_start })
}

/// A spanning forest.
struct Tree {
    vertices: Vec<u64>,
    /// Where each vertex's neighbours in the tree begin.
    first: Vec<u32>,
    neighbours: Vec<u32>,
}

impl Tree {
    fn of(graph: &Graph) -> Result<Self, Trouble> {
        let mut vertices: Vec<u64> = Vec::with_capacity(graph.vertices as usize);
        let mut walk = graph.edges.walk()?;
        while let Some(&[_, vertex]) = walk.peek() {
            if vertices.last() != Some(&vertex) {
                vertices.push(vertex);
            }
            walk.step()?;
        }
        drop(walk);
        let mut groups: Vec<u32> = (0..vertices.len() as u32).collect();
        let mut chosen: Vec<(u32, u32)> = Vec::with_capacity(vertices.len());
        let number = |vertex: u64| vertices.binary_search(&vertex).unwrap_or(0) as u32;
        let mut walk = graph.edges.walk()?;
        while let Some(&[to, from]) = walk.peek() {
            if from < to {
                let (a, b) = (number(from), number(to));
                let (of_a, of_b) = (group(&mut groups, a), group(&mut groups, b));
                if of_a != of_b {
                    groups[of_a as usize] = of_b;
                    chosen.push((a, b));
                }
            }
            walk.step()?;
        }
        drop(walk);
        let mut first = vec![0u32; vertices.len() + 1];
        for &(a, b) in &chosen {
            first[a as usize + 1] += 1;
            first[b as usize + 1] += 1;
        }
        for n in 0..vertices.len() {
            first[n + 1] += first[n];
        }
        let mut place = first.clone();
        let mut neighbours = vec![0; 2 * chosen.len()];
        for (a, b) in chosen {
            for (from, to) in [(a, b), (b, a)] {
                neighbours[place[from as usize] as usize] = to;
                place[from as usize] += 1;
            }
        }
        Ok(Tree { vertices, first, neighbours })
    }

    /// Walks around the tree of `start` and says of each of its vertices when it was met first; the length of the walk.
    fn walk_around(
        &self,
        start: u64,
        mut met: impl FnMut(u64, u64) -> Result<(), Trouble>,
    ) -> Result<u64, Trouble> {
        let Ok(root) = self.vertices.binary_search(&start) else {
            return Ok(0);
        };
        met(start, 0)?;
        let mut position = 0;
        // A vertex, the one before it, and the next of its neighbours.
        let mut path = vec![(root as u32, u32::MAX, self.first[root])];
        while let Some((vertex, before, next)) = path.last_mut() {
            if *next == self.first[*vertex as usize + 1] {
                path.pop();
                position += 1;
                continue;
            }
            let to = self.neighbours[*next as usize];
            *next += 1;
            if to != *before {
                position += 1;
                met(self.vertices[to as usize], position)?;
                let from = *vertex;
                path.push((to, from, self.first[to as usize]));
            }
        }
        Ok(position)
    }
}

/// The group of a vertex; the way there is halved.
fn group(groups: &mut [u32], mut vertex: u32) -> u32 {
    while groups[vertex as usize] != vertex {
        groups[vertex as usize] = groups[groups[vertex as usize] as usize];
        vertex = groups[vertex as usize];
    }
    vertex
}
