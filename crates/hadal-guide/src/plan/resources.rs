//! What the rows of a relaxed plan use up must be there, or be made: relaxed plans that count resources (in the spirit of
//! Coles, Fox, Long and Smith 2008, by a flow of demands instead of a linear program).
//!
//! A *resource* is a linear form of numbers that comparisons want large. Rows raise or lower it by constants. A relaxed plan
//! alone lets ten rows use the same unit of wood; here each of them uses its own, and rows that make more of it are added
//! until there is enough. The order of rows does not count. Nothing is proved by this: it estimates.

use super::additive::INFINITE;
use super::linear::{constant, linear};
use super::relaxed::{Compared, Lists, Side};
use hadal_system::rows::{Change, RowTask, Sign};
use std::collections::HashMap;

/// Rounds of adding rows for demands before the rest is let be.
const ROUNDS: u32 = 200;
/// Rounds of finding out what a unit costs.
const PRICING: u32 = 12;
/// What more than nothing is at least.
const LITTLE: f64 = 1e-6;

/// A change of a resource by a row.
#[derive(Clone, Copy, Debug)]
struct Flow {
    resource: u32,
    by: f64,
}

/// The resources of a task; nothing here depends on a state.
#[derive(Debug)]
pub(super) struct Resources {
    /// What comparisons want.
    wants: Vec<Want>,
    /// By fact: its place among them, or [`NOTHING`].
    places: Vec<u32>,
    /// By row: what it changes.
    flows: Vec<Vec<Flow>>,
    /// By row: forms that it sets to a value.
    sets: Vec<Vec<Flow>>,
    /// By row: the facts that it needs.
    needs: Lists,
    /// Rows that raise a resource, and by how much.
    makers: Vec<(u32, Flow)>,
    /// By resource: whether a row sets it, or it begins, so high that a comparison is met. Room in a cart is such: it is made by
    /// unloading alone, and used again and again.
    reusable: Vec<bool>,
}

/// No place.
const NOTHING: u32 = u32::MAX;

/// What a comparison wants of a resource.
#[derive(Clone, Copy, Debug)]
struct Want {
    fact: u32,
    comparison: u32,
    side: Side,
    resource: u32,
    /// The constant of the comparison's form: the resource must not be below less this.
    constant: f64,
    strict: bool,
}

impl Resources {
    /// The resources behind these comparisons; `None` where no row uses up what it needs.
    pub(super) fn of(task: &RowTask, compares: &[Compared], needs: Lists) -> Option<Resources> {
        let mut forms: Vec<Vec<(u32, f64)>> = Vec::new();
        let mut numbers: HashMap<Vec<(u32, u64)>, u32> = HashMap::new();
        let mut wants = Vec::new();
        for &Compared { comparison, side, fact } in compares {
            let held = task.comparisons[comparison as usize];
            let strict = match held.sign {
                Sign::Positive => true,
                Sign::NotNegative | Sign::Zero => false,
                Sign::NotZero => continue,
            };
            let Some(form) = linear(task, held.term).map(|form| form.times(side.sign())) else { continue };
            let mut factors: Vec<(u32, f64)> = form.factors.iter().map(|(&n, &f)| (n, f)).collect();
            factors.sort_unstable_by_key(|&(number, _)| number);
            let key = factors.iter().map(|&(number, factor)| (number, factor.to_bits())).collect();
            let resource = *numbers.entry(key).or_insert_with(|| {
                forms.push(factors);
                forms.len() as u32 - 1
            });
            wants.push(Want { fact, comparison, side, resource, constant: form.constant, strict });
        }
        let mut by_number: HashMap<u32, Vec<Flow>> = HashMap::new();
        for (resource, form) in (0u32..).zip(&forms) {
            for &(number, by) in form {
                by_number.entry(number).or_default().push(Flow { resource, by });
            }
        }
        let last = wants.iter().map(|want| want.fact as usize + 1).max().unwrap_or(0);
        let mut places = vec![NOTHING; last];
        for (at, want) in (0u32..).zip(&wants) {
            places[want.fact as usize] = at;
        }
        let mut made = Resources {
            wants,
            places,
            flows: Vec::with_capacity(task.rows.len()),
            sets: Vec::with_capacity(task.rows.len()),
            needs,
            makers: Vec::new(),
            reusable: vec![false; forms.len()],
        };
        // What meets the least of a resource's comparisons.
        let mut least = vec![f64::INFINITY; forms.len()];
        for want in &made.wants {
            let met = if want.strict { LITTLE - want.constant } else { -want.constant };
            least[want.resource as usize] = least[want.resource as usize].min(met);
        }
        for (at, row) in (0u32..).zip(&task.rows) {
            let (mut flows, mut sets): (HashMap<u32, f64>, Vec<Flow>) = (HashMap::new(), Vec::new());
            for effect in row.effects.iter().filter(|effect| effect.when.is_empty()) {
                let (number, term) = match effect.change {
                    Change::Set(..) => continue,
                    Change::Increase(number, term) | Change::Assign(number, term) => (number, term),
                };
                let Some(amount) = constant(task, term) else { continue };
                for flow in by_number.get(&number).into_iter().flatten() {
                    match effect.change {
                        Change::Increase(..) => {
                            *flows.entry(flow.resource).or_insert(0.0) += flow.by * amount
                        }
                        _ if forms[flow.resource as usize].len() == 1 => {
                            sets.push(Flow { resource: flow.resource, by: flow.by * amount });
                        }
                        _ => {}
                    }
                }
            }
            let mut flows: Vec<Flow> = flows
                .into_iter()
                .filter(|&(_, by)| by != 0.0)
                .map(|(resource, by)| Flow { resource, by })
                .collect();
            flows.sort_unstable_by_key(|flow| flow.resource);
            made.makers.extend(flows.iter().filter(|flow| flow.by > 0.0).map(|&flow| (at, flow)));
            for set in &sets {
                made.reusable[set.resource as usize] |= set.by >= least[set.resource as usize];
            }
            made.flows.push(flows);
            made.sets.push(sets);
        }
        for (resource, form) in (0u32..).zip(&forms) {
            let initial = |&(number, factor): &(u32, f64)| {
                let value = task.numbers[number as usize].initial?;
                Some(factor * *value.numer() as f64 / *value.denom() as f64)
            };
            let begins = form.iter().map(initial).sum::<Option<f64>>();
            made.reusable[resource as usize] |= begins.is_some_and(|value| value >= least[resource as usize]);
        }
        let used_up = made.flows.iter().flatten().any(|flow| flow.by < 0.0);
        (used_up && !made.makers.is_empty()).then_some(made)
    }
}

/// What is known of the resources in one relaxed plan. Nothing is allocated per estimate.
#[derive(Debug, Default)]
pub(super) struct Stock {
    /// What a unit costs, and the row that makes it cheapest, with how much it makes.
    prices: Vec<(f64, u32, f64)>,
    /// What a unit costs as something to be used up, where none can be made from nothing.
    given: Vec<f64>,
    /// What rows need besides resources, as a cost.
    setup: Vec<f64>,
    /// What the rows of the plan change, together.
    change: Vec<f64>,
    /// What a row of the plan sets a resource to.
    set: Vec<f64>,
    /// How often each row is in the plan; those that are.
    times: Vec<u32>,
    rows: Vec<u32>,
    /// Comparisons that are wanted: which, what the last row that wants it uses up itself, the value in the state.
    wanted: Vec<(u32, f64, Option<f64>)>,
    /// Where each comparison stands among them, or [`NOTHING`].
    place: Vec<u32>,
    rounds: u32,
}

impl Stock {
    pub(super) fn new(resources: &Resources) -> Self {
        Stock {
            prices: vec![(f64::INFINITY, 0, 1.0); resources.reusable.len()],
            given: vec![f64::INFINITY; resources.reusable.len()],
            setup: vec![0.0; resources.flows.len()],
            change: vec![0.0; resources.reusable.len()],
            set: vec![f64::NEG_INFINITY; resources.reusable.len()],
            times: vec![0; resources.flows.len()],
            place: vec![NOTHING; resources.wants.len()],
            ..Stock::default()
        }
    }

    /// Forgets the last plan and finds out what a unit of each resource costs, given what facts and rows do.
    pub(super) fn begin(&mut self, resources: &Resources, facts: &[u32], costs: &[u32]) {
        for row in self.rows.drain(..) {
            self.times[row as usize] = 0;
        }
        self.change.fill(0.0);
        self.set.fill(f64::NEG_INFINITY);
        for (want, ..) in self.wanted.drain(..) {
            self.place[want as usize] = NOTHING;
        }
        self.rounds = 0;
        self.prices.fill((f64::INFINITY, 0, 1.0));
        self.given.fill(f64::INFINITY);
        for &(row, _) in &resources.makers {
            let needs = resources.needs.get(row).iter();
            let setup = needs.map(|&fact| match facts[fact as usize] {
                INFINITE => f64::INFINITY,
                // What it uses up is paid for by the unit.
                _ if resources.uses_up(row, fact) => 0.0,
                cost => f64::from(cost),
            });
            self.setup[row as usize] = f64::from(costs[row as usize].max(1)) + setup.sum::<f64>();
        }
        // First what can be made from nothing; then with what comes back when it was used; then with what is there.
        self.price(resources);
        for (at, given) in self.given.iter_mut().enumerate() {
            if resources.reusable[at] && !self.prices[at].0.is_finite() {
                *given = 1.0;
            }
        }
        self.price(resources);
        for want in &resources.wants {
            let at = want.resource as usize;
            if facts[want.fact as usize] == 0 && !self.prices[at].0.is_finite() {
                self.given[at] = self.given[at].min(0.0);
            }
        }
        self.price(resources);
    }

    /// Finds out what a unit of each resource costs.
    fn price(&mut self, resources: &Resources) {
        for _ in 0..PRICING {
            let mut cheaper = false;
            for &(row, made) in &resources.makers {
                let used = resources.flows[row as usize].iter().filter(|flow| flow.by < 0.0);
                let unit = |at: u32| self.prices[at as usize].0.min(self.given[at as usize]);
                let used: f64 = used.map(|flow| -flow.by * unit(flow.resource)).sum();
                let price = (self.setup[row as usize] + used) / made.by;
                let known = &mut self.prices[made.resource as usize];
                if price < known.0 - LITTLE {
                    *known = (price, row, made.by);
                    cheaper = true;
                }
            }
            if !cheaper {
                break;
            }
        }
    }

    /// Puts a row into the plan; whether it was not there.
    pub(super) fn take(&mut self, resources: &Resources, row: u32, times: u32) -> bool {
        let fresh = self.times[row as usize] == 0;
        if fresh {
            self.rows.push(row);
            for set in &resources.sets[row as usize] {
                let held = &mut self.set[set.resource as usize];
                *held = held.max(set.by);
            }
        }
        self.times[row as usize] = self.times[row as usize].saturating_add(times);
        for flow in &resources.flows[row as usize] {
            self.change[flow.resource as usize] += flow.by * f64::from(times);
        }
        fresh
    }

    /// Whether a row is in the plan.
    pub(super) fn has(&self, row: u32) -> bool {
        self.times[row as usize] > 0
    }

    /// The rows of the plan, with how often each is in it.
    pub(super) fn plan(&self) -> impl Iterator<Item = (u32, u32)> {
        self.rows.iter().map(|&row| (row, self.times[row as usize]))
    }

    /// Notes that a row, or the goal, wants a comparison; what it is in the state is asked for once. Whether its fact needs a
    /// row as any other: where nothing gives the resource a value yet, or no row makes more of it.
    pub(super) fn want(
        &mut self,
        resources: &Resources,
        fact: u32,
        by: Option<u32>,
        value: impl FnOnce(u32) -> Option<f64>,
    ) -> bool {
        let Some((number, want)) = resources.want_of(fact) else { return true };
        let flows = by.map(|row| &resources.flows[row as usize]);
        let own = flows.into_iter().flatten().find(|flow| flow.resource == want.resource);
        let own = own.map_or(0.0, |flow| (-flow.by).max(0.0));
        if self.place[number as usize] == NOTHING {
            self.place[number as usize] = self.wanted.len() as u32;
            let value = value(want.comparison).map(|value| want.side.sign() * value);
            self.wanted.push((number, own, value));
        }
        let held = &mut self.wanted[self.place[number as usize] as usize];
        // At the end everything is used up that is.
        held.1 = if by.is_none() { 0.0 } else { held.1.max(own) };
        let has_value = held.2.is_some() || self.set[want.resource as usize].is_finite();
        !has_value || !self.prices[want.resource as usize].0.is_finite()
    }

    /// A row that makes what is missing, and how often it is needed for that; `None` where nothing is missing, or nothing
    /// helps.
    pub(super) fn missing(&mut self, resources: &Resources) -> Option<(u32, u32)> {
        self.rounds += 1;
        if self.rounds > ROUNDS {
            return None;
        }
        let mut dearest: Option<(f64, u32, u32)> = None;
        for &(number, own, value) in &self.wanted {
            let want = resources.wants[number as usize];
            let (price, row, gain) = self.prices[want.resource as usize];
            if !price.is_finite() || dearest.is_some_and(|(known, ..)| known >= price) {
                continue;
            }
            let set = self.set[want.resource as usize] + want.constant;
            let Some(begins) = value.map(|value| value.max(set)).or(set.is_finite().then_some(set)) else {
                continue;
            };
            let left = begins + self.change[want.resource as usize] + own;
            let short = if want.strict { LITTLE - left } else { -left };
            let times = match want.side {
                // What is to be neither below nor above nothing is not passed again and again.
                Side::Least | Side::Most if self.times[row as usize] > 0 => (short / gain + LITTLE).floor(),
                _ => (short / gain).ceil(),
            };
            if short > LITTLE / 2.0 && times >= 1.0 {
                // What comes late in the chain of makers first: the demands of all of them add up.
                dearest = Some((price, row, times.min(1e6) as u32));
            }
        }
        dearest.map(|(_, row, times)| (row, times))
    }
}

impl Resources {
    /// Whether a fact is a comparison that is a resource's.
    pub(super) fn wants(&self, fact: u32) -> bool {
        self.want_of(fact).is_some()
    }

    /// What a fact wants, with its number.
    #[inline]
    fn want_of(&self, fact: u32) -> Option<(u32, Want)> {
        let number = *self.places.get(fact as usize).filter(|&&number| number != NOTHING)?;
        Some((number, self.wants[number as usize]))
    }

    /// What a row needs.
    pub(super) fn needs(&self, row: u32) -> &[u32] {
        self.needs.get(row)
    }

    /// Whether a row uses up the resource that a fact wants.
    fn uses_up(&self, row: u32, fact: u32) -> bool {
        let Some((_, want)) = self.want_of(fact) else { return false };
        self.flows[row as usize].iter().any(|flow| flow.resource == want.resource && flow.by < 0.0)
    }
}
