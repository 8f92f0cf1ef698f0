//! Solving one instance, on disk or in RAM, and what it took.

use super::instances::Instance;
use crate::args::Clock;
use crate::error::BenchError;
use crate::scratch::Scratch;
use hadal_check::folder::RunPlace;
use hadal_check::memory::peak_resident;
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_guide::{Goal, priority};
use hadal_search::directed::{Directed, DirectedOptions, Order};
use hadal_search::external::{External, ExternalFigures, ExternalOptions};
use hadal_search::tiles::{Manhattan, Tiles};
use hadal_search::{
    Control, DeadlockNotion, Limits, Question, Report, Run, SearchTask, Setting, Verdict, explore,
};
use hadal_store::Governor;
use hadal_system::StateSpace;
use serde::Serialize;
use std::time::{Duration, Instant};

/// A budget that A* in RAM does not reach with the instances it is given.
const RAM_MEMORY: u64 = 6 << 30;

/// How long a measurement took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Taken {
    /// Real time.
    pub seconds: f64,
    /// Processor time of all threads.
    pub cpu_seconds: f64,
}

/// What solving took.
#[derive(Debug, Serialize)]
pub struct Measured {
    /// Moves of the solution; none where a limit came first.
    pub moves: Option<u64>,
    /// Whether it is proved shortest.
    pub optimal: bool,
    /// States expanded.
    pub expanded: u64,
    /// Successors generated.
    pub generated: u64,
    /// States expanded, and generated ones that waited.
    pub stored: u64,
    /// Buckets expanded.
    pub buckets: u64,
    /// Most buckets that could be needed.
    pub bucket_bound: Option<u64>,
    /// How long it took.
    #[serde(flatten)]
    pub time: Taken,
    /// Peak resident memory of the process while it was solved.
    pub peak_resident: u64,
    /// Most bytes claimed under the budget.
    pub peak_budget: u64,
    /// Bytes written to disk.
    pub bytes_written: u64,
    /// Bytes read from disk.
    pub bytes_read: u64,
}

impl Measured {
    /// States expanded in a second.
    pub fn rate(&self, clock: Clock) -> f64 {
        let seconds = match clock {
            Clock::Wall => self.time.seconds,
            Clock::Cpu => self.time.cpu_seconds,
        };
        self.expanded as f64 / seconds.max(1e-6)
    }
}

fn puzzle(instance: &Instance) -> Result<Tiles, BenchError> {
    let broken = || BenchError::Internal(format!("instance {} is not a puzzle", instance.number));
    Tiles::parse(&instance.tiles).ok_or_else(broken)
}

/// The clocks of one measurement.
struct Watch {
    begun: Instant,
    cpu: f64,
}

impl Watch {
    fn start() -> Self {
        begin_peak();
        Watch { begun: Instant::now(), cpu: cpu_seconds() }
    }

    fn stop(&self, report: &Report) -> Measured {
        let (moves, optimal) = match &report.verdict {
            Verdict::Violated(found) => (Some(found.path.len() as u64 - 1), found.shortest),
            _ => (None, false),
        };
        Measured {
            moves,
            optimal,
            expanded: report
                .particular
                .directed
                .as_ref()
                .map_or(report.states, |figures| figures.work.distinct),
            generated: report.transitions,
            stored: report.states,
            buckets: 0,
            bucket_bound: None,
            time: Taken {
                seconds: self.begun.elapsed().as_secs_f64(),
                cpu_seconds: cpu_seconds() - self.cpu,
            },
            peak_resident: peak_resident(),
            peak_budget: report.peak_memory,
            bytes_written: report.disk.map_or(0, |disk| disk.written),
            bytes_read: report.disk.map_or(0, |disk| disk.read),
        }
    }
}

/// By External A*.
pub fn on_disk(
    instance: &Instance,
    memory: u64,
    threads: usize,
    time_limit: Duration,
    scratch: &Scratch,
) -> Result<Measured, BenchError> {
    let tiles = puzzle(instance)?;
    let guide = Manhattan::new(&tiles);
    let question = Question::everything(tiles.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits { time: Some(time_limit), ..Limits::default() });
    let governor = Governor::new(memory);
    let place = RunPlace::existing(&scratch.file(&format!("korf-{}", instance.number)));
    let ledger = || place.create(&governor, tiles.fingerprint(), &serde_json::Value::Null);
    let watch = Watch::start();
    let goal = Goal::of_properties(tiles.properties());
    let external = External { guide: &guide, goal: &goal, options: ExternalOptions::default() };
    let task = SearchTask { space: &tiles, question: &question, control: &control };
    let explored = explore(&external, Setting { task, governor: &governor, threads, run: Run::New(&ledger) });
    let explored = explored.map_err(hadal_check::CheckError::from)?;
    let none = ExternalFigures::default();
    let figures = explored.report.external().unwrap_or(&none);
    let measured = Measured {
        expanded: figures.states.expanded,
        generated: figures.states.generated,
        stored: figures.states.stored,
        buckets: figures.buckets.len() as u64,
        bucket_bound: figures.bucket_bound,
        ..watch.stop(&explored.report)
    };
    place.remove().map_err(|error| BenchError::File { path: place.path.clone(), error })?;
    Ok(measured)
}

/// By A* in RAM.
pub fn in_ram(instance: &Instance, time_limit: Duration) -> Result<Measured, BenchError> {
    let tiles = puzzle(instance)?;
    let guide = Manhattan::new(&tiles);
    let question = Question::everything(tiles.properties(), DeadlockNotion::Off);
    let control = Control::new(Limits { time: Some(time_limit), ..Limits::default() });
    let watch = Watch::start();
    let directed = Directed {
        guide: &guide,
        goal: &Goal::of_properties(tiles.properties()),
        priority: &priority::NoPriority,
        options: DirectedOptions { order: Order::AStar, ..DirectedOptions::default() },
    };
    let task = SearchTask { space: &tiles, question: &question, control: &control };
    let governor = Governor::new(RAM_MEMORY);
    let explored = explore(&directed, Setting::in_ram(task, &governor, 1));
    let report = explored.map_err(hadal_check::CheckError::from)?.report;
    Ok(watch.stop(&report))
}
