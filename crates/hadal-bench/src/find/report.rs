//! What `hadal bench find` prints: a line per question, and the means of each half.

use super::SUITE;
use super::questions::{Half, Question, Truth};
use crate::exploration::Exploration;
use crate::html;
use crate::statistics::Spread;
use hadal_check::units::{decimal, grouped};
use serde::Serialize;
use std::collections::BTreeMap;

/// Below this many times fewer states, directed search did not help.
const HELPS: f64 = 1.05;

/// The head of the lines.
pub(super) const HEAD: &str = "Questions about public models: breadth-first search and --find; processor time of the whole command\n\
    half     question                                     breadth       find    fewer shortest length  seconds     find  slower  guide";

/// One way to search, in numbers.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Searched {
    states: u64,
    /// Steps of the trace; none where nothing was found.
    length: Option<u64>,
    /// Processor time of the whole command.
    seconds: f64,
    /// The guide that was used.
    #[serde(skip_serializing_if = "Option::is_none")]
    guide: Option<String>,
}

/// Processor time of the whole command, in seconds.
pub(super) fn processor_time(run: &Exploration) -> f64 {
    run.json["cpu_seconds"].as_f64().unwrap_or(f64::INFINITY)
}

impl From<&Exploration> for Searched {
    fn from(run: &Exploration) -> Self {
        Searched {
            states: run.states,
            length: run.json["trace_length"].as_u64(),
            seconds: processor_time(run),
            guide: run.json["directed"]["guide"].as_str().map(str::to_owned),
        }
    }
}

/// A question, asked in both ways.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Asked {
    pub(super) question: Question,
    pub(super) breadth: Searched,
    pub(super) find: Searched,
    /// Why one of them has no answer, or another than it should have.
    pub(super) remark: Option<String>,
    pub(super) wrong: bool,
}

impl Asked {
    fn fewer(&self) -> f64 {
        self.breadth.states as f64 / self.find.states.max(1) as f64
    }

    fn longer(&self) -> f64 {
        let length = |searched: &Searched| searched.length.unwrap_or(0) as f64;
        length(&self.find) / length(&self.breadth)
    }

    fn slower(&self) -> f64 {
        self.find.seconds / self.breadth.seconds
    }

    fn helps(&self) -> bool {
        self.fewer() >= HELPS
    }

    fn cells(&self) -> [String; 12] {
        let length = |searched: &Searched| searched.length.map_or("-".into(), grouped);
        [
            self.question.half().name().into(),
            self.question.name(),
            grouped(self.breadth.states),
            grouped(self.find.states),
            decimal(self.fewer()),
            length(&self.breadth),
            length(&self.find),
            decimal(self.breadth.seconds),
            decimal(self.find.seconds),
            decimal(self.slower()),
            self.find.guide.clone().unwrap_or_default(),
            self.remark.clone().unwrap_or_default(),
        ]
    }

    /// Its line.
    pub(super) fn line(&self) -> String {
        let [half, name, breadth, find, fewer, shortest, length, seconds, ours, slower, guide, remark] =
            self.cells();
        format!(
            "{half:8} {name:40} {breadth:>11} {find:>10} {fewer:>8} {shortest:>8} {length:>6} {seconds:>8} \
             {ours:>8} {slower:>7}  {guide:7} {remark}"
        )
    }
}

/// The means of one half.
#[derive(Clone, Debug, Serialize)]
struct Means {
    half: Half,
    families: usize,
    /// Of questions with an error: states of breadth-first search over those of `--find`.
    fewer_states: Option<Spread>,
    /// The same over the geometric means of the families.
    fewer_states_by_family: Option<Spread>,
    /// Length of the trace over that of a shortest one.
    longer_traces: Option<Spread>,
    /// Processor time of `--find` over breadth-first search's, where there is an error.
    slower: Option<Spread>,
    /// The same where it visits no fewer states, be there an error or not.
    slower_without_help: Option<Spread>,
    /// The same where nothing is wrong.
    slower_where_all_holds: Option<Spread>,
    /// Questions where nothing is wrong, and how many of them were proved with fewer states.
    holding: usize,
    proved_with_fewer: usize,
}

impl Means {
    fn of(half: Half, rows: &[&Asked]) -> Self {
        let with = |truth: Truth| rows.iter().copied().filter(move |row| row.question.truth == truth);
        let mut families: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for row in with(Truth::Error) {
            families.entry(row.question.family()).or_default().push(row.fewer());
        }
        let means = families.values().filter_map(|ratios| Spread::of(ratios.iter().copied()));
        Means {
            half,
            families: families.len(),
            fewer_states: Spread::of(with(Truth::Error).map(Asked::fewer)),
            fewer_states_by_family: Spread::of(means.map(|spread| spread.geometric_mean)),
            longer_traces: Spread::of(with(Truth::Error).map(Asked::longer)),
            slower: Spread::of(with(Truth::Error).map(Asked::slower)),
            slower_without_help: Spread::of(rows.iter().filter(|row| !row.helps()).map(|row| row.slower())),
            slower_where_all_holds: Spread::of(with(Truth::Holds).map(Asked::slower)),
            holding: with(Truth::Holds).count(),
            proved_with_fewer: with(Truth::Holds).filter(|row| row.helps()).count(),
        }
    }

    fn text(&self) -> String {
        let told = [
            ("states, breadth-first over --find", self.fewer_states),
            ("the same over means of families", self.fewer_states_by_family),
            ("trace length over the shortest", self.longer_traces),
            ("time, --find over breadth-first", self.slower),
            ("the same where it does not help", self.slower_without_help),
            ("the same where nothing is wrong", self.slower_where_all_holds),
        ];
        let mut text = format!(
            "\n{} half, {} families with errors; {} of {} questions without one proved with fewer states",
            self.half.name(),
            self.families,
            self.proved_with_fewer,
            self.holding
        );
        for (what, spread) in told {
            if let Some(spread) = spread {
                text.push_str(&format!("\n  {what}: {spread}"));
            }
        }
        text
    }
}

/// Everything.
#[derive(Debug, Serialize)]
pub(super) struct FindReport {
    hadal: &'static str,
    pub(super) rows: Vec<Asked>,
    means: Vec<Means>,
}

impl FindReport {
    pub(super) fn new() -> Self {
        FindReport { hadal: env!("CARGO_PKG_VERSION"), rows: Vec::new(), means: Vec::new() }
    }

    /// Computes the means, of questions that both ways answer.
    pub(super) fn sum_up(&mut self) {
        let halves = [Half::Tuning, Half::HeldOut].map(|half| {
            let is_in = |row: &&Asked| row.question.half() == half && row.remark.is_none();
            (half, self.rows.iter().filter(is_in).collect::<Vec<_>>())
        });
        self.means = (halves.iter().filter(|(_, rows)| !rows.is_empty()))
            .map(|(half, rows)| Means::of(*half, rows))
            .collect();
    }

    pub(super) fn is_wrong(&self) -> bool {
        self.rows.iter().any(|row| row.wrong)
    }

    pub(super) fn summary(&self) -> String {
        let mut text: String = self.means.iter().map(Means::text).collect();
        let open = self.rows.iter().filter(|row| row.remark.is_some()).count();
        text.push_str(&format!(
            "\n{open} of {} questions without an answer by one of the two",
            self.rows.len()
        ));
        text
    }

    pub(super) fn page(&self) -> String {
        let heads = [
            "half",
            "question",
            "breadth-first",
            "find",
            "fewer",
            "shortest",
            "length",
            "seconds",
            "find",
            "slower",
            "guide",
            "",
        ];
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().into()).collect();
        [
            html::begin(
                SUITE,
                "States that --find visits on public questions, against breadth-first search.",
            ),
            html::table("Questions", &heads, &rows),
            html::END.to_owned(),
        ]
        .concat()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(truth: Truth, states: (u64, u64), lengths: (u64, u64)) -> Asked {
        let searched = |states, length, seconds| {
            let length = (truth == Truth::Error).then_some(length);
            Searched { states, length, seconds, guide: None }
        };
        Asked {
            question: Question { model: "dve/adding/adding.1.dve", property: None, truth },
            breadth: searched(states.0, lengths.0, 1.0),
            find: searched(states.1, lengths.1, 1.5),
            remark: None,
            wrong: false,
        }
    }

    #[test]
    fn means_are_over_errors_and_costs_over_what_was_not_helped() {
        let rows = [
            asked(Truth::Error, (4000, 10), (8, 12)),
            asked(Truth::Error, (100, 100), (8, 8)),
            asked(Truth::Holds, (100, 1), (0, 0)),
        ];
        let means = Means::of(Half::Tuning, &rows.iter().collect::<Vec<_>>());
        let mean = |spread: Option<Spread>| spread.map(|it| (it.geometric_mean * 1000.0).round());
        assert_eq!(mean(means.fewer_states), Some(20_000.0));
        assert_eq!(mean(means.fewer_states_by_family), Some(20_000.0));
        assert_eq!(mean(means.longer_traces), Some(1225.0));
        assert_eq!(means.slower_without_help.map(|it| it.count), Some(1));
        assert_eq!((means.holding, means.proved_with_fewer), (1, 1));
    }
}
