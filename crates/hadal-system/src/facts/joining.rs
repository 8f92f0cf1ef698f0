//! The walk as an abstract machine that joins what it knows behind branches.
//!
//! An empty set of values means that an expression surely meets an error: no path goes on.

use super::point::{Point, join_into};
use super::touch::{Certainty, Known};
use super::values::ValueSet;
use super::walk::{AbstractWalk, Exit, MAX_NOTED, MaySlots, PathEnd, add_slots};
use crate::domain::{DomainId, Value};
use crate::expr::{BinaryOp, Expr, Range, UnaryOp};
use crate::machine::{AbstractMachine, Behind, Blank, Decision, Frame, Open, Passed, Turns, steps, value};
use crate::shape::{Shape, ShapeId};
use crate::stmt::{CheckKind, Stmt, SwitchArm};
use crate::system::{Function, FunctionId, System, VarId};

/// Loops of at most this many turns are unrolled.
const MAX_TURNS: u64 = 256;
/// Calls nested deeper than this are taken by their summary.
const MAX_FRAMES: usize = 24;

/// What is known at another point of the walk.
pub(super) enum Aside {
    /// The same as here.
    Same,
    /// The same as here: what is learnt on the way is not noted.
    Frozen,
    /// What was known where only reading follows, and what `frozen` was.
    Before(Point, u32),
    /// What is known there.
    There(Point),
}

type Spotted = (MaySlots, ShapeId);

impl<'a> AbstractMachine<'a> for AbstractWalk<'a> {
    type Value = ValueSet;
    type Spot = MaySlots;
    type Contents = Known;
    type Stop = PathEnd;
    type Aside = Aside;
    type Exit = Exit;

    fn system(&self) -> &'a System {
        self.system
    }

    fn frames(&mut self) -> &mut Vec<Frame<'a, Self>> {
        &mut self.frames
    }

    fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, PathEnd>) -> Result<T, PathEnd> {
        self.burn(1);
        step(self)
    }

    fn next_slot(&self) -> u32 {
        self.slot_domains.len() as u32
    }

    fn push_bound(&mut self) {
        self.slot_domains.push(None);
    }

    fn push_variable(&mut self, shape: ShapeId) -> Result<(), PathEnd> {
        let first = self.next_slot();
        add_slots(self.system, shape, &mut self.slot_domains, &mut self.multisets, false);
        let end = self.next_slot();
        if end - first <= MAX_NOTED && self.burn((end - first) as usize / 4) {
            self.note_each(first..end, Self::blank_of);
        }
        Ok(())
    }

    fn first_slot(&self, var: VarId) -> u32 {
        self.ground.first_slots[var.0 as usize] as u32
    }

    fn at(slot: u32) -> MaySlots {
        MaySlots::Starts(vec![slot])
    }

    fn inside(spot: &mut MaySlots, by: u32) {
        if let MaySlots::Starts(starts) = spot {
            starts.iter_mut().for_each(|start| *start += by);
        }
    }

    fn element(&mut self, (spot, array): Spotted, index: ValueSet) -> Result<MaySlots, PathEnd> {
        let (Shape::Array { index: domain, .. } | Shape::Multiset { slots: domain, .. }) =
            &self.system.shapes[array]
        else {
            return Err(PathEnd);
        };
        let inside = self.fit(index, *domain)?;
        Ok(self.elements(spot, array, &inside))
    }

    fn misplaced(&mut self) -> PathEnd {
        PathEnd
    }

    fn constant(value: Value) -> ValueSet {
        ValueSet::one(value)
    }

    fn either(one: ValueSet, other: ValueSet) -> ValueSet {
        one.union(&other)
    }

    fn read(&mut self, (spot, shape): Spotted) -> Result<ValueSet, PathEnd> {
        self.note_read(&spot, 1);
        let values = self.values_at(&spot, shape);
        if !values.may_be_undefined() {
            return some(values);
        }
        let defined = values.defined();
        match spot.exact() {
            Some(slot) if self.frozen == 0 => {
                self.point.values.insert(slot, ValueSet::undefined());
                self.may_fault();
                self.point.values.insert(slot, defined.clone());
            }
            _ => self.may_fault(),
        }
        some(defined)
    }

    fn is_undefined(&mut self, (spot, shape): Spotted) -> Result<ValueSet, PathEnd> {
        self.note_read(&spot, self.system.shapes.slots(shape) as u32);
        if self.system.shapes.scalar(shape).is_none() {
            return Ok(ValueSet::boolean());
        }
        let values = self.values_at(&spot, shape);
        Ok(ValueSet::interval((values.count() == 0).into(), values.may_be_undefined().into()))
    }

    fn same(&mut self, one: Spotted, other: Spotted) -> Result<ValueSet, PathEnd> {
        for (spot, shape) in [one, other] {
            self.note_read(&spot, self.system.shapes.slots(shape) as u32);
        }
        Ok(ValueSet::boolean())
    }

    fn truth(&mut self, of: ValueSet) -> Result<ValueSet, PathEnd> {
        some(ValueSet::interval((!of.may_be_false()).into(), of.may_be_true().into()))
    }

    fn unary(&mut self, op: UnaryOp, of: ValueSet) -> Result<ValueSet, PathEnd> {
        let (values, fails) = ValueSet::unary(op, &of);
        if fails {
            self.may_fault();
        }
        some(values)
    }

    fn binary(&mut self, op: BinaryOp, left: ValueSet, right: ValueSet) -> Result<ValueSet, PathEnd> {
        let (values, fails) = ValueSet::binary(op, &left, &right);
        if fails {
            self.may_fault();
        }
        some(values)
    }

    fn wrap(&mut self, of: ValueSet, domain: DomainId) -> Result<ValueSet, PathEnd> {
        let inside = ValueSet::defined_of(&self.system.domains[domain]);
        Ok(if of.is_subset(&inside) { of } else { inside })
    }

    fn in_domain(&mut self, of: ValueSet, domain: DomainId) -> Result<ValueSet, PathEnd> {
        let inside = ValueSet::defined_of(&self.system.domains[domain]);
        Ok(if of.is_subset(&inside) {
            ValueSet::one(1)
        } else if of.is_disjoint(&inside) {
            ValueSet::one(0)
        } else {
            ValueSet::boolean()
        })
    }

    fn fit(&mut self, value: ValueSet, domain: DomainId) -> Result<ValueSet, PathEnd> {
        let allowed = ValueSet::defined_of(&self.system.domains[domain]);
        if !value.is_subset(&allowed) {
            self.may_fault();
        }
        some(value.intersection(&allowed))
    }

    fn contents(&mut self, (spot, shape): Spotted) -> Result<Known, PathEnd> {
        let length = self.system.shapes.slots(shape) as u32;
        self.note_read(&spot, length);
        Ok(self.known_at(&spot, length))
    }

    fn assign(&mut self, to: MaySlots, value: ValueSet) -> Result<(), PathEnd> {
        self.write_scalar(&to, value);
        Ok(())
    }

    fn paste(&mut self, (spot, shape): Spotted, contents: Known) -> Result<(), PathEnd> {
        let length = self.system.shapes.slots(shape) as u32;
        self.write_unknown(&spot, length, Certainty::Surely);
        if let Some(slot) = spot.exact() {
            self.note_values(slot, contents);
        }
        Ok(())
    }

    fn blank(&mut self, (spot, shape): Spotted, blank: Blank) -> Result<(), PathEnd> {
        let length = self.system.shapes.slots(shape) as u32;
        self.write_unknown(&spot, length, Certainty::Surely);
        if let Some(first) = spot.exact()
            && length <= MAX_NOTED
        {
            let left = match blank {
                Blank::Cleared => Self::least_of,
                Blank::Undefined => Self::blank_of,
            };
            self.note_each(first..first + length, left);
        }
        Ok(())
    }

    fn hand_over(&mut self, slot: u32, shape: ShapeId, passed: Result<ValueSet, Known>) {
        match passed {
            Ok(values) => {
                self.point.values.insert(slot, values);
            }
            Err(contents) => {
                self.point.forget(slot, slot + self.system.shapes.slots(shape) as u32);
                self.note_values(slot, contents);
            }
        }
    }

    fn bind(&mut self, slot: u32, value: Value) {
        self.point.values.insert(slot, ValueSet::one(value));
    }

    fn unbind(&mut self, slot: u32) {
        self.point.values.remove(&slot);
    }

    fn decide(
        &mut self,
        value: &ValueSet,
        behind: impl FnOnce() -> Behind,
    ) -> Result<Decision<Aside>, PathEnd> {
        let (holds, fails) = (value.may_be_true(), value.may_be_false());
        if !holds && !fails {
            return Err(PathEnd);
        }
        let decided = if holds { Decision::Holds } else { Decision::Fails };
        if holds != fails && self.frozen == 0 {
            return Ok(decided);
        }
        let behind = behind();
        // Where nothing is noted here, what the only branch learns must not be, either.
        if holds != fails && behind == Behind::Alike {
            return Ok(decided);
        }
        let aside = match behind {
            Behind::Alike => Aside::Same,
            Behind::Reads if self.fuel.left == 0 => {
                self.frozen += 1;
                Aside::Frozen
            }
            Behind::Reads => {
                let ahead = self.fork();
                let before = std::mem::replace(&mut self.point, ahead);
                Aside::Before(before, std::mem::take(&mut self.frozen))
            }
            Behind::Writes => {
                let ahead = self.fork();
                Aside::There(std::mem::replace(&mut self.point, ahead))
            }
        };
        Ok(Decision::Open(Open { holds, fails, aside }))
    }

    fn learn(&mut self, condition: &'a Expr, holds: bool) -> Result<(), PathEnd> {
        if self.assume(condition, holds) { Ok(()) } else { Err(PathEnd) }
    }

    fn turn(&mut self, aside: &mut Aside) {
        match aside {
            Aside::Same | Aside::Frozen => {}
            Aside::Before(before, _) => self.point = self.copy_of(before),
            Aside::There(there) => std::mem::swap(there, &mut self.point),
        }
    }

    fn rejoin(&mut self, aside: Aside, ended_aside: bool, ended_here: bool) {
        match aside {
            Aside::Same => {}
            Aside::Frozen => self.frozen -= 1,
            Aside::Before(before, frozen) => {
                self.point = before;
                self.frozen = frozen;
            }
            Aside::There(there) if ended_aside && ended_here => self.point.join(&there),
            Aside::There(there) if ended_aside => self.point = there,
            Aside::There(_) => {}
        }
    }

    fn gather(&mut self, all: &mut Option<Aside>, aside: Aside) {
        match (all, aside) {
            (Some(Aside::There(all)), Aside::There(point)) => all.join(&point),
            (all @ None, aside @ Aside::There(_)) => *all = Some(aside),
            _ => {}
        }
    }

    fn turns(&mut self, range: &'a Range) -> Result<Turns<ValueSet>, PathEnd> {
        match range {
            Range::Domain(id) => {
                let domain = &self.system.domains[*id];
                let hull = ValueSet::defined_of(domain);
                let list = (domain.size() <= MAX_TURNS).then(|| domain.values().collect());
                Ok(Turns { list, hull })
            }
            Range::Steps { from, to, by } => {
                let from = value(self, from)?;
                let to = value(self, to)?;
                let by = value(self, by)?;
                if by.contains(0) {
                    self.may_fault();
                }
                let bounds = |values: &ValueSet| values.bounds().ok_or(PathEnd);
                let ((least_from, most_from), (least_to, most_to)) = (bounds(&from)?, bounds(&to)?);
                let (least_by, most_by) = bounds(&by)?;
                if by.as_const() == Some(0) {
                    return Err(PathEnd);
                }
                let mut hull = ValueSet::empty();
                if most_by > 0 {
                    hull = hull.union(&ValueSet::interval(least_from, most_to));
                }
                if least_by < 0 {
                    hull = hull.union(&ValueSet::interval(least_to, most_from));
                }
                let list = match (from.as_const(), to.as_const(), by.as_const()) {
                    (Some(from), Some(to), Some(by)) => steps((from, to, by), MAX_TURNS),
                    _ => None,
                };
                Ok(Turns { list, hull })
            }
        }
    }

    fn unrolls(&mut self) -> bool {
        self.burn(1)
    }

    fn begin_turns(&mut self, behind: Behind) {
        self.frozen += u32::from(behind == Behind::Reads);
    }

    fn end_turns(&mut self, behind: Behind) {
        self.frozen -= u32::from(behind == Behind::Reads);
    }

    fn any_turns(
        &mut self,
        (slot, hull): (u32, ValueSet),
        behind: Behind,
        turn: &mut dyn FnMut(&mut Self) -> Result<(), PathEnd>,
    ) -> Result<(), PathEnd> {
        if behind == Behind::Reads {
            self.point.values.insert(slot, hull);
            // There need not be a turn.
            let _ = turn(self);
            return Ok(());
        }
        self.point.values.remove(&slot);
        self.fixpoint(|walk| {
            walk.point.values.insert(slot, hull.clone());
            turn(walk)?;
            walk.point.values.remove(&slot);
            Ok(())
        });
        Ok(())
    }

    fn repeat(&mut self, condition: &'a Expr, body: &'a [Stmt]) -> Result<(), PathEnd> {
        self.run_while(condition, body)
    }

    fn switch(
        &mut self,
        subject: &'a Expr,
        arms: &'a [SwitchArm],
        otherwise: &'a [Stmt],
    ) -> Result<(), PathEnd> {
        self.run_switch(subject, arms, otherwise)
    }

    fn check(&mut self, kind: CheckKind, condition: &'a Expr) -> Result<(), PathEnd> {
        let held = value(self, condition)?;
        if held.may_be_false() {
            match kind {
                CheckKind::Assert => self.may_fault(),
                CheckKind::Assume => self.met.drops = true,
            }
        }
        if held.may_be_true() { self.learn(condition, true) } else { Err(PathEnd) }
    }

    fn fail(&mut self) -> PathEnd {
        self.may_fault();
        PathEnd
    }

    fn unfollowed(
        &mut self,
        id: FunctionId,
        passed: &[Passed<'a, Self>],
    ) -> Option<Result<Option<ValueSet>, PathEnd>> {
        let recursive = self.frames.iter().any(|frame| frame.function == Some(id));
        let follows = !recursive && self.burn(1) && self.frames.len() < MAX_FRAMES;
        (!follows).then(|| Ok(self.call_by_summary(id, passed)))
    }

    fn return_with(&mut self, result: Option<ValueSet>) -> PathEnd {
        let function = self.frame().function;
        let mut result = result.unwrap_or_else(|| ValueSet::one(1));
        if let Some(domain) = function.and_then(|id| self.system.function(id).result) {
            match self.fit(result, domain) {
                Ok(fitting) => result = fitting,
                Err(ended) => return ended,
            }
        }
        let point = std::mem::take(&mut self.point);
        let exit = &mut self.frame().exit;
        exit.result = exit.result.union(&result);
        join_into(&mut exit.point, Some(point));
        PathEnd
    }

    fn leave_call(
        &mut self,
        function: &'a Function,
        first: u32,
        end: Result<(), PathEnd>,
    ) -> Result<Option<ValueSet>, PathEnd> {
        if function.result.is_some() && end.is_ok() {
            // The end of the body was reached without a result.
            self.may_fault();
        }
        let Exit { point: mut exit, result } = std::mem::take(&mut self.frame().exit);
        if function.result.is_none() && end.is_ok() {
            join_into(&mut exit, Some(std::mem::take(&mut self.point)));
        }
        self.leave(first, exit.as_mut());
        self.continue_at(exit)?;
        Ok(function.result.map(|_| result))
    }
}

/// The values; none of them is a path that surely met an error.
fn some(values: ValueSet) -> Result<ValueSet, PathEnd> {
    if values.is_empty() { Err(PathEnd) } else { Ok(values) }
}
