//! Syntax tree to checked model: names, types of use, constants and initial values, instances of templates.
//!
//! Checking goes on after a mistake, so that everything wrong with a model is told at once.

mod names;
mod process;
mod term;

use super::ast;
use super::model::{Channel, Model, Table, Variable};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::text::unknown_constant;
use hadal_system::Span;
use hadal_system::units::counted;
use names::{Meaning, Scope};
use std::collections::{HashMap, HashSet};

/// The largest array, and the largest buffer of a channel.
pub const MAX_ELEMENTS: i64 = 65_536;

/// The most processes that templates may be instantiated to.
const MAX_INSTANCES: i64 = 1_000;

/// Checks a model. `overrides` replace the values of constants and inputs by name; each must name one.
/// `None` where there are errors.
pub fn check(tree: &ast::Model, overrides: &[(String, i64)], findings: &mut Diagnostics) -> Option<Model> {
    let mut checker = Checker {
        findings,
        overrides,
        overridden: HashSet::new(),
        globals: Scope::default(),
        model: Model {
            variables: Vec::new(),
            tables: Vec::new(),
            channels: Vec::new(),
            processes: Vec::new(),
            composition: ast::Composition::Asynchronous,
            property: None,
            expressions: Vec::new(),
            names: Names::default(),
        },
        process_scopes: Vec::new(),
    };
    checker.run(tree);
    let Checker { mut model, findings, globals, process_scopes, .. } = checker;
    model.names = Names { globals, processes: process_scopes };
    if findings.has_errors() { None } else { Some(model) }
}

/// Resolves an expression that stands outside the model's text (a goal) against a checked model.
pub fn resolve(
    expression: &ast::Expr,
    model: &Model,
    findings: &mut Diagnostics,
) -> Option<super::model::Term> {
    let mut checker = Checker {
        findings,
        overrides: &[],
        overridden: HashSet::new(),
        globals: model.names.globals.clone(),
        model: model.clone(),
        process_scopes: model.names.processes.clone(),
    };
    checker.term(expression, None).filter(|_| !checker.findings.has_errors())
}

/// The names of a checked model, kept so that goals can be resolved later.
#[derive(Clone, Debug, Default)]
pub struct Names {
    globals: Scope,
    processes: Vec<ProcessScope>,
}

/// What is known of a process before its transitions are looked at.
#[derive(Clone, Debug)]
struct ProcessScope {
    name: String,
    /// Locals, constants and the template's parameters.
    locals: Scope,
    locations: HashMap<String, usize>,
    /// The template and the instance's first argument, for `template(key)`.
    instance: Option<(String, i64)>,
}

struct Checker<'a> {
    findings: &'a mut Diagnostics,
    overrides: &'a [(String, i64)],
    overridden: HashSet<String>,
    globals: Scope,
    model: Model,
    process_scopes: Vec<ProcessScope>,
}

impl Checker<'_> {
    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, message));
    }

    fn run(&mut self, tree: &ast::Model) {
        for declaration in &tree.variables {
            self.variable(declaration, None);
        }
        for channel in &tree.channels {
            self.channel(channel);
        }
        let instances = self.instances(tree);
        if instances.is_empty() && !self.findings.has_errors() {
            let span = tree.system.as_ref().map_or(Span::default(), |system| system.span);
            let finding = Diagnostic::error(span, "the model has no process")
                .help("declare at least one: `process P { state q; init q; }`");
            self.findings.push(finding);
        }
        // Two passes: expressions may name locations and variables of processes declared further down.
        for (process, arguments) in &instances {
            self.declare_process(process, arguments);
        }
        for (number, (process, _)) in instances.iter().enumerate() {
            self.fill_process(number, process);
        }
        for (name, expression) in &tree.expressions {
            if let Some(term) = self.term(expression, None) {
                self.model.expressions.push((name.text.clone(), term));
            }
        }
        for ltl in &tree.ltl {
            let finding = Diagnostic::warning(
                ltl.formula.1,
                format!("the LTL property `{}` is not checked", ltl.name.text),
            )
            .help("hadal reads the model without it; state invariants and goals can be checked");
            self.findings.push(finding);
        }
        self.find_property(tree, &instances);
        self.channel_uses();
        for (name, _) in self.overrides {
            if !self.overridden.contains(name) {
                self.findings.push(unknown_constant(name, self.globals.constants()));
            }
        }
    }

    fn find_property(&mut self, tree: &ast::Model, instances: &[(&ast::Process, Vec<i64>)]) {
        let marked = instances.iter().position(|(process, _)| process.is_property);
        self.model.property = marked;
        let Some(system) = &tree.system else { return };
        self.model.composition = system.composition;
        if let Some(name) = &system.property {
            match self.process_scopes.iter().position(|scope| scope.name == name.text) {
                Some(number) => self.model.property = Some(number),
                None => self.unknown_process(name),
            }
        }
    }

    /// Plain processes and the instances of templates, in source order, with the values of the parameters.
    fn instances<'t>(&mut self, tree: &'t ast::Model) -> Vec<(&'t ast::Process, Vec<i64>)> {
        let mut found: Vec<(&ast::Process, Vec<i64>)> =
            tree.processes.iter().filter(|p| p.parameters.is_none()).map(|p| (p, Vec::new())).collect();
        for instance in &tree.instances {
            let template = tree.processes.iter().find(|p| p.name.text == instance.template.text);
            let Some((template, parameters)) = template.and_then(|p| Some((p, p.parameters.as_ref()?)))
            else {
                let message = format!("there is no process template `{}`", instance.template.text);
                self.error(instance.template.span, message);
                continue;
            };
            if parameters.len() != instance.arguments.len() {
                let message = format!(
                    "`{}` takes {}, here are {}",
                    template.name.text,
                    counted(parameters.len() as u64, "argument"),
                    instance.arguments.len()
                );
                self.error(instance.template.span, message);
                continue;
            }
            let (from, to) = match &instance.repeat {
                None => (0, 0),
                Some((_, from, to)) => match (self.constant(from, None), self.constant(to, None)) {
                    (Some(from), Some(to)) => (from, to),
                    _ => continue,
                },
            };
            if to.saturating_sub(from) >= MAX_INSTANCES {
                self.error(instance.template.span, "this loop makes too many processes");
                continue;
            }
            for turn in from..=to {
                let variable = instance.repeat.as_ref().map(|(name, _, _)| (name.text.clone(), turn));
                let values: Option<Vec<i64>> =
                    instance.arguments.iter().map(|a| self.constant_with(a, variable.clone())).collect();
                if let Some(values) = values {
                    found.push((template, values));
                }
            }
        }
        for template in tree.processes.iter().filter(|p| p.parameters.is_some()) {
            if !tree.instances.iter().any(|i| i.template.text == template.name.text) {
                let message = format!("the template `{}` has no instance", template.name.text);
                self.findings.push(Diagnostic::warning(template.name.span, message));
            }
        }
        found
    }

    /// Declares a variable or constant, global or (with `process`) local.
    fn variable(&mut self, declaration: &ast::VariableDecl, process: Option<usize>) {
        let name = &declaration.name;
        let size = declaration.size.as_ref().map(|size| (size.span, self.constant(size, process)));
        let size = match size {
            None => None,
            Some((_, None)) => Some(1),
            Some((span, Some(size))) if !(1..=MAX_ELEMENTS).contains(&size) => {
                let finding = Diagnostic::error(span, format!("an array cannot have {size} elements"))
                    .label(format!("expected 1 to {MAX_ELEMENTS}"));
                self.findings.push(finding);
                Some(1)
            }
            Some((_, Some(size))) => Some(size as usize),
        };
        let mut values = self.initial_values(declaration, size, process);
        let is_constant = declaration.storage != ast::Storage::Variable;
        if is_constant
            && size.is_none()
            && let Some((_, value)) = self.overrides.iter().find(|(given, _)| *given == name.text)
        {
            self.overridden.insert(name.text.clone());
            let (low, high) = declaration.scalar.range();
            if !(low..=high).contains(value) {
                let message =
                    format!("-D {}={value} does not fit `{}`", name.text, declaration.scalar.name());
                let finding =
                    Diagnostic::error(name.span, message).label(format!("expected {low} to {high}"));
                self.findings.push(finding);
            }
            values = vec![*value];
        }
        let meaning = if is_constant {
            if size.is_none() {
                Meaning::Constant(values[0])
            } else {
                self.model.tables.push(Table { name: name.text.clone(), values });
                Meaning::Table(self.model.tables.len() - 1)
            }
        } else {
            let shown = match process {
                Some(number) => format!("{}.{}", self.process_scopes[number].name, name.text),
                None => name.text.clone(),
            };
            self.model.variables.push(Variable {
                name: shown,
                owner: process,
                scalar: declaration.scalar,
                size,
                initial: values,
                span: name.span,
            });
            Meaning::Variable(self.model.variables.len() - 1)
        };
        self.declare(name, meaning, process);
    }

    fn declare(&mut self, name: &ast::Ident, meaning: Meaning, process: Option<usize>) {
        let scope = match process {
            Some(number) => &mut self.process_scopes[number].locals,
            None => &mut self.globals,
        };
        if scope.insert(name, meaning).is_some() {
            let finding = Diagnostic::error(name.span, format!("`{}` is declared twice", name.text))
                .label("expected a new name");
            self.findings.push(finding);
        }
    }

    /// The initial value of each element: as written, the rest 0.
    fn initial_values(
        &mut self,
        declaration: &ast::VariableDecl,
        size: Option<usize>,
        process: Option<usize>,
    ) -> Vec<i64> {
        let mut values = vec![0; size.unwrap_or(1)];
        let name = &declaration.name;
        match (&declaration.initial, size) {
            (None, _) if declaration.storage == ast::Storage::Constant => {
                let finding =
                    Diagnostic::error(name.span, format!("the constant `{}` has no value", name.text))
                        .help(format!("write `const {} {} = ...;`", declaration.scalar.name(), name.text));
                self.findings.push(finding);
            }
            (None, _) => {}
            (Some(ast::Initialiser::Single(expression)), None) => {
                values[0] = self.initial_value(expression, declaration.scalar, process);
            }
            (Some(ast::Initialiser::Single(expression)), Some(_)) => {
                let finding = Diagnostic::error(expression.span, format!("`{}` is an array", name.text))
                    .label("expected a list in braces: `{ ..., ... }`");
                self.findings.push(finding);
            }
            (Some(ast::Initialiser::List(_, span)), None) => {
                let finding = Diagnostic::error(*span, format!("`{}` is not an array", name.text))
                    .label("expected a single value")
                    .help(format!(
                        "to declare an array write `{} {}[SIZE]`",
                        declaration.scalar.name(),
                        name.text
                    ));
                self.findings.push(finding);
            }
            (Some(ast::Initialiser::List(list, span)), Some(size)) => {
                if list.len() > size {
                    let message =
                        format!("`{}` has {size} elements but {} initial values", name.text, list.len());
                    let finding =
                        Diagnostic::warning(*span, message).label("the values left over are dropped");
                    self.findings.push(finding);
                }
                for (slot, expression) in values.iter_mut().zip(list) {
                    *slot = self.initial_value(expression, declaration.scalar, process);
                }
            }
        }
        values
    }

    fn initial_value(&mut self, expression: &ast::Expr, scalar: ast::Type, process: Option<usize>) -> i64 {
        let Some(value) = self.constant(expression, process) else { return 0 };
        let (low, high) = scalar.range();
        if (low..=high).contains(&value) {
            return value;
        }
        let finding = Diagnostic::error(expression.span, format!("{value} does not fit `{}`", scalar.name()))
            .label(format!("expected {low} to {high}"));
        self.findings.push(finding);
        0
    }

    fn channel(&mut self, declaration: &ast::ChannelDecl) {
        let capacity = match &declaration.buffer {
            None => 0,
            Some(size) => match self.constant(size, None) {
                Some(value) if (0..=MAX_ELEMENTS).contains(&value) => value as usize,
                Some(value) => {
                    let finding =
                        Diagnostic::error(size.span, format!("a buffer cannot hold {value} messages"))
                            .label(format!("expected 0 to {MAX_ELEMENTS}"));
                    self.findings.push(finding);
                    0
                }
                None => 0,
            },
        };
        if capacity > 0 && declaration.types.is_none() {
            let name = &declaration.name;
            let finding =
                Diagnostic::error(name.span, format!("the buffered channel `{}` has no types", name.text))
                    .help(format!("say what a message holds: `channel {{byte}} {}[{capacity}];`", name.text));
            self.findings.push(finding);
        }
        self.model.channels.push(Channel {
            name: declaration.name.text.clone(),
            types: declaration.types.clone(),
            capacity,
            span: declaration.name.span,
        });
        let number = self.model.channels.len() - 1;
        self.declare(&declaration.name, Meaning::Channel(number), None);
    }
}
