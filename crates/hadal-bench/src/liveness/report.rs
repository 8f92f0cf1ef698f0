//! What the suite measured: a line for each question, and the ratios over all of them.

use super::spin::Beside;
use crate::html;
use crate::statistics::Spread;
use hadal_check::units::{counted, decimal, per_second, span};
use serde::Serialize;
use std::fmt::{self, Display};

/// No time is shorter than this: a ratio of shorter ones is one of clock ticks.
const TICK: f64 = 1e-3;

/// What hadal said, and a peer beside it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Row {
    pub part: String,
    pub model: String,
    pub flags: String,
    pub verdict: String,
    pub states: u64,
    pub trace: Option<u64>,
    pub loop_length: Option<u64>,
    #[serde(flatten)]
    pub taken: Taken,
    /// The pass for accepted cycles over the exploration.
    pub pass: Option<f64>,
    /// The same question without reduction.
    pub whole: Option<Whole>,
    pub peer: Option<Beside>,
    /// What contradicts the table.
    pub wrong: Option<String>,
}

/// What a search took.
#[derive(Clone, Copy, Debug, Serialize)]
pub(super) struct Taken {
    pub cpu_seconds: f64,
    pub startup_cpu_seconds: f64,
    /// A packed state.
    pub packed_bytes: u64,
    /// Resident memory beyond that of a search of one state, over states; of graphs.
    pub bytes_per_state: Option<f64>,
}

/// What a search without reduction took.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Whole {
    pub states: u64,
    pub cpu_seconds: f64,
}

impl Row {
    /// Processor time of the search alone.
    fn search_seconds(&self) -> f64 {
        (self.taken.cpu_seconds - self.taken.startup_cpu_seconds).max(TICK)
    }

    /// SPIN's search of the same graph.
    fn equal(&self) -> Option<&Beside> {
        self.peer.as_ref().filter(|peer| self.part == "graph" && peer.states == self.states)
    }

    fn rate(&self) -> Option<f64> {
        Some(self.equal()?.cpu_seconds.max(TICK) / self.search_seconds())
    }

    fn packed(&self) -> Option<f64> {
        Some(self.taken.packed_bytes as f64 / self.equal()?.state_bytes)
    }

    fn resident(&self) -> Option<f64> {
        let peer = self.equal()?;
        Some(self.taken.bytes_per_state? / (peer.state_bytes + peer.slot_bytes))
    }

    fn startup(&self) -> Option<f64> {
        Some(self.taken.startup_cpu_seconds / self.equal()?.build_cpu_seconds.max(TICK))
    }

    /// The whole run over SPIN's search, where both say that the claim holds.
    fn claim(&self) -> Option<f64> {
        let peer = self.peer.as_ref().filter(|peer| self.part == "claim" && peer.depth.is_none())?;
        (self.verdict == "holds").then(|| self.taken.cpu_seconds / peer.cpu_seconds.max(TICK))
    }

    /// The same with what SPIN takes to make its verifier.
    fn claim_with_build(&self) -> Option<f64> {
        let peer = self.peer.as_ref()?;
        self.claim().map(|_| self.taken.cpu_seconds / (peer.cpu_seconds + peer.build_cpu_seconds).max(TICK))
    }

    fn reduced(&self) -> Option<f64> {
        let peer = self.peer.as_ref().filter(|_| self.part == "reduced" && self.verdict == "holds")?;
        Some(self.states as f64 / peer.states.max(1) as f64)
    }

    /// Processor time with reduction over that without.
    fn saving(&self) -> Option<f64> {
        Some(self.taken.cpu_seconds.max(TICK) / self.whole.as_ref()?.cpu_seconds.max(TICK))
    }
}

impl Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Row { part, model, flags, verdict, states, .. } = self;
        let states = counted(*states, "state");
        write!(f, "{part}: {model} {flags}: {verdict}, {states}")?;
        match (self.trace, self.loop_length) {
            (Some(trace), Some(around)) => write!(f, ", {}+{around} steps", trace - around.min(trace))?,
            (Some(trace), None) => write!(f, ", {}", counted(trace, "step"))?,
            _ => {}
        }
        write!(f, "; {}", span(self.taken.cpu_seconds))?;
        if let Some(whole) = &self.whole {
            let states = counted(whole.states, "state");
            write!(f, "; without reduction {states}, {}", span(whole.cpu_seconds))?;
        }
        if let Some(peer) = &self.peer {
            write!(f, "; SPIN {}, {}", counted(peer.states, "state"), span(peer.cpu_seconds))?;
            if let Some(depth) = peer.depth {
                write!(f, ", error at depth {depth}")?;
            }
        }
        if let Some(peer) = self.equal() {
            let own = per_second(self.states, self.search_seconds());
            let theirs = per_second(peer.states, peer.cpu_seconds.max(TICK));
            write!(f, "; search alone: {own}, SPIN {theirs}")?;
            let (packed, state) = (self.taken.packed_bytes, peer.state_bytes);
            let resident = self.taken.bytes_per_state.map_or("not measured".into(), decimal);
            write!(f, "; {packed} bytes per state (resident {resident}), SPIN {}", decimal(state))?;
            let (own, theirs) = (span(self.taken.startup_cpu_seconds), span(peer.build_cpu_seconds));
            write!(f, "; start-up {own}, SPIN {theirs}")?;
        }
        let ratios = [
            ("speed", self.rate()),
            ("packed bytes", self.packed()),
            ("resident bytes", self.resident()),
            ("start-up", self.startup()),
            ("time", self.claim()),
            ("states", self.reduced()),
            ("time of the whole search", self.saving()),
            ("pass over exploration", self.pass),
        ];
        let shown: Vec<String> = (ratios.iter())
            .filter_map(|(name, ratio)| ratio.map(|ratio| format!("{name} {}x", decimal(ratio))))
            .collect();
        if !shown.is_empty() {
            write!(f, " [{}]", shown.join(", "))?;
        }
        self.wrong.as_ref().map_or(Ok(()), |wrong| write!(f, "  WRONG: {wrong}"))
    }
}

/// All rows and the ratios that the bars are about.
#[derive(Debug, Serialize)]
pub(super) struct LivenessReport {
    pub peer: Option<String>,
    pub rows: Vec<Row>,
    pub ratios: Vec<Ratio>,
}

/// A ratio over the rows that have it.
#[derive(Debug, Serialize)]
pub(super) struct Ratio {
    pub name: &'static str,
    pub spread: Spread,
}

/// What a ratio is of a row that has it.
type OfRow = fn(&Row) -> Option<f64>;

/// The ratios by name.
const RATIOS: [(&str, OfRow); 9] = [
    ("states per second over SPIN's, equal graphs", Row::rate),
    ("packed state over SPIN's states, equal graphs", Row::packed),
    ("resident bytes per state over SPIN's states and a slot each, equal graphs", Row::resident),
    ("start-up over spin -a and gcc -O2", Row::startup),
    ("claims that hold: processor time over SPIN's verifier", Row::claim),
    ("claims that hold: processor time over SPIN's, with spin -a and gcc", Row::claim_with_build),
    ("reduced by partial order: states over SPIN's", Row::reduced),
    ("reduced by partial order: processor time over the whole search's", Row::saving),
    ("pass for accepted cycles over exploration", |row| row.pass),
];

impl LivenessReport {
    pub fn of(peer: Option<String>, rows: Vec<Row>) -> Self {
        let ratios = (RATIOS.iter())
            .filter_map(|(name, of)| Some(Ratio { name, spread: Spread::of(rows.iter().filter_map(of))? }))
            .collect();
        LivenessReport { peer, rows, ratios }
    }

    pub fn summary(&self) -> String {
        let lines = self.ratios.iter().map(|ratio| format!("{}: {}", ratio.name, ratio.spread));
        let count = |verdict: &str| {
            self.rows.iter().filter(|row| row.part == "product" && row.verdict == verdict).count()
        };
        let products = self.rows.iter().filter(|row| row.part == "product").count();
        let (violated, hold) = (count("violated"), count("holds"));
        let answers = format!("products: {products}, of which {violated} violated, {hold} hold");
        let wrong = self.rows.iter().filter(|row| row.wrong.is_some()).count();
        let ends = format!("{} rows, {wrong} contradict what is known", self.rows.len());
        let answers = (products > 0).then_some(answers);
        lines.chain(answers).chain([ends]).collect::<Vec<_>>().join("\n")
    }

    pub fn page(&self) -> String {
        let mut page = html::begin("liveness", &self.summary());
        page.push_str("<pre>");
        for row in &self.rows {
            page.push_str(&html::escape(&row.to_string()));
            page.push('\n');
        }
        page.push_str("</pre></body></html>\n");
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(part: &str, states: u64, seconds: f64) -> Row {
        Row {
            part: part.into(),
            model: "m".into(),
            flags: String::new(),
            verdict: "holds".into(),
            states,
            trace: None,
            loop_length: None,
            taken: Taken {
                cpu_seconds: seconds,
                startup_cpu_seconds: 1.0,
                packed_bytes: 10,
                bytes_per_state: Some(30.0),
            },
            pass: None,
            whole: None,
            peer: Some(Beside {
                states: 100,
                cpu_seconds: 6.0,
                build_cpu_seconds: 4.0,
                state_bytes: 20.0,
                slot_bytes: 10.0,
                depth: None,
            }),
            wrong: None,
        }
    }

    #[test]
    fn equal_graphs_compare_searches_bytes_and_start_up() {
        let equal = row("graph", 100, 3.0);
        assert_eq!(equal.rate(), Some(3.0));
        assert_eq!((equal.packed(), equal.resident(), equal.startup()), (Some(0.5), Some(1.0), Some(0.25)));
        let other = row("graph", 99, 3.0);
        assert_eq!((other.rate(), other.packed(), other.startup()), (None, None, None));
    }

    #[test]
    fn claims_compare_whole_runs_if_both_hold() {
        let mut claim = row("claim", 7, 3.0);
        assert_eq!((claim.claim(), claim.claim_with_build()), (Some(0.5), Some(0.3)));
        claim.verdict = "violated".into();
        assert_eq!((claim.claim(), claim.claim_with_build()), (None, None));
    }

    #[test]
    fn a_line_and_the_summary_name_what_was_compared() {
        let mut reduced = row("reduced", 50, 3.0);
        reduced.whole = Some(Whole { states: 1000, cpu_seconds: 2.0 });
        let line = reduced.to_string();
        assert!(line.contains("without reduction 1000 states") && line.contains("states 0.50x"), "{line}");
        assert!(line.contains("time of the whole search 1.50x"), "{line}");
        let report = LivenessReport::of(None, vec![reduced]);
        let names: Vec<&str> = report.ratios.iter().map(|ratio| ratio.name).collect();
        assert_eq!(names.len(), 2, "{names:?}");
        assert!(report.summary().ends_with("1 rows, 0 contradict what is known"));
    }
}
