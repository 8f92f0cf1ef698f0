//! How often each action fired: horizontal bars for the most frequent, the names of those that never did, and a table.

use super::chart::escape;
use hadal_check::units::grouped;
use hadal_search::ActionFirings;
use std::fmt::Write;

/// The section's title.
pub const TITLE: &str = "How often each action fired";
/// Most bars; the table has all actions.
const MOST_BARS: usize = 40;
/// Most names of actions that never fired above the table.
const MOST_NAMES: usize = 20;
const LABELS: f64 = 300.0;
const BARS: f64 = 330.0;
const STEP: f64 = 18.0;

/// Bars, names and table.
pub fn section(actions: &[ActionFirings]) -> String {
    let mut ranked: Vec<&ActionFirings> = actions.iter().collect();
    // A stable sort: actions that fired equally often stay in the model's order.
    ranked.sort_by_key(|action| std::cmp::Reverse(action.fired));
    let bars: Vec<_> = ranked.iter().copied().take(MOST_BARS).filter(|action| action.fired > 0).collect();
    let mut about = "Transitions of each action, all its instances together.".to_owned();
    if bars.len() == MOST_BARS && actions.len() > MOST_BARS {
        about.push_str(&format!(" The {MOST_BARS} most frequent of {} are drawn.", actions.len()));
    }
    format!(
        "<section><h2>{TITLE}</h2><p class=\"about\">{about}</p>{}{}{}</section>",
        never(actions),
        picture(&bars),
        table(&ranked)
    )
}

fn never(actions: &[ActionFirings]) -> String {
    let silent: Vec<&str> =
        actions.iter().filter(|action| action.fired == 0).map(|action| action.name.as_str()).collect();
    let names = silent.iter().take(MOST_NAMES).map(|name| escape(name)).collect::<Vec<_>>().join("; ");
    match silent.len() {
        0 => String::new(),
        n if n <= MOST_NAMES => format!("<p class=\"about\">Never fired: {names}.</p>"),
        n => format!("<p class=\"about\">Never fired, {n} in all: {names}; ...</p>"),
    }
}

fn picture(bars: &[&ActionFirings]) -> String {
    let greatest = bars.first().map_or(1, |action| action.fired.max(1)) as f64;
    let (width, height) = (LABELS + BARS + 90.0, STEP * bars.len() as f64 + 4.0);
    let mut svg = format!(
        "<div class=\"scroll\"><svg class=\"row\" viewBox=\"0 0 {width} {height}\" role=\"img\" aria-label=\"{TITLE}; \
         the numbers are in the table below\">"
    );
    for (n, action) in bars.iter().enumerate() {
        let (y, long) = (STEP * n as f64, action.fired as f64 / greatest * BARS);
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text><rect class=\"c0\" x=\"{LABELS}\" y=\"{:.1}\" \
             width=\"{long:.1}\" height=\"13\"/><text x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            LABELS - 6.0,
            y + 13.0,
            escape(&shortened(&action.name)),
            y + 2.0,
            LABELS + long + 5.0,
            y + 13.0,
            grouped(action.fired)
        );
    }
    svg.push_str("</svg></div>");
    svg
}

/// What fits beside a bar.
fn shortened(name: &str) -> String {
    const MOST: usize = 48;
    if name.chars().count() <= MOST {
        return name.to_owned();
    }
    name.chars().take(MOST - 1).chain(['…']).collect()
}

fn table(ranked: &[&ActionFirings]) -> String {
    let row = |action: &&ActionFirings| {
        format!("<tr><th scope=\"row\">{}</th><td>{}</td></tr>", escape(&action.name), grouped(action.fired))
    };
    let rows: String = ranked.iter().map(row).collect();
    format!(
        "<details><summary>As a table</summary><div class=\"scroll tall\" tabindex=\"0\"><table><caption>{TITLE}</caption>\
         <thead><tr><th scope=\"col\">action</th><th scope=\"col\">fired</th></tr></thead><tbody>{rows}</tbody></table></div></details>"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_frequent_are_drawn_and_the_silent_are_named() {
        let action = |n: u64| ActionFirings { name: format!("<a{n}>"), fired: n };
        let actions: Vec<_> = (0..60).map(action).collect();
        let html = section(&actions);
        assert_eq!(html.matches("<rect").count(), MOST_BARS);
        assert!(html.contains("Never fired: &lt;a0&gt;.") && !html.contains("<a0>"));
        assert!(html.contains("width=\"330.0\"") && html.contains("The 40 most frequent of 60"));
        assert_eq!(html.matches("<tr>").count(), 61);
    }
}
