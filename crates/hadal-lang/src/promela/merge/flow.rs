//! The control graph of a process with what each step reads and writes, steps inside `d_step` included.

use super::super::lower::slots::indices;
use super::super::model::{
    Argument, Element, ElementId, ElementKind, Initial, Op, Process, Receive, Step, Type, VarPath, VarRef,
};
use super::visible::locals;
use std::collections::HashMap;
use std::rc::Rc;

/// A step between states; elements are the first states.
pub(super) struct Move {
    pub to: usize,
    /// The element whose statement it is, where it can be followed by resets.
    pub of: Option<ElementId>,
    pub reads: Vec<usize>,
    pub writes: Vec<usize>,
}

/// The graph, the last step of a state first.
pub(super) struct Graph<'p> {
    process: &'p Process,
    pub steps: Vec<Vec<Move>>,
    labels: HashMap<Rc<str>, usize>,
    jumps: Vec<(usize, Rc<str>)>,
}

impl<'p> Graph<'p> {
    pub fn new(process: &'p Process) -> Self {
        let steps = process.elements.iter().map(|_| Vec::new()).collect();
        let mut graph = Graph { process, steps, labels: HashMap::new(), jumps: Vec::new() };
        for (id, element) in process.elements.iter().enumerate() {
            graph.element(id, element);
        }
        graph
    }

    fn silent(&mut self, from: usize, to: usize) {
        self.steps[from].insert(0, Move { to, of: None, reads: Vec::new(), writes: Vec::new() });
    }

    fn element(&mut self, id: ElementId, element: &Element) {
        match &element.kind {
            ElementKind::End | ElementKind::Unless(_) => return,
            ElementKind::Choice(options) => {
                let start = |option: &ElementId| self.process.start(*option);
                let is_else = |it: &ElementId| matches!(self.process.op(*it), Some(Op::Else));
                let (last, first): (Vec<_>, Vec<_>) = options.iter().map(start).partition(is_else);
                for to in first.into_iter().chain(last) {
                    self.silent(id, to);
                }
                return;
            }
            ElementKind::Enter(first) => return self.silent(id, self.process.start(*first)),
            ElementKind::Goto(_) | ElementKind::Join(_) => return self.silent(id, self.process.after(id)),
            ElementKind::Leave(_) => self.silent(id, self.process.after(id)),
            ElementKind::Step(steps) => {
                let next = self.process.after(id);
                self.labels.clear();
                let first = self.sequence(steps, next, next);
                self.silent(id, first);
                for (from, label) in std::mem::take(&mut self.jumps) {
                    let to = self.labels.get(&label).copied().unwrap_or(next);
                    self.silent(from, to);
                }
            }
            ElementKind::Op(op) => {
                let mut step = self.op(op, self.process.after(id));
                step.of = Some(id);
                self.steps[id].insert(0, step);
            }
        }
        // Escapes, the outermost first.
        for &escape in element.escapes.iter().rev() {
            self.silent(id, self.process.start(escape));
        }
    }

    fn add(&mut self) -> usize {
        self.steps.push(Vec::new());
        self.steps.len() - 1
    }

    /// Statements inside `d_step`; where they begin.
    fn sequence(&mut self, steps: &[Step], end: usize, after_loop: usize) -> usize {
        let mut next = end;
        for step in steps.iter().rev() {
            next = match step {
                Step::Op(op, _) => {
                    let at = self.add();
                    let step = self.op(op, next);
                    self.steps[at].push(step);
                    at
                }
                Step::Break => after_loop,
                Step::Goto(label) => {
                    let at = self.add();
                    self.jumps.push((at, label.clone()));
                    at
                }
                Step::Label(label) => {
                    self.labels.insert(label.clone(), next);
                    next
                }
                Step::If(options, _) | Step::Do(options, _) => {
                    let at = self.add();
                    let (to, leave) = if let Step::Do(..) = step { (at, next) } else { (next, after_loop) };
                    for option in options {
                        let first =
                            stacker::maybe_grow(64 << 10, 1 << 20, || self.sequence(option, to, leave));
                        self.silent(at, first);
                    }
                    at
                }
            };
        }
        next
    }

    fn op(&self, op: &Op, to: usize) -> Move {
        let mut step = Move { to, of: None, reads: Vec::new(), writes: Vec::new() };
        let reads = &mut step.reads;
        match op {
            Op::Condition(term) | Op::Assert(term) => locals(term, reads),
            Op::Assign(target, value) => {
                locals(value, reads);
                written(target, &mut step);
            }
            Op::Declare(n) => {
                if let Initial::Value(term) = &self.process.variables[*n].initial {
                    locals(term, reads);
                }
                if self.process.variables[*n].length.is_none() {
                    step.writes.push(*n);
                }
            }
            Op::Print(_, values) => values.iter().for_each(|value| locals(value, reads)),
            Op::Send { channel, values, .. } => {
                indices(channel, &mut |term| locals(term, reads));
                values.iter().for_each(|value| locals(value, reads));
            }
            Op::Receive(receive) => received(receive, &mut step),
            Op::SetPriority(pid, priority) => [pid, priority].into_iter().for_each(|it| locals(it, reads)),
            Op::Else | Op::Jump | Op::Event { .. } => {}
        }
        step
    }
}

fn written(target: &VarPath, step: &mut Move) {
    indices(target, &mut |term| locals(term, &mut step.reads));
    if let (VarRef::Local(n), true) = (target.var, target.path.is_empty()) {
        step.writes.push(n);
    }
}

fn received(receive: &Receive, step: &mut Move) {
    indices(&receive.channel, &mut |term| locals(term, &mut step.reads));
    for argument in &receive.arguments {
        match argument {
            Argument::Match(term) => locals(term, &mut step.reads),
            Argument::Into(target) => written(target, step),
            Argument::Ignore => {}
        }
    }
}

/// Whether a variable can be reset: a local number.
pub(super) fn is_number(process: &Process, variable: usize) -> bool {
    let it = &process.variables[variable];
    it.length.is_none() && !matches!(it.ty, Type::Chan | Type::Record(_))
}
