//! The benchmark as a page for the browser, complete in itself: bar charts as inline SVG, then the table.

use super::html::{self, Bar, escape, section};
use super::result::{BenchReport, CaseResult, PeerResult};
use hadal_check::units::{counted, decimal, grouped, size};

/// The whole page.
pub fn render(report: &BenchReport) -> String {
    let clock = report.clock;
    let about = format!(
        "hadal {}, {}; {}, best of {}, {} clock.",
        report.hadal,
        report.rumur.as_deref().unwrap_or("no peer"),
        counted(report.threads as u64, "thread"),
        report.repeat,
        clock.name()
    );
    let mut page = html::begin(&report.suite, &about);
    let ratio = |row: &CaseResult, value: Option<f64>| value.map(|value| Bar::ratio(row.name.clone(), value));
    let speed: Vec<_> = report.rows.iter().filter_map(|row| ratio(row, row.speed_ratio(clock))).collect();
    section(
        &mut page,
        "Rules per second over the peer's (more is better)",
        report.speed(),
        &speed,
        &[1.5, 5.0],
    );
    let memory: Vec<_> = report.rows.iter().filter_map(|row| ratio(row, row.memory_ratio())).collect();
    section(&mut page, "Peak memory over the peer's (less is better)", report.memory(), &memory, &[0.5]);
    let rates: Vec<_> = report.rows.iter().flat_map(|row| rate_bars(row, report)).collect();
    section(&mut page, "Transitions per second", None, &rates, &[]);
    page.push_str(&table(report));
    page.push_str(html::END);
    page
}

fn rate_bars(row: &CaseResult, report: &BenchReport) -> Vec<Bar> {
    let bar = |label: String, value: f64, class| Bar {
        label,
        value,
        class,
        shown: format!("{} k", grouped((value / 1e3) as u64)),
    };
    let mut bars = vec![bar(row.name.clone(), row.ours.figures.transition_rate(report.clock), "ours")];
    if let Some(peer) = row.peer.as_ref().and_then(PeerResult::figures) {
        bars.push(bar("rumur".into(), peer.transition_rate(report.clock), "peer"));
    }
    bars
}

fn table(report: &BenchReport) -> String {
    let mut table = String::from(
        "<h2>Figures</h2><div class=\"scroll\"><table><tr><th>model</th><th>states</th><th>transitions</th>\
         <th>seconds</th><th>states/s</th><th>transitions/s</th><th>bytes/state</th><th>peak</th><th>start-up s</th>\
         <th>rumur transitions/s</th><th>rumur peak</th><th>speed x</th><th>memory x</th></tr>",
    );
    for row in &report.rows {
        table.push_str(&table_row(row, report));
    }
    table.push_str("</table></div>");
    table
}

fn table_row(row: &CaseResult, report: &BenchReport) -> String {
    let ours = &row.ours.figures;
    let mut cells = vec![
        escape(&row.name),
        grouped(ours.states),
        grouped(ours.transitions),
        decimal(ours.seconds(report.clock)),
        grouped(ours.state_rate(report.clock) as u64),
        grouped(ours.transition_rate(report.clock) as u64),
        decimal(ours.bytes_per_state()),
        size(ours.peak_bytes),
        decimal(row.ours.startup_seconds),
    ];
    match &row.peer {
        Some(PeerResult::Finished { figures, .. }) => cells.extend([
            grouped(figures.transition_rate(report.clock) as u64),
            size(figures.peak_bytes),
            decimal(row.speed_ratio(report.clock)),
            decimal(row.memory_ratio()),
        ]),
        Some(PeerResult::Refused { reason }) => cells.push(escape(reason)),
        Some(PeerResult::Late { seconds }) => cells.push(format!("not done after {seconds} s")),
        None => cells.push("-".into()),
    }
    let cells: String = cells.iter().map(|cell| format!("<td>{cell}</td>")).collect();
    let wrong = row.problem.as_ref().map(|problem| {
        format!("<tr><td class=\"wrong\" colspan=\"13\">{}: {}</td></tr>", escape(&row.name), escape(problem))
    });
    format!("<tr>{cells}</tr>{}", wrong.unwrap_or_default())
}
