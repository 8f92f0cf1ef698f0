//! Checks of models in real time: which zones make others needless, directed search on zones, the earliest run.
//!
//! [`zones`] says how the zone graph of a question is made; [`TimedCheck`] explores it. [`Searches`] answers everything that is
//! asked of a model, search after search.

mod directed;
mod diverging;
mod extreme;
mod fastest;
mod priced;
pub mod question;
mod response;
mod runs;
mod safe;
mod searches;
mod stages;

pub use diverging::diverging;
pub use extreme::{End, Reaches, extreme};
pub use fastest::{Earliest, Fastest, fastest};
pub use priced::{Cheapest, DiskError, Sought, cheapest};
pub use response::response;
pub use runs::{WrongRun, watched, wrong_run};
pub use safe::{Safely, lifted, safely};
pub use searches::{
    Answers, FoundRun, Halt, Manner, Measured, Onlooker, Round, Searched, Searches, TimedError, Used, Zones,
};
pub use stages::{AboutStage, Stages};

use crate::by::{By, Chosen};
use crate::coverage::{Answered, answered};
use crate::directed::Directing;
use crate::error::CheckError;
use crate::options::Options;
use crate::reduction::Reductions;
use crate::space::{SpaceCheck, SpaceOutcome, SpaceRun};
use hadal_exec::zones::{Covering, Extrapolation, ZoneOptions, ZoneSpace};
use hadal_search::cycles::external as cycles;
use hadal_search::strategy::Strategy as Layered;
use hadal_search::{Control, Question, Report};
use hadal_store::Governor;
use hadal_system::StateSpace;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// When a zone makes another needless.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum CoveringChoice {
    /// Only if they are equal.
    Off,
    /// If it includes the other.
    Inclusion,
    /// If its abstraction by lower and upper bounds includes the other.
    Alu,
    /// Regions instead of zones: the reference for tiny models.
    Regions,
}

/// Whether something that is asked is about deadlock, which fewer abstractions keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadlocks {
    /// It is.
    Asked,
    /// It is not.
    NotAsked,
}

/// How the zone graph is made for these options: what is asked about, and what each abstraction keeps, decide.
pub fn zones(
    options: &Options,
    asked: &[bool],
    deadlocks: Deadlocks,
    covering: Option<CoveringChoice>,
) -> Result<ZoneOptions, CheckError> {
    Ok(ZoneOptions {
        model: options.model,
        extrapolation: match deadlocks {
            Deadlocks::Asked => Extrapolation::MaxPlus,
            Deadlocks::NotAsked => Extrapolation::LowerUpperPlus,
        },
        covering: chosen_covering(options, deadlocks, covering)?,
        asked: asked.to_vec(),
        now: false,
    })
}

/// Options whose promises time would break.
pub fn refuse_others(reductions: &Reductions, directing: &Directing) -> Result<(), CheckError> {
    if !(Reductions { safe_abstraction: false, ..reductions.clone() }).is_empty() {
        return Err(CheckError::Question(
            "a reduction (--por, --coi, --decompose) does not know clocks: time couples all processes. Leave it out, or use \
             --safe-abstraction for processes without clocks"
                .into(),
        ));
    }
    directed::refuse(directing)
}

fn chosen_covering(
    options: &Options,
    deadlocks: Deadlocks,
    covering: Option<CoveringChoice>,
) -> Result<Covering, CheckError> {
    let refused = |why: String| Err(CheckError::Question(why));
    if options.directing.is_asked() && !directed::is_external(&options.directing) {
        return match covering {
            None | Some(CoveringChoice::Off) => Ok(Covering::Equality),
            Some(_) => refused(
                "a directed search in RAM compares zones by equality: leave out --covering, or use --order external-astar"
                    .into(),
            ),
        };
    }
    let chosen = match (covering, options.strategy) {
        (chosen, strategy) if strategy.is_default() => chosen,
        (None | Some(CoveringChoice::Off | CoveringChoice::Regions), _) => Some(CoveringChoice::Off),
        (Some(_), other) => {
            return refused(format!(
                "--strategy {other} compares states by equality: leave it out, or give --covering off"
            ));
        }
    };
    match (chosen, deadlocks) {
        (Some(CoveringChoice::Off | CoveringChoice::Regions), _) => Ok(Covering::Equality),
        (Some(CoveringChoice::Inclusion), _) | (None, Deadlocks::Asked) => Ok(Covering::Inclusion),
        (Some(CoveringChoice::Alu), Deadlocks::Asked) => refused(
            "--covering alu keeps what is reachable, not deadlocks: leave it out, or give --covering inclusion"
                .into(),
        ),
        (Some(CoveringChoice::Alu) | None, Deadlocks::NotAsked) => Ok(Covering::Alu),
    }
}

/// A question about a zone graph.
#[must_use = "a check does nothing until it is begun"]
pub struct TimedCheck<'s> {
    space: &'s ZoneSpace,
    question: Question,
    options: Options,
}

/// The search of a zone graph that has begun.
pub struct TimedRun<'s> {
    space: &'s ZoneSpace,
    question: Question,
    directing: Option<Directing>,
    /// How accepted cycles are looked for, where several processes do.
    cycles: cycles::External,
    run: SpaceRun<'s>,
}

impl<'s> TimedCheck<'s> {
    /// This question, by these options.
    pub fn of(space: &'s ZoneSpace, question: Question, options: Options) -> Self {
        TimedCheck { space, question, options }
    }

    /// Asks this of a space that was made of the zone graph, state by state: one combined with a claim ([`watched`]), or
    /// regions.
    pub fn begin_on(self, made: &'s dyn StateSpace) -> Result<TimedRun<'s>, CheckError> {
        let TimedCheck { space, question, mut options } = self;
        options.reductions = Reductions::default();
        let cycles = shared_cycles(&options);
        if options.directing.is_asked() {
            return Err(CheckError::Question(
                "a directed search looks for zones, not for runs or regions: leave out --find, --guide and --order"
                    .into(),
            ));
        }
        let run = SpaceCheck::of(made).question(question.clone()).options(options).begin()?;
        Ok(TimedRun { space, question, directing: None, cycles, run })
    }

    /// Checks the choices against each other, opens the budget and starts the clock.
    pub fn begin(self) -> Result<TimedRun<'s>, CheckError> {
        let TimedCheck { space, question, mut options } = self;
        // The space was made of what is left.
        options.reductions = Reductions::default();
        let cycles = shared_cycles(&options);
        // A guide sees the discrete part only, so the search is put together here.
        let directing = options.directing.is_asked().then(|| std::mem::take(&mut options.directing));
        let run = SpaceCheck::of(space)
            .question(question.clone())
            .options(options)
            .usually(Layered::covering())
            .begin()?;
        Ok(TimedRun { space, question, directing, cycles, run })
    }
}

impl TimedRun<'_> {
    /// The reins: figures of the search while it goes on, and a way to stop it from another thread.
    pub fn control(&self) -> &Arc<Control> {
        self.run.control()
    }

    /// The memory budget of the search.
    pub fn governor(&self) -> &Governor {
        self.run.governor()
    }

    /// The memory budget in bytes, the model's share included.
    pub fn memory(&self) -> u64 {
        self.run.memory()
    }

    /// What was asked, with the answers in `report`. A run that is looked for is reached or not.
    pub fn answered(&self, report: &Report) -> Vec<Answered> {
        let timed = self.space.timed();
        let mut list = answered(&timed.system, &self.question, report);
        for it in &mut list {
            let wanted = timed.wanted_runs.iter().any(|&n| timed.system.properties[n].name == it.name);
            it.verdict = match it.verdict {
                "violated" if wanted => "reached",
                "holds" if wanted => "unreachable",
                other => other,
            };
        }
        list
    }

    /// Threads.
    pub fn threads(&self) -> usize {
        self.run.threads()
    }

    /// Explores to the end, or to a limit.
    pub fn finish(&self) -> Result<SpaceOutcome, CheckError> {
        self.finish_by(None)
    }

    /// The same; where this process does not search alone, it is the search of this number.
    pub fn finish_by(&self, by: Option<(By, usize)>) -> Result<SpaceOutcome, CheckError> {
        let outcome = match (&self.directing, by) {
            (None, None) => self.run.finish()?,
            (None, Some(by)) => {
                let chosen = match self.question.asks_about_runs(self.run.space()) {
                    true => Chosen::Cycles(self.cycles),
                    false => Chosen::Strategy,
                };
                self.run.finish_with(by, chosen)?
            }
            (Some(directing), by) => {
                directed::explore(directing, self.space, &self.question, (&self.run, by))?
            }
        };
        if self.space.has_overflowed() {
            return Err(CheckError::Internal("a bound of a zone does not fit its bits".into()));
        }
        Ok(outcome)
    }
}

/// How several processes look for accepted cycles: by sorting.
fn shared_cycles(options: &Options) -> cycles::External {
    options.running.external().unwrap_or(cycles::External::Owcty)
}
