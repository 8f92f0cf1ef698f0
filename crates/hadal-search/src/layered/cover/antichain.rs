//! The maximal states of a group.

use hadal_store::shape::RecordShape;
use hadal_system::state::compare;
use hadal_system::{Cover, Matcher};
use std::cmp::Ordering;

/// Compares the states of one key with each other.
pub(crate) struct Antichain<'a> {
    cover: &'a dyn Cover,
    /// Words of a record, and of what stands before its state.
    stride: usize,
    payload: usize,
    one: Box<dyn Matcher + 'a>,
    other: Box<dyn Matcher + 'a>,
    keep: Vec<bool>,
}

impl<'a> Antichain<'a> {
    pub(super) fn new(cover: &'a dyn Cover, words: usize) -> Self {
        Antichain::beside_payloads(cover, RecordShape::states(words))
    }

    /// Of records with something before each state.
    pub(crate) fn beside_payloads(cover: &'a dyn Cover, shape: RecordShape) -> Self {
        let (stride, payload) = (shape.stride(), shape.payload_words());
        Antichain { cover, stride, payload, one: cover.matcher(), other: cover.matcher(), keep: Vec::new() }
    }

    /// Removes from the ascending states of one key those that another strictly covers, and of equivalent ones all but
    /// the first.
    pub(crate) fn keep_maximal(&mut self, group: &mut Vec<u64>) {
        let (words, payload) = (self.stride, self.payload);
        let states = group.len() / words;
        if states < 2 {
            return;
        }
        if self.cover.only_equal() {
            // Equal neighbours are one, whatever stands before them.
            let mut kept = 1;
            for n in 1..states {
                let (last, next) = ((kept - 1) * words, n * words);
                if group[last + payload..last + words] != group[next + payload..next + words] {
                    group.copy_within(next..next + words, kept * words);
                    kept += 1;
                }
            }
            return group.truncate(kept * words);
        }
        self.keep.clear();
        self.keep.resize(states, true);
        let state = |n: usize| &group[n * words + payload..(n + 1) * words];
        for n in 0..states {
            self.one.choose(state(n));
            // What was dropped is covered by what stays, so it need not be asked.
            for m in (0..states).filter(|&m| m != n) {
                if !self.keep[m] || !self.one.is_covered_by(state(m)) {
                    continue;
                }
                if m < n {
                    self.keep[n] = false;
                    break;
                }
                self.other.choose(state(m));
                if !self.other.is_covered_by(state(n)) {
                    self.keep[n] = false;
                    break;
                }
            }
        }
        let mut kept = 0;
        for n in (0..states).filter(|&n| self.keep[n]) {
            group.copy_within(n * words..(n + 1) * words, kept * words);
            kept += 1;
        }
        group.truncate(kept * words);
    }

    /// Removes from `group` what some state of `closed`, of the same key, covers.
    pub(crate) fn subtract(&mut self, group: &mut Vec<u64>, closed: &[u64]) {
        let (words, payload) = (self.stride, self.payload);
        let mut kept = 0;
        for n in 0..group.len() / words {
            self.one.choose(&group[n * words + payload..(n + 1) * words]);
            if closed.chunks_exact(words).any(|big| self.one.is_covered_by(&big[payload..])) {
                continue;
            }
            group.copy_within(n * words..(n + 1) * words, kept * words);
            kept += 1;
        }
        group.truncate(kept * words);
    }

    /// Another one for the same states.
    pub(super) fn again(&self) -> Self {
        let (one, other) = (self.cover.matcher(), self.cover.matcher());
        Antichain { one, other, keep: Vec::new(), ..*self }
    }

    /// Removes from `group` what some state of `others`, of the same key, strictly covers, or covers and comes before it.
    pub(super) fn drop_covered(&mut self, group: &mut Vec<u64>, others: &[u64]) {
        let (words, payload) = (self.stride, self.payload);
        let mut kept = 0;
        for n in 0..group.len() / words {
            let mine = &group[n * words + payload..(n + 1) * words];
            self.one.choose(mine);
            let is_dropped = others.chunks_exact(words).map(|other| &other[payload..]).any(|other| {
                if other == mine || !self.one.is_covered_by(other) {
                    return false;
                }
                self.other.choose(other);
                compare(other, mine) == Ordering::Less || !self.other.is_covered_by(mine)
            });
            if !is_dropped {
                group.copy_within(n * words..(n + 1) * words, kept * words);
                kept += 1;
            }
        }
        group.truncate(kept * words);
    }
}
