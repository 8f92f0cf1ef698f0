//! `hadal check` of models in real time: zones, covering, runs with delays.

mod gantt;
pub mod landing;
pub mod plan;
mod told;
mod view;

use crate::args::{CheckArgs, Deadlock, ModelArgs};
use crate::cluster::{self, Launching};
use crate::commands::about::About;
use crate::commands::check::{interrupt_stops, options, write_report};
use crate::commands::present::show;
use crate::commands::several::Found;
use crate::failure::{Failure, Finding};
use crate::progress::Progress;
use crate::reading::Reading;
use clap::Args;
use hadal_check::formulas::{Asking, Own};
use hadal_check::timed::question::{self, Wanted};
use hadal_check::timed::{self, CoveringChoice, Halt, Manner, Onlooker, Searches, Stages, TimedError};
use hadal_check::{By, CheckError, Chosen, Options};
use hadal_exec::zones::ZoneError;
use hadal_lang::diagnostic::{Diagnostic, render_plain};
use hadal_lang::{Language, LoadOptions, LoadedModel};
use hadal_search::{Control, Report, SearchTask};
use hadal_store::Governor;
use hadal_system::{Source, TimedSystem};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;
use told::Told;

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
    /// Consider only infinite runs along which time diverges: no Zeno runs, no timelocks.
    #[arg(long, help_heading = "Real time")]
    pub non_zeno: bool,
    /// Folders of the searches of the same command that came before; none of those that needed no disk.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub earlier: Vec<Option<PathBuf>>,
    /// `--continue`, for whoever resumes.
    #[arg(skip)]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub several: Option<u32>,
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
            (self.non_zeno, "--non-zeno"),
        ];
        given.iter().find(|(given, _)| *given).map(|(_, name)| *name)
    }
}

/// Whether the model's language has time.
pub fn reads(args: &ModelArgs) -> bool {
    Language::of(&args.model).is_some_and(|language| ["TChecker", "UPPAAL"].contains(&language.name))
}

/// Reads a model in real time, with these queries besides its own.
pub fn load(args: &ModelArgs, asked: &[String], quiet: bool) -> Result<TimedSystem, Failure> {
    let options = LoadOptions { asked: asked.to_vec(), ..args.load_options() };
    let (_, loaded) = hadal_lang::load(&args.model, &options)?;
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
    let mut args = args.clone();
    args.asked.several = args.asked.several.or(args.timed.several);
    let args = &args;
    if args.asked.several.is_some() && args.timed.fastest {
        return Err(Failure::Usage(
            "--fastest is about one goal, --continue about all: give one of them".into(),
        ));
    }
    let read = TimedQuestion::read(args, resumed)?;
    let extremes = question::extremes(&read.timed, &read.what);
    cluster::must_be_one_search(args, !extremes.is_empty())?;
    let progress = Progress::new(args.output.quiet || args.output.json, args.output.events.as_deref())?;
    let watching = Watching { args, progress: &progress };
    let about = |earlier: &[Option<PathBuf>]| stage(args, earlier);
    let workers = match &args.cluster.cluster {
        Some(_) => Some(Launching::new(args, resumed, &progress)?),
        None => None,
    };
    let launch = |number, task: SearchTask, governor: &Governor, chosen: Chosen| match &workers {
        Some(workers) => workers.search(number, (task, chosen), governor),
        None => Err(CheckError::Internal("there are no workers".into())),
    };
    let by = workers.as_ref().map(|_| By::Others(&launch));
    let stages = Stages::new(begun, read.options.clone(), args.timed.earlier.clone(), &about).made_by(by);
    let searches = read.searches(args, stages, &watching);
    if args.timed.non_zeno && !searches.about_runs() {
        return Err(Failure::Usage(
            "--non-zeno is about infinite runs, and nothing that is asked is about them: leave it out, or ask with --ltl, A<>, E[] \
             or -->"
                .into(),
        ));
    }
    let asks_nothing = !searches.about_runs() && extremes.is_empty() && !searches.about_states();
    if let (Some(file), true) = (&args.timed.queries, asks_nothing) {
        // Why not was said already, where a person reads it.
        let why = match args.output.quiet || args.output.json {
            true => format!("\n{}", read.warnings),
            false => String::new(),
        };
        return Err(Failure::Usage(format!("{}: none of these queries can be asked{why}", file.display())));
    }
    let failed = |error| failure(&read.timed.system.source, error);
    let answers = searches.answers().map_err(failed)?;
    let mut told: Vec<Told> = answers.searches.into_iter().map(|it| Told::of(args, it)).collect();
    let Some(Told { mut outcome, trace, mut exit_code }) = told.pop() else {
        return Err(Failure::Internal("no search was made".into()));
    };
    let earlier = Found(told.into_iter().filter_map(|it| it.trace).collect());
    if !earlier.0.is_empty() {
        exit_code = 1;
    }
    let traces = earlier.conclude(args, &mut outcome, trace);
    outcome.seen.coverage.properties = answers.properties;
    if outcome.decided.verdict != "stopped" {
        match told::measure(&searches, args.timed.response_time, &extremes, &mut outcome) {
            Ok(()) => {}
            Err(Halt::Failed(error)) => return Err(failed(error)),
            Err(Halt::Stopped(reason, run)) => {
                let what = "values that are asked for are not known";
                exit_code = told::stopped(&mut outcome, what, (&reason, run));
            }
        }
    }
    if outcome.decided.verdict != "stopped" && args.storing.disk.is_none() && resumed.is_none() {
        outcome.used.run = None;
        outcome.warnings.extend(searches.stages.discard());
    }
    if let Some(workers) = &workers {
        outcome.details.workers = workers.each();
        outcome.used.decisions.extend(workers.decisions());
        let is_stopped = outcome.decided.verdict == "stopped";
        let (run, warning) = workers.conclude(is_stopped);
        outcome.used.run = run.map(|path| path.display().to_string());
        outcome.warnings.extend(warning);
    }
    outcome.time.seconds = begun.elapsed().as_secs_f64();
    progress.event(|| serde_json::json!({ "event": "result", "result": outcome }));
    outcome.used.settings = args.output.settings.clone();
    if let Some(path) = &args.output.report {
        write_report(path, &outcome, &About::of(args))?;
    }
    show(args, &outcome, &traces)?;
    Ok(exit_code)
}

/// What is asked of a model in real time, read and understood.
pub struct TimedQuestion {
    /// The model, with everything that is asked among its properties.
    timed: TimedSystem,
    asked: Vec<bool>,
    what: Wanted,
    options: Options,
    warnings: String,
}

impl TimedQuestion {
    /// Of these arguments, or of a run in the folder `resumed`.
    pub fn read(args: &CheckArgs, resumed: Option<&Path>) -> Result<Self, Failure> {
        timed::refuse_others(&args.reduction, &args.directed)?;
        let loading = LoadOptions {
            queries: args.timed.queries.clone(),
            asked: args.asked.property.clone(),
            ..args.model.load_options()
        };
        let asking = Asking {
            path: &args.model.model,
            options: &loading,
            formulas: &args.formulas,
            properties: &args.asked.property,
            own: Own::All,
        };
        let reading = Reading::of_check(args, resumed.is_some());
        let (read, names) = asking.read_timed()?;
        drop(reading);
        if !read.warnings.is_empty() && !args.output.quiet {
            crate::output::aside(format_args!("{}", read.warnings));
        }
        let options = options(args, read.language, resumed)?;
        let warnings = read.warnings.clone();
        let mut timed = read.into_timed().unwrap_or_default();
        let what = Wanted {
            names,
            labels: args.timed.label.clone(),
            from_queries: args.timed.queries.is_some(),
            deadlock: wants_deadlocks(args),
            timelock: args.timed.timelock,
        };
        let asked = question::ask(&mut timed, &what)?;
        Ok(TimedQuestion { timed, asked, what, options, warnings })
    }

    /// The searches that answer it.
    fn searches<'a>(
        &'a self,
        args: &CheckArgs,
        stages: Stages<'a>,
        onlooker: &'a dyn Onlooker,
    ) -> Searches<'a> {
        let manner = Manner {
            covering: args.timed.covering,
            safe_abstraction: args.reduction.safe_abstraction,
            fastest: args.timed.fastest,
            non_zeno: args.timed.non_zeno,
            most: args.asked.several.unwrap_or(1),
        };
        Searches { timed: &self.timed, asked: self.asked.clone(), manner, stages, onlooker }
    }

    /// Takes part in the searches that answer it.
    pub fn take_part(
        &self,
        args: &CheckArgs,
        by: By,
        onlooker: &dyn Onlooker,
    ) -> Result<Option<Report>, Failure> {
        let about = |_: &[Option<PathBuf>]| Ok(serde_json::Value::Null);
        let stages = Stages::new(Instant::now(), self.options.clone(), Vec::new(), &about).made_by(Some(by));
        let answers = self.searches(args, stages, onlooker).answers();
        let answers = answers.map_err(|error| failure(&self.timed.system.source, error))?;
        Ok(answers.searches.into_iter().next_back().map(|last| last.outcome.report))
    }
}

/// What the folder of a search keeps of the command, for whoever resumes it.
fn stage(args: &CheckArgs, earlier: &[Option<PathBuf>]) -> Result<serde_json::Value, CheckError> {
    let timed = TimedArgs { earlier: earlier.to_vec(), several: args.asked.several, ..args.timed.clone() };
    serde_json::to_value(About::of(&CheckArgs { timed, ..args.clone() }))
        .map_err(|error| CheckError::Question(format!("a run cannot remember this command: {error}")))
}

fn failure(source: &Source, error: TimedError) -> Failure {
    match error {
        TimedError::Zones(error) => refused(source, &error),
        TimedError::Priced(error) => plan::priced_failure(source, error),
        TimedError::Check(error) => error.into(),
    }
}

/// Shows progress, and stops searches when somebody interrupts.
struct Watching<'a> {
    args: &'a CheckArgs,
    progress: &'a Progress,
}

impl Onlooker for Watching<'_> {
    fn during(&self, control: &Arc<Control>, governor: &Governor, explore: &mut dyn FnMut()) {
        self.begins(control);
        self.progress.during(control, governor, explore);
        self.progress.tell(control);
    }

    fn begins(&self, control: &Arc<Control>) {
        if let Err(error) = interrupt_stops(control) {
            control.warn(error.to_string());
        }
    }

    fn note(&self, note: &str) {
        if !self.args.output.quiet {
            crate::output::note!("{note}");
        }
    }
}

/// Whether a person asks for deadlocks.
fn wants_deadlocks(args: &CheckArgs) -> bool {
    matches!(args.asked.deadlock, Some(Deadlock::On | Deadlock::Stuck | Deadlock::Stuttering))
}
