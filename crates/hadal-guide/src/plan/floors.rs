//! What it costs at least to make comparisons of numbers true: however rows share in it, the one that comes nearer for the
//! least cost sets the price (Scala, Haslum, Magazzeni and Thiébaux 2017 have such bounds for h^max of numeric planning).
//!
//! From one state to the next, a row's cost falls by no more than the row costs: h^max stays consistent with them.

use super::relaxed::{Gain, Relaxed};
use hadal_exec::rows::RowWorker;

/// An operator that makes a comparison true, and its place in the list of gains where it is a fixed change.
type Maker = (u32, Option<u32>);

/// The least costs of facts that are comparisons.
pub(super) struct Floors {
    /// Facts that changes of numbers make true, with the operators that do.
    facts: Vec<(u32, Vec<Maker>)>,
    /// The least cost of each fact in the state that was looked at last.
    pub(super) least: Vec<u32>,
}

impl Floors {
    /// Those of a task; `None` where it has none.
    pub(super) fn of(task: &Relaxed) -> Option<Self> {
        let mut gain_of = vec![None; task.operators()];
        for (gain, place) in task.gains.iter().zip(0u32..) {
            if gain.net.is_finite() {
                gain_of[gain.operator as usize] = Some(place);
            }
        }
        let mut facts = Vec::new();
        for fact in 0..task.facts() as u32 {
            let makers = task.added_by.get(fact).iter().map(|&maker| (maker, gain_of[maker as usize]));
            let makers: Vec<Maker> = makers.collect();
            if makers.iter().any(|(_, gain)| gain.is_some()) {
                facts.push((fact, makers));
            }
        }
        (!facts.is_empty()).then(|| Floors { facts, least: vec![0; task.facts()] })
    }

    /// Computes them for a state.
    pub(super) fn look_at(&mut self, task: &Relaxed, state: &[u64], worker: &mut RowWorker) {
        for (fact, makers) in &self.facts {
            let price = |&(maker, gain): &Maker| {
                let gain: Option<&Gain> = gain.map(|place| &task.gains[place as usize]);
                let times = gain.map_or(1.0, |gain| task.least_times(gain, state, worker));
                f64::from(task.costs[maker as usize]) * times
            };
            let least = makers.iter().map(price).fold(f64::INFINITY, f64::min);
            // Costs are whole. Far below what is infinite: such a fact may be reached.
            self.least[*fact as usize] = least.ceil().min(f64::from(u32::MAX / 2)) as u32;
        }
    }
}
