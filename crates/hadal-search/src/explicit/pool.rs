//! The search with clusters (Mehlhorn and Meyer 2002): the first vertex of a cluster that is met brings the adjacency lists of
//! all of them into a pool, which is sorted by vertex and gone through with every layer.

use super::clusters::{self, Clusters};
use super::layers::Found;
use super::set::{Building, Set, Walk};
use super::{Clustering, Distances, Graph, Room};
use crate::layered::Trouble;
use hadal_store::Bitmap;
use hadal_store::run::{BlockIndex, RunReader};

/// Words of a record of the clusters: cluster and number of the neighbour, vertex, cluster of the vertex. Of the pool, all but
/// the last.
const CLUSTERED: usize = 4;
const POOLED: usize = 3;

pub(super) fn search(graph: &Graph, start: u64, clustering: Clustering) -> Result<Distances, Trouble> {
    let room = graph.room;
    let before = room.blocks();
    let Clusters { of_vertices, count, of_start } = clusters::of(graph, start, clustering)?;
    let mut lists = ClusterLists::of(join(graph, &of_vertices)?)?;
    drop(of_vertices);
    let clustering_blocks = room.blocks() - before;
    let mut loaded = Bitmap::new(count as usize + 1);
    let mut pool = Building::new(room, POOLED).finish()?;
    let mut found = Found::begin(room, &[of_start, start])?;
    loop {
        let fresh = lists.load(room, &found.layer, &mut loaded)?;
        let mut next = room.gather(2);
        let mut rest = Building::new(room, POOLED);
        let (mut old, mut new) = (pool.walk()?, fresh.walk()?);
        let mut layer = found.layer.walk()?;
        while let Some(walk) = least(&mut old, &mut new) {
            if let Some(record) = walk.peek() {
                match layer.has(record[POOLED - 1])? {
                    true => next.push(&record[..2])?,
                    false => rest.push(record)?,
                }
            }
            walk.step()?;
        }
        drop((old, new, layer));
        pool = rest.finish()?;
        if !found.go_on(next.finish()?)? {
            return found.finish(count, clustering_blocks);
        }
    }
}

/// Of two walks, the one whose record comes first.
fn least<'w, 's>(old: &'w mut Walk<'s>, new: &'w mut Walk<'s>) -> Option<&'w mut Walk<'s>> {
    let key = |record: &[u64]| (record[2], record[1], record[0]);
    match (old.peek().map(key), new.peek().map(key)) {
        (None, None) => None,
        (Some(a), Some(b)) => Some(if a <= b { old } else { new }),
        (Some(_), None) => Some(old),
        (None, Some(_)) => Some(new),
    }
}

/// Every vertex with its neighbours, those with their clusters, by cluster.
fn join(graph: &Graph, of_vertices: &Set) -> Result<Set, Trouble> {
    let room = graph.room;
    // As both directions are there, sorted by where they lead they are lists of neighbours again.
    let mut half = room.gather(POOLED);
    let (mut edges, mut clusters) = (graph.edges.walk()?, of_vertices.walk()?);
    while let Some(&[to, from]) = edges.peek() {
        if let (true, Some(&[cluster, _])) = (clusters.has(from)?, clusters.peek()) {
            half.push(&[cluster, from, to])?;
        }
        edges.step()?;
    }
    drop((edges, clusters));
    let half = half.finish()?;
    let mut whole = room.gather(CLUSTERED);
    let (mut edges, mut clusters) = (half.walk()?, of_vertices.walk()?);
    while let Some(&[of_neighbour, neighbour, vertex]) = edges.peek() {
        if let (true, Some(&[cluster, _])) = (clusters.has(vertex)?, clusters.peek()) {
            whole.push(&[of_neighbour, neighbour, vertex, cluster])?;
        }
        edges.step()?;
    }
    drop((edges, clusters));
    whole.finish()
}

/// The adjacency lists, cluster by cluster.
struct ClusterLists {
    lists: Set,
    index: Option<BlockIndex>,
}

impl ClusterLists {
    fn of(lists: Set) -> Result<Self, Trouble> {
        let index = match &lists {
            Set::Run(run) => Some(BlockIndex::load(run)?),
            Set::Held { .. } => None,
        };
        Ok(ClusterLists { lists, index })
    }

    /// The lists of the clusters of a layer's vertices that were not loaded before, by vertex.
    fn load(&mut self, room: Room, layer: &Set, loaded: &mut Bitmap) -> Result<Set, Trouble> {
        let mut wanted = room.gather(1);
        let mut walk = layer.walk()?;
        while let Some(&[cluster, _]) = walk.peek() {
            if !loaded.get(cluster as usize) {
                loaded.set(cluster as usize);
                wanted.push(&[cluster])?;
            }
            walk.step()?;
        }
        drop(walk);
        let (wanted, mut fresh) = (wanted.finish()?, room.gather(POOLED));
        let mut clusters = wanted.walk()?;
        while let Some(&[cluster]) = clusters.peek() {
            let mut lists = self.at(cluster)?;
            while let Some(record) = lists.peek()
                && record[CLUSTERED - 1] <= cluster
            {
                if record[CLUSTERED - 1] == cluster {
                    fresh.push(&record[..POOLED])?;
                }
                lists.step()?;
            }
            clusters.step()?;
        }
        drop(clusters);
        fresh.finish()
    }

    /// Not far before the lists of a cluster.
    fn at(&self, cluster: u64) -> Result<Walk<'_>, Trouble> {
        match (&self.lists, &self.index) {
            (Set::Run(run), Some(index)) => {
                let (mut low, mut high) = (0, index.blocks());
                while low < high {
                    let middle = (low + high) / 2;
                    if index.first_key(middle)[CLUSTERED - 1] < cluster {
                        low = middle + 1
                    } else {
                        high = middle
                    }
                }
                Walk::of_reader(CLUSTERED, RunReader::open_at(run, index, low.saturating_sub(1))?)
            }
            _ => self.lists.walk(),
        }
    }
}
