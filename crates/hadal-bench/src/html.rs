//! Parts of the benchmark pages, which are complete in themselves: style, bar charts as inline SVG, tables.

use super::statistics::Spread;
use hadal_check::units::decimal;
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
pub struct Bar {
    /// What it stands for.
    pub label: String,
    /// How long it is.
    pub value: f64,
    /// Its class in the style sheet: `ours` or `peer`.
    pub class: &'static str,
    /// What is written at its end.
    pub shown: String,
}

impl Bar {
    /// A ratio of ours.
    pub fn ratio(label: impl Into<String>, value: f64) -> Self {
        Bar { label: label.into(), value, class: "ours", shown: decimal(value) }
    }

    /// A ratio of somebody else's.
    pub fn published(label: impl Into<String>, value: f64) -> Self {
        Bar { class: "peer", ..Bar::ratio(label, value) }
    }
}

/// The page up to its first section.
pub fn begin(suite: &str, about: &str) -> String {
    format!(
        "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\"><meta name=\"viewport\" \
         content=\"width=device-width\"><title>hadal bench {suite}</title><style>{STYLE}</style></head><body>\
         <h1>hadal bench {suite}</h1><p>{}</p>",
        escape(about),
        suite = escape(suite)
    )
}

/// What ends the page.
pub const END: &str = "</body></html>\n";

/// A table under a heading; cells that are empty stay empty.
pub fn table(title: &str, heads: &[&str], rows: &[Vec<String>]) -> String {
    let head: String = heads.iter().map(|head| format!("<th>{}</th>", escape(head))).collect();
    let row = |cells: &Vec<String>| {
        let cells: String = cells.iter().map(|cell| format!("<td>{}</td>", escape(cell))).collect();
        format!("<tr>{cells}</tr>")
    };
    let rows: String = rows.iter().map(row).collect();
    format!("<h2>{}</h2><div class=\"scroll\"><table><tr>{head}</tr>{rows}</table></div>", escape(title))
}

/// A chart under a heading, with the mean of what it shows; nothing where there are no bars.
pub fn section(page: &mut String, title: &str, spread: Option<Spread>, bars: &[Bar], marks: &[f64]) {
    if bars.is_empty() {
        return;
    }
    // Writing to a string cannot fail.
    let _ = write!(page, "<h2>{}</h2>", escape(title));
    if let Some(spread) = spread {
        let _ = write!(page, "<p>Ratios: {spread}.</p>");
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

/// Text as HTML shows it.
pub fn escape(text: &str) -> String {
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
