//! The answer of a directed search: what was found or not, what may be claimed of it, and the figures.

use super::core::{Core, End};
use super::figures::QueueFigures;
use super::nodes::NONE;
use super::order::{Order, Tie};
use super::{Traces, aims_at, shorten};
use crate::finding::Finding;
use crate::lane::total_counts;
use crate::ram::breadth::TABLE;
use crate::report::{Particular, Proviso, Report, StopReason, Verdict, Violation, ViolationKind};
use crate::run::{Answer, complete, out_of_memory};

impl Core<'_> {
    /// The answer with its figures.
    pub(super) fn report(mut self, end: End) -> Report {
        let space = self.search.task.space;
        // Counted before the trace is shortened: that walks through known states again.
        let (states, kept) = (self.states(), self.kept);
        let counts = total_counts(std::slice::from_ref(&self.lane), space);
        let mut proviso = None;
        let verdict = match end {
            End::Found(finding, at) => Verdict::Violated(self.violation(finding, at)),
            End::Traced(finding, path, cost) => {
                self.figures.found_length = Some(path.len() as u64 - 1);
                self.figures.found_cost = Some(u64::from(cost));
                self.figures.found_cheapest = self.is_optimal(finding.kind);
                let shortest = self.figures.found_cheapest && self.rules.unit_costs;
                Verdict::Violated(Violation { kind: finding.kind, path, shortest })
            }
            End::Stopped(reason) => Verdict::Stopped(reason),
            End::Full(full) => Verdict::Stopped(out_of_memory(full)),
            End::Incomplete => Verdict::Stopped(StopReason::Incomplete),
            End::Exhausted => {
                let left_out = self.figures.work.hopeless + self.figures.work.cut;
                proviso = match kept.freed_before {
                    0 => (left_out > 0).then_some(Proviso::Pruned { left_out }),
                    before => Some(Proviso::LayersDeleted { before }),
                };
                complete(self.search.task, &counts.covers)
            }
        };
        self.figures.audit = self.audited();
        self.figures.work.queues =
            self.open.traffic().iter().map(|&(pushes, pops)| QueueFigures { pushes, pops }).collect();
        let deferred: u64 = (self.figures.work.queues.iter().enumerate())
            .filter(|(n, _)| self.search.priority.is_deferred(*n as u32))
            .map(|(_, queue)| queue.pops)
            .sum();
        self.figures.work.deferred_share = deferred as f64 / self.figures.work.pops.max(1) as f64;
        let answer = Answer {
            verdict,
            states,
            transitions: self.figures.work.generated,
            counts: &counts,
            stages: vec![TABLE],
        };
        let report = answer.report(self.search.task, self.search.governor);
        let peak_states = (kept.peak > 0).then_some(kept.peak);
        let particular = Particular { directed: Some(self.figures), peak_states, ..Particular::default() };
        Report { proviso, particular, ..report }
    }

    fn violation(&mut self, finding: Finding, at: u32) -> Violation {
        if at == NONE {
            return Violation { kind: finding.kind, path: Vec::new(), shortest: true };
        }
        let mut numbers = self.nodes.path(at);
        let cost: u64 = numbers[1..].iter().map(|&n| u64::from(self.cost_into(n))).sum();
        let options = self.search.options.clone();
        self.figures.found_length = Some(numbers.len() as u64 - 1);
        self.figures.found_cost = Some(cost);
        if self.rules.keeps_context && options.order != Order::Alternating {
            self.figures.switches = Some(u64::from(self.nodes.get(at).queue));
        }
        let optimal = self.is_optimal(finding.kind);
        self.figures.found_cheapest = optimal;
        let in_order = options.tie.unwrap_or_else(|| options.order.info().tie) == Tie::Fifo;
        let breadth = options.order == Order::Breadth
            && in_order
            && self.has_one_queue()
            && self.leaves_out_no(finding.kind);
        let shortest = breadth || optimal && self.rules.unit_costs;
        // Fewer steps need not cost less.
        let shortens =
            options.traces == Traces::Shortened && (self.rules.unit_costs || !options.order.follows_cost());
        if !shortest && !optimal && !self.rules.keeps_context && shortens {
            shorten::shorten(self, &mut numbers);
        }
        let state = |n: u32| self.words_at(n).to_vec();
        Violation { kind: finding.kind, path: numbers.into_iter().map(state).collect(), shortest }
    }
}

impl Core<'_> {
    /// Whether nothing that is found could have been found at less cost. Estimates say nothing about what they do not aim
    /// at.
    fn is_optimal(&self, kind: ViolationKind) -> bool {
        let order = self.search.options.order;
        order.info().promises.optimal
            && self.has_one_queue()
            && !self.rules.keeps_context
            && (order == Order::UniformCost && self.leaves_out_no(kind)
                || self.search.guide.promises().admissible && aims_at(self.search.goal, kind))
    }

    /// Whether no state was left out from which this could be reached.
    fn leaves_out_no(&self, kind: ViolationKind) -> bool {
        self.figures.work.hopeless == 0 || aims_at(self.search.goal, kind)
    }

    /// Whether the priority layer leaves the order alone.
    fn has_one_queue(&self) -> bool {
        self.figures.work.cut == 0 && self.open.traffic().len() <= 1
    }
}
