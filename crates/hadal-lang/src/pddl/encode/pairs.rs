//! Drops rows whose needs no reachable state meets, judged by pairs of facts (h² forwards: Haslum and Geffner 2000,
//! "Admissible heuristics for optimal planning"; as pruning: Alcázar and Torralba 2015).
//!
//! A pair of facts is reachable where one row makes both true, or makes one true while the other, which goes with all that
//! the row needs, stays. Conditional effects may or may not happen; numbers, derived facts and monitors are not tracked.
//! The work is counted: where it is too much, nothing is dropped.

use hadal_system::rows::{Change, Need, RowTask};

/// Steps that may be taken.
const MAX_WORK: u64 = 60_000_000;
/// Facts that a table of pairs is made for.
const MAX_FACTS: usize = 4096;

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

struct Pairs<'a> {
    task: &'a RowTask,
    /// The first fact of each variable.
    first: Vec<u32>,
    /// The variable of each fact.
    variable: Vec<u32>,
    /// Symmetric; the diagonal says which facts are reachable.
    reachable: Vec<bool>,
    work: u64,
    grew: bool,
}

/// Drops rows that no reachable state lets fire; says whether there were any.
pub(crate) fn drop_unreachable(task: &mut RowTask) -> bool {
    let facts: usize = task.variables.iter().map(|variable| variable.values.len()).sum();
    if facts > MAX_FACTS || task.rows.len() as u64 * facts as u64 > MAX_WORK / 4 {
        return false;
    }
    let Some(fires) = Pairs::of(task).fixpoint() else { return false };
    let before = task.rows.len();
    let mut fires = fires.into_iter();
    task.rows.retain(|_| fires.next() == Some(true));
    before != task.rows.len()
}

impl<'a> Pairs<'a> {
    fn of(task: &'a RowTask) -> Self {
        let (mut first, mut variable) = (Vec::new(), Vec::new());
        for (number, finite) in task.variables.iter().enumerate() {
            first.push(variable.len() as u32);
            variable.extend(std::iter::repeat_n(number as u32, finite.values.len()));
        }
        let reachable = vec![false; variable.len() * variable.len()];
        Pairs { task, first, variable, reachable, work: 0, grew: true }
    }

    fn fact(&self, variable: u32, value: u32) -> u32 {
        self.first[variable as usize] + value
    }

    fn is(&self, left: u32, right: u32) -> bool {
        self.reachable[left as usize * self.variable.len() + right as usize]
    }

    fn reach(&mut self, left: u32, right: u32) {
        let count = self.variable.len();
        if !self.is(left, right) {
            self.reachable[left as usize * count + right as usize] = true;
            self.reachable[right as usize * count + left as usize] = true;
            self.grew = true;
        }
    }

    /// Which rows fire in the end; none where that takes too much work.
    fn fixpoint(mut self) -> Option<Vec<bool>> {
        let operators = self.operators();
        let task = self.task;
        let monitored = |variable: u32| task.monitors.iter().any(|monitor| monitor.variable == variable);
        // A monitor's states go with everything.
        let at_start: Vec<u32> = (0..self.variable.len() as u32)
            .filter(|&fact| {
                let variable = self.variable[fact as usize];
                let initial = task.variables[variable as usize].initial;
                monitored(variable) || self.fact(variable, initial) == fact
            })
            .collect();
        for &left in &at_start {
            for &right in &at_start {
                self.reach(left, right);
            }
        }
        for fact in 0..self.variable.len() as u32 {
            if monitored(self.variable[fact as usize]) {
                (0..self.variable.len() as u32).for_each(|other| self.reach(fact, other));
            }
        }
        let mut fires = vec![false; task.rows.len()];
        while std::mem::take(&mut self.grew) {
            for operator in &operators {
                self.work += (operator.needs.len() * operator.needs.len()) as u64;
                if !self.go_together(&operator.needs) {
                    continue;
                }
                fires[operator.row as usize] = true;
                self.apply(operator);
                if self.work > MAX_WORK {
                    return None;
                }
            }
        }
        Some(fires)
    }

    fn go_together(&self, facts: &[u32]) -> bool {
        facts.iter().enumerate().all(|(at, &left)| facts[at..].iter().all(|&right| self.is(left, right)))
    }

    fn apply(&mut self, operator: &Operator) {
        for &left in &operator.adds {
            for &right in operator.adds.iter().chain(&operator.may_add) {
                if left == right || self.variable[left as usize] != self.variable[right as usize] {
                    self.reach(left, right);
                }
            }
        }
        for fact in 0..self.variable.len() as u32 {
            self.work += operator.needs.len() as u64 + 1;
            if operator.touched.binary_search(&self.variable[fact as usize]).is_ok() || !self.is(fact, fact) {
                continue;
            }
            if operator.needs.iter().all(|&need| self.is(fact, need)) {
                operator.adds.iter().for_each(|&add| self.reach(add, fact));
            }
        }
    }

    fn operators(&self) -> Vec<Operator> {
        let mut list = Vec::new();
        for (number, row) in self.task.rows.iter().enumerate() {
            let facts_of = |needs: &[Need]| -> Vec<u32> {
                let facts = needs.iter().filter_map(|need| match *need {
                    Need::Is(variable, value) => Some(self.fact(variable, value)),
                    _ => None,
                });
                facts.collect()
            };
            let sets = |conditional: bool| {
                row.effects.iter().filter(move |effect| effect.when.is_empty() != conditional).filter_map(
                    |effect| match effect.change {
                        Change::Set(variable, value) => Some((effect, variable, self.fact(variable, value))),
                        _ => None,
                    },
                )
            };
            // A later conditional effect may take the place of a certain one, so that only the others are certain.
            let unsure: Vec<u32> = sets(true).map(|(_, variable, _)| variable).collect();
            let adds: Vec<u32> = sets(false)
                .filter(|(_, variable, _)| !unsure.contains(variable))
                .map(|(.., fact)| fact)
                .collect();
            let mut touched: Vec<u32> = sets(false).map(|(_, variable, _)| variable).collect();
            touched.sort_unstable();
            let needs = facts_of(&row.needs);
            let may_add: Vec<u32> = sets(true)
                .chain(sets(false).filter(|(_, variable, _)| unsure.contains(variable)))
                .map(|(.., fact)| fact)
                .collect();
            for (effect, variable, fact) in
                sets(true).chain(sets(false).filter(|(_, variable, _)| unsure.contains(variable)))
            {
                let mut all = needs.clone();
                all.extend(facts_of(&effect.when));
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
