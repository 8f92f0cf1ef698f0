//! A system in real time: clocks, what they guard, what resets them, and where time stands still.
//!
//! A [`TimedSystem`] stands around an untouched [`System`], which is its discrete part: locations, variables, actions
//! and the discrete half of every guard and question. Explorers never see it; `hadal-exec` makes a state space of
//! zones out of it (Alur and Dill 1994; Behrmann, Bouyer, Larsen and Pelánek 2006).

use crate::domain::Value;
use crate::expr::Expr;
use crate::source::{Source, Span};
use crate::system::System;

/// A clock, numbered from 1: 0 is the reference that always shows zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClockRef {
    /// Zero.
    Zero,
    /// This clock.
    One(u32),
    /// The clock `first + (index - least)` of an array of clocks; an index outside is an error of the model.
    Among {
        /// The first clock of the array.
        first: u32,
        /// How many clocks it has.
        count: u32,
        /// The index of the first one.
        least: i64,
        /// Which one.
        index: Box<Expr>,
    },
}

/// Whether a bound excludes its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Strictness {
    /// `<`
    Strict,
    /// `<=`
    Weak,
}

/// `left - minus < value` or `left - minus <= value`, where `when` holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    /// The bound is there only where this holds.
    pub when: Option<Expr>,
    /// The clock that is bounded from above.
    pub left: ClockRef,
    /// The clock that is bounded from below.
    pub minus: ClockRef,
    /// Whether the value is excluded.
    pub strictness: Strictness,
    /// The value, over the state before the action (of an invariant: the state itself).
    pub value: Expr,
    /// Where it stands.
    pub span: Span,
}

/// When the value of a reset is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// In the state before the action.
    Before,
    /// In the state after it.
    After,
}

/// A clock is set to `from + value`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reset {
    /// Only where this holds in the state before the action.
    pub when: Option<Expr>,
    /// Which clock.
    pub clock: ClockRef,
    /// The clock it is set to, or zero.
    pub from: ClockRef,
    /// What is added.
    pub value: Expr,
    /// When `value` is computed.
    pub moment: Moment,
}

/// What an action does with clocks and costs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Its clock guard; expressions may use the action's parameters.
    pub guard: Vec<Bound>,
    /// Its resets, in order.
    pub resets: Vec<Reset>,
    /// What it costs, where costs are counted; over the state before.
    pub price: Option<Expr>,
}

/// What staying in a location means.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stay {
    /// Holds while the process is here.
    pub invariant: Vec<Bound>,
    /// No time passes while the process is here.
    pub urgent: bool,
    /// What a unit of time costs here.
    pub rate: Option<Expr>,
}

/// An edge of one process, as the analysis of clock bounds sees it: its own guard and resets, not its partners'.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedEdge {
    /// The location before.
    pub from: usize,
    /// The location after.
    pub to: usize,
    /// Its guard.
    pub guard: Vec<Bound>,
    /// Its resets.
    pub resets: Vec<Reset>,
}

/// The timed side of a process.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedProcess {
    /// By location.
    pub stays: Vec<Stay>,
    /// Its edges.
    pub edges: Vec<TimedEdge>,
}

/// What a question says about going on from a valuation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GoingOn {
    /// A deadlock: no action is ever possible again, whatever time passes.
    Stuck,
    /// A timelock: a deadlock in which time does not pass for ever either.
    StuckInTime,
    /// Some action is possible, now or later.
    Possible,
}

/// Conditions that hold together: a part of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clause {
    /// On the discrete part.
    pub when: Expr,
    /// On the clocks.
    pub bounds: Vec<Bound>,
    /// On what is possible from there.
    pub going_on: Option<GoingOn>,
}

/// What ends a search for one property: some clause is possible. Of an invariant it is the negation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TimedFormula {
    /// The alternatives.
    pub clauses: Vec<Clause>,
}

impl TimedFormula {
    /// Whether it asks about deadlock or timelock.
    pub fn asks_deadlock(&self) -> bool {
        self.clauses.iter().any(|clause| clause.going_on.is_some())
    }
}

/// Where a question stands, and what it is put together from.
#[derive(Clone, Debug)]
pub struct Asked {
    /// The text that places in it point into, where it is not the model's.
    pub source: Option<Source>,
    /// Where it stands.
    pub span: Span,
    /// Its condition on states.
    pub condition: Option<Part>,
}

/// A part of a condition on states, as a person wrote it.
#[derive(Clone, Debug)]
pub struct Part {
    /// Where it stands.
    pub span: Span,
    /// What it says.
    pub says: Says,
}

/// What a part of a condition says.
#[derive(Clone, Debug)]
pub enum Says {
    /// All of these.
    All(Vec<Part>),
    /// One of these.
    Any(Vec<Part>),
    /// If the first, then the second.
    Implies(Box<[Part; 2]>),
    /// The contrary.
    Not(Box<Part>),
    /// This, for one value of a name that a quantifier binds.
    For(String, Value, Box<Part>),
    /// That some clause holds.
    Some(Vec<Clause>),
}

/// Which end of its values is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The largest.
    Most,
    /// The least.
    Least,
}

/// Something that has a value in every state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Quantity {
    /// What a clock shows.
    Clock(ClockRef),
    /// A number over the discrete part.
    Value(Expr),
}

/// A question for the largest or least values of quantities in reachable states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extreme {
    /// Its text.
    pub name: String,
    /// Which end is asked for.
    pub side: Side,
    /// The states that count.
    pub among: TimedFormula,
    /// What is measured, with its text.
    pub of: Vec<(String, Quantity)>,
}

/// A label of locations: a state has it where some process is in one of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LocationLabel {
    /// Its name.
    pub name: String,
    /// Process and location numbers.
    pub places: Vec<(usize, usize)>,
}

/// A system with clocks.
#[derive(Clone, Debug, Default)]
pub struct TimedSystem {
    /// The discrete part.
    pub system: System,
    /// Names of the clocks; the first has number 1.
    pub clocks: Vec<String>,
    /// By action of the system.
    pub timing: Vec<Timing>,
    /// By process of the system.
    pub processes: Vec<TimedProcess>,
    /// Where one of these holds no time passes.
    pub rush: Vec<Expr>,
    /// By property of the system; properties without one look at the discrete part only.
    pub formulas: Vec<Option<TimedFormula>>,
    /// By property of the system: how it was asked, where that is known.
    pub asked: Vec<Option<Asked>>,
    /// Properties about runs that look for a run instead of forbidding it, by their place in the system.
    pub wanted_runs: Vec<usize>,
    /// Questions for the largest or least values of something.
    pub extremes: Vec<Extreme>,
    /// Labels of locations.
    pub labels: Vec<LocationLabel>,
}

impl TimedSystem {
    /// Whether anything has a price.
    pub fn is_priced(&self) -> bool {
        self.timing.iter().any(|t| t.price.is_some())
            || self.processes.iter().flat_map(|p| &p.stays).any(|stay| stay.rate.is_some())
    }

    /// The condition that some process is at a place of this label.
    pub fn label_holds(&self, label: &LocationLabel) -> Expr {
        use crate::expr::BinaryOp::{Equal, Or};
        let at = |&(process, location): &(usize, usize)| {
            let place = self.system.whole(self.system.processes[process].location);
            Expr::binary(Equal, place.read(), Expr::constant(location as i64))
        };
        let mut places = label.places.iter().map(at);
        match places.next() {
            Some(first) => places.fold(first, |left, right| Expr::binary(Or, left, right)),
            None => Expr::constant(0),
        }
    }
}
