//! Priced zones: a zone with a linear cost over it (Larsen et al., CAV 2001).
//!
//! The cost is kept at the offset, the lower corner of the zone, with one slope for each clock. Delays and resets split a
//! priced zone along facets; of each point the least cost of all pieces counts.

use super::super::dbm::{INFINITY, Zone, constant, weak};
use super::flow::minimise;

/// A zone and the cost of being in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PricedZone {
    /// The valuations.
    pub zone: Zone,
    /// The cost at the offset.
    pub cost: i64,
    /// What a unit more on a clock costs, by clock; the reference has 0.
    pub slopes: Vec<i64>,
}

/// The lower corner.
fn offset(zone: &Zone, clock: usize) -> i64 {
    i64::from(-constant(zone.entry(0, clock)))
}

impl PricedZone {
    /// All clocks at zero, at no cost.
    pub fn zero(clocks: usize) -> Self {
        PricedZone { zone: Zone::zero(clocks), cost: 0, slopes: vec![0; clocks + 1] }
    }

    /// The cost at the lower corner of another zone.
    fn cost_at_offset(&self, zone: &Zone) -> i64 {
        (1..self.slopes.len()).fold(self.cost, |cost, clock| {
            cost + self.slopes[clock] * (offset(zone, clock) - offset(&self.zone, clock))
        })
    }

    /// Changes the zone by `constrain`, which makes it smaller; false where nothing is left.
    pub fn restrict<E>(&mut self, constrain: impl FnOnce(&mut Zone) -> Result<bool, E>) -> Result<bool, E> {
        let mut smaller = self.zone.clone();
        if !constrain(&mut smaller)? {
            return Ok(false);
        }
        self.cost = self.cost_at_offset(&smaller);
        self.zone = smaller;
        Ok(true)
    }

    /// The part where `x_i - x_j` is at its bound; of a strict bound the edge that is not taken itself, since costs are
    /// infima.
    fn facet(&self, i: usize, j: usize) -> Option<PricedZone> {
        let bound = self.zone.entry(i, j);
        if bound == INFINITY {
            return None;
        }
        let at = constant(bound);
        let mut closure = self.zone.clone();
        if bound & 1 == 0 {
            for a in 0..closure.size() {
                for b in (0..closure.size()).filter(|&b| b != a) {
                    let entry = closure.entry_mut(a, b);
                    if *entry != INFINITY {
                        *entry |= 1;
                    }
                }
            }
            if !closure.close() {
                return None;
            }
        }
        if !closure.constrain(j, i, weak(-at)) || !closure.constrain(i, j, weak(at)) {
            return None;
        }
        let cost = self.cost_at_offset(&closure);
        Some(PricedZone { zone: closure, cost, slopes: self.slopes.clone() })
    }

    /// Lets time pass at this rate: pieces that together have the least costs.
    pub fn delay(&self, rate: i64) -> Vec<PricedZone> {
        let size = self.slopes.len();
        let mut later = self.zone.clone();
        later.up();
        if size == 1 {
            return vec![self.clone()];
        }
        let sum: i64 = self.slopes[1..].iter().sum();
        let mut pieces = Vec::new();
        if rate > sum {
            pieces.push(self.clone());
        }
        for clock in 1..size {
            let facet = if rate > sum { self.facet(clock, 0) } else { self.facet(0, clock) };
            let Some(mut piece) = facet else { continue };
            piece.zone.up();
            piece.slopes[clock] = rate - (sum - self.slopes[clock]);
            if piece.restrict(|zone| Ok::<_, ()>(zone.intersect(&later))) == Ok(true) {
                pieces.push(piece);
            }
        }
        keep_best(pieces)
    }

    /// Sets a clock to a value: pieces that together have the least costs.
    pub fn reset(&self, clock: usize, value: i32) -> Vec<PricedZone> {
        let slope = self.slopes[clock];
        let mut whole = self.zone.clone();
        whole.reset(clock, value);
        if slope == 0 {
            let mut only = self.clone();
            only.zone = whole;
            return vec![only];
        }
        let mut pieces = Vec::new();
        for other in (0..self.slopes.len()).filter(|&other| other != clock) {
            let facet = if slope > 0 { self.facet(other, clock) } else { self.facet(clock, other) };
            let Some(mut piece) = facet else { continue };
            if other > 0 {
                piece.slopes[other] += slope;
            }
            piece.slopes[clock] = 0;
            piece.zone.reset(clock, value);
            if piece.restrict(|zone| Ok::<_, ()>(zone.intersect(&whole))) == Ok(true) {
                pieces.push(piece);
            }
        }
        keep_best(pieces)
    }

    /// The infimum of the cost; `None` where it has no lower end.
    pub fn infimum(&self) -> Option<i64> {
        if self.slopes.iter().all(|&slope| slope >= 0) {
            return Some(self.cost);
        }
        let at_offset: i64 =
            (1..self.slopes.len()).map(|clock| self.slopes[clock] * offset(&self.zone, clock)).sum();
        Some(self.cost - at_offset + minimise(&self.zone, &self.slopes)?.0)
    }

    /// Whether every point of this is also in `other`, at no higher cost there. (Comparing infima alone is unsound.)
    pub fn is_dominated_by(&self, other: &PricedZone) -> bool {
        if !self.zone.is_within(&other.zone) {
            return false;
        }
        let difference = self.cost - other.cost_at_offset(&self.zone);
        if difference < 0 {
            return false;
        }
        let slopes: Vec<i64> =
            self.slopes.iter().zip(&other.slopes).map(|(mine, theirs)| mine - theirs).collect();
        if slopes.iter().all(|&slope| slope >= 0) {
            return true;
        }
        let mut gap = PricedZone { zone: self.zone.clone(), cost: difference, slopes };
        gap.slopes[0] = 0;
        gap.infimum().is_some_and(|least| least >= 0)
    }
}

/// Drops pieces that others dominate.
fn keep_best(pieces: Vec<PricedZone>) -> Vec<PricedZone> {
    let mut kept: Vec<PricedZone> = Vec::new();
    for piece in pieces {
        if kept.iter().any(|other| piece.is_dominated_by(other)) {
            continue;
        }
        kept.retain(|other| !other.is_dominated_by(&piece));
        kept.push(piece);
    }
    kept
}
