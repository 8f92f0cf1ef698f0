//! The workers of a search over several machines: a table, and what each holds and sends beside the others.

use super::chart::{Chart, Form, Row, Series, escape};
use super::figures::Unit;
use crate::outcome::WorkerFigures;
use hadal_check::units::{grouped, size, span};
use std::fmt::Write;

type Shown = fn(&WorkerFigures) -> String;
type Counted = fn(&WorkerFigures) -> u64;

/// What the table says of each worker.
const COLUMNS: [(&str, Shown); 14] = [
    ("states", |worker| grouped(worker.figures.states)),
    ("transitions", |worker| grouped(worker.figures.transitions)),
    ("transitions per second", |worker| {
        worker.transitions_per_second.map_or_else(|| "–".to_owned(), |rate| grouped(rate as u64))
    }),
    ("still to be expanded", |worker| grouped(worker.figures.to_expand())),
    ("inbox", |worker| size(worker.figures.traffic.inbox_bytes)),
    ("inbox at most", |worker| size(worker.figures.traffic.most_inbox_bytes)),
    ("sent", |worker| size(worker.figures.traffic.sent_bytes)),
    ("states sent", |worker| grouped(worker.figures.traffic.sent_states)),
    ("received", |worker| size(worker.figures.traffic.received_bytes)),
    ("expanded for others", |worker| grouped(worker.figures.traffic.helped_states)),
    ("memory", |worker| size(worker.figures.memory_bytes)),
    ("disk", |worker| size(worker.figures.disk_bytes)),
    ("processor time", |worker| span(worker.figures.cpu_seconds)),
    ("waiting for others", |worker| span(worker.figures.waiting_seconds)),
];

/// The table of all workers.
pub fn section(workers: &[WorkerFigures]) -> String {
    let heads: String = COLUMNS.iter().map(|(name, _)| format!("<th scope=\"col\">{name}</th>")).collect();
    let mut rows = String::new();
    for (number, worker) in workers.iter().enumerate() {
        let cells: String = COLUMNS.iter().map(|(_, of)| format!("<td>{}</td>", of(worker))).collect();
        // Writing to a string cannot fail.
        let _ = write!(
            rows,
            "<tr><th scope=\"row\">{number} ({}, weight {})</th>{cells}</tr>",
            escape(&worker.host),
            worker.weight
        );
    }
    format!(
        "<section class=\"wide\"><h2>Workers</h2><p class=\"about\">As the launcher last wrote them down.</p><div class=\"scroll\"><table>\
         <thead><tr><th scope=\"col\">worker</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div></section>"
    )
}

/// What each worker owns and sends, beside the others.
pub fn charts(workers: &[WorkerFigures]) -> [Chart; 2] {
    let chart = |title, about: &str, unit, series: &[(&'static str, Counted)]| Chart {
        title,
        about: about.to_owned(),
        across: "worker",
        unit,
        form: Form::Stacked,
        rows: (0..workers.len()).map(|n| Row { at: n as f64, label: n.to_string() }).collect(),
        series: series
            .iter()
            .map(|(name, of)| Series { name, values: workers.iter().map(|it| Some(of(it) as f64)).collect() })
            .collect(),
    };
    [
        chart(
            "States of each worker",
            "Distinct states that it owns, in complete layers.",
            Unit::Count,
            &[("states", |worker| worker.figures.states)],
        ),
        chart(
            "Network traffic of each worker",
            "Bytes of states sent to others and received from them.",
            Unit::Bytes,
            &[
                ("sent", |worker| worker.figures.traffic.sent_bytes),
                ("received", |worker| worker.figures.traffic.received_bytes),
            ],
        ),
    ]
}
