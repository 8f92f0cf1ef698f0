//! The maximal states of a group.

use hadal_system::{Cover, Matcher};

/// Compares the states of one key with each other.
pub(super) struct Antichain<'a> {
    words: usize,
    one: Box<dyn Matcher + 'a>,
    other: Box<dyn Matcher + 'a>,
    keep: Vec<bool>,
}

impl<'a> Antichain<'a> {
    pub(super) fn new(cover: &'a dyn Cover, words: usize) -> Self {
        Antichain { words, one: cover.matcher(), other: cover.matcher(), keep: Vec::new() }
    }

    /// Removes from the ascending states of one key those that another strictly covers, and of equivalent ones all but
    /// the first.
    pub(super) fn keep_maximal(&mut self, group: &mut Vec<u64>) {
        let words = self.words;
        let states = group.len() / words;
        if states < 2 {
            return;
        }
        self.keep.clear();
        self.keep.resize(states, true);
        let state = |n: usize| &group[n * words..(n + 1) * words];
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
    pub(super) fn subtract(&mut self, group: &mut Vec<u64>, closed: &[u64]) {
        let words = self.words;
        let mut kept = 0;
        for n in 0..group.len() / words {
            self.one.choose(&group[n * words..(n + 1) * words]);
            if closed.chunks_exact(words).any(|big| self.one.is_covered_by(big)) {
                continue;
            }
            group.copy_within(n * words..(n + 1) * words, kept * words);
            kept += 1;
        }
        group.truncate(kept * words);
    }
}
