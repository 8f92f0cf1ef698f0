//! Active processes (Jabbar 2008, sec. 4.7.1), for deadlocks: how many processes can still do something. Where a language has
//! no processes, how many action instances can.
//!
//! One step may block several processes: the count is no lower bound (on the seed's own philosophers the last step blocks
//! two). Divided by how many processes one step can block at most, it is one.

use hadal_exec::Model;
use hadal_system::facts::{Facts, SlotSet};
use hadal_system::guide::Goal;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use hadal_system::{Label, StateSpace, Successors, Worker};

/// What is made of the count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The count itself.
    Count,
    /// Divided by how many one step can block, rounded up.
    Bound,
}

/// Counts what is active.
pub struct Active<'m> {
    model: &'m Model,
    measure: Measure,
    only_deadlock: bool,
    divisor: u32,
    /// First label of each action, and the total.
    bases: Vec<u64>,
}

impl<'m> Active<'m> {
    pub fn new(model: &'m Model, goal: &Goal, measure: Measure) -> Self {
        let system = model.system();
        let divisor = match measure {
            Measure::Count => 1,
            Measure::Bound => most_blocked(model),
        };
        Active {
            model,
            measure,
            // What cannot be met is not looked for; that is worked out only where something depends on it.
            only_deadlock: goal.deadlock
                && goal.properties.is_empty()
                && (!goal.faults || measure == Measure::Bound && !model.may_fault()),
            divisor,
            bases: system.label_bases(&system.actions),
        }
    }
}

/// How many processes one step can block: those that touch something it writes.
fn most_blocked(model: &Model) -> u32 {
    let system = model.system();
    let facts = Facts::of(system);
    let touches: Vec<SlotSet> = if system.processes.is_empty() {
        let touched = facts.footprints().map(|(_, _, print)| {
            let mut all = print.reads.clone();
            all.extend(&print.may_write);
            all
        });
        touched.collect()
    } else {
        let mut all = vec![SlotSet::new(); system.processes.len()];
        for (action, facts) in system.actions.iter().zip(&facts.actions) {
            for process in &action.processes {
                all[process.0 as usize].extend(&facts.whole.reads);
                all[process.0 as usize].extend(&facts.whole.may_write);
            }
        }
        all
    };
    // Instances that were not told apart may all be blocked together.
    let whole: u64 = facts.actions.iter().filter(|a| !a.is_exact()).map(|a| a.count).sum();
    let blocked = facts
        .footprints()
        .map(|(_, _, print)| touches.iter().filter(|touched| touched.meets(&print.may_write)).count() as u64);
    let most = blocked.max().unwrap_or(1) + if system.processes.is_empty() { whole } else { 0 };
    most.clamp(1, u64::from(u32::MAX)) as u32
}

impl Guide for Active<'_> {
    fn name(&self) -> String {
        match self.measure {
            Measure::Count => "active".into(),
            Measure::Bound => "active:bound".into(),
        }
    }

    /// Never infinite, so safe. A lower bound only when divided, when nothing else is looked for, and when the model's own
    /// states are explored and not representatives of them. Disabled transitions make it smaller.
    fn promises(&self) -> Promises {
        let own_states = self.model.symmetry().is_none();
        let bound = self.measure == Measure::Bound && self.only_deadlock && own_states;
        Promises { admissible: bound, consistent: bound, safe: true, monotone: false }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        let processes = self.model.system().processes.len();
        Box::new(ActiveEstimator {
            guide: self,
            worker: self.model.worker(),
            out: Successors::new(self.model.words()),
            seen: vec![false; processes],
        })
    }
}

struct ActiveEstimator<'g> {
    guide: &'g Active<'g>,
    worker: Box<dyn Worker + 'g>,
    out: Successors,
    seen: Vec<bool>,
}

impl Estimator for ActiveEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        self.out.clear();
        self.worker.successors(state, &mut self.out);
        self.seen.fill(false);
        let system = self.guide.model.system();
        let moves = self.out.iter().filter(|(_, next)| *next != state).map(|(label, _)| label);
        let mut count = 0u32;
        let mut last = None;
        let masked = |label: Label| off.is_some_and(|off| off.contains(label));
        for label in moves.chain(self.out.faults().iter().copied()).filter(|&label| !masked(label)) {
            if system.processes.is_empty() {
                count += u32::from(last.replace(label) != Some(label));
                continue;
            }
            let action = self.guide.bases.partition_point(|&base| base <= u64::from(label.0)) - 1;
            for process in &system.actions[action].processes {
                count += u32::from(!std::mem::replace(&mut self.seen[process.0 as usize], true));
            }
        }
        Distance(count.div_ceil(self.guide.divisor))
    }
}
