//! Checks that a [`System`] is well formed: everything the rest of hadal relies on without looking.
//!
//! A front end that breaks one of these rules has a bug. `hadal_exec::Model` is made of systems without problems only:
//! interpreter and compiled code rely on every rule without looking.

mod body;

use std::fmt;

use crate::chance::Amount;
use crate::domain::{DomainId, DomainKind};
use crate::shape::{Shape, ShapeId, Shapes};
use crate::source::Span;
use crate::space::PropertyKind;
use crate::system::{Action, Function, Local, LocalKind, Param, ParamValues, PropertyBody, System};

/// Something that is not as it must be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The action, function, property or other part it was found in.
    pub part: String,
    /// Where in the source.
    pub span: Span,
    /// What is wrong.
    pub what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} (at {}..{})", self.part, self.what, self.span.start, self.span.end)
    }
}

/// Every problem of the system; none where it is well formed.
pub fn validate(system: &System) -> Vec<Problem> {
    let mut check = Check {
        system,
        shapes: system.shapes.iter().count(),
        domains: system.domains.iter().count(),
        problems: Vec::new(),
        part: String::new(),
    };
    check.types();
    // Without sound types, nothing below can be looked at safely.
    if check.problems.is_empty() {
        check.variables();
        check.processes();
        for function in &system.functions {
            check.function(function);
        }
        if !system.actions.is_sorted_by_key(|action| action.rank) {
            check.problem(Span::default(), "the ranks of actions must ascend");
        }
        for (kind, actions) in [("start", &system.starts), ("action", &system.actions)] {
            for action in actions {
                check.part = format!("{kind} `{}`", action.name);
                check.action(action);
            }
        }
        check.properties();
        check.rewards();
    }
    check.problems
}

struct Check<'a> {
    system: &'a System,
    /// How many there are.
    shapes: usize,
    domains: usize,
    problems: Vec<Problem>,
    part: String,
}

/// The body being looked at.
struct Code<'a> {
    locals: &'a [Local],
    /// Which references are bound here.
    bound: Vec<bool>,
    /// Inside a function: its result.
    result: Option<Option<DomainId>>,
}

impl<'a> Check<'a> {
    fn problem(&mut self, span: Span, what: impl Into<String>) {
        self.problems.push(Problem { part: self.part.clone(), span, what: what.into() });
    }

    fn types(&mut self) {
        let domains = self.system.domains.iter().count();
        for (id, domain) in self.system.domains.iter() {
            self.part = format!("domain {}", id.0);
            let ordered = domain.intervals.windows(2).all(|w| w[0].1 < w[1].0);
            if domain.intervals.is_empty() || !ordered || domain.intervals.iter().any(|&(lo, hi)| lo > hi) {
                self.problem(Span::default(), "intervals must be disjoint, ascending and not empty");
            }
            match &domain.kind {
                DomainKind::Bool if domain.intervals != [(0, 1)] => {
                    self.problem(Span::default(), "a boolean is 0 or 1")
                }
                DomainKind::Enum(names) if names.len() as u64 != domain.size() => {
                    self.problem(Span::default(), "an enumeration has one name per value")
                }
                DomainKind::Union(members) => {
                    if members.iter().any(|m| m.0 as usize >= domains) {
                        self.problem(Span::default(), "a member of the union does not exist");
                    } else {
                        let covered: u64 = members.iter().map(|m| self.system.domains[*m].size()).sum();
                        let inside = members
                            .iter()
                            .flat_map(|m| &self.system.domains[*m].intervals)
                            .all(|&(lo, hi)| domain.contains(lo) && domain.contains(hi));
                        if covered != domain.size() || !inside {
                            self.problem(Span::default(), "the members of a union cover it exactly");
                        }
                    }
                }
                _ => {}
            }
        }
        for (id, shape) in self.system.shapes.iter() {
            self.part = format!("shape {}", id.0);
            self.shape(id, shape, domains);
        }
    }

    fn shape(&mut self, id: ShapeId, shape: &Shape, domains: usize) {
        let (domain, parts): (Option<DomainId>, Vec<ShapeId>) = match shape {
            Shape::Scalar(domain) => (Some(*domain), Vec::new()),
            Shape::Array { index, element } => (Some(*index), vec![*element]),
            Shape::Multiset { slots, element } => (Some(*slots), vec![*element]),
            Shape::Record(fields) => (None, fields.iter().map(|f| f.shape).collect()),
        };
        if domain.is_some_and(|d| d.0 as usize >= domains) {
            self.problem(Span::default(), "its domain does not exist");
            return;
        }
        if parts.iter().any(|part| part.0 >= id.0) {
            self.problem(Span::default(), "parts must come before what is made of them");
            return;
        }
        let Shape::Multiset { slots, element } = shape else { return };
        if self.system.domains[*slots].min() != 0 || self.system.domains[*slots].intervals.len() != 1 {
            self.problem(Span::default(), "the slots of a multiset are numbered from 0");
        }
        let present_is_flag = match &self.system.shapes[*element] {
            Shape::Record(fields) if fields.len() == 2 => match self.system.shapes.scalar(fields[0].shape) {
                Some(domain) => {
                    let domain = &self.system.domains[domain];
                    domain.kind == DomainKind::Bool && !domain.undefined
                }
                None => false,
            },
            _ => false,
        };
        if !present_is_flag {
            self.problem(
                Span::default(),
                "a multiset's element is a record of `present`, a boolean never undefined, and a value",
            );
        }
    }

    fn variables(&mut self) {
        for variable in &self.system.variables {
            self.part = format!("variable `{}`", variable.name);
            if !self.has_shape(variable.shape) {
                self.problem(variable.span, "its shape does not exist");
            }
            if variable.owner.is_some_and(|p| p.0 as usize >= self.system.processes.len()) {
                self.problem(variable.span, "its owner does not exist");
            }
        }
        let shapes = self.system.variables.iter().map(|variable| variable.shape);
        let slots =
            shapes.filter(|&shape| self.has_shape(shape)).map(|shape| self.system.shapes.slots(shape));
        let slots = slots.fold(0usize, usize::saturating_add);
        if slots > Shapes::MAX_SLOTS {
            self.part = "the state".into();
            let most = Shapes::MAX_SLOTS;
            self.problem(Span::default(), format!("it has {slots} scalars, more than {most}"));
        }
    }

    fn processes(&mut self) {
        for process in &self.system.processes {
            self.part = format!("process `{}`", process.name);
            let Some(variable) = self.system.variables.get(process.location.0 as usize) else {
                self.problem(Span::default(), "its location variable does not exist");
                continue;
            };
            let Some(domain) = self.system.shapes.scalar(variable.shape) else {
                self.problem(variable.span, "its location variable is no scalar");
                continue;
            };
            let domain = &self.system.domains[domain];
            if domain.min() != 0 || domain.size() < process.locations.len() as u64 {
                self.problem(variable.span, "its location variable does not number the locations from 0");
            }
            let exists = |value: i64| usize::try_from(value).is_ok_and(|v| v < process.locations.len());
            for edge in &process.edges {
                if edge.action.0 as usize >= self.system.actions.len() {
                    self.problem(
                        Span::default(),
                        format!("an edge has action {}, which does not exist", edge.action.0),
                    );
                }
                if !exists(edge.from) || !exists(edge.to) {
                    self.problem(
                        Span::default(),
                        format!("edge {} -> {} leaves the locations", edge.from, edge.to),
                    );
                }
            }
        }
    }

    fn properties(&mut self) {
        for property in &self.system.properties {
            self.part = format!("property `{}`", property.name);
            self.locals(&property.locals, property.span);
            self.params(&property.params, &property.locals, property.span);
            match &property.body {
                PropertyBody::State(condition) => {
                    let mut code = Code::new(&property.locals, None);
                    self.expr(&mut code, condition);
                }
                PropertyBody::Statements => {
                    if property.kind != PropertyKind::Cover || !property.params.is_empty() {
                        self.problem(
                            property.span,
                            "only a cover without parameters is counted by statements",
                        );
                    }
                }
                PropertyBody::Claim(claim) => {
                    if let Some(problem) = claim.problem(self.system) {
                        self.problem(property.span, problem);
                    }
                }
            }
        }
    }

    fn action(&mut self, action: &'a Action) {
        self.locals(&action.locals, action.span);
        self.params(&action.params, &action.locals, action.span);
        if action.processes.iter().any(|p| p.0 as usize >= self.system.processes.len()) {
            self.problem(action.span, "a process taking part does not exist");
        }
        if action.then.is_some_and(|p| p.0 as usize >= self.system.processes.len()) {
            self.problem(action.span, "the process that continues alone does not exist");
        }
        let mut code = Code::new(&action.locals, None);
        self.expr(&mut code, &action.guard);
        self.stmts(&mut code, &action.body);
        if let Some(cost) = &action.cost {
            self.expr(&mut Code::new(&action.locals, None), cost);
            if self.system.actions.iter().any(|other| other.then.is_some()) {
                self.problem(cost.span, "it has a cost, and some actions are no steps of their own");
            }
        }
        if let Some(outcomes) = &action.outcomes {
            let numbered = action.params.last().map(|p| p.values.count(&self.system.domains));
            if numbered != Some(outcomes.weights.len() as u64) {
                self.problem(action.span, "its last parameter does not number its outcomes");
            }
            outcomes.weights.iter().for_each(|weight| self.amount(weight));
        }
    }

    fn amount(&mut self, amount: &'a Amount) {
        if let Amount::Ratio { numerator, denominator } = amount {
            for expr in [numerator, denominator] {
                self.expr(&mut Code::new(&[], None), expr);
            }
        }
    }

    fn rewards(&mut self) {
        for item in self.system.quantities.rewards.iter().flat_map(|reward| &reward.items) {
            self.part = "a reward".into();
            let property = self.system.properties.get(item.when);
            if property.is_none_or(|p| p.kind != PropertyKind::Proposition || !p.params.is_empty()) {
                self.problem(item.span, "what it depends on is not a proposition");
            }
            let actions = item.actions.iter().flatten();
            if actions.into_iter().any(|a| a.0 as usize >= self.system.actions.len()) {
                self.problem(item.span, "an action it is earned by does not exist");
            }
            self.amount(&item.amount);
        }
    }

    fn function(&mut self, function: &'a Function) {
        self.part = format!("function `{}`", function.name);
        self.locals(&function.locals, function.span);
        if function.parameters > function.locals.len() {
            self.problem(function.span, "it has more parameters than locals");
            return;
        }
        if function.result.is_some_and(|d| !self.has_domain(d)) {
            self.problem(function.span, "the domain of its result does not exist");
        }
        let mut code = Code::new(&function.locals, Some(function.result));
        for (n, parameter) in function.locals[..function.parameters].iter().enumerate() {
            if parameter.kind == LocalKind::Bound {
                self.problem(function.span, "a parameter is a variable or a reference");
            }
            code.bound[n] = true;
        }
        self.stmts(&mut code, &function.body);
    }

    fn locals(&mut self, locals: &[Local], span: Span) {
        for local in locals {
            if !self.has_shape(local.shape) {
                self.problem(span, format!("the shape of local `{}` does not exist", local.name));
            } else if local.kind == LocalKind::Bound && self.system.shapes.scalar(local.shape).is_none() {
                self.problem(span, format!("bound local `{}` is no scalar", local.name));
            }
        }
    }

    fn params(&mut self, params: &[Param], locals: &[Local], span: Span) {
        for (n, param) in params.iter().enumerate() {
            if locals.get(param.local.0 as usize).is_none_or(|l| l.kind != LocalKind::Bound) {
                self.problem(span, "a parameter's local must be bound");
            }
            if params[..n].iter().any(|p| p.local == param.local) {
                self.problem(span, "two parameters share a local");
            }
            match param.values {
                ParamValues::Domain(id) if !self.has_domain(id) => {
                    self.problem(span, "a parameter's domain does not exist")
                }
                ParamValues::Steps { by: 0, .. } => self.problem(span, "a parameter's step is 0"),
                _ => {}
            }
        }
    }

    fn has_shape(&self, shape: ShapeId) -> bool {
        (shape.0 as usize) < self.shapes
    }

    fn has_domain(&self, domain: DomainId) -> bool {
        (domain.0 as usize) < self.domains
    }
}

impl<'a> Code<'a> {
    fn new(locals: &'a [Local], result: Option<Option<DomainId>>) -> Self {
        Code { locals, bound: vec![false; locals.len()], result }
    }
}

#[cfg(test)]
mod tests;
