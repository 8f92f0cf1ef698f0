//! The layers of a journal, numbered by their places in a diagram, or by a perfect hash function.

use super::closed::{Closed, Piece, Visitor};
use super::perfect::Perfect;
use crate::layered::Trouble;
use crate::layered::journal::{GroupReader, Journal};
use crate::resting::{Early, Reins};
use hadal_store::diagram::RankedDiagram;
use hadal_store::{Governor, Reservation};
use std::sync::Mutex;

/// What looking at a state to number it counts as: about nanoseconds.
const NUMBER_WORK: u64 = 40;

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
    pub(crate) async fn new(
        journal: &'j Journal,
        governor: &Governor,
        ranked: Option<RankedDiagram>,
        reins: &Reins<'_>,
    ) -> Result<Self, Early> {
        let states = (0..journal.depth()).map(|depth| journal.states(depth)).sum();
        let words = journal.words();
        let groups = journal.groups();
        let scan = async |take: &mut dyn FnMut(&[u64])| -> Result<(), Early> {
            let mut states = Vec::new();
            for group in &groups {
                let mut reader = journal.group_reader(group)?;
                while reader.next_states(0, &mut states)?.is_some() {
                    states.chunks_exact(words).for_each(&mut *take);
                    reins.count((states.len() / words) as u64 * NUMBER_WORK);
                    reins.rest().await.map_err(Early::Stopped)?;
                }
            }
            Ok(())
        };
        let numbers = match ranked.filter(|ranked| ranked.len() == states) {
            Some(ranked) => Numbers::Ranks(ranked),
            None => Numbers::Hash(Perfect::new(states, governor, &scan).await?),
        };
        let bytes = (governor.limit() / 64).clamp(256 << 10, 16 << 20);
        let memory = governor.try_reserve(bytes, "states being looked at")?;
        Ok(JournalClosed { journal, groups, numbers, most_words: bytes as usize / 8, _memory: memory })
    }
}

impl Closed for JournalClosed<'_> {
    type Visit<'c>
        = GroupReader<'c>
    where
        Self: 'c;

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

    fn visit(&self, group: usize) -> Result<GroupReader<'_>, Trouble> {
        self.journal.group_reader(&self.groups[group])
    }

    fn go_on(
        &self,
        visit: &mut GroupReader<'_>,
        most: u64,
        visitors: &mut [Visitor],
    ) -> Result<bool, Trouble> {
        let words = self.journal.words();
        let most_words = self.most_words.min(usize::try_from(most).map_or(usize::MAX, |it| it * words));
        let mut held = Vec::new();
        let Some(depth) = visit.next_states(most_words, &mut held)? else { return Ok(false) };
        share_out(&held, words, depth, visitors);
        Ok(true)
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
