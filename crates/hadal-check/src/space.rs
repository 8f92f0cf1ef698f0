//! A check of a state space of one's own: the same options, folders and answers, without a model in a language.
//!
//! ```
//! use hadal_check::{SpaceCheck, Verdict};
//! use hadal_search::tiles::Tiles;
//!
//! let puzzle = Tiles::parse("125340678").expect("a board of three by three");
//! let outcome = SpaceCheck::of(&puzzle).memory(64 << 20).threads(1).run()?;
//! let Verdict::Violated(found) = outcome.report.verdict else { panic!("it has a solution") };
//! assert_eq!(found.path.len() - 1, 3);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::by::{By, Chosen};
use crate::check::{Check, Subject};
use crate::error::CheckError;
use crate::options::Options;
use crate::plan::Plan;
use crate::run::Session;
use crate::searching::{Begin, Progress, Searching};
use hadal_search::explore::Method;
use hadal_search::strategies::ExplorerKind;
use hadal_search::strategy::Strategy as Layered;
use hadal_search::{Control, DeadlockNotion, Question, Report, Run, SearchTask, Setting, explore};
use hadal_store::Governor;
use hadal_system::{PropertyKind, StateSpace};
use std::path::PathBuf;
use std::sync::Arc;

/// A question about a state space: [`Check::of`], then what differs from the usual, then [`SpaceCheck::run`]. What needs a
/// model (reductions, directed search) is refused.
pub type SpaceCheck<'s> = Check<&'s dyn StateSpace>;

/// What is asked about a state space.
pub struct SpaceAsked {
    question: Question,
    usual: Option<Layered>,
}

impl Subject for &dyn StateSpace {
    type Asked = SpaceAsked;

    fn asked(&self) -> SpaceAsked {
        let question = Question::everything(self.properties(), DeadlockNotion::Off);
        SpaceAsked { question, usual: None }
    }
}

/// What the check of a space came to.
#[derive(Clone, Debug)]
pub struct SpaceOutcome {
    /// The answer with its figures.
    pub report: Report,
    /// What was told while the search ran.
    pub warnings: Vec<String>,
    /// The run's folder, where it is kept.
    pub run: Option<PathBuf>,
}

impl<'s> SpaceCheck<'s> {
    /// Asks this.
    pub fn question(mut self, question: Question) -> Self {
        self.asked.question = question;
        self
    }

    /// Unless a strategy is named, explores with these settings of the layered loop instead of `auto`: up to covering, say.
    pub fn usually(mut self, settings: Layered) -> Self {
        self.asked.usual = Some(settings);
        self
    }

    /// Checks the choices against each other, opens the budget and starts the clock.
    pub fn begin(self) -> Result<SpaceRun<'s>, CheckError> {
        let (space, SpaceAsked { question, usual }) = (self.subject, self.asked);
        let properties = space.properties();
        let asks_liveness = question.of_kind(properties, PropertyKind::Liveness).next().is_some();
        let mut plan = Plan::new(&self.options, asks_liveness)?;
        if plan.directed.is_some() || self.options.reductions != Default::default() {
            return Err(CheckError::Question(
                "directed search and reductions need a model, not only its state space: leave them out"
                    .into(),
            ));
        }
        if matches!(self.options.strategy.explorer, ExplorerKind::Auto) {
            plan.layered = usual;
        }
        let session = Session::open(&self.options, plan.memory, "space")?;
        Ok(SpaceRun { space, question, options: self.options, plan, session })
    }

    /// Explores to the end, or to a limit.
    pub fn run(self) -> Result<SpaceOutcome, CheckError> {
        self.begin()?.finish()
    }
}

/// The search of a space that has begun.
pub struct SpaceRun<'s> {
    space: &'s dyn StateSpace,
    question: Question,
    options: Options,
    plan: Plan,
    session: Session,
}

impl SpaceRun<'_> {
    /// The reins: figures of the search while it goes on, and a way to stop it from another thread.
    pub fn control(&self) -> &Arc<Control> {
        &self.session.control
    }

    /// The memory budget of the search.
    pub fn governor(&self) -> &Governor {
        &self.session.governor
    }

    /// The memory budget in bytes, the model's share included.
    pub fn memory(&self) -> u64 {
        self.plan.memory
    }

    /// Threads.
    pub fn threads(&self) -> usize {
        self.plan.threads
    }

    /// What is explored.
    pub(crate) fn space(&self) -> &dyn StateSpace {
        self.space
    }

    /// Lets others make the search of a number, or takes part in it.
    pub(crate) fn finish_with(
        &self,
        (by, number): (By, usize),
        chosen: Chosen,
    ) -> Result<SpaceOutcome, CheckError> {
        let Session { control, governor, .. } = &self.session;
        let task = SearchTask { space: self.space, question: &self.question, control };
        let report = by.search(number, (task, governor), chosen)?.report;
        Ok(SpaceOutcome { report, warnings: control.warnings(), run: None })
    }

    /// Explores to the end, or to a limit, by a method that works on disk.
    pub(crate) fn finish_by(&self, method: &dyn Method) -> Result<SpaceOutcome, CheckError> {
        let Session { control, governor, place } = &self.session;
        let (fingerprint, about) = (self.space.fingerprint(), &self.options.place.about);
        let resumes = self.options.place.resumed.is_some();
        let open = || match resumes {
            true => place.open(governor, fingerprint, about),
            false => place.create(governor, fingerprint, about),
        };
        let task = SearchTask { space: self.space, question: &self.question, control };
        let run = if resumes { Run::Resumed(&open) } else { Run::New(&open) };
        let report = explore(method, Setting { task, governor, threads: self.plan.threads, run })?.report;
        let run = self.session.keep(&self.options, &report);
        Ok(SpaceOutcome { report, warnings: control.warnings(), run })
    }

    /// Explores to the end, or to a limit.
    pub fn finish(&self) -> Result<SpaceOutcome, CheckError> {
        let Session { control, governor, place } = &self.session;
        let searching = Searching {
            options: &self.options,
            plan: &self.plan,
            question: &self.question,
            control,
            governor,
            place,
            progress: &Progress::default(),
            watch: &|_| {},
            by: None,
            number: 0,
        };
        let begin = if self.options.place.resumed.is_some() { Begin::Resumed } else { Begin::New };
        let task = SearchTask { space: self.space, question: &self.question, control };
        let report = searching.by_strategy(task, begin)?;
        let run = self.session.keep(&self.options, &report);
        Ok(SpaceOutcome { report, warnings: control.warnings(), run })
    }
}
