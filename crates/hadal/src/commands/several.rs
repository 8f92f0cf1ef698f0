//! `--continue N`: one violation per property ([`hadal_check::several`]), told together.

use crate::args::{CheckArgs, Deadlock};
use crate::outcome::{Outcome, ViolationFigures};
use crate::trace::TraceView;
use hadal_check::{DeadlockNotion, Options};

/// The command that asks only what is left, as a run's folder keeps it.
pub fn with_rest(args: &CheckArgs, rest: &Options) -> CheckArgs {
    let deadlock = match rest.deadlock {
        DeadlockNotion::Off => Some(Deadlock::Off),
        _ => args.asked.deadlock,
    };
    let mut args = args.clone();
    args.asked.settled.clone_from(&rest.settled);
    args.asked.deadlock = deadlock;
    args.limits.time_limit = rest.budget.limits.time;
    args
}

/// The violations that were found before the last search.
#[derive(Default)]
pub struct Found(pub Vec<TraceView>);

impl Found {
    /// Tells all of them in the outcome of the last search; returns every trace.
    pub fn conclude(
        self,
        args: &CheckArgs,
        outcome: &mut Outcome,
        last: Option<TraceView>,
    ) -> Vec<TraceView> {
        let more = self.0.len();
        let traces: Vec<TraceView> = self.0.into_iter().chain(last).collect();
        if args.asked.several.is_none() {
            return traces;
        }
        let detail = super::present::detail(args);
        let figures = |trace: &TraceView| ViolationFigures {
            property: trace.violation.property.clone(),
            kind: trace.violation.kind,
            message: trace.violation.message.clone(),
            trace_length: trace.length(),
            loop_length: trace.loop_length(),
            trace: args.output.json.then(|| trace.json(detail)),
        };
        outcome.traces.violations = traces.iter().map(figures).collect();
        let Some(first) = traces.first().filter(|_| more > 0) else { return traces };
        let settled = outcome.traces.violations.iter().take(more).map(|it| (it.answered(), it.kind));
        outcome.seen.coverage.add_violated(settled);
        let rest = match outcome.decided.verdict {
            "holds" => "; nothing else is wrong".to_owned(),
            "stopped" => format!("; looking for more stopped: {}", outcome.decided.reason),
            _ => String::new(),
        };
        let messages: Vec<&str> = traces.iter().map(|trace| trace.violation.message.as_str()).collect();
        outcome.decided.reason = format!("{}{rest}", messages.join("; "));
        outcome.decided.verdict = "violated";
        outcome.decided.property = first.violation.property.clone();
        outcome.traces.trace_length = Some(first.length()).filter(|_| !first.steps.is_empty());
        outcome.traces.loop_length = first.loop_length();
        outcome.trace = args.output.json.then(|| first.json(detail));
        traces
    }
}
