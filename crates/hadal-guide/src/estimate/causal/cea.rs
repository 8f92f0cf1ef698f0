//! The context-enhanced additive heuristic h^cea (Helmert and Geffner 2008; Wehrle 2011, sec. 2.6): as h^add, but what a step
//! needs is paid for from where the other variables were left when its source was reached. No order of variables is needed.
//!
//! A *problem* is one variable starting from one value. All problems are searched together, cheapest value first; a step
//! waits in the problems of its conditions.

use super::clauses::clauses;
use super::present::Present;
use super::transitions::{Afters, Transitions};
use super::unmet;
use crate::task::{AbstractTask, Bits};
use hadal_system::Label;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator};
use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

/// Steps of all problems together.
const MAX_STEPS: usize = 4_000_000;
const UNREACHED: u32 = u32::MAX;
/// The problem of reaching what is looked for.
const GOAL: u32 = u32::MAX;

/// What does not change between states.
pub struct Plan {
    transitions: Transitions,
    afters: Afters,
    /// The variables that the steps of a variable need or change.
    contexts: Vec<Vec<u32>>,
    /// First problem of each variable: one per value.
    rows: Vec<u32>,
    clauses: Vec<Vec<(u32, Bits)>>,
}

impl Plan {
    pub fn of(task: &AbstractTask) -> Option<Self> {
        let transitions = Transitions::of(task)?;
        let mut contexts = Vec::new();
        let mut rows = vec![0];
        let mut steps = 0;
        for (var, variable) in task.variables.iter().enumerate() {
            let own = transitions.of_variable(var as u32);
            let mut context = BTreeSet::new();
            for transition in own {
                context.extend(transitions.conditions(transition).iter().map(|c| c.var));
            }
            contexts.push(context.into_iter().collect());
            rows.push(rows[var] + variable.values.len() as u32);
            steps += own.len() * variable.values.len();
        }
        if steps > MAX_STEPS {
            return None;
        }
        let clauses = clauses(task, &task.goal).unwrap_or_else(|| vec![Vec::new()]);
        Some(Plan { afters: Afters::of(task), transitions, contexts, rows, clauses })
    }
}

#[derive(Clone, Default)]
struct Node {
    cost: u32,
    expanded: bool,
    reached_by: u32,
    /// The first step on the way here.
    first: u32,
    context: Vec<u16>,
}

#[derive(Clone, Default)]
struct Step {
    cost: u32,
    waits: u32,
    /// The value at which each condition was met.
    met: Vec<u16>,
}

#[derive(Default)]
struct Problem {
    stamp: u32,
    base: u32,
    nodes: Vec<Node>,
    steps: Vec<Step>,
    waiting: Vec<Waiter>,
}

#[derive(Clone, Copy)]
struct Waiter {
    problem: u32,
    step: u32,
    condition: u32,
    values: Bits,
}

pub struct ContextEnhanced<'g> {
    task: &'g AbstractTask,
    plan: &'g Plan,
    present: Present,
    problems: Vec<Problem>,
    goal: Vec<Step>,
    heap: BinaryHeap<Reverse<(u32, u32, u16)>>,
    /// Cost and clause of what is looked for, once known.
    found: Option<(u32, u32)>,
}

impl<'g> ContextEnhanced<'g> {
    pub fn new(task: &'g AbstractTask, plan: &'g Plan) -> Self {
        let count = plan.rows[plan.rows.len() - 1] as usize;
        ContextEnhanced {
            task,
            plan,
            present: Present::new(task),
            problems: (0..count).map(|_| Problem::default()).collect(),
            goal: vec![Step::default(); plan.clauses.len()],
            heap: BinaryHeap::new(),
            found: None,
        }
    }

    fn var_of(&self, problem: u32) -> u32 {
        self.plan.rows.partition_point(|&first| first <= problem) as u32 - 1
    }

    /// The problem of a variable from a value, set up where it is new.
    fn problem(&mut self, var: u32, from: u16, base: u32) -> u32 {
        let plan = self.plan;
        let number = plan.rows[var as usize] + u32::from(from);
        let problem = &mut self.problems[number as usize];
        if problem.stamp == self.present.stamp {
            return number;
        }
        problem.stamp = self.present.stamp;
        problem.base = base;
        problem.waiting.clear();
        let own = plan.transitions.of_variable(var);
        if problem.nodes.is_empty() {
            problem.nodes = vec![Node::default(); self.task.variables[var as usize].values.len()];
            problem.steps = own
                .iter()
                .map(|t| Step { met: vec![0; plan.transitions.conditions(t).len()], ..Step::default() })
                .collect();
        }
        for node in &mut problem.nodes {
            node.cost = UNREACHED;
            node.expanded = false;
            node.reached_by = UNREACHED;
            node.first = UNREACHED;
        }
        let start = &mut problem.nodes[from as usize];
        start.cost = 0;
        start.context.clear();
        start.context.extend(plan.contexts[var as usize].iter().map(|&q| self.present.values[q as usize]));
        self.heap.push(Reverse((base, number, from)));
        number
    }

    fn search(&mut self) {
        self.found = None;
        self.heap.clear();
        for clause in 0..self.plan.clauses.len() as u32 {
            self.try_clause(clause);
        }
        while let Some(Reverse((priority, problem, value))) = self.heap.pop() {
            if self.present.is_over() || self.found.is_some_and(|(cost, _)| cost <= priority) {
                return;
            }
            let p = &self.problems[problem as usize];
            let node = &p.nodes[value as usize];
            if node.expanded || node.cost.saturating_add(p.base) != priority {
                continue;
            }
            self.expand(problem, value);
        }
    }

    fn expand(&mut self, problem: u32, value: u16) {
        let plan = self.plan;
        let var = self.var_of(problem);
        self.inherit_context(problem, var, value);
        let own = &mut self.problems[problem as usize];
        own.nodes[value as usize].expanded = true;
        let cost = own.nodes[value as usize].cost;
        // Those that waited for this value go on.
        let mut waiting = std::mem::take(&mut own.waiting);
        let mut kept = 0;
        for n in 0..waiting.len() {
            let waiter = waiting[n];
            if waiter.values.contains(value as usize) {
                self.met(waiter, value, cost);
            } else {
                waiting[kept] = waiter;
                kept += 1;
            }
        }
        waiting.truncate(kept);
        let own = &mut self.problems[problem as usize];
        // Nobody starts to wait here while others are told.
        own.waiting.append(&mut waiting);
        let first = plan.transitions.first(var);
        for n in plan.transitions.out_of(var, value as usize) {
            self.present.looked_at += 1;
            if !self.present.is_off(plan.transitions.get(n).operator) {
                self.try_step(problem, var, n - first);
            }
        }
    }

    /// The context of a value: that of where it was reached from, after the step.
    fn inherit_context(&mut self, problem: u32, var: u32, value: u16) {
        let plan = self.plan;
        let own = &mut self.problems[problem as usize];
        let step = own.nodes[value as usize].reached_by;
        if step == UNREACHED {
            return;
        }
        let transition = plan.transitions.get(plan.transitions.first(var) + step);
        let mut context = std::mem::take(&mut own.nodes[value as usize].context);
        let parent = &own.nodes[transition.from as usize];
        context.clone_from(&parent.context);
        let first = if parent.first == UNREACHED { step } else { parent.first };
        let variables = &plan.contexts[var as usize];
        for (condition, &met) in
            plan.transitions.conditions(transition).iter().zip(&own.steps[step as usize].met)
        {
            if let Ok(at) = variables.binary_search(&condition.var) {
                context[at] = met;
            }
        }
        plan.afters.apply(transition.operator, variables, &mut context);
        own.nodes[value as usize].context = context;
        own.nodes[value as usize].first = first;
    }

    /// Looks at a step whose source has just been settled.
    fn try_step(&mut self, problem: u32, var: u32, step: u32) {
        let plan = self.plan;
        let transition = plan.transitions.get(plan.transitions.first(var) + step);
        let own = &mut self.problems[problem as usize];
        let source = &own.nodes[transition.from as usize];
        let cost = source.cost.saturating_add(1);
        if own.nodes[transition.to as usize].cost <= cost {
            return;
        }
        let base = source.cost.saturating_add(own.base);
        own.steps[step as usize].cost = cost;
        own.steps[step as usize].waits = 0;
        for (n, condition) in plan.transitions.conditions(transition).iter().enumerate() {
            let own = &self.problems[problem as usize];
            let at = plan.contexts[var as usize].binary_search(&condition.var).unwrap_or(0);
            let current = own.nodes[transition.from as usize].context[at];
            let waiter = Waiter { problem, step, condition: n as u32, values: condition.values };
            self.require(waiter, condition.var, current, base);
        }
        self.try_to_fire(problem, step);
    }

    fn try_clause(&mut self, clause: u32) {
        let plan = self.plan;
        let conditions = &plan.clauses[clause as usize];
        let step = &mut self.goal[clause as usize];
        step.cost = 0;
        step.waits = 0;
        step.met.clear();
        step.met.resize(conditions.len(), 0);
        for (n, &(var, values)) in conditions.iter().enumerate() {
            let waiter = Waiter { problem: GOAL, step: clause, condition: n as u32, values };
            self.require(waiter, var, self.present.values[var as usize], 0);
        }
        self.try_to_fire(GOAL, clause);
    }

    /// Makes a step wait for a condition, or adds what it costs where that is known.
    fn require(&mut self, waiter: Waiter, var: u32, current: u16, base: u32) {
        if waiter.values.contains(current as usize) {
            self.step_of(&waiter).met[waiter.condition as usize] = current;
            return;
        }
        let problem = self.problem(var, current, base);
        let nodes = &self.problems[problem as usize].nodes;
        let reached = waiter.values.iter().filter(|&v| nodes[v].expanded).min_by_key(|&v| nodes[v].cost);
        match reached {
            Some(value) => {
                let cost = nodes[value].cost;
                let step = self.step_of(&waiter);
                step.met[waiter.condition as usize] = value as u16;
                step.cost = step.cost.saturating_add(cost);
            }
            None => {
                self.step_of(&waiter).waits += 1;
                self.problems[problem as usize].waiting.push(waiter);
            }
        }
    }

    fn step_of(&mut self, waiter: &Waiter) -> &mut Step {
        match waiter.problem {
            GOAL => &mut self.goal[waiter.step as usize],
            problem => &mut self.problems[problem as usize].steps[waiter.step as usize],
        }
    }

    fn met(&mut self, waiter: Waiter, value: u16, cost: u32) {
        let step = self.step_of(&waiter);
        step.met[waiter.condition as usize] = value;
        step.cost = step.cost.saturating_add(cost);
        step.waits -= 1;
        self.try_to_fire(waiter.problem, waiter.step);
    }

    fn try_to_fire(&mut self, problem: u32, step: u32) {
        if problem == GOAL {
            let clause = &self.goal[step as usize];
            if clause.waits == 0 && self.found.is_none_or(|(cost, _)| clause.cost < cost) {
                self.found = Some((clause.cost.min(UNREACHED - 1), step));
            }
            return;
        }
        let var = self.var_of(problem);
        let plan = self.plan;
        let to = plan.transitions.get(plan.transitions.first(var) + step).to;
        let own = &mut self.problems[problem as usize];
        let cost = own.steps[step as usize].cost.min(UNREACHED - 1);
        let target = &mut own.nodes[to as usize];
        if own.steps[step as usize].waits == 0 && !target.expanded && cost < target.cost {
            target.cost = cost;
            target.reached_by = step;
            let priority = cost.saturating_add(own.base).min(UNREACHED - 1);
            // Popped only where this is still its priority.
            own.nodes[to as usize].cost = priority - own.base;
            self.heap.push(Reverse((priority, problem, to)));
        }
    }

    /// Notes the steps that the way of a variable from the state to a value begins with.
    fn prefer(&mut self, var: u32, to: u16, depth: usize) {
        let from = self.present.values[var as usize];
        if from == to || depth > self.task.variables.len() {
            return;
        }
        let plan = self.plan;
        let own = &self.problems[(plan.rows[var as usize] + u32::from(from)) as usize];
        if own.stamp != self.present.stamp || !own.nodes[to as usize].expanded {
            return;
        }
        let step = own.nodes[to as usize].first;
        if step == UNREACHED {
            return;
        }
        let transition = plan.transitions.get(plan.transitions.first(var) + step);
        let met = own.steps[step as usize].met.clone();
        let mut now = true;
        for (condition, met) in plan.transitions.conditions(transition).iter().zip(met) {
            if self.present.values[condition.var as usize] != met {
                now = false;
                self.prefer(condition.var, met, depth + 1);
            }
        }
        if now {
            self.present.prefer(&self.task.operators[transition.operator as usize]);
        }
    }
}

impl Estimator for ContextEnhanced<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        if self.present.begin(self.task, state, off) {
            self.problems.iter_mut().for_each(|problem| problem.stamp = 0);
        }
        self.search();
        if self.present.is_over() {
            return unmet(self.task, &self.task.goal, state);
        }
        let Some((cost, clause)) = self.found else { return Distance::INFINITE };
        let plan = self.plan;
        for (n, &(var, _)) in plan.clauses[clause as usize].iter().enumerate() {
            let to = self.goal[clause as usize].met[n];
            self.prefer(var, to, 0);
        }
        Distance(cost)
    }

    fn work(&self) -> u64 {
        self.present.work()
    }

    fn preferred(&self) -> &[Label] {
        self.present.preferred()
    }
}
