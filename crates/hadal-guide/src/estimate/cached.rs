//! A bounded, lossy cache of estimates (Wehrle 2011, sec. 6.2.1), keyed by the part of the state that matters and the mask.
//! Estimates are the same with and without it.

use crate::task::AbstractTask;
use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use hadal_system::state::{get_bits, hash};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;

/// Estimates that one estimator keeps.
const ENTRIES: usize = 1 << 14;
/// Masks that are told apart; more begin a new cache.
const MAX_MASKS: usize = 1 << 14;
/// Keys of more words than this are not kept.
const MAX_WORDS: usize = 64;

/// A guide whose estimates are remembered.
pub struct Cached<'m> {
    inner: Box<dyn Guide + 'm>,
    /// Offset and width of each scalar that matters.
    fields: Vec<(u32, u32)>,
    words: usize,
}

impl<'m> Cached<'m> {
    pub fn new(inner: Box<dyn Guide + 'm>, task: &AbstractTask) -> Self {
        let fields: Vec<(u32, u32)> = task.variables.iter().flat_map(|v| v.fields()).copied().collect();
        let bits: u32 = fields.iter().map(|(_, width)| width).sum();
        Cached { inner, fields, words: bits.div_ceil(64) as usize }
    }
}

impl Guide for Cached<'_> {
    fn name(&self) -> String {
        self.inner.name()
    }

    fn promises(&self) -> Promises {
        self.inner.promises()
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        if self.words > MAX_WORDS {
            return self.inner.estimator();
        }
        Box::new(CachedEstimator {
            guide: self,
            inner: RefCell::new(self.inner.estimator()),
            keys: vec![0; ENTRIES * (self.words + 1)],
            values: vec![None; ENTRIES],
            key: vec![0; self.words + 1],
            masks: HashMap::new(),
            last: None,
            labels: OnceCell::new(),
        })
    }

    fn failure(&self) -> Option<String> {
        self.inner.failure()
    }
}

struct CachedEstimator<'g> {
    guide: &'g Cached<'g>,
    inner: RefCell<Box<dyn Estimator + 'g>>,
    /// The key of each entry: the part of the state, then the number of the mask.
    keys: Vec<u64>,
    values: Vec<Option<Distance>>,
    key: Vec<u64>,
    masks: HashMap<Mask, u64>,
    /// What was asked last, where the answer came from the cache.
    last: Option<(Vec<u64>, Option<Mask>)>,
    /// The labels behind the last estimate, worked out where they are asked for.
    labels: OnceCell<(Option<Vec<Label>>, Vec<Label>)>,
}

impl CachedEstimator<'_> {
    fn set_key(&mut self, state: &[u64], off: Option<&Mask>) {
        self.key.fill(0);
        let mut at = 0u32;
        for &(offset, width) in &self.guide.fields {
            let bits = get_bits(state, offset, width);
            let (word, shift) = ((at / 64) as usize, at % 64);
            if width > 0 {
                self.key[word] |= bits << shift;
                if shift + width > 64 {
                    self.key[word + 1] |= bits >> (64 - shift);
                }
            }
            at += width;
        }
        let number = match off.filter(|off| !off.is_empty()) {
            None => 0,
            Some(off) => match self.masks.get(off) {
                Some(&number) => number,
                None => {
                    if self.masks.len() == MAX_MASKS {
                        self.masks.clear();
                        self.values.fill(None);
                    }
                    let number = self.masks.len() as u64 + 1;
                    self.masks.insert(off.clone(), number);
                    number
                }
            },
        };
        let last = self.key.len() - 1;
        self.key[last] = number;
    }

    fn labels(&self) -> &(Option<Vec<Label>>, Vec<Label>) {
        self.labels.get_or_init(|| {
            let mut inner = self.inner.borrow_mut();
            if let Some((state, off)) = &self.last {
                inner.estimate(state, off.as_ref());
            }
            (inner.supporters().map(<[Label]>::to_vec), inner.preferred().to_vec())
        })
    }
}

impl Estimator for CachedEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        self.labels.take();
        self.set_key(state, off);
        let entry = hash(&self.key) as usize % ENTRIES;
        let width = self.key.len();
        let place = entry * width..(entry + 1) * width;
        if let Some(value) = self.values[entry]
            && self.keys[place.clone()] == self.key
        {
            match &mut self.last {
                Some((known, mask)) => {
                    known.clear();
                    known.extend_from_slice(state);
                    *mask = off.cloned();
                }
                last => *last = Some((state.to_vec(), off.cloned())),
            }
            return value;
        }
        let value = self.inner.get_mut().estimate(state, off);
        self.last = None;
        self.keys[place].copy_from_slice(&self.key);
        self.values[entry] = Some(value);
        value
    }

    fn work(&self) -> u64 {
        self.inner.borrow().work()
    }

    fn supporters(&self) -> Option<&[Label]> {
        self.labels().0.as_deref()
    }

    fn preferred(&self) -> &[Label] {
        &self.labels().1
    }
}
