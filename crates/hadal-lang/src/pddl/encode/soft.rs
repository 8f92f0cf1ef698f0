//! Monitors and preferences over variables. After the end of a plan every preference is collected or forgone, in a fixed
//! order, so that its price is the cost of a step (Keyder and Geffner 2009, "Soft goals can be compiled away"); or prices are
//! a term that is read in the last state.

use super::effects::needs_of;
use super::numbers::Numbers;
use super::variables::Variables;
use crate::pddl::SoftGoals;
use crate::pddl::ground::{GroundTask, RowError};
use crate::pddl::soft::{Alternatives, GroundWish, Part};
use hadal_system::rows::{
    Change, DerivedFact, DerivedRule, Effect, FiniteVariable, Metric, Monitor, Need, Rational, Row, RowTask,
    Sense,
};
use num_traits::{CheckedAdd, CheckedSub};

/// Conjunctions of which one must hold.
type Needs = Vec<Vec<Need>>;

/// How many conjunctions a preference may need; beyond that a derived fact stands for it.
const MAX_ROWS: usize = 16;

/// Writes monitors, what hard constraints demand, and preferences into `out`.
pub(crate) struct SoftWriter<'a> {
    pub(crate) task: &'a GroundTask<'a>,
    pub(crate) variables: &'a Variables,
    pub(crate) numbers: &'a mut Numbers,
    pub(crate) out: &'a mut RowTask,
    /// The variable of the first monitor.
    pub(crate) first: u32,
}

impl SoftWriter<'_> {
    /// Writes it all; the goal must be there already.
    pub(crate) fn write(mut self, goals: SoftGoals) -> Result<(), RowError> {
        let soft = &self.task.soft;
        self.first = self.out.variables.len() as u32;
        for monitor in &soft.monitors {
            self.out.variables.push(FiniteVariable {
                name: format!("{} {}", monitor.name, self.out.variables.len() as u32 - self.first),
                values: monitor.states.clone(),
                initial: 0,
            });
        }
        let mut demanded = Vec::new();
        for part in &soft.hard {
            let yes = self.satisfied(part);
            demanded.extend(self.one_of(yes));
            // A part that can never be satisfied is an empty list, and becomes a fact that no rule derives.
        }
        self.out.goal.extend(demanded);
        let stage = match goals {
            SoftGoals::Collect if !soft.wishes.is_empty() => Some(self.settle(&soft.wishes)?),
            SoftGoals::Collect => None,
            SoftGoals::AtEnd => {
                self.price(&soft.wishes)?;
                None
            }
        };
        for (number, monitor) in soft.monitors.iter().enumerate() {
            let mut steps = Vec::with_capacity(monitor.steps.len());
            for (from, when, to) in &monitor.steps {
                if let Some(mut needs) =
                    needs_of(when, self.variables).and_then(|needs| self.numbers.needs(needs))
                {
                    needs.extend(stage.filter(|_| monitor.counts).map(|stage| Need::Is(stage, 0)));
                    steps.push((*from, needs, *to));
                }
            }
            self.out.monitors.push(Monitor { variable: self.first + number as u32, steps });
        }
        Ok(())
    }

    fn encode(&self, alternatives: &Alternatives) -> Needs {
        alternatives
            .iter()
            .filter_map(|literals| {
                needs_of(literals, self.variables).and_then(|needs| self.numbers.needs(needs))
            })
            .collect()
    }

    /// When a part is satisfied.
    fn satisfied(&self, part: &Part) -> Needs {
        match part {
            Part::Condition(yes, _) => self.encode(yes),
            Part::Monitor(number) => self.accepts(*number, true),
        }
    }

    /// When a part is violated.
    fn violated(&self, part: &Part) -> Needs {
        match part {
            Part::Condition(_, no) => self.encode(no),
            Part::Monitor(number) => self.accepts(*number, false),
        }
    }

    fn accepts(&self, number: usize, accepts: bool) -> Needs {
        let accepting = &self.task.soft.monitors[number].accepting;
        let variable = self.first + number as u32;
        let among =
            |wanted: bool| (0..accepting.len() as u32).filter(move |&s| accepting[s as usize] == wanted);
        if among(!accepts).count() == 1 {
            return among(!accepts).map(|state| vec![Need::IsNot(variable, state)]).collect();
        }
        among(accepts).map(|state| vec![Need::Is(variable, state)]).collect()
    }

    /// Conjunctions as one: themselves, where there is one, else a derived fact.
    fn one_of(&mut self, mut needs: Needs) -> Vec<Need> {
        if needs.len() == 1 {
            return needs.remove(0);
        }
        let head = self.out.derived.len() as u32;
        let name = format!("(satisfied {head})");
        let above = needs.iter().flatten().map(|need| match need {
            Need::Derived(fact) => self.out.derived[*fact as usize].stratum,
            Need::NotDerived(fact) => self.out.derived[*fact as usize].stratum + 1,
            _ => 0,
        });
        let stratum = above.max().unwrap_or(0);
        self.out.derived.push(DerivedFact { name, stratum });
        self.out.rules.extend(needs.into_iter().map(|body| DerivedRule { head, body }));
        self.out.rules.sort_by_key(|rule| (self.out.derived[rule.head as usize].stratum, rule.head));
        vec![Need::Derived(head)]
    }

    /// When all parts of a wish are satisfied, and when one is not.
    fn outcomes(&mut self, wish: &GroundWish) -> (Needs, Needs) {
        let mut yes: Needs = vec![Vec::new()];
        let mut no: Needs = Vec::new();
        for part in &wish.parts {
            let mut satisfied = self.satisfied(part);
            no.extend(self.violated(part));
            if satisfied.len() > 1 && yes.len() * satisfied.len() > MAX_ROWS {
                satisfied = vec![self.one_of(satisfied)];
            }
            yes = yes
                .iter()
                .flat_map(|needs| satisfied.iter().map(|more| [needs.as_slice(), more].concat()))
                .collect();
        }
        yes.iter_mut().chain(&mut no).for_each(|needs| {
            needs.sort_unstable();
            needs.dedup();
        });
        (yes, no)
    }

    /// The last steps: the plan ends, then each wish is collected or forgone. Returns the variable that says how far.
    fn settle(&mut self, wishes: &[GroundWish]) -> Result<u32, RowError> {
        let stage = self.out.variables.len() as u32;
        let mut values = vec!["the plan continues".to_string()];
        values.extend(wishes.iter().map(|wish| format!("{} is settled next", wish.name)));
        values.push("settled".to_string());
        let last = values.len() as u32 - 1;
        self.out.variables.push(FiniteVariable { name: "settling".to_string(), values, initial: 0 });
        self.out.rows.iter_mut().for_each(|row| row.needs.push(Need::Is(stage, 0)));
        let schema = self.out.names.schemas.len() as u32;
        self.out.names.schemas.extend(["end".to_string(), "collect".to_string(), "forgo".to_string()]);
        let zero = self.numbers.constant(Rational::from_integer(0));
        let step = |schema: u32, mut needs: Vec<Need>, from: u32, cost: u32| {
            needs.push(Need::Is(stage, from));
            let effects = vec![Effect { when: Vec::new(), change: Change::Set(stage, from + 1) }];
            Row { schema, needs, effects, cost: Some(cost), hidden: true, ..Row::default() }
        };
        let goal = std::mem::replace(&mut self.out.goal, vec![Need::Is(stage, last)]);
        self.out.rows.push(step(schema, goal, 0, zero));
        let mut shift = Rational::from_integer(0);
        for (number, wish) in wishes.iter().enumerate() {
            let from = number as u32 + 1;
            let (yes, no) = self.outcomes(wish);
            let pays = wish.weight > Rational::from_integer(0);
            let price = self.numbers.constant(if pays { wish.weight } else { -wish.weight });
            let (collect, forgo) = if pays { (zero, price) } else { (price, zero) };
            if !pays {
                // A reward for violating it: satisfying costs what is lost.
                shift = shift.checked_add(&wish.weight).ok_or(RowError::Overflow)?;
            }
            // Where satisfaction is free and violation is not, a step that forgoes needs no proof of violation.
            let no = if pays && no.len() > MAX_ROWS { vec![Vec::new()] } else { no };
            self.out.rows.extend(yes.into_iter().map(|needs| step(schema + 1, needs, from, collect)));
            self.out.rows.extend(no.into_iter().map(|needs| step(schema + 2, needs, from, forgo)));
        }
        self.shift_offset(shift)?;
        Ok(stage)
    }

    fn shift_offset(&mut self, shift: Rational) -> Result<(), RowError> {
        if let Metric::Cost { offset, sense, .. } = &mut self.out.metric {
            let shifted = match sense {
                Sense::Minimise => offset.checked_add(&shift),
                Sense::Maximise => offset.checked_sub(&shift),
            };
            *offset = shifted.ok_or(RowError::Overflow)?;
        }
        Ok(())
    }

    /// Adds prices to the term that is read in the last state.
    fn price(&mut self, wishes: &[GroundWish]) -> Result<(), RowError> {
        if wishes.is_empty() {
            return Ok(());
        }
        let Metric::Cost { at_end, .. } = self.out.metric else { return Ok(()) };
        let mut total = match at_end {
            Some(term) => term,
            None => self.numbers.constant(Rational::from_integer(0)),
        };
        for wish in wishes {
            let (_, no) = self.outcomes(wish);
            total = self.numbers.plus_price(total, wish.weight, &no)?;
        }
        if let Metric::Cost { at_end, .. } = &mut self.out.metric {
            *at_end = Some(total);
        }
        Ok(())
    }
}
