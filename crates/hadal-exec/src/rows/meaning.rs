//! What a ground task means, in obvious code: the definition that the packed space is tested against, and on which every
//! plan is replayed.

use hadal_system::rows::{Change, Metric, Need, Rational, Row, RowTask, Sign, Term};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul, CheckedSub, Zero};

/// A state of a ground task, one value per variable.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct RowState {
    /// Values of finite variables.
    pub values: Vec<u32>,
    /// Values of numeric variables; `None` is undefined.
    pub numbers: Vec<Option<Rational>>,
}

/// What firing a row came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fired {
    /// Its needs are not met, or an expression that it reads is undefined.
    Inapplicable,
    /// It leads here, at this cost.
    Reached(RowState, Rational),
}

/// A number grew beyond what exact arithmetic holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a number has more than 127 bits")]
pub struct TooLarge;

/// Runs a ground task by its definition.
#[derive(Clone, Copy, Debug)]
pub struct RowMeaning<'t> {
    task: &'t RowTask,
}

impl<'t> RowMeaning<'t> {
    /// Of this task.
    pub fn new(task: &'t RowTask) -> Self {
        RowMeaning { task }
    }

    /// The initial state, its monitors stepped.
    pub fn initial(&self) -> Result<RowState, TooLarge> {
        let mut state = RowState {
            values: self.task.variables.iter().map(|variable| variable.initial).collect(),
            numbers: self.task.numbers.iter().map(|number| number.initial).collect(),
        };
        self.step_monitors(&mut state)?;
        Ok(state)
    }

    /// Fires a row.
    pub fn fire(&self, state: &RowState, row: &Row) -> Result<Fired, TooLarge> {
        let derived = self.derived(state)?;
        if !self.all_hold(&row.needs, state, &derived)? {
            return Ok(Fired::Inapplicable);
        }
        let cost = match row.cost {
            Some(term) => match self.value_with(term, state, &derived)? {
                Some(cost) => cost,
                None => return Ok(Fired::Inapplicable),
            },
            None => Rational::from_integer(i128::from(self.task.metric == Metric::Steps)),
        };
        let mut next = state.clone();
        for effect in &row.effects {
            if !self.all_hold(&effect.when, state, &derived)? {
                continue;
            }
            match effect.change {
                Change::Set(variable, value) => next.values[variable as usize] = value,
                Change::Assign(number, term) => match self.value_with(term, state, &derived)? {
                    Some(value) => next.numbers[number as usize] = Some(value),
                    None => return Ok(Fired::Inapplicable),
                },
                Change::Increase(number, term) => {
                    let by = self.value_with(term, state, &derived)?;
                    match checked(next.numbers[number as usize].zip(by), |a, b| a.checked_add(b))? {
                        Some(value) => next.numbers[number as usize] = Some(value),
                        None => return Ok(Fired::Inapplicable),
                    }
                }
            }
        }
        self.step_monitors(&mut next)?;
        Ok(Fired::Reached(next, cost))
    }

    /// Whether a state meets the goal.
    pub fn is_goal(&self, state: &RowState) -> Result<bool, TooLarge> {
        self.all_hold(&self.task.goal, state, &self.derived(state)?)
    }

    /// The value of a term; `None` is undefined.
    pub fn value(&self, term: u32, state: &RowState) -> Result<Option<Rational>, TooLarge> {
        self.value_with(term, state, &self.derived(state)?)
    }

    fn value_with(
        &self,
        term: u32,
        state: &RowState,
        derived: &[bool],
    ) -> Result<Option<Rational>, TooLarge> {
        // Children stand before parents, so one pass over all terms suffices.
        let mut values: Vec<Option<Rational>> = Vec::with_capacity(term as usize + 1);
        for at in &self.task.terms[..=term as usize] {
            let pair = |a: u32, b: u32| values[a as usize].zip(values[b as usize]);
            let value = match *at {
                Term::Constant(number) => Some(number),
                Term::Number(number) => state.numbers[number as usize],
                Term::Holds(need) => {
                    let holds = self.all_hold(&[need], state, derived)?;
                    Some(Rational::from_integer(i128::from(holds)))
                }
                Term::Add(a, b) => checked(pair(a, b), |a, b| a.checked_add(b))?,
                Term::Subtract(a, b) => checked(pair(a, b), |a, b| a.checked_sub(b))?,
                Term::Multiply(a, b) => checked(pair(a, b), |a, b| a.checked_mul(b))?,
                Term::Divide(a, b) => {
                    checked(pair(a, b).filter(|(_, b)| !b.is_zero()), |a, b| a.checked_div(b))?
                }
            };
            values.push(value);
        }
        Ok(values[term as usize])
    }

    /// The truth of every derived fact.
    fn derived(&self, state: &RowState) -> Result<Vec<bool>, TooLarge> {
        let mut facts = vec![false; self.task.derived.len()];
        let strata = self.task.derived.iter().map(|fact| fact.stratum).max().map_or(0, |last| last + 1);
        for stratum in 0..strata {
            let mut changed = true;
            while changed {
                changed = false;
                for rule in &self.task.rules {
                    let head = rule.head as usize;
                    if self.task.derived[head].stratum == stratum
                        && !facts[head]
                        && self.all_hold(&rule.body, state, &facts)?
                    {
                        facts[head] = true;
                        changed = true;
                    }
                }
            }
        }
        Ok(facts)
    }

    fn all_hold(&self, needs: &[Need], state: &RowState, derived: &[bool]) -> Result<bool, TooLarge> {
        for &need in needs {
            let holds = match need {
                Need::Is(variable, value) => state.values[variable as usize] == value,
                Need::IsNot(variable, value) => state.values[variable as usize] != value,
                Need::Derived(fact) => derived[fact as usize],
                Need::NotDerived(fact) => !derived[fact as usize],
                Need::Compares(comparison) => {
                    let comparison = self.task.comparisons[comparison as usize];
                    self.value_with(comparison.term, state, derived)?.is_some_and(|value| {
                        match comparison.sign {
                            Sign::Zero => value.is_zero(),
                            Sign::NotZero => !value.is_zero(),
                            Sign::Positive => value > Rational::zero(),
                            Sign::NotNegative => value >= Rational::zero(),
                        }
                    })
                }
            };
            if !holds {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn step_monitors(&self, state: &mut RowState) -> Result<(), TooLarge> {
        for monitor in &self.task.monitors {
            // A monitor sees what those before it became.
            let derived = self.derived(state)?;
            let now = state.values[monitor.variable as usize];
            for (from, needs, to) in &monitor.steps {
                if *from == now && self.all_hold(needs, state, &derived)? {
                    state.values[monitor.variable as usize] = *to;
                    break;
                }
            }
        }
        Ok(())
    }
}

fn checked(
    pair: Option<(Rational, Rational)>,
    with: impl Fn(&Rational, &Rational) -> Option<Rational>,
) -> Result<Option<Rational>, TooLarge> {
    match pair {
        Some((a, b)) => Ok(Some(with(&a, &b).ok_or(TooLarge)?)),
        None => Ok(None),
    }
}
