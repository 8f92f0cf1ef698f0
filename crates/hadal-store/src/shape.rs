//! Records: a packed state, with a small payload where one is wanted (parent hash, action).
//!
//! A record is `payload_words` words followed by the state's `words`: as one big integer (last word most
//! significant) records order by state first and equal states by payload, so sorting needs no second key.

use hadal_system::{Merge, Payload};
use std::cmp::Ordering;
use std::hint::select_unpredictable;

/// How many words of a record are state and how many are payload, and what becomes of two payloads of one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RecordShape {
    words: u16,
    payload_words: u16,
    merge: Merge,
}

impl RecordShape {
    /// Records that are bare states of `words` words (1 to 8191).
    pub fn states(words: usize) -> Self {
        Self::with_payload(words, 0)
    }

    /// States of `words` words (1 to 8191), each with `payload_words` words attached, of which the least stay.
    pub fn with_payload(words: usize, payload_words: usize) -> Self {
        assert!((1..=8191).contains(&words) && payload_words <= 8191, "no record has such a shape");
        RecordShape { words: words as u16, payload_words: payload_words as u16, merge: Merge::Least }
    }

    /// States of `words` words with this beside each.
    pub fn keeping(words: usize, payload: Payload) -> Self {
        RecordShape { merge: payload.merge, ..Self::with_payload(words, payload.words) }
    }

    /// What is beside each state.
    pub fn payload(self) -> Payload {
        Payload { words: self.payload_words(), merge: self.merge }
    }

    /// What becomes of two payloads of one state.
    pub fn merge(self) -> Merge {
        self.merge
    }

    /// Words of a state.
    pub fn words(self) -> usize {
        usize::from(self.words)
    }

    /// Words of payload.
    pub fn payload_words(self) -> usize {
        usize::from(self.payload_words)
    }

    /// Words of a whole record.
    pub fn stride(self) -> usize {
        self.words() + self.payload_words()
    }

    /// Bytes of a whole record in RAM.
    pub fn bytes(self) -> usize {
        self.stride() * 8
    }

    /// Leaves the bare states of records, one after the other.
    pub fn strip_payloads(self, flat: &mut Vec<u64>) {
        if self.payload_words() == 0 {
            return;
        }
        let count = flat.len() / self.stride();
        for at in 0..count {
            let state = at * self.stride() + self.payload_words();
            flat.copy_within(state..state + self.words(), at * self.words());
        }
        flat.truncate(count * self.words());
    }

    /// The state in a record.
    pub fn state(self, record: &[u64]) -> &[u64] {
        &record[self.payload_words()..]
    }
}

/// A borrowed array of records, one after the other.
#[derive(Clone, Copy, Debug)]
pub struct Records<'a> {
    shape: RecordShape,
    flat: &'a [u64],
}

impl<'a> Records<'a> {
    /// Views `flat`, which must hold whole records.
    pub fn new(shape: RecordShape, flat: &'a [u64]) -> Self {
        assert!(flat.len().is_multiple_of(shape.stride()), "a record is cut off");
        Records { shape, flat }
    }

    /// The shape of each record.
    pub fn shape(self) -> RecordShape {
        self.shape
    }

    /// All words.
    pub fn flat(self) -> &'a [u64] {
        self.flat
    }

    /// Number of records.
    pub fn len(self) -> usize {
        self.flat.len() / self.shape.stride()
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.flat.is_empty()
    }

    /// The record numbered `at`.
    pub fn record(self, at: usize) -> &'a [u64] {
        &self.flat[at * self.shape.stride()..][..self.shape.stride()]
    }

    /// The state of the record numbered `at`.
    pub fn state(self, at: usize) -> &'a [u64] {
        &self.record(at)[self.shape.payload_words()..]
    }

    /// The number of the first of the ascending records whose state is not below this one.
    pub fn first_not_below(self, state: &[u64]) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = (low + high) / 2;
            match hadal_system::state::compare(self.state(middle), state) {
                Ordering::Less => low = middle + 1,
                _ => high = middle,
            }
        }
        low
    }

    /// The records numbered `range`.
    pub fn slice(self, range: std::ops::Range<usize>) -> Records<'a> {
        let stride = self.shape.stride();
        Records { shape: self.shape, flat: &self.flat[range.start * stride..range.end * stride] }
    }
}

/// A width the inner loops are compiled for: a constant for common shapes, a value for the others.
pub(crate) trait Width: Copy + Send + Sync {
    /// Words of a state.
    fn words(self) -> usize;
    /// Words of payload before it.
    fn payload(self) -> usize;
    /// Words of a record.
    #[inline(always)]
    fn stride(self) -> usize {
        self.words() + self.payload()
    }
    /// What becomes of two payloads of one state.
    fn merge(self) -> Merge;
    /// Whether state `a` stands before state `b`.
    fn less(self, a: &[u64], b: &[u64]) -> bool;
    /// Whether two states are the same.
    #[inline(always)]
    fn equal(self, a: &[u64], b: &[u64]) -> bool {
        a[..self.words()] == b[..self.words()]
    }
    /// The state of record `at` of `flat`.
    #[inline(always)]
    fn state(self, flat: &[u64], at: usize) -> &[u64] {
        &flat[at * self.stride() + self.payload()..][..self.words()]
    }
    /// The key of the state numbered `at` of `states`, which stand one after the other.
    ///
    /// One or two words are held in the key (in scalars: the compiler branches on a choice between arrays); of wider
    /// states it is only the number.
    #[inline(always)]
    fn key(self, states: &[u64], at: u32) -> Key {
        match self.words() {
            1 => Key { low: states[at as usize], high: 0, at },
            2 => {
                let state = &states[2 * at as usize..][..2];
                Key { low: state[0], high: state[1], at }
            }
            _ => Key { low: 0, high: 0, at },
        }
    }
    /// Whether the state of key `a` stands before that of `b`.
    #[inline(always)]
    fn key_less(self, states: &[u64], a: Key, b: Key) -> bool {
        match self.words() {
            1 => a.low < b.low,
            2 => self.less(&[a.low, a.high], &[b.low, b.high]),
            words => {
                let state = |key: Key| &states[key.at as usize * words..][..words];
                self.less(state(a), state(b))
            }
        }
    }
    /// The order of two states.
    #[inline(always)]
    fn compare(self, a: &[u64], b: &[u64]) -> Ordering {
        hadal_system::state::compare(&a[..self.words()], &b[..self.words()])
    }
}

/// What a tournament keeps at hand of one of several states: itself if it is narrow, and its number.
#[derive(Clone, Copy)]
pub(crate) struct Key {
    low: u64,
    high: u64,
    at: u32,
}

impl Key {
    /// `a` if `first`, else `b`, without a branch.
    #[inline(always)]
    pub fn select(first: bool, a: Key, b: Key) -> Key {
        Key {
            low: select_unpredictable(first, a.low, b.low),
            high: select_unpredictable(first, a.high, b.high),
            at: select_unpredictable(first, a.at, b.at),
        }
    }

    /// The number of its state.
    #[inline(always)]
    pub fn at(self) -> u32 {
        self.at
    }
}

/// A shape known when compiling.
#[derive(Clone, Copy)]
pub(crate) struct Fixed<const W: usize, const P: usize>(pub Merge);

impl<const W: usize, const P: usize> Width for Fixed<W, P> {
    #[inline(always)]
    fn words(self) -> usize {
        W
    }

    #[inline(always)]
    fn payload(self) -> usize {
        P
    }

    #[inline(always)]
    fn merge(self) -> Merge {
        self.0
    }

    /// Without branches: the outcome of a merge's comparison cannot be predicted.
    #[inline(always)]
    fn less(self, a: &[u64], b: &[u64]) -> bool {
        let (a, b) = (&a[..W], &b[..W]);
        let mut borrow = false;
        for word in 0..W {
            borrow = subtract_borrows(a[word], b[word], borrow);
        }
        borrow
    }
}

/// Whether `a - b - borrow` goes below zero.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn subtract_borrows(a: u64, b: u64, borrow: bool) -> bool {
    // Written with overflowing_sub the compiler does not find this one instruction.
    std::arch::x86_64::_subborrow_u64(u8::from(borrow), a, b, &mut 0) != 0
}

/// Whether `a - b - borrow` goes below zero.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
fn subtract_borrows(a: u64, b: u64, borrow: bool) -> bool {
    let (difference, under) = a.overflowing_sub(b);
    under | difference.overflowing_sub(u64::from(borrow)).1
}

/// Any other shape.
#[derive(Clone, Copy)]
pub(crate) struct Dynamic(pub RecordShape);

impl Width for Dynamic {
    #[inline(always)]
    fn words(self) -> usize {
        self.0.words()
    }

    #[inline(always)]
    fn payload(self) -> usize {
        self.0.payload_words()
    }

    #[inline(always)]
    fn merge(self) -> Merge {
        self.0.merge()
    }

    #[inline(always)]
    fn less(self, a: &[u64], b: &[u64]) -> bool {
        self.compare(a, b) == Ordering::Less
    }
}

/// Runs `$body` with `$w` bound to the [`Width`] of `$shape`.
macro_rules! with_width {
    ($shape:expr, $w:ident => $body:expr) => {{
        let shape: $crate::shape::RecordShape = $shape;
        macro_rules! fixed {
            ($words:literal, $payload:literal) => {{
                let $w = $crate::shape::Fixed::<$words, $payload>(shape.merge());
                $body
            }};
        }
        match (shape.words(), shape.payload_words()) {
            (1, 0) => fixed!(1, 0),
            (2, 0) => fixed!(2, 0),
            (3, 0) => fixed!(3, 0),
            (4, 0) => fixed!(4, 0),
            (5, 0) => fixed!(5, 0),
            (1, 1) => fixed!(1, 1),
            (2, 1) => fixed!(2, 1),
            (3, 1) => fixed!(3, 1),
            _ => {
                let $w = $crate::shape::Dynamic(shape);
                $body
            }
        }
    }};
}
pub(crate) use with_width;
