//! Values in continuous time by uniformisation (Jensen 1953), between proved bounds.
//!
//! All states are left at one rate, some of them for themselves; how many steps fall into a time is drawn by Poisson's
//! distribution. Its weights are taken relative to the greatest one, step by step to both sides; what is left out on a side is
//! less than a geometric series. So nothing but sums, products and quotients of floating-point numbers enters, and each is
//! moved outward.

use crate::SolveError;
use crate::bounded::Rule;
use crate::graph::Graph;
use crate::numbers::{Numbers, bracket};
use crate::optimistic::{lowered, raised};
use crate::values::Values;
use hadal_system::rows::Rational;
use num_traits::CheckedDiv;

/// Weights below this, relative to the greatest, are left out.
const NEGLIGIBLE: f64 = 1e-22;
/// More steps than this are refused.
const MOST_STEPS: f64 = 1e9;

/// A chain whose steps are counted, wherever it is kept.
pub(crate) trait Chain {
    /// How many states.
    fn states(&self) -> usize;

    /// Tells each state that is `wanted` what two bounds are after its next move, on average: rounded to the nearest, from so many
    /// branches.
    fn moved(
        &self,
        now: &Pairs,
        wanted: impl Fn(usize) -> bool,
        each: impl FnMut(usize, (f64, f64), usize),
    ) -> Result<(), SolveError>;
}

impl Chain for Graph {
    fn states(&self) -> usize {
        Graph::states(self)
    }

    fn moved(
        &self,
        now: &Pairs,
        wanted: impl Fn(usize) -> bool,
        mut each: impl FnMut(usize, (f64, f64), usize),
    ) -> Result<(), SolveError> {
        let (below, above) = (self.numbers.below(), self.numbers.above());
        for state in (0..Graph::states(self)).filter(|&state| wanted(state)) {
            let (mut low, mut high) = (0.0, 0.0);
            let branches = self.branches_of(self.choices_of(state).start);
            let count = branches.len();
            for branch in branches {
                let (weight, to) = (self.weights[branch] as usize, self.targets[branch] as usize);
                low += below[weight] * now.0[to];
                high += above[weight] * now.1[to];
            }
            each(state, (low, high), count);
        }
        Ok(())
    }
}

/// How far a sum has come: what a process that was killed goes on from.
#[derive(Clone, Debug)]
pub(crate) struct Reached {
    /// The bounds after `at` steps, and the sum so far.
    pub now: Pairs,
    pub sum: Pairs,
    /// Steps that were made.
    pub at: u64,
    /// Terms that were added.
    pub terms: u64,
}

/// What a sum begins with.
pub(crate) enum Begin {
    /// The first step.
    Afresh,
    /// What was committed.
    From(Reached),
    /// Nothing: what comes of it is not needed any more.
    Skipped,
}

/// Where sums are committed.
pub(crate) trait Keeper {
    /// What the next sum begins with.
    fn begin(&mut self, states: usize) -> Result<Begin, SolveError>;
    /// Is told after each step, and may commit.
    fn step(&mut self, reached: &Reached) -> Result<(), SolveError>;
}

/// Nothing is committed.
impl Keeper for () {
    fn begin(&mut self, _: usize) -> Result<Begin, SolveError> {
        Ok(Begin::Afresh)
    }

    fn step(&mut self, _: &Reached) -> Result<(), SolveError> {
        Ok(())
    }
}

/// How long each state lasts on average, as numbers.
#[derive(Clone, Debug)]
pub(crate) struct Lasting<'n> {
    pub numbers: &'n Numbers,
    pub of: Vec<u32>,
}

impl<'g> Lasting<'g> {
    /// Of a graph whose rewards are how long states last.
    pub fn of(graph: &'g Graph) -> Self {
        let first = |state: usize| graph.reward_of(graph.choices_of(state).start);
        Lasting { numbers: &graph.numbers, of: (0..graph.states()).map(first).collect() }
    }

    /// What states earn in a unit of time: what they earn on a visit, divided by how long that lasts.
    pub fn rates(&self, visits: impl Iterator<Item = Rational>) -> Result<Values, SolveError> {
        let mut values =
            Values { lower: Vec::new(), upper: Vec::new(), exact: None, sweeps: 0, policy: None };
        for (visit, &lasts) in visits.zip(&self.of) {
            let rate = visit.checked_div(&self.numbers.exact(lasts)).ok_or(SolveError::Time(TOO_LARGE))?;
            let (low, high) = bracket(&rate);
            values.lower.push(low);
            values.upper.push(high);
        }
        Ok(values)
    }
}

/// A chain in which every state is left at the same rate, looked at for some time.
pub(crate) struct Uniform<'g, C> {
    chain: &'g C,
    lasting: &'g Lasting<'g>,
    time: Rational,
    /// How many steps fall into that time on average: the rate of leaving is this, divided by the time.
    steps: f64,
    /// By number of how long a state lasts: how likely a step of it is one of its own, and how likely it stays, each between two
    /// bounds.
    moves: Vec<[f64; 4]>,
}

/// What each power of the chain counts for, but for a factor.
struct Coefficients {
    /// Of those before `first`.
    early: (f64, f64),
    first: u64,
    /// Of those from `first` on.
    each: Vec<(f64, f64)>,
    /// At most what is left out counts for.
    beyond: f64,
    /// Divides the sum.
    total: (f64, f64),
}

/// Two bounds of every state.
pub(crate) type Pairs = (Vec<f64>, Vec<f64>);

impl<'g, C: Chain> Uniform<'g, C> {
    /// Of a chain whose states last so long.
    pub fn new(chain: &'g C, lasting: &'g Lasting<'g>, time: Rational) -> Result<Self, SolveError> {
        let mut used = vec![false; lasting.numbers.len()];
        lasting.of.iter().for_each(|&number| used[number as usize] = true);
        let mut own = vec![(0.0, 0.0); used.len()];
        let mut most = 0.0f64;
        for number in (0..used.len()).filter(|&number| used[number]) {
            // How many steps of its own it would make in that time.
            let lasts = lasting.numbers.exact(number as u32);
            let steps = time.checked_div(&lasts).ok_or(SolveError::Time(TOO_LARGE))?;
            own[number] = bracket(&steps);
            most = most.max(own[number].1);
        }
        if most > MOST_STEPS {
            return Err(SolveError::Time("more than a billion steps fall into that time on average"));
        }
        let steps = raised(most, 1);
        let moves = own.into_iter().map(|(low, high)| {
            let (low, high) = match steps == 0.0 {
                true => (0.0, 0.0),
                false => ((low / steps).next_down().max(0.0), (high / steps).next_up().min(1.0)),
            };
            [low, high, (1.0 - high).next_down().max(0.0), (1.0 - low).next_up().min(1.0)]
        });
        Ok(Uniform { chain, lasting, time, steps, moves: moves.collect() })
    }

    /// The expected value of `from` at the end of the time, under rules that hold on the way.
    pub fn at_the_end(
        &self,
        from: Values,
        rule: impl Fn(usize) -> Rule,
        keeper: &mut impl Keeper,
    ) -> Result<Values, SolveError> {
        if self.steps == 0.0 {
            return Ok(from);
        }
        let most = from.upper.iter().copied().fold(0.0, f64::max);
        let poisson = Poisson::new(self.steps);
        let coefficients = Coefficients {
            early: (0.0, 0.0),
            first: poisson.first,
            beyond: raised(poisson.before + poisson.after, 2),
            total: poisson.total(),
            each: poisson.weights,
        };
        let mut values = self.sum((from.lower, from.upper), &coefficients, rule, keeper)?;
        values.upper.iter_mut().for_each(|upper| *upper = upper.min(most));
        Ok(values)
    }

    /// What is earned until the end of the time at these rates: after each step the rate counts for the time that is left, on
    /// average so much of it as there are more steps.
    pub fn earned(&self, rates: Values, keeper: &mut impl Keeper) -> Result<Values, SolveError> {
        if self.steps == 0.0 {
            let nothing = vec![0.0; self.chain.states()];
            return Ok(Values {
                lower: nothing.clone(),
                upper: nothing,
                exact: None,
                sweeps: 0,
                policy: None,
            });
        }
        let poisson = Poisson::new(self.steps);
        let count = poisson.weights.len();
        let (mut low, mut high) = (0.0, poisson.after);
        let mut each = vec![(0.0, 0.0); count];
        for (sum, weight) in each.iter_mut().zip(&poisson.weights).rev() {
            *sum = (lowered(low, count), raised(high, count));
            (low, high) = (low + weight.0, high + weight.1);
        }
        let coefficients = Coefficients {
            early: (lowered(low, count), raised(high + poisson.before, count)),
            first: poisson.first,
            each,
            beyond: raised(poisson.after * poisson.decay, 1),
            total: poisson.total(),
        };
        let mut values = self.sum((rates.lower, rates.upper), &coefficients, |_| Rule::Best, keeper)?;
        let (low, high) = bracket(&self.time);
        let step = ((low / self.steps).next_down(), (high / self.steps).next_up());
        values.lower.iter_mut().for_each(|lower| *lower = lowered(*lower * step.0, 1));
        values.upper.iter_mut().for_each(|upper| *upper = raised(*upper * step.1, 1));
        Ok(values)
    }

    fn sum(
        &self,
        from: Pairs,
        coefficients: &Coefficients,
        rule: impl Fn(usize) -> Rule,
        keeper: &mut impl Keeper,
    ) -> Result<Values, SolveError> {
        let n = self.chain.states();
        let most = from.1.iter().copied().fold(0.0, f64::max);
        let nothing = || (vec![0.0; n], vec![0.0; n]);
        let mut reached = match keeper.begin(n)? {
            Begin::Skipped => {
                return Ok(Values { lower: from.0, upper: from.1, exact: None, sweeps: 0, policy: None });
            }
            Begin::From(reached) => reached,
            Begin::Afresh => Reached { now: from, sum: nothing(), at: 0, terms: 0 },
        };
        let mut next = nothing();
        let last = coefficients.first + coefficients.each.len() as u64 - 1;
        loop {
            let mut counts = coefficients.of(reached.at);
            let changed = reached.at < last && self.step(&reached.now, &mut next, &rule)?;
            if !changed {
                // All that is left counts for the same.
                counts = coefficients.from(reached.at);
            }
            if counts.1 > 0.0 {
                reached.terms += 1;
                let (now, sum) = (&reached.now, &mut reached.sum);
                for state in 0..n {
                    sum.0[state] += counts.0 * now.0[state];
                    sum.1[state] += counts.1 * now.1[state];
                }
            }
            if !changed {
                break;
            }
            std::mem::swap(&mut reached.now, &mut next);
            reached.at += 1;
            keeper.step(&reached)?;
        }
        let Reached { sum: (mut lower, mut upper), at, terms, .. } = reached;
        let (least, total) = coefficients.total;
        let (beyond, terms) = (raised(coefficients.beyond * most, 1), terms as usize);
        lower.iter_mut().for_each(|sum| *sum = lowered(lowered(*sum, terms) / total, 1));
        upper.iter_mut().for_each(|sum| *sum = raised(raised(raised(*sum, terms) + beyond, 1) / least, 1));
        Ok(Values { lower, upper, exact: None, sweeps: at, policy: None })
    }

    /// One step of every state; whether a bound changed.
    fn step(&self, now: &Pairs, next: &mut Pairs, rule: &impl Fn(usize) -> Rule) -> Result<bool, SolveError> {
        let mut changed = false;
        for state in 0..self.chain.states() {
            let settled = match rule(state) {
                Rule::Zero => 0.0,
                Rule::One => 1.0,
                Rule::Best => continue,
            };
            changed |= now.0[state] != settled || now.1[state] != settled;
            (next.0[state], next.1[state]) = (settled, settled);
        }
        let open = |state: usize| rule(state) == Rule::Best;
        self.chain.moved(now, open, |state, (low, high), count| {
            let [move_low, move_high, stay_low, stay_high] = self.moves[self.lasting.of[state] as usize];
            let low = lowered(move_low * low + stay_low * now.0[state], count + 2);
            let high = raised(move_high * high + stay_high * now.1[state], count + 2);
            changed |= low != now.0[state] || high != now.1[state];
            (next.0[state], next.1[state]) = (low, high);
        })?;
        Ok(changed)
    }
}

impl Coefficients {
    fn of(&self, at: u64) -> (f64, f64) {
        match at.checked_sub(self.first) {
            None => self.early,
            Some(at) => self.each[at as usize],
        }
    }

    /// The sum of all from `at` on.
    fn from(&self, at: u64) -> (f64, f64) {
        let early = self.first.saturating_sub(at) as f64;
        let skipped = at.saturating_sub(self.first) as usize;
        let rest = &self.each[skipped..];
        let low = rest.iter().fold(early * self.early.0, |sum, c| sum + c.0);
        let high = rest.iter().fold(early * self.early.1, |sum, c| sum + c.1);
        (lowered(low, rest.len() + 1), raised(high, rest.len() + 1))
    }
}

const TOO_LARGE: &str = "rates and times are too large to be divided exactly";

/// Weights of Poisson's distribution, relative to that of the mode.
struct Poisson {
    first: u64,
    weights: Vec<(f64, f64)>,
    /// At most the weight of all before `first`.
    before: f64,
    /// At most the weight of all after the last.
    after: f64,
    /// At most what a tail is of the weight before it, from the last on.
    decay: f64,
}

impl Poisson {
    fn new(mean: f64) -> Self {
        let mode = mean.floor();
        let mut later = vec![(1.0f64, 1.0f64)];
        let mut at = mode;
        loop {
            at += 1.0;
            let (low, high) = later[later.len() - 1];
            let low = ((low * mean).next_down() / at).next_down();
            let high = ((high * mean).next_up() / at).next_up();
            later.push((low, high));
            if high < NEGLIGIBLE {
                break;
            }
        }
        // Each weight further on is less than this part of the one before it.
        let ratio = (mean / (at + 1.0)).next_up();
        let decay = raised(ratio / (1.0 - ratio).next_down(), 2);
        let after = raised(later[later.len() - 1].1 * decay, 1);
        let mut earlier: Vec<(f64, f64)> = Vec::new();
        let mut at = mode;
        let (mut low, mut high) = (1.0f64, 1.0f64);
        while at > 0.0 && high >= NEGLIGIBLE {
            low = ((low * at).next_down() / mean).next_down();
            high = ((high * at).next_up() / mean).next_up();
            at -= 1.0;
            earlier.push((low, high));
        }
        let ratio = (at / mean).next_up();
        let before = if at == 0.0 { 0.0 } else { raised(high * ratio / (1.0 - ratio).next_down(), 3) };
        let mut weights: Vec<(f64, f64)> = earlier.into_iter().rev().collect();
        weights.extend(later);
        Poisson { first: at as u64, weights, before, after, decay }
    }

    /// Between what all of it adds up to.
    fn total(&self) -> (f64, f64) {
        let count = self.weights.len();
        let low = self.weights.iter().fold(0.0, |sum, weight| sum + weight.0);
        let high = self.weights.iter().fold(self.before + self.after, |sum, weight| sum + weight.1);
        (lowered(low, count), raised(high, count + 2))
    }
}
