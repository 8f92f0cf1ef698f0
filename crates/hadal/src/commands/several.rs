//! `--continue N`: one violation per property. What was answered is not asked again, and the search is made anew for the
//! rest: so every trace is what the strategy promises of a first one, whatever the strategy.

use crate::args::{CheckArgs, Deadlock};
use crate::outcome::{Outcome, ViolationFigures};
use crate::trace::TraceView;
use std::time::Instant;

/// The violations that were found so far.
pub struct Several {
    most: usize,
    /// Whether the command asks for more than one.
    is_asked: bool,
    found: Vec<TraceView>,
    settled: Vec<String>,
    deadlock: Option<Deadlock>,
}

impl Several {
    /// None yet.
    pub fn of(args: &CheckArgs) -> Self {
        Several {
            most: args.several.map_or(1, |most| most as usize),
            is_asked: args.several.is_some(),
            found: Vec::new(),
            settled: args.settled.clone(),
            deadlock: args.deadlock,
        }
    }

    /// Whether another search may follow the first.
    pub fn may_go_on(&self) -> bool {
        self.most > 1
    }

    /// Whether something was found before the last search.
    pub fn has_found(&self) -> bool {
        !self.found.is_empty()
    }

    /// What is left to ask after this violation, if anything is: an error of the model itself ends the search, as nothing
    /// is known of what comes after it.
    pub fn next(&mut self, args: &CheckArgs, trace: &TraceView, begun: Instant) -> Option<CheckArgs> {
        if self.found.len() + 1 >= self.most {
            return None;
        }
        match (&trace.violation.property, trace.violation.kind) {
            (Some(property), _) => self.settled.push(property.clone()),
            (None, "deadlock") => self.deadlock = Some(Deadlock::Off),
            _ => return None,
        }
        let mut next = CheckArgs { settled: self.settled.clone(), deadlock: self.deadlock, ..args.clone() };
        if let Some(limit) = next.limits.time_limit {
            // The limit is the command's, not that of each search.
            next.limits.time_limit = Some(limit.checked_sub(begun.elapsed())?);
        }
        self.found.push(trace.clone());
        Some(next)
    }

    /// Tells all of them in the outcome of the last search; returns every trace.
    pub fn conclude(
        self,
        args: &CheckArgs,
        outcome: &mut Outcome,
        last: Option<TraceView>,
    ) -> Vec<TraceView> {
        let more = self.found.len();
        let traces: Vec<TraceView> = self.found.into_iter().chain(last).collect();
        if !self.is_asked {
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
