//! From sequences to control graphs, with the states that SPIN gives a process: one per statement, block, selection and
//! loop. Jumps are passed through, and so are the ends of selections and loops, but where they end an atomic sequence.

use super::super::ast::{self, Stmt, StmtKind};
use super::super::model::{
    Atomic, Element, ElementId, ElementKind, Label, Op, Process, Term, TermKind, Type, VarPath,
};
use super::Checker;
use hadal_system::Span;
use std::rc::Rc;

/// What surrounds a statement.
#[derive(Clone)]
struct Around {
    /// `Last` where what comes last here is the last of an atomic sequence.
    atomic: Atomic,
    escapes: Rc<[ElementId]>,
    /// What follows the innermost loop.
    after_loop: Option<ElementId>,
    /// Still among the declarations a process begins with.
    head: bool,
}

impl Around {
    /// What surrounds the parts of a statement that something follows.
    fn within(&self) -> Self {
        let atomic = if self.atomic == Atomic::Outside { Atomic::Outside } else { Atomic::Inside };
        Around { atomic, ..self.clone() }
    }
}

/// What labels begin with that mark a state.
const MARKS: [&str; 3] = ["accept", "end", "progress"];

/// The graph being built.
#[derive(Default)]
struct Graph {
    elements: Vec<Element>,
    labels: Vec<Label>,
    jumps: Vec<(ElementId, ast::Name)>,
    /// Jumps and breaks, which may lead from one atomic sequence to another.
    bridges: Vec<ElementId>,
    at_head: Vec<(usize, bool)>,
    /// How many parts SPIN has counted so far.
    counted: u32,
}

impl Graph {
    fn allocate(&mut self, span: Span) -> ElementId {
        let escapes = Rc::from([]);
        let atomic = Atomic::Outside;
        self.elements.push(Element { kind: ElementKind::End, next: 0, atomic, escapes, number: 0, span });
        self.elements.len() - 1
    }

    /// Gives an element the next number.
    fn count(&mut self, id: ElementId) {
        self.counted += 1;
        self.elements[id].number = self.counted;
    }

    /// The end of a selection or loop, or a jump behind a label.
    fn join(&mut self, kind: ElementKind, around: &Around, span: Span) -> ElementId {
        let id = self.allocate(span);
        self.elements[id].kind = kind;
        self.elements[id].atomic = around.atomic;
        self.elements[id].escapes = around.escapes.clone();
        id
    }

    /// Where jumps lead out of an atomic sequence, it ends with them; where they lead to another, it goes on.
    fn bridge(&mut self) {
        for &id in &self.bridges {
            let ElementKind::Goto(to) = self.elements[id].kind else { continue };
            let target = self.elements[to].atomic;
            let atomic = &mut self.elements[id].atomic;
            *atomic = match (*atomic, target) {
                (Atomic::Inside, Atomic::Outside) => Atomic::Last,
                (Atomic::Last, Atomic::Inside | Atomic::Last) => Atomic::Inside,
                (as_it_is, _) => as_it_is,
            };
        }
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
        let around = Around { atomic: Atomic::Outside, escapes: Rc::from([]), after_loop: None, head: true };
        made.entry = self.sequence(&process.body, 0, &around, &mut graph);
        for (element, name) in std::mem::take(&mut graph.jumps) {
            match graph.labels.iter().find(|label| label.name == name.text) {
                Some(label) => {
                    let to = label.element;
                    graph.elements[element].kind = ElementKind::Goto(to);
                }
                None => self.error(name.span, format!("there is no label `{}`", name.text)),
            }
        }
        graph.bridge();
        graph.count(0);
        made.elements = graph.elements;
        made.labels = graph.labels;
        made.alone = std::mem::take(&mut self.scopes.alone);
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
                StmtKind::Exclusive(..) | StmtKind::Temporary(_) => false,
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
        let last = ids.iter().rposition(Option::is_some);
        let mut inner = around.within();
        for (n, stmt) in list.iter().enumerate() {
            let Some(id) = ids[n] else {
                match &stmt.kind {
                    StmtKind::Declare(variable) | StmtKind::Temporary(variable) => {
                        let variable = self.variable(variable);
                        self.scopes.declare(variable);
                    }
                    StmtKind::Exclusive(way, channels) => self.exclusive(*way, channels),
                    _ => {}
                }
                continue;
            };
            inner.head = false;
            if last == Some(n) {
                inner.atomic = around.atomic;
            }
            let next = ids[n + 1..].iter().flatten().next().copied().unwrap_or(next);
            stacker::maybe_grow(128 << 10, 1 << 20, || {
                self.element(stmt, Spot { id, next }, &inner, graph);
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

    fn element(&mut self, stmt: &Stmt, mut spot: Spot, around: &Around, graph: &mut Graph) {
        let Spot { id, next } = spot;
        for label in &stmt.labels {
            if graph.labels.iter().any(|it| it.name == label.text) {
                self.error(label.span, format!("the label `{}` stands twice in this process", label.text));
            }
            let watched = self.tree.watched.contains(&label.text);
            graph.labels.push(Label { name: label.text.clone(), element: id, watched });
        }
        // What the parts of a statement lie in, and where the statement itself does.
        let within = around.within();
        let mut atomic = within.atomic;
        // What SPIN counts behind the statement itself.
        let mut behind = Vec::new();
        let kind = match &stmt.kind {
            StmtKind::If(options) => {
                let join = graph.join(ElementKind::Join(next), around, stmt.span);
                let options = options.iter().map(|option| self.block(option, join, &within, graph));
                let options = options.collect();
                behind.push(join);
                ElementKind::Choice(options)
            }
            StmtKind::Do(options) => {
                let after = graph.join(ElementKind::Leave(next), around, stmt.span);
                let inside = Around { after_loop: Some(after), ..within };
                let options = options.iter().map(|option| self.block(option, id, &inside, graph));
                let options = options.collect();
                // The end of the loop, and the place that jumps out of it lead to.
                behind.extend([after, after]);
                ElementKind::Choice(options)
            }
            StmtKind::Break | StmtKind::Goto(_) => self.jump(stmt, &mut spot, around, graph),
            StmtKind::Block(body) => ElementKind::Enter(self.block(body, next, around, graph)),
            StmtKind::Atomic(body) => {
                let outermost = around.atomic == Atomic::Outside;
                let atomic = if outermost { Atomic::Last } else { around.atomic };
                ElementKind::Enter(self.block(body, next, &Around { atomic, ..around.clone() }, graph))
            }
            StmtKind::Unless(main, escape) => {
                let join = graph.join(ElementKind::Join(next), around, stmt.span);
                // A block is counted as it is read, before the escape; a statement without braces behind it.
                let (first, in_block) = (graph.counted, is_block(main));
                graph.counted += if in_block { counted(parts(main)) } else { 0 };
                let escape = self.block(parts(escape), join, &within, graph);
                let escapes = std::iter::once(escape).chain(around.escapes.iter().copied()).collect();
                let behind_escape = graph.counted;
                if in_block {
                    graph.counted = first;
                }
                let main = self.block(parts(main), join, &Around { escapes, ..within }, graph);
                graph.counted = graph.counted.max(behind_escape);
                behind.push(join);
                ElementKind::Unless(main)
            }
            StmtKind::Step(body) => {
                atomic = around.atomic;
                graph.counted += counted(body);
                ElementKind::Step(self.whole_step(body))
            }
            StmtKind::Declare(variable) => {
                atomic = around.atomic;
                let variable = self.variable(variable);
                let at = self.scopes.declare(variable);
                graph.at_head.push((at, false));
                ElementKind::Op(Op::Declare(at))
            }
            _ => {
                atomic = around.atomic;
                ElementKind::Op(self.op(stmt))
            }
        };
        if let ElementKind::Goto(_) = kind {
            atomic = around.atomic;
        }
        graph.count(id);
        behind.into_iter().for_each(|id| graph.count(id));
        let element = &mut graph.elements[id];
        element.kind = kind;
        element.next = spot.next;
        element.atomic = atomic;
        element.escapes = around.escapes.clone();
    }

    /// A `goto` or `break`. One with a label that can be seen from outside is a step, and jumps behind it.
    fn jump(&mut self, stmt: &Stmt, spot: &mut Spot, around: &Around, graph: &mut Graph) -> ElementKind {
        let to = match around.after_loop {
            _ if matches!(stmt.kind, StmtKind::Goto(_)) => spot.next,
            Some(after) => after,
            None => {
                self.error(stmt.span, "`break` outside a loop");
                spot.next
            }
        };
        let watched = stmt.labels.iter().any(|it| self.tree.watched.contains(&it.text));
        let marked = stmt.labels.iter().any(|it| MARKS.iter().any(|mark| it.text.starts_with(mark)));
        let mut place = spot.id;
        if watched || marked {
            // The jump behind a label that is only referred to is no part of an atomic sequence, as in SPIN.
            let atomic = if marked { around.atomic } else { Atomic::Outside };
            place = graph.join(ElementKind::Goto(to), &Around { atomic, ..around.clone() }, stmt.span);
            spot.next = place;
        }
        if let StmtKind::Goto(name) = &stmt.kind {
            graph.jumps.push((place, name.clone()));
        }
        if place == spot.id || marked {
            graph.bridges.push(place);
        }
        match place == spot.id {
            true => ElementKind::Goto(to),
            false => ElementKind::Op(Op::Condition(Term { kind: TermKind::Const(1), span: stmt.span })),
        }
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
            _ => {
                self.error(stmt.span, "this is not allowed here");
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

fn is_block(stmt: &Stmt) -> bool {
    matches!(stmt.kind, StmtKind::Block(_)) && stmt.labels.is_empty()
}

/// How many parts SPIN counts in a sequence (`new_el` in its `flow.c`): a statement is one, with its end where it is a
/// selection, and the place behind it where it is a loop.
fn counted(list: &[Stmt]) -> u32 {
    let mut all = 0;
    walk(list, &mut |stmt| {
        all += match &stmt.kind {
            StmtKind::Exclusive(..) | StmtKind::Temporary(_) => 0,
            StmtKind::Declare(variable) => {
                u32::from(!matches!(variable.initial, Some(ast::Initial::Channel(..))))
            }
            StmtKind::If(_) => 2,
            // The braces of its parts are not counted.
            StmtKind::Unless(main, escape) => 2 - u32::from(is_block(main)) - u32::from(is_block(escape)),
            StmtKind::Do(_) => 3,
            _ => 1,
        };
    });
    all
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
