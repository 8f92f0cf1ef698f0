//! Breadth-first search in explicit graphs on disk: distances are those of a queue in RAM, and transfers follow the theorems.

use hadal_search::explicit::{Clustering, Distances, Graph, Way};
use hadal_store::run::RunReader;
use hadal_store::vfs::{Disk, IoThreads, MemoryFolder};
use hadal_store::{Governor, RunFile};
use hadal_testkit::Random;
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

const WAYS: [Way; 3] =
    [Way::MunagalaRanade, Way::MehlhornMeyer(Clustering::Drawn(1)), Way::MehlhornMeyer(Clustering::Tour)];

/// A disk that counts, in RAM.
fn disk(memory: u64) -> Disk {
    let folder = Arc::new(MemoryFolder::new(&Governor::unlimited()));
    Disk::new(folder, IoThreads::new(0), Governor::new(memory), 0)
}

fn searched(disk: &Disk, memory: u64, edges: &[(u64, u64)], start: u64, way: Way) -> Distances {
    let graph = Graph::build(disk, memory, edges.iter().copied().map(Ok)).expect("a graph");
    graph.search(start, way).expect("a search")
}

/// Vertices and their distances, as a queue finds them.
fn known(edges: &[(u64, u64)], start: u64) -> HashMap<u64, u64> {
    let mut next: HashMap<u64, Vec<u64>> = HashMap::new();
    for &(a, b) in edges {
        next.entry(a).or_default().push(b);
        next.entry(b).or_default().push(a);
    }
    let mut distances = HashMap::from([(start, 0)]);
    let mut queue = VecDeque::from([start]);
    while let Some(vertex) = queue.pop_front() {
        let distance = distances[&vertex] + 1;
        for &to in next.get(&vertex).into_iter().flatten() {
            distances.entry(to).or_insert_with(|| {
                queue.push_back(to);
                distance
            });
        }
    }
    distances
}

fn read(run: &RunFile) -> HashMap<u64, u64> {
    let (mut reader, mut block) = (RunReader::open(run).expect("a run"), Vec::new());
    let mut all = HashMap::new();
    while reader.next_block(&mut block).expect("a block") {
        for pair in block.chunks_exact(2) {
            assert_eq!(all.insert(pair[0], pair[1]), None, "every vertex once");
        }
    }
    all
}

#[test]
fn every_way_finds_the_distances_of_a_queue() {
    for seed in 0..150 {
        let mut random = Random::new(seed);
        let vertices = 2 + random.below(400u64);
        let count = random.below(3 * vertices);
        let place = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> (seed % 40);
        let edges: Vec<(u64, u64)> =
            (0..count).map(|_| (place(random.below(vertices)), place(random.below(vertices)))).collect();
        let start = place(random.below(vertices));
        let expected = known(&edges, start);
        for way in WAYS {
            // In RAM as a whole, and with nearly everything on disk.
            for memory in [64 << 20, 256 << 10] {
                let disk = disk(memory.max(1 << 20));
                let found =
                    searched(&disk, if memory < 1 << 20 { 4 << 10 } else { memory }, &edges, start, way);
                assert_eq!(read(&found.run), expected, "seed {seed}, {way:?}, {memory} bytes");
                assert_eq!(found.layers.iter().sum::<u64>(), expected.len() as u64);
            }
        }
    }
}

/// A path, or a square grid, whose vertices have numbers in no order.
fn grid(width: u64, height: u64) -> Vec<(u64, u64)> {
    let place = |x: u64, y: u64| ((y * width + x).wrapping_mul(0x9E37_79B9_7F4A_7C15)) >> 20;
    let mut edges = Vec::new();
    for y in 0..height {
        for x in 0..width {
            if x + 1 < width {
                edges.push((place(x, y), place(x + 1, y)));
            }
            if y + 1 < height {
                edges.push((place(x, y), place(x, y + 1)));
            }
        }
    }
    edges
}

#[test]
fn clusters_pay_where_distances_are_long_and_cost_where_they_are_short() {
    let memory = 64 << 10;
    let total = |edges: &[(u64, u64)], start, way| {
        let disk = disk(4 << 20);
        let found = searched(&disk, memory, edges, start, way);
        found.clustering_blocks + found.searching_blocks
    };
    let path = grid(30_000, 1);
    let [plain, drawn, tour] = WAYS.map(|way| total(&path, path[0].0, way));
    assert!(drawn * 2 < plain && tour * 2 < plain, "a path: {plain}, {drawn} drawn, {tour} by tour");
    let mut random = Random::new(5);
    let vertices = 20_000u64;
    let near: Vec<(u64, u64)> =
        (0..8 * vertices).map(|_| (random.below(vertices), random.below(vertices))).collect();
    let [plain, drawn, tour] = WAYS.map(|way| total(&near, near[0].0, way));
    assert!(plain < drawn && plain < tour, "a random graph: {plain}, {drawn} drawn, {tour} by tour");
}

#[test]
fn blocks_moved_are_bounded_by_vertices_and_sorting() {
    let memory = 64u64 << 10;
    for side in [20u64, 60, 200] {
        let edges = grid(side, side);
        let disk = disk(4 << 20);
        let found = searched(&disk, memory, &edges, edges[0].0, Way::MunagalaRanade);
        let (vertices, both) = (side * side, 2 * edges.len() as u64);
        // Records of two words; one sort is two passes here.
        let scan = (vertices + both) * 16 / 4096 + 1;
        assert!(
            found.searching_blocks <= 4 * vertices + 8 * 2 * scan,
            "{side}: {} blocks for {vertices} vertices, {scan} in a scan",
            found.searching_blocks
        );
    }
}
