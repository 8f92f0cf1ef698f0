//! Averages in the long run by scans (see [`crate::average`]): the averages of all end components at once, then what is earned
//! where each may end the run for its own.

use super::DiskError;
use super::asked::{Bounds, Solver};
use super::certain::Search;
use super::everywhere::solve_everywhere;
use super::graph::run_options;
use super::journal::Journal;
use super::parts::Series;
use super::rows::{Row, Rows, States};
use super::solve::{How, Question, reserve};
use super::vector::{read_bounds, write_bounds};
use crate::average::{Change, Tally, on_grid};
use crate::components::NONE;
use crate::numbers::{Numbers, nearest};
use crate::{Precision, SolveError};
use hadal_system::chance::{Averaged, Sense};

/// Bytes a state: its end component, its value before and after a sweep, what it earns and how fast it is left, a set; and those of
/// a component.
const AVERAGE: u64 = 4 + 4 + 16 + 16 + 8 + 1;
const COMPONENT: u64 = 96;

/// What every choice earns.
enum Earns<'s> {
    /// 1 in these states, 0 in all others.
    Inside(&'s [bool]),
    /// So much, by state.
    Rate(Vec<Bounds>),
    /// Its reward.
    Reward,
}

impl Earns<'_> {
    fn of(&self, state: usize, numbers: &Numbers, reward: u32) -> Bounds {
        match self {
            Earns::Inside(set) if set[state] => (1.0, 1.0),
            Earns::Inside(_) => (0.0, 0.0),
            Earns::Rate(rates) => rates[state],
            Earns::Reward => (numbers.below()[reward as usize], numbers.above()[reward as usize]),
        }
    }
}

/// The averages inside end components, found by sweeps over all of them.
struct Averages<'s, R> {
    rows: &'s R,
    sense: Sense,
    /// By state: which end component it is in.
    groups: &'s [u32],
    earns: Earns<'s>,
    /// By state: how often it is left in a unit of time.
    rates: Option<Vec<f64>>,
    width: f64,
}

impl<R: Rows> Averages<'_, R> {
    /// Whether a choice of a member stays in its end component.
    fn stays(&self, branches: &[(u64, u32)], group: u32) -> bool {
        branches.iter().all(|b| self.groups[b.0 as usize] == group)
    }

    /// What is known of every end component before it is swept; those that are `idle` have average 0.
    fn tallies(&self, idle: &[bool]) -> Result<Vec<Tally>, SolveError> {
        let mut tallies: Vec<Tally> = idle.iter().map(|&idle| Tally::new(idle)).collect();
        let numbers = self.rows.numbers();
        self.rows.scan(|state, row| {
            let (state, group) = (state as usize, self.groups[state as usize]);
            let Some(tally) = tallies.get_mut(group as usize) else { return };
            tally.meets(state, self.rates.as_ref().map_or(1.0, |rates| rates[state]));
            for (branches, reward) in row.choices().filter(|(branches, _)| self.stays(branches, group)) {
                tally.counts(branches.len(), self.earns.of(state, numbers, reward));
            }
        })?;
        Ok(tallies)
    }

    /// Sweeps until the averages of all are sharp; how many sweeps that took.
    fn solve(&self, tallies: &mut [Tally], mut journal: Option<&mut Journal>) -> Result<u64, SolveError> {
        let states = self.groups.len();
        let (mut values, mut next) = (vec![0.0; states], vec![0.0; states]);
        let mut sweeps = match journal.as_deref_mut() {
            Some(journal) => recall(journal, &mut values, tallies)?,
            None => 0,
        };
        let numbers = self.rows.numbers();
        loop {
            let open: Vec<bool> = tallies.iter().map(|tally| tally.is_open(self.width)).collect();
            if !open.contains(&true) {
                return Ok(sweeps);
            }
            self.rows.scan(|state, row| {
                let (state, group) = (state as usize, self.groups[state as usize]);
                if !open.get(group as usize).is_some_and(|open| *open) {
                    return;
                }
                let tally = &mut tallies[group as usize];
                let moves = tally.moves(self.rates.as_ref().map_or(1.0, |rates| rates[state]));
                let mut change = Change::new(self.sense);
                for (branches, reward) in row.choices().filter(|(branches, _)| self.stays(branches, group)) {
                    let terms = branches
                        .iter()
                        .map(|&(to, weight)| (numbers.below()[weight as usize], values[to as usize]));
                    change.choice(self.earns.of(state, numbers, reward), moves, values[state], terms);
                }
                next[state] = values[state] + tally.sees(change);
            })?;
            for (tally, _) in tallies.iter_mut().zip(&open).filter(|(_, open)| **open) {
                tally.swept(next[tally.first()]);
            }
            for (state, &group) in self.groups.iter().enumerate() {
                if open.get(group as usize).is_some_and(|open| *open) {
                    values[state] = next[state] - tallies[group as usize].shift();
                }
            }
            sweeps += 1;
            if let Some(journal) = journal.as_deref_mut().filter(|journal| journal.is_due()) {
                commit(journal, &values, tallies, sweeps)?;
            }
        }
    }
}

/// Values of the states, bounds of the components, and how many sweeps were made.
const VALUES: &str = "average-values";
const TALLIES: &str = "average-components";
const SWEEPS: &str = "average-sweeps";

fn commit(journal: &mut Journal, values: &[f64], tallies: &[Tally], sweeps: u64) -> Result<(), DiskError> {
    let pairs = values.iter().enumerate().map(|(state, &value)| (state as u64, (value, 0.0)));
    let values = write_bounds(journal, pairs)?;
    let bounds = tallies.iter().enumerate().map(|(n, tally)| (n as u64, tally.bounds()));
    let bounds = write_bounds(journal, bounds)?;
    journal.put_run(VALUES, &values);
    journal.put_run(TALLIES, &bounds);
    journal.put_words(SWEEPS, vec![sweeps]);
    journal.commit()
}

fn recall(journal: &mut Journal, values: &mut [f64], tallies: &mut [Tally]) -> Result<u64, DiskError> {
    let Some(&[sweeps]) = journal.words(SWEEPS) else { return Ok(0) };
    let options = run_options(3, 0, journal.disk().governor.limit());
    let (Some(kept), Some(bounds)) = (journal.run(VALUES, &options)?, journal.run(TALLIES, &options)?) else {
        return Ok(0);
    };
    read_bounds(&kept, |state, (value, _)| values[state as usize] = value)?;
    read_bounds(&bounds, |n, bounds| tallies[n as usize].restore(bounds, sweeps))?;
    Ok(sweeps)
}

/// Rows in which every state of an end component may also end the run for the component's average; nothing else is earned.
struct Ending<'r, R> {
    rows: &'r R,
    groups: &'r [u32],
    /// By end component: its average, as a number.
    earned: Vec<u32>,
    numbers: Numbers,
}

impl<R: Rows> Rows for Ending<'_, R> {
    fn states(&self) -> u64 {
        self.rows.states() + 1
    }

    fn numbers(&self) -> &Numbers {
        &self.numbers
    }

    fn scan(&self, mut each: impl FnMut(u64, &Row)) -> Result<(), DiskError> {
        let (end, mut ended) = (self.rows.states(), Row::default());
        let ends = |row: &mut Row, earned: u32| {
            row.branches.push((end, 1));
            row.ends.push(row.branches.len() as u32);
            row.rewards.push(earned);
        };
        self.rows.scan(|state, row| {
            ended.clear();
            ended.branches.extend_from_slice(&row.branches);
            ended.ends.extend_from_slice(&row.ends);
            ended.rewards.resize(row.ends.len(), 0);
            if let Some(&earned) = self.earned.get(self.groups[state as usize] as usize) {
                ends(&mut ended, earned);
            }
            each(state, &ended);
        })?;
        ended.clear();
        ends(&mut ended, 0);
        each(end, &ended);
        Ok(())
    }
}

impl<R: Rows + States> Solver<'_, R> {
    /// The averages of all states in the long run.
    pub(super) fn average(
        &self,
        of: &Averaged,
        sense: Sense,
        precision: Precision,
        mut journal: Option<&mut Journal>,
    ) -> Result<Series, SolveError> {
        let states = self.rows.states();
        let governor = self.disk.as_ref().map(|disk| disk.governor.clone());
        let inside = match of {
            Averaged::Share(formula) => Some(self.formula(formula)?),
            Averaged::Earned(_) => None,
        };
        let everywhere = |allowed: &dyn Fn(u32) -> bool, of: Vec<bool>| {
            let search = Search { rows: &self.rows };
            let staying = search.staying(of, allowed)?;
            search.end_components(&staying, allowed)
        };
        let mut groups = self.end_components(|_| true)?;
        // Whoever can stay where nothing is earned has the least average, which no sweep would reach.
        let free = match (sense, &inside) {
            (Sense::Greatest, _) => Vec::new(),
            (Sense::Least, Some(inside)) => everywhere(&|_| true, inside.iter().map(|i| !i).collect())?,
            (Sense::Least, None) => self.end_components(|reward| reward == 0)?,
        };
        let memory = reserve(states, AVERAGE, governor.as_ref())?;
        let count = number(&mut groups);
        let _components = reserve(count, COMPONENT, governor.as_ref())?;
        let mut idle = vec![false; count as usize];
        for (group, _) in groups.iter().zip(&free).filter(|(_, free)| **free != NONE) {
            if let Some(idle) = idle.get_mut(*group as usize) {
                *idle = true;
            }
        }
        drop(free);
        let timed = self.system.quantities.sojourn.is_some();
        let lasting = if timed { Some(self.lasting()?) } else { None };
        let earns = match (&inside, &lasting) {
            (Some(inside), _) => Earns::Inside(inside),
            (None, Some(lasting)) => {
                let rates = self.rates(lasting)?;
                Earns::Rate(rates.lower.into_iter().zip(rates.upper).collect())
            }
            (None, None) => Earns::Reward,
        };
        let rates = lasting.map(|lasting| {
            let rate = |&number: &u32| nearest(&lasting.numbers.exact(number).recip());
            lasting.of.iter().map(rate).collect()
        });
        let averages = Averages {
            rows: &self.rows,
            sense,
            groups: &groups,
            earns,
            rates,
            width: precision.relative / 4.0,
        };
        let mut tallies = averages.tallies(&idle)?;
        let mut sweeps = averages.solve(&mut tallies, journal.as_deref_mut())?;
        drop((averages, memory));
        let bounds: Vec<Bounds> = tallies.iter().map(Tally::bounds).collect();
        let mut ends = |scope: &str, up: bool| {
            let pick = |b: &Bounds| on_grid(if up { b.1 } else { b.0 }, up);
            let averages = bounds.iter().map(pick);
            match journal.as_deref_mut() {
                Some(journal) => journal.scoped(scope, |journal| {
                    self.ending((&groups, averages), (sense, precision), Some(journal))
                }),
                None => self.ending((&groups, averages), (sense, precision), None),
            }
        };
        let memory = reserve(states, 32, governor.as_ref())?;
        let (mut values, made) = ends("low-", false)?;
        sweeps += made;
        if bounds.iter().any(|b| b.0 != b.1) {
            let (upper, made) = ends("high-", true)?;
            values.iter_mut().zip(upper).for_each(|(bounds, upper)| bounds.1 = upper.1);
            sweeps += made;
        }
        if inside.is_some() {
            values.iter_mut().for_each(|bounds| bounds.1 = bounds.1.min(1.0));
        }
        Ok(Series::of(values, sweeps, memory))
    }

    /// What is earned where every state of an end component may end the run for the component's average.
    fn ending(
        &self,
        (groups, averages): (&[u32], impl Iterator<Item = Option<hadal_system::rows::Rational>>),
        (sense, precision): (Sense, Precision),
        journal: Option<&mut Journal>,
    ) -> Result<(Vec<Bounds>, u64), SolveError> {
        let (mut numbers, mut earned) = (self.rows.numbers().clone(), Vec::new());
        for average in averages {
            earned.push(numbers.add(average.ok_or(SolveError::Time("an average is too large"))?));
        }
        let ending = Ending { rows: &self.rows, groups, earned, numbers };
        let mut target = vec![false; groups.len() + 1];
        target[groups.len()] = true;
        let question = match sense {
            Sense::Greatest => Question::EarnedForEver,
            Sense::Least => Question::EarnedBefore(&target),
        };
        let how = How { sense, precision: precision.relative, tier: self.tier };
        let mut passing = self.passing();
        let journal = journal.or(passing.as_mut());
        let found = solve_everywhere(&ending, self.initial, question, how, journal)?;
        let mut values = found.bounds.load()?;
        values.truncate(groups.len());
        Ok((values, found.sweeps))
    }
}

/// Numbers end components, which are called by states, one after the other; how many there are.
fn number(groups: &mut [u32]) -> u64 {
    let (mut numbers, mut count) = (vec![NONE; groups.len()], 0);
    for group in groups.iter_mut().filter(|group| **group != NONE) {
        let number = &mut numbers[*group as usize];
        if *number == NONE {
            *number = count;
            count += 1;
        }
        *group = *number;
    }
    u64::from(count)
}
