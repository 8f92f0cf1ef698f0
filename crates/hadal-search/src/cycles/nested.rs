//! Nested depth-first search.
//!
//! Schwoon and Esparza, "A note on on-the-fly verification algorithms" (TACAS 2005): the second search begins where the
//! first one leaves an accepting state, and ends at a state on the first one's path. With components of the claim
//! (Edelkamp, Leue and Lluch Lafuente, "Directed explicit-state model checking in the validation of communication
//! protocols", STTT 2004): the second search stays inside one, and is not needed where every cycle is accepted.

use super::Seed;
use super::graph::{Edge, End, Graph};

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Guide {
    None,
    Components,
}

const WHITE: u8 = 0;
/// On the path of the first search.
const CYAN: u8 = 1;
const BLUE: u8 = 2;
const RED: u8 = 3;

struct Frame {
    state: u64,
    /// Where its transitions lie, and the next one.
    edges: usize,
    next: usize,
    /// Whether everything behind it is red.
    all_red: bool,
}

pub(super) async fn search(graph: &mut Graph<'_>, guide: Guide) -> Result<Option<Seed>, End> {
    let mut walk = NestedSearch { graph, guide, colours: Vec::new(), edges: Vec::new() };
    for start in walk.graph.initial()? {
        if walk.colour(start) == WHITE
            && let Some(state) = walk.first(start).await?
        {
            return Ok(Some(Seed { state, among: None, wanted: 0 }));
        }
    }
    Ok(None)
}

struct NestedSearch<'g, 'a> {
    graph: &'g mut Graph<'a>,
    guide: Guide,
    colours: Vec<u8>,
    /// Transitions of the states on the path, one after the other.
    edges: Vec<Edge>,
}

impl NestedSearch<'_, '_> {
    fn colour(&mut self, n: u64) -> u8 {
        if self.colours.len() <= n as usize {
            self.colours.resize(self.graph.len() as usize, WHITE);
        }
        self.colours[n as usize]
    }

    async fn enter(&mut self, state: u64) -> Result<Frame, End> {
        let edges = self.edges.len();
        self.graph.successors(state, &mut self.edges).await?;
        Ok(Frame { state, edges, next: edges, all_red: true })
    }

    /// The first search; a state on an accepted cycle where it meets one.
    async fn first(&mut self, start: u64) -> Result<Option<u64>, End> {
        let weak = self.guide == Guide::Components && self.graph.acceptance.weak;
        let mut path = vec![self.enter(start).await?];
        self.colours.resize(self.graph.len() as usize, WHITE);
        self.colours[start as usize] = CYAN;
        while let Some(frame) = path.last_mut() {
            let state = frame.state;
            if frame.next < self.edges.len() {
                let to = self.edges[frame.next].to;
                frame.next += 1;
                let colour = self.colour(to);
                if colour == CYAN {
                    if weak {
                        let own = self.graph.component(state);
                        if own.is_some() && own == self.graph.component(to) {
                            return Ok(Some(to));
                        }
                    } else if self.graph.accepting(state) {
                        return Ok(Some(state));
                    } else if self.graph.accepting(to) {
                        return Ok(Some(to));
                    }
                }
                if colour == WHITE {
                    self.colours[to as usize] = CYAN;
                    let inner = self.enter(to).await?;
                    path.push(inner);
                } else if colour != RED {
                    frame.all_red = false;
                }
                continue;
            }
            let (edges, all_red) = (frame.edges, frame.all_red);
            path.pop();
            self.edges.truncate(edges);
            let mut colour = BLUE;
            if !weak {
                if all_red {
                    colour = RED;
                } else if self.graph.accepting(state) {
                    if self.second(state).await? {
                        return Ok(Some(state));
                    }
                    colour = RED;
                }
            }
            self.colours[state as usize] = colour;
            if let Some(parent) = path.last_mut()
                && colour != RED
            {
                parent.all_red = false;
            }
        }
        Ok(None)
    }

    /// The second search: whether it meets a state on the first one's path.
    async fn second(&mut self, seed: u64) -> Result<bool, End> {
        let own = self.graph.component(seed);
        let mut open = vec![seed];
        let mut edges = Vec::new();
        while let Some(state) = open.pop() {
            edges.clear();
            self.graph.successors(state, &mut edges).await?;
            for edge in &edges {
                if self.guide == Guide::Components && self.graph.component(edge.to) != own {
                    continue;
                }
                match self.colour(edge.to) {
                    CYAN => return Ok(true),
                    BLUE => {
                        self.colours[edge.to as usize] = RED;
                        open.push(edge.to);
                    }
                    _ => {}
                }
            }
        }
        Ok(false)
    }
}
