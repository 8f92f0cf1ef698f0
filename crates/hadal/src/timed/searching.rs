//! The searches that answer questions about a model in real time.

use super::stages::Stages;
use super::{plan, question, refused, view};
use crate::args::CheckArgs;
use crate::commands::check::interrupt_stops;
use crate::failure::Failure;
use crate::outcome::{MeasuredFigures, Outcome, Used};
use crate::progress::Progress;
use crate::trace::{Detail, TraceView};
use hadal_check::SpaceOutcome;
use hadal_check::timed::{self, CoveringChoice, Deadlocks, DiskError, Safely, TimedCheck, TimedRun};
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_exec::model::{Engine, ModelOptions};
use hadal_exec::product::Product;
use hadal_exec::symmetry::SymmetryMode;
use hadal_exec::zones::runs::ZoneRuns;
use hadal_exec::zones::{RegionError, RegionSpace, ZoneError, ZoneOptions, ZoneSpace};
use hadal_guide::shrink::Stage;
use hadal_search::{DeadlockNotion, Question, StopReason, Verdict, Violation, ViolationKind};
use hadal_system::timed::{Extreme, Side};
use hadal_system::{PropertyId, PropertyKind, StateSpace, TimedSystem};
use std::path::PathBuf;
use std::time::Instant;

/// A model with what is asked of it.
pub(super) struct Searching<'a> {
    pub(super) args: &'a CheckArgs,
    pub(super) timed: &'a TimedSystem,
    /// By property.
    pub(super) asked: Vec<bool>,
    pub(super) stages: Stages<'a>,
    pub(super) progress: Progress,
    pub(super) begun: Instant,
}

/// What a search came to.
pub(super) struct Searched {
    pub(super) verdict: Verdict,
    pub(super) outcome: Outcome,
    pub(super) trace: Option<TraceView>,
    pub(super) exit_code: u8,
}

/// What was used before a search began.
struct Startup {
    seconds: f64,
    cpu_seconds: f64,
    peak: u64,
}

/// Why a value is not known.
enum Halt {
    Failed(Failure),
    /// A limit was met; the run is there, where it is kept.
    Stopped(StopReason, Option<PathBuf>),
}

impl<F: Into<Failure>> From<F> for Halt {
    fn from(failure: F) -> Self {
        Halt::Failed(failure.into())
    }
}

impl Searching<'_> {
    fn refused(&self, error: &ZoneError) -> Failure {
        refused(&self.timed.system.source, error)
    }

    /// Looks for states, those of the properties in `asked`.
    pub(super) fn states(&self, asked: &[bool]) -> Result<Searched, Failure> {
        let args = self.args;
        let options = self.stages.next()?;
        let deadlocks = question::asks_deadlock(self.timed, asked);
        let zones = timed::zones(&options, asked, deadlocks, args.timed.covering)?;
        let asked = question::without_runs(self.timed, asked);
        if args.timed.covering == Some(CoveringChoice::Regions) {
            return self.regions(zones, asked);
        }
        let safely = match args.reduction.safe_abstraction {
            true => timed::safely(self.timed, &asked),
            false => Safely { timed: self.timed.clone(), stages: Vec::new(), notes: Vec::new() },
        };
        if !args.output.quiet {
            safely.notes.iter().for_each(|note| crate::output::note!("{note}"));
        }
        let space = ZoneSpace::new(safely.timed, zones.clone()).map_err(|error| self.refused(&error))?;
        if space.has_diagonals() && args.timed.covering == Some(CoveringChoice::Alu) {
            return Err(Failure::Usage(
                "--covering alu does not keep what is reachable where differences of clocks are compared: leave it out, or \
                 give --covering inclusion"
                    .into(),
            ));
        }
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let search = TimedCheck::of(&space, question, options).begin()?;
        let found = self.explore(&search)?;
        let trace = match &found.0.report.verdict {
            Verdict::Violated(found) if safely.stages.is_empty() => {
                Some(view::view(&space, found, |path, end| space.concrete(path, end))?)
            }
            Verdict::Violated(found) => Some(self.lifted((&space, &safely.stages), found, zones.clone())?),
            _ => None,
        };
        let searched = self.searched(&search, &space, found, trace);
        match searched.verdict {
            Verdict::Violated(_) if args.timed.fastest => self.earliest(searched, zones),
            _ => Ok(searched),
        }
    }

    /// Looks for the earliest run to what was found.
    fn earliest(&self, mut searched: Searched, zones: ZoneOptions) -> Result<Searched, Failure> {
        let Verdict::Violated(found) = &searched.verdict else { return Ok(searched) };
        let options = self.stages.next()?;
        let mut interrupts = Ok(());
        let fastest = timed::fastest(self.timed.clone(), zones, found, &options, |control| {
            interrupts = interrupt_stops(control);
        });
        interrupts?;
        let fastest = fastest.map_err(|error| match error {
            DiskError::Priced(error) => plan::priced_failure(&self.timed.system.source, error),
            DiskError::Check(error) => error.into(),
        })?;
        self.stages.ended(fastest.folder.as_deref());
        match &fastest.time {
            Ok(earliest) => {
                let taken = if earliest.run.is_some() { "" } else { " (not taken itself)" };
                searched.outcome.counts.fastest = Some(format!("{}{taken}", earliest.time));
                if let Some(run) = &earliest.run {
                    let shown = view::shown(fastest.space.zones(), found, run);
                    let shown = TraceView { shortest: false, ..shown };
                    searched.outcome.traces.trace_length = Some(shown.length());
                    searched.outcome.decided.reason = shown.violation.message.clone();
                    let json = self.args.output.json.then(|| shown.json(self.detail()));
                    searched.outcome.trace = json;
                    searched.trace = Some(shown);
                }
            }
            Err(reason) => {
                let what = "the goal is reached, but the earliest time is not known";
                searched.exit_code = stopped(&mut searched.outcome, what, (reason, fastest.folder.clone()));
            }
        }
        Ok(searched)
    }

    /// What was found without the safe parts, as a run of the whole model.
    fn lifted(
        &self,
        left: (&ZoneSpace, &[Stage]),
        found: &Violation,
        zones: ZoneOptions,
    ) -> Result<TraceView, Failure> {
        let model = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
        let whole = ZoneSpace::new(self.timed.clone(), ZoneOptions { model, ..zones })
            .map_err(|error| self.refused(&error))?;
        let trace = timed::lifted(&whole, left, &found.path, view::ending(found))?;
        let found = Violation { shortest: false, ..found.clone() };
        Ok(view::shown(&whole, &found, &trace))
    }

    /// Looks for states region by region.
    fn regions(&self, zones: ZoneOptions, asked: Vec<bool>) -> Result<Searched, Failure> {
        if self.args.timed.fastest {
            return Err(Failure::Usage("--fastest is found by zones: leave out --covering regions".into()));
        }
        let regions = RegionSpace::new(self.timed.clone(), zones).map_err(|error| match error {
            RegionError::Zones(error) => self.refused(&error),
            other => Failure::Usage(other.to_string()),
        })?;
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let search = TimedCheck::of(regions.zones(), question, self.stages.next()?).begin_on(&regions)?;
        let found = self.explore(&search)?;
        let trace = match &found.0.report.verdict {
            Verdict::Violated(found) => {
                Some(view::view(regions.zones(), found, |path, end| regions.concrete(path, end))?)
            }
            _ => None,
        };
        Ok(self.searched(&search, regions.zones(), found, trace))
    }

    /// Looks for a run that the claim of a property accepts.
    pub(super) fn run(&self, property: usize) -> Result<Searched, Failure> {
        if self.args.timed.fastest || self.args.reduction.safe_abstraction {
            return Err(Failure::Usage(
                "--fastest and --safe-abstraction are for questions about states, not about runs".into(),
            ));
        }
        if self.args.timed.covering.is_some_and(|covering| covering != CoveringChoice::Off) {
            return Err(Failure::Usage(
                "a loop of zones that cover others need not be a run: leave out --covering, or give --covering off".into(),
            ));
        }
        let options = self.stages.next()?;
        let watched = match self.args.timed.non_zeno {
            true => timed::diverging(self.timed, property)
                .ok_or_else(|| Failure::Usage("--non-zeno: the formula has too many propositions".into()))?,
            false => self.timed.clone(),
        };
        let nothing = vec![false; watched.system.properties.len()];
        let zones = timed::zones(&options, &nothing, Deadlocks::Asked, Some(CoveringChoice::Off))?;
        let space = ZoneSpace::new(watched, zones).map_err(|error| self.refused(&error))?;
        let id = PropertyId(self.timed.system.property_bases()[property]);
        let runs = ZoneRuns::new(&space);
        let product = timed::watched(&runs, id)?;
        let mut asked = vec![false; space.properties().len()];
        asked[id.0 as usize] = true;
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let search = TimedCheck::of(&space, question, options).begin_on(&product)?;
        let found = self.explore(&search)?;
        let trace = match &found.0.report.verdict {
            Verdict::Violated(found) => Some(match timed::wrong_run(&runs, &product, found)? {
                Some(run) => view::run(&space, found, &run)?,
                None => view::view(&space, &without_claim(&product, found), |path, end| {
                    space.concrete(path, end)
                })?,
            }),
            _ => None,
        };
        Ok(self.searched(&search, &space, found, trace))
    }

    /// Adds the values that are asked for; returns the exit code where a limit was met before they were known.
    pub(super) fn measure(
        &self,
        extremes: &[&Extreme],
        outcome: &mut Outcome,
    ) -> Result<Option<u8>, Failure> {
        let measured = self.response(outcome).and_then(|()| self.extremes(extremes, outcome));
        match measured {
            Ok(()) => Ok(None),
            Err(Halt::Failed(failure)) => Err(failure),
            Err(Halt::Stopped(reason, run)) => {
                let what = "values that are asked for are not known";
                Ok(Some(stopped(outcome, what, (&reason, run))))
            }
        }
    }

    /// The longest time that the goal may last.
    fn response(&self, outcome: &mut Outcome) -> Result<(), Halt> {
        if !self.args.timed.response_time {
            return Ok(());
        }
        let goals: Vec<usize> = (0..self.timed.system.properties.len())
            .filter(|&n| self.asked[n] && self.timed.system.properties[n].kind == PropertyKind::Goal)
            .collect();
        let goal = match goals.as_slice() {
            &[goal] => self.timed.formulas.get(goal).and_then(Option::as_ref),
            _ => None,
        };
        let Some(goal) = goal else {
            return Err(Failure::Usage(
                "--response-time is about one goal: name it with --property 'E<> ...' or --label".into(),
            )
            .into());
        };
        let end = timed::response(self.timed, goal, &mut |timed, goal| self.reaches(timed, goal))?;
        let Some(end) = end else {
            return Err(Failure::Usage(
                "--response-time is about states given by locations and variables, not by clocks".into(),
            )
            .into());
        };
        outcome.counts.response = Some(end.told(Side::Most));
        Ok(())
    }

    /// The largest and least values that are asked for.
    fn extremes(&self, extremes: &[&Extreme], outcome: &mut Outcome) -> Result<(), Halt> {
        for extreme in extremes {
            for (text, quantity) in &extreme.of {
                let asked = (extreme.side, quantity);
                let mut reaches = |timed: TimedSystem, goal: usize| self.reaches(timed, goal);
                let end = timed::extreme(self.timed, &extreme.among, asked, &mut reaches)?;
                outcome.counts.measured.push(MeasuredFigures {
                    query: extreme.name.clone(),
                    of: text.clone(),
                    value: end.told(extreme.side),
                });
            }
        }
        Ok(())
    }

    /// Whether a goal is reachable.
    fn reaches(&self, timed: TimedSystem, goal: usize) -> Result<bool, Halt> {
        let mut asked = vec![false; timed.system.properties.len()];
        asked[goal] = true;
        let options = self.stages.next()?;
        let zones = timed::zones(&options, &asked, Deadlocks::NotAsked, None)?;
        let space = ZoneSpace::new(timed, zones).map_err(|error| self.refused(&error))?;
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let search = TimedCheck::of(&space, question, options).begin()?;
        let (found, _) = self.explore(&search)?;
        match found.report.verdict {
            Verdict::Holds => Ok(false),
            Verdict::Violated(Violation { kind: ViolationKind::Goal(_), .. }) => Ok(true),
            Verdict::Violated(_) => Err(Failure::Usage(
                "an error of the model comes before what is asked for: check without it".into(),
            )
            .into()),
            Verdict::Stopped(reason) => Err(Halt::Stopped(reason, found.run)),
        }
    }

    fn explore(&self, search: &TimedRun) -> Result<(SpaceOutcome, Startup), Failure> {
        let startup = Startup {
            seconds: self.begun.elapsed().as_secs_f64(),
            cpu_seconds: cpu_seconds(),
            peak: begin_peak(),
        };
        let control = search.control();
        interrupt_stops(control)?;
        let found = self.progress.during(control, search.governor(), || search.finish());
        self.progress.tell(control);
        let found = found?;
        self.stages.ended(found.run.as_deref());
        Ok((found, startup))
    }

    fn detail(&self) -> Detail {
        if self.args.output.full_states { Detail::WholeStates } else { Detail::Changes }
    }

    fn searched(
        &self,
        search: &TimedRun,
        space: &ZoneSpace,
        (found, startup): (SpaceOutcome, Startup),
        trace: Option<TraceView>,
    ) -> Searched {
        let args = self.args;
        let SpaceOutcome { report, warnings, run } = found;
        let (verdict, exit_code) = (report.verdict.clone(), Outcome::exit_code(&report));
        let answered = search.answered(&report);
        let mut outcome = Outcome::of(report, trace.as_ref(), search.memory());
        let steps = trace.as_ref().filter(|t| !t.steps.is_empty()).map(|t| t.steps.len() as u64 - 1);
        outcome.traces.trace_length = steps;
        outcome.used = Used {
            strategy: args.storing.strategy.info().name,
            symmetry: "off",
            threads: search.threads(),
            state_bits: space.bits(),
            state_bytes: space.words() as u64 * 8,
            ..Used::default()
        };
        outcome.trace = trace.as_ref().filter(|_| args.output.json).map(|t| t.json(self.detail()));
        outcome.time.startup_seconds = startup.seconds;
        outcome.time.startup_cpu_seconds = startup.cpu_seconds;
        outcome.memory.startup_peak_memory_bytes = startup.peak;
        outcome.warnings = warnings;
        outcome.seen.coverage.properties = answered;
        outcome.used.run = run.map(|path| path.display().to_string());
        Searched { verdict, outcome, trace, exit_code }
    }
}

/// Makes of an outcome one of a command that met a limit after it; returns the exit code.
fn stopped(outcome: &mut Outcome, what: &str, (reason, run): (&StopReason, Option<PathBuf>)) -> u8 {
    outcome.decided.reason = format!("{}; {what}: {reason}", outcome.decided.reason);
    outcome.decided.verdict = "stopped";
    if let Some(run) = run {
        outcome.used.run = Some(run.display().to_string());
    }
    if *reason == StopReason::Interrupted { 130 } else { 3 }
}

/// An error of the model that was met in a product, as one of the zone graph.
fn without_claim(product: &Product, found: &Violation) -> Violation {
    let kind = match found.kind {
        ViolationKind::Fault(label) => product.system_label(label).map_or(found.kind, ViolationKind::Fault),
        other => other,
    };
    let path = found.path.iter().map(|state| product.system_state(state)).collect();
    Violation { kind, path, shortest: found.shortest }
}
