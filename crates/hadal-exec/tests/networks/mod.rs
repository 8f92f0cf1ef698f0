//! Random timed networks of two processes and two clocks, for comparing engines.

#![allow(dead_code, reason = "every test takes its own part of this")]

use hadal_lang::LoadedModel;
use hadal_system::{Source, TimedSystem};
use hadal_testkit::Random;

/// Clocks besides the reference.
pub const CLOCKS: usize = 2;
/// Constants lie between 0 and this.
pub const LARGEST: i64 = 3;

/// Draws networks.
pub struct Dice {
    random: Random,
    /// Whether differences of clocks are compared.
    diagonals: bool,
}

impl Dice {
    /// With this seed.
    pub fn new(seed: u64) -> Self {
        Dice { random: Random::new(seed), diagonals: false }
    }

    /// The same, with differences of clocks among what is compared.
    pub fn with_diagonals(self) -> Self {
        Dice { diagonals: true, ..self }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random.below(n)
    }

    fn constraint(&mut self) -> String {
        let op = ["<", "<=", ">", ">=", "=="][self.below(5) as usize];
        if self.diagonals && self.below(2) == 0 {
            return format!("x0-x1{op}{}", self.below(2 * LARGEST as u64 + 1) as i64 - LARGEST);
        }
        format!("x{}{op}{}", self.below(CLOCKS as u64), self.below(LARGEST as u64 + 1))
    }

    /// Two processes of three locations that share a variable and an event.
    pub fn model(&mut self) -> String {
        let mut text = "system:random\nevent:a\nevent:s\nint:1:0:2:0:v\n".to_owned();
        for clock in 0..CLOCKS {
            text += &format!("clock:1:x{clock}\n");
        }
        for process in ["P", "Q"] {
            text += &format!("process:{process}\n");
            for location in 0..3 {
                let mut attributes = Vec::new();
                if location == 0 {
                    attributes.push("initial:".to_owned());
                }
                match self.below(8) {
                    0..3 => {
                        let (clock, most) = (self.below(CLOCKS as u64), 1 + self.below(LARGEST as u64));
                        let op = if self.below(3) == 0 { "<" } else { "<=" };
                        attributes.push(format!("invariant: x{clock}{op}{most}"));
                    }
                    3 if location > 0 => attributes.push("urgent:".to_owned()),
                    4 if location > 0 => attributes.push("committed:".to_owned()),
                    _ => {}
                }
                text += &format!("location:{process}:l{location}{{{}}}\n", attributes.join(" : "));
            }
            for _ in 0..5 {
                let (from, to) = (self.below(3), self.below(3));
                let event = if self.below(3) == 0 { "s" } else { "a" };
                let mut guard: Vec<String> = (0..self.below(3)).map(|_| self.constraint()).collect();
                if self.below(4) == 0 {
                    guard.push(format!("v=={}", self.below(3)));
                }
                let mut effects = Vec::new();
                for clock in (0..CLOCKS).filter(|_| true) {
                    if self.below(3) == 0 {
                        effects.push(format!("x{clock}={}", self.below(8) / 6));
                    }
                }
                if self.below(3) == 0 {
                    effects.push(format!("v=v+{}", 1 + self.below(2)));
                } else if self.below(4) == 0 {
                    effects.push("v=0".into());
                }
                let provided = if guard.is_empty() { "1".into() } else { guard.join("&&") };
                text += &format!(
                    "edge:{process}:l{from}:l{to}:{event}{{provided: {provided} : do: {}}}\n",
                    effects.join(";")
                );
            }
        }
        text + "sync:P@s:Q@s\n"
    }
}

/// Reads a network.
pub fn read(text: &str) -> TimedSystem {
    let loaded = hadal_lang::ta::tck::load(Source::new("random.tck", text)).expect("it is accepted");
    let LoadedModel::Timed(timed) = loaded.model else { panic!("a timed model") };
    timed
}
