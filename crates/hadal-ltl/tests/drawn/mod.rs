//! Random formulas and words.

use hadal_ltl::{Ltl, Word};
use hadal_testkit::Random;

pub struct Dice(pub Random);

impl Dice {
    pub fn below(&mut self, n: u64) -> u64 {
        self.0.below(n)
    }

    pub fn formula(&mut self, size: u64, atoms: u64) -> Ltl {
        if size <= 1 {
            return match self.below(12) {
                0 => Ltl::True,
                1 => Ltl::False,
                _ => Ltl::Atom(self.below(atoms) as u32),
            };
        }
        let one = |dice: &mut Dice| dice.formula(size - 1, atoms);
        let left = 1 + self.below((size - 1).max(1));
        match self.below(11) {
            0 => one(self).not(),
            1 => one(self).next(),
            2 => one(self).always(),
            3 => one(self).eventually(),
            op => {
                let (a, b) =
                    (self.formula(left, atoms), self.formula((size - 1).saturating_sub(left), atoms));
                match op {
                    4 => a.and(b),
                    5 => a.or(b),
                    6 => a.until(b),
                    7 => a.release(b),
                    8 => a.weak_until(b),
                    9 => a.strong_release(b),
                    _ => a.implies(b),
                }
            }
        }
    }

    pub fn word(&mut self, atoms: u64) -> Word {
        let length = 1 + self.below(7);
        let letters = (0..length).map(|_| self.below(1 << atoms)).collect();
        Word::new(letters, self.below(length) as usize).expect("the loop is not empty")
    }
}
