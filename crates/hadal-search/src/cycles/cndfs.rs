//! Nested depth-first search on several threads that share what they have finished.
//!
//! Evangelista, Laarman, Petrucci and van de Pol, "Improved multi-core nested depth-first search" (ATVA 2012). Every thread
//! makes a nested search of its own with its own path; states that one has left are blue for all, those of a second search
//! are red for all once it is over. Before that it waits until other accepting states among them are red as well.

use super::graph::End;
use super::shared::{Hand, Shared, Step};
use crate::resting::{Share, together};
use hadal_store::table::{StateRef, Writer};
use std::collections::HashSet;
use std::sync::Mutex;

const BLUE: u8 = 2;
const RED: u8 = 4;

/// An accepting state on a cycle.
pub(super) async fn search(shared: &Shared<'_>, writers: Vec<Writer<'_>>) -> Option<Vec<u64>> {
    let found: Mutex<Option<Vec<u64>>> = Mutex::new(None);
    let share = |writer| -> Share {
        let mut walk =
            ColourWalk { hand: Hand::new(shared, writer), cyan: HashSet::new(), edges: Vec::new() };
        let found = &found;
        Box::pin(async move {
            match walk.all().await {
                Ok(Some(seed)) => {
                    *found.lock().unwrap_or_else(|e| e.into_inner()) = Some(shared.state(seed).to_vec());
                    shared.stop();
                }
                Ok(None) => {}
                Err(reason) => shared.end(reason),
            }
        })
    };
    together(writers.into_iter().map(share).collect()).await;
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
    async fn all(&mut self) -> Result<Option<StateRef>, End> {
        for start in self.hand.initial()? {
            if !self.hand.shared.has(start, BLUE)
                && let Some(seed) = self.first(start).await?
            {
                return Ok(Some(seed));
            }
        }
        Ok(None)
    }

    async fn enter(&mut self, state: StateRef) -> Result<Frame, End> {
        self.cyan.insert(state.to_word());
        let edges = self.edges.len();
        self.hand.successors(state, &mut self.edges).await?;
        Ok(Frame { state, edges, next: edges })
    }

    async fn first(&mut self, start: StateRef) -> Result<Option<StateRef>, End> {
        let mut path = vec![self.enter(start).await?];
        while let Some(frame) = path.last_mut() {
            if self.hand.shared.is_over() {
                return Ok(None);
            }
            if frame.next < self.edges.len() {
                let to = self.edges[frame.next].to;
                frame.next += 1;
                if !self.cyan.contains(&to.to_word()) && !self.hand.shared.has(to, BLUE) {
                    let inner = self.enter(to).await?;
                    path.push(inner);
                }
                continue;
            }
            let (state, edges) = (frame.state, frame.edges);
            self.edges.truncate(edges);
            self.hand.shared.set(state, BLUE)?;
            if self.hand.accepting(state) && self.second(state).await? {
                return Ok(Some(state));
            }
            self.cyan.remove(&state.to_word());
            path.pop();
        }
        Ok(None)
    }

    /// The second search: whether it meets a state on the first one's path.
    async fn second(&mut self, seed: StateRef) -> Result<bool, End> {
        let own = self.hand.component(seed);
        let mut met: HashSet<StateRef> = HashSet::from([seed]);
        let mut open = vec![seed];
        let mut edges = Vec::new();
        while let Some(state) = open.pop() {
            if self.hand.shared.is_over() {
                return Ok(false);
            }
            edges.clear();
            self.hand.successors(state, &mut edges).await?;
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
                // Whoever makes it red may rest.
                self.hand.rest().await?;
                std::thread::yield_now();
            }
        }
        for &state in &met {
            self.hand.shared.set(state, RED)?;
        }
        Ok(false)
    }
}
