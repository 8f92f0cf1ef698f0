//! Certificates of questions with a bound on steps, by scans: a claim for every state and number of steps that may be left when it is
//! reached as early as it can be.

use super::asked::{Bounds, Solver};
use super::bounded::{Pace, Sweeps};
use super::rows::{Rows, States};
use super::solve::reserve;
use crate::SolveError;
use crate::bounded::Rule;
use crate::certificate::{Certificate, Claim, Claims, Kind, Steps};
use crate::values::other_probability;
use hadal_system::chance::Sense;

/// Bytes a state: bounds before and after a sweep, how early it is reached, two sets.
const BYTES: u64 = 2 * 16 + 4 + 2;
/// Not reached yet.
const NEVER: u32 = u32::MAX;

impl<R: Rows + States> Solver<'_, R> {
    pub(super) fn certify_steps(&self, steps: &Steps, text: &str) -> Result<Certificate, SolveError> {
        let governor = self.disk.as_ref().map(|disk| &disk.governor);
        let _memory = reserve(self.rows.states(), BYTES, governor)?;
        let n = self.rows.states() as usize;
        if steps.total >= u64::from(NEVER) {
            return Err(SolveError::NoCertificate("there are too many steps to claim something for each"));
        }
        let (through, target) = match steps.kind {
            Kind::Until { through, target, .. } => (self.formula(through)?, self.formula(target)?),
            Kind::Earned(_) | Kind::Instant(_) => (vec![true; n], vec![false; n]),
        };
        let settled = |state: usize, left: u64| steps.settled(left, through[state], target[state]);
        let early = self.early(steps.total as u32)?;
        let mut values: Vec<Bounds> = match steps.kind {
            Kind::Until { .. } => target.iter().map(|&t| if t { (1.0, 1.0) } else { (0.0, 0.0) }).collect(),
            Kind::Earned(_) => vec![(0.0, 0.0); n],
            Kind::Instant(_) => {
                let (numbers, mut now) = (self.rows.numbers(), vec![(0.0, 0.0); n]);
                self.rows.scan(|state, row| {
                    let earned = row.rewards[0] as usize;
                    now[state as usize] = (numbers.below()[earned], numbers.above()[earned]);
                })?;
                now
            }
        };
        let rewards = matches!(steps.kind, Kind::Earned(_));
        let sweeps = Sweeps { rows: &self.rows, sense: steps.sense, rewards };
        let mut claims = Claims::new(self.space.words(), self.disk.as_ref())?;
        for left in 1..=steps.total {
            let rule = |state: usize| match settled(state, left) {
                Some(true) => Rule::One,
                Some(false) => Rule::Zero,
                None => Rule::Best,
            };
            values = sweeps.run(values, 1, rule, &mut Pace::default())?;
            let mut failed = None;
            self.rows.tell(|number, state| {
                let at = number as usize;
                if u64::from(early[at]) + left <= steps.total && settled(at, left).is_none() {
                    let (lower, upper) = values[at];
                    let claim =
                        Claim { state: state.to_vec(), lower, upper, rank: left as u32, escape: None };
                    failed = failed.take().or(claims.push(&claim).err());
                }
            })?;
            if let Some(error) = failed {
                return Err(error.into());
            }
        }
        let least = (steps.sense == Sense::Least) != steps.negated;
        let starts = self.initial.iter().map(|&s| values[s as usize]);
        let starts = starts.map(|bounds| if steps.negated { other_probability(bounds) } else { bounds });
        let value = starts.reduce(|a, b| match least {
            true => (a.0.min(b.0), a.1.min(b.1)),
            false => (a.0.max(b.0), a.1.max(b.1)),
        });
        let value = value.unwrap_or((0.0, f64::INFINITY));
        Ok(Certificate { formula: text.to_owned(), value, claims: claims.finish()? })
    }

    /// After how many steps each state is reached at the earliest, up to `most`.
    fn early(&self, most: u32) -> Result<Vec<u32>, SolveError> {
        let mut early = vec![NEVER; self.rows.states() as usize];
        self.initial.iter().for_each(|&state| early[state as usize] = 0);
        for step in 0..most {
            let mut changed = false;
            self.rows.scan(|state, row| {
                if early[state as usize] == step {
                    for to in row.branches.iter().map(|b| b.0 as usize) {
                        if early[to] == NEVER {
                            early[to] = step + 1;
                            changed = true;
                        }
                    }
                }
            })?;
            if !changed {
                break;
            }
        }
        Ok(early)
    }
}
