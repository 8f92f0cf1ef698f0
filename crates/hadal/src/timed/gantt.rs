//! A run in real time as a chart: processes as lanes, stays in locations as bars, delays to scale.

use hadal_exec::zones::ZoneSpace;
use hadal_exec::zones::concrete::{ConcreteTrace, Time};
use std::fmt::Write;

const LEFT: f64 = 150.0;
const WIDTH: f64 = 900.0;
const LANE: f64 = 26.0;
const TOP: f64 = 34.0;

/// A stay of a process in a location.
struct Bar {
    lane: usize,
    from: f64,
    to: f64,
    name: String,
    location: usize,
}

fn number(time: Time) -> f64 {
    time.units as f64 / time.scale as f64
}

/// When the last step is over.
fn end(trace: &ConcreteTrace) -> f64 {
    trace.steps.last().map_or(0.0, |step| number(step.time)) + number(trace.wait)
}

/// Whether there is anything to draw to scale.
pub fn takes_time(trace: &ConcreteTrace) -> bool {
    end(trace) > 0.0
}

/// The chart as SVG.
pub fn svg(space: &ZoneSpace, trace: &ConcreteTrace) -> String {
    let system = space.model().system();
    let lanes = system.processes.len();
    let bars = bars(space, trace);
    let end = end(trace);
    let scale = if end > 0.0 { (WIDTH - LEFT - 20.0) / end } else { 1.0 };
    let height = TOP + lanes as f64 * LANE + 24.0;
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" height=\"{height}\" \
         font-family=\"system-ui, sans-serif\" font-size=\"11\" role=\"img\" aria-label=\"run over time\">"
    );
    for tick in ticks(end) {
        let x = LEFT + tick * scale;
        let bottom = height - 18.0;
        let _ = write!(
            out,
            "<line x1=\"{x:.1}\" y1=\"{TOP}\" x2=\"{x:.1}\" y2=\"{bottom:.1}\" stroke=\"#8886\"/>\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\" fill=\"currentColor\">{tick}</text>",
            height - 4.0
        );
    }
    for (lane, process) in system.processes.iter().enumerate() {
        let y = TOP + (lane as f64 + 0.65) * LANE;
        let _ = write!(
            out,
            "<text x=\"{:.1}\" y=\"{y:.1}\" text-anchor=\"end\" fill=\"currentColor\">{}</text>",
            LEFT - 6.0,
            escape(&process.name)
        );
    }
    for bar in bars {
        let (x, width) = (LEFT + bar.from * scale, ((bar.to - bar.from) * scale).max(1.5));
        let y = TOP + bar.lane as f64 * LANE + 3.0;
        let hue = (bar.location * 67 + 200) % 360;
        let _ = write!(
            out,
            "<g><title>{} in {} from {} to {}</title><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
             height=\"{:.1}\" rx=\"2\" fill=\"hsl({hue} 55% 65%)\" stroke=\"#0004\"/>",
            escape(&system.processes[bar.lane].name),
            escape(&bar.name),
            bar.from,
            bar.to,
            LANE - 6.0
        );
        if width > 7.0 * bar.name.chars().count() as f64 {
            let _ = write!(
                out,
                "<text x=\"{:.1}\" y=\"{:.1}\" fill=\"#111\">{}</text>",
                x + 4.0,
                y + LANE * 0.55,
                escape(&bar.name)
            );
        }
        out.push_str("</g>");
    }
    out.push_str("</svg>");
    out
}

/// A page with a chart.
pub fn page(name: &str, cost: i64, chart: &str) -> String {
    let name = escape(name);
    format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{name}: cost {cost}</title><style>\
         :root {{ color-scheme: light dark }} body {{ font-family: system-ui, sans-serif; margin: 2em }} \
         svg {{ max-width: 100%; height: auto }}</style></head><body><h1>{name}</h1>\
         <p>The cheapest run costs {cost}. Processes are lanes, stays in locations are bars, delays are to scale.</p>\
         {chart}</body></html>\n"
    )
}

fn bars(space: &ZoneSpace, trace: &ConcreteTrace) -> Vec<Bar> {
    let (system, layout) = (space.model().system(), space.layout());
    let slots = system.first_slots();
    let mut bars: Vec<Bar> = Vec::new();
    let end = trace.steps.last().map_or(0.0, |step| number(step.time)) + number(trace.wait);
    for (lane, process) in system.processes.iter().enumerate() {
        let mut open: Option<Bar> = None;
        for step in &trace.steps {
            let at = layout.value(system, &step.state, slots[process.location.0 as usize]).unwrap_or(0);
            let location = usize::try_from(at).unwrap_or(0);
            let time = number(step.time);
            if open.as_ref().is_some_and(|bar| bar.location == location) {
                continue;
            }
            if let Some(mut bar) = open.take() {
                bar.to = time;
                // What lasts no time is no bar.
                bars.extend((bar.to > bar.from).then_some(bar));
            }
            let name = process.locations.get(location).map_or(String::new(), |it| it.name.clone());
            open = Some(Bar { lane, from: time, to: time, name, location });
        }
        if let Some(mut bar) = open {
            bar.to = end;
            bars.push(bar);
        }
    }
    bars
}

/// Round times for the axis, about ten of them.
fn ticks(end: f64) -> Vec<f64> {
    let rough = (end / 10.0).max(1e-9);
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].iter().map(|n| n * power).find(|step| *step >= rough).unwrap_or(1.0);
    (0..)
        .map(|n| (f64::from(n) * step * 1e6).round() / 1e6)
        .take_while(|tick| *tick <= end + 1e-9)
        .take(50)
        .collect()
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
