//! One violation per property. What was answered is not asked again, and the search is made anew for the rest: so every
//! trace is what the strategy promises of a first one, whatever the strategy.
//!
//! ```
//! use hadal_check::{Check, Verdict};
//! # let text = "var x: 0..9; startstate x := 0; end; rule x < 9 ==> x := x + 1; end; rule x = 9 ==> x := 0; end;
//! #     invariant \"below five\" x < 5; invariant \"below three\" x < 3; invariant \"digit\" x < 10;";
//! # let source = hadal_system::Source::new("counter.m", text);
//! let system = hadal_lang::murphi::load(source, &[])?.system;
//! let outcomes = Check::of(system).memory(64 << 20).threads(1).run_each(9)?;
//! let steps: Vec<_> = outcomes.iter().filter_map(|it| it.trace.as_ref()).map(|it| it.steps.len() - 1).collect();
//! assert_eq!(steps, [3, 5]);
//! // What else is asked holds.
//! assert_eq!(outcomes[2].report.verdict, Verdict::Holds);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::options::Options;
use crate::run::{Outcome, Prepared};
use hadal_search::{DeadlockNotion, Verdict, ViolationKind};
use hadal_system::StateSpace;
use std::time::Instant;

/// Searches one after the other, each for what those before it left unanswered.
#[derive(Clone, Debug)]
pub struct Several {
    options: Options,
    /// How many violations may still be looked for.
    left: usize,
    begun: Instant,
}

impl Several {
    /// Begins with these options and ends with the violation of this number. The time limit is that of all searches
    /// together, from now on.
    pub fn new(options: Options, most: usize) -> Self {
        Several { options, left: most, begun: Instant::now() }
    }

    /// Whether another search may follow.
    pub fn may_go_on(&self) -> bool {
        self.left > 1
    }

    /// What is left to ask after this outcome of the search that was made last, if anything is: an error of the model itself
    /// is the last answer, as nothing is known of what comes after it.
    pub fn after(&mut self, searched: &Prepared, outcome: &Outcome) -> Option<Options> {
        let Verdict::Violated(found) = &outcome.report.verdict else { return None };
        if !self.may_go_on() {
            return None;
        }
        match found.kind {
            ViolationKind::Invariant(id)
            | ViolationKind::Goal(id)
            | ViolationKind::PropertyFault(id)
            | ViolationKind::Liveness(id)
            | ViolationKind::Prefix(id)
            | ViolationKind::Uncovered(id)
            | ViolationKind::Cycle { property: id, .. } => {
                self.options.settled.push(searched.shown().properties()[id.0 as usize].name.clone());
            }
            ViolationKind::Deadlock => self.options.deadlock = DeadlockNotion::Off,
            ViolationKind::Fault(_) | ViolationKind::StartFault(_) => return None,
        }
        let mut next = self.options.clone();
        // Only the first one was begun before.
        next.place.resumed = None;
        if let Some(limit) = &mut next.budget.limits.time {
            *limit = limit.checked_sub(self.begun.elapsed())?;
        }
        self.left -= 1;
        Some(next)
    }
}
