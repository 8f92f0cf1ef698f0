//! Following processes that go on alone ([`hadal_system::Action::then`]): what lies between is passed through, and only
//! the states where nobody goes on alone any more are states of the space.
//!
//! What one step leads to in this way is searched depth-first with a visited set of its own, so loops and branches that
//! meet again cost nothing twice. Both engines share this file: they differ in how one step is made.

use hadal_system::{Label, ProcessId, Successors, System, system::instance_count};
use std::collections::HashSet;

/// Up to this many points are looked for one by one.
const FEW: usize = 24;

/// Who goes on alone after each label.
#[derive(Debug)]
pub(crate) struct Passing {
    then: Vec<Option<ProcessId>>,
}

/// What makes single steps.
pub(crate) trait Steps {
    /// Appends all successors of `state`.
    fn all(&mut self, state: &[u64], out: &mut Successors);
    /// Appends what `process` can do alone in `state`.
    fn alone(&mut self, process: ProcessId, state: &[u64], out: &mut Successors);
}

impl Passing {
    /// `None` where nobody ever goes on alone.
    pub fn of(system: &System) -> Option<Self> {
        if system.actions.iter().all(|action| action.then.is_none()) {
            return None;
        }
        let mut then = Vec::new();
        for action in &system.actions {
            let count = instance_count(&action.params, &system.domains) as usize;
            then.resize(then.len() + count, action.then);
        }
        Some(Passing { then })
    }

    /// Who goes on alone after this step.
    pub fn after(&self, label: Label) -> Option<ProcessId> {
        self.then.get(label.0 as usize).copied().flatten()
    }

    /// Appends the successors of `state`; each has the label of the first step towards it.
    pub fn successors(
        &self,
        steps: &mut dyn Steps,
        state: &[u64],
        walk: &mut PassingMemory,
        out: &mut Successors,
    ) {
        walk.first.clear();
        steps.all(state, &mut walk.first);
        self.follow(steps, walk, out);
    }

    /// Appends where the first steps in `walk` lead.
    pub fn follow(&self, steps: &mut dyn Steps, walk: &mut PassingMemory, out: &mut Successors) {
        let mut faults = walk.first.faults().to_vec();
        for (label, reached) in walk.first.iter() {
            match self.after(label) {
                None => out.push(label, reached),
                Some(process) => {
                    let from = out.len();
                    walk.points.start(process, reached);
                    while let Some((process, here)) = walk.points.next() {
                        walk.next.clear();
                        steps.alone(process, &here, &mut walk.next);
                        if walk.next.is_empty() && walk.next.faults().is_empty() {
                            push_once(out, from, label, &here);
                        }
                        if !walk.next.faults().is_empty() && faults.last() != Some(&label) {
                            faults.push(label);
                        }
                        for (step, reached) in walk.next.iter() {
                            match self.after(step) {
                                None => push_once(out, from, label, reached),
                                Some(process) => walk.points.add(process, reached),
                            }
                        }
                    }
                }
            }
        }
        faults.sort_unstable();
        faults.dedup();
        faults.into_iter().for_each(|label| out.push_fault(label));
    }
}

/// Adds an end that may have been met before.
fn push_once(out: &mut Successors, from: usize, label: Label, state: &[u64]) {
    if (from..out.len()).all(|n| out.state(n) != state) {
        out.push(label, state);
    }
}

/// Memory for following one step at a time.
#[derive(Debug)]
pub(crate) struct PassingMemory {
    /// The first steps.
    pub first: Successors,
    next: Successors,
    points: Points,
}

impl PassingMemory {
    /// For states of this many words.
    pub fn new(words: usize) -> Self {
        let points = Points { words, seen: Vec::new(), open: Vec::new(), large: HashSet::new() };
        PassingMemory { first: Successors::new(words), next: Successors::new(words), points }
    }
}

/// The points on the way: who goes on, and from where. Each is visited once.
#[derive(Debug)]
struct Points {
    words: usize,
    /// Process, then state, one after the other.
    seen: Vec<u64>,
    /// Numbers of points that wait.
    open: Vec<usize>,
    /// The same points, where there are many.
    large: HashSet<Box<[u64]>>,
}

impl Points {
    fn start(&mut self, process: ProcessId, state: &[u64]) {
        self.seen.clear();
        self.open.clear();
        self.large.clear();
        self.add(process, state);
    }

    fn add(&mut self, process: ProcessId, state: &[u64]) {
        let width = self.words + 1;
        let number = self.seen.len() / width;
        self.seen.push(u64::from(process.0));
        self.seen.extend_from_slice(state);
        let (before, this) = self.seen.split_at(number * width);
        let known = if number <= FEW {
            before.chunks_exact(width).any(|point| point == this)
        } else {
            if self.large.is_empty() {
                self.large.extend(before.chunks_exact(width).map(Box::from));
            }
            !self.large.insert(this.into())
        };
        if known {
            self.seen.truncate(number * width);
        } else {
            self.open.push(number);
        }
    }

    fn next(&mut self) -> Option<(ProcessId, Vec<u64>)> {
        let at = self.open.pop()? * (self.words + 1);
        Some((ProcessId(self.seen[at] as u32), self.seen[at + 1..=at + self.words].to_vec()))
    }
}
