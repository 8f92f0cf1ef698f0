//! The builder: a model or a state space, then what is asked and how, then an answer.

use crate::directed::Directing;
use crate::error::CheckError;
use crate::options::Options;
use crate::reduction::Traces;
use crate::run::{Outcome, Prepared};
use crate::several::Several;
use crate::strategy::Strategy;
use hadal_exec::model::Engine;
use hadal_exec::symmetry::SymmetryMode;
use hadal_search::{Limits, Progress};
use hadal_system::{DeadlockNotion, System};
use std::path::Path;

/// What can be checked: a [`System`], or a state space of one's own ([`SpaceCheck`](crate::SpaceCheck)).
pub trait Subject {
    /// What is asked about it beside the options.
    type Asked;

    /// What is asked unless something is chosen.
    fn asked(&self) -> Self::Asked;
}

/// The options say everything that is asked about a system.
impl Subject for System {
    type Asked = ();

    fn asked(&self) {}
}

/// A question about a system or a state space: [`Check::of`], then what differs from the usual, then `run`.
#[derive(Clone, Debug)]
#[must_use = "a check does nothing until it is run"]
pub struct Check<S: Subject = System> {
    pub(crate) subject: S,
    pub(crate) asked: S::Asked,
    pub(crate) options: Options,
}

impl<S: Subject> Check<S> {
    /// Everything that is usually asked: of a system its properties but goals, deadlocks, and errors of the model itself; of a
    /// state space all its properties, and no deadlocks.
    pub fn of(subject: S) -> Self {
        Self::with_options(subject, Options::default())
    }

    /// The same, with everything chosen at once.
    pub fn with_options(subject: S, options: Options) -> Self {
        Check { asked: subject.asked(), subject, options }
    }

    /// With everything chosen at once.
    pub fn options(mut self, options: Options) -> Self {
        self.options = options;
        self
    }

    /// What is chosen so far, for choices without a verb of their own.
    pub fn options_mut(&mut self) -> &mut Options {
        &mut self.options
    }

    /// Visits and stores states in this way.
    pub fn strategy(mut self, strategy: Strategy) -> Self {
        self.options.strategy = strategy;
        self
    }

    /// The memory budget in bytes.
    pub fn memory(mut self, bytes: u64) -> Self {
        self.options.budget.memory = Some(bytes);
        self
    }

    /// Threads, at least 1.
    pub fn threads(mut self, threads: usize) -> Self {
        self.options.budget.threads = Some(threads.max(1));
        self
    }

    /// When to stop.
    pub fn limits(mut self, limits: Limits) -> Self {
        self.options.budget.limits = limits;
        self
    }

    /// Keeps run folders here; a run that used the disk stays when it is done.
    pub fn disk(mut self, folder: impl AsRef<Path>) -> Self {
        self.options.place.disk = Some(folder.as_ref().to_owned());
        self
    }

    /// Goes on with the run in this folder, which must be of the same model and question.
    pub fn resume(mut self, run: impl AsRef<Path>) -> Self {
        self.options.place.resumed = Some(run.as_ref().to_owned());
        self
    }
}

impl Check {
    /// Asks about this property, and only about those that are named so.
    pub fn property(mut self, name: impl Into<String>) -> Self {
        self.options.properties.push(name.into());
        self.options.deadlock = DeadlockNotion::Off;
        self
    }

    /// Asks about deadlocks in this notion.
    pub fn deadlock(mut self, notion: DeadlockNotion) -> Self {
        self.options.deadlock = notion;
        self
    }

    /// Looks where a guide says that what is wrong is near. Finds errors in few states; the trace need not be shortest.
    pub fn find(mut self) -> Self {
        self.options.directing.find = true;
        self
    }

    /// A directed search with its options.
    pub fn directed(mut self, directing: Directing) -> Self {
        self.options.directing = directing;
        self
    }

    /// Partial-order reduction: of steps that do not disturb each other, fires only some first.
    pub fn por(mut self, traces: Traces) -> Self {
        self.options.reductions.por = Some(traces);
        self
    }

    /// Cone of influence: leaves out what cannot influence the properties asked about.
    pub fn cone_of_influence(mut self) -> Self {
        self.options.reductions.coi = true;
        self
    }

    /// Answers a question about parts that have nothing to do with each other part by part.
    pub fn decompose(mut self) -> Self {
        self.options.reductions.decompose = true;
        self
    }

    /// How far symmetry is used.
    pub fn symmetry(mut self, mode: SymmetryMode) -> Self {
        self.options.model.symmetry = mode;
        self
    }

    /// Whether the model runs as machine code.
    pub fn engine(mut self, engine: Engine) -> Self {
        self.options.model.engine = engine;
        self
    }

    /// Checks the choices against each other, reduces the model where that is asked for, and compiles it.
    pub fn prepare(self) -> Result<Prepared, CheckError> {
        Prepared::new(self.subject, self.options)
    }

    /// Explores to the end, or to a limit.
    pub fn run(self) -> Result<Outcome, CheckError> {
        self.prepare()?.begin()?.finish()
    }

    /// The same; `watch` is told how each search stands after every step of it.
    pub fn run_watched(self, watch: &dyn Fn(&Progress)) -> Result<Outcome, CheckError> {
        self.prepare()?.begin()?.finish_watched(watch)
    }

    /// Looks for one violation per property, up to `most` of them ([`Several`]): what each search came to. All but the last
    /// found something wrong; the last one says how it is with the rest.
    pub fn run_each(self, most: usize) -> Result<Vec<Outcome>, CheckError> {
        let mut several = Several::new(self.options.clone(), most);
        let (system, mut options) = (self.subject, self.options);
        let mut outcomes = Vec::new();
        loop {
            let prepared = Check::with_options(system.clone(), options).prepare()?;
            let outcome = prepared.begin()?.finish()?;
            let next = several.after(&prepared, &outcome);
            outcomes.push(outcome);
            match next {
                Some(next) => options = next,
                None => return Ok(outcomes),
            }
        }
    }
}
