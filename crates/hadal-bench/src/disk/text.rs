//! `hadal bench disk` for the terminal.

use super::result::{BARS, DiskModel, DiskReport, DiskRun, OVERHEAD, WORST};
use crate::args::Clock;
use hadal_check::units::{counted, decimal, size};

/// The lines above the models.
pub fn heading(report: &DiskReport) -> String {
    let warning = match report.optimised {
        true => "",
        false => {
            "WARNING: this hadal was built without optimisation; counts are checked, times mean nothing\n"
        }
    };
    format!(
        "disk, threads {}, best of {}, {} clock, hadal {}\npage cache kept out by {}\n{warning}\
         times over hadal's table in RAM, both without start-up; memory: peak resident, OVER where it exceeds --memory by \
         more than {}\n{:34} {:>6} {:>9} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8} {:>9}  storage",
        report.threads,
        report.repeat,
        report.clock,
        report.hadal,
        report.memory_limit,
        size(OVERHEAD),
        "model, strategy",
        "share",
        "--memory",
        "wall s",
        "wall x",
        "cpu x",
        "read B/s",
        "writ B/s",
        "disk B/s",
        "resident"
    )
}

/// A model's line: the table in RAM.
pub fn ram(model: &DiskModel) -> String {
    let ram = &model.ram;
    let mut line = format!(
        "{:34} {:>6} {:>9} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8} {:>9}  {}, {}, {}",
        model.name,
        "RAM",
        "",
        decimal(ram.time.wall_seconds),
        "1",
        "1",
        "",
        "",
        "",
        size(ram.peak_bytes),
        counted(ram.states, "state"),
        counted(ram.transitions, "transition"),
        counted(ram.state_bits, "bit")
    );
    if let Some(problem) = &model.problem {
        line.push_str(&format!("\n  WRONG: {problem}"));
    } else if ram.is_late() {
        line.push_str(&format!("\n  not done: {}", ram.reason.as_deref().unwrap_or_default()));
    }
    line
}

/// A strategy at a share.
pub fn run(run: &DiskRun) -> String {
    if let Some(percent) = run.same_as {
        return format!(
            "  {:32} {:>5}% {:>9}  as at {percent}%",
            run.strategy,
            run.percent,
            size(run.budget_bytes)
        );
    }
    let over = if run.within_memory { "" } else { " OVER" };
    let mut line = format!(
        "  {:32} {:>5}% {:>9} {:>8} {:>7} {:>7} {:>8} {:>8} {:>8} {:>9}{over}  {}",
        run.strategy,
        run.percent,
        size(run.budget_bytes),
        decimal(run.run.time.wall_seconds),
        decimal(run.wall_ratio),
        decimal(run.cpu_ratio),
        decimal(run.per_state.read),
        decimal(run.per_state.written),
        decimal(run.per_state.disk),
        size(run.run.peak_bytes),
        run.run.storage.join(", ")
    );
    if let Some(bytes) = run.raised_to {
        line.push_str(&format!(" (--memory {}: with less it ends for want of memory)", size(bytes)));
    }
    if let Some(problem) = &run.problem {
        line.push_str(&format!("\n  WRONG: {problem}"));
    } else if run.run.is_late() {
        line.push_str(&format!("\n  not done: {}", run.run.reason.as_deref().unwrap_or_default()));
    }
    line
}

/// The lines below the models: means, bars, broken bounds.
pub fn summary(report: &DiskReport) -> String {
    let clock = report.chosen_clock.unwrap_or(Clock::Wall);
    let mut lines = vec![format!(
        "\n{:18} {:>6} {:>8} {:>8} {:>7}  slowest model ({} clock)",
        "strategy", "share", "mean x", "worst x", "models", report.clock
    )];
    for strategy in &report.strategies {
        for &percent in &report.budgets {
            let Some(mean) = report.mean(strategy, percent, clock) else { continue };
            lines.push(format!(
                "{strategy:18} {percent:>5}% {:>8} {:>8} {:>7}  {}{}",
                decimal(mean.spread.geometric_mean),
                decimal(mean.spread.greatest),
                mean.spread.count,
                mean.worst,
                bar(strategy, percent, mean.spread.geometric_mean, mean.spread.greatest)
            ));
        }
    }
    let over: Vec<String> = report
        .runs()
        .filter(|(_, run)| !run.within_memory && run.same_as.is_none())
        .map(|(model, run)| format!("{} {} {}%", model.name, run.strategy, run.percent))
        .collect();
    lines.push(match over.len() {
        0 => format!("memory: every run within its budget and {}", size(OVERHEAD)),
        n => format!("memory: {n} runs OVER their budget and {}: {}", size(OVERHEAD), over.join("; ")),
    });
    lines.push(match report.has_problem() {
        false => "every finished run has the counts of the table".into(),
        true => "some runs do NOT have the counts of the table".into(),
    });
    lines.join("\n")
}

fn bar(strategy: &str, percent: f64, mean: f64, worst: f64) -> String {
    let Some((_, bar)) = BARS.iter().find(|(share, _)| *share == percent && strategy == "auto") else {
        return String::new();
    };
    let said = |met: bool| if met { "met" } else { "missed" };
    format!("  (mean at most {bar}: {}; worst at most {WORST}: {})", said(mean <= *bar), said(worst <= WORST))
}
