//! Expressions.

use super::{AbstractMachine, Behind, Decision, call, resolve};
use crate::domain::Value;
use crate::expr::{BinaryOp, Expr, ExprKind, Place, Quantifier, Range, Step};
use crate::system::LocalId;

/// The value of an expression, which is defined.
pub fn value<'a, M: AbstractMachine<'a>>(machine: &mut M, expr: &'a Expr) -> Result<M::Value, M::Stop> {
    machine.deeper(|machine| inside(machine, expr))
}

fn inside<'a, M: AbstractMachine<'a>>(machine: &mut M, expr: &'a Expr) -> Result<M::Value, M::Stop> {
    match &expr.kind {
        ExprKind::Const(value) => Ok(M::constant(*value)),
        ExprKind::Read(place) => {
            let at = resolve(machine, place)?;
            machine.read(at)
        }
        ExprKind::IsUndefined(place) => {
            let at = resolve(machine, place)?;
            machine.is_undefined(at)
        }
        ExprKind::Unary(op, of) => {
            let of = value(machine, of)?;
            machine.unary(*op, of)
        }
        ExprKind::Binary(op @ (BinaryOp::And | BinaryOp::Or | BinaryOp::Implies), left, right) => {
            lazy(machine, *op, left, right)
        }
        ExprKind::Binary(op, left, right) => {
            let left = value(machine, left)?;
            let right = value(machine, right)?;
            machine.binary(*op, left, right)
        }
        ExprKind::If(condition, yes, no) => conditional(machine, condition, yes, no),
        ExprKind::Quantified { quantifier, local, range, body } => {
            quantified(machine, *quantifier, (*local, range), body)
        }
        ExprKind::Same(left, right) => {
            let left = resolve(machine, left)?;
            let right = resolve(machine, right)?;
            machine.same(left, right)
        }
        ExprKind::Call(function, arguments) => match call(machine, *function, arguments)? {
            Some(result) => Ok(result),
            None => Err(machine.fail()),
        },
        ExprKind::Wrap(of, domain) => {
            let of = value(machine, of)?;
            machine.wrap(of, *domain)
        }
        ExprKind::InDomain(of, domain) => {
            let of = value(machine, of)?;
            machine.in_domain(of, *domain)
        }
    }
}

/// What evaluating these may do.
fn does(exprs: &[&Expr]) -> Behind {
    if exprs.iter().any(|expr| has_call(expr)) { Behind::Writes } else { Behind::Reads }
}

/// An operator whose right operand is evaluated only where the left one does not settle it.
fn lazy<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    op: BinaryOp,
    left: &'a Expr,
    right: &'a Expr,
) -> Result<M::Value, M::Stop> {
    let first = value(machine, left)?;
    // The truth of the left operand for which the right one is evaluated, and the result for the other.
    let goes_on = op != BinaryOp::Or;
    let settled = || M::constant((op != BinaryOp::And).into());
    let second = |machine: &mut M| {
        machine.learn(left, goes_on)?;
        let right = value(machine, right)?;
        machine.truth(right)
    };
    match machine.decide(&first, || does(&[right]))? {
        Decision::Open(open) => {
            let (on, settles) = if goes_on { (open.holds, open.fails) } else { (open.fails, open.holds) };
            let second = if on { Some(second(machine)) } else { None };
            machine.rejoin(open.aside, settles, matches!(second, Some(Ok(_))));
            match second {
                Some(Ok(second)) if settles => Ok(M::either(second, settled())),
                Some(result) if !settles => result,
                _ => Ok(settled()),
            }
        }
        Decision::Holds if goes_on => second(machine),
        Decision::Fails if !goes_on => second(machine),
        Decision::Holds | Decision::Fails => Ok(settled()),
    }
}

fn conditional<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    condition: &'a Expr,
    yes: &'a Expr,
    no: &'a Expr,
) -> Result<M::Value, M::Stop> {
    let chosen = value(machine, condition)?;
    let branch = |machine: &mut M, holds: bool| {
        machine.learn(condition, holds)?;
        value(machine, if holds { yes } else { no })
    };
    match machine.decide(&chosen, || does(&[yes, no]))? {
        Decision::Holds => branch(machine, true),
        Decision::Fails => branch(machine, false),
        Decision::Open(mut open) => {
            let first = open.holds.then(|| branch(machine, true));
            machine.turn(&mut open.aside);
            let second = open.fails.then(|| branch(machine, false));
            machine.rejoin(open.aside, matches!(first, Some(Ok(_))), matches!(second, Some(Ok(_))));
            match (first, second) {
                (Some(Ok(one)), Some(Ok(other))) => Ok(M::either(one, other)),
                (Some(Ok(one)), _) | (_, Some(Ok(one))) => Ok(one),
                (Some(stop), _) | (None, Some(stop)) => stop,
                (None, None) => Err(machine.fail()),
            }
        }
    }
}

fn quantified<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    quantifier: Quantifier,
    (local, range): (LocalId, &'a Range),
    body: &'a Expr,
) -> Result<M::Value, M::Stop> {
    let turns = machine.turns(range)?;
    let slot = machine.local_slot(local);
    let behind = does(&[body]);
    // Where the body only reads, one look at each turn is enough.
    let ahead = if behind == Behind::Reads { Behind::Alike } else { behind };
    let decides = quantifier == Quantifier::Exists;
    machine.begin_turns(behind);
    // Whether some path may have been decided on, and where those that were end.
    let mut decided = false;
    let mut stopped: Option<M::Aside> = None;
    let mut turn = |machine: &mut M| -> Result<bool, M::Stop> {
        let held = value(machine, body)?;
        match machine.decide(&held, || ahead)? {
            Decision::Holds if decides => Ok(true),
            Decision::Fails if !decides => Ok(true),
            Decision::Holds | Decision::Fails => Ok(false),
            Decision::Open(open) => {
                decided |= if decides { open.holds } else { open.fails };
                machine.gather(&mut stopped, open.aside);
                Ok(false)
            }
        }
    };
    let end = match turns.list.filter(|list| list.is_empty() || machine.unrolls()) {
        Some(list) => 'turns: {
            for value in list {
                machine.bind(slot, value);
                match turn(machine) {
                    Ok(false) => {}
                    end => break 'turns end,
                }
            }
            Ok(false)
        }
        None => {
            let mut settled = false;
            let mut any = |machine: &mut M| {
                settled |= turn(machine)?;
                Ok(())
            };
            let end = machine.any_turns((slot, turns.hull), behind, &mut any);
            decided |= settled;
            end.map(|()| false)
        }
    };
    machine.end_turns(behind);
    if end.is_ok() || decided {
        if let Some(stopped) = stopped {
            machine.rejoin(stopped, true, end.is_ok());
        }
        machine.unbind(slot);
    }
    let (yes, no) = (M::constant(decides.into()), M::constant((!decides).into()));
    match end {
        Ok(true) => Ok(yes),
        Ok(false) if decided => Ok(M::either(yes, no)),
        Ok(false) => Ok(no),
        Err(_) if decided => Ok(yes),
        Err(stop) => Err(stop),
    }
}

/// The values of a range with known bounds, where there are at most `most`.
pub fn steps((from, to, by): (Value, Value, Value), most: u64) -> Option<Vec<Value>> {
    let span = if by > 0 { i128::from(to) - i128::from(from) } else { i128::from(from) - i128::from(to) };
    if by == 0 || span / i128::from(by.unsigned_abs()) >= i128::from(most) {
        return None;
    }
    if span < 0 {
        return Some(Vec::new());
    }
    let turns = span / i128::from(by.unsigned_abs());
    Some((0..=turns).map(|n| (i128::from(from) + n * i128::from(by)) as Value).collect())
}

/// Whether evaluating the expression may call a function (and so change something).
pub fn has_call(expr: &Expr) -> bool {
    let place =
        |place: &Place| place.steps.iter().any(|step| matches!(step, Step::Index(index) if has_call(index)));
    match &expr.kind {
        ExprKind::Const(_) => false,
        ExprKind::Read(at) | ExprKind::IsUndefined(at) => place(at),
        ExprKind::Unary(_, of) | ExprKind::InDomain(of, _) | ExprKind::Wrap(of, _) => has_call(of),
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
