//! The layers of a journal, numbered by their places in a diagram, or by a perfect hash function.

use super::closed::{Closed, Piece, Visitor};
use super::perfect::Perfect;
use crate::layered::Trouble;
use crate::layered::journal::Journal;
use hadal_store::diagram::RankedDiagram;
use hadal_store::{Governor, Reservation};
use std::sync::Mutex;

/// A closed set on disk.
pub(crate) struct JournalClosed<'j> {
    journal: &'j Journal,
    /// Layers that are read together.
    groups: Vec<std::ops::Range<usize>>,
    numbers: Numbers,
    most_words: usize,
    _memory: Reservation,
}

/// How states are numbered.
enum Numbers {
    Ranks(RankedDiagram),
    Hash(Perfect),
}

impl<'j> JournalClosed<'j> {
    /// How states are numbered, for sets that are kept.
    pub(crate) fn numbering(&self) -> &'static str {
        match self.numbers {
            Numbers::Ranks(_) => "diagram rank",
            Numbers::Hash(_) => "perfect hash",
        }
    }

    /// Numbers the states of all layers, each of which must be there; by `ranked`, where that has all of them.
    pub(crate) fn new(
        journal: &'j Journal,
        governor: &Governor,
        ranked: Option<RankedDiagram>,
    ) -> Result<Self, Trouble> {
        let states = (0..journal.depth()).map(|depth| journal.states(depth)).sum();
        let words = journal.words();
        let groups = journal.groups();
        let scan = |take: &mut dyn FnMut(&[u64])| -> Result<(), Trouble> {
            groups.iter().try_for_each(|group| {
                journal.view_group(group, &mut |_, states| {
                    states.chunks_exact(words).for_each(&mut *take);
                    Ok(())
                })
            })
        };
        let numbers = match ranked.filter(|ranked| ranked.len() == states) {
            Some(ranked) => Numbers::Ranks(ranked),
            None => Numbers::Hash(Perfect::new(states, governor, &scan)?),
        };
        let bytes = (governor.limit() / 64).clamp(256 << 10, 16 << 20);
        let memory = governor.try_reserve(bytes, "states being looked at")?;
        Ok(JournalClosed { journal, groups, numbers, most_words: bytes as usize / 8, _memory: memory })
    }
}

impl Closed for JournalClosed<'_> {
    fn groups(&self) -> usize {
        self.groups.len()
    }

    fn size(&self) -> u64 {
        match &self.numbers {
            Numbers::Ranks(ranked) => ranked.len(),
            Numbers::Hash(perfect) => perfect.states(),
        }
    }

    #[inline]
    fn number(&self, state: &[u64]) -> Option<u64> {
        match &self.numbers {
            Numbers::Ranks(ranked) => ranked.number(state),
            Numbers::Hash(perfect) => perfect.number(state),
        }
    }

    fn visit(&self, group: usize, visitors: &mut [Visitor]) -> Result<(), Trouble> {
        let words = self.journal.words();
        let mut held: Vec<u64> = Vec::new();
        let mut held_depth = 0;
        self.journal.view_group(&self.groups[group], &mut |depth, states| {
            if !held.is_empty() && (depth != held_depth || held.len() + states.len() > self.most_words) {
                share_out(&held, words, held_depth, visitors);
                held.clear();
            }
            held_depth = depth;
            held.extend_from_slice(states);
            Ok(())
        })?;
        if !held.is_empty() {
            share_out(&held, words, held_depth, visitors);
        }
        Ok(())
    }
}

const PIECE: usize = 512;

fn share_out(states: &[u64], words: usize, depth: usize, visitors: &mut [Visitor]) {
    if states.len() <= PIECE * words || visitors.len() == 1 {
        if let Some(first) = visitors.first_mut() {
            first(Piece { states, first: None, depth });
        }
        return;
    }
    let pieces = Mutex::new(states.chunks(PIECE * words));
    std::thread::scope(|scope| {
        for visitor in visitors {
            scope.spawn(|| {
                loop {
                    let piece = pieces.lock().unwrap_or_else(|e| e.into_inner()).next();
                    let Some(piece) = piece else { break };
                    visitor(Piece { states: piece, first: None, depth });
                }
            });
        }
    });
}
