//! Functions and statements.

use super::ast::{Command, CommandKind, Declaration, Function, TermKind};
use super::lower::{Code, Lowering};
use super::types::{Meaning, Ty};
use hadal_system::{Argument, Base, Domain, Expr, FunctionId, LocalKind, Range, Span, Stmt, StmtKind};
use std::rc::Rc;

impl Lowering<'_> {
    /// The function as the system knows it, made when it is first called.
    pub(super) fn function(
        &mut self,
        function: &Rc<Function>,
        scope: usize,
        span: Span,
    ) -> Option<FunctionId> {
        let key = (scope, function.name.clone());
        match self.functions.get(&key) {
            Some(Some(id)) => return Some(*id),
            Some(None) => {
                self.error(span, format!("`{}` calls itself, or is refused", function.name));
                return None;
            }
            None => {}
        }
        self.functions.insert(key.clone(), None);
        let mut code = Code { scope: self.scope(scope), writes: true, ..Code::default() };
        for parameter in &function.parameters {
            let ty = self.declared_ty(scope, parameter)?;
            let kind = if parameter.reference { LocalKind::Reference } else { LocalKind::Variable };
            let shape = self.shape(&ty, parameter.span)?;
            let place = code.local(&parameter.name, shape, kind, parameter.span);
            self.bind(code.scope, &parameter.name, Meaning::Place(place, ty));
        }
        let result = match self.ty(scope, &function.result)? {
            Ty::Void => None,
            ty @ (Ty::Int(..) | Ty::Bool) => {
                let shape = self.shape(&ty, function.span)?;
                self.system.shapes.scalar(shape)
            }
            _ => {
                self.error(function.span, "a function gives a number or nothing");
                return None;
            }
        };
        self.command(&mut code, &function.body);
        let id = FunctionId(self.system.functions.len() as u32);
        self.system.functions.push(hadal_system::Function {
            name: function.name.clone(),
            parameters: function.parameters.len(),
            locals: code.locals,
            result,
            body: code.out,
            span: function.span,
        });
        self.functions.insert(key, Some(id));
        Some(id)
    }

    /// Runs `lower` with its own list of statements.
    fn apart(&mut self, code: &mut Code, lower: impl FnOnce(&mut Self, &mut Code)) -> Vec<Stmt> {
        let outside = std::mem::take(&mut code.out);
        lower(self, code);
        std::mem::replace(&mut code.out, outside)
    }

    pub(super) fn command(&mut self, code: &mut Code, command: &Command) {
        let span = command.span;
        match &command.kind {
            CommandKind::Empty => {}
            CommandKind::Term(term) => self.statement(code, term),
            CommandKind::Block(declarations, commands) => {
                let outer = code.scope;
                code.scope = self.scope(outer);
                self.locals(code, declarations);
                commands.iter().for_each(|command| self.command(code, command));
                code.scope = outer;
            }
            CommandKind::If(condition, yes, no) => {
                let condition = self.value(code, condition);
                let body = self.apart(code, |this, code| this.command(code, yes));
                let otherwise = match no {
                    Some(no) => self.apart(code, |this, code| this.command(code, no)),
                    None => Vec::new(),
                };
                if let Some(condition) = condition {
                    let branches = vec![(condition, body)];
                    code.out.push(Stmt::new(StmtKind::If { branches, otherwise }, span));
                }
            }
            CommandKind::While(condition, body) => {
                let condition = self.condition(code, condition);
                let body = self.apart(code, |this, code| this.command(code, body));
                code.out.extend(condition.map(|it| Stmt::new(StmtKind::While(it, body), span)));
            }
            CommandKind::Do(body, condition) => {
                let turn = self.apart(code, |this, code| this.command(code, body));
                let condition = self.condition(code, condition);
                code.out.extend(turn.clone());
                code.out.extend(condition.map(|it| Stmt::new(StmtKind::While(it, turn), span)));
            }
            CommandKind::For(first, condition, step, body) => {
                if let Some(first) = first {
                    self.statement(code, first);
                }
                let condition = match condition {
                    Some(condition) => self.condition(code, condition),
                    None => Some(Expr::constant(1)),
                };
                let body = self.apart(code, |this, code| {
                    this.command(code, body);
                    if let Some(step) = step {
                        this.statement(code, step);
                    }
                });
                code.out.extend(condition.map(|it| Stmt::new(StmtKind::While(it, body), span)));
            }
            CommandKind::Each(name, ty, body) => {
                let Some((low, high)) = self.values(code.scope, ty) else { return };
                let ty = Ty::Int(low, high);
                let Some(shape) = self.shape(&ty, span) else { return };
                let place = code.local(name, shape, LocalKind::Bound, span);
                let Base::Local(local) = place.base else { return };
                let outer = code.scope;
                code.scope = self.scope(outer);
                self.bind(code.scope, name, Meaning::Place(place, ty));
                let body = self.apart(code, |this, code| this.command(code, body));
                code.scope = outer;
                let range = Range::Domain(self.system.domains.add(Domain::range(low, high, false)));
                code.out.push(Stmt::new(StmtKind::For { local, range, body }, span));
            }
            CommandKind::Return(value) => {
                let value = match value {
                    Some(term) => match self.value(code, term) {
                        Some(value) => Some(value),
                        None => return,
                    },
                    None => None,
                };
                code.out.push(Stmt::new(StmtKind::Return(value), span));
            }
        }
    }

    /// A condition that is computed again and again, so it cannot write.
    fn condition(&mut self, code: &mut Code, term: &super::ast::Term) -> Option<Expr> {
        let before = code.out.len();
        let condition = self.value(code, term);
        if code.out.len() > before {
            self.error(term.span, "the condition of a loop cannot write");
            return None;
        }
        condition
    }

    fn locals(&mut self, code: &mut Code, declarations: &[Declaration]) {
        for declaration in declarations {
            match declaration {
                Declaration::Variable(declared) if declared.ty.constant => {
                    let scope = code.scope;
                    self.declarations(std::slice::from_ref(declaration), scope, "local ");
                }
                Declaration::Variable(declared) => {
                    let Some(ty) = self.declared_ty(code.scope, declared) else { continue };
                    let Some(shape) = self.shape(&ty, declared.span) else { continue };
                    let place = code.local(&declared.name, shape, LocalKind::Variable, declared.span);
                    self.initialise(code, &place, &ty, declared.initial.as_ref());
                    self.bind(code.scope, &declared.name, Meaning::Place(place, ty));
                }
                other => {
                    let scope = code.scope;
                    self.declarations(std::slice::from_ref(other), scope, "");
                }
            }
        }
    }

    /// An expression whose value is dropped.
    pub(super) fn statement(&mut self, code: &mut Code, term: &super::ast::Term) {
        if let TermKind::Call(of, arguments) = &term.kind
            && let TermKind::Name(name) = &of.kind
            && let Some(Meaning::Function(function, scope)) = self.lookup(code.scope, name).cloned()
        {
            let called: Option<(FunctionId, Vec<Argument>)> =
                self.call(code, (&function, scope), arguments, term.span);
            code.out.extend(called.map(|(id, all)| Stmt::new(StmtKind::Call(id, all), term.span)));
            return;
        }
        // Assignments leave their statement behind; any other value is of no use.
        self.value(code, term);
    }
}
