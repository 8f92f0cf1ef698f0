//! A queue that explores: transitions by type, the estimate and the depth of the state they leave; a type is drawn, then one of
//! its transitions (Xie, Müller, Holte and Imai 2014, "Type-based exploration with multiple search queues for satisficing
//! planning"). Where estimates mislead, every type has its turn.

use crate::open::{Entry, Key};
use crate::snapshot::{Loader, Plain, Saver};
use hadal_system::random::SplitMix;
use std::collections::HashMap;
use std::io;

/// Transitions by type.
#[derive(Debug, Default)]
pub(crate) struct Types {
    /// Where the list of each type is.
    places: HashMap<Key, usize>,
    /// Types that have transitions.
    lists: Vec<(Key, Vec<Entry>)>,
    len: u64,
    /// How often something was drawn: the numbers follow from that.
    drawn: u64,
}

impl Types {
    pub(crate) fn push(&mut self, key: Key, entry: Entry) {
        let at = *self.places.entry(key).or_insert(self.lists.len());
        if at == self.lists.len() {
            self.lists.push((key, Vec::new()));
        }
        self.lists[at].1.push(entry);
        self.len += 1;
    }

    pub(crate) fn pop(&mut self) -> Option<Entry> {
        self.drawn += 1;
        let mut dice = SplitMix::new(self.drawn);
        let at = dice.below(self.lists.len())?;
        let list = &mut self.lists[at].1;
        let entry = list.swap_remove(dice.below(list.len())?);
        if list.is_empty() {
            let (key, _) = self.lists.swap_remove(at);
            self.places.remove(&key);
            if let Some((moved, _)) = self.lists.get(at) {
                self.places.insert(*moved, at);
            }
        }
        self.len -= 1;
        Some(entry)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(crate) fn bytes(&self) -> u64 {
        // Vectors double: half of what they have may be free.
        self.len * 12 + self.lists.len() as u64 * 96
    }

    /// Writes it down.
    pub(crate) fn save(&self, to: &mut Saver) -> io::Result<()> {
        to.word(self.drawn)?;
        to.word(self.lists.len() as u64)?;
        self.lists.iter().try_for_each(|(key, list)| {
            key.save(to)?;
            to.word(list.len() as u64)?;
            list.iter().try_for_each(|entry| entry.save(to))
        })
    }

    /// Reads it again: what is drawn from then on is what would have been.
    pub(crate) fn load(from: &mut Loader) -> io::Result<Self> {
        let mut types = Types { drawn: from.word()?, ..Types::default() };
        for _ in 0..from.word()? {
            let key = Key::load(from)?;
            for _ in 0..from.word()? {
                types.push(key, Entry::load(from)?);
            }
        }
        Ok(types)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_comes_out_once_also_where_it_was_written_down_in_between() {
        let mut types = Types::default();
        for n in 0..900u32 {
            types.push((n % 7, n % 3), (n, n + 1));
        }
        let mut seen: Vec<Entry> = (0..300).filter_map(|_| types.pop()).collect();
        let mut file = Vec::new();
        let mut saver = Saver::new(&mut file);
        types.save(&mut saver).unwrap();
        saver.finish().unwrap();
        let mut bytes = &file[..];
        let mut loader = Loader::new(&mut bytes);
        let mut again = Types::load(&mut loader).unwrap();
        loader.finish().unwrap();
        while let Some(entry) = again.pop() {
            assert_eq!(types.pop(), Some(entry));
            seen.push(entry);
        }
        assert!(types.is_empty() && types.pop().is_none());
        seen.sort_unstable();
        assert!(seen.iter().copied().eq((0..900).map(|n| (n, n + 1))));
    }
}
