//! The values an expression may have, and what computing it touches.
//!
//! An empty set of values means that the expression surely meets an error.

use super::point::{Point, join_into};
use super::values::ValueSet;
use super::walk::{AbstractWalk, MaySlots};
use crate::domain::Value;
use crate::expr::{BinaryOp, Expr, ExprKind, Place, Quantifier, Range, Step, UnaryOp};
use crate::stmt::Argument;
use crate::system::{FunctionId, LocalId};

/// Loops of at most this many turns are unrolled.
pub(super) const MAX_TURNS: u64 = 256;
/// Calls nested deeper than this are taken by their summary.
const MAX_FRAMES: usize = 24;

impl<'a> AbstractWalk<'a> {
    /// Evaluates `expr` at `point`, which calls may change.
    pub fn eval(&mut self, point: &mut Point, expr: &'a Expr) -> ValueSet {
        self.burn(1);
        match &expr.kind {
            ExprKind::Const(value) => ValueSet::one(*value),
            ExprKind::Read(place) => self.eval_read(point, place),
            ExprKind::IsUndefined(place) => self.eval_is_undefined(point, place),
            ExprKind::Unary(op, of) => {
                let of = self.eval(point, of);
                let (values, fails) = ValueSet::unary(*op, &of);
                if fails {
                    self.may_fault(point);
                }
                values
            }
            ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Implies), left, right) => {
                self.eval_lazy(point, *op, left, right)
            }
            ExprKind::Binary(op, left, right) => {
                let left = self.eval(point, left);
                if left.is_empty() {
                    return left;
                }
                let right = self.eval(point, right);
                let (values, fails) = ValueSet::binary(*op, &left, &right);
                if fails {
                    self.may_fault(point);
                }
                values
            }
            ExprKind::If(condition, yes, no) => {
                let chosen = self.eval(point, condition);
                let calls = has_call(yes) || has_call(no);
                let mut values = ValueSet::empty();
                let mut after = None;
                for (holds, possible, branch) in
                    [(true, chosen.may_be_true(), yes), (false, chosen.may_be_false(), no)]
                {
                    if possible {
                        let (branch, end) = self.eval_assuming(point, (condition, holds), branch);
                        values = values.union(&branch);
                        if calls && !branch.is_empty() {
                            // A branch without calls leaves everything as it was.
                            let end = end.unwrap_or_else(|| point.clone());
                            join_into(&mut after, Some(end));
                        }
                    }
                }
                if let Some(after) = after {
                    *point = after;
                }
                values
            }
            ExprKind::Quantified { quantifier, local, range, body } => {
                self.eval_quantified(point, *quantifier, Binder { local: *local, range }, body)
            }
            ExprKind::Same(left, right) => {
                for place in [left, right] {
                    let Some(target) = self.resolve(point, place) else { return ValueSet::empty() };
                    self.note_read(point, &target, self.system.shapes.slots(place.shape) as u32);
                }
                ValueSet::boolean()
            }
            ExprKind::Call(id, arguments) => self.call(point, *id, arguments),
            ExprKind::Wrap(of, domain) => {
                let of = self.eval(point, of);
                let inside = ValueSet::defined_of(&self.system.domains[*domain]);
                if of.is_empty() || of.is_subset(&inside) { of } else { inside }
            }
            ExprKind::InDomain(of, domain) => {
                let of = self.eval(point, of);
                let inside = ValueSet::defined_of(&self.system.domains[*domain]);
                if of.is_empty() {
                    of
                } else if of.is_subset(&inside) {
                    ValueSet::one(1)
                } else if of.is_disjoint(&inside) {
                    ValueSet::one(0)
                } else {
                    ValueSet::boolean()
                }
            }
        }
    }

    /// Notes that what stands at the target is read; what this walk has surely written itself does not count.
    pub fn note_read(&mut self, point: &Point, target: &MaySlots, length: u32) {
        if self.quiet > 0 {
            return;
        }
        for (from, to) in target.ranges(length) {
            if from >= self.state_slots {
                continue;
            }
            if !point.written.meets_range(from, to) {
                self.met.reads.insert_range(from, to);
            } else {
                for slot in (from..to).filter(|&s| !point.written.contains(s)) {
                    self.met.reads.insert(slot);
                }
            }
        }
    }

    /// What the scalar at a target may hold.
    pub fn values_at(&self, point: &Point, target: &MaySlots, place: &Place) -> ValueSet {
        match target {
            MaySlots::Starts(starts) => {
                starts.iter().fold(ValueSet::empty(), |all, &slot| all.union(&self.value(point, slot)))
            }
            MaySlots::Within(..) => match self.system.shapes.scalar(place.shape) {
                Some(domain) => ValueSet::of_domain(&self.system.domains[domain]),
                None => ValueSet::any().union(&ValueSet::undefined()),
            },
        }
    }

    fn eval_read(&mut self, point: &mut Point, place: &'a Place) -> ValueSet {
        let Some(target) = self.resolve(point, place) else { return ValueSet::empty() };
        self.note_read(point, &target, 1);
        let values = self.values_at(point, &target, place);
        if !values.may_be_undefined() {
            return values;
        }
        let defined = values.defined();
        match target.exact() {
            Some(slot) if self.frozen == 0 => {
                point.values.insert(slot, ValueSet::undefined());
                self.may_fault(point);
                point.values.insert(slot, defined.clone());
            }
            _ => self.may_fault(point),
        }
        defined
    }

    fn eval_is_undefined(&mut self, point: &mut Point, place: &'a Place) -> ValueSet {
        let Some(target) = self.resolve(point, place) else { return ValueSet::empty() };
        self.note_read(point, &target, self.system.shapes.slots(place.shape) as u32);
        if self.system.shapes.scalar(place.shape).is_none() {
            return ValueSet::boolean();
        }
        let values = self.values_at(point, &target, place);
        ValueSet::interval((values.count() == 0).into(), values.may_be_undefined().into())
    }

    fn eval_lazy(&mut self, point: &mut Point, op: BinaryOp, left: &'a Expr, right: &'a Expr) -> ValueSet {
        let first = self.eval(point, left);
        // `goes_on` is the truth of the left operand for which the right one is evaluated.
        let goes_on = op != BinaryOp::Or;
        let (stops, continues) = if goes_on {
            (first.may_be_false(), first.may_be_true())
        } else {
            (first.may_be_true(), first.may_be_false())
        };
        let mut values = ValueSet::empty();
        if stops {
            values = ValueSet::one((op != BinaryOp::And).into());
        }
        if !continues {
            return values;
        }
        let second = if stops || self.frozen > 0 {
            let (second, end) = self.eval_assuming(point, (left, goes_on), right);
            if let Some(end) = end {
                point.join(&end);
            }
            second
        } else if self.assume(point, left, goes_on) {
            self.eval(point, right)
        } else {
            ValueSet::empty()
        };
        if second.may_be_true() {
            values = values.union(&ValueSet::one(1));
        }
        if second.may_be_false() {
            values = values.union(&ValueSet::one(0));
        }
        values
    }

    /// Evaluates `expr` where `condition` was just evaluated to a known truth. `point` stays as it is; what holds
    /// after is given where `expr` may have changed something.
    fn eval_assuming(
        &mut self,
        point: &mut Point,
        condition: (&'a Expr, bool),
        expr: &'a Expr,
    ) -> (ValueSet, Option<Point>) {
        let calls = has_call(expr);
        if !calls && self.fuel == 0 {
            self.frozen += 1;
            let values = self.eval(point, expr);
            self.frozen -= 1;
            return (values, None);
        }
        let mut inside = self.fork(point);
        let frozen = std::mem::replace(&mut self.frozen, 0);
        let possible = self.assume(&mut inside, condition.0, condition.1);
        let values = if possible { self.eval(&mut inside, expr) } else { ValueSet::empty() };
        self.frozen = frozen;
        let end = (calls && !values.is_empty()).then_some(inside);
        (values, end)
    }

    fn eval_quantified(
        &mut self,
        point: &mut Point,
        quantifier: Quantifier,
        binder: Binder<'a>,
        body: &'a Expr,
    ) -> ValueSet {
        let Some(turns) = self.turns(point, binder.range) else { return ValueSet::empty() };
        let slot = self.local_slot(binder.local);
        let calls = has_call(body);
        let (decided, undecided) = match quantifier {
            Quantifier::Exists => (1, 0),
            Quantifier::ForAll => (0, 1),
        };
        let decides = |body: &ValueSet| if decided == 1 { body.may_be_true() } else { body.may_be_false() };
        let goes_on = |body: &ValueSet| if decided == 1 { body.may_be_false() } else { body.may_be_true() };
        // Without calls the point stays as it is, and one look at each turn is enough.
        self.frozen += u32::from(!calls);
        let mut values = ValueSet::empty();
        let mut ended = false;
        match turns.list.filter(|_| self.fuel > 0) {
            Some(list) => {
                // Ways that stopped early.
                let mut stopped: Option<Point> = None;
                for value in list {
                    point.values.insert(slot, ValueSet::one(value));
                    let body = self.eval(point, body);
                    if decides(&body) {
                        values = ValueSet::one(decided);
                        if calls {
                            let way = self.fork(point);
                            join_into(&mut stopped, Some(way));
                        }
                    }
                    if !goes_on(&body) {
                        ended = true;
                        break;
                    }
                }
                match stopped {
                    Some(stopped) if ended => *point = stopped,
                    Some(stopped) => point.join(&stopped),
                    None => {}
                }
            }
            None if calls => {
                let entry = self.fork(point);
                *point = self.fixpoint(entry, |walk, mut inside| {
                    inside.values.insert(slot, turns.hull.clone());
                    let body = walk.eval(&mut inside, body);
                    if decides(&body) {
                        values = ValueSet::one(decided);
                    }
                    inside.values.remove(&slot);
                    (!body.is_empty()).then_some(inside)
                });
            }
            None => {
                point.values.insert(slot, turns.hull.clone());
                if decides(&self.eval(point, body)) {
                    values = ValueSet::one(decided);
                }
            }
        }
        self.frozen -= u32::from(!calls);
        point.values.remove(&slot);
        if ended { values } else { values.union(&ValueSet::one(undecided)) }
    }

    /// The turns of a loop; `None` where the bounds surely meet an error.
    pub fn turns(&mut self, point: &mut Point, range: &'a Range) -> Option<Turns> {
        match range {
            Range::Domain(id) => {
                let domain = &self.system.domains[*id];
                let hull = ValueSet::defined_of(domain);
                let list = (domain.size() <= MAX_TURNS).then(|| domain.values().collect());
                Some(Turns { list, hull })
            }
            Range::Steps { from, to, by } => {
                let from = self.eval(point, from);
                let to = self.eval(point, to);
                let by = self.eval(point, by);
                if by.contains(0) {
                    self.may_fault(point);
                }
                let ((least_from, most_from), (least_to, most_to)) = (from.bounds()?, to.bounds()?);
                let (least_by, most_by) = by.bounds()?;
                if by.as_const() == Some(0) {
                    return None;
                }
                let mut hull = ValueSet::empty();
                if most_by > 0 {
                    hull = hull.union(&ValueSet::interval(least_from, most_to));
                }
                if least_by < 0 {
                    hull = hull.union(&ValueSet::interval(least_to, most_from));
                }
                let list = match (from.as_const(), to.as_const(), by.as_const()) {
                    (Some(from), Some(to), Some(by)) => steps(from, to, by),
                    _ => None,
                };
                Some(Turns { list, hull })
            }
        }
    }

    /// Follows a call, or takes its summary; the possible results (1 for a procedure).
    pub fn call(&mut self, point: &mut Point, id: FunctionId, arguments: &'a [Argument]) -> ValueSet {
        let system = self.system;
        let function = system.function(id);
        let mut passed = Vec::with_capacity(arguments.len());
        for (argument, local) in arguments.iter().zip(&function.locals) {
            passed.push(match argument {
                Argument::Value(expr) => {
                    let values = self.eval(point, expr);
                    let allowed = match self.system.shapes.scalar(local.shape) {
                        Some(domain) => ValueSet::defined_of(&self.system.domains[domain]),
                        None => ValueSet::any(),
                    };
                    if !values.is_subset(&allowed) {
                        self.may_fault(point);
                    }
                    let values = values.intersection(&allowed);
                    if values.is_empty() {
                        return values;
                    }
                    Passed::Value(values)
                }
                Argument::Copy(place) => {
                    let Some(target) = self.resolve(point, place) else { return ValueSet::empty() };
                    self.note_read(point, &target, self.system.shapes.slots(place.shape) as u32);
                    Passed::Copy(target)
                }
                Argument::Reference(place) => {
                    let Some(target) = self.resolve(point, place) else { return ValueSet::empty() };
                    Passed::Reference(target)
                }
            });
        }
        let recursive = self.frames.iter().any(|f| f.function == Some(id));
        if recursive || !self.burn(1) || self.frames.len() >= MAX_FRAMES {
            return self.call_by_summary(point, id, &passed);
        }
        let first_slot = self.slot_domains.len() as u32;
        self.enter(Some(id), &function.locals, point);
        for (n, passed) in passed.into_iter().enumerate() {
            let slot = self.frame().slots[n];
            match passed {
                Passed::Value(values) => {
                    point.values.insert(slot, values);
                }
                Passed::Copy(target) => {
                    let length = self.system.shapes.slots(function.locals[n].shape) as u32;
                    self.copy_values(point, slot, &target, length);
                }
                Passed::Reference(target) => self.frame().references[n] = Some(target),
            }
        }
        let end = self.run(std::mem::take(point), &function.body);
        if function.result.is_some()
            && let Some(end) = &end
        {
            // The end of the body was reached without a result.
            self.may_fault(end);
        }
        let (mut exit, result) = {
            let frame = self.frame();
            (frame.exit.take(), std::mem::replace(&mut frame.result, ValueSet::empty()))
        };
        if function.result.is_none() {
            join_into(&mut exit, end);
        }
        self.leave(first_slot, exit.as_mut());
        match exit {
            Some(exit) => {
                *point = exit;
                if function.result.is_some() { result } else { ValueSet::one(1) }
            }
            None => ValueSet::empty(),
        }
    }

    fn call_by_summary(&mut self, point: &mut Point, id: FunctionId, passed: &[Passed]) -> ValueSet {
        let ground = self.ground;
        let function = self.system.function(id);
        let summary = &ground.summaries[id.0 as usize];
        self.may_fault(point);
        self.met.drops |= summary.drops;
        for &(from, to) in summary.reads.ranges() {
            self.note_read(point, &MaySlots::Within(from, to), 1);
        }
        for (n, passed) in passed.iter().enumerate() {
            if let Passed::Reference(target) = passed {
                let length = self.system.shapes.slots(function.locals[n].shape) as u32;
                if summary.params[n].read {
                    self.note_read(point, target, length);
                }
                if summary.params[n].write {
                    self.write_unknown(point, target, length, super::run::Certainty::Perhaps);
                }
            }
        }
        for &(from, to) in summary.writes.ranges() {
            self.write_unknown(point, &MaySlots::Within(from, to), 1, super::run::Certainty::Perhaps);
        }
        match function.result {
            Some(domain) => ValueSet::defined_of(&self.system.domains[domain]),
            None => ValueSet::one(1),
        }
    }

    /// Runs `turn` until what is known no longer changes; the result holds after any number of turns.
    pub fn fixpoint(
        &mut self,
        entry: Point,
        mut turn: impl FnMut(&mut Self, Point) -> Option<Point>,
    ) -> Point {
        let mut at = entry;
        let mut rounds = 0;
        loop {
            let ahead = self.fork(&at);
            let Some(next) = turn(self, ahead) else { return at };
            let mut joined = self.fork(&at);
            joined.join(&next);
            if joined == at {
                return at;
            }
            if rounds >= 2 {
                joined.widen(&at);
            }
            rounds += 1;
            at = joined;
        }
    }
}

/// A bound variable and what it runs over.
#[derive(Clone, Copy)]
struct Binder<'a> {
    local: LocalId,
    range: &'a Range,
}

/// The values a loop variable takes.
pub(super) struct Turns {
    /// All of them in order, where they are known and few.
    pub list: Option<Vec<Value>>,
    /// A superset of them.
    pub hull: ValueSet,
}

enum Passed {
    Value(ValueSet),
    Copy(MaySlots),
    Reference(MaySlots),
}

fn steps(from: Value, to: Value, by: Value) -> Option<Vec<Value>> {
    let span = if by > 0 { i128::from(to) - i128::from(from) } else { i128::from(from) - i128::from(to) };
    if by == 0 || span / i128::from(by.unsigned_abs()) >= i128::from(MAX_TURNS) {
        return None;
    }
    if span < 0 {
        return Some(Vec::new());
    }
    let turns = span / i128::from(by.unsigned_abs());
    Some((0..=turns).map(|n| (i128::from(from) + n * i128::from(by)) as Value).collect())
}

/// Whether evaluating the expression may call a function (and so change something).
pub(super) fn has_call(expr: &Expr) -> bool {
    let place =
        |place: &Place| place.steps.iter().any(|step| matches!(step, Step::Index(index) if has_call(index)));
    match &expr.kind {
        ExprKind::Const(_) => false,
        ExprKind::Read(at) | ExprKind::IsUndefined(at) => place(at),
        ExprKind::Unary(UnaryOp::Negate | UnaryOp::Not | UnaryOp::BitNot, of) => has_call(of),
        ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => has_call(of),
        ExprKind::Binary(_, left, right) => has_call(left) || has_call(right),
        ExprKind::If(condition, yes, no) => has_call(condition) || has_call(yes) || has_call(no),
        ExprKind::Quantified { range, body, .. } => {
            has_call(body)
                || match &**range {
                    Range::Domain(_) => false,
                    Range::Steps { from, to, by } => has_call(from) || has_call(to) || has_call(by),
                }
        }
        ExprKind::Same(left, right) => place(left) || place(right),
        ExprKind::Call(..) => true,
    }
}
