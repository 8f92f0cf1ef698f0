//! The default: a table in RAM while it fits, then a decision diagram, then sorted runs on disk. Nothing is explored
//! twice when the storage changes, and a search that stops leaves a run to be resumed.

mod moving;
mod portions;

use crate::exchange::Alone;
use crate::explore::{Explored, Explorer, Method, Payloads, Phase, Progress, Run, Setting};
use crate::fixpoint::{Following, Seeing};
use crate::layered::Trouble;
use crate::layered::ledger::RunRecord;
use crate::layered::room;
use crate::layered::sweep::Sweep;
use crate::ram::breadth::BreadthWalk;
use crate::ram::layer::LayerEnd;
use crate::report::{Report, StopReason, Verdict};
use crate::run::out_of_memory;
use crate::strategies::Resumes;
use crate::strategy::complete_path;
use moving::Moved;
pub(crate) use moving::{First, Moving};

/// The default strategy: breadth-first, moving from one storage to the next as the budget demands.
#[derive(Clone, Copy, Debug, Default)]
pub struct Auto;

impl Method for Auto {
    fn begin<'a>(&'a self, setting: Setting<'a>) -> Result<Box<dyn Explorer + 'a>, Trouble> {
        let moving = Moving { setting, exchange: &Alone, first: First::Diagram };
        let at = match setting.run {
            Run::Resumed(_) => {
                let ledger = setting.run.open()?;
                let record = ledger.record().ok_or(Trouble::NothingToResume)?;
                At::Layers(Following::new(moving.go_on(ledger, record, (room::Disk::Untried, Vec::new()))?))
            }
            _ => {
                let table = setting.governor.part(moving.table_bytes());
                At::Table(Following::new(
                    BreadthWalk::new(setting.task, &table, setting.threads)?.moving_on(),
                ))
            }
        };
        Ok(Box::new(AutoExplorer { moving, at, payload: None }))
    }

    fn payloads(&self) -> Payloads {
        Payloads::Merged
    }
}

/// A search under way.
struct AutoExplorer<'a> {
    moving: Moving<'a>,
    at: At<'a>,
    /// What is kept beside the state that is wrong.
    payload: Option<Vec<u64>>,
}

/// Where its states are.
enum At<'a> {
    Table(Following<'a, BreadthWalk<'a>>),
    Layers(Following<'a, Sweep<'a>>),
    /// It is over.
    Nowhere(Box<Report>),
}

impl Explorer for AutoExplorer<'_> {
    fn step(&mut self, work: u64) -> Result<Progress, Trouble> {
        match &mut self.at {
            At::Table(walk) => {
                if walk.go_on(work)? {
                    self.leave_table()?;
                }
            }
            At::Layers(sweep) => {
                if sweep.go_on(work)? {
                    self.make_room()?;
                }
            }
            At::Nowhere(_) => {}
        }
        Ok(self.progress())
    }

    fn progress(&self) -> Progress {
        match &self.at {
            At::Table(walk) => walk.progress(),
            At::Layers(sweep) => sweep.progress(),
            At::Nowhere(report) => Progress {
                phase: Phase::Over,
                depth: report.depth,
                states: report.states,
                transitions: report.transitions,
                disk: report.disk.map_or(0, |disk| disk.bytes),
                ..Progress::NOTHING
            },
        }
    }

    fn finish(mut self: Box<Self>) -> Result<Explored, Trouble> {
        if let At::Table(_) = &self.at {
            self.leave_table()?;
        }
        let report = match self.at {
            At::Nowhere(report) => *report,
            At::Layers(sweep) => {
                let mut sweep = sweep.end()?;
                sweep.interrupt()?;
                self.payload = sweep.take_payload();
                let (begins_at, disk) = (sweep.path_begins_at(), sweep.disk().clone());
                let mut report = sweep.report();
                drop(sweep);
                complete_path(self.moving.setting, &disk, &mut report, begins_at)?;
                report
            }
            // It was left above.
            At::Table(_) => self.moving.nothing(),
        };
        Ok(Explored { payload: self.payload, ..Explored::leaving(report, Resumes::Layers) })
    }

    fn finish_with(mut self: Box<Self>, verdict: Verdict) -> Result<Explored, Trouble> {
        self.decide(verdict)?;
        self.finish()
    }
}

impl AutoExplorer<'_> {
    /// Puts an answer about infinite runs in the place of looking for one.
    fn decide(&mut self, verdict: Verdict) -> Result<(), Trouble> {
        let idle = At::Nowhere(Box::new(self.moving.nothing()));
        self.at = match std::mem::replace(&mut self.at, idle) {
            At::Table(walk) => At::Nowhere(Box::new(walk.end()?.report(verdict))),
            At::Layers(sweep) => {
                let mut sweep = sweep.end()?;
                sweep.decide(verdict)?;
                At::Nowhere(Box::new(sweep.report()))
            }
            nowhere => nowhere,
        };
        Ok(())
    }

    /// What follows the table: another storage where it is full, what is kept for later where the search stopped.
    fn leave_table(&mut self) -> Result<(), Trouble> {
        let idle = At::Nowhere(Box::new(self.moving.nothing()));
        let At::Table(walk) = std::mem::replace(&mut self.at, idle) else { return Ok(()) };
        let mut walk = walk.end()?;
        let moving = self.moving;
        self.payload = walk.take_payload();
        if !matches!(walk.ended(), Some(LayerEnd::Whole | LayerEnd::Decided(_))) && !walk.has_more() {
            walk.close_layer();
        }
        self.at = match walk.ended() {
            Some(LayerEnd::Decided(Verdict::Stopped(_))) => {
                let report = walk.report(walk.verdict());
                let (begun, _) = walk.into_begun();
                moving.after_table(begun, report)?
            }
            Some(LayerEnd::Whole | LayerEnd::Decided(_)) => {
                At::Nowhere(Box::new(walk.report(walk.verdict())))
            }
            Some(&LayerEnd::Full(_, full)) => {
                let mut so_far = walk.report(Verdict::Stopped(StopReason::DiskFull));
                let (begun, left) = walk.into_begun();
                if begun.ranges.len() < 2 {
                    // Without room for the initial states there is no search.
                    so_far.verdict = Verdict::Stopped(out_of_memory(full));
                    At::Nowhere(Box::new(so_far))
                } else {
                    match moving.leave_table(begun, &left) {
                        // Not even what is in the table fits there.
                        Err(trouble) if trouble.is_disk_full() => At::Nowhere(Box::new(so_far)),
                        Err(trouble) => return Err(trouble),
                        Ok(Moved::To(sweep)) => At::Layers(Following::new(*sweep)),
                        Ok(Moved::Stopped(disk)) => {
                            let reason = moving.setting.task.control.must_stop(so_far.states);
                            so_far.verdict = Verdict::Stopped(reason.unwrap_or(StopReason::Interrupted));
                            so_far.disk = Some(*disk);
                            At::Nowhere(Box::new(so_far))
                        }
                    }
                }
            }
            Some(LayerEnd::Stopped(_)) | None => {
                let mut report = walk.report(walk.verdict());
                let (mut begun, _) = walk.into_begun();
                begun.table.drop_index();
                report.disk = moving.keep_for_later(&begun, &report)?;
                At::Nowhere(Box::new(report))
            }
        };
        Ok(())
    }

    /// Where the disk is full and old layers may go, goes on without them.
    fn make_room(&mut self) -> Result<(), Trouble> {
        let At::Layers(sweep) = &mut self.at else { return Ok(()) };
        let Some(sweep) = sweep.search() else { return Ok(()) };
        let Some((ledger, record)) = sweep.may_make_room() else { return Ok(()) };
        let (stages, seconds) = sweep.take_past();
        // Its memory is needed for the next.
        self.at = At::Nowhere(Box::new(self.moving.nothing()));
        let record = RunRecord { seconds, ..record };
        let sweep = self.moving.go_on(ledger, record, (room::Disk::Full, stages))?;
        self.at = At::Layers(Following::new(sweep));
        Ok(())
    }
}
