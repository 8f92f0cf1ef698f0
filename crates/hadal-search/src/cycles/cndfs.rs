//! Nested depth-first search on several threads that share what they have finished.
//!
//! Evangelista, Laarman, Petrucci and van de Pol, "Improved multi-core nested depth-first search" (ATVA 2012). Every thread
//! makes a nested search of its own with its own path; states that one has left are blue for all, those of a second search
//! are red for all once it is over. Before that it waits until other accepting states among them are red as well.

use super::graph::End;
use super::shared::{Hand, Shared, Step, on_all_threads};
use hadal_store::table::{StateRef, Writer};
use std::collections::HashSet;
use std::sync::Mutex;

const BLUE: u8 = 2;
const RED: u8 = 4;

/// An accepting state on a cycle.
pub(super) fn search<'s>(shared: &'s Shared, writers: Vec<Writer<'s>>) -> Option<Vec<u64>> {
    let found: Mutex<Option<Vec<u64>>> = Mutex::new(None);
    on_all_threads(writers, |writer| {
        let mut walk =
            ColourWalk { hand: Hand::new(shared, writer), cyan: HashSet::new(), edges: Vec::new() };
        match walk.all() {
            Ok(Some(seed)) => {
                *found.lock().unwrap_or_else(|e| e.into_inner()) = Some(shared.state(seed).to_vec());
                shared.stop();
            }
            Ok(None) => {}
            Err(reason) => shared.end(reason),
        }
    });
    found.into_inner().unwrap_or_else(|e| e.into_inner())
}

struct ColourWalk<'s, 'a> {
    hand: Hand<'s, 'a>,
    /// The states on the path of the first search.
    cyan: HashSet<u64>,
    edges: Vec<Step>,
}

struct Frame {
    state: StateRef,
    edges: usize,
    next: usize,
}

impl ColourWalk<'_, '_> {
    fn all(&mut self) -> Result<Option<StateRef>, End> {
        for start in self.hand.initial()? {
            if !self.hand.shared.has(start, BLUE)
                && let Some(seed) = self.first(start)?
            {
                return Ok(Some(seed));
            }
        }
        Ok(None)
    }

    fn enter(&mut self, state: StateRef) -> Result<Frame, End> {
        self.cyan.insert(state.to_word());
        let edges = self.edges.len();
        self.hand.successors(state, &mut self.edges)?;
        Ok(Frame { state, edges, next: edges })
    }

    fn first(&mut self, start: StateRef) -> Result<Option<StateRef>, End> {
        let mut path = vec![self.enter(start)?];
        while let Some(frame) = path.last_mut() {
            if self.hand.shared.is_over() {
                return Ok(None);
            }
            if frame.next < self.edges.len() {
                let to = self.edges[frame.next].to;
                frame.next += 1;
                if !self.cyan.contains(&to.to_word()) && !self.hand.shared.has(to, BLUE) {
                    let inner = self.enter(to)?;
                    path.push(inner);
                }
                continue;
            }
            let (state, edges) = (frame.state, frame.edges);
            self.edges.truncate(edges);
            self.hand.shared.set(state, BLUE)?;
            if self.hand.accepting(state) && self.second(state)? {
                return Ok(Some(state));
            }
            self.cyan.remove(&state.to_word());
            path.pop();
        }
        Ok(None)
    }

    /// The second search: whether it meets a state on the first one's path.
    fn second(&mut self, seed: StateRef) -> Result<bool, End> {
        let own = self.hand.component(seed);
        let mut met: HashSet<StateRef> = HashSet::from([seed]);
        let mut open = vec![seed];
        let mut edges = Vec::new();
        while let Some(state) = open.pop() {
            if self.hand.shared.is_over() {
                return Ok(false);
            }
            edges.clear();
            self.hand.successors(state, &mut edges)?;
            for edge in &edges {
                // What leaves the component does not come back to the seed.
                if self.hand.component(edge.to) != own {
                    continue;
                }
                if self.cyan.contains(&edge.to.to_word()) {
                    return Ok(true);
                }
                if !self.hand.shared.has(edge.to, RED) && met.insert(edge.to) {
                    open.push(edge.to);
                }
            }
        }
        for &state in &met {
            if state == seed || !self.hand.accepting(state) {
                continue;
            }
            while !self.hand.shared.has(state, RED) {
                if self.hand.shared.is_over() {
                    return Ok(false);
                }
                std::thread::yield_now();
            }
        }
        for &state in &met {
            self.hand.shared.set(state, RED)?;
        }
        Ok(false)
    }
}
