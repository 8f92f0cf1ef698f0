//! Pattern databases (Edelkamp 2001; Wehrle 2011, sec. 2.7): true distances in projections to a few variables, looked up.
//!
//! A projection is explored forwards from the projected initial states; distances come from going backwards over the explicit
//! abstract graph. Each alternative of what is looked for has a table of its own, and the least of them counts: a table that
//! lacks the variables of one alternative would know nothing of the others.

use super::causal::arcs;
use super::graph::all_off;
use crate::guide::{Distance, Estimator, Guide, Promises};
use crate::mask::Mask;
use crate::task::{Bits, Formula, NO_NUMBER, Task, Way};
use hadal_exec::Model;
use hadal_system::{StateSpace, Successors};
use std::collections::HashMap;
use std::sync::Arc;

/// Abstract states of all tables together.
const MAX_STATES: u64 = 1 << 22;
/// Edges of one abstract graph.
const MAX_EDGES: usize = 1 << 23;
/// Alternatives that get a table of their own.
const MAX_ALTERNATIVES: usize = 64;
/// Tables for this many masks are kept by one estimator.
const MAX_MASKS: usize = 256;
/// With more edges than this, masks are not looked at: distances without them are lower bounds too.
const MAX_MASKED_EDGES: usize = 1 << 18;

const UNREACHED: u16 = u16::MAX;

/// Distances in projections.
pub struct Patterns {
    name: String,
    task: Arc<Task>,
    /// Outer: the least counts. Inner: the greatest.
    tables: Vec<Vec<Table>>,
}

struct Table {
    /// Variables with the weight of their value in the index.
    vars: Vec<(u32, u32)>,
    goal: Formula,
    distances: Vec<u16>,
    graph: Graph,
}

/// The reachable part of an abstract graph.
struct Graph {
    /// Index of each reachable abstract state.
    states: Vec<u32>,
    /// From and to, as places in `states`, and the way.
    edges: Vec<(u32, u32, u32)>,
}

impl Patterns {
    /// Patterns chosen by what is looked for: its variables, then those that what is in depends on most.
    pub fn automatic(model: &Model, task: Arc<Task>) -> Self {
        let starts = starts(model, &task);
        let alternatives: Vec<Formula> = match &task.goal {
            Formula::Or(parts) if parts.len() <= MAX_ALTERNATIVES => parts.clone(),
            whole => vec![whole.clone()],
        };
        let arcs = arcs(&task);
        let mut budget = MAX_STATES / alternatives.len().max(1) as u64;
        let mut tables = Vec::new();
        for goal in alternatives {
            let table = loop {
                let vars = choose(&task, &goal, &arcs, budget);
                match Table::build(&task, &starts, vars, goal.clone()) {
                    Some(table) => break table,
                    // Too many edges: a smaller projection.
                    None => budget /= 8,
                }
            };
            tables.push(vec![table]);
        }
        Patterns { name: "pdb".into(), task, tables }
    }

    /// Patterns given by the names of their variables: `a,b;c,d`. Their greatest value counts.
    pub fn given(model: &Model, task: Arc<Task>, list: &str) -> Result<Self, String> {
        let starts = starts(model, &task);
        let mut tables = Vec::new();
        for pattern in list.split(';') {
            let mut vars = Vec::new();
            for name in pattern.split(',').map(str::trim) {
                match task.variables.iter().position(|v| v.name == name) {
                    Some(var) if !task.variables[var].is_single() => {
                        return Err(format!("`{name}` is part of a multiset"));
                    }
                    Some(var) if !vars.contains(&(var as u32)) => vars.push(var as u32),
                    Some(_) => {}
                    None if model.system().slots().iter().any(|(slot, _)| slot == name) => {
                        return Err(format!("`{name}` does not matter here, or has too many values"));
                    }
                    None => return Err(format!("no scalar is called `{name}`")),
                }
            }
            if size(&task, &vars) > MAX_STATES {
                return Err(format!("the values of `{pattern}` have more than {MAX_STATES} combinations"));
            }
            let table = Table::build(&task, &starts, vars, task.goal.clone());
            tables.push(table.ok_or_else(|| format!("`{pattern}` has too many transitions"))?);
        }
        Ok(Patterns { name: format!("pdb:{list}"), task, tables: vec![tables] })
    }
}

fn size(task: &Task, vars: &[u32]) -> u64 {
    vars.iter()
        .fold(1u64, |n, &var| n.saturating_mul(task.variables[var as usize].values.len().max(1) as u64))
}

fn choose(
    task: &Task,
    goal: &Formula,
    arcs: &std::collections::BTreeMap<(u32, u32), u32>,
    budget: u64,
) -> Vec<u32> {
    let mut vars: Vec<u32> = Vec::new();
    let fits = |vars: &[u32], var: u32| size(task, vars).saturating_mul(size(task, &[var])) <= budget;
    goal.each_atom(&mut |var, _| {
        if task.variables[var as usize].is_single() && !vars.contains(&var) && fits(&vars, var) {
            vars.push(var);
        }
    });
    loop {
        let candidates = (0..task.variables.len() as u32).filter(|&var| {
            task.variables[var as usize].is_single() && !vars.contains(&var) && fits(&vars, var)
        });
        let weight = |from: u32| -> u64 {
            vars.iter().filter_map(|&to| arcs.get(&(from, to))).map(|&w| u64::from(w)).sum()
        };
        let best = candidates.map(|var| (weight(var), std::cmp::Reverse(var))).max();
        match best {
            Some((weight, std::cmp::Reverse(var))) if weight > 0 => vars.push(var),
            _ => return vars,
        }
    }
}

/// The numbers of all single variables in each initial state.
fn starts(model: &Model, task: &Task) -> Vec<Vec<u16>> {
    let mut out = Successors::new(model.words());
    // Not the model's own worker: with symmetry it would give representatives only.
    model.interpreter().initial(&mut out, &mut vec![0; model.properties().len()]);
    let numbers = |state: &[u64]| {
        task.variables.iter().map(|v| if v.is_single() { v.number(state) } else { 0 }).collect()
    };
    let mut starts: Vec<Vec<u16>> = out.iter().map(|(_, state)| numbers(state)).collect();
    starts.sort_unstable();
    starts.dedup();
    starts
}

impl Table {
    fn build(task: &Task, starts: &[Vec<u16>], list: Vec<u32>, goal: Formula) -> Option<Self> {
        let mut vars = Vec::new();
        let mut weight = 1u32;
        for var in list {
            vars.push((var, weight));
            weight *= task.variables[var as usize].values.len().max(1) as u32;
        }
        let graph = explore(task, starts, &vars, weight)?;
        let mut table = Table { vars, goal, distances: Vec::new(), graph };
        table.distances = table.distances(task, weight as usize, None);
        Some(table)
    }

    fn distances(&self, task: &Task, size: usize, off: Option<&Mask>) -> Vec<u16> {
        let ways: Option<Vec<bool>> =
            off.map(|off| task.ways.iter().map(|way| all_off(&way.labels, off)).collect());
        let states = &self.graph.states;
        let fires = |way: u32| ways.as_ref().is_none_or(|ways| !ways[way as usize]);
        let mut first = vec![0u32; states.len() + 1];
        for &(_, to, way) in &self.graph.edges {
            first[to as usize + 1] += u32::from(fires(way));
        }
        (0..states.len()).for_each(|n| first[n + 1] += first[n]);
        let mut from_of = vec![0u32; first[states.len()] as usize];
        let mut next = first.clone();
        for &(from, to, way) in &self.graph.edges {
            if fires(way) {
                from_of[next[to as usize] as usize] = from;
                next[to as usize] += 1;
            }
        }
        let mut distance = vec![UNREACHED; states.len()];
        let mut wave = Vec::new();
        for (n, &state) in states.iter().enumerate() {
            if self.is_goal(task, &self.goal, state) {
                distance[n] = 0;
                wave.push(n as u32);
            }
        }
        let mut level = 0u16;
        while !wave.is_empty() {
            level = level.saturating_add(1).min(UNREACHED - 1);
            let mut following = Vec::new();
            for node in wave {
                for &from in &from_of[first[node as usize] as usize..first[node as usize + 1] as usize] {
                    if distance[from as usize] == UNREACHED {
                        distance[from as usize] = level;
                        following.push(from);
                    }
                }
            }
            wave = following;
        }
        // What was never met in the projection is not spoken about.
        let mut all = vec![0; size];
        states.iter().zip(distance).for_each(|(&state, distance)| all[state as usize] = distance);
        all
    }

    fn value(&self, task: &Task, state: u32, var: u32) -> Option<u32> {
        let &(_, weight) = self.vars.iter().find(|(v, _)| *v == var)?;
        Some(state / weight % task.variables[var as usize].values.len().max(1) as u32)
    }

    fn is_goal(&self, task: &Task, goal: &Formula, state: u32) -> bool {
        match goal {
            Formula::True => true,
            Formula::False => false,
            Formula::Atom(var, values) => {
                self.value(task, state, *var).is_none_or(|value| values.contains(value as usize))
            }
            Formula::And(parts) => parts.iter().all(|part| self.is_goal(task, part, state)),
            Formula::Or(parts) => parts.iter().any(|part| self.is_goal(task, part, state)),
        }
    }
}

/// A way to fire seen by a pattern.
struct Projected {
    way: u32,
    demands: Vec<(usize, Bits)>,
    effects: Vec<ProjectedEffect>,
}

struct ProjectedEffect {
    /// Which variable of the pattern.
    at: usize,
    /// What must hold of another one.
    condition: Option<(usize, Bits)>,
    values: Bits,
    /// Whether nothing outside the pattern decides if it is written.
    sure: bool,
}

fn project(number: usize, way: &Way, vars: &[(u32, u32)]) -> Option<Projected> {
    let place = |var: u32| vars.iter().position(|(v, _)| *v == var);
    let demands = way.demands.iter().filter_map(|(var, bits)| Some((place(*var)?, *bits))).collect();
    let effects: Vec<ProjectedEffect> = (way.effects.iter())
        .filter_map(|effect| {
            let at = place(effect.var)?;
            let values = effect.values;
            let (condition, sure) = match &effect.condition {
                None => (None, true),
                Some((var, bits)) => match place(*var) {
                    Some(on) => (Some((on, *bits)), true),
                    None => (None, false),
                },
            };
            Some(ProjectedEffect { at, condition, values, sure })
        })
        .collect();
    (!effects.is_empty()).then_some(Projected { way: number as u32, demands, effects })
}

/// Explores a projection from its initial states; `None` where it has too many edges.
fn explore(task: &Task, starts: &[Vec<u16>], vars: &[(u32, u32)], size: u32) -> Option<Graph> {
    let ways: Vec<Projected> =
        task.ways.iter().enumerate().filter_map(|(n, way)| project(n, way, vars)).collect();
    let mut number = vec![u32::MAX; size as usize];
    let mut graph = Graph { states: Vec::new(), edges: Vec::new() };
    let mut meet = |graph: &mut Graph, index: u32| {
        if number[index as usize] == u32::MAX {
            number[index as usize] = graph.states.len() as u32;
            graph.states.push(index);
        }
        number[index as usize]
    };
    for start in starts {
        let index = vars.iter().map(|&(var, weight)| u32::from(start[var as usize]) * weight).sum();
        meet(&mut graph, index);
    }
    let sizes: Vec<u32> =
        vars.iter().map(|&(var, _)| task.variables[var as usize].values.len().max(1) as u32).collect();
    let mut values = vec![0usize; vars.len()];
    let mut after: Vec<Bits> = vec![Bits::default(); vars.len()];
    let mut at = 0;
    while at < graph.states.len() {
        let state = graph.states[at];
        for (n, &(_, weight)) in vars.iter().enumerate() {
            values[n] = (state / weight % sizes[n]) as usize;
        }
        for way in &ways {
            if !way.demands.iter().all(|(n, bits)| bits.contains(values[*n])) {
                continue;
            }
            (0..vars.len()).for_each(|n| after[n] = Bits::one(values[n]));
            for effect in &way.effects {
                match effect.condition {
                    Some((on, bits)) if !bits.contains(values[on]) => {}
                    _ if effect.sure => after[effect.at] = effect.values,
                    _ => after[effect.at] = after[effect.at].or(&effect.values),
                }
            }
            let mut reached = vec![0u32];
            for (n, &(_, weight)) in vars.iter().enumerate() {
                let parts = after[n]
                    .iter()
                    .flat_map(|value| reached.iter().map(move |index| index + value as u32 * weight));
                reached = parts.collect();
                if reached.len() + graph.edges.len() > MAX_EDGES {
                    return None;
                }
            }
            for index in reached.into_iter().filter(|&index| index != state) {
                let to = meet(&mut graph, index);
                graph.edges.push((at as u32, to, way.way));
            }
        }
        at += 1;
    }
    Some(graph)
}

impl Guide for Patterns {
    fn name(&self) -> String {
        self.name.clone()
    }

    /// Every transition of the model is an edge of the projection or leaves it where it is.
    fn promises(&self) -> Promises {
        Promises { admissible: true, consistent: true, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(PatternEstimator { guide: self, masked: HashMap::new() })
    }
}

struct PatternEstimator<'g> {
    guide: &'g Patterns,
    /// Tables by mask, in the order of the guide's; empty where the mask is not looked at.
    masked: HashMap<Mask, Vec<Vec<u16>>>,
}

impl Estimator for PatternEstimator<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        let guide = self.guide;
        let masked: Option<&Vec<Vec<u16>>> = match off.filter(|off| !off.is_empty()) {
            None => None,
            Some(off) => {
                if !self.masked.contains_key(off) {
                    if self.masked.len() == MAX_MASKS {
                        self.masked.clear();
                    }
                    let tables = guide.tables.iter().flatten().map(|table| {
                        if table.graph.edges.len() > MAX_MASKED_EDGES {
                            return Vec::new();
                        }
                        table.distances(&guide.task, table.distances.len(), Some(off))
                    });
                    self.masked.insert(off.clone(), tables.collect());
                }
                self.masked.get(off)
            }
        };
        let mut n = 0;
        let mut least = Distance::INFINITE;
        for alternative in &guide.tables {
            let mut greatest = Distance::ZERO;
            for table in alternative {
                let distances = match masked.map(|tables| &tables[n]) {
                    Some(own) if !own.is_empty() => own,
                    _ => &table.distances,
                };
                greatest = greatest.max(look_up(&guide.task, table, distances, state));
                n += 1;
            }
            least = least.min(greatest);
        }
        least
    }
}

fn look_up(task: &Task, table: &Table, distances: &[u16], state: &[u64]) -> Distance {
    let mut index = 0;
    for &(var, weight) in &table.vars {
        let number = task.variables[var as usize].number(state);
        if number == NO_NUMBER {
            return Distance::ZERO;
        }
        index += u32::from(number) * weight;
    }
    match distances[index as usize] {
        UNREACHED => Distance::INFINITE,
        distance => Distance(u32::from(distance)),
    }
}
