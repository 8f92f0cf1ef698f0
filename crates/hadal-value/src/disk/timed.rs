//! Questions of continuous time by scans: two bounds of every state and a sum of them in RAM, committed now and then.

use super::asked::{Bounds, Solver};
use super::bounded::Pace;
use super::graph::run_options;
use super::journal::Journal;
use super::parts::Sets;
use super::rows::{Rows, States};
use super::vector::{read_bounds, write_bounds};
use crate::SolveError;
use crate::answer::NO_TIME;
use crate::bounded::{Rule, indicator};
use crate::timed::{Begin, Chain, Keeper, Lasting, Pairs, Reached, Uniform};
use crate::values::Values;
use hadal_system::chance::{Horizon, Limit, Measure, Path};
use hadal_system::rows::Rational;

/// Bytes a state: how long it lasts, its bounds before and after a step, their sum, two sets.
pub(super) const TIMED: u64 = 4 + 3 * 16 + 2;

/// The chain of some rows.
struct Moving<'r, R>(&'r R);

impl<R: Rows> Chain for Moving<'_, R> {
    fn states(&self) -> usize {
        self.0.states() as usize
    }

    fn moved(
        &self,
        now: &Pairs,
        wanted: impl Fn(usize) -> bool,
        mut each: impl FnMut(usize, (f64, f64), usize),
    ) -> Result<(), SolveError> {
        let numbers = self.0.numbers();
        let (below, above) = (numbers.below(), numbers.above());
        self.0.scan(|state, row| {
            let state = state as usize;
            let Some((branches, _)) = row.choices().next().filter(|_| wanted(state)) else { return };
            let (mut low, mut high) = (0.0, 0.0);
            for &(to, weight) in branches {
                low += below[weight as usize] * now.0[to as usize];
                high += above[weight as usize] * now.1[to as usize];
            }
            each(state, (low, high), branches.len());
        })?;
        Ok(())
    }
}

impl<R: Rows + States> Solver<'_, R> {
    /// How long each state lasts on average.
    pub(super) fn lasting(&self) -> Result<Lasting<'_>, SolveError> {
        let sojourn = self.system.quantities.sojourn.ok_or(SolveError::Time(NO_TIME))?;
        let mut of = Vec::with_capacity(self.rows.states() as usize);
        self.rows.showing(sojourn).scan(|_, row| of.push(row.rewards[0]))?;
        Ok(Lasting { numbers: self.rows.numbers(), of })
    }

    /// What states earn in a unit of time, of the reward that is shown.
    pub(super) fn rates(&self, lasting: &Lasting) -> Result<Values, SolveError> {
        let mut visits = Vec::with_capacity(self.rows.states() as usize);
        self.rows.scan(|_, row| visits.push(row.rewards[0]))?;
        lasting.rates(visits.into_iter().map(|number| self.rows.numbers().exact(number)))
    }

    /// The values of a question of continuous time; `unbounded` tells those of a set of states.
    pub(super) fn in_time(
        &self,
        measure: &Measure,
        pace: &mut Pace,
        unbounded: impl FnOnce(&Sets, &mut Pace) -> Result<Vec<Bounds>, SolveError>,
    ) -> Result<Vec<Bounds>, SolveError> {
        let lasting = self.lasting()?;
        let chain = Moving(&self.rows);
        let uniform = |time: Rational| Uniform::new(&chain, &lasting, time);
        let values = match measure {
            Measure::Probability(Path::Until(left, right, Limit::Time(low, high))) => {
                let (through, target) = (self.formula(left)?, self.formula(right)?);
                let sets = Sets { through, target, rewards: false, total: None };
                let mut values = match *high {
                    None => {
                        let (lower, upper) = unbounded(&sets, pace)?.into_iter().unzip();
                        Values { lower, upper, ..indicator(&[], false) }
                    }
                    Some(high) if high < *low => indicator(&vec![false; sets.target.len()], false),
                    Some(high) => {
                        let rule = |s: usize| match (sets.target[s], sets.through[s]) {
                            (true, _) => Rule::One,
                            (_, true) => Rule::Best,
                            _ => Rule::Zero,
                        };
                        let from = indicator(&sets.target, false);
                        let values = uniform(high - *low)?.at_the_end(from, rule, pace)?;
                        pace.sweeps += values.sweeps;
                        values
                    }
                };
                if *low != Rational::from_integer(0) {
                    // Until then nothing but `through` is met.
                    for state in (0..sets.through.len()).filter(|&state| !sets.through[state]) {
                        (values.lower[state], values.upper[state]) = (0.0, 0.0);
                    }
                    let rule = |s: usize| if sets.through[s] { Rule::Best } else { Rule::Zero };
                    values = uniform(*low)?.at_the_end(values, rule, pace)?;
                    pace.sweeps += values.sweeps;
                }
                values
            }
            Measure::Earned(reward, Horizon::Moment(time)) => {
                self.of_states(*reward)?;
                let values = uniform(*time)?.at_the_end(self.rates(&lasting)?, |_| Rule::Best, pace)?;
                pace.sweeps += values.sweeps;
                values
            }
            Measure::Earned(_, Horizon::Time(time)) => {
                let values = uniform(*time)?.earned(self.rates(&lasting)?, pace)?;
                pace.sweeps += values.sweeps;
                values
            }
            _ => return Err(SolveError::Time("this is no question of continuous time")),
        };
        Ok(values.lower.into_iter().zip(values.upper).collect())
    }
}

/// How far a sum has come: its number, steps, terms, sweeps before it; and its two runs.
const SUMMED: &str = "summed";
const RUNS: [&str; 2] = ["summed-now", "summed-sum"];

/// Sums are committed where sweeps are.
impl Keeper for Pace<'_> {
    fn begin(&mut self, states: usize) -> Result<Begin, SolveError> {
        self.series += 1;
        let Some(journal) = self.journal.as_deref_mut() else { return Ok(Begin::Afresh) };
        let Some(&[series, at, terms, sweeps]) = journal.words(SUMMED) else { return Ok(Begin::Afresh) };
        if series != self.series {
            // Of a later one, whose values replace these.
            return Ok(if series > self.series { Begin::Skipped } else { Begin::Afresh });
        }
        let mut pairs = RUNS.map(|_| (vec![0.0; states], vec![0.0; states]));
        let options = run_options(3, 0, journal.disk().governor.limit());
        for (pair, name) in pairs.iter_mut().zip(RUNS) {
            let Some(run) = journal.run(name, &options)? else { return Ok(Begin::Afresh) };
            read_bounds(&run, |state, bounds| {
                (pair.0[state as usize], pair.1[state as usize]) = bounds;
            })?;
        }
        self.sweeps = sweeps;
        let [now, sum] = pairs;
        Ok(Begin::From(Reached { now, sum, at, terms }))
    }

    fn step(&mut self, reached: &Reached) -> Result<(), SolveError> {
        let Some(journal) = self.journal.as_deref_mut().filter(|journal| journal.is_due()) else {
            return Ok(());
        };
        put_pairs(journal, &reached.now, RUNS[0])?;
        put_pairs(journal, &reached.sum, RUNS[1])?;
        journal.put_words(SUMMED, vec![self.series, reached.at, reached.terms, self.sweeps]);
        Ok(journal.commit()?)
    }
}

fn put_pairs(journal: &mut Journal, (lower, upper): &Pairs, name: &str) -> Result<(), SolveError> {
    let bounds = lower.iter().copied().zip(upper.iter().copied());
    let run = write_bounds(journal, bounds.enumerate().map(|(state, bounds)| (state as u64, bounds)))?;
    journal.put_run(name, &run);
    Ok(())
}
