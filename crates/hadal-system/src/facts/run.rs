//! What holds after a statement, and what running it touches.

use super::eval::has_call;
use super::point::{Point, join_into};
use super::values::ValueSet;
use super::walk::{AbstractWalk, MAX_NOTED, MaySlots};
use crate::expr::{BinaryOp, Expr, Place, Range};
use crate::stmt::{CheckKind, Stmt, StmtKind, SwitchArm};
use crate::system::LocalId;

/// A `while` loop whose condition is known each time is unrolled this often.
const MAX_KNOWN_TURNS: u32 = 64;

/// Whether a write surely happens.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Certainty {
    Surely,
    Perhaps,
}

impl<'a> AbstractWalk<'a> {
    /// Runs statements one after the other; `None` where their end is not reached.
    pub fn run(&mut self, mut point: Point, stmts: &'a [Stmt]) -> Option<Point> {
        for stmt in stmts {
            self.burn(1);
            point = self.step(point, stmt)?;
        }
        Some(point)
    }

    fn step(&mut self, mut point: Point, stmt: &'a Stmt) -> Option<Point> {
        match &stmt.kind {
            StmtKind::Assign(to, value) => {
                let target = self.resolve(&mut point, to)?;
                let values = self.eval(&mut point, value);
                let allowed = match self.system.shapes.scalar(to.shape) {
                    Some(domain) => ValueSet::defined_of(&self.system.domains[domain]),
                    None => ValueSet::any(),
                };
                if !values.is_subset(&allowed) {
                    self.may_fault(&point);
                }
                let values = values.intersection(&allowed);
                if values.is_empty() {
                    return None;
                }
                self.write_scalar(&mut point, &target, values);
            }
            StmtKind::Copy { to, from } => {
                let to_target = self.resolve(&mut point, to)?;
                let from_target = self.resolve(&mut point, from)?;
                let length = self.system.shapes.slots(from.shape) as u32;
                self.note_read(&point, &from_target, length);
                let known = self.known_at(&point, &from_target, length);
                self.write_unknown(&mut point, &to_target, length, Certainty::Surely);
                if let Some(slot) = to_target.exact() {
                    self.note_values(&mut point, slot, known);
                }
            }
            StmtKind::Clear(place) => {
                self.reset(&mut point, place, |walk, slot| match walk.slot_domains[slot as usize] {
                    Some(domain) => ValueSet::one(walk.system.domains[domain].min()),
                    None => ValueSet::any(),
                })?
            }
            StmtKind::Undefine(place) => self.reset(&mut point, place, |walk, slot| walk.blank(slot))?,
            StmtKind::If { branches, otherwise } => return self.run_if(point, branches, otherwise),
            StmtKind::Switch { subject, arms, otherwise } => {
                return self.run_switch(point, subject, arms, otherwise);
            }
            StmtKind::For { local, range, body } => return self.run_for(point, *local, range, body),
            StmtKind::While(condition, body) => return self.run_while(point, condition, body),
            StmtKind::Call(id, arguments) => {
                if self.call(&mut point, *id, arguments).is_empty() {
                    return None;
                }
            }
            StmtKind::Return(value) => {
                let result = match value {
                    Some(expr) => self.eval(&mut point, expr),
                    None => ValueSet::one(1),
                };
                self.run_return(point, result);
                return None;
            }
            StmtKind::Bind { local, place, body } => {
                let target = self.resolve(&mut point, place)?;
                let at = local.0 as usize;
                let before = self.frame().references[at].replace(target);
                let after = self.run(point, body);
                self.frame().references[at] = before;
                return after;
            }
            StmtKind::Check { kind, condition, .. } => {
                let held = self.eval(&mut point, condition);
                if held.may_be_false() {
                    match kind {
                        CheckKind::Assert => self.may_fault(&point),
                        CheckKind::Assume => self.met.drops = true,
                    }
                }
                if !held.may_be_true() || !self.assume(&mut point, condition, true) {
                    return None;
                }
            }
            StmtKind::Fail(_) => {
                self.may_fault(&point);
                return None;
            }
            StmtKind::Cover(_, condition) => {
                if self.eval(&mut point, condition).is_empty() {
                    return None;
                }
            }
            StmtKind::Print(_) => {}
        }
        Some(point)
    }

    fn run_return(&mut self, point: Point, result: ValueSet) {
        let function = self.frame().function;
        let mut result = result;
        if let Some(domain) = function.and_then(|id| self.system.function(id).result) {
            let allowed = ValueSet::defined_of(&self.system.domains[domain]);
            if !result.is_subset(&allowed) {
                self.may_fault(&point);
            }
            result = result.intersection(&allowed);
        }
        if result.is_empty() {
            return;
        }
        let frame = self.frame();
        frame.result = frame.result.union(&result);
        join_into(&mut frame.exit, Some(point));
    }

    fn run_if(
        &mut self,
        mut point: Point,
        branches: &'a [(Expr, Vec<Stmt>)],
        otherwise: &'a [Stmt],
    ) -> Option<Point> {
        let mut after = None;
        for (condition, body) in branches {
            let held = self.eval(&mut point, condition);
            if held.may_be_true() {
                let mut inside = self.fork(&point);
                if self.assume(&mut inside, condition, true) {
                    let end = self.run(inside, body);
                    join_into(&mut after, end);
                }
            }
            if !held.may_be_false() || !self.assume(&mut point, condition, false) {
                return after;
            }
        }
        let end = self.run(point, otherwise);
        join_into(&mut after, end);
        after
    }

    fn run_switch(
        &mut self,
        mut point: Point,
        subject: &'a Expr,
        arms: &'a [SwitchArm],
        otherwise: &'a [Stmt],
    ) -> Option<Point> {
        let mut value = self.eval(&mut point, subject);
        if value.is_empty() {
            return None;
        }
        // Learning about the subject is sound only while nothing it reads can have changed.
        let mut still = !has_call(subject);
        let mut after = None;
        for arm in arms {
            let mut entry: Option<Point> = None;
            let mut taken = false;
            for label in &arm.values {
                let label_values = self.eval(&mut point, label);
                still &= !has_call(label);
                if label_values.is_empty() {
                    taken = true;
                    break;
                }
                let matching = value.intersection(&label_values);
                if matching.is_empty() {
                    continue;
                }
                let mut inside = self.fork(&point);
                if !still || self.quietly_learn(&mut inside, subject, BinaryOp::Equal, &matching) {
                    join_into(&mut entry, Some(inside));
                }
                if let Some(label) = label_values.as_const() {
                    let label = ValueSet::one(label);
                    value = value.satisfying(BinaryOp::NotEqual, &label);
                    if value.is_empty() {
                        taken = true;
                        break;
                    }
                    if still && !self.quietly_learn(&mut point, subject, BinaryOp::NotEqual, &label) {
                        taken = true;
                        break;
                    }
                }
            }
            if let Some(entry) = entry {
                let end = self.run(entry, &arm.body);
                join_into(&mut after, end);
            }
            if taken {
                return after;
            }
        }
        if !value.is_empty() {
            let end = self.run(point, otherwise);
            join_into(&mut after, end);
        }
        after
    }

    fn quietly_learn(
        &mut self,
        point: &mut Point,
        subject: &'a Expr,
        op: BinaryOp,
        values: &ValueSet,
    ) -> bool {
        self.quiet += 1;
        let possible = self.learn_operand(point, subject, op, values);
        self.quiet -= 1;
        possible
    }

    fn run_for(
        &mut self,
        mut point: Point,
        local: LocalId,
        range: &'a Range,
        body: &'a [Stmt],
    ) -> Option<Point> {
        let turns = self.turns(&mut point, range)?;
        let slot = self.local_slot(local);
        let list = turns.list.filter(|_| self.fuel > 0);
        for value in list.iter().flatten() {
            if !self.burn(1) {
                break;
            }
            point.values.insert(slot, ValueSet::one(*value));
            point = self.run(point, body)?;
        }
        // The hull covers the turns that were not unrolled for want of fuel.
        if list.is_none() || self.fuel == 0 {
            point.values.remove(&slot);
            point = self.fixpoint(point, |walk, mut inside| {
                inside.values.insert(slot, turns.hull.clone());
                let mut after = walk.run(inside, body)?;
                after.values.remove(&slot);
                Some(after)
            });
        }
        point.values.remove(&slot);
        Some(point)
    }

    fn run_while(&mut self, mut point: Point, condition: &'a Expr, body: &'a [Stmt]) -> Option<Point> {
        for _ in 0..MAX_KNOWN_TURNS {
            if !self.burn(1) {
                break;
            }
            let mut ahead = self.fork(&point);
            self.quiet += 1;
            let known =
                if has_call(condition) { ValueSet::boolean() } else { self.eval(&mut ahead, condition) };
            self.quiet -= 1;
            if known.may_be_true() && known.may_be_false() {
                break;
            }
            let held = self.eval(&mut point, condition);
            if held.is_empty() {
                return None;
            }
            if !held.may_be_true() {
                return Some(point);
            }
            point = self.run(point, body)?;
        }
        let mut after = None;
        let at = self.fixpoint(point, |walk, mut inside| {
            let held = walk.eval(&mut inside, condition);
            if held.may_be_false() {
                let mut out = walk.fork(&inside);
                if walk.assume(&mut out, condition, false) {
                    join_into(&mut after, Some(out));
                }
            }
            if !held.may_be_true() || !walk.assume(&mut inside, condition, true) {
                return None;
            }
            walk.run(inside, body)
        });
        // Turns beyond the limit are an error.
        self.may_fault(&at);
        after
    }

    fn reset(
        &mut self,
        point: &mut Point,
        place: &'a Place,
        value: impl Fn(&Self, u32) -> ValueSet,
    ) -> Option<()> {
        let target = self.resolve(point, place)?;
        let length = self.system.shapes.slots(place.shape) as u32;
        self.write_unknown(point, &target, length, Certainty::Surely);
        if let Some(first) = target.exact()
            && length <= MAX_NOTED
        {
            for slot in first..first + length {
                if self.multiset_at(slot).is_none() {
                    point.values.insert(slot, value(self, slot));
                }
            }
        }
        Some(())
    }

    /// Writes one scalar whose place may not be known.
    fn write_scalar(&mut self, point: &mut Point, target: &MaySlots, values: ValueSet) {
        if let MaySlots::Starts(starts) = target
            && starts.iter().all(|&s| self.multiset_at(s).is_none())
        {
            for &slot in starts {
                if slot < self.state_slots {
                    self.met.writes.insert(slot);
                }
                if starts.len() == 1 {
                    point.values.insert(slot, values.clone());
                    if slot < self.state_slots {
                        point.written.insert(slot);
                    }
                } else if let Some(old) = point.values.get_mut(&slot) {
                    *old = old.union(&values);
                }
            }
            return;
        }
        self.write_unknown(point, target, 1, Certainty::Surely);
    }

    /// Writes something unknown of `length` slots at the target. A write into a multiset may move every element.
    pub fn write_unknown(&mut self, point: &mut Point, target: &MaySlots, length: u32, certainty: Certainty) {
        let exact = target.exact().is_some() && certainty == Certainty::Surely;
        for (from, to) in target.ranges(length) {
            if from < self.state_slots {
                self.met.writes.insert_range(from, to);
                if exact {
                    point.written.insert_range(from, to);
                }
            }
            if from < to {
                point.forget(from, to);
            }
            let first = self.multisets.partition_point(|&(_, end)| end <= from);
            let inside: Vec<(u32, u32)> =
                self.multisets[first..].iter().copied().take_while(|&(start, _)| start < to).collect();
            for (start, end) in inside {
                point.forget(start, end);
                point.written.remove_range(start, end);
            }
        }
    }

    /// Notes in a fresh local what a copy of the target holds.
    pub fn copy_values(&mut self, point: &mut Point, slot: u32, from: &MaySlots, length: u32) {
        let known = self.known_at(point, from, length);
        point.forget(slot, slot + length);
        self.note_values(point, slot, known);
    }

    /// What is known of the slots of a target, numbered from its first.
    fn known_at(&mut self, point: &Point, from: &MaySlots, length: u32) -> Vec<(u32, ValueSet)> {
        match from.exact() {
            Some(first) if length <= MAX_NOTED => {
                let known = point.values.range(first..first + length);
                known.map(|(slot, values)| (slot - first, values.clone())).collect()
            }
            _ => Vec::new(),
        }
    }

    fn note_values(&mut self, point: &mut Point, slot: u32, known: Vec<(u32, ValueSet)>) {
        self.burn(known.len() / 4);
        for (n, values) in known {
            if self.multiset_at(slot + n).is_none() {
                point.values.insert(slot + n, values);
            }
        }
    }
}
