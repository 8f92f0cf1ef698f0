//! Hidden variables that nothing depends on: they are written, printed, or passed on to others like them. As in SPIN they are
//! no part of the state. A hidden variable that a step depends on stays in the state, else answers would be wrong.

use super::super::model::{Model, Op, Term, TermKind, Type, VarRef};
use super::slots::{indices, inner, ops, received};
use std::collections::HashSet;
use std::rc::Rc;

/// The names of such variables. `asked` is looked at from outside.
pub(super) fn unseen(model: &Model, asked: &[Term]) -> HashSet<Rc<str>> {
    let mut unseen: HashSet<usize> = (0..model.globals.len())
        .filter(|&n| model.globals[n].hidden && model.globals[n].ty != Type::Chan)
        .collect();
    loop {
        let before = unseen.len();
        let mut seen = HashSet::new();
        let mut note = |term: &Term| reads(term, &mut |n| _ = seen.insert(n));
        asked.iter().for_each(&mut note);
        for process in model.processes.iter().chain(&model.claims) {
            process.provided.iter().for_each(&mut note);
            for element in &process.elements {
                ops(element, &mut |op| match op {
                    Op::Assign(target, value) => {
                        indices(target, &mut note);
                        let drops = matches!(target.var, VarRef::Global(n) if unseen.contains(&n));
                        if !drops || value.starts() {
                            note(value);
                        }
                    }
                    Op::Condition(term) | Op::Assert(term) => note(term),
                    Op::Print(..) | Op::Else | Op::Declare(_) | Op::Jump | Op::Event { .. } => {}
                    Op::Send { channel, values, .. } => {
                        indices(channel, &mut note);
                        values.iter().for_each(&mut note);
                    }
                    Op::Receive(receive) => received(receive, &mut note),
                    Op::SetPriority(pid, priority) => [pid, priority].into_iter().for_each(&mut note),
                });
            }
        }
        unseen.retain(|n| !seen.contains(n));
        if unseen.len() == before {
            return unseen.into_iter().map(|n| model.globals[n].name.clone()).collect();
        }
    }
}

/// Every global variable that a term reads.
fn reads(term: &Term, visit: &mut dyn FnMut(usize)) {
    inner(term, &mut |it| {
        let target = match &it.kind {
            TermKind::Read(target) => target,
            TermKind::Channel(_, target) => target,
            TermKind::Poll(receive) => &receive.channel,
            _ => return,
        };
        if let VarRef::Global(n) = target.var {
            visit(n);
        }
    });
}
