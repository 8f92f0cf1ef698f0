//! A cheapest plan: A* in RAM, then External A* on disk, with a guide or without one.

use crate::astar::{AStar, Bounding, End, Figures};
use crate::disk::{Opening, Stage};
use crate::external::{self, Counting};
use crate::guides::Tried;
use crate::judged::{Goals, Judged};
use crate::planner::{Answer, PlanError};
use crate::sitting::{Sitting, question};
use hadal_guide::{Blind, Distance, Guide};
use hadal_search::auto::Auto;
use hadal_search::{SearchTask, Setting, StopReason, Verdict, explore};
use hadal_system::StateSpace;
use hadal_system::rows::{Metric, Rational, RowTask, Sense};

impl Sitting<'_> {
    /// A cheapest plan, by A* with the guide that suits the task, in RAM and then on disk.
    pub(crate) fn cheapest(&mut self, on_disk: bool) -> Result<(), PlanError> {
        if self.resumed.is_some_and(|run| run.stage == Stage::Layers) {
            return self.by_layers();
        }
        let goes_on_disk = on_disk || self.resumed.is_some_and(|run| !run.in_ram);
        let (guide, _held, begun) = if self.resumed.is_none() && !on_disk && self.guide.is_open() {
            match self.try_guides()? {
                Tried::GoesOn(guide, held, search) => (*guide, held, Some(*search)),
                Tried::Blind => return self.blindly(),
                Tried::Nothing(reason) => return self.note(End::Stopped(reason)),
                Tried::Ended => return Ok(()),
            }
        } else {
            if self.resumed.is_some() || on_disk {
                self.guide = self.guide.on_disk();
            }
            let choice = self.guide;
            match self.built(choice, goes_on_disk) {
                Ok((guide, held)) => (guide, held, None),
                Err(reason) => return self.note(End::Stopped(reason)),
            }
        };
        self.guide = guide.choice();
        self.by_cost(on_disk, &guide.title(), (guide.guide(), guide.bounding()), begun)
    }

    /// Every state without a guide: layer by layer where all steps cost the same, else by ascending cost.
    pub(crate) fn blindly(&mut self) -> Result<(), PlanError> {
        let space = self.space;
        let mut costs = (0..space.task().rows.len() as u32).map(|row| space.fixed_cost(row));
        let first = costs.next().flatten().unwrap_or(1);
        if first > 0 && costs.all(|cost| cost == Some(first)) {
            return self.by_layers();
        }
        self.by_cost(self.planner.external, "no guide", (&Blind, Box::new(Blind)), None)
    }

    fn by_cost(
        &mut self,
        on_disk: bool,
        name: &str,
        (guide, mut estimator): (&dyn Guide, Box<dyn Bounding + '_>),
        begun: Option<AStar>,
    ) -> Result<(), PlanError> {
        let space = self.space;
        let mut end = End::Stopped(StopReason::Memory { needed: 0 });
        let in_ram = self.resumed.is_some_and(|run| run.in_ram);
        let mut figures = Figures::default();
        let taken_up = self.take_up(|from| {
            figures = Figures::load(from)?;
            AStar::load(space, from)
        })?;
        self.outcome.figures.add(figures);
        if self.resumed.is_none() && !on_disk && (!in_ram || taken_up.is_some()) {
            let mut search = taken_up.or(begun).unwrap_or_else(|| AStar::new(space));
            let mut watch = self.watch(u64::MAX);
            end = search.go_on(space, estimator.as_mut(), &mut watch, &mut self.outcome.figures);
            self.say(match estimator.found() {
                0 => format!("A* with {name}"),
                found => format!("A* with {name} and {found} orders found on the way"),
            });
            if let End::Stopped(reason) = &end
                && !external::wants_memory(reason)
            {
                let figures = self.outcome.figures;
                self.keep(reason, (Stage::Best, None), |to| {
                    figures.save(to)?;
                    search.save(to)
                });
            }
        }
        let mut optimal = true;
        if matches!(&end, End::Stopped(reason) if external::wants_memory(reason)) {
            self.say(format!("External A* with {name}"));
            let ended = self.externally(guide, Counting::Costs)?;
            (end, optimal) = (ended.end, ended.optimal);
        }
        self.prove(end, optimal)
    }

    /// Takes over what a search by ascending cost came to, and what that proves.
    pub(crate) fn prove(&mut self, end: End, optimal: bool) -> Result<(), PlanError> {
        self.note(end)?;
        self.outcome.optimal = self.outcome.plan.is_some() && optimal;
        if additive(self.space.task()) {
            let bound = i128::from(self.outcome.figures.lower_bound);
            self.outcome.lower_bound = Some(self.space.cost_unit() * Rational::from_integer(bound));
        }
        Ok(())
    }

    /// Breadth-first: the first plan has the fewest steps.
    fn by_layers(&mut self) -> Result<(), PlanError> {
        self.say("breadth-first without a guide");
        let planner = self.planner;
        let start = self.space.initial().to_vec();
        let goals = Judged { space: self.space, start, judge: Goals, overflowed: planner.disk.overflowed };
        let resumes = self.take_run().is_some();
        let opening = if resumes { Opening::Resumed } else { Opening::New };
        let kept = self.kept(goals.fingerprint(), Stage::Layers, opening);
        let (question, ledger) = (question(), || self.open(&kept));
        let setting = Setting {
            task: SearchTask { space: &goals, question: &question, control: planner.control },
            governor: planner.governor,
            threads: planner.disk.threads,
            run: opening.run(&ledger),
        };
        let report = explore(&Auto, setting)?.report;
        self.count(&report);
        let end = match report.verdict {
            Verdict::Violated(found) => End::Plan(external::rows(self.space, &found.path)),
            Verdict::Holds => End::Exhausted,
            Verdict::Stopped(reason) => End::Stopped(reason),
        };
        self.note(end)?;
        self.outcome.optimal = self.outcome.answer == Answer::Solved;
        Ok(())
    }

    /// Takes over what a search over layers counted.
    pub(crate) fn count(&mut self, report: &hadal_search::Report) {
        let figures = &mut self.outcome.figures;
        figures.states = figures.states.max(report.states);
        figures.expanded += report.layers.iter().map(|layer| layer.states).sum::<u64>();
        figures.generated += report.transitions;
        let apart = report.layers.iter().flat_map(|layer| &layer.by_distance);
        let found = apart.filter(|apart| apart.found > 0).map(|apart| apart.nearest);
        figures.locality = found.fold(figures.locality, u64::max);
        let bytes = report.disk.as_ref().map_or(0, |disk| disk.bytes);
        self.outcome.disk_bytes = self.outcome.disk_bytes.max(bytes);
    }
}

impl Bounding for Blind {
    fn estimate(&mut self, _: &[u64]) -> Distance {
        Distance::ZERO
    }
}

/// Whether the metric is the plain sum of costs.
fn additive(task: &RowTask) -> bool {
    match task.metric {
        Metric::Steps => true,
        Metric::Cost { at_end, offset, sense } => {
            at_end.is_none() && sense == Sense::Minimise && offset == Rational::from_integer(0)
        }
        Metric::Minimise(_) | Metric::Maximise(_) => false,
    }
}
