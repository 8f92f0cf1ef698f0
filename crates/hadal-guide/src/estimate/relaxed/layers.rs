//! h^L and h^U (Wehrle 2011, sec. 2.3), in planning h^max and h^FF: values only accumulate. h^L counts the rounds until what
//! is looked for appears; h^U counts the transitions of a trace of the relaxed system that is extracted backwards.

use super::network::{LINK_WORK, NONE, Network};
use super::{Masks, Supporter, label_of};
use crate::task::NO_NUMBER;
use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator};
use std::cell::OnceCell;

/// What is made of the rounds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// Their number.
    Rounds,
    /// The length of the extracted trace, with this choice of supporters.
    Trace(Supporter),
}

/// Whether what a kept transition gives is taken as given wherever it is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    /// It is: the trace is short.
    Once,
    /// Only what appears first is: every round on the way is accounted for.
    Anew,
}

/// No round yet.
const UNREACHED: u32 = u32::MAX;

pub struct Layers<'g> {
    network: &'g Network,
    measure: Measure,
    masks: Masks,
    mask: Option<Mask>,
    /// Round in which each fact appeared.
    round: Vec<u32>,
    /// The row that made it appear.
    supporter: Vec<u32>,
    /// The fact that reached each atom first.
    reached_by: Vec<u32>,
    /// Atoms each row still waits for.
    waits: Vec<u32>,
    wave: Vec<u32>,
    ready: Vec<u32>,
    scratch: Scratch,
    /// Links followed so far, in all estimates.
    followed: u64,
    value: Distance,
    kept: Vec<u32>,
    supporters: OnceCell<Vec<Label>>,
    preferred: OnceCell<Vec<Label>>,
}

#[derive(Default)]
struct Scratch {
    buckets: Vec<Vec<u32>>,
    entered: Vec<bool>,
    provided: Vec<bool>,
    touched: Vec<u32>,
    kept_in: Vec<u32>,
}

impl<'g> Layers<'g> {
    pub fn new(network: &'g Network, measure: Measure) -> Self {
        let scratch = Scratch {
            entered: vec![false; network.facts],
            provided: vec![false; network.facts],
            kept_in: vec![UNREACHED; network.labels.len()],
            ..Scratch::default()
        };
        Layers {
            network,
            measure,
            masks: Masks::default(),
            mask: None,
            round: vec![UNREACHED; network.facts],
            supporter: vec![NONE; network.facts],
            reached_by: vec![NONE; network.atoms],
            waits: network.needs.clone(),
            wave: Vec::with_capacity(network.facts),
            ready: Vec::with_capacity(network.needs.len()),
            scratch,
            followed: 0,
            value: Distance::ZERO,
            kept: Vec::new(),
            supporters: OnceCell::new(),
            preferred: OnceCell::new(),
        }
    }

    /// Lets values accumulate until the goal appears; the round in which it does.
    fn sweep(&mut self, state: &[u64], off: Option<&Mask>) -> Option<u32> {
        let network = self.network;
        self.round.fill(UNREACHED);
        self.reached_by.fill(NONE);
        self.waits.copy_from_slice(&network.needs);
        self.wave.clear();
        self.ready.clear();
        self.followed += network.setup_work();
        if let Some(off) = off {
            for &row in self.masks.switched_off(network, off) {
                self.waits[row as usize] = u32::MAX;
            }
        }
        for (var, variable) in network.variables.iter().enumerate() {
            let base = network.bases[var];
            variable.each_number(state, |n| {
                if n == NO_NUMBER {
                    // Not thought possible: it may be anything.
                    for fact in base..network.bases[var + 1] {
                        self.round[fact as usize] = 0;
                        self.wave.push(fact);
                    }
                } else if self.round[(base + u32::from(n)) as usize] != 0 {
                    self.round[(base + u32::from(n)) as usize] = 0;
                    self.wave.push(base + u32::from(n));
                }
            });
        }
        for &row in &network.free {
            if self.waits[row as usize] == 0 {
                self.fire_or_queue(row, 0);
            }
        }
        let sorted = self.measure == Measure::Trace(Supporter::First);
        let mut level = 0;
        loop {
            let mut at = 0;
            while at < self.wave.len() {
                let fact = self.wave[at];
                at += 1;
                for &atom in network.links.atoms_of_fact.get(fact) {
                    if self.reached_by[atom as usize] != NONE {
                        continue;
                    }
                    self.reached_by[atom as usize] = fact;
                    let rows = network.links.rows_of_atom.get(atom);
                    self.followed += rows.len() as u64 + 2;
                    for &row in rows {
                        let waits = &mut self.waits[row as usize];
                        *waits = waits.wrapping_sub(1);
                        if *waits == 0 {
                            self.fire_or_queue(row, level);
                        }
                    }
                }
                // All that led to the goal is known by now.
                if self.round[network.goal as usize] != UNREACHED {
                    return Some(level);
                }
            }
            if self.round[network.goal as usize] != UNREACHED {
                return Some(level);
            }
            if self.ready.is_empty() {
                return None;
            }
            if sorted {
                self.ready.sort_unstable();
            }
            level += 1;
            self.wave.clear();
            let mut ready = std::mem::take(&mut self.ready);
            for &row in &ready {
                self.apply(row, level);
            }
            ready.clear();
            self.ready = ready;
        }
    }

    /// Rows without cost fire at once, others in the next round.
    #[inline]
    fn fire_or_queue(&mut self, row: u32, level: u32) {
        if row < self.network.first_goal_row {
            self.ready.push(row);
        } else {
            self.apply(row, level);
        }
    }

    #[inline]
    fn apply(&mut self, row: u32, level: u32) {
        let network = self.network;
        let facts = network.links.facts_of_row.get(row);
        self.followed += facts.len() as u64;
        for &fact in facts {
            let round = &mut self.round[fact as usize];
            if *round == UNREACHED {
                *round = level;
                self.supporter[fact as usize] = row;
                self.wave.push(fact);
            } else if *round == level
                && self.measure == Measure::Trace(Supporter::Cheapest)
                && row < network.first_goal_row
                && level > 0
                && self.cost(row) < self.cost(self.supporter[fact as usize])
            {
                self.supporter[fact as usize] = row;
            }
        }
    }

    /// The sum of the rounds in which what the row needs appeared.
    fn cost(&self, row: u32) -> u32 {
        let atoms = self.network.links.atoms_of_row.get(row);
        atoms.iter().map(|&atom| self.round[self.reached_by[atom as usize] as usize]).sum()
    }

    /// Walks backwards from the goal and keeps the rows that are needed; how many transitions that are.
    fn extract(&mut self, rounds: u32) -> u32 {
        let scratch = std::mem::take(&mut self.scratch);
        let (kept, count, scratch) = self.backwards(rounds, scratch, Given::Once);
        self.scratch = scratch;
        self.kept = kept;
        count
    }

    fn backwards(&self, rounds: u32, mut scratch: Scratch, given: Given) -> (Vec<u32>, u32, Scratch) {
        let network = self.network;
        let mut kept = Vec::new();
        let mut count = 0;
        scratch.entered.resize(network.facts, false);
        scratch.provided.resize(network.facts, false);
        scratch.kept_in.resize(network.labels.len(), UNREACHED);
        if scratch.buckets.len() <= rounds as usize {
            scratch.buckets.resize(rounds as usize + 1, Vec::new());
        }
        scratch.buckets[rounds as usize].push(network.goal);
        scratch.entered[network.goal as usize] = true;
        scratch.touched.push(network.goal);
        for level in (0..=rounds).rev() {
            let mut at = 0;
            while let Some(&fact) = scratch.buckets[level as usize].get(at) {
                at += 1;
                if given == Given::Once && scratch.provided[fact as usize] {
                    continue;
                }
                let row = self.supporter[fact as usize];
                if network.operator_of[row as usize] != NONE {
                    kept.push(row);
                    let in_level = &mut scratch.kept_in[network.operator_of[row as usize] as usize];
                    count += u32::from(*in_level != level);
                    *in_level = level;
                }
                for &given in network.links.facts_of_row.get(row) {
                    scratch.provided[given as usize] = true;
                    scratch.touched.push(given);
                }
                for &atom in network.links.atoms_of_row.get(row) {
                    let needed = self.reached_by[atom as usize];
                    let of_state =
                        self.round[needed as usize] == 0 && needed < network.bases[network.variables.len()];
                    if !of_state && !std::mem::replace(&mut scratch.entered[needed as usize], true) {
                        scratch.touched.push(needed);
                        scratch.buckets[self.round[needed as usize] as usize].push(needed);
                    }
                }
            }
            scratch.buckets[level as usize].clear();
        }
        for fact in scratch.touched.drain(..) {
            scratch.entered[fact as usize] = false;
            scratch.provided[fact as usize] = false;
        }
        for &row in &kept {
            scratch.kept_in[network.operator_of[row as usize] as usize] = UNREACHED;
        }
        (kept, count, scratch)
    }

    /// Everything that the rounds of what is needed rest on: only then do they stay as they are without the rest.
    fn needed(&self) -> Vec<u32> {
        match self.value.is_finite() {
            true => self.backwards(self.round[self.network.goal as usize], Scratch::default(), Given::Anew).0,
            false => Vec::new(),
        }
    }

    /// The labels of these rows, each once.
    fn labels_of(&self, rows: impl Iterator<Item = u32>) -> Vec<Label> {
        let network = self.network;
        let label = |row: u32| {
            label_of(&network.labels[network.operator_of[row as usize] as usize], self.mask.as_ref())
        };
        let mut labels: Vec<Label> = rows.filter_map(label).collect();
        labels.sort_unstable();
        labels.dedup();
        labels
    }

    /// Whether a row needs nothing that is not there at once.
    fn fires_now(&self, row: u32) -> bool {
        let atoms = self.network.links.atoms_of_row.get(row);
        atoms.iter().all(|&atom| self.round[self.reached_by[atom as usize] as usize] == 0)
    }
}

impl Estimator for Layers<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let off = off.filter(|off| !off.is_empty());
        self.supporters.take();
        self.preferred.take();
        self.kept.clear();
        self.mask = off.cloned();
        self.value = match self.sweep(state, off) {
            None => Distance::INFINITE,
            Some(rounds) => match self.measure {
                Measure::Rounds => Distance(rounds),
                Measure::Trace(_) => Distance(self.extract(rounds)),
            },
        };
        self.value
    }

    fn work(&self) -> u64 {
        self.followed * LINK_WORK
    }

    fn supporters(&self) -> Option<&[Label]> {
        Some(self.supporters.get_or_init(|| self.labels_of(self.needed().into_iter())))
    }

    fn preferred(&self) -> &[Label] {
        self.preferred.get_or_init(|| {
            let first =
                |rows: &[u32]| self.labels_of(rows.iter().copied().filter(|&row| self.fires_now(row)));
            match self.measure {
                Measure::Rounds => first(&self.needed()),
                Measure::Trace(_) => first(&self.kept),
            }
        })
    }
}
