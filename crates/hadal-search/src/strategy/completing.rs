//! Traces that lead back into deleted layers: the search is repeated for what lies there (Lamborn and Hansen 2006).
//!
//! A repeated search keeps beside every state its ancestor halfway: then one search halves what is missing, and each half is
//! looked for in the same way, the second from that ancestor alone (divide and conquer, as frontier search does it: Korf et
//! al. 2005). Without that, a search finds as many steps as layers are kept, and takes nearly the whole time for it.

use super::{Layering, Strategy};
use crate::control::{Limits, WhenFull};
use crate::exchange::Alone;
use crate::explore::Setting;
use crate::lane::SearchTask;
use crate::layered::Trouble;
use crate::layered::journal::Journal;
use crate::layered::path;
use crate::layered::sorted::LAYERED;
use crate::layered::sweep::Keep;
use crate::report::{DeadlockNotion, Proviso, Question, Report, StopReason, Verdict};
use hadal_store::error::ReadError;
use hadal_store::vfs::Disk;
use hadal_system::{Label, Merge, Payload, StateSpace, Successors, Worker, WrapsSpace, WrapsWorker};

/// Layers that a search in an undirected graph keeps to visit every state once.
const UNMARKED_LAYERS: u64 = 3;

/// Finds, by repeating the search, what lies in deleted layers before the path of what was found, which begins at this depth.
pub(crate) fn complete_path(
    setting: Setting,
    disk: &Disk,
    report: &mut Report,
    begins_at: usize,
) -> Result<(), Trouble> {
    let again = Again { setting, disk, keep: Keep::ALL };
    again.complete(report, begins_at)
}

impl Layering<'_> {
    /// Prepends what lies in deleted layers to the path of a violation.
    pub(super) fn complete(&self, disk: &Disk, report: &mut Report, begins_at: usize) -> Result<(), Trouble> {
        let mut keep = Keep { diameter: None, ..self.strategy.keep() };
        if self.setting.task.space.payload().merge == Merge::Union {
            // Without its marks it goes back and forth between fewer layers.
            keep.layers = keep.layers.map(|layers| layers.max(UNMARKED_LAYERS));
        }
        Again { setting: self.setting, disk, keep }.complete(report, begins_at)
    }
}

/// Repeats a search.
struct Again<'a> {
    setting: Setting<'a>,
    disk: &'a Disk,
    keep: Keep,
}

/// A part of a path that is looked for: from an initial state, or this one, to a state so many steps away.
struct Gap {
    from: Option<Vec<u64>>,
    to: Vec<u64>,
    steps: usize,
}

impl Again<'_> {
    /// Interrupted before the path is whole, the search stopped.
    fn complete(&self, report: &mut Report, begins_at: usize) -> Result<(), Trouble> {
        let Verdict::Violated(violation) = &mut report.verdict else { return Ok(()) };
        if begins_at == 0 {
            return Ok(());
        }
        let gap = Gap { from: None, to: violation.path.remove(0), steps: begins_at };
        match self.close(gap) {
            Err(trouble) if trouble.is_stop() => {
                report.verdict = Verdict::Stopped(StopReason::Interrupted);
                report.proviso = Some(Proviso::WrongSeen);
                Ok(())
            }
            Err(trouble) => Err(trouble),
            Ok(before) => {
                violation.path.splice(0..0, before);
                Ok(())
            }
        }
    }

    /// The states from one end of the gap to the other.
    fn close(&self, gap: Gap) -> Result<Vec<Vec<u64>>, Trouble> {
        if gap.steps == 0 {
            return Ok(vec![gap.to]);
        }
        // What a space keeps itself leaves no room beside its states.
        let payload = self.setting.task.space.payload();
        let halves = payload.words == 0 || payload.merge == Merge::Union;
        let (path, ancestor) = match self.look(&gap, halves) {
            Err(trouble) if halves && trouble.over_budget().is_some() => self.look(&gap, false)?,
            other => other?,
        };
        let begins_at = gap.steps + 1 - path.len();
        if begins_at == 0 {
            return Ok(path);
        }
        let mut path = path.into_iter();
        let Some(first) = path.next() else { return Ok(Vec::new()) };
        let mut whole = match ancestor {
            Some((at, ancestor)) => {
                let before = Gap { from: gap.from, to: ancestor.clone(), steps: at };
                let after = Gap { from: Some(ancestor), to: first, steps: begins_at - at };
                let mut whole = self.close(before)?;
                whole.extend(self.close(after)?.into_iter().skip(1));
                whole
            }
            None => self.close(Gap { from: gap.from, to: first, steps: begins_at })?,
        };
        whole.extend(path);
        Ok(whole)
    }

    /// The end of a gap's path, as far as layers are kept, and an ancestor of its first state, at this depth, where that is
    /// asked for and known.
    #[allow(clippy::type_complexity, reason = "a path, and perhaps a state with its depth")]
    fn look(&self, gap: &Gap, halves: bool) -> Result<(Vec<Vec<u64>>, Option<(usize, Vec<u64>)>), Trouble> {
        let question = Question { deadlock: DeadlockNotion::Off, asked: Vec::new() };
        let Setting { task, governor, threads, .. } = self.setting;
        let when_full = task.control.limits.when_full;
        let limits = Limits { max_depth: Some(gap.steps as u64), when_full, ..Limits::default() };
        // It stops when the search it serves is asked to.
        let control = task.control.part(limits);
        let at = gap.steps / 2;
        let space = Relayed { space: task.space, from: gap.from.as_deref(), at: halves.then_some(at as u64) };
        let task = SearchTask { space: &space, question: &question, control: &control };
        let mut keep = self.keep;
        if when_full == WhenFull::DeleteLayers {
            // The disk was too small for all layers, and still is.
            let free = self.disk.vfs.free_bytes().unwrap_or(0) / 4;
            keep.bytes = Some(keep.bytes.map_or(free, |bytes| bytes.min(free)));
        }
        let setting = Setting { task, ..self.setting };
        let layering = Layering { setting, strategy: &Strategy::by(&LAYERED), exchange: &Alone };
        let mut sweep = layering.begin(self.disk, None)?.keeping(keep);
        sweep.run()?;
        if control.is_interrupted() {
            return Err(ReadError::Stopped.into());
        }
        let journal = sweep.into_journal();
        let end = (gap.steps, gap.to.clone());
        let path = path::shortest_at_once(task, (&journal, threads), end, governor)?;
        let begins_at = gap.steps + 1 - path.len();
        let ancestor = match halves && begins_at > at && at > 0 {
            true => ancestor(&journal, begins_at, &path[0])?,
            false => None,
        };
        Ok((path, ancestor.map(|ancestor| (at, ancestor))))
    }
}

/// What a state in this layer of the journal keeps of its ancestor.
fn ancestor(journal: &Journal, depth: usize, state: &[u64]) -> Result<Option<Vec<u64>>, Trouble> {
    Ok(path::payload_of(journal, depth, state)?.map(|payload| payload[1..].to_vec()))
}

/// A space in which every state keeps its depth and, where that is deeper than a layer in between, an ancestor in that layer.
struct Relayed<'s> {
    space: &'s dyn StateSpace,
    /// The only initial state, where it is not those of the space.
    from: Option<&'s [u64]>,
    /// The layer in between.
    at: Option<u64>,
}

struct RelayedWorker<'s> {
    worker: Box<dyn Worker + 's>,
    space: &'s Relayed<'s>,
}

impl WrapsSpace for Relayed<'_> {
    fn inner(&self) -> &dyn StateSpace {
        self.space
    }
    fn payload(&self) -> Payload {
        match self.at {
            Some(_) => Payload { words: 1 + self.space.words(), merge: Merge::Least },
            None => self.space.payload(),
        }
    }
    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(RelayedWorker { worker: self.space.worker(), space: self })
    }
}

impl WrapsWorker for RelayedWorker<'_> {
    fn inner(&self) -> &dyn Worker {
        &*self.worker
    }
    fn inner_mut(&mut self) -> &mut dyn Worker {
        &mut *self.worker
    }
    fn initial(&mut self, out: &mut Successors) {
        match self.space.from {
            Some(state) => out.push(Label(0), state),
            None => self.worker.initial(out),
        }
    }
    fn payloads(
        &mut self,
        from: Option<(&[u64], &[u64])>,
        (out, first): (&mut Successors, usize),
        payloads: &mut Vec<u64>,
    ) {
        let Some(at) = self.space.at else { return self.worker.payloads(from, (out, first), payloads) };
        for _ in first..out.len() {
            match from {
                None => payloads.resize(payloads.len() + 1 + self.space.space.words(), 0),
                Some((state, payload)) => {
                    payloads.push(payload[0] + 1);
                    payloads.extend_from_slice(if payload[0] == at { state } else { &payload[1..] });
                }
            }
        }
    }
}
