//! Deadlock of valuations: no action can fire now or after any delay that the invariants allow.
//!
//! The valuations that can go on are the pasts of what enables an action; the others are left by subtracting them
//! (David, Håkansson, Larsen and Pettersson 2006, on subtraction of difference bound matrices).

use hadal_system::timed::GoingOn;
use hadal_system::{Successors, Worker};

use super::code::Context;
use super::dbm::{Zone, weak};
use super::space::ZoneSpace;
use super::timing::{Faulty, Set, apply_all};

/// The parts of `zone` from which going on is as wanted; `None` where an error of the model is met.
pub(crate) fn parts(
    space: &ZoneSpace,
    inner: &mut dyn Worker,
    context: &Context,
    zone: &Zone,
    wanted: GoingOn,
) -> Option<Vec<Zone>> {
    if wanted == GoingOn::StuckInTime && !space.time_ends(context).ok()? {
        return Some(Vec::new());
    }
    let mut discrete = Successors::new(context.state.len());
    inner.successors(context.state, &mut discrete);
    let still = space.is_still(context).ok()?;
    let mut locals = Vec::new();
    let mut left = vec![zone.clone()];
    let mut live = Vec::new();
    let faults = discrete.faults().iter().map(|&label| (label, None));
    let steps = discrete.iter().map(|(label, state)| (label, Some(state))).chain(faults);
    for (label, after) in steps {
        space.locals(label, &mut locals);
        let action = space.action(label);
        let shapes = &space.model.system().actions[action].locals;
        let before = Context { locals: &locals, shapes, ..*context };
        let mut enabled = Zone::all(space.zones.size - 1);
        if let Some(after) = after {
            let after = Context { state: after, ..before };
            let alone = Context { locals: &[], shapes: &[], ..after };
            if !space.keep_invariants(&alone, &mut enabled).ok()?
                || !before_resets(space, action, (&before, &after), &mut enabled).ok()?
            {
                continue;
            }
        }
        if !apply_all(&space.timing[action].guard, &before, &mut enabled).ok()?
            || !space.keep_invariants(context, &mut enabled).ok()?
        {
            continue;
        }
        if !still {
            enabled.down();
        }
        let mut part = zone.clone();
        if !part.intersect(&enabled) {
            continue;
        }
        live.push(part);
        left = left.iter().flat_map(|part| part.subtract(&enabled)).collect();
    }
    Some(if wanted == GoingOn::Possible { live } else { left })
}

/// What the resets of an action lead into `zone`; false where nothing does.
fn before_resets(
    space: &ZoneSpace,
    action: usize,
    (before, after): (&Context, &Context),
    zone: &mut Zone,
) -> Result<bool, Faulty> {
    for reset in space.timing[action].resets.iter().rev() {
        let Some(Set { clock, from, value }) = reset.set(before, after)? else { continue };
        if clock == from {
            // What showed x before shows x + value now.
            if !zone.constrain(0, clock, weak(-value.max(0))) {
                return Ok(false);
            }
            zone.copy_clock(clock, clock, -value);
            continue;
        }
        if !zone.constrain(clock, from, weak(value)) || !zone.constrain(from, clock, weak(-value)) {
            return Ok(false);
        }
        zone.free(clock);
    }
    Ok(true)
}
