//! The result of `check` as people and programs read it. `docs/json.md` describes the JSON.

use crate::trace::TraceView;
use hadal_check::units::{grouped, size};
use hadal_check::{Answer, Coverage};
use hadal_search::Buckets;
use hadal_search::directed::DirectedFigures;
use hadal_search::partition::PartitionFigures;
use hadal_search::{Proviso, Report, StopReason, Verdict};
use hadal_store::vfs::ReadCost;
use serde::Serialize;

/// One result. Fields are only added, never renamed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// `holds`, `violated` or `stopped`.
    pub verdict: &'static str,
    /// Why, in one sentence.
    pub reason: String,
    /// The property that decided, if one did.
    pub property: Option<String>,
    /// Distinct states, after symmetry.
    pub states: u64,
    /// Transitions fired.
    pub transitions: u64,
    /// Discrete parts of zones: locations and variables without clocks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub discrete: Option<u64>,
    /// Zones that no other covers.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub maximal: Option<u64>,
    /// The earliest time at which the goal is reached.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub fastest: Option<String>,
    /// The longest shortest distance, where the strategy knows it.
    pub depth: Option<u64>,
    /// Steps of the trace, the initial state not counted.
    pub trace_length: Option<u64>,
    /// What the trace costs, where actions have costs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost: Option<u64>,
    /// How many of them repeat for ever, where the trace is a run that does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_length: Option<u64>,
    /// Where such a trace is a shortest one: among which.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shortest_among: Option<&'static str>,
    /// What is asked about infinite runs, one by one, with the figures of each product.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<AnswerFigures>,
    /// Wall-clock seconds from start to verdict.
    pub seconds: f64,
    /// Seconds of it spent before the search: reading, checking, compiling.
    pub startup_seconds: f64,
    /// Processor seconds of all threads from start to verdict, user and system.
    pub cpu_seconds: f64,
    /// Processor seconds of it spent before the search.
    pub startup_cpu_seconds: f64,
    /// The most memory the process had resident during the search.
    pub peak_memory_bytes: u64,
    /// The most memory it had resident before: reading, checking and compiling the model.
    pub startup_peak_memory_bytes: u64,
    /// The most memory held under the budget.
    pub peak_budget_bytes: u64,
    /// The budget.
    pub memory_budget_bytes: u64,
    /// Bytes of states on disk at the end.
    pub disk_bytes: u64,
    /// Bytes read from disk.
    pub disk_bytes_read: u64,
    /// Bytes written to disk.
    pub disk_bytes_written: u64,
    /// How states were stored, in order.
    pub storage: Vec<StorageFigures>,
    /// What was used.
    pub strategy: &'static str,
    /// How symmetry was used.
    pub symmetry: &'static str,
    /// What left states out of the search: the counts are those of the reduced space.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reductions: Vec<String>,
    /// What the reductions asked for left out, or why nothing.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reduction_notes: Vec<String>,
    /// Threads.
    pub threads: usize,
    /// The run folder, where there is one.
    pub run: Option<String>,
    /// Bits and words of a packed state.
    pub state_bits: u32,
    /// Bytes of a packed state in RAM.
    pub state_bytes: u64,
    /// Breadth-first layers: states and transitions of each.
    pub layers: Vec<LayerFigures>,
    /// What was told while the search ran.
    pub warnings: Vec<String>,
    /// What was asked, with the answers, and what never happened.
    #[serde(flatten)]
    pub coverage: Coverage,
    /// How often each cover property was met.
    pub covers: Vec<CoverFigures>,
    /// How often each action fired, all its instances together.
    pub actions: Vec<hadal_search::ActionFirings>,
    /// What reading from disk costs, for `--explain`.
    #[serde(skip)]
    pub read_cost: Option<ReadCost>,
    /// The buckets of `--strategy hash`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub buckets: Option<Buckets>,
    /// Figures of `--strategy part`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<PartitionFigures>,
    /// Figures of a directed search.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directed: Option<DirectedFigures>,
    /// What was decided before the search, for `--explain`.
    #[serde(skip)]
    pub decisions: Vec<String>,
    /// The trace, where something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<serde_json::Value>,
}

/// Figures of one layer: its states and transitions, and what became of the states generated from it.
pub type LayerFigures = hadal_search::Layer;

/// A kind of storage and when it began.
#[derive(Clone, Debug, Serialize)]
pub struct StorageFigures {
    /// `table`, `diagram` or `sorted runs`.
    pub storage: &'static str,
    /// Distinct states in complete layers at that moment.
    pub states: u64,
    /// The layer being expanded.
    pub depth: u64,
}

/// The answer to one question about infinite runs.
#[derive(Clone, Debug, Serialize)]
pub struct AnswerFigures {
    /// What was asked.
    pub property: String,
    /// `holds`, `violated` or `stopped`.
    pub verdict: &'static str,
    /// States of its product.
    pub states: u64,
    /// Transitions of its product.
    pub transitions: u64,
    /// Steps of the run that breaks it, those of its loop included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace_length: Option<u64>,
    /// Steps of its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loop_length: Option<u64>,
}

impl From<Answer> for AnswerFigures {
    fn from(answer: Answer) -> Self {
        AnswerFigures {
            property: answer.property,
            verdict: match answer.holds {
                Some(true) => "holds",
                Some(false) => "violated",
                None => "stopped",
            },
            states: answer.states,
            transitions: answer.transitions,
            trace_length: answer.trace_length,
            loop_length: answer.loop_length,
        }
    }
}

impl AnswerFigures {
    fn text(&self) -> String {
        let lasso = match (self.trace_length, self.loop_length) {
            (Some(steps), Some(around)) => {
                format!(", a stem of {} and a loop of {around} steps", steps - around)
            }
            (Some(steps), None) => format!(", {steps} steps"),
            _ => String::new(),
        };
        let (states, transitions) = (grouped(self.states), grouped(self.transitions));
        format!("  {}: {}, {states} states, {transitions} transitions{lasso}", self.property, self.verdict)
    }
}

/// Figures of one cover property.
#[derive(Clone, Debug, Serialize)]
pub struct CoverFigures {
    /// Its name.
    pub property: String,
    /// Hits.
    pub hits: u64,
}

impl Outcome {
    /// The process's exit code.
    pub fn exit_code(report: &Report) -> u8 {
        match &report.verdict {
            Verdict::Holds => 0,
            Verdict::Violated(_) => 1,
            Verdict::Stopped(StopReason::Interrupted) => 130,
            Verdict::Stopped(_) => 3,
        }
    }

    /// For reading: the trace is printed before this.
    pub fn text(&self) -> String {
        let mut lines = Vec::new();
        lines.push(format!("{}: {}", self.verdict.to_uppercase(), self.reason));
        lines.extend(asked(&self.coverage));
        lines.extend(self.never());
        let depth = self.depth.map_or(String::new(), |d| format!(", depth {d}"));
        lines.push(format!(
            "  {} states, {} transitions{depth}, {:.2} s",
            grouped(self.states),
            grouped(self.transitions),
            self.seconds
        ));
        if let (Some(discrete), Some(maximal)) = (self.discrete, self.maximal) {
            lines.push(format!("  {} discrete parts, {} maximal zones", grouped(discrete), grouped(maximal)));
        }
        if let Some(cost) = self.cost {
            let cheapest = self.directed.as_ref().is_some_and(|figures| figures.found_cheapest);
            let proved =
                if cheapest { "nothing costs less" } else { "that nothing costs less is not proved" };
            lines.push(format!("  the trace costs {}; {proved}", grouped(cost)));
        }
        if let Some(time) = &self.fastest {
            lines.push(format!("  reached at time {time} at the earliest"));
        }
        if let (Some(steps), Some(around)) = (self.trace_length, self.loop_length) {
            let among =
                self.shortest_among.map_or(String::new(), |among| format!(", a shortest one among {among}"));
            lines.push(format!("  a stem of {} and a loop of {around} steps{among}", steps - around));
        }
        if self.answers.len() > 1 {
            lines.extend(self.answers.iter().map(AnswerFigures::text));
        }
        let search = (self.seconds - self.startup_seconds).max(1e-6);
        lines.push(format!(
            "  {} states/s, {} transitions/s without start-up ({:.2} s); {} bits per state; resident at most {}; reserved {} of {}",
            grouped((self.states as f64 / search) as u64),
            grouped((self.transitions as f64 / search) as u64),
            self.startup_seconds,
            self.state_bits,
            size(self.peak_memory_bytes),
            size(self.peak_budget_bytes),
            size(self.memory_budget_bytes),
        ));
        let threads = if self.threads == 1 { "1 thread".into() } else { format!("{} threads", self.threads) };
        lines.push(format!("  strategy {}, symmetry {}, {threads}", self.strategy, self.symmetry));
        if !self.reductions.is_empty() {
            lines.push(format!("  states left out by reduction: {}", self.reductions.join(", ")));
        }
        if let Some(directed) = &self.directed {
            let put_off = (directed.work.deferred_share * 100.0).round();
            let put_off = if put_off > 0.0 { format!(", {put_off} % put off") } else { String::new() };
            lines.push(format!(
                "  guide {}, order {}, priority {}: {} states expanded, {} taken out{put_off}",
                directed.manner.guide,
                directed.manner.order,
                directed.manner.priority,
                grouped(directed.work.distinct + directed.blind),
                grouped(directed.work.pops),
            ));
        }
        if self.disk_bytes_written > 0 {
            lines.push(format!(
                "  on disk {}, {} read, {} written",
                size(self.disk_bytes),
                size(self.disk_bytes_read),
                size(self.disk_bytes_written)
            ));
        }
        for cover in &self.covers {
            let hits = if cover.hits == 1 { "hit" } else { "hits" };
            lines.push(format!("  cover \"{}\": {} {hits}", cover.property, grouped(cover.hits)));
        }
        if let Some(run) = &self.run {
            lines.push(match self.verdict {
                "stopped" => format!("  to continue: hadal resume {run}"),
                _ => format!("  kept in {run}"),
            });
        }
        lines.join("\n")
    }

    /// What never happened though every state was seen.
    fn never(&self) -> Vec<String> {
        let coverage = &self.coverage;
        let mut lines = Vec::new();
        if !coverage.never_fired.is_empty() {
            let (silent, all) = (coverage.never_fired.len(), self.actions.len());
            let names = coverage.never_fired.iter().map(|name| format!("`{name}`"));
            lines.push(format!("  {silent} of {all} actions never fired: {}", some_of(names)));
        }
        if !coverage.never_changed.is_empty() {
            let names = coverage.never_changed.iter().map(|name| format!("`{name}`"));
            lines.push(format!("  never changed: {}", some_of(names)));
        }
        for premise in &coverage.vacuous {
            lines.push(format!(
                "  never true: `{}` (line {}), so \"{}\" says nothing there",
                premise.premise, premise.line, premise.property
            ));
        }
        lines
    }

    /// How states were stored, for `--explain`.
    pub fn explanation(&self) -> String {
        let mut lines = self.decisions.clone();
        for stage in &self.storage {
            let why = match stage.storage {
                "table" => {
                    "every state in a hash table in RAM: fastest while it fits its share of the budget"
                }
                "diagram" => {
                    "the table reached its share; a decision diagram in RAM shares what states have in common"
                }
                "sorted runs" => {
                    "the diagram outgrew its share, or states have too little in common; sorted runs on disk"
                }
                _ => "",
            };
            lines.push(format!(
                "  {} from depth {} ({} states): {why}",
                stage.storage,
                stage.depth,
                grouped(stage.states)
            ));
        }
        if let Some(cost) = self.read_cost {
            lines.push(format!(
                "  the disk takes {} µs for a read and {}/s: gaps of up to {} between wanted blocks are read through",
                cost.request_nanos / 1000,
                size(cost.bytes_per_second),
                size(cost.bytes_per_request())
            ));
        }
        lines.join("\n")
    }
}

/// The properties that were asked about, by their answers.
fn asked(coverage: &Coverage) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for verdict in ["violated", "reached", "holds", "unreachable", "open"] {
        let of = coverage.properties.iter().filter(|it| it.verdict == verdict);
        let names: Vec<String> = of
            .map(|it| match it.kind {
                "deadlock" => it.name.clone(),
                kind => format!("{kind} \"{}\"", it.name),
            })
            .collect();
        if !names.is_empty() {
            let told = if verdict == "open" { "not decided" } else { verdict };
            lines.push(format!("  {told}: {}", some_of(names.into_iter())));
        }
    }
    if lines.is_empty() {
        lines.push("  nothing was asked: the graph alone was explored".into());
    }
    lines
}

/// The first few, and how many more there are.
fn some_of(names: impl ExactSizeIterator<Item = String>) -> String {
    const SHOWN: usize = 12;
    let more = names.len().saturating_sub(SHOWN);
    let shown: Vec<String> = names.take(SHOWN).collect();
    match more {
        0 => shown.join(", "),
        more => format!("{} and {more} more", shown.join(", ")),
    }
}

/// Why the search ended, in one sentence, and the property that decided.
pub fn reason(
    report: &Report,
    trace: Option<&TraceView>,
    memory: u64,
) -> (&'static str, String, Option<String>) {
    match &report.verdict {
        Verdict::Holds => ("holds", holds_reason(report.proviso), None),
        Verdict::Violated(_) => match trace {
            Some(trace) => ("violated", trace.violation.message.clone(), trace.violation.property.clone()),
            None => ("violated", "something is wrong".into(), None),
        },
        Verdict::Stopped(reason) => {
            let mut told = stop_reason(reason, memory);
            if let Some(Proviso::LayersDeleted { before }) = report.proviso {
                told.push_str(&format!(
                    " (layers before depth {before} were deleted: states and transitions may be counted more than once)"
                ));
            }
            if report.proviso == Some(Proviso::WrongSeen) {
                told = told.replace("; what was seen is fine", "");
                told.push_str(
                    "; something wrong was seen in a layer that is not finished: resume to have it reported",
                );
            }
            ("stopped", told, None)
        }
    }
}

fn holds_reason(proviso: Option<Proviso>) -> String {
    match proviso {
        None | Some(Proviso::WrongSeen) => "every reachable state was visited and nothing is wrong".into(),
        Some(Proviso::LayersDeleted { before }) => format!(
            "every reachable state was visited and nothing is wrong (layers before depth {before} were deleted: states \
             and transitions may be counted more than once)"
        ),
        Some(Proviso::Diameter { bound }) => format!(
            "nothing is wrong up to depth {bound}, and deeper there is nothing new if --diameter {bound} is right \
             (layers were deleted: states and transitions may be counted more than once)"
        ),
        Some(Proviso::Pruned { left_out }) => format!(
            "nothing that is asked about can be reached ({} states or transitions were left out because what is asked \
             about cannot be reached through them)",
            grouped(left_out)
        ),
    }
}

fn stop_reason(reason: &StopReason, memory: u64) -> String {
    match reason {
        StopReason::Memory { needed } => format!(
            "the memory budget of {} is used up; continuing needs at least {} (--memory {}M)",
            size(memory),
            size(*needed),
            needed.div_ceil(1 << 20)
        ),
        StopReason::StateLimit => "--max-states is reached; what was seen is fine".into(),
        StopReason::DepthLimit => "--max-depth is reached; what was seen is fine".into(),
        StopReason::CostBound => "--cost-bound is reached; nothing that costs so little is wrong".into(),
        StopReason::TimeLimit => "--time-limit is reached; what was seen is fine".into(),
        StopReason::Interrupted => "interrupted; what was seen is fine".into(),
        StopReason::DiskFull => "the disk is full, or --disk-limit is reached; what was seen is fine".into(),
        StopReason::Incomplete => {
            "this order leaves states out without proof; nothing was found among those that were seen".into()
        }
        StopReason::Unanswered => {
            "every reachable state was visited and none is wrong, but this search does not answer what is asked about \
             infinite runs (name properties with --property to ask about others alone)"
                .into()
        }
    }
}
