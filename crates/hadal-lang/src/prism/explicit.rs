//! Explicit files, as PRISM and Storm write and read them: transitions (`.tra`), states (`.sta`), labels (`.lab`), rewards of states
//! (`.srew`) and of transitions (`.trew`). They become a model of one variable, in PRISM's language, so that every question can be
//! asked of them; the variables of states are formulas over it.

use super::number;
use hadal_system::rows::Rational;
use num_traits::{CheckedAdd, CheckedMul, Zero};
use std::collections::BTreeMap;
use std::fmt::Write;

/// The texts of a model.
#[derive(Clone, Debug, Default)]
pub struct Explicit<'a> {
    /// Transitions.
    pub transitions: &'a str,
    /// Variables of the states, where they are known.
    pub states: Option<&'a str>,
    /// Labels, where there are any.
    pub labels: Option<&'a str>,
    /// Rewards of states by name.
    pub state_rewards: Vec<(String, &'a str)>,
    /// Rewards of transitions by name.
    pub transition_rewards: Vec<(String, &'a str)>,
}

/// What is wrong with one of the texts.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{file}, line {line}: {what}")]
pub struct ExplicitError {
    /// Which text.
    pub file: &'static str,
    /// Which line, from 1.
    pub line: usize,
    /// What was expected.
    pub what: &'static str,
}

/// A choice: branches in the order of the file, each with its probability as it is written.
#[derive(Default)]
struct Choice<'a> {
    name: String,
    branches: Vec<(u64, &'a str)>,
}

type Choices<'a> = BTreeMap<(u64, u64), Choice<'a>>;

/// The states of each label.
type Labels = Vec<(String, Vec<u64>)>;

/// The values of a variable: from which state on it has which.
type Values<'a> = Vec<(u64, &'a str)>;

impl Explicit<'_> {
    /// The model in PRISM's language.
    pub fn to_prism(&self) -> Result<String, ExplicitError> {
        let (states, chain, choices) = self.read_transitions()?;
        let (initial, labels) = self.read_labels()?;
        let kind = if chain { "dtmc" } else { "mdp" };
        let variables = self.read_states(states)?;
        // The number of a state has a name that no variable of the states has.
        let free = |name: &&&str| variables.iter().all(|(other, _)| other != *name);
        let s = *["s", "state", "number_of_the_state"].iter().find(free).unwrap_or(&"s");
        let mut text = format!("{kind}\nmodule explicit\n  {s} : [0..{}]", states.max(1) - 1);
        let first = initial.first().copied().unwrap_or(0);
        let one = initial.len() < 2;
        let _ = writeln!(text, "{};", if one { format!(" init {first}") } else { String::new() });
        for ((state, number), choice) in &choices {
            let updates: Vec<String> =
                choice.branches.iter().map(|(to, p)| format!("{p} : ({s}'={to})")).collect();
            let name = label(*number, &choice.name);
            let _ = writeln!(text, "  [{name}] {s}={state} -> {};", updates.join(" + "));
        }
        text.push_str("endmodule\n");
        if !one {
            let _ = writeln!(text, "init {} endinit", condition(s, &initial));
        }
        for (name, values) in &variables {
            let _ = writeln!(text, "formula {name} = {};", by_number(s, values));
        }
        for (name, states) in &labels {
            let _ = writeln!(text, "label \"{name}\" = {};", condition(s, states));
        }
        self.write_rewards(s, chain, &choices, &mut text)?;
        Ok(text)
    }

    /// The variables of the states with their values.
    fn read_states(&self, states: u64) -> Result<Vec<(&str, Values<'_>)>, ExplicitError> {
        let wrong = |line, what| ExplicitError { file: "states", line, what };
        let Some(text) = self.states else { return Ok(Vec::new()) };
        let inside =
            |text: &'_ str| text.trim().strip_prefix('(').and_then(|t| t.strip_suffix(')')).map(str::len);
        let mut lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        let (n, head) = lines.next().ok_or_else(|| wrong(1, "the names of the variables"))?;
        let names = inside(head).ok_or_else(|| wrong(n + 1, "the names of the variables"))?;
        let names: Vec<&str> = head.trim()[1..=names].split(',').map(str::trim).collect();
        let is_name = |name: &&str| {
            name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
                && !name.starts_with(|c: char| c.is_ascii_digit())
        };
        if names.iter().any(|name| name.is_empty() || !is_name(name)) {
            return Err(wrong(n + 1, "the names of the variables"));
        }
        let mut variables: Vec<(&str, Values)> = names.into_iter().map(|name| (name, Vec::new())).collect();
        let mut next = 0;
        for (n, line) in lines {
            let row = line.split_once(':').and_then(|(state, values)| {
                let values = values.trim();
                let length = inside(values)?;
                Some((state.trim().parse::<u64>().ok()?, &values[1..=length]))
            });
            let (state, values) = row.ok_or_else(|| wrong(n + 1, "state:(values)"))?;
            let values: Vec<&str> = values.split(',').map(str::trim).collect();
            if state != next || values.len() != variables.len() {
                return Err(wrong(n + 1, "the next state with a value for each variable"));
            }
            for ((_, list), value) in variables.iter_mut().zip(values) {
                if !matches!(value, "true" | "false") && value.parse::<i64>().is_err() {
                    return Err(wrong(n + 1, "a whole number, true or false"));
                }
                if list.last().is_none_or(|last| last.1 != value) {
                    list.push((state, value));
                }
            }
            next += 1;
        }
        match next == states {
            true => Ok(variables),
            false => Err(wrong(1, "as many states as the transitions have")),
        }
    }

    fn read_transitions(&self) -> Result<(u64, bool, Choices<'_>), ExplicitError> {
        let wrong = |line, what| ExplicitError { file: "transitions", line, what };
        let lines =
            self.transitions.lines().enumerate().map(|(n, l)| (n + 1, l.split_whitespace().collect()));
        let mut lines = lines.filter(|(_, words): &(usize, Vec<&str>)| {
            // Storm begins with the kind of the model.
            !words.is_empty() && words[0] != "mdp" && words[0] != "dtmc"
        });
        let (n, head) = lines.next().ok_or_else(|| wrong(1, "the numbers of states and transitions"))?;
        let chain = match head.len() {
            2 => true,
            3 => false,
            _ => return Err(wrong(n, "the numbers of states, choices and transitions")),
        };
        let states: u64 = head[0].parse().map_err(|_| wrong(n, "the number of states"))?;
        let mut choices = Choices::new();
        for (n, words) in lines {
            let whole = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
            let at = usize::from(!chain);
            let found = (|| Some((whole(0)?, if chain { 0 } else { whole(1)? }, whole(at + 1)?)))();
            let (from, choice, to) = found.ok_or_else(|| wrong(n, "a transition"))?;
            let weight = words.get(at + 2).filter(|w| number(w).is_some_and(|p| p >= Rational::zero()));
            let weight = weight.ok_or_else(|| wrong(n, "a probability"))?;
            if from >= states || to >= states {
                return Err(wrong(n, "a state with a smaller number than there are states"));
            }
            let entry = choices.entry((from, choice)).or_default();
            entry.branches.push((to, *weight));
            entry.name = words.get(at + 3).map_or(String::new(), |name| (*name).to_owned());
        }
        Ok((states, chain, choices))
    }

    /// The initial states, and the states of each other label.
    fn read_labels(&self) -> Result<(Vec<u64>, Labels), ExplicitError> {
        let wrong = |line, what| ExplicitError { file: "labels", line, what };
        let Some(text) = self.labels else { return Ok((Vec::new(), Vec::new())) };
        let mut names: BTreeMap<u64, (String, Vec<u64>)> = BTreeMap::new();
        for (n, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            if names.is_empty() {
                for entry in line.split_whitespace() {
                    let (number, name) =
                        entry.split_once('=').ok_or_else(|| wrong(n + 1, "number=\"label\""))?;
                    let number = number.parse().map_err(|_| wrong(n + 1, "number=\"label\""))?;
                    names.insert(number, (name.trim_matches('"').to_owned(), Vec::new()));
                }
                continue;
            }
            let (state, numbers) = line.split_once(':').ok_or_else(|| wrong(n + 1, "state: labels"))?;
            let state = state.trim().parse().map_err(|_| wrong(n + 1, "state: labels"))?;
            for number in numbers.split_whitespace() {
                let known = number.parse().ok().and_then(|number: u64| names.get_mut(&number));
                known.ok_or_else(|| wrong(n + 1, "a label of the first line"))?.1.push(state);
            }
        }
        let all: Labels = names.into_values().collect();
        let initial = all.iter().find(|(name, _)| name == "init").map_or(Vec::new(), |(_, s)| s.clone());
        let others = all.into_iter().filter(|(name, _)| name != "init" && name != "deadlock").collect();
        Ok((initial, others))
    }

    fn write_rewards(
        &self,
        s: &str,
        chain: bool,
        choices: &Choices,
        text: &mut String,
    ) -> Result<(), ExplicitError> {
        let mut items: BTreeMap<&str, String> = BTreeMap::new();
        let wrong = |line| ExplicitError { file: "rewards", line, what: "a reward" };
        for (name, rewards) in &self.state_rewards {
            let to = items.entry(name).or_default();
            for (n, words) in entries(rewards) {
                let [state, reward] = words[..] else { return Err(wrong(n)) };
                number(reward).ok_or_else(|| wrong(n))?;
                let _ = writeln!(to, "  {s}={state} : {reward};");
            }
        }
        for (name, rewards) in &self.transition_rewards {
            // What a choice earns is what its branches earn on average.
            let mut earned: BTreeMap<(u64, u64), Rational> = BTreeMap::new();
            for (n, words) in entries(rewards) {
                let at = usize::from(!chain);
                let whole = |at: usize| words.get(at).and_then(|word| word.parse::<u64>().ok());
                let found = (|| {
                    let key = (whole(0)?, if chain { 0 } else { whole(1)? });
                    let to = whole(at + 1)?;
                    let weight = choices.get(&key)?.branches.iter().find(|b| b.0 == to)?.1;
                    Some((key, number(weight)?.checked_mul(&number(words.get(at + 2)?)?)?))
                })();
                let (key, reward) = found.ok_or_else(|| wrong(n))?;
                let sum = earned.entry(key).or_insert_with(Rational::zero);
                *sum = sum.checked_add(&reward).ok_or_else(|| wrong(n))?;
            }
            let to = items.entry(name).or_default();
            for ((state, choice), reward) in earned {
                let action = label(choice, &choices[&(state, choice)].name);
                let _ = writeln!(to, "  [{action}] {s}={state} : {}/{};", reward.numer(), reward.denom());
            }
        }
        for (name, list) in items {
            let head = if name.is_empty() { String::new() } else { format!(" \"{name}\"") };
            let _ = writeln!(text, "rewards{head}\n{list}endrewards");
        }
        Ok(())
    }
}

/// Lines after the first, in words.
fn entries(text: &str) -> impl Iterator<Item = (usize, Vec<&str>)> {
    let lines = text.lines().enumerate().skip(1).map(|(n, line)| (n + 1, line.split_whitespace().collect()));
    lines.filter(|(_, words): &(usize, Vec<&str>)| !words.is_empty())
}

/// An action that no other choice of the state has.
fn label(number: u64, name: &str) -> String {
    let name: String = name.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    if name.is_empty() { format!("c{number}") } else { format!("c{number}_{name}") }
}

/// The value of a variable by the number of the state: a balanced decision.
fn by_number(s: &str, values: &[(u64, &str)]) -> String {
    match values {
        [] => "0".to_owned(),
        [(_, value)] => (*value).to_owned(),
        _ => {
            let (left, right) = values.split_at(values.len() / 2);
            format!("({s}<{} ? {} : {})", right[0].0, by_number(s, left), by_number(s, right))
        }
    }
}

/// Whether the state is one of these: a balanced disjunction of ranges.
fn condition(s: &str, states: &[u64]) -> String {
    let mut sorted = states.to_vec();
    sorted.sort_unstable();
    let mut ranges: Vec<(u64, u64)> = Vec::new();
    for state in sorted {
        match ranges.last_mut() {
            Some((_, last)) if state <= *last + 1 => *last = state,
            _ => ranges.push((state, state)),
        }
    }
    fn join(s: &str, ranges: &[(u64, u64)]) -> String {
        match ranges {
            [] => "false".to_owned(),
            [(a, b)] if a == b => format!("{s}={a}"),
            [(a, b)] => format!("{s}>={a} & {s}<={b}"),
            _ => {
                let (left, right) = ranges.split_at(ranges.len() / 2);
                format!("({}) | ({})", join(s, left), join(s, right))
            }
        }
    }
    join(s, &ranges)
}
