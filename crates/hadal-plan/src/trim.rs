//! Leaves out of a plan what it does not need (action elimination: Fink and Yang 1992; Nakhost and Müller 2010, "Action
//! elimination and plan neighborhood graph search").
//!
//! Each step is left out in turn, with those behind it that cannot be taken then; where the rest still reaches the goal, it
//! is the plan. Greedy searches find plans with detours, and this takes no search.

use hadal_exec::rows::{Firing, RowSpace};

/// Steps taken, at most.
const WORK: u64 = 5_000_000;

/// The rows of a plan without those that it does not need.
pub(crate) fn trim(space: &RowSpace, mut rows: Vec<u32>) -> Vec<u32> {
    let mut worker = space.row_worker();
    let mut before = space.initial().to_vec();
    let (mut state, mut next) = (before.clone(), before.clone());
    let mut kept: Vec<u32> = Vec::new();
    let (mut at, mut work) = (0, 0u64);
    while at < rows.len() && work < WORK {
        state.copy_from_slice(&before);
        kept.clear();
        for &row in &rows[at + 1..] {
            work += 1;
            if worker.can_fire(&state, row)
                && matches!(worker.fire(&state, row, &mut next), Firing::Reached(_))
            {
                std::mem::swap(&mut state, &mut next);
                kept.push(row);
            }
        }
        if worker.is_goal(&state) {
            rows.truncate(at);
            rows.extend_from_slice(&kept);
            continue;
        }
        // It is needed.
        if matches!(worker.fire(&before, rows[at], &mut next), Firing::Reached(_)) {
            before.copy_from_slice(&next);
        }
        at += 1;
    }
    rows
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_testkit::Random;
    use hadal_testkit::rows::{self as draw, Drawing};

    /// Follows rows; where they lead, if each can be taken.
    fn follow(space: &RowSpace, rows: &[u32]) -> Option<(Vec<u64>, u64)> {
        let mut worker = space.row_worker();
        let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
        let (mut applicable, mut total) = (Vec::new(), 0);
        for &row in rows {
            worker.applicable(&state, &mut applicable);
            assert_eq!(worker.can_fire(&state, row), applicable.contains(&row));
            applicable.iter().find(|&&found| found == row)?;
            let Firing::Reached(cost) = worker.fire(&state, row, &mut next) else { return None };
            total += u64::from(cost);
            std::mem::swap(&mut state, &mut next);
        }
        Some((state, total))
    }

    #[test]
    fn what_is_left_is_a_plan_and_costs_no_more() {
        let (mut plans, mut shorter) = (0, 0);
        for seed in 0..600 {
            let drawing = Drawing {
                seed,
                conditional: seed & 1 > 0,
                derived: seed & 2 > 0,
                numbers: seed & 4 > 0,
                monitors: seed & 8 > 0,
                largest_cost: (seed & 16 > 0).then_some(3),
            };
            let space = RowSpace::new(draw::task(drawing)).expect("drawn tasks can be run");
            let mut worker = space.row_worker();
            let mut dice = Random::new(seed + 1);
            // Random walks, full of detours.
            let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
            let (mut applicable, mut walk) = (Vec::new(), Vec::new());
            while walk.len() < 40 && !(walk.len() > 5 && worker.is_goal(&state)) {
                worker.applicable(&state, &mut applicable);
                if applicable.is_empty() {
                    break;
                }
                let row = applicable[dice.below(applicable.len())];
                let Firing::Reached(_) = worker.fire(&state, row, &mut next) else { break };
                std::mem::swap(&mut state, &mut next);
                walk.push(row);
            }
            if !worker.is_goal(&state) {
                continue;
            }
            let (_, cost) = follow(&space, &walk).expect("it was walked");
            let left = trim(&space, walk.clone());
            let (last, less) = follow(&space, &left).expect("every step can be taken");
            assert!(worker.is_goal(&last) && less <= cost && left.len() <= walk.len(), "{drawing:?}");
            plans += 1;
            shorter += usize::from(left.len() < walk.len());
        }
        assert!(plans > 50 && shorter * 2 > plans, "{shorter} of {plans}");
    }
}
