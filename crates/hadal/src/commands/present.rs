//! The result of `check` put together, and shown.

use crate::args::{CheckArgs, TraceFormat};
use crate::failure::Failure;
use crate::outcome::{BucketFigures, CoverFigures, Outcome, TraceFigures, Used};
use crate::output;
use crate::paint::Paint;
use crate::trace::{self, Detail, TraceView};
use hadal_check::{Outcome as Found, Prepared, SymmetryMode};
use hadal_system::{PropertyId, PropertyKind, StateSpace};

/// The result as it is shown; the times before the search are the caller's.
pub(crate) fn outcome(
    args: &CheckArgs,
    prepared: &Prepared,
    found: Found,
    trace: Option<&TraceView>,
) -> Outcome {
    let Found { mut report, answers, cost, shortest_paths, decisions, warnings, run, .. } = found;
    let (model, reductions) = (prepared.model(), prepared.reductions().to_vec());
    // Nobody counts what is not asked about.
    let is_counted = |n: u32| args.reduction.por.is_none() && prepared.question().asks(PropertyId(n));
    let covers = (0..)
        .zip(model.properties().iter().zip(&report.covers))
        .filter(|(n, (property, _))| property.kind == PropertyKind::Cover && is_counted(*n))
        .map(|(_, (property, &hits))| CoverFigures { property: property.name.clone(), hits })
        .collect();
    let threads = prepared.threads(&report);
    let scalars = std::mem::take(&mut report.particular.scalars);
    let buckets = report.disk.and_then(|d| d.buckets).map(|buckets| BucketFigures { buckets, scalars });
    let cache_distances = report.particular.cache_distances.take();
    let (peak_states, one_way) = (report.particular.peak_states, report.particular.one_way);
    let partition = report.particular.partition.take();
    let mut outcome = Outcome::of(report, trace, prepared.memory());
    if !reductions.is_empty() {
        let reason = &mut outcome.decided.reason;
        *reason = reason.replace("every reachable state", "every state that the reduction keeps");
    }
    outcome.traces = TraceFigures {
        trace_length: trace.filter(|t| !t.steps.is_empty()).map(TraceView::length),
        trail_length: None,
        cost,
        shortest_paths,
        loop_length: trace.and_then(TraceView::loop_length),
        shortest_among: trace
            .filter(|trace| trace.shortest && trace.loop_from.is_some())
            .map(|_| args.running.shortest_among()),
        answers: answers.into_iter().map(Into::into).collect(),
        violations: Vec::new(),
    };
    outcome.used = Used {
        strategy: prepared.strategy(),
        symmetry: match model.symmetry().map(|s| s.mode()) {
            None | Some(SymmetryMode::Off) => "off",
            Some(SymmetryMode::Heuristic) => "heuristic",
            Some(SymmetryMode::Exact | SymmetryMode::Auto) => "exact",
        },
        reductions,
        reduction_notes: prepared.notes().to_vec(),
        threads,
        run: run.map(|path| path.display().to_string()),
        state_bits: model.bits(),
        state_bytes: model.words() as u64 * 8,
        settings: None,
        decisions,
    };
    outcome.warnings = warnings;
    outcome.seen.covers = covers;
    outcome.details.buckets = buckets;
    outcome.details.cache_distances = cache_distances;
    outcome.details.peak_states = peak_states;
    outcome.details.one_way = one_way;
    outcome.details.partition = partition;
    outcome.trace = trace.filter(|_| args.output.json).map(|t| t.json(detail(args)));
    outcome
}

/// Prints the answer and, where something is wrong, the way there.
pub(crate) fn show(args: &CheckArgs, outcome: &Outcome, traces: &[TraceView]) -> Result<(), Failure> {
    let detail = detail(args);
    let paint = args.output.paint();
    if args.output.json {
        // The outcome is plain data: it always serialises.
        return output::line(&serde_json::to_string_pretty(outcome).unwrap_or_default());
    }
    // A trace for a program or a browser has standard output to itself.
    match (traces, args.output.trace) {
        ([], TraceFormat::Text | TraceFormat::Msc) => output::line(&outcome.text(paint))?,
        (traces, TraceFormat::Text) => {
            let texts: Vec<String> = traces.iter().map(|trace| trace.text(detail, paint)).collect();
            output::line(&format!("{}\n{}", numbered(&texts).join("\n"), outcome.text(paint)))?;
        }
        (traces, TraceFormat::Msc) => {
            let chart = |trace: &TraceView| {
                let chart = trace.messages.as_deref().unwrap_or("no messages are sent\n");
                format!("{chart}\n{}", trace.violation.text())
            };
            let charts: Vec<String> = traces.iter().map(chart).collect();
            output::line(&format!("{}\n{}", numbered(&charts).join("\n"), outcome.text(paint)))?;
        }
        (traces, TraceFormat::Json) => {
            let value = match (traces, args.asked.several) {
                // Whoever asked for a trace in a format gets that format, though there is none.
                ([], None) => serde_json::Value::Null,
                ([trace, ..], None) => trace.json(detail),
                (traces, Some(_)) => traces.iter().map(|trace| trace.json(detail)).collect(),
            };
            output::line(&serde_json::to_string_pretty(&value).unwrap_or_default())?;
            crate::output::note!("{}", outcome.text(Paint::Plain));
        }
        (traces, TraceFormat::Html) => {
            let page = match traces {
                [] => {
                    let name = args.model.model.display().to_string();
                    trace::html::without_trace(&name, &outcome.text(Paint::Plain))
                }
                [trace] => trace.html(),
                traces => trace::html::several(traces),
            };
            output::line(&page)?;
            crate::output::note!("{}", outcome.text(Paint::Plain));
        }
    }
    if args.output.explain {
        crate::output::note!("{}", outcome.explanation());
    }
    Ok(())
}

/// How much of each state a trace shows.
pub(crate) fn detail(args: &CheckArgs) -> Detail {
    if args.output.full_states { Detail::WholeStates } else { Detail::Changes }
}

/// Texts under headings where there are several.
fn numbered(texts: &[String]) -> Vec<String> {
    let heading = |(n, text): (usize, &String)| format!("== {} of {} ==\n{text}", n + 1, texts.len());
    match texts {
        [_, _, ..] => texts.iter().enumerate().map(heading).collect(),
        _ => texts.to_vec(),
    }
}
