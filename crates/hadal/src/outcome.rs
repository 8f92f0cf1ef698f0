//! The result of `check` as people and programs read it. `docs/json.md` describes the JSON.

mod figures;

pub use figures::{
    AnswerFigures, BucketFigures, Counts, CoverFigures, Decided, Details, MeasuredFigures, MemoryFigures,
    Seen, StorageFigures, StoredFigures, TimeFigures, TraceFigures, Used, ViolationFigures, WorkerFigures,
};

use crate::paint::Paint;
use crate::trace::TraceView;
use hadal_check::Coverage;
use hadal_check::memory::peak_resident;
use hadal_check::units::{counted, grouped, per_second, size, span};
use hadal_check::usage::cpu_seconds;
use hadal_search::{Proviso, Report, StopReason, Verdict};
use serde::Serialize;

/// One result. Fields are only added, never renamed.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Outcome {
    /// What is true, and why.
    #[serde(flatten)]
    pub decided: Decided,
    /// What was counted.
    #[serde(flatten)]
    pub counts: Counts,
    /// What was found, in numbers.
    #[serde(flatten)]
    pub traces: TraceFigures,
    /// How long it took.
    #[serde(flatten)]
    pub time: TimeFigures,
    /// What it took of the memory.
    #[serde(flatten)]
    pub memory: MemoryFigures,
    /// Where states were kept.
    #[serde(flatten)]
    pub stored: StoredFigures,
    /// How it was searched.
    #[serde(flatten)]
    pub used: Used,
    /// Breadth-first layers: states and transitions of each.
    pub layers: Vec<LayerFigures>,
    /// What was told while the search ran.
    pub warnings: Vec<String>,
    /// What happened on the way, and what never did.
    #[serde(flatten)]
    pub seen: Seen,
    /// What only some strategies count.
    #[serde(flatten)]
    pub details: Details,
    /// The trace, where something is wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trace: Option<serde_json::Value>,
}

/// Figures of one layer: its states and transitions, and what became of the states generated from it.
pub type LayerFigures = hadal_search::Layer;

impl Outcome {
    /// What the report of a search says, and the process so far. The rest is for the caller to add.
    pub fn of(report: Report, trace: Option<&TraceView>, memory: u64) -> Self {
        let (verdict, reason, property) = reason(&report, trace, memory);
        let covering = report.particular.covering;
        Outcome {
            decided: Decided { verdict, reason, property },
            counts: Counts {
                states: report.states,
                transitions: report.transitions,
                discrete: covering.map(|it| it.discrete),
                maximal: covering.map(|it| it.maximal),
                fastest: None,
                response: None,
                measured: Vec::new(),
                depth: report.depth,
                states_before: 0,
            },
            time: TimeFigures { cpu_seconds: cpu_seconds(), ..TimeFigures::default() },
            memory: MemoryFigures {
                peak_memory_bytes: peak_resident(),
                startup_peak_memory_bytes: 0,
                peak_budget_bytes: report.peak_memory,
                memory_budget_bytes: memory,
            },
            stored: StoredFigures::of(&report),
            layers: report.layers,
            seen: Seen { actions: report.actions, ..Seen::default() },
            details: Details { directed: report.particular.directed, ..Details::default() },
            ..Outcome::default()
        }
    }

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
    pub fn text(&self, paint: Paint) -> String {
        let mut lines = Vec::new();
        lines.push(format!("{}: {}", paint.verdict(self.decided.verdict), self.decided.reason));
        lines.extend(asked(&self.seen.coverage, self.decided.verdict));
        lines.extend(self.never());
        let depth = self.counts.depth.map_or(String::new(), |d| format!(", depth {d}"));
        lines.push(format!(
            "  {}, {}{depth}, {}",
            counted(self.counts.states, "state"),
            counted(self.counts.transitions, "transition"),
            span(self.time.seconds)
        ));
        if let (Some(discrete), Some(maximal)) = (self.counts.discrete, self.counts.maximal) {
            lines.push(format!(
                "  {}, {}",
                counted(discrete, "discrete part"),
                counted(maximal, "maximal zone")
            ));
        }
        match self.traces.shortest_paths {
            None => {}
            Some(1) => lines.push("  one shortest path leads there: the trace".to_owned()),
            Some(u64::MAX) => {
                lines.push(format!("  at least {} shortest paths lead there", grouped(u64::MAX)))
            }
            Some(paths) => lines.push(format!("  {} shortest paths lead there", grouped(paths))),
        }
        if let Some(of) = self.traces.trail_length {
            let steps = self.traces.trace_length.map_or("-".to_owned(), grouped);
            lines.push(format!("  steps: {steps}; of the trail: {}", grouped(of)));
        }
        if let Some(cost) = self.traces.cost {
            let cheapest = self.details.directed.as_ref().is_some_and(|figures| figures.found_cheapest);
            let proved =
                if cheapest { "nothing costs less" } else { "that nothing costs less is not proved" };
            lines.push(format!("  the trace costs {}; {proved}", grouped(cost)));
        }
        for measured in &self.counts.measured {
            lines.push(format!("  {}: {} is {}", measured.query, measured.of, measured.value));
        }
        if let Some(time) = &self.counts.response {
            lines.push(format!("  longest stay: {time}"));
        }
        if let Some(time) = &self.counts.fastest {
            lines.push(format!("  reached at time {time} at the earliest"));
        }
        if let (Some(steps), Some(around)) = (self.traces.trace_length, self.traces.loop_length) {
            let among = self
                .traces
                .shortest_among
                .map_or(String::new(), |among| format!(", a shortest one among {among}"));
            lines.push(format!(
                "  a stem of {} and a loop of {}{among}",
                steps - around,
                counted(around, "step")
            ));
        }
        if self.traces.answers.len() > 1 {
            lines.extend(self.traces.answers.iter().map(AnswerFigures::text));
        }
        lines.push(self.rates());
        lines.push(format!(
            "  memory: {} resident at most; of the budget of {}, {} reserved; {} per state",
            size(self.memory.peak_memory_bytes),
            size(self.memory.memory_budget_bytes),
            size(self.memory.peak_budget_bytes),
            counted(u64::from(self.used.state_bits), "bit"),
        ));
        let threads = counted(self.used.threads as u64, "thread");
        lines.push(format!("  strategy {}, symmetry {}, {threads}", self.used.strategy, self.used.symmetry));
        if !self.used.reductions.is_empty() {
            lines.push(format!("  states left out by reduction: {}", self.used.reductions.join(", ")));
        }
        if let Some(directed) = &self.details.directed {
            let put_off = (directed.work.deferred_share * 100.0).round();
            let put_off = if put_off > 0.0 { format!(", {put_off} % put off") } else { String::new() };
            lines.push(format!(
                "  guide {}, order {}, priority {}: {} expanded, {} taken out{put_off}",
                directed.manner.guide,
                directed.manner.order,
                directed.manner.priority,
                counted(directed.work.distinct + directed.blind, "state"),
                grouped(directed.work.pops),
            ));
        }
        if self.stored.disk_bytes_written > 0 {
            lines.push(format!(
                "  on disk {}, {} read, {} written",
                size(self.stored.disk_bytes),
                size(self.stored.disk_bytes_read),
                size(self.stored.disk_bytes_written)
            ));
        }
        for cover in &self.seen.covers {
            lines.push(format!("  cover \"{}\": {}", cover.property, counted(cover.hits, "hit")));
        }
        if let Some(run) = &self.used.run {
            lines.push(match self.decided.verdict {
                "stopped" => format!("  to continue: hadal resume {run}"),
                _ => format!("  kept in {run}"),
            });
        }
        lines.join("\n")
    }

    /// How fast it went, with and without what comes before the search.
    fn rates(&self) -> String {
        let new = self.counts.states.saturating_sub(self.counts.states_before);
        let before = match self.counts.states_before {
            0 => String::new(),
            before => format!("known before: {}; ", counted(before, "state")),
        };
        if new == 0 && !before.is_empty() {
            return format!("  {before}no new layer is complete yet");
        }
        format!(
            "  {before}{} states/s in all, {} without start-up ({})",
            per_second(new, self.time.seconds),
            per_second(new, self.time.seconds - self.time.startup_seconds),
            span(self.time.startup_seconds),
        )
    }

    /// What never happened though every state was seen.
    fn never(&self) -> Vec<String> {
        let coverage = &self.seen.coverage;
        let mut lines = Vec::new();
        if !coverage.never_fired.is_empty() {
            let (silent, all) = (coverage.never_fired.len(), self.seen.actions.len());
            let names = coverage.never_fired.iter().map(|name| format!("`{name}`"));
            lines.push(format!(
                "  {silent} of {} never fired: {}",
                counted(all as u64, "action"),
                some_of(names)
            ));
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
        let mut lines: Vec<String> =
            self.used.settings.iter().map(|settings| format!("  {settings}")).collect();
        lines.extend(self.used.decisions.iter().cloned());
        for stage in &self.stored.storage {
            let why = match (self.used.strategy, stage.storage) {
                ("auto", "table") => {
                    "every state in a hash table in RAM: fastest while it fits its share of the budget"
                        .to_owned()
                }
                ("auto", "diagram") => {
                    "the table reached its share; a decision diagram in RAM shares what states have in common"
                        .to_owned()
                }
                ("auto", "sorted runs") => {
                    "the diagram outgrew its share, or states have too little in common; sorted runs on disk"
                        .to_owned()
                }
                ("directed", _) => "as the order of a directed search requires".to_owned(),
                (strategy, _) => format!("as --strategy {strategy} requires"),
            };
            lines.push(format!(
                "  {} from depth {} ({}): {why}",
                stage.storage,
                stage.depth,
                counted(stage.states, "state")
            ));
        }
        if let Some(cost) = self.stored.read_cost {
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
fn asked(coverage: &Coverage, whole: &str) -> Vec<String> {
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
    // An error of the model is found without being asked about.
    if lines.is_empty() && whole != "violated" {
        lines.push("  no property was checked: the search only explored the graph".into());
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
fn reason(report: &Report, trace: Option<&TraceView>, memory: u64) -> (&'static str, String, Option<String>) {
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
            if report.proviso == Some(Proviso::BoundTrusted) {
                told.push_str(&format!(" ({RECOUNTED})"));
            }
            if report.proviso == Some(Proviso::WrongSeen) {
                told = told.replace("; no violation so far", "");
                told.push_str(
                    "; something wrong was seen in a layer that is not finished: resume to have it reported",
                );
            }
            if report.proviso == Some(Proviso::RunSeen) {
                told = told.replace("; no violation so far", "");
                told.push_str(
                    "; an infinite run that breaks a property is known to exist, but not yet the way to it",
                );
            }
            ("stopped", told, None)
        }
    }
}

/// What trusting a bound means for figures.
const RECOUNTED: &str = "candidates were compared with recent layers only, as --trust-bound says: states and transitions may \
                         be counted more than once";

fn holds_reason(proviso: Option<Proviso>) -> String {
    match proviso {
        None | Some(Proviso::WrongSeen | Proviso::RunSeen) => {
            "every reachable state was visited and nothing is wrong".into()
        }
        Some(Proviso::LayersDeleted { before }) => format!(
            "every reachable state was visited and nothing is wrong (layers before depth {before} were deleted: states \
             and transitions may be counted more than once)"
        ),
        Some(Proviso::BoundTrusted) => {
            format!("every reachable state was visited and nothing is wrong ({RECOUNTED})")
        }
        Some(Proviso::Diameter { bound }) => format!(
            "nothing is wrong up to depth {bound}, and deeper there is nothing new if --diameter {bound} is right \
             (layers were deleted: states and transitions may be counted more than once)"
        ),
        Some(Proviso::Pruned { left_out }) => format!(
            "no goal is reachable ({} states or transitions were pruned because no goal is reachable through them)",
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
        StopReason::StateLimit => "--max-states is reached; no violation so far".into(),
        StopReason::DepthLimit => "--max-depth is reached; no violation so far".into(),
        StopReason::CostBound => "--cost-bound is reached; nothing is wrong that costs so little, as far as the guide tells".into(),
        StopReason::TimeLimit => "--time-limit is reached; no violation so far".into(),
        StopReason::Interrupted => "interrupted; no violation so far".into(),
        StopReason::DiskFull => "the disk is full, or --disk-limit is reached; no violation so far".into(),
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
