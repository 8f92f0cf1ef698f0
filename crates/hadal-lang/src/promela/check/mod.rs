//! [`Tree`] to [`Model`]: names, types and control graphs.

mod expression;
mod flow;
mod names;
mod step;
mod watcher;

use super::ast::{self, Tree};
use super::model::{
    Active, Exclusive, Initial, Model, Process, Record, Term, TermKind, Type, Variable, Width,
};
use super::parse::PLAIN_MTYPE;
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;
use names::Scopes;
use std::collections::HashSet;
use std::rc::Rc;

/// The longest array.
const MAX_LENGTH: i64 = 1 << 16;
/// The most messages a channel holds.
const MAX_CAPACITY: i64 = 255;

/// Resolves a tree. What is wrong goes to `findings`.
pub fn check(tree: &Tree, findings: &mut Diagnostics) -> Model {
    let mut checker = Checker {
        tree,
        model: Model::default(),
        sets: Vec::new(),
        findings,
        scopes: Scopes::default(),
        in_trace: false,
        jumped_to: HashSet::new(),
    };
    checker.message_types();
    checker.records();
    for variable in &tree.globals {
        let variable = checker.variable(variable);
        checker.model.globals.push(variable);
    }
    for process in &tree.proctypes {
        if tree
            .proctypes
            .iter()
            .take_while(|it| !std::ptr::eq(*it, process))
            .any(|it| it.name.text == process.name.text)
        {
            checker
                .error(process.name.span, format!("the process `{}` is declared twice", process.name.text));
        }
    }
    for process in &tree.proctypes {
        let process = checker.process(process);
        checker.model.processes.push(process);
    }
    checker.watchers();
    if !tree.proctypes.iter().any(|process| process.active.is_some()) {
        let span = tree.proctypes.first().map_or(Span::default(), |process| process.name.span);
        checker.error(span, "nothing runs: the model has neither `init` nor an active process");
    }
    checker.model
}

/// Resolves one expression over the globals and processes of a model.
pub fn check_expression(
    tree: &Tree,
    model: Model,
    expr: &ast::Expr,
    findings: &mut Diagnostics,
) -> (Model, Term) {
    let scopes = Scopes::default();
    let mut checker = Checker {
        tree,
        model,
        sets: Vec::new(),
        findings,
        scopes,
        in_trace: false,
        jumped_to: HashSet::new(),
    };
    checker.sets = set_names(tree);
    let term = checker.term(expr);
    (checker.model, term)
}

pub(super) struct Checker<'t> {
    tree: &'t Tree,
    model: Model,
    /// Names of the sets of message types.
    sets: Vec<Rc<str>>,
    findings: &'t mut Diagnostics,
    scopes: Scopes,
    /// Messages are events that a `trace` waits for.
    in_trace: bool,
    /// Labels that jumps inside the `d_step` at hand lead to.
    jumped_to: HashSet<Rc<str>>,
}

fn set_names(tree: &Tree) -> Vec<Rc<str>> {
    let mut sets: Vec<Rc<str>> = vec![PLAIN_MTYPE.into()];
    for (set, _) in &tree.mtypes {
        if !sets.contains(set) {
            sets.push(set.clone());
        }
    }
    sets
}

impl Checker<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, message));
    }

    /// Numbers message types: in each declaration the last name has the least number, as in SPIN.
    fn message_types(&mut self) {
        self.sets = set_names(self.tree);
        self.model.mtypes = vec![Vec::new(); self.sets.len()];
        for (set, names) in &self.tree.mtypes {
            let Some(at) = self.sets.iter().position(|it| it == set) else { continue };
            for name in names.iter().rev() {
                if self.model.mtypes.iter().flatten().any(|it| *it == name.text) {
                    self.error(name.span, format!("the message type `{}` is declared twice", name.text));
                }
                self.model.mtypes[at].push(name.text.clone());
            }
            if self.model.mtypes[at].len() > 255 {
                let span = names.first().map_or(Span::default(), |name| name.span);
                self.error(span, "a set has at most 255 message types");
            }
        }
    }

    /// The number of a message type.
    fn message_type(&self, name: &str) -> Option<i64> {
        self.model
            .mtypes
            .iter()
            .find_map(|set| set.iter().position(|it| &**it == name))
            .map(|at| at as i64 + 1)
    }

    fn records(&mut self) {
        for typedef in &self.tree.typedefs {
            let fields = typedef.fields.iter().map(|field| self.variable(field)).collect();
            if self.model.records.iter().any(|it| it.name == typedef.name.text) {
                self.error(typedef.name.span, format!("the type `{}` is declared twice", typedef.name.text));
            }
            self.model.records.push(Record { name: typedef.name.text.clone(), fields });
        }
    }

    fn ty(&mut self, ty: &ast::Type) -> Type {
        match ty {
            ast::Type::Bit => Type::Number(Width::Bit),
            ast::Type::Bool => Type::Number(Width::Bool),
            ast::Type::Byte | ast::Type::Pid => Type::Number(Width::Byte),
            ast::Type::Short => Type::Number(Width::Short),
            ast::Type::Int => Type::Number(Width::Int),
            ast::Type::Unsigned(bits) => Type::Number(Width::Unsigned(*bits)),
            ast::Type::Mtype(set) => match self.sets.iter().position(|it| it == set) {
                Some(at) => Type::Mtype(at),
                None => {
                    self.sets.push(set.clone());
                    self.model.mtypes.push(Vec::new());
                    Type::Mtype(self.sets.len() - 1)
                }
            },
            ast::Type::Chan => Type::Chan,
            ast::Type::User(name) => match self.model.records.iter().position(|it| it.name == name.text) {
                Some(at) => Type::Record(at),
                None => {
                    self.error(name.span, format!("there is no type `{}`", name.text));
                    Type::Number(Width::Byte)
                }
            },
        }
    }

    fn variable(&mut self, variable: &ast::Variable) -> Variable {
        let ty = self.ty(&variable.ty);
        let length = variable.length.as_ref().map(|length| {
            let value = self.constant(length);
            if !(1..=MAX_LENGTH).contains(&value) {
                self.error(length.span, format!("an array has 1 to {MAX_LENGTH} elements, not {value}"));
            }
            value.clamp(1, MAX_LENGTH) as usize
        });
        let initial = match &variable.initial {
            None => Initial::Zero,
            Some(ast::Initial::Value(value)) => Initial::Value(self.term(value)),
            Some(ast::Initial::List(list)) => {
                if length != Some(list.len()) {
                    self.error(variable.name.span, "the list must have a value for each element");
                }
                Initial::List(list.iter().map(|value| self.term(value)).collect())
            }
            Some(ast::Initial::Channel(capacity, fields)) => {
                let value = self.constant(capacity);
                if !(0..=MAX_CAPACITY).contains(&value) {
                    self.error(capacity.span, format!("a channel holds 0 to {MAX_CAPACITY} messages"));
                }
                if ty != Type::Chan {
                    self.error(variable.name.span, "only a `chan` starts with a channel");
                }
                let fields = fields.iter().map(|field| self.ty(field)).collect();
                let mut fields = self.flat_fields(fields);
                // As in SPIN, a bit that is alone in its message has the room of a byte.
                if let [field @ Type::Number(Width::Bit | Width::Bool)] = &mut fields[..] {
                    *field = Type::Number(Width::Byte);
                }
                Initial::Channel { capacity: value.clamp(0, MAX_CAPACITY) as usize, fields }
            }
        };
        let initial = match (ty, initial) {
            (Type::Record(_), Initial::Value(_) | Initial::List(_)) => {
                let finding = Diagnostic::warning(variable.name.span, "a record starts with 0 everywhere");
                self.findings.push(finding.label("the value is ignored, as SPIN does"));
                Initial::Zero
            }
            (_, initial) => initial,
        };
        Variable {
            name: variable.name.text.clone(),
            ty,
            length,
            initial,
            hidden: variable.hidden,
            exclusive: Exclusive::default(),
            span: variable.name.span,
        }
    }

    /// Records among the fields of a message stand for all their scalars.
    fn flat_fields(&self, fields: Vec<Type>) -> Vec<Type> {
        let mut flat = Vec::new();
        for field in fields {
            self.flatten(field, &mut flat);
        }
        flat
    }

    fn flatten(&self, ty: Type, out: &mut Vec<Type>) {
        match ty {
            Type::Record(at) => {
                for field in &self.model.records[at].fields {
                    for _ in 0..field.length.unwrap_or(1) {
                        self.flatten(field.ty, out);
                    }
                }
            }
            scalar => out.push(scalar),
        }
    }

    /// A priority as SPIN keeps it.
    pub(super) fn priority(&mut self, expr: &ast::Expr) -> i64 {
        let value = self.constant(expr);
        if !(1..=255).contains(&value) {
            self.error(expr.span, "a priority lies between 1 and 255");
        }
        value.clamp(1, 255)
    }

    /// The value of a constant expression.
    fn constant(&mut self, expr: &ast::Expr) -> i64 {
        let term = self.term(expr);
        match constant(&term) {
            Some(value) => value,
            None => {
                self.error(expr.span, "expected a constant");
                1
            }
        }
    }

    fn process(&mut self, process: &ast::Proctype) -> Process {
        self.scopes = Scopes::of_process();
        let mut made = Process {
            name: process.name.text.clone(),
            active: Active::default(),
            variables: Vec::new(),
            parameters: process.parameters.len(),
            at_head: Vec::new(),
            provided: None,
            elements: Vec::new(),
            entry: 0,
            labels: Vec::new(),
            merged: Vec::new(),
            alone: Vec::new(),
            span: process.name.span,
        };
        if let Some(count) = &process.active {
            let value = self.constant(count);
            if !(0..=255).contains(&value) {
                self.error(count.span, "at most 255 processes run");
            }
            made.active.count = value.clamp(0, 255) as usize;
        }
        if let Some(priority) = &process.priority {
            made.active.priority = self.priority(priority);
        }
        for parameter in &process.parameters {
            let variable = self.variable(parameter);
            if variable.length.is_some() {
                self.error(variable.span, "a parameter cannot be an array");
            }
            self.scopes.declare(variable);
        }
        made.provided = process.provided.as_ref().map(|condition| self.term(condition));
        self.flow(&mut made, process);
        made
    }
}

/// The value of a term without variables.
pub(super) fn constant(term: &Term) -> Option<i64> {
    stacker::maybe_grow(64 << 10, 1 << 20, || {
        Some(match &term.kind {
            TermKind::Const(value) => *value,
            TermKind::Unary(operator, of) => {
                let of = constant(of)?;
                match operator {
                    '!' => (of == 0).into(),
                    '-' => of.checked_neg()?,
                    _ => !of,
                }
            }
            TermKind::Choice(condition, yes, no) => {
                constant(if constant(condition)? != 0 { yes } else { no })?
            }
            TermKind::Binary(operator, left, right) => {
                super::lower::operator(operator).apply(constant(left)?, constant(right)?)?
            }
            _ => return None,
        })
    })
}
