//! `hadal bench korf`: Korf's hundred 15-puzzles with the Manhattan distance, by External A* within 1 GiB of memory,
//! beside the figures published for it (Jabbar 2008, tables 3.4 and 3.5) and our own A* in RAM.
//!
//! Every length is held against the least one known, and every count against the published one.

mod instances;
mod measure;

use super::scratch::Scratch;
use crate::args::{BenchArgs, Clock};
use crate::error::BenchError;
use hadal_check::units::{counted, decimal, grouped, size, span};
use instances::Instance;
use measure::{Measured, in_ram, on_disk};
use serde::Serialize;

/// Its name on the command line.
pub const SUITE: &str = "korf";
/// The memory budget of External A*.
const MEMORY: u64 = 1 << 30;
/// Counts of generated and stored states depend on the order within the last bucket by a few.
const TOLERANCE: u64 = 5;
/// Instances up to this many expanded states are also solved in RAM.
const RAM_STATES: u64 = 12_000_000;

/// One instance.
#[derive(Debug, Serialize)]
struct Row {
    instance: Instance,
    external: Measured,
    /// A* in RAM, where it was run.
    ram: Option<Measured>,
    /// Whether length and counts are as published.
    agrees: bool,
    /// States expanded in a second, over the published rate.
    over_published: f64,
    /// States expanded in a second, over that of A* in RAM.
    over_ram: Option<f64>,
}

#[derive(Debug, Serialize)]
struct KorfReport {
    hadal: &'static str,
    clock: &'static str,
    threads: u16,
    memory: u64,
    rows: Vec<Row>,
}

/// Solves the chosen instances; exit code 1 where a length or a count is wrong.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    if args.files.html.is_some() {
        return Err(BenchError::Usage(format!("bench {SUITE} draws no page: leave out --html")));
    }
    let chosen = instances::chosen(args.chosen.only.as_deref(), args.chosen.max_states)?;
    let scratch = Scratch::new(args.disk.as_deref())?;
    let mut report = KorfReport {
        hadal: env!("CARGO_PKG_VERSION"),
        clock: args.clock.name(),
        threads: args.threads,
        memory: MEMORY,
        rows: Vec::new(),
    };
    println!(
        "korf, External A* within {}, {}, {} clock, hadal {}; published: Jabbar 2008",
        size(MEMORY),
        counted(args.threads.into(), "thread"),
        report.clock,
        report.hadal
    );
    println!(
        " no moves      expanded     generated        stored  seconds   cpu s   M/s  published s       x       peak    written  \
         RAM A* M/s   ratio"
    );
    for instance in chosen {
        let row = measure_row(args, instance, &scratch)?;
        println!("{}", text(&row));
        report.rows.push(row);
    }
    println!("{}", summary(&report));
    if let Some(path) = &args.files.json {
        super::previous::write_beside_previous(path, &report)?;
    }
    Ok(u8::from(report.rows.iter().any(|row| !row.agrees)))
}

fn measure_row(args: &BenchArgs, instance: Instance, scratch: &Scratch) -> Result<Row, BenchError> {
    let external = on_disk(&instance, MEMORY, usize::from(args.threads), args.time_limit, scratch)?;
    let wanted = !args.no_peers && instance.published.expanded <= RAM_STATES;
    let ram = if wanted { Some(in_ram(&instance, args.time_limit)?) } else { None };
    let published = &instance.published;
    let near = |ours: u64, theirs: u64| ours.abs_diff(theirs) <= TOLERANCE;
    let agrees = external.moves == Some(instance.moves)
        && external.optimal
        && near(external.expanded, published.expanded)
        && near(external.generated, published.generated)
        && near(external.stored, published.stored)
        && ram.as_ref().is_none_or(|ram| ram.moves.is_none_or(|moves| moves == instance.moves));
    let rate = |measured: &Measured| measured.rate(args.clock);
    let theirs = match args.clock {
        Clock::Wall => published.seconds,
        Clock::Cpu => published.cpu_seconds,
    };
    Ok(Row {
        agrees,
        over_published: rate(&external) / (published.expanded as f64 / theirs),
        over_ram: ram.as_ref().filter(|ram| ram.moves.is_some()).map(|ram| rate(&external) / rate(ram)),
        instance,
        external,
        ram,
    })
}

fn text(row: &Row) -> String {
    let (external, published) = (&row.external, &row.instance.published);
    let mut line = format!(
        "{:3} {:>5} {:>13} {:>13} {:>13} {:>8} {:>7} {:>5} {:>12} {:>7} {:>10} {:>10}",
        row.instance.number,
        external.moves.map_or("-".into(), |moves| moves.to_string()),
        grouped(external.expanded),
        grouped(external.generated),
        grouped(external.stored),
        decimal(external.time.seconds),
        decimal(external.time.cpu_seconds),
        decimal(external.expanded as f64 / external.time.seconds / 1e6),
        decimal(published.seconds),
        decimal(row.over_published),
        size(external.peak_resident),
        size(external.bytes_written),
    );
    if let Some(ram) = &row.ram {
        line.push_str(&format!(
            "  {:>10} {:>7}",
            decimal(ram.expanded as f64 / ram.time.seconds / 1e6),
            decimal(row.over_ram)
        ));
    }
    if !row.agrees {
        line.push_str(&format!(
            "  differs: {} moves, {} expanded, {} generated, {} stored are published",
            row.instance.moves,
            grouped(published.expanded),
            grouped(published.generated),
            grouped(published.stored)
        ));
    }
    line
}

fn summary(report: &KorfReport) -> String {
    let mean = |values: Vec<f64>| {
        let logs: f64 = values.iter().map(|value| value.ln()).sum();
        (logs / values.len().max(1) as f64).exp()
    };
    let right = report.rows.iter().filter(|row| row.agrees).count();
    let expanded: u64 = report.rows.iter().map(|row| row.external.expanded).sum();
    let seconds: f64 = report.rows.iter().map(|row| row.external.time.seconds).sum();
    let cpu: f64 = report.rows.iter().map(|row| row.external.time.cpu_seconds).sum();
    let peak = report.rows.iter().map(|row| row.external.peak_resident).max().unwrap_or(0);
    let mut text = format!(
        "{right} of {} as published; {} states expanded in {} ({} of processor time), {} times the published rate in the \
         geometric mean; peak {}",
        report.rows.len(),
        grouped(expanded),
        span(seconds),
        span(cpu),
        decimal(mean(report.rows.iter().map(|row| row.over_published).collect())),
        size(peak),
    );
    let over_ram: Vec<f64> = report.rows.iter().filter_map(|row| row.over_ram).collect();
    if !over_ram.is_empty() {
        text.push_str(&format!("; {} times the rate of A* in RAM", decimal(mean(over_ram))));
    }
    text
}
