//! A wet floor: a square of cells, some of them slippery, to be crossed from corner to corner.
//!
//! A dry cell obeys. In a wet one a step of slip level `e` goes where it should with `1 - e - e²`, to either side with
//! `(e - e²)/2` each, and nowhere with `2e²`. Bumping into the wall is staying.

use super::{Actions, Task};
use crate::implicit::Ranked;

/// A floor of `side` times `side` cells.
#[derive(Clone, Debug)]
pub struct WetFloor {
    side: i64,
    slip: f64,
}

impl WetFloor {
    /// The floor whose wet cells a fixed rule gives: cell (x, y) is wet where
    /// `(31x² + 17y² + 7xy + 13x + 5y mod 97) mod 5 < 2`.
    pub fn new(side: u32, slip: f64) -> Self {
        WetFloor { side: side.into(), slip }
    }

    /// Whether a cell is slippery.
    pub fn is_wet(&self, x: i64, y: i64) -> bool {
        ((31 * x * x + 17 * y * y + 7 * x * y + 13 * x + 5 * y) % 97) % 5 < 2
    }

    fn step(&self, x: i64, y: i64, way: (i64, i64)) -> u64 {
        let (to_x, to_y) = (x + way.0, y + way.1);
        let inside = (0..self.side).contains(&to_x) && (0..self.side).contains(&to_y);
        if inside { (to_x * self.side + to_y) as u64 } else { (x * self.side + y) as u64 }
    }
}

impl Task for WetFloor {
    fn initial(&self) -> u64 {
        0
    }

    fn terminal(&self, state: u64) -> Option<f64> {
        (state + 1 == (self.side * self.side) as u64).then_some(0.0)
    }

    fn actions(&self, state: u64, out: &mut Actions) {
        let (x, y) = (state as i64 / self.side, state as i64 % self.side);
        let wet = self.is_wet(x, y);
        let e = self.slip;
        for way in [(-1, 0), (0, 1), (1, 0), (0, -1)] {
            let ahead = self.step(x, y, way);
            if !wet {
                out.push(1.0, &[(ahead, 1.0)]);
                continue;
            }
            let side = (e - e * e) / 2.0;
            let left = self.step(x, y, (-way.1, way.0));
            let right = self.step(x, y, (way.1, -way.0));
            out.push(1.0, &[(ahead, 1.0 - e - e * e), (left, side), (right, side), (state, 2.0 * e * e)]);
        }
    }

    fn estimate(&self, state: u64) -> f64 {
        let (x, y) = (state as i64 / self.side, state as i64 % self.side);
        (2 * (self.side - 1) - x - y) as f64
    }
}

impl Ranked for WetFloor {
    fn states(&self) -> u64 {
        (self.side * self.side) as u64
    }

    fn state(&self, rank: u64) -> u64 {
        rank
    }

    fn rank(&self, state: u64) -> u64 {
        state
    }

    fn reach(&self) -> u64 {
        self.side as u64
    }
}
