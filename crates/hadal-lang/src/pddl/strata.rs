//! The order in which derived predicates can be evaluated: negation reaches only below.

use super::ast::{Formula, LiftedTask};
use hadal_system::Span;

/// The stratum of each predicate, or the rule whose negation goes round in a circle.
pub(crate) fn strata(task: &LiftedTask) -> Result<Vec<u32>, Span> {
    let mut level = vec![0u32; task.predicates.len()];
    let most = task.predicates.len() as u32;
    let mut changed = true;
    while changed {
        changed = false;
        for axiom in &task.axioms {
            let mut wanted = 0;
            needs(&axiom.body, true, &mut |predicate, positive| {
                if task.predicates[predicate as usize].derived {
                    wanted = wanted.max(level[predicate as usize] + u32::from(!positive));
                }
            });
            if wanted > most {
                return Err(axiom.span);
            }
            if level[axiom.predicate as usize] < wanted {
                level[axiom.predicate as usize] = wanted;
                changed = true;
            }
        }
    }
    Ok(level)
}

/// Calls `visit` with every predicate of a formula and whether it counts positively.
fn needs(formula: &Formula, positive: bool, visit: &mut impl FnMut(u32, bool)) {
    match formula {
        Formula::Atom(atom) => visit(atom.symbol, positive),
        Formula::Not(inner) => needs(inner, !positive, visit),
        Formula::And(parts) | Formula::Or(parts) => {
            parts.iter().for_each(|part| needs(part, positive, visit))
        }
        Formula::Exists(_, inner) | Formula::Forall(_, inner) | Formula::Preference(_, inner) => {
            needs(inner, positive, visit);
        }
        Formula::Constant(_) | Formula::Equal(..) | Formula::Compare(..) => {}
    }
}
