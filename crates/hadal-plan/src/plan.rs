//! A plan: its rows, what it costs, and the check that it is one.

use hadal_exec::rows::{Fired, RowMeaning, TooLarge};
use hadal_system::rows::{Metric, Rational, RowTask, Sense};

/// A plan of a ground task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The rows, in order; bookkeeping included.
    pub rows: Vec<u32>,
    /// The value of the metric, as the model writes it.
    pub cost: Rational,
}

/// Why a sequence of rows is no plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReplayError {
    /// A step cannot be taken.
    #[error("step {0} cannot be taken")]
    Inapplicable(usize),
    /// The last state is no goal.
    #[error("the last state does not meet the goal")]
    NoGoal,
    /// The metric has no value in the last state.
    #[error("the metric is undefined in the last state")]
    NoMetric,
    /// Exact arithmetic ended.
    #[error(transparent)]
    TooLarge(#[from] TooLarge),
}

impl Plan {
    /// Replays rows on the definition of the task; a plan with its cost where they are one.
    pub fn replay(task: &RowTask, rows: Vec<u32>) -> Result<Plan, ReplayError> {
        let meaning = RowMeaning::new(task);
        let mut state = meaning.initial()?;
        let mut sum = Rational::from_integer(0);
        for (step, &row) in rows.iter().enumerate() {
            match meaning.fire(&state, &task.rows[row as usize])? {
                Fired::Inapplicable => return Err(ReplayError::Inapplicable(step)),
                Fired::Reached(next, cost) => {
                    state = next;
                    sum = num_traits::CheckedAdd::checked_add(&sum, &cost).ok_or(TooLarge)?;
                }
            }
        }
        if !meaning.is_goal(&state)? {
            return Err(ReplayError::NoGoal);
        }
        let read = |term: u32| meaning.value(term, &state)?.ok_or(ReplayError::NoMetric);
        let cost = match task.metric {
            Metric::Steps => sum,
            Metric::Cost { at_end, offset, sense } => {
                let sum = match at_end {
                    Some(term) => sum + read(term)?,
                    None => sum,
                };
                match sense {
                    Sense::Minimise => offset + sum,
                    Sense::Maximise => offset - sum,
                }
            }
            Metric::Minimise(term) | Metric::Maximise(term) => read(term)?,
        };
        Ok(Plan { rows, cost })
    }

    /// The steps that a plan shows, as the language writes them.
    pub fn steps(&self, task: &RowTask) -> Vec<String> {
        let shown = self.rows.iter().filter(|&&row| !task.rows[row as usize].hidden);
        shown.map(|&row| task.label(row)).collect()
    }

    /// The plan in the syntax of the planning competitions, its cost last.
    pub fn text(&self, task: &RowTask) -> String {
        let mut text: String = self.steps(task).into_iter().map(|step| step + "\n").collect();
        let unit = if task.metric == Metric::Steps { " (unit cost)" } else { "" };
        text.push_str(&format!("; cost = {}{unit}\n", decimal(self.cost)));
        text
    }
}

/// A number as people write it: whole, decimal where that is exact, else a fraction.
pub fn decimal(value: Rational) -> String {
    if value.is_integer() {
        return value.numer().to_string();
    }
    for places in 1..=9u32 {
        let scaled = value * Rational::from_integer(10i128.pow(places));
        if scaled.is_integer() {
            let (sign, digits) = (if *scaled.numer() < 0 { "-" } else { "" }, scaled.numer().unsigned_abs());
            let unit = 10u128.pow(places);
            return format!("{sign}{}.{:0width$}", digits / unit, digits % unit, width = places as usize);
        }
    }
    value.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_people_write_them() {
        let written = [(3, 1), (-7, 2), (1, 8), (1, 3), (-1, 10)].map(|(n, d)| decimal(Rational::new(n, d)));
        assert_eq!(written, ["3", "-3.5", "0.125", "1/3", "-0.1"]);
    }
}
