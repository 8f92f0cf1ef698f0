//! The suite's rows as lines, a summary and a page.

use super::said::{MEMORY, Said};
use super::{PlanningReport, Row, contradicts};
use hadal_check::units::{decimal, span};

/// What is compared.
type Measure = fn(&Said) -> Option<f64>;

fn shown(said: &Said) -> String {
    match (said.cost, said.verdict.as_str()) {
        (Some(cost), _) => {
            format!("{cost}{} {}", if said.optimal { "*" } else { "" }, span(said.seconds))
        }
        (None, verdict) => format!("{verdict} {}", span(said.seconds)),
    }
}

/// One task in a line.
pub fn line(row: &Row) -> String {
    let ours: Vec<String> = row.ours.iter().map(shown).collect();
    let peer: Vec<String> = row.peer.iter().map(shown).collect();
    let wrong = if contradicts(row) { "  CONTRADICTS what is known" } else { "" };
    format!("{}: {}; {}{wrong}", row.problem, ours.join(" / "), peer.join(" / "))
}

/// The middle of a list.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied()
}

/// All tasks in a few lines.
pub fn summary(report: &PlanningReport) -> String {
    let count = |which: fn(&Row) -> &[Said], at: usize| {
        report.rows.iter().filter(|row| which(row).get(at).is_some_and(Said::is_answer)).count()
    };
    let ours: fn(&Row) -> &[Said] = |row| &row.ours;
    let peer: fn(&Row) -> &[Said] = |row| &row.peer;
    let mut text = format!(
        "{} tasks, {} s ({}) and {MEMORY} each. Answered: hadal {} (any), {} (best), {} (blind); Fast Downward {} \
         (LAMA-first), {} (LM-cut), {} (blind)",
        report.rows.len(),
        report.seconds_each,
        report.clock,
        count(ours, 0),
        count(ours, 1),
        count(ours, 2),
        count(peer, 0),
        count(peer, 1),
        count(peer, 2)
    );
    // Ratios where both sides have an answer.
    let ratios = |at: usize, of: Measure| -> Vec<f64> {
        let both = report.rows.iter().filter_map(|row| {
            let (ours, peer) = (row.ours.get(at)?, row.peer.get(at)?);
            (ours.is_answer() && peer.is_answer()).then_some((ours, peer))
        });
        both.filter_map(|(ours, peer)| Some(of(ours)? / of(peer)?))
            .filter(|ratio| ratio.is_finite())
            .collect()
    };
    let lines: [(&str, usize, Measure); 4] = [
        ("cost of the first plan", 0, |said| said.cost.filter(|&cost| cost > 0.0)),
        ("blind expansions per second", 2, Said::rate),
        ("blind bytes per state", 2, Said::bytes_per_state),
        ("expansions per second with LM-cut", 1, Said::rate),
    ];
    for (name, at, of) in lines {
        let ratios = ratios(at, of);
        let tasks = ratios.len();
        if let Some(middle) = median(ratios) {
            let middle = decimal(middle);
            text.push_str(&format!("\n{name}: {middle} times Fast Downward's (median of {tasks} tasks)"));
        }
    }
    text
}

/// A page for the browser.
pub fn page(report: &PlanningReport) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let rows: String = report
        .rows
        .iter()
        .map(|row| {
            let cells: String = row
                .ours
                .iter()
                .chain(&row.peer)
                .map(|said| format!("<td>{}</td>", escape(&shown(said))))
                .collect();
            format!("<tr><td>{}</td>{cells}</tr>\n", escape(&row.problem))
        })
        .collect();
    format!(
        "<!doctype html><meta charset=utf-8><title>hadal bench planning</title>\
         <style>body{{font:14px sans-serif}}td,th{{padding:2px 8px;text-align:left}}</style>\
         <pre>{}</pre><table><tr><th>task<th>hadal, any<th>hadal, best<th>hadal, blind<th>LAMA-first<th>LM-cut\
         <th>blind</tr>\n{rows}</table>",
        escape(&summary(report))
    )
}
