//! Components of the state vector (Evangelista and Kristensen 2011, sec. 4): what a partition can be split by.
//!
//! Every scalar is one; so is every array or record as a whole, and, for the baselines, every process's share of the
//! state.

use hadal_system::state::{get_bits, hash};
use hadal_system::{StateField, StateSpace};
use std::collections::BTreeMap;

/// Sub-partitions by a component with a large domain (sec. 4; 20 in the source).
pub(super) const WAYS: usize = 20;
/// Scalars of at most this many bits branch by their value.
const SMALL_BITS: u32 = 4;

/// What a component is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    /// One scalar.
    Scalar,
    /// An array or record.
    Variable,
    /// Everything one process owns.
    Process,
}

/// Some bits within a word of the state.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bits {
    word: u32,
    shift: u32,
    mask: u64,
}

impl Bits {
    /// Their value in a state.
    #[inline]
    pub(super) fn of(self, state: &[u64]) -> u64 {
        state[self.word as usize] >> self.shift & self.mask
    }
}

/// The sub-partition of a value among many.
#[inline]
pub(super) fn hashed(value: u64) -> usize {
    (hash(&[value]) % WAYS as u64) as usize
}

/// A part of the state that can be looked at by itself.
#[derive(Clone, Debug)]
pub(super) struct Component {
    /// How it is called.
    pub(super) name: String,
    /// What it is.
    pub(super) scope: Scope,
    /// How many ways to fire may write it, where known.
    pub(super) writers: Option<u64>,
    /// Offset and width of each scalar in it.
    parts: Vec<(u32, u32)>,
}

impl Component {
    fn of(name: String, scope: Scope, fields: &[Written<'_>]) -> Self {
        Component {
            name,
            scope,
            writers: fields.iter().map(|field| field.1).sum(),
            parts: fields.iter().map(|field| (field.0.offset, field.0.width)).collect(),
        }
    }

    /// Its value in a state, or a hash of it where it has several parts.
    pub(super) fn value(&self, state: &[u64]) -> u64 {
        match self.parts[..] {
            [(offset, width)] => get_bits(state, offset, width),
            _ => self
                .parts
                .iter()
                .fold(0, |sum, &(offset, width)| hash(&[sum, get_bits(state, offset, width)])),
        }
    }

    /// How many sub-partitions it makes.
    pub(super) fn ways(&self) -> usize {
        match self.parts[..] {
            [(_, width)] if width <= SMALL_BITS => 1 << width,
            _ => WAYS,
        }
    }

    /// Where it is, if it lies within one word, and whether it branches by its value.
    pub(super) fn bits(&self) -> Option<(Bits, bool)> {
        let [(offset, width)] = self.parts[..] else { return None };
        let (word, shift) = (offset / 64, offset % 64);
        let is_within = width > 0 && shift + width <= 64;
        let mask = u64::MAX.checked_shr(64 - width).unwrap_or(0);
        is_within.then_some((Bits { word, shift, mask }, width <= SMALL_BITS))
    }

    /// Which of them a state belongs to.
    pub(super) fn branch(&self, state: &[u64]) -> usize {
        let value = self.value(state);
        match self.parts[..] {
            [(_, width)] if width <= SMALL_BITS => value as usize,
            _ => hashed(value),
        }
    }

    /// Whether two states differ in it, given the bits in which they differ.
    pub(super) fn is_touched(&self, difference: &[u64]) -> bool {
        self.parts.iter().any(|&(offset, width)| get_bits(difference, offset, width) != 0)
    }
}

/// A scalar, and how many ways to fire may write it, where that is known.
type Written<'f> = (&'f StateField, Option<u64>);

/// All components of a space, in an order that is always the same; `writers` of each of its scalars where they matter.
pub(super) fn components(space: &dyn StateSpace, writers: Option<&[u64]>) -> Vec<Component> {
    let fields = space.fields().iter().enumerate();
    let fields = fields.map(|(n, field)| (field, writers.and_then(|writers| writers.get(n).copied())));
    let fields: Vec<Written<'_>> = fields.filter(|(field, _)| field.width > 0).collect();
    let mut all: Vec<Component> =
        fields.iter().map(|&field| Component::of(field.0.name.clone(), Scope::Scalar, &[field])).collect();
    let mut variables: BTreeMap<u32, Vec<Written<'_>>> = BTreeMap::new();
    let mut processes: BTreeMap<u32, Vec<Written<'_>>> = BTreeMap::new();
    for field in fields {
        variables.entry(field.0.group).or_default().push(field);
        if let Some(owner) = field.0.owner {
            processes.entry(owner).or_default().push(field);
        }
    }
    for (_, fields) in variables.into_iter().filter(|(_, fields)| fields.len() > 1) {
        all.push(Component::of(
            format!("{} and {} more", fields[0].0.name, fields.len() - 1),
            Scope::Variable,
            &fields,
        ));
    }
    for (owner, fields) in processes {
        all.push(Component::of(format!("process {owner}"), Scope::Process, &fields));
    }
    all
}
