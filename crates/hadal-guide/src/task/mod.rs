//! The abstract task of a model: variables with few values, operators as preconditions and effects over sets of values, and
//! what is looked for as a formula over them (the multi-valued view of Wehrle 2011, sec. 1.3 and 5.1).
//!
//! It is a superset of the model: whatever a model can do, some operator of the task does; whatever is looked for satisfies the
//! formula. What cannot be expressed is left out of conditions and made arbitrary in effects.

mod bits;
mod calls;
mod formula;
mod ground;
mod machine;
mod operators;
mod universe;
mod variable;

use crate::{Goal, GuideError};
use ground::Limits;
use hadal_exec::Model;
use hadal_system::guide::Meter;
use hadal_system::{StateSpace, Successors};
use machine::{Faults, Machine};
use universe::Universe;

pub use bits::{Bits, FastMap};
pub use formula::Formula;
pub use variable::{NO_NUMBER, Variable};

/// More ways to start than this are not looked at one by one.
const MAX_STARTS: u64 = 50_000;

/// So many initial states are looked at when it is asked what holds at the start.
const SOME_STARTS: usize = 16;

/// A row of an effect: where the condition held, the variable gets one of the values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// What must have held besides the preconditions.
    pub condition: Option<(u32, Bits)>,
    /// What is written.
    pub var: u32,
    /// What it may get.
    pub values: Bits,
}

/// An operator: one path on which some action instances can fire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operator {
    /// The labels, as first and last.
    pub labels: Vec<(u32, u32)>,
    /// What must hold; a variable of several scalars may stand there more than once.
    pub preconditions: Vec<(u32, Bits)>,
    /// What is written.
    pub effects: Vec<Effect>,
    /// Whether nothing was left out.
    pub exact: bool,
}

/// The abstract task.
#[derive(Clone, Debug)]
pub struct AbstractTask {
    /// Variables that matter for what is looked for.
    pub variables: Vec<Variable>,
    /// Operators that matter, in the order of their labels.
    pub operators: Vec<Operator>,
    /// What is looked for.
    pub goal: Formula,
    /// Labels of which little is known, among all.
    pub coarse: (u64, u64),
}

/// The tasks of one goal.
pub struct AbstractTasks {
    /// Everything that is looked for satisfies its goal.
    pub whole: AbstractTask,
    /// Its goal is only what is surely looked for and does not seem to hold at the start, where that is less: what remains of
    /// errors that may be met anywhere would make every state look near.
    pub focused: Option<AbstractTask>,
}

impl AbstractTask {
    /// The tasks of a model for a goal.
    pub fn of(model: &Model, goal: &Goal, meter: &dyn Meter) -> Result<AbstractTasks, GuideError> {
        AbstractTask::within(model, goal, Limits::default(), meter)
    }

    /// The same, looking at no more than this.
    fn within(
        model: &Model,
        goal: &Goal,
        limits: Limits,
        meter: &dyn Meter,
    ) -> Result<AbstractTasks, GuideError> {
        let system = model.system();
        let faults = if goal.faults { Faults::Followed } else { Faults::Skipped };
        let (universe, starts) = initial(model);
        let mut machine = Machine::new(system, universe);
        let ground = ground::ground(&mut machine, faults, limits, meter)?;
        let (mut parts, mut sure) = (Vec::new(), Vec::new());
        for &id in &goal.properties {
            let (at, values) = system.property_instance(id).ok_or(GuideError::NoProperty(id.0))?;
            let formula = formula::property(&machine, at, &values, faults);
            if goal.faults {
                sure.push(formula::property(&machine, at, &values, Faults::Skipped));
            } else {
                sure.push(formula.clone());
            }
            parts.push(formula);
        }
        if goal.faults {
            let (all, surely) = formula::faults(&machine, &ground);
            parts.push(all);
            sure.push(surely);
        }
        if goal.deadlock {
            let formula = formula::deadlock(&machine, &ground);
            sure.push(formula.clone());
            parts.push(formula);
        }
        let formula = Formula::any(parts);
        let var_of = &machine.universe.var_of;
        let operators = ground.operators.into_iter().map(|operator| Operator {
            labels: operator.labels,
            preconditions: operator
                .preconditions
                .into_iter()
                .map(|(slot, bits)| (var_of[slot as usize], bits))
                .collect(),
            effects: (operator.rows.into_iter())
                .map(|row| Effect {
                    condition: row.condition.map(|(slot, bits)| (var_of[slot as usize], bits)),
                    var: var_of[row.slot as usize],
                    values: row.values,
                })
                .collect(),
            exact: operator.exact,
        });
        let labels = system.label_bases(&system.actions).last().copied().unwrap_or(0);
        let variables = Variable::all(model, &machine.universe);
        let holds_at_start = |formula: &Formula| {
            let has = |state: &[u64]| formula.holds(&|var, bits| variables[var as usize].has(state, bits));
            *formula == Formula::True || starts.iter().any(|state| has(state))
        };
        let parts = sure.into_iter().flat_map(Formula::alternatives).filter(|part| !holds_at_start(part));
        let sure = Formula::any(parts);
        let whole = AbstractTask {
            variables,
            operators: operators.collect(),
            goal: formula,
            coarse: (ground.coarse, labels),
        };
        let focused = (sure != whole.goal && sure != Formula::False)
            .then(|| AbstractTask { goal: sure, ..whole.clone() }.relevant());
        Ok(AbstractTasks { whole: whole.relevant(), focused })
    }

    /// Leaves out what cannot influence the goal (the cone of influence), and renumbers the variables.
    fn relevant(mut self) -> AbstractTask {
        let mut matters = vec![false; self.variables.len()];
        self.goal.each_atom(&mut |var, _| matters[var as usize] = true);
        let mut kept = vec![false; self.operators.len()];
        loop {
            let mut grown = false;
            for (operator, kept) in self.operators.iter().zip(&mut kept) {
                if *kept || !operator.effects.iter().any(|effect| matters[effect.var as usize]) {
                    continue;
                }
                *kept = true;
                grown = true;
                operator.preconditions.iter().for_each(|(var, _)| matters[*var as usize] = true);
            }
            // A condition matters only where what it leads to does.
            for (operator, _) in self.operators.iter().zip(&kept).filter(|(_, kept)| **kept) {
                for effect in &operator.effects {
                    if let (true, Some((var, _))) = (matters[effect.var as usize], effect.condition)
                        && !std::mem::replace(&mut matters[var as usize], true)
                    {
                        grown = true;
                    }
                }
            }
            if !grown {
                break;
            }
        }
        let mut number = vec![u32::MAX; self.variables.len()];
        for (next, (n, _)) in matters.iter().enumerate().filter(|(_, matters)| **matters).enumerate() {
            number[n] = next as u32;
        }
        let mut flags = matters.iter();
        self.variables.retain(|_| *flags.next().unwrap_or(&false));
        let mut flags = kept.iter();
        self.operators.retain(|_| *flags.next().unwrap_or(&false));
        for operator in &mut self.operators {
            operator.preconditions.iter_mut().for_each(|(var, _)| *var = number[*var as usize]);
            operator.effects.retain(|effect| matters[effect.var as usize]);
            for effect in &mut operator.effects {
                effect.var = number[effect.var as usize];
                if let Some((var, _)) = &mut effect.condition {
                    *var = number[*var as usize];
                }
            }
        }
        self.goal = self.goal.renumbered(&|var| number[var as usize]);
        self
    }
}

/// The values that variables have in initial states, or all where there are too many of those.
///
/// Also some of the initial states.
fn initial(model: &Model) -> (Universe, Vec<Vec<u64>>) {
    let system = model.system();
    let mut universe = Universe::empty(system);
    let starts = system.label_bases(&system.starts).last().copied().unwrap_or(0);
    let mut out = Successors::new(model.words());
    if starts <= MAX_STARTS {
        // Not the model's own worker: it would give representatives only.
        model.interpreter().initial(&mut out, &mut vec![0; model.properties().len()]);
        for (_, state) in out.iter() {
            for slot in 0..universe.var_of.len() {
                universe.seed(universe.var_of[slot], model.layout().value(system, state, slot));
            }
        }
    } else {
        (0..universe.vars.len() as u32).for_each(|var| {
            universe.add_all(system, var);
        });
    }
    (universe, out.iter().take(SOME_STARTS).map(|(_, state)| state.to_vec()).collect())
}

#[cfg(test)]
mod tests;
