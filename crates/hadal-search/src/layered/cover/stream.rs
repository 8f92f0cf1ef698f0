//! Ascending states one at a time, and those of one key together.

use super::super::Trouble;
use hadal_store::merge::{BlockSource, RunMerge};

/// States of a merge.
pub(crate) struct Stream<'m> {
    merge: RunMerge<'m>,
    block: Vec<u64>,
    at: usize,
    words: usize,
    ended: bool,
}

impl<'m> Stream<'m> {
    pub(crate) fn new(merge: RunMerge<'m>, words: usize) -> Self {
        Stream { merge, block: Vec::new(), at: 0, words, ended: false }
    }

    /// The state that comes next.
    pub(crate) fn peek(&mut self) -> Result<Option<&[u64]>, Trouble> {
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
    pub(crate) fn step(&mut self) {
        self.at += self.words;
    }

    /// Replaces `group` by all states of the next key; false at the end.
    pub(crate) fn next_group(&mut self, key_words: usize, group: &mut Vec<u64>) -> Result<bool, Trouble> {
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

    /// The same with at most about `most` words; whether these are all.
    pub(crate) fn next_group_within(
        &mut self,
        key_words: usize,
        group: &mut Vec<u64>,
        most: usize,
    ) -> Result<bool, Trouble> {
        group.clear();
        let first = self.words - key_words;
        let Some(state) = self.peek()? else { return Ok(true) };
        let key = state[first..].to_vec();
        self.more_of(&key, group, most)?;
        Ok(self.peek()?.is_none_or(|state| state[first..] != key))
    }

    /// Replaces `block` by at most about `most` words of states of this key; false where there are none.
    pub(crate) fn more_of(
        &mut self,
        key: &[u64],
        block: &mut Vec<u64>,
        most: usize,
    ) -> Result<bool, Trouble> {
        block.clear();
        let first = self.words - key.len();
        while block.len() < most {
            match self.peek()? {
                Some(state) if state[first..] == *key => block.extend_from_slice(state),
                _ => break,
            }
            self.step();
        }
        Ok(!block.is_empty())
    }
}
