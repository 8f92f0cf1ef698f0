//! Best-first width search (Lipovetzky and Geffner 2017, BFWS(f5) with novelty one): states with a fact that is new among
//! states with as many unmet goals and as much of a relaxed plan behind them come first, then those with fewer unmet goals.
//!
//! It hardly estimates anything, so it looks at many states in little time, and finds its way where estimates mislead. It
//! keeps every state, and so ends only where there is no more to see.

use crate::astar::{End, Figures};
use crate::open::{Entry, Open};
use crate::snapshot::{Loader, Plain, Saver};
use crate::states::{Chunks, Node, States, path};
use crate::stop::Watch;
use hadal_exec::rows::{Firing, RowSpace, RowWorker};
use hadal_guide::plan::Exploration;
use hadal_guide::{Distance, Estimator};
use hadal_search::StopReason;
use hadal_system::StateSpace;
use hadal_system::rows::{Change, Need, RowTask};
use std::collections::HashMap;
use std::io;

/// Facts of a relaxed plan that are counted.
const COUNTED: usize = 64;
/// States without anything new come after all others.
const OLD: u32 = 1 << 24;

/// What is remembered of a state besides the way to it.
#[derive(Clone, Copy, Debug, Default)]
struct Mark {
    /// Which relaxed plan its facts are counted in.
    plan: u32,
    /// Those that were reached on the way.
    reached: u64,
}

impl Plain for Mark {
    fn save(&self, to: &mut Saver) -> io::Result<()> {
        self.plan.save(to)?;
        self.reached.save(to)
    }

    fn load(from: &mut Loader) -> io::Result<Self> {
        Ok(Mark { plan: u32::load(from)?, reached: u64::load(from)? })
    }
}

/// A search that goes on where it was left.
pub(crate) struct Width<'s, 'g> {
    space: &'s RowSpace,
    relaxed: Exploration<'g>,
    worker: RowWorker<'s>,
    states: States,
    nodes: Chunks<Node>,
    marks: Chunks<Mark>,
    open: Open,
    /// The facts of each relaxed plan.
    plans: Vec<Vec<(u32, u32)>>,
    /// Facts seen, by unmet goals and reached facts of a relaxed plan.
    seen: HashMap<(u32, u32), Vec<u64>>,
    /// The first number of each variable's facts.
    first: Vec<u32>,
    facts: usize,
    begun: bool,
    /// Bytes of the facts of relaxed plans.
    plan_bytes: u64,
    /// What a successor counts.
    step: u64,
    /// Transitions made and facts looked at.
    work: u64,
}

/// What making a successor and looking it up counts, in about nanoseconds; a fact that is looked at counts one.
const STEP: u64 = 100;
/// What each effect of a row and each of its conditions counts besides.
const EFFECT: u64 = 8;

/// What a successor counts in the mean of all rows.
fn step(task: &RowTask) -> u64 {
    let effects = task.rows.iter().flat_map(|row| &row.effects);
    let looked_at: usize = effects.map(|effect| 1 + effect.when.len()).sum();
    STEP + EFFECT * looked_at as u64 / task.rows.len().max(1) as u64
}

impl<'s, 'g> Width<'s, 'g> {
    pub(crate) fn new(space: &'s RowSpace, relaxed: Exploration<'g>) -> Self {
        let mut facts = 0;
        let first = space.task().variables.iter().map(|variable| {
            facts += variable.values.len() as u32;
            facts - variable.values.len() as u32
        });
        let first = first.collect();
        Width {
            space,
            relaxed,
            worker: space.row_worker(),
            states: States::new(space.words()),
            nodes: Chunks::new(1),
            marks: Chunks::new(1),
            open: Open::default(),
            plans: Vec::new(),
            seen: HashMap::new(),
            first,
            facts: facts as usize,
            begun: false,
            plan_bytes: 0,
            step: step(space.task()),
            work: 0,
        }
    }

    /// What it took so far, in about nanoseconds, counted by what was done.
    pub(crate) fn work(&self) -> u64 {
        self.relaxed.work() + self.work
    }

    fn add_plan(&mut self, plan: Vec<(u32, u32)>) {
        self.plan_bytes += (size_of::<Vec<Entry>>() + plan.capacity() * size_of::<Entry>()) as u64;
        self.plans.push(plan);
    }

    /// Writes it down.
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(u64::from(self.begun))?;
        self.states.save(to)?;
        self.nodes.save(self.states.len(), to)?;
        self.marks.save(self.states.len(), to)?;
        self.open.save(to)?;
        to.word(self.plans.len() as u64)?;
        for plan in &self.plans {
            to.word(plan.len() as u64)?;
            plan.iter().try_for_each(|fact| fact.save(to))?;
        }
        let mut seen: Vec<_> = self.seen.iter().collect();
        seen.sort_unstable();
        to.word(seen.len() as u64)?;
        for (like, facts) in seen {
            like.save(to)?;
            facts.iter().try_for_each(|&word| to.word(word))?;
        }
        Ok(())
    }

    /// Reads it again, into a search of the same task.
    pub(crate) fn load(&mut self, from: &mut Loader) -> io::Result<()> {
        self.begun = from.word()? != 0;
        self.states = States::load(self.space.words(), from)?;
        self.nodes = Chunks::load(1, self.states.len(), from)?;
        self.marks = Chunks::load(1, self.states.len(), from)?;
        self.open = Open::load(from)?;
        self.plans.clear();
        self.plan_bytes = 0;
        for _ in 0..from.word()? {
            let facts = (0..from.word()?).map(|_| Entry::load(from)).collect::<io::Result<_>>()?;
            self.add_plan(facts);
        }
        self.seen.clear();
        for _ in 0..from.word()? {
            let like = Entry::load(from)?;
            let facts = (0..self.facts.div_ceil(64)).map(|_| from.word()).collect::<io::Result<_>>()?;
            self.seen.insert(like, facts);
        }
        Ok(())
    }

    /// Goes on until there is a plan, nothing is left, or it took so much work.
    pub(crate) fn go_on(&mut self, most_work: u64, watch: &mut Watch, figures: &mut Figures) -> End {
        let mut state = self.space.initial().to_vec();
        if !std::mem::replace(&mut self.begun, true) {
            self.states.insert(&state);
            self.nodes.push(&[Node { h: u32::MAX, ..Node::default() }]);
            self.marks.push(&[Mark::default()]);
            if self.worker.is_goal(&state) {
                return End::Plan(Vec::new());
            }
            if self.enter(0, &state, 0).is_none() {
                return End::Exhausted;
            }
        }
        let mut found = Vec::new();
        while let Some((_, (at, depth))) = self.open.pop() {
            state.copy_from_slice(self.states.get(at));
            figures.expanded += 1;
            let before = figures.generated;
            let g = self.nodes.get(at)[0].g;
            let mut overflow = false;
            found.clear();
            let (states, nodes, marks) = (&mut self.states, &mut self.nodes, &mut self.marks);
            self.worker.expand(&state, |row, firing, next| {
                let Firing::Reached(cost) = firing else { return };
                figures.generated += 1;
                let Some(g) = g.checked_add(cost).filter(|&g| g < u32::MAX / 2) else {
                    overflow = true;
                    return;
                };
                let (to, new) = states.insert(next);
                if new {
                    nodes.push(&[Node { parent: at, row, g, h: u32::MAX }]);
                    marks.push(&[Mark::default()]);
                    found.push(to);
                }
            });
            if overflow {
                return End::Stopped(StopReason::CostBound);
            }
            let looked_at = (self.first.len() + COUNTED) as u64;
            self.work += (figures.generated - before) * self.step + found.len() as u64 * looked_at;
            for &to in &found {
                state.copy_from_slice(self.states.get(to));
                if self.worker.is_goal(&state) {
                    return End::Plan(path(&self.nodes, to));
                }
                self.enter(to, &state, depth + 1);
            }
            let count = u64::from(self.states.len());
            figures.states = figures.states.max(count);
            let bytes = || {
                let seen = self.seen.len() as u64 * (self.facts as u64 / 8 + 64);
                let states = self.states.bytes() + self.nodes.bytes() + self.marks.bytes();
                states + self.open.bytes() + self.plan_bytes + seen
            };
            if let Some(reason) = watch.must_stop(0, count, bytes) {
                return End::Stopped(reason);
            }
            if self.work() >= most_work {
                return End::Stopped(StopReason::Incomplete);
            }
        }
        End::Exhausted
    }

    /// Opens a state; `None` where no way leads from it to the goal.
    fn enter(&mut self, at: u32, state: &[u64], depth: u32) -> Option<()> {
        let goals = self.unmet(state);
        let parent = self.nodes.get(at)[0].parent;
        let before = self.nodes.get(parent)[0].h;
        let mut mark = self.marks.get(parent)[0];
        if goals < before {
            // A goal more: what a relaxed plan from here wants is counted from now on.
            if self.relaxed.estimate(state, None) == Distance::INFINITE {
                return None;
            }
            mark = Mark { plan: self.plans.len() as u32, reached: 0 };
            let wanted = self.wanted(state);
            self.add_plan(wanted);
        } else {
            for (bit, &(variable, value)) in self.plans[mark.plan as usize].iter().enumerate() {
                let place = self.space.layout().finite[variable as usize];
                if place.get(state) == u64::from(value) {
                    mark.reached |= 1 << bit;
                }
            }
        }
        self.marks.get_mut(at)[0] = mark;
        self.nodes.get_mut(at)[0].h = goals;
        let is_new = self.note((goals, mark.reached.count_ones()), state);
        let key = goals + if is_new { 0 } else { OLD };
        self.open.push((key, depth), (at, depth));
        Some(())
    }

    fn unmet(&self, state: &[u64]) -> u32 {
        let value = |variable: u32| self.space.layout().finite[variable as usize].get(state);
        let unmet = self.space.task().goal.iter().filter(|need| match **need {
            Need::Is(variable, wanted) => value(variable) != u64::from(wanted),
            Need::IsNot(variable, wanted) => value(variable) == u64::from(wanted),
            Need::Derived(_) | Need::NotDerived(_) | Need::Compares(_) => false,
        });
        unmet.count() as u32
    }

    /// What the rows of the last relaxed plan make true that does not hold.
    fn wanted(&self, state: &[u64]) -> Vec<(u32, u32)> {
        let mut wanted = Vec::new();
        for label in self.relaxed.supporters().unwrap_or_default() {
            for effect in &self.space.task().rows[label.0 as usize].effects {
                if let Change::Set(variable, value) = effect.change
                    && self.space.layout().finite[variable as usize].get(state) != u64::from(value)
                {
                    wanted.push((variable, value));
                }
            }
        }
        wanted.sort_unstable();
        wanted.dedup();
        wanted.truncate(COUNTED);
        wanted.shrink_to_fit();
        wanted
    }

    /// Whether a state has a fact that is new among its like; all its facts are known from now on.
    fn note(&mut self, like: (u32, u32), state: &[u64]) -> bool {
        let words = self.facts.div_ceil(64);
        let seen = self.seen.entry(like).or_insert_with(|| vec![0; words]);
        let mut is_new = false;
        for (place, first) in self.space.layout().finite.iter().zip(&self.first) {
            let fact = (first + place.get(state) as u32) as usize;
            is_new |= seen[fact / 64] >> (fact % 64) & 1 == 0;
            seen[fact / 64] |= 1 << (fact % 64);
        }
        is_new
    }
}
