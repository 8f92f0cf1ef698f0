//! Checked model to [`System`].
//!
//! What the waist does not have is spelt out here: functions that return arrays or records become procedures with a
//! reference to write to, `multisetcount` and calls with aggregate results inside expressions become small functions
//! of their own, aliases around rules are put in place in guards and bound at the start of bodies, `choose` is a
//! parameter over the positions of a multiset, CMurphi's rule priorities are conjuncts of guards.

mod call;
mod equality;
mod expr;
mod frame;
mod multiset;
mod priority;
mod rule;
mod shape;
mod stmt;

use super::hir::{Model, SymbolId};
use super::types::TypeId;
use crate::{Diagnostic, Diagnostics};
use frame::Frame;
use hadal_system::{
    Action, DomainId, Domains, Function, FunctionId, Property, Role, ShapeId, Shapes, Source, Span, System,
    VarId, Variable,
};
use std::collections::HashMap;

/// How often aliases around a rule may be put in place in it.
const MAX_EXPANSIONS: usize = 10_000;

/// How many expressions that appear twice in what they become may stand in each other.
const MAX_DOUBLED: usize = 6;

/// Builds the system of a checked model without errors.
pub fn lower(model: &Model, source: &Source, diagnostics: &mut Diagnostics) -> System {
    let mut lowering = Lowering {
        model,
        source,
        domains: Domains::default(),
        shapes: Shapes::default(),
        domain_of: HashMap::new(),
        shape_of: HashMap::new(),
        variables: Vec::new(),
        variable_of: HashMap::new(),
        functions: model.functions.iter().map(|_| None).collect(),
        adders: HashMap::new(),
        starts: Vec::new(),
        actions: Vec::new(),
        properties: Vec::new(),
        frames: Vec::new(),
        expansions: 0,
        doubled: 0,
        diagnostics,
    };
    lowering.run();
    lowering.finish()
}

struct Lowering<'a> {
    model: &'a Model,
    source: &'a Source,
    domains: Domains,
    shapes: Shapes,
    domain_of: HashMap<TypeId, DomainId>,
    shape_of: HashMap<TypeId, ShapeId>,
    variables: Vec<Variable>,
    variable_of: HashMap<SymbolId, VarId>,
    /// The model's functions keep their numbers; what is made here follows. `None` until lowered.
    functions: Vec<Option<Function>>,
    /// The function that adds to multisets of a type.
    adders: HashMap<TypeId, FunctionId>,
    starts: Vec<Action>,
    actions: Vec<Action>,
    properties: Vec<Property>,
    /// The body being lowered, innermost last.
    frames: Vec<Frame>,
    /// How often an alias was put in place in the present rule.
    expansions: usize,
    /// How many expressions around the present one appear twice in what they become.
    doubled: usize,
    diagnostics: &'a mut Diagnostics,
}

impl Lowering<'_> {
    fn run(&mut self) {
        for &symbol in &self.model.variables {
            let declared = &self.model.symbols[symbol.0 as usize];
            let shape = self.shape(declared.ty);
            self.variable_of.insert(symbol, VarId(self.variables.len() as u32));
            self.variables.push(Variable {
                name: declared.name.to_string(),
                shape,
                role: Role::Data,
                owner: None,
                span: declared.span,
            });
        }
        for (index, function) in self.model.functions.iter().enumerate() {
            let lowered = self.function(function);
            self.functions[index] = Some(lowered);
        }
        self.rules();
    }

    fn finish(self) -> System {
        let name = self.source.name.rsplit('/').next().unwrap_or("");
        System {
            name: name.strip_suffix(".m").unwrap_or(name).to_owned(),
            source: self.source.clone(),
            domains: self.domains,
            shapes: self.shapes,
            variables: self.variables,
            // Every function is filled in by `run` or when it is made.
            functions: self.functions.into_iter().flatten().collect(),
            starts: self.starts,
            actions: self.actions,
            properties: self.properties,
            ..System::default()
        }
    }

    fn error(&mut self, span: Span, message: impl Into<String>, label: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(span, message).label(label));
    }

    /// Whether an alias may be put in place once more. Aliases of aliases can double with each step.
    fn may_expand(&mut self, span: Span) -> bool {
        self.expansions += 1;
        if self.expansions == MAX_EXPANSIONS {
            self.error(span, "the aliases around this rule stand for too much", "expected simpler aliases");
        }
        self.expansions < MAX_EXPANSIONS
    }

    /// Lowers something that will appear twice; `None`, reported, where too many such stand in each other.
    fn doubling<T>(&mut self, span: Span, lower: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.doubled >= MAX_DOUBLED {
            self.error(
                span,
                "too many values that may be undefined are compared inside each other",
                "expected fewer",
            );
            return None;
        }
        self.doubled += 1;
        let lowered = lower(self);
        self.doubled -= 1;
        Some(lowered)
    }

    /// The text under a span on one line, for messages.
    fn shown(&self, span: Span) -> String {
        self.source.slice(span).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn line(&self, span: Span) -> usize {
        self.source.locate(span).line
    }
}
