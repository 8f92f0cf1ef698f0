//! The benchmark's table for the terminal.

use super::result::{BenchReport, CaseResult, PeerResult};
use super::suite::Suite;
use crate::args::Clock;
use hadal_check::units::{counted, decimal, grouped, size, span};

/// What suites there are.
pub fn list(suites: &[Suite]) -> String {
    let lines = suites
        .iter()
        .map(|s| format!("{:14} {:>10}  {}\n", s.name, counted(s.cases.len() as u64, "model"), s.about));
    let tables = [
        ("lamborn", "the tables of Lamborn's dissertation with our columns beside them"),
        ("directed", "the tables of Wehrle's dissertation with our columns"),
        ("find", "states that --find visits on public questions, against breadth-first search"),
        ("ta", "zone graphs of timed automata, with TChecker beside them where it is installed"),
        ("landing", "aircraft landing: the cheapest schedules, broadening against plain branch and bound"),
        ("mcta", "errors in real time found by directed search, beside MCTA's figures"),
        ("planning", "two tasks of every PDDL domain, any plan and a best one, beside Fast Downward"),
        (
            "planning-seeds",
            "published tables of planning on disk: Settlers, the travelling purchaser's layers",
        ),
        ("liveness", "lassos, claims, products and Promela graphs, beside SPIN and published figures"),
        ("values", "value iteration's published tables, and questions with known values beside Storm"),
        ("korf", "Korf's hundred 15-puzzles by External A* within 1 GiB, beside the published figures"),
    ];
    lines.chain(tables.map(|(name, about)| format!("{name:14} {:>10}  {about}\n", ""))).collect()
}

/// The lines above the rows, whose names take up to `wide` characters.
pub fn heading(report: &BenchReport, wide: usize) -> String {
    let peer = report.rumur.as_deref().unwrap_or("no peer");
    let warning = if report.optimised {
        ""
    } else {
        "WARNING: this hadal was built without optimisation; counts are checked, rates mean nothing\n"
    };
    let columns = match report.rumur {
        Some(_) => format!("  {:>12} {:>7} {:>10} {:>8}", "peer's /s", "speed x", "peer peak", "memory x"),
        None => String::new(),
    };
    format!(
        "suite {}, {}, best of {}, {} clock, hadal {}, {peer}\n{warning}{:wide$} {:>12} {:>12} {:>9} {:>12} {:>14} {:>10} \
         {:>9}{columns}",
        report.suite,
        counted(report.threads as u64, "thread"),
        report.repeat,
        report.clock.name(),
        report.hadal,
        "model",
        "states",
        "transitions",
        "time",
        "states/s",
        "transitions/s",
        "peak",
        "start-up",
    )
}

/// One row, with a name of up to `wide` characters.
pub fn row(row: &CaseResult, clock: Clock, wide: usize) -> String {
    let ours = &row.ours.figures;
    let mut line = format!(
        "{:wide$} {:>12} {:>12} {:>9} {:>12} {:>14} {:>10} {:>9}",
        row.name,
        grouped(ours.states),
        grouped(ours.transitions),
        span(ours.seconds(clock)),
        grouped(ours.state_rate(clock) as u64),
        grouped(ours.transition_rate(clock) as u64),
        size(ours.peak_bytes),
        span(row.ours.startup_seconds),
    );
    match &row.peer {
        None => {}
        Some(PeerResult::Refused { reason }) => line.push_str(&format!("  {reason}")),
        Some(PeerResult::Late { seconds }) => line.push_str(&format!("  not done after {seconds} s")),
        Some(PeerResult::Finished { figures, .. }) => line.push_str(&format!(
            "  {:>12} {:>7} {:>10} {:>8}",
            grouped(figures.transition_rate(clock) as u64),
            decimal(row.speed_ratio(clock)),
            size(figures.peak_bytes),
            decimal(row.memory_ratio())
        )),
    }
    if row.peer_disagrees() {
        let peer = row.peer.as_ref().and_then(PeerResult::figures);
        let (states, transitions) = peer.map_or((0, 0), |p| (p.states, p.transitions));
        line.push_str(&format!(
            "\n  the peer counts {} and {}",
            counted(states, "state"),
            counted(transitions, "transition")
        ));
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
        lines.push(format!("rules per second, ours over the peer's: {speed}"));
    }
    if let Some(memory) = report.memory() {
        lines.push(format!("peak memory, ours over the peer's:      {memory}"));
    }
    if let Some(whole) = report.whole_run() {
        lines.push(format!("from model to verdict, times faster:    {whole}"));
    }
    let wrong = report.rows.iter().filter(|row| row.problem.is_some()).count();
    lines.push(match wrong {
        0 if report.rows.len() == 1 => "the model has the counts of the table".to_owned(),
        0 => format!("all {} models have the counts of the table", report.rows.len()),
        _ => format!("{wrong} of {} models do NOT have the counts of the table", report.rows.len()),
    });
    lines.join("\n")
}
