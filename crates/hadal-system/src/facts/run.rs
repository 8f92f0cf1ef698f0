//! Loops, switches and calls that are not followed, where what is known is joined.

use super::point::{Point, join_into};
use super::touch::Certainty;
use super::values::ValueSet;
use super::walk::{AbstractWalk, MaySlots, PathEnd};
use crate::expr::{BinaryOp, Expr};
use crate::machine::{Passed, block, has_call, value};
use crate::stmt::{Stmt, SwitchArm};
use crate::system::FunctionId;

/// A `while` loop whose condition is known each time is unrolled this often.
const MAX_KNOWN_TURNS: u32 = 64;

impl<'a> AbstractWalk<'a> {
    /// Runs `run` from another point; where it leads, if it does.
    fn run_at(&mut self, point: Point, run: impl FnOnce(&mut Self) -> Result<(), PathEnd>) -> Option<Point> {
        let here = std::mem::replace(&mut self.point, point);
        let end = run(self);
        let there = std::mem::replace(&mut self.point, here);
        end.is_ok().then_some(there)
    }

    /// Runs `turn` until what is known no longer changes; what is known then holds after any number of turns.
    pub fn fixpoint(&mut self, mut turn: impl FnMut(&mut Self) -> Result<(), PathEnd>) {
        let mut rounds = 0;
        loop {
            let ahead = self.fork();
            let Some(next) = self.run_at(ahead, &mut turn) else { return };
            let mut joined = self.fork();
            joined.join(&next);
            if joined == self.point {
                return;
            }
            if rounds >= 2 {
                joined.widen(&self.point);
            }
            rounds += 1;
            self.point = joined;
        }
    }

    pub fn run_while(&mut self, condition: &'a Expr, body: &'a [Stmt]) -> Result<(), PathEnd> {
        for _ in 0..MAX_KNOWN_TURNS {
            if !self.burn(1) {
                break;
            }
            if self.is_open(condition) {
                break;
            }
            let held = value(self, condition)?;
            if !held.may_be_true() {
                return Ok(());
            }
            block(self, body)?;
        }
        let mut after = None;
        self.fixpoint(|walk| {
            let held = value(walk, condition)?;
            if held.may_be_false() {
                let out = walk.fork();
                let out = walk.run_at(out, |walk| walk.assumed(condition, false));
                join_into(&mut after, out);
            }
            if !held.may_be_true() {
                return Err(PathEnd);
            }
            walk.assumed(condition, true)?;
            block(walk, body)
        });
        // Turns beyond the limit are an error.
        self.may_fault();
        self.continue_at(after)
    }

    /// Whether a condition may be both, as far as a look ahead tells.
    fn is_open(&mut self, condition: &'a Expr) -> bool {
        if has_call(condition) {
            return true;
        }
        let ahead = self.fork();
        let here = std::mem::replace(&mut self.point, ahead);
        self.quiet += 1;
        let known = value(self, condition);
        self.quiet -= 1;
        self.point = here;
        known.is_ok_and(|known| known.may_be_true() && known.may_be_false())
    }

    fn assumed(&mut self, condition: &'a Expr, holds: bool) -> Result<(), PathEnd> {
        if self.assume(condition, holds) { Ok(()) } else { Err(PathEnd) }
    }

    pub fn run_switch(
        &mut self,
        subject: &'a Expr,
        arms: &'a [SwitchArm],
        otherwise: &'a [Stmt],
    ) -> Result<(), PathEnd> {
        let mut left = value(self, subject)?;
        // Learning about the subject is sound only while nothing it reads can have changed.
        let mut still = !has_call(subject);
        let mut after = None;
        for arm in arms {
            let mut entry: Option<Point> = None;
            let mut taken = false;
            for label in &arm.values {
                let labels = value(self, label);
                still &= !has_call(label);
                let Ok(labels) = labels else {
                    taken = true;
                    break;
                };
                let matching = left.intersection(&labels);
                if matching.is_empty() {
                    continue;
                }
                let inside = self.fork();
                let inside = self.run_at(inside, |walk| match still {
                    true => walk.quietly_learn(subject, BinaryOp::Equal, &matching),
                    false => Ok(()),
                });
                join_into(&mut entry, inside);
                if let Some(label) = labels.as_const() {
                    let label = ValueSet::one(label);
                    left = left.satisfying(BinaryOp::NotEqual, &label);
                    if left.is_empty()
                        || still && self.quietly_learn(subject, BinaryOp::NotEqual, &label).is_err()
                    {
                        taken = true;
                        break;
                    }
                }
            }
            if let Some(entry) = entry {
                let end = self.run_at(entry, |walk| block(walk, &arm.body));
                join_into(&mut after, end);
            }
            if taken {
                return self.continue_at(after);
            }
        }
        if !left.is_empty() {
            let rest = std::mem::take(&mut self.point);
            let end = self.run_at(rest, |walk| block(walk, otherwise));
            join_into(&mut after, end);
        }
        self.continue_at(after)
    }

    fn quietly_learn(&mut self, subject: &'a Expr, op: BinaryOp, values: &ValueSet) -> Result<(), PathEnd> {
        self.quiet += 1;
        let possible = self.learn_operand(subject, op, values);
        self.quiet -= 1;
        if possible { Ok(()) } else { Err(PathEnd) }
    }

    /// What a call may do whatever it is given.
    pub fn call_by_summary(&mut self, id: FunctionId, passed: &[Passed<'a, Self>]) -> Option<ValueSet> {
        let ground = self.ground;
        let function = self.system.function(id);
        let summary = &ground.summaries[id.0 as usize];
        self.may_fault();
        self.met.drops |= summary.drops;
        for &(from, to) in summary.reads.ranges() {
            self.note_read(&MaySlots::Within(from, to), 1);
        }
        for (n, passed) in passed.iter().enumerate() {
            if let Passed::Reference((spot, _)) = passed {
                let length = self.system.shapes.slots(function.locals[n].shape) as u32;
                if summary.params[n].read {
                    self.note_read(spot, length);
                }
                if summary.params[n].write {
                    self.write_unknown(spot, length, Certainty::Perhaps);
                }
            }
        }
        for &(from, to) in summary.writes.ranges() {
            self.write_unknown(&MaySlots::Within(from, to), 1, Certainty::Perhaps);
        }
        function.result.map(|domain| ValueSet::defined_of(&self.system.domains[domain]))
    }
}
