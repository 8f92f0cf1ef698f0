//! Groups of atoms that no schema shows and pairs of facts do: atoms that exclude each other pairwise become values of one
//! variable (Alcázar and Torralba 2015, sec. 4), where the encoding gets smaller by it.

use super::pairs::Mutexes;
use super::variables::Variables;
use hadal_system::rows::RowTask;

/// Pairs of atoms looked at.
const MAX_WORK: u64 = 50_000_000;

/// The groups behind `variables`, each with what else its atoms exclude; `None` where no group grows. `number` has the
/// variable's number in the task that `mutexes` is about.
pub(crate) fn wider(variables: &Variables, mutexes: &Mutexes, number: &[u32]) -> Option<Vec<Vec<u32>>> {
    // Atoms with a place in that task.
    let known: Vec<(u32, (u32, u32))> = variables
        .groups
        .iter()
        .zip(number)
        .filter(|&(_, &number)| number != u32::MAX)
        .flat_map(|(atoms, &number)| atoms.iter().zip(0..).map(move |(&atom, value)| (atom, (number, value))))
        .collect();
    let alone: Vec<(u32, (u32, u32))> = variables
        .groups
        .iter()
        .zip(number)
        .filter(|&(atoms, &number)| number != u32::MAX && atoms.len() == 1)
        .map(|(atoms, &number)| (atoms[0], (number, 0)))
        .collect();
    if (known.len() as u64).saturating_mul(alone.len() as u64) > MAX_WORK {
        return None;
    }
    let mut grew = false;
    let mut groups = Vec::new();
    let mut next = known.into_iter().peekable();
    for (atoms, _) in variables.groups.iter().zip(number).filter(|&(_, &number)| number != u32::MAX) {
        let mut held: Vec<(u32, (u32, u32))> = next.by_ref().take(atoms.len()).collect();
        for &(atom, place) in &alone {
            if held.iter().all(|&(other, at)| other != atom && mutexes.excludes(place, at)) {
                held.push((atom, place));
                grew = true;
            }
        }
        groups.push(held.into_iter().map(|(atom, _)| atom).collect());
    }
    grew.then_some(groups)
}

/// Effects that depend on a condition, and bits of a state.
pub(crate) fn size(task: &RowTask) -> (usize, u32) {
    let conditional = task.rows.iter().flat_map(|row| &row.effects).filter(|effect| !effect.when.is_empty());
    let bits = task.variables.iter().map(|v| usize::BITS - v.values.len().saturating_sub(1).leading_zeros());
    (conditional.count(), bits.sum())
}
