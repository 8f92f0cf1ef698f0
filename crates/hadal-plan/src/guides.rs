//! The guides of searches for a best plan, by name, and which one suits a task.
//!
//! `auto` tries the candidates on the task itself: each searches with the same counted work, and the one that proved most
//! goes on. What was proved or found by then is kept.

use crate::astar::{AStar, Bounding, End, Figures};
use crate::disk::Stage;
use crate::planner::PlanError;
use crate::sitting::Sitting;
use crate::stop::Watch;
use hadal_exec::rows::RowSpace;
use hadal_guide::Blind;
use hadal_guide::plan::{
    Allowance, CostKind, Cuts, Exploration, LmCut, Partitioned, PartitionedEstimator, Relaxation, Relaxed,
    RelaxedGuide, Source,
};
use hadal_guide::{Distance, Estimator, Guide};
use hadal_search::StopReason;
use hadal_store::Reservation;

/// A guide that can be asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuideChoice {
    /// How it is written on the command line.
    pub name: &'static str,
    /// What it is.
    pub help: &'static str,
    kind: Kind,
    /// Bytes for its tables, where a run on disk goes on that had so many: other tables would estimate otherwise.
    bytes: Option<u64>,
}

const fn named(name: &'static str, help: &'static str, kind: Kind) -> GuideChoice {
    GuideChoice { name, help, kind, bytes: None }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Auto,
    LmCut,
    Partition(Source),
    Max,
    Blind,
}

/// Every guide for a best plan; the first is the default.
pub static GUIDES: &[GuideChoice] = &[
    named("auto", "the one that proves most on the task with equal work", Kind::Auto),
    named("lmcut", "landmark cuts", Kind::LmCut),
    named(
        "scp",
        "saturated cost partitioning over pattern databases and Cartesian abstractions",
        Kind::Partition(Source::Both),
    ),
    named(
        "ipdb",
        "saturated cost partitioning over pattern databases that hill climbing finds",
        Kind::Partition(Source::Climbed),
    ),
    named("pdb", "saturated cost partitioning over pattern databases", Kind::Partition(Source::Patterns)),
    named(
        "cartesian",
        "saturated cost partitioning over Cartesian abstractions",
        Kind::Partition(Source::Cartesian),
    ),
    named("merge-and-shrink", "factors merged and shrunk by bisimulation", Kind::Partition(Source::Merged)),
    named("hmax", "the dearest fact of the delete relaxation", Kind::Max),
    named("blind", "no estimate", Kind::Blind),
];

impl GuideChoice {
    /// The guide of this name, as the command line or [`GuideChoice::written`] has it.
    pub fn named(text: &str) -> Option<GuideChoice> {
        let (name, bytes) = match text.split_once('@') {
            Some((name, bytes)) => (name, Some(bytes.parse().ok()?)),
            None => (text, None),
        };
        let found = GUIDES.iter().copied().find(|guide| guide.name == name)?;
        Some(GuideChoice { bytes, ..found })
    }

    /// The guide with all that its estimates depend on.
    pub fn written(&self) -> String {
        match self.bytes {
            Some(bytes) => format!("{}@{bytes}", self.name),
            None => self.name.to_owned(),
        }
    }

    /// Whether the task decides.
    pub(crate) fn is_open(self) -> bool {
        self.kind == Kind::Auto
    }

    /// What searches on disk begin with where nothing else is asked for.
    pub(crate) fn on_disk(self) -> GuideChoice {
        match self.kind {
            Kind::Auto => GUIDES.iter().copied().find(|guide| guide.kind == Kind::LmCut).unwrap_or(self),
            _ => self,
        }
    }

    /// Bytes that making it takes, about; tables have an allowance of their own.
    fn foreseen_bytes(self, space: &RowSpace) -> u64 {
        match self.kind {
            Kind::Auto | Kind::LmCut => LmCut::foreseen_bytes(space.task()),
            Kind::Max => Relaxed::foreseen_bytes(space.task()),
            Kind::Partition(_) | Kind::Blind => 0,
        }
    }

    fn of(kind: Kind) -> GuideChoice {
        GUIDES.iter().copied().find(|guide| guide.kind == kind).unwrap_or_default()
    }
}

impl Default for GuideChoice {
    fn default() -> Self {
        GUIDES[0]
    }
}

/// Tables take at most one part in so many of the memory.
const TABLE_SHARE: u64 = 4;
/// Work of the trial of each candidate: about as many nanoseconds.
const TRIAL: u64 = 1_000_000_000;
/// States of a trial, at most.
const TRIAL_STATES: u64 = 400_000;
/// A trial without a guide has so many times the states: they are cheap.
const BLIND: u64 = 4;
/// The states of a trial take one part in so many of the memory, about.
const TRIAL_SHARE: u64 = 8;

/// A guide that was built.
pub(crate) struct Built<'s> {
    choice: GuideChoice,
    estimates: Estimates<'s>,
}

enum Estimates<'s> {
    LmCut(Box<LmCut<'s>>),
    Partition(Partitioned),
    Max(Box<RelaxedGuide<'s>>),
    Blind(Blind),
}

impl<'s> Built<'s> {
    /// Makes it; its tables take a part of `memory`, unless the choice says how much.
    pub(crate) fn new(space: &'s RowSpace, mut choice: GuideChoice, memory: u64) -> Built<'s> {
        let estimates = match choice.kind {
            Kind::Partition(source) => {
                let bytes = choice.bytes.unwrap_or(memory / TABLE_SHARE);
                choice.bytes = Some(bytes);
                let allowance = Allowance { bytes, ..Allowance::default() };
                Estimates::Partition(Partitioned::new(space, source, allowance))
            }
            Kind::Max => {
                let relaxed = Relaxed::new(space, CostKind::Real);
                Estimates::Max(Box::new(RelaxedGuide::new(relaxed, Relaxation::Max)))
            }
            Kind::Blind => Estimates::Blind(Blind),
            Kind::Auto | Kind::LmCut => {
                Estimates::LmCut(Box::new(LmCut::new(Relaxed::new(space, CostKind::Real))))
            }
        };
        Built { choice, estimates }
    }

    /// Which one it is.
    pub(crate) fn choice(&self) -> GuideChoice {
        self.choice
    }

    /// What to call it.
    pub(crate) fn title(&self) -> String {
        match &self.estimates {
            Estimates::LmCut(_) => "LM-cut".to_owned(),
            Estimates::Partition(made) => {
                let (abstractions, orders) = made.size();
                format!("saturated costs of {abstractions} abstractions in {orders} orders")
            }
            Estimates::Max(_) => "h^max".to_owned(),
            Estimates::Blind(_) => "no estimate".to_owned(),
        }
    }

    /// For searches on disk.
    pub(crate) fn guide(&self) -> &(dyn Guide + 's) {
        match &self.estimates {
            Estimates::LmCut(guide) => guide.as_ref(),
            Estimates::Partition(guide) => guide,
            Estimates::Max(guide) => guide.as_ref(),
            Estimates::Blind(guide) => guide,
        }
    }

    /// Without what only searches in RAM use.
    pub(crate) fn settled(mut self) -> Self {
        if let Estimates::Partition(guide) = &mut self.estimates {
            guide.settle();
        }
        self
    }

    /// For A*.
    pub(crate) fn bounding(&self) -> Box<dyn Bounding + '_> {
        match &self.estimates {
            Estimates::LmCut(guide) => Box::new(guide.cuts()),
            Estimates::Partition(guide) => Box::new(guide.improving_sums()),
            Estimates::Max(guide) => Box::new(guide.exploration()),
            Estimates::Blind(_) => Box::new(Blind),
        }
    }
}

impl Bounding for PartitionedEstimator<'_> {
    fn estimate(&mut self, state: &[u64]) -> Distance {
        Distance(self.cost(state))
    }

    fn work(&self) -> u64 {
        Estimator::work(self)
    }

    fn bytes(&self) -> u64 {
        PartitionedEstimator::bytes(self)
    }

    fn found(&self) -> usize {
        PartitionedEstimator::found(self)
    }
}

impl Bounding for Exploration<'_> {
    fn estimate(&mut self, state: &[u64]) -> Distance {
        Distance(self.cost(state, None))
    }
}

impl Bounding for Cuts<'_> {
    fn estimate(&mut self, state: &[u64]) -> Distance {
        Distance(self.cost(state, None))
    }

    fn shares(&self) -> bool {
        true
    }

    fn keep(&mut self) {
        Cuts::keep(self);
    }

    fn estimate_after(&mut self, state: &[u64], row: u32) -> Distance {
        Distance(self.cost_after(state, row))
    }

    fn work(&self) -> u64 {
        Estimator::work(self)
    }
}

/// What trials came to.
pub(crate) enum Tried<'s> {
    /// This guide suits the task, and its search goes on; its tables are counted for as long as the reservation is held.
    GoesOn(Box<Built<'s>>, Reservation, Box<AStar>),
    /// No guide proves more than none.
    Blind,
    /// There is no room for any.
    Nothing(StopReason),
    /// There is an answer, or a limit was reached.
    Ended,
}

impl<'a> Sitting<'a> {
    /// Makes a guide, for as long as the reservation is held; on disk without what only searches in RAM use.
    pub(crate) fn built(
        &self,
        choice: GuideChoice,
        on_disk: bool,
    ) -> Result<(Built<'a>, Reservation), StopReason> {
        let (space, memory) = (self.space, self.planner.governor.limit());
        self.reserved(choice.foreseen_bytes(space), || {
            let made = Built::new(space, choice, memory);
            if on_disk { made.settled() } else { made }
        })
    }

    /// Lets the candidates search with equal work; the one that proved most goes on.
    pub(crate) fn try_guides(&mut self) -> Result<Tried<'a>, PlanError> {
        let (space, planner) = (self.space, self.planner);
        let mut best: Option<(u64, Tried)> = None;
        let mut without = StopReason::Memory { needed: planner.governor.limit().saturating_mul(2) };
        let state_bytes = space.layout().words as u64 * 8 + 48;
        let states = TRIAL_STATES.min(planner.governor.limit() / TRIAL_SHARE / state_bytes).max(64);
        for kind in [Kind::LmCut, Kind::Partition(Source::Both), Kind::Blind] {
            let states = if kind == Kind::Blind { states * BLIND } else { states };
            let made = self.built(GuideChoice::of(kind), false);
            let (guide, held) = match made {
                Ok(made) => made,
                Err(reason) => {
                    without = reason;
                    continue;
                }
            };
            let mut tried = Figures::default();
            let mut watch = Watch::trial(planner.control, planner.governor, TRIAL, states);
            let mut search = Box::new(AStar::new(space));
            let end = search.go_on(space, guide.bounding().as_mut(), &mut watch, &mut tried);
            self.say(format!("trial of {}: no plan costs less than {}", guide.title(), tried.lower_bound));
            self.outcome.figures.add(tried);
            match end {
                End::Stopped(StopReason::Incomplete | StopReason::Memory { .. }) => {}
                end => {
                    // Of searches that are cut short, one with a guide goes on later.
                    let (choice, kept) = match &best {
                        Some((_, Tried::GoesOn(guide, _, search))) if kind == Kind::Blind => {
                            (guide.choice(), search)
                        }
                        _ => (guide.choice(), &search),
                    };
                    self.guide = choice;
                    if let End::Stopped(reason) = &end {
                        let figures = self.outcome.figures;
                        self.keep(reason, (Stage::Best, None), |to| {
                            figures.save(to)?;
                            kept.save(to)
                        });
                    }
                    self.prove(end, true)?;
                    return Ok(Tried::Ended);
                }
            }
            if kind == Kind::Blind {
                let proved = best.as_ref().map(|&(bound, _)| bound);
                if proved.is_none_or(|bound| tried.lower_bound > bound) {
                    return Ok(Tried::Blind);
                }
                continue;
            }
            // Of equals the later one: its estimates are cheaper.
            if best.as_ref().is_none_or(|(bound, _)| tried.lower_bound >= *bound) {
                best = Some((tried.lower_bound, Tried::GoesOn(Box::new(guide), held, search)));
            }
        }
        Ok(best.map_or(Tried::Nothing(without), |(_, tried)| tried))
    }
}
