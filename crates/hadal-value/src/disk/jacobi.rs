//! Plain value iteration as the published tables count it: all values at once, until no value changes by more than a residual.

use super::graph::{DiskError, DiskGraph};
use super::rows::Rows;
use crate::numbers::nearest;
use std::io::{Read, Write};
use std::path::Path;

/// Plain value iteration, all values at once, as the published tables count it; what is reached is written down after each
/// sweep, so that a run that was killed goes on.
#[derive(Clone, Copy, Debug)]
pub struct Jacobi<'a> {
    /// The states whose value is 0.
    pub target: &'a [bool],
    /// It ends when no value changes by more.
    pub residual: f64,
    /// It ends after this many sweeps.
    pub most_sweeps: u64,
    /// Where the values are kept.
    pub file: Option<&'a Path>,
}

/// Iterates least expected rewards to the target; the values and the greatest change of each sweep made now.
pub fn jacobi(graph: &DiskGraph, how: Jacobi) -> Result<(Vec<f64>, Vec<f64>), DiskError> {
    let n = graph.states as usize;
    let (mut done, mut values) = match how.file.map(|path| read_values(path, n)).transpose()?.flatten() {
        Some(kept) => kept,
        None => (0, vec![0.0; n]),
    };
    let nearest: Vec<f64> =
        (0..graph.numbers.len() as u32).map(|n| nearest(&graph.numbers.exact(n))).collect();
    let mut next = values.clone();
    let mut residuals = Vec::new();
    while done < how.most_sweeps {
        let mut residual = 0.0f64;
        graph.scan(|rank, row| {
            let rank = rank as usize;
            if how.target[rank] {
                return;
            }
            let mut best = f64::INFINITY;
            for (branches, reward) in row.choices() {
                let sum = branches.iter().fold(nearest[reward as usize], |sum, &(target, weight)| {
                    sum + nearest[weight as usize] * values[target as usize]
                });
                best = best.min(sum);
            }
            residual = residual.max((best - values[rank]).abs());
            next[rank] = best;
        })?;
        std::mem::swap(&mut values, &mut next);
        done += 1;
        residuals.push(residual);
        if let Some(path) = how.file {
            write_values(path, done, &values)?;
        }
        if residual <= how.residual {
            break;
        }
    }
    Ok((values, residuals))
}

const MAGIC: &[u8; 8] = b"hadalval";

/// Values are written beside the old ones and then take their name, so that one of them is always whole.
fn write_values(path: &Path, sweeps: u64, values: &[f64]) -> Result<(), DiskError> {
    let fresh = path.with_extension("new");
    let mut file = std::io::BufWriter::new(std::fs::File::create(&fresh)?);
    let mut sum = Checksum::default();
    file.write_all(MAGIC)?;
    for word in [sweeps, values.len() as u64].into_iter().chain(values.iter().map(|v| v.to_bits())) {
        sum.add(word);
        file.write_all(&word.to_le_bytes())?;
    }
    file.write_all(&sum.0.to_le_bytes())?;
    let file = file.into_inner().map_err(|e| e.into_error())?;
    file.sync_all()?;
    std::fs::rename(&fresh, path)?;
    Ok(())
}

/// The sweeps done and the values, where the file is there.
fn read_values(path: &Path, states: usize) -> Result<Option<(u64, Vec<f64>)>, DiskError> {
    let file = match std::fs::File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let damaged =
        || DiskError::Damaged(format!("{}: these are not the values of this model", path.display()));
    let mut file = std::io::BufReader::new(file);
    let mut magic = [0; 8];
    file.read_exact(&mut magic)?;
    let mut sum = Checksum::default();
    let mut word = |sum: &mut Checksum| -> Result<u64, DiskError> {
        let mut bytes = [0; 8];
        file.read_exact(&mut bytes)?;
        let word = u64::from_le_bytes(bytes);
        sum.add(word);
        Ok(word)
    };
    let (sweeps, count) = (word(&mut sum)?, word(&mut sum)?);
    if magic != *MAGIC || count != states as u64 {
        return Err(damaged());
    }
    let mut values = Vec::with_capacity(states);
    for _ in 0..states {
        values.push(f64::from_bits(word(&mut sum)?));
    }
    let expected = sum.0;
    if word(&mut sum)? != expected {
        return Err(damaged());
    }
    Ok(Some((sweeps, values)))
}

/// Fowler, Noll and Vo's hash over words.
struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Checksum(0xCBF2_9CE4_8422_2325)
    }
}

impl Checksum {
    fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x0100_0000_01B3).rotate_left(17);
    }
}
