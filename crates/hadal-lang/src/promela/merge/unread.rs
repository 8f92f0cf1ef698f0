//! Global variables that are written and never read: SPIN leaves them out of the state.

use super::super::lower::slots::{indices, inner, ops, received};
use super::super::model::{Argument, Initial, Model, Op, Receive, Term, TermKind, Type, VarPath, VarRef};
use std::collections::HashSet;
use std::rc::Rc;

/// Hides them. `asked` is looked at from outside, `names` occur in formulas and selections. As in SPIN, printing and
/// counting up (`x++`) are no reads, and receiving is one.
pub(super) fn hide_unread(model: &mut Model, asked: &[Term], names: &HashSet<Rc<str>>) {
    let mut read: HashSet<usize> = HashSet::new();
    let mut note = |term: &Term| {
        inner(term, &mut |it| match &it.kind {
            TermKind::Read(VarPath { var: VarRef::Global(n), .. }) => _ = read.insert(*n),
            TermKind::Poll(receive) => targets(receive, &mut |n| _ = read.insert(n)),
            _ => {}
        });
    };
    asked.iter().for_each(&mut note);
    let watchers = model.claims.iter().chain(model.trace.as_ref().map(|trace| &trace.process));
    let processes = model.processes.iter().chain(watchers);
    let locals = processes.clone().flat_map(|process| &process.variables);
    for variable in model.globals.iter().chain(locals) {
        match &variable.initial {
            Initial::Value(term) => note(term),
            Initial::List(terms) => terms.iter().for_each(&mut note),
            Initial::Zero | Initial::Channel { .. } => {}
        }
    }
    let mut into = HashSet::new();
    for process in processes {
        process.provided.iter().for_each(&mut note);
        for element in &process.elements {
            ops(element, &mut |op| match op {
                Op::Condition(term) | Op::Assert(term) => note(term),
                Op::Assign(target, value) => {
                    indices(target, &mut note);
                    if !counts(target, value) {
                        note(value);
                    }
                }
                Op::Send { channel, values, .. } => {
                    indices(channel, &mut note);
                    values.iter().for_each(&mut note);
                }
                Op::Receive(receive) => {
                    received(receive, &mut note);
                    targets(receive, &mut |n| _ = into.insert(n));
                }
                Op::SetPriority(pid, priority) => [pid, priority].into_iter().for_each(&mut note),
                Op::Print(..) | Op::Else | Op::Declare(_) | Op::Jump | Op::Event { .. } => {}
            });
        }
    }
    for (n, variable) in model.globals.iter_mut().enumerate() {
        let number = matches!(variable.ty, Type::Number(_) | Type::Mtype(_));
        let used = read.contains(&n) || into.contains(&n) || names.contains(&variable.name);
        variable.hidden |= number && !used;
    }
}

fn targets(receive: &Receive, visit: &mut dyn FnMut(usize)) {
    for argument in &receive.arguments {
        if let Argument::Into(VarPath { var: VarRef::Global(n), .. }) = argument {
            visit(*n);
        }
    }
}

/// Whether an assignment is `x++` or `x--`: what is read stands where it is written.
fn counts(target: &VarPath, value: &Term) -> bool {
    match &value.kind {
        TermKind::Binary(_, left, _) => {
            matches!(&left.kind, TermKind::Read(place) if place.span == target.span)
        }
        _ => false,
    }
}
