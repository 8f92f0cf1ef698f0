//! The delete relaxation of a ground task in flat arrays: facts, and operators that only add.
//!
//! Every estimate of this folder rests on it. It leaves out what makes facts false, so whatever cannot be reached here
//! cannot be reached at all. Conditional effects are operators of their own that share their row's cost; derived facts and
//! monitors are operators that cost nothing; a comparison is a fact that any change of its numbers towards it may add.

use super::linear::{Linear, constant, linear};
use super::resources::Resources;
use hadal_exec::rows::{Place, RowSpace, RowWorker};
use hadal_system::rows::{Change, Need, RowTask, Sign, Term};
use std::collections::HashMap;

/// An operator that belongs to no row: a rule, or the step of a monitor.
pub const NO_ROW: u32 = u32::MAX;

/// What a row counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CostKind {
    /// What it costs at least.
    Real,
    /// One.
    Unit,
    /// What it costs at least, plus one.
    PlusOne,
}

/// Lists of numbers, one after the other.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    begins: Vec<u32>,
    flat: Vec<u32>,
}

impl Lists {
    pub(super) fn of(lists: &[Vec<u32>]) -> Self {
        let mut made = Lists { begins: vec![0], flat: Vec::new() };
        for list in lists {
            made.flat.extend_from_slice(list);
            made.begins.push(made.flat.len() as u32);
        }
        made
    }

    /// For each of `count` numbers, the lists it stands in.
    pub(super) fn turned(&self, count: usize) -> Self {
        let mut sizes = vec![0u32; count + 1];
        self.flat.iter().for_each(|&at| sizes[at as usize + 1] += 1);
        for at in 0..count {
            sizes[at + 1] += sizes[at];
        }
        let mut next = sizes.clone();
        let mut flat = vec![0; self.flat.len()];
        for list in 0..self.len() {
            for &at in self.get(list as u32) {
                flat[next[at as usize] as usize] = list as u32;
                next[at as usize] += 1;
            }
        }
        Lists { begins: sizes, flat }
    }

    /// How many lists.
    pub fn len(&self) -> usize {
        self.begins.len() - 1
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The n-th.
    #[inline]
    pub fn get(&self, list: u32) -> &[u32] {
        &self.flat[self.begins[list as usize] as usize..self.begins[list as usize + 1] as usize]
    }
}

/// What a fact says of a comparison's term. That a term is nothing is two facts: changes lead to it from one side or the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Side {
    /// The comparison itself.
    Whole,
    /// It is not below nothing.
    Least,
    /// It is not above nothing.
    Most,
}

impl Side {
    /// Turns what is not to be above nothing into what is not to be below it.
    pub(super) fn sign(self) -> f64 {
        if self == Side::Most { -1.0 } else { 1.0 }
    }
}

/// A comparison, or one side of it, that is a fact.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Compared {
    pub(super) comparison: u32,
    pub(super) side: Side,
    pub(super) fact: u32,
}

/// An operator that makes a comparison true by changing a number, and by how much it comes nearer each time.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gain {
    pub(super) operator: u32,
    pub(super) comparison: u32,
    pub(super) side: Side,
    pub(super) by: f64,
    /// By how much all changes of the row together bring it nearer each time, at most.
    pub(super) net: f64,
    /// How near values that are assigned bring it, without making it true.
    pub(super) nearest: f64,
}

/// Left off of ratios of floating-point numbers, so that rounding never makes them too large.
const ROUNDING: f64 = 1e-9;

/// A relaxed task.
pub struct Relaxed<'s> {
    space: &'s RowSpace,
    /// The first fact of each finite variable; its values follow.
    first_fact: Vec<u32>,
    places: Vec<Place>,
    /// Facts that say a variable does not have a value.
    differs: Vec<(Place, u32, u32)>,
    /// Comparisons that are facts.
    compares: Vec<Compared>,
    facts: usize,
    /// What each operator needs.
    pub(super) needs: Lists,
    /// What each operator adds.
    pub(super) adds: Lists,
    /// The operators that need each fact.
    pub(super) needed_by: Lists,
    /// The operators that add each fact.
    pub(super) added_by: Lists,
    /// How many facts each operator needs.
    pub(super) need_counts: Vec<u32>,
    /// Operators that need nothing.
    pub(super) free: Vec<u32>,
    /// The row of each operator, or [`NO_ROW`].
    pub(super) rows: Vec<u32>,
    /// What each operator costs.
    pub(super) costs: Vec<u32>,
    /// What each row costs.
    pub(super) row_costs: Vec<u32>,
    pub(super) goal: Vec<u32>,
    pub(super) gains: Vec<Gain>,
    /// What rows use up and make, where they do.
    pub(super) resources: Option<Resources>,
}

impl<'s> Relaxed<'s> {
    /// Relaxes the task of `space`.
    pub fn new(space: &'s RowSpace, kind: CostKind) -> Self {
        Builder::new(space).build(kind)
    }

    /// How many facts there are.
    pub fn facts(&self) -> usize {
        self.facts
    }

    /// The space that is relaxed.
    pub fn space(&self) -> &'s RowSpace {
        self.space
    }

    /// How many operators there are.
    pub fn operators(&self) -> usize {
        self.rows.len()
    }

    /// The fact that a finite variable has a value.
    pub fn fact(&self, variable: u32, value: u32) -> u32 {
        self.first_fact[variable as usize] + value
    }

    /// The variable and the value of a fact, where it is such a fact.
    pub(super) fn value_of(&self, fact: u32) -> Option<(u32, u32)> {
        let variable = self.first_fact.partition_point(|&first| first <= fact).checked_sub(1)?;
        let value = fact - self.first_fact[variable];
        let size = self.space.task().variables.get(variable)?.values.len() as u32;
        (value < size).then_some((variable as u32, value))
    }

    /// Calls `each` with the facts of a state; derived facts are not among them, operators add them.
    #[inline]
    pub(super) fn facts_of(&self, state: &[u64], worker: &mut RowWorker, mut each: impl FnMut(u32)) {
        for (place, first) in self.places.iter().zip(&self.first_fact) {
            each(first + place.get(state) as u32);
        }
        for &(place, value, fact) in &self.differs {
            if place.get(state) != u64::from(value) {
                each(fact);
            }
        }
        for &Compared { comparison, side, fact } in &self.compares {
            let holds = match side {
                Side::Whole => worker.compares(state, comparison),
                Side::Least | Side::Most => {
                    let term = self.space.task().comparisons[comparison as usize].term;
                    let sign = worker.value(state, term).map(|value| value.numer().signum());
                    sign.is_some_and(|sign| if side == Side::Least { sign >= 0 } else { sign <= 0 })
                }
            };
            if holds {
                each(fact);
            }
        }
    }

    /// How far a side of a comparison is from being met; nothing where it is, or where its value is undefined.
    pub(super) fn missing(&self, gain: &Gain, state: &[u64], worker: &mut RowWorker) -> f64 {
        let comparison = self.space.task().comparisons[gain.comparison as usize];
        let Some(value) = worker.value(state, comparison.term) else { return 0.0 };
        let missing = -gain.side.sign() * *value.numer() as f64 / *value.denom() as f64;
        missing.min(gain.nearest).max(0.0)
    }

    /// How often the row of a gain would have to fire if it alone made the comparison true. Of any rows that make it true
    /// together, the counts divided by theirs make one at least. Never below one.
    pub(super) fn least_times(&self, gain: &Gain, state: &[u64], worker: &mut RowWorker) -> f64 {
        (self.missing(gain, state, worker) / gain.net * (1.0 - ROUNDING)).max(1.0)
    }

    /// Where the fact of a value is read off a state, and what stands there. For such facts only.
    pub(super) fn test(&self, fact: u32) -> (Place, u64) {
        let (variable, value) = self.value_of(fact).unwrap_or_default();
        (self.places[variable as usize], u64::from(value))
    }

    /// Whether a fact of a value holds in a state. Others count as false.
    pub fn holds(&self, state: &[u64], fact: u32) -> bool {
        self.value_of(fact)
            .is_some_and(|(variable, value)| self.places[variable as usize].get(state) == u64::from(value))
    }
}

#[derive(Default)]
struct Builder<'s> {
    space: Option<&'s RowSpace>,
    first_fact: Vec<u32>,
    first_derived: u32,
    facts: u32,
    differs: HashMap<(u32, u32), u32>,
    compares: HashMap<(u32, Side), u32>,
    needs: Vec<Vec<u32>>,
    adds: Vec<Vec<u32>>,
    rows: Vec<u32>,
    gains: Vec<Gain>,
    /// The comparisons that are facts and read each number, with their facts and forms.
    by_number: HashMap<u32, Vec<Compared>>,
    forms: HashMap<u32, Option<Linear>>,
    /// How near values that are assigned bring sides of comparisons, where they do not make them true.
    nearest: HashMap<(u32, Side), f64>,
}

impl<'s> Builder<'s> {
    fn new(space: &'s RowSpace) -> Self {
        let mut builder = Builder { space: Some(space), ..Builder::default() };
        for variable in &space.task().variables {
            builder.first_fact.push(builder.facts);
            builder.facts += variable.values.len() as u32;
        }
        builder.first_derived = builder.facts;
        builder.facts += space.task().derived.len() as u32;
        builder
    }

    /// The facts behind a condition.
    fn facts_for(&mut self, task: &RowTask, needs: &[Need]) -> Vec<u32> {
        let mut facts = Vec::with_capacity(needs.len());
        for &need in needs {
            match need {
                Need::Is(variable, value) => facts.push(self.first_fact[variable as usize] + value),
                Need::IsNot(variable, value) => {
                    let size = task.variables[variable as usize].values.len() as u32;
                    if value >= size {
                        continue;
                    }
                    if size == 2 {
                        facts.push(self.first_fact[variable as usize] + 1 - value);
                        continue;
                    }
                    let count = &mut self.facts;
                    facts.push(*self.differs.entry((variable, value)).or_insert_with(|| {
                        *count += 1;
                        *count - 1
                    }));
                }
                Need::Derived(fact) => facts.push(self.first_derived + fact),
                // What follows may cease to follow at any time: the relaxation lets it.
                Need::NotDerived(_) => {}
                Need::Compares(comparison) => {
                    if reads_facts(task, task.comparisons[comparison as usize].term) {
                        continue;
                    }
                    let sides: &[Side] = match task.comparisons[comparison as usize].sign {
                        Sign::Zero => &[Side::Least, Side::Most],
                        Sign::Positive | Sign::NotNegative | Sign::NotZero => &[Side::Whole],
                    };
                    for &side in sides {
                        let count = &mut self.facts;
                        facts.push(*self.compares.entry((comparison, side)).or_insert_with(|| {
                            *count += 1;
                            *count - 1
                        }));
                    }
                }
            }
        }
        facts.sort_unstable();
        facts.dedup();
        facts
    }

    fn build(mut self, kind: CostKind) -> Relaxed<'s> {
        // Made by `new`, which fills it.
        let space = self.space.take().expect("a builder has a space");
        let task = space.task();
        // Conditions first, so that every fact of a difference or a comparison is known before effects are read.
        let row_needs: Vec<Vec<u32>> = task.rows.iter().map(|row| self.facts_for(task, &row.needs)).collect();
        let whens: Vec<Vec<Vec<u32>>> = task
            .rows
            .iter()
            .map(|row| row.effects.iter().map(|effect| self.facts_for(task, &effect.when)).collect())
            .collect();
        let rules: Vec<Vec<u32>> = task.rules.iter().map(|rule| self.facts_for(task, &rule.body)).collect();
        let goal = self.facts_for(task, &task.goal);
        let mut steps = Vec::new();
        for monitor in &task.monitors {
            for (from, needs, to) in &monitor.steps {
                let mut needs = self.facts_for(task, needs);
                needs.push(self.first_fact[monitor.variable as usize] + from);
                needs.sort_unstable();
                needs.dedup();
                steps.push((needs, monitor.variable, *to));
            }
        }
        self.read_comparisons(task);
        for at in 0..task.rows.len() {
            self.add_row(task, at as u32, &row_needs[at], &whens[at]);
        }
        for (rule, needs) in task.rules.iter().zip(rules) {
            let head = self.first_derived + rule.head;
            self.add(NO_ROW, needs, vec![head]);
        }
        for (needs, variable, to) in steps {
            let adds = self.adds_of(variable, to);
            self.add(NO_ROW, needs, adds);
        }
        self.finish(space, kind, goal, row_needs)
    }

    /// The comparisons that are facts, in order.
    fn compared(&self) -> Vec<Compared> {
        let each = |(&(comparison, side), &fact): (&(u32, Side), &u32)| Compared { comparison, side, fact };
        let mut compared: Vec<Compared> = self.compares.iter().map(each).collect();
        compared.sort_unstable();
        compared
    }

    fn read_comparisons(&mut self, task: &RowTask) {
        for compared in self.compared() {
            let comparison = compared.comparison;
            let term = task.comparisons[comparison as usize].term;
            let mut numbers = Vec::new();
            walk(task, term, |term| {
                if let Term::Number(number) = term {
                    numbers.push(number);
                }
            });
            numbers.sort_unstable();
            numbers.dedup();
            for number in numbers {
                self.by_number.entry(number).or_default().push(compared);
            }
            self.forms.insert(comparison, linear(task, term));
        }
    }

    /// What setting a variable makes true.
    fn adds_of(&self, variable: u32, value: u32) -> Vec<u32> {
        let mut adds = vec![self.first_fact[variable as usize] + value];
        let others = self.differs.iter().filter(|((of, not), _)| *of == variable && *not != value);
        adds.extend(others.map(|(_, &fact)| fact));
        adds
    }

    fn add(&mut self, row: u32, needs: Vec<u32>, mut adds: Vec<u32>) -> u32 {
        adds.sort_unstable();
        adds.dedup();
        // What it needs is there already.
        adds.retain(|fact| needs.binary_search(fact).is_err());
        self.needs.push(needs);
        self.adds.push(adds);
        self.rows.push(row);
        self.rows.len() as u32 - 1
    }

    fn add_row(&mut self, task: &RowTask, row: u32, needs: &[u32], whens: &[Vec<u32>]) {
        // Effects with the same condition are one operator.
        let mut groups: Vec<(&[u32], Vec<u32>)> = Vec::new();
        for (effect, when) in task.rows[row as usize].effects.iter().zip(whens) {
            match effect.change {
                Change::Set(variable, value) => {
                    let adds = self.adds_of(variable, value);
                    match groups.iter_mut().find(|group| group.0 == when.as_slice()) {
                        Some(group) => group.1.extend(adds),
                        None => groups.push((when, adds)),
                    }
                }
                Change::Assign(..) | Change::Increase(..) => {
                    self.add_numeric(task, row, &union(needs, when), effect.change);
                }
            }
        }
        for (when, adds) in groups {
            self.add(row, union(needs, when), adds);
        }
    }

    /// One operator for every comparison that a change of a number may make true.
    fn add_numeric(&mut self, task: &RowTask, row: u32, needs: &[u32], change: Change) {
        let (amount, number) = match change {
            Change::Increase(number, term) => (constant(task, term), number),
            Change::Assign(number, _) => (None, number),
            Change::Set(..) => return,
        };
        for Compared { comparison, side, fact } in self.by_number.get(&number).cloned().unwrap_or_default() {
            let held = task.comparisons[comparison as usize];
            let mut by = 0.0;
            if let (Change::Assign(_, term), Some(Some(form))) = (change, self.forms.get(&comparison))
                && form.factors.len() == 1
                && let Some(value) = constant(task, term)
                && !form.meets(held.sign, side, value)
            {
                // A value that does not meet the comparison never makes it true, but others go on from there.
                let missing = -side.sign() * form.at(value);
                let nearest = self.nearest.entry((comparison, side)).or_insert(f64::INFINITY);
                *nearest = nearest.min(missing);
                continue;
            }
            if let (Some(amount), Some(Some(linear))) = (amount, self.forms.get(&comparison)) {
                let towards = linear.factors.get(&number).copied().unwrap_or(0.0) * amount;
                let towards = towards * side.sign();
                let helps = match held.sign {
                    Sign::Positive | Sign::NotNegative | Sign::Zero => towards > 0.0,
                    Sign::NotZero => towards != 0.0,
                };
                if !helps {
                    continue;
                }
                by = towards;
            }
            let net = self.net(task, row, (comparison, side));
            let operator = self.add(row, needs.to_vec(), vec![fact]);
            if by != 0.0 {
                self.gains.push(Gain { operator, comparison, side, by, net, nearest: f64::INFINITY });
            }
        }
    }

    /// By how much a row brings a side of a comparison nearer, at most, all its changes together; infinite where nobody
    /// knows.
    fn net(&self, task: &RowTask, row: u32, (comparison, side): (u32, Side)) -> f64 {
        let Some(Some(form)) = self.forms.get(&comparison) else { return f64::INFINITY };
        if task.comparisons[comparison as usize].sign == Sign::NotZero {
            return f64::INFINITY;
        }
        let (mut net, mut size) = (0.0f64, 0.0f64);
        for effect in &task.rows[row as usize].effects {
            let (number, term) = match effect.change {
                Change::Increase(number, term) => (number, Some(term)),
                Change::Assign(number, _) => (number, None),
                Change::Set(..) => continue,
            };
            let Some(factor) = form.factors.get(&number) else { continue };
            let Some(amount) = term.and_then(|term| constant(task, term)) else { return f64::INFINITY };
            let towards = factor * amount * side.sign();
            // What happens under a condition may happen where it helps.
            net += if effect.when.is_empty() { towards } else { towards.max(0.0) };
            size += towards.abs();
        }
        if net > ROUNDING * size { net } else { f64::INFINITY }
    }

    fn finish(
        mut self,
        space: &'s RowSpace,
        kind: CostKind,
        goal: Vec<u32>,
        row_needs: Vec<Vec<u32>>,
    ) -> Relaxed<'s> {
        for gain in &mut self.gains {
            let nearest = self.nearest.get(&(gain.comparison, gain.side));
            gain.nearest = nearest.copied().unwrap_or(f64::INFINITY);
        }
        let places = space.layout().finite.clone();
        let row_costs: Vec<u32> = (0..space.task().rows.len() as u32)
            .map(|row| match kind {
                CostKind::Unit => 1,
                // A cost that depends on the state may be nothing.
                CostKind::Real => space.fixed_cost(row).unwrap_or(0),
                CostKind::PlusOne => space.fixed_cost(row).unwrap_or(0).saturating_add(1),
            })
            .collect();
        let costs = self.rows.iter().map(|&row| row_costs.get(row as usize).copied().unwrap_or(0)).collect();
        let needs = Lists::of(&std::mem::take(&mut self.needs));
        let adds = Lists::of(&std::mem::take(&mut self.adds));
        let facts = self.facts as usize;
        let need_counts: Vec<u32> = (0..needs.len() as u32).map(|at| needs.get(at).len() as u32).collect();
        let mut differs: Vec<(Place, u32, u32)> = self
            .differs
            .iter()
            .map(|(&(variable, value), &fact)| (places[variable as usize], value, fact))
            .collect();
        differs.sort_unstable_by_key(|&(_, _, fact)| fact);
        let compares = self.compared();
        let resources = Resources::of(space.task(), &compares, row_needs);
        Relaxed {
            resources,
            space,
            first_fact: self.first_fact,
            places,
            differs,
            compares,
            facts,
            needed_by: needs.turned(facts),
            added_by: adds.turned(facts),
            free: (0..need_counts.len() as u32).filter(|&at| need_counts[at as usize] == 0).collect(),
            needs,
            adds,
            need_counts,
            rows: self.rows,
            costs,
            row_costs,
            goal,
            gains: self.gains,
        }
    }
}

fn union(a: &[u32], b: &[u32]) -> Vec<u32> {
    let mut both: Vec<u32> = a.iter().chain(b).copied().collect();
    both.sort_unstable();
    both.dedup();
    both
}

/// Walks the terms behind a term.
fn walk(task: &RowTask, term: u32, mut each: impl FnMut(Term)) {
    let mut open = vec![term];
    while let Some(at) = open.pop() {
        let term = task.terms[at as usize];
        each(term);
        match term {
            Term::Add(a, b) | Term::Subtract(a, b) | Term::Multiply(a, b) | Term::Divide(a, b) => {
                open.extend([a, b]);
            }
            Term::Constant(_) | Term::Number(_) | Term::Holds(_) => {}
        }
    }
}

/// Whether a term depends on more than numbers.
fn reads_facts(task: &RowTask, term: u32) -> bool {
    let mut found = false;
    walk(task, term, |term| found |= matches!(term, Term::Holds(_)));
    found
}
