//! `hadal check` of models in real time: zones, covering, runs with delays.

mod gantt;
pub mod landing;
pub mod plan;
mod question;
mod view;

use crate::args::{CheckArgs, Deadlock, ModelArgs};
use crate::commands::about::About;
use crate::commands::check::{interrupt_stops, options, write_report};
use crate::commands::present::show;
use crate::failure::{Failure, Finding};
use crate::outcome::{Outcome, Used};
use crate::progress::Progress;
use crate::trace::{Detail, TraceView};
use clap::Args;
use hadal_check::formulas::{Asking, Own};
use hadal_check::memory::default_memory;
use hadal_check::timed::{
    self, CoveringChoice, Deadlocks, FastestError, ResponseError, Safely, TimedCheck, TimedRun,
};
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_check::{Options, SpaceOutcome};
use hadal_exec::model::{Engine, ModelOptions};
use hadal_exec::product::Product;
use hadal_exec::symmetry::SymmetryMode;
use hadal_exec::zones::runs::ZoneRuns;
use hadal_exec::zones::{RegionError, RegionSpace, ZoneError, ZoneOptions, ZoneSpace};
use hadal_guide::shrink::Stage;
use hadal_lang::diagnostic::{Diagnostic, render_plain};
use hadal_lang::{Language, LoadOptions, LoadedModel};
use hadal_search::{DeadlockNotion, Question, Verdict, Violation, ViolationKind};
use hadal_system::{PropertyId, PropertyKind, Source, StateSpace, TimedSystem};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Questions of models in real time.
#[derive(Args, Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct TimedArgs {
    /// When a zone covers another. Default: alu, or inclusion if deadlocks are checked.
    #[arg(long, value_enum, value_name = "HOW", help_heading = "Real time")]
    pub covering: Option<CoveringChoice>,
    /// Look for a state with this label (.tck); several labels, separated by commas, must hold together.
    #[arg(long, value_name = "NAME", help_heading = "Real time")]
    pub label: Option<String>,
    /// Check the queries of this file (UPPAAL's .q) instead of the model's own.
    #[arg(long, value_name = "FILE", help_heading = "Real time")]
    pub queries: Option<PathBuf>,
    /// Find the run that reaches the goal at the earliest time.
    #[arg(long, help_heading = "Real time")]
    pub fastest: bool,
    /// Look for timelocks: states in which no step is possible and time cannot pass.
    #[arg(long, help_heading = "Real time")]
    pub timelock: bool,
    /// Compute how long the goal may hold at most, from entering its states to leaving them.
    #[arg(long, help_heading = "Real time")]
    pub response_time: bool,
}

impl TimedArgs {
    /// The first option that was given.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            (self.covering.is_some(), "--covering"),
            (self.label.is_some(), "--label"),
            (self.queries.is_some(), "--queries"),
            (self.fastest, "--fastest"),
            (self.timelock, "--timelock"),
            (self.response_time, "--response-time"),
        ];
        given.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    }
}

/// Whether the model's language has time.
pub fn reads(args: &ModelArgs) -> bool {
    Language::of(&args.model).is_some_and(|language| ["TChecker", "UPPAAL"].contains(&language.name))
}

/// Reads a model in real time.
pub fn load(args: &ModelArgs, quiet: bool) -> Result<TimedSystem, Failure> {
    let (_, loaded) = hadal_lang::load(&args.model, &args.load_options())?;
    let warnings = loaded.render_warnings();
    if !warnings.is_empty() && !quiet {
        crate::output::aside(format_args!("{warnings}"));
    }
    match loaded.model {
        LoadedModel::Timed(timed) => Ok(timed),
        _ => Err(Failure::Usage(format!("{}: this model has no clocks", args.model.display()))),
    }
}

/// A refusal of the zone graph, with a caret where it has a place.
pub fn refused(source: &Source, error: &ZoneError) -> Failure {
    match error.span() {
        Some(span) => {
            let diagnostic = Diagnostic::error(span, error.to_string());
            Failure::Refused {
                rendered: render_plain(source, &diagnostic),
                findings: vec![Finding::of(source, &diagnostic)],
            }
        }
        None => Failure::Usage(error.to_string()),
    }
}

/// Runs `hadal check` on a timed model, or goes on with a run.
pub fn check(args: &CheckArgs, resumed: Option<&Path>) -> Result<u8, Failure> {
    let begun = Instant::now();
    if args.asked.several.is_some() {
        return Err(Failure::Usage(
            "--continue: of a model in real time one violation is reported; name properties one by one with --property"
                .into(),
        ));
    }
    timed::refuse_others(&args.reduction, &args.directed)?;
    let loading = LoadOptions { queries: args.timed.queries.clone(), ..args.model.load_options() };
    let asking = Asking {
        path: &args.model.model,
        options: &loading,
        formulas: &args.formulas,
        properties: &args.asked.property,
        own: Own::All,
    };
    let (read, named) = asking.read_timed()?;
    if !read.warnings.is_empty() && !args.output.quiet {
        crate::output::aside(format_args!("{}", read.warnings));
    }
    let plan = options(args, read.language, resumed)?;
    let warnings = read.warnings.clone();
    let mut timed = read.into_timed().unwrap_or_default();
    let mut naming = args.clone();
    naming.asked.property = named;
    let asked = question::ask(&mut timed, &naming)?;
    let runs = question::about_runs(&timed, &asked);
    if let (Some(file), true) =
        (&args.timed.queries, runs.is_empty() && !question::asks_states(&timed, &asked))
    {
        return Err(Failure::Usage(format!(
            "{}: none of these queries can be asked\n{warnings}",
            file.display()
        )));
    }
    let searching = Searching {
        args,
        timed: &timed,
        asked: &asked,
        plan: &plan,
        progress: Progress::new(args.output.quiet || args.output.json, args.output.events.as_deref())?,
        begun,
    };
    let alone = runs.is_empty() || question::asks_states(&timed, &asked);
    if runs.len() + usize::from(alone) > 1 && resumed.is_some() {
        return Err(Failure::Usage(
            "this run was one of several searches, which do not share a folder: check again with --property NAME".into(),
        ));
    }
    let mut decides = None;
    if alone {
        decides = Some(searching.states()?);
    }
    for property in runs {
        let before = decides.take();
        let goes_on = |it: &Searched| matches!(it.verdict, Verdict::Holds);
        decides = match before {
            Some(found) if !goes_on(&found) => Some(found),
            before => {
                let mut found = searching.run(property)?;
                let answers = before.map(|it| it.outcome.seen.coverage.properties).unwrap_or_default();
                found.outcome.seen.coverage.properties.splice(0..0, answers);
                Some(found)
            }
        };
    }
    let Some(mut found) = decides else { return Err(Failure::Internal("no search was made".into())) };
    if args.timed.response_time {
        found.outcome.counts.response = Some(searching.response()?);
    }
    let outcome = &mut found.outcome;
    outcome.time.seconds = begun.elapsed().as_secs_f64();
    searching.progress.event(|| serde_json::json!({ "event": "result", "result": outcome }));
    outcome.used.settings = args.output.settings.clone();
    if let Some(path) = &args.output.report {
        write_report(path, outcome, &About::of(args))?;
    }
    show(args, outcome, found.trace.as_slice())?;
    Ok(found.exit_code)
}

/// A model with what is asked of it.
struct Searching<'a> {
    args: &'a CheckArgs,
    timed: &'a TimedSystem,
    /// By property.
    asked: &'a [bool],
    plan: &'a Options,
    progress: Progress,
    begun: Instant,
}

/// What a search came to.
struct Searched {
    verdict: Verdict,
    outcome: Outcome,
    trace: Option<TraceView>,
    exit_code: u8,
}

/// What was used before a search began.
struct Startup {
    seconds: f64,
    cpu_seconds: f64,
    peak: u64,
}

impl Searching<'_> {
    fn refused(&self, error: &ZoneError) -> Failure {
        refused(&self.timed.system.source, error)
    }

    /// Looks for states.
    fn states(&self) -> Result<Searched, Failure> {
        let args = self.args;
        let deadlocks = question::asks_deadlock(self.timed, self.asked);
        let zones = timed::zones(self.plan, self.asked, deadlocks, args.timed.covering)?;
        if args.timed.covering == Some(CoveringChoice::Regions) {
            return self.regions(zones);
        }
        let safely = match args.reduction.safe_abstraction {
            true => timed::safely(self.timed, &self.asked_states()),
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
        let question = Question { deadlock: DeadlockNotion::Off, asked: self.asked_states() };
        let search = TimedCheck::of(&space, question, self.plan.clone()).begin()?;
        let found = self.explore(&search)?;
        let mut trace = match &found.0.report.verdict {
            Verdict::Violated(found) if safely.stages.is_empty() => {
                Some(view::view(&space, found, |path, end| space.concrete(path, end))?)
            }
            Verdict::Violated(found) => Some(self.lifted((&space, &safely.stages), found, zones.clone())?),
            _ => None,
        };
        let mut earliest = None;
        if let (true, Verdict::Violated(found)) = (args.timed.fastest, &found.0.report.verdict) {
            let memory = args.limits.memory.unwrap_or_else(default_memory);
            let fastest =
                timed::fastest(self.timed.clone(), zones, found, memory).map_err(|error| match error {
                    FastestError::Priced(error) => plan::priced_failure(&self.timed.system.source, error),
                    FastestError::Check(error) => error.into(),
                })?;
            let taken = if fastest.run.is_some() { "" } else { " (not taken itself)" };
            earliest = Some(format!("{}{taken}", fastest.time));
            let shown = |run| view::shown(fastest.space.zones(), found, run);
            let shown = fastest.run.as_ref().map(shown);
            trace = shown.map(|trace| TraceView { shortest: false, ..trace }).or(trace);
        }
        let mut searched = self.searched(&search, &space, found, trace);
        searched.outcome.counts.fastest = earliest;
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
    fn regions(&self, zones: ZoneOptions) -> Result<Searched, Failure> {
        if self.args.timed.fastest {
            return Err(Failure::Usage("--fastest is found by zones: leave out --covering regions".into()));
        }
        let regions = RegionSpace::new(self.timed.clone(), zones).map_err(|error| match error {
            RegionError::Zones(error) => self.refused(&error),
            other => Failure::Usage(other.to_string()),
        })?;
        let question = Question { deadlock: DeadlockNotion::Off, asked: self.asked_states() };
        let search = TimedCheck::of(regions.zones(), question, self.plan.clone()).begin_on(&regions)?;
        let found = self.explore(&search)?;
        let trace = match &found.0.report.verdict {
            Verdict::Violated(found) => {
                Some(view::view(regions.zones(), found, |path, end| regions.concrete(path, end))?)
            }
            _ => None,
        };
        Ok(self.searched(&search, regions.zones(), found, trace))
    }

    /// What is asked about states, by property.
    fn asked_states(&self) -> Vec<bool> {
        let mut asked = self.asked.to_vec();
        question::about_runs(self.timed, self.asked).iter().for_each(|&n| asked[n] = false);
        asked
    }

    /// Looks for a run that the claim of a property accepts.
    fn run(&self, property: usize) -> Result<Searched, Failure> {
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
        let nothing = vec![false; self.timed.system.properties.len()];
        let zones = timed::zones(self.plan, &nothing, Deadlocks::Asked, Some(CoveringChoice::Off))?;
        let space = ZoneSpace::new(self.timed.clone(), zones).map_err(|error| self.refused(&error))?;
        let id = PropertyId(self.timed.system.property_bases()[property]);
        let runs = ZoneRuns::new(&space);
        let product = timed::watched(&runs, id)?;
        let mut asked = vec![false; space.properties().len()];
        asked[id.0 as usize] = true;
        let question = Question { deadlock: DeadlockNotion::Off, asked };
        let search = TimedCheck::of(&space, question, self.plan.clone()).begin_on(&product)?;
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

    /// The longest time that the goal may last.
    fn response(&self) -> Result<String, Failure> {
        let goals: Vec<usize> = (0..self.timed.system.properties.len())
            .filter(|&n| self.asked[n] && self.timed.system.properties[n].kind == PropertyKind::Goal)
            .collect();
        let &[goal] = goals.as_slice() else {
            return Err(Failure::Usage(
                "--response-time is about one goal: name it with --property 'E<> ...' or --label".into(),
            ));
        };
        let response = timed::response(self.timed, goal, self.plan).map_err(|error| match error {
            ResponseError::Zones(error) => self.refused(&error),
            ResponseError::Check(error) => error.into(),
        })?;
        Ok(response.to_string())
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
        Ok((found?, startup))
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
        let detail = if args.output.full_states { Detail::WholeStates } else { Detail::Changes };
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
        outcome.trace = trace.as_ref().filter(|_| args.output.json).map(|t| t.json(detail));
        outcome.time.startup_seconds = startup.seconds;
        outcome.time.startup_cpu_seconds = startup.cpu_seconds;
        outcome.memory.startup_peak_memory_bytes = startup.peak;
        outcome.warnings = warnings;
        outcome.seen.coverage.properties = answered;
        outcome.used.run = run.map(|path| path.display().to_string());
        Searched { verdict, outcome, trace, exit_code }
    }
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

/// Whether a person asks for deadlocks.
fn wants_deadlocks(args: &CheckArgs) -> bool {
    matches!(args.asked.deadlock, Some(Deadlock::On | Deadlock::Stuck | Deadlock::Stuttering))
}
