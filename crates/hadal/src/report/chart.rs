//! A chart as inline SVG with the same numbers in a table below it. Nothing is fetched and nothing is scripted: values
//! show as the browser's own hints.

use super::figures::Unit;
use hadal_check::units::{grouped, size};
use std::fmt::Write;

const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 230.0;
const LEFT: f64 = 70.0;
const RIGHT: f64 = 12.0;
const TOP: f64 = 8.0;
const BOTTOM: f64 = 38.0;
/// Most rows drawn and listed; more are put together by [`bins`].
pub const MOST_ROWS: usize = 240;

/// A chart.
pub struct Chart {
    /// What it shows.
    pub title: &'static str,
    /// What a reader should know, as text.
    pub about: String,
    /// What the horizontal axis is.
    pub across: &'static str,
    /// What the vertical axis counts.
    pub unit: Unit,
    /// How it is drawn.
    pub form: Form,
    /// Places on the horizontal axis, ascending, with their labels.
    pub rows: Vec<Row>,
    /// What is drawn over them.
    pub series: Vec<Series>,
}

/// How a chart is drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// A line for each series.
    Lines,
    /// A bar for each row, the series on top of each other.
    Stacked,
}

/// A place on the horizontal axis.
pub struct Row {
    /// Where, for lines.
    pub at: f64,
    /// What it is called.
    pub label: String,
}

/// One series: a value for every row that has one.
pub struct Series {
    /// Its name.
    pub name: &'static str,
    /// Its values, one for each row.
    pub values: Vec<Option<f64>>,
}

impl Series {
    fn is_empty(&self) -> bool {
        self.values.iter().all(Option::is_none)
    }
}

impl Chart {
    /// Whether there is anything to draw.
    pub fn is_empty(&self) -> bool {
        self.series.iter().all(Series::is_empty)
    }

    /// The chart and its table.
    pub fn render(&self) -> String {
        let mut html = format!("<section><h2>{}</h2>", escape(self.title));
        if !self.about.is_empty() {
            // Writing to a string cannot fail, here and below.
            let _ = write!(html, "<p class=\"about\">{}</p>", escape(&self.about));
        }
        html.push_str(&self.legend());
        html.push_str(&self.picture());
        html.push_str(&self.table());
        html.push_str("</section>");
        html
    }

    /// The series that have values, each with the number of its colour.
    fn drawn(&self) -> impl DoubleEndedIterator<Item = (usize, &Series)> {
        self.series.iter().enumerate().filter(|(_, series)| !series.is_empty())
    }

    fn legend(&self) -> String {
        if self.series.len() < 2 {
            return String::new();
        }
        let items: String = self
            .drawn()
            .map(|(n, series)| format!("<li><i class=\"c{n}\"></i>{}</li>", escape(series.name)))
            .collect();
        format!("<ul class=\"legend\">{items}</ul>")
    }

    fn picture(&self) -> String {
        let (ceiling, step) = self.ceiling();
        let up = |value: f64| TOP + (HEIGHT - TOP - BOTTOM) * (1.0 - value / ceiling);
        let names: Vec<&str> = self.drawn().map(|(_, series)| series.name).collect();
        let mut svg = format!(
            "<svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{}: {} by {}; the numbers are in the table below\">",
            escape(self.title),
            escape(&names.join(", ")),
            escape(self.across)
        );
        let mut tick = 0.0;
        while tick <= ceiling * 1.0001 {
            let y = up(tick);
            let _ = write!(
                svg,
                "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{:.1}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                WIDTH - RIGHT,
                LEFT - 6.0,
                y + 4.0,
                short(tick, self.unit)
            );
            tick += step;
        }
        match self.form {
            Form::Lines => self.draw_lines(&mut svg, &up),
            Form::Stacked => self.draw_bars(&mut svg, &up),
        }
        self.draw_labels(&mut svg);
        self.draw_hints(&mut svg);
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></svg>",
            (LEFT + WIDTH - RIGHT) / 2.0,
            HEIGHT - 4.0,
            escape(self.across)
        );
        format!("<div class=\"scroll\">{svg}</div>")
    }

    /// The top of the vertical axis, and the distance of its lines.
    fn ceiling(&self) -> (f64, f64) {
        let value = |n: usize, series: &Series| series.values.get(n).copied().flatten().unwrap_or(0.0);
        let greatest = (0..self.rows.len())
            .map(|n| {
                let values = self.series.iter().map(|series| value(n, series));
                match self.form {
                    Form::Lines => values.fold(0.0, f64::max),
                    Form::Stacked => values.sum(),
                }
            })
            .fold(0.0, f64::max);
        let step = tick_step(greatest, self.unit);
        ((greatest / step).ceil().max(1.0) * step, step)
    }

    /// Where a row begins and ends.
    fn span(&self, n: usize) -> (f64, f64) {
        let wide = WIDTH - LEFT - RIGHT;
        let count = self.rows.len() as f64;
        match self.form {
            Form::Stacked => (LEFT + wide * n as f64 / count, LEFT + wide * (n as f64 + 1.0) / count),
            Form::Lines => {
                let x = self.across_at(n);
                let before = if n == 0 { LEFT } else { (self.across_at(n - 1) + x) / 2.0 };
                let after =
                    if n + 1 == self.rows.len() { WIDTH - RIGHT } else { (x + self.across_at(n + 1)) / 2.0 };
                (before, after)
            }
        }
    }

    fn across_at(&self, n: usize) -> f64 {
        let (first, last) = match (self.rows.first(), self.rows.last()) {
            (Some(first), Some(last)) => (first.at.min(0.0), last.at),
            _ => (0.0, 0.0),
        };
        let range = if last > first { last - first } else { 1.0 };
        LEFT + (WIDTH - LEFT - RIGHT) * (self.rows[n].at - first) / range
    }

    fn draw_lines(&self, svg: &mut String, up: &dyn Fn(f64) -> f64) {
        for (number, series) in self.drawn() {
            let mut path = String::new();
            let mut pen_down = false;
            for (n, value) in series.values.iter().enumerate() {
                let Some(value) = value else {
                    pen_down = false;
                    continue;
                };
                let (x, y) = (self.across_at(n), up(*value));
                let alone = !pen_down && series.values.get(n + 1).copied().flatten().is_none();
                if alone {
                    let _ = write!(svg, "<circle class=\"c{number}\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
                }
                let _ = write!(path, "{}{x:.1} {y:.1}", if pen_down { "L" } else { "M" });
                pen_down = true;
            }
            let _ = write!(svg, "<path class=\"line s{number}\" d=\"{path}\"/>");
        }
    }

    fn draw_bars(&self, svg: &mut String, up: &dyn Fn(f64) -> f64) {
        for n in 0..self.rows.len() {
            let (from, to) = self.span(n);
            let gap = if to - from > 6.0 { 2.0 } else { 0.0 };
            let mut below = 0.0;
            for (number, series) in self.drawn() {
                let Some(value) = series.values[n].filter(|&value| value > 0.0) else { continue };
                let (bottom, top) = (up(below), up(below + value));
                below += value;
                let _ = write!(
                    svg,
                    "<rect class=\"c{number}\" x=\"{from:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>",
                    (to - from - gap).max(0.5),
                    bottom - top
                );
            }
        }
    }

    fn draw_labels(&self, svg: &mut String) {
        let mut label = |x: f64, text: &str| {
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                HEIGHT - BOTTOM + 16.0,
                escape(text)
            );
        };
        match self.form {
            Form::Stacked => {
                let every = self.rows.len().div_ceil(12).max(1);
                for (n, row) in self.rows.iter().enumerate().step_by(every) {
                    let (from, to) = self.span(n);
                    label((from + to) / 2.0, &row.label);
                }
            }
            Form::Lines => {
                let Some(last) = self.rows.last().map(|row| row.at).filter(|&last| last > 0.0) else {
                    return;
                };
                let step = tick_step(last * 0.6, Unit::Count);
                let mut tick = 0.0;
                while tick <= last {
                    label(LEFT + (WIDTH - LEFT - RIGHT) * tick / last, &short(tick, Unit::Count));
                    tick += step;
                }
            }
        }
    }

    fn draw_hints(&self, svg: &mut String) {
        for (n, row) in self.rows.iter().enumerate() {
            let (from, to) = self.span(n);
            let values: Vec<String> = self
                .drawn()
                .filter_map(|(_, series)| {
                    Some(format!("{}: {}", series.name, long(series.values[n]?, self.unit)))
                })
                .collect();
            let _ = write!(
                svg,
                "<rect class=\"hint\" x=\"{from:.1}\" y=\"{TOP}\" width=\"{:.1}\" height=\"{:.1}\"><title>{} {}\n{}</title></rect>",
                to - from,
                HEIGHT - TOP - BOTTOM,
                escape(self.across),
                escape(&row.label),
                escape(&values.join("\n"))
            );
        }
    }

    fn table(&self) -> String {
        let heads: String = self
            .drawn()
            .map(|(_, series)| format!("<th scope=\"col\">{}</th>", escape(series.name)))
            .collect();
        let mut rows = String::new();
        for (n, row) in self.rows.iter().enumerate() {
            let cells: String = self
                .drawn()
                .map(|(_, series)| match series.values[n] {
                    Some(value) => format!("<td>{}</td>", long(value, self.unit)),
                    None => "<td class=\"absent\">–</td>".to_owned(),
                })
                .collect();
            let _ = write!(rows, "<tr><th scope=\"row\">{}</th>{cells}</tr>", escape(&row.label));
        }
        format!(
            "<details><summary>As a table</summary><div class=\"scroll tall\" tabindex=\"0\"><table>\
             <caption>{}</caption><thead><tr><th scope=\"col\">{}</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div></details>",
            escape(self.title),
            escape(self.across)
        )
    }
}

/// Ranges that put `count` rows into at most [`MOST_ROWS`].
pub fn bins(count: usize) -> impl Iterator<Item = std::ops::Range<usize>> {
    let wide = count.div_ceil(MOST_ROWS).max(1);
    (0..count).step_by(wide).map(move |from| from..count.min(from + wide))
}

/// A step that makes three to six lines up to `greatest`.
fn tick_step(greatest: f64, unit: Unit) -> f64 {
    if greatest <= 0.0 || !greatest.is_finite() {
        return 1.0;
    }
    let rough = greatest / 4.0;
    if unit == Unit::Bytes {
        return rough.log2().ceil().exp2().max(1.0);
    }
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|n| n * power).find(|&step| step >= rough * 0.999);
    step.unwrap_or(10.0 * power)
}

/// A number for an axis.
fn short(value: f64, unit: Unit) -> String {
    if unit == Unit::Bytes {
        return size(value as u64).replace(".0 ", " ");
    }
    let (scaled, suffix) = match value {
        v if v >= 1e9 => (v / 1e9, " G"),
        v if v >= 1e6 => (v / 1e6, " M"),
        v if v >= 1e4 => (v / 1e3, " k"),
        v => (v, ""),
    };
    let digits = format!("{scaled:.6}");
    let digits = digits.trim_end_matches('0').trim_end_matches('.');
    let seconds = if unit == Unit::Seconds { " s" } else { "" };
    format!("{digits}{suffix}{seconds}")
}

/// A number for a table.
pub fn long(value: f64, unit: Unit) -> String {
    match unit {
        Unit::Bytes => size(value as u64),
        Unit::Seconds => format!("{value:.3} s"),
        Unit::Count if value >= 100.0 || value.fract() == 0.0 => grouped(value.round() as u64),
        Unit::Count => format!("{value:.2}"),
    }
}

/// Text as HTML shows it.
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart(form: Form, values: Vec<Option<f64>>) -> Chart {
        let rows = (0..values.len()).map(|n| Row { at: n as f64, label: format!("<{n}>") }).collect();
        let series =
            vec![Series { name: "new", values }, Series { name: "never counted", values: vec![None; 3] }];
        Chart { title: "a<b", about: String::new(), across: "layer", unit: Unit::Count, form, rows, series }
    }

    #[test]
    fn a_value_that_is_absent_is_a_gap_and_a_dash_and_an_empty_series_is_left_out() {
        for form in [Form::Lines, Form::Stacked] {
            let html = chart(form, vec![Some(1.0), None, Some(4.0)]).render();
            assert!(html.contains("<td class=\"absent\">–</td>"), "{html}");
            assert!(!html.contains("never counted") && !html.contains("NaN"), "{html}");
            assert!(!html.contains("a<b") && !html.contains("<0>"), "{html}");
        }
        assert!(chart(Form::Lines, vec![None; 3]).is_empty());
    }

    #[test]
    fn many_rows_are_put_together_and_none_is_lost() {
        for count in [0, 1, 240, 241, 10_000] {
            let all: Vec<_> = bins(count).collect();
            assert!(all.len() <= MOST_ROWS);
            assert_eq!(all.iter().map(|bin| bin.len()).sum::<usize>(), count);
        }
    }

    #[test]
    fn axes_have_round_numbers() {
        assert_eq!(tick_step(83.0, Unit::Count), 50.0);
        assert_eq!(tick_step((10 << 20) as f64, Unit::Bytes), (4 << 20) as f64);
        assert_eq!(short(2_500_000.0, Unit::Count), "2.5 M");
        assert_eq!(short((4 << 20) as f64, Unit::Bytes), "4 MiB");
    }
}
