//! Certificates: bounds of every state that matters with ranks, so that anyone can check them in one pass without solving
//! anything (Chatterjee, Quatmann, Schäffeler, Weininger, Winkler, Zilken 2025).
//!
//! A certificate is text: what was asked, between what the value lies, and a line per state with its packed words, lower and
//! upper bound and rank; where rewards are infinite, a bound below 1 of how likely the target is. Numbers are written so
//! that reading gives the same bits.

mod check;
mod make;
mod steps;

pub use check::{Flaw, check};
pub(crate) use make::Solved;
pub(crate) use steps::{Kind, Steps};

use std::io::{self, BufRead, Write};

const HEAD: &str = "hadal certificate 1";

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

/// Bounds that can be checked.
#[derive(Clone, Debug, PartialEq)]
pub struct Certificate {
    /// What was asked.
    pub formula: String,
    /// Between what the value of the initial states lies.
    pub value: (f64, f64),
    /// States that can be reached before anything is decided.
    pub claims: Vec<Claim>,
}

impl Certificate {
    /// Writes it as text.
    pub fn write(&self, to: &mut impl Write) -> io::Result<()> {
        writeln!(to, "{HEAD}\nformula {}\nbetween {:?} {:?}", self.formula, self.value.0, self.value.1)?;
        for claim in &self.claims {
            let words: Vec<String> = claim.state.iter().map(|word| format!("{word:x}")).collect();
            write!(to, "{} {:?} {:?} {}", words.join(","), claim.lower, claim.upper, claim.rank)?;
            match claim.escape {
                Some(escape) => writeln!(to, " {escape:?}")?,
                None => writeln!(to)?,
            }
        }
        Ok(())
    }

    /// Reads what [`Certificate::write`] wrote; the error names the line.
    pub fn read(from: impl BufRead) -> io::Result<Self> {
        let wrong = |line: usize, what: &str| {
            io::Error::new(io::ErrorKind::InvalidData, format!("line {line}: {what}"))
        };
        let mut certificate =
            Certificate { formula: String::new(), value: (0.0, f64::INFINITY), claims: Vec::new() };
        for (n, line) in from.lines().enumerate() {
            let (line, number) = (line?, n + 1);
            match n {
                0 if line != HEAD => return Err(wrong(number, "this is no certificate")),
                0 => {}
                1 => {
                    let text = line.strip_prefix("formula ");
                    certificate.formula = text.ok_or_else(|| wrong(number, "a formula is missing"))?.into();
                }
                2 => {
                    let words = line.strip_prefix("between ").and_then(|rest| rest.split_once(' '));
                    let bounds = words.and_then(|(l, u)| Some((l.parse().ok()?, u.parse().ok()?)));
                    certificate.value = bounds.ok_or_else(|| wrong(number, "two bounds are missing"))?;
                }
                _ => {
                    let claim = read_claim(&line).ok_or_else(|| wrong(number, "a claim is not whole"))?;
                    certificate.claims.push(claim);
                }
            }
        }
        match certificate.formula.is_empty() {
            true => Err(wrong(1, "this is no certificate")),
            false => Ok(certificate),
        }
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
