//! Statements.

use super::{AbstractMachine, Behind, Blank, Decision, call, resolve, value};
use crate::expr::{Expr, Range};
use crate::stmt::{Stmt, StmtKind};
use crate::system::LocalId;

/// Runs statements one after the other; `Err` where their end is not reached.
pub fn block<'a, M: AbstractMachine<'a>>(machine: &mut M, body: &'a [Stmt]) -> Result<(), M::Stop> {
    body.iter().try_for_each(|stmt| machine.deeper(|machine| statement(machine, stmt)))
}

fn statement<'a, M: AbstractMachine<'a>>(machine: &mut M, stmt: &'a Stmt) -> Result<(), M::Stop> {
    match &stmt.kind {
        StmtKind::Assign(place, expr) => {
            let (spot, shape) = resolve(machine, place)?;
            let mut value = value(machine, expr)?;
            if let Some(domain) = machine.system().shapes.scalar(shape) {
                value = machine.fit(value, domain)?;
            }
            machine.assign(spot, value)
        }
        StmtKind::Copy { to, from } => {
            let to = resolve(machine, to)?;
            let from = resolve(machine, from)?;
            let contents = machine.contents(from)?;
            machine.paste(to, contents)
        }
        StmtKind::Clear(place) => {
            let at = resolve(machine, place)?;
            machine.blank(at, Blank::Cleared)
        }
        StmtKind::Undefine(place) => {
            let at = resolve(machine, place)?;
            machine.blank(at, Blank::Undefined)
        }
        StmtKind::If { branches, otherwise } => branch(machine, branches, otherwise),
        StmtKind::Switch { subject, arms, otherwise } => machine.switch(subject, arms, otherwise),
        StmtKind::For { local, range, body } => each(machine, *local, range, body),
        StmtKind::While(condition, body) => machine.repeat(condition, body),
        StmtKind::Call(function, arguments) => call(machine, *function, arguments).map(|_| ()),
        StmtKind::Return(result) => {
            let result = result.as_ref().map(|expr| value(machine, expr)).transpose()?;
            Err(machine.return_with(result))
        }
        StmtKind::Bind { local, place, body } => {
            let spot = resolve(machine, place)?;
            // What ended inside a call may have left its frames behind.
            let (frame, at) = (machine.frames().len() - 1, local.0 as usize);
            let before = machine.frames()[frame].references[at].replace(spot);
            let end = block(machine, body);
            machine.frames()[frame].references[at] = before;
            end
        }
        StmtKind::Check { kind, condition, .. } => machine.check(*kind, condition),
        StmtKind::Fail(_) => Err(machine.fail()),
        StmtKind::Cover(_, condition) => value(machine, condition).map(|_| ()),
        StmtKind::Print(_) => Ok(()),
    }
}

fn branch<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    branches: &'a [(Expr, Vec<Stmt>)],
    otherwise: &'a [Stmt],
) -> Result<(), M::Stop> {
    // Where the bodies of branches ended that need not have been taken.
    let mut ends: Option<M::Aside> = None;
    let end = chain(machine, branches, otherwise, &mut ends);
    match ends {
        Some(ends) => {
            machine.rejoin(ends, true, end.is_ok());
            Ok(())
        }
        None => end,
    }
}

fn chain<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    branches: &'a [(Expr, Vec<Stmt>)],
    otherwise: &'a [Stmt],
    ends: &mut Option<M::Aside>,
) -> Result<(), M::Stop> {
    for (condition, body) in branches {
        let held = value(machine, condition)?;
        match machine.decide(&held, || Behind::Writes)? {
            Decision::Holds => {
                machine.learn(condition, true)?;
                return block(machine, body);
            }
            Decision::Fails => {}
            Decision::Open(mut open) => {
                let taken = machine.learn(condition, true).and_then(|()| block(machine, body));
                machine.turn(&mut open.aside);
                if taken.is_ok() {
                    machine.gather(ends, open.aside);
                }
            }
        }
        machine.learn(condition, false)?;
    }
    block(machine, otherwise)
}

fn each<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    local: LocalId,
    range: &'a Range,
    body: &'a [Stmt],
) -> Result<(), M::Stop> {
    let turns = machine.turns(range)?;
    let slot = machine.local_slot(local);
    let mut unrolled = turns.list.is_some();
    for value in turns.list.into_iter().flatten() {
        if !machine.unrolls() {
            unrolled = false;
            break;
        }
        machine.bind(slot, value);
        block(machine, body)?;
    }
    // The hull covers the turns that were not followed one by one.
    if !unrolled {
        machine.any_turns((slot, turns.hull), Behind::Writes, &mut |machine| block(machine, body))?;
    }
    machine.unbind(slot);
    Ok(())
}
