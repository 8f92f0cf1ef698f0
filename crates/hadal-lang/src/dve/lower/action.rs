//! Joint steps to actions.

use super::super::model::{Lvalue, Term, TermKind};
use super::joint::{Joint, Operation, is_committed};
use super::term::{Copies, binary, number};
use super::{Lowering, assign};
use crate::language::ModelErrors;
use hadal_system::{
    Action, BinaryOp, Expr, ExprKind, Function, FunctionId, Local, LocalId, LocalKind, Place, ProcessId,
    ShapeId, Span, Stmt, StmtKind,
};

/// Which variables are read through copies.
#[derive(Default)]
struct Views {
    /// In effects.
    now: Copies,
    /// In the indices of what is received.
    before: Copies,
}

impl<'m> Lowering<'m> {
    pub(super) fn actions(&mut self, steps: &[Joint<'m>]) -> Vec<Action> {
        let mut actions: Vec<Action> = Vec::with_capacity(steps.len());
        let mut stuck: Option<FunctionId> = None;
        for step in steps {
            let mut action = self.action(step);
            if step.is_idle(self.model) {
                // The property process moves alone only where no other action can: the guards of all of them are
                // asked by one function, made when the first idle step comes (all other steps are behind it).
                let function = *stuck.get_or_insert_with(|| {
                    let guards = self.system_guards(steps);
                    self.declare_stuck_function(guards)
                });
                let call = Expr::new(ExprKind::Call(function, Vec::new()), step.span);
                let span = action.guard.span;
                let guard = std::mem::replace(&mut action.guard, Expr::constant(1));
                action.guard = binary(BinaryOp::And, guard, call, span);
            }
            actions.push(action);
        }
        actions
    }

    /// The guard of every step without the property process's part, each once.
    fn system_guards(&mut self, steps: &[Joint<'m>]) -> Vec<Expr> {
        let model = self.model;
        let mut guards: Vec<Expr> = Vec::new();
        for step in steps.iter().filter(|step| !step.is_idle(model)) {
            let alone = Joint {
                members: step.members.iter().filter(|m| Some(m.process) != model.property).copied().collect(),
                operations: step.operations.clone(),
                handshake: step.handshake,
                span: step.span,
            };
            let guard = self.guard(&alone);
            // The steps of one system transition with each property transition stand together.
            if guards.last() != Some(&guard) {
                guards.push(guard);
            }
        }
        guards
    }

    fn declare_stuck_function(&mut self, guards: Vec<Expr>) -> FunctionId {
        let truth = self.domains.add(hadal_system::Domain::boolean(false));
        let result = |value: i64, span: Span| Stmt::new(StmtKind::Return(Some(number(value, span))), span);
        let mut body: Vec<Stmt> = guards
            .into_iter()
            .map(|guard| {
                let span = guard.span;
                let branches = vec![(guard, vec![result(0, span)])];
                Stmt::new(StmtKind::If { branches, otherwise: Vec::new() }, span)
            })
            .collect();
        body.push(result(1, Span::default()));
        self.functions.push(Function {
            name: "system is stuck".to_string(),
            parameters: 0,
            locals: Vec::new(),
            result: Some(truth),
            body,
            span: Span::default(),
        });
        FunctionId(self.functions.len() as u32 - 1)
    }

    fn action(&mut self, step: &Joint<'m>) -> Action {
        let guard = self.guard(step);
        let mut locals = Vec::new();
        let mut body = Vec::new();
        if self.model.composition == super::super::ast::Composition::Synchronous {
            self.lockstep_body(step, &mut locals, &mut body);
        } else {
            if self.errors == ModelErrors::ErrorState {
                for member in &step.members {
                    let fault = member.transition.guard.as_ref().and_then(|guard| self.fault(guard));
                    self.fail_on(fault, &mut body);
                }
            }
            let copies = self.copy_received_indices(step, &mut locals, &mut body);
            for operation in &step.operations {
                self.operation(operation, &copies, &mut locals, &mut body);
            }
        }
        Action {
            name: self.action_name(step),
            locals,
            guard,
            body,
            processes: step.members.iter().map(|member| ProcessId(member.process as u32)).collect(),
            span: step.span,
            ..Action::default()
        }
    }

    fn action_name(&self, step: &Joint) -> String {
        let parts: Vec<String> = step
            .members
            .iter()
            .map(|member| {
                let process = &self.model.processes[member.process];
                let (from, to) = (member.transition.source, member.transition.target);
                format!(
                    "{}: {} -> {}",
                    process.name, process.locations[from].name, process.locations[to].name
                )
            })
            .collect();
        let via = step.handshake.map(|channel| format!(" ({})", self.model.channels[channel].name));
        format!("{}{}", parts.join(", "), via.unwrap_or_default())
    }

    /// Location tests first (the compiler dispatches on them), then buffers, then what holds the step back, then the
    /// guards as written.
    fn guard(&mut self, step: &Joint) -> Expr {
        let mut conjuncts = Vec::new();
        for member in &step.members {
            conjuncts.push(self.at(member.process, member.transition.source, member.transition.span));
        }
        for operation in &step.operations {
            let (channel, op, against, span) = match operation {
                Operation::Push { channel, span, .. } => {
                    (*channel, BinaryOp::Less, self.model.channels[*channel].capacity as i64, *span)
                }
                Operation::Pop { channel, span, .. } => (*channel, BinaryOp::Greater, 0, *span),
                _ => continue,
            };
            if let Some(buffer) = self.buffers[channel] {
                let held = self.whole(buffer.held, span).read();
                conjuncts.push(binary(op, held, number(against, span), span));
            }
        }
        self.hold_back(step, &mut conjuncts);
        for member in &step.members {
            let Some(guard) = &member.transition.guard else { continue };
            let condition = self.expr(guard, &Copies::new());
            let fault = if self.errors == ModelErrors::ErrorState { self.fault(guard) } else { None };
            match fault {
                // A guard that meets an error passes; the body then goes to the error state.
                Some(fault) => conjuncts.push(Expr::binary(BinaryOp::Or, fault, condition)),
                None => flatten(condition, &mut conjuncts),
            }
        }
        Expr::all(conjuncts)
    }

    /// Adds the tests that no process is committed, unless the members leave committed locations themselves (then all
    /// of them do).
    fn hold_back(&self, step: &Joint, conjuncts: &mut Vec<Expr>) {
        let model = self.model;
        let system = |process: usize| Some(process) != model.property;
        let Some(first) = step.members.iter().find(|member| system(member.process)) else { return };
        if is_committed(model, *first) {
            return;
        }
        for (number_of, process) in model.processes.iter().enumerate().filter(|(number, _)| system(*number)) {
            // A member's own location is known from its location test.
            if step.members.iter().any(|member| member.process == number_of) {
                continue;
            }
            for (at, _) in process.locations.iter().enumerate().filter(|(_, location)| location.committed) {
                let location = self.location_place(number_of, step.span).read();
                conjuncts.push(binary(BinaryOp::NotEqual, location, number(at as i64, step.span), step.span));
            }
        }
    }

    /// `if fault { go to the error state }`
    fn fail_on(&mut self, fault: Option<Expr>, body: &mut Vec<Stmt>) {
        let (Some(fault), Some(function)) = (fault, self.error_function) else { return };
        let span = fault.span;
        let stop = vec![
            Stmt::new(StmtKind::Call(function, Vec::new()), span),
            Stmt::new(StmtKind::Return(None), span),
        ];
        body.push(Stmt::new(StmtKind::If { branches: vec![(fault, stop)], otherwise: Vec::new() }, span));
    }

    fn operation(
        &mut self,
        operation: &Operation,
        copies: &Views,
        locals: &mut Vec<Local>,
        body: &mut Vec<Stmt>,
    ) {
        match operation {
            Operation::Enter { process, location, span } => {
                let place = self.location_place(*process, *span);
                body.push(assign(place, number(*location as i64, *span)));
            }
            Operation::Assign { target, value } => {
                if self.errors == ModelErrors::ErrorState {
                    let fault = self.assignment_fault(target, value, None);
                    self.fail_on(fault, body);
                }
                let index = target.index.as_ref().map(|index| self.expr(index, &copies.now));
                let place = self.place(target.variable, index, target.span, &Copies::new());
                let value = self.expr(value, &copies.now);
                body.push(assign(place, value));
            }
            Operation::Transfer { target, value, cut } => {
                if self.errors == ModelErrors::ErrorState {
                    let fault = self.assignment_fault(target, value, *cut);
                    self.fail_on(fault, body);
                }
                let index = target.index.as_ref().map(|index| self.expr(index, &copies.before));
                let place = self.place(target.variable, index, target.span, &Copies::new());
                let value = self.cut(value, *cut);
                body.push(assign(place, value));
            }
            Operation::Push { channel, values, span } => {
                let Some(buffer) = self.buffers[*channel] else { return };
                let types = self.model.channels[*channel].types.clone().unwrap_or_default();
                let held = self.whole(buffer.held, *span);
                for (item, (value, scalar)) in values.iter().zip(&types).enumerate() {
                    if self.errors == ModelErrors::ErrorState {
                        let fault = self.fault(value);
                        self.fail_on(fault, body);
                    }
                    let value = self.cut(value, Some(*scalar));
                    let place = self.item_place(buffer, held.clone().read(), item, *span);
                    body.push(assign(place, value));
                }
                let more = binary(BinaryOp::Add, held.clone().read(), number(1, *span), *span);
                body.push(assign(held, more));
            }
            Operation::Pop { channel, targets, span } => {
                let Some(buffer) = self.buffers[*channel] else { return };
                for (item, target) in targets.iter().enumerate() {
                    let size = self.model.variables[target.variable].initial.len();
                    if self.errors == ModelErrors::ErrorState {
                        let fault = target.index.as_ref().and_then(|index| self.index_fault(index, size));
                        self.fail_on(fault, body);
                    }
                    let index = target.index.as_ref().map(|index| self.expr(index, &copies.before));
                    let place = self.place(target.variable, index, target.span, &Copies::new());
                    let value = self.item_place(buffer, number(0, *span), item, *span).read();
                    body.push(assign(place, value));
                }
                self.shift_buffer(*channel, *span, locals, body);
            }
        }
    }

    /// Keeps the value a variable has now in a local.
    fn copy_variable(
        &self,
        variable: usize,
        span: Span,
        locals: &mut Vec<Local>,
        body: &mut Vec<Stmt>,
    ) -> LocalId {
        let shape: ShapeId = self.shape(self.variables[variable]);
        let name = format!("old {}", self.model.variables[variable].name);
        locals.push(Local { name, shape, kind: LocalKind::Variable });
        let local = LocalId(locals.len() as u32 - 1);
        let to = Place::local(local, shape, span);
        let from = self.whole(self.variables[variable], span);
        body.push(Stmt::new(StmtKind::Copy { to, from }, span));
        local
    }

    /// Where several values are received at once and the index of one is another: the index counts as before.
    fn copy_received_indices(&self, step: &Joint, locals: &mut Vec<Local>, body: &mut Vec<Stmt>) -> Views {
        let mut targets: Vec<&Lvalue> = Vec::new();
        for operation in &step.operations {
            match operation {
                Operation::Transfer { target, .. } => targets.push(target),
                Operation::Pop { targets: popped, .. } => targets.extend(popped.iter()),
                _ => {}
            }
        }
        let mut views = Views::default();
        for (at, target) in targets.iter().enumerate() {
            let mut read = Vec::new();
            target.index.iter().for_each(|index| reads(index, &mut read));
            for variable in read {
                let received_before = targets[..at].iter().any(|earlier| earlier.variable == variable);
                if received_before && !views.before.iter().any(|(copied, _)| *copied == variable) {
                    let local = self.copy_variable(variable, step.span, locals, body);
                    views.before.push((variable, local));
                }
            }
        }
        views
    }

    /// All processes at once: each reads what was there before, also where another one writes it.
    fn lockstep_body(&mut self, step: &Joint, locals: &mut Vec<Local>, body: &mut Vec<Stmt>) {
        let writes: Vec<Vec<usize>> = step
            .members
            .iter()
            .map(|member| member.transition.effects.iter().map(|effect| effect.target.variable).collect())
            .collect();
        for (first, list) in writes.iter().enumerate() {
            for variable in list {
                if writes[first + 1..].iter().any(|other| other.contains(variable)) {
                    let name = &self.model.variables[*variable].name;
                    let message = format!("two processes assign `{name}` at once");
                    body.push(Stmt::new(StmtKind::Fail(message), step.span));
                    return;
                }
            }
        }
        let mut copies: Vec<Copies> = vec![Copies::new(); step.members.len()];
        for (reader, member) in step.members.iter().enumerate() {
            let mut read = Vec::new();
            for effect in &member.transition.effects {
                reads(&effect.value, &mut read);
                effect.target.index.iter().for_each(|index| reads(index, &mut read));
            }
            for variable in read {
                let changed = writes
                    .iter()
                    .enumerate()
                    .any(|(writer, list)| writer != reader && list.contains(&variable));
                if changed && !copies[reader].iter().any(|(copied, _)| *copied == variable) {
                    let local = self.copy_variable(variable, step.span, locals, body);
                    copies[reader].push((variable, local));
                }
            }
        }
        // Locations change last, so that effects see where the others were.
        for (operation, member) in attribute(step) {
            if !matches!(operation, Operation::Enter { .. }) {
                let views = Views { now: copies[member].clone(), before: Copies::new() };
                self.operation(operation, &views, locals, body);
            }
        }
        for operation in
            step.operations.iter().filter(|operation| matches!(operation, Operation::Enter { .. }))
        {
            self.operation(operation, &Views::default(), locals, body);
        }
    }

    /// DiVinE's error state: everything 0, the first process at its location `error`.
    pub(super) fn declare_error_function(&mut self) {
        let model = self.model;
        let span = Span::default();
        let mut body = Vec::new();
        for (number_of, process) in model.processes.iter().enumerate() {
            let place = self.location_place(number_of, span);
            let location = if number_of == 0 { process.locations.len() as i64 } else { 0 };
            body.push(assign(place, number(location, span)));
        }
        for (number_of, variable) in model.variables.iter().enumerate() {
            if self.ranges.variables[number_of].low == 0 {
                body.push(Stmt::new(StmtKind::Clear(self.whole(self.variables[number_of], span)), span));
                continue;
            }
            for at in 0..variable.initial.len() {
                let index = variable.size.map(|_| number(at as i64, span));
                let place = self.place(number_of, index, span, &Copies::new());
                body.push(assign(place, number(0, span)));
            }
        }
        for channel in 0..model.channels.len() {
            if let Some(buffer) = self.buffers[channel] {
                body.push(Stmt::new(StmtKind::Clear(self.whole(buffer.held, span)), span));
                body.push(Stmt::new(StmtKind::Clear(self.whole(buffer.messages, span)), span));
                for place in self.zero_message_places(channel, buffer, None, span) {
                    body.push(assign(place, number(0, span)));
                }
            }
        }
        self.functions.push(Function {
            name: "error state".to_string(),
            parameters: 0,
            locals: Vec::new(),
            result: None,
            body,
            span,
        });
        self.error_function = Some(FunctionId(self.functions.len() as u32 - 1));
    }
}

/// Each operation with the place among the members of the one whose it is: members' parts stand one after the other.
fn attribute<'s, 'm>(step: &'s Joint<'m>) -> impl Iterator<Item = (&'s Operation<'m>, usize)> {
    let mut member = 0;
    step.operations.iter().map(move |operation| {
        if let Operation::Enter { process, .. } = operation {
            member = step.members.iter().position(|m| m.process == *process).unwrap_or(member);
        }
        (operation, member)
    })
}

/// The conjuncts of a condition, one by one.
fn flatten(condition: Expr, conjuncts: &mut Vec<Expr>) {
    match condition.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            flatten(*left, conjuncts);
            flatten(*right, conjuncts);
        }
        _ => conjuncts.push(condition),
    }
}

/// The variables a term reads.
fn reads(term: &Term, found: &mut Vec<usize>) {
    match &term.kind {
        TermKind::Constant(_) | TermKind::At(..) => {}
        TermKind::Read(variable) => found.push(*variable),
        TermKind::Element(variable, index) => {
            found.push(*variable);
            reads(index, found);
        }
        TermKind::Lookup(_, inner) | TermKind::Unary(_, inner) => reads(inner, found),
        TermKind::Binary(_, left, right) => {
            reads(left, found);
            reads(right, found);
        }
    }
}
