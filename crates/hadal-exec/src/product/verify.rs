//! A wrong run, verified step by step on the interpreter with the claim beside it.

use super::{Product, Watch};
use crate::model::Model;
use crate::replay::{ReplayError, Trace, replay_run};
use hadal_system::{StateSpace, Successors};

/// A run that does not verify: not an error of the model but of hadal.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LassoError {
    /// The system's part does not replay.
    #[error(transparent)]
    Replay(#[from] ReplayError),
    /// The claim does not move so.
    #[error("step {0} of the path does not replay: the claim cannot move so")]
    Claim(usize),
    /// The path does not begin in an initial state of the claim.
    #[error("the path does not begin where the claim begins")]
    Start,
    /// The loop is not accepted.
    #[error("the path replays, but its loop is not accepted")]
    NotAccepted,
    /// The last state does not end the claim.
    #[error("the path replays, but its end does not show that the formula is broken")]
    NotOver,
}

/// Finds and verifies the concrete run of a path through a product. With `loop_from` the last state leads back to the
/// state of that number: the trace then has one step more, which closes the loop.
pub fn verify(
    model: &Model,
    product: &Product,
    path: &[Vec<u64>],
    loop_from: Option<usize>,
) -> Result<Trace, LassoError> {
    let mut whole: Vec<Vec<u64>> = path.to_vec();
    whole.extend(loop_from.and_then(|at| path.get(at)).cloned());
    let own: Vec<Vec<u64>> = whole.iter().map(|state| product.system_state(state)).collect();
    let trace = replay_run(model, &own)?;
    if let Watch::Claim(table) = &product.watch {
        if product.location(&path[0]) != Some(table.initial) {
            return Err(LassoError::Start);
        }
        let interpreter = model.interpreter();
        for (n, pair) in whole.windows(2).enumerate() {
            let mut valuation = 0;
            for (bit, &proposition) in table.propositions.iter().enumerate() {
                valuation |= u64::from(interpreter.satisfies(&own[n], proposition) == Some(true)) << bit;
            }
            let (from, to) = (product.location(&pair[0]), product.location(&pair[1]));
            let edges = from.and_then(|from| table.edges.get(from as usize)).map_or(&[][..], Vec::as_slice);
            if !edges.iter().any(|edge| Some(edge.target) == to && edge.guard.holds(valuation)) {
                return Err(LassoError::Claim(n + 1));
            }
        }
        if loop_from.is_none() {
            let last = whole.last().and_then(|state| product.location(state)).unwrap_or(0);
            return if table.terminal[last as usize] { Ok(trace) } else { Err(LassoError::NotOver) };
        }
    }
    let Some(loop_from) = loop_from else { return Ok(trace) };
    // Every acceptance set is met inside the loop, and so is that of everybody who can move in it, where runs are to be
    // strongly fair: who can move, the interpreter says.
    let (interpreter, mut worker) = (model.interpreter(), product.worker());
    let (mut out, mut marks) = (Successors::new(product.words()), Vec::new());
    let (mut own_out, mut covers) = (Successors::new(model.words()), vec![0; model.properties().len()]);
    let (mut met, mut able) = (0u64, 0u64);
    for (pair, own) in whole[loop_from..].windows(2).zip(&own[loop_from..]) {
        out.clear();
        worker.successors(&pair[0], &mut out);
        worker.marks(&pair[0], &out, &mut marks);
        let steps = out.iter().zip(&marks).filter(|((_, state), _)| *state == pair[1].as_slice());
        met |= steps.fold(0, |all, (_, marks)| all | marks);
        if let Some(fair) = &product.fair {
            own_out.clear();
            interpreter.successors(own, &mut own_out, &mut covers);
            able |= fair.able(&own_out, 1);
        }
    }
    let wanted = product.acceptance.always() | able;
    if met & wanted == wanted { Ok(trace) } else { Err(LassoError::NotAccepted) }
}
