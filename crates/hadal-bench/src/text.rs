//! The benchmark's table for the terminal.

use super::result::{BenchReport, CaseResult, PeerResult};
use super::statistics::Spread;
use super::suite::Suite;
use crate::args::Clock;
use hadal_check::units::size;

/// What suites there are.
pub fn list(suites: &[Suite]) -> String {
    let lines = suites.iter().map(|s| format!("{:14} {:3} models  {}\n", s.name, s.cases.len(), s.about));
    let tables = [
        ("lamborn", "the tables of Lamborn's dissertation with our columns beside them"),
        ("directed", "the tables of Wehrle's dissertation with our columns, and models with errors"),
        ("ta", "zone graphs of timed automata, with TChecker beside them where it is installed"),
        ("landing", "aircraft landing: the cheapest schedules, broadening against plain branch and bound"),
        ("planning", "two tasks of every PDDL domain, any plan and a best one, beside Fast Downward"),
        (
            "planning-seeds",
            "published tables of planning on disk: Settlers, the travelling purchaser's layers",
        ),
        ("liveness", "lassos, claims, products and Promela graphs, beside SPIN and published figures"),
        ("korf", "Korf's hundred 15-puzzles by External A* within 1 GiB, beside the published figures"),
    ];
    lines.chain(tables.map(|(name, about)| format!("{name:14} {:3}         {about}\n", ""))).collect()
}

/// The lines above the rows.
pub fn heading(report: &BenchReport) -> String {
    let peer = report.rumur.as_deref().unwrap_or("no peer");
    let warning = if report.optimised {
        ""
    } else {
        "WARNING: this hadal was built without optimisation; counts are checked, rates mean nothing\n"
    };
    format!(
        "suite {}, threads {}, best of {}, {} clock, hadal {}, {peer}\n{warning}{:36} {:>10} {:>11} {:>8} {:>8} {:>8} {:>7} \
         {:>9} {:>6} | {:>8} {:>7} {:>9} {:>6}",
        report.suite,
        report.threads,
        report.repeat,
        report.clock.name(),
        report.hadal,
        "model",
        "states",
        "transitions",
        "seconds",
        "kstate/s",
        "ktrans/s",
        "B/state",
        "peak",
        "start",
        "peer kt/s",
        "speed",
        "peer peak",
        "memory"
    )
}

/// One row.
pub fn row(row: &CaseResult, clock: Clock) -> String {
    let ours = &row.ours.figures;
    let mut line = format!(
        "{:36} {:>10} {:>11} {:>8.2} {:>8.0} {:>8.0} {:>7.1} {:>9} {:>6.2} | ",
        row.name,
        ours.states,
        ours.transitions,
        ours.seconds(clock),
        ours.state_rate(clock) / 1e3,
        ours.transition_rate(clock) / 1e3,
        ours.bytes_per_state(),
        size(ours.peak_bytes),
        row.ours.startup_seconds,
    );
    match &row.peer {
        None => line.push('-'),
        Some(PeerResult::Refused { reason }) => line.push_str(reason),
        Some(PeerResult::Late { seconds }) => line.push_str(&format!("not done after {seconds} s")),
        Some(PeerResult::Finished { figures, .. }) => line.push_str(&format!(
            "{:>8.0} {:>6.2}x {:>9} {:>5.2}x",
            figures.transition_rate(clock) / 1e3,
            row.speed_ratio(clock).unwrap_or(f64::NAN),
            size(figures.peak_bytes),
            row.memory_ratio().unwrap_or(f64::NAN)
        )),
    }
    if row.peer_disagrees() {
        let peer = row.peer.as_ref().and_then(PeerResult::figures);
        let (states, transitions) = peer.map_or((0, 0), |p| (p.states, p.transitions));
        line.push_str(&format!("\n  the peer counts {states} states and {transitions} transitions"));
    }
    if let Some(problem) = &row.problem {
        line.push_str(&format!("\n  WRONG: {problem}"));
    }
    line
}

/// The lines below the rows.
pub fn summary(report: &BenchReport) -> String {
    let mut lines = Vec::new();
    if let Some(speed) = report.speed() {
        lines.push(format!("rules per second, ours over the peer's: {}", spread(&speed)));
    }
    if let Some(memory) = report.memory() {
        lines.push(format!("peak memory, ours over the peer's:      {}", spread(&memory)));
    }
    if let Some(whole) = report.whole_run() {
        lines.push(format!("from model to verdict, times faster:    {}", spread(&whole)));
    }
    let wrong = report.rows.iter().filter(|row| row.problem.is_some()).count();
    lines.push(match wrong {
        0 => format!("all {} models have the counts of the table", report.rows.len()),
        _ => format!("{wrong} of {} models do NOT have the counts of the table", report.rows.len()),
    });
    lines.join("\n")
}

fn spread(spread: &Spread) -> String {
    format!(
        "geometric mean {:.2}x, least {:.2}x, greatest {:.2}x, over {} models",
        spread.geometric_mean, spread.least, spread.greatest, spread.count
    )
}

/// A figure in whole units where it is large, with a decimal where it is small.
pub fn readable(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { format!("{number:.0}") }
}
