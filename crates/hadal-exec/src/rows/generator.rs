//! Which rows may fire: a decision tree over the values that rows need, in flat arrays, read on packed words (the
//! successor generator of Helmert 2006, sec. 5.3.1).
//!
//! Each node tests the variable that most of its rows still test. Rows that do not test it hang below `any`.

use super::layout::Place;

const NONE: u32 = u32::MAX;
/// Values of one row that the tree tests; the others are tested where the row is met.
const DEEPEST: usize = 64;

#[derive(Clone, Copy, Debug)]
struct Node {
    place: Place,
    /// Where the children by value begin; `NONE` where nothing is tested.
    children: u32,
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

/// What a row needs of finite variables.
pub(super) type Values = Vec<(u32, u32)>;

impl Generator {
    /// Builds the tree for rows that need these values. `places` and `sizes` are those of the variables. Also says, for
    /// each row, which of its values the tree does not test.
    pub(super) fn new(needs: &[Values], places: &[Place], sizes: &[u32]) -> (Generator, Vec<Values>) {
        let mut tested: Vec<Values> = needs.to_vec();
        let mut left = vec![Values::new(); needs.len()];
        for (tested, left) in tested.iter_mut().zip(&mut left) {
            // A variable with one value is not worth a node, and one that is tested twice is tested once here.
            let mut seen = Vec::new();
            tested.retain(|&(variable, value)| {
                let keep = sizes[variable as usize] > 1
                    && value < sizes[variable as usize]
                    && seen.len() < DEEPEST
                    && !seen.contains(&variable);
                match keep {
                    true => seen.push(variable),
                    false => left.push((variable, value)),
                }
                keep
            });
        }
        let mut building = Building {
            tree: Generator::default(),
            needs: &tested,
            places,
            sizes,
            done: vec![false; places.len()],
            counts: vec![0; places.len()],
        };
        building.build((0..needs.len() as u32).collect());
        (building.tree, left)
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
            if node.children != NONE {
                if node.any != NONE {
                    stack.push(node.any);
                }
                let child = self.children[node.children as usize + node.place.get(state) as usize];
                if child != NONE {
                    stack.push(child);
                }
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
    needs: &'b [Values],
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
                let settled = needs[row as usize].iter().all(|need| done[need.0 as usize]);
                if settled {
                    leaves.push(row);
                }
                !settled
            });
            let node = Node {
                place: Place { word: 0, shift: 0, width: 0 },
                children: NONE,
                any: NONE,
                rows: (begin, self.tree.rows.len() as u32),
            };
            self.tree.nodes.push(node);
            let Some(variable) = self.most_tested(&rows) else { return first };
            let value_of =
                |row: u32| needs[row as usize].iter().find(|need| need.0 == variable).map(|need| need.1);
            let mut testing: Vec<(u32, u32)> =
                rows.iter().filter_map(|&row| Some((value_of(row)?, row))).collect();
            rows.retain(|&row| value_of(row).is_none());
            testing.sort_unstable();
            let base = self.tree.children.len();
            self.tree.children.resize(base + self.sizes[variable as usize] as usize, NONE);
            self.done[variable as usize] = true;
            for group in testing.chunk_by(|a, b| a.0 == b.0) {
                let child = self.build(group.iter().map(|&(_, row)| row).collect());
                self.tree.children[base + group[0].0 as usize] = child;
            }
            self.done[variable as usize] = false;
            let any = if rows.is_empty() { NONE } else { self.tree.nodes.len() as u32 };
            let node = &mut self.tree.nodes[me];
            node.place = self.places[variable as usize];
            node.children = base as u32;
            node.any = any;
            if rows.is_empty() {
                return first;
            }
        }
    }

    /// The variable that most of these rows still test, the first of several.
    fn most_tested(&mut self, rows: &[u32]) -> Option<u32> {
        let mut best: Option<(u32, u32)> = None;
        let needs = self.needs;
        for &row in rows {
            for &(variable, _) in &needs[row as usize] {
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
            for &(variable, _) in &needs[row as usize] {
                self.counts[variable as usize] = 0;
            }
        }
        best.map(|(_, variable)| variable)
    }
}
