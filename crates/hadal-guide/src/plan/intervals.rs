//! States from which numbers never come to where the goal wants them: the interval relaxation (Scala, Haslum, Thiébaux and
//! Ramirez 2016, "Interval-based relaxation for general numeric planning").
//!
//! Every number has an interval of values that it may take, every finite variable a set. Rows whose conditions some of these
//! meet widen them: a change that can happen once can happen again, so an increase has no end. Where nothing widens any more
//! and the goal is not met, there is no plan. Only tasks have it whose numbers change by amounts that depend on the state, or
//! whose comparisons are no sums: of the others the relaxed task knows as much.

use super::linear::{constant, linear};
use hadal_exec::rows::RowSpace;
use hadal_system::rows::{Change, Need, RowTask, Sign, Term};

/// Values near nothing count as nothing.
const ROUNDING: f64 = 1e-9;

/// An interval; empty where a value is undefined.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Span {
    low: f64,
    high: f64,
}

const EMPTY: Span = Span { low: f64::INFINITY, high: f64::NEG_INFINITY };
const ALL: Span = Span { low: f64::NEG_INFINITY, high: f64::INFINITY };

impl Span {
    fn is_empty(self) -> bool {
        self.low > self.high
    }

    /// The span of the results of `of` at the ends.
    fn ends(self, other: Span, of: impl Fn(f64, f64) -> f64) -> Span {
        let mut span = EMPTY;
        for a in [self.low, self.high] {
            for b in [other.low, other.high] {
                let value = of(a, b);
                // Nothing times infinity: what tends to nothing and what grows may come to anything.
                if value.is_nan() {
                    return ALL;
                }
                span = Span { low: span.low.min(value), high: span.high.max(value) };
            }
        }
        span
    }

    fn combine(self, other: Span, term: Term) -> Span {
        if self.is_empty() || other.is_empty() {
            return EMPTY;
        }
        match term {
            Term::Add(..) => Span { low: self.low + other.low, high: self.high + other.high },
            Term::Subtract(..) => Span { low: self.low - other.high, high: self.high - other.low },
            Term::Multiply(..) => self.ends(other, |a, b| if a == 0.0 || b == 0.0 { 0.0 } else { a * b }),
            _ if other.low <= 0.0 && other.high >= 0.0 => ALL,
            _ => self.ends(other, |a, b| a / b),
        }
    }

    fn meets(self, sign: Sign) -> bool {
        if self.is_empty() {
            return false;
        }
        let size =
            [self.low, self.high].iter().filter(|end| end.is_finite()).fold(1.0, |sum, end| sum + end.abs());
        let near = ROUNDING * size;
        match sign {
            Sign::Positive | Sign::NotNegative => self.high >= -near,
            Sign::Zero => self.low <= near && self.high >= -near,
            Sign::NotZero => true,
        }
    }
}

/// The interval relaxation of a task, and room to compute it in.
pub(super) struct Intervals<'s> {
    space: &'s RowSpace,
    /// The first value of each finite variable in `values`.
    first: Vec<u32>,
    /// Terms that something reads, children first.
    wanted: Vec<u32>,
    /// Numbers that may be assigned what depends on themselves.
    circular: Vec<bool>,
    values: Vec<bool>,
    derived: Vec<bool>,
    numbers: Vec<Span>,
    terms: Vec<Span>,
}

impl<'s> Intervals<'s> {
    /// Of the task of `space`, where it knows more than the relaxed task.
    pub(super) fn of(space: &'s RowSpace) -> Option<Self> {
        let task = space.task();
        if !is_wanted(task) {
            return None;
        }
        let mut first = Vec::with_capacity(task.variables.len());
        let mut count = 0;
        for variable in &task.variables {
            first.push(count);
            count += variable.values.len() as u32;
        }
        Some(Intervals {
            space,
            first,
            wanted: wanted(task),
            circular: circular(task),
            values: vec![false; count as usize],
            derived: vec![false; task.derived.len()],
            numbers: vec![EMPTY; task.numbers.len()],
            terms: vec![EMPTY; task.terms.len()],
        })
    }

    /// Whether the goal may be reached from a state.
    pub(super) fn reaches(&mut self, state: &[u64]) -> bool {
        self.begin(state);
        loop {
            self.evaluate();
            if self.meets(&self.space.task().goal) {
                return true;
            }
            if !self.widen() {
                return false;
            }
        }
    }

    fn begin(&mut self, state: &[u64]) {
        self.values.fill(false);
        self.derived.fill(false);
        for (place, first) in self.space.layout().finite.iter().zip(&self.first) {
            self.values[*first as usize + place.get(state) as usize] = true;
        }
        for (span, value) in self.numbers.iter_mut().zip(self.space.unpack(state).numbers) {
            *span = value.map_or(EMPTY, |value| {
                let value = *value.numer() as f64 / *value.denom() as f64;
                Span { low: value, high: value }
            });
        }
    }

    fn evaluate(&mut self) {
        let task = self.space.task();
        for &at in &self.wanted {
            let term = task.terms[at as usize];
            self.terms[at as usize] = match term {
                Term::Constant(value) => {
                    let value = *value.numer() as f64 / *value.denom() as f64;
                    Span { low: value, high: value }
                }
                Term::Number(number) => self.numbers[number as usize],
                Term::Holds(_) => Span { low: 0.0, high: 1.0 },
                Term::Add(a, b) | Term::Subtract(a, b) | Term::Multiply(a, b) | Term::Divide(a, b) => {
                    self.terms[a as usize].combine(self.terms[b as usize], term)
                }
            };
        }
    }

    fn meets(&self, needs: &[Need]) -> bool {
        let task = self.space.task();
        needs.iter().all(|&need| match need {
            Need::Is(variable, value) => self.values[(self.first[variable as usize] + value) as usize],
            Need::IsNot(variable, value) => {
                let first = self.first[variable as usize] as usize;
                let mut values =
                    (0..task.variables[variable as usize].values.len()).filter(|&at| self.values[first + at]);
                values.any(|at| at != value as usize)
            }
            Need::Derived(fact) => self.derived[fact as usize],
            // What follows may cease to follow.
            Need::NotDerived(_) => true,
            Need::Compares(comparison) => {
                let comparison = task.comparisons[comparison as usize];
                self.terms[comparison.term as usize].meets(comparison.sign)
            }
        })
    }

    /// Lets everything happen that may; whether that widened anything.
    fn widen(&mut self) -> bool {
        let task = self.space.task();
        let mut widened = false;
        for row in &task.rows {
            if !self.meets(&row.needs) {
                continue;
            }
            for effect in &row.effects {
                if self.meets(&effect.when) {
                    widened |= self.change(effect.change);
                }
            }
        }
        for rule in &task.rules {
            if !self.derived[rule.head as usize] && self.meets(&rule.body) {
                self.derived[rule.head as usize] = true;
                widened = true;
            }
        }
        for monitor in &task.monitors {
            let first = self.first[monitor.variable as usize];
            for (from, needs, to) in &monitor.steps {
                if self.values[(first + from) as usize] && self.meets(needs) {
                    widened |= self.change(Change::Set(monitor.variable, *to));
                }
            }
        }
        widened
    }

    fn change(&mut self, change: Change) -> bool {
        let (number, span) = match change {
            Change::Set(variable, value) => {
                let at = &mut self.values[(self.first[variable as usize] + value) as usize];
                return !std::mem::replace(at, true);
            }
            Change::Increase(number, term) => {
                let (by, now) = (self.terms[term as usize], self.numbers[number as usize]);
                if by.is_empty() || now.is_empty() {
                    return false;
                }
                let low = if by.low < 0.0 { f64::NEG_INFINITY } else { now.low };
                (number, Span { low, high: if by.high > 0.0 { f64::INFINITY } else { now.high } })
            }
            Change::Assign(number, term) => (number, self.terms[term as usize]),
        };
        if span.is_empty() {
            return false;
        }
        // All at once, whatever the interval is: what is reached from a state is reached from those before it.
        let assigned = matches!(change, Change::Assign(..)) && self.circular[number as usize];
        let span = if assigned { ALL } else { span };
        let now = &mut self.numbers[number as usize];
        let before =
            std::mem::replace(now, Span { low: now.low.min(span.low), high: now.high.max(span.high) });
        before != *now
    }
}

/// Whether numbers change, or are compared, in ways that the relaxed task does not follow.
fn is_wanted(task: &RowTask) -> bool {
    let conditions = task
        .rows
        .iter()
        .flat_map(|row| row.needs.iter().chain(row.effects.iter().flat_map(|effect| &effect.when)));
    let conditions = conditions.chain(&task.goal).chain(task.rules.iter().flat_map(|rule| &rule.body));
    let mut compared: Vec<u32> = conditions
        .filter_map(|need| if let Need::Compares(comparison) = need { Some(*comparison) } else { None })
        .collect();
    compared.sort_unstable();
    compared.dedup();
    let forms: Vec<_> = compared.iter().map(|&at| linear(task, task.comparisons[at as usize].term)).collect();
    let together = |number: u32| {
        forms.iter().flatten().any(|form| form.factors.len() > 1 && form.factors.contains_key(&number))
    };
    let changes = task.rows.iter().flat_map(|row| &row.effects).map(|effect| effect.change);
    !compared.is_empty()
        && (forms.iter().any(Option::is_none)
            || changes.into_iter().any(|change| match change {
                Change::Set(..) => false,
                Change::Increase(_, term) => constant(task, term).is_none(),
                Change::Assign(number, term) => constant(task, term).is_none() || together(number),
            }))
}

/// The terms that conditions and changes of numbers read, children first.
fn wanted(task: &RowTask) -> Vec<u32> {
    let mut wanted = vec![false; task.terms.len()];
    task.comparisons.iter().for_each(|comparison| wanted[comparison.term as usize] = true);
    for effect in task.rows.iter().flat_map(|row| &row.effects) {
        if let Change::Assign(_, term) | Change::Increase(_, term) = effect.change {
            wanted[term as usize] = true;
        }
    }
    for at in (0..task.terms.len()).rev() {
        if let Term::Add(a, b) | Term::Subtract(a, b) | Term::Multiply(a, b) | Term::Divide(a, b) =
            task.terms[at]
            && wanted[at]
        {
            wanted[a as usize] = true;
            wanted[b as usize] = true;
        }
    }
    (0..task.terms.len() as u32).filter(|&at| wanted[at as usize]).collect()
}

/// The numbers that are assigned what depends on themselves, or on such numbers: their intervals would widen for ever.
fn circular(task: &RowTask) -> Vec<bool> {
    let mut reads: Vec<Vec<u32>> = vec![Vec::new(); task.numbers.len()];
    let mut seen = std::collections::HashSet::new();
    for effect in task.rows.iter().flat_map(|row| &row.effects) {
        let Change::Assign(number, term) = effect.change else { continue };
        if !seen.insert((number, term)) {
            continue;
        }
        let mut open = vec![term];
        while let Some(at) = open.pop() {
            match task.terms[at as usize] {
                Term::Number(read) => reads[number as usize].push(read),
                Term::Add(a, b) | Term::Subtract(a, b) | Term::Multiply(a, b) | Term::Divide(a, b) => {
                    open.extend([a, b]);
                }
                Term::Constant(_) | Term::Holds(_) => {}
            }
        }
    }
    // What reads only numbers that are settled is settled.
    let mut circular = vec![true; task.numbers.len()];
    loop {
        let settled: Vec<usize> = (0..circular.len())
            .filter(|&at| circular[at] && reads[at].iter().all(|&read| !circular[read as usize]))
            .collect();
        if settled.is_empty() {
            return circular;
        }
        settled.into_iter().for_each(|at| circular[at] = false);
    }
}
