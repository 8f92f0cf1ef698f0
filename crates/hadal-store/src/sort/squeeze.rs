//! Squeezing records to the bits in which they differ: order is kept, and so is the memory they stand in.
//!
//! Gathers and scatters bits with the BMI2 instructions of x86-64; elsewhere records are not squeezed.

/// Where the differing bits of some records are.
pub(super) struct Squeeze {
    stride: usize,
    /// What all records share: the first record with the differing bits cleared.
    base: Vec<u64>,
    parts: Vec<Part>,
    bits: u32,
}

/// The differing bits of one word, and where they go.
#[derive(Clone, Copy)]
struct Part {
    word: usize,
    mask: u64,
    /// Bit position among all differing bits.
    at: u32,
}

impl Squeeze {
    /// `None` where squeezing would not make the records narrower, or cannot be done quickly.
    pub fn find(stride: usize, flat: &[u64]) -> Option<Squeeze> {
        if stride < 2 || flat.is_empty() || !fast_bits() {
            return None;
        }
        let mut masks = vec![0; stride];
        for record in flat.chunks_exact(stride) {
            for word in 0..stride {
                masks[word] |= record[word] ^ flat[word];
            }
        }
        let mut parts = Vec::new();
        let mut bits = 0;
        for (word, &mask) in masks.iter().enumerate().filter(|&(_, &mask)| mask != 0) {
            parts.push(Part { word, mask, at: bits });
            bits += mask.count_ones();
        }
        let base = flat.iter().zip(&masks).map(|(word, mask)| word & !mask).collect();
        let squeeze = Squeeze { stride, base, parts, bits };
        (squeeze.width() < stride && squeeze.width() <= 4).then_some(squeeze)
    }

    /// Differing bits.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Words of a squeezed record.
    pub fn width(&self) -> usize {
        self.bits.div_ceil(64).max(1) as usize
    }

    /// Squeezes all records to the front of `flat`. Returns their number.
    pub fn narrow(&self, flat: &mut [u64]) -> usize {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `find` makes a `Squeeze` only where `fast_bits` has seen BMI2.
        unsafe {
            self.narrow_bmi2(flat);
        }
        flat.len() / self.stride
    }

    /// Widens the `count` records at the front of `flat` again.
    pub fn widen(&self, flat: &mut [u64], count: usize) {
        #[cfg(target_arch = "x86_64")]
        // SAFETY: `find` makes a `Squeeze` only where `fast_bits` has seen BMI2.
        unsafe {
            self.widen_bmi2(flat, count);
        }
    }

    /// Forwards: record `i` goes to or before the place it stands in.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi2")]
    fn narrow_bmi2(&self, flat: &mut [u64]) {
        let width = self.width();
        for i in 0..flat.len() / self.stride {
            let record = &flat[i * self.stride..][..self.stride];
            let mut squeezed = [0u64; 5];
            for part in &self.parts {
                let bits = std::arch::x86_64::_pext_u64(record[part.word], part.mask);
                let wide = u128::from(bits) << (part.at % 64);
                // At most four words are used; the fifth takes the empty upper half of the fourth's last part.
                squeezed[part.at as usize / 64] |= wide as u64;
                squeezed[part.at as usize / 64 + 1] |= (wide >> 64) as u64;
            }
            flat[i * width..][..width].copy_from_slice(&squeezed[..width]);
        }
    }

    /// Backwards, for the same reason.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "bmi2")]
    fn widen_bmi2(&self, flat: &mut [u64], count: usize) {
        let width = self.width();
        for i in (0..count).rev() {
            let mut squeezed = [0u64; 5];
            squeezed[..width].copy_from_slice(&flat[i * width..][..width]);
            let record = &mut flat[i * self.stride..][..self.stride];
            record.copy_from_slice(&self.base);
            for part in &self.parts {
                let (low, high) = (squeezed[part.at as usize / 64], squeezed[part.at as usize / 64 + 1]);
                let bits = ((u128::from(high) << 64 | u128::from(low)) >> (part.at % 64)) as u64;
                record[part.word] |= std::arch::x86_64::_pdep_u64(bits, part.mask);
            }
        }
    }
}

fn fast_bits() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("bmi2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}
