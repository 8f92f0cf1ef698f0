//! One interface for every explorer: a [`Setting`] in, [`Explored`] out, and bounded steps in between.
//!
//! A [`Method`] is a way to explore with its options: breadth-first in RAM, External A*, a layered strategy on disk. It makes
//! an [`Explorer`] from a setting; the setting's [`Run`] says whether the search is new or resumes what an earlier one
//! committed. Whoever owns the explorer steps it: [`explore`] to the end, a race two of them in turns, a page one step at
//! a time. Limits and interrupts are looked at between the pieces that a step is made of, so a step never outlives them by
//! more than a piece.
//!
//! ```
//! use hadal_search::explore::{Method, Phase, Setting};
//! use hadal_search::ram::Breadth;
//! use hadal_search::tiles::Tiles;
//! use hadal_search::{Control, DeadlockNotion, Limits, Question, SearchTask};
//! use hadal_store::Governor;
//! use hadal_system::StateSpace;
//!
//! let tiles = Tiles::parse("012345678").expect("a board of three by three").without_goal();
//! let question = Question::everything(tiles.properties(), DeadlockNotion::Off);
//! let (control, governor) = (Control::new(Limits::default()), Governor::new(64 << 20));
//! let task = SearchTask { space: &tiles, question: &question, control: &control };
//! let mut explorer = Breadth.explorer(Setting::in_ram(task, &governor, 1))?;
//! loop {
//!     let progress = explorer.step(1_000_000)?;
//!     println!("layer {:?}: {} states", progress.depth, progress.states);
//!     if progress.phase == Phase::Over {
//!         break;
//!     }
//! }
//! assert_eq!(explorer.finish()?.report.states, 181_440);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use crate::ram::breadth::TABLE;
use crate::report::{DiskFigures, Report, StopReason, Verdict, Violation};
use crate::strategies::Resumes;
use hadal_store::Governor;
use std::sync::atomic::Ordering;

/// The work of one step of a search that nothing runs beside: a fifth of a second, about.
const STEP: u64 = 200_000_000;

/// What every explorer is given.
#[derive(Clone, Copy)]
pub struct Setting<'a> {
    /// What to explore, what to look for, when to stop.
    pub task: SearchTask<'a>,
    /// The memory budget.
    pub governor: &'a Governor,
    /// How many threads, at least 1.
    pub threads: usize,
    /// What may be kept on disk.
    pub run: Run<'a>,
}

impl<'a> Setting<'a> {
    /// Of a search that keeps nothing on disk.
    pub fn in_ram(task: SearchTask<'a>, governor: &'a Governor, threads: usize) -> Self {
        Setting { task, governor, threads, run: Run::Nowhere }
    }
}

/// Where a search keeps what does not fit the memory budget, and what it begins with.
#[derive(Clone, Copy)]
pub enum Run<'a> {
    /// It has no folder.
    Nowhere,
    /// It begins with the initial states, in a new folder once it needs one.
    New(&'a dyn Folders),
    /// It goes on where the last commit in its folder left it.
    Resumed(&'a dyn Folders),
    /// It begins with the initial states, in a new folder beside that of the search it serves.
    Beside(&'a dyn Folders),
}

/// Opens folders of runs.
pub trait Folders {
    /// The folder of the run itself.
    fn open(&self) -> Result<Ledger, Trouble>;

    /// A new folder beside it, for a second search that serves the first: for a shortest trace, say.
    fn beside(&self) -> Result<Ledger, Trouble> {
        Err(Trouble::NoFolder)
    }
}

/// What opens the folder of a run that needs no second one.
impl<F: Fn() -> Result<Ledger, Trouble>> Folders for F {
    fn open(&self) -> Result<Ledger, Trouble> {
        self()
    }
}

impl<'a> Run<'a> {
    /// Whether an earlier search is resumed.
    pub fn is_resumed(&self) -> bool {
        matches!(self, Run::Resumed(_))
    }

    /// For a second search that serves this one.
    pub fn beside(self) -> Run<'a> {
        match self {
            Run::Nowhere => Run::Nowhere,
            Run::New(folders) | Run::Resumed(folders) | Run::Beside(folders) => Run::Beside(folders),
        }
    }

    /// Opens the run's folder.
    pub(crate) fn open(&self) -> Result<Ledger, Trouble> {
        match self {
            Run::Nowhere => Err(Trouble::NoFolder),
            Run::New(folders) | Run::Resumed(folders) => folders.open(),
            Run::Beside(folders) => folders.beside(),
        }
    }
}

/// A way to explore, with its options.
pub trait Method {
    /// Begins a search, or takes up the one that the setting's run resumes. Refuses a space whose payloads it would lose.
    fn explorer<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        match self.payloads() {
            Payloads::Refused(why) if setting.task.space.payload().words > 0 => Err(Trouble::Payloads(why)),
            _ => match self.begin(setting) {
                // Interrupted while it read back what it did before: its run stands where it stood.
                Err(trouble) if trouble.is_stop() => Ok(Box::new(Over::standing(setting))),
                begun => begun,
            },
        }
    }

    /// Begins a search, or takes up one, in a space whose payloads suit it.
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble>;

    /// What it does with the payloads of a space.
    fn payloads(&self) -> Payloads {
        Payloads::Refused(
            "it does not find states layer by layer, so the payload of a state is never known to be complete",
        )
    }
}

/// What becomes of payloads beside states ([`hadal_system::StateSpace::payload`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payloads {
    /// They are kept, and merged by the rule of their space.
    Merged,
    /// A space with payloads is refused, for this reason.
    Refused(&'static str),
}

/// A search under way.
pub trait Explorer {
    /// Goes on for `work` units (about nanoseconds, counted: the same on every machine), then says how the search stands.
    ///
    /// A step ends at the first safe point at which its work is done, and before a layer that would take it beyond, unless
    /// that is where it begins. So it may do a little more or less, but always something until the search is over.
    fn step(&mut self, work: u64) -> Result<Progress, Trouble>;

    /// How the search stands.
    fn progress(&self) -> Progress;

    /// The answer. A search that is not over ends here, as if it were interrupted.
    fn finish(self: Box<Self>) -> Result<Explored, Trouble>;

    /// Ends a search that knows every state with an answer about infinite runs that another one found.
    fn finish_with(self: Box<Self>, verdict: Verdict) -> Result<Explored, Trouble> {
        let mut explored = self.finish()?;
        explored.report.verdict = verdict;
        explored.resumes = Resumes::Nothing;
        Ok(explored)
    }
}

/// How a search stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Progress {
    /// What comes next.
    pub phase: Phase,
    /// The layer being expanded, or the cost so far in orders by cost; where the order has neither, nothing.
    pub depth: Option<u64>,
    /// Distinct states, or generated ones that are yet to be told apart.
    pub states: u64,
    /// Transitions fired.
    pub transitions: u64,
    /// What was done so far, in counted units of about a nanosecond.
    pub work: u64,
    /// What the next layer will take, about, where one is next.
    pub ahead: u64,
    /// Bytes held under the memory budget.
    pub memory: u64,
    /// Bytes of the run on disk.
    pub disk: u64,
}

impl Progress {
    /// Of a search that has not begun.
    pub(crate) const NOTHING: Progress = Progress {
        phase: Phase::Between,
        depth: None,
        states: 0,
        transitions: 0,
        work: 0,
        ahead: 0,
        memory: 0,
        disk: 0,
    };
}

/// What comes next in a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// A whole layer, bucket or partition: nothing is half done.
    Between,
    /// More of what is half done.
    Within,
    /// Nothing: the answer is known.
    Over,
}

/// What a search came to.
#[derive(Clone, Debug)]
pub struct Explored {
    /// The answer with its figures.
    pub report: Report,
    /// What the run on disk can be resumed by, if the search stopped early and left one.
    pub resumes: Resumes,
    /// The partition as it was at the end, for [`crate::strategy::PartitionSource::Saved`].
    pub partition: Option<String>,
    /// What was kept beside the state that is wrong, by searches that merge payloads.
    pub payload: Option<Vec<u64>>,
}

impl Explored {
    /// A search that leaves this to go on from, if it stopped.
    pub(crate) fn leaving(report: Report, resumes: Resumes) -> Self {
        let left = matches!(report.verdict, Verdict::Stopped(_)) && report.disk.is_some();
        Explored {
            report,
            resumes: if left { resumes } else { Resumes::Nothing },
            partition: None,
            payload: None,
        }
    }

    /// What was found, if something was.
    pub fn finding(&self) -> Option<&Violation> {
        match &self.report.verdict {
            Verdict::Violated(violation) => Some(violation),
            _ => None,
        }
    }
}

/// Explores to the end, or to a limit.
pub fn explore(method: &dyn Method, setting: Setting) -> Result<Explored, Trouble> {
    explore_watched(method, setting, &mut |_| {})
}

/// The same; `watch` is told how the search stands after every step.
pub fn explore_watched(
    method: &dyn Method,
    setting: Setting,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Explored, Trouble> {
    to_the_end(method.explorer(setting)?, watch)
}

/// Steps a search to its end.
pub fn to_the_end(
    mut explorer: Box<dyn Explorer + '_>,
    watch: &mut dyn FnMut(&Progress),
) -> Result<Explored, Trouble> {
    loop {
        let progress = explorer.step(STEP)?;
        watch(&progress);
        if progress.phase == Phase::Over {
            return explorer.finish();
        }
    }
}

/// A search that was over before it began.
pub(crate) struct Over {
    report: Report,
    resumes: Resumes,
}

impl Over {
    pub(crate) fn new(report: Report) -> Self {
        Over { report, resumes: Resumes::Nothing }
    }

    /// Of one that stands where its run left it.
    fn standing(Setting { task, governor, .. }: Setting) -> Self {
        let verdict = Verdict::Stopped(StopReason::Interrupted);
        let (gauges, nothing) = (&task.control.gauges, Report::of_nothing(task, governor, verdict, TABLE));
        let report = Report {
            states: gauges.states.load(Ordering::Relaxed),
            depth: Some(gauges.depth.load(Ordering::Relaxed)),
            disk: Some(DiskFigures::default()),
            stages: Vec::new(),
            ..nothing
        };
        Over { report, resumes: Resumes::ItsOwn }
    }
}

impl Explorer for Over {
    fn step(&mut self, _: u64) -> Result<Progress, Trouble> {
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        let Report { depth, states, transitions, .. } = self.report;
        Progress { phase: Phase::Over, depth, states, transitions, ..Progress::NOTHING }
    }

    fn finish(self: Box<Self>) -> Result<Explored, Trouble> {
        Ok(Explored::leaving(self.report, self.resumes))
    }
}
