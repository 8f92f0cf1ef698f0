//! Fewer steps: statements that nobody else can see are carried out together with the one before them, and variables whose
//! values are not needed any more are set to 0. Both as SPIN does it where it is not told otherwise (Holzmann 1999, "The
//! Engineering of a Model Checker: the Gnu i-Protocol Case Study Revisited").

mod dead;
mod flow;
mod unread;
mod visible;

use super::model::{Atomic, ElementId, ElementKind, Initial, Model, Op, Process, Term, TermKind, Variable};
use std::collections::HashSet;
use std::rc::Rc;
use visible::Visible;

/// What belongs to an element beside its own statement.
#[derive(Clone, Debug, Default)]
pub struct Merged {
    /// The elements that are carried out after it, in the same step.
    pub with: Vec<ElementId>,
    /// Where control stands afterwards, and whether the process goes on alone.
    pub ends: Option<(ElementId, bool)>,
    /// The local variables that are set to 0 behind its statement.
    pub dead: Vec<usize>,
}

/// Merges the statements of every process. `asked` is looked at from outside, and globals of these names are.
pub fn merge(model: &mut Model, asked: &[Term], names: &HashSet<Rc<str>>) {
    unread::hide_unread(model, asked, names);
    if looks_into_processes(model, asked) {
        return;
    }
    let provided = model.processes.iter().any(|process| process.provided.is_some());
    let merged: Vec<Vec<Merged>> = model
        .processes
        .iter()
        .map(|process| {
            let mut merged = vec![Merged::default(); process.elements.len()];
            if !provided {
                Merging::new(model, process).finish(&mut merged);
            }
            for (element, variables) in dead::dead(process) {
                merged[element].dead = variables;
            }
            merged
        })
        .collect();
    for (process, merged) in model.processes.iter_mut().zip(merged) {
        process.merged = merged;
    }
}

/// Whether a local variable is read from outside: then everything stays as it is written.
fn looks_into_processes(model: &Model, asked: &[Term]) -> bool {
    let mut found = false;
    let mut look = |term: &Term| found |= matches!(term.kind, TermKind::Remote { .. });
    asked.iter().for_each(|term| super::lower::slots::inner(term, &mut look));
    for process in model.processes.iter().chain(&model.claims) {
        process.provided.iter().for_each(|term| super::lower::slots::inner(term, &mut look));
        for element in &process.elements {
            super::lower::slots::terms(element, &mut look);
        }
    }
    found
}

/// Whether some channel is for rendezvous.
fn has_rendezvous(model: &Model) -> bool {
    let waits = |it: &Variable| matches!(it.initial, Initial::Channel { capacity: 0, .. });
    let locals = model.processes.iter().flat_map(|process| &process.variables);
    let fields = model.records.iter().flat_map(|record| &record.fields);
    model.globals.iter().chain(locals).chain(fields).any(waits)
}

struct Merging<'m> {
    process: &'m Process,
    visible: Visible<'m>,
    rendezvous: bool,
    /// Where the chain ends that an element is part of, or would begin alone.
    chain: Vec<Option<ElementId>>,
    single: Vec<Option<ElementId>>,
}

impl<'m> Merging<'m> {
    fn new(model: &'m Model, process: &'m Process) -> Self {
        let none = vec![None; process.elements.len()];
        let visible = Visible { model, process };
        Merging { process, visible, rendezvous: has_rendezvous(model), chain: none.clone(), single: none }
    }

    /// Where control goes behind an element that is a step of its own.
    fn after(&self, element: ElementId) -> ElementId {
        self.process.after(element)
    }

    fn is_labelled(&self, element: ElementId) -> bool {
        self.process.labels.iter().any(|label| label.element == element)
    }

    /// Whether an element's statement can follow another in the same step: it never waits, has no alternative, and
    /// nobody sees it, or it is inside an atomic sequence.
    fn follows(&self, element: ElementId) -> bool {
        let this = &self.process.elements[element];
        let never_waits = matches!(
            &this.kind,
            ElementKind::Op(Op::Assign(..) | Op::Declare(_) | Op::Print(..) | Op::Assert(_))
                | ElementKind::Goto(_)
                | ElementKind::Join(_)
        );
        never_waits && this.escapes.is_empty() && !self.is_labelled(element) && self.unseen(element)
    }

    fn unseen(&self, element: ElementId) -> bool {
        let this = &self.process.elements[element];
        let shows = matches!(&this.kind, ElementKind::Op(op) if self.visible.op(op));
        this.atomic != Atomic::Outside || !shows
    }

    /// Whether statements may follow a statement that waits.
    fn leads(&self, element: ElementId) -> bool {
        let this = &self.process.elements[element];
        let waits = match &this.kind {
            ElementKind::Op(Op::Condition(term)) => !term.starts(),
            ElementKind::Op(Op::Receive(_)) => true,
            ElementKind::Op(Op::Send { .. }) => !self.rendezvous,
            _ => false,
        };
        let watched = self.process.labels.iter().any(|label| label.element == element && label.watched);
        waits && this.escapes.is_empty() && !watched && self.unseen(element)
    }

    fn finish(mut self, merged: &mut [Merged]) {
        for element in 0..self.process.elements.len() {
            if self.chain[element].is_some() || !self.follows(element) {
                continue;
            }
            match self.follows(self.after(element)) {
                true => self.build(element),
                false => self.single[element] = Some(self.after(element)),
            }
        }
        for (element, merged) in merged.iter_mut().enumerate() {
            let mut end = self.chain[element];
            if end.is_none() && self.leads(element) {
                let next = self.after(element);
                end = self.chain[next].or(self.single[next]);
            }
            if let Some(end) = end {
                let with = self.until(element, end);
                let last = *with.last().unwrap_or(&element);
                let alone = self.process.elements[last].atomic == Atomic::Inside;
                *merged = Merged { with, ends: Some((end, alone)), dead: Vec::new() };
            }
        }
    }

    /// Follows a chain to its end, and notes the end for all its elements.
    fn build(&mut self, first: ElementId) {
        let mut path = vec![first];
        let end = loop {
            let next = self.after(path[path.len() - 1]);
            if let Some(end) = self.chain[next] {
                break end;
            }
            if !self.follows(next) || path.contains(&next) {
                break next;
            }
            path.push(next);
        };
        for element in path {
            self.chain[element] = Some(end);
        }
    }

    /// The elements that are carried out behind `element` until control stands at `end`.
    fn until(&self, element: ElementId, end: ElementId) -> Vec<ElementId> {
        let mut with = Vec::new();
        let mut at = element;
        loop {
            at = match self.process.elements[at].kind {
                ElementKind::Goto(to) => self.process.arrive_before(to, at, end),
                ElementKind::Join(to) => to,
                _ => self.process.elements[at].next,
            };
            let goes_on = self.chain[at].is_some() || self.single[at].is_some();
            if at == end || !goes_on || with.len() > self.process.elements.len() {
                return with;
            }
            with.push(at);
        }
    }
}
