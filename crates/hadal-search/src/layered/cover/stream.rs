//! Ascending states one at a time, and those of one key together.

use super::super::Trouble;
use hadal_store::merge::{BlockSource, RunMerge};

/// States of a merge.
pub(super) struct Stream<'m> {
    merge: RunMerge<'m>,
    block: Vec<u64>,
    at: usize,
    words: usize,
    ended: bool,
}

impl<'m> Stream<'m> {
    pub(super) fn new(merge: RunMerge<'m>, words: usize) -> Self {
        Stream { merge, block: Vec::new(), at: 0, words, ended: false }
    }

    /// The state that comes next.
    pub(super) fn peek(&mut self) -> Result<Option<&[u64]>, Trouble> {
        if self.at >= self.block.len() && !self.ended {
            self.at = 0;
            if !self.merge.next_block(&mut self.block)? {
                self.block.clear();
                self.ended = true;
            }
        }
        Ok(self.block.get(self.at..self.at + self.words))
    }

    /// Passes it.
    pub(super) fn step(&mut self) {
        self.at += self.words;
    }

    /// Replaces `group` by all states of the next key; false at the end.
    pub(super) fn next_group(&mut self, key_words: usize, group: &mut Vec<u64>) -> Result<bool, Trouble> {
        group.clear();
        let first = self.words - key_words;
        loop {
            let (at, words) = (group.len(), self.words);
            let Some(state) = self.peek()? else { break };
            if at > 0 && group[first..words] != state[first..] {
                break;
            }
            group.extend_from_slice(state);
            self.step();
        }
        Ok(!group.is_empty())
    }
}
