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
    /// By place: how many orders of the tiles behind it there are that can be reached.
    weights: [u64; 16],
    /// How many states have the blank in the same cell.
    part: u64,
}

impl Tiles {
    /// A puzzle to be solved from `initial`: the tile in each cell, four bits each, the first cell lowest, 0 the blank.
    pub fn new(width: u32, height: u32, works: f64, initial: u64) -> Self {
        let behind = |place: usize| (3..u64::from(width * height - 1).saturating_sub(place as u64)).product();
        Tiles {
            width,
            height,
            works,
            initial,
            guided: false,
            weights: std::array::from_fn(behind),
            part: (3..u64::from(width * height)).product(),
        }
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

    fn terminal_at(&self, rank: u64) -> Option<f64> {
        // The blank in the first cell and the tiles in order.
        (rank == 0).then_some(0.0)
    }

    fn actions_at(&self, rank: u64, out: &mut Actions) {
        let board = Board::at(self, rank);
        board.moves(self, |to| match self.works < 1.0 {
            true => out.push(1.0, &[(to, self.works), (rank, 1.0 - self.works)]),
            false => out.push(1.0, &[(to, 1.0)]),
        });
    }

    fn update(&self, first: u64, new: &mut [f64], of: impl Fn(u64) -> f64) -> (f64, u64) {
        let mut board = Board::at(self, first);
        let (mut change, mut edges) = (0.0f64, 0);
        let outcomes = if self.works < 1.0 { 2 } else { 1 };
        for value in new {
            let own = of(board.rank);
            let stays = 1.0 + (1.0 - self.works) * own;
            let mut best = f64::INFINITY;
            if board.rank == 0 {
                best = 0.0;
            } else {
                board.moves(self, |to| {
                    edges += outcomes;
                    best = best.min(stays + self.works * of(to));
                });
            }
            change = change.max((best - own).abs());
            *value = best;
            board.step(self);
        }
        (change, edges)
    }

    fn reach(&self) -> u64 {
        self.part * u64::from(self.width + 1)
    }
}

/// Where the blank goes to another row.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Way {
    Up,
    Down,
}

/// A state by its number, taken apart: where the blank is, and for each place how many tiles behind it are smaller than its own.
struct Board {
    rank: u64,
    blank: u32,
    /// The number of the order of the tiles.
    order: u64,
    digits: [u32; 16],
    /// The sum of the digits.
    inversions: u32,
}

impl Board {
    fn at(tiles: &Tiles, rank: u64) -> Self {
        let places = tiles.width * tiles.height - 1;
        let part = tiles.part;
        let (blank, order) = ((rank / part) as u32, rank % part);
        let digit = |place: usize| match (place as u32) < places - 2 {
            true => (order / tiles.weights[place] % (u64::from(places) - place as u64)) as u32,
            false => 0,
        };
        let digits: [u32; 16] = std::array::from_fn(digit);
        Board { rank, blank, order, inversions: digits.iter().sum(), digits }
    }

    /// The state with the next number.
    fn step(&mut self, tiles: &Tiles) {
        let places = tiles.width * tiles.height - 1;
        self.rank += 1;
        self.order += 1;
        for place in (0..places - 2).rev() {
            let digit = &mut self.digits[place as usize];
            *digit += 1;
            if *digit < places - place {
                self.inversions += 1;
                return;
            }
            self.inversions -= *digit - 1;
            *digit = 0;
        }
        self.blank += 1;
        self.order = 0;
    }

    /// Tells the numbers of the states one move away, by the way the blank goes: up, left, right, down.
    fn moves(&self, tiles: &Tiles, mut each: impl FnMut(u64)) {
        let (part, width) = (tiles.part, tiles.width);
        let (row, column) = (self.blank / width, self.blank % width);
        if row > 0 {
            each(u64::from(self.blank - width) * part + self.rotated(tiles, Way::Up));
        }
        // The tiles stay in their order when the blank moves along its row.
        if column > 0 {
            each(self.rank - part);
        }
        if column + 1 < width {
            each(self.rank + part);
        }
        if row + 1 < tiles.height {
            each(u64::from(self.blank + width) * part + self.rotated(tiles, Way::Down));
        }
    }

    /// The number of the order of the tiles after the blank has moved to another row: one tile has passed those of a row but one.
    fn rotated(&self, tiles: &Tiles, way: Way) -> u64 {
        let (places, width) = (tiles.width * tiles.height - 1, tiles.width as usize);
        let first = if way == Way::Up { self.blank - tiles.width } else { self.blank };
        let mut members = [0u32; 16];
        let mut left = (1u32 << (places - first)) - 1;
        let mut order = self.order;
        for (n, member) in members[..width].iter_mut().enumerate() {
            let place = first + n as u32;
            let digit = self.digits[place as usize];
            let smaller = if place < places - 2 {
                order -= u64::from(digit) * tiles.weights[place as usize];
                digit
            } else if place == places - 2 {
                // Which of the last two comes first follows from the others.
                let moves = self.blank / tiles.width + self.blank % tiles.width;
                (self.inversions + self.blank + moves) % 2
            } else {
                0
            };
            *member = nth_bit(left, smaller);
            left &= !(1 << *member);
        }
        match way {
            Way::Up => members[..width].rotate_left(1),
            Way::Down => members[..width].rotate_right(1),
        }
        let mut left = (1u32 << (places - first)) - 1;
        for (n, &member) in members[..width].iter().enumerate() {
            let place = first + n as u32;
            if place < places - 2 {
                let smaller = (left & ((1 << member) - 1)).count_ones();
                order += u64::from(smaller) * tiles.weights[place as usize];
            }
            left &= !(1 << member);
        }
        order
    }
}

fn nth_bit(mut bits: u32, n: u32) -> u32 {
    for _ in 0..n {
        bits &= bits - 1;
    }
    bits.trailing_zeros()
}
