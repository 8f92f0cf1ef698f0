//! A check on its way: [`Prepared`] is the compiled model with its plan, [`Run`] a search whose clock runs, [`Outcome`]
//! what it came to.

use crate::by::By;
use crate::costs::give_costs;
use crate::error::CheckError;
use crate::folder::{self, RunPlace};
use crate::memory::search_budget;
use crate::options::Options;
use crate::plan::Plan;
use crate::properties::{asks_acceptance, asks_liveness, has_unanswered, select_properties};
use crate::reduction::Reduced;
use crate::runs::{Answer, Decider, Engine, Guided, Way};
use crate::searching::{Explored, Progress, Searching};
use hadal_exec::model::Model;
use hadal_exec::product::Product;
use hadal_exec::replay::{self, Ending, Trace};
use hadal_exec::symmetry::{Canonicaliser, SymmetryMode};
use hadal_search::explore::{self, Setting};
use hadal_search::{
    Control, Question, Report, SearchTask, StopReason, Verdict, Violation, ViolationKind, status,
};
use hadal_store::Governor;
use hadal_system::guide::Guide;
use hadal_system::{StateSpace, System};
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A question whose options were checked and whose model is compiled.
pub struct Prepared {
    options: Options,
    plan: Plan,
    question: Question,
    /// Whether the model asks more than its properties say.
    unanswered: bool,
    reduced: Reduced,
    /// The model's name, which the run's folder is named after.
    name: String,
}

impl Prepared {
    pub(crate) fn new(mut system: System, options: Options) -> Result<Self, CheckError> {
        let asks_liveness = asks_liveness(&options.properties, &options.settled, &system);
        let plan = Plan::new(&options, options.running.is_usual() && asks_liveness)?;
        if system.starts.is_empty() {
            // An empty or truncated file breaks no invariant.
            return Err(CheckError::Question(format!(
                "{}: the model has no initial state, so there is nothing to explore; is the file complete?",
                system.source.name
            )));
        }
        let name = system.name.clone();
        give_costs(&mut system, &options.directing.cost)?;
        if system.has_costs() && !options.reductions.is_empty() {
            return Err(CheckError::Question(
                "reductions keep what can be reached, not what it costs: leave them out with --cost".into(),
            ));
        }
        let asked = select_properties(&mut system, &options.properties, &options.settled)?;
        let unanswered = options.properties.is_empty() && has_unanswered(&system);
        let mut model = options.model;
        let mut without_symmetry = false;
        if asks_acceptance(&system, &asked) {
            // A loop of representatives need not be a loop.
            without_symmetry = Canonicaliser::applies(&system, model.symmetry);
            model.symmetry = SymmetryMode::Off;
        }
        if system.actions.iter().any(|action| action.cost.as_ref().is_some_and(|it| it.as_const().is_none()))
        {
            // What looks at values may cost differently in states that are symmetric otherwise.
            model.symmetry = SymmetryMode::Off;
        }
        let question = Question { deadlock: options.deadlock, asked };
        let mut reduced = Reduced::new(&options.reductions, system, model, &question)?;
        if without_symmetry {
            reduced.notes.push(
                "symmetry is off: a loop of states that stand for symmetric ones need not be a loop of the model".into(),
            );
        }
        Ok(Prepared { options, plan, question, reduced, unanswered, name })
    }

    /// The model that results are about: under a reduction, what is left of it.
    pub fn model(&self) -> &Model {
        self.reduced.model()
    }

    /// The model that traces are shown on.
    pub fn shown(&self) -> &Model {
        self.reduced.shown()
    }

    /// The reductions in use, as results name them.
    pub fn reductions(&self) -> &[String] {
        &self.reduced.names
    }

    /// What the reductions asked for left out, or why nothing, line by line.
    pub fn notes(&self) -> &[String] {
        &self.reduced.notes
    }

    /// What is asked.
    pub fn question(&self) -> &Question {
        &self.question
    }

    /// The memory budget in bytes.
    pub fn memory(&self) -> u64 {
        self.plan.memory
    }

    /// What is used, as results name it.
    pub fn strategy(&self) -> &'static str {
        match self.plan.directed {
            Some(_) => "directed",
            None => self.options.strategy.info().name,
        }
    }

    /// The threads that a search with this result used.
    pub fn threads(&self, report: &Report) -> usize {
        match &self.plan.directed {
            // Alone in RAM there is one.
            Some(directed) if !directed.races() && report.disk.is_none() => 1,
            None if self.options.strategy.has_one_thread() => 1,
            _ => self.plan.threads,
        }
    }

    /// Starts the clock and opens the budget.
    pub fn begin(&self) -> Result<Run<'_>, CheckError> {
        Ok(Run { prepared: self, session: Session::open(&self.options, self.plan.memory, &self.name)? })
    }
}

/// What every search has: reins, a budget, a folder.
pub(crate) struct Session {
    pub(crate) control: Arc<Control>,
    pub(crate) governor: Governor,
    pub(crate) place: RunPlace,
}

impl Session {
    /// Starts the clock and opens the budget.
    pub(crate) fn open(options: &Options, memory: u64, name: &str) -> Result<Self, CheckError> {
        let limits = options.budget.limits;
        let control = Arc::new(match &options.place.resumed {
            Some(_) => Control::resumed(limits),
            None => Control::new(limits),
        });
        let governor = Governor::new(search_budget(memory)?);
        let place = &options.place;
        let parent = place.disk.as_deref().unwrap_or(Path::new(folder::DEFAULT_DISK));
        let folder = match &place.resumed {
            Some(path) => RunPlace::existing(path),
            None => RunPlace::new(parent, place.name.as_deref().unwrap_or(name)),
        };
        Ok(Session { control, governor, place: folder.limited_to(options.budget.disk) })
    }

    /// The folder, where there is one to keep; else it goes.
    pub(crate) fn keep(&self, options: &Options, report: &Report) -> Option<PathBuf> {
        let wanted = options.place.resumed.is_some()
            || options.place.disk.is_some()
            || matches!(report.verdict, Verdict::Stopped(_));
        if !self.place.is_used() {
            return None;
        }
        if wanted && !folder::is_left_over(&self.place.path) {
            let is_over = !matches!(report.verdict, Verdict::Stopped(_));
            if let Some(error) =
                is_over.then(|| self.place.say_ended(&status(&report.verdict)).err()).flatten()
            {
                self.control.warn(format!("the run's folder does not say that it ended: {error}"));
            }
            return Some(self.place.path.clone());
        }
        self.place.discard(&self.control);
        None
    }
}

/// A search that has begun.
pub struct Run<'p> {
    prepared: &'p Prepared,
    session: Session,
}

/// What a check came to.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The answer with its figures.
    pub report: Report,
    /// The answers to questions about infinite runs, each with the figures of its own product.
    pub answers: Vec<Answer>,
    /// Where something is wrong: the way there, replayed action by action on the interpreter.
    pub trace: Option<Trace>,
    /// What the trace costs, where the model has costs.
    pub cost: Option<u64>,
    /// How many shortest paths lead to what was found, where the strategy counts them; the largest number stands for more.
    pub shortest_paths: Option<u64>,
    /// What was decided and why, line by line.
    pub decisions: Vec<String>,
    /// What was told while the search ran.
    pub warnings: Vec<String>,
    /// The run's folder, where it is kept.
    pub run: Option<PathBuf>,
}

impl Run<'_> {
    /// The reins: figures of the search while it goes on, and a way to stop it from another thread.
    pub fn control(&self) -> &Arc<Control> {
        &self.session.control
    }

    /// The memory budget of the search.
    pub fn governor(&self) -> &Governor {
        &self.session.governor
    }

    /// Explores to the end, or to a limit.
    pub fn finish(&self) -> Result<Outcome, CheckError> {
        self.finish_watched(&|_| {})
    }

    /// The same; `watch` is told how each search stands after every step of it.
    pub fn finish_watched(&self, watch: &dyn Fn(&explore::Progress)) -> Result<Outcome, CheckError> {
        self.finish_with(watch, None)
    }

    /// The same, where something else than the options decides how to search.
    pub fn finish_by(&self, by: By) -> Result<Outcome, CheckError> {
        self.finish_with(&|_| {}, Some(by))
    }

    fn finish_with(&self, watch: &dyn Fn(&explore::Progress), by: Option<By>) -> Result<Outcome, CheckError> {
        let Prepared { options, plan, question, reduced, .. } = self.prepared;
        let Session { control, governor, place } = &self.session;
        let progress = &Progress::of(options.place.resumed.as_deref());
        let number = 0;
        let searching =
            Searching { options, plan, question, control, governor, place, progress, watch, by, number };
        let engine = options.running.engine().map(|engine| {
            move |product: &Product, question: &Question| {
                let task = SearchTask { space: product, question, control };
                let setting = Setting::in_ram(task, governor, plan.threads);
                let explored = explore::explore_watched(&engine, setting, &mut |progress| watch(progress))?;
                Ok(Explored { report: explored.report, decisions: Vec::new() })
            }
        });
        let answers = RefCell::default();
        let guided = |space: &dyn StateSpace, question: &Question, number, guide: &dyn Guide| {
            searching.guided(space, question, number, guide)
        };
        let decider = options.running.external().map(|engine| {
            move |product: &Product, question: &Question, number| {
                searching.look_for_cycles(product, (question, number), engine)
            }
        });
        let way = Way {
            fairness: options.running.fair.into(),
            shown: options.running.shown()?,
            engine: engine.as_ref().map(|engine| engine as &Engine),
            seeds: options.running.seeds(),
            guided: options.running.form().map(|form| (form, &guided as &Guided)),
            decider: decider.as_ref().map(|decider| decider as &Decider),
            answers: &answers,
        };
        let explored = reduced.search((question, way), |model, space, question, number| {
            searching.explore(model, space, question, number)
        });
        let Explored { mut report, decisions } = explored?;
        if self.prepared.unanswered && report.verdict == Verdict::Holds {
            report.verdict = Verdict::Stopped(StopReason::Unanswered);
        }
        let trace = match &report.verdict {
            Verdict::Violated(found) => Some(replayed(reduced.shown(), found)?),
            _ => None,
        };
        let mut run = self.session.keep(options, &report);
        if let Some(stopped) = progress.stopped() {
            match &report.verdict {
                Verdict::Stopped(_) => {
                    // What the first search left is not needed to go on.
                    if place.is_used() && options.place.disk.is_none() {
                        place.discard(control);
                    }
                    run = Some(stopped);
                }
                _ => RunPlace::existing(&stopped).discard(control),
            }
        }
        let answers = answers.into_inner();
        let cost = trace.as_ref().and_then(|trace| cost(reduced.shown(), trace));
        let (shortest_paths, warnings) = (progress.paths(), control.warnings());
        Ok(Outcome { report, answers, trace, cost, shortest_paths, decisions, warnings, run })
    }
}

/// What the steps of a trace cost, where the model has costs.
fn cost(model: &Model, trace: &Trace) -> Option<u64> {
    model.system().has_costs().then_some(())?;
    let step = |pair: &[replay::TraceStep]| model.cost_of(&pair[0].state, pair[1].label).ok().map(u64::from);
    trace.steps.windows(2).map(step).sum()
}

/// A violation, replayed action by action on the interpreter.
pub fn replayed(model: &Model, found: &Violation) -> Result<Trace, CheckError> {
    let ending = match found.kind {
        ViolationKind::Invariant(id) | ViolationKind::Goal(id) | ViolationKind::PropertyFault(id) => {
            Ending::Property(id)
        }
        ViolationKind::Fault(label) | ViolationKind::StartFault(label) => Ending::Fault(label),
        ViolationKind::Deadlock
        | ViolationKind::Liveness(_)
        | ViolationKind::Uncovered(_)
        | ViolationKind::Prefix(_)
        | ViolationKind::Cycle { .. } => Ending::State,
    };
    let replayed = match found.kind {
        ViolationKind::Cycle { loop_from, .. } => {
            let back = found.path.get(loop_from);
            replay::replay_run(model, &found.path.iter().chain(back).cloned().collect::<Vec<_>>())
        }
        ViolationKind::Prefix(_) => replay::replay_run(model, &found.path),
        _ => replay::replay(model, &found.path, ending),
    };
    replayed.map_err(|error| CheckError::Internal(error.to_string()))
}
