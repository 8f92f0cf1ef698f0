//! A state space written in Rust, without any modelling language: the sliding-tile puzzle.
//!
//! ```text
//! cargo run --release -p hadal-search --example sliding_tiles             all of the 8-puzzle
//! cargo run --release -p hadal-search --example sliding_tiles 8 6 7 2 5 4 3 0 1    solve this one
//! ```
//!
//! Implementing [`StateSpace`] takes three things: how a state is packed into 64-bit words, which states come next,
//! and how to show both to a person. Every explorer then works.

use hadal_search::ram::{Search, breadth};
use hadal_search::{Control, DeadlockNotion, Limits, Question, Report, Task, Verdict};
use hadal_store::Governor;
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};

/// The ways the blank can move, by [`Label`].
const MOVES: [(&str, isize, isize); 4] = [("up", -1, 0), ("down", 1, 0), ("left", 0, -1), ("right", 0, 1)];

/// A square of tiles, four bits each: at most 4 by 4, which fills one word.
pub struct SlidingTiles {
    width: usize,
    start: u64,
    properties: Vec<PropertyInfo>,
}

impl SlidingTiles {
    /// Everything that can be reached from the solved `width` by `width` puzzle.
    pub fn all(width: usize) -> Self {
        SlidingTiles { width, start: solved(width), properties: Vec::new() }
    }

    /// The search for the solved puzzle from these tiles, row by row, 0 being the blank; `None` where they are not
    /// the tiles of a 2 by 2 to 4 by 4 puzzle.
    pub fn solve(tiles: &[u64]) -> Option<Self> {
        let width = (2..=4).find(|w| w * w == tiles.len())?;
        let mut sorted = tiles.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..tiles.len() as u64) {
            return None;
        }
        let goal = PropertyInfo { name: "solved".into(), kind: PropertyKind::Goal, span: Span::default() };
        Some(SlidingTiles { width, start: pack(tiles.iter().copied()), properties: vec![goal] })
    }

    /// Explores breadth-first within a budget of bytes.
    pub fn explore(&self, memory: u64, threads: usize) -> Report {
        let question = Question::everything(&self.properties, DeadlockNotion::Off);
        let control = Control::new(Limits::default());
        let task = Task { space: self, question: &question, control: &control };
        breadth::explore(&Search { task, governor: &Governor::new(memory), threads })
    }
}

/// The first tile in the lowest bits.
fn pack(tiles: impl Iterator<Item = u64>) -> u64 {
    tiles.enumerate().fold(0, |state, (n, tile)| state | tile << (4 * n))
}

fn tile(state: u64, at: usize) -> u64 {
    state >> (4 * at) & 15
}

/// `1 2 3 ...`, the blank last.
fn solved(width: usize) -> u64 {
    let cells = (width * width) as u64;
    pack((1..cells).chain([0]))
}

/// The state after the blank moves, if it can.
fn slide(state: u64, width: usize, (_, down, right): (&str, isize, isize)) -> Option<u64> {
    let blank = (0..width * width).find(|&at| tile(state, at) == 0)?;
    let row = (blank / width).checked_add_signed(down).filter(|&r| r < width)?;
    let column = (blank % width).checked_add_signed(right).filter(|&c| c < width)?;
    let from = row * width + column;
    let moved = tile(state, from);
    Some(state & !(15 << (4 * from)) | moved << (4 * blank))
}

impl StateSpace for SlidingTiles {
    fn words(&self) -> usize {
        1
    }

    fn bits(&self) -> u32 {
        (self.width * self.width * 4) as u32
    }

    /// Two puzzles with the same start and size are the same space.
    fn fingerprint(&self) -> u64 {
        hadal_system::state::hash(&[self.width as u64, self.start, self.properties.len() as u64])
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(Slider { puzzle: self })
    }

    fn render_label(&self, label: Label) -> String {
        MOVES[label.0 as usize].0.into()
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let row = |r: usize| {
            let tiles = (0..self.width).map(|c| match tile(state[0], r * self.width + c) {
                0 => " .".to_string(),
                tile => format!("{tile:2}"),
            });
            tiles.collect::<Vec<_>>().join(" ")
        };
        (0..self.width).map(|r| (format!("row {}", r + 1), row(r))).collect()
    }
}

/// Computes successors for one thread; this space needs no memory of its own for that.
struct Slider<'a> {
    puzzle: &'a SlidingTiles,
}

impl Worker for Slider<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[self.puzzle.start]);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        for (label, direction) in MOVES.into_iter().enumerate() {
            if let Some(next) = slide(state[0], self.puzzle.width, direction) {
                out.push(Label(label as u32), &[next]);
            }
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        if !self.puzzle.properties.is_empty() && state[0] == solved(self.puzzle.width) {
            Check::Hit(PropertyId(0))
        } else {
            Check::Fine
        }
    }
}

#[allow(dead_code, reason = "the tests include this file as a module")]
fn main() {
    let tiles: Vec<u64> = std::env::args().skip(1).filter_map(|a| a.parse().ok()).collect();
    let puzzle = if tiles.is_empty() { Some(SlidingTiles::all(3)) } else { SlidingTiles::solve(&tiles) };
    let Some(puzzle) = puzzle else {
        eprintln!("give the tiles row by row, 0 for the blank: 8 6 7 2 5 4 3 0 1");
        std::process::exit(2);
    };
    let report = puzzle.explore(1 << 30, 2);
    match &report.verdict {
        Verdict::Violated(found) => {
            for state in &found.path {
                puzzle.render_state(state).iter().for_each(|(_, row)| println!("{row}"));
                println!();
            }
            println!("solved in {} moves", found.path.len().saturating_sub(1));
        }
        Verdict::Holds if puzzle.properties.is_empty() => {
            println!("{} states, the farthest {:?} moves away", report.states, report.depth);
        }
        Verdict::Holds => println!("cannot be solved: {} states seen", report.states),
        Verdict::Stopped(reason) => println!("stopped: {reason:?}"),
    }
}
