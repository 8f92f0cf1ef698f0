//! The relaxed task as flat arrays: facts, sets of facts that conditions want one of, and rows.
//!
//! A *fact* is a variable having a value. An *atom* is a set of values of one variable; it is reached with the first of its
//! facts. A *row* is one effect of an operator: it needs all its atoms and gives facts. What is looked for becomes
//! rows without cost that lead to one goal fact.

use super::super::graph::all_off;
use super::merge;
use crate::task::{AbstractTask, Bits, FastMap, Formula, Variable};
use hadal_system::guide::Mask;

/// With more effects than this, those that several operators of the same instance share are taken together.
const MANY_EFFECTS: usize = 20_000;

/// No number.
pub const NONE: u32 = u32::MAX;

/// What following a link between facts, atoms and rows counts as: about nanoseconds.
pub const LINK_WORK: u64 = 2;

/// What an estimate counts as beside the links, in links.
const ONE_ESTIMATE: u64 = 500;

/// Lists of numbers behind each other.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn new() -> Self {
        Lists { starts: vec![0], items: Vec::new() }
    }

    fn push(&mut self, list: impl IntoIterator<Item = u32>) {
        self.items.extend(list);
        self.starts.push(self.items.len() as u32);
    }

    fn len(&self) -> usize {
        self.starts.len() - 1
    }

    /// For each of `count` numbers, the lists it stands in, ascending.
    fn inverse(&self, count: usize) -> Self {
        let mut starts = vec![0u32; count + 1];
        self.items.iter().for_each(|&item| starts[item as usize + 1] += 1);
        for n in 0..count {
            starts[n + 1] += starts[n];
        }
        let (mut next, mut items) = (starts.clone(), vec![0; self.items.len()]);
        for n in 0..self.len() as u32 {
            for &item in self.get(n) {
                items[next[item as usize] as usize] = n;
                next[item as usize] += 1;
            }
        }
        Lists { starts, items }
    }

    #[inline]
    pub fn get(&self, n: u32) -> &[u32] {
        &self.items[self.starts[n as usize] as usize..self.starts[n as usize + 1] as usize]
    }
}

/// Who needs and who gives what.
#[derive(Debug)]
pub struct Links {
    pub atoms_of_fact: Lists,
    pub rows_of_atom: Lists,
    pub atoms_of_row: Lists,
    pub facts_of_row: Lists,
}

/// The relaxed task.
#[derive(Debug)]
pub struct Network {
    pub variables: Vec<Variable>,
    /// First fact of each variable, and the number of facts that stand for values.
    pub bases: Vec<u32>,
    pub facts: usize,
    pub atoms: usize,
    pub links: Links,
    /// How many atoms each row needs.
    pub needs: Vec<u32>,
    /// Rows that need nothing.
    pub free: Vec<u32>,
    /// The operator behind each row; [`NONE`] for what is looked for, which costs nothing.
    pub operator_of: Vec<u32>,
    /// Rows from this one on cost nothing.
    pub first_goal_row: u32,
    pub labels: Vec<Vec<(u32, u32)>>,
    /// Rows of each operator.
    rows_of_operator: Lists,
    /// The fact looked for.
    pub goal: u32,
}

struct Builder {
    bases: Vec<u32>,
    facts: u32,
    atom_numbers: FastMap<(u32, Bits), u32>,
    atom_facts: Lists,
    /// What each row needs, what it gives, the operator behind it.
    needed: Lists,
    given: Lists,
    operator_of: Vec<u32>,
}

impl Network {
    pub fn of(task: &AbstractTask) -> Self {
        Network::merging_above(task, MANY_EFFECTS)
    }

    /// What beginning an estimate counts as, in links.
    pub fn setup_work(&self) -> u64 {
        ((self.facts + self.atoms + self.needs.len()) / 8 + 2 * self.variables.len()) as u64 + ONE_ESTIMATE
    }

    /// Takes shared effects together where there are more than `many`.
    pub fn merging_above(task: &AbstractTask, many: usize) -> Self {
        let mut bases = vec![0];
        for variable in &task.variables {
            bases.push(bases[bases.len() - 1] + variable.values.len() as u32);
        }
        let facts = bases[bases.len() - 1];
        let mut builder = Builder {
            bases,
            facts,
            atom_numbers: FastMap::default(),
            atom_facts: Lists::new(),
            needed: Lists::new(),
            given: Lists::new(),
            operator_of: Vec::new(),
        };
        let effects: usize = task.operators.iter().map(|operator| operator.effects.len()).sum();
        if effects > many {
            for (n, operator) in merge::merged(task) {
                builder.add_operator(task, n, &operator);
            }
        } else {
            for (n, operator) in task.operators.iter().enumerate() {
                builder.add_operator(task, n as u32, operator);
            }
        }
        let first_goal_row = builder.operator_of.len() as u32;
        let goal = builder.new_fact();
        if let Some(mut atoms) = builder.goal(&task.goal) {
            builder.row(&mut atoms, &[goal], NONE);
        }
        builder.finish(task, first_goal_row, goal)
    }

    /// The rows that a mask switches off.
    pub fn switched_off(&self, off: &Mask) -> Vec<u32> {
        let operators =
            (0..self.labels.len() as u32).filter(|&operator| all_off(&self.labels[operator as usize], off));
        operators.flat_map(|operator| self.rows_of_operator.get(operator)).copied().collect()
    }
}

impl Builder {
    fn new_fact(&mut self) -> u32 {
        self.facts += 1;
        self.facts - 1
    }

    fn atom(&mut self, var: u32, bits: Bits) -> u32 {
        if let Some(&known) = self.atom_numbers.get(&(var, bits)) {
            return known;
        }
        let number = self.atom_facts.len() as u32;
        let base = self.bases[var as usize];
        self.atom_facts.push(bits.iter().map(|n| base + n as u32));
        self.atom_numbers.insert((var, bits), number);
        number
    }

    fn row(&mut self, atoms: &mut Vec<u32>, facts: &[u32], operator: u32) {
        atoms.sort_unstable();
        atoms.dedup();
        self.needed.push(atoms.iter().copied());
        self.given.push(facts.iter().copied());
        self.operator_of.push(operator);
    }

    fn add_operator(&mut self, task: &AbstractTask, number: u32, operator: &crate::task::Operator) {
        type Condition = Option<(u32, Bits)>;
        let mut by_condition: Vec<(Condition, Vec<u32>)> = Vec::new();
        let mut place: FastMap<Condition, usize> = FastMap::default();
        for effect in &operator.effects {
            let at = *place.entry(effect.condition).or_insert_with(|| {
                by_condition.push((effect.condition, Vec::new()));
                by_condition.len() - 1
            });
            let base = self.bases[effect.var as usize];
            by_condition[at].1.extend(effect.values.iter().map(|n| base + n as u32));
        }
        let is_whole = |var: u32, bits: Bits| bits == Bits::below(task.variables[var as usize].values.len());
        let mut own: Vec<Option<u32>> = vec![None; operator.preconditions.len()];
        let mut atoms = Vec::new();
        for (condition, mut facts) in by_condition {
            facts.sort_unstable();
            facts.dedup();
            // One value must meet both a precondition and the condition; a variable of several scalars may use two.
            let joined = condition.and_then(|(var, bits)| {
                let single = task.variables[var as usize].is_single();
                let at = operator.preconditions.iter().position(|(v, _)| single && *v == var)?;
                Some((at, operator.preconditions[at].1.and(&bits)))
            });
            let alone = condition.filter(|_| joined.is_none());
            let impossible = joined.is_some_and(|(_, bits)| bits.is_empty())
                || alone.is_some_and(|(_, bits)| bits.is_empty())
                || operator.preconditions.iter().any(|(_, bits)| bits.is_empty());
            if impossible {
                continue;
            }
            atoms.clear();
            for (n, &(var, bits)) in operator.preconditions.iter().enumerate() {
                match joined {
                    Some((at, both)) if at == n => {
                        if !is_whole(var, both) {
                            atoms.push(self.atom(var, both));
                        }
                    }
                    _ if is_whole(var, bits) => {}
                    _ => atoms.push(*own[n].get_or_insert_with(|| self.atom(var, bits))),
                }
            }
            if let Some((var, bits)) = alone.filter(|&(var, bits)| !is_whole(var, bits)) {
                atoms.push(self.atom(var, bits));
            }
            self.row(&mut atoms, &facts, number);
        }
    }

    /// The atoms that together mean the formula; `None` where it never holds.
    fn goal(&mut self, formula: &Formula) -> Option<Vec<u32>> {
        match formula {
            Formula::True => Some(Vec::new()),
            Formula::False => None,
            Formula::Atom(var, bits) => Some(vec![self.atom(*var, *bits)]),
            Formula::And(parts) => {
                let mut all = Vec::new();
                for part in parts {
                    all.extend(self.goal(part)?);
                }
                all.sort_unstable();
                all.dedup();
                Some(all)
            }
            Formula::Or(parts) => {
                let fact = self.new_fact();
                for part in parts {
                    if let Some(mut atoms) = self.goal(part) {
                        self.row(&mut atoms, &[fact], NONE);
                    }
                }
                self.atom_facts.push([fact]);
                Some(vec![self.atom_facts.len() as u32 - 1])
            }
        }
    }

    fn finish(self, task: &AbstractTask, first_goal_row: u32, goal: u32) -> Network {
        let (facts, atoms, rows) =
            (self.facts as usize, self.atom_facts.len(), self.operator_of.len() as u32);
        let needs: Vec<u32> = (0..rows).map(|n| self.needed.get(n).len() as u32).collect();
        let mut operators = Lists::new();
        self.operator_of
            .iter()
            .for_each(|&operator| operators.push(Some(operator).filter(|&operator| operator != NONE)));
        Network {
            variables: task.variables.clone(),
            bases: self.bases,
            facts,
            atoms,
            links: Links {
                atoms_of_fact: self.atom_facts.inverse(facts),
                rows_of_atom: self.needed.inverse(atoms),
                atoms_of_row: self.needed,
                facts_of_row: self.given,
            },
            free: (0..rows).filter(|&n| needs[n as usize] == 0).collect(),
            needs,
            operator_of: self.operator_of,
            first_goal_row,
            labels: task.operators.iter().map(|operator| operator.labels.clone()).collect(),
            rows_of_operator: operators.inverse(task.operators.len()),
            goal,
        }
    }
}
