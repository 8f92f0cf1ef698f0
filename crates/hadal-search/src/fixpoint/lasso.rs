//! A loop inside a hull: breadth-first from a state of the hull to each acceptance set in turn and back.
//!
//! Where a state cannot be reached again, or a pair of strong fairness cannot be served any more, the search begins anew
//! from a state it met last, which lies nearer to the end of the hull.

use super::Answer;
use super::bits::Bits;
use super::closed::Closed;
use super::inside::{Inside, Reached};
use super::pass::{Early, Pass};
use super::shortest;
use crate::report::ViolationKind;
use hadal_system::{Acceptance, Shown};

/// A path that ends in a loop.
pub(super) struct Lasso {
    /// The layer of its first state.
    pub(super) depth: usize,
    /// Its states from there on.
    pub(super) path: Vec<Vec<u64>>,
    /// Where in it the loop begins.
    pub(super) loop_from: usize,
}

impl Lasso {
    /// Its steps, those of the shortest way to its first state included.
    pub(super) fn length(&self) -> usize {
        self.depth + self.path.len()
    }
}

/// The loop that is to be shown.
pub(super) async fn find<C: Closed>(
    pass: &Pass<'_, C>,
    acceptance: Acceptance,
    hull: &Bits,
) -> Result<Answer, Early> {
    let Some(mut lasso) = some(pass, acceptance, hull).await? else { return Ok(Answer::Holds) };
    let mut shortest = false;
    if acceptance.shown != Shown::Some {
        (lasso, shortest) = shortest::improve(pass, acceptance, hull, lasso).await?;
    }
    let Lasso { depth, path, loop_from } = lasso;
    let kind = ViolationKind::Cycle { property: acceptance.property, loop_from };
    Ok(Answer::Violated { kind, depth, path, shortest })
}

async fn some<C: Closed>(
    pass: &Pass<'_, C>,
    acceptance: Acceptance,
    hull: &Bits,
) -> Result<Option<Lasso>, Early> {
    // States before a cycle are in the hull as well: the deepest are nearest to the end.
    let mut first = None;
    for group in (0..pass.closed.groups()).rev() {
        first = pass.least_of_deepest(group, |_, _, number| hull.get(number)).await?;
        if first.is_some() {
            break;
        }
    }
    let Some((depth, first)) = first else { return Ok(None) };
    let mut inside = Inside::new(pass, hull)?;
    let mut path: Vec<Vec<u64>> = Vec::new();
    let mut seed = first;
    // The states from the seed on, the seed first.
    let mut round = vec![seed.clone()];
    loop {
        let (met, able) = if acceptance.weak { (0, 0) } else { inside.met(&round) };
        let missing = if acceptance.weak { 0 } else { (acceptance.always() | able) & !met };
        let last = round[round.len() - 1].clone();
        if missing == 0 && round.len() > 1 && last == seed {
            round.pop();
            let loop_from = path.len();
            path.extend(round);
            return Ok(Some(Lasso { depth, path, loop_from }));
        }
        let reached = match missing {
            0 => inside.search(&last, |to, _| to == seed.as_slice()).await?,
            _ => inside.search(&last, |_, marks| marks & missing != 0).await?,
        };
        match reached {
            Reached::There(steps) => round.extend(steps),
            Reached::Nowhere(way) => {
                path.append(&mut round);
                path.extend(way);
                seed = path.pop().unwrap_or(last);
                round.push(seed.clone());
            }
        }
    }
}
