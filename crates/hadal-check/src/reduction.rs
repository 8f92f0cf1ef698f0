//! `--por`, `--coi`, `--safe-abstraction`, `--decompose`: what each may leave out of this question, the searches that
//! remain, and the way from what they find back to the model.

use crate::error::CheckError;
use crate::run::replayed;
use crate::runs;
use crate::searching::Explored;
use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_exec::product::Fairness;
use hadal_exec::replay::TraceEnd;
use hadal_exec::stubborn::{self, Stubborn};
use hadal_exec::symmetry::SymmetryMode;
use hadal_guide::shrink::{self, LabelTrace, Part, Stage, TraceEnding};
use hadal_search::{DeadlockNotion, Question, Report, Verdict, Violation, ViolationKind};
use hadal_system::{Label, PropertyBody, PropertyId, PropertyInfo, PropertyKind, StateSpace, System};
use serde::{Deserialize, Serialize};

/// Which reductions are used.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Reductions {
    /// Partial-order reduction: explore only some orders of independent steps. Visits fewer states and keeps every kind
    /// of error; with `=shortest` it keeps shortest traces as well (docs/reductions.md).
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "TRACES", num_args = 0..=1, require_equals = true, default_missing_value = "some"))]
    pub por: Option<Traces>,
    /// Cone of influence: leave out variables and actions that cannot influence the properties asked about. Needs
    /// --deadlock off (or --property). Keeps shortest traces.
    #[cfg_attr(feature = "clap", arg(long))]
    pub coi: bool,
    /// Safe abstraction: leave out parts that depend on nothing else and can always be brought where they are needed.
    /// Needs --deadlock off (or --property). Traces are lifted to the whole model and need not be shortest.
    #[cfg_attr(feature = "clap", arg(long))]
    pub safe_abstraction: bool,
    /// Decomposition: answer a question about independent parts of the model part by part. Needs --deadlock off (or
    /// --property).
    #[cfg_attr(feature = "clap", arg(long))]
    pub decompose: bool,
}

/// What partial-order reduction keeps of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Traces {
    /// A trace to every kind of error.
    Some,
    /// A shortest one.
    Shortest,
}

/// The searches that remain of a question.
pub(crate) struct Reduced {
    /// The model as it was, where a search is not about it: what is found is shown on it.
    whole: Option<Model>,
    parts: Vec<PartModel>,
    args: Reductions,
    /// The reductions in use, as results name them.
    pub names: Vec<String>,
    /// What was left out, or why nothing was, line by line.
    pub notes: Vec<String>,
}

struct PartModel {
    model: Model,
    stages: Vec<Stage>,
    property: Option<usize>,
}

impl Reductions {
    /// Whether nothing is to be left out.
    pub fn is_empty(&self) -> bool {
        *self == Reductions::default()
    }
}

impl Reduced {
    /// Makes the reductions that the question allows.
    pub fn new(
        args: &Reductions,
        system: System,
        options: ModelOptions,
        question: &Question,
    ) -> Result<Self, CheckError> {
        let mut reduced = Reduced {
            whole: None,
            parts: Vec::new(),
            args: args.clone(),
            names: Vec::new(),
            notes: Vec::new(),
        };
        let mut stages: Vec<Stage> = Vec::new();
        let mut parts: Vec<Part> = Vec::new();
        if args.coi || args.safe_abstraction || args.decompose {
            let whole = (!system.has_plain_steps()).then(|| {
                "atomic sequences that branch or block, and timeout, depend on everything".to_owned()
            });
            match whole.or_else(|| obstacle(&system.property_infos(), question)) {
                Some(why) => reduced.notes.push(format!("nothing is left out of the model: {why}")),
                None => {
                    reduced.cone(&system, &mut stages);
                    reduced.split(stages.last().map_or(&system, |s| &s.system), &mut parts);
                    if parts.is_empty() {
                        reduced.abstract_safely(&system, &mut stages);
                    }
                }
            }
        }
        if args.por.is_some() {
            reduced.names.push("partial order".into());
        }
        let make = |system, options| {
            Model::new(system, options).map_err(|error| CheckError::Question(error.to_string()))
        };
        if stages.is_empty() && parts.is_empty() {
            let model = make(system, options)?;
            reduced.parts.push(PartModel { model, stages, property: None });
            return Ok(reduced);
        }
        if parts.is_empty() {
            let model = make(stages.last().map_or(&system, |s| &s.system).clone(), options)?;
            reduced.parts.push(PartModel { model, stages, property: None });
        } else {
            for part in parts {
                let mut stages = stages.clone();
                stages.push(part.stage);
                if args.safe_abstraction {
                    reduced.abstract_safely(&system, &mut stages);
                }
                let model = make(stages.last().map_or(&system, |s| &s.system).clone(), options)?;
                reduced.parts.push(PartModel { model, stages, property: part.property });
            }
        }
        let shown = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
        reduced.whole = Some(make(system, shown)?);
        Ok(reduced)
    }

    fn cone(&mut self, system: &System, stages: &mut Vec<Stage>) {
        if !self.args.coi {
            return;
        }
        match shrink::cone(system) {
            Some(stage) => {
                self.names.push("cone of influence".into());
                self.notes.push(format!("outside the cone of influence: {}", describe(system, &stage)));
                stages.push(stage);
            }
            None => self.notes.push("everything is inside the cone of influence".into()),
        }
    }

    fn split(&mut self, system: &System, parts: &mut Vec<Part>) {
        if !self.args.decompose {
            return;
        }
        match shrink::split(system) {
            Some(split) => {
                self.names.push("decomposition".into());
                let (components, searches) = (split.components, split.parts.len());
                self.notes.push(format!("the question is about {components} parts: {searches} searches"));
                parts.extend(split.parts);
            }
            None => self.notes.push("the question is about one part: nothing to decompose".into()),
        }
    }

    fn abstract_safely(&mut self, system: &System, stages: &mut Vec<Stage>) {
        if !self.args.safe_abstraction {
            return;
        }
        let before = stages.len();
        while let Some(stage) = shrink::safe(stages.last().map_or(system, |s| &s.system)) {
            self.notes.push(format!("safely left out: {}", describe(system, &stage)));
            stages.push(stage);
        }
        let name = "safe abstraction".to_owned();
        if stages.len() == before {
            self.notes.push("no part can be left out safely".into());
        } else if !self.names.contains(&name) {
            self.names.push(name);
        }
    }

    /// The model that results are about.
    pub fn model(&self) -> &Model {
        &self.parts[0].model
    }

    /// The model that traces are shown on.
    pub fn shown(&self) -> &Model {
        self.whole.as_ref().unwrap_or(self.model())
    }

    /// Makes the searches. `search` is given the model, the space to explore and the number of the search.
    pub fn search(
        &self,
        (question, way): (&Question, runs::Way),
        search: impl Fn(&Model, &dyn StateSpace, &Question, usize) -> Result<Explored, CheckError>,
    ) -> Result<Explored, CheckError> {
        let mut sum: Option<Explored> = None;
        // The property whose parts are being looked for, and the ways to those that were found.
        let mut found: Option<(usize, ViolationKind, Vec<Label>)> = None;
        let mut refuted: Option<usize> = None;
        for (number, part) in self.parts.iter().enumerate() {
            if part.property.is_some() && part.property == refuted {
                continue;
            }
            let traces = self.args.por;
            if traces.is_some() {
                may_reduce(&part.model, question, traces, way.fairness)?;
            }
            let mut explored =
                runs::search(&part.model, traces, (question, way), |space, question, beside| {
                    search(&part.model, space, question, number + beside)
                })?;
            let verdict = std::mem::replace(&mut explored.report.verdict, Verdict::Holds);
            merge(&mut sum, explored);
            let Some(sum) = &mut sum else { continue };
            let violation = match verdict {
                Verdict::Stopped(_) => {
                    sum.report.verdict = verdict;
                    return Ok(self.explained(sum));
                }
                Verdict::Holds => {
                    refuted = part.property;
                    continue;
                }
                Verdict::Violated(violation) => violation,
            };
            let fails = matches!(violation.kind, ViolationKind::Fault(_) | ViolationKind::StartFault(_));
            let of_runs = matches!(violation.kind, ViolationKind::Prefix(_) | ViolationKind::Cycle { .. });
            if of_runs {
                sum.report.verdict = Verdict::Violated(violation);
                return Ok(self.explained(sum));
            }
            if self.whole.is_none() || fails || part.property.is_none() {
                sum.report.verdict = Verdict::Violated(self.lift(part, &violation)?);
                return Ok(self.explained(sum));
            }
            let (Some(property), false) = (part.property, refuted == part.property) else { continue };
            let lifted = self.labels(part, &violation)?;
            let earlier = found.take().filter(|(known, ..)| *known == property).map(|(.., labels)| labels);
            let labels: Vec<Label> = earlier.into_iter().flatten().chain(lifted.labels).collect();
            let last = self.parts.get(number + 1).is_none_or(|next| next.property != Some(property));
            if last {
                let trace = LabelTrace { start: lifted.start, labels, ending: TraceEnding::State };
                let path = shrink::states(self.shown().system(), &trace).map_err(internal)?;
                let violation = Violation { kind: violation.kind, path, shortest: false };
                sum.report.verdict = Verdict::Violated(violation);
                return Ok(self.explained(sum));
            }
            found = Some((property, violation.kind, labels));
        }
        // There is at least one search, and `merge` has made its report the sum.
        sum.map(|mut sum| self.explained(&mut sum))
            .ok_or_else(|| CheckError::Internal("no search was made".into()))
    }

    /// What was found, with what was decided here in front.
    fn explained(&self, sum: &mut Explored) -> Explored {
        let notes = self.notes.iter().map(|note| format!("  {note}"));
        let decisions = notes.chain(std::mem::take(&mut sum.decisions)).collect();
        Explored { report: sum.report.clone(), decisions }
    }

    /// The violation on the whole model.
    fn lift(&self, part: &PartModel, found: &Violation) -> Result<Violation, CheckError> {
        if part.stages.is_empty() || found.path.is_empty() {
            return Ok(found.clone());
        }
        let trace = self.labels(part, found)?;
        let path = shrink::states(self.shown().system(), &trace).map_err(internal)?;
        let kind = match trace.ending {
            TraceEnding::Fault(label) => ViolationKind::Fault(label),
            TraceEnding::State | TraceEnding::Met(_) => found.kind,
        };
        let exact = !self.args.safe_abstraction && self.parts.len() == 1;
        Ok(Violation { kind, path, shortest: found.shortest && exact })
    }

    /// The actions of the whole model that lead to what was found.
    fn labels(&self, part: &PartModel, found: &Violation) -> Result<LabelTrace, CheckError> {
        let trace = replayed(&part.model, found)?;
        let mut labels = trace.steps.iter().map(|step| step.label);
        let start = labels.next().ok_or_else(|| CheckError::Internal("a trace without states".into()))?;
        let ending = match trace.end {
            TraceEnd::Fault { label, .. } => TraceEnding::Fault(label),
            _ => match found.kind {
                ViolationKind::Invariant(id) | ViolationKind::Goal(id) => TraceEnding::Met(id),
                _ => TraceEnding::State,
            },
        };
        let trace = LabelTrace { start, labels: labels.collect(), ending };
        shrink::lift(self.shown().system(), &part.stages, trace).map_err(internal)
    }
}

fn internal(error: impl std::fmt::Display) -> CheckError {
    CheckError::Internal(error.to_string())
}

/// Adds a search's figures to the sum.
fn merge(sum: &mut Option<Explored>, explored: Explored) {
    let Some(sum) = sum else {
        *sum = Some(explored);
        return;
    };
    let Explored { report, decisions } = explored;
    let Report { states, transitions, peak_memory, proviso, stages, .. } = report;
    let total = &mut sum.report;
    total.states += states;
    total.transitions += transitions;
    total.peak_memory = total.peak_memory.max(peak_memory);
    total.proviso = total.proviso.or(proviso);
    total.stages = stages;
    // Layers and depths of different searches do not add up.
    total.depth = None;
    total.layers.clear();
    total.actions.clear();
    total.particular.directed = None;
    sum.decisions.extend(decisions);
}

/// Names what was left out.
fn describe(system: &System, stage: &Stage) -> String {
    const SHOWN: usize = 8;
    let names: Vec<&str> = stage.removed.iter().map(|&var| system.variable(var).name.as_str()).collect();
    let more = names.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let list = names[..names.len().min(SHOWN)].join(", ");
    format!("{list}{more} ({} variables, {} actions)", names.len(), stage.disabled)
}

/// Why the model cannot be made smaller for this question.
fn obstacle(properties: &[PropertyInfo], question: &Question) -> Option<String> {
    if question.deadlock != DeadlockNotion::Off {
        return Some("deadlocks are checked, which depend on everything (--deadlock off)".into());
    }
    unkept(properties, question).map(|name| format!("`{name}` is about what is covered or stays reachable"))
}

/// A property that no reduction keeps.
fn unkept(properties: &[PropertyInfo], question: &Question) -> Option<String> {
    let mut asked = properties.iter().zip(&question.asked).filter(|(_, asked)| **asked);
    asked
        .find(|(property, _)| property.kind == PropertyKind::Cover || property.kind.is_about_runs())
        .map(|(property, _)| property.name.clone())
}

/// Refuses the questions that partial-order reduction does not answer.
fn may_reduce(
    model: &Model,
    question: &Question,
    traces: Option<Traces>,
    fairness: Fairness,
) -> Result<(), CheckError> {
    let refused = |why: String| Err(CheckError::Question(why));
    let asked =
        || model.properties().iter().zip(&question.asked).filter(|(_, asked)| **asked).map(|(it, _)| it);
    let lost = asked().find(|it| matches!(it.kind, PropertyKind::Cover | PropertyKind::Liveness));
    if let Some(lost) = lost {
        let name = &lost.name;
        return refused(format!(
            "--por keeps errors, not what is covered or stays reachable: `{name}` asks for that. Leave out --por, or name \
             other properties with --property"
        ));
    }
    for property in asked().filter(|it| it.kind.is_about_runs()) {
        let name = &property.name;
        if fairness != Fairness::Off {
            return refused("--por does not keep which runs are fair: leave out --por or --fair".into());
        }
        if traces == Some(Traces::Shortest) {
            return refused(format!("`{name}` is about runs, of which --por keeps no lengths: give --por"));
        }
        if model.symmetry().is_some() {
            return refused(format!("`{name}` is about runs: give --symmetry off with --por"));
        }
        let mut bodies = model.system().properties.iter().filter(|it| it.name == *name).map(|it| &it.body);
        if bodies.any(|body| matches!(body, PropertyBody::Claim(claim) if !claim.stutter_invariant)) {
            return refused(format!(
                "`{name}` may see how often a state is repeated, which --por does not keep: formulas without X do not; \
                 of automata it is not known. Leave out --por"
            ));
        }
    }
    let heuristic = model.symmetry().is_some_and(|it| it.mode() == SymmetryMode::Heuristic);
    if heuristic && question.deadlock == DeadlockNotion::Stuttering {
        return refused(
            "--por cannot tell deadlocks from steps between symmetric states with heuristic symmetry: give --symmetry \
             exact or off, or --deadlock stuck or off"
                .into(),
        );
    }
    Ok(())
}

/// The model reduced by stubborn sets for errors and deadlocks.
pub(crate) fn for_errors<'m>(
    traces: Traces,
    model: &'m Model,
    deadlocks: DeadlockNotion,
) -> Result<Stubborn<'m>, CheckError> {
    let traces = match traces {
        Traces::Some => stubborn::Traces::Some,
        Traces::Shortest => stubborn::Traces::Shortest,
    };
    Stubborn::new(model, deadlocks, traces).ok_or_else(too_many)
}

/// The model reduced by stubborn sets for one property about runs.
pub(crate) fn for_runs(model: &Model, property: PropertyId) -> Result<Stubborn<'_>, CheckError> {
    Stubborn::for_runs(model, property).ok_or_else(too_many)
}

fn too_many() -> CheckError {
    CheckError::Question("the model has too many rules for --por".into())
}
