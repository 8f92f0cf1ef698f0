//! From a path of zones to a run with delays: the firing times of a path satisfy difference constraints, of which the
//! least solution is taken (Bellman and Ford), and the run is replayed with exact times before it is shown.

use hadal_system::timed::GoingOn;
use hadal_system::{Label, StateSpace, Successors, Value, Worker};

use super::code::Context;
use super::dbm::{INFINITY, Zone};
use super::deadlock;
use super::space::ZoneSpace;
use super::timing::{Entry, Faulty, Set, apply_all};
use super::worker::ZoneWorker;
use crate::interpret::{Interpreter, Outcome};

/// A time: `units / scale`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Time {
    /// How many parts.
    pub units: i64,
    /// Parts of one unit of time.
    pub scale: i64,
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Scales are powers of two, so the decimals end.
        let (whole, rest) = (self.units.div_euclid(self.scale), self.units.rem_euclid(self.scale));
        if rest == 0 {
            return write!(f, "{whole}");
        }
        write!(f, "{}", whole as f64 + rest as f64 / self.scale as f64)
    }
}

/// One transition of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcreteStep {
    /// Which start or action instance.
    pub label: Label,
    /// The instance for people.
    pub action: String,
    /// The time since the step before.
    pub delay: Time,
    /// The time since the beginning.
    pub time: Time,
    /// The discrete state it leads to.
    pub state: Vec<u64>,
    /// What the clocks then show.
    pub clocks: Vec<Time>,
}

/// A run with exact times, replayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConcreteTrace {
    /// The initial state first.
    pub steps: Vec<ConcreteStep>,
    /// What is waited in the last state.
    pub wait: Time,
    /// What the clocks show in the end.
    pub clocks: Vec<Time>,
}

/// A path without a run: not an error of the model but of hadal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConcreteError {
    /// No transition leads on.
    #[error("step {0} of the path does not replay: no transition leads to its zone")]
    NoStep(usize),
    /// The last zone does not show what was seen.
    #[error("the last zone of the path does not show what was found")]
    NoEnding,
    /// The constraints have no solution.
    #[error("the path has no delays")]
    NoDelays,
    /// The run does not satisfy the model.
    #[error("step {0} of the run does not replay with its delays")]
    NotReplayed(usize),
}

/// How a run is to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TimedEnding {
    /// Anywhere in its last state.
    State,
    /// Where this property is decided.
    Property(usize),
    /// Where this action meets an error.
    Fault(Label),
    /// Where nothing is possible any more.
    Deadlock,
}

/// `t[left] - t[right]` is at most `constant`, or less.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Difference {
    pub(crate) left: usize,
    pub(crate) right: usize,
    pub(crate) constant: i64,
    strict: bool,
}

/// When each clock was set, and to what.
type Settings = Vec<(usize, i64)>;

/// The labels of a path: the first that lead from each state to the next.
pub(super) fn labels_along(worker: &mut dyn Worker, path: &[Vec<u64>]) -> Result<Vec<Label>, ConcreteError> {
    let mut out = Successors::new(path.first().map_or(1, Vec::len));
    let mut labels = Vec::with_capacity(path.len());
    for (n, wanted) in path.iter().enumerate() {
        out.clear();
        match n {
            0 => worker.initial(&mut out),
            _ => worker.successors(&path[n - 1], &mut out),
        }
        let found = out.iter().find(|(_, state)| *state == wanted).map(|(label, _)| label);
        labels.push(found.ok_or(ConcreteError::NoStep(n))?);
    }
    Ok(labels)
}

impl ZoneSpace {
    /// Finds and replays the earliest run along `path`, a list of states as workers yield them.
    pub fn concrete(&self, path: &[Vec<u64>], ending: TimedEnding) -> Result<ConcreteTrace, ConcreteError> {
        let labels = self.labels(path)?;
        let discrete: Vec<&[u64]> = path.iter().map(|state| &state[self.zones.words..]).collect();
        self.run_along(&discrete, &labels, ending)
    }

    /// The labels of a path: the first that lead from each state to the next.
    pub fn labels(&self, path: &[Vec<u64>]) -> Result<Vec<Label>, ConcreteError> {
        labels_along(&mut ZoneWorker::new(self), path)
    }

    /// Finds and replays the earliest run through these discrete states by these labels.
    pub fn run_along(
        &self,
        discrete: &[&[u64]],
        labels: &[Label],
        ending: TimedEnding,
    ) -> Result<ConcreteTrace, ConcreteError> {
        let all = self.differences(discrete, labels, ending)?;
        let times = solve(&all, discrete.len() + 1).ok_or(ConcreteError::NoDelays)?;
        let interpreter = self.model.interpreter();
        ConcreteRun { space: self, interpreter: &interpreter }.replay(discrete, labels, &times)
    }

    /// Replays a run at these whole times: of each step, and of the end.
    pub(crate) fn replay_at(
        &self,
        discrete: &[&[u64]],
        labels: &[Label],
        times: &[i64],
    ) -> Result<ConcreteTrace, ConcreteError> {
        let interpreter = self.model.interpreter();
        ConcreteRun { space: self, interpreter: &interpreter }.replay(discrete, labels, &(times.to_vec(), 1))
    }

    /// What the times of a run must satisfy: time 0 is the beginning, time n that of step n, the last that of the end.
    pub(crate) fn differences(
        &self,
        discrete: &[&[u64]],
        labels: &[Label],
        ending: TimedEnding,
    ) -> Result<Vec<Difference>, ConcreteError> {
        let interpreter = self.model.interpreter();
        let walk = ConcreteRun { space: self, interpreter: &interpreter };
        let faulty = |n: usize| move |Faulty| ConcreteError::NotReplayed(n);
        let mut settings: Settings = vec![(0, 0); self.zones.size];
        let mut all = Vec::new();
        let mut exact = Zone::zero(self.zones.size - 1);
        for (n, &state) in discrete.iter().enumerate() {
            if n > 0 {
                let before = discrete[n - 1];
                let step = DiscreteStep { label: labels[n], before, after: state };
                walk.constrain_step(step, n, &mut settings, &mut all).map_err(faulty(n))?;
                walk.advance(step, &mut exact).map_err(faulty(n))?;
            }
            walk.constrain_stay(state, n, &settings, &mut all).map_err(faulty(n))?;
            let context = walk.context(state, &[]);
            if !self.settle(&context, &mut exact).map_err(faulty(n))? {
                return Err(ConcreteError::NotReplayed(n));
            }
        }
        let end = discrete.len();
        if let Some(&last) = discrete.last() {
            let part = walk.ending(last, exact, ending).ok_or(ConcreteError::NoEnding)?;
            for i in 0..self.zones.size {
                for j in (0..self.zones.size).filter(|&j| j != i) {
                    let bound = part.entry(i, j);
                    if bound != INFINITY {
                        all.extend(difference(Entry { left: i, minus: j, bound }, end, &settings));
                    }
                }
            }
        }
        Ok(all)
    }
}

/// The constraint at the time `now`; `None` where it does not depend on times.
fn difference(entry: Entry, now: usize, settings: &Settings) -> Option<Difference> {
    let Entry { left, minus, bound } = entry;
    let (constant, strict) = (i64::from(bound >> 1), bound & 1 == 0);
    let of = |clock: usize| settings[clock];
    Some(match (left, minus) {
        (0, 0) => Difference { left: 0, right: 0, constant, strict },
        (x, 0) => Difference { left: now, right: of(x).0, constant: constant - of(x).1, strict },
        (0, y) => Difference { left: of(y).0, right: now, constant: constant + of(y).1, strict },
        (x, y) => {
            Difference { left: of(y).0, right: of(x).0, constant: constant - of(x).1 + of(y).1, strict }
        }
    })
}

/// The least times from 0 on that satisfy all, with the scale they are given in.
fn solve(all: &[Difference], times: usize) -> Option<(Vec<i64>, i64)> {
    let mut scale = 1;
    loop {
        if let Some(found) = solve_at(all, times, scale) {
            return Some((found, scale));
        }
        // A cycle has at most so many strict constraints.
        if scale > times as i64 + 1 {
            return None;
        }
        scale *= 2;
    }
}

fn solve_at(all: &[Difference], times: usize, scale: i64) -> Option<Vec<i64>> {
    let mut found = vec![0i64; times];
    for _ in 0..=times + 1 {
        let mut changed = false;
        for it in all {
            let most = it.constant * scale - i64::from(it.strict);
            let least = found[it.left] - most;
            if found[it.right] < least {
                found[it.right] = least;
                changed = true;
            }
        }
        // The first time is the beginning.
        if found[0] > 0 {
            return None;
        }
        if !changed {
            return Some(found);
        }
    }
    None
}

/// A step of the discrete part.
#[derive(Clone, Copy)]
struct DiscreteStep<'c> {
    label: Label,
    before: &'c [u64],
    after: &'c [u64],
}

struct ConcreteRun<'s> {
    space: &'s ZoneSpace,
    interpreter: &'s Interpreter<'s>,
}

impl ConcreteRun<'_> {
    fn context<'c>(&'c self, state: &'c [u64], locals: &'c [Value]) -> Context<'c> {
        Context { state, locals, interpreter: self.interpreter, shapes: &[] }
    }

    fn of_label<'c>(&'c self, state: &'c [u64], label: Label, locals: &'c [Value]) -> Context<'c> {
        let shapes = &self.space.model.system().actions[self.space.action(label)].locals;
        Context { state, locals, interpreter: self.interpreter, shapes }
    }

    /// The invariants of a state on entering it at time `since`, and on leaving it at the next time.
    fn constrain_stay(
        &self,
        state: &[u64],
        since: usize,
        settings: &Settings,
        all: &mut Vec<Difference>,
    ) -> Result<(), Faulty> {
        let context = self.context(state, &[]);
        for now in [since, since + 1] {
            all.push(Difference { left: since, right: now, constant: 0, strict: false });
            if self.space.is_still(&context)? {
                all.push(Difference { left: now, right: since, constant: 0, strict: false });
            }
            for (code, stays) in self.space.locations.iter().zip(&self.space.stays) {
                let Some(stay) = self.space.stay(code, stays, &context) else { continue };
                for bound in &stay.invariant {
                    if let Some(entry) = bound.entry(&context)? {
                        all.extend(difference(entry, now, settings));
                    }
                }
            }
        }
        Ok(())
    }

    /// The guard of a step at time `n`, then its resets.
    fn constrain_step(
        &self,
        DiscreteStep { label, before, after }: DiscreteStep<'_>,
        n: usize,
        settings: &mut Settings,
        all: &mut Vec<Difference>,
    ) -> Result<(), Faulty> {
        let mut locals = Vec::new();
        self.space.locals(label, &mut locals);
        let (before, after) = (self.of_label(before, label, &locals), self.of_label(after, label, &locals));
        let timing = &self.space.timing[self.space.action(label)];
        for bound in &timing.guard {
            if let Some(entry) = bound.entry(&before)? {
                all.extend(difference(entry, n, settings));
            }
        }
        for reset in &timing.resets {
            let Some(Set { clock, from, value }) = reset.set(&before, &after)? else { continue };
            settings[clock] = match from {
                0 => (n, i64::from(value)),
                from => (settings[from].0, settings[from].1 + i64::from(value)),
            };
        }
        Ok(())
    }

    /// The zone after a step, without extrapolation and before it is settled.
    fn advance(&self, step: DiscreteStep<'_>, zone: &mut Zone) -> Result<(), Faulty> {
        let DiscreteStep { label, before, after } = step;
        let mut locals = Vec::new();
        self.space.locals(label, &mut locals);
        let (before, after) = (self.of_label(before, label, &locals), self.of_label(after, label, &locals));
        let timing = &self.space.timing[self.space.action(label)];
        if !apply_all(&timing.guard, &before, zone)? {
            return Err(Faulty);
        }
        for reset in &timing.resets {
            if !reset.apply(&before, &after, zone)? {
                return Err(Faulty);
            }
        }
        Ok(())
    }

    /// The part of the last zone that shows what was found.
    fn ending(&self, state: &[u64], zone: Zone, ending: TimedEnding) -> Option<Zone> {
        let context = self.context(state, &[]);
        match ending {
            TimedEnding::State => Some(zone),
            TimedEnding::Fault(label) => {
                let mut locals = Vec::new();
                self.space.locals(label, &mut locals);
                let context = self.of_label(state, label, &locals);
                let mut part = zone;
                let guard = &self.space.timing[self.space.action(label)].guard;
                apply_all(guard, &context, &mut part).unwrap_or(true).then_some(part)
            }
            TimedEnding::Deadlock => {
                let mut inner = self.space.model.worker();
                deadlock::parts(self.space, &mut *inner, &context, &zone, GoingOn::Stuck)?.into_iter().next()
            }
            TimedEnding::Property(property) => {
                let Some(Some(clauses)) = self.space.formulas.get(property) else { return Some(zone) };
                let mut inner = self.space.model.worker();
                clauses.iter().find_map(|clause| {
                    if !clause.when.holds(&context)? {
                        return None;
                    }
                    let mut part = zone.clone();
                    if !apply_all(&clause.bounds, &context, &mut part).ok()? {
                        return None;
                    }
                    match clause.going_on {
                        None => Some(part),
                        Some(wanted) => deadlock::parts(self.space, &mut *inner, &context, &part, wanted)?
                            .into_iter()
                            .next(),
                    }
                })
            }
        }
    }

    /// Runs the labels at these times, checking every guard and invariant.
    fn replay(
        &self,
        discrete: &[&[u64]],
        labels: &[Label],
        (times, scale): &(Vec<i64>, i64),
    ) -> Result<ConcreteTrace, ConcreteError> {
        let scale = *scale;
        let space = self.space;
        let mut clocks = vec![0i64; space.zones.size];
        let mut steps = Vec::with_capacity(labels.len());
        let time = |units: i64| Time { units, scale };
        let shown = |clocks: &[i64]| clocks[1..].iter().map(|&units| time(units)).collect::<Vec<_>>();
        for (n, &label) in labels.iter().enumerate() {
            let wrong = || ConcreteError::NotReplayed(n);
            let delay = if n == 0 { 0 } else { times[n] - times[n - 1] };
            if n > 0 {
                self.wait(discrete[n - 1], delay, &mut clocks, scale).ok_or_else(wrong)?;
                match self.interpreter.fire(discrete[n - 1], label) {
                    Outcome::Reached(next) if next == discrete[n] => {}
                    _ => return Err(wrong()),
                }
                self.fire(label, (discrete[n - 1], discrete[n]), &mut clocks, scale).ok_or_else(wrong)?;
            }
            if !self.invariants_hold(discrete[n], &clocks, scale).ok_or_else(wrong)? {
                return Err(wrong());
            }
            steps.push(ConcreteStep {
                label,
                action: if n == 0 { space.render_start(label) } else { space.render_label(label) },
                delay: time(delay),
                time: time(times[n]),
                state: discrete[n].to_vec(),
                clocks: shown(&clocks),
            });
        }
        let wait = times[labels.len()] - times[labels.len() - 1];
        let wrong = || ConcreteError::NotReplayed(labels.len());
        let last = discrete.last().ok_or_else(wrong)?;
        self.wait(last, wait, &mut clocks, scale).ok_or_else(wrong)?;
        Ok(ConcreteTrace { steps, wait: time(wait), clocks: shown(&clocks) })
    }

    /// Lets time pass where that is allowed.
    fn wait(&self, state: &[u64], delay: i64, clocks: &mut [i64], scale: i64) -> Option<()> {
        if delay < 0 || (delay > 0 && self.space.is_still(&self.context(state, &[])).ok()?) {
            return None;
        }
        clocks[1..].iter_mut().for_each(|clock| *clock += delay);
        self.invariants_hold(state, clocks, scale)?.then_some(())
    }

    fn invariants_hold(&self, state: &[u64], clocks: &[i64], scale: i64) -> Option<bool> {
        let context = self.context(state, &[]);
        for (code, stays) in self.space.locations.iter().zip(&self.space.stays) {
            let Some(stay) = self.space.stay(code, stays, &context) else { continue };
            for bound in &stay.invariant {
                if let Some(entry) = bound.entry(&context).ok()?
                    && !entry.holds(clocks, scale)
                {
                    return Some(false);
                }
            }
        }
        Some(true)
    }

    fn fire(
        &self,
        label: Label,
        (before, after): (&[u64], &[u64]),
        clocks: &mut [i64],
        scale: i64,
    ) -> Option<()> {
        let mut locals = Vec::new();
        self.space.locals(label, &mut locals);
        let (before, after) = (self.of_label(before, label, &locals), self.of_label(after, label, &locals));
        let timing = &self.space.timing[self.space.action(label)];
        for bound in &timing.guard {
            if let Some(entry) = bound.entry(&before).ok()?
                && !entry.holds(clocks, scale)
            {
                return None;
            }
        }
        for reset in &timing.resets {
            if let Some(Set { clock, from, value }) = reset.set(&before, &after).ok()? {
                clocks[clock] = clocks[from] + i64::from(value) * scale;
            }
        }
        Some(())
    }
}

impl Entry {
    /// Whether it holds for what clocks show, in parts of a unit.
    pub(super) fn holds(&self, clocks: &[i64], scale: i64) -> bool {
        let shown = clocks[self.left] - clocks[self.minus];
        let limit = i64::from(self.bound >> 1) * scale;
        if self.bound & 1 == 1 { shown <= limit } else { shown < limit }
    }
}
