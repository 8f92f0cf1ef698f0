//! Processes: templates with values for their parameters, edges with values for their selections, channels with partners.

use super::ast::{Declared, Document, Edge as WrittenEdge, Template, Term, TermKind};
use super::lower::{Code, Lowering, MAX_VALUES};
use super::reference::Reference;
use super::types::{Constant, Meaning, Ty};
use crate::diagnostic::Diagnostic;
use crate::ta::declare::declare_locations;
use crate::ta::network::{Automaton, Edge, Effect, Joint, Member, Place as Location};
use hadal_system::timed::{ClockRef, Moment, Reset};
use hadal_system::{BinaryOp, Expr, Span};
use std::collections::HashMap;
use std::rc::Rc;

/// The most joint steps of a model.
const MAX_STEPS: usize = 200_000;

/// A template with meanings for its parameters.
struct Filled<'d> {
    template: &'d Template,
    scope: usize,
}

impl Lowering<'_> {
    /// Makes all processes of the system line; `None` where that is refused.
    pub(super) fn instantiate(&mut self, document: &Document) -> Option<()> {
        let mut filled: Vec<Filled> = Vec::new();
        for (name, span) in &document.system {
            let before = filled.len();
            if let Some(instance) = document.instances.iter().find(|instance| instance.name == *name) {
                let Some(template) = document.templates.iter().find(|it| it.name == instance.template) else {
                    self.error(instance.span, format!("there is no template `{}`", instance.template));
                    return None;
                };
                let scope = self.scope(0);
                self.arguments(template, &instance.arguments, scope, instance.span)?;
                filled.push(Filled { template, scope });
                self.bind(0, name, Meaning::Process(before));
                self.add_process(name.clone(), template, scope);
            } else if let Some(template) = document.templates.iter().find(|it| it.name == *name) {
                self.family(template, &mut filled)?;
            } else {
                self.error(*span, format!("there is no process or template `{name}`"));
                return None;
            }
        }
        declare_locations(&mut self.system, &self.automata);
        for (process, filled) in filled.iter().enumerate() {
            let prefix = format!("{}.", self.automata[process].name);
            self.declarations(&filled.template.declarations, filled.scope, &prefix);
        }
        for (process, filled) in filled.iter().enumerate() {
            self.locations(process, filled);
            for edge in &filled.template.edges {
                self.edge(process, filled, edge);
            }
        }
        Some(())
    }

    fn arguments(&mut self, template: &Template, terms: &[Term], scope: usize, span: Span) -> Option<()> {
        if template.parameters.len() != terms.len() {
            self.error(span, format!("`{}` has {} parameters", template.name, template.parameters.len()));
            return None;
        }
        for (parameter, term) in template.parameters.iter().zip(terms) {
            let ty = self.declared_ty(scope, parameter)?;
            let mut code = Code { scope: 0, ..Code::default() };
            let meaning = match (parameter.reference, ty) {
                (false, ty @ (Ty::Int(..) | Ty::Bool)) => {
                    Meaning::Constant(Constant::Int(self.number(0, term)?), ty)
                }
                (_, ty) => match self.reference(&mut code, term)? {
                    Reference::Place(place, _) => Meaning::Place(place, ty),
                    Reference::Clock { first, among: None, ty } => Meaning::Clock(first, ty),
                    Reference::Channel { first, open, ty } if open.is_empty() => Meaning::Channel(first, ty),
                    Reference::Constants(all, ty) if all.len() == 1 => {
                        Meaning::Constant(all[0].1.clone(), ty)
                    }
                    _ => {
                        self.error(term.span, "this cannot be given to a template");
                        return None;
                    }
                },
            };
            self.bind(scope, &parameter.name, meaning);
        }
        Some(())
    }

    /// One process for every value of the template's parameters.
    fn family<'d>(&mut self, template: &'d Template, filled: &mut Vec<Filled<'d>>) -> Option<()> {
        let mut ways: Vec<Vec<i64>> = vec![Vec::new()];
        for parameter in &template.parameters {
            let (low, high) = self.range_of_parameter(parameter)?;
            if (ways.len() as i64).saturating_mul(high.saturating_sub(low).saturating_add(1)) > MAX_VALUES {
                self.error(parameter.span, format!("more than {MAX_VALUES} processes"));
                return None;
            }
            ways = ways
                .iter()
                .flat_map(|way| (low..=high).map(move |value| way.iter().copied().chain([value]).collect()))
                .collect();
        }
        let mut family = HashMap::new();
        for way in ways {
            let scope = self.scope(0);
            for (parameter, &value) in template.parameters.iter().zip(&way) {
                let (low, high) = self.range_of_parameter(parameter)?;
                let meaning = Meaning::Constant(Constant::Int(value), Ty::Int(low, high));
                self.bind(scope, &parameter.name, meaning);
            }
            let values: Vec<String> = way.iter().map(i64::to_string).collect();
            let name = match way.is_empty() {
                true => template.name.clone(),
                false => format!("{}({})", template.name, values.join(",")),
            };
            family.insert(way, filled.len());
            filled.push(Filled { template, scope });
            self.add_process(name, template, scope);
        }
        let meaning = match template.parameters.is_empty() {
            true => Meaning::Process(filled.len() - 1),
            false => Meaning::Family(Rc::new(family)),
        };
        self.bind(0, &template.name, meaning);
        Some(())
    }

    fn range_of_parameter(&mut self, parameter: &Declared) -> Option<(i64, i64)> {
        let ty = self.declared_ty(0, parameter)?;
        match ty {
            Ty::Int(low, high) if ty != Ty::INT && !parameter.reference => Some((low, high)),
            Ty::Bool if !parameter.reference => Some((0, 1)),
            _ => {
                self.findings.push(
                    Diagnostic::error(parameter.span, "this parameter needs a value, or a range of values")
                        .help("instantiate the template: `P = T(1);`"),
                );
                None
            }
        }
    }

    fn add_process(&mut self, name: String, template: &Template, scope: usize) {
        let locations = template.locations.iter().map(|location| Location {
            name: location.name.clone(),
            committed: location.committed,
            urgent: location.urgent,
            span: location.span,
            ..Location::default()
        });
        let initial = template
            .locations
            .iter()
            .position(|location| template.initial.as_deref() == Some(location.id.as_str()));
        if initial.is_none() {
            self.error(template.span, format!("template `{}` has no initial location", template.name));
        }
        self.automata.push(Automaton {
            name,
            locations: locations.collect(),
            initial: vec![initial.unwrap_or(0)],
            edges: Vec::new(),
            span: template.span,
        });
        self.process_scopes.push(scope);
        self.syncs.push(Vec::new());
    }

    fn locations(&mut self, process: usize, filled: &Filled) {
        for (n, location) in filled.template.locations.iter().enumerate() {
            let Some(invariant) = &location.invariant else { continue };
            let mut code = Code { scope: filled.scope, ..Code::default() };
            let parts = self.parts(&mut code, invariant);
            let place = &mut self.automata[process].locations[n];
            place.condition = parts.condition();
            place.invariant = parts.bounds;
            place.rate = parts.rate;
        }
    }

    /// One edge for every value of the selections and of indices of its channel.
    fn edge(&mut self, process: usize, filled: &Filled, written: &WrittenEdge) -> Option<()> {
        let find = |id: &str| filled.template.locations.iter().position(|location| location.id == id);
        let (Some(from), Some(to)) = (find(&written.from), find(&written.to)) else {
            self.error(written.span, "this edge does not lead from location to location");
            return None;
        };
        let mut ways: Vec<Vec<(usize, i64)>> = vec![Vec::new()];
        let mut ranges = Vec::new();
        for (n, (_, ty)) in written.select.iter().enumerate() {
            let (low, high) = self.values(filled.scope, ty)?;
            ranges.push((low, high));
            if (ways.len() as i64).saturating_mul(high - low + 1) > MAX_VALUES {
                self.error(written.span, format!("more than {MAX_VALUES} ways to select"));
                return None;
            }
            ways = ways
                .iter()
                .flat_map(|way| {
                    (low..=high).map(move |value| way.iter().copied().chain([(n, value)]).collect())
                })
                .collect();
        }
        for way in ways {
            let scope = self.scope(filled.scope);
            for (n, value) in way {
                let (low, high) = ranges[n];
                let meaning = Meaning::Constant(Constant::Int(value), Ty::Int(low, high));
                self.bind(scope, &written.select[n].0, meaning);
            }
            self.edge_in(process, scope, (from, to), written)?;
        }
        Some(())
    }

    fn edge_in(
        &mut self,
        process: usize,
        scope: usize,
        (from, to): (usize, usize),
        written: &WrittenEdge,
    ) -> Option<()> {
        let mut edge = Edge { from, to, span: written.span, ..Edge::default() };
        let mut conditions = Vec::new();
        if let Some(guard) = &written.guard {
            let mut code = Code { scope, ..Code::default() };
            let parts = self.parts(&mut code, guard);
            edge.span = guard.span;
            edge.bounds = parts.bounds;
            conditions = parts.conditions;
            if conditions.iter().any(|condition| condition.as_const() == Some(0)) {
                return Some(());
            }
            conditions.retain(|condition| condition.as_const().is_none());
        }
        let mut code = Code { scope, writes: true, ..Code::default() };
        for term in &written.update {
            self.update(&mut code, term, &mut edge);
        }
        edge.locals = code.locals;
        let Some((channel, sends)) = &written.sync else {
            self.push_edge(process, edge, conditions, None);
            return Some(());
        };
        let mut code = Code { scope, ..Code::default() };
        let Reference::Channel { first, open, ty: Ty::Channel { .. } } =
            self.reference(&mut code, channel)?
        else {
            self.error(channel.span, "expected a channel");
            return None;
        };
        let mut ways: Vec<(u32, Vec<Expr>)> = vec![(first, conditions)];
        for (value, low, high, stride) in open {
            if (ways.len() as i64).saturating_mul(high - low + 1) > MAX_VALUES {
                self.error(channel.span, "the channel may be any of too many");
                return None;
            }
            let mut next = Vec::new();
            for (channel, conditions) in &ways {
                for n in low..=high {
                    let mut conditions = conditions.clone();
                    conditions.push(Expr::binary(BinaryOp::Equal, value.clone(), Expr::constant(n)));
                    next.push((channel + ((n - low) * stride) as u32, conditions));
                }
            }
            ways = next;
        }
        for (channel, conditions) in ways {
            self.push_edge(process, edge.clone(), conditions, Some((channel, *sends)));
        }
        Some(())
    }

    fn push_edge(
        &mut self,
        process: usize,
        mut edge: Edge,
        conditions: Vec<Expr>,
        sync: Option<(u32, bool)>,
    ) {
        edge.guard = (!conditions.is_empty()).then(|| Expr::all(conditions));
        if let Some((channel, _)) = sync
            && self.channels[channel as usize].urgent
            && !edge.bounds.is_empty()
        {
            let name = self.channels[channel as usize].name.clone();
            self.error(edge.span, format!("a clock guard on the urgent channel `{name}`"));
        }
        self.automata[process].edges.push(edge);
        self.syncs[process].push(sync);
    }

    /// What an edge does: resets of clocks and costs are kept apart.
    fn update(&mut self, code: &mut Code, term: &Term, edge: &mut Edge) {
        if let TermKind::Assign(op, left, right) = &term.kind {
            if matches!(&left.kind, TermKind::Name(name) if name == "cost" && self.lookup(code.scope, "cost").is_none())
            {
                let mut price = Code { scope: code.scope, ..Code::default() };
                let value = self.value(&mut price, right);
                match op {
                    Some(BinaryOp::Add) => edge.price = value,
                    _ => self.error(term.span, "costs only grow: `cost += ...`"),
                }
                return;
            }
            if self.mentions_clock(code.scope, left) {
                if let Some(reset) = self.reset(code, (left, right), op.is_some(), term.span) {
                    edge.effects.push(Effect::Reset(reset));
                }
                return;
            }
        }
        if let TermKind::Call(of, _) = &term.kind
            && let TermKind::Name(name) = &of.kind
            && let Some(Meaning::Function(function, scope)) = self.lookup(code.scope, name).cloned()
            && self.resets_clocks(scope, &function.body)
        {
            return self.error(term.span, format!("`{name}` resets clocks: resets stand on edges only"));
        }
        self.statement(code, term);
        edge.effects.extend(code.out.drain(..).map(Effect::Stmt));
    }

    fn reset(
        &mut self,
        code: &mut Code,
        (left, right): (&Term, &Term),
        stepped: bool,
        span: Span,
    ) -> Option<Reset> {
        if stepped {
            self.error(span, "a clock is set, not changed");
            return None;
        }
        let mut aside = Code { scope: code.scope, ..Code::default() };
        let clock = self.clock_of(&mut aside, left)?;
        let (from, value) = match self.mentions_clock(code.scope, right) {
            true => (self.clock_of(&mut aside, right)?, Expr::constant(0)),
            false => (ClockRef::Zero, self.value(&mut aside, right)?),
        };
        Some(Reset { when: None, clock, from, value, moment: Moment::Before })
    }

    fn resets_clocks(&self, scope: usize, command: &super::ast::Command) -> bool {
        use super::ast::CommandKind::*;
        let term = |term: &super::ast::Term| self.term_resets_clocks(scope, term);
        match &command.kind {
            Empty => false,
            Term(it) | Return(Some(it)) => term(it),
            Return(None) => false,
            Block(_, all) => all.iter().any(|it| self.resets_clocks(scope, it)),
            If(condition, yes, no) => {
                term(condition)
                    || self.resets_clocks(scope, yes)
                    || no.as_ref().is_some_and(|no| self.resets_clocks(scope, no))
            }
            While(condition, body) | Do(body, condition) => {
                term(condition) || self.resets_clocks(scope, body)
            }
            For(first, condition, step, body) => {
                [first, condition, step].into_iter().flatten().any(term) || self.resets_clocks(scope, body)
            }
            Each(_, _, body) => self.resets_clocks(scope, body),
        }
    }

    fn term_resets_clocks(&self, scope: usize, term: &Term) -> bool {
        match &term.kind {
            TermKind::Assign(_, left, right) => {
                self.mentions_clock(scope, left) || self.term_resets_clocks(scope, right)
            }
            TermKind::Call(of, _) => match &of.kind {
                TermKind::Name(name) => match self.lookup(scope, name) {
                    Some(Meaning::Function(function, inner)) => self.resets_clocks(*inner, &function.body),
                    _ => false,
                },
                _ => false,
            },
            _ => false,
        }
    }

    /// Edges alone, pairs on channels, and senders with their listeners.
    pub(super) fn joints(&mut self) -> Vec<Joint> {
        let mut joints = Vec::new();
        let mut senders: Vec<Vec<Member>> = vec![Vec::new(); self.channels.len()];
        let mut receivers: Vec<Vec<Member>> = vec![Vec::new(); self.channels.len()];
        for process in 0..self.automata.len() {
            for (edge, sync) in self.syncs[process].iter().enumerate() {
                let member = Member { process, edge };
                match sync {
                    None => joints.push(Joint { members: vec![member], ..Joint::default() }),
                    Some((channel, true)) => senders[*channel as usize].push(member),
                    Some((channel, false)) => receivers[*channel as usize].push(member),
                }
            }
        }
        for (n, channel) in self.channels.clone().into_iter().enumerate() {
            for &sender in &senders[n] {
                let others: Vec<Member> =
                    receivers[n].iter().copied().filter(|it| it.process != sender.process).collect();
                let joint = |members| Joint {
                    members,
                    urgent: channel.urgent,
                    name: channel.name.clone(),
                    ..Joint::default()
                };
                if channel.broadcast {
                    let mut listeners: Vec<Vec<Member>> = Vec::new();
                    for member in others {
                        let edge = &self.automata[member.process].edges[member.edge];
                        if !edge.bounds.is_empty() {
                            let message = "a clock guard on the receiver of a broadcast is not supported";
                            self.findings.push(Diagnostic::error(edge.span, message));
                        }
                        match listeners.last_mut() {
                            Some(list) if list[0].process == member.process => list.push(member),
                            _ => listeners.push(vec![member]),
                        }
                    }
                    joints.push(Joint { listeners, ..joint(vec![sender]) });
                } else {
                    joints.extend(others.into_iter().map(|receiver| joint(vec![sender, receiver])));
                }
                if joints.len() > MAX_STEPS {
                    let span = self.automata[sender.process].span;
                    self.error(span, format!("more than {MAX_STEPS} joint steps"));
                    return Vec::new();
                }
            }
        }
        joints
    }
}
