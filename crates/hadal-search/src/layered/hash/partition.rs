//! The partition of states into buckets: a decision tree over pieces of the packed state (Lamborn 2014, sec. 4.2.2).
//!
//! Equal states are in the same bucket, so buckets are freed of duplicates one by one. A bucket that outgrows memory is
//! split by one more piece; nothing else moves.

use hadal_system::StateSpace;
use hadal_system::state::{get_bits, hash};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::slice::ChunksExact;

/// Widest piece: wider scalars are cut, so that one split makes at most 256 buckets.
const WIDEST: u32 = 8;
const VERSION: u32 = 1;

/// Some bits of the packed state.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Piece {
    /// The scalar it belongs to.
    pub name: String,
    offset: u32,
    width: u32,
}

/// How the variable of a split is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SplitBy {
    /// The largest new bucket is as small as possible.
    SmallestLargest,
    /// As few new buckets as possible, but more than one.
    Fewest,
    /// Any unused one.
    Random,
}

/// A partition, and enough to recognise the space it was made for.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Partition {
    version: u32,
    /// Of the space's states; another layout has another partition.
    layout: u64,
    pieces: Vec<Piece>,
    nodes: Vec<Node>,
    buckets: usize,
    /// The pieces that every path from the root begins with.
    plan: Vec<usize>,
    /// Where paths lead that were taken lately.
    #[serde(skip)]
    lately: Lately,
}

/// The nodes behind the planned pieces by the values of those, as many as there is room for.
#[derive(Clone, Debug, Default)]
struct Lately {
    /// Values and node, by a hash of the values.
    places: Vec<Option<(u64, usize)>>,
}

/// Places for paths that were taken lately.
const LATELY: usize = 1 << 10;

impl Lately {
    fn place(&mut self, values: u64) -> &mut Option<(u64, usize)> {
        if self.places.is_empty() {
            self.places.resize(LATELY, None);
        }
        &mut self.places[hash(&[values]) as usize % LATELY]
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
enum Node {
    Leaf { bucket: usize, used: Vec<usize> },
    Inner { piece: usize, used: Vec<usize>, children: BTreeMap<u64, usize> },
}

/// A partition that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PartitionError {
    /// No such scalar.
    #[error("the model has no scalar `{0}` to part states by")]
    Unknown(String),
    /// Not a saved partition.
    #[error("not a saved partition: {0}")]
    Damaged(String),
    /// Made for something else.
    #[error("the saved partition is for states of another layout")]
    OtherModel,
    /// Nothing to project on.
    #[error("structured detection projects states on some of their scalars, and this state space names none")]
    NoScalars,
}

impl Partition {
    /// Everything in one bucket.
    pub fn whole(space: &dyn StateSpace) -> Self {
        let pieces = pieces(space);
        let layout = layout(&pieces, space);
        let nodes = vec![Node::Leaf { bucket: 0, used: Vec::new() }];
        Partition {
            version: VERSION,
            layout,
            pieces,
            nodes,
            buckets: 1,
            plan: Vec::new(),
            lately: Lately::default(),
        }
    }

    /// By these scalars; a name also stands for everything inside it (`a` for `a[1].b`).
    pub fn by_names(space: &dyn StateSpace, names: &[&str]) -> Result<Self, PartitionError> {
        let mut partition = Partition::whole(space);
        let mut chosen = Vec::new();
        for &name in names {
            let inside = |piece: &Piece| {
                piece
                    .name
                    .strip_prefix(name)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with(['[', '.']))
            };
            let matching = (0..partition.pieces.len()).filter(|&n| inside(&partition.pieces[n]));
            let before = chosen.len();
            chosen.extend(matching);
            if chosen.len() == before {
                return Err(PartitionError::Unknown(name.to_owned()));
            }
        }
        partition.split_evenly(&chosen);
        Ok(partition)
    }

    /// The one that [`Partition::saved`] wrote.
    pub fn load(space: &dyn StateSpace, text: &str) -> Result<Self, PartitionError> {
        let damaged = |error: serde_json::Error| PartitionError::Damaged(error.to_string());
        let partition: Partition = serde_json::from_str(text).map_err(damaged)?;
        let whole = Partition::whole(space);
        if partition.version != VERSION
            || partition.layout != whole.layout
            || partition.pieces != whole.pieces
        {
            return Err(PartitionError::OtherModel);
        }
        let (nodes, pieces) = (partition.nodes.len(), partition.pieces.len());
        let sound = |(n, node): (usize, &Node)| match node {
            Node::Leaf { bucket, .. } => *bucket < partition.buckets,
            // Children come after their parent, so that every walk ends.
            Node::Inner { piece, children, .. } => {
                *piece < pieces && children.values().all(|&child| n < child && child < nodes)
            }
        };
        let is_sound = nodes > 0 && partition.nodes.iter().enumerate().all(sound);
        if !is_sound || !partition.follows_plan() {
            return Err(PartitionError::Damaged("its tree is broken".into()));
        }
        Ok(partition)
    }

    /// Whether every path from the root begins with the planned pieces.
    fn follows_plan(&self) -> bool {
        let mut next = vec![(0, 0)];
        while let Some((node, depth)) = next.pop() {
            match (&self.nodes[node], self.plan.get(depth)) {
                (Node::Leaf { .. }, Some(_)) => return false,
                (Node::Inner { piece, .. }, Some(planned)) if piece != planned => return false,
                (Node::Inner { children, .. }, Some(_)) => {
                    next.extend(children.values().map(|&child| (child, depth + 1)));
                }
                (_, None) => {}
            }
        }
        true
    }

    /// For a file.
    pub fn saved(&self) -> String {
        // Numbers, strings and maps of them always serialise.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// How many buckets there are.
    pub fn buckets(&self) -> usize {
        self.buckets
    }

    /// The scalars that states are parted by, each once: those of the first partition, then those of splits.
    pub fn scalars(&self) -> Vec<String> {
        let split = self.nodes.iter().filter_map(|node| match node {
            Node::Inner { piece, .. } => Some(*piece),
            Node::Leaf { .. } => None,
        });
        let mut names: Vec<String> = Vec::new();
        for piece in self.plan.iter().copied().chain(split) {
            if !names.contains(&self.pieces[piece].name) {
                names.push(self.pieces[piece].name.clone());
            }
        }
        names
    }

    /// Most pieces on the way to a bucket.
    pub fn depth(&self) -> u64 {
        let depths = self.nodes.iter().map(|node| match node {
            Node::Leaf { used, .. } => used.len(),
            Node::Inner { .. } => 0,
        });
        depths.max().unwrap_or(0) as u64
    }

    /// The pieces that states can be parted by.
    pub(super) fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Parts the whole by these pieces.
    pub(super) fn split_evenly(&mut self, pieces: &[usize]) {
        self.nodes.clear();
        self.lately = Lately::default();
        self.buckets = 0;
        // Children appear as states do.
        self.plan = pieces.to_vec();
        self.add_node(Vec::new());
    }

    fn add_node(&mut self, used: Vec<usize>) -> usize {
        let node = match self.plan.get(used.len()) {
            Some(&piece) if self.plan[..used.len()] == used[..] => {
                Node::Inner { piece, used, children: BTreeMap::new() }
            }
            _ => {
                self.buckets += 1;
                Node::Leaf { bucket: self.buckets - 1, used }
            }
        };
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The bucket of a state, if its values were met before.
    pub(super) fn find(&self, state: &[u64]) -> Option<usize> {
        let mut at = 0;
        loop {
            match &self.nodes[at] {
                Node::Leaf { bucket, .. } => return Some(*bucket),
                Node::Inner { piece, children, .. } => {
                    at = *children.get(&self.pieces[*piece].value(state))?
                }
            }
        }
    }

    /// The bucket of a state; a value not met before makes a new one.
    pub(super) fn bucket(&mut self, state: &[u64]) -> usize {
        let Some(values) = self.planned_values(state) else { return self.walk(state, 0, None) };
        match *self.lately.place(values) {
            Some((same, at)) if same == values => self.walk(state, at, None),
            _ => self.walk(state, 0, Some(values)),
        }
    }

    /// The values of the planned pieces, where there are some and they fit a word.
    fn planned_values(&self, state: &[u64]) -> Option<u64> {
        let (mut values, mut bits) = (0, 0);
        for &piece in &self.plan {
            let piece = &self.pieces[piece];
            bits += piece.width;
            if bits > u64::BITS {
                return None;
            }
            // Pieces are narrower than a word.
            values = values << piece.width | piece.value(state);
        }
        (bits > 0).then_some(values)
    }

    /// The bucket of a state from this node on; the node behind the planned pieces is noted under their `values`.
    fn walk(&mut self, state: &[u64], mut at: usize, values: Option<u64>) -> usize {
        let mut level = 0;
        loop {
            if let Some(values) = values.filter(|_| level == self.plan.len()) {
                *self.lately.place(values) = Some((values, at));
            }
            level += 1;
            let (value, used) = match &self.nodes[at] {
                Node::Leaf { bucket, .. } => return *bucket,
                Node::Inner { piece, used, children } => {
                    let value = self.pieces[*piece].value(state);
                    if let Some(&child) = children.get(&value) {
                        at = child;
                        continue;
                    }
                    let mut used = used.clone();
                    used.push(*piece);
                    (value, used)
                }
            };
            let child = self.add_node(used);
            if let Node::Inner { children, .. } = &mut self.nodes[at] {
                children.insert(value, child);
            }
            at = child;
        }
    }

    /// Splits a bucket by the piece that suits `sample` best; `false` where no piece tells its states apart.
    pub(super) fn split(
        &mut self,
        bucket: usize,
        sample: ChunksExact<'_, u64>,
        by: SplitBy,
        random: u64,
    ) -> bool {
        let leaf = |node: &Node| matches!(node, Node::Leaf { bucket: other, .. } if *other == bucket);
        let Some(at) = self.nodes.iter().position(leaf) else { return false };
        let Node::Leaf { used, .. } = &self.nodes[at] else { return false };
        let states = sample.len();
        let mut choices = Vec::new();
        for (n, piece) in self.pieces.iter().enumerate().filter(|(n, _)| !used.contains(n)) {
            let mut classes: HashMap<u64, usize> = HashMap::new();
            for state in sample.clone() {
                *classes.entry(piece.value(state)).or_default() += 1;
            }
            let largest = classes.values().copied().max().unwrap_or(states);
            if largest < states {
                choices.push((largest, classes.len(), n));
            }
        }
        let best = match by {
            SplitBy::SmallestLargest => choices.iter().min(),
            SplitBy::Fewest => choices.iter().min_by_key(|&&(largest, children, n)| (children, largest, n)),
            SplitBy::Random => choices.get(random as usize % choices.len().max(1)),
        };
        let Some(&(_, _, piece)) = best else { return false };
        let used = used.clone();
        self.nodes[at] = Node::Inner { piece, used, children: BTreeMap::new() };
        true
    }
}

impl Piece {
    pub(super) fn value(&self, state: &[u64]) -> u64 {
        get_bits(state, self.offset, self.width)
    }
}

/// The scalars of the space, wide ones cut; the bytes of the state where it names none.
fn pieces(space: &dyn StateSpace) -> Vec<Piece> {
    let mut pieces = Vec::new();
    let mut cut = |name: &str, offset: u32, width: u32| {
        for start in (0..width).step_by(WIDEST as usize) {
            let width = WIDEST.min(width - start);
            pieces.push(Piece { name: name.to_owned(), offset: offset + start, width });
        }
    };
    for field in space.fields() {
        cut(&field.name, field.offset, field.width);
    }
    if space.fields().is_empty() {
        for byte in 0..space.bits().div_ceil(8) {
            cut(&format!("byte{byte}"), 8 * byte, 8.min(space.bits() - 8 * byte));
        }
    }
    pieces
}

fn layout(pieces: &[Piece], space: &dyn StateSpace) -> u64 {
    let mut mix = space.words() as u64;
    for piece in pieces {
        let word = u64::from(piece.offset) << 32 | u64::from(piece.width);
        mix = (mix ^ word).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
    }
    mix
}
