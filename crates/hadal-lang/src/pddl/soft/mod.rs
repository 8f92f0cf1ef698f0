//! PDDL3: preferences and constraints on the states of a plan.

mod gather;
mod monitor;
mod wish;

pub(crate) use gather::{GroundWish, Part, Soft};
pub(crate) use monitor::Alternatives;
pub(crate) use wish::{Wish, wishes_of};

use super::ast::{Constraint, Formula, Watch};

/// Calls `visit` with every condition of a constraint.
pub(crate) fn formulas_of(constraint: &Constraint, visit: &mut impl FnMut(&Formula)) {
    match constraint {
        Constraint::And(parts) => parts.iter().for_each(|part| formulas_of(part, visit)),
        Constraint::Forall(_, inner) | Constraint::Preference(_, inner) => formulas_of(inner, visit),
        Constraint::Watch(watch) => match watch {
            Watch::AtEnd(only)
            | Watch::Always(only)
            | Watch::Sometime(only)
            | Watch::AtMostOnce(only)
            | Watch::Within(_, only)
            | Watch::HoldDuring(_, _, only)
            | Watch::HoldAfter(_, only) => visit(only),
            Watch::SometimeAfter(first, second)
            | Watch::SometimeBefore(first, second)
            | Watch::AlwaysWithin(_, first, second) => {
                visit(first);
                visit(second);
            }
        },
    }
}
