//! The formula-based estimate and its relatives: a distance per atom of what is looked for, combined over its structure.
//!
//! * `formula` (Jabbar 2008, sec. 4.7.1): an atom costs 0 where it holds, else 1, or the distance in the control graph where
//!   it is about a process's location; conjunctions add up. `formula:max` takes the greatest instead.
//! * `dl`, `du` (Wehrle 2011, sec. 2.3): distances in local graphs only, greatest or sum. `dl:all`, `du:all` count variables
//!   that are no locations too, by the graphs of their own values. A language without processes has no locations: there
//!   every variable counts.
//! * `control` (Jabbar 2008, sec. 4.7.2): the FSM distance, `du` rounded up to half where a step moves two processes.

use super::graph::Graph;
use super::plus;
use crate::task::{AbstractTask, Bits, Formula};
use hadal_system::System;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use std::collections::HashMap;
use std::sync::Arc;

/// What an atom that no graph is used for costs where it does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Other {
    /// 1.
    One,
    /// 0.
    Nothing,
}

/// Which variables' graphs are used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Graphs {
    /// Locations of processes; all variables where there are none.
    Locations,
    /// All variables.
    All,
}

/// How conjunctions combine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combine {
    /// The greatest.
    Greatest,
    /// The sum.
    Sum,
}

/// Which of the family it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Its name on the command line.
    pub name: &'static str,
    /// Atoms without a graph.
    pub other: Other,
    /// Atoms with one.
    pub graphs: Graphs,
    /// Conjunctions.
    pub combine: Combine,
    /// What the sum is divided by, rounded up: as many variables as one step can change.
    pub divisor: u32,
}

/// An estimate from the structure of the formula.
pub struct FormulaGuide {
    task: Arc<AbstractTask>,
    shape: Shape,
    /// Flattened: every atom in the order of the walk.
    atoms: Vec<Atom>,
    plain: Tables,
}

struct Atom {
    var: u32,
    values: Bits,
    graph: Option<Arc<Graph>>,
}

type Tables = Vec<Option<Vec<Distance>>>;

/// Tables for this many masks are kept by one estimator.
const MAX_MASKS: usize = 4096;

impl FormulaGuide {
    pub fn new(system: &System, task: Arc<AbstractTask>, shape: Shape) -> Self {
        let mut atoms = Vec::new();
        let mut graphs = Graphed::new(system, &task);
        let located = !system.processes.is_empty() && shape.graphs == Graphs::Locations;
        task.goal.each_atom(&mut |var, values| {
            let variable = &task.variables[var as usize];
            let used = match shape.other {
                Other::One => variable.process.is_some(),
                Other::Nothing => variable.process.is_some() || !located,
            };
            let graph = (used && variable.is_single()).then(|| graphs.of(var));
            atoms.push(Atom { var, values: *values, graph });
        });
        let plain = tables(&atoms, None);
        FormulaGuide { task, shape, atoms, plain }
    }
}

/// The graphs of variables, each made once.
struct Graphed<'t> {
    system: &'t System,
    task: &'t AbstractTask,
    /// The operators that write each variable.
    writers: Vec<Vec<u32>>,
    made: HashMap<u32, Arc<Graph>>,
}

impl<'t> Graphed<'t> {
    fn new(system: &'t System, task: &'t AbstractTask) -> Self {
        let mut writers: Vec<Vec<u32>> = vec![Vec::new(); task.variables.len()];
        for (n, operator) in task.operators.iter().enumerate() {
            for effect in &operator.effects {
                let list = &mut writers[effect.var as usize];
                if list.last() != Some(&(n as u32)) {
                    list.push(n as u32);
                }
            }
        }
        Graphed { system, task, writers, made: HashMap::new() }
    }

    fn of(&mut self, var: u32) -> Arc<Graph> {
        let Graphed { system, task, writers, made } = self;
        let operators = || writers[var as usize].iter().map(|&n| &task.operators[n as usize]);
        made.entry(var).or_insert_with(|| Arc::new(Graph::of(system, task, var, operators()))).clone()
    }
}

fn tables(atoms: &[Atom], off: Option<&Mask>) -> Tables {
    atoms.iter().map(|atom| atom.graph.as_ref().map(|graph| graph.distances(&atom.values, off))).collect()
}

impl Guide for FormulaGuide {
    fn name(&self) -> String {
        self.shape.name.into()
    }

    /// A step moves each variable along one edge: the greatest distance falls by at most one, a sum by as many as it
    /// moves. An atom without a way into it in its own graph can never hold. Fewer edges never make a way shorter.
    fn promises(&self) -> Promises {
        let greatest = self.shape.combine == Combine::Greatest;
        Promises { admissible: greatest, consistent: greatest, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(FormulaEstimator { guide: self, masked: HashMap::new() })
    }
}

struct FormulaEstimator<'g> {
    guide: &'g FormulaGuide,
    masked: HashMap<Mask, Tables>,
}

impl Estimator for FormulaEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let guide = self.guide;
        let tables = match off.filter(|off| !off.is_empty()) {
            None => &guide.plain,
            Some(off) => {
                if !self.masked.contains_key(off) {
                    if self.masked.len() == MAX_MASKS {
                        self.masked.clear();
                    }
                    self.masked.insert(off.clone(), self::tables(&guide.atoms, Some(off)));
                }
                // It was just put there.
                self.masked.get(off).unwrap_or(&guide.plain)
            }
        };
        let mut n = 0;
        let sum = guide.walk(&guide.task.goal, state, tables, &mut n);
        if sum.is_finite() { Distance(sum.0.div_ceil(guide.shape.divisor)) } else { sum }
    }
}

impl FormulaGuide {
    fn walk(&self, formula: &Formula, state: &[u64], tables: &Tables, n: &mut usize) -> Distance {
        match formula {
            Formula::True => Distance::ZERO,
            Formula::False => Distance::INFINITE,
            Formula::Atom(..) => {
                let at = *n;
                *n += 1;
                self.atom(&self.atoms[at], &tables[at], state)
            }
            Formula::And(parts) => parts.iter().fold(Distance::ZERO, |sum, part| {
                let value = self.walk(part, state, tables, n);
                match self.shape.combine {
                    Combine::Greatest => sum.max(value),
                    Combine::Sum => plus(sum, value),
                }
            }),
            Formula::Or(parts) => parts
                .iter()
                .fold(Distance::INFINITE, |least, part| least.min(self.walk(part, state, tables, n))),
        }
    }

    fn atom(&self, atom: &Atom, table: &Option<Vec<Distance>>, state: &[u64]) -> Distance {
        let variable = &self.task.variables[atom.var as usize];
        match table {
            Some(table) => table.get(variable.number(state) as usize).copied().unwrap_or(Distance::ZERO),
            None if self.shape.other == Other::One && !variable.has(state, &atom.values) => Distance(1),
            None => Distance::ZERO,
        }
    }
}
