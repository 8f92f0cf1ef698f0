//! Questions about infinite runs: each is asked of a product of its own, and what is found there is verified with the claim
//! before the claim is taken off again.

use crate::error::CheckError;
use crate::reduction::{Traces, for_errors, for_runs};
use crate::searching::Explored;
use hadal_exec::model::Model;
use hadal_exec::product::{Fairness, Product, ProductError, verify};
use hadal_guide::{Form, LassoGuide};
use hadal_search::cycles::as_safety::{LassoSpace, Seeds};
use hadal_search::{DeadlockNotion, Question, Report, Verdict, Violation, ViolationKind};
use hadal_system::guide::Guide;
use hadal_system::{PropertyId, PropertyKind, Shown, StateSpace};
use std::cell::RefCell;

/// Looks for accepted runs of a product.
pub(crate) type Engine<'w> = dyn Fn(&Product, &Question) -> Result<Explored, CheckError> + 'w;

/// Makes the search of a number with this guide.
pub(crate) type Guided<'w> =
    dyn Fn(&dyn StateSpace, &Question, usize, &dyn Guide) -> Result<Explored, CheckError> + 'w;

/// Looks for accepted runs in the search of a number.
pub(crate) type Decider<'w> = dyn Fn(&Product, &Question, usize) -> Result<Explored, CheckError> + 'w;

/// How accepted runs are looked for.
#[derive(Clone, Copy)]
pub(crate) struct Way<'w> {
    /// Which runs count.
    pub(crate) fairness: Fairness,
    /// Which of those that are wrong is shown.
    pub(crate) shown: Shown,
    /// A search of its own for them; the usual one where there is none.
    pub(crate) engine: Option<&'w Engine<'w>>,
    /// Which states may begin a loop, where loops are looked for as states to be reached.
    pub(crate) seeds: Option<Seeds>,
    /// The estimates that a search for such states is guided by, and who makes it.
    pub(crate) guided: Option<(Form, &'w Guided<'w>)>,
    /// Looks for them by sorting and scanning, in a run of its own.
    pub(crate) decider: Option<&'w Decider<'w>>,
    /// Takes the answer to each question.
    pub(crate) answers: &'w RefCell<Vec<Answer>>,
}

/// The answer to one question about infinite runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// What was asked.
    pub property: String,
    /// Whether it holds; `None` where the search ended before it knew.
    pub holds: Option<bool>,
    /// States of its product, as far as they were seen.
    pub states: u64,
    /// Transitions of its product.
    pub transitions: u64,
    /// Steps of the run that breaks it, those of its loop included, and of its loop.
    pub trace_length: Option<u64>,
    /// Steps of its loop, where it has one.
    pub loop_length: Option<u64>,
}

impl Answer {
    fn new(property: &str, report: &Report) -> Self {
        let (trace_length, loop_length) = match &report.verdict {
            Verdict::Violated(found) => match found.kind {
                ViolationKind::Cycle { loop_from, .. } => {
                    (Some(found.path.len()), Some(found.path.len() - loop_from))
                }
                _ => (Some(found.path.len().saturating_sub(1)), None),
            },
            _ => (None, None),
        };
        Answer {
            property: property.to_owned(),
            holds: match report.verdict {
                Verdict::Holds => Some(true),
                Verdict::Violated(_) => Some(false),
                Verdict::Stopped(_) => None,
            },
            states: report.states,
            transitions: report.transitions,
            trace_length: trace_length.map(|steps| steps as u64),
            loop_length: loop_length.map(|steps| steps as u64),
        }
    }
}

/// Makes the searches that a question needs. `search` is given the space, what to ask of it, and how many came before.
///
/// Every question is answered for itself, also after one that fails. The figures are those of the search that decides: the
/// first that finds something wrong, else the last.
pub(crate) fn search(
    model: &Model,
    reduced: Option<Traces>,
    (question, way): (&Question, Way),
    search: impl Fn(&dyn StateSpace, &Question, usize) -> Result<Explored, CheckError>,
) -> Result<Explored, CheckError> {
    let properties = model.properties();
    let about_runs: Vec<PropertyId> = question
        .of_kind(properties, PropertyKind::Acceptance)
        .chain(question.of_kind(properties, PropertyKind::Formula))
        .collect();
    let errors = |question: &Question, made: usize| {
        let Some(traces) = reduced else { return search(model, question, made) };
        let stubborn = for_errors(traces, model, question.deadlock)?;
        let mut explored = search(&stubborn, question, made)?;
        if let Verdict::Violated(found) = &mut explored.report.verdict {
            found.shortest &= stubborn.keeps_shortest();
        }
        Ok(explored)
    };
    if about_runs.is_empty() {
        return errors(question, 0);
    }
    let mut rest = question.clone();
    about_runs.iter().for_each(|id| rest.asked[id.0 as usize] = false);
    let others = properties.iter().zip(&rest.asked).any(|(property, asked)| {
        *asked && !matches!(property.kind, PropertyKind::Assumption | PropertyKind::Proposition)
    });
    let mut others = others || rest.deadlock != DeadlockNotion::Off;
    let mut whole = Whole::default();
    let mut made = 0;
    for id in about_runs {
        let kind = properties[id.0 as usize].kind;
        let stubborn = reduced.map(|_| for_runs(model, id)).transpose()?;
        let space: &dyn StateSpace = stubborn.as_ref().map_or(model, |it| it);
        let wrong = |error: ProductError| CheckError::Question(error.to_string());
        let product = Product::new(model, space, id, way.fairness).map_err(wrong)?;
        let product = product.showing(way.shown).ok_or_else(|| {
            CheckError::Question(
                "--lasso accepting: with fairness no single state is accepting; ask for --lasso shortest"
                    .into(),
            )
        })?;
        let mut asked = Question { deadlock: DeadlockNotion::Off, asked: vec![false; rest.asked.len()] };
        if others
            && kind == PropertyKind::Acceptance
            && reduced.is_none()
            && way.engine.is_none()
            && way.decider.is_none()
            && way.seeds.is_none()
        {
            // The product has the states of the model: one search answers everything.
            asked = rest.clone();
            others = false;
        }
        if others {
            others = false;
            whole.add(errors(&rest, made)?);
            made += 1;
            if whole.is_stopped {
                break;
            }
        }
        asked.asked[id.0 as usize] = true;
        let mut explored = match (way.engine, way.decider, way.seeds) {
            (Some(engine), ..) => engine(&product, &asked)?,
            (_, Some(decider), _) => decider(&product, &asked, made)?,
            (.., Some(seeds)) => as_safety(&product, &asked, seeds, |space, question| match way.guided {
                Some((form, guided)) => {
                    let guide = LassoGuide::new(model, &product, product.words(), form);
                    guided(space, question, made, &guide)
                }
                None => search(space, question, made),
            })?,
            _ => search(&product, &asked, made)?,
        };
        made += 1;
        if let Verdict::Violated(found) = &mut explored.report.verdict {
            *found = without_claim(model, &product, found)?;
            found.shortest &= reduced.is_none();
        }
        way.answers.borrow_mut().push(Answer::new(&properties[id.0 as usize].name, &explored.report));
        whole.add(explored);
        if whole.is_stopped {
            break;
        }
    }
    whole.decides.ok_or_else(|| CheckError::Internal("no search was made".into()))
}

/// Looks for loops as states to be reached.
fn as_safety(
    product: &Product,
    asked: &Question,
    seeds: Seeds,
    search: impl Fn(&dyn StateSpace, &Question) -> Result<Explored, CheckError>,
) -> Result<Explored, CheckError> {
    let several =
        || CheckError::Question("liveness as safety needs one acceptance set; fairness has more".into());
    let lassos = LassoSpace::new(product, seeds).ok_or_else(several)?;
    let mut explored = search(&lassos, &lassos.question(asked))?;
    let verdict = std::mem::replace(&mut explored.report.verdict, Verdict::Holds);
    explored.report.verdict = lassos.lasso(verdict);
    Ok(explored)
}

/// All searches so far.
#[derive(Default)]
struct Whole {
    /// The one that decides.
    decides: Option<Explored>,
    is_stopped: bool,
}

impl Whole {
    fn add(&mut self, explored: Explored) {
        self.is_stopped = matches!(explored.report.verdict, Verdict::Stopped(_));
        let Some(before) = &mut self.decides else {
            self.decides = Some(explored);
            return;
        };
        let peak = before.report.peak_memory.max(explored.report.peak_memory);
        match before.report.verdict {
            Verdict::Holds => {
                before.report = explored.report;
                before.decisions.extend(explored.decisions);
            }
            _ => before.decisions.extend(explored.decisions),
        }
        before.report.peak_memory = peak;
    }
}

/// What was found in a product, verified, as states of the model.
fn without_claim(model: &Model, product: &Product, found: &Violation) -> Result<Violation, CheckError> {
    let internal = |error: hadal_exec::product::LassoError| CheckError::Internal(error.to_string());
    let kind = match found.kind {
        ViolationKind::Cycle { loop_from, .. } => {
            verify(model, product, &found.path, Some(loop_from)).map_err(internal)?;
            found.kind
        }
        ViolationKind::Prefix(_) => {
            verify(model, product, &found.path, None).map_err(internal)?;
            found.kind
        }
        ViolationKind::Fault(label) => match product.system_label(label) {
            Some(label) => ViolationKind::Fault(label),
            None => return Err(CheckError::Internal("an error where nothing moves".into())),
        },
        other => other,
    };
    let path = found.path.iter().map(|state| product.system_state(state)).collect();
    Ok(Violation { kind, path, shortest: found.shortest })
}
