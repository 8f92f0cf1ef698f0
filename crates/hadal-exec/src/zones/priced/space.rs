//! Successors of priced zones.

use hadal_system::timed::TimedSystem;
use hadal_system::{Label, StateSpace, Successors, Value, Worker};

use super::super::code::{Code, Compiler, Context};
use super::super::options::{ZoneError, ZoneOptions};
use super::super::space::ZoneSpace;
use super::super::timing::{Faulty, Set, apply_all};
use super::symmetry::{Symmetry, Turn};
use super::zone::PricedZone;
use crate::interpret::Interpreter;

/// Why a model has no cheapest run here.
#[derive(Debug, thiserror::Error)]
pub enum PricedError {
    /// The zone graph cannot be made.
    #[error(transparent)]
    Zones(#[from] ZoneError),
    /// An error of the model was met.
    #[error("firing `{0}` raises an error of the model")]
    Fault(String),
    /// Costs would go down.
    #[error("a rate or price is negative in a reachable state")]
    Negative,
    /// A clock takes the value of another.
    #[error("`{0}` sets a clock to another clock, which is not supported with prices")]
    Copies(String),
    /// A step costs too much.
    #[error("a single step costs 2^32 or more")]
    TooDear,
    /// A path that was found does not replay: not an error of the model but of hadal.
    #[error("step {0} of the path does not replay")]
    Lost(usize),
    /// Nothing is looked for.
    #[error("the property to reach must be a goal (E<>) without deadlock")]
    NoGoal,
}

/// The priced zone graph of a timed system.
pub struct PricedSpace {
    pub(crate) zones: ZoneSpace,
    /// By process and location.
    rates: Vec<Vec<Option<Code>>>,
    /// By action.
    prices: Vec<Option<Code>>,
    /// The property to reach.
    pub(crate) goal: usize,
    /// Processes that may take one another's place.
    pub(crate) symmetry: Option<Symmetry>,
}

/// A state that was made.
pub(crate) struct Made {
    /// What made it.
    pub(crate) label: Label,
    /// The state, its processes in order.
    pub(crate) priced: Priced,
    /// How they were put into order.
    pub(crate) turn: Turn,
}

/// A discrete state with a priced zone.
#[derive(Clone, Debug)]
pub struct Priced {
    /// The discrete part.
    pub state: Vec<u64>,
    /// Zone and cost.
    pub zone: PricedZone,
}

impl PricedSpace {
    /// Prepares the search for a cheapest run to the goal `goal` of the system's properties.
    pub fn new(timed: TimedSystem, options: ZoneOptions, goal: usize) -> Result<Self, PricedError> {
        let reachable = matches!(timed.formulas.get(goal), Some(Some(formula)) if !formula.asks_deadlock());
        if !reachable {
            return Err(PricedError::NoGoal);
        }
        let zones = ZoneSpace::new(timed, options)?;
        let compiler = Compiler { system: zones.model.system(), layout: zones.model.layout() };
        let rates = zones.timed.processes.iter().map(|process| {
            process.stays.iter().map(|stay| stay.rate.as_ref().map(|rate| compiler.code(rate))).collect()
        });
        let rates = rates.collect();
        let prices = zones.timed.timing.iter().map(|t| t.price.as_ref().map(|price| compiler.code(price)));
        let prices = prices.collect();
        let symmetry = Symmetry::of(&zones, goal);
        Ok(PricedSpace { zones, rates, prices, goal, symmetry })
    }

    /// The same, with every order of processes that may take one another's place.
    pub fn without_symmetry(self) -> Self {
        PricedSpace { symmetry: None, ..self }
    }

    /// How many processes may take another's place, by class; empty where there are none.
    pub fn symmetric(&self) -> Vec<usize> {
        self.symmetry.as_ref().map_or(Vec::new(), Symmetry::sizes)
    }

    /// The zone graph without prices.
    pub fn zones(&self) -> &ZoneSpace {
        &self.zones
    }

    /// What a unit of time costs in a discrete state.
    pub(crate) fn rate(&self, context: &Context) -> Result<i64, PricedError> {
        let mut sum = 0;
        for (code, rates) in self.zones.locations.iter().zip(&self.rates) {
            let at = code.value(context).and_then(|at| usize::try_from(at).ok());
            if let Some(Some(rate)) = at.and_then(|at| rates.get(at)) {
                sum += rate.value(context).ok_or(PricedError::Negative)?;
            }
        }
        if sum < 0 { Err(PricedError::Negative) } else { Ok(sum) }
    }

    /// What firing an action costs.
    pub(crate) fn price(&self, action: usize, context: &Context) -> Result<i64, PricedError> {
        match &self.prices[action] {
            None => Ok(0),
            Some(price) => price.value(context).filter(|&price| price >= 0).ok_or(PricedError::Negative),
        }
    }
}

/// Computes successors.
pub(crate) struct PricedWorker<'s> {
    space: &'s PricedSpace,
    inner: Box<dyn Worker + 's>,
    interpreter: Interpreter<'s>,
    discrete: Successors,
    locals: Vec<Value>,
}

impl<'s> PricedWorker<'s> {
    pub(crate) fn new(space: &'s PricedSpace) -> Self {
        let model = &space.zones.model;
        PricedWorker {
            space,
            inner: model.worker(),
            interpreter: model.interpreter(),
            discrete: Successors::new(model.words()),
            locals: Vec::new(),
        }
    }

    pub(crate) fn context<'c>(&'c self, state: &'c [u64]) -> Context<'c> {
        Context { state, locals: &[], interpreter: &self.interpreter, shapes: &[] }
    }

    /// The initial states.
    pub(crate) fn initial(&mut self) -> Result<Vec<Made>, PricedError> {
        let mut starts = Successors::new(self.space.zones.model.words());
        self.inner.initial(&mut starts);
        let mut all = Vec::new();
        for (label, state) in starts.iter() {
            let zone = PricedZone::zero(self.space.zones.zones.size - 1);
            self.settle(label, state, vec![zone], &mut all)?;
        }
        Ok(all)
    }

    /// Invariant, delay at the rate of the state, invariant.
    fn settle(
        &self,
        label: Label,
        state: &[u64],
        pieces: Vec<PricedZone>,
        out: &mut Vec<Made>,
    ) -> Result<(), PricedError> {
        let zones = &self.space.zones;
        let context = self.context(state);
        let fault = |Faulty| PricedError::Fault(zones.render_label(label));
        let still = zones.is_still(&context).map_err(fault)?;
        let rate = self.space.rate(&context)?;
        for mut piece in pieces {
            if !piece.restrict(|zone| zones.keep_invariants(&context, zone)).map_err(fault)? {
                continue;
            }
            let later = if still { vec![piece] } else { piece.delay(rate) };
            for mut piece in later {
                if piece.restrict(|zone| zones.keep_invariants(&context, zone)).map_err(fault)? {
                    let mut priced = Priced { state: state.to_vec(), zone: piece };
                    let symmetry = self.space.symmetry.as_ref();
                    let turn = symmetry.map_or(Turn::new(), |symmetry| symmetry.turn(&mut priced));
                    out.push(Made { label, priced, turn });
                }
            }
        }
        Ok(())
    }

    /// All successors.
    pub(crate) fn successors(&mut self, from: &Priced) -> Result<Vec<Made>, PricedError> {
        let zones = &self.space.zones;
        let mut discrete = std::mem::replace(&mut self.discrete, Successors::new(1));
        discrete.clear();
        self.inner.successors(&from.state, &mut discrete);
        let mut out = Vec::new();
        for (label, after) in discrete.iter() {
            let fault = |Faulty| PricedError::Fault(zones.render_label(label));
            zones.locals(label, &mut self.locals);
            let action = zones.action(label);
            let shapes = &zones.model.system().actions[action].locals;
            let before =
                Context { state: &from.state, locals: &self.locals, interpreter: &self.interpreter, shapes };
            let timing = &zones.timing[action];
            let mut piece = from.zone.clone();
            if !piece.restrict(|zone| apply_all(&timing.guard, &before, zone)).map_err(fault)? {
                continue;
            }
            piece.cost += self.space.price(action, &before)?;
            let next = Context { state: after, ..before };
            let mut pieces = vec![piece];
            for reset in &timing.resets {
                let Some(Set { clock, from, value }) = reset.set(&before, &next).map_err(fault)? else {
                    continue;
                };
                if from != 0 {
                    return Err(PricedError::Copies(zones.render_label(label)));
                }
                pieces = pieces.iter().flat_map(|piece| piece.reset(clock, value)).collect();
            }
            self.settle(label, after, pieces, &mut out)?;
        }
        if let Some(&label) = discrete.faults().first() {
            return Err(PricedError::Fault(zones.render_label(label)));
        }
        self.discrete = discrete;
        Ok(out)
    }

    /// The least cost at which the goal is met in a state, if it is.
    pub(crate) fn goal_cost(&self, at: &Priced) -> Option<i64> {
        self.goal_part(at).map(|(cost, _)| cost)
    }

    /// The least cost at which the goal is met in a state, and the part of it where it is, if it is.
    pub(crate) fn goal_part(&self, at: &Priced) -> Option<(i64, PricedZone)> {
        let clauses = self.space.zones.formulas.get(self.space.goal)?.as_ref()?;
        let context = self.context(&at.state);
        let cost = |clause: &super::super::space::ReadyClause| {
            if !clause.when.holds(&context)? {
                return None;
            }
            let mut part = at.zone.clone();
            part.restrict(|zone| apply_all(&clause.bounds, &context, zone)).ok()?.then_some(())?;
            Some((part.infimum()?, part))
        };
        clauses.iter().filter_map(cost).min_by_key(|(cost, _)| *cost)
    }
}
