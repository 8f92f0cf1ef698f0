//! Which rows may fire: a decision tree over the values that rows need, in flat arrays, read on packed words (the
//! successor generator of Helmert 2006, sec. 5.3.1).
//!
//! Each node tests the variable that most of its rows still test. Rows that do not test it hang below `any`. Where rows
//! ask for few of a variable's values, a node lists those only, so that the tree is never much larger than the rows.

use super::layout::Place;
use hadal_system::rows::{Need, Row};

const NONE: u32 = u32::MAX;
/// Values of one row that the tree tests; the others are tested where the row is met.
const DEEPEST: usize = 64;

/// Values that are compared one after the other.
const FEW: usize = 4;
/// Where a variable has more than so many times the values that are tested, those are listed.
const SPARSE: usize = 8;

#[derive(Clone, Copy, Debug)]
enum Below {
    /// Nothing is tested.
    Nothing,
    /// One value leads on.
    One { value: u32, child: u32 },
    /// Pairs of a value and a child, from here on, by ascending value.
    Few { from: u32, count: u32 },
    /// A child for each value, from here on.
    All { from: u32 },
}

#[derive(Clone, Copy, Debug)]
struct Node {
    place: Place,
    below: Below,
    /// Goes on with the rows that do not test the variable.
    any: u32,
    /// The rows that need nothing more.
    rows: (u32, u32),
}

/// The tree.
#[derive(Clone, Debug, Default)]
pub struct Generator {
    nodes: Vec<Node>,
    children: Vec<u32>,
    rows: Vec<u32>,
}

/// What rows need of finite variables, one row after the other.
#[derive(Clone, Debug)]
pub(super) struct Values {
    begins: Vec<u32>,
    flat: Vec<(u32, u32)>,
}

impl Values {
    fn with_room(rows: usize) -> Self {
        let mut begins = Vec::with_capacity(rows + 1);
        begins.push(0);
        Values { begins, flat: Vec::new() }
    }

    fn end_row(&mut self) {
        self.begins.push(self.flat.len() as u32);
    }

    /// What a row needs.
    #[inline]
    pub(super) fn of(&self, row: u32) -> &[(u32, u32)] {
        &self.flat[self.begins[row as usize] as usize..self.begins[row as usize + 1] as usize]
    }
}

impl Generator {
    /// Bytes that a row takes while the tree is built, at most: a node and a child of its own, its number on the way there.
    pub(super) const ROW_BYTES: usize = size_of::<Node>() + 4 * 4;

    /// Builds the tree for these rows. `places` and `sizes` are those of the variables. Also says which of the values that
    /// rows need the tree does not test.
    pub(super) fn new(rows: &[Row], places: &[Place], sizes: &[u32]) -> (Generator, Values) {
        let (mut tested, mut left) = (Values::with_room(rows.len()), Values::with_room(rows.len()));
        let mut seen = Vec::new();
        for row in rows {
            // A variable with one value is not worth a node, and one that is tested twice is tested once here.
            seen.clear();
            for need in &row.needs {
                let &Need::Is(variable, value) = need else { continue };
                let keep = sizes[variable as usize] > 1
                    && value < sizes[variable as usize]
                    && seen.len() < DEEPEST
                    && !seen.contains(&variable);
                if keep {
                    seen.push(variable);
                    tested.flat.push((variable, value));
                } else {
                    left.flat.push((variable, value));
                }
            }
            tested.end_row();
            left.end_row();
        }
        let mut building = Building {
            tree: Generator::default(),
            needs: &tested,
            places,
            sizes,
            done: vec![false; places.len()],
            counts: vec![0; places.len()],
        };
        building.build((0..rows.len() as u32).collect());
        let mut tree = building.tree;
        tree.nodes.shrink_to_fit();
        tree.children.shrink_to_fit();
        (tree, left)
    }

    /// Calls `found` with every row whose values are met.
    #[inline]
    pub(super) fn each(&self, state: &[u64], stack: &mut Vec<u32>, mut found: impl FnMut(u32)) {
        stack.clear();
        stack.push(0);
        while let Some(at) = stack.pop() {
            let node = self.nodes[at as usize];
            for &row in &self.rows[node.rows.0 as usize..node.rows.1 as usize] {
                found(row);
            }
            if node.any != NONE {
                stack.push(node.any);
            }
            let child = match node.below {
                Below::Nothing => NONE,
                Below::One { value, child } if node.place.get(state) as u32 == value => child,
                Below::One { .. } => NONE,
                Below::Few { from, count } => {
                    let value = node.place.get(state) as u32;
                    let (pairs, _) = self.children[from as usize..][..2 * count as usize].as_chunks::<2>();
                    let found = match pairs.len() {
                        ..=FEW => pairs.iter().find(|pair| pair[0] == value),
                        _ => pairs.binary_search_by_key(&value, |pair| pair[0]).ok().map(|at| &pairs[at]),
                    };
                    found.map_or(NONE, |pair| pair[1])
                }
                Below::All { from } => self.children[from as usize + node.place.get(state) as usize],
            };
            if child != NONE {
                stack.push(child);
            }
        }
    }

    /// Bytes it takes.
    pub(super) fn bytes(&self) -> usize {
        self.nodes.len() * size_of::<Node>() + 4 * (self.children.len() + self.rows.len())
    }
}

struct Building<'b> {
    tree: Generator,
    needs: &'b Values,
    places: &'b [Place],
    sizes: &'b [u32],
    done: Vec<bool>,
    counts: Vec<u32>,
}

impl Building<'_> {
    /// Adds nodes for these rows. Recursion is as deep as a row has values; the chain of `any` is a loop.
    fn build(&mut self, mut rows: Vec<u32>) -> u32 {
        let first = self.tree.nodes.len() as u32;
        loop {
            let me = self.tree.nodes.len();
            let begin = self.tree.rows.len() as u32;
            let needs = self.needs;
            let (done, leaves) = (&self.done, &mut self.tree.rows);
            rows.retain(|&row| {
                let settled = needs.of(row).iter().all(|need| done[need.0 as usize]);
                if settled {
                    leaves.push(row);
                }
                !settled
            });
            let node = Node {
                place: Place { word: 0, shift: 0, width: 0 },
                below: Below::Nothing,
                any: NONE,
                rows: (begin, self.tree.rows.len() as u32),
            };
            self.tree.nodes.push(node);
            let Some(variable) = self.most_tested(&rows) else { return first };
            let value_of = |row: u32| needs.of(row).iter().find(|need| need.0 == variable).map(|need| need.1);
            let mut testing: Vec<(u32, u32)> =
                rows.iter().filter_map(|&row| Some((value_of(row)?, row))).collect();
            rows.retain(|&row| value_of(row).is_none());
            testing.sort_unstable();
            let values = testing.chunk_by(|a, b| a.0 == b.0).count();
            let below = self.below(variable, values);
            self.done[variable as usize] = true;
            for (n, group) in testing.chunk_by(|a, b| a.0 == b.0).enumerate() {
                let value = group[0].0;
                let child = self.build(group.iter().map(|&(_, row)| row).collect());
                match below {
                    Below::Few { from, .. } => {
                        self.tree.children[from as usize + 2 * n..][..2].copy_from_slice(&[value, child]);
                    }
                    Below::All { from } => self.tree.children[(from + value) as usize] = child,
                    _ => self.tree.nodes[me].below = Below::One { value, child },
                }
            }
            self.done[variable as usize] = false;
            let any = if rows.is_empty() { NONE } else { self.tree.nodes.len() as u32 };
            let node = &mut self.tree.nodes[me];
            node.place = self.places[variable as usize];
            if values > 1 {
                node.below = below;
            }
            node.any = any;
            if rows.is_empty() {
                return first;
            }
        }
    }

    /// Makes room for the children of a node that tests a variable for so many values.
    fn below(&mut self, variable: u32, values: usize) -> Below {
        let from = self.tree.children.len() as u32;
        let size = self.sizes[variable as usize] as usize;
        let (below, room) = match values {
            0 | 1 => (Below::Nothing, 0),
            _ if values <= FEW && 2 * values < size || SPARSE * values < size => {
                (Below::Few { from, count: values as u32 }, 2 * values)
            }
            _ => (Below::All { from }, size),
        };
        self.tree.children.resize(from as usize + room, NONE);
        below
    }

    /// The variable that most of these rows still test, the first of several.
    fn most_tested(&mut self, rows: &[u32]) -> Option<u32> {
        let mut best: Option<(u32, u32)> = None;
        let needs = self.needs;
        for &row in rows {
            for &(variable, _) in needs.of(row) {
                if !self.done[variable as usize] {
                    let count = &mut self.counts[variable as usize];
                    *count += 1;
                    let better =
                        best.is_none_or(|(most, which)| *count > most || *count == most && variable < which);
                    if better {
                        best = Some((*count, variable));
                    }
                }
            }
        }
        for &row in rows {
            for &(variable, _) in needs.of(row) {
                self.counts[variable as usize] = 0;
            }
        }
        best.map(|(_, variable)| variable)
    }
}
