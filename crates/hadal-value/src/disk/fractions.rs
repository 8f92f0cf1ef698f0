//! Exact values of states: by elimination, or by sweeps over fractions under a bound on steps.

use super::asked::{Bounds, Solver, uncomplemented};
use super::bounded::Pace;
use super::exactly::solve_exactly;
use super::journal::Journal;
use super::parts::{Part, Sets};
use super::rows::{Rows, States};
use super::solve::{How, Tier};
use crate::answer::{Answer, ExactFold, Fold};
use crate::values::{Exact, other_probability};
use crate::{Precision, SolveError};
use dashu_ratio::RBig;
use hadal_system::chance::{Measure, Sense, Summary};

impl<R: Rows + States> Solver<'_, R> {
    /// The exact values of `chosen` states, made one.
    pub(super) fn exact_value(
        &self,
        measure: (&Measure, Sense),
        chosen: &[bool],
        summary: Summary,
        journal: Option<&mut Journal>,
    ) -> Result<Answer, SolveError> {
        let (mut fold, mut exact) = (Fold::default(), ExactFold::new(summary));
        let (sweeps, tier) = self.fractions(measure, chosen, journal, |_, bounds, value| {
            fold.add(bounds);
            exact.add(value);
        })?;
        let value = Some(fold.finish(summary)?);
        Ok(Answer { value, exact: exact.finish(), sweeps, tier: tier.name(), ..Answer::default() })
    }

    /// Tells bounds and exact values of `chosen` states; how many sweeps it took, and where values were kept.
    pub(super) fn fractions(
        &self,
        (measure, sense): (&Measure, Sense),
        chosen: &[bool],
        mut journal: Option<&mut Journal>,
        mut each: impl FnMut(usize, Bounds, Exact),
    ) -> Result<(u64, Tier), SolveError> {
        self.must_be_alone(
            "several workers find bounds, and the value lies too near the number that it is compared with: leave out --cluster",
        )?;
        let (inner, sense, negated) = uncomplemented(measure, sense);
        let mut tell = |state: usize, bounds: Bounds, value: Exact| match (negated, value) {
            (true, Exact::Finite(value)) => {
                each(state, other_probability(bounds), Exact::Finite(RBig::ONE - value));
            }
            (_, value) => each(state, bounds, value),
        };
        let chosen = chosen.iter().enumerate().filter(|(_, chosen)| **chosen).map(|(state, _)| state);
        let (this, precision) = (self.of(&inner), Precision { exact: true, ..self.precision });
        if let Some(beside) = this.beside(&inner) {
            let found = this.inside((&inner, beside), sense, precision, journal)?;
            for state in chosen {
                tell(state, found.bounds[state], Exact::Finite(found.exact[state].clone()));
            }
            return Ok((found.sweeps, self.tier.unwrap_or(Tier::SemiExternal)));
        }
        match this.part(&inner, sense, precision, journal.as_deref_mut())? {
            Part::Open(sets) => {
                let mut passing = self.passing();
                let journal = journal.or(passing.as_mut());
                let how = How { sense, precision: self.precision.relative, tier: self.tier };
                let room = (how, self.precision.room);
                let found = solve_exactly(&this.rows, self.initial, sets.question(), room, journal)?;
                for state in chosen {
                    let (bounds, value) = found.of(state);
                    tell(state, bounds, value);
                }
                Ok((found.sweeps, found.tier))
            }
            Part::Swept(bounds) => {
                let memory = self.disk.as_ref().map(|disk| disk.governor.empty("fractions"));
                let mut pace = Pace { memory, room: self.precision.room, ..Pace::default() };
                let unbounded = |sets: &Sets, _: &mut Pace| self.fractions_of_all(sets, sense);
                let values = this.bounded(&inner, sense, &mut pace, unbounded)?;
                let values: Vec<RBig> = values.ok_or(SolveError::Undecided)?;
                for state in chosen {
                    tell(state, bounds.values[state], Exact::Finite(values[state].clone()));
                }
                Ok((bounds.sweeps, self.tier.unwrap_or(Tier::SemiExternal)))
            }
        }
    }

    /// The exact probabilities of all states.
    fn fractions_of_all(&self, sets: &Sets, sense: Sense) -> Result<Vec<RBig>, SolveError> {
        let how = How { sense, precision: self.precision.relative, tier: self.side_tier() };
        let (room, mut passing) = ((how, self.precision.room), self.passing());
        let found = solve_exactly(&self.rows, self.initial, sets.question(), room, passing.as_mut())?;
        let states = 0..self.rows.states() as usize;
        let finite = |state: usize| match found.of(state).1 {
            Exact::Finite(value) => Ok(value),
            Exact::Infinite => Err(SolveError::Undecided),
        };
        states.map(finite).collect()
    }
}
