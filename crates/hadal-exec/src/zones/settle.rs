//! What time does in a discrete state: which bounds matter, whether time passes, which valuations are left, what they meet.

use hadal_system::{Check, PropertyId, PropertyKind, StateSpace, Worker};

use super::bounds::ClockBounds;
use super::code::{Code, Context};
use super::dbm::Zone;
use super::deadlock;
use super::options::Extrapolation;
use super::space::{ReadyClause, ReadyStay, ZoneSpace};
use super::timing::{Faulty, apply_all};

/// What a property asks of a state.
pub(super) enum Asked<'s> {
    /// That one of these holds.
    Clauses(&'s [ReadyClause]),
    /// That the discrete part has the property, or has it not.
    Discrete { property: PropertyId, wanted: bool },
}

impl ZoneSpace {
    /// The bounds that matter in a discrete state.
    pub(crate) fn bounds_at(&self, context: &Context, into: &mut ClockBounds) {
        into.lower.copy_from_slice(&self.base.lower);
        into.upper.copy_from_slice(&self.base.upper);
        for (code, stays) in self.locations.iter().zip(&self.stays) {
            if let Some(stay) = self.stay(code, stays, context) {
                into.join(&stay.bounds);
            }
        }
    }

    #[inline]
    pub(crate) fn stay<'s>(
        &self,
        code: &Code,
        stays: &'s [ReadyStay],
        context: &Context,
    ) -> Option<&'s ReadyStay> {
        stays.get(usize::try_from(code.value(context)?).ok()?)
    }

    /// Whether no time passes.
    pub(crate) fn is_still(&self, context: &Context) -> Result<bool, Faulty> {
        for (code, stays) in self.locations.iter().zip(&self.stays) {
            if self.stay(code, stays, context).is_some_and(|stay| stay.still) {
                return Ok(true);
            }
        }
        for rush in &self.rush {
            if rush.holds(context).ok_or(Faulty)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether time does not pass for ever in a discrete state: it stands still, or an invariant ends it.
    pub(crate) fn time_ends(&self, context: &Context) -> Result<bool, Faulty> {
        if self.is_still(context)? {
            return Ok(true);
        }
        for (code, stays) in self.locations.iter().zip(&self.stays) {
            for bound in self.stay(code, stays, context).into_iter().flat_map(|stay| &stay.invariant) {
                if bound.entry(context)?.is_some_and(|entry| entry.left > 0 && entry.minus == 0) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }

    /// Whether time does not pass for ever in a state, of which the discrete part stands last.
    pub fn time_ends_in(&self, state: &[u64]) -> bool {
        let interpreter = self.model.interpreter();
        let discrete = &state[state.len() - self.model.words()..];
        let context = Context { state: discrete, locals: &[], interpreter: &interpreter, shapes: &[] };
        self.time_ends(&context) == Ok(true)
    }

    /// Keeps what satisfies the invariants of all locations; false where nothing does.
    pub(crate) fn keep_invariants(&self, context: &Context, zone: &mut Zone) -> Result<bool, Faulty> {
        for (code, stays) in self.locations.iter().zip(&self.stays) {
            if let Some(stay) = self.stay(code, stays, context)
                && !apply_all(&stay.invariant, context, zone)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Invariant, delay, invariant; false where nothing is left.
    pub(crate) fn settle(&self, context: &Context, zone: &mut Zone) -> Result<bool, Faulty> {
        if !self.keep_invariants(context, zone)? {
            return Ok(false);
        }
        if !self.is_still(context)? {
            zone.up();
            return self.keep_invariants(context, zone);
        }
        Ok(true)
    }

    pub(super) fn extrapolate(&self, zone: &mut Zone, bounds: &ClockBounds) {
        match self.options.extrapolation {
            Extrapolation::LowerUpperPlus | Extrapolation::MaxPlus => {
                zone.extrapolate_lu_plus(&bounds.lower, &bounds.upper);
            }
            Extrapolation::LowerUpper => zone.extrapolate_lu(&bounds.lower, &bounds.upper),
            Extrapolation::Max => zone.extrapolate_max(&bounds.lower),
        }
    }

    /// Whether the reachable valuations of a discrete state meet one of the clauses.
    pub(crate) fn meets(
        &self,
        clauses: &[ReadyClause],
        context: &Context,
        zone: &Zone,
        inner: &mut dyn Worker,
    ) -> Option<bool> {
        for clause in clauses {
            if !clause.when.holds(context)? {
                continue;
            }
            let mut part = zone.clone();
            if !apply_all(&clause.bounds, context, &mut part).ok()? {
                continue;
            }
            let met = match clause.going_on {
                None => true,
                Some(wanted) => !deadlock::parts(self, inner, context, &part, wanted)?.is_empty(),
            };
            if met {
                return Some(true);
            }
        }
        Some(false)
    }

    /// What the first property says that is asked about and met.
    pub(super) fn first_met(&self, mut is_met: impl FnMut(Asked) -> Option<bool>) -> Check {
        for (id, info) in self.model.properties().iter().enumerate() {
            if !self.asked[id] || !matches!(info.kind, PropertyKind::Invariant | PropertyKind::Goal) {
                continue;
            }
            let property = PropertyId(id as u32);
            let asked = match self.formulas.get(id) {
                Some(Some(clauses)) => Asked::Clauses(clauses),
                _ => Asked::Discrete { property, wanted: info.kind == PropertyKind::Goal },
            };
            match is_met(asked) {
                Some(false) => {}
                Some(true) => return Check::Hit(property),
                None => return Check::Fault(property),
            }
        }
        Check::Fine
    }
}
