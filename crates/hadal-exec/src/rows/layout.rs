//! Where the variables of a ground task lie in packed words. No variable straddles two words, so that a test or an
//! effect is one mask on one word.

use hadal_system::rows::RowTask;
use hadal_system::state::mask;

/// Where one variable lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Which word.
    pub word: u32,
    /// Its least significant bit in the word.
    pub shift: u32,
    /// How many bits; 0 where there is one value only.
    pub width: u32,
}

impl Place {
    /// What lies there.
    #[inline]
    pub fn get(self, state: &[u64]) -> u64 {
        state[self.word as usize].checked_shr(self.shift).unwrap_or(0) & mask(self.width)
    }

    /// Puts a code there.
    #[inline]
    pub fn set(self, state: &mut [u64], code: u64) {
        let word = &mut state[self.word as usize];
        *word = *word & !self.mask() | self.bits(code);
    }

    /// The bits of the word that belong to it.
    #[inline]
    pub fn mask(self) -> u64 {
        self.bits(mask(self.width))
    }

    /// A code as bits of the word.
    #[inline]
    pub fn bits(self, code: u64) -> u64 {
        code.checked_shl(self.shift).unwrap_or(0)
    }
}

/// The places of all variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowLayout {
    /// Of finite variables.
    pub finite: Vec<Place>,
    /// Of numeric variables.
    pub numbers: Vec<Place>,
    /// Words of a state, at least one.
    pub words: usize,
    /// Bits of a state, counted from the least significant.
    pub bits: u32,
}

impl RowLayout {
    /// Packs the variables, the widest first; `number_widths` has the bits of each numeric variable.
    pub fn new(task: &RowTask, number_widths: &[u32]) -> Self {
        let mut widths: Vec<u32> =
            task.variables.iter().map(|variable| bits_for(variable.values.len() as u64)).collect();
        widths.extend_from_slice(number_widths);
        let mut order: Vec<usize> = (0..widths.len()).collect();
        order.sort_by_key(|&at| std::cmp::Reverse(widths[at]));
        let mut places = vec![Place { word: 0, shift: 0, width: 0 }; widths.len()];
        let mut used: Vec<u32> = vec![0];
        // Words before this one have no room for what is left: widths never grow.
        let mut first_with_room = 0;
        for at in order {
            let width = widths[at];
            let word = (first_with_room..used.len()).find(|&word| used[word] + width <= 64);
            let word = word.unwrap_or_else(|| {
                used.push(0);
                used.len() - 1
            });
            places[at] = Place { word: word as u32, shift: used[word], width };
            used[word] += width;
            while first_with_room < used.len() && used[first_with_room] == 64 {
                first_with_room += 1;
            }
        }
        let numbers = places.split_off(task.variables.len());
        let words = used.len();
        let bits = (words as u32 - 1) * 64 + used[words - 1];
        RowLayout { finite: places, numbers, words, bits }
    }
}

/// The fewest bits that tell so many values apart.
pub(super) fn bits_for(values: u64) -> u32 {
    64 - values.saturating_sub(1).leading_zeros()
}
