//! The benchmark as a page for the browser, complete in itself: bar charts as inline SVG, then the table.

use super::result::{BenchReport, CaseResult, PeerResult};
use super::statistics::Spread;
use crate::progress::{grouped, size};
use std::fmt::Write;

const STYLE: &str = "\
:root{color-scheme:light dark;--ink:#1b2733;--paper:#fff;--ours:#1f6fb2;--peer:#b9b2a4;--mark:#c0392b;--line:#d9dee3}\
@media (prefers-color-scheme:dark){:root{--ink:#dfe6ec;--paper:#12181e;--ours:#4ea1e0;--peer:#6f6a60;--mark:#e0705f;--line:#2c3741}}\
body{font:15px/1.45 system-ui,sans-serif;color:var(--ink);background:var(--paper);max-width:70rem;margin:2rem auto;padding:0 1rem}\
h1{font-size:1.5rem}h2{font-size:1.1rem;margin-top:2rem}svg text{fill:var(--ink);font:12px system-ui,sans-serif}\
.ours{fill:var(--ours)}.peer{fill:var(--peer)}.mark{stroke:var(--mark);stroke-dasharray:4 3}\
.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums}\
td,th{padding:.25rem .6rem;text-align:right;border-bottom:1px solid var(--line);white-space:nowrap}\
td:first-child,th:first-child{text-align:left}.wrong{color:var(--mark)}";

/// One bar of a chart.
struct Bar {
    label: String,
    value: f64,
    class: &'static str,
    shown: String,
}

/// The whole page.
pub fn render(report: &BenchReport) -> String {
    let clock = report.clock;
    let mut page = format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>hadal bench {suite}</title><style>{STYLE}</style></head><body>\
         <h1>hadal bench {suite}</h1><p>hadal {version}, {peer}; {threads} thread(s), best of {repeat}, {clock} clock.</p>",
        suite = escape(&report.suite),
        version = report.hadal,
        peer = escape(report.rumur.as_deref().unwrap_or("no peer")),
        threads = report.threads,
        repeat = report.repeat,
        clock = clock.name()
    );
    let ratio = |row: &CaseResult, value: Option<f64>| {
        value.map(|value| Bar {
            label: row.name.clone(),
            value,
            class: "ours",
            shown: format!("{value:.2}x"),
        })
    };
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
    page.push_str("</body></html>\n");
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

fn section(page: &mut String, title: &str, spread: Option<Spread>, bars: &[Bar], marks: &[f64]) {
    if bars.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = write!(page, "<h2>{}</h2>", escape(title));
    if let Some(spread) = spread {
        let _ = write!(
            page,
            "<p>Geometric mean {:.2}x, least {:.2}x, greatest {:.2}x, over {} models.</p>",
            spread.geometric_mean, spread.least, spread.greatest, spread.count
        );
    }
    page.push_str(&chart(bars, marks));
}

/// Horizontal bars from zero, each labelled, with a dashed line at every mark.
fn chart(bars: &[Bar], marks: &[f64]) -> String {
    const LABELS: f64 = 290.0;
    const BARS: f64 = 600.0;
    const STEP: f64 = 20.0;
    let greatest = bars.iter().map(|bar| bar.value).chain(marks.iter().copied()).fold(1e-9, f64::max);
    let height = STEP * bars.len() as f64 + 22.0;
    let mut svg = format!(
        "<div class=\"scroll\"><svg viewBox=\"0 0 {} {height}\" width=\"{}\" height=\"{height}\" role=\"img\">",
        LABELS + BARS + 90.0,
        LABELS + BARS + 90.0
    );
    for (n, bar) in bars.iter().enumerate() {
        let y = STEP * n as f64;
        let width = bar.value / greatest * BARS;
        // Writing to a string cannot fail, here and below.
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"{}\" x=\"{LABELS}\" y=\"{:.1}\" \
             width=\"{width:.1}\" height=\"14\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LABELS - 8.0,
            y + 14.0,
            escape(&bar.label),
            bar.class,
            y + 3.0,
            LABELS + width + 6.0,
            y + 14.0,
            escape(&bar.shown)
        );
    }
    for mark in marks {
        let x = LABELS + mark / greatest * BARS;
        let _ = write!(
            svg,
            "<line class=\"mark\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"0\" y2=\"{:.1}\"/><text x=\"{x:.1}\" y=\"{:.1}\" \
             text-anchor=\"middle\">{mark}x</text>",
            height - 18.0,
            height - 4.0
        );
    }
    svg.push_str("</svg></div>");
    svg
}

fn table(report: &BenchReport) -> String {
    let mut table = String::from(
        "<h2>Figures</h2><div class=\"scroll\"><table><tr><th>model</th><th>states</th><th>transitions</th>\
         <th>seconds</th><th>states/s</th><th>transitions/s</th><th>bytes/state</th><th>peak</th><th>start-up s</th>\
         <th>rumur transitions/s</th><th>rumur peak</th><th>speed</th><th>memory</th></tr>",
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
        format!("{:.2}", ours.seconds(report.clock)),
        grouped(ours.state_rate(report.clock) as u64),
        grouped(ours.transition_rate(report.clock) as u64),
        format!("{:.1}", ours.bytes_per_state()),
        size(ours.peak_bytes),
        format!("{:.2}", row.ours.startup_seconds),
    ];
    match &row.peer {
        Some(PeerResult::Finished { figures, .. }) => cells.extend([
            grouped(figures.transition_rate(report.clock) as u64),
            size(figures.peak_bytes),
            row.speed_ratio(report.clock).map_or("-".into(), |ratio| format!("{ratio:.2}x")),
            row.memory_ratio().map_or("-".into(), |ratio| format!("{ratio:.2}x")),
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

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_drawn_to_scale_and_labels_are_escaped() {
        let bar =
            |label: &str, value| Bar { label: label.into(), value, class: "ours", shown: String::new() };
        let svg = chart(&[bar("a<b", 10.0), bar("c", 5.0)], &[2.5]);
        assert!(svg.contains("a&lt;b") && !svg.contains("a<b"));
        assert!(svg.contains("width=\"600.0\"") && svg.contains("width=\"300.0\""));
        assert!(svg.contains("x1=\"440.0\""));
    }
}
