//! h^max, h^add and h^FF over rows: the cost of facts in the delete relaxation by a generalised Dijkstra search (Bonet and
//! Geffner 2001; Liu, Koenig and Furcy 2002), and the cost of a relaxed plan along best supporters (Hoffmann and Nebel
//! 2001; Keyder and Geffner 2008 for supporters by h^add).
//!
//! h^max is admissible, consistent and safe; h^add and h^FF are safe. Comparisons of numbers count one row as often as it
//! takes to make them true (the repetitions of Scala, Haslum and Thiebaux 2016); for h^max, what it costs at least however
//! rows share in it. Relaxed plans of tasks whose rows use up numbers count what they use.

use super::floors::Floors;
use super::intervals::Intervals;
use super::queue::Queue;
use super::relaxed::{NO_ROW, Relaxed};
use super::resources::Stock;
use hadal_exec::rows::RowWorker;
use hadal_system::Label;
use hadal_system::guide::{Distance, Estimator, Guide, Mask, Promises};

/// Not reached.
pub(super) const INFINITE: u32 = u32::MAX;
/// The largest finite cost.
pub(super) const LARGEST: u32 = u32::MAX - 1;

/// Which of the three.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relaxation {
    /// The dearest fact.
    Max,
    /// The sum over facts.
    Add,
    /// The relaxed plan.
    Plan,
}

/// h^max, h^add or h^FF of a ground task.
pub struct RelaxedGuide<'s> {
    task: Relaxed<'s>,
    kind: Relaxation,
}

impl<'s> RelaxedGuide<'s> {
    /// Of this relaxed task.
    pub fn new(task: Relaxed<'s>, kind: Relaxation) -> Self {
        RelaxedGuide { task, kind }
    }

    /// Something that estimates, for callers that know what they have.
    pub fn exploration(&self) -> Exploration<'_> {
        Exploration::new(&self.task, self.kind)
    }

    /// The relaxed task.
    pub fn task(&self) -> &Relaxed<'s> {
        &self.task
    }
}

impl Guide for RelaxedGuide<'_> {
    fn name(&self) -> String {
        match self.kind {
            Relaxation::Max => "hmax",
            Relaxation::Add => "hadd",
            Relaxation::Plan => "hff",
        }
        .to_owned()
    }

    fn promises(&self) -> Promises {
        let exact = self.kind == Relaxation::Max;
        Promises { admissible: exact, consistent: exact, safe: true, monotone: self.kind != Relaxation::Plan }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(self.exploration())
    }
}

/// Computes the costs of facts. Nothing is allocated per estimate.
pub struct Exploration<'g> {
    task: &'g Relaxed<'g>,
    kind: Relaxation,
    worker: RowWorker<'g>,
    queue: Queue,
    facts: Vec<u32>,
    supporters: Vec<u32>,
    costs: Vec<u32>,
    unmet: Vec<u32>,
    marked: Vec<u32>,
    mark: u32,
    in_plan: Vec<u32>,
    stack: Vec<u32>,
    plan: Vec<Label>,
    preferred: Vec<Label>,
    repeats: Vec<(u32, u32)>,
    /// Tells where numbers never come to what the goal wants.
    intervals: Option<Intervals<'g>>,
    /// What comparisons of numbers cost at least, for h^max.
    floors: Option<Floors>,
    /// What rows use up and make, where relaxed plans count that.
    stock: Option<Stock>,
    /// Facts that a relaxed plan still wants, with the row that wants each.
    wanted: Vec<(u32, u32)>,
    /// What all estimates took, in about nanoseconds.
    work: u64,
}

impl<'g> Exploration<'g> {
    fn new(task: &'g Relaxed<'g>, kind: Relaxation) -> Self {
        Exploration {
            task,
            kind,
            worker: task.space().row_worker(),
            queue: Queue::default(),
            facts: vec![INFINITE; task.facts()],
            supporters: vec![NO_ROW; task.facts()],
            costs: task.costs.clone(),
            unmet: task.need_counts.clone(),
            marked: vec![0; task.facts()],
            mark: 0,
            in_plan: vec![0; task.row_costs.len()],
            stack: Vec::new(),
            plan: Vec::new(),
            preferred: Vec::new(),
            repeats: Vec::new(),
            intervals: Intervals::of(task.space()),
            floors: (kind == Relaxation::Max).then(|| Floors::of(task)).flatten(),
            stock: task.resources.as_ref().filter(|_| kind == Relaxation::Plan).map(Stock::new),
            wanted: Vec::new(),
            work: 0,
        }
    }

    /// The cost of reaching the goal from `state` without the rows in `off`.
    pub fn cost(&mut self, state: &[u64], off: Option<&Mask>) -> u32 {
        self.plan.clear();
        self.preferred.clear();
        if self.intervals.as_mut().is_some_and(|intervals| !intervals.reaches(state)) {
            return INFINITE;
        }
        self.explore(state, off);
        let task = self.task;
        let reached = task.goal.iter().map(|&fact| self.facts[fact as usize]);
        let cost = match self.kind {
            Relaxation::Max => reached.max().unwrap_or(0),
            Relaxation::Add | Relaxation::Plan => reached.fold(0, add),
        };
        if cost == INFINITE || self.kind != Relaxation::Plan {
            return cost;
        }
        match self.stock.take() {
            Some(mut stock) => {
                let cost = self.extract_counting(state, &mut stock);
                self.stock = Some(stock);
                cost
            }
            None => self.extract(),
        }
    }

    fn explore(&mut self, state: &[u64], off: Option<&Mask>) {
        let task = self.task;
        self.facts.fill(INFINITE);
        self.supporters.fill(NO_ROW);
        self.unmet.copy_from_slice(&task.need_counts);
        self.costs.copy_from_slice(&task.costs);
        self.repeats.clear();
        self.work += (self.facts.len() + self.unmet.len()) as u64;
        if self.kind != Relaxation::Max {
            self.count_repeats(state);
        }
        if let Some(floors) = &mut self.floors {
            floors.look_at(task, state, &mut self.worker);
        }
        self.queue.clear();
        let (facts, queue) = (&mut self.facts, &mut self.queue);
        task.facts_of(state, &mut self.worker, |fact| {
            facts[fact as usize] = 0;
            queue.push(0, fact);
        });
        for &operator in &task.free {
            self.fire(operator, off);
        }
        let mut waiting = task.goal.len();
        while let Some((distance, fact)) = self.queue.pop() {
            if distance != self.facts[fact as usize] {
                continue;
            }
            if task.goal.binary_search(&fact).is_ok() {
                waiting -= 1;
                // What makes resources may be wanted besides.
                if waiting == 0 && self.stock.is_none() {
                    return;
                }
            }
            let needed_by = task.needed_by.get(fact);
            self.work += 10 + 3 * needed_by.len() as u64;
            for &operator in needed_by {
                let at = operator as usize;
                self.costs[at] = match self.kind {
                    // Facts come by ascending cost: the last is the dearest.
                    Relaxation::Max => {
                        if self.unmet[at] == 1 {
                            add(self.costs[at], distance)
                        } else {
                            self.costs[at]
                        }
                    }
                    Relaxation::Add | Relaxation::Plan => add(self.costs[at], distance),
                };
                self.unmet[at] -= 1;
                if self.unmet[at] == 0 {
                    self.fire(operator, off);
                }
            }
        }
    }

    #[inline]
    fn fire(&mut self, operator: u32, off: Option<&Mask>) {
        let task = self.task;
        let row = task.rows[operator as usize];
        if row != NO_ROW && off.is_some_and(|off| off.contains(Label(row))) {
            return;
        }
        let cost = self.costs[operator as usize];
        for &fact in task.adds.get(operator) {
            let cost = self.floors.as_ref().map_or(cost, |floors| cost.max(floors.least[fact as usize]));
            if cost < self.facts[fact as usize] {
                self.facts[fact as usize] = cost;
                self.supporters[fact as usize] = operator;
                self.queue.push(cost, fact);
            }
        }
    }

    /// How often an operator must fire for a comparison, as far as it alone decides.
    fn count_repeats(&mut self, state: &[u64]) {
        let task = self.task;
        for gain in &task.gains {
            let comparison = task.space().task().comparisons[gain.comparison as usize];
            let Some(value) = self.worker.value(state, comparison.term) else { continue };
            let value = gain.side.sign() * *value.numer() as f64 / *value.denom() as f64;
            let missing = -value / gain.by;
            let times = missing.ceil().clamp(1.0, 1e6) as u32;
            let cost = &mut self.costs[gain.operator as usize];
            *cost = cost.saturating_mul(times).min(LARGEST);
            if times > 1 {
                self.repeats.push((gain.operator, times));
            }
        }
    }

    fn times(&self, operator: u32) -> u32 {
        let at = self.repeats.binary_search_by_key(&operator, |&(of, _)| of);
        at.map_or(1, |at| self.repeats[at].1)
    }

    /// The cost of the plan that best supporters make, its rows and those of them that can fire now.
    fn extract(&mut self) -> u32 {
        let task = self.task;
        self.mark += 1;
        let mark = self.mark;
        self.repeats.sort_unstable();
        self.stack.clear();
        self.stack.extend_from_slice(&task.goal);
        let mut total = 0u32;
        while let Some(fact) = self.stack.pop() {
            if self.is_given(fact) || std::mem::replace(&mut self.marked[fact as usize], mark) == mark {
                continue;
            }
            let operator = self.supporters[fact as usize];
            let needs = task.needs.get(operator);
            self.stack.extend_from_slice(needs);
            let row = task.rows[operator as usize];
            if row == NO_ROW {
                continue;
            }
            let times = self.times(operator);
            let before = std::mem::replace(&mut self.in_plan[row as usize], mark);
            if before == mark && times == 1 {
                continue;
            }
            if before != mark {
                self.plan.push(Label(row));
                if needs.iter().all(|&need| self.is_given(need)) {
                    self.preferred.push(Label(row));
                }
            }
            total = add(total, task.row_costs[row as usize].saturating_mul(times).min(LARGEST));
        }
        total
    }

    /// The same, where every row of the plan needs its own share of what rows use up.
    fn extract_counting(&mut self, state: &[u64], stock: &mut Stock) -> u32 {
        let task = self.task;
        let Some(resources) = &task.resources else { return self.extract() };
        stock.begin(resources, &self.facts, &task.row_costs);
        self.mark += 1;
        let mark = self.mark;
        self.wanted.clear();
        self.wanted.extend(task.goal.iter().map(|&fact| (fact, NO_ROW)));
        loop {
            while let Some((fact, by)) = self.wanted.pop() {
                let worker = &mut self.worker;
                let value = |comparison: u32| {
                    let term = task.space().task().comparisons[comparison as usize].term;
                    worker.value(state, term).map(|value| *value.numer() as f64 / *value.denom() as f64)
                };
                if resources.wants(fact)
                    && !stock.want(resources, fact, Some(by).filter(|&row| row != NO_ROW), value)
                {
                    continue;
                }
                if self.is_given(fact) || std::mem::replace(&mut self.marked[fact as usize], mark) == mark {
                    continue;
                }
                let operator = self.supporters[fact as usize];
                if operator == NO_ROW {
                    continue;
                }
                let row = task.rows[operator as usize];
                self.wanted.extend(task.needs.get(operator).iter().map(|&need| (need, row)));
                if row != NO_ROW && !stock.has(row) {
                    stock.take(resources, row, 1);
                }
            }
            let Some((row, times)) = stock.missing(resources) else { break };
            if stock.take(resources, row, times) {
                self.wanted.extend(resources.needs(row).iter().map(|&need| (need, row)));
            }
        }
        let mut total = 0u32;
        for (row, times) in stock.plan() {
            self.plan.push(Label(row));
            if resources.needs(row).iter().all(|&need| self.is_given(need)) {
                self.preferred.push(Label(row));
            }
            total = add(total, task.row_costs[row as usize].saturating_mul(times).min(LARGEST));
        }
        total
    }

    /// Whether a fact needs no operator: it holds in the state.
    fn is_given(&self, fact: u32) -> bool {
        self.facts[fact as usize] == 0 && self.supporters[fact as usize] == NO_ROW
    }
}

/// Adds finite costs; infinity stays.
#[inline]
pub(super) fn add(a: u32, b: u32) -> u32 {
    if a == INFINITE || b == INFINITE { INFINITE } else { a.saturating_add(b).min(LARGEST) }
}

impl Estimator for Exploration<'_> {
    fn estimate(&mut self, state: &[u64], off: Option<&Mask>) -> Distance {
        Distance(self.cost(state, off))
    }

    fn supporters(&self) -> Option<&[Label]> {
        (self.kind == Relaxation::Plan).then_some(&self.plan)
    }

    fn preferred(&self) -> &[Label] {
        &self.preferred
    }

    fn work(&self) -> u64 {
        self.work
    }
}
