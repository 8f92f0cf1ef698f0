//! A randomised sample of the space, taken before the search (Evangelista and Kristensen 2011, sec. 5, heuristic SS):
//! breadth-first samples mislead, so the next state to expand is drawn at random.

use super::component::Component;
use hadal_store::table::{StateRef, StateTable};
use hadal_store::{Governor, OverBudget};
use hadal_system::state::hash;
use hadal_system::{StateSpace, Successors};

/// States kept for looking at how components spread.
const KEPT: usize = 4096;

/// What the sample shows.
pub(super) struct Sample {
    /// How often transitions modified each component.
    pub(super) updates: Vec<u64>,
    /// Some of its states.
    pub(super) states: Vec<u64>,
    pub(super) words: usize,
}

/// Expands about `most` states, fewer where they do not fit `budget`.
pub(super) fn take_sample(
    space: &dyn StateSpace,
    components: &[Component],
    most: u64,
    budget: &Governor,
) -> Result<Sample, OverBudget> {
    let words = space.words();
    let mut table = StateTable::new(words, 0, 1, &budget.part(budget.limit() / 2))?;
    // Every state found is in the list of open ones at most once.
    let mut open_memory = budget.empty("sample");
    let mut worker = space.worker();
    let mut out = Successors::new(words);
    worker.initial(&mut out);
    let mut open: Vec<StateRef> = Vec::new();
    let mut updates = vec![0; components.len()];
    let mut full = table.insert_all(out.states(), |_, _| {}, |_, at| open.push(at)).is_err();
    let (mut drawn, mut difference) = (0, vec![0; words]);
    while !open.is_empty() && drawn < most && !full {
        drawn += 1;
        let at = open.swap_remove((hash(&[drawn]) % open.len() as u64) as usize);
        out.clear();
        worker.successors(table.state(at), &mut out);
        for (_, successor) in out.iter() {
            for (word, (a, b)) in difference.iter_mut().zip(table.state(at).iter().zip(successor)) {
                *word = a ^ b;
            }
            for (sum, component) in updates.iter_mut().zip(components) {
                *sum += u64::from(component.is_touched(&difference));
            }
        }
        full = table.insert_all(out.states(), |_, _| {}, |_, at| open.push(at)).is_err()
            || open_memory.try_resize(2 * 8 * open.capacity() as u64).is_err();
    }
    let found = table.added_by(0);
    let step = (found as usize).div_ceil(KEPT).max(1);
    let kept = (0..found).step_by(step);
    let states = kept.flat_map(|n| table.nth(0, n).iter().copied()).collect();
    Ok(Sample { updates, states, words })
}
