//! Groups the successors of a state into choices: which branches belong together, how likely each is, what is earned.
//!
//! Constant weights are numbered once, by label. Amounts that depend on the state are evaluated by the interpreter and
//! remembered by the values they read, of which there are few.

use std::collections::HashMap;

use hadal_system::rows::Rational;
use hadal_system::system::instance_count;
use hadal_system::{
    Amount, Base, Chance, ChoiceFault, Choices, Expr, Label, Layout, PropertyId, System, Value,
};
use num_traits::{CheckedAdd, CheckedDiv, CheckedMul};

use crate::interpret::Interpreter;
use hadal_system::visit::{self, Node};

/// Weights this far from a sum of 1 are rounding of the model's text; they are scaled to 1.
const ROUNDING: (i128, i128) = (1, 100_000);

/// Makes choices of labelled successors, for one worker.
pub(crate) struct Chooser<'m> {
    system: &'m System,
    layout: &'m Layout,
    interpreter: Interpreter<'m>,
    /// By label: the label its choice begins with, its action, and its weight.
    labels: Vec<Branch>,
    amounts: Vec<Evaluated<'m>>,
    /// By action: how many branches a choice has whose weights are known to add up to 1.
    complete: Vec<usize>,
    numbers: HashMap<Rational, u32>,
    /// Of a weight by a divisor, its number.
    shares: HashMap<(u32, u32), u32>,
    /// The amounts of the items of the reward last asked for, by place.
    items: Option<(usize, Vec<usize>)>,
    property_bases: Vec<u32>,
}

#[derive(Clone, Copy)]
struct Branch {
    choice: u32,
    action: u32,
    weight: usize,
}

/// An amount and what it was found to be.
struct Evaluated<'m> {
    amount: &'m Amount,
    slots: Vec<usize>,
    known: HashMap<Vec<Option<Value>>, u32>,
    /// Of a constant, once it has a number.
    fixed: Option<u32>,
}

impl<'m> Chooser<'m> {
    /// For the actions of `system`, with `one` as the amount of whatever has no outcomes.
    pub fn new(system: &'m System, layout: &'m Layout, one: &'m Amount) -> Self {
        let first_slots = system.first_slots();
        let mut amounts = vec![Evaluated::new(system, &first_slots, one)];
        let mut labels = Vec::new();
        let mut complete = Vec::new();
        for (n, action) in system.actions.iter().enumerate() {
            let count = instance_count(&action.params, &system.domains) as u32;
            let first = amounts.len();
            let weights = action.outcomes.as_ref().map_or(&[][..], |o| &o.weights);
            complete.push(if adds_up(weights) { weights.len().max(1) } else { 0 });
            amounts.extend(weights.iter().map(|w| Evaluated::new(system, &first_slots, w)));
            for instance in 0..count {
                let at = labels.len() as u32;
                labels.push(match weights.len() as u32 {
                    0 => Branch { choice: at, action: n as u32, weight: 0 },
                    many => Branch {
                        choice: at - instance % many,
                        action: n as u32,
                        weight: first + (instance % many) as usize,
                    },
                });
            }
        }
        let numbers = HashMap::from([(Rational::from_integer(0), 0), (Rational::from_integer(1), 1)]);
        Chooser {
            system,
            layout,
            interpreter: Interpreter::new(system, layout),
            labels,
            amounts,
            complete,
            numbers,
            shares: HashMap::new(),
            items: None,
            property_bases: system.property_bases(),
        }
    }

    /// Groups the branches of `out` from number `from` on, whose labels ascend. `satisfies` answers propositions.
    pub fn group(
        &mut self,
        state: &[u64],
        from: usize,
        out: &mut Choices,
        satisfies: &mut dyn FnMut(PropertyId) -> Option<bool>,
    ) -> Result<(), ChoiceFault> {
        let first_choice = out.ends.len();
        let mut n = from;
        let total = out.branches.len();
        while n < total {
            let label = out.branches.labels()[n];
            let Branch { choice, action, .. } = self.labels[label.0 as usize];
            let begin = n;
            while n < total && self.labels[out.branches.labels()[n].0 as usize].choice == choice {
                let label = out.branches.labels()[n];
                let weight = self.labels[label.0 as usize].weight;
                let number =
                    self.number(weight, state, &mut out.numbers).ok_or(ChoiceFault::Amount(label))?;
                out.weights.push(number);
                n += 1;
            }
            if self.complete[action as usize] != n - begin && self.system.quantities.chance != Chance::Racing
            {
                self.scale_to_one(begin, out, label)?;
            }
            out.ends.push(n as u32);
            out.rewards.push(0);
        }
        let by_state = self.earn(state, first_choice, out, satisfies)?;
        match self.system.quantities.chance {
            Chance::Chosen => Ok(()),
            Chance::Uniform => self.join_uniformly(from, first_choice, out),
            Chance::Racing => self.join_racing(from, first_choice, by_state, out),
        }
    }

    /// The number of an amount in a state; `None` where evaluating it meets an error or it is negative.
    fn number(&mut self, amount: usize, state: &[u64], numbers: &mut Vec<Rational>) -> Option<u32> {
        let it = &mut self.amounts[amount];
        if let Some(fixed) = it.fixed {
            return Some(fixed);
        }
        let key: Vec<Option<Value>> =
            it.slots.iter().map(|&slot| self.layout.value(self.system, state, slot)).collect();
        if let Some(&known) = it.known.get(&key) {
            return Some(known);
        }
        let value = match it.amount {
            Amount::Constant(value) => *value,
            Amount::Ratio { numerator, denominator } => {
                let above = self.interpreter.evaluate(state, numerator).ok()?;
                let below = self.interpreter.evaluate(state, denominator).ok()?;
                if below == 0 {
                    return None;
                }
                Rational::new(above.into(), below.into())
            }
        };
        if value < Rational::from_integer(0) {
            return None;
        }
        let number = intern(&mut self.numbers, value, numbers)?;
        let it = &mut self.amounts[amount];
        if matches!(it.amount, Amount::Constant(_)) {
            it.fixed = Some(number);
        } else {
            it.known.insert(key, number);
        }
        Some(number)
    }

    /// Makes sure that the weights from `begin` on add up to 1.
    fn scale_to_one(&mut self, begin: usize, out: &mut Choices, label: Label) -> Result<(), ChoiceFault> {
        let weights = &mut out.weights[begin..];
        let sum = weights
            .iter()
            .try_fold(Rational::from_integer(0), |sum, &w| add(&sum, &out.numbers[w as usize]))
            .ok_or(ChoiceFault::Amount(label))?;
        let one = Rational::from_integer(1);
        if sum == one {
            return Ok(());
        }
        let off = if sum > one { sum - one } else { one - sum };
        if off > Rational::new(ROUNDING.0, ROUNDING.1) {
            return Err(ChoiceFault::Sum(label));
        }
        for weight in weights {
            let scaled = out.numbers[*weight as usize].checked_div(&sum).ok_or(ChoiceFault::Amount(label))?;
            *weight =
                intern(&mut self.numbers, scaled, &mut out.numbers).ok_or(ChoiceFault::Amount(label))?;
        }
        Ok(())
    }

    /// Adds what each choice earns of the reward asked for; answers with what the state earns by itself where choices race.
    fn earn(
        &mut self,
        state: &[u64],
        first_choice: usize,
        out: &mut Choices,
        satisfies: &mut dyn FnMut(PropertyId) -> Option<bool>,
    ) -> Result<Rational, ChoiceFault> {
        let Some(reward) = out.reward else { return Ok(Rational::from_integer(0)) };
        if self.items.as_ref().is_none_or(|(asked, _)| *asked != reward) {
            let first_slots = self.system.first_slots();
            let mut places = Vec::new();
            for item in &self.system.quantities.rewards[reward].items {
                places.push(self.amounts.len());
                self.amounts.push(Evaluated::new(self.system, &first_slots, &item.amount));
            }
            self.items = Some((reward, places));
        }
        let racing = self.system.quantities.chance == Chance::Racing;
        let mut by_state = Rational::from_integer(0);
        for (n, item) in self.system.quantities.rewards[reward].items.iter().enumerate() {
            let holds = satisfies(PropertyId(self.property_bases[item.when]))
                .ok_or(ChoiceFault::Proposition(item.when))?;
            let place = self.items.as_ref().map_or(0, |(_, places)| places[n]);
            if !holds {
                continue;
            }
            if first_choice == out.ends.len() {
                if item.actions.is_none() {
                    let wrong = ChoiceFault::Proposition(item.when);
                    let amount = self.number(place, state, &mut out.numbers).ok_or(wrong)?;
                    out.resting = self.sum(out.resting, amount, &mut out.numbers).ok_or(wrong)?;
                }
                continue;
            }
            let first = out.branches.labels()[out.range(first_choice).start];
            let wrong = ChoiceFault::Amount(first);
            let amount = self.number(place, state, &mut out.numbers).ok_or(wrong)?;
            if racing && item.actions.is_none() {
                by_state = add(&by_state, &out.numbers[amount as usize]).ok_or(wrong)?;
                continue;
            }
            for choice in first_choice..out.ends.len() {
                let label = out.branches.labels()[out.range(choice).start];
                let action = self.labels[label.0 as usize].action;
                if item.actions.as_ref().is_none_or(|list| list.iter().any(|a| a.0 == action)) {
                    out.rewards[choice] = match out.rewards[choice] {
                        0 => amount,
                        old => self.sum(old, amount, &mut out.numbers).ok_or(ChoiceFault::Amount(label))?,
                    };
                }
            }
        }
        Ok(by_state)
    }

    fn sum(&mut self, left: u32, right: u32, numbers: &mut Vec<Rational>) -> Option<u32> {
        let sum = add(&numbers[left as usize], &numbers[right as usize])?;
        intern(&mut self.numbers, sum, numbers)
    }

    /// One choice of all: each former choice is as likely as the others.
    fn join_uniformly(
        &mut self,
        from: usize,
        first_choice: usize,
        out: &mut Choices,
    ) -> Result<(), ChoiceFault> {
        let many = out.ends.len() - first_choice;
        if many < 2 {
            return Ok(());
        }
        let label = out.branches.labels()[from];
        let share = Rational::new(1, many as i128);
        for n in from..out.weights.len() {
            let key = (out.weights[n], many as u32);
            out.weights[n] = match self.shares.get(&key) {
                Some(&known) => known,
                None => {
                    let scaled =
                        out.numbers[key.0 as usize].checked_mul(&share).ok_or(ChoiceFault::Amount(label))?;
                    let number = intern(&mut self.numbers, scaled, &mut out.numbers)
                        .ok_or(ChoiceFault::Amount(label))?;
                    self.shares.insert(key, number);
                    number
                }
            };
        }
        let mut mean = Rational::from_integer(0);
        for &reward in &out.rewards[first_choice..] {
            mean = out.numbers[reward as usize]
                .checked_mul(&share)
                .and_then(|part| add(&mean, &part))
                .ok_or(ChoiceFault::Amount(label))?;
        }
        let mean = intern(&mut self.numbers, mean, &mut out.numbers).ok_or(ChoiceFault::Amount(label))?;
        out.rewards.truncate(first_choice);
        out.rewards.push(mean);
        out.ends.truncate(first_choice);
        out.ends.push(out.weights.len() as u32);
        Ok(())
    }
}

impl Chooser<'_> {
    /// One choice of all, whose branches are as likely as their rates say; what the state earns lasts for the mean time
    /// until the first of them.
    fn join_racing(
        &mut self,
        from: usize,
        first_choice: usize,
        by_state: Rational,
        out: &mut Choices,
    ) -> Result<(), ChoiceFault> {
        if first_choice == out.ends.len() {
            return Ok(());
        }
        let wrong = ChoiceFault::Amount(out.branches.labels()[from]);
        let zero = Rational::from_integer(0);
        let (mut exit, mut earned) = (zero, zero);
        for choice in first_choice..out.ends.len() {
            let mut rate = zero;
            for n in out.range(choice) {
                rate = add(&rate, &out.numbers[out.weights[n] as usize]).ok_or(wrong)?;
            }
            exit = add(&exit, &rate).ok_or(wrong)?;
            let reward = out.numbers[out.rewards[choice] as usize];
            earned = rate.checked_mul(&reward).and_then(|part| add(&earned, &part)).ok_or(wrong)?;
        }
        let earned = add(&earned, &by_state).and_then(|sum| sum.checked_div(&exit)).ok_or(wrong)?;
        for n in from..out.weights.len() {
            let share = out.numbers[out.weights[n] as usize].checked_div(&exit).ok_or(wrong)?;
            out.weights[n] = intern(&mut self.numbers, share, &mut out.numbers).ok_or(wrong)?;
        }
        out.rewards.truncate(first_choice);
        out.rewards.push(intern(&mut self.numbers, earned, &mut out.numbers).ok_or(wrong)?);
        out.ends.truncate(first_choice);
        out.ends.push(out.weights.len() as u32);
        Ok(())
    }
}

/// Whether these are constants with the sum 1, or there is none.
fn adds_up(weights: &[Amount]) -> bool {
    let sum = weights.iter().try_fold(Rational::from_integer(0), |sum, weight| match weight {
        Amount::Constant(value) => add(&sum, value),
        Amount::Ratio { .. } => None,
    });
    weights.is_empty() || sum == Some(Rational::from_integer(1))
}

fn add(left: &Rational, right: &Rational) -> Option<Rational> {
    left.checked_add(right)
}

impl<'m> Evaluated<'m> {
    fn new(system: &System, first_slots: &[usize], amount: &'m Amount) -> Self {
        let mut slots = Vec::new();
        if let Amount::Ratio { numerator, denominator } = amount {
            for expr in [numerator, denominator] {
                read_slots(system, first_slots, expr, &mut slots);
            }
        }
        slots.sort_unstable();
        slots.dedup();
        Evaluated { amount, slots, known: HashMap::new(), fixed: None }
    }
}

fn read_slots(system: &System, first_slots: &[usize], expr: &Expr, slots: &mut Vec<usize>) {
    visit::expr(expr, &mut |node| {
        if let Node::Place(place) = node
            && let Base::Global(var) = place.base
        {
            let first = first_slots[var.0 as usize];
            slots.extend(first..first + system.shapes.slots(system.variable(var).shape));
        }
    });
}

/// The number of a value, new where it was never met.
fn intern(known: &mut HashMap<Rational, u32>, value: Rational, numbers: &mut Vec<Rational>) -> Option<u32> {
    if let Some(&number) = known.get(&value) {
        return Some(number);
    }
    let number = u32::try_from(numbers.len()).ok()?;
    numbers.push(value);
    known.insert(value, number);
    Some(number)
}
