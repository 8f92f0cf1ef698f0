//! Makes the successors of packed states.

use super::RowSpace;
use super::costs::RowCost;
use super::derived::Derived;
use super::numeric::{Amount, Overflow};
use super::table::{Condition, Deed, Other};
use hadal_system::rows::{Need, Rational};
use hadal_system::{COST_ERROR, Check, Label, MOST_COST, PropertyId, StateSpace, Successors, Worker};

/// One thread's means to make successors.
pub struct RowWorker<'s> {
    space: &'s RowSpace,
    stack: Vec<u32>,
    hits: Vec<u32>,
    next: Vec<u64>,
    scratch: Scratch,
}

#[derive(Default)]
struct Scratch {
    /// Facts that follow from the state that is expanded or looked at.
    derived: Derived,
    amounts: Vec<Amount>,
}

/// What firing a row came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Firing {
    /// It leads to a state at this cost.
    Reached(u32),
    /// It reads something undefined.
    Inapplicable,
    /// A number is too large, or a cost is negative.
    Fault,
}

impl<'s> RowWorker<'s> {
    pub(super) fn new(space: &'s RowSpace) -> Self {
        RowWorker {
            space,
            stack: Vec::new(),
            hits: Vec::new(),
            next: vec![0; space.layout.words],
            scratch: Scratch::default(),
        }
    }

    /// Collects the rows that can fire in `state`, in an order that is always the same.
    pub fn applicable(&mut self, state: &[u64], rows: &mut Vec<u32>) {
        rows.clear();
        let space = self.space;
        self.scratch.derive(space, state);
        let scratch = &mut self.scratch;
        space.generator.each(state, &mut self.stack, |row| {
            if scratch.holds(space, space.table.needs[row as usize], state) {
                rows.push(row);
            }
        });
    }

    /// Whether one row can fire in `state`.
    pub fn can_fire(&mut self, state: &[u64], row: u32) -> bool {
        let space = self.space;
        let values = space.task.rows[row as usize].needs.iter().all(|need| match *need {
            Need::Is(variable, value) => {
                space.layout.finite[variable as usize].get(state) == u64::from(value)
            }
            _ => true,
        });
        if !values {
            return false;
        }
        self.scratch.derive(space, state);
        self.scratch.holds(space, space.table.needs[row as usize], state)
    }

    /// Fires a row that [`RowWorker::applicable`] found, or that [`RowWorker::can_fire`]; the state it leads to is in `next`.
    pub fn fire(&mut self, state: &[u64], row: u32, next: &mut [u64]) -> Firing {
        if !self.space.derivation.is_empty() {
            self.scratch.derive(self.space, state);
        }
        self.scratch.fire(self.space, state, row, next)
    }

    /// Whether `state` meets the goal.
    pub fn is_goal(&mut self, state: &[u64]) -> bool {
        let space = self.space;
        if !space.table.words_hold(space.goal, state) {
            return false;
        }
        if space.table.others(space.goal).is_empty() {
            return true;
        }
        self.scratch.derive(space, state);
        self.scratch.holds(space, space.goal, state)
    }

    /// Whether a comparison of numbers holds in a state.
    pub fn compares(&mut self, state: &[u64], comparison: u32) -> bool {
        let (term, sign) = self.space.comparisons[comparison as usize];
        self.scratch.derive(self.space, state);
        self.scratch.evaluate(self.space, term, state).is_ok_and(|value| value.has(sign))
    }

    /// The value of a term in a state, where it is defined; near it where numbers are floating point.
    pub fn value(&mut self, state: &[u64], term: u32) -> Option<Rational> {
        self.scratch.derive(self.space, state);
        match self.scratch.evaluate(self.space, term, state).ok()? {
            Amount::Exact(units) => Some(Rational::new(units, self.space.terms.scale(term))),
            Amount::Float(float) => Some(super::near(float)),
            Amount::Undefined => None,
        }
    }

    /// Calls `found` with every row that can fire, what it costs and where it leads.
    #[inline]
    pub fn expand(&mut self, state: &[u64], mut found: impl FnMut(u32, Firing, &[u64])) {
        let space = self.space;
        let mut hits = std::mem::take(&mut self.hits);
        self.applicable(state, &mut hits);
        let mut next = std::mem::take(&mut self.next);
        for &row in &hits {
            match self.scratch.fire(space, state, row, &mut next) {
                Firing::Inapplicable => {}
                firing => found(row, firing, &next),
            }
        }
        (self.hits, self.next) = (hits, next);
    }
}

impl Scratch {
    fn derive(&mut self, space: &RowSpace, state: &[u64]) {
        if space.derivation.is_empty() {
            return;
        }
        let mut derived = std::mem::take(&mut self.derived);
        let amounts = &mut self.amounts;
        space
            .derivation
            .derive(&mut derived, |condition, facts| holds(space, condition, state, facts, amounts));
        self.derived = derived;
    }

    #[inline]
    fn holds(&mut self, space: &RowSpace, condition: Condition, state: &[u64]) -> bool {
        holds(space, condition, state, &self.derived.facts, &mut self.amounts)
    }

    fn evaluate(&mut self, space: &RowSpace, term: u32, state: &[u64]) -> Result<Amount, Overflow> {
        evaluate(space, term, state, &self.derived.facts, &mut self.amounts)
    }

    /// What a row costs, or why it cannot fire. Derived facts are those of `state`.
    #[inline]
    fn cost(&mut self, space: &RowSpace, state: &[u64], row: u32) -> Firing {
        match space.costs.rows[row as usize] {
            RowCost::Fixed(cost) => Firing::Reached(cost),
            RowCost::Term(term, factor) => {
                match self.evaluate(space, term, state).and_then(|cost| cost.times(factor)) {
                    Ok(Amount::Undefined) => Firing::Inapplicable,
                    Ok(Amount::Exact(units)) if (0..=i128::from(MOST_COST)).contains(&units) => {
                        Firing::Reached(units as u32)
                    }
                    _ => fault(space),
                }
            }
        }
    }

    /// Derived facts are those of `state`; afterwards perhaps no longer, where there are monitors.
    #[inline]
    fn fire(&mut self, space: &RowSpace, state: &[u64], row: u32, next: &mut [u64]) -> Firing {
        let cost = match self.cost(space, state, row) {
            Firing::Reached(cost) => cost,
            other => return other,
        };
        next.copy_from_slice(state);
        for &deed in space.table.deeds(row) {
            match deed {
                Deed::Write { word, keep, set } => {
                    let at = &mut next[word as usize];
                    *at = *at & keep | set;
                }
                Deed::WriteWhen { when, word, keep, set } => {
                    if self.holds(space, space.table.condition_of(when), state) {
                        let at = &mut next[word as usize];
                        *at = *at & keep | set;
                    }
                }
                Deed::Assign { when, number, term } | Deed::Increase { when, number, term } => {
                    let when = space.table.condition_of(when);
                    if !when.is_empty() && !self.holds(space, when, state) {
                        continue;
                    }
                    let finer = space.terms.number_scale(number) / space.terms.scale(term);
                    let mut value = self.evaluate(space, term, state).and_then(|value| value.times(finer));
                    let code = space.codes[number as usize];
                    if matches!(deed, Deed::Increase { .. }) {
                        // What grew already in this step grows on.
                        let held = code.decode(code.place.get(next));
                        value = value.and_then(|value| value.plus(held));
                    }
                    match value {
                        Ok(Amount::Undefined) => return Firing::Inapplicable,
                        Err(Overflow) => return fault(space),
                        Ok(value) => match code.encode(value) {
                            Some(bits) => code.place.set(next, bits),
                            None => {
                                space.note_overflow();
                                return Firing::Fault;
                            }
                        },
                    }
                }
            }
        }
        if !space.monitors.is_empty() {
            self.watch(space, state, next);
        }
        Firing::Reached(cost)
    }

    /// Steps the monitors on the state just entered.
    fn watch(&mut self, space: &RowSpace, before: &[u64], next: &mut [u64]) {
        for watch in &space.monitors {
            self.derive(space, next);
            let place = space.layout.finite[watch.variable as usize];
            let now = place.get(next) as u32;
            for &(from, when, to) in &watch.steps {
                if from == now && self.holds(space, when, next) {
                    place.set(next, u64::from(to));
                    break;
                }
            }
        }
        // The next row of the same expansion reads the facts of the state before.
        self.derive(space, before);
    }
}

#[cold]
fn fault(space: &RowSpace) -> Firing {
    space.note_fault();
    Firing::Fault
}

#[inline]
fn holds(
    space: &RowSpace,
    condition: Condition,
    state: &[u64],
    derived: &[bool],
    amounts: &mut Vec<Amount>,
) -> bool {
    space.table.words_hold(condition, state)
        && space.table.others(condition).iter().all(|&other| match other {
            Other::Differs { word, mask, bits } => state[word as usize] & mask != bits,
            Other::Derived(fact) => derived[fact as usize],
            Other::NotDerived(fact) => !derived[fact as usize],
            Other::Compares(comparison) => {
                let (term, sign) = space.comparisons[comparison as usize];
                match evaluate(space, term, state, derived, amounts) {
                    Ok(value) => value.has(sign),
                    Err(Overflow) => {
                        space.note_fault();
                        false
                    }
                }
            }
            Other::Never => false,
        })
}

fn evaluate(
    space: &RowSpace,
    term: u32,
    state: &[u64],
    derived: &[bool],
    amounts: &mut Vec<Amount>,
) -> Result<Amount, Overflow> {
    let number = |at: u32| {
        let code = space.codes[at as usize];
        code.decode(code.place.get(state))
    };
    let value_of = |variable: u32| space.layout.finite[variable as usize].get(state);
    let holds = |need: Need| match need {
        Need::Is(variable, value) => value_of(variable) == u64::from(value),
        Need::IsNot(variable, value) => value_of(variable) != u64::from(value),
        Need::Derived(fact) => derived[fact as usize],
        Need::NotDerived(fact) => !derived[fact as usize],
        // Terms keep comparisons as terms.
        Need::Compares(_) => false,
    };
    space.terms.evaluate(term, number, holds, amounts)
}

impl Worker for RowWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        self.space.push_initial(out);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        self.expand(state, |row, firing, next| match firing {
            Firing::Reached(_) => out.push(Label(row), next),
            Firing::Fault => out.push_fault(Label(row)),
            Firing::Inapplicable => {}
        });
    }

    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        self.scratch.derive(self.space, state);
        for label in labels {
            costs.push(match self.scratch.cost(self.space, state, label.0) {
                Firing::Reached(cost) => cost,
                Firing::Inapplicable | Firing::Fault => COST_ERROR,
            });
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        match self.is_goal(state) {
            true => Check::Hit(PropertyId(0)),
            false => Check::Fine,
        }
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        (self.space.properties().get(property.0 as usize).is_some()).then(|| self.is_goal(state))
    }
}
