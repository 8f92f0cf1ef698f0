//! Learning depth-first search (Bonet, Geffner 2006), in its form for decision processes: components that are consistent
//! are solved together.

use super::{Envelope, Found, Stop};
use crate::task::Task;

/// Repeats depth-first searches from the initial state until it is solved.
pub fn ldfs(task: &dyn Task, stop: Stop) -> Found {
    let mut search = Search {
        envelope: Envelope::new(task, stop),
        residual: stop.residual,
        order: Vec::new(),
        stack: Vec::new(),
        count: 0,
    };
    while !search.envelope.nodes[0].solved {
        search.visit(0);
        search.stack.clear();
        search.order.iter_mut().for_each(|o| *o = (0, 0));
        search.count = 0;
        if search.envelope.exhausted() {
            return search.envelope.found(false);
        }
    }
    search.envelope.found(true)
}

struct Search<'t> {
    envelope: Envelope<'t>,
    residual: f64,
    /// Number of the visit and the least that can be reached back, from 1; 0 where not on the stack.
    order: Vec<(u32, u32)>,
    stack: Vec<u32>,
    count: u32,
}

impl Search<'_> {
    /// Whether everything below `at` is consistent.
    fn visit(&mut self, at: u32) -> bool {
        stacker::maybe_grow(64 << 10, 1 << 20, || self.visit_here(at))
    }

    fn visit_here(&mut self, at: u32) -> bool {
        if self.envelope.nodes[at as usize].solved {
            return true;
        }
        if self.envelope.exhausted() {
            return false;
        }
        self.envelope.expand(at);
        self.order.resize(self.envelope.nodes.len(), (0, 0));
        self.count += 1;
        self.order[at as usize] = (self.count, self.count);
        self.stack.push(at);
        let actions = self.envelope.nodes[at as usize].actions.as_ref().map_or(0, |a| a.len());
        let mut consistent = false;
        for n in 0..actions {
            if self.distance(at, n) > self.residual {
                continue;
            }
            consistent = true;
            let targets: Vec<u32> = match &self.envelope.nodes[at as usize].actions {
                Some(list) => list[n].outcomes.iter().map(|o| o.0).collect(),
                None => Vec::new(),
            };
            for to in targets {
                if self.envelope.nodes[to as usize].solved {
                    continue;
                }
                self.order.resize(self.envelope.nodes.len(), (0, 0));
                if self.order[to as usize].0 == 0 {
                    consistent &= self.visit(to);
                    let low = self.order[to as usize].1;
                    if low != 0 {
                        self.order[at as usize].1 = self.order[at as usize].1.min(low);
                    }
                } else {
                    let number = self.order[to as usize].0;
                    self.order[at as usize].1 = self.order[at as usize].1.min(number);
                }
            }
            // What lies below may have changed.
            consistent &= self.distance(at, n) <= self.residual;
            if consistent {
                break;
            }
            self.unwind(at);
        }
        if !consistent {
            self.envelope.update(at);
            self.unwind(at);
            self.stack.pop();
            self.order[at as usize] = (0, 0);
            return false;
        }
        let (number, low) = self.order[at as usize];
        if number == low {
            while let Some(top) = self.stack.pop() {
                self.envelope.nodes[top as usize].solved = true;
                self.order[top as usize] = (0, 0);
                if top == at {
                    break;
                }
            }
        }
        true
    }

    /// By how much the n-th action is worse than the node's value.
    fn distance(&self, at: u32, n: usize) -> f64 {
        match &self.envelope.nodes[at as usize].actions {
            Some(list) => {
                let (value, own) = (self.envelope.value_of(&list[n]), self.envelope.nodes[at as usize].value);
                if value == own { 0.0 } else { value - own }
            }
            None => f64::INFINITY,
        }
    }

    /// Takes everything above `at` off the stack.
    fn unwind(&mut self, at: u32) {
        while let Some(&top) = self.stack.last() {
            if top == at {
                return;
            }
            self.order[top as usize] = (0, 0);
            self.stack.pop();
        }
    }
}
