//! Successors of zones: the discrete step, then guards, resets, delay and extrapolation.

use super::bounds::ClockBounds;
use super::code::Context;
use super::dbm::Zone;
use super::settle::Asked;
use super::space::ZoneSpace;
use super::timing::{Faulty, apply_all};
use crate::interpret::Interpreter;
use hadal_system::{Check, Label, PropertyId, StateSpace, Successors, Value, Worker};

/// Computes successors of zones for one thread.
pub(crate) struct ZoneWorker<'s> {
    space: &'s ZoneSpace,
    inner: Box<dyn Worker + 's>,
    interpreter: Interpreter<'s>,
    discrete: Successors,
    zone: Zone,
    next: Zone,
    bounds: ClockBounds,
    locals: Vec<Value>,
    state: Vec<u64>,
}

/// What came of a step.
enum Step {
    Nothing,
    Reached,
    Fault,
}

impl<'s> ZoneWorker<'s> {
    pub(crate) fn new(space: &'s ZoneSpace) -> Self {
        ZoneWorker {
            space,
            inner: space.model.worker(),
            interpreter: space.model.interpreter(),
            discrete: Successors::new(space.model.words()),
            zone: Zone::zero(space.zones.size - 1),
            next: Zone::zero(space.zones.size - 1),
            bounds: ClockBounds::none(space.zones.size),
            locals: Vec::new(),
            state: vec![0; space.words()],
        }
    }

    /// Applies the clock guard of a label to `self.next`; `None` where it meets an error.
    fn guard(&mut self, label: Label, before: &[u64]) -> Option<bool> {
        let space = self.space;
        space.locals(label, &mut self.locals);
        let action = space.action(label);
        let shapes = &space.model.system().actions[action].locals;
        let context = Context { state: before, locals: &self.locals, interpreter: &self.interpreter, shapes };
        apply_all(&space.timing[action].guard, &context, &mut self.next).ok()
    }

    /// From `self.zone` by the label to `after`: the new zone stands in `self.next`.
    fn step(&mut self, label: Label, before: &[u64], after: &[u64]) -> Step {
        self.next.copy_from(&self.zone);
        match self.guard(label, before) {
            Some(true) => {}
            Some(false) => return Step::Nothing,
            None => return Step::Fault,
        }
        let space = self.space;
        let action = space.action(label);
        let shapes = &space.model.system().actions[action].locals;
        let (locals, interpreter) = (&self.locals, &self.interpreter);
        let before = Context { state: before, locals, interpreter, shapes };
        let after = Context { state: after, locals, interpreter, shapes };
        for reset in &space.timing[action].resets {
            match reset.apply(&before, &after, &mut self.next) {
                Ok(true) => {}
                Ok(false) => return Step::Nothing,
                Err(Faulty) => return Step::Fault,
            }
        }
        let after = Context { locals: &[], shapes: &[], ..after };
        arrive(space, &after, &mut self.next, &mut self.bounds)
    }

    /// Adds `self.next` with its discrete part: whole, or in pieces where differences of clocks matter.
    fn emit(&mut self, label: Label, discrete: &[u64], out: &mut Successors) {
        if self.space.diagonals.is_empty() {
            self.pack(discrete);
            out.push(label, &self.state);
            return;
        }
        for piece in self.space.diagonals.extrapolated(&self.next, &self.bounds.lower) {
            self.next.copy_from(&piece);
            self.pack(discrete);
            out.push(label, &self.state);
        }
    }

    /// Packs `self.next` with its discrete part.
    fn pack(&mut self, discrete: &[u64]) {
        let words = self.space.zones.words;
        if !self.space.zones.packing.pack(&self.next, &mut self.state[..words]) {
            self.space.overflow();
        }
        self.state[words..].copy_from_slice(discrete);
    }
}

/// Settles a zone in a discrete state and extrapolates it, unless that is done in pieces.
fn arrive(space: &ZoneSpace, after: &Context, zone: &mut Zone, bounds: &mut ClockBounds) -> Step {
    match space.settle(after, zone) {
        Ok(true) => {}
        Ok(false) => return Step::Nothing,
        Err(Faulty) => return Step::Fault,
    }
    space.bounds_at(after, bounds);
    if space.diagonals.is_empty() {
        space.extrapolate(zone, bounds);
    }
    Step::Reached
}

impl Worker for ZoneWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let mut starts = Successors::new(self.space.model.words());
        self.inner.initial(&mut starts);
        for (label, discrete) in starts.iter() {
            self.next = Zone::zero(self.space.zones.size - 1);
            let context =
                Context { state: discrete, locals: &[], interpreter: &self.interpreter, shapes: &[] };
            match arrive(self.space, &context, &mut self.next, &mut self.bounds) {
                Step::Reached => self.emit(label, discrete, out),
                Step::Nothing => {}
                Step::Fault => out.push_fault(label),
            }
        }
        starts.faults().iter().for_each(|&label| out.push_fault(label));
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let words = self.space.zones.words;
        let (packed, before) = state.split_at(words);
        self.space.zones.packing.unpack(packed, &mut self.zone);
        let mut discrete = std::mem::replace(&mut self.discrete, Successors::new(1));
        discrete.clear();
        self.inner.successors(before, &mut discrete);
        for (label, after) in discrete.iter() {
            match self.step(label, before, after) {
                Step::Nothing => {}
                Step::Reached => self.emit(label, after, out),
                Step::Fault => out.push_fault(label),
            }
        }
        for &label in discrete.faults() {
            // An error counts only where the clocks let the action fire.
            self.next.copy_from(&self.zone);
            if self.guard(label, before) != Some(false) {
                out.push_fault(label);
            }
        }
        self.discrete = discrete;
    }

    fn check(&mut self, state: &[u64]) -> Check {
        let space = self.space;
        if !space.asked.iter().any(|&asked| asked) {
            return Check::Fine;
        }
        let (packed, discrete) = state.split_at(space.zones.words);
        let context = Context { state: discrete, locals: &[], interpreter: &self.interpreter, shapes: &[] };
        let (zone, inner) = (&mut self.zone, &mut *self.inner);
        let mut unpacked = false;
        space.first_met(|asked| match asked {
            Asked::Clauses(clauses) => {
                if !unpacked {
                    space.zones.packing.unpack(packed, zone);
                    unpacked = true;
                }
                space.meets(clauses, &context, zone, inner)
            }
            Asked::Discrete { property, wanted } => {
                inner.satisfies(discrete, property).map(|holds| holds == wanted)
            }
        })
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        self.inner.satisfies(&state[self.space.zones.words..], property)
    }

    fn cover_counts(&self) -> &[u64] {
        self.inner.cover_counts()
    }
}
