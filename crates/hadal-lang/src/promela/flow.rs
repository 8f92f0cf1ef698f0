//! The steps out of each control state of a process.

use super::model::{Element, ElementId, ElementKind, Op, Process};

/// A step: which element is carried out, and where control stands afterwards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The basic statement, `d_step` or jump.
    pub element: ElementId,
    /// The control state after it.
    pub to: ElementId,
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
    pub fn resolve(&self, mut element: ElementId) -> ElementId {
        // A chain of jumps that never ends has no state of its own: its first element stands for it.
        let first = element;
        for _ in 0..=self.elements.len() {
            match self.elements[element].kind {
                ElementKind::Goto(to) | ElementKind::Unless(to) => element = to,
                _ => return element,
            }
        }
        first
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
        // Escapes are listed innermost first.
        for &escape in self.elements[state].escapes.iter().rev() {
            let mut list = Vec::new();
            self.collect(self.resolve(escape), &mut list, 0);
            exits.escapes.push(list);
        }
        exits
    }

    fn collect(&self, element: ElementId, out: &mut Vec<Edge>, depth: usize) {
        if depth > self.elements.len() {
            return;
        }
        let this: &Element = &self.elements[element];
        let mut push = |to| {
            let edge = Edge { element, to };
            if !out.contains(&edge) {
                out.push(edge);
            }
        };
        match &this.kind {
            ElementKind::Op(_) | ElementKind::Step(_) => push(self.resolve(this.next)),
            ElementKind::Goto(to) => push(self.resolve(*to)),
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
            ElementKind::Goto(_) => Some(&Op::Jump),
            _ => None,
        }
    }

    /// Whether a process that stands at this control state is inside an atomic sequence.
    pub fn is_atomic(&self, state: ElementId) -> bool {
        self.elements[state].atomic
    }
}
