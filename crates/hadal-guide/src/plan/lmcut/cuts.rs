//! Landmark cuts of a state.
//!
//! h^max is computed once and brought up to date after each cut. A cut is found from the goal backwards: whatever h^max
//! places before the goal is reached without it, so that no search from the state is needed to tell which operators lead
//! into the facts behind which the goal costs nothing.

use super::LmCut;
use crate::plan::additive::{INFINITE, LARGEST, add};
use crate::plan::intervals::Intervals;
use crate::plan::queue::Queue;
use hadal_exec::rows::RowWorker;
use hadal_system::Label;
use hadal_system::guide::{Distance, Estimator, Mask};

/// No supporter: an operator that is not reached.
const NONE: u32 = u32::MAX;

/// What is known of an operator.
#[derive(Clone, Copy)]
struct Operator {
    /// What is left of its cost, times how often it must fire.
    weight: u32,
    /// The dearest fact that it needs, or [`NONE`].
    supporter: u32,
}

/// Where a fact lies, as seen from a cut.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Zone {
    Unknown,
    /// From here the goal is reached for nothing.
    Goal,
    /// Reached before the cut.
    Before,
    /// Only reached behind it.
    Behind,
}

/// A landmark: what it counts, and where its rows stand.
#[derive(Clone, Copy)]
struct Found {
    counts: u32,
    rows: (u32, u32),
}

/// Landmarks: their rows one after the other, each with what of its cost the landmark uses up.
#[derive(Default)]
struct Landmarks {
    found: Vec<Found>,
    rows: Vec<u32>,
    spent: Vec<u32>,
}

impl Landmarks {
    fn clear(&mut self) {
        self.found.clear();
        self.rows.clear();
        self.spent.clear();
    }
}

/// Computes LM-cut. Nothing is allocated per estimate.
pub struct Cuts<'g> {
    guide: &'g LmCut<'g>,
    worker: RowWorker<'g>,
    queue: Queue,
    /// h^max of every fact.
    facts: Vec<u32>,
    operators: Vec<Operator>,
    /// Facts that each operator waits for.
    unmet: Vec<u32>,
    /// What the supporter of each operator cost when it was last looked at.
    supported_at: Vec<u32>,
    zones: Vec<Zone>,
    stack: Vec<u32>,
    visited: Vec<u32>,
    touched: Vec<u32>,
    cut: Vec<u32>,
    /// Where rows count several times.
    repeated: Option<Repeated>,
    /// Tells where numbers never come to what the goal wants.
    intervals: Option<Intervals<'g>>,
    /// Those of the last estimate.
    landmarks: Landmarks,
    /// Those of the state whose successors are estimated.
    parent: Landmarks,
    /// Operators looked at, of all estimates.
    looked_at: u64,
}

/// How often operators must fire for comparisons of numbers, at least.
struct Repeated {
    /// At least 1, of each operator.
    times: Vec<f64>,
    /// What is left of the cost of each row.
    left: Vec<u32>,
    /// The least of a row's operators in a cut.
    in_cut: Vec<f64>,
}

impl<'g> Cuts<'g> {
    pub(super) fn new(guide: &'g LmCut<'g>) -> Self {
        let graph = &guide.graph;
        let rows = guide.task.row_costs.len();
        let repeated = (!guide.task.gains.is_empty()).then(|| Repeated {
            times: vec![1.0; graph.operators()],
            left: vec![0; rows],
            in_cut: vec![f64::INFINITY; rows],
        });
        Cuts {
            guide,
            worker: guide.task.space().row_worker(),
            queue: Queue::default(),
            facts: vec![INFINITE; graph.goal as usize + 1],
            operators: vec![Operator { weight: 0, supporter: NONE }; graph.operators()],
            unmet: graph.counts.clone(),
            supported_at: vec![0; graph.operators()],
            zones: vec![Zone::Unknown; graph.goal as usize + 1],
            stack: Vec::new(),
            visited: Vec::new(),
            touched: Vec::new(),
            cut: Vec::new(),
            repeated,
            intervals: Intervals::of(guide.task.space()),
            landmarks: Landmarks::default(),
            parent: Landmarks::default(),
            looked_at: 0,
        }
    }

    /// The sum of the landmarks of `state`, without the rows in `off`.
    pub fn cost(&mut self, state: &[u64], off: Option<&Mask>) -> u32 {
        self.begin(state, off);
        if self.is_dead(state) {
            return INFINITE;
        }
        self.explore(state);
        self.sum_up(0)
    }

    /// Takes the landmarks of the last estimate for those of a state whose successors are estimated next.
    pub fn keep(&mut self) {
        std::mem::swap(&mut self.landmarks, &mut self.parent);
    }

    /// The sum of the landmarks of a state that `row` leads to from the one whose landmarks were kept. Landmarks without
    /// that row are landmarks here, too, and are not looked for again (Pommerening and Helmert 2013).
    pub fn cost_after(&mut self, state: &[u64], row: u32) -> u32 {
        self.begin(state, None);
        if self.is_dead(state) {
            return INFINITE;
        }
        let mut total = 0;
        for at in 0..self.parent.found.len() {
            let Found { counts, rows } = self.parent.found[at];
            let range = rows.0 as usize..rows.1 as usize;
            if self.parent.rows[range.clone()].binary_search(&row).is_ok() {
                continue;
            }
            total = add(total, counts);
            for place in range {
                self.spend(self.parent.rows[place], self.parent.spent[place]);
            }
        }
        self.explore(state);
        self.sum_up(total)
    }

    /// Finds cuts until the goal is reached for nothing.
    fn sum_up(&mut self, mut total: u32) -> u32 {
        let goal = self.guide.graph.goal as usize;
        self.landmarks.clear();
        if self.facts[goal] == INFINITE {
            return INFINITE;
        }
        while self.facts[goal] != 0 {
            self.find_cut();
            let cheapest = self.cut.iter().map(|&at| self.operators[at as usize].weight).min().unwrap_or(0);
            total = add(total, cheapest);
            self.lower(cheapest);
            for &fact in &self.touched {
                self.zones[fact as usize] = Zone::Unknown;
            }
            self.touched.clear();
            self.explore_on();
        }
        total.div_ceil(self.guide.units)
    }

    /// Whether numbers say that there is no plan.
    fn is_dead(&mut self, state: &[u64]) -> bool {
        let dead = self.intervals.as_mut().is_some_and(|intervals| !intervals.reaches(state));
        if dead {
            self.landmarks.clear();
        }
        dead
    }

    /// Full costs again, and without some rows.
    fn begin(&mut self, state: &[u64], off: Option<&Mask>) {
        let guide = self.guide;
        for (operator, &weight) in self.operators.iter_mut().zip(&guide.costs) {
            *operator = Operator { weight, supporter: NONE };
        }
        self.unmet.copy_from_slice(&guide.graph.counts);
        self.looked_at += self.operators.len() as u64 / 16;
        for label in off.into_iter().flat_map(Mask::iter).filter(|label| guide.has_row(*label)) {
            // One fact more than it has: it never fires.
            for &operator in guide.graph.by_row(label.0) {
                self.unmet[operator as usize] += 1;
            }
        }
        if let Some(repeated) = &mut self.repeated {
            for (left, &cost) in repeated.left.iter_mut().zip(&guide.task.row_costs) {
                *left = cost.saturating_mul(guide.units);
            }
            self.looked_at += 10 * guide.task.gains.len() as u64;
            for gain in &guide.task.gains {
                let times = guide.task.least_times(gain, state, &mut self.worker);
                repeated.times[gain.operator as usize] = times;
                let weight = &mut self.operators[gain.operator as usize].weight;
                *weight = weighed(*weight, times);
            }
        }
    }

    /// h^max from a state.
    fn explore(&mut self, state: &[u64]) {
        let guide = self.guide;
        let graph = &guide.graph;
        self.facts.fill(INFINITE);
        self.queue.clear();
        let (facts, queue) = (&mut self.facts, &mut self.queue);
        let mut start = |fact: u32| {
            facts[fact as usize] = 0;
            queue.push(0, fact);
        };
        start(guide.task.facts() as u32);
        guide.task.facts_of(state, &mut self.worker, start);
        while let Some((distance, fact)) = self.queue.pop() {
            if self.facts[fact as usize] != distance {
                continue;
            }
            let waiting = graph.needed_by(fact);
            self.looked_at += waiting.len() as u64;
            for &operator in waiting {
                let at = operator as usize;
                self.unmet[at] -= 1;
                if self.unmet[at] > 0 {
                    continue;
                }
                self.operators[at].supporter = fact;
                self.supported_at[at] = distance;
                let cost = add(distance, self.operators[at].weight);
                for &add in graph.adds(operator) {
                    if cost < self.facts[add as usize] {
                        self.facts[add as usize] = cost;
                        self.queue.push(cost, add);
                    }
                }
            }
        }
    }

    /// Marks the facts from which the goal is reached for nothing along dearest facts, and collects the operators that lead
    /// there from what is reached before.
    fn find_cut(&mut self) {
        let graph = &self.guide.graph;
        let height = self.facts[graph.goal as usize];
        self.cut.clear();
        self.stack.clear();
        self.stack.push(graph.goal);
        self.zones[graph.goal as usize] = Zone::Goal;
        self.touched.push(graph.goal);
        while let Some(fact) = self.stack.pop() {
            let makers = graph.added_by(fact);
            self.looked_at += makers.len() as u64;
            for &operator in makers {
                let Operator { weight, supporter } = self.operators[operator as usize];
                if supporter == NONE {
                    continue;
                }
                let zone = &mut self.zones[supporter as usize];
                if *zone == Zone::Goal {
                    continue;
                }
                if weight > 0 {
                    self.cut.push(operator);
                } else {
                    *zone = Zone::Goal;
                    self.touched.push(supporter);
                    self.stack.push(supporter);
                }
            }
        }
        let mut cut = std::mem::take(&mut self.cut);
        cut.retain(|&operator| {
            let fact = self.operators[operator as usize].supporter;
            match self.zones[fact as usize] {
                Zone::Goal | Zone::Behind => false,
                Zone::Before => true,
                Zone::Unknown => self.facts[fact as usize] < height || self.is_before(fact, height),
            }
        });
        self.cut = cut;
    }

    /// Whether a fact that is as dear as the goal is reached without what costs nothing from the goal. Facts below that
    /// height are: along the way to them, h^max only grows.
    fn is_before(&mut self, fact: u32, height: u32) -> bool {
        let graph = &self.guide.graph;
        self.stack.clear();
        self.visited.clear();
        self.stack.push(fact);
        self.visited.push(fact);
        self.zones[fact as usize] = Zone::Behind;
        let mut before = false;
        'search: while let Some(at) = self.stack.pop() {
            for &operator in graph.added_by(at) {
                let supporter = self.operators[operator as usize].supporter;
                if supporter == NONE {
                    continue;
                }
                let zone = self.zones[supporter as usize];
                if matches!(zone, Zone::Goal | Zone::Behind) {
                    continue;
                }
                // What leads into the zone of the goal is in the cut, and leads nowhere else.
                if graph.adds(operator).iter().any(|&add| self.zones[add as usize] == Zone::Goal) {
                    continue;
                }
                if zone == Zone::Before || self.facts[supporter as usize] < height {
                    before = true;
                    break 'search;
                }
                self.zones[supporter as usize] = Zone::Behind;
                self.visited.push(supporter);
                self.stack.push(supporter);
            }
        }
        if before {
            // What was looked at on the way may lie before or behind.
            for &seen in &self.visited {
                self.zones[seen as usize] = Zone::Unknown;
            }
            self.zones[fact as usize] = Zone::Before;
            self.touched.push(fact);
        } else {
            self.touched.extend_from_slice(&self.visited);
        }
        before
    }

    /// Uses up the cost of a landmark in the rows of the cut.
    fn lower(&mut self, by: u32) {
        let guide = self.guide;
        let from = self.landmarks.rows.len();
        // Operators of one row may all be in the cut.
        let rows = &mut self.landmarks.rows;
        rows.extend(self.cut.iter().map(|&operator| guide.task.rows[operator as usize]));
        rows[from..].sort_unstable();
        let mut kept = from;
        for at in from..rows.len() {
            if at == from || rows[at] != rows[kept - 1] {
                rows[kept] = rows[at];
                kept += 1;
            }
        }
        rows.truncate(kept);
        self.landmarks.found.push(Found { counts: by, rows: (from as u32, kept as u32) });
        match &mut self.repeated {
            None => self.landmarks.spent.resize(kept, by),
            Some(repeated) => {
                for &operator in &self.cut {
                    let row = guide.task.rows[operator as usize] as usize;
                    repeated.in_cut[row] = repeated.in_cut[row].min(repeated.times[operator as usize]);
                }
                for &row in &self.landmarks.rows[from..] {
                    let times = std::mem::replace(&mut repeated.in_cut[row as usize], f64::INFINITY);
                    let part = (f64::from(by) / times).ceil() as u32;
                    self.landmarks.spent.push(part.min(repeated.left[row as usize]));
                }
            }
        }
        self.queue.clear();
        for place in from..kept {
            let row = self.landmarks.rows[place];
            self.spend(row, self.landmarks.spent[place]);
            for &operator in guide.graph.by_row(row) {
                let Operator { weight, supporter } = self.operators[operator as usize];
                if supporter == NONE {
                    continue;
                }
                let cost = add(self.supported_at[operator as usize], weight);
                for &add in guide.graph.adds(operator) {
                    if cost < self.facts[add as usize] {
                        self.facts[add as usize] = cost;
                        self.queue.push(cost, add);
                    }
                }
            }
        }
    }

    /// Takes a part of a row's cost away from its operators.
    fn spend(&mut self, row: u32, part: u32) {
        let operators = self.guide.graph.by_row(row);
        match &mut self.repeated {
            None => operators.iter().for_each(|&operator| self.operators[operator as usize].weight -= part),
            Some(repeated) => {
                let left = &mut repeated.left[row as usize];
                *left -= part;
                for &operator in operators {
                    let weight = weighed(*left, repeated.times[operator as usize]);
                    self.operators[operator as usize].weight = weight;
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
            let waiting = graph.needed_by(fact);
            self.looked_at += waiting.len() as u64;
            for &operator in waiting {
                let at = operator as usize;
                if self.operators[at].supporter != fact || self.supported_at[at] <= distance {
                    continue;
                }
                let (mut dearest, mut height) = (fact, distance);
                for &need in graph.needs(operator) {
                    let cost = self.facts[need as usize];
                    if cost > height {
                        (dearest, height) = (need, cost);
                    }
                }
                self.operators[at].supporter = dearest;
                if std::mem::replace(&mut self.supported_at[at], height) == height {
                    continue;
                }
                let cost = add(height, self.operators[at].weight);
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

/// What an operator weighs that costs so much and must fire so often.
fn weighed(cost: u32, times: f64) -> u32 {
    if times == 1.0 { cost } else { (f64::from(cost) * times).min(f64::from(LARGEST)) as u32 }
}

impl LmCut<'_> {
    fn has_row(&self, label: Label) -> bool {
        (label.0 as usize) < self.task.row_costs.len()
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
