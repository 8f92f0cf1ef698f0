//! What both estimates keep of the state they look at: the values of its variables, the operators that are switched off, and the
//! transitions they would take first.

use super::super::graph::all_off;
use crate::task::{AbstractTask, NO_NUMBER, Operator};
use hadal_system::Label;
use hadal_system::guide::Mask;
use std::collections::HashMap;

pub struct Present {
    /// By variable; 0 where it is not one scalar, or not thought possible: such a value moves nowhere.
    pub values: Vec<u16>,
    /// The number of the estimate: what bears another is of an earlier one.
    pub stamp: u32,
    /// Transitions of variables looked at so far, in all estimates.
    pub looked_at: u64,
    /// What `looked_at` was when the estimate began.
    before: u64,
    off: Off,
    preferred: Vec<Label>,
}

/// What looking at a transition of a variable counts as: about nanoseconds.
const TRANSITION_WORK: u64 = 40;
/// An estimate looks at no more transitions of variables than this: some tenths of a second.
const MOST_LOOKED_AT: u64 = 500_000;

impl Present {
    pub fn new(task: &AbstractTask) -> Self {
        let values = vec![0; task.variables.len()];
        Present { values, stamp: 0, looked_at: 0, before: 0, off: Off::new(task), preferred: Vec::new() }
    }

    /// Begins an estimate of `state`; true where stamps begin anew, so that those kept elsewhere must be cleared.
    pub fn begin(&mut self, task: &AbstractTask, state: &[u64], off: Option<&Mask>) -> bool {
        self.off.set(task, off);
        for (value, variable) in self.values.iter_mut().zip(&task.variables) {
            let number = if variable.is_single() { variable.number(state) } else { 0 };
            *value = if number == NO_NUMBER { 0 } else { number };
        }
        self.preferred.clear();
        self.before = self.looked_at;
        let next = self.stamp.checked_add(1);
        self.stamp = next.unwrap_or(1);
        next.is_none()
    }

    /// Notes that this way would be taken first.
    pub fn prefer(&mut self, operator: &Operator) {
        let Some(&(label, _)) = operator.labels.first() else { return };
        if let Err(at) = self.preferred.binary_search(&Label(label)) {
            self.preferred.insert(at, Label(label));
        }
    }

    /// The transitions noted, ascending.
    pub fn preferred(&self) -> &[Label] {
        &self.preferred
    }

    /// Whether the estimate has taken as much as one may.
    pub fn is_over(&self) -> bool {
        self.looked_at - self.before > MOST_LOOKED_AT
    }

    /// What all estimates so far have taken.
    pub fn work(&self) -> u64 {
        self.looked_at * TRANSITION_WORK
    }

    pub fn is_off(&self, operator: u32) -> bool {
        self.off.is_off(operator)
    }
}

/// Which operators a mask switches off.
struct Off {
    operators: Vec<bool>,
    any: bool,
    known: HashMap<Mask, Vec<bool>>,
}

/// As many masks are kept.
const MAX_MASKS: usize = 4096;

impl Off {
    fn new(task: &AbstractTask) -> Self {
        Off { operators: vec![false; task.operators.len()], any: false, known: HashMap::new() }
    }

    fn set(&mut self, task: &AbstractTask, off: Option<&Mask>) {
        let Some(off) = off.filter(|off| !off.is_empty()) else {
            self.any = false;
            return;
        };
        self.any = true;
        if !self.known.contains_key(off) {
            if self.known.len() == MAX_MASKS {
                self.known.clear();
            }
            let operators = task.operators.iter().map(|operator| all_off(&operator.labels, off)).collect();
            self.known.insert(off.clone(), operators);
        }
        if let Some(operators) = self.known.get(off) {
            self.operators.clone_from(operators);
        }
    }

    fn is_off(&self, operator: u32) -> bool {
        self.any && self.operators[operator as usize]
    }
}
