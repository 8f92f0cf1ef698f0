//! A set of transitions that are taken to be disabled: the reduced systems of useless-transition tests.

use crate::space::Label;

/// A set of labels.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Default)]
pub struct Mask {
    words: Vec<u64>,
}

impl Mask {
    /// The empty set.
    pub fn new() -> Self {
        Mask::default()
    }

    /// Adds a label; whether it was not there.
    pub fn insert(&mut self, label: Label) -> bool {
        let (word, bit) = (label.0 as usize / 64, 1u64 << (label.0 % 64));
        if word >= self.words.len() {
            self.words.resize(word + 1, 0);
        }
        let fresh = self.words[word] & bit == 0;
        self.words[word] |= bit;
        fresh
    }

    /// Whether a label is in the set.
    pub fn contains(&self, label: Label) -> bool {
        self.words.get(label.0 as usize / 64).is_some_and(|word| word >> (label.0 % 64) & 1 == 1)
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.words.iter().all(|&word| word == 0)
    }

    /// The labels, ascending.
    pub fn iter(&self) -> impl Iterator<Item = Label> + '_ {
        self.words.iter().enumerate().flat_map(|(at, &word)| {
            (0..64).filter(move |bit| word >> bit & 1 == 1).map(move |bit| Label(at as u32 * 64 + bit))
        })
    }
}

impl FromIterator<Label> for Mask {
    fn from_iter<I: IntoIterator<Item = Label>>(labels: I) -> Self {
        let mut mask = Mask::new();
        labels.into_iter().for_each(|label| {
            mask.insert(label);
        });
        mask
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_holds_what_was_inserted_in_ascending_order() {
        let mask: Mask = [200, 3, 64, 3].map(Label).into_iter().collect();
        assert_eq!(mask.iter().collect::<Vec<_>>(), [3, 64, 200].map(Label));
        assert!(mask.contains(Label(64)) && !mask.contains(Label(65)) && !mask.contains(Label(9999)));
        assert!(Mask::new().is_empty() && !mask.is_empty());
    }
}
