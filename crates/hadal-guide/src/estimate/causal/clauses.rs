//! What is looked for as alternatives, each a list of what single variables must be.

use crate::task::{AbstractTask, Bits, Formula};

/// Disjuncts of what is looked for; more are taken to hold at once.
const MAX_CLAUSES: usize = 4096;

/// The formula as a disjunction of conjunctions over single variables; `None` where there are too many.
pub fn clauses(task: &AbstractTask, formula: &Formula) -> Option<Vec<Vec<(u32, Bits)>>> {
    let list = match formula {
        Formula::True => vec![Vec::new()],
        Formula::False => Vec::new(),
        Formula::Atom(var, bits) if task.variables[*var as usize].is_single() => vec![vec![(*var, *bits)]],
        Formula::Atom(..) => vec![Vec::new()],
        Formula::Or(parts) => {
            let mut all = Vec::new();
            for part in parts {
                all.extend(clauses(task, part)?);
            }
            all
        }
        Formula::And(parts) => {
            let mut all = vec![Vec::new()];
            for part in parts {
                let own = clauses(task, part)?;
                if all.len() * own.len() > MAX_CLAUSES {
                    return None;
                }
                let joined = all.iter().flat_map(|left: &Vec<(u32, Bits)>| {
                    own.iter().map(|right| left.iter().chain(right).copied().collect())
                });
                all = joined.collect();
            }
            all
        }
    };
    (list.len() <= MAX_CLAUSES).then_some(list)
}
