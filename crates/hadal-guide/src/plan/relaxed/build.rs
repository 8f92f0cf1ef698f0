//! From the rows of a task to the operators of its relaxation.

use super::super::linear::{Linear, constant, linear};
use super::super::resources::Resources;
use super::{Compared, CostKind, Gain, Lists, NO_ROW, ROUNDING, Relaxed, Side};
use hadal_exec::rows::{Place, RowSpace};
use hadal_system::rows::{Change, Need, RowTask, Sign, Term};
use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Builder<'s> {
    space: Option<&'s RowSpace>,
    first_fact: Vec<u32>,
    first_derived: u32,
    facts: u32,
    differs: HashMap<(u32, u32), u32>,
    compares: HashMap<(u32, Side), u32>,
    needs: Lists,
    adds: Lists,
    rows: Vec<u32>,
    gains: Vec<Gain>,
    /// The comparisons that are facts and read each number, with their facts and forms.
    by_number: HashMap<u32, Vec<Compared>>,
    forms: HashMap<u32, Option<Linear>>,
    /// How near values that are assigned bring sides of comparisons, where they do not make them true.
    nearest: HashMap<(u32, Side), f64>,
}

impl<'s> Builder<'s> {
    pub(super) fn new(space: &'s RowSpace) -> Self {
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

    pub(super) fn build(mut self, kind: CostKind) -> Relaxed<'s> {
        // Made by `new`, which fills it.
        let space = self.space.take().expect("a builder has a space");
        let task = space.task();
        // Conditions first, so that every fact of a difference or a comparison is known before effects are read.
        for row in &task.rows {
            self.facts_for(task, &row.needs);
            row.effects.iter().for_each(|effect| drop(self.facts_for(task, &effect.when)));
        }
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
        // What rows need by themselves: only those ask who count what rows use up.
        let mut row_needs = (!self.compares.is_empty()).then(Lists::default);
        for at in 0..task.rows.len() as u32 {
            let needs = self.facts_for(task, &task.rows[at as usize].needs);
            self.add_row(task, at, &needs);
            if let Some(row_needs) = &mut row_needs {
                row_needs.push(&needs);
            }
        }
        for (rule, needs) in task.rules.iter().zip(rules) {
            let head = self.first_derived + rule.head;
            self.add(NO_ROW, &needs, vec![head]);
        }
        for (needs, variable, to) in steps {
            let adds = self.adds_of(variable, to);
            self.add(NO_ROW, &needs, adds);
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
            for number in numbers_of(task, term) {
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

    fn add(&mut self, row: u32, needs: &[u32], mut adds: Vec<u32>) -> u32 {
        adds.sort_unstable();
        adds.dedup();
        // What it needs is there already.
        adds.retain(|fact| needs.binary_search(fact).is_err());
        self.needs.push(needs);
        self.adds.push(&adds);
        self.rows.push(row);
        self.rows.len() as u32 - 1
    }

    fn add_row(&mut self, task: &RowTask, row: u32, needs: &[u32]) {
        // Effects with the same condition are one operator.
        let mut groups: Vec<(Vec<u32>, Vec<u32>)> = Vec::new();
        for effect in &task.rows[row as usize].effects {
            let when = self.facts_for(task, &effect.when);
            match effect.change {
                Change::Set(variable, value) => {
                    let adds = self.adds_of(variable, value);
                    match groups.iter_mut().find(|group| group.0 == when) {
                        Some(group) => group.1.extend(adds),
                        None => groups.push((when, adds)),
                    }
                }
                Change::Assign(..) | Change::Increase(..) => {
                    self.add_numeric(task, row, &union(needs, &when), effect.change);
                }
            }
        }
        for (when, adds) in groups {
            self.add(row, &union(needs, &when), adds);
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
            let operator = self.add(row, needs, vec![fact]);
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
        row_needs: Option<Lists>,
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
        let (needs, adds) = (std::mem::take(&mut self.needs), std::mem::take(&mut self.adds));
        let facts = self.facts as usize;
        let need_counts: Vec<u32> = (0..needs.len() as u32).map(|at| needs.get(at).len() as u32).collect();
        let mut differs: Vec<(Place, u32, u32)> = self
            .differs
            .iter()
            .map(|(&(variable, value), &fact)| (places[variable as usize], value, fact))
            .collect();
        differs.sort_unstable_by_key(|&(_, _, fact)| fact);
        let compares = self.compared();
        let resources = row_needs.and_then(|needs| Resources::of(space.task(), &compares, needs));
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

/// The numbers that a term reads.
pub(super) fn numbers_of(task: &RowTask, term: u32) -> Vec<u32> {
    let mut numbers = Vec::new();
    walk(task, term, |term| {
        if let Term::Number(number) = term {
            numbers.push(number);
        }
    });
    numbers.sort_unstable();
    numbers.dedup();
    numbers
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
