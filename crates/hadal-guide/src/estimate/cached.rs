//! A bounded, lossy cache of estimates (Wehrle 2011, sec. 6.2.1), keyed by the part of the state that matters and the mask.
//! Estimates are the same with and without it.

use crate::task::AbstractTask;
use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use hadal_system::state::{get_bits, hash};
use std::cell::{Cell, OnceCell, RefCell, RefMut};
use std::collections::HashMap;

/// Estimates that one estimator keeps, at first and at most.
const FIRST_ENTRIES: usize = 1 << 10;
const MOST_ENTRIES: usize = 1 << 14;
/// Preferred transitions of one estimate that are kept with it.
const MOST_PREFERRED: usize = 64;
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
            keys: vec![0; FIRST_ENTRIES * (self.words + 1)],
            values: vec![None; FIRST_ENTRIES],
            fresh: 0,
            preferred: Vec::new(),
            key: vec![0; self.words + 1],
            masks: HashMap::new(),
            last: Last::Inner,
            renewed: Cell::new(false),
            last_supporters: OnceCell::new(),
            last_preferred: OnceCell::new(),
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
    /// Estimates that were not in the cache since it grew last.
    fresh: usize,
    /// The preferred transitions of each entry, as far as they are kept: once they were asked for.
    preferred: Vec<Option<Box<[Label]>>>,
    key: Vec<u64>,
    masks: HashMap<Mask, u64>,
    last: Last,
    /// Whether the last estimate, which came from the cache, was made once more, for the labels behind it.
    renewed: Cell<bool>,
    last_supporters: OnceCell<Option<Vec<Label>>>,
    last_preferred: OnceCell<Vec<Label>>,
}

/// Where the last estimate came from.
enum Last {
    /// It was just made.
    Inner,
    /// From this entry of the cache; of what.
    Entry(usize, Vec<u64>, Option<Mask>),
}

impl<'g> CachedEstimator<'g> {
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

    /// Makes room for four times as many estimates; those kept so far are forgotten.
    fn grow(&mut self) {
        let entries = self.values.len() * 4;
        self.keys = vec![0; entries * self.key.len()];
        self.values = vec![None; entries];
        if !self.preferred.is_empty() {
            self.preferred = vec![None; entries];
        }
        self.fresh = 0;
    }

    /// The inner estimator, which made the last estimate last.
    fn renewed(&self) -> RefMut<'_, Box<dyn Estimator + 'g>> {
        let mut inner = self.inner.borrow_mut();
        if let Last::Entry(_, state, off) = &self.last
            && !self.renewed.replace(true)
        {
            inner.estimate(state, off.as_ref());
        }
        inner
    }
}

impl Estimator for CachedEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        self.renewed.set(false);
        self.last_supporters.take();
        self.last_preferred.take();
        self.set_key(state, off);
        let entry = hash(&self.key) as usize % self.values.len();
        let width = self.key.len();
        let place = entry * width..(entry + 1) * width;
        if let Some(value) = self.values[entry]
            && self.keys[place.clone()] == self.key
        {
            match &mut self.last {
                Last::Entry(at, known, mask) => {
                    *at = entry;
                    known.clear();
                    known.extend_from_slice(state);
                    *mask = off.cloned();
                }
                last => *last = Last::Entry(entry, state.to_vec(), off.cloned()),
            }
            return value;
        }
        let value = self.inner.get_mut().estimate(state, off);
        self.last = Last::Inner;
        self.fresh += 1;
        if self.fresh >= self.values.len() && self.values.len() < MOST_ENTRIES {
            self.grow();
            return value;
        }
        self.keys[place].copy_from_slice(&self.key);
        self.values[entry] = Some(value);
        if let Some(preferred) = self.preferred.get_mut(entry) {
            let inner = self.inner.get_mut();
            *preferred = Some(inner.preferred()).filter(|it| it.len() <= MOST_PREFERRED).map(Box::from);
        }
        value
    }

    fn work(&self) -> u64 {
        self.inner.borrow().work()
    }

    fn supporters(&self) -> Option<&[Label]> {
        let supporters =
            self.last_supporters.get_or_init(|| self.renewed().supporters().map(<[Label]>::to_vec));
        supporters.as_deref()
    }

    fn keep_preferred(&mut self) {
        if self.preferred.is_empty() {
            self.preferred.resize(self.values.len(), None);
        }
        self.inner.get_mut().keep_preferred();
    }

    fn preferred(&self) -> &[Label] {
        if let Last::Entry(entry, ..) = self.last
            && let Some(Some(preferred)) = self.preferred.get(entry)
        {
            return preferred;
        }
        self.last_preferred.get_or_init(|| self.renewed().preferred().to_vec())
    }
}
