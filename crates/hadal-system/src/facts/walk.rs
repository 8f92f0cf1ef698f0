//! The walk over one action instance: an abstract execution that follows calls, aliases and loops and notes every
//! slot that may be touched.
//!
//! It is an [`AbstractMachine`] whose knowledge is a [`Point`], joined behind branches; where every path surely ends (an
//! error, a dropped transition) there is none. Loops with known bounds are unrolled and calls followed while there is
//! fuel; then loops are run to a fixed point and calls taken by their summary. What it says of values and control is in
//! `joining`, conditions are in `assume`, loops and switches in `run`, what is read and written in `touch`.

use super::point::Point;
use super::slots::SlotSet;
use super::summary::Summary;
use super::values::ValueSet;
use crate::domain::DomainId;
use crate::machine::{AbstractMachine, Frame};
use crate::shape::{Shape, ShapeId};
use crate::system::{Local, Param, System};

/// Steps (expressions, statements, loop turns, copies of what is known) before the walk becomes coarse.
pub(super) const FUEL: u32 = 100_000;
/// Knowledge about at most this many slots is copied even without fuel.
const MAX_FREE_FORK: usize = 64;
/// A dynamic index with more possible places than this stands for the whole array.
const MAX_STARTS: usize = 1024;
/// Aggregates of more slots than this are written without noting each value.
pub(super) const MAX_NOTED: u32 = 4096;

/// What does not change between the walks of one system.
pub(super) struct Ground<'a> {
    pub system: &'a System,
    pub first_slots: Vec<usize>,
    pub slot_domains: Vec<Option<DomainId>>,
    /// Outermost multisets of the state, ascending: their elements are sorted after every write.
    pub multisets: Vec<(u32, u32)>,
    pub summaries: Vec<Summary>,
}

/// What a walk has met.
#[derive(Clone, Debug, Default)]
pub(super) struct Met {
    pub reads: SlotSet,
    pub writes: SlotSet,
    pub faults: bool,
    pub drops: bool,
}

/// Where a place may be: one of a few first slots, or somewhere inside a range.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum MaySlots {
    Starts(Vec<u32>),
    Within(u32, u32),
}

/// What holds where a function returns.
pub(super) struct Exit {
    /// Where `Return` leads to.
    pub point: Option<Point>,
    pub result: ValueSet,
}

impl Default for Exit {
    fn default() -> Self {
        Exit { point: None, result: ValueSet::empty() }
    }
}

/// No path goes on from here.
#[derive(Debug)]
pub(super) struct PathEnd;

pub(super) struct AbstractWalk<'a> {
    pub ground: &'a Ground<'a>,
    pub system: &'a System,
    /// Slots of the state; locals come after.
    pub state_slots: u32,
    /// The domain of each slot in use; `None` for bound locals, which may hold anything.
    pub slot_domains: Vec<Option<DomainId>>,
    pub multisets: Vec<(u32, u32)>,
    pub frames: Vec<Frame<'a, Self>>,
    /// What is known where the walk is now.
    pub point: Point,
    pub met: Met,
    pub fuel: Fuel,
    /// Above 0, what is learnt on the way is not noted: the point stays as it is but for calls.
    pub frozen: u32,
    /// While the guard is walked: what holds at some point where it meets an error.
    pub fault: Option<Option<Point>>,
    /// Above 0, nothing is noted: an expression is looked at again only for its values.
    pub quiet: u32,
}

/// How many steps a walk may still take, and how many each starts with.
#[derive(Clone, Copy)]
pub(super) struct Fuel {
    pub left: u32,
    pub allowance: u32,
}

impl Fuel {
    /// How many steps were taken.
    pub fn used(self) -> u32 {
        self.allowance - self.left
    }
}

impl<'a> AbstractWalk<'a> {
    /// A walk that has not started.
    pub fn new(ground: &'a Ground<'a>) -> Self {
        AbstractWalk {
            ground,
            system: ground.system,
            state_slots: ground.slot_domains.len() as u32,
            slot_domains: ground.slot_domains.clone(),
            multisets: ground.multisets.clone(),
            frames: Vec::new(),
            point: Point::default(),
            met: Met::default(),
            fuel: Fuel { left: FUEL, allowance: FUEL },
            frozen: 0,
            fault: None,
            quiet: 0,
        }
    }

    /// Forgets what was met, to walk another instance.
    fn restart(&mut self) {
        self.slot_domains.truncate(self.state_slots as usize);
        self.multisets.truncate(self.ground.multisets.len());
        self.frames.clear();
        self.point = Point::default();
        self.met = Met::default();
        self.fuel.left = self.fuel.allowance;
        self.frozen = 0;
        self.fault = None;
        self.quiet = 0;
    }

    /// Begins the walk of an action or property with these values for its parameters.
    pub fn begin<'p>(&mut self, locals: &'a [Local], params: impl Iterator<Item = (&'p Param, ValueSet)>) {
        self.restart();
        // Entering cannot end the walk: it only gives slots to locals.
        let _ = self.enter(None, locals);
        for (param, values) in params {
            let slot = self.local_slot(param.local);
            self.point.values.insert(slot, values);
        }
    }

    /// Leaves the innermost frame and forgets its locals.
    pub fn leave(&mut self, first_slot: u32, point: Option<&mut Point>) {
        self.frames.pop();
        let end = self.slot_domains.len() as u32;
        if let Some(point) = point
            && first_slot < end
        {
            point.forget(first_slot, end);
        }
        self.slot_domains.truncate(first_slot as usize);
        let kept = self.multisets.partition_point(|&(from, _)| from < first_slot);
        self.multisets.truncate(kept);
    }

    /// Everything a slot can hold.
    pub fn top(&self, slot: u32) -> ValueSet {
        match self.slot_domains[slot as usize] {
            Some(domain) => ValueSet::of_domain(&self.system.domains[domain]),
            None => ValueSet::any(),
        }
    }

    /// What a slot holds when undefined, or its least value where it cannot be.
    pub fn blank_of(&self, slot: u32) -> ValueSet {
        match self.slot_domains[slot as usize].map(|d| &self.system.domains[d]) {
            Some(domain) if domain.undefined => ValueSet::undefined(),
            Some(domain) => ValueSet::one(domain.min()),
            None => ValueSet::any(),
        }
    }

    /// The least value of a slot.
    pub fn least_of(&self, slot: u32) -> ValueSet {
        match self.slot_domains[slot as usize] {
            Some(domain) => ValueSet::one(self.system.domains[domain].min()),
            None => ValueSet::any(),
        }
    }

    /// What is known about a slot.
    pub fn known(&self, slot: u32) -> ValueSet {
        self.point.values.get(&slot).cloned().unwrap_or_else(|| self.top(slot))
    }

    /// The outermost multiset around a slot.
    pub fn multiset_at(&self, slot: u32) -> Option<(u32, u32)> {
        let after = self.multisets.partition_point(|&(from, _)| from <= slot);
        after.checked_sub(1).map(|at| self.multisets[at]).filter(|&(_, to)| slot < to)
    }

    /// Uses up fuel; false when there is none left.
    pub fn burn(&mut self, steps: usize) -> bool {
        self.fuel.left = self.fuel.left.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        self.fuel.left > 0
    }

    /// A copy of what is known, to go another way from here. Without fuel, only little knowledge is taken along:
    /// forgetting is always sound.
    pub fn fork(&mut self) -> Point {
        let point = std::mem::take(&mut self.point);
        let copy = self.copy_of(&point);
        self.point = point;
        copy
    }

    /// The same of what is known somewhere else.
    pub fn copy_of(&mut self, point: &Point) -> Point {
        self.burn(1 + point.values.len());
        if self.fuel.left > 0 || point.values.len() <= MAX_FREE_FORK {
            return point.clone();
        }
        let is_bound = |slot: u32| matches!(self.slot_domains.get(slot as usize), Some(None));
        let bound = point.values.range(self.state_slots..).filter(|&(&slot, _)| is_bound(slot));
        let values = bound.map(|(&slot, values)| (slot, values.clone())).collect();
        Point { values, written: point.written.clone() }
    }

    /// Notes that an error of the model may be met here.
    pub fn may_fault(&mut self) {
        if self.quiet == 0 {
            self.met.faults = true;
            if let Some(fault) = &mut self.fault {
                match fault {
                    Some(known) => known.join(&self.point),
                    None => *fault = Some(self.point.clone()),
                }
            }
        }
    }

    /// Goes on from here, where some path leads here.
    pub fn continue_at(&mut self, point: Option<Point>) -> Result<(), PathEnd> {
        self.point = point.ok_or(PathEnd)?;
        Ok(())
    }

    /// Where the elements of an array (or a multiset) with these indices may be.
    pub fn elements(&self, target: MaySlots, array: ShapeId, inside: &ValueSet) -> MaySlots {
        let (starts, index, element) = match (target, &self.system.shapes[array]) {
            (
                MaySlots::Starts(starts),
                Shape::Array { index, element } | Shape::Multiset { slots: index, element },
            ) => (starts, *index, *element),
            (within, _) => return within,
        };
        let stride = self.system.shapes.slots(element) as u32;
        let length = self.system.shapes.slots(array) as u32;
        if inside.count().saturating_mul(starts.len() as u64) > MAX_STARTS as u64 {
            let first = starts.iter().copied().min().unwrap_or(0);
            let last = starts.iter().copied().max().unwrap_or(0);
            return MaySlots::Within(first, last + length);
        }
        let domain = &self.system.domains[index];
        let positions: Vec<u32> =
            inside.values().filter_map(|v| domain.position(v)).map(|p| p as u32).collect();
        let all = starts.iter().flat_map(|&s| positions.iter().map(move |&p| s + p * stride));
        MaySlots::Starts(all.collect())
    }
}

impl MaySlots {
    /// The single place, where there is only one.
    pub fn exact(&self) -> Option<u32> {
        match self {
            MaySlots::Starts(starts) if starts.len() == 1 => Some(starts[0]),
            _ => None,
        }
    }

    /// The ranges of slots that something of `length` slots may take up there.
    pub fn ranges(&self, length: u32) -> Vec<(u32, u32)> {
        match self {
            MaySlots::Starts(starts) => starts.iter().map(|&s| (s, s + length)).collect(),
            MaySlots::Within(from, to) => vec![(*from, *to)],
        }
    }
}

/// Appends the domains of a shape's slots; notes outermost multisets.
pub(super) fn add_slots(
    system: &System,
    shape: ShapeId,
    domains: &mut Vec<Option<DomainId>>,
    multisets: &mut Vec<(u32, u32)>,
    inside_multiset: bool,
) {
    match &system.shapes[shape] {
        Shape::Scalar(domain) => domains.push(Some(*domain)),
        Shape::Record(fields) => {
            for field in fields {
                add_slots(system, field.shape, domains, multisets, inside_multiset);
            }
        }
        Shape::Array { index, element } => {
            for _ in 0..system.domains[*index].size() {
                add_slots(system, *element, domains, multisets, inside_multiset);
            }
        }
        Shape::Multiset { slots, element } => {
            let first = domains.len() as u32;
            for _ in 0..system.domains[*slots].size() {
                add_slots(system, *element, domains, multisets, true);
            }
            if !inside_multiset {
                multisets.push((first, domains.len() as u32));
            }
        }
    }
}
