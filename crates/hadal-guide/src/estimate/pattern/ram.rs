//! A pattern database in RAM: the projection is explored forwards into an explicit graph, distances come from going
//! backwards over it.

use super::projection::Projection;
use super::{EDGE_WORK, UNREACHED, Unbuilt};
use crate::estimate::graph::all_off;
use crate::room::Room;
use crate::task::AbstractTask;
use hadal_store::Reservation;
use hadal_system::guide::Mask;

/// With more edges or combinations than this, masks are not looked at: distances without them are lower bounds too.
const MAX_MASKED: usize = 1 << 18;
/// Bytes of an edge, of one turned round, and of what is kept per state while distances are found.
const EDGE_BYTES: u64 = 12;
const TURNED_BYTES: u64 = 4;
const STATE_BYTES: u64 = 4 + 4 + 2 + 8;

/// Distances of all combinations of values.
pub(super) struct RamTable {
    distances: Vec<u16>,
    /// Where masks are looked at.
    graph: Option<Graph>,
    _memory: Reservation,
}

/// The reachable part of an abstract graph.
struct Graph {
    /// Number of each reachable abstract state.
    states: Vec<u32>,
    /// From and to, as places in `states`, and the operator.
    edges: Vec<(u32, u32, u32)>,
}

impl RamTable {
    /// The table of a projection, if its graph has at most so many edges and the budget has room for it.
    pub(super) fn build(
        task: &AbstractTask,
        projection: &Projection,
        starts: &[Vec<u16>],
        most_edges: u64,
        room: &Room,
    ) -> Result<Self, Unbuilt> {
        let size = match u32::try_from(projection.combinations()) {
            Ok(size) if size < u32::MAX => size as usize,
            _ => return Err(Unbuilt::NoRoom),
        };
        let mut memory = room.budget().try_reserve(4 * size as u64, "a pattern database")?;
        let graph = explore(projection, starts, size, most_edges, (room, &mut memory))?;
        let (states, edges) = (graph.states.capacity() as u64, graph.edges.capacity() as u64);
        memory
            .try_resize(2 * size as u64 + (4 + STATE_BYTES) * states + (EDGE_BYTES + TURNED_BYTES) * edges)?;
        let distances = graph.distances(task, projection, size, None);
        let minds_masks = graph.edges.len() <= MAX_MASKED && size <= MAX_MASKED;
        let graph = minds_masks.then_some(graph);
        let held = graph.as_ref().map_or(0, |_| 4 * states + EDGE_BYTES * edges);
        memory.shrink_to(2 * size as u64 + held);
        Ok(RamTable { distances, graph, _memory: memory })
    }

    /// The distance of a state.
    #[inline]
    pub(super) fn distance(&self, state: u64) -> u16 {
        self.distances[state as usize]
    }

    /// The distances where some transitions cannot fire, if these make a difference here.
    pub(super) fn masked(
        &self,
        task: &AbstractTask,
        projection: &Projection,
        off: &Mask,
    ) -> Option<Vec<u16>> {
        let graph = self.graph.as_ref()?;
        Some(graph.distances(task, projection, self.distances.len(), Some(off)))
    }
}

impl Graph {
    fn distances(
        &self,
        task: &AbstractTask,
        projection: &Projection,
        size: usize,
        off: Option<&Mask>,
    ) -> Vec<u16> {
        let operators: Option<Vec<bool>> =
            off.map(|off| task.operators.iter().map(|operator| all_off(&operator.labels, off)).collect());
        let states = &self.states;
        let fires = |operator: u32| operators.as_ref().is_none_or(|operators| !operators[operator as usize]);
        let mut first = vec![0u32; states.len() + 1];
        for &(_, to, operator) in &self.edges {
            first[to as usize + 1] += u32::from(fires(operator));
        }
        (0..states.len()).for_each(|n| first[n + 1] += first[n]);
        let mut from_of = vec![0u32; first[states.len()] as usize];
        let mut next = first.clone();
        for &(from, to, operator) in &self.edges {
            if fires(operator) {
                from_of[next[to as usize] as usize] = from;
                next[to as usize] += 1;
            }
        }
        let mut distance = vec![UNREACHED; states.len()];
        let mut wave = Vec::new();
        for (n, &state) in states.iter().enumerate() {
            if projection.is_goal(u64::from(state)) {
                distance[n] = 0;
                wave.push(n as u32);
            }
        }
        let mut level = 0u16;
        while !wave.is_empty() {
            level = level.saturating_add(1).min(UNREACHED - 1);
            let mut following = Vec::new();
            for node in wave {
                for &from in &from_of[first[node as usize] as usize..first[node as usize + 1] as usize] {
                    if distance[from as usize] == UNREACHED {
                        distance[from as usize] = level;
                        following.push(from);
                    }
                }
            }
            wave = following;
        }
        // What was never met in the projection is not spoken about.
        let mut all = vec![0; size];
        states.iter().zip(distance).for_each(|(&state, distance)| all[state as usize] = distance);
        all
    }
}

/// Explores a projection from its initial states.
fn explore(
    projection: &Projection,
    starts: &[Vec<u16>],
    size: usize,
    most_edges: u64,
    (room, memory): (&Room, &mut Reservation),
) -> Result<Graph, Unbuilt> {
    let mut number = vec![u32::MAX; size];
    let mut graph = Graph { states: Vec::new(), edges: Vec::new() };
    let mut meet = |states: &mut Vec<u32>, state: u64, memory: &mut Reservation| {
        let known = &mut number[state as usize];
        if *known == u32::MAX {
            *known = states.len() as u32;
            make_room(states, memory)?;
            states.push(state as u32);
        }
        Ok::<u32, Unbuilt>(*known)
    };
    for start in starts {
        meet(&mut graph.states, projection.number(start), memory)?;
    }
    let mut walk = projection.walk();
    let (mut at, mut told) = (0, 0);
    while at < graph.states.len() {
        if at % 1024 == 0 {
            let edges = graph.edges.len() as u64;
            room.spend(1024 + (edges - std::mem::replace(&mut told, edges)) * EDGE_WORK)?;
        }
        let state = u64::from(graph.states[at]);
        let Graph { states, edges } = &mut graph;
        let mut add = |operator, to| {
            if edges.len() as u64 == most_edges {
                return Err(Unbuilt::ManyEdges);
            }
            make_room(edges, memory)?;
            edges.push((at as u32, meet(states, to, memory)?, operator));
            Ok(())
        };
        projection.successors(&mut walk, state, &mut add)?;
        at += 1;
    }
    Ok(graph)
}

/// Lets a list grow by one, counting the memory.
fn make_room<T>(list: &mut Vec<T>, memory: &mut Reservation) -> Result<(), Unbuilt> {
    if list.len() == list.capacity() {
        let more = (list.len() / 2).max(1 << 10);
        memory.try_grow((more * size_of::<T>()) as u64)?;
        list.reserve_exact(more);
    }
    Ok(())
}
