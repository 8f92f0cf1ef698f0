//! `hadal bench partition` as a page for the browser, complete in itself.

use super::result::PartitionReport;
use super::tables;
use crate::args::Clock;
use crate::html::{self, Bar, section};

/// The whole page.
pub fn render(report: &PartitionReport, clock: Clock) -> String {
    let about = format!(
        "hadal {}, one thread, best of {}, {} clock, beside the figures that Evangelista and Kristensen published in 2011.",
        report.hadal, report.repeat, report.clock
    );
    let mut page = html::begin("partition", &about);
    let share = report.smallest();
    let mut bars = Vec::new();
    for model in &report.models {
        let ours = [
            ("BFS-HD3", model.other_ratio("bfs-hd3", clock)),
            ("part, de", model.part_ratio("de", share, clock)),
            ("part, adaptive", model.part_ratio("adaptive", share, clock)),
            ("auto", model.other_ratio("auto", clock)),
        ];
        for (what, ratio) in ours {
            bars.extend(ratio.map(|ratio| Bar::ratio(format!("{}: {what}", model.name), ratio)));
        }
        bars.extend(model.paper.as_ref().map(|row| Bar::published("the paper's PART", row.part_ratio)));
    }
    section(&mut page, "Time over breadth-first search in RAM", None, &bars, &[]);
    for table in tables::all(report, clock) {
        let heads: Vec<&str> = table.heads.iter().map(String::as_str).collect();
        page.push_str(&html::table(&table.title, &heads, &table.rows));
    }
    if !report.left_out.is_empty() {
        let rows: Vec<_> =
            report.left_out.iter().map(|(name, why)| vec![name.clone(), why.clone()]).collect();
        page.push_str(&html::table("Not run", &["model", "why"], &rows));
    }
    page.push_str(html::END);
    page
}
