//! Distances to a loop that closes, in the space of liveness as safety.
//!
//! Jabbar, "External memory algorithms for state space exploration in model checking and action planning" (2008),
//! sec. 6.5: on the stem, the claim has to come to an accepting location; inside a loop, every process and the claim have
//! to come back to where they were when it began. The stronger form adds that the claim needs a cycle of its own. Several
//! variables may move in one step: the sum of their distances is divided by how many.

use hadal_exec::model::Model;
use hadal_exec::product::{ClaimGraph, Product};
use hadal_system::facts::{ControlGraph, Facts};
use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};
use hadal_system::state::get_bits;
use hadal_system::{Layout, System, Value};

/// Variables with more values than this are left out.
const MOST_VALUES: usize = 64;
/// At most so many variables are looked at.
const MOST_SLOTS: usize = 256;
const FAR: u32 = u32::MAX;

/// Which estimates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// As published.
    Published,
    /// With the claim's own cycles.
    Stronger,
}

/// Estimates distances in the space of liveness as safety over a product. A state there is a state of the product, a
/// stage (0 on the stem, 3 where the loop is closed), and the state that the loop began with.
pub struct LassoGuide {
    words: usize,
    form: Form,
    slots: Vec<SlotDistances>,
    /// The most of these variables that one step changes.
    together: u32,
    claim: Option<ClaimDistances>,
}

struct SlotDistances {
    slot: usize,
    offset: u32,
    width: u32,
    /// The code of each node in a state.
    codes: Vec<u64>,
    /// From node to node.
    table: Vec<u32>,
}

struct ClaimDistances {
    offset: u32,
    width: u32,
    locations: usize,
    table: Vec<u32>,
    /// The shortest cycle through each location.
    around: Vec<u32>,
    /// The estimate on the stem, by location, in either form.
    published: Vec<u32>,
    stronger: Vec<u32>,
}

impl LassoGuide {
    /// For a product of this model; `words` are those of a state of the product.
    pub fn new(model: &Model, product: &Product, words: usize, form: Form) -> Self {
        let system = model.system();
        let facts = Facts::of(system);
        let mut slots: Vec<SlotDistances> = Vec::new();
        // Where one step of the search is many of a process, distances in control graphs say nothing.
        if system.has_plain_steps() {
            let firsts = system.first_slots();
            let located: Vec<usize> =
                system.processes.iter().map(|process| firsts[process.location.0 as usize]).collect();
            let chosen: Vec<usize> = match located.is_empty() {
                true => (0..system.slot_count()).collect(),
                false => located,
            };
            slots.extend(
                chosen
                    .into_iter()
                    .filter_map(|slot| SlotDistances::of((system, model.layout()), &facts, slot))
                    .take(MOST_SLOTS),
            );
        }
        let written = |print: &hadal_system::facts::Footprint| {
            slots.iter().filter(|it| print.may_write.contains(it.slot as u32)).count() as u32
        };
        let together = facts.footprints().map(|(_, _, print)| written(print)).max().unwrap_or(0).max(1);
        let claim = product.claim_graph().map(ClaimDistances::new);
        LassoGuide { words, form, slots, together, claim }
    }

    fn on_stem(&self, own: &[u64]) -> u32 {
        let Some(claim) = &self.claim else { return 0 };
        let by_location = if self.form == Form::Stronger { &claim.stronger } else { &claim.published };
        by_location.get(claim.location(own)).copied().unwrap_or(0)
    }

    fn in_loop(&self, own: &[u64], seed: &[u64]) -> u32 {
        let mut sum = 0u32;
        for it in &self.slots {
            let code = |state: &[u64]| get_bits(state, it.offset, it.width);
            let (own, seed) = (code(own), code(seed));
            if own == seed {
                continue;
            }
            let node = |code: u64| it.codes.iter().position(|held| *held == code);
            let (Some(from), Some(to)) = (node(own), node(seed)) else { continue };
            match it.table[from * it.codes.len() + to] {
                FAR => return FAR,
                steps => sum += steps,
            }
        }
        let mut estimate = sum.div_ceil(self.together);
        if let Some(claim) = &self.claim {
            let (from, to) = (claim.location(own), claim.location(seed));
            let back = match claim.table.get(from * claim.locations + to) {
                Some(_) if from == to && self.form == Form::Stronger => claim.around[to],
                Some(&steps) => steps,
                None => 0,
            };
            estimate = estimate.max(back);
        }
        if self.form == Form::Stronger { estimate.max(1) } else { estimate }
    }
}

impl SlotDistances {
    fn of((system, layout): (&System, &Layout), facts: &Facts, slot: usize) -> Option<Self> {
        let graph = ControlGraph::of_slot(system, facts, slot as u32)?;
        let nodes = graph.values.len();
        if !(2..=MOST_VALUES).contains(&nodes) {
            return None;
        }
        let from = |node: usize| graph.distances_from(&[node as u32]);
        let table =
            (0..nodes).flat_map(|node| from(node).into_iter().map(|steps| steps.unwrap_or(FAR))).collect();
        let place = &layout.slots()[slot];
        let code = |value: &Option<Value>| system.domains[place.domain].encode(*value);
        // A value without a code is that of no state.
        let codes = graph.values.iter().map(|value| code(value).unwrap_or(u64::MAX)).collect();
        Some(SlotDistances { slot, offset: place.offset, width: place.width, codes, table })
    }
}

impl ClaimDistances {
    fn new(claim: ClaimGraph) -> Self {
        let locations = claim.edges.len();
        let mut table = vec![FAR; locations * locations];
        for from in 0..locations {
            let (mut wave, mut steps) = (vec![from], 0);
            while !wave.is_empty() {
                let mut next = Vec::new();
                for at in wave {
                    let known = &mut table[from * locations + at];
                    if *known == FAR {
                        *known = steps;
                        next.extend(claim.edges[at].iter().map(|&to| to as usize));
                    }
                }
                (wave, steps) = (next, steps + 1);
            }
        }
        let distance = |from: usize, to: usize| table[from * locations + to];
        let around: Vec<u32> = (0..locations)
            .map(|at| claim.edges[at].iter().map(|&to| distance(to as usize, at).saturating_add(1)).min())
            .map(|least| least.unwrap_or(FAR))
            .collect();
        let to_accepting = |from: usize, cycles: bool| {
            let targets = (0..locations).filter(|&to| claim.accepting[to] || claim.terminal[to]);
            let least = targets.map(|to| match cycles && !claim.terminal[to] {
                true => distance(from, to).saturating_add(around[to]),
                false => distance(from, to),
            });
            least.min().unwrap_or(FAR)
        };
        ClaimDistances {
            offset: claim.offset,
            width: claim.width,
            locations,
            published: (0..locations).map(|from| to_accepting(from, false)).collect(),
            stronger: (0..locations).map(|from| to_accepting(from, true)).collect(),
            around,
            table,
        }
    }

    fn location(&self, state: &[u64]) -> usize {
        get_bits(state, self.offset, self.width) as usize
    }
}

impl Guide for LassoGuide {
    fn name(&self) -> String {
        match self.form {
            Form::Published => "lasso".into(),
            Form::Stronger => "lasso+".into(),
        }
    }

    fn promises(&self) -> Promises {
        // A step moves the claim by one edge and at most `together` of the variables by one each.
        Promises { admissible: true, consistent: true, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(LassoEstimator(self))
    }
}

struct LassoEstimator<'g>(&'g LassoGuide);

impl Estimator for LassoEstimator<'_> {
    fn estimate(&mut self, state: &[u64], _off: Option<&Mask>) -> Distance {
        let words = self.0.words;
        let (own, stage, seed) = (&state[..words], state[words], &state[words + 1..]);
        Distance(match stage {
            0 => self.0.on_stem(own),
            3 => 0,
            _ => self.0.in_loop(own, seed),
        })
    }
}
