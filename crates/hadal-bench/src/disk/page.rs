//! `hadal bench disk` as a page for the browser, complete in itself.

use super::result::{BARS, DiskModel, DiskReport, DiskRun, WORST};
use crate::args::Clock;
use crate::html::{self, Bar, section};
use hadal_check::units::{counted, decimal, grouped, size};

/// The whole page.
pub fn render(report: &DiskReport) -> String {
    let clock = report.chosen_clock.unwrap_or(Clock::Wall);
    let about = format!(
        "hadal {}; {}, best of {}, {} clock. Times over hadal's own table in RAM, without start-up, under a share of \
         (states x packed bytes), at least {}. Page cache kept out by {}.",
        report.hadal,
        counted(report.threads as u64, "thread"),
        report.repeat,
        report.clock,
        size(report.least_bytes),
        report.memory_limit
    );
    let mut page = html::begin("disk", &about);
    let means: Vec<Bar> = report
        .strategies
        .iter()
        .flat_map(|strategy| report.budgets.iter().map(move |&percent| (strategy, percent)))
        .filter_map(|(strategy, percent)| {
            let mean = report.mean(strategy, percent, clock)?;
            Some(Bar::ratio(format!("{strategy}, {percent} %"), mean.spread.geometric_mean))
        })
        .collect();
    section(&mut page, "Geometric mean of the times over RAM", None, &means, &[]);
    for strategy in &report.strategies {
        for &percent in &report.budgets {
            let bars: Vec<Bar> = report
                .runs()
                .filter(|(_, run)| run.strategy == *strategy && run.percent == percent)
                .filter_map(|(model, run)| Some(Bar::ratio(model.name.clone(), run.ratio(clock)?)))
                .collect();
            let spread = report.mean(strategy, percent, clock).map(|mean| mean.spread);
            let mut marks = vec![WORST];
            marks.extend(BARS.iter().filter(|(share, _)| *share == percent).map(|&(_, bar)| bar));
            let title = format!("{strategy} with {percent} % of the states' bytes in RAM: time over RAM");
            section(&mut page, &title, spread, &bars, if strategy == "auto" { &marks } else { &[] });
        }
    }
    page.push_str(&html::table(
        "In RAM",
        &RAM_HEADS,
        &report.models.iter().map(ram_cells).collect::<Vec<_>>(),
    ));
    let rows: Vec<Vec<String>> = report.runs().map(|(model, run)| run_cells(model, run)).collect();
    page.push_str(&html::table("Under a budget", &RUN_HEADS, &rows));
    if !report.left_out.is_empty() {
        let rows: Vec<_> =
            report.left_out.iter().map(|(name, why)| vec![name.clone(), why.clone()]).collect();
        page.push_str(&html::table("Not run", &["model", "why"], &rows));
    }
    page.push_str(html::END);
    page
}

const RAM_HEADS: [&str; 7] = ["model", "states", "transitions", "bits", "wall s", "cpu s", "resident"];
const RUN_HEADS: [&str; 13] = [
    "model",
    "strategy",
    "share",
    "--memory",
    "wall s",
    "wall x",
    "cpu x",
    "read B/state",
    "written B/state",
    "disk B/state",
    "resident",
    "storage",
    "remarks",
];

fn ram_cells(model: &DiskModel) -> Vec<String> {
    let ram = &model.ram;
    vec![
        model.name.clone(),
        grouped(ram.states),
        grouped(ram.transitions),
        ram.state_bits.to_string(),
        decimal(ram.time.wall_seconds),
        decimal(ram.time.cpu_seconds),
        size(ram.peak_bytes),
    ]
}

fn run_cells(model: &DiskModel, run: &DiskRun) -> Vec<String> {
    let mut remarks = Vec::new();
    remarks.extend(run.problem.as_ref().map(|problem| format!("WRONG: {problem}")));
    remarks.extend(run.run.reason.clone().filter(|_| run.run.is_late()));
    remarks.extend(run.same_as.map(|percent| format!("the run at {percent} %")));
    remarks.extend(
        run.raised_to.map(|bytes| format!("--memory {}: with less it ends for want of memory", size(bytes))),
    );
    if !run.within_memory {
        remarks.push("memory over budget and overhead".into());
    }
    vec![
        model.name.clone(),
        run.strategy.clone(),
        format!("{} %", run.percent),
        size(run.budget_bytes),
        decimal(run.run.time.wall_seconds),
        decimal(run.wall_ratio),
        decimal(run.cpu_ratio),
        decimal(run.per_state.read),
        decimal(run.per_state.written),
        decimal(run.per_state.disk),
        size(run.run.peak_bytes),
        run.run.storage.join(", "),
        remarks.join("; "),
    ]
}
