//! From sequences to control graphs, with the states that SPIN gives a process: one per statement, block, selection and
//! loop; jumps are passed through.

use super::super::ast::{self, Stmt, StmtKind};
use super::super::model::{
    Element, ElementId, ElementKind, Label, Op, Process, Term, TermKind, Type, VarPath,
};
use super::Checker;
use hadal_system::Span;
use std::rc::Rc;

/// What surrounds a statement.
#[derive(Clone)]
struct Around {
    atomic: bool,
    escapes: Rc<[ElementId]>,
    /// What follows the innermost loop.
    after_loop: Option<ElementId>,
    /// Still among the declarations a process begins with.
    head: bool,
}

/// The graph being built.
#[derive(Default)]
struct Graph {
    elements: Vec<Element>,
    labels: Vec<Label>,
    jumps: Vec<(ElementId, ast::Name)>,
    at_head: Vec<(usize, bool)>,
}

impl Graph {
    fn allocate(&mut self, span: Span) -> ElementId {
        let escapes = Rc::from([]);
        self.elements.push(Element { kind: ElementKind::End, next: 0, atomic: false, escapes, span });
        self.elements.len() - 1
    }
}

/// Where a statement stands: the element that it becomes, and the one that follows.
#[derive(Clone, Copy)]
struct Spot {
    id: ElementId,
    next: ElementId,
}

impl Checker<'_> {
    /// Builds the control graph of a process.
    pub(super) fn flow(&mut self, made: &mut Process, process: &ast::Proctype) {
        let mut graph = Graph::default();
        graph.allocate(process.end);
        let around = Around { atomic: false, escapes: Rc::from([]), after_loop: None, head: true };
        made.entry = self.sequence(&process.body, 0, &around, &mut graph);
        for (element, name) in std::mem::take(&mut graph.jumps) {
            match graph.labels.iter().find(|label| label.name == name.text) {
                Some(label) => {
                    let to = label.element;
                    // A jump that can be watched is a step.
                    let watched = |it: &&Label| it.element == element && self.tree.watched.contains(&it.name);
                    if graph.labels.iter().any(|it| watched(&it)) {
                        graph.elements[element].kind = ElementKind::Op(Op::Jump);
                        graph.elements[element].next = to;
                    } else {
                        graph.elements[element].kind = ElementKind::Goto(to);
                    }
                }
                None => self.error(name.span, format!("there is no label `{}`", name.text)),
            }
        }
        made.elements = graph.elements;
        made.labels = graph.labels;
        made.variables = std::mem::take(&mut self.scopes.variables);
        made.at_head = vec![true; made.variables.len()];
        for (variable, at_head) in graph.at_head {
            made.at_head[variable] = at_head;
        }
    }

    /// The first element of a sequence that is followed by `next`.
    fn sequence(&mut self, list: &[Stmt], next: ElementId, around: &Around, graph: &mut Graph) -> ElementId {
        let mut head = around.head;
        let mut ids = Vec::new();
        for stmt in list {
            let makes = match &stmt.kind {
                StmtKind::Exclusive | StmtKind::Temporary(_) => false,
                StmtKind::Declare(variable) => {
                    !head && !matches!(variable.initial, Some(ast::Initial::Channel(..)))
                }
                _ => {
                    head = false;
                    true
                }
            };
            ids.push(makes.then(|| graph.allocate(stmt.span)));
        }
        let mut around = around.clone();
        for (n, stmt) in list.iter().enumerate() {
            let Some(id) = ids[n] else {
                if let StmtKind::Declare(variable) | StmtKind::Temporary(variable) = &stmt.kind {
                    let variable = self.variable(variable);
                    self.scopes.declare(variable);
                }
                continue;
            };
            around.head = false;
            let next = ids[n + 1..].iter().flatten().next().copied().unwrap_or(next);
            stacker::maybe_grow(128 << 10, 1 << 20, || {
                self.element(stmt, Spot { id, next }, &around, graph);
            });
        }
        ids.into_iter().flatten().next().unwrap_or(next)
    }

    fn block(&mut self, list: &[Stmt], next: ElementId, around: &Around, graph: &mut Graph) -> ElementId {
        self.scopes.open();
        let first = self.sequence(list, next, around, graph);
        self.scopes.close();
        first
    }

    fn element(&mut self, stmt: &Stmt, Spot { id, next }: Spot, around: &Around, graph: &mut Graph) {
        for label in &stmt.labels {
            if graph.labels.iter().any(|it| it.name == label.text) {
                self.error(label.span, format!("the label `{}` stands twice in this process", label.text));
            }
            graph.labels.push(Label { name: label.text.clone(), element: id });
        }
        let kind = match &stmt.kind {
            StmtKind::Declare(variable) => {
                let variable = self.variable(variable);
                let at = self.scopes.declare(variable);
                graph.at_head.push((at, false));
                ElementKind::Op(Op::Declare(at))
            }
            StmtKind::If(options) => ElementKind::Choice(
                options.iter().map(|option| self.block(option, next, around, graph)).collect(),
            ),
            StmtKind::Do(options) => {
                let inside = Around { after_loop: Some(next), ..around.clone() };
                ElementKind::Choice(
                    options.iter().map(|option| self.block(option, id, &inside, graph)).collect(),
                )
            }
            StmtKind::Break => match around.after_loop {
                Some(after) => ElementKind::Goto(after),
                None => {
                    self.error(stmt.span, "`break` outside a loop");
                    ElementKind::Goto(next)
                }
            },
            StmtKind::Goto(name) => {
                graph.jumps.push((id, name.clone()));
                ElementKind::Goto(next)
            }
            StmtKind::Block(body) => ElementKind::Enter(self.block(body, next, around, graph)),
            StmtKind::Atomic(body) => {
                let inside = Around { atomic: true, ..around.clone() };
                ElementKind::Enter(self.block(body, next, &inside, graph))
            }
            StmtKind::Step(body) => ElementKind::Step(self.whole_step(body)),
            StmtKind::Unless(main, escape) => {
                let escape = self.block(parts(escape), next, around, graph);
                let escapes = std::iter::once(escape).chain(around.escapes.iter().copied()).collect();
                let inside = Around { escapes, ..around.clone() };
                ElementKind::Unless(self.block(parts(main), next, &inside, graph))
            }
            _ => ElementKind::Op(self.op(stmt)),
        };
        let element = &mut graph.elements[id];
        element.kind = kind;
        element.next = next;
        element.atomic = around.atomic;
        element.escapes = around.escapes.clone();
    }

    /// A basic statement.
    pub(super) fn op(&mut self, stmt: &Stmt) -> Op {
        let nothing = || Op::Condition(Checker::zero(stmt.span));
        match &stmt.kind {
            StmtKind::Condition(condition) => Op::Condition(self.term(condition)),
            StmtKind::Else => Op::Else,
            StmtKind::Assign(place, value) if self.is_own_priority(place) => {
                Op::SetPriority(Term { kind: TermKind::Pid, span: stmt.span }, self.term(value))
            }
            StmtKind::Assign(place, value) => {
                let Some(target) = self.target(place) else { return nothing() };
                self.assign(target, value)
            }
            StmtKind::Print(text, values) => {
                Op::Print(text.clone(), values.iter().map(|value| self.term(value)).collect())
            }
            StmtKind::PrintName(value) => Op::Print("%e".into(), vec![self.term(value)]),
            StmtKind::Assert(condition) => Op::Assert(self.term(condition)),
            StmtKind::Send { channel, values, .. } if self.in_trace => self.sent(channel, values),
            StmtKind::Receive(receive) if self.in_trace => self.received(receive),
            StmtKind::Send { channel, values, sorted } => {
                let Some(channel) = self.channel(channel) else { return nothing() };
                Op::Send { channel, values: self.message(values), sorted: *sorted }
            }
            StmtKind::Receive(receive) => match self.receive(receive) {
                Some(receive) => Op::Receive(receive),
                None => nothing(),
            },
            StmtKind::SetPriority(pid, priority) => {
                let pid = self.term(pid);
                Op::SetPriority(pid, self.term(priority))
            }
            StmtKind::Exclusive => Op::Condition(Term { kind: TermKind::Const(1), span: stmt.span }),
            _ => {
                self.error(stmt.span, "this cannot stand here");
                nothing()
            }
        }
    }

    fn assign(&mut self, mut target: VarPath, value: &ast::Expr) -> Op {
        let value = self.term(value);
        if let Type::Record(_) = target.ty {
            self.error(target.span, "a record cannot be assigned; assign its fields");
            target.ty = super::expression::FALLBACK;
            return Op::Condition(Checker::zero(target.span));
        }
        if target.length.take().is_some() {
            let first = Term { kind: TermKind::Const(0), span: target.span };
            target.path.push(super::super::model::Segment::Index(first));
        }
        Op::Assign(target, value)
    }
}

/// The statements of a block, or the statement itself.
fn parts(stmt: &Stmt) -> &[Stmt] {
    match &stmt.kind {
        StmtKind::Block(list) if stmt.labels.is_empty() => list,
        _ => std::slice::from_ref(stmt),
    }
}

/// Visits every statement, in the order of the text.
pub(super) fn walk<'t>(list: &'t [Stmt], visit: &mut dyn FnMut(&'t Stmt)) {
    for stmt in list {
        stacker::maybe_grow(64 << 10, 1 << 20, || {
            visit(stmt);
            match &stmt.kind {
                StmtKind::If(options) | StmtKind::Do(options) => {
                    options.iter().for_each(|option| walk(option, visit));
                }
                StmtKind::Atomic(body) | StmtKind::Step(body) | StmtKind::Block(body) => walk(body, visit),
                // The escape is read first.
                StmtKind::Unless(main, escape) => {
                    walk(std::slice::from_ref(escape), visit);
                    walk(std::slice::from_ref(main), visit);
                }
                _ => {}
            }
        });
    }
}
