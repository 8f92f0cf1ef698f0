//! Expressions and places.

use super::super::ast::{self, ExprKind};
use super::super::model::{
    Argument, Receive, Run, Segment, Term, TermKind, Type, VarPath, VarRef, Variable, Width,
};
use super::Checker;
use hadal_system::Span;

impl Checker<'_> {
    pub(super) fn term(&mut self, expr: &ast::Expr) -> Term {
        stacker::maybe_grow(128 << 10, 1 << 20, || {
            let kind = self.term_kind(expr);
            Term { kind, span: expr.span }
        })
    }

    fn boxed(&mut self, expr: &ast::Expr) -> Box<Term> {
        Box::new(self.term(expr))
    }

    fn term_kind(&mut self, expr: &ast::Expr) -> TermKind {
        match &expr.kind {
            ExprKind::Number(value) => TermKind::Const(*value),
            ExprKind::Place(place) => self.read(place),
            ExprKind::Unary(operator, of) => TermKind::Unary(*operator, self.boxed(of)),
            ExprKind::Binary(operator, left, right) => {
                let left = self.boxed(left);
                TermKind::Binary(operator, left, self.boxed(right))
            }
            ExprKind::Choice(condition, yes, no) => {
                let condition = self.boxed(condition);
                let yes = self.boxed(yes);
                TermKind::Choice(condition, yes, self.boxed(no))
            }
            ExprKind::Channel("length", array) => match self.target(array) {
                Some(VarPath { length: Some(length), .. }) => TermKind::Const(length as i64),
                Some(target) => {
                    self.error(target.span, "`for ... in` runs over an array");
                    TermKind::Const(1)
                }
                None => TermKind::Const(1),
            },
            ExprKind::Channel(word, place) => match self.channel(place) {
                Some(channel) => TermKind::Channel(word, Box::new(channel)),
                None => TermKind::Const(0),
            },
            ExprKind::Poll(receive) => match self.receive(receive) {
                Some(receive) => TermKind::Poll(Box::new(receive)),
                None => TermKind::Const(0),
            },
            ExprKind::Run { name, arguments, priority } => self.run(name, arguments, priority.as_deref()),
            ExprKind::Process(word, of) => TermKind::Process(word, self.boxed(of)),
            ExprKind::Timeout => TermKind::Timeout,
            ExprKind::NonProgress => TermKind::NonProgress,
            ExprKind::Label { process, pid, label } => {
                let Some(at) = self.process_named(process) else { return TermKind::Const(0) };
                let pid = pid.as_ref().map(|pid| self.boxed(pid));
                if !labels_of(&self.tree.proctypes[at].body).iter().any(|it| *it == &*label.text) {
                    self.error(label.span, format!("`{}` has no label `{}`", process.text, label.text));
                    return TermKind::Const(0);
                }
                TermKind::Label { process: at, pid, label: label.text.clone() }
            }
            ExprKind::Remote { process, pid, place } => {
                let Some(at) = self.process_named(process) else { return TermKind::Const(0) };
                let pid = pid.as_ref().map(|pid| self.boxed(pid));
                // Variables of a process are numbered in the order of its text.
                let mut declared = Vec::new();
                let own = &self.tree.proctypes[at];
                declared.extend(own.parameters.iter());
                declared_in(&own.body, &mut declared);
                let Some(number) = declared.iter().position(|it| it.name.text == place.name.text) else {
                    let message = format!("`{}` has no variable `{}`", process.text, place.name.text);
                    self.error(place.span, message);
                    return TermKind::Const(0);
                };
                let variable = self.variable(declared[number]);
                match self.path(VarRef::Local(number), &variable, place) {
                    Some(target) => TermKind::Remote { process: at, pid, target: Box::new(target) },
                    None => TermKind::Const(0),
                }
            }
        }
    }

    fn process_named(&mut self, name: &ast::Name) -> Option<usize> {
        let found = self.tree.proctypes.iter().position(|process| {
            process.name.text == name.text || (&*process.name.text == ":init:" && &*name.text == "init")
        });
        if found.is_none() {
            self.error(name.span, format!("there is no process `{}`", name.text));
        }
        found
    }

    /// Whether a place is the priority of the process at hand.
    pub(super) fn is_own_priority(&self, place: &ast::Place) -> bool {
        &*place.name.text == "_priority" && self.scopes.inside() && self.scopes.find("_priority").is_none()
    }

    fn read(&mut self, place: &ast::Place) -> TermKind {
        let plain = place.index.is_none() && place.field.is_none();
        let declared = self.scopes.find(&place.name.text).is_some();
        if plain && !declared {
            match &*place.name.text {
                "_pid" if self.scopes.inside() => return TermKind::Pid,
                "_nr_pr" => return TermKind::Count,
                "_last" => return TermKind::Last,
                "_priority" if self.scopes.inside() => {
                    let own = Term { kind: TermKind::Pid, span: place.span };
                    return TermKind::Process("get_priority", Box::new(own));
                }
                name => {
                    if let Some(value) = self.message_type(name)
                        && !self.model.globals.iter().any(|it| &*it.name == name)
                    {
                        return TermKind::Const(value);
                    }
                }
            }
        }
        match self.target(place) {
            Some(target) if target.length.is_some() => {
                // SPIN takes the first element.
                let first = Term { kind: TermKind::Const(0), span: target.span };
                let mut target = target;
                target.path.push(Segment::Index(first));
                target.length = None;
                TermKind::Read(target)
            }
            Some(target) => TermKind::Read(target),
            None => TermKind::Const(0),
        }
    }

    /// The place a name with indices and fields stands for.
    pub(super) fn target(&mut self, place: &ast::Place) -> Option<VarPath> {
        let name = &place.name;
        if let Some(at) = self.scopes.find(&name.text) {
            // Scopes hold variables of the process at hand, whose list is kept beside them.
            let variable = self.scopes.variable(at)?;
            return self.path(VarRef::Local(at), &variable, place);
        }
        match self.model.globals.iter().position(|it| it.name == name.text) {
            Some(at) => {
                let variable = self.model.globals[at].clone();
                self.path(VarRef::Global(at), &variable, place)
            }
            None => {
                self.error(name.span, format!("there is no variable `{}`", name.text));
                None
            }
        }
    }

    fn path(&mut self, var: VarRef, variable: &Variable, place: &ast::Place) -> Option<VarPath> {
        let mut path = Vec::new();
        let mut variable = variable.clone();
        let mut at = place;
        loop {
            let mut length = variable.length;
            if let Some(index) = &at.index {
                let index = self.term(index);
                if length.take().is_none() {
                    self.error(at.name.span, format!("`{}` is no array", at.name.text));
                    return None;
                }
                path.push(Segment::Index(index));
            }
            let Some(field) = &at.field else {
                return Some(VarPath { var, path, ty: variable.ty, length, span: place.span });
            };
            let Type::Record(record) = variable.ty else {
                self.error(at.name.span, format!("`{}` has no fields", at.name.text));
                return None;
            };
            if length.is_some() {
                path.push(Segment::Index(Term { kind: TermKind::Const(0), span: at.name.span }));
            }
            let fields = &self.model.records[record].fields;
            let Some(number) = fields.iter().position(|it| it.name == field.name.text) else {
                let message =
                    format!("`{}` has no field `{}`", self.model.records[record].name, field.name.text);
                self.error(field.name.span, message);
                return None;
            };
            path.push(Segment::Field(number));
            variable = fields[number].clone();
            at = field;
        }
    }

    /// A place that holds a channel.
    pub(super) fn channel(&mut self, place: &ast::Place) -> Option<VarPath> {
        let mut target = self.target(place)?;
        if target.ty != Type::Chan {
            self.error(place.span, "this is no channel");
            return None;
        }
        if target.length.take().is_some() {
            target.path.push(Segment::Index(Term { kind: TermKind::Const(0), span: place.span }));
        }
        Some(target)
    }

    /// Notes that one process alone uses channels.
    pub(super) fn exclusive(&mut self, way: ast::Way, channels: &[ast::Place]) {
        for place in channels {
            let Some(channel) = self.channel(place) else { continue };
            self.scopes.alone.push((way, channel.clone()));
            let variable = match channel.var {
                VarRef::Global(n) => self.model.globals.get_mut(n),
                VarRef::Local(n) => self.scopes.variables.get_mut(n),
            };
            if let Some(variable) = variable {
                match way {
                    ast::Way::Send => variable.exclusive.sends = true,
                    ast::Way::Receive => variable.exclusive.receives = true,
                }
            }
        }
    }

    pub(super) fn receive(&mut self, receive: &ast::Receive) -> Option<Receive> {
        let channel = self.channel(&receive.channel)?;
        let mut arguments = Vec::new();
        for argument in &receive.arguments {
            match argument {
                ast::Argument::Match(value) => arguments.push(Argument::Match(self.term(value))),
                ast::Argument::Place(place) => {
                    let plain = place.index.is_none() && place.field.is_none();
                    let hidden = self.scopes.find(&place.name.text).is_some()
                        || self.model.globals.iter().any(|it| it.name == place.name.text);
                    if plain && &*place.name.text == "_" {
                        arguments.push(Argument::Ignore);
                    } else if let (true, false, Some(value)) =
                        (plain, hidden, self.message_type(&place.name.text))
                    {
                        arguments
                            .push(Argument::Match(Term { kind: TermKind::Const(value), span: place.span }));
                    } else if plain && !hidden && &*place.name.text == "_pid" {
                        arguments.push(Argument::Match(Term { kind: TermKind::Pid, span: place.span }));
                    } else {
                        let target = self.target(place)?;
                        self.scalars(target, &mut |target| arguments.push(Argument::Into(target)));
                    }
                }
            }
        }
        Some(Receive { channel, arguments, random: receive.random, keep: receive.keep })
    }

    /// Every scalar below a place.
    pub(super) fn scalars(&self, target: VarPath, visit: &mut dyn FnMut(VarPath)) {
        if let Some(length) = target.length {
            for n in 0..length {
                let mut element = target.clone();
                element.length = None;
                let index = Term { kind: TermKind::Const(n as i64), span: target.span };
                element.path.push(Segment::Index(index));
                self.scalars(element, visit);
            }
            return;
        }
        let Type::Record(record) = target.ty else { return visit(target) };
        for (number, field) in self.model.records[record].fields.iter().enumerate() {
            let mut part = target.clone();
            part.path.push(Segment::Field(number));
            part.ty = field.ty;
            part.length = field.length;
            self.scalars(part, visit);
        }
    }

    /// The values of a message: records stand for all their scalars.
    pub(super) fn message(&mut self, values: &[ast::Expr]) -> Vec<Term> {
        let mut terms = Vec::new();
        for value in values {
            let term = self.term(value);
            match term.kind {
                TermKind::Read(target) if matches!(target.ty, Type::Record(_)) || target.length.is_some() => {
                    self.scalars(target, &mut |target| {
                        let span = target.span;
                        terms.push(Term { kind: TermKind::Read(target), span });
                    });
                }
                _ => terms.push(term),
            }
        }
        terms
    }

    fn run(&mut self, name: &ast::Name, arguments: &[ast::Expr], priority: Option<&ast::Expr>) -> TermKind {
        let Some(process) = self.process_named(name) else { return TermKind::Const(0) };
        let wanted = self.tree.proctypes[process].parameters.len();
        if arguments.len() != wanted {
            let message = format!("`{}` has {wanted} parameters, not {}", name.text, arguments.len());
            self.error(name.span, message);
        }
        let arguments = arguments.iter().map(|argument| self.term(argument)).collect();
        let priority = priority.map_or(1, |priority| self.priority(priority));
        TermKind::Run(Box::new(Run { process, arguments, priority }))
    }

    /// A number to use where a mistake was reported.
    pub(super) fn zero(span: Span) -> Term {
        Term { kind: TermKind::Const(0), span }
    }
}

/// A byte, for variables whose type could not be found.
pub(super) const FALLBACK: Type = Type::Number(Width::Byte);

fn labels_of(body: &[ast::Stmt]) -> Vec<&str> {
    let mut labels = Vec::new();
    super::flow::walk(body, &mut |stmt| labels.extend(stmt.labels.iter().map(|label| &*label.text)));
    labels
}

fn declared_in<'t>(body: &'t [ast::Stmt], out: &mut Vec<&'t ast::Variable>) {
    super::flow::walk(body, &mut |stmt| {
        if let ast::StmtKind::Declare(variable) | ast::StmtKind::Temporary(variable) = &stmt.kind {
            out.push(variable);
        }
    });
}
