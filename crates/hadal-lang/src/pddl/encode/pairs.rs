//! Drops rows that no plan has, judged by pairs of facts: forwards by what reachable states hold together (h²: Haslum and
//! Geffner 2000, "Admissible heuristics for optimal planning"), backwards by what states hold together from which the goal
//! can be reached, in turns (Alcázar and Torralba 2015, "A reminder about the importance of computing and exploiting
//! invariants in planning").
//!
//! Conditional effects may or may not happen; numbers and derived facts are not tracked, monitors may be anywhere. The
//! work is counted: where it is too much, nothing is dropped.

use super::table::Table;
use hadal_system::rows::{Change, Need, RowTask};

/// Words that may be looked at.
const MAX_WORK: u64 = 100_000_000;
/// Facts that a table of pairs is made for.
const MAX_FACTS: usize = 8192;
/// Times that both directions are looked at.
const ROUNDS: usize = 4;

/// What an operator of the relaxation does: a row, or a row with one of its conditional effects.
struct Operator {
    row: u32,
    needs: Vec<u32>,
    /// Facts it certainly makes true.
    adds: Vec<u32>,
    /// Variables whose facts do not simply stay, ascending.
    touched: Vec<u32>,
    /// Facts that other conditional effects may make true beside these.
    may_add: Vec<u32>,
}

/// A row as seen from where it leads.
struct Backward {
    row: u32,
    needs: Vec<u32>,
    /// Facts that a state before cannot have.
    bars: Vec<u32>,
    /// Facts that hold afterwards for certain.
    leads_to: Vec<u32>,
    /// Variables that may have had any value that goes with the needs.
    touched: Vec<u32>,
}

/// Pairs of facts of which no reachable state has both.
pub(crate) struct Mutexes {
    first: Vec<u32>,
    together: Table,
}

impl Mutexes {
    /// Whether no reachable state has both values.
    pub(crate) fn excludes(&self, (variable, value): (u32, u32), (other, held): (u32, u32)) -> bool {
        !self.together.has(self.first[variable as usize] + value, self.first[other as usize] + held)
    }
}

/// Bytes that [`drop_useless`] takes, about.
pub(crate) fn foreseen_bytes(task: &RowTask) -> usize {
    let facts: usize = task.variables.iter().map(|variable| variable.values.len()).sum();
    if is_too_much(task, facts) {
        return 0;
    }
    let numbers: usize = task.rows.iter().map(|row| 2 * (row.needs.len() + row.effects.len())).sum();
    let operators: usize = task
        .rows
        .iter()
        .map(|row| 1 + row.effects.iter().filter(|effect| !effect.when.is_empty()).count())
        .sum();
    4 * facts * facts.div_ceil(64) * 8 + operators * (size_of::<Operator>() + 4 * 32) + numbers * 4
}

fn is_too_much(task: &RowTask, facts: usize) -> bool {
    facts > MAX_FACTS || task.rows.len() as u64 * (facts / 64 + 1) as u64 > MAX_WORK / 16
}

/// Drops rows that no plan has. Says which pairs exclude each other, with all rows, unless that is too much work.
pub(crate) fn drop_useless(task: &mut RowTask) -> Option<Mutexes> {
    let facts: usize = task.variables.iter().map(|variable| variable.values.len()).sum();
    if is_too_much(task, facts) {
        return None;
    }
    let mut work = MAX_WORK;
    let pairs = Pairs::of(task);
    let mut fires = vec![false; task.rows.len()];
    let everything = Table::full(pairs.variable.len());
    let forward = pairs.forwards(task, &everything, &mut fires, &mut work)?;
    let mutexes = Mutexes { first: pairs.first.clone(), together: forward.clone() };
    retain(task, &fires);
    let mut forward = forward;
    for _ in 0..ROUNDS {
        let mut helps = vec![false; task.rows.len()];
        let Some(alive) = pairs.backwards(task, &forward, &mut helps, &mut work) else { break };
        let mut changed = helps.contains(&false);
        retain(task, &helps);
        let mut fires = vec![false; task.rows.len()];
        let Some(again) = pairs.forwards(task, &alive, &mut fires, &mut work) else { break };
        changed |= fires.contains(&false);
        retain(task, &fires);
        forward = again;
        if !changed {
            break;
        }
    }
    Some(mutexes)
}

fn retain(task: &mut RowTask, kept: &[bool]) {
    let mut kept = kept.iter();
    task.rows.retain(|_| kept.next() == Some(&true));
}

struct Pairs {
    /// The first fact of each variable.
    first: Vec<u32>,
    /// The variable of each fact.
    variable: Vec<u32>,
    /// Whether a monitor steps each variable.
    monitored: Vec<bool>,
}

impl Pairs {
    fn of(task: &RowTask) -> Self {
        let (mut first, mut variable) = (Vec::new(), Vec::new());
        for (number, finite) in task.variables.iter().enumerate() {
            first.push(variable.len() as u32);
            variable.extend(std::iter::repeat_n(number as u32, finite.values.len()));
        }
        let mut monitored = vec![false; task.variables.len()];
        task.monitors.iter().for_each(|monitor| monitored[monitor.variable as usize] = true);
        Pairs { first, variable, monitored }
    }

    fn fact(&self, variable: u32, value: u32) -> u32 {
        self.first[variable as usize] + value
    }

    fn values_of(&self, variable: u32) -> std::ops::Range<u32> {
        let next = self.first.get(variable as usize + 1).copied();
        self.first[variable as usize]..next.unwrap_or(self.variable.len() as u32)
    }

    fn facts_of(&self, needs: &[Need]) -> Vec<u32> {
        let facts = needs.iter().filter_map(|need| match *need {
            Need::Is(variable, value) if !self.monitored[variable as usize] => {
                Some(self.fact(variable, value))
            }
            _ => None,
        });
        facts.collect()
    }

    fn bars_of(&self, needs: &[Need]) -> Vec<u32> {
        let bars = needs.iter().filter_map(|need| match *need {
            Need::IsNot(variable, value) if !self.monitored[variable as usize] => {
                self.values_of(variable).find(|&fact| fact == self.fact(variable, value))
            }
            _ => None,
        });
        bars.collect()
    }

    /// The pairs that states reached by pairs in `alive` hold, and which rows fire on the way.
    fn forwards(&self, task: &RowTask, alive: &Table, fires: &mut [bool], work: &mut u64) -> Option<Table> {
        let operators = self.operators(task);
        let count = self.variable.len() as u32;
        let mut together = Table::empty(count as usize);
        let at_start: Vec<u32> = (0..count)
            .filter(|&fact| {
                let variable = self.variable[fact as usize];
                let initial = task.variables[variable as usize].initial;
                self.monitored[variable as usize] || self.fact(variable, initial) == fact
            })
            .collect();
        for &left in &at_start {
            for &right in &at_start {
                together.add(left, right);
            }
        }
        // A monitor's states go with everything.
        for fact in (0..count).filter(|&fact| self.monitored[self.variable[fact as usize] as usize]) {
            (0..count).for_each(|other| together.add(fact, other));
        }
        let mut stays = vec![0; together.words()];
        loop {
            together.forget_growth();
            for operator in &operators {
                if !together.has_all(&operator.needs) || !self.leads_on(operator, alive) {
                    continue;
                }
                fires[operator.row as usize] = true;
                let looked_at = (operator.needs.len() + 2 * operator.adds.len() + 1) * together.words();
                *work = work.checked_sub(looked_at as u64)?;
                stays.copy_from_slice(together.reached());
                operator.needs.iter().for_each(|&need| together.restrict(&mut stays, need));
                for &variable in &operator.touched {
                    self.values_of(variable)
                        .for_each(|fact| stays[fact as usize / 64] &= !(1 << (fact % 64)));
                }
                for &add in &operator.adds {
                    for &other in operator.adds.iter().chain(&operator.may_add) {
                        let same = self.variable[add as usize] == self.variable[other as usize];
                        if (add == other || !same) && alive.has(add, other) {
                            together.add(add, other);
                        }
                    }
                    together.add_row(add, &stays, alive);
                }
            }
            if !together.grew() {
                return Some(together);
            }
        }
    }

    /// Whether what an operator certainly leads to is in no dead pair.
    fn leads_on(&self, operator: &Operator, alive: &Table) -> bool {
        let stay = operator
            .needs
            .iter()
            .filter(|&&need| operator.touched.binary_search(&self.variable[need as usize]).is_err());
        let after: Vec<u32> = operator.adds.iter().chain(stay).copied().collect();
        alive.has_all(&after)
    }

    /// The pairs in `forward` that states hold from which the goal can be reached, and which rows lead there.
    fn backwards(
        &self,
        task: &RowTask,
        forward: &Table,
        helps: &mut [bool],
        work: &mut u64,
    ) -> Option<Table> {
        let rows: Vec<Backward> = task.rows.iter().zip(0..).map(|(row, at)| self.backward(row, at)).collect();
        let mut alive = Table::empty(self.variable.len());
        let goal = self.facts_of(&task.goal);
        let mut all = forward.reached().to_vec();
        goal.iter().for_each(|&fact| forward.restrict(&mut all, fact));
        for bar in self.bars_of(&task.goal) {
            all[bar as usize / 64] &= !(1 << (bar % 64));
        }
        if forward.has_all(&goal) {
            each(&all, |fact| alive.add_row(fact, &all, forward));
        }
        let (mut stays, mut had) = (vec![0; alive.words()], vec![0; alive.words()]);
        let monitored: Vec<u32> =
            (0..self.first.len() as u32).filter(|&v| self.monitored[v as usize]).collect();
        loop {
            alive.forget_growth();
            for row in &rows {
                if !alive.has_all(&row.leads_to) || !forward.has_all(&row.needs) {
                    continue;
                }
                helps[row.row as usize] = true;
                let looked_at = (row.needs.len() + row.leads_to.len() + 2) * alive.words();
                *work = work.checked_sub(looked_at as u64)?;
                stays.copy_from_slice(forward.reached());
                row.needs.iter().for_each(|&need| forward.restrict(&mut stays, need));
                for &bar in &row.bars {
                    stays[bar as usize / 64] &= !(1 << (bar % 64));
                }
                had.fill(0);
                for &variable in row.touched.iter().chain(&monitored) {
                    for fact in self.values_of(variable) {
                        let (word, bit) = (fact as usize / 64, 1 << (fact % 64));
                        had[word] |= stays[word] & bit;
                        stays[word] &= !bit;
                    }
                }
                stays.iter_mut().zip(alive.reached()).for_each(|(stays, reached)| *stays &= reached);
                row.leads_to.iter().for_each(|&fact| alive.restrict(&mut stays, fact));
                stays.iter_mut().zip(&had).for_each(|(stays, had)| *stays |= had);
                each(&had, |fact| alive.add_row(fact, &stays, forward));
                let touched = had.iter().map(|word| u64::from(word.count_ones())).sum::<u64>();
                *work = work.checked_sub(touched * alive.words() as u64)?;
            }
            if !alive.grew() {
                return Some(alive);
            }
        }
    }

    fn backward(&self, row: &hadal_system::rows::Row, number: u32) -> Backward {
        let sets = |conditional: bool| {
            row.effects.iter().filter(move |effect| effect.when.is_empty() != conditional).filter_map(
                |effect| match effect.change {
                    Change::Set(variable, value) => Some((variable, self.fact(variable, value))),
                    _ => None,
                },
            )
        };
        let unsure: Vec<u32> = sets(true).map(|(variable, _)| variable).collect();
        let mut touched: Vec<u32> = sets(false).map(|(variable, _)| variable).chain(unsure.clone()).collect();
        touched.sort_unstable();
        touched.dedup();
        let needs = self.facts_of(&row.needs);
        // Of several certain effects on one variable the last one counts.
        let mut leads_to: Vec<u32> = Vec::new();
        for (variable, fact) in sets(false).filter(|(variable, _)| !unsure.contains(variable)) {
            leads_to.retain(|&held| self.variable[held as usize] != variable);
            if !self.monitored[variable as usize] {
                leads_to.push(fact);
            }
        }
        let stays = |fact: &u32| touched.binary_search(&self.variable[*fact as usize]).is_err();
        leads_to.extend(needs.iter().copied().filter(stays));
        Backward { row: number, bars: self.bars_of(&row.needs), needs, leads_to, touched }
    }

    fn operators(&self, task: &RowTask) -> Vec<Operator> {
        let mut list = Vec::new();
        for (number, row) in task.rows.iter().enumerate() {
            let sets = |conditional: bool| {
                row.effects.iter().filter(move |effect| effect.when.is_empty() != conditional).filter_map(
                    |effect| match effect.change {
                        Change::Set(variable, value) => Some((effect, variable, self.fact(variable, value))),
                        _ => None,
                    },
                )
            };
            // A later effect may take the place of a certain one, so that only the others are certain.
            let mut unsure: Vec<u32> = sets(true).map(|(_, variable, _)| variable).collect();
            let mut once: Vec<u32> = Vec::new();
            for (_, variable, _) in sets(false) {
                if once.contains(&variable) { unsure.push(variable) } else { once.push(variable) }
            }
            let adds: Vec<u32> = sets(false)
                .filter(|(_, variable, _)| !unsure.contains(variable))
                .map(|(.., fact)| fact)
                .collect();
            let mut touched: Vec<u32> = sets(false).map(|(_, variable, _)| variable).collect();
            touched.sort_unstable();
            let needs = self.facts_of(&row.needs);
            let may_add: Vec<u32> = sets(true)
                .chain(sets(false).filter(|(_, variable, _)| unsure.contains(variable)))
                .map(|(.., fact)| fact)
                .collect();
            for (effect, variable, fact) in
                sets(true).chain(sets(false).filter(|(_, variable, _)| unsure.contains(variable)))
            {
                let mut all = needs.clone();
                all.extend(self.facts_of(&effect.when));
                let mut also = touched.clone();
                also.push(variable);
                also.sort_unstable();
                list.push(Operator {
                    row: number as u32,
                    needs: all,
                    adds: vec![fact],
                    touched: also,
                    may_add: [adds.as_slice(), &may_add].concat(),
                });
            }
            list.push(Operator { row: number as u32, needs, adds, touched, may_add });
        }
        list
    }
}

/// Calls `found` with the members of a set.
fn each(set: &[u64], mut found: impl FnMut(u32)) {
    for (word, &bits) in set.iter().enumerate() {
        let mut bits = bits;
        while bits != 0 {
            found(word as u32 * 64 + bits.trailing_zeros());
            bits &= bits - 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_exec::rows::{Firing, RowSpace};
    use hadal_testkit::rows::{Drawing, task};
    use std::collections::HashMap;

    const MOST: usize = 2000;

    /// The values of all reachable states, and the cost of the nearest goal; none where there are too many.
    fn explore(task: &RowTask) -> Option<(Vec<Vec<u32>>, Option<u64>)> {
        let space = RowSpace::new(task.clone()).expect("drawn tasks can be run");
        let mut worker = space.row_worker();
        let mut costs = HashMap::from([(space.initial().to_vec(), 0u64)]);
        let mut open = vec![space.initial().to_vec()];
        while let Some(state) = open.pop() {
            let here = costs[&state];
            worker.expand(&state, |_, firing, next| {
                let Firing::Reached(cost) = firing else { panic!("drawn tasks have no faults") };
                let there = here + u64::from(cost);
                if costs.get(next).is_none_or(|&held| there < held) {
                    costs.insert(next.to_vec(), there);
                    open.push(next.to_vec());
                }
            });
            if costs.len() > MOST {
                return None;
            }
        }
        let best = costs.iter().filter(|(state, _)| worker.is_goal(state)).map(|(_, &cost)| cost).min();
        Some((costs.keys().map(|state| space.unpack(state).values).collect(), best))
    }

    #[test]
    fn nothing_is_dropped_that_a_cheapest_plan_has_and_what_excludes_each_other_never_meets() {
        let (mut dropped, mut excluded, mut looked_at) = (0, 0, 0);
        for n in 0..960u64 {
            let mut drawn = task(Drawing {
                seed: n,
                conditional: n & 1 > 0,
                derived: n & 2 > 0,
                numbers: n & 4 > 0,
                monitors: n & 8 > 0,
                largest_cost: (n & 16 > 0).then_some(3),
            });
            let Some((states, best)) = explore(&drawn) else { continue };
            let before = drawn.rows.len();
            let mutexes = drop_useless(&mut drawn).expect("little work");
            dropped += before - drawn.rows.len();
            let (_, again) = explore(&drawn).expect("no more states than before");
            // Without prices, what one unit stands for may change with the rows.
            if n & 16 == 0 {
                assert_eq!(best, again, "{n}");
            }
            assert_eq!(best.is_some(), again.is_some(), "{n}");
            looked_at += 1;
            for values in &states {
                for left in values.iter().zip(0u32..).map(|(&value, variable)| (variable, value)) {
                    for right in values.iter().zip(0u32..).map(|(&value, variable)| (variable, value)) {
                        assert!(!mutexes.excludes(left, right), "{n}: {left:?} {right:?}");
                    }
                }
            }
            for (left, finite) in drawn.variables.iter().enumerate() {
                for right in 0..left {
                    for value in 0..finite.values.len() as u32 {
                        for held in 0..drawn.variables[right].values.len() as u32 {
                            excluded +=
                                u32::from(mutexes.excludes((left as u32, value), (right as u32, held)));
                        }
                    }
                }
            }
        }
        assert!(looked_at > 500 && dropped > 2000 && excluded > 5000, "{looked_at} {dropped} {excluded}");
    }
}
