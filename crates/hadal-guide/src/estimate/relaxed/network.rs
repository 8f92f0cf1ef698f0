//! The relaxed task as flat arrays: facts, sets of facts that conditions want one of, and operators.
//!
//! A *fact* is a variable having a value. An *atom* is a set of values of one variable; it is reached with the first of its
//! facts. An *operator* is one row of a way to fire: it needs all its atoms and gives facts. What is looked for becomes
//! operators without cost that lead to one goal fact.

use super::super::graph::all_off;
use super::merge;
use crate::mask::Mask;
use crate::task::{Bits, Formula, Task, Variable};
use std::collections::HashMap;

/// With more effects than this, those that several ways of the same instance share are taken together.
const MANY_EFFECTS: usize = 20_000;

/// No number.
pub const NONE: u32 = u32::MAX;

/// What following a link between facts, atoms and operators counts as: about nanoseconds.
pub const LINK_WORK: u64 = 4;

/// Lists of numbers behind each other.
#[derive(Clone, Debug, Default)]
pub struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    fn of(lists: &[Vec<u32>]) -> Self {
        let mut starts = vec![0];
        let mut items = Vec::new();
        for list in lists {
            items.extend_from_slice(list);
            starts.push(items.len() as u32);
        }
        Lists { starts, items }
    }

    #[inline]
    pub fn get(&self, n: u32) -> &[u32] {
        &self.items[self.starts[n as usize] as usize..self.starts[n as usize + 1] as usize]
    }
}

/// The relaxed task.
#[derive(Debug)]
pub struct Network {
    pub variables: Vec<Variable>,
    /// First fact of each variable, and the number of facts that stand for values.
    pub bases: Vec<u32>,
    pub facts: usize,
    pub atoms: usize,
    pub atoms_of_fact: Lists,
    pub operators_of_atom: Lists,
    pub atoms_of_operator: Lists,
    pub facts_of_operator: Lists,
    /// How many atoms each operator needs.
    pub needs: Vec<u32>,
    /// Operators that need nothing.
    pub free: Vec<u32>,
    /// The way behind each operator; [`NONE`] for what is looked for, which costs nothing.
    pub way_of: Vec<u32>,
    /// Operators from this one on cost nothing.
    pub first_goal_operator: u32,
    pub labels: Vec<Vec<(u32, u32)>>,
    /// Operators of each way.
    operators_of_way: Lists,
    /// The fact looked for.
    pub goal: u32,
}

struct Builder {
    bases: Vec<u32>,
    facts: u32,
    atom_numbers: HashMap<(u32, Bits), u32>,
    atom_facts: Vec<Vec<u32>>,
    operators: Vec<Operator>,
}

/// What it needs, what it gives, the way behind it.
type Operator = (Vec<u32>, Vec<u32>, u32);

impl Network {
    pub fn of(task: &Task) -> Self {
        Network::merging_above(task, MANY_EFFECTS)
    }

    /// What beginning an estimate counts as, in links.
    pub fn setup_work(&self) -> u64 {
        ((self.facts + self.atoms + self.needs.len()) / 8 + self.variables.len()) as u64
    }

    /// Takes shared effects together where there are more than `many`.
    pub fn merging_above(task: &Task, many: usize) -> Self {
        let mut bases = vec![0];
        for variable in &task.variables {
            bases.push(bases[bases.len() - 1] + variable.values.len() as u32);
        }
        let facts = bases[bases.len() - 1];
        let mut builder = Builder {
            bases,
            facts,
            atom_numbers: HashMap::new(),
            atom_facts: Vec::new(),
            operators: Vec::new(),
        };
        let effects: usize = task.ways.iter().map(|way| way.effects.len()).sum();
        if effects > many {
            for (n, way) in merge::merged(task) {
                builder.add_way(task, n, &way);
            }
        } else {
            for (n, way) in task.ways.iter().enumerate() {
                builder.add_way(task, n as u32, way);
            }
        }
        let first_goal_operator = builder.operators.len() as u32;
        let goal = builder.new_fact();
        let root = builder.goal(&task.goal);
        if let Some(atoms) = root {
            builder.operators.push((atoms, vec![goal], NONE));
        }
        builder.finish(task, first_goal_operator, goal)
    }

    /// The operators that a mask switches off.
    pub fn switched_off(&self, off: &Mask) -> Vec<u32> {
        let ways = (0..self.labels.len() as u32).filter(|&way| all_off(&self.labels[way as usize], off));
        ways.flat_map(|way| self.operators_of_way.get(way)).copied().collect()
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
        self.atom_facts.push(bits.iter().map(|n| base + n as u32).collect());
        self.atom_numbers.insert((var, bits), number);
        number
    }

    fn add_way(&mut self, task: &Task, number: u32, way: &crate::task::Way) {
        type Condition = Option<(u32, Bits)>;
        let mut by_condition: Vec<(Condition, Vec<u32>)> = Vec::new();
        let mut place: HashMap<Condition, usize> = HashMap::new();
        for effect in &way.effects {
            let at = *place.entry(effect.condition).or_insert_with(|| {
                by_condition.push((effect.condition, Vec::new()));
                by_condition.len() - 1
            });
            let base = self.bases[effect.var as usize];
            by_condition[at].1.extend(effect.values.iter().map(|n| base + n as u32));
        }
        for (condition, mut facts) in by_condition {
            facts.sort_unstable();
            facts.dedup();
            let mut needed = way.demands.clone();
            if let Some((var, bits)) = condition {
                // One value must meet both; a variable of several scalars may use two.
                let single = task.variables[var as usize].is_single();
                match needed.iter_mut().find(|(v, _)| single && *v == var) {
                    Some((_, demanded)) => *demanded = demanded.and(&bits),
                    None => needed.push((var, bits)),
                }
            }
            if needed.iter().any(|(_, bits)| bits.is_empty()) {
                continue;
            }
            let whole = |var: u32| Bits::below(task.variables[var as usize].values.len());
            needed.retain(|&(var, bits)| bits != whole(var));
            let mut atoms: Vec<u32> = needed.into_iter().map(|(var, bits)| self.atom(var, bits)).collect();
            atoms.sort_unstable();
            atoms.dedup();
            self.operators.push((atoms, facts, number));
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
                    if let Some(atoms) = self.goal(part) {
                        self.operators.push((atoms, vec![fact], NONE));
                    }
                }
                self.atom_facts.push(vec![fact]);
                Some(vec![self.atom_facts.len() as u32 - 1])
            }
        }
    }

    fn finish(self, task: &Task, first_goal_operator: u32, goal: u32) -> Network {
        let facts = self.facts as usize;
        let mut atoms_of_fact = vec![Vec::new(); facts];
        for (atom, list) in self.atom_facts.iter().enumerate() {
            list.iter().for_each(|&fact| atoms_of_fact[fact as usize].push(atom as u32));
        }
        let mut operators_of_atom = vec![Vec::new(); self.atom_facts.len()];
        let mut operators_of_way = vec![Vec::new(); task.ways.len()];
        let (mut atoms_of_operator, mut facts_of_operator) = (Vec::new(), Vec::new());
        let (mut needs, mut way_of, mut free) = (Vec::new(), Vec::new(), Vec::new());
        for (n, (atoms, facts, way)) in self.operators.into_iter().enumerate() {
            atoms.iter().for_each(|&atom| operators_of_atom[atom as usize].push(n as u32));
            if way != NONE {
                operators_of_way[way as usize].push(n as u32);
            }
            if atoms.is_empty() {
                free.push(n as u32);
            }
            needs.push(atoms.len() as u32);
            way_of.push(way);
            atoms_of_operator.push(atoms);
            facts_of_operator.push(facts);
        }
        Network {
            variables: task.variables.clone(),
            bases: self.bases,
            facts,
            atoms: operators_of_atom.len(),
            atoms_of_fact: Lists::of(&atoms_of_fact),
            operators_of_atom: Lists::of(&operators_of_atom),
            atoms_of_operator: Lists::of(&atoms_of_operator),
            facts_of_operator: Lists::of(&facts_of_operator),
            needs,
            free,
            way_of,
            first_goal_operator,
            labels: task.ways.iter().map(|way| way.labels.clone()).collect(),
            operators_of_way: Lists::of(&operators_of_way),
            goal,
        }
    }
}
