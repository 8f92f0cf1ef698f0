//! Checks a certificate by streams: claims are sorted by state, each asks for those of its successors, and two sorts bring the
//! answers back to it. Nothing but buffers is held in RAM, however many claims there are.

use super::judge::{Flaw, Unbounded};
use super::steps::Bounded;
use super::{BESIDE, Claim, Steps};
use crate::answer::Needs;
use crate::disk::{Cursor, DiskError, run_options};
use hadal_store::sort::Sorter;
use hadal_store::{Disk, RunFile};
use hadal_system::chance::{Asked, Formula, Objective};
use hadal_system::state::compare;
use hadal_system::{StateSpace, System};
use std::io;

/// Why a certificate shows nothing.
#[derive(Debug, thiserror::Error)]
pub enum CheckError {
    /// It is wrong.
    #[error("{0}")]
    Flaw(#[from] Flaw),
    /// It cannot be read.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// Something cannot be written or read back meanwhile.
    #[error("{0}")]
    Disk(#[from] DiskError),
}

/// Knows what a claim has to follow from.
pub(super) trait Judge {
    /// How many steps are left, where that matters.
    fn left(&self, claim: &Claim) -> u64;
    /// A state for people.
    fn show(&self, state: &[u64]) -> String;
    /// Whether a claim follows from what is claimed of its successors.
    fn claim(&mut self, claim: &Claim, known: &mut Lookup) -> Result<(), Flaw>;
    /// Whether the bounds of the whole follow from what is claimed of the initial states.
    fn whole(&mut self, value: (f64, f64), known: &mut Lookup) -> Result<(), Flaw>;
}

/// What is claimed of the states that matter for one claim; or, the first time, which those are.
pub(super) enum Lookup {
    /// States and steps left, steps first.
    Asked(Vec<Vec<u64>>),
    /// Claims in the order of their states and steps.
    Told(Vec<(u64, Claim)>),
}

impl Lookup {
    /// Whether it is only seen what is asked for.
    pub fn gathers(&self) -> bool {
        matches!(self, Lookup::Asked(_))
    }

    /// The claim of a state with so many steps left.
    pub fn find(&mut self, state: &[u64], left: u64) -> Option<Claim> {
        match self {
            Lookup::Asked(list) => {
                list.push([&[left], state].concat());
                let state = state.to_vec();
                Some(Claim { state, lower: 0.0, upper: 0.0, rank: 0, escape: None })
            }
            Lookup::Told(list) => {
                let at = list
                    .binary_search_by(|(n, claim)| compare(&claim.state, state).then(n.cmp(&left)))
                    .ok()?;
                Some(list[at].1.clone())
            }
        }
    }
}

/// Checks every claim against `space`, a state space of `system`, for the question; how many claims there are. `value` is what is
/// claimed of the initial states. Files are kept on `disk` meanwhile, whose budget counts.
pub fn check(
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    (value, claims): ((f64, f64), impl Iterator<Item = io::Result<Claim>>),
    disk: &Disk,
) -> Result<u64, CheckError> {
    let mut judge: Box<dyn Judge> = match (&objective.asked, &objective.states) {
        (Asked::Value(measure, _), _) if Needs::asks_inside(measure) => return Err(Flaw::Question.into()),
        (Asked::Value(measure, sense), Formula::Initial) => match Steps::of(measure, *sense) {
            Some(steps) => Box::new(Bounded::new(space, system, (steps, objective.summary))),
            None => Box::new(Unbounded::new(space, system, objective).ok_or(Flaw::Question)?),
        },
        _ => return Err(Flaw::Question.into()),
    };
    let stream = Stream { disk, words: space.words() };
    let sorted = stream.sort(claims, &*judge)?;
    let answers = stream.answers(&sorted, &mut *judge, value)?;
    stream.judge(&sorted, &answers, &mut *judge, value)?;
    Ok(sorted.records())
}

/// Claims as they are sorted: what is claimed, steps left, state.
struct Stream<'d> {
    disk: &'d Disk,
    words: usize,
}

impl Stream<'_> {
    /// Words of a sorted claim.
    fn stride(&self) -> usize {
        BESIDE + 1 + self.words
    }

    fn sorter(&self, words: usize) -> Sorter<'_> {
        let limit = self.disk.governor.limit();
        Sorter::new(self.disk, run_options(words, 0, limit), limit / 4)
    }

    fn cursor(run: &RunFile, stride: usize) -> Result<Cursor, DiskError> {
        Ok(Cursor::open(run, stride)?)
    }

    fn sort(
        &self,
        claims: impl Iterator<Item = io::Result<Claim>>,
        judge: &dyn Judge,
    ) -> Result<RunFile, CheckError> {
        let (mut sorter, mut record) = (self.sorter(self.stride()), Vec::new());
        for claim in claims {
            let claim = claim?;
            if claim.state.len() != self.words {
                let state = format!("{:x?}", claim.state);
                return Err(Flaw::Claim { what: "that states have so many words", state }.into());
            }
            claim.encode(&mut record);
            record.insert(BESIDE, judge.left(&claim));
            sorter.push(&record).map_err(DiskError::from)?;
        }
        Ok(sorter.into_run().map_err(DiskError::from)?)
    }

    fn claim(&self, record: &[u64]) -> (u64, Claim) {
        let words = [&record[..BESIDE], &record[BESIDE + 1..]].concat();
        (record[BESIDE], Claim::decode(&words))
    }

    /// What each claim has to know: claims with the number of whoever asked, sorted by that. The initial states are asked for by
    /// the number behind the last.
    fn answers(
        &self,
        sorted: &RunFile,
        judge: &mut dyn Judge,
        value: (f64, f64),
    ) -> Result<RunFile, CheckError> {
        let mut asked = self.sorter(2 + self.words);
        let mut push = |number: u64, known: Lookup| -> Result<(), DiskError> {
            let Lookup::Asked(list) = known else { return Ok(()) };
            for key in list {
                asked.push(&[&[number], &key[..]].concat())?;
            }
            Ok(())
        };
        let mut claims = Self::cursor(sorted, self.stride())?;
        let (mut number, mut last) = (0, None);
        while let Some(record) = claims.head().map_err(DiskError::from)? {
            let (_, claim) = self.claim(record);
            let key = record[BESIDE..].to_vec();
            if last.as_ref() == Some(&key) {
                let what = "that there is one line per state and number of steps left";
                return Err(Flaw::Claim { what, state: judge.show(&claim.state) }.into());
            }
            last = Some(key);
            let mut known = Lookup::Asked(Vec::new());
            judge.claim(&claim, &mut known)?;
            push(number, known)?;
            number += 1;
            claims.step();
        }
        drop(claims);
        let mut known = Lookup::Asked(Vec::new());
        judge.whole(value, &mut known)?;
        push(number, known)?;
        let asked = asked.into_run().map_err(DiskError::from)?;
        let mut told = self.sorter(self.stride() + 1);
        let (mut asked, mut claims) =
            (Self::cursor(&asked, 2 + self.words)?, Self::cursor(sorted, self.stride())?);
        let mut record = Vec::new();
        while let Some(wish) = asked.head().map_err(DiskError::from)? {
            loop {
                let found = claims.head().map_err(DiskError::from)?;
                match found.map(|found| (compare(&found[BESIDE..], &wish[1..]), found)) {
                    Some((std::cmp::Ordering::Less, _)) => claims.step(),
                    Some((std::cmp::Ordering::Equal, found)) => {
                        record.clear();
                        record.extend_from_slice(found);
                        record.push(wish[0]);
                        break;
                    }
                    _ => return Err(Flaw::Missing(judge.show(&wish[2..])).into()),
                }
            }
            told.push(&record).map_err(DiskError::from)?;
            asked.step();
        }
        drop((asked, claims));
        Ok(told.into_run().map_err(DiskError::from)?)
    }

    fn judge(
        &self,
        sorted: &RunFile,
        answers: &RunFile,
        judge: &mut dyn Judge,
        value: (f64, f64),
    ) -> Result<(), CheckError> {
        let (mut claims, mut told) =
            (Self::cursor(sorted, self.stride())?, Self::cursor(answers, self.stride() + 1)?);
        let mut heard = |number: u64| -> Result<Lookup, DiskError> {
            let mut list = Vec::new();
            while let Some(record) = told.head()?.filter(|record| record[self.stride()] == number) {
                list.push(self.claim(&record[..self.stride()]));
                told.step();
            }
            Ok(Lookup::Told(list))
        };
        let mut number = 0;
        while let Some(record) = claims.head().map_err(DiskError::from)? {
            let (_, claim) = self.claim(record);
            judge.claim(&claim, &mut heard(number)?)?;
            number += 1;
            claims.step();
        }
        Ok(judge.whole(value, &mut heard(number)?)?)
    }
}
