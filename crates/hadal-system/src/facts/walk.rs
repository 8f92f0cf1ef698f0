//! The walk over one action instance: an abstract execution that follows calls, aliases and loops and notes every
//! slot that may be touched.
//!
//! Knowledge is a [`Point`]; a way that surely ends (an error, a dropped transition) has none. Loops with known
//! bounds are unrolled and calls followed while there is fuel; then loops are run to a fixed point and calls taken
//! by their summary. Expressions are in `eval`, conditions in `assume`, statements in `run`.

use super::point::Point;
use super::slots::SlotSet;
use super::summary::Summary;
use super::values::ValueSet;
use crate::domain::DomainId;
use crate::expr::{Base, Place, Step};
use crate::shape::{Shape, ShapeId};
use crate::system::{FunctionId, Local, LocalId, LocalKind, System};

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

pub(super) struct Frame<'a> {
    pub function: Option<FunctionId>,
    pub locals: &'a [Local],
    /// First slot of each local; references have none of their own.
    pub slots: Vec<u32>,
    pub references: Vec<Option<MaySlots>>,
    /// Where `Return` leads to.
    pub exit: Option<Point>,
    pub result: ValueSet,
}

pub(super) struct AbstractWalk<'a> {
    pub ground: &'a Ground<'a>,
    pub system: &'a System,
    /// Slots of the state; locals come after.
    pub state_slots: u32,
    /// The domain of each slot in use; `None` for bound locals, which may hold anything.
    pub slot_domains: Vec<Option<DomainId>>,
    pub multisets: Vec<(u32, u32)>,
    pub frames: Vec<Frame<'a>>,
    pub met: Met,
    pub fuel: u32,
    /// The fuel each walk starts with.
    pub allowance: u32,
    /// Above 0, what is learnt on the way is not noted: the point stays as it is but for calls.
    pub frozen: u32,
    /// While the guard is walked: what holds at some point where it meets an error.
    pub fault: Option<Option<Point>>,
    /// Above 0, nothing is noted: an expression is looked at again only for its values.
    pub quiet: u32,
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
            met: Met::default(),
            fuel: FUEL,
            allowance: FUEL,
            frozen: 0,
            fault: None,
            quiet: 0,
        }
    }

    /// Forgets what was met, to walk another instance.
    pub fn restart(&mut self) {
        self.slot_domains.truncate(self.state_slots as usize);
        self.multisets.truncate(self.ground.multisets.len());
        self.frames.clear();
        self.met = Met::default();
        self.fuel = self.allowance;
        self.frozen = 0;
        self.fault = None;
        self.quiet = 0;
    }

    /// Enters a function or action: gives its locals slots. Variables start undefined.
    pub fn enter(&mut self, function: Option<FunctionId>, locals: &'a [Local], point: &mut Point) {
        let mut slots = Vec::with_capacity(locals.len());
        for local in locals {
            slots.push(self.slot_domains.len() as u32);
            match local.kind {
                LocalKind::Reference => {}
                LocalKind::Bound => self.slot_domains.push(None),
                LocalKind::Variable => self.add_variable(local.shape, point),
            }
        }
        self.frames.push(Frame {
            function,
            locals,
            slots,
            references: vec![None; locals.len()],
            exit: None,
            result: ValueSet::empty(),
        });
    }

    fn add_variable(&mut self, shape: ShapeId, point: &mut Point) {
        let first = self.slot_domains.len() as u32;
        add_slots(self.system, shape, &mut self.slot_domains, &mut self.multisets, false);
        let end = self.slot_domains.len() as u32;
        if end - first <= MAX_NOTED && self.burn((end - first) as usize / 4) {
            for slot in first..end {
                if self.multiset_at(slot).is_none() {
                    point.values.insert(slot, self.blank(slot));
                }
            }
        }
    }

    /// Leaves the innermost frame and forgets its locals.
    pub fn leave(&mut self, first_slot: u32, point: Option<&mut Point>) -> Option<Frame<'a>> {
        let frame = self.frames.pop();
        let end = self.slot_domains.len() as u32;
        if let Some(point) = point
            && first_slot < end
        {
            point.forget(first_slot, end);
        }
        self.slot_domains.truncate(first_slot as usize);
        let kept = self.multisets.partition_point(|&(from, _)| from < first_slot);
        self.multisets.truncate(kept);
        frame
    }

    /// The innermost frame.
    pub fn frame(&mut self) -> &mut Frame<'a> {
        // Every walk enters a frame before it looks at an expression or statement.
        self.frames.last_mut().expect("a walk is always inside a frame")
    }

    /// The slot of a bound or variable local of the innermost frame.
    pub fn local_slot(&mut self, local: LocalId) -> u32 {
        self.frame().slots[local.0 as usize]
    }

    /// Everything a slot can hold.
    pub fn top(&self, slot: u32) -> ValueSet {
        match self.slot_domains[slot as usize] {
            Some(domain) => ValueSet::of_domain(&self.system.domains[domain]),
            None => ValueSet::any(),
        }
    }

    /// What a slot holds when undefined, or its least value where it cannot be.
    pub fn blank(&self, slot: u32) -> ValueSet {
        match self.slot_domains[slot as usize].map(|d| &self.system.domains[d]) {
            Some(domain) if domain.undefined => ValueSet::undefined(),
            Some(domain) => ValueSet::one(domain.min()),
            None => ValueSet::any(),
        }
    }

    /// What is known about a slot.
    pub fn value(&self, point: &Point, slot: u32) -> ValueSet {
        point.values.get(&slot).cloned().unwrap_or_else(|| self.top(slot))
    }

    /// The outermost multiset around a slot.
    pub fn multiset_at(&self, slot: u32) -> Option<(u32, u32)> {
        let after = self.multisets.partition_point(|&(from, _)| from <= slot);
        after.checked_sub(1).map(|at| self.multisets[at]).filter(|&(_, to)| slot < to)
    }

    /// Uses up fuel; false when there is none left.
    pub fn burn(&mut self, steps: usize) -> bool {
        self.fuel = self.fuel.saturating_sub(u32::try_from(steps).unwrap_or(u32::MAX));
        self.fuel > 0
    }

    /// A copy of what is known, to go another way from here. Without fuel, only little knowledge is taken along:
    /// forgetting is always sound.
    pub fn fork(&mut self, point: &Point) -> Point {
        self.burn(1 + point.values.len());
        if self.fuel > 0 || point.values.len() <= MAX_FREE_FORK {
            return point.clone();
        }
        let is_bound = |slot: u32| matches!(self.slot_domains.get(slot as usize), Some(None));
        let bound = point.values.range(self.state_slots..).filter(|&(&slot, _)| is_bound(slot));
        let values = bound.map(|(&slot, values)| (slot, values.clone())).collect();
        Point { values, written: point.written.clone() }
    }

    /// Notes that an error of the model may be met here.
    pub fn may_fault(&mut self, point: &Point) {
        if self.quiet == 0 {
            self.met.faults = true;
            if let Some(fault) = &mut self.fault {
                match fault {
                    Some(known) => known.join(point),
                    None => *fault = Some(point.clone()),
                }
            }
        }
    }

    /// Where a place may be; `None` where resolving it surely meets an error.
    pub fn resolve(&mut self, point: &mut Point, place: &'a Place) -> Option<MaySlots> {
        let (mut target, mut shape) = match place.base {
            Base::Global(var) => {
                let first = self.ground.first_slots[var.0 as usize] as u32;
                (MaySlots::Starts(vec![first]), self.system.variable(var).shape)
            }
            Base::Local(local) => {
                let frame = self.frame();
                let at = local.0 as usize;
                let target = match frame.locals[at].kind {
                    LocalKind::Reference => frame.references[at].clone()?,
                    LocalKind::Bound | LocalKind::Variable => MaySlots::Starts(vec![frame.slots[at]]),
                };
                (target, frame.locals[at].shape)
            }
        };
        for step in &place.steps {
            match (step, &self.system.shapes[shape]) {
                (Step::Field(field), Shape::Record(fields)) => {
                    let inside = self.system.shapes.field_slot(fields, *field) as u32;
                    if let MaySlots::Starts(starts) = &mut target {
                        starts.iter_mut().for_each(|s| *s += inside);
                    }
                    shape = fields[*field].shape;
                }
                (
                    Step::Index(index),
                    Shape::Array { index: domain, element } | Shape::Multiset { slots: domain, element },
                ) => {
                    let index = self.eval(point, index);
                    let allowed = ValueSet::defined_of(&self.system.domains[*domain]);
                    let inside = index.intersection(&allowed);
                    if !index.is_subset(&allowed) {
                        self.may_fault(point);
                    }
                    if inside.is_empty() {
                        return None;
                    }
                    target = self.elements(target, shape, &inside);
                    shape = *element;
                }
                // Other combinations are refused by `validate`; whatever they mean, stay with the whole.
                _ => {}
            }
        }
        Some(target)
    }

    /// Where the elements of an array (or a multiset) with these indices may be.
    fn elements(&self, target: MaySlots, array: ShapeId, inside: &ValueSet) -> MaySlots {
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
