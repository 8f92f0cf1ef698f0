//! `hadal bench cluster`: two workers of one thread against one worker and against two threads of one process, and what a model of
//! the exchange says about more (Jabbar 2008, sec. 7.3, distributes External A* and measures the same).
//!
//! Every count is held against the table of suites. `--simulate P` adds rows that are computed, not measured: they say so.

mod measure;
mod model;

use crate::args::{BenchArgs, Clock};
use crate::corpus::Corpus;
use crate::error::BenchError;
use crate::scratch::Scratch;
use crate::suite::{self, Case};
use hadal_check::units::{decimal, grouped, size};
use measure::{Setup, Taken, take};
use model::{Network, Prediction};
use serde::Serialize;

/// Its name on the command line.
pub const SUITE: &str = "cluster";

/// What the seed published for two and three workers: model, workers, minutes in real time, speed-up in real and in processor
/// time (Jabbar 2008, External A* over files on one disk, workers of one machine).
const PUBLISHED: [(&str, u32, f64, f64, f64); 11] = [
    ("GIOP 3-2", 2, 17.5, 1.48, 1.89),
    ("GIOP 3-2", 3, 16.1, 1.64, 2.44),
    ("GIOP 4-1", 2, 41.7, 1.75, 2.04),
    ("GIOP 4-1", 3, 37.4, 2.12, 2.91),
    ("GIOP 4-2", 2, 165.4, 1.62, 2.04),
    ("GIOP 4-2", 3, 151.1, 1.78, 2.93),
    ("Optical 9", 2, 31.7, 1.76, 1.89),
    ("Optical 9", 3, 23.5, 2.41, 3.01),
    // Four machines of a cluster.
    ("Optical 14", 4, 11740.0, 2.44, 2.27),
    // A question about runs; two workers stand for one, which could not end.
    ("Philosophers 128", 2, 17.9, 1.0, 1.0),
    ("Philosophers 128", 3, 16.0, 1.12, 1.31),
];

/// How states are stored: in RAM while they fit, and on disk from the first one on.
const STRATEGIES: [&str; 2] = ["auto", "sort"];

/// A model in its four forms.
#[derive(Debug, Serialize)]
struct Row {
    model: String,
    strategy: &'static str,
    states: u64,
    /// One process, one thread.
    alone: Taken,
    /// One process, two threads.
    threads: Taken,
    /// Two workers of one thread.
    workers: Taken,
    /// Times of one worker over those of two.
    speed_up: f64,
    /// The time of two workers over that of two threads.
    over_threads: f64,
    /// Bytes shipped for each distinct state.
    shipped_per_state: f64,
    counts_met: bool,
    /// What the model says, for two workers first.
    predicted: Vec<Prediction>,
}

#[derive(Debug, Serialize)]
struct ClusterReport {
    hadal: &'static str,
    memory_per_worker: u64,
    rows: Vec<Row>,
}

/// What every worker may take.
const MEMORY: u64 = 256 << 20;

/// Measures the chosen models; exit code 1 where a count is wrong.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    if args.files.html.is_some() {
        return Err(BenchError::Usage(format!("bench {SUITE} draws no page: leave out --html")));
    }
    let most = args.chosen.max_states.unwrap_or(u64::MAX);
    let cases = suite::chosen(SUITE, args)?;
    let cases: Vec<&Case> = cases.into_iter().filter(|case| case.states <= most).collect();
    let scratch = Scratch::new(args.disk.as_deref())?;
    let corpus = Corpus::with_bundled(&cases, &scratch)?;
    let mut report =
        ClusterReport { hadal: env!("CARGO_PKG_VERSION"), memory_per_worker: MEMORY, rows: Vec::new() };
    let clock = match args.clock {
        Clock::Wall => "wall clock",
        Clock::Cpu => "processor time: of a thread, and of the worker that had most to do",
    };
    println!("cluster, {} for each worker, hadal {}; {clock}", size(MEMORY), report.hadal);
    println!(
        "{:28} {:>4} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}",
        "model",
        "by",
        "states",
        "1x1 s",
        "1x2 s",
        "2x1 s",
        "1x1 cpu",
        "2x1 cpu",
        "1x1/2x1",
        "2x1/1x2",
        "B/state"
    );
    for case in cases {
        for strategy in STRATEGIES {
            let row = measure_row(args, (case, strategy), &corpus, &scratch)?;
            print_row(&row);
            report.rows.push(row);
        }
    }
    println!("\npublished: External A* of one, two and three workers over files on one disk (Jabbar 2008)");
    for (model, workers, minutes, real, processor) in PUBLISHED {
        println!(
            "{model:28} {workers} workers {minutes:>6} min, speed-up {real} real, {processor} processor"
        );
    }
    if let Some(path) = &args.files.json {
        super::previous::write_beside_previous(path, &report)?;
    }
    Ok(u8::from(report.rows.iter().any(|row| !row.counts_met)))
}

fn measure_row(
    args: &BenchArgs,
    (case, strategy): (&Case, &'static str),
    corpus: &Corpus,
    scratch: &Scratch,
) -> Result<Row, BenchError> {
    let model = corpus.path(case);
    let best = |setup: Setup| -> Result<Taken, BenchError> {
        let once = || -> Result<Taken, BenchError> {
            Ok(take((case, &model), (setup, strategy), args.time_limit, scratch)?.by(args.clock, setup))
        };
        let mut best = once()?;
        for _ in 1..args.repeat {
            best = best.better(once()?);
        }
        Ok(best)
    };
    let alone = best(Setup::Threads(1))?;
    let threads = best(Setup::Threads(2))?;
    let workers = best(Setup::Workers(2))?;
    let met = |taken: &Taken| {
        taken.states == case.states
            && case.transitions.is_none_or(|transitions| taken.transitions == transitions)
    };
    let mut predicted = Vec::new();
    if let Some(most) = args.chosen.simulate {
        let mut workers_of = 2;
        while workers_of <= most {
            predicted.push(model::predict((&alone, &workers), workers_of, Network::ONE_MACHINE));
            predicted.push(model::predict((&alone, &workers), workers_of, Network::TEN_GIGABIT));
            workers_of *= 2;
        }
    }
    Ok(Row {
        model: case.name(),
        strategy,
        states: workers.states,
        speed_up: alone.seconds / workers.seconds,
        over_threads: workers.seconds / threads.seconds,
        shipped_per_state: workers.sent_bytes as f64 / workers.states.max(1) as f64,
        counts_met: met(&alone) && met(&threads) && met(&workers),
        alone,
        threads,
        workers,
        predicted,
    })
}

fn print_row(row: &Row) {
    println!(
        "{:28} {:>4} {:>11} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>8} {:>10}{}",
        row.model,
        row.strategy,
        grouped(row.states),
        decimal(row.alone.seconds),
        decimal(row.threads.seconds),
        decimal(row.workers.seconds),
        decimal(row.alone.cpu_seconds),
        decimal(row.workers.cpu_seconds),
        decimal(row.speed_up),
        decimal(row.over_threads),
        decimal(row.shipped_per_state),
        if row.counts_met { "" } else { "  COUNTS DIFFER" }
    );
    for prediction in &row.predicted {
        let measured = match (prediction.workers, prediction.network) {
            (2, network) if network == Network::ONE_MACHINE.name => {
                format!("; measured {}", decimal(row.workers.seconds))
            }
            _ => String::new(),
        };
        println!(
            "  computed, not measured: {:>4} workers, {:12} {:>8} s, speed-up {}{measured}",
            prediction.workers,
            prediction.network,
            decimal(prediction.seconds),
            decimal(prediction.speed_up),
        );
    }
}
