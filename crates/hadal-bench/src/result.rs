//! What a suite's run found, as the table, the page and the JSON show it. Fields are only added, never renamed.

use super::statistics::Spread;
use super::suite::Case;
use crate::args::{BenchArgs, Clock};
use serde::Serialize;

/// A whole run of a suite.
#[derive(Debug, Serialize)]
pub struct BenchReport {
    /// Which suite.
    pub suite: String,
    /// Threads of hadal and of its peers.
    pub threads: u16,
    /// How often each was run; the best counts.
    pub repeat: u16,
    /// The clock behind rates and ratios: `wall` or `cpu`.
    #[serde(serialize_with = "clock_name")]
    pub clock: Clock,
    /// Version of hadal.
    pub hadal: &'static str,
    /// Whether this hadal was built for speed.
    pub optimised: bool,
    /// Version of the peer, where there is one.
    pub rumur: Option<String>,
    /// One row per case.
    pub rows: Vec<CaseResult>,
}

impl BenchReport {
    /// A report without rows.
    pub fn new(args: &BenchArgs, rumur: Option<String>) -> Self {
        BenchReport {
            suite: args.suite.clone(),
            threads: args.threads,
            repeat: args.repeat,
            clock: args.clock,
            hadal: env!("CARGO_PKG_VERSION"),
            optimised: !cfg!(debug_assertions),
            rumur,
            rows: Vec::new(),
        }
    }

    /// Whether every count is what the table says.
    pub fn all_counts_met(&self) -> bool {
        self.rows.iter().all(|row| row.problem.is_none())
    }

    /// Our rate over the peer's, over all rows that both finished.
    pub fn speed(&self) -> Option<Spread> {
        Spread::of(self.rows.iter().filter_map(|row| row.speed_ratio(self.clock)))
    }

    /// Our peak memory over the peer's, over all rows that both finished.
    pub fn memory(&self) -> Option<Spread> {
        Spread::of(self.rows.iter().filter_map(CaseResult::memory_ratio))
    }

    /// From model to verdict, the peer's translation and C compiler included: its time over ours.
    pub fn whole_run(&self) -> Option<Spread> {
        Spread::of(self.rows.iter().filter_map(CaseResult::whole_ratio))
    }
}

fn clock_name<S: serde::Serializer>(clock: &Clock, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(clock.name())
}

/// A complete exploration and what it took.
#[derive(Clone, Debug, Serialize)]
pub struct Figures {
    /// Distinct states.
    pub states: u64,
    /// Transitions fired.
    pub transitions: u64,
    /// Wall clock of the process that explores.
    pub wall_seconds: f64,
    /// Processor time of the process that explores.
    pub cpu_seconds: f64,
    /// Peak resident memory of the process.
    pub peak_bytes: u64,
}

impl Figures {
    /// How long it took by this clock; never zero.
    pub fn seconds(&self, clock: Clock) -> f64 {
        match clock {
            Clock::Wall => self.wall_seconds,
            Clock::Cpu => self.cpu_seconds,
        }
        .max(1e-4)
    }

    /// Transitions per second.
    pub fn transition_rate(&self, clock: Clock) -> f64 {
        self.transitions as f64 / self.seconds(clock)
    }

    /// States per second.
    pub fn state_rate(&self, clock: Clock) -> f64 {
        self.states as f64 / self.seconds(clock)
    }

    /// Peak memory over states.
    pub fn bytes_per_state(&self) -> f64 {
        self.peak_bytes as f64 / self.states.max(1) as f64
    }
}

/// hadal's part of a row.
#[derive(Clone, Debug, Serialize)]
pub struct OurResult {
    /// `holds`, `violated`, `stopped`, or `failed` where there is no verdict.
    pub verdict: String,
    /// Why, where the verdict is not `holds`.
    pub reason: Option<String>,
    /// Counts and costs of the exploration.
    #[serde(flatten)]
    pub figures: Figures,
    /// Wall clock of reading, checking and compiling the model, which is part of the whole.
    pub startup_seconds: f64,
    /// Bits of a packed state.
    pub state_bits: u64,
    /// How symmetry was used in the end.
    pub symmetry_used: String,
}

impl OurResult {
    /// The faster of two runs.
    pub fn better(self, other: Self, clock: Clock) -> Self {
        if other.verdict == "holds" && other.figures.seconds(clock) >= self.figures.seconds(clock) {
            self
        } else {
            other
        }
    }
}

/// A peer's part of a row.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum PeerResult {
    /// It explored the model to the end.
    Finished {
        /// Counts and costs of the run, without translation and C compiler.
        #[serde(flatten)]
        figures: Figures,
        /// Processor time of translation and C compiler.
        build_cpu_seconds: f64,
    },
    /// It does not take the model, or found something to object to.
    Refused {
        /// Its first words.
        reason: String,
    },
    /// It was still busy at the limit.
    Late {
        /// The limit.
        seconds: f64,
    },
}

impl PeerResult {
    /// The faster of two runs.
    pub fn better(self, other: Self, clock: Clock) -> Self {
        match (self.figures(), other.figures()) {
            (Some(a), Some(b)) if b.seconds(clock) < a.seconds(clock) => other,
            (None, Some(_)) => other,
            _ => self,
        }
    }

    /// Counts and costs, where it finished.
    pub fn figures(&self) -> Option<&Figures> {
        match self {
            PeerResult::Finished { figures, .. } => Some(figures),
            _ => None,
        }
    }
}

/// One row.
#[derive(Debug, Serialize)]
pub struct CaseResult {
    /// How people call it.
    pub name: String,
    /// Model, constants and what is expected.
    pub case: Case,
    /// What is wrong with our counts, if anything.
    pub problem: Option<String>,
    /// hadal.
    pub ours: OurResult,
    /// The peer, where it was run.
    pub peer: Option<PeerResult>,
}

impl CaseResult {
    /// Holds our counts against the table.
    pub fn new(case: &Case, ours: OurResult, peer: Option<PeerResult>) -> Self {
        let problem = problem(case, &ours);
        CaseResult { name: case.name(), case: case.clone(), problem, ours, peer }
    }

    fn finished_peer(&self) -> Option<&Figures> {
        self.peer.as_ref().and_then(PeerResult::figures).filter(|_| self.problem.is_none())
    }

    /// Our transitions per second over the peer's.
    pub fn speed_ratio(&self, clock: Clock) -> Option<f64> {
        let peer = self.finished_peer()?;
        Some(self.ours.figures.transition_rate(clock) / peer.transition_rate(clock))
    }

    /// Our peak memory over the peer's.
    pub fn memory_ratio(&self) -> Option<f64> {
        let peer = self.finished_peer()?;
        Some(self.ours.figures.peak_bytes as f64 / peer.peak_bytes.max(1) as f64)
    }

    /// The peer's processor time over ours, both from the model's text to the verdict.
    pub fn whole_ratio(&self) -> Option<f64> {
        let ours = self.ours.figures.cpu_seconds;
        match &self.peer {
            Some(PeerResult::Finished { figures, build_cpu_seconds }) if self.problem.is_none() => {
                Some((figures.cpu_seconds + build_cpu_seconds) / ours.max(1e-3))
            }
            _ => None,
        }
    }

    /// Whether the peer saw another graph (its heuristic symmetry may) though both should have seen the same.
    pub fn peer_disagrees(&self) -> bool {
        self.case.symmetry != "heuristic"
            && self.finished_peer().is_some_and(|peer| {
                (peer.states, peer.transitions) != (self.ours.figures.states, self.ours.figures.transitions)
            })
    }
}

/// What is wrong with our counts, if anything.
pub fn problem(case: &Case, ours: &OurResult) -> Option<String> {
    if ours.verdict != "holds" {
        let reason = ours.reason.as_deref().unwrap_or("for no reason given");
        return Some(format!("{}: {reason}", ours.verdict));
    }
    if ours.figures.states != case.states {
        return Some(format!("{} states where there are {}", ours.figures.states, case.states));
    }
    match case.transitions {
        Some(expected) if expected != ours.figures.transitions => {
            Some(format!("{} transitions where there are {expected}", ours.figures.transitions))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case() -> Case {
        Case {
            model: "a.m".into(),
            constants: Vec::new(),
            symmetry: "off".into(),
            deadlock: "on".into(),
            peers: true,
            states: 10,
            transitions: Some(30),
            source: String::new(),
        }
    }

    fn figures(states: u64, transitions: u64, cpu_seconds: f64, peak_bytes: u64) -> Figures {
        Figures { states, transitions, wall_seconds: 2.0 * cpu_seconds, cpu_seconds, peak_bytes }
    }

    fn ours(figures: Figures) -> OurResult {
        OurResult {
            verdict: "holds".into(),
            reason: None,
            figures,
            startup_seconds: 0.0,
            state_bits: 8,
            symmetry_used: "off".into(),
        }
    }

    fn finished(figures: Figures) -> Option<PeerResult> {
        Some(PeerResult::Finished { figures, build_cpu_seconds: 2.0 })
    }

    #[test]
    fn ratios_say_how_much_faster_and_smaller_we_are() {
        let row =
            CaseResult::new(&case(), ours(figures(10, 30, 1.0, 100)), finished(figures(10, 30, 4.0, 400)));
        assert_eq!(row.problem, None);
        assert_eq!(row.speed_ratio(Clock::Cpu), Some(4.0));
        assert_eq!(row.memory_ratio(), Some(0.25));
        assert_eq!(row.whole_ratio(), Some(6.0));
        assert!(!row.peer_disagrees());
    }

    #[test]
    fn a_wrong_count_is_a_problem_and_gives_no_ratio() {
        let row =
            CaseResult::new(&case(), ours(figures(10, 31, 1.0, 100)), finished(figures(10, 30, 4.0, 400)));
        assert_eq!(row.problem.as_deref(), Some("31 transitions where there are 30"));
        assert_eq!(row.speed_ratio(Clock::Cpu), None);
        let row = CaseResult::new(&case(), ours(figures(9, 30, 1.0, 100)), None);
        assert_eq!(row.problem.as_deref(), Some("9 states where there are 10"));
    }

    #[test]
    fn the_best_of_several_runs_counts() {
        let slow = ours(figures(10, 30, 3.0, 100));
        let fast = ours(figures(10, 30, 1.0, 100));
        assert_eq!(slow.clone().better(fast.clone(), Clock::Cpu).figures.cpu_seconds, 1.0);
        assert_eq!(fast.better(slow.clone(), Clock::Cpu).figures.cpu_seconds, 1.0);
        let failed = OurResult { verdict: "failed".into(), ..slow.clone() };
        assert_eq!(slow.better(failed, Clock::Cpu).verdict, "failed");
    }
}
