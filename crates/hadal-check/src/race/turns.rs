//! How far the turns of a race go, and the two searches that are stepped turn by turn: breadth-first, and depth-first.

use hadal_search::layered::Trouble;
use hadal_search::{Explorer, Method, Phase, Progress, Report, Setting, Verdict};
use std::sync::atomic::{AtomicBool, Ordering};

/// The first turn of breadth-first search is this part of the guided search's; that of depth-first search this one, in percent.
const FIRST_SHARE: u64 = 8;
const DEPTH_START_PERCENT: u64 = 50;
/// What the guided search may do for every hundred that breadth-first search does, once its start is used up.
const GUIDED_PERCENT: u64 = 6;
/// The same of depth-first search.
const DEPTH_PERCENT: u64 = 8;
/// The work of a step within a turn: interrupts are looked at between them.
pub(super) const SLICE: u64 = 20_000_000;
/// What a transition and a state of breadth-first search count as while its states are on disk, in nanoseconds, about.
const TRANSITION_WORK: u64 = 80;
const STATE_WORK: u64 = 40;

/// How far turns go.
#[derive(Clone, Copy, Debug)]
pub(super) struct Turns {
    /// The work of the guided search's first turn.
    pub(super) start: u64,
}

impl Turns {
    /// What the guided search may have done at the end of its turn `n`, from 0.
    pub(super) fn guided_quota(&self, n: usize) -> u64 {
        let share = |before| self.blind_quota(before) / 100 * GUIDED_PERCENT;
        self.start.saturating_add(n.checked_sub(1).map_or(0, share))
    }

    /// What depth-first search may have done at the end of its turn `n`, from 0.
    pub(super) fn depth_quota(&self, n: usize) -> u64 {
        let share = |before| self.blind_quota(before) / 100 * DEPTH_PERCENT;
        (self.start / 100 * DEPTH_START_PERCENT).saturating_add(n.checked_sub(1).map_or(0, share))
    }

    /// What breadth-first search may have done at the end of its turn `n`, from 0: a quarter more than before.
    pub(super) fn blind_quota(&self, n: usize) -> u64 {
        let first = (self.start / FIRST_SHARE).max(1);
        (0..n).fold(first, |quota, _| quota.saturating_add(quota / 4).saturating_add(1))
    }
}

/// What a turn of breadth-first search came to.
pub(super) enum Turn {
    /// It goes on; how it stood.
    Mark(Progress),
    /// It is over.
    Over(Box<Report>),
    Failed(Trouble),
}

/// Breadth-first search to be made in turns, by the method that would explore everything.
#[derive(Clone, Copy)]
pub(super) struct Blind<'a> {
    pub(super) turns: Turns,
    pub(super) method: &'a dyn Method,
    pub(super) setting: Setting<'a>,
}

impl<'a> Blind<'a> {
    pub(super) fn begin(self) -> Result<BlindSearch<'a>, Trouble> {
        Ok(BlindSearch { turns: self.turns, made: 0, explorer: Some(self.method.explorer(self.setting)?) })
    }

    /// One turn after the other until it is over, or the race is.
    pub(super) fn all(self, is_over: &AtomicBool) -> impl Iterator<Item = Turn> {
        let mut search = Some(self.begin());
        std::iter::from_fn(move || {
            if is_over.load(Ordering::Relaxed) {
                return None;
            }
            let turn = match search.as_mut()? {
                Ok(search) => search.turn(&|| is_over.load(Ordering::Relaxed)),
                Err(_) => match search.take()? {
                    Err(trouble) => Turn::Failed(trouble),
                    Ok(_) => return None,
                },
            };
            if !matches!(turn, Turn::Mark(_)) {
                search = None;
            }
            Some(turn)
        })
    }
}

/// Breadth-first search under way.
pub(super) struct BlindSearch<'a> {
    pub(super) turns: Turns,
    /// Turns that it has done.
    pub(super) made: usize,
    pub(super) explorer: Option<Box<dyn Explorer + 'a>>,
}

impl BlindSearch<'_> {
    /// Its next turn, or a part of it where the race is over. A turn ends before the layer that goes beyond it.
    pub(super) fn turn(&mut self, is_over: &dyn Fn() -> bool) -> Turn {
        let quota = self.turns.blind_quota(self.made);
        self.made += 1;
        self.until(quota, is_over)
    }

    pub(super) fn until(&mut self, quota: u64, is_over: &dyn Fn() -> bool) -> Turn {
        loop {
            let Some(explorer) = &mut self.explorer else {
                return Turn::Failed(Trouble::NothingToResume);
            };
            let now = explorer.progress();
            if is_over() {
                return Turn::Mark(now);
            }
            if now.phase == Phase::Over {
                let finished = self.explorer.take().map(|explorer| explorer.finish());
                return match finished {
                    Some(Ok(explored)) => Turn::Over(Box::new(explored.report)),
                    Some(Err(trouble)) => Turn::Failed(trouble),
                    None => Turn::Failed(Trouble::NothingToResume),
                };
            }
            if now.phase == Phase::Between && done(&now).saturating_add(ahead(&now)) >= quota {
                return Turn::Mark(now);
            }
            if let Err(trouble) = explorer.step(quota.saturating_sub(done(&now)).clamp(1, SLICE)) {
                return Turn::Failed(trouble);
            }
        }
    }
}

/// What breadth-first search has done. On disk the bytes it moved, which depend on threads, do not count.
fn done(now: &Progress) -> u64 {
    if now.disk == 0 { now.work } else { now.transitions * TRANSITION_WORK + now.states * STATE_WORK }
}

/// What its next layer will take: as much more as the search itself expects.
fn ahead(now: &Progress) -> u64 {
    let scaled = u128::from(now.ahead) * u128::from(done(now)) / u128::from(now.work.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// Depth-first search under way, which runs beside the other two.
pub(super) struct DepthSearch<'a> {
    explorer: Option<Box<dyn Explorer + 'a>>,
    made: usize,
    /// States and transitions that it has seen.
    pub(super) seen: (u64, u64),
}

impl<'a> DepthSearch<'a> {
    pub(super) fn new(explorer: Option<Box<dyn Explorer + 'a>>) -> Self {
        DepthSearch { explorer, made: 0, seen: (0, 0) }
    }

    /// Its next turn. What it found, if anything; where it ends without, it has no more turns.
    pub(super) fn turn(&mut self, turns: Turns) -> Result<Option<Report>, Trouble> {
        let quota = turns.depth_quota(self.made);
        self.made += 1;
        while let Some(explorer) = &mut self.explorer {
            let now = explorer.progress();
            self.seen = (now.states, now.transitions);
            if now.phase == Phase::Over {
                let finished = self.explorer.take().map(|explorer| explorer.finish()).transpose()?;
                let found = finished.map(|explored| explored.report);
                return Ok(found.filter(|report| matches!(report.verdict, Verdict::Violated(_))));
            }
            if now.work >= quota {
                break;
            }
            explorer.step((quota - now.work).min(SLICE))?;
        }
        Ok(None)
    }
}
