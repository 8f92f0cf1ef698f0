//! Sliding tiles whose moves sometimes fail: a move works with probability `p`, else nothing happens.

use super::{Actions, Task};
use crate::implicit::Ranked;

/// A puzzle of at most sixteen cells; the goal has the blank in the first cell and the tiles in order.
#[derive(Clone, Debug)]
pub struct Tiles {
    width: u32,
    height: u32,
    works: f64,
    initial: u64,
    guided: bool,
}

impl Tiles {
    /// A puzzle to be solved from `initial`: the tile in each cell, four bits each, the first cell lowest, 0 the blank.
    pub fn new(width: u32, height: u32, works: f64, initial: u64) -> Self {
        Tiles { width, height, works, initial, guided: false }
    }

    /// The same, with the sum of the tiles' distances as its estimate.
    pub fn guided(self) -> Self {
        Tiles { guided: true, ..self }
    }

    /// The solved puzzle.
    pub fn goal(width: u32, height: u32) -> u64 {
        (0..u64::from(width * height)).fold(0, |state, n| state | n << (4 * n))
    }

    fn blank(&self, state: u64) -> u32 {
        (0..self.width * self.height).find(|n| state >> (4 * n) & 15 == 0).unwrap_or(0)
    }

    /// The states one move away, by the way the blank goes: up, left, right, down.
    pub fn moves(&self, state: u64) -> impl Iterator<Item = u64> + '_ {
        let blank = self.blank(state);
        let (row, column) = (blank / self.width, blank % self.width);
        let ways = [
            (row > 0).then(|| blank - self.width),
            (column > 0).then(|| blank - 1),
            (column + 1 < self.width).then(|| blank + 1),
            (row + 1 < self.height).then(|| blank + self.width),
        ];
        ways.into_iter().flatten().map(move |to| {
            let tile = state >> (4 * to) & 15;
            state & !(15 << (4 * to)) | tile << (4 * blank)
        })
    }

    /// The sum of the tiles' distances to their cells.
    pub fn manhattan(&self, state: u64) -> u32 {
        let mut sum = 0;
        for cell in 0..self.width * self.height {
            let tile = (state >> (4 * cell) & 15) as u32;
            if tile != 0 {
                sum += (tile / self.width).abs_diff(cell / self.width);
                sum += (tile % self.width).abs_diff(cell % self.width);
            }
        }
        sum
    }
}

impl Task for Tiles {
    fn initial(&self) -> u64 {
        self.initial
    }

    fn terminal(&self, state: u64) -> Option<f64> {
        (state == Self::goal(self.width, self.height)).then_some(0.0)
    }

    fn actions(&self, state: u64, out: &mut Actions) {
        for next in self.moves(state) {
            if self.works < 1.0 {
                out.push(1.0, &[(next, self.works), (state, 1.0 - self.works)]);
            } else {
                out.push(1.0, &[(next, 1.0)]);
            }
        }
    }

    fn estimate(&self, state: u64) -> f64 {
        if self.guided { f64::from(self.manhattan(state)) } else { 0.0 }
    }
}

/// States that can be reached, by the cell of the blank, then in the order of tiles: where the last two stand follows, as half of
/// all orders cannot be reached (Johnson, Story 1879).
impl Ranked for Tiles {
    fn states(&self) -> u64 {
        (3..=u64::from(self.width * self.height)).product()
    }

    fn state(&self, rank: u64) -> u64 {
        let tiles = self.width * self.height - 1;
        let mut below = self.states() / u64::from(tiles + 1);
        let (blank, mut rank) = ((rank / below) as u32, rank % below);
        let cell = |n: u32| if n < blank { n } else { n + 1 };
        // Bit n: tile n is left.
        let (mut left, mut state, mut inversions) = ((2u32 << tiles) - 2, 0u64, 0);
        for n in 0..tiles - 2 {
            below /= u64::from(tiles - n);
            let smaller = (rank / below) as u32;
            rank %= below;
            inversions += smaller;
            let tile = nth_bit(left, smaller);
            left &= !(1 << tile);
            state |= u64::from(tile) << (4 * cell(n));
        }
        let (less, more) = (left.trailing_zeros(), 31 - left.leading_zeros());
        // A move changes the parity of the order of all cells, and how far the blank is from its place, by one.
        let moves = blank / self.width + blank % self.width;
        let in_order = (inversions + blank + moves).is_multiple_of(2);
        let (first, last) = if in_order { (less, more) } else { (more, less) };
        state | u64::from(first) << (4 * cell(tiles - 2)) | u64::from(last) << (4 * cell(tiles - 1))
    }

    fn rank(&self, state: u64) -> u64 {
        let tiles = self.width * self.height - 1;
        let blank = self.blank(state);
        let (mut left, mut rank) = ((2u32 << tiles) - 2, u64::from(blank));
        for n in 0..tiles - 2 {
            let cell = if n < blank { n } else { n + 1 };
            let tile = (state >> (4 * cell) & 15) as u32;
            rank = rank * u64::from(tiles - n) + u64::from((left & ((1 << tile) - 1)).count_ones());
            left &= !(1 << tile);
        }
        rank
    }
}

fn nth_bit(mut bits: u32, n: u32) -> u32 {
    for _ in 0..n {
        bits &= bits - 1;
    }
    bits.trailing_zeros()
}
