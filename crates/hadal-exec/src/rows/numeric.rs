//! Numbers of ground tasks, exactly: every numeric variable has a scale that is closed under its updates, every term one
//! that follows from its parts, so that values are integers and arithmetic on them is checked and never rounds.
//!
//! Where no finite scale is closed (a number halved again and again, a quotient of variables), values are ordered
//! floating-point numbers, and the space says so.

use hadal_system::rows::scale::{constant, number_scales, parts, term_scales};
use hadal_system::rows::{Change, Comparison, Need, Rational, RowTask, Sign, Term};
use num_traits::Zero;

/// A value, exact or not as the whole task is.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// This many units of the term's scale.
    Exact(i128),
    /// Floating point.
    Float(f64),
    /// It reads an undefined number, or divides by zero.
    Undefined,
}

/// A value is too large.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overflow;

/// One term, ready to be evaluated: factors bring operands to the term's scale.
#[derive(Clone, Copy, Debug)]
enum Step {
    Constant(i128, f64),
    Number(u32),
    Holds(Need),
    /// Whether an earlier term has this sign.
    Compares(u32, Sign),
    Add(u32, u32, i128, i128),
    Subtract(u32, u32, i128, i128),
    Multiply(u32, u32),
    /// Times this, over that, which divides evenly.
    Scaled(u32, i128),
    Divide(u32, u32),
}

/// All terms of a task.
#[derive(Clone, Debug)]
pub struct Terms {
    exact: bool,
    /// What a numeric variable is a multiple of: one over this.
    number_scales: Vec<i128>,
    scales: Vec<i128>,
    steps: Vec<Step>,
    /// For each term, the terms it is made of, itself last.
    needed: Vec<Vec<u32>>,
}

impl Terms {
    /// Finds scales for a task.
    pub fn new(task: &RowTask) -> Self {
        let needed = needed(task);
        let exactly = || {
            let number_scales = number_scales(task)?;
            let scales = term_scales(task, &number_scales)?;
            let steps =
                (0..task.terms.len()).map(|at| exact_step(task, at, &scales)).collect::<Option<_>>()?;
            Some(Terms { exact: true, number_scales, scales, steps, needed: needed.clone() })
        };
        exactly().unwrap_or_else(|| Terms {
            exact: false,
            number_scales: vec![1; task.numbers.len()],
            scales: vec![1; task.terms.len()],
            steps: task.terms.iter().map(|&term| float_step(task, term)).collect(),
            needed: needed.clone(),
        })
    }

    /// Whether arithmetic is exact.
    pub fn exact(&self) -> bool {
        self.exact
    }

    /// One over this is the unit of a numeric variable.
    pub fn number_scale(&self, number: u32) -> i128 {
        self.number_scales[number as usize]
    }

    /// One over this is the unit of a term.
    pub fn scale(&self, term: u32) -> i128 {
        self.scales[term as usize]
    }

    /// Evaluates a term. `number` gives a variable's value in its own scale, `holds` whether a need that is no comparison is
    /// met; `scratch` is as long as there are terms.
    pub fn evaluate(
        &self,
        term: u32,
        number: impl Fn(u32) -> Amount,
        holds: impl Fn(Need) -> bool,
        scratch: &mut Vec<Amount>,
    ) -> Result<Amount, Overflow> {
        scratch.resize(self.steps.len(), Amount::Undefined);
        for &at in &self.needed[term as usize] {
            scratch[at as usize] = match self.steps[at as usize] {
                Step::Constant(units, _) if self.exact => Amount::Exact(units),
                Step::Constant(_, float) => Amount::Float(float),
                Step::Number(at) => number(at),
                Step::Holds(need) => self.truth(holds(need)),
                Step::Compares(at, sign) => self.truth(scratch[at as usize].has(sign)),
                Step::Add(a, b, x, y) => sum(scratch[a as usize], scratch[b as usize], (x, y), 1)?,
                Step::Subtract(a, b, x, y) => sum(scratch[a as usize], scratch[b as usize], (x, y), -1)?,
                Step::Multiply(a, b) => match (scratch[a as usize], scratch[b as usize]) {
                    (Amount::Exact(a), Amount::Exact(b)) => Amount::Exact(a.checked_mul(b).ok_or(Overflow)?),
                    (Amount::Float(a), Amount::Float(b)) => finite(a * b)?,
                    _ => Amount::Undefined,
                },
                Step::Scaled(a, factor) => scratch[a as usize].times(factor)?,
                Step::Divide(a, b) => match (scratch[a as usize], scratch[b as usize]) {
                    (Amount::Float(a), Amount::Float(b)) if b != 0.0 => finite(a / b)?,
                    _ => Amount::Undefined,
                },
            };
        }
        Ok(scratch[term as usize])
    }

    fn truth(&self, holds: bool) -> Amount {
        if self.exact { Amount::Exact(i128::from(holds)) } else { Amount::Float(f64::from(u8::from(holds))) }
    }
}

impl Amount {
    /// In finer units; floating-point numbers have none.
    pub fn times(self, factor: i128) -> Result<Amount, Overflow> {
        match self {
            Amount::Exact(units) => Ok(Amount::Exact(units.checked_mul(factor).ok_or(Overflow)?)),
            other => Ok(other),
        }
    }

    /// The sum of amounts in the same units.
    pub fn plus(self, other: Amount) -> Result<Amount, Overflow> {
        sum(self, other, (1, 1), 1)
    }

    /// Whether its sign is as asked; never where it is undefined.
    pub fn has(self, sign: Sign) -> bool {
        let order = match self {
            Amount::Exact(units) => units.cmp(&0),
            // Never a NaN: `finite` refuses it.
            Amount::Float(float) => float.total_cmp(&0.0),
            Amount::Undefined => return false,
        };
        match sign {
            Sign::Zero => order.is_eq(),
            Sign::NotZero => order.is_ne(),
            Sign::Positive => order.is_gt(),
            Sign::NotNegative => order.is_ge(),
        }
    }
}

fn finite(float: f64) -> Result<Amount, Overflow> {
    // Adding zero makes -0 and 0 one.
    if float.is_finite() { Ok(Amount::Float(float + 0.0)) } else { Err(Overflow) }
}

fn sum(a: Amount, b: Amount, (x, y): (i128, i128), sign: i128) -> Result<Amount, Overflow> {
    match (a, b) {
        (Amount::Exact(a), Amount::Exact(b)) => {
            let (a, b) = (a.checked_mul(x), b.checked_mul(y).and_then(|b| b.checked_mul(sign)));
            let sum = a.zip(b).and_then(|(a, b)| a.checked_add(b));
            Ok(Amount::Exact(sum.ok_or(Overflow)?))
        }
        (Amount::Float(a), Amount::Float(b)) => finite(a + sign as f64 * b),
        _ => Ok(Amount::Undefined),
    }
}

/// The terms behind each term that something names, itself last.
fn needed(task: &RowTask) -> Vec<Vec<u32>> {
    let mut named = vec![false; task.terms.len()];
    let mut name = |term: u32| named[term as usize] = true;
    task.comparisons.iter().for_each(|&Comparison { term, .. }| name(term));
    for row in &task.rows {
        row.cost.into_iter().for_each(&mut name);
        for effect in &row.effects {
            if let Change::Assign(_, term) | Change::Increase(_, term) = effect.change {
                name(term);
            }
        }
    }
    metric_terms(task).into_iter().for_each(&mut name);
    let mut needed = vec![Vec::new(); task.terms.len()];
    let mut marked = vec![false; task.terms.len()];
    for term in (0..task.terms.len()).filter(|&term| named[term]) {
        let mut open = vec![term as u32];
        let mut all = Vec::new();
        while let Some(at) = open.pop() {
            if std::mem::replace(&mut marked[at as usize], true) {
                continue;
            }
            all.push(at);
            open.extend(parts(task, at).into_iter().flatten());
        }
        all.iter().for_each(|&at| marked[at as usize] = false);
        all.sort_unstable();
        needed[term] = all;
    }
    needed
}

fn metric_terms(task: &RowTask) -> Vec<u32> {
    use hadal_system::rows::Metric;
    match task.metric {
        Metric::Steps => Vec::new(),
        Metric::Cost { at_end, .. } => at_end.into_iter().collect(),
        Metric::Minimise(term) | Metric::Maximise(term) => vec![term],
    }
}

/// How a term is evaluated in integers; `None` where a factor is too large.
fn exact_step(task: &RowTask, at: usize, scales: &[i128]) -> Option<Step> {
    let scale = scales[at];
    let of = |term: u32| scales[term as usize];
    // Scales divide each other as `term_scales` chose them.
    let scaled = |a: u32, factor: Rational| {
        // value / of(a) * n / d = value * (n * scale / (of(a) * d)) / scale.
        let numerator = factor.numer().checked_mul(scale)?;
        Some(Step::Scaled(a, numerator / of(a).checked_mul(*factor.denom())?))
    };
    Some(match task.terms[at] {
        Term::Multiply(a, b) => match (constant(task, a), constant(task, b)) {
            (_, Some(factor)) => scaled(a, factor)?,
            (Some(factor), None) => scaled(b, factor)?,
            (None, None) => Step::Multiply(a, b),
        },
        Term::Divide(a, b) => scaled(a, constant(task, b).filter(|by| !by.is_zero())?.recip())?,
        Term::Add(a, b) => Step::Add(a, b, scale / of(a), scale / of(b)),
        Term::Subtract(a, b) => Step::Subtract(a, b, scale / of(a), scale / of(b)),
        other => float_step(task, other),
    })
}

fn float_step(task: &RowTask, term: Term) -> Step {
    match term {
        Term::Constant(number) => {
            Step::Constant(*number.numer(), *number.numer() as f64 / *number.denom() as f64)
        }
        Term::Number(number) => Step::Number(number),
        Term::Holds(Need::Compares(comparison)) => {
            let Comparison { term, sign } = task.comparisons[comparison as usize];
            Step::Compares(term, sign)
        }
        Term::Holds(need) => Step::Holds(need),
        Term::Add(a, b) => Step::Add(a, b, 1, 1),
        Term::Subtract(a, b) => Step::Subtract(a, b, 1, 1),
        Term::Multiply(a, b) => Step::Multiply(a, b),
        Term::Divide(a, b) => Step::Divide(a, b),
    }
}
