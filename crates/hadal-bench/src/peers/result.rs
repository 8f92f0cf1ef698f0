//! What `hadal bench peers` found, and how it is told. Fields are only added, never renamed.

use super::spin::SpinFigures;
use crate::args::{BenchArgs, Clock};
use crate::result::{BenchReport, OurResult, problem};
use crate::statistics::Spread;
use crate::suite::Case;
use hadal_check::units::{decimal, grouped};
use serde::{Serialize, Serializer};

/// The bars: transitions per second over SPIN's, and bytes per state over SPIN's, in the geometric mean.
const SPEED_BAR: f64 = 3.0;
const MEMORY_BAR: f64 = 0.5;

/// A whole run.
#[derive(Debug, Serialize)]
pub struct PeersReport {
    /// Version of hadal.
    pub hadal: &'static str,
    /// Version of SPIN, where it is there.
    pub spin: Option<String>,
    /// How often each was run; the best counts.
    pub repeat: u16,
    /// The clock behind the rates: `wall` or `cpu`.
    pub clock: &'static str,
    /// What may not be compared.
    pub caution: &'static str,
    /// One for each twin.
    pub pairs: Vec<Pair>,
    /// Murphi models against Rumur.
    pub murphi: Option<BenchReport>,
}

/// A DVE model and its Promela twin.
#[derive(Debug, Serialize)]
pub struct Pair {
    /// How people call it.
    pub name: String,
    /// Model and what is expected.
    pub case: Case,
    /// What is wrong with our counts, if anything.
    pub problem: Option<String>,
    /// hadal on the original.
    pub ours: OurResult,
    /// The clock behind the rates.
    #[serde(skip)]
    pub clock: Clock,
    /// SPIN on the twin, every transition.
    #[serde(serialize_with = "outcome")]
    pub spin: Option<Result<SpinFigures, String>>,
    /// SPIN on the twin, with partial-order reduction.
    #[serde(serialize_with = "outcome")]
    pub spin_reduced: Option<Result<SpinFigures, String>>,
}

fn outcome<S: Serializer>(
    outcome: &Option<Result<SpinFigures, String>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    match outcome {
        None => serializer.serialize_none(),
        Some(Ok(figures)) => figures.serialize(serializer),
        Some(Err(reason)) => serializer.serialize_str(reason),
    }
}

impl Pair {
    /// Holds our counts against the table.
    pub fn new(
        case: &Case,
        clock: Clock,
        ours: OurResult,
        spin: Option<Result<SpinFigures, String>>,
        spin_reduced: Option<Result<SpinFigures, String>>,
    ) -> Self {
        let problem = problem(case, &ours);
        Pair { name: case.name(), case: case.clone(), problem, ours, clock, spin, spin_reduced }
    }

    /// Our transitions per second.
    pub fn rate(&self) -> f64 {
        self.ours.figures.transition_rate(self.clock)
    }

    fn full(&self) -> Option<&SpinFigures> {
        self.spin.as_ref()?.as_ref().ok().filter(|_| self.problem.is_none())
    }

    fn reduced(&self) -> Option<&SpinFigures> {
        self.spin_reduced.as_ref()?.as_ref().ok().filter(|_| self.problem.is_none())
    }

    /// Our transitions per second over SPIN's, all transitions.
    pub fn speed(&self) -> Option<f64> {
        Some(self.rate() / self.full()?.rate(self.clock))
    }

    /// Our transitions per second over SPIN's with reduction.
    pub fn speed_reduced(&self) -> Option<f64> {
        Some(self.rate() / self.reduced()?.rate(self.clock))
    }

    /// Our resident bytes per state over SPIN's for states and hash table. Its stack is left out: we choose its size.
    pub fn memory(&self) -> Option<f64> {
        Some(self.ours.figures.bytes_per_state() / self.full()?.bytes_per_state())
    }

    /// Our resident bytes per state over SPIN's memory for states alone, without hash table and stack.
    pub fn memory_for_states(&self) -> Option<f64> {
        let spin = self.full()?;
        Some(self.ours.figures.bytes_per_state() / (spin.state_bytes / spin.states.max(1) as f64))
    }

    /// One line.
    pub fn text(&self) -> String {
        let ours = &self.ours.figures;
        let mut line = format!(
            "{:26} {:>10} {:>11} {:>8} {:>7} |",
            self.name,
            grouped(ours.states),
            grouped(ours.transitions),
            decimal(self.rate() / 1e3),
            decimal(ours.bytes_per_state())
        );
        match &self.spin {
            None => {}
            Some(Err(reason)) => line.push_str(&format!(" SPIN: {reason}")),
            Some(Ok(spin)) => line.push_str(&format!(
                " {:>10} {:>11} {:>7} {:>7} {:>7} | {:>6} {:>6} {:>6}",
                grouped(spin.states),
                grouped(spin.transitions),
                decimal(spin.rate(self.clock) / 1e3),
                decimal(spin.bytes_per_state()),
                decimal(spin.state_bytes / spin.states.max(1) as f64),
                decimal(self.speed()),
                decimal(self.memory()),
                decimal(self.memory_for_states()),
            )),
        }
        match &self.spin_reduced {
            None => {}
            Some(Err(reason)) => line.push_str(&format!(" | reduced: {reason}")),
            Some(Ok(spin)) => line.push_str(&format!(
                " | {:>10} {:>7} {:>6}",
                grouped(spin.states),
                decimal(spin.rate(self.clock) / 1e3),
                decimal(self.speed_reduced())
            )),
        }
        if let Some(problem) = &self.problem {
            line.push_str(&format!("\n  WRONG: {problem}"));
        }
        line
    }
}

/// The lines above the pairs.
pub fn heading(report: &PeersReport) -> String {
    format!(
        "peers, one thread, best of {}, {} clock, hadal {} (whole process), {} (verifier only, without translation and C compiler)\n{}\n\
         {:26} {:>10} {:>11} {:>8} {:>7} | {:>10} {:>11} {:>7} {:>7} {:>7} | {:>6} {:>6} {:>6} | {:>10} {:>7} {:>6}",
        report.repeat,
        report.clock,
        report.hadal,
        report.spin.as_deref().unwrap_or("no SPIN"),
        report.caution,
        "model",
        "states",
        "transitions",
        "ktr/s",
        "B/state",
        "SPIN st.",
        "SPIN tr.",
        "ktr/s",
        "B/state",
        "alone",
        "speed",
        "memory",
        "alone",
        "reduced",
        "ktr/s",
        "speed"
    )
}

impl PeersReport {
    /// A report without rows.
    pub fn new(args: &BenchArgs, spin: Option<String>) -> Self {
        PeersReport {
            hadal: env!("CARGO_PKG_VERSION"),
            spin,
            repeat: args.repeat,
            clock: args.clock.name(),
            caution: "the Promela twins are translations: their graphs are similar to the originals', not equal. Compare \
                      transitions per second and bytes per state, nothing else",
            pairs: Vec::new(),
            murphi: None,
        }
    }

    /// Whether one of our counts is wrong.
    pub fn has_problem(&self) -> bool {
        self.pairs.iter().any(|pair| pair.problem.is_some())
            || self.murphi.as_ref().is_some_and(|murphi| !murphi.all_counts_met())
    }

    /// Our transitions per second over SPIN's.
    pub fn speed(&self) -> Option<Spread> {
        Spread::of(self.pairs.iter().filter_map(Pair::speed))
    }

    /// Our bytes per state over SPIN's.
    pub fn memory(&self) -> Option<Spread> {
        Spread::of(self.pairs.iter().filter_map(Pair::memory))
    }

    /// The lines below the pairs.
    pub fn summary(&self) -> String {
        let line = |what: &str, spread: Option<Spread>, met: Option<bool>| {
            let spread = spread?;
            let met = met.map_or("", |met| if met { ": met" } else { ": missed" });
            Some(format!("{what}: {spread}{met}"))
        };
        let (speed, memory) = (self.speed(), self.memory());
        let lines = [
            line(
                "transitions per second over SPIN's (at least 3x)",
                speed,
                speed.map(|speed| speed.geometric_mean >= SPEED_BAR),
            ),
            line(
                "bytes per state over SPIN's (at most 0.5x)",
                memory,
                memory.map(|memory| memory.geometric_mean <= MEMORY_BAR),
            ),
            line(
                "bytes per state over SPIN's states alone, without its hash table and stack",
                Spread::of(self.pairs.iter().filter_map(Pair::memory_for_states)),
                None,
            ),
            line(
                "transitions per second over SPIN's with partial-order reduction",
                Spread::of(self.pairs.iter().filter_map(Pair::speed_reduced)),
                None,
            ),
        ];
        let mut lines: Vec<String> = lines.into_iter().flatten().collect();
        let wrong = self.pairs.iter().filter(|pair| pair.problem.is_some()).count();
        lines.push(match wrong {
            0 => format!("all {} models have the counts of the table", self.pairs.len()),
            _ => format!("{wrong} of {} models do NOT have the counts of the table", self.pairs.len()),
        });
        lines.join("\n")
    }
}
