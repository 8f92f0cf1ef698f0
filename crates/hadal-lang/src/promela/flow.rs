//! The steps out of each control state of a process.

use super::model::{Atomic, Element, ElementId, ElementKind, Op, Process};

/// A step: which element is carried out, and where control stands afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The basic statement, `d_step` or jump.
    pub element: ElementId,
    /// The control state after it.
    pub to: ElementId,
    /// Whether the process goes on alone afterwards, because it is inside an atomic sequence.
    pub alone: bool,
}

/// What can happen in a control state.
#[derive(Clone, Debug, Default)]
pub struct Exits {
    /// Steps of escapes, outermost first: each list can fire only where none before it can.
    pub escapes: Vec<Vec<Edge>>,
    /// Steps of the state itself, which can fire only where no escape can.
    pub own: Vec<Edge>,
}

impl Process {
    /// The control state that stands for an element: jumps are passed through.
    pub fn resolve(&self, element: ElementId) -> ElementId {
        self.arrive(element, false)
    }

    /// Where control stands that comes to an element. Jumps are passed through; inside an atomic sequence those that lead
    /// out of it are not, and leave it as a step.
    fn arrive(&self, mut element: ElementId, alone: bool) -> ElementId {
        // A chain of jumps that never ends has no state of its own: its first element stands for it.
        let first = element;
        for _ in 0..=self.elements.len() {
            let Some(to) = self.passes_to(element) else { return element };
            if alone && !self.goes_on_alone(to) {
                return element;
            }
            element = to;
        }
        first
    }

    /// Where control goes on behind an element that is passed through.
    fn passes_to(&self, element: ElementId) -> Option<ElementId> {
        match self.elements[element].kind {
            ElementKind::Goto(to) | ElementKind::Join(to) | ElementKind::Leave(to) => Some(to),
            ElementKind::Unless(first) => Some(first),
            _ => None,
        }
    }

    /// Where a block or an option begins: jumps are steps there.
    pub fn start(&self, mut element: ElementId) -> ElementId {
        for _ in 0..=self.elements.len() {
            match self.elements[element].kind {
                ElementKind::Join(to) | ElementKind::Unless(to) => element = to,
                _ => break,
            }
        }
        element
    }

    /// Where control stands behind an element that is a step.
    pub fn after(&self, element: ElementId) -> ElementId {
        let next = self.passes_to(element).unwrap_or(self.elements[element].next);
        self.arrive(next, self.goes_on_alone(element))
    }

    /// Where a jump from `from` to `to` leads, if not to `stop` on its way.
    pub fn arrive_before(&self, mut to: ElementId, from: ElementId, stop: ElementId) -> ElementId {
        for _ in 0..=self.elements.len() {
            let Some(next) = self.passes_to(to) else { break };
            if to == stop || self.goes_on_alone(from) && !self.goes_on_alone(next) {
                break;
            }
            to = next;
        }
        to
    }

    fn goes_on_alone(&self, element: ElementId) -> bool {
        self.elements[element].atomic == Atomic::Inside
    }

    /// Every control state that can be reached, the first one first, and the end wherever it is reached.
    pub fn states(&self) -> Vec<ElementId> {
        let mut states = vec![self.resolve(self.entry)];
        let mut seen = vec![false; self.elements.len()];
        seen[states[0]] = true;
        let mut at = 0;
        while at < states.len() {
            let exits = self.exits(states[at]);
            for edge in exits.escapes.iter().flatten().chain(&exits.own) {
                if !std::mem::replace(&mut seen[edge.to], true) {
                    states.push(edge.to);
                }
            }
            at += 1;
        }
        states
    }

    /// The steps out of a control state.
    pub fn exits(&self, state: ElementId) -> Exits {
        let mut exits = Exits::default();
        self.collect(state, &mut exits.own, 0);
        // Each option has the escapes of its first statement, innermost first; they are shared as a rule.
        let mut met = Vec::new();
        for edge in &exits.own {
            if let ElementKind::Join(_) = self.elements[edge.element].kind {
                continue;
            }
            for &escape in self.elements[edge.element].escapes.iter() {
                let to = self.arrive(escape, self.goes_on_alone(edge.element));
                if met.contains(&to) {
                    continue;
                }
                met.push(to);
                let mut list = Vec::new();
                self.collect(to, &mut list, 0);
                let known = |it: &Edge| {
                    exits
                        .own
                        .iter()
                        .chain(exits.escapes.iter().flatten())
                        .any(|had| had.element == it.element)
                };
                list.retain(|it| !known(it));
                exits.escapes.insert(0, list);
            }
        }
        exits
    }

    fn collect(&self, element: ElementId, out: &mut Vec<Edge>, depth: usize) {
        if depth > self.elements.len() {
            return;
        }
        let this: &Element = &self.elements[element];
        let mut push = || {
            let (to, alone) = match self.merged.get(element).and_then(|merged| merged.ends) {
                Some(ends) => ends,
                None => (self.after(element), self.goes_on_alone(element)),
            };
            let edge = Edge { element, to, alone };
            if !out.contains(&edge) {
                out.push(edge);
            }
        };
        match &this.kind {
            ElementKind::Op(_)
            | ElementKind::Step(_)
            | ElementKind::Goto(_)
            | ElementKind::Join(_)
            | ElementKind::Leave(_) => push(),
            ElementKind::End => {}
            ElementKind::Choice(options) => {
                for &option in options {
                    stacker::maybe_grow(64 << 10, 1 << 20, || self.collect(option, out, depth + 1));
                }
            }
            ElementKind::Enter(first) | ElementKind::Unless(first) => {
                stacker::maybe_grow(64 << 10, 1 << 20, || self.collect(*first, out, depth + 1));
            }
        }
    }

    /// The basic statement of an element; jumps are steps that do nothing.
    pub fn op(&self, element: ElementId) -> Option<&Op> {
        match &self.elements[element].kind {
            ElementKind::Op(op) => Some(op),
            ElementKind::Goto(_) | ElementKind::Join(_) | ElementKind::Leave(_) => Some(&Op::Jump),
            _ => None,
        }
    }
}
