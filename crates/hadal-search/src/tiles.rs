//! Sliding tiles as a state space written in Rust, with the Manhattan distance as its guide: the usual yardstick for
//! searches that want shortest paths.
//!
//! A state is one word, four bits a cell, the first cell lowest; the solved puzzle has the blank first.

use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};
use hadal_system::{
    Check, Label, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace, Successors, Worker,
};

const MOVES: [&str; 4] = ["up", "left", "right", "down"];

/// A 2 by 2 to 4 by 4 puzzle and where it starts.
#[derive(Clone, Debug)]
pub struct Tiles {
    width: usize,
    start: u64,
    properties: Vec<PropertyInfo>,
    /// For each cell of the blank, the cells it can change places with (times four) and the move's label.
    steps: Vec<Vec<(u32, Label)>>,
}

impl Tiles {
    /// The search for the solved puzzle from these tiles, row by row, 0 being the blank; `None` where they are not the
    /// tiles of such a puzzle.
    pub fn new(tiles: &[u64]) -> Option<Self> {
        let width = (2..=4).find(|width| width * width == tiles.len())?;
        let mut sorted = tiles.to_vec();
        sorted.sort_unstable();
        if !sorted.into_iter().eq(0..tiles.len() as u64) {
            return None;
        }
        let start = tiles.iter().enumerate().fold(0, |state, (cell, tile)| state | tile << (4 * cell));
        let goal = PropertyInfo { name: "solved".into(), kind: PropertyKind::Goal, span: Span::default() };
        let steps = (0..width * width).map(|blank| steps(width, blank)).collect();
        Some(Tiles { width, start, properties: vec![goal], steps })
    }

    /// As [`Tiles::new`], one hexadecimal digit a tile.
    pub fn parse(digits: &str) -> Option<Self> {
        let tiles = digits.chars().map(|digit| digit.to_digit(16).map(u64::from));
        Tiles::new(&tiles.collect::<Option<Vec<u64>>>()?)
    }

    /// Everything that can be reached: nothing is looked for.
    pub fn without_goal(mut self) -> Self {
        self.properties.clear();
        self
    }

    /// Where it starts.
    pub fn start(&self) -> u64 {
        self.start
    }

    /// The state that is looked for.
    pub fn solved(&self) -> u64 {
        (0..(self.width * self.width) as u64).fold(0, |state, tile| state | tile << (4 * tile))
    }

    /// Whether the solved puzzle can be reached: each move is a transposition and takes the blank one cell further.
    pub fn is_solvable(&self) -> bool {
        let cells = self.width * self.width;
        let tiles: Vec<u64> = (0..cells).map(|cell| self.start >> (4 * cell) & 15).collect();
        let inversions = (0..cells)
            .flat_map(|a| (a + 1..cells).map(move |b| (a, b)))
            .filter(|&(a, b)| tiles[a] > tiles[b]);
        let blank = tiles.iter().position(|&tile| tile == 0).unwrap_or(0);
        (inversions.count() + blank / self.width + blank % self.width).is_multiple_of(2)
    }
}

fn steps(width: usize, blank: usize) -> Vec<(u32, Label)> {
    let (row, column) = (blank / width, blank % width);
    let cells = [
        row.checked_sub(1).map(|row| row * width + column),
        column.checked_sub(1).map(|column| row * width + column),
        Some(column + 1).filter(|&column| column < width).map(|column| row * width + column),
        Some(row + 1).filter(|&row| row < width).map(|row| row * width + column),
    ];
    let moves = cells.into_iter().enumerate();
    moves.filter_map(|(label, cell)| Some((4 * cell? as u32, Label(label as u32)))).collect()
}

impl StateSpace for Tiles {
    fn words(&self) -> usize {
        1
    }

    fn bits(&self) -> u32 {
        (self.width * self.width * 4) as u32
    }

    fn fingerprint(&self) -> u64 {
        hadal_system::state::hash(&[self.width as u64, self.start, self.properties.len() as u64])
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        let goal = self.properties.first().map(|_| self.solved());
        Box::new(Slider { steps: &self.steps, start: self.start, goal })
    }

    fn undirected(&self) -> Option<u32> {
        Some(1)
    }

    fn may_fault(&self) -> bool {
        false
    }

    fn render_label(&self, label: Label) -> String {
        MOVES.get(label.0 as usize).map_or_else(|| label.0.to_string(), |&name| name.into())
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let row = |row: usize| {
            let tiles =
                (0..self.width).map(|column| match state[0] >> (4 * (row * self.width + column)) & 15 {
                    0 => " .".to_owned(),
                    tile => format!("{tile:2}"),
                });
            tiles.collect::<Vec<_>>().join(" ")
        };
        (0..self.width).map(|n| (format!("row {}", n + 1), row(n))).collect()
    }
}

struct Slider<'a> {
    steps: &'a [Vec<(u32, Label)>],
    start: u64,
    goal: Option<u64>,
}

impl Worker for Slider<'_> {
    fn initial(&mut self, out: &mut Successors) {
        out.push(Label(0), &[self.start]);
    }

    #[inline]
    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let state = state[0];
        let used = state | state >> 1 | state >> 2 | state >> 3;
        // The blank is the lowest empty cell: there is one among the cells, whatever lies above them.
        let blank = (!used & 0x1111_1111_1111_1111).trailing_zeros();
        for &(from, label) in &self.steps[blank as usize / 4] {
            let tile = state >> from & 15;
            out.push(label, &[state ^ tile << from ^ tile << blank]);
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        if self.goal == Some(state[0]) { Check::Hit(PropertyId(0)) } else { Check::Fine }
    }
}

/// How far each tile is from its place, all added up.
pub struct Manhattan {
    /// For each pair of cells, the distance of any two tiles in them.
    pairs: Vec<[u8; 256]>,
}

impl Manhattan {
    /// For puzzles of this shape.
    pub fn new(tiles: &Tiles) -> Self {
        let (width, cells) = (tiles.width, tiles.width * tiles.width);
        let far = |cell: usize, tile: usize| match tile {
            tile if tile == 0 || tile >= cells || cell >= cells => 0,
            tile => (cell / width).abs_diff(tile / width) + (cell % width).abs_diff(tile % width),
        };
        let pair = |pair: usize| {
            let mut distances = [0; 256];
            for (tiles, distance) in distances.iter_mut().enumerate() {
                *distance = (far(2 * pair, tiles % 16) + far(2 * pair + 1, tiles / 16)) as u8;
            }
            distances
        };
        Manhattan { pairs: (0..8).map(pair).collect() }
    }
}

impl Guide for Manhattan {
    fn name(&self) -> String {
        "manhattan".into()
    }

    /// A move takes one tile one cell further.
    fn promises(&self) -> Promises {
        Promises { admissible: true, consistent: true, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(Sum { pairs: &self.pairs })
    }
}

struct Sum<'a> {
    pairs: &'a [[u8; 256]],
}

impl Estimator for Sum<'_> {
    #[inline]
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        let pairs = state[0].to_le_bytes();
        Distance(self.pairs.iter().zip(pairs).map(|(far, tiles)| u32::from(far[tiles as usize])).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn manhattan_distances_of_published_instances() {
        for (start, distance) in [("EDF7BC95602148A3", 41), ("2BF5D467C8A193E0", 30), ("0123456789ABCDEF", 0)]
        {
            let tiles = Tiles::parse(start).unwrap();
            assert!(tiles.is_solvable());
            let estimate = Manhattan::new(&tiles).estimator().estimate(&[tiles.start()], None);
            assert_eq!(estimate, Distance(distance), "{start}");
        }
    }

    #[test]
    fn half_of_all_permutations_are_solvable_and_others_are_refused() {
        assert!(!Tiles::parse("0213").unwrap().is_solvable());
        assert!(Tiles::parse("0123456788ABCDEF").is_none());
        assert!(Tiles::parse("012").is_none());
    }
}
