//! Semi-external solving: sets and values by rank in RAM, edges scanned from disk.

use super::graph::{DiskError, DiskGraph, Row};
use crate::numbers::Numbers;
use crate::optimistic::{lowered, raised};
use hadal_system::chance::Sense;
use std::io::{Read, Write};
use std::path::Path;

/// Scans that may be spent on proving a guess.
const MAX_TRIES: u64 = 64;
/// Scans after which bounds stay as they are.
const MAX_SCANS: u64 = 100_000;

/// How a sum of so many products is moved outward.
type Rounding = fn(f64, usize) -> f64;

/// Bounds of all states.
#[derive(Clone, Debug)]
pub struct DiskValues {
    /// Not above the values.
    pub lower: Vec<f64>,
    /// Not below the values.
    pub upper: Vec<f64>,
    /// Scans of the edges.
    pub sweeps: u64,
}

/// What is known of a state before anything is solved.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Known {
    Value(f64),
    Open,
}

/// The probability of `through U target` in every state.
///
/// End components are not collapsed: where choices could stay somewhere for ever, the greatest probability may keep the
/// trivial upper bound 1.
pub fn until(
    graph: &DiskGraph,
    through: &[bool],
    target: &[bool],
    sense: Sense,
    precision: f64,
) -> Result<DiskValues, DiskError> {
    let mut scans = 0;
    let (zero, one) = match sense {
        Sense::Greatest => {
            let reach = grow(
                graph,
                through,
                target,
                |row, set| row.branches.iter().any(|b| set[b.0 as usize]),
                &mut scans,
            )?;
            let one = almost_surely(graph, through, target, &reach, &mut scans)?;
            (reach.iter().map(|r| !r).collect::<Vec<bool>>(), one)
        }
        Sense::Least => {
            let every = |row: &Row, set: &[bool]| {
                row.choices().all(|(branches, _)| branches.iter().any(|b| set[b.0 as usize]))
            };
            let forced = grow(graph, through, target, every, &mut scans)?;
            let zero: Vec<bool> = forced.iter().map(|f| !f).collect();
            let open: Vec<bool> = target.iter().map(|t| !t).collect();
            let escape = grow(
                graph,
                &open,
                &zero,
                |row, set| row.branches.iter().any(|b| set[b.0 as usize]),
                &mut scans,
            )?;
            let one = escape.iter().zip(target).map(|(e, t)| *t || !e).collect();
            (zero, one)
        }
    };
    let known: Vec<Known> = zero
        .iter()
        .zip(&one)
        .map(|(zero, one)| match (zero, one) {
            (true, _) => Known::Value(0.0),
            (_, true) => Known::Value(1.0),
            _ => Known::Open,
        })
        .collect();
    let solver = Solver { graph, known, sense, rewards: false, precision, most: 1.0 };
    solver.solve(scans)
}

/// What is earned before a target is reached, in every state.
///
/// Places where nothing is earned are not collapsed: the least reward is answered only where every choice earns something
/// before the target, otherwise the upper bound may stay infinite.
pub fn earned_before(
    graph: &DiskGraph,
    target: &[bool],
    sense: Sense,
    precision: f64,
) -> Result<DiskValues, DiskError> {
    let mut scans = 0;
    let anywhere = vec![true; target.len()];
    let any = |row: &Row, set: &[bool]| row.branches.iter().any(|b| set[b.0 as usize]);
    let surely = match sense {
        Sense::Least => {
            let reach = grow(graph, &anywhere, target, any, &mut scans)?;
            almost_surely(graph, &anywhere, target, &reach, &mut scans)?
        }
        Sense::Greatest => {
            let every = |row: &Row, set: &[bool]| {
                row.choices().all(|(branches, _)| branches.iter().any(|b| set[b.0 as usize]))
            };
            let forced = grow(graph, &anywhere, target, every, &mut scans)?;
            let avoid: Vec<bool> = forced.iter().map(|f| !f).collect();
            let open: Vec<bool> = target.iter().map(|t| !t).collect();
            let escape = grow(graph, &open, &avoid, any, &mut scans)?;
            escape.iter().zip(target).map(|(e, t)| *t || !e).collect()
        }
    };
    let mut free = false;
    if sense == Sense::Least {
        // Without a reward on every choice a least solution below the values may exist.
        graph.scan(|rank, row| {
            let here = surely[rank as usize] && !target[rank as usize];
            free |= here && row.rewards.contains(&0);
        })?;
    }
    let known: Vec<Known> = target
        .iter()
        .zip(&surely)
        .map(|(target, surely)| match (target, surely) {
            (true, _) => Known::Value(0.0),
            (_, false) => Known::Value(f64::INFINITY),
            _ => Known::Open,
        })
        .collect();
    let solver = Solver { graph, known, sense, rewards: true, precision, most: f64::INFINITY };
    if !free {
        return solver.solve(scans);
    }
    // Lower bounds hold all the same; upper ones are not claimed.
    let mut values = solver.below(scans)?;
    for (upper, known) in values.upper.iter_mut().zip(&solver.known) {
        if *known == Known::Open {
            *upper = f64::INFINITY;
        }
    }
    Ok(values)
}

/// The least set with `target` that has every state of `through` whose choices `joins` it.
fn grow(
    graph: &DiskGraph,
    through: &[bool],
    target: &[bool],
    joins: impl Fn(&Row, &[bool]) -> bool,
    scans: &mut u64,
) -> Result<Vec<bool>, DiskError> {
    let mut set = target.to_vec();
    loop {
        let mut changed = false;
        graph.scan(|rank, row| {
            let rank = rank as usize;
            if !set[rank] && through[rank] && joins(row, &set) {
                set[rank] = true;
                changed = true;
            }
        })?;
        *scans += 1;
        if !changed {
            return Ok(set);
        }
    }
}

fn almost_surely(
    graph: &DiskGraph,
    through: &[bool],
    target: &[bool],
    within: &[bool],
    scans: &mut u64,
) -> Result<Vec<bool>, DiskError> {
    let mut safe = within.to_vec();
    loop {
        let joins = |row: &Row, set: &[bool]| {
            row.choices().any(|(branches, _)| {
                branches.iter().all(|b| safe[b.0 as usize]) && branches.iter().any(|b| set[b.0 as usize])
            })
        };
        let found = grow(graph, through, target, joins, scans)?;
        if found == safe {
            return Ok(found);
        }
        safe = found;
    }
}

struct Solver<'g> {
    graph: &'g DiskGraph,
    known: Vec<Known>,
    sense: Sense,
    rewards: bool,
    precision: f64,
    /// No value is larger.
    most: f64,
}

impl Solver<'_> {
    fn start(&self, open: f64) -> Vec<f64> {
        let value = |known: &Known| match known {
            Known::Value(value) => *value,
            Known::Open => open,
        };
        self.known.iter().map(value).collect()
    }

    /// Lower bounds, iterated until they hardly grow.
    fn below(&self, scans: u64) -> Result<DiskValues, DiskError> {
        let mut values = DiskValues { lower: self.start(0.0), upper: self.start(self.most), sweeps: scans };
        self.climb(&mut values, self.precision / 2.0)?;
        Ok(values)
    }

    fn climb(&self, values: &mut DiskValues, step: f64) -> Result<(), DiskError> {
        let numbers = self.graph.numbers.below();
        loop {
            let mut growth = 0.0f64;
            let lower = &mut values.lower;
            self.graph.scan(|rank, row| {
                let rank = rank as usize;
                if self.known[rank] == Known::Open {
                    let new = self.best(rank, row, lower, (numbers, lowered));
                    if new > lower[rank] {
                        growth = growth.max((new - lower[rank]) / new);
                        lower[rank] = new;
                    }
                }
            })?;
            values.sweeps += 1;
            if growth <= step || values.sweeps > MAX_SCANS {
                return Ok(());
            }
        }
    }

    fn solve(&self, scans: u64) -> Result<DiskValues, DiskError> {
        let mut values = self.below(scans)?;
        let mut step = self.precision / 2.0;
        for _ in 0..12 {
            for (rank, known) in self.known.iter().enumerate() {
                if *known == Known::Open {
                    values.upper[rank] =
                        raised(values.lower[rank] * (1.0 + self.precision), 1).min(self.most);
                }
            }
            if self.prove(&mut values)? {
                return Ok(values);
            }
            step /= 8.0;
            self.climb(&mut values, step)?;
            if values.sweeps > MAX_SCANS {
                break;
            }
        }
        for (rank, known) in self.known.iter().enumerate() {
            if *known == Known::Open {
                values.upper[rank] = self.most;
            }
        }
        Ok(values)
    }

    fn prove(&self, values: &mut DiskValues) -> Result<bool, DiskError> {
        let (below, above) = (self.graph.numbers.below(), self.graph.numbers.above());
        for _ in 0..MAX_TRIES {
            let (mut down, mut up, mut refuted) = (true, true, false);
            let DiskValues { lower, upper, .. } = values;
            self.graph.scan(|rank, row| {
                let rank = rank as usize;
                if self.known[rank] != Known::Open {
                    return;
                }
                let new = self.best(rank, row, upper, (above, raised)).min(self.most);
                if new <= upper[rank] {
                    up &= new == upper[rank];
                    upper[rank] = new;
                } else {
                    down = false;
                }
                lower[rank] = lower[rank].max(self.best(rank, row, lower, (below, lowered)));
                refuted |= upper[rank] < lower[rank];
            })?;
            values.sweeps += 1;
            if refuted {
                return Ok(false);
            }
            if down {
                return Ok(true);
            }
            if up {
                return Ok(false);
            }
        }
        Ok(false)
    }

    /// The value of a state by its best choice. Choices that only stay are left out: they attain no value of their own.
    fn best(&self, rank: usize, row: &Row, values: &[f64], (numbers, round): (&[f64], Rounding)) -> f64 {
        let mut best: Option<f64> = None;
        for (branches, reward) in row.choices() {
            if matches!(branches, [(target, _)] if *target as usize == rank) {
                continue;
            }
            let mut sum = if self.rewards { numbers[reward as usize] } else { 0.0 };
            if let [(target, 1)] = branches
                && sum == 0.0
            {
                sum = values[*target as usize];
            } else {
                for &(target, weight) in branches {
                    let value = values[target as usize];
                    // 0 times infinity does not occur: weights are positive.
                    sum += numbers[weight as usize] * value;
                }
                sum = round(sum, branches.len());
            }
            best = Some(match (best, self.sense) {
                (None, _) => sum,
                (Some(old), Sense::Least) => old.min(sum),
                (Some(old), Sense::Greatest) => old.max(sum),
            });
        }
        best.unwrap_or(0.0)
    }
}

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
    let nearest: Vec<f64> = nearest(&graph.numbers);
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

/// The floating-point number nearest to each fraction.
pub(crate) fn nearest(numbers: &Numbers) -> Vec<f64> {
    (0..numbers.len() as u32)
        .map(|n| {
            let value = numbers.exact(n);
            *value.numer() as f64 / *value.denom() as f64
        })
        .collect()
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
