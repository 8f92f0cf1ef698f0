//! `trace` and `notrace`: a location that every message on the channels they speak of moves.
//!
//! A channel is spoken of for the direction (send or receive) that stands in the text. A message that fits no event where
//! the trace is, is an error; with `notrace` it ends the matter, and the error is that all events were met.

use super::super::model::{Argument, ElementId, ElementKind, Op};
use super::term::{and, equal, or};
use super::{Env, Lowering, Timeout};
use hadal_system::{Domain, Expr, Role, Shape, Span, Stmt, StmtKind, VarId, Variable};
use std::collections::HashMap;

/// A trace that the messages follow.
pub(super) struct Followed {
    location: VarId,
    states: Vec<ElementId>,
    values: HashMap<ElementId, i64>,
}

impl Lowering<'_> {
    pub(super) fn declare_trace(&mut self) {
        let Some(trace) = &self.model.trace else { return };
        let mut states = trace.process.states();
        if !states.contains(&0) {
            states.push(0);
        }
        let values = states.iter().enumerate().map(|(n, &state)| (state, n as i64)).collect();
        let domain = self.domains.add(Domain::range(0, states.len() as i64 - 1, false));
        let shape = self.shape(Shape::Scalar(domain), trace.process.span);
        let (name, span) = (trace.process.name.to_string(), trace.process.span);
        let location = Variable { name, shape, role: Role::Monitor, owner: None, span };
        let location = self.add_variable(location);
        self.trace = Some(Followed { location, states, values });
    }

    pub(super) fn begin_trace(&mut self) -> Option<Stmt> {
        let trace = self.model.trace.as_ref()?;
        Some(self.trace_goes_to(trace.process.resolve(trace.process.entry), trace.process.span))
    }

    fn trace_goes_to(&self, state: ElementId, span: Span) -> Stmt {
        let Some(followed) = &self.trace else { return Stmt::new(StmtKind::Print(Vec::new()), span) };
        let value = followed.values.get(&state).copied().unwrap_or(0);
        Stmt::new(StmtKind::Assign(self.whole(followed.location, span), Expr::constant(value)), span)
    }

    fn trace_is_at(&self, state: ElementId) -> Expr {
        let Some(followed) = &self.trace else { return Expr::constant(0) };
        let value = followed.values.get(&state).copied().unwrap_or(0);
        equal(self.whole(followed.location, Span::default()).read(), Expr::constant(value))
    }

    /// The system may rest for ever only where the trace is at its end, or at an end label.
    pub(super) fn trace_may_end(&self) -> Option<Expr> {
        let trace = &self.model.trace.as_ref()?.process;
        let ends = |state: ElementId| {
            let here = |label: &&super::super::model::Label| trace.resolve(label.element) == state;
            state == 0 || trace.labels.iter().filter(here).any(|label| label.name.starts_with("end"))
        };
        // Where nobody lives any more SPIN does not ask.
        let nobody = equal(self.whole(self.count, Span::default()).read(), Expr::constant(0));
        let states = self.trace.as_ref()?.states.clone();
        Some(
            states
                .into_iter()
                .filter(|&state| ends(state))
                .fold(nobody, |any, state| or(any, self.trace_is_at(state))),
        )
    }

    /// What a message does to the trace.
    pub(super) fn event(&mut self, queue: usize, is_sent: bool, values: &[Expr], span: Span) -> Vec<Stmt> {
        let model = self.model;
        let Some(trace) = &model.trace else { return Vec::new() };
        let process = &trace.process;
        let env = Env::outside(Timeout::No);
        let speaks = |lowering: &mut Self, element: ElementId| match &process.elements[element].kind {
            ElementKind::Op(Op::Event { channel, sent, .. }) if *sent == is_sent => {
                lowering.queues_of(channel, None, env).iter().any(|(_, it)| *it == queue)
            }
            _ => false,
        };
        if !(0..process.elements.len()).any(|element| speaks(self, element)) {
            return Vec::new();
        }
        let mut branches = Vec::new();
        let states = self.trace.as_ref().map(|followed| followed.states.clone()).unwrap_or_default();
        for state in states {
            let mut met = Expr::constant(0);
            for edge in process.exits(state).own {
                if !speaks(self, edge.element) {
                    continue;
                }
                let Some(Op::Event { arguments, .. }) = process.op(edge.element) else { continue };
                let mut fits = self.trace_is_at(state);
                for (argument, value) in arguments.iter().zip(values) {
                    if let Argument::Match(wanted) = argument {
                        let wanted = self.value(wanted, env);
                        fits = and(fits, equal(value.clone(), wanted));
                    }
                }
                let both = and(met.clone(), fits.clone());
                if both.as_const() != Some(0) {
                    let unclear = "two events of the trace fit this message";
                    branches.insert(0, (both, vec![Stmt::new(StmtKind::Fail(unclear.into()), span)]));
                }
                met = or(met, fits.clone());
                let body = match trace.negated && edge.to == 0 {
                    true => {
                        vec![Stmt::new(StmtKind::Fail("all events of the notrace were met".into()), span)]
                    }
                    false => vec![self.trace_goes_to(edge.to, span)],
                };
                branches.push((fits, body));
            }
        }
        let otherwise = match trace.negated {
            true => self.trace_goes_to(0, span),
            false => Stmt::new(StmtKind::Fail("no event of the trace fits this message".into()), span),
        };
        vec![Stmt::new(StmtKind::If { branches, otherwise: vec![otherwise] }, span)]
    }
}
