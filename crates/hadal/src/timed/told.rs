//! From searches of a model in real time to what the command tells.

use super::view;
use crate::args::CheckArgs;
use crate::commands::present::detail;
use crate::outcome::{MeasuredFigures, Outcome, Used};
use crate::trace::TraceView;
use hadal_check::timed::{Halt, Searched, Searches};
use hadal_search::{StopReason, Violation};
use hadal_system::timed::Extreme;
use std::path::PathBuf;

/// What is told of a search.
pub struct Told {
    pub outcome: Outcome,
    pub trace: Option<TraceView>,
    pub exit_code: u8,
}

impl Told {
    /// Of this one.
    pub fn of(args: &CheckArgs, searched: Searched) -> Self {
        let Searched { outcome: found, answered, found: run, earliest, used } = searched;
        let trace = run.as_ref().map(view::view);
        let exit_code = Outcome::exit_code(&found.report);
        let mut outcome = Outcome::of(found.report, trace.as_ref(), used.memory);
        let steps = trace.as_ref().filter(|t| !t.steps.is_empty()).map(|t| t.steps.len() as u64 - 1);
        outcome.traces.trace_length = steps;
        outcome.used = Used {
            strategy: args.storing.strategy.info().name,
            symmetry: "off",
            threads: used.threads,
            state_bits: used.state_bits,
            state_bytes: used.state_words as u64 * 8,
            ..Used::default()
        };
        outcome.trace = trace.as_ref().filter(|_| args.output.json).map(|t| t.json(detail(args)));
        outcome.time.startup_seconds = used.startup_seconds;
        outcome.time.startup_cpu_seconds = used.startup_cpu_seconds;
        outcome.memory.startup_peak_memory_bytes = used.startup_peak;
        outcome.warnings = found.warnings;
        outcome.seen.coverage.properties = answered;
        outcome.used.run = found.run.map(|path| path.display().to_string());
        let mut told = Told { outcome, trace, exit_code };
        if let (Some(run), Some(earliest)) = (&run, earliest) {
            told.add_earliest(args, &run.violation, earliest);
        }
        told
    }

    /// Adds the earliest run to what was found.
    fn add_earliest(&mut self, args: &CheckArgs, found: &Violation, earliest: hadal_check::timed::Fastest) {
        match &earliest.time {
            Ok(it) => {
                let taken = if it.run.is_some() { "" } else { " (not taken itself)" };
                self.outcome.counts.fastest = Some(format!("{}{taken}", it.time));
                if let Some(run) = &it.run {
                    let shown = view::shown(earliest.space.zones(), found, run);
                    let shown = TraceView { shortest: false, ..shown };
                    self.outcome.traces.trace_length = Some(shown.length());
                    self.outcome.decided.reason = shown.violation.message.clone();
                    self.outcome.trace = args.output.json.then(|| shown.json(detail(args)));
                    self.trace = Some(shown);
                }
            }
            Err(reason) => {
                let what = "the goal is reached, but the earliest time is not known";
                self.exit_code = stopped(&mut self.outcome, what, (reason, earliest.folder.clone()));
            }
        }
    }
}

/// Adds the values that are asked for.
pub fn measure(
    searches: &Searches,
    response_time: bool,
    extremes: &[&Extreme],
    outcome: &mut Outcome,
) -> Result<(), Halt> {
    if response_time {
        outcome.counts.response = Some(searches.response()?);
    }
    let measured = searches.extremes(extremes)?.into_iter();
    outcome.counts.measured =
        measured.map(|it| MeasuredFigures { query: it.query, of: it.of, value: it.value }).collect();
    Ok(())
}

/// Makes of an outcome one of a command that met a limit after it; returns the exit code.
pub fn stopped(outcome: &mut Outcome, what: &str, (reason, run): (&StopReason, Option<PathBuf>)) -> u8 {
    outcome.decided.reason = format!("{}; {what}: {reason}", outcome.decided.reason);
    outcome.decided.verdict = "stopped";
    if let Some(run) = run {
        outcome.used.run = Some(run.display().to_string());
    }
    if *reason == StopReason::Interrupted { 130 } else { 3 }
}
