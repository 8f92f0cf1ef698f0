//! Questions about infinite runs: each is asked of a product of its own, and what is found there is verified with the claim
//! before the claim is taken off again.

use crate::error::CheckError;
use crate::reduction::merge;
use crate::searching::Explored;
use hadal_exec::model::Model;
use hadal_exec::product::{Fairness, Product, verify};
use hadal_search::cycles::as_safety::{LassoSpace, Seeds};
use hadal_search::{DeadlockNotion, Question, Verdict, Violation, ViolationKind};
use hadal_system::{PropertyId, PropertyKind, StateSpace};

/// Looks for accepted runs of a product.
pub(crate) type Engine<'w> = dyn Fn(&Product, &Question) -> Result<Explored, CheckError> + 'w;

/// How accepted runs are looked for.
#[derive(Clone, Copy)]
pub(crate) struct Way<'w> {
    /// Which runs count.
    pub(crate) fairness: Fairness,
    /// A search of its own for them; the usual one where there is none.
    pub(crate) engine: Option<&'w Engine<'w>>,
    /// Which states may begin a loop, where loops are looked for as states to be reached.
    pub(crate) seeds: Option<Seeds>,
}

/// Makes the searches that a question needs. `search` is given the space, what to ask of it, and how many came before.
pub(crate) fn search(
    model: &Model,
    space: &dyn StateSpace,
    (question, way): (&Question, Way),
    search: impl Fn(&dyn StateSpace, &Question, usize) -> Result<Explored, CheckError>,
) -> Result<Explored, CheckError> {
    let properties = model.properties();
    let about_runs: Vec<PropertyId> = question
        .of_kind(properties, PropertyKind::Acceptance)
        .chain(question.of_kind(properties, PropertyKind::Formula))
        .collect();
    if about_runs.is_empty() {
        return search(space, question, 0);
    }
    let mut rest = question.clone();
    about_runs.iter().for_each(|id| rest.asked[id.0 as usize] = false);
    let others = properties.iter().zip(&rest.asked).any(|(property, asked)| {
        *asked && !matches!(property.kind, PropertyKind::Assumption | PropertyKind::Proposition)
    });
    let mut others = others || rest.deadlock != DeadlockNotion::Off;
    let mut sum = None;
    let mut made = 0;
    for id in about_runs {
        let kind = properties[id.0 as usize].kind;
        let product = Product::new(model, space, id, way.fairness)
            .map_err(|error| CheckError::Question(error.to_string()))?;
        let mut asked = Question { deadlock: DeadlockNotion::Off, asked: vec![false; rest.asked.len()] };
        if others && kind == PropertyKind::Acceptance && way.engine.is_none() && way.seeds.is_none() {
            // The product has the states of the model: one search answers everything.
            asked = rest.clone();
            others = false;
        }
        if others {
            merge(&mut sum, search(space, &rest, made)?);
            made += 1;
            others = false;
            if decided(&sum) {
                break;
            }
        }
        asked.asked[id.0 as usize] = true;
        let mut explored = match (&way.engine, way.seeds) {
            (Some(engine), _) => engine(&product, &asked)?,
            (None, Some(seeds)) => {
                let several = || {
                    CheckError::Question(
                        "las-bfs and las-any need one acceptance set; fairness has more".into(),
                    )
                };
                let lassos = LassoSpace::new(&product, seeds).ok_or_else(several)?;
                let mut explored = search(&lassos, &lassos.question(&asked), made)?;
                let verdict = std::mem::replace(&mut explored.report.verdict, Verdict::Holds);
                explored.report.verdict = lassos.lasso(verdict);
                explored
            }
            (None, None) => search(&product, &asked, made)?,
        };
        made += 1;
        if let Verdict::Violated(found) = &mut explored.report.verdict {
            *found = without_claim(model, &product, found)?;
        }
        let verdict = std::mem::replace(&mut explored.report.verdict, Verdict::Holds);
        merge(&mut sum, explored);
        if let Some(sum) = &mut sum {
            sum.report.verdict = verdict;
        }
        if decided(&sum) {
            break;
        }
    }
    sum.ok_or_else(|| CheckError::Internal("no search was made".into()))
}

fn decided(sum: &Option<Explored>) -> bool {
    sum.as_ref().is_some_and(|explored| explored.report.verdict != Verdict::Holds)
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
