//! States that no plan passes: those from which the delete relaxation, with what numbers can come to at all, never meets the
//! goal. Where rows change numbers there may be states without end, most of them lost.

use crate::sitting::Sitting;
use hadal_exec::rows::RowSpace;
use hadal_guide::plan::{CostKind, Exploration, Relaxation, Relaxed, RelaxedGuide};
use hadal_guide::{Distance, Estimator};
use hadal_search::StopReason;
use hadal_store::Reservation;
use hadal_system::rows::Change;

/// Tells lost states from others, where rows change numbers.
pub(crate) struct Hope<'s>(Option<RelaxedGuide<'s>>);

impl<'s> Hope<'s> {
    fn of(space: &'s RowSpace) -> Self {
        Hope(counts(space).then(|| RelaxedGuide::new(Relaxed::new(space, CostKind::Unit), Relaxation::Max)))
    }

    /// Bytes that it takes, about.
    fn foreseen_bytes(space: &RowSpace) -> u64 {
        if counts(space) { Relaxed::foreseen_bytes(space.task()) } else { 0 }
    }

    /// What a thread looks with.
    pub(crate) fn eye(&self) -> HopeEye<'_> {
        HopeEye(self.0.as_ref().map(RelaxedGuide::exploration))
    }
}

/// Whether rows change numbers.
fn counts(space: &RowSpace) -> bool {
    let changes = space.task().rows.iter().flat_map(|row| &row.effects);
    changes.map(|effect| effect.change).any(|change| !matches!(change, Change::Set(..)))
}

impl<'a> Sitting<'a> {
    /// What tells lost states from others, for as long as the reservation is held.
    pub(crate) fn hope(&self) -> Result<(Hope<'a>, Reservation), StopReason> {
        let space = self.space;
        self.reserved(Hope::foreseen_bytes(space), || Hope::of(space))
    }
}

/// Looks at states.
pub(crate) struct HopeEye<'h>(Option<Exploration<'h>>);

impl HopeEye<'_> {
    /// Whether no way leads from a state to the goal, as far as can be told.
    pub(crate) fn is_lost(&mut self, state: &[u64]) -> bool {
        self.0.as_mut().is_some_and(|relaxed| relaxed.estimate(state, None) == Distance::INFINITE)
    }
}
