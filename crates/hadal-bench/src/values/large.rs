//! The largest published tables (Jabbar 2008, ch. 10): square-7, the 11-puzzle, the floor of 10 000 x 10 000 cells. They are swept
//! with nothing but values in RAM, and only where `--only` names them: all sweeps would take hours, so some are measured and
//! the rest is estimated, unless `--time-limit` allows for all.

use crate::args::BenchArgs;
use crate::html;
use hadal_check::memory::{default_threads, peak_resident};
use hadal_check::units::{decimal, grouped};
use hadal_value::implicit::{Implicit, Ranked, Tabled};
use hadal_value::task::{Racetrack, Tiles, WetFloor};
use serde::Serialize;
use std::time::Instant;

/// It ends when no value changes by more.
const RESIDUAL: f64 = 1e-4;

/// What is known of a task.
struct Known {
    name: &'static str,
    edges: u64,
    /// Whether ours are as many, up to a thousandth.
    same_edges: bool,
    /// Sweeps of the published run, if it ended.
    sweeps: Option<u64>,
    value: Option<f64>,
    /// Of the published run, or as its author estimated them.
    hours: f64,
}

/// A row of the table.
#[derive(Debug, Serialize)]
pub(super) struct LargeRow {
    task: String,
    states: u64,
    edges: u64,
    published_edges: u64,
    /// Before the first sweep.
    explore_seconds: f64,
    seconds_per_sweep: f64,
    /// Of all threads.
    processor_seconds_per_sweep: f64,
    sweeps: u64,
    /// Whether it swept to the end.
    ended: bool,
    value: Option<f64>,
    /// All sweeps, measured or estimated from those that were.
    hours: Option<f64>,
    published_hours: f64,
    peak_bytes: u64,
    /// Whether counts, and what is known of the end, are right.
    pub met: bool,
}

/// Sweeps what `--only` names.
pub(super) fn rows(args: &BenchArgs) -> Vec<LargeRow> {
    let wanted = |name: &str| args.chosen.only.as_ref().is_some_and(|part| name.contains(part.as_str()));
    let mut rows = Vec::new();
    let square = Known {
        name: "racetrack square-7",
        edges: 518_843_406,
        same_edges: true,
        sweeps: Some(56),
        value: Some(30.243),
        hours: 91.0,
    };
    let started = Instant::now();
    if wanted(square.name)
        && let Some(tabled) = Racetrack::open_field(150, 300, 0.7).ok().and_then(Tabled::explore)
    {
        rows.push(sweep(&square, &tabled, started, args));
    }
    let puzzle = Known {
        name: "11-puzzle p=0.9",
        edges: 1_357_171_197,
        same_edges: true,
        sweeps: Some(72),
        value: None,
        hours: 437.0,
    };
    if wanted(puzzle.name) {
        rows.push(sweep(&puzzle, &Tiles::new(4, 3, 0.9, Tiles::goal(4, 3)), Instant::now(), args));
    }
    // The author's cells were drawn, ours follow a rule: edges are only about as many.
    let floor = Known {
        name: "wet floor 10000 x 10000",
        edges: 879_930_415,
        same_edges: false,
        sweeps: None,
        value: None,
        hours: 2.0 * 365.0 * 24.0,
    };
    if wanted(floor.name) {
        rows.push(sweep(&floor, &WetFloor::new(10_000, 0.3), Instant::now(), args));
    }
    rows.iter().for_each(show);
    rows
}

fn sweep<T: Ranked>(known: &Known, task: &T, started: Instant, args: &BenchArgs) -> LargeRow {
    let mut implicit = Implicit::from_zero(task);
    let explore_seconds = started.elapsed().as_secs_f64();
    let before = processor_seconds();
    let (swept, mut sweeps, threads) = (Instant::now(), 0u64, default_threads());
    // At least one sweep is measured, and more until the time is up.
    let ended = loop {
        let change = implicit.sweep(threads);
        sweeps += 1;
        if change <= RESIDUAL || started.elapsed() >= args.time_limit {
            break change <= RESIDUAL;
        }
    };
    let seconds_per_sweep = swept.elapsed().as_secs_f64() / sweeps as f64;
    let processor_seconds_per_sweep = (processor_seconds() - before) / sweeps as f64;
    let all = if ended { Some(sweeps) } else { known.sweeps };
    let hours = all.map(|all| (explore_seconds + all as f64 * seconds_per_sweep) / 3600.0);
    let value = ended.then(|| implicit.value());
    let near = implicit.edges.abs_diff(known.edges) * 1000 <= known.edges;
    let ends_well = !ended
        || known.sweeps.is_none_or(|known| known == sweeps)
            && known.value.zip(value).is_none_or(|(known, value)| (known - value).abs() <= 5e-4 * known);
    LargeRow {
        task: known.name.to_owned(),
        states: task.states(),
        edges: implicit.edges,
        published_edges: known.edges,
        explore_seconds,
        seconds_per_sweep,
        processor_seconds_per_sweep,
        sweeps,
        ended,
        value,
        hours,
        published_hours: known.hours,
        peak_bytes: peak_resident(),
        met: (near || !known.same_edges) && ends_well,
    }
}

fn show(row: &LargeRow) {
    println!(
        "large: {}: {} states, {} edges ({}), {} s before the first sweep, {} s a sweep ({} of processor time), {} sweeps{}, {} h for all ({} published), \
         {} MB{}",
        row.task,
        grouped(row.states),
        grouped(row.edges),
        grouped(row.published_edges),
        decimal(row.explore_seconds),
        decimal(row.seconds_per_sweep),
        decimal(row.processor_seconds_per_sweep),
        row.sweeps,
        if row.ended { ", the end" } else { " measured" },
        decimal(row.hours),
        decimal(row.published_hours),
        row.peak_bytes >> 20,
        if row.met { "" } else { "  WRONG" }
    );
}

/// The table of a page.
pub(super) fn table(rows: &[LargeRow]) -> String {
    let cells: Vec<Vec<String>> = rows
        .iter()
        .map(|r| {
            let counts = [r.states, r.edges, r.sweeps].map(grouped);
            let times = [decimal(r.seconds_per_sweep), decimal(r.hours), decimal(r.published_hours)];
            [vec![r.task.clone()], counts.into(), times.into()].concat()
        })
        .collect();
    let heads = ["task", "states", "edges", "sweeps made", "seconds a sweep", "hours for all", "published"];
    html::table("Large tables", &heads, &cells)
}

/// Processor time of this process so far, of all threads; 0 where the system does not tell.
fn processor_seconds() -> f64 {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name of the program may contain spaces; it ends with the last parenthesis. Times are in hundredths.
    let fields = text.rsplit(')').next().unwrap_or_default().split_whitespace();
    let ticks: f64 = fields.skip(11).take(2).filter_map(|field| field.parse::<f64>().ok()).sum();
    ticks / 100.0
}
