//! Questions about infinite runs of models in real time: zones by equality, combined with a claim.

use crate::error::CheckError;
use hadal_exec::product::{Fairness, Product};
use hadal_exec::zones::runs::{LoopTime, ZoneRuns};
use hadal_search::{Violation, ViolationKind};
use hadal_system::{PropertyBody, PropertyId, StateSpace, Successors};

/// The product of a zone graph with the claim of one of its properties.
pub fn watched<'r>(runs: &'r ZoneRuns<'r>, property: PropertyId) -> Result<Product<'r>, CheckError> {
    let model = runs.space().model();
    let (at, _) = model.system().property_instance(property).unwrap_or_default();
    if let PropertyBody::Claim(claim) = &model.system().properties[at].body
        && !claim.stutter_invariant
    {
        return Err(CheckError::Question(format!(
            "`{}` sees how often a state is repeated (X, or a claim as it was written), which means nothing while time \
             passes: say it without",
            model.system().properties[at].name
        )));
    }
    Product::new(model, runs, property, Fairness::Off)
        .map_err(|error| CheckError::Question(error.to_string()))
}

/// A wrong run of a zone graph.
pub struct WrongRun {
    /// Its states, without the claim; where it has a loop, the state that the loop leads back to once more.
    pub path: Vec<Vec<u64>>,
    /// The first state of the loop, and what is known of time along it; none where a prefix shows all.
    pub round: Option<(usize, LoopTime)>,
}

/// What was found in a product, verified with the claim, as states of the zone graph.
pub fn wrong_run(
    runs: &ZoneRuns,
    product: &Product,
    found: &Violation,
) -> Result<Option<WrongRun>, CheckError> {
    let internal = |what: &str| CheckError::Internal(what.into());
    let loop_from = match found.kind {
        ViolationKind::Cycle { loop_from, .. } => Some(loop_from),
        ViolationKind::Prefix(_) => None,
        _ => return Ok(None),
    };
    let mut whole: Vec<Vec<u64>> = found.path.clone();
    whole.extend(loop_from.and_then(|at| found.path.get(at)).cloned());
    let mut worker = product.worker();
    let (mut out, mut marks) = (Successors::new(product.words()), Vec::new());
    let mut met = 0;
    for (n, pair) in whole.windows(2).enumerate() {
        out.clear();
        worker.successors(&pair[0], &mut out);
        worker.marks(&pair[0], &out, &mut marks);
        let steps = out.iter().zip(&marks).filter(|((_, state), _)| *state == pair[1].as_slice());
        let steps: Vec<u64> = steps.map(|(_, marks)| *marks).collect();
        if steps.is_empty() {
            return Err(internal("a step of the run does not replay with the claim"));
        }
        if loop_from.is_some_and(|from| n >= from) {
            met |= steps.iter().fold(0, |all, marks| all | marks);
        }
    }
    let wanted = product.acceptance().map_or(0, |acceptance| acceptance.always());
    if loop_from.is_some() && met & wanted != wanted {
        return Err(internal("the loop of the run is not accepted"));
    }
    let path: Vec<Vec<u64>> = whole.iter().map(|state| product.system_state(state)).collect();
    let time = |from: usize| {
        runs.loop_time(&path[..path.len() - 1], from).map_err(|error| CheckError::Internal(error.to_string()))
    };
    let round = loop_from.map(|from| Ok::<_, CheckError>((from, time(from)?))).transpose()?;
    Ok(Some(WrongRun { path, round }))
}
