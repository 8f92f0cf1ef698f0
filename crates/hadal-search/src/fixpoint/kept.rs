//! What a pass keeps in its run between sweeps and inside them: sets of states and the point it has reached.
//!
//! A set only grows or only shrinks towards its fixpoint, so it may be kept at any moment: a pass that goes on from it
//! begins its sweep anew and ends with the same set.

use super::bits::Bits;
use super::closed::Closed;
use super::hull::LOOP;
use super::pass::{Early, Pass};
use crate::layered::Trouble;
use crate::layered::ledger::Ledger;
use hadal_store::Disk;
use hadal_store::manifest::{read_words, write_words};
use hadal_system::PropertyId;
use serde::{Deserialize, Serialize};
use std::sync::Mutex;

/// How far a pass has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Point {
    /// What is being answered; what comes before is.
    pub(super) property: u32,
    /// The step, in the words of whoever answers.
    pub(super) step: u32,
    /// The acceptance set looked at.
    pub(super) set: u32,
    /// States in the set when the round began.
    pub(super) before: u64,
}

impl Point {
    pub(super) fn of(property: PropertyId) -> Self {
        Point { property: property.0, step: 0, set: 0, before: 0 }
    }
}

/// Sets of states in a run.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Kept {
    point: Point,
    /// Numbers are smaller than this; how states are numbered.
    size: u64,
    numbering: String,
    /// The files of the sets, with checksums.
    sets: Vec<(String, u64)>,
}

/// Whether the pass that a run was left in had found that there is an accepted run.
pub(crate) fn knows_a_run(ledger: &Ledger) -> bool {
    let kept = ledger.beside().and_then(|bytes| serde_json::from_slice::<Kept>(bytes).ok());
    kept.is_some_and(|kept| kept.point.step == LOOP)
}

/// When sets are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// If enough time has passed.
    InTime,
    /// Now.
    Always,
}

/// Keeps sets in a run.
pub(crate) struct Keeper<'l> {
    ledger: Mutex<&'l mut Ledger>,
    /// How states are numbered: sets of another numbering mean nothing.
    numbering: &'static str,
}

impl<'l> Keeper<'l> {
    pub(crate) fn new(ledger: &'l mut Ledger, numbering: &'static str) -> Self {
        Keeper { ledger: Mutex::new(ledger), numbering }
    }

    /// The disk of the run.
    pub(super) fn disk(&self) -> Disk {
        self.ledger.lock().unwrap_or_else(|e| e.into_inner()).disk().clone()
    }
}

impl<C: Closed> Pass<'_, C> {
    /// Keeps the sets where there is a run to keep them in.
    pub(super) fn keep(&self, point: Point, sets: &[&Bits], due: Due) -> Result<(), Early> {
        let Some(keeper) = self.keeper else { return Ok(()) };
        let mut ledger = keeper.ledger.lock().unwrap_or_else(|e| e.into_inner());
        if due == Due::InTime && !ledger.is_due() {
            return Ok(());
        }
        match self.write(&mut ledger, keeper.numbering, point, sets) {
            // What was kept before stands, and the pass needs no room to go on.
            Err(trouble) if trouble.is_disk_full() => Ok(()),
            other => Ok(other?),
        }
    }

    fn write(
        &self,
        ledger: &mut Ledger,
        numbering: &'static str,
        point: Point,
        sets: &[&Bits],
    ) -> Result<(), Trouble> {
        let mut files = Vec::new();
        let mut kept =
            Kept { point, size: self.closed.size(), numbering: numbering.to_owned(), sets: Vec::new() };
        for set in sets {
            let (file, checksum) = write_words(ledger.disk(), set.words())?;
            kept.sets.push((file.name.clone(), checksum));
            files.push(file);
        }
        ledger.commit_beside(files, serde_json::to_vec(&kept)?)
    }

    fn kept(&self) -> Option<Kept> {
        let keeper = self.keeper?;
        let ledger = keeper.ledger.lock().unwrap_or_else(|e| e.into_inner());
        let kept: Kept = serde_json::from_slice(ledger.beside()?).ok()?;
        (kept.size == self.closed.size() && kept.numbering == keeper.numbering).then_some(kept)
    }

    /// What was answered before this run was killed: the properties before this one hold.
    pub(super) fn answered_before(&self) -> Option<u32> {
        self.kept().map(|kept| kept.point.property)
    }

    /// The point at which an earlier sitting left this property, with the first of its sets.
    pub(super) fn take_up(&self, property: PropertyId, set: &Bits) -> Result<Option<Point>, Early> {
        let Some(kept) = self.kept().filter(|kept| kept.point.property == property.0) else {
            return Ok(None);
        };
        Ok(self.read_set(&kept, 0, set)?.then_some(kept.point))
    }

    /// Reads a further set that was kept at exactly this point, where there is one.
    pub(super) fn take_up_further(&self, point: Point, set: &Bits) -> Result<(), Early> {
        if let Some(kept) = self.kept().filter(|kept| kept.point == point && kept.sets.len() > 1) {
            self.read_set(&kept, 1, set)?;
        }
        Ok(())
    }

    /// Whether it is there and whole; where it is not, the set is empty.
    fn read_set(&self, kept: &Kept, n: usize, set: &Bits) -> Result<bool, Early> {
        let (Some((name, checksum)), Some(keeper)) = (kept.sets.get(n), self.keeper) else {
            return Ok(false);
        };
        let disk = keeper.disk();
        let mut at = 0;
        let read = read_words(&disk, (name, *checksum), |word| {
            set.put_word(at, word);
            at += 1;
        });
        if let Err(damage) = read {
            self.task.control.warn(format!("{damage}; looking for runs from the beginning"));
            set.clear_all();
            return Ok(false);
        }
        Ok(true)
    }
}
