//! Expressions: names resolved, constants folded.

use super::super::ast::{self, ExprKind, Ident, ProcessRef};
use super::super::model::{Lvalue, Term, TermKind, apply_binary, apply_unary};
use super::names::Meaning;
use super::{Checker, Scope};
use crate::diagnostic::Diagnostic;
use crate::text::did_you_mean;

impl Checker<'_> {
    /// The value of an expression that must be constant; reported and `None` where it is not.
    pub(super) fn constant(&mut self, expression: &ast::Expr, process: Option<usize>) -> Option<i64> {
        let term = self.term(expression, process)?;
        let value = self.initial_evaluation(&term);
        if value.is_none() {
            let finding = Diagnostic::error(expression.span, "this value is not known before the model runs")
                .label("expected a constant expression");
            self.findings.push(finding);
        }
        value
    }

    /// Evaluates over initial values: DiVinE lets an initialiser read the initial value of an earlier variable.
    fn initial_evaluation(&self, term: &Term) -> Option<i64> {
        match &term.kind {
            TermKind::Constant(value) => Some(*value),
            TermKind::Read(variable) => self.model.variables[*variable].initial.first().copied(),
            TermKind::Element(variable, index) => {
                let index = usize::try_from(self.initial_evaluation(index)?).ok()?;
                self.model.variables[*variable].initial.get(index).copied()
            }
            TermKind::Lookup(table, index) => {
                let index = usize::try_from(self.initial_evaluation(index)?).ok()?;
                self.model.tables[*table].values.get(index).copied()
            }
            TermKind::At(..) => None,
            TermKind::Unary(op, operand) => apply_unary(*op, self.initial_evaluation(operand)?),
            TermKind::Binary(op, left, right) => {
                apply_binary(*op, self.initial_evaluation(left)?, self.initial_evaluation(right)?)
            }
        }
    }

    /// The value of a constant expression in which one more name is a constant (the variable of a `for`).
    pub(super) fn constant_with(
        &mut self,
        expression: &ast::Expr,
        extra: Option<(String, i64)>,
    ) -> Option<i64> {
        let Some((text, value)) = extra else { return self.constant(expression, None) };
        let name = Ident { text, span: expression.span };
        let before = self.globals.get(&name.text);
        self.globals.insert(&name, Meaning::Constant(value));
        let result = self.constant(expression, None);
        match before {
            Some(meaning) => {
                self.globals.insert(&name, meaning);
            }
            None => self.globals.remove(&name.text),
        }
        result
    }

    fn meaning(&self, name: &str, process: Option<usize>) -> Option<Meaning> {
        process
            .and_then(|number| self.process_scopes[number].locals.get(name))
            .or_else(|| self.globals.get(name))
    }

    fn unknown_name(&mut self, name: &Ident, process: Option<usize>) {
        let empty = Scope::default();
        let locals = process.map_or(&empty, |number| &self.process_scopes[number].locals);
        let help = did_you_mean(&name.text, locals.names().chain(self.globals.names()).map(String::as_str));
        let mut finding = Diagnostic::error(name.span, format!("`{}` is not declared", name.text))
            .label("expected a variable or constant");
        finding.help = help;
        let is_location =
            process.is_some_and(|number| self.process_scopes[number].locations.contains_key(&name.text));
        if let (true, Some(number)) = (is_location, process) {
            finding.help = Some(format!(
                "to test the location write `{}.{}`",
                self.process_scopes[number].name, name.text
            ));
        }
        self.findings.push(finding);
    }

    /// Resolves an expression as seen from a process (or from outside any).
    pub(super) fn term(&mut self, expression: &ast::Expr, process: Option<usize>) -> Option<Term> {
        let span = expression.span;
        let kind = match &expression.kind {
            ExprKind::Number(value) => TermKind::Constant(*value),
            ExprKind::Name(text) => {
                let name = Ident { text: text.clone(), span };
                match self.meaning(text, process) {
                    Some(meaning) => self.scalar(&name, meaning)?,
                    None => {
                        self.unknown_name(&name, process);
                        return None;
                    }
                }
            }
            ExprKind::Index(name, index) => {
                let meaning = self.meaning(&name.text, process);
                if meaning.is_none() {
                    self.unknown_name(name, process);
                }
                let index = self.term(index, process);
                self.element(name, meaning?, index?)?
            }
            ExprKind::Location(reference, location) => {
                let number = self.process_number(reference, process)?;
                match self.process_scopes[number].locations.get(&location.text) {
                    Some(at) => TermKind::At(number, *at),
                    None => {
                        let names = self.process_scopes[number].locations.keys().map(String::as_str);
                        let help = did_you_mean(&location.text, names);
                        let message = format!(
                            "`{}` has no state `{}`",
                            self.process_scopes[number].name, location.text
                        );
                        let mut finding =
                            Diagnostic::error(location.span, message).label("expected a state of it");
                        finding.help = help;
                        self.findings.push(finding);
                        return None;
                    }
                }
            }
            ExprKind::Foreign(reference, name, index) => {
                let number = self.process_number(reference, process);
                let index = match index {
                    Some(index) => Some(self.term(index, process)?),
                    None => None,
                };
                let number = number?;
                let Some(meaning) = self.process_scopes[number].locals.get(&name.text) else {
                    let help = did_you_mean(
                        &name.text,
                        self.process_scopes[number].locals.names().map(String::as_str),
                    );
                    let message =
                        format!("`{}` has no variable `{}`", self.process_scopes[number].name, name.text);
                    let mut finding =
                        Diagnostic::error(name.span, message).label("expected a variable of it");
                    finding.help = help;
                    self.findings.push(finding);
                    return None;
                };
                match index {
                    Some(index) => self.element(name, meaning, index)?,
                    None => self.scalar(name, meaning)?,
                }
            }
            ExprKind::Unary(op, operand) => {
                let operand = self.term(operand, process)?;
                match operand.as_constant().and_then(|value| apply_unary(*op, value)) {
                    Some(value) => TermKind::Constant(value),
                    None => TermKind::Unary(*op, Box::new(operand)),
                }
            }
            ExprKind::Binary(op, left, right) => {
                // Both sides are looked at, so that mistakes in both are told.
                let left = self.term(left, process);
                let right = self.term(right, process);
                let (left, right) = (left?, right?);
                let folded = match (left.as_constant(), right.as_constant()) {
                    (Some(l), Some(r)) => apply_binary(*op, l, r),
                    _ => None,
                };
                match folded {
                    Some(value) => TermKind::Constant(value),
                    None => TermKind::Binary(*op, Box::new(left), Box::new(right)),
                }
            }
        };
        Some(Term { kind, span })
    }

    /// A name used without an index.
    fn scalar(&mut self, name: &Ident, meaning: Meaning) -> Option<TermKind> {
        let first = match meaning {
            Meaning::Constant(value) => return Some(TermKind::Constant(value)),
            Meaning::Variable(number) if self.model.variables[number].size.is_none() => {
                return Some(TermKind::Read(number));
            }
            Meaning::Variable(number) => TermKind::Element(number, Box::new(Term::constant(0, name.span))),
            Meaning::Table(number) => {
                TermKind::Constant(self.model.tables[number].values.first().copied().unwrap_or(0))
            }
            Meaning::Channel(_) => {
                let finding = Diagnostic::error(name.span, format!("`{}` is a channel", name.text))
                    .label("expected a variable or constant");
                self.findings.push(finding);
                return None;
            }
        };
        // DiVinE reads and writes the first element; a model of BEEM relies on it.
        let finding = Diagnostic::warning(name.span, format!("`{}` is an array", name.text))
            .label("its first element is taken")
            .help(format!("write `{}[0]`", name.text));
        self.findings.push(finding);
        Some(first)
    }

    /// A name used with an index.
    fn element(&mut self, name: &Ident, meaning: Meaning, index: Term) -> Option<TermKind> {
        let size = match meaning {
            Meaning::Variable(number) => self.model.variables[number].size,
            Meaning::Table(number) => Some(self.model.tables[number].values.len()),
            Meaning::Constant(_) | Meaning::Channel(_) => None,
        };
        let Some(size) = size else {
            let finding = Diagnostic::error(name.span, format!("`{}` is not an array", name.text))
                .label("expected an array before `[`");
            self.findings.push(finding);
            return None;
        };
        if let Some(at) = index.as_constant()
            && !usize::try_from(at).is_ok_and(|at| at < size)
        {
            let message = format!("`{}` has no element {at}", name.text);
            let finding = Diagnostic::warning(index.span, message)
                .label(format!("the elements are 0 to {}; reaching this is an error of the model", size - 1));
            self.findings.push(finding);
        }
        Some(match meaning {
            Meaning::Table(number) => match index.as_constant().and_then(|at| usize::try_from(at).ok()) {
                Some(at) if at < size => TermKind::Constant(self.model.tables[number].values[at]),
                _ => TermKind::Lookup(number, Box::new(index)),
            },
            Meaning::Variable(number) => TermKind::Element(number, Box::new(index)),
            Meaning::Constant(_) | Meaning::Channel(_) => return None,
        })
    }

    /// Something that can be assigned to or received into, as seen from a process.
    pub(super) fn target(&mut self, expression: &ast::Expr, process: usize) -> Option<Lvalue> {
        let span = expression.span;
        let refused = match &expression.kind {
            ExprKind::Name(_) | ExprKind::Index(..) => {
                let term = self.term(expression, Some(process))?;
                match term.kind {
                    TermKind::Read(variable) => return Some(Lvalue { variable, index: None, span }),
                    TermKind::Element(variable, index) => {
                        return Some(Lvalue { variable, index: Some(*index), span });
                    }
                    _ => "a constant cannot be assigned",
                }
            }
            ExprKind::Foreign(..) => "a process cannot assign another process's variable",
            ExprKind::Location(..) => "a location is changed by a transition, not by an assignment",
            _ => "only a variable or an element of an array can be assigned",
        };
        self.findings.push(Diagnostic::error(span, refused).label("expected a variable"));
        None
    }

    pub(super) fn unknown_process(&mut self, name: &Ident) {
        let help = did_you_mean(&name.text, self.process_scopes.iter().map(|scope| scope.name.as_str()));
        let mut finding = Diagnostic::error(name.span, format!("there is no process `{}`", name.text))
            .label("expected a process");
        finding.help = help;
        self.findings.push(finding);
    }

    fn process_number(&mut self, reference: &ProcessRef, process: Option<usize>) -> Option<usize> {
        let found = match &reference.key {
            None => self.process_scopes.iter().position(|scope| scope.name == reference.name.text),
            Some(key) => {
                let key = self.constant(key, process)?;
                let wanted = Some((reference.name.text.clone(), key));
                self.process_scopes.iter().position(|scope| scope.instance == wanted)
            }
        };
        if found.is_none() {
            self.unknown_process(&reference.name);
        }
        found
    }
}
