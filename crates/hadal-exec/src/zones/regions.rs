//! The region graph (Alur and Dill 1994): the reference that zones are compared with on tiny models.
//!
//! A region says of each clock its whole part up to the largest constant, and how the fractions of clocks are ordered. A
//! state is the region in which a discrete state is entered; its successors are those of all regions that follow by
//! waiting.

use super::code::Context;
use super::concrete::{ConcreteError, ConcreteTrace, TimedEnding, labels_along};
use super::options::{Extrapolation, ZoneError, ZoneOptions};
use super::settle::Asked;
use super::space::{ReadyClause, ZoneSpace};
use super::timing::{Entry, Faulty, ReadyBound, Set};
use crate::interpret::Interpreter;
use hadal_system::timed::{ClockRef, GoingOn, TimedSystem};
use hadal_system::{
    ActionInfo, Check, Label, PropertyId, PropertyInfo, StateSpace, Successors, Worker, state::hash,
};

/// Bits of a word that say how the fraction of a clock is ordered among the others.
const ORDER_BITS: u32 = 8;

/// The region graph of a timed system.
pub struct RegionSpace {
    zones: ZoneSpace,
    /// The largest constant of each clock; what a clock shows beyond it does not matter.
    largest: Vec<i64>,
}

/// Why a model has no region graph here.
#[derive(Debug, thiserror::Error)]
pub enum RegionError {
    /// It has no zone graph either.
    #[error(transparent)]
    Zones(#[from] ZoneError),
    /// Regions do not know differences beyond the largest constants.
    #[error(
        "--covering regions is for tiny models whose clocks are compared with constants and set to constants"
    )]
    Unsuited,
}

/// What clocks show, as far as it matters: the whole part (one more than the largest constant where it is beyond) and the
/// rank of the fraction, 0 where there is none.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Region {
    whole: Vec<i64>,
    rank: Vec<u64>,
}

impl RegionSpace {
    /// Prepares the region graph of `timed`.
    pub fn new(timed: TimedSystem, options: ZoneOptions) -> Result<Self, RegionError> {
        let resets = timed.timing.iter().flat_map(|timing| &timing.resets);
        let copies = resets.clone().any(|reset| !matches!(reset.from, ClockRef::Zero));
        let zones = ZoneSpace::new(timed, ZoneOptions { extrapolation: Extrapolation::Max, ..options })?;
        if copies || zones.has_diagonals() || zones.zones.size > 1 << (ORDER_BITS - 1) {
            return Err(RegionError::Unsuited);
        }
        let mut most = zones.base_bounds().clone();
        zones.stays.iter().flatten().for_each(|stay| {
            most.join(&stay.bounds);
        });
        let largest = most.lower.iter().map(|&bound| i64::from(bound.max(0))).collect();
        Ok(RegionSpace { zones, largest })
    }

    /// The zone graph of the same system.
    pub fn zones(&self) -> &ZoneSpace {
        &self.zones
    }

    fn clocks(&self) -> usize {
        self.zones.zones.size - 1
    }

    /// Finds and replays the earliest run along `path`, a list of states as workers yield them.
    pub fn concrete(&self, path: &[Vec<u64>], ending: TimedEnding) -> Result<ConcreteTrace, ConcreteError> {
        let labels = labels_along(&mut *self.worker(), path)?;
        let discrete: Vec<&[u64]> = path.iter().map(|state| &state[self.clocks()..]).collect();
        self.zones.run_along(&discrete, &labels, ending)
    }

    fn unpack(&self, state: &[u64]) -> Region {
        let clocks = &state[..self.clocks()];
        let whole = clocks.iter().map(|word| (word >> ORDER_BITS) as i64);
        let rank = clocks.iter().map(|word| word & ((1 << ORDER_BITS) - 1));
        Region {
            whole: std::iter::once(0).chain(whole).collect(),
            rank: std::iter::once(0).chain(rank).collect(),
        }
    }

    fn is_beyond(&self, region: &Region, clock: usize) -> bool {
        region.whole[clock] > self.largest[clock]
    }

    /// Forgets what does not matter, and numbers fractions without gaps.
    fn tidy(&self, region: &mut Region) {
        for clock in 1..region.whole.len() {
            if self.is_beyond(region, clock)
                || (region.whole[clock] == self.largest[clock] && region.rank[clock] > 0)
            {
                (region.whole[clock], region.rank[clock]) = (self.largest[clock] + 1, 0);
            }
        }
        let mut used: Vec<u64> = region.rank.iter().copied().filter(|&rank| rank > 0).collect();
        used.sort_unstable();
        used.dedup();
        for rank in region.rank.iter_mut().filter(|rank| **rank > 0) {
            *rank = used.partition_point(|known| known < rank) as u64 + 1;
        }
    }

    /// The region that comes next when time passes; none where nothing that matters changes any more.
    fn later(&self, region: &Region) -> Option<Region> {
        let mut next = region.clone();
        let known: Vec<usize> =
            (1..next.whole.len()).filter(|&clock| !self.is_beyond(region, clock)).collect();
        let most = known.iter().map(|&clock| region.rank[clock]).max()?;
        match known.iter().any(|&clock| region.rank[clock] == 0) {
            true => known.iter().for_each(|&clock| next.rank[clock] += 1),
            false => {
                for &clock in known.iter().filter(|&&clock| region.rank[clock] == most) {
                    next.whole[clock] += 1;
                    next.rank[clock] = 0;
                }
            }
        }
        self.tidy(&mut next);
        Some(next)
    }

    /// Whether a bound holds.
    fn satisfies(&self, region: &Region, entry: Entry) -> bool {
        let limit = 2 * i64::from(entry.bound >> 1);
        let shown = |clock: usize| match self.is_beyond(region, clock) {
            true => i64::MAX / 4,
            false => 2 * region.whole[clock] + i64::from(region.rank[clock] > 0),
        };
        let difference = if entry.minus == 0 { shown(entry.left) } else { -shown(entry.minus) };
        if entry.bound & 1 == 1 { difference <= limit } else { difference < limit }
    }

    fn all_hold(&self, bounds: &[ReadyBound], context: &Context, region: &Region) -> Result<bool, Faulty> {
        for bound in bounds {
            if bound.entry(context)?.is_some_and(|entry| !self.satisfies(region, entry)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn invariants_hold(&self, context: &Context, region: &Region) -> Result<bool, Faulty> {
        for (code, stays) in self.zones.locations.iter().zip(&self.zones.stays) {
            if let Some(stay) = self.zones.stay(code, stays, context)
                && !self.all_hold(&stay.invariant, context, region)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The regions from this one on that waiting leads through.
    fn while_waiting(&self, context: &Context, region: Region) -> Result<Vec<Region>, Faulty> {
        let mut all = vec![region];
        if self.zones.is_still(context)? {
            return Ok(all);
        }
        while let Some(next) = all.last().and_then(|last| self.later(last)) {
            if !self.invariants_hold(context, &next)? {
                break;
            }
            all.push(next);
        }
        Ok(all)
    }
}

impl StateSpace for RegionSpace {
    fn words(&self) -> usize {
        self.clocks() + self.zones.model.words()
    }

    fn fingerprint(&self) -> u64 {
        hash(&[self.zones.fingerprint(), self.largest.len() as u64, 1])
    }

    fn properties(&self) -> &[PropertyInfo] {
        self.zones.properties()
    }

    fn actions(&self) -> &[ActionInfo] {
        self.zones.actions()
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(RegionWorker {
            space: self,
            inner: self.zones.model.worker(),
            interpreter: self.zones.model.interpreter(),
        })
    }

    fn render_label(&self, label: Label) -> String {
        self.zones.render_label(label)
    }

    fn render_start(&self, label: Label) -> String {
        self.zones.render_start(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let region = self.unpack(state);
        let mut all = self.zones.model.render_state(&state[self.clocks()..]);
        for (clock, name) in self.zones.timed.clocks.iter().enumerate().map(|(n, name)| (n + 1, name)) {
            let value = match (self.is_beyond(&region, clock), region.rank[clock]) {
                (true, _) => format!("> {}", self.largest[clock]),
                (false, 0) => region.whole[clock].to_string(),
                (false, rank) => format!("{} and fraction {rank}", region.whole[clock]),
            };
            all.push((name.clone(), value));
        }
        all
    }
}

struct RegionWorker<'s> {
    space: &'s RegionSpace,
    inner: Box<dyn Worker + 's>,
    interpreter: Interpreter<'s>,
}

/// What firing an action in a region comes to.
enum Fired {
    Not,
    To(Region),
    Fault,
}

impl RegionWorker<'_> {
    /// Fires an action whose discrete part leads to `after`, or meets an error there.
    fn fire(
        &self,
        label: Label,
        before: &[u64],
        after: Option<&[u64]>,
        region: &Region,
    ) -> Result<Fired, Faulty> {
        let (space, zones) = (self.space, &self.space.zones);
        let mut locals = Vec::new();
        zones.locals(label, &mut locals);
        let action = zones.action(label);
        let shapes = &zones.model.system().actions[action].locals;
        let at = Context { state: before, locals: &locals, interpreter: &self.interpreter, shapes };
        if !space.all_hold(&zones.timing[action].guard, &at, region)? {
            return Ok(Fired::Not);
        }
        let Some(after) = after else { return Ok(Fired::Fault) };
        let to = Context { state: after, ..at };
        let mut next = region.clone();
        for reset in &zones.timing[action].resets {
            if let Some(Set { clock, value, .. }) = reset.set(&at, &to)? {
                (next.whole[clock], next.rank[clock]) = (i64::from(value), 0);
            }
        }
        space.tidy(&mut next);
        let to = Context { locals: &[], shapes: &[], ..to };
        Ok(if space.invariants_hold(&to, &next)? { Fired::To(next) } else { Fired::Not })
    }

    fn push(&self, label: Label, region: &Region, discrete: &[u64], out: &mut Successors) {
        let clocks = region.whole.iter().zip(&region.rank).skip(1);
        let mut state: Vec<u64> = clocks.map(|(whole, rank)| (*whole as u64) << ORDER_BITS | rank).collect();
        state.extend_from_slice(discrete);
        out.push(label, &state);
    }

    fn context<'c>(&'c self, state: &'c [u64]) -> Context<'c> {
        Context { state, locals: &[], interpreter: &self.interpreter, shapes: &[] }
    }

    /// Whether the question of a property is met while waiting.
    fn meets(
        &mut self,
        clauses: &[ReadyClause],
        discrete: &[u64],
        regions: &[Region],
    ) -> Result<bool, Faulty> {
        for clause in clauses {
            if !clause.when.holds(&self.context(discrete)).ok_or(Faulty)? {
                continue;
            }
            // What can be done now can be done after waiting for now: the last such region decides.
            let can = match clause.going_on {
                None => 0..regions.len(),
                Some(wanted) => {
                    let last = self.last_that_goes_on(discrete, regions)?;
                    match wanted {
                        GoingOn::Possible => 0..last,
                        GoingOn::StuckInTime if !self.space.zones.time_ends(&self.context(discrete))? => 0..0,
                        GoingOn::Stuck | GoingOn::StuckInTime => last..regions.len(),
                    }
                }
            };
            for region in &regions[can] {
                if self.space.all_hold(&clause.bounds, &self.context(discrete), region)? {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// One more than the number of the last region in which an action can fire.
    fn last_that_goes_on(&mut self, discrete: &[u64], regions: &[Region]) -> Result<usize, Faulty> {
        let mut steps = Successors::new(discrete.len());
        self.inner.successors(discrete, &mut steps);
        for (n, region) in regions.iter().enumerate().rev() {
            let faults = steps.faults().iter().map(|&label| (label, None));
            for (label, after) in steps.iter().map(|(label, after)| (label, Some(after))).chain(faults) {
                if !matches!(self.fire(label, discrete, after, region)?, Fired::Not) {
                    return Ok(n + 1);
                }
            }
        }
        Ok(0)
    }
}

impl Worker for RegionWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let mut starts = Successors::new(self.space.zones.model.words());
        self.inner.initial(&mut starts);
        let size = self.space.zones.zones.size;
        for (label, discrete) in starts.iter() {
            let region = Region { whole: vec![0; size], rank: vec![0; size] };
            match self.space.invariants_hold(&self.context(discrete), &region) {
                Ok(true) => self.push(label, &region, discrete, out),
                Ok(false) => {}
                Err(Faulty) => out.push_fault(label),
            }
        }
        starts.faults().iter().for_each(|&label| out.push_fault(label));
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let space = self.space;
        let discrete = &state[space.clocks()..];
        let mut steps = Successors::new(discrete.len());
        self.inner.successors(discrete, &mut steps);
        let regions = space.while_waiting(&self.context(discrete), space.unpack(state));
        let regions = regions.unwrap_or_default();
        let mut faulty: Vec<Label> = Vec::new();
        let faults = steps.faults().iter().map(|&label| (label, None));
        for (label, after) in steps.iter().map(|(label, after)| (label, Some(after))).chain(faults) {
            for region in &regions {
                match (self.fire(label, discrete, after, region), after) {
                    (Ok(Fired::To(next)), Some(after)) => self.push(label, &next, after, out),
                    (Ok(Fired::Fault) | Err(Faulty), _) if !faulty.contains(&label) => faulty.push(label),
                    _ => {}
                }
            }
        }
        faulty.into_iter().for_each(|label| out.push_fault(label));
    }

    fn check(&mut self, state: &[u64]) -> Check {
        let space = self.space;
        let discrete = &state[space.clocks()..];
        let Ok(regions) = space.while_waiting(&self.context(discrete), space.unpack(state)) else {
            return Check::Fine;
        };
        space.zones.first_met(|asked| match asked {
            Asked::Clauses(clauses) => self.meets(clauses, discrete, &regions).ok(),
            Asked::Discrete { property, wanted } => {
                self.inner.satisfies(discrete, property).map(|holds| holds == wanted)
            }
        })
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        self.inner.satisfies(&state[self.space.clocks()..], property)
    }
}
