//! The three experiments as tables, for the terminal and for the page.

use super::paper::{AVERAGES, IO_OVER_S_GHC};
use super::result::{BASELINE, PartRun, PartitionModel, PartitionReport, average};
use crate::args::Clock;
use hadal_check::units::decimal;

/// The bars of time over RAM at the smallest share: what `auto` and PART may take on average, and any model at most.
const AUTO_BAR: f64 = 2.5;
const PART_BAR: f64 = 4.0;
const WORST_BAR: f64 = 6.0;

/// A table.
pub struct Table {
    /// What it shows.
    pub title: String,
    /// The columns.
    pub heads: Vec<String>,
    /// The cells, as text.
    pub rows: Vec<Vec<String>>,
}

/// All tables.
pub fn all(report: &PartitionReport, clock: Clock) -> Vec<Table> {
    let relative = |title: &str, of: fn(&PartRun) -> u64| {
        by_heuristic(report, title, |model, heuristic| {
            model.over_baseline(heuristic, report.smallest(), of).map(|ratio| ratio * 100.0)
        })
    };
    let share = report.smallest();
    vec![
        relative(
            &format!("1a. Cross transitions, in % of S-GHC's ({share} % of the states in RAM)"),
            |run| run.cross_transitions,
        ),
        relative(
            &format!("1b. Records read and written, in % of S-GHC's ({share} % of the states in RAM)"),
            |run| run.io_records,
        ),
        by_heuristic(report, "1c. Of them for splitting partitions, in %", |model, heuristic| {
            let run = model.part(heuristic, share)?;
            (run.io_records > 0).then(|| run.reorganisation_records as f64 / run.io_records as f64 * 100.0)
        }),
        largest(report),
        shrinking(report),
        times(report, clock),
    ]
}

/// All tables and the bars, as text.
pub fn text(report: &PartitionReport, clock: Clock) -> String {
    let mut text = String::new();
    for table in all(report, clock) {
        text.push_str(&format!("\n{}\n", table.title));
        let wide = |n: usize| table.rows.iter().map(|row| row[n].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> =
            table.heads.iter().enumerate().map(|(n, head)| wide(n).max(head.chars().count())).collect();
        let mut line = |cells: &[String]| {
            let cells: Vec<String> = cells
                .iter()
                .zip(&widths)
                .enumerate()
                .map(
                    |(n, (cell, &wide))| {
                        if n == 0 { format!("{cell:wide$}") } else { format!("{cell:>wide$}") }
                    },
                )
                .collect();
            text.push_str(&format!("{}\n", cells.join("  ")));
        };
        line(&table.heads);
        table.rows.iter().for_each(|row| line(row));
    }
    text.push_str(&bars(report, clock));
    text.push_str(match report.has_problem() {
        false => "\nevery finished run has the counts of the table",
        true => "\nsome runs do NOT have the counts of the table",
    });
    text
}

/// A row for each model and one for the averages.
fn by_heuristic(
    report: &PartitionReport,
    title: &str,
    of: impl Fn(&PartitionModel, &str) -> Option<f64>,
) -> Table {
    let heads = std::iter::once("model".to_owned()).chain(report.heuristics.iter().cloned()).collect();
    let row = |name: &str, value: &dyn Fn(&str) -> Option<f64>| {
        let cells = report.heuristics.iter().map(|heuristic| decimal(value(heuristic)));
        std::iter::once(name.to_owned()).chain(cells).collect::<Vec<String>>()
    };
    let mut rows: Vec<Vec<String>> =
        report.models.iter().map(|model| row(&model.name, &|heuristic| of(model, heuristic))).collect();
    rows.push(row("average", &|heuristic| average(report.models.iter().map(|model| of(model, heuristic)))));
    Table { title: title.to_owned(), heads, rows }
}

fn largest(report: &PartitionReport) -> Table {
    let share = report.smallest();
    let heads = ["model", "s-lhc", "paper", "d-lhc", "paper", "de", "allowed"];
    let row = |model: &PartitionModel| {
        let ours = |heuristic: &str| decimal(model.part(heuristic, share).map(|run| run.largest_percent));
        let paper =
            |of: fn(&super::paper::Published) -> Option<f64>| decimal(model.paper.as_ref().and_then(of));
        vec![
            model.name.clone(),
            ours("s-lhc"),
            paper(|row| row.largest_s_lhc),
            ours("d-lhc"),
            paper(|row| row.largest_d_lhc),
            ours("de"),
            decimal(Some(share / 2.0)),
        ]
    };
    Table {
        title: "1d. Largest partition, in % of all states (in hadal the bound holds for every heuristic)"
            .into(),
        heads: heads.map(str::to_owned).into(),
        rows: report.models.iter().map(row).collect(),
    }
}

fn shrinking(report: &PartitionReport) -> Table {
    let heads = ["% of the states in RAM", "de", "paper: de", "adaptive", "models"].map(str::to_owned).into();
    let row = |&percent: &f64| {
        let ours = |heuristic: &str| {
            average(report.models.iter().map(|model| {
                model.over_baseline(heuristic, percent, |run| run.io_records).map(|ratio| ratio * 100.0)
            }))
        };
        let paper = IO_OVER_S_GHC.iter().find(|(share, _)| *share == percent).map(|&(_, value)| value);
        let counted = |model: &&PartitionModel| {
            model.part("de", percent).is_some() && model.part(BASELINE, percent).is_some()
        };
        vec![
            percent.to_string(),
            decimal(ours("de")),
            decimal(paper),
            decimal(ours("adaptive")),
            report.models.iter().filter(counted).count().to_string(),
        ]
    };
    Table {
        title: "2. Records read and written as memory shrinks, in % of S-GHC's, averages".into(),
        heads,
        rows: report.budgets.iter().map(row).collect(),
    }
}

fn times(report: &PartitionReport, clock: Clock) -> Table {
    let share = report.smallest();
    let heads = [
        "model",
        "RAM s",
        "paper s",
        "HD3",
        "paper: HD3",
        "part de",
        "paper: PART",
        "part adaptive",
        "auto",
        "HD3 I/O a state",
        "paper",
        "I/O HD3/de",
        "paper: HD3/PART",
    ];
    let layered = |model: &PartitionModel| {
        let run = &model.other("bfs-hd3")?.run;
        let records = |name: &str| run.json[name].as_f64();
        Some(records("disk_records_read")? + records("disk_records_written")?)
    };
    let per_state = |model: &PartitionModel| Some(layered(model)? / model.ram.states.max(1) as f64);
    let io = |model: &PartitionModel| {
        let (layered, part) = (layered(model)?, model.part("de", share)?);
        (part.io_records > 0).then(|| layered / part.io_records as f64)
    };
    let row = |model: &PartitionModel| {
        let paper = |of: fn(&super::paper::Published) -> f64| decimal(model.paper.as_ref().map(of));
        vec![
            model.name.clone(),
            decimal(Some(model.ram.seconds(clock))),
            paper(|row| row.ram_seconds),
            decimal(model.other_ratio("bfs-hd3", clock)),
            paper(|row| row.layered_ratio),
            decimal(model.part_ratio("de", share, clock)),
            paper(|row| row.part_ratio),
            decimal(model.part_ratio("adaptive", share, clock)),
            decimal(model.other_ratio("auto", clock)),
            decimal(per_state(model)),
            paper(|row| row.layered_io_per_state),
            decimal(io(model)),
            paper(|row| row.io_divided_by),
        ]
    };
    let mut rows: Vec<Vec<String>> = report.models.iter().map(row).collect();
    let mean = |of: &dyn Fn(&PartitionModel) -> Option<f64>| decimal(average(report.models.iter().map(of)));
    rows.push(vec![
        "average (paper: of its 24)".into(),
        String::new(),
        String::new(),
        mean(&|model| model.other_ratio("bfs-hd3", clock)),
        decimal(Some(AVERAGES.0)),
        mean(&|model| model.part_ratio("de", share, clock)),
        decimal(Some(AVERAGES.1)),
        mean(&|model| model.part_ratio("adaptive", share, clock)),
        mean(&|model| model.other_ratio("auto", clock)),
        mean(&per_state),
        String::new(),
        mean(&io),
        decimal(Some(AVERAGES.2)),
    ]);
    Table {
        title: format!(
            "3. Time over breadth-first search in RAM ({} clock, {share} % of the states in RAM); I/O in records read and \
             written",
            report.clock
        ),
        heads: heads.map(str::to_owned).into(),
        rows,
    }
}

fn bars(report: &PartitionReport, clock: Clock) -> String {
    let share = report.smallest();
    let said = |met: bool| if met { "met" } else { "missed" };
    let mut lines = String::new();
    let auto: Vec<Option<f64>> = report.models.iter().map(|model| model.other_ratio("auto", clock)).collect();
    if let Some(mean) = average(auto.iter().copied()) {
        let worst = auto.iter().flatten().copied().fold(0.0, f64::max);
        lines.push_str(&format!(
            "\nauto at {share} %: {} on average (at most {AUTO_BAR}: {}), {} at worst (at most {WORST_BAR}: {})",
            decimal(mean),
            said(mean <= AUTO_BAR),
            decimal(worst),
            said(worst <= WORST_BAR)
        ));
    }
    if let Some(mean) = average(report.models.iter().map(|model| model.part_ratio("adaptive", share, clock)))
    {
        lines.push_str(&format!(
            "\npart (adaptive) at {share} %: {} on average (at most {PART_BAR}: {})",
            decimal(mean),
            said(mean <= PART_BAR)
        ));
    }
    lines
}
