//! Values of a model in real time: how long a goal lasts, the largest and the least of what is asked.

use super::{Searches, TimedError, question_error};
use crate::timed::{Deadlocks, End, TimedCheck, extreme, response, zones};
use hadal_exec::zones::ZoneSpace;
use hadal_search::{DeadlockNotion, Question, StopReason, Verdict, Violation, ViolationKind};
use hadal_system::timed::{Extreme, Side};
use hadal_system::{PropertyKind, TimedSystem};
use std::path::PathBuf;

/// A value that was asked for.
#[derive(Clone, Debug)]
pub struct Measured {
    /// The query.
    pub query: String,
    /// Of what.
    pub of: String,
    /// The value, as people read it.
    pub value: String,
}

/// Why a value is not known.
pub enum Halt {
    /// Something failed.
    Failed(TimedError),
    /// A limit was met; the run is there, where it is kept.
    Stopped(StopReason, Option<PathBuf>),
}

impl<F: Into<TimedError>> From<F> for Halt {
    fn from(failure: F) -> Self {
        Halt::Failed(failure.into())
    }
}

impl Searches<'_> {
    /// The longest time that the goal that is asked may last.
    pub fn response(&self) -> Result<String, Halt> {
        let is_goal =
            |&n: &usize| self.asked[n] && self.timed.system.properties[n].kind == PropertyKind::Goal;
        let goals: Vec<usize> = (0..self.timed.system.properties.len()).filter(is_goal).collect();
        let goal = match goals.as_slice() {
            &[goal] => self.timed.formulas.get(goal).and_then(Option::as_ref),
            _ => None,
        };
        let goal = goal.ok_or_else(|| {
            question_error("--response-time is about one goal: name it with --property 'E<> ...' or --label")
        })?;
        let end = response(self.timed, goal, &mut |timed, goal| self.reaches(timed, goal))?;
        let end: End = end.ok_or_else(|| {
            question_error("--response-time is about states given by locations and variables, not by clocks")
        })?;
        Ok(end.told(Side::Most))
    }

    /// The largest and least values that these ask for.
    pub fn extremes(&self, extremes: &[&Extreme]) -> Result<Vec<Measured>, Halt> {
        let mut all = Vec::new();
        for extreme_of in extremes {
            for (text, quantity) in &extreme_of.of {
                let asked = (extreme_of.side, quantity);
                let mut reaches = |timed: TimedSystem, goal: usize| self.reaches(timed, goal);
                let end = extreme(self.timed, &extreme_of.among, asked, &mut reaches)?;
                let value = end.told(extreme_of.side);
                all.push(Measured { query: extreme_of.name.clone(), of: text.clone(), value });
            }
        }
        Ok(all)
    }

    /// Whether a goal is reachable.
    fn reaches(&self, timed: TimedSystem, goal: usize) -> Result<bool, Halt> {
        let mut asked = vec![false; timed.system.properties.len()];
        asked[goal] = true;
        let options = self.stages.next()?;
        let zones = zones(&options, &asked, Deadlocks::NotAsked, None)?;
        let space = ZoneSpace::new(timed, zones)?;
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let search = TimedCheck::of(&space, question, options).begin()?;
        let searched = self.explore(&search, &space)?;
        match searched.outcome.report.verdict {
            Verdict::Holds => Ok(false),
            Verdict::Violated(Violation { kind: ViolationKind::Goal(_), .. }) => Ok(true),
            Verdict::Violated(_) => {
                Err(question_error("an error of the model comes before what is asked for: check without it")
                    .into())
            }
            Verdict::Stopped(reason) => Err(Halt::Stopped(reason, searched.outcome.run)),
        }
    }
}
