//! Certificates: bounds of every state that matters with ranks, so that anyone can check them without solving anything
//! (Chatterjee, Quatmann, Schäffeler, Weininger, Winkler, Zilken 2025).
//!
//! A certificate is text: what was asked, between what the value lies, and a line per state with its packed words, lower and
//! upper bound and rank; where rewards are infinite, a bound below 1 of how likely the target is. Numbers are written so
//! that reading gives the same bits. It is written and read line by line: nobody holds all claims.

mod check;
mod judge;
mod make;
mod steps;

pub use check::{CheckError, check};
pub use judge::Flaw;
pub(crate) use make::Solved;
pub(crate) use steps::{Kind, Steps};

use crate::spool::{Spool, Spooling};
use hadal_store::Disk;
use std::io::{self, BufRead, Write};

/// Why questions inside questions have none.
pub(crate) const INSIDE: &str =
    "it would not show the answers of the questions inside the question; ask for those by themselves";

const HEAD: &str = "hadal certificate 1";
/// Words of a claim beside its state.
const BESIDE: usize = 4;
/// Marks a claim of an infinite reward.
const ENDLESS: u64 = 1 << 32;

/// What is claimed of one state.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// The state.
    pub state: Vec<u64>,
    /// Its value is not below this.
    pub lower: f64,
    /// Its value is not above this.
    pub upper: f64,
    /// Progress to the target; of a question with a bound on steps, how many are left.
    pub rank: u32,
    /// Where the reward is infinite: the target is reached with at most this probability, which is below 1.
    pub escape: Option<f64>,
}

impl Claim {
    /// As words, the state last.
    pub(crate) fn encode(&self, out: &mut Vec<u64>) {
        let rank = u64::from(self.rank) | if self.escape.is_some() { ENDLESS } else { 0 };
        out.clear();
        out.extend([self.escape.unwrap_or(0.0).to_bits(), rank, self.upper.to_bits(), self.lower.to_bits()]);
        out.extend_from_slice(&self.state);
    }

    pub(crate) fn decode(words: &[u64]) -> Claim {
        Claim {
            state: words[BESIDE..].to_vec(),
            lower: f64::from_bits(words[3]),
            upper: f64::from_bits(words[2]),
            rank: words[1] as u32,
            escape: (words[1] & ENDLESS != 0).then(|| f64::from_bits(words[0])),
        }
    }
}

/// Claims being made.
pub(crate) struct Claims {
    spooling: Spooling,
    record: Vec<u64>,
}

impl Claims {
    /// Of states of so many words; in a file where there is a disk.
    pub fn new(words: usize, disk: Option<&Disk>) -> io::Result<Self> {
        Ok(Claims { spooling: Spooling::new(words + BESIDE, disk)?, record: Vec::new() })
    }

    /// What the claims of so many states take in RAM.
    pub fn bytes(words: usize, states: u64) -> u64 {
        states * 8 * (words + BESIDE) as u64
    }

    pub fn push(&mut self, claim: &Claim) -> io::Result<()> {
        claim.encode(&mut self.record);
        self.spooling.push(&self.record)
    }

    pub fn finish(self) -> io::Result<Spool> {
        self.spooling.finish()
    }
}

/// Bounds that can be checked.
#[derive(Clone, Debug)]
pub struct Certificate {
    /// What was asked.
    pub formula: String,
    /// Between what the value of the initial states lies.
    pub value: (f64, f64),
    /// States that can be reached before anything is decided.
    pub(crate) claims: Spool,
}

impl Certificate {
    /// Writes it as text.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        writeln!(to, "{HEAD}\nformula {}\nbetween {:?} {:?}", self.formula, self.value.0, self.value.1)?;
        self.claims.scan(|record| {
            let claim = Claim::decode(record);
            for (n, word) in claim.state.iter().enumerate() {
                write!(to, "{}{word:x}", if n == 0 { "" } else { "," })?;
            }
            write!(to, " {:?} {:?} {}", claim.lower, claim.upper, claim.rank)?;
            match claim.escape {
                Some(escape) => writeln!(to, " {escape:?}"),
                None => writeln!(to),
            }
        })
    }
}

/// A certificate that is read line by line.
pub struct Reader<R> {
    /// What was asked.
    pub formula: String,
    /// Between what the value of the initial states is claimed to lie.
    pub value: (f64, f64),
    lines: io::Lines<R>,
    line: usize,
}

fn wrong(line: usize, what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {what}"))
}

impl<R: BufRead> Reader<R> {
    /// Reads what stands before the claims of what [`Certificate::write`] wrote; errors name the line.
    pub fn open(from: R) -> io::Result<Self> {
        let mut lines = from.lines();
        let mut next = || lines.next().transpose();
        if next()?.as_deref() != Some(HEAD) {
            return Err(wrong(1, "this is no certificate"));
        }
        let formula = next()?.and_then(|line| line.strip_prefix("formula ").map(str::to_owned));
        let formula = formula.filter(|f| !f.is_empty()).ok_or_else(|| wrong(2, "a formula is missing"))?;
        let bounds = next()?.and_then(|line| {
            let (low, high) = line.strip_prefix("between ")?.split_once(' ')?;
            Some((low.parse().ok()?, high.parse().ok()?))
        });
        let value = bounds.ok_or_else(|| wrong(3, "two bounds are missing"))?;
        Ok(Reader { formula, value, lines, line: 3 })
    }
}

impl<R: BufRead> Iterator for Reader<R> {
    type Item = io::Result<Claim>;

    fn next(&mut self) -> Option<Self::Item> {
        let line = self.lines.next()?;
        self.line += 1;
        Some(line.and_then(|line| read_claim(&line).ok_or_else(|| wrong(self.line, "a claim is not whole"))))
    }
}

fn read_claim(line: &str) -> Option<Claim> {
    let mut parts = line.split(' ');
    let words = parts.next()?.split(',').map(|word| u64::from_str_radix(word, 16).ok());
    let claim = Claim {
        state: words.collect::<Option<_>>()?,
        lower: parts.next()?.parse().ok()?,
        upper: parts.next()?.parse().ok()?,
        rank: parts.next()?.parse().ok()?,
        escape: match parts.next() {
            None => None,
            Some(text) => Some(text.parse().ok()?),
        },
    };
    parts.next().is_none().then_some(claim)
}
