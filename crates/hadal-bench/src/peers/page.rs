//! `hadal bench peers` as a page for the browser, complete in itself.

use super::result::{Pair, PeersReport};
use crate::html::{self, Bar, section};
use hadal_check::units::{decimal, grouped};

/// The whole page.
pub fn render(report: &PeersReport) -> String {
    let about = format!(
        "hadal {}, {}; one thread, best of {}, {} clock. {}.",
        report.hadal,
        report.spin.as_deref().unwrap_or("no SPIN"),
        report.repeat,
        report.clock,
        report.caution
    );
    let mut page = html::begin("peers", &about);
    let bars = |of: fn(&Pair) -> Option<f64>| -> Vec<Bar> {
        report.pairs.iter().filter_map(|pair| Some(Bar::ratio(pair.name.clone(), of(pair)?))).collect()
    };
    section(
        &mut page,
        "Transitions per second over SPIN's (more is better)",
        report.speed(),
        &bars(Pair::speed),
        &[3.0],
    );
    section(
        &mut page,
        "Bytes per state over SPIN's (less is better)",
        report.memory(),
        &bars(Pair::memory),
        &[0.5],
    );
    section(
        &mut page,
        "Transitions per second over SPIN's with partial-order reduction",
        None,
        &bars(Pair::speed_reduced),
        &[],
    );
    let rows: Vec<Vec<String>> = report.pairs.iter().map(cells).collect();
    page.push_str(&html::table("Figures", &HEADS, &rows));
    page.push_str(html::END);
    page
}

const HEADS: [&str; 9] = [
    "model",
    "states",
    "transitions",
    "transitions/s",
    "bytes/state",
    "SPIN states",
    "SPIN transitions",
    "SPIN transitions/s",
    "SPIN bytes/state",
];

fn cells(pair: &Pair) -> Vec<String> {
    let ours = &pair.ours.figures;
    let mut cells = vec![
        pair.name.clone(),
        grouped(ours.states),
        grouped(ours.transitions),
        decimal(pair.rate()),
        decimal(ours.bytes_per_state()),
    ];
    match &pair.spin {
        Some(Ok(spin)) => cells.extend([
            grouped(spin.states),
            grouped(spin.transitions),
            decimal(spin.rate(pair.clock)),
            decimal(spin.bytes_per_state()),
        ]),
        Some(Err(reason)) => cells.push(reason.clone()),
        None => {}
    }
    cells
}
