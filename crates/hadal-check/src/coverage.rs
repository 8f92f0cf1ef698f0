//! What an answer is about: every property that was asked with its own answer, and what never happened: actions that
//! never fired, variables that never changed, premises that were never true. A model in which nothing happens breaks
//! no invariant.

use crate::error::CheckError;
use crate::run::Prepared;
use crate::runs::Answer;
use crate::{Check, Options};
use hadal_exec::symmetry::SymmetryMode;
use hadal_exec::{Engine, Model, ModelOptions};
use hadal_search::{DeadlockNotion, Report, Verdict, ViolationKind};
use hadal_system::facts::{Facts, SlotSet};
use hadal_system::random::Xorshift;
use hadal_system::{
    BinaryOp, Expr, ExprKind, Label, Property, PropertyBody, PropertyId, PropertyKind, Quantifier, Role,
    Span, StateSpace, Successors, System,
};
use serde::Serialize;

/// Premises are looked for in a second search, where the first one saw no more states than this.
pub const MOST_STATES: u64 = 200_000;

/// Before that, in this many steps of a walk.
const WALK_STEPS: usize = 1_000;

/// What the question about deadlocks is called.
pub const NO_DEADLOCK: &str = "no deadlock";

/// What was asked, what each answer is, and what never happened.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Coverage {
    /// The properties asked about, deadlock among them.
    pub properties: Vec<Answered>,
    /// Actions that never fired, where every state was seen.
    pub never_fired: Vec<String>,
    /// Variables that nothing that fired writes, where every state was seen.
    pub never_changed: Vec<String>,
    /// Premises of invariants that are true in no state: the invariants say nothing there.
    pub vacuous: Vec<Vacuous>,
}

impl Coverage {
    /// Properties that an earlier search of the same question found violated, each with its kind, in the order of the list
    /// where they stand in it.
    pub fn add_violated<'a>(&mut self, found: impl Iterator<Item = (&'a str, &'static str)>) {
        for (name, kind) in found {
            match self.properties.iter_mut().find(|answered| answered.name == name) {
                Some(answered) => answered.verdict = "violated",
                None => self.properties.push(Answered { name: name.to_owned(), kind, verdict: "violated" }),
            }
        }
    }
}

/// A property and its answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Answered {
    /// Its name.
    pub name: String,
    /// What kind of property it is.
    pub kind: &'static str,
    /// `holds`, `violated`, or `open` where the search ended before it knew.
    pub verdict: &'static str,
}

/// A premise that is never true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Vacuous {
    /// The invariant it belongs to.
    pub property: String,
    /// Its text.
    pub premise: String,
    /// The line it stands in.
    pub line: usize,
}

impl Prepared {
    /// What the answer in `report` is about, and those that searches of their own gave before it.
    pub fn coverage(&self, report: &Report, answers: &[Answer]) -> Result<Coverage, CheckError> {
        let system = self.model().system();
        let mut properties = answered(system, self.question(), report);
        for property in properties.iter_mut().filter(|it| it.verdict == "open" && is_about_runs(it.kind)) {
            let own = answers.iter().find(|answer| answer.property == property.name);
            property.verdict = match own.and_then(|answer| answer.holds) {
                Some(true) => "holds",
                Some(false) => "violated",
                None => "open",
            };
        }
        let mut coverage = Coverage { properties, ..Coverage::default() };
        // What a reduction leaves out might have happened.
        let seen_all = report.verdict == Verdict::Holds && report.proviso.is_none();
        if !seen_all || !self.reductions().is_empty() {
            return Ok(coverage);
        }
        if !report.actions.is_empty() {
            let silent = |n: usize| report.actions.get(n).is_some_and(|action| action.fired == 0);
            let silent: Vec<usize> = (0..report.actions.len()).filter(|&n| silent(n)).collect();
            coverage.never_fired = silent.iter().map(|&n| report.actions[n].name.clone()).collect();
            coverage.never_changed = unchanged(system, &silent);
        }
        if report.states <= MOST_STATES {
            coverage.vacuous = vacuous(self.model(), self.question(), self.memory())?;
        }
        Ok(coverage)
    }
}

fn kind_name(kind: PropertyKind) -> Option<&'static str> {
    match kind {
        PropertyKind::Invariant => Some("invariant"),
        PropertyKind::Cover => Some("cover"),
        PropertyKind::Liveness => Some("liveness"),
        PropertyKind::Goal => Some("goal"),
        PropertyKind::Formula => Some("formula"),
        PropertyKind::Acceptance => Some("acceptance"),
        PropertyKind::Assumption | PropertyKind::Proposition | PropertyKind::Rest => None,
    }
}

/// Whether visiting every state does not answer properties of this kind.
fn is_about_runs(kind: &str) -> bool {
    matches!(kind, "liveness" | "formula" | "acceptance")
}

/// The properties of a system that were asked about, with their answers.
pub(crate) fn answered(system: &System, question: &hadal_search::Question, report: &Report) -> Vec<Answered> {
    let violated = match &report.verdict {
        Verdict::Violated(found) => Some(found.kind),
        _ => None,
    };
    let decided = violated.and_then(ViolationKind::property).and_then(|id| system.property_instance(id));
    // Covers are looked at when every state was visited: no state is wrong then.
    let seen_all = matches!(violated, Some(ViolationKind::Uncovered(_)));
    let other = if report.verdict == Verdict::Holds || seen_all { "holds" } else { "open" };
    let bases = system.property_bases();
    let mut list: Vec<Answered> = Vec::new();
    for (n, property) in system.properties.iter().enumerate() {
        let (Some(kind), true) = (kind_name(property.kind), question.asks(PropertyId(bases[n]))) else {
            continue;
        };
        let is_decided = decided.as_ref().is_some_and(|(at, _)| *at == n);
        let instances = bases[n] as usize..bases[n + 1] as usize;
        let is_met = || report.covers.get(instances).is_some_and(|hits| hits.iter().all(|&hits| hits > 0));
        let verdict = match (is_decided, kind) {
            (false, "cover") if seen_all && !is_met() => "violated",
            (false, kind) if seen_all && is_about_runs(kind) => "open",
            (true, "goal") => "reached",
            (true, _) => "violated",
            (false, "goal") if other == "holds" => "unreachable",
            (false, _) => other,
        };
        list.push(Answered { name: property.name.clone(), kind, verdict });
    }
    if question.deadlock != DeadlockNotion::Off {
        let verdict = if violated == Some(ViolationKind::Deadlock) { "violated" } else { other };
        list.push(Answered { name: NO_DEADLOCK.into(), kind: "deadlock", verdict });
    }
    list
}

/// The variables that only the silent actions could have changed.
fn unchanged(system: &System, silent: &[usize]) -> Vec<String> {
    let facts = Facts::coarse(system);
    let mut written = SlotSet::new();
    for (n, action) in facts.actions.iter().enumerate() {
        if silent.binary_search(&n).is_err() {
            written.extend(&action.whole.may_write);
        }
    }
    let mut names = Vec::new();
    let mut slot = 0;
    for variable in &system.variables {
        let slots = system.shapes.slots(variable.shape) as u32;
        // The length of a channel is not a variable of the text, nor are names that a language keeps for itself.
        let own = variable.name.rsplit('.').next().is_some_and(|name| !name.starts_with('_'))
            && !(variable.role == Role::Channel && system.shapes.scalar(variable.shape).is_some());
        if own && (slot..slot + slots).all(|slot| !written.contains(slot)) {
            names.push(variable.name.clone());
        }
        slot += slots;
    }
    names
}

/// The premises of asked invariants that hold in no state: those that a walk does not meet are searched for.
fn vacuous(
    model: &Model,
    question: &hadal_search::Question,
    memory: u64,
) -> Result<Vec<Vacuous>, CheckError> {
    let system = model.system();
    let bases = system.property_bases();
    let mut premises: Vec<(Property, Vacuous)> = Vec::new();
    for (n, property) in system.properties.iter().enumerate() {
        let asked = property.kind == PropertyKind::Invariant && question.asks(PropertyId(bases[n]));
        let (true, PropertyBody::State(condition)) = (asked, &property.body) else { continue };
        let mut found = Vec::new();
        gather(condition, &mut |premise| found.push(premise));
        for premise in found {
            let text = system.source.slice(premise.span).split_whitespace().collect::<Vec<_>>().join(" ");
            let line = system.source.locate(premise.span).line;
            let cover = Property {
                kind: PropertyKind::Cover,
                body: PropertyBody::State(premise.condition),
                ..property.clone()
            };
            premises.push((cover, Vacuous { property: property.name.clone(), premise: text, line }));
        }
    }
    strike_out_met(model, &mut premises)?;
    if premises.is_empty() {
        return Ok(Vec::new());
    }
    let (again, instances) = asking(system, &premises);
    let before = instances.len() - 1 - premises.len();
    let mut options = Options { deadlock: DeadlockNotion::Off, ..Options::default() };
    options.budget.memory = Some(memory);
    let report = Check::with_options(again, options).run()?.report;
    if matches!(report.verdict, Verdict::Stopped(_)) {
        return Ok(Vec::new());
    }
    let hits = |n: usize| -> u64 {
        let range = instances[before + n] as usize..instances[before + n + 1] as usize;
        report.covers.get(range).map_or(1, |hits| hits.iter().sum())
    };
    Ok(premises.into_iter().enumerate().filter(|(n, _)| hits(*n) == 0).map(|(_, (_, it))| it).collect())
}

/// The system with the premises as its last properties, and the first instance of each property.
fn asking(system: &System, premises: &[(Property, Vacuous)]) -> (System, Vec<u32>) {
    let mut again = system.clone();
    again.properties.retain(|property| property.kind == PropertyKind::Assumption);
    again.properties.extend(premises.iter().map(|(cover, _)| cover.clone()));
    let instances = again.property_bases();
    (again, instances)
}

/// Strikes out the premises that a walk of some steps meets, as it does most: no search is needed for these.
fn strike_out_met(model: &Model, premises: &mut Vec<(Property, Vacuous)>) -> Result<(), CheckError> {
    if premises.is_empty() {
        return Ok(());
    }
    let (again, instances) = asking(model.system(), premises);
    let before = instances.len() - 1 - premises.len();
    let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
    let looking = Model::new(again, options).map_err(|error| CheckError::Question(error.to_string()))?;
    if looking.layout() != model.layout() {
        return Ok(());
    }
    let mut open: Vec<usize> = (0..premises.len()).collect();
    let (mut walker, mut judge) = (model.worker(), looking.worker());
    let mut out = Successors::new(model.words());
    walker.initial(&mut out);
    let starts = out.states().to_vec();
    let mut random = Xorshift::golden();
    let mut state = Vec::new();
    for _ in 0..WALK_STEPS {
        if out.is_empty() {
            // Nothing leads on: the walk begins again.
            out.clear();
            starts.chunks_exact(model.words().max(1)).for_each(|start| out.push(Label(0), start));
        }
        if out.is_empty() || open.is_empty() {
            break;
        }
        state.clear();
        state.extend_from_slice(out.state((random.bits() % out.len() as u64) as usize));
        open.retain(|&n| {
            let mut ids = instances[before + n]..instances[before + n + 1];
            !ids.any(|id| judge.satisfies(&state, PropertyId(id)) == Some(true))
        });
        out.clear();
        walker.successors(&state, &mut out);
    }
    let mut n = 0..;
    premises.retain(|_| n.next().is_some_and(|n| open.binary_search(&n).is_ok()));
    Ok(())
}

/// The premise of an implication, with the quantifiers around it.
struct Premise {
    condition: Expr,
    span: Span,
}

/// Calls `found` with every premise that the truth of `expr` for all values of bound names hangs on.
fn gather(expr: &Expr, found: &mut dyn FnMut(Premise)) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            gather(left, found);
            gather(right, found);
        }
        ExprKind::Binary(BinaryOp::Implies, premise, conclusion) => {
            let always = premise.as_const().is_some();
            if !always && premise.span != Span::default() {
                found(Premise { condition: (**premise).clone(), span: premise.span });
            }
            // What follows from a conclusion's own premise counts where the first premise holds.
            gather(conclusion, &mut |inner| {
                let condition = Expr::binary(BinaryOp::And, (**premise).clone(), inner.condition);
                found(Premise { condition, span: inner.span });
            });
        }
        ExprKind::Quantified { quantifier: Quantifier::ForAll, local, range, body } => {
            gather(body, &mut |inner| {
                let condition = Expr::new(
                    ExprKind::Quantified {
                        quantifier: Quantifier::Exists,
                        local: *local,
                        range: range.clone(),
                        body: Box::new(inner.condition),
                    },
                    expr.span,
                );
                found(Premise { condition, span: inner.span });
            });
        }
        _ => {}
    }
}
