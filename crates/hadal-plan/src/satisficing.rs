//! Any plan, then cheaper ones: lazy greedy search and width search in turns of counted work, going on on disk.

use crate::astar::{End, Figures};
use crate::disk::Stage;
use crate::eager::Told;
use crate::engine::Engine;
use crate::external::{self, Counting};
use crate::lazy::{Guides, Lazy, Manner};
use crate::planner::PlanError;
use crate::sitting::Sitting;
use crate::snapshot::Saver;
use crate::stop::Watch;
use crate::width::Width;
use hadal_exec::rows::{Firing, RowSpace};
use hadal_guide::plan::{CostKind, LandmarkCount, Relaxation, RelaxedGuide};
use hadal_search::StopReason;
use hadal_store::Reservation;

/// Without a limit of time, improving a plan takes this many times the estimates that finding it took.
const IMPROVING: u64 = 4;
/// But at least so many.
const LEAST_IMPROVING: u64 = 20_000;
/// Estimates that greedy search has before width search has its first turn, which takes as much work; each next turn is
/// twice as long.
const FIRST_ESTIMATES: u64 = 4_000;
/// Width search has one part in so many of the memory.
const WIDTH_SHARE: u64 = 4;
/// Finding landmarks takes at most one part in so many of the memory.
const LANDMARK_SHARE: u64 = 8;
/// And at most this.
const MOST_LANDMARK_BYTES: u64 = 128 << 20;
/// The weights of the searches that improve a plan.
const WEIGHTS: [u32; 4] = [5, 3, 2, 1];

/// How far the turns of two searches are.
struct Turns<'s, 'g> {
    lazy: Lazy<'s, 'g>,
    width: Option<Width<'s, 'g>>,
    estimates: u64,
}

impl Turns<'_, '_> {
    fn save(&self, to: &mut Saver) -> std::io::Result<()> {
        to.word(self.estimates)?;
        to.word(u64::from(self.width.is_some()))?;
        self.lazy.save(to)?;
        self.width.as_ref().map_or(Ok(()), |width| width.save(to))
    }
}

impl<'a> Sitting<'a> {
    /// Any plan, greedily, in RAM and then on disk.
    pub(crate) fn first(&mut self, engine: Engine) -> Result<(), PlanError> {
        let mut end = End::Stopped(StopReason::Memory { needed: 0 });
        let on_disk = self.planner.external || engine == Engine::ExternalGreedy;
        if self.resumed.is_none_or(|run| run.in_ram) && !on_disk {
            end = match Told::of(engine) {
                Some(told) => self.eagerly(told)?,
                None => self.in_turns(engine)?,
            };
        }
        if matches!(&end, End::Stopped(reason) if external::wants_memory(reason)) {
            end = self.greedily_on_disk()?;
        }
        self.note(end)
    }

    /// External A* by estimates alone: complete, so that where it ends without a plan there is none.
    pub(crate) fn greedily_on_disk(&mut self) -> Result<End, PlanError> {
        self.say("External A* by h^FF alone");
        match self.relaxed(CostKind::Unit, Relaxation::Plan) {
            Ok((guide, _held)) => Ok(self.externally(&guide, Counting::Nothing)?.end),
            Err(reason) => Ok(End::Stopped(reason)),
        }
    }

    /// Greedy search by estimates and width search, in turns of counted work; the first goes on alone in the end.
    pub(crate) fn in_turns(&mut self, engine: Engine) -> Result<End, PlanError> {
        let (planner, space) = (self.planner, self.space);
        let (relaxed, landmarks, _held) = match self.lazy_guides(CostKind::Unit) {
            Ok(made) => made,
            Err(reason) => return Ok(End::Stopped(reason)),
        };
        let guides = Guides { relaxed: relaxed.exploration(), landmarks: &landmarks };
        let manner = Manner { weight: None, plus_one: false, bound: u32::MAX };
        let alone = engine == Engine::Width;
        let mut turns = Turns {
            lazy: Lazy::new(space, guides, manner),
            width: (engine != Engine::Lazy).then(|| Width::new(space, relaxed.exploration())),
            estimates: if alone { 0 } else { FIRST_ESTIMATES },
        };
        let mut before = Figures::default();
        let loaded = self.take_up(|from| {
            before = Figures::load(from)?;
            turns.estimates = from.word()?;
            let with_width = from.word()? != 0;
            turns.lazy.load(from)?;
            if with_width {
                let mut width = Width::new(space, relaxed.exploration());
                width.load(from)?;
                turns.width = Some(width);
            } else {
                turns.width = None;
            }
            Ok(())
        })?;
        if loaded.is_some() {
            self.say("continuing the searches of the run");
        }
        let share = match alone {
            true => planner.governor.clone(),
            false => planner.governor.part(planner.governor.limit() / WIDTH_SHARE),
        };
        let mut width_watch = Watch::new(planner.control, &share, u64::MAX);
        if !alone {
            self.say("lazy greedy with h^FF and landmarks, steps");
        }
        let mut figures = before;
        let mut told = false;
        let end = loop {
            let most = if turns.width.is_some() { turns.estimates } else { u64::MAX };
            let mut watch = self.watch(most);
            if !alone {
                match turns.lazy.go_on(&mut watch, &mut figures) {
                    End::Stopped(StopReason::Incomplete) if turns.width.is_some() => {}
                    end => break end,
                }
            }
            if !std::mem::replace(&mut told, true) {
                self.say(if alone { "width search" } else { "width search, in turns" });
            }
            let work = if alone { u64::MAX } else { turns.lazy.work() };
            if let Some(search) = &mut turns.width {
                match search.go_on(work, &mut width_watch, &mut self.outcome.figures) {
                    End::Stopped(StopReason::Incomplete) => {}
                    // Estimates may know more; this one had its share.
                    End::Stopped(StopReason::Memory { .. } | StopReason::CostBound) if !alone => {
                        turns.width = None;
                    }
                    end => break end,
                }
            }
            turns.estimates *= 2;
        };
        self.outcome.figures.add(figures);
        if let End::Stopped(reason) = &end
            && !external::wants_memory(reason)
        {
            self.keep(reason, (Stage::First, None), |to| {
                figures.save(to)?;
                turns.save(to)
            });
        }
        Ok(end)
    }

    /// Searches for better plans until the limit, or for as long as it took to find the first a few times over.
    pub(crate) fn improve(&mut self) -> Result<(), PlanError> {
        let space = self.space;
        let mut left = match self.planner.control.limits.time {
            Some(_) => u64::MAX,
            None => (self.outcome.figures.evaluated * IMPROVING).max(LEAST_IMPROVING),
        };
        let steps_only = (0..space.task().rows.len() as u32).all(|row| space.fixed_cost(row) == Some(1));
        let kind = if steps_only { CostKind::Unit } else { CostKind::PlusOne };
        let greedy = if steps_only { None } else { Some(None) };
        let mut manners: Vec<Option<u32>> = greedy.into_iter().chain(WEIGHTS.into_iter().map(Some)).collect();
        manners.reverse();
        while let Some(weight) = manners.pop() {
            let Some(plan) = &self.outcome.plan else { return Ok(()) };
            let bound = units(space, &plan.rows);
            if bound == 0 {
                // Nothing costs less than nothing.
                self.outcome.optimal = true;
                return Ok(());
            }
            let manner = Manner { weight, plus_one: !steps_only, bound };
            let mut figures = Figures::default();
            let end = self.lazily(kind, manner, left, &mut figures);
            left = left.saturating_sub(figures.evaluated);
            self.outcome.figures.add(figures);
            self.say(match weight {
                None => "lazy greedy, costs".to_owned(),
                Some(weight) => format!("lazy weighted A*, weight {weight}"),
            });
            match end {
                End::Plan(rows) => {
                    self.take(rows, None)?;
                    // The last search goes on until there is nothing better.
                    if manners.is_empty() {
                        manners.push(weight);
                    }
                }
                // Everything that costs less was looked at, cheaper ways to states included.
                End::Exhausted if weight.is_some() => {
                    self.outcome.optimal = true;
                    return Ok(());
                }
                End::Exhausted => {}
                End::Stopped(_) => return Ok(()),
            }
        }
        Ok(())
    }

    /// h^FF and landmark counts, for as long as the reservations are held.
    fn lazy_guides(
        &self,
        kind: CostKind,
    ) -> Result<(RelaxedGuide<'a>, LandmarkCount, [Reservation; 2]), StopReason> {
        let (relaxed, held) = self.relaxed(kind, Relaxation::Plan)?;
        let most = (self.planner.governor.limit() / LANDMARK_SHARE).min(MOST_LANDMARK_BYTES);
        let (landmarks, with) = self.reserved(0, || LandmarkCount::new(relaxed.task(), most))?;
        Ok((relaxed, landmarks, [held, with]))
    }

    fn lazily(&self, kind: CostKind, manner: Manner, most: u64, figures: &mut Figures) -> End {
        let (relaxed, landmarks, _held) = match self.lazy_guides(kind) {
            Ok(made) => made,
            Err(reason) => return End::Stopped(reason),
        };
        let guides = Guides { relaxed: relaxed.exploration(), landmarks: &landmarks };
        let mut watch = self.watch(most);
        Lazy::new(self.space, guides, manner).go_on(&mut watch, figures)
    }
}

/// What rows cost together, in the space's units.
pub(crate) fn units(space: &RowSpace, rows: &[u32]) -> u32 {
    let mut worker = space.row_worker();
    let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
    let mut sum = 0u32;
    for &row in rows {
        if let Firing::Reached(cost) = worker.fire(&state, row, &mut next) {
            sum = sum.saturating_add(cost);
            std::mem::swap(&mut state, &mut next);
        }
    }
    sum
}
