//! LM-cut (Helmert and Domshlak 2009): disjunctive action landmarks, found as cuts in the justification graph of h^max, each
//! counted by its cheapest row, whose cost it uses up.
//!
//! Conditional effects are operators of one row and share its cost, so a cut lowers all of them: every landmark is a set of
//! rows of which each plan has one, and no cost is counted twice (Keyder, Hoffmann and Haslum 2012 discuss the splitting).
//! Rules and monitors cost nothing. Admissible and safe; not consistent.

use super::additive::{INFINITE, add};
use super::queue::Queue;
use super::relaxed::{NO_ROW, Relaxed};
use hadal_exec::rows::RowWorker;
use hadal_system::Label;
use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};

/// LM-cut of a ground task.
pub struct LmCut<'s> {
    task: Relaxed<'s>,
    /// The operators of each row.
    by_row: Vec<Vec<u32>>,
    graph: Graph,
}

/// The task with one goal fact, behind an operator that needs the goal, and one fact that everything may need.
struct Graph {
    goal: u32,
    operators: usize,
    needs: Vec<u32>,
    need_begins: Vec<u32>,
    adds: Vec<u32>,
    add_begins: Vec<u32>,
    needed_by: Vec<u32>,
    needed_begins: Vec<u32>,
    added_by: Vec<u32>,
    added_begins: Vec<u32>,
}

impl<'s> LmCut<'s> {
    /// Of this relaxed task.
    pub fn new(task: Relaxed<'s>) -> Self {
        let mut by_row = vec![Vec::new(); task.row_costs.len()];
        for (operator, &row) in task.rows.iter().enumerate() {
            if row != NO_ROW {
                by_row[row as usize].push(operator as u32);
            }
        }
        let graph = Graph::new(&task);
        LmCut { task, by_row, graph }
    }

    /// Something that estimates, for callers that know what they have.
    pub fn cuts(&self) -> Cuts<'_> {
        Cuts::new(self)
    }
}

impl Guide for LmCut<'_> {
    fn name(&self) -> String {
        "lmcut".to_owned()
    }

    fn promises(&self) -> Promises {
        Promises { admissible: true, consistent: false, safe: true, monotone: false }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(self.cuts())
    }
}

impl Graph {
    fn new(task: &Relaxed) -> Self {
        let facts = task.facts();
        let (always, goal) = (facts as u32, facts as u32 + 1);
        let count = task.operators();
        let mut needs: Vec<Vec<u32>> = Vec::with_capacity(count + 1);
        let mut adds: Vec<Vec<u32>> = Vec::with_capacity(count + 1);
        for operator in 0..count as u32 {
            let own = task.needs.get(operator);
            needs.push(if own.is_empty() { vec![always] } else { own.to_vec() });
            adds.push(task.adds.get(operator).to_vec());
        }
        needs.push(if task.goal.is_empty() { vec![always] } else { task.goal.clone() });
        adds.push(vec![goal]);
        let (needed_begins, needed_by) = turned(&needs, facts + 2);
        let (added_begins, added_by) = turned(&adds, facts + 2);
        let (need_begins, needs) = flat(&needs);
        let (add_begins, adds) = flat(&adds);
        Graph {
            goal,
            operators: count + 1,
            needs,
            need_begins,
            adds,
            add_begins,
            needed_by,
            needed_begins,
            added_by,
            added_begins,
        }
    }

    #[inline]
    fn needs(&self, operator: u32) -> &[u32] {
        slice(&self.needs, &self.need_begins, operator)
    }

    #[inline]
    fn adds(&self, operator: u32) -> &[u32] {
        slice(&self.adds, &self.add_begins, operator)
    }

    #[inline]
    fn needed_by(&self, fact: u32) -> &[u32] {
        slice(&self.needed_by, &self.needed_begins, fact)
    }

    #[inline]
    fn added_by(&self, fact: u32) -> &[u32] {
        slice(&self.added_by, &self.added_begins, fact)
    }
}

#[inline]
fn slice<'a>(flat: &'a [u32], begins: &[u32], at: u32) -> &'a [u32] {
    &flat[begins[at as usize] as usize..begins[at as usize + 1] as usize]
}

fn flat(lists: &[Vec<u32>]) -> (Vec<u32>, Vec<u32>) {
    let (mut begins, mut flat) = (vec![0], Vec::new());
    for list in lists {
        flat.extend_from_slice(list);
        begins.push(flat.len() as u32);
    }
    (begins, flat)
}

fn turned(lists: &[Vec<u32>], count: usize) -> (Vec<u32>, Vec<u32>) {
    let mut turned: Vec<Vec<u32>> = vec![Vec::new(); count];
    for (list, members) in lists.iter().enumerate() {
        members.iter().for_each(|&member| turned[member as usize].push(list as u32));
    }
    flat(&turned)
}

/// What is known of an operator during an estimate.
#[derive(Clone, Copy)]
struct State {
    cost: u32,
    /// Facts it still waits for.
    unmet: u32,
    /// The dearest fact it needs, and what that costs.
    supporter: u32,
    supporter_cost: u32,
}

/// Where a fact lies, as seen from a cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    Unknown,
    /// From here the goal is reached for nothing.
    Goal,
    /// Reached before the cut.
    Before,
}

/// Computes LM-cut. Nothing is allocated per estimate.
pub struct Cuts<'g> {
    guide: &'g LmCut<'g>,
    worker: RowWorker<'g>,
    queue: Queue,
    facts: Vec<u32>,
    fresh: Vec<State>,
    operators: Vec<State>,
    zones: Vec<Zone>,
    start: Vec<u32>,
    stack: Vec<u32>,
    touched: Vec<u32>,
    cut: Vec<u32>,
    /// The landmarks of the last estimate: what each counts, and its rows, one after the other.
    landmarks: Vec<Found>,
    rows: Vec<u32>,
    /// Those of the state whose successors are estimated.
    parent: Vec<Found>,
    parent_rows: Vec<u32>,
    /// Operators looked at, of all estimates.
    looked_at: u64,
}

/// A landmark: what it counts, and where its rows stand.
#[derive(Clone, Copy)]
struct Found {
    counts: u32,
    rows: (u32, u32),
}

impl<'g> Cuts<'g> {
    fn new(guide: &'g LmCut<'g>) -> Self {
        let graph = &guide.graph;
        let fresh: Vec<State> = (0..graph.operators as u32)
            .map(|at| State {
                cost: guide.task.costs.get(at as usize).copied().unwrap_or(0),
                unmet: graph.needs(at).len() as u32,
                supporter: u32::MAX,
                supporter_cost: INFINITE,
            })
            .collect();
        Cuts {
            guide,
            worker: guide.task.space().row_worker(),
            queue: Queue::default(),
            facts: vec![INFINITE; graph.goal as usize + 1],
            operators: fresh.clone(),
            fresh,
            zones: vec![Zone::Unknown; graph.goal as usize + 1],
            start: Vec::new(),
            stack: Vec::new(),
            touched: Vec::new(),
            cut: Vec::new(),
            landmarks: Vec::new(),
            rows: Vec::new(),
            parent: Vec::new(),
            parent_rows: Vec::new(),
            looked_at: 0,
        }
    }

    /// The sum of the landmarks of `state`, without the rows in `off`.
    pub fn cost(&mut self, state: &[u64], off: Option<&Mask>) -> u32 {
        self.begin(off);
        self.explore(state);
        self.sum_up(0)
    }

    /// Takes the landmarks of the last estimate for those of a state whose successors are estimated next.
    pub fn keep(&mut self) {
        std::mem::swap(&mut self.landmarks, &mut self.parent);
        std::mem::swap(&mut self.rows, &mut self.parent_rows);
    }

    /// The sum of the landmarks of a state that `row` leads to from the one whose landmarks were kept. Landmarks without
    /// that row are landmarks here, too, and are not looked for again (Pommerening and Helmert 2013).
    pub fn cost_after(&mut self, state: &[u64], row: u32) -> u32 {
        self.begin(None);
        let mut total = 0;
        for at in 0..self.parent.len() {
            let Found { counts, rows } = self.parent[at];
            let held = &self.parent_rows[rows.0 as usize..rows.1 as usize];
            if held.binary_search(&row).is_ok() {
                continue;
            }
            total = add(total, counts);
            for &row in held {
                for &operator in &self.guide.by_row[row as usize] {
                    self.operators[operator as usize].cost -= counts;
                }
            }
        }
        self.explore(state);
        self.sum_up(total)
    }

    /// Finds cuts until the goal is reached for nothing.
    fn sum_up(&mut self, mut total: u32) -> u32 {
        let goal = self.guide.graph.goal;
        self.landmarks.clear();
        self.rows.clear();
        if self.facts[goal as usize] == INFINITE {
            return INFINITE;
        }
        while self.facts[goal as usize] != 0 {
            self.mark_goal_zone();
            self.find_cut();
            let cheapest = self.cut.iter().map(|&at| self.operators[at as usize].cost).min().unwrap_or(0);
            total = add(total, cheapest);
            self.lower(cheapest);
            for &fact in &self.touched {
                self.zones[fact as usize] = Zone::Unknown;
            }
            self.touched.clear();
            self.explore_on();
        }
        total
    }

    /// Full costs again, and without some rows.
    fn begin(&mut self, off: Option<&Mask>) {
        self.operators.copy_from_slice(&self.fresh);
        self.looked_at += self.fresh.len() as u64 / 8;
        for label in off.into_iter().flat_map(Mask::iter) {
            // One fact more than it has: it never fires.
            for &operator in self.guide.by_row.get(label.0 as usize).into_iter().flatten() {
                self.operators[operator as usize].unmet += 1;
            }
        }
    }

    /// h^max from a state.
    fn explore(&mut self, state: &[u64]) {
        let guide = self.guide;
        let graph = &guide.graph;
        self.facts.fill(INFINITE);
        self.queue.clear();
        self.start.clear();
        let start = &mut self.start;
        start.push(guide.task.facts() as u32);
        guide.task.facts_of(state, &mut self.worker, |fact| start.push(fact));
        for &fact in &self.start {
            self.facts[fact as usize] = 0;
            self.queue.push(0, fact);
        }
        while let Some((distance, fact)) = self.queue.pop() {
            if self.facts[fact as usize] != distance {
                continue;
            }
            self.looked_at += graph.needed_by(fact).len() as u64;
            for &operator in graph.needed_by(fact) {
                let it = &mut self.operators[operator as usize];
                it.unmet -= 1;
                if it.unmet > 0 {
                    continue;
                }
                (it.supporter, it.supporter_cost) = (fact, distance);
                let cost = add(distance, it.cost);
                for &add in graph.adds(operator) {
                    if cost < self.facts[add as usize] {
                        self.facts[add as usize] = cost;
                        self.queue.push(cost, add);
                    }
                }
            }
        }
    }

    /// Marks the facts from which the goal is reached for nothing along dearest facts.
    fn mark_goal_zone(&mut self) {
        let graph = &self.guide.graph;
        self.stack.clear();
        self.stack.push(graph.goal);
        self.zones[graph.goal as usize] = Zone::Goal;
        self.touched.push(graph.goal);
        while let Some(fact) = self.stack.pop() {
            for &operator in graph.added_by(fact) {
                let it = &self.operators[operator as usize];
                if it.cost == 0 && it.supporter != u32::MAX {
                    let zone = &mut self.zones[it.supporter as usize];
                    if *zone == Zone::Unknown {
                        *zone = Zone::Goal;
                        self.touched.push(it.supporter);
                        self.stack.push(it.supporter);
                    }
                }
            }
        }
    }

    /// Collects the operators that lead into the goal zone from what is reached before it.
    fn find_cut(&mut self) {
        let graph = &self.guide.graph;
        self.cut.clear();
        self.stack.clear();
        for &fact in &self.start {
            self.zones[fact as usize] = Zone::Before;
            self.touched.push(fact);
            self.stack.push(fact);
        }
        while let Some(fact) = self.stack.pop() {
            self.looked_at += graph.needed_by(fact).len() as u64;
            for &operator in graph.needed_by(fact) {
                if self.operators[operator as usize].supporter != fact {
                    continue;
                }
                let adds = graph.adds(operator);
                if adds.iter().any(|&add| self.zones[add as usize] == Zone::Goal) {
                    self.cut.push(operator);
                    continue;
                }
                for &add in adds {
                    if self.zones[add as usize] == Zone::Unknown {
                        self.zones[add as usize] = Zone::Before;
                        self.touched.push(add);
                        self.stack.push(add);
                    }
                }
            }
        }
    }

    /// Uses up the cost of a landmark in the rows of the cut.
    fn lower(&mut self, by: u32) {
        let guide = self.guide;
        let from = self.rows.len();
        // Operators of one row may all be in the cut.
        self.rows.extend(self.cut.iter().map(|&operator| guide.task.rows[operator as usize]));
        self.rows[from..].sort_unstable();
        let mut kept = from;
        for at in from..self.rows.len() {
            if at == from || self.rows[at] != self.rows[kept - 1] {
                self.rows[kept] = self.rows[at];
                kept += 1;
            }
        }
        self.rows.truncate(kept);
        self.landmarks.push(Found { counts: by, rows: (from as u32, kept as u32) });
        self.queue.clear();
        for &row in &self.rows[from..] {
            for &operator in &guide.by_row[row as usize] {
                let it = &mut self.operators[operator as usize];
                it.cost -= by;
                if it.supporter == u32::MAX {
                    continue;
                }
                let cost = add(it.supporter_cost, it.cost);
                for &add in guide.graph.adds(operator) {
                    if cost < self.facts[add as usize] {
                        self.facts[add as usize] = cost;
                        self.queue.push(cost, add);
                    }
                }
            }
        }
    }

    /// Brings h^max up to date after costs fell.
    fn explore_on(&mut self) {
        let graph = &self.guide.graph;
        while let Some((distance, fact)) = self.queue.pop() {
            if self.facts[fact as usize] != distance {
                continue;
            }
            for &operator in graph.needed_by(fact) {
                let it = &mut self.operators[operator as usize];
                if it.supporter != fact || it.supporter_cost <= distance {
                    continue;
                }
                let before = it.supporter_cost;
                for &need in graph.needs(operator) {
                    let cost = self.facts[need as usize];
                    if need == graph.needs(operator)[0] || cost > it.supporter_cost {
                        (it.supporter, it.supporter_cost) = (need, cost);
                    }
                }
                if it.supporter_cost == before {
                    continue;
                }
                let cost = add(it.supporter_cost, it.cost);
                for &add in graph.adds(operator) {
                    if cost < self.facts[add as usize] {
                        self.facts[add as usize] = cost;
                        self.queue.push(cost, add);
                    }
                }
            }
        }
    }
}

impl Estimator for Cuts<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        Distance(self.cost(state, off))
    }

    fn work(&self) -> u64 {
        self.looked_at * 3
    }

    fn preferred(&self) -> &[Label] {
        &[]
    }
}
