//! The largest published tables (Jabbar 2008, ch. 10): square-7, the 11-puzzle, the floor of 10 000 x 10 000 cells, each where
//! `--only` names it. Actions are made again in every sweep. Square-7 keeps its values in RAM; those of the other two are in
//! files, over which a window slides. Sweeps are committed: what `--time-limit` or a kill ends goes on when it is asked again,
//! and until the end the rest is estimated from what was measured.

use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::html;
use hadal_check::memory::{default_threads, peak_resident};
use hadal_check::units::{decimal, grouped};
use hadal_value::implicit::{Implicit, Ranked, Tabled};
use hadal_value::sliding::Sliding;
use hadal_value::task::{Racetrack, Tiles, WetFloor};
use serde::Serialize;
use std::time::Instant;

/// It ends when no value changes by more.
const RESIDUAL: f64 = 1e-4;

/// A state of the 3 x 4 puzzle 26 moves from the goal.
const AT_DISTANCE_26: u64 = 0x8ab3_9527_6041;

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
pub(super) fn rows(args: &BenchArgs) -> Result<Vec<LargeRow>, BenchError> {
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
        value: Some(26.0 / 0.9),
        hours: 437.0,
    };
    if wanted(puzzle.name) {
        rows.push(slide(&puzzle, &Tiles::new(3, 4, 0.9, AT_DISTANCE_26), args)?);
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
        rows.push(slide(&floor, &WetFloor::new(10_000, 0.3), args)?);
    }
    rows.iter().for_each(show);
    Ok(rows)
}

/// Sweeps that were made, and what they took.
struct Swept {
    states: u64,
    edges: u64,
    sweeps: u64,
    ended: bool,
    value: f64,
    explore_seconds: f64,
    seconds_per_sweep: f64,
    processor_seconds_per_sweep: f64,
}

/// Sweeps with values in RAM: at least once, and more until the time is up.
fn sweep<T: Ranked>(known: &Known, task: &T, started: Instant, args: &BenchArgs) -> LargeRow {
    let mut implicit = Implicit::from_zero(task);
    let explore_seconds = started.elapsed().as_secs_f64();
    let before = processor_seconds();
    let (swept, mut sweeps, threads) = (Instant::now(), 0u64, default_threads());
    let ended = loop {
        let change = implicit.sweep(threads);
        sweeps += 1;
        if change <= RESIDUAL || started.elapsed() >= args.time_limit {
            break change <= RESIDUAL;
        }
    };
    let (edges, value) = (implicit.edges, implicit.value());
    known.row(Swept {
        states: task.states(),
        edges,
        sweeps,
        ended,
        value,
        explore_seconds,
        seconds_per_sweep: swept.elapsed().as_secs_f64() / sweeps as f64,
        processor_seconds_per_sweep: (processor_seconds() - before) / sweeps as f64,
    })
}

/// Sweeps with values in files, from where an earlier run was left.
fn slide<T: Ranked>(known: &Known, task: &T, args: &BenchArgs) -> Result<LargeRow, BenchError> {
    let place = args.disk.clone().unwrap_or_else(std::env::temp_dir);
    let folder = place.join(format!("hadal-{}", known.name.replace(' ', "-")));
    let failed = |error| BenchError::File { path: folder.clone(), error };
    let mut sliding = Sliding::open(task, &folder).map_err(failed)?;
    let (started, mut clock, threads) = (Instant::now(), processor_seconds(), default_threads());
    let before = sliding.sweeps;
    while sliding.change > RESIDUAL && (sliding.sweeps == before || started.elapsed() < args.time_limit) {
        sliding.sweep(threads).map_err(failed)?;
        // What a sweep took is committed with the next one.
        let now = processor_seconds();
        sliding.spent_ms += ((now - std::mem::replace(&mut clock, now)) * 1000.0) as u64;
    }
    let ended = sliding.change <= RESIDUAL;
    let row = known.row(Swept {
        states: task.states(),
        edges: sliding.edges,
        sweeps: sliding.sweeps,
        ended,
        value: sliding.value().map_err(failed)?,
        explore_seconds: 0.0,
        seconds_per_sweep: started.elapsed().as_secs_f64() / (sliding.sweeps - before).max(1) as f64,
        processor_seconds_per_sweep: sliding.spent_ms as f64 / 1000.0 / sliding.sweeps as f64,
    });
    if ended {
        // What is left behind is only space.
        let _ = std::fs::remove_dir_all(&folder);
    }
    Ok(row)
}

impl Known {
    fn row(&self, swept: Swept) -> LargeRow {
        let all = if swept.ended { Some(swept.sweeps) } else { self.sweeps };
        let hours = all.map(|all| (swept.explore_seconds + all as f64 * swept.seconds_per_sweep) / 3600.0);
        let value = swept.ended.then_some(swept.value);
        let near = swept.edges.abs_diff(self.edges) * 1000 <= self.edges;
        let ends_well = !swept.ended
            || self.sweeps.is_none_or(|known| known == swept.sweeps)
                && self.value.zip(value).is_none_or(|(known, value)| (known - value).abs() <= 5e-4 * known);
        LargeRow {
            task: self.name.to_owned(),
            states: swept.states,
            edges: swept.edges,
            published_edges: self.edges,
            explore_seconds: swept.explore_seconds,
            seconds_per_sweep: swept.seconds_per_sweep,
            processor_seconds_per_sweep: swept.processor_seconds_per_sweep,
            sweeps: swept.sweeps,
            ended: swept.ended,
            value,
            hours,
            published_hours: self.hours,
            peak_bytes: peak_resident(),
            met: (near || !self.same_edges) && ends_well,
        }
    }
}

fn show(row: &LargeRow) {
    println!(
        "large: {}: {} states, {} edges ({}), {} s before the first sweep, {} s a sweep ({} of processor time), {} sweeps{}, {} h for all ({} published), value {}, \
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
        decimal(row.value),
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
