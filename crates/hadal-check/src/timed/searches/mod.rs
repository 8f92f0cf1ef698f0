//! All searches that answer what is asked of a model in real time: for states, for runs, for values.
//!
//! ```
//! use hadal_check::timed::question::{self, Wanted};
//! use hadal_check::timed::{Manner, Searches, Stages};
//! use hadal_check::{Options, Verdict};
//! # let text = "system:lamp\nclock:1:x\nevent:on\nprocess:L\nlocation:L:dark{initial:}\nlocation:L:bright{labels:lit}\n\
//! #     edge:L:dark:bright:on{provided:x>=3}\n";
//! # let source = hadal_system::Source::new("lamp.tck", text);
//! let hadal_lang::LoadedModel::Timed(mut lamp) = hadal_lang::ta::tck::load(source)?.model else {
//!     panic!("it has clocks")
//! };
//! let lit = Wanted { labels: Some("lit".into()), ..Wanted::default() };
//! let asked = question::ask(&mut lamp, &lit)?;
//! let stages = Stages::new(std::time::Instant::now(), Options::default(), Vec::new(), &|_| Ok(().into()));
//! let manner = Manner { fastest: true, ..Manner::default() };
//! let answers = Searches { timed: &lamp, asked, manner, stages, onlooker: &() }.answers()?;
//! assert!(matches!(answers.searches[0].outcome.report.verdict, Verdict::Violated(_)));
//! let earliest = answers.searches[0].earliest.as_ref().expect("it was asked for");
//! assert_eq!(earliest.time.as_ref().map(|it| it.time).ok(), Some(3));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod found;
mod values;

pub use found::{FoundRun, Round, Searched, Used, Zones};
pub use values::{Halt, Measured};

use super::question;
use super::stages::Stages;
use super::{
    CoveringChoice, Deadlocks, DiskError, Safely, TimedCheck, TimedRun, fastest, lifted, safely, watched,
    wrong_run, zones,
};
use crate::coverage::Answered;
use crate::error::CheckError;
use crate::usage::{begin_peak, cpu_seconds};
use found::{ending, one_round, replayed, without_claim};
use hadal_exec::model::{Engine, ModelOptions};
use hadal_exec::symmetry::SymmetryMode;
use hadal_exec::zones::priced::PricedError;
use hadal_exec::zones::runs::ZoneRuns;
use hadal_exec::zones::{RegionError, RegionSpace, ZoneError, ZoneOptions, ZoneSpace};
use hadal_search::{Control, DeadlockNotion, Question, Verdict, Violation};
use hadal_store::Governor;
use hadal_system::{PropertyId, StateSpace, TimedSystem};
use std::collections::VecDeque;
use std::sync::Arc;

/// How questions about a timed model are answered.
#[derive(Clone, Debug, Default)]
pub struct Manner {
    /// When a zone makes another needless.
    pub covering: Option<CoveringChoice>,
    /// Whether processes that cannot matter are left out.
    pub safe_abstraction: bool,
    /// Whether the earliest run to what is found is looked for.
    pub fastest: bool,
    /// Whether only runs count along which time diverges.
    pub non_zeno: bool,
    /// Violations to report, of different properties.
    pub most: u32,
}

/// Watches searches: shows progress, stops them.
pub trait Onlooker {
    /// Lets a search explore, once.
    fn during(&self, control: &Arc<Control>, governor: &Governor, explore: &mut dyn FnMut());
    /// A search on disk for the earliest run begins.
    fn begins(&self, control: &Arc<Control>);
    /// Something worth knowing about the model.
    fn note(&self, note: &str);
}

/// Nobody watches.
impl Onlooker for () {
    fn during(&self, _: &Arc<Control>, _: &Governor, explore: &mut dyn FnMut()) {
        explore();
    }

    fn begins(&self, _: &Arc<Control>) {}

    fn note(&self, _: &str) {}
}

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
pub enum TimedError {
    /// The model has no zone graph.
    #[error(transparent)]
    Zones(#[from] ZoneError),
    /// It has no priced one.
    #[error(transparent)]
    Priced(PricedError),
    /// The question makes no sense as put, or the search failed.
    #[error(transparent)]
    Check(#[from] CheckError),
}

impl From<DiskError> for TimedError {
    fn from(error: DiskError) -> Self {
        match error {
            DiskError::Priced(PricedError::Zones(error)) => TimedError::Zones(error),
            DiskError::Priced(error) => TimedError::Priced(error),
            DiskError::Check(error) => TimedError::Check(error),
        }
    }
}

/// What all searches of a command came to.
pub struct Answers {
    /// Each search; all but the last one found something, or nothing wrong.
    pub searches: Vec<Searched>,
    /// Every property that was asked about.
    pub properties: Vec<Answered>,
}

/// A model with what is asked of it.
pub struct Searches<'a> {
    /// The model, with everything that is asked among its properties ([`question::ask`]).
    pub timed: &'a TimedSystem,
    /// What is asked, by property.
    pub asked: Vec<bool>,
    /// How.
    pub manner: Manner,
    /// Options and folders, search by search.
    pub stages: Stages<'a>,
    /// Who watches.
    pub onlooker: &'a dyn Onlooker,
}

/// One search of a command.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// For states, all that are asked about together.
    States,
    /// For a run that the claim of this property accepts.
    Run(usize),
}

impl Searches<'_> {
    /// Whether something is asked about infinite runs.
    pub fn about_runs(&self) -> bool {
        !question::about_runs(self.timed, &self.asked).is_empty()
    }

    /// Whether something is asked about states.
    pub fn about_states(&self) -> bool {
        question::asks_states(self.timed, &self.asked)
    }

    /// Answers what is asked about states and runs, search after search; ends with the violation of number
    /// [`Manner::most`], a limit, or an error of the model.
    pub fn answers(&self) -> Result<Answers, TimedError> {
        let mut asked = self.asked.clone();
        let runs = question::about_runs(self.timed, &asked);
        let mut rest: VecDeque<Step> = runs.iter().map(|&property| Step::Run(property)).collect();
        if runs.is_empty() || self.about_states() {
            rest.push_front(Step::States);
        }
        let mut left = self.manner.most.max(1);
        let mut answers = Answers { searches: Vec::new(), properties: Vec::new() };
        while let Some(step) = rest.pop_front() {
            let searched = match step {
                Step::States => self.states(&asked)?,
                Step::Run(property) => self.run(property)?,
            };
            question::add_answers(&mut answers.properties, &searched.answered);
            let goes_on = match &searched.outcome.report.verdict {
                Verdict::Holds => true,
                Verdict::Stopped(_) => false,
                Verdict::Violated(violation) => {
                    left -= 1;
                    let system = &self.timed.system;
                    let property = violation.kind.property().and_then(|id| system.property_instance(id));
                    if let (Some((settled, _)), Step::States) = (&property, step) {
                        asked[*settled] = false;
                        if question::asks_states(self.timed, &asked) {
                            rest.push_front(step);
                        }
                    }
                    left > 0 && property.is_some()
                }
            };
            answers.searches.push(searched);
            if !goes_on {
                break;
            }
        }
        Ok(answers)
    }

    /// Looks for states, those of the properties in `asked`.
    fn states(&self, asked: &[bool]) -> Result<Searched, TimedError> {
        let options = self.stages.next()?;
        let deadlocks = question::asks_deadlock(self.timed, asked);
        let zones = zones(&options, asked, deadlocks, self.manner.covering)?;
        let asked = question::without_runs(self.timed, asked);
        let question = Question { deadlock: DeadlockNotion::Off, asked: asked.clone() };
        if self.manner.covering == Some(CoveringChoice::Regions) {
            return self.regions(zones, question, options);
        }
        let safely = match self.manner.safe_abstraction {
            true => safely(self.timed, &asked),
            false => Safely { timed: self.timed.clone(), stages: Vec::new(), notes: Vec::new() },
        };
        safely.notes.iter().for_each(|note| self.onlooker.note(note));
        let space = ZoneSpace::new(safely.timed, zones.clone())?;
        if space.has_diagonals() && self.manner.covering == Some(CoveringChoice::Alu) {
            return Err(question_error(
                "--covering alu does not keep what is reachable where differences of clocks are compared: leave it out, or \
                 give --covering inclusion",
            ));
        }
        let search = TimedCheck::of(&space, question, options).begin()?;
        let mut searched = self.explore(&search, &space)?;
        drop(search);
        let Verdict::Violated(violation) = &searched.outcome.report.verdict else { return Ok(searched) };
        let violation = violation.clone();
        searched.found = Some(match safely.stages.is_empty() {
            true => {
                let trace = replayed(&violation, |path, end| space.concrete(path, end))?;
                let space = Zones::Zones(Box::new(space));
                FoundRun { violation: violation.clone(), space, trace, round: None }
            }
            false => {
                // As a run of the whole model.
                let model = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
                let whole = ZoneSpace::new(self.timed.clone(), ZoneOptions { model, ..zones.clone() })?;
                let trace = lifted(&whole, (&space, &safely.stages), &violation.path, ending(&violation))?;
                let violation = Violation { shortest: false, ..violation.clone() };
                let space = Zones::Zones(Box::new(whole));
                FoundRun { violation, space, trace: Some(trace), round: None }
            }
        });
        if self.manner.fastest {
            let options = self.stages.next()?;
            let begins = |control: &Arc<Control>| self.onlooker.begins(control);
            let earliest = fastest(self.timed.clone(), zones, &violation, &options, begins)?;
            self.stages.ended(earliest.folder.as_deref());
            searched.earliest = Some(earliest);
        }
        Ok(searched)
    }

    /// Looks for states region by region.
    fn regions(
        &self,
        zones: ZoneOptions,
        question: Question,
        options: crate::Options,
    ) -> Result<Searched, TimedError> {
        if self.manner.fastest {
            return Err(question_error("--fastest is found by zones: leave out --covering regions"));
        }
        let regions = RegionSpace::new(self.timed.clone(), zones).map_err(|error| match error {
            RegionError::Zones(error) => TimedError::Zones(error),
            other => question_error(&other.to_string()),
        })?;
        let search = TimedCheck::of(regions.zones(), question, options).begin_on(&regions)?;
        let mut searched = self.explore(&search, regions.zones())?;
        drop(search);
        if let Verdict::Violated(violation) = &searched.outcome.report.verdict {
            let trace = replayed(violation, |path, end| regions.concrete(path, end))?;
            let space = Zones::Regions(Box::new(regions));
            searched.found = Some(FoundRun { violation: violation.clone(), space, trace, round: None });
        }
        Ok(searched)
    }

    /// Looks for a run that the claim of a property accepts.
    fn run(&self, property: usize) -> Result<Searched, TimedError> {
        if self.manner.fastest || self.manner.safe_abstraction {
            return Err(question_error(
                "--fastest and --safe-abstraction are for questions about states, not about runs",
            ));
        }
        if self.manner.covering.is_some_and(|covering| covering != CoveringChoice::Off) {
            return Err(question_error(
                "a loop of zones that cover others need not be a run: leave out --covering, or give --covering off",
            ));
        }
        let options = self.stages.next()?;
        let diverging = match self.manner.non_zeno {
            true => super::diverging(self.timed, property)
                .ok_or_else(|| question_error("--non-zeno: the formula has too many propositions"))?,
            false => self.timed.clone(),
        };
        let nothing = vec![false; diverging.system.properties.len()];
        let zones = zones(&options, &nothing, Deadlocks::Asked, Some(CoveringChoice::Off))?;
        let space = ZoneSpace::new(diverging, zones)?;
        let id = PropertyId(self.timed.system.property_bases()[property]);
        let runs = ZoneRuns::new(&space);
        let product = watched(&runs, id)?;
        let mut asked = vec![false; space.properties().len()];
        asked[id.0 as usize] = true;
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let search = TimedCheck::of(&space, question, options).begin_on(&product)?;
        let mut searched = self.explore(&search, &space)?;
        drop(search);
        let Verdict::Violated(violation) = &searched.outcome.report.verdict else { return Ok(searched) };
        let (violation, trace, round) = match wrong_run(&runs, &product, violation)? {
            Some(wrong) => {
                let (trace, round) = one_round(&space, &wrong)?;
                (Violation { shortest: false, ..violation.clone() }, Some(trace), round)
            }
            None => {
                let violation = without_claim(&product, violation);
                let trace = replayed(&violation, |path, end| space.concrete(path, end))?;
                (violation, trace, None)
            }
        };
        drop(product);
        drop(runs);
        let space = Zones::Zones(Box::new(space));
        searched.found = Some(FoundRun { violation, space, trace, round });
        Ok(searched)
    }

    fn explore(&self, search: &TimedRun, space: &ZoneSpace) -> Result<Searched, TimedError> {
        let used = Used {
            memory: search.memory(),
            threads: search.threads(),
            state_bits: space.bits(),
            state_words: space.words(),
            startup_seconds: self.stages.elapsed().as_secs_f64(),
            startup_cpu_seconds: cpu_seconds(),
            startup_peak: begin_peak(),
        };
        let (mut outcome, by) = (None, self.stages.by());
        self.onlooker
            .during(search.control(), search.governor(), &mut || outcome = Some(search.finish_by(by)));
        let outcome = outcome.ok_or_else(|| CheckError::Internal("the search was not begun".into()))??;
        self.stages.ended(outcome.run.as_deref());
        let answered = search.answered(&outcome.report);
        Ok(Searched { outcome, answered, found: None, earliest: None, used })
    }
}

fn question_error(what: &str) -> TimedError {
    TimedError::Check(CheckError::Question(what.into()))
}
