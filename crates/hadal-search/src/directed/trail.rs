//! Trail shortening: given a trace to an error, a shorter one among the states around it.
//!
//! All states of the trace are expanded, then what was found around them, up to so many states; a breadth-first search through
//! these finds the shortest trace among them, to the same or another error, and the next round begins around that one (the
//! neighbourhood of a plan, Nakhost and Müller 2010). Where all states fit, the trace is a shortest one.

use super::core::{Core, Going};
use super::counted::Counted;
use super::nodes::{Flag, NONE};
use super::{DirectedOptions, DirectedSearch, Order};
use crate::finding::Finding;
use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::report::Violation;
use hadal_store::{Governor, OverBudget};
use hadal_system::Label;
use hadal_system::guide::{Blind, Goal, NoPriority};

/// Expansions between two looks at the clock.
const STRIDE: usize = 1024;
/// The first round knows this many states for each of the trace, and every further round as many times more.
const GROWTH: u64 = 4;

/// A trace to be made shorter.
pub struct Trail<'t> {
    /// The trace and what is wrong at its end.
    pub violation: &'t Violation,
    /// States that may be known around it.
    pub most_states: u64,
}

/// What became of it.
pub struct Shortened {
    /// A shorter trace, where there is one among the states seen.
    pub violation: Option<Violation>,
    /// States seen, with those of the trace, and those that are not on it.
    pub states: u64,
    /// The latter alone.
    pub added: u64,
    /// Transitions fired.
    pub transitions: u64,
    /// Whether every reachable state was seen, so that no trace is shorter.
    pub exhausted: bool,
}

/// What was found nearest to the start.
type Nearest = (Finding, Vec<u32>);

impl Trail<'_> {
    /// Looks for a shorter trace, as far as time and memory go.
    pub fn shortened(&self, task: SearchTask, governor: &Governor) -> Result<Shortened, Trouble> {
        let (goal, options) =
            (Goal::default(), DirectedOptions { order: Order::Breadth, ..DirectedOptions::default() });
        let search = DirectedSearch {
            task,
            governor,
            guide: &Blind,
            goal: &goal,
            priority: &NoPriority,
            options: &options,
            may_prune: false,
        };
        let mut around =
            Around { core: None, best: None, length: self.violation.path.len(), is_whole: false };
        // What was found by the time that memory is used up counts.
        let _ = around.look(search, self);
        let Around { core, best, is_whole, .. } = around;
        let (states, transitions) =
            core.as_ref().map_or((0, 0), |core| (core.table.len(), core.figures.work.generated));
        let violation = core.as_ref().zip(best).map(|(core, (finding, path))| Violation {
            kind: finding.kind,
            path: path.into_iter().map(|at| core.words_at(at).to_vec()).collect(),
            shortest: is_whole,
        });
        let added = states.saturating_sub(self.violation.path.len() as u64);
        Ok(Shortened { violation, states, added, transitions, exhausted: is_whole })
    }
}

struct Around<'a> {
    core: Option<Core<'a>>,
    best: Option<Nearest>,
    /// States of the best trace.
    length: usize,
    is_whole: bool,
}

impl<'a> Around<'a> {
    fn look(&mut self, search: DirectedSearch<'a>, trail: &Trail) -> Going {
        let core = self.core.insert(Core::new(search)?);
        let roots = core.start()?;
        core.found = None;
        let mut path = Vec::new();
        for state in &trail.violation.path {
            core.scratch.key.clear();
            core.scratch.key.extend_from_slice(state);
            path.push(core.intern(NONE, Label(0), 0)?.0);
            core.found = None;
        }
        let mut known = (path.len() as u64).saturating_mul(GROWTH);
        while self.length > 2 {
            let most = known.min(trail.most_states);
            let is_whole = grow(core, &[&path[..], &roots].concat(), most)?;
            if let Some((finding, nearest)) = nearest(core, &roots, self.length)? {
                self.length = nearest.len();
                path.clone_from(&nearest);
                self.best = Some((finding, nearest));
            }
            self.is_whole = is_whole;
            if is_whole || most == trail.most_states || core.search.task.control.must_stop(0).is_some() {
                break;
            }
            known = known.saturating_mul(GROWTH);
        }
        Ok(())
    }
}

/// Expands these states and what is found around them until so many are known; whether all of them were expanded.
fn grow(core: &mut Core, from: &[u32], most: u64) -> Result<bool, OverBudget> {
    let mut queue: Counted<u32> = Counted::new("states around a trace", core.search.governor);
    core.nodes.clear_all(Flag::Marked);
    for &at in from {
        if !core.nodes.get(at).is(Flag::Marked) {
            core.nodes.get_mut(at).set(Flag::Marked);
            queue.push(at)?;
        }
    }
    let mut next = 0;
    while next < queue.len() {
        if core.table.len() >= most
            || next % STRIDE == STRIDE - 1 && core.search.task.control.must_stop(0).is_some()
        {
            return Ok(false);
        }
        let at = queue[next];
        next += 1;
        core.generate(at);
        for n in 0..core.successors() {
            let to = core.successor(n, at, 0, 0)?.at;
            if !core.nodes.get(to).is(Flag::Marked) {
                core.nodes.get_mut(to).set(Flag::Marked);
                queue.push(to)?;
            }
        }
        core.settle();
        core.found = None;
    }
    Ok(true)
}

/// The shortest trace through known states to anything that is wrong, if it has fewer than `longest` states.
fn nearest(core: &mut Core, roots: &[u32], longest: usize) -> Result<Option<Nearest>, OverBudget> {
    let mut queue: Counted<(u32, u32)> = Counted::new("states around a trace", core.search.governor);
    core.nodes.clear_all(Flag::Marked);
    for &at in roots {
        core.nodes.get_mut(at).set(Flag::Marked);
        queue.push((at, NONE))?;
    }
    let (mut next, mut depth, mut layer_ends) = (0, 0, queue.len());
    // What is wrong with a state of the next layer; a state of this one from which nothing goes on is nearer still.
    let mut beyond: Option<(Finding, u32)> = None;
    let mut successors = Vec::new();
    while next < queue.len() && depth + 1 < longest {
        let at = queue[next].0;
        let found = core.known_successors(at, &mut successors);
        if let Some(finding) = found {
            return Ok(Some((finding, way(&queue, next as u32))));
        }
        for &to in &successors {
            if core.nodes.get(to).is(Flag::Marked) {
                continue;
            }
            core.nodes.get_mut(to).set(Flag::Marked);
            queue.push((to, next as u32))?;
            if beyond.is_none() && core.nodes.get(to).is(Flag::Hit) {
                let words = core.words_at(to).to_vec();
                beyond = core.look_at_words(&words).map(|finding| (finding, queue.len() as u32 - 1));
            }
        }
        next += 1;
        if next == layer_ends {
            if let Some((finding, last)) = beyond.take().filter(|_| depth + 2 < longest) {
                return Ok(Some((finding, way(&queue, last))));
            }
            depth += 1;
            layer_ends = queue.len();
        }
        if next % STRIDE == 0 && core.search.task.control.must_stop(0).is_some() {
            return Ok(None);
        }
    }
    Ok(None)
}

fn way(queue: &[(u32, u32)], last: u32) -> Vec<u32> {
    let mut path = Vec::new();
    let mut here = last;
    while here != NONE {
        path.push(queue[here as usize].0);
        here = queue[here as usize].1;
    }
    path.reverse();
    path
}
