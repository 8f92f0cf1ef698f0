//! Priced zones as packed states, for the searches that know nothing of zones: least cost, cost at the offset, slopes and
//! zone in the low words, the discrete part and a mark of goals in the high ones.
//!
//! A state that meets the goal has one more successor, in which the goal is met at the least cost: a state of its own that
//! nothing leads away from. So a search need only look at the cost of marked states.

use super::super::dbm::Zone;
use super::space::{Made, Priced, PricedError, PricedSpace, PricedWorker};
use super::zone::PricedZone;
use hadal_system::{
    Check, CostRange, Cover, Label, Matcher, PropertyId, PropertyInfo, PropertyKind, Span, StateSpace,
    Successors, Worker, state::hash,
};
use std::sync::Mutex;

/// The largest cost of a transition that searches by cost can count.
const MOST_COST: u32 = u32::MAX - 1;

/// The priced zone graph of a space, packed.
pub struct PricedStates<'s> {
    space: &'s PricedSpace,
    shape: PackedShape,
    properties: Vec<PropertyInfo>,
    /// What went wrong in a worker: what was explored is then worth nothing.
    wrong: Mutex<Option<PricedError>>,
}

/// Where the parts of a state lie.
#[derive(Clone, Copy, Debug)]
struct PackedShape {
    /// Clocks, the reference included.
    size: usize,
    discrete: usize,
}

impl PackedShape {
    fn slopes(self) -> usize {
        2
    }

    fn zone(self) -> usize {
        self.slopes() + self.size - 1
    }

    fn discrete(self) -> usize {
        self.zone() + (self.size * (self.size - 1)).div_ceil(2)
    }

    fn words(self) -> usize {
        self.discrete() + self.discrete + 1
    }

    fn key_words(self) -> usize {
        self.discrete + 1
    }

    /// Entries off the diagonal, in the order they are kept.
    fn entries(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.size).flat_map(move |i| (0..self.size).filter(move |&j| j != i).map(move |j| (i, j)))
    }

    fn pack(self, priced: &Priced, least: i64, goal: bool, into: &mut Vec<u64>) {
        into.clear();
        into.resize(self.words(), 0);
        // A run pays nothing negative, so least costs are numbers without sign.
        into[0] = least as u64;
        into[1] = priced.zone.cost as u64;
        for (word, &slope) in into[self.slopes()..].iter_mut().zip(&priced.zone.slopes[1..]) {
            *word = slope as u64;
        }
        for (n, (i, j)) in self.entries().enumerate() {
            into[self.zone() + n / 2] |= u64::from(priced.zone.zone.entry(i, j) as u32) << (32 * (n % 2));
        }
        into[self.discrete()..self.discrete() + self.discrete].copy_from_slice(&priced.state);
        into[self.words() - 1] = u64::from(goal);
    }

    fn unpack_zone(self, state: &[u64]) -> PricedZone {
        let mut zone = Zone::zero(self.size - 1);
        for (n, (i, j)) in self.entries().enumerate() {
            *zone.entry_mut(i, j) = (state[self.zone() + n / 2] >> (32 * (n % 2))) as u32 as i32;
        }
        let slopes = state[self.slopes()..self.zone()].iter().map(|&word| word as i64);
        PricedZone { zone, cost: state[1] as i64, slopes: std::iter::once(0).chain(slopes).collect() }
    }

    fn unpack(self, state: &[u64]) -> Priced {
        let discrete = state[self.discrete()..self.discrete() + self.discrete].to_vec();
        Priced { state: discrete, zone: self.unpack_zone(state) }
    }

    /// Whether the zone of one state lies within that of the other.
    fn is_within(self, small: &[u64], big: &[u64]) -> bool {
        (self.zone()..self.discrete()).all(|n| {
            let (small, big) = (small[n], big[n]);
            small as u32 as i32 <= big as u32 as i32
                && (small >> 32) as u32 as i32 <= (big >> 32) as u32 as i32
        })
    }
}

impl<'s> PricedStates<'s> {
    /// Of this space.
    pub fn new(space: &'s PricedSpace) -> Self {
        let shape = PackedShape { size: space.zones.zones.size, discrete: space.zones.model.words() };
        let name = space.zones.properties().get(space.goal).map_or("goal".into(), |it| it.name.clone());
        let properties = vec![PropertyInfo { name, kind: PropertyKind::Goal, span: Span::default() }];
        PricedStates { space, shape, properties, wrong: Mutex::new(None) }
    }

    /// The least cost of a state.
    pub fn least_cost(state: &[u64]) -> u64 {
        state[0]
    }

    /// Whether a state is a goal at its least cost.
    pub fn is_goal(state: &[u64]) -> bool {
        state.last() == Some(&1)
    }

    /// What went wrong on the way, if anything.
    pub fn take_error(&self) -> Option<PricedError> {
        self.wrong.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).take()
    }

    /// The run along a path that ends in a goal.
    pub fn found(&self, path: &[Vec<u64>]) -> Result<super::search::Found, PricedError> {
        let mut worker = PricedWorker::new(self.space);
        let mut found = super::search::Found {
            cost: path.last().map_or(0, |state| state[0] as i64),
            labels: Vec::new(),
            states: Vec::new(),
        };
        let (mut packed, mut turns) = (Vec::new(), Vec::new());
        for (n, state) in path.iter().enumerate() {
            // The goal is a state of its own at the place before.
            if PricedStates::is_goal(state) {
                break;
            }
            let made = match n {
                0 => worker.initial()?,
                _ => worker.successors(&self.shape.unpack(&path[n - 1]))?,
            };
            let mut found_by = None;
            for Made { label, priced, turn } in made {
                let least = priced.zone.infimum().ok_or(PricedError::Negative)?;
                self.shape.pack(&priced, least, false, &mut packed);
                if packed == *state {
                    found_by = Some((label, turn));
                    break;
                }
            }
            let (label, turn) = found_by.ok_or(PricedError::Lost(n))?;
            found.labels.push(label);
            turns.push(turn);
            found.states.push(self.shape.unpack(state).state);
        }
        if let Some(symmetry) = &self.space.symmetry {
            symmetry.turn_back(&self.space.zones, &mut found.labels, &mut found.states, &turns);
        }
        Ok(found)
    }
}

impl StateSpace for PricedStates<'_> {
    fn words(&self) -> usize {
        self.shape.words()
    }

    fn fingerprint(&self) -> u64 {
        let classes = self.space.symmetric().into_iter().map(|size| size as u64);
        let about = [self.space.zones.fingerprint(), self.space.goal as u64, 7];
        hash(&about.into_iter().chain(classes).collect::<Vec<_>>())
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(PackedWorker {
            states: self,
            worker: PricedWorker::new(self.space),
            packed: Vec::new(),
            from: Vec::new(),
            costs: Vec::new(),
        })
    }

    fn costs(&self) -> CostRange {
        CostRange { least: 0, most: MOST_COST }
    }

    fn cover(&self) -> Option<&dyn Cover> {
        Some(self)
    }

    fn render_label(&self, label: Label) -> String {
        format!("successor {}", label.0)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let discrete = &state[self.shape.discrete()..self.shape.words() - 1];
        let mut shown = self.space.zones.model.render_state(discrete);
        shown.push(("cost".into(), state[0].to_string()));
        shown
    }
}

impl Cover for PricedStates<'_> {
    fn key_words(&self) -> usize {
        self.shape.key_words()
    }

    fn matcher(&self) -> Box<dyn Matcher + '_> {
        let zone = PricedZone::zero(self.shape.size - 1);
        Box::new(PackedMatcher { shape: self.shape, chosen: Vec::new(), zone })
    }
}

/// Compares priced zones: one covers another where it includes it and is nowhere dearer.
struct PackedMatcher {
    shape: PackedShape,
    chosen: Vec<u64>,
    zone: PricedZone,
}

impl Matcher for PackedMatcher {
    fn choose(&mut self, state: &[u64]) {
        self.chosen.clear();
        self.chosen.extend_from_slice(state);
        self.zone = self.shape.unpack_zone(state);
    }

    fn is_covered_by(&mut self, big: &[u64]) -> bool {
        big[0] <= self.chosen[0]
            && self.shape.is_within(&self.chosen, big)
            && self.zone.is_dominated_by(&self.shape.unpack_zone(big))
    }
}

struct PackedWorker<'p> {
    states: &'p PricedStates<'p>,
    worker: PricedWorker<'p>,
    packed: Vec<u64>,
    /// The state that `costs` belong to: by number of the successor.
    from: Vec<u64>,
    costs: Vec<u64>,
}

impl PackedWorker<'_> {
    /// Packs what was made, numbered in order, and the goals among it.
    fn push(&mut self, made: Vec<Made>, base: u64, out: &mut Successors) -> Result<(), PricedError> {
        self.costs.clear();
        for Made { priced, .. } in made {
            let least = priced.zone.infimum().filter(|&least| least >= 0).ok_or(PricedError::Negative)?;
            self.add(&priced, least, (base, false), out)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        priced: &Priced,
        least: i64,
        (base, goal): (u64, bool),
        out: &mut Successors,
    ) -> Result<(), PricedError> {
        self.states.shape.pack(priced, least, goal, &mut self.packed);
        out.push(Label(self.costs.len() as u32), &self.packed);
        // A step never makes a run cheaper.
        let cost = (least as u64).saturating_sub(base);
        if cost > u64::from(MOST_COST) {
            return Err(PricedError::TooDear);
        }
        self.costs.push(cost);
        Ok(())
    }

    fn expand(&mut self, state: &[u64], out: &mut Successors) -> Result<(), PricedError> {
        self.from.clear();
        self.from.extend_from_slice(state);
        let from = self.states.shape.unpack(state);
        let made = self.worker.successors(&from)?;
        self.push(made, state[0], out)?;
        if let Some((least, part)) = self.worker.goal_part(&from) {
            let goal = Priced { state: from.state, zone: part };
            self.add(&goal, least, (state[0], true), out)?;
        }
        Ok(())
    }

    fn fail(&self, error: PricedError, out: &mut Successors) {
        let mut wrong = self.states.wrong.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        wrong.get_or_insert(error);
        out.push_fault(Label(0));
    }
}

impl Worker for PackedWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let made = self.worker.initial().and_then(|made| self.push(made, 0, out));
        if let Err(error) = made {
            self.fail(error, out);
        }
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        if PricedStates::is_goal(state) {
            self.costs.clear();
            return;
        }
        if let Err(error) = self.expand(state, out) {
            self.fail(error, out);
        }
    }

    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        if self.from != state {
            let mut again = Successors::new(self.states.shape.words());
            self.successors(state, &mut again);
        }
        let cost = |label: &Label| self.costs.get(label.0 as usize).map_or(0, |&cost| cost as u32);
        costs.extend(labels.iter().map(cost));
    }

    fn check(&mut self, state: &[u64]) -> Check {
        match PricedStates::is_goal(state) {
            true => Check::Hit(PropertyId(0)),
            false => Check::Fine,
        }
    }
}
