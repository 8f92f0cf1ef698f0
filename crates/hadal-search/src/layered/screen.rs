//! A filter in front of the closed set on disk: candidates that are certainly new are not looked for there.
//!
//! It decides nothing else. Made when there is memory for it and closed states to be found in vain, and given up once it
//! is so full that it tells little.

use super::Trouble;
use super::closed_set::{ClosedPass, ClosedSet};
use hadal_store::error::ReadError;
use hadal_store::filter::NewnessFilter;
use hadal_store::merge::ClosedFilter;
use hadal_store::shape::Records;
use hadal_store::{Bitmap, Governor};
use hadal_system::state::hash;
use std::sync::atomic::{AtomicU64, Ordering};

/// Closed states on disk from which on a filter is worth its making.
const WORTH_IT: u64 = 1 << 12;
/// Bits for each closed state: so many when it is made at least, and then so many when it is given up (half of the new
/// states are still told).
const BITS_AT_FIRST: u64 = 5;
const BITS_AT_LAST: u64 = 2;

pub(crate) struct Screen {
    filter: NewnessFilter,
    /// States it was told of.
    noted: AtomicU64,
}

impl Screen {
    /// A filter of at most `most` bytes that knows the closed states, where that makes sense now.
    pub(crate) fn of(closed: &ClosedSet, most: u64, governor: &Governor) -> Result<Option<Self>, Trouble> {
        // Merging needs memory too.
        let bytes = most.min(governor.available() / 2);
        let noted = closed.states();
        if closed.records() < WORTH_IT || noted * BITS_AT_FIRST > 8 * bytes {
            return Ok(None);
        }
        let Ok(filter) = NewnessFilter::new(bytes, governor) else { return Ok(None) };
        closed.each(&mut |state| {
            filter.add(hash(state));
        })?;
        Ok(Some(Screen { filter, noted: AtomicU64::new(noted) }))
    }

    /// Whether it is too full to be of use.
    pub(crate) fn is_worn(&self) -> bool {
        self.noted() * BITS_AT_LAST > 8 * self.filter.bytes()
    }

    fn noted(&self) -> u64 {
        self.noted.load(Ordering::Relaxed)
    }

    fn note(&self, states: usize) {
        self.noted.fetch_add(states as u64, Ordering::Relaxed);
    }

    /// A pass that asks `pass` about candidates that may be closed. All of them are closed from now on. Threads may have one
    /// each, for different candidates.
    pub(crate) fn over<'a, 's>(&'a self, pass: &'a mut ClosedPass<'s>) -> ScreenedPass<'a, 's> {
        ScreenedPass { screen: self, pass, certain: Vec::new() }
    }
}

pub(crate) struct ScreenedPass<'a, 's> {
    screen: &'a Screen,
    pass: &'a mut ClosedPass<'s>,
    /// Numbers of the candidates that are new.
    certain: Vec<usize>,
}

impl ClosedFilter for ScreenedPass<'_, '_> {
    fn mark(&mut self, candidates: Records<'_>, present: &mut Bitmap) -> Result<u64, ReadError> {
        self.certain.clear();
        for at in (0..candidates.len()).filter(|&at| !present.get(at)) {
            if self.screen.filter.add(hash(candidates.state(at))) {
                self.certain.push(at);
            }
        }
        if self.certain.len() == candidates.len() {
            self.screen.note(candidates.len());
            return Ok(0);
        }
        // What is marked is not looked for.
        self.certain.iter().for_each(|&at| present.set(at));
        let found = self.pass.mark(candidates, present)?;
        self.certain.iter().for_each(|&at| present.clear(at));
        self.screen.note(candidates.len() - present.count_ones());
        Ok(found)
    }

    fn comparisons(&self) -> u64 {
        self.pass.comparisons()
    }
}

#[cfg(test)]
mod tests {
    use super::super::detector::LayerView;
    use super::*;
    use hadal_store::levels::LevelPolicy;
    use hadal_store::run::RunOptions;
    use hadal_store::shape::RecordShape;
    use hadal_store::vfs::{Disk, Folder, IoThreads, at_once};
    use hadal_system::Ascending;
    use std::sync::Arc;

    fn disk(folder: &tempfile::TempDir) -> Disk {
        let vfs = Arc::new(Folder::create(folder.path()).unwrap());
        Disk::new(vfs, IoThreads::new(1), Governor::new(8 << 20), 0)
    }

    #[test]
    fn what_is_closed_is_found_and_little_else_is_looked_for() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder);
        let shape = RecordShape::states(1);
        let policy = LevelPolicy::Merging { ratio: 3 };
        let mut closed = ClosedSet::new(&disk, RunOptions::new(shape, 7), policy, 1 << 10);
        let even: Vec<u64> = (0..20_000).map(|n| 2 * n).collect();
        for (depth, layer) in even.chunks(1000).enumerate() {
            at_once(closed.add(depth as u64, LayerView::States(Ascending::new(1, layer)))).unwrap();
        }
        let screen = Screen::of(&closed, 64 << 10, &disk.governor).unwrap().expect("there is room");
        let candidates: Vec<u64> = (30_000..50_000).collect();
        let mut present = Bitmap::new(candidates.len());
        let mut pass = closed.filter(0).unwrap();
        let mut screened = screen.over(&mut pass);
        let found = screened.mark(Records::new(shape, &candidates), &mut present).unwrap();
        assert!(screened.certain.len() > 14_000, "{} of 15,000 new ones are told", screened.certain.len());
        assert_eq!(found, 5_000);
        for (at, &state) in candidates.iter().enumerate() {
            assert_eq!(present.get(at), state % 2 == 0 && state < 40_000, "{state}");
        }
        assert_eq!(screen.noted(), 35_000);
        assert!(!screen.is_worn());
    }

    #[test]
    fn there_is_none_where_it_would_tell_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let disk = disk(&folder);
        let shape = RecordShape::states(1);
        let policy = LevelPolicy::Merging { ratio: 3 };
        let mut closed = ClosedSet::new(&disk, RunOptions::new(shape, 7), policy, 1 << 10);
        at_once(closed.add(0, LayerView::States(Ascending::new(1, &(0..1000).collect::<Vec<u64>>()))))
            .unwrap();
        assert!(Screen::of(&closed, 64 << 10, &disk.governor).unwrap().is_none(), "nothing is on disk");
        at_once(closed.add(1, LayerView::States(Ascending::new(1, &(1000..21_000).collect::<Vec<u64>>()))))
            .unwrap();
        at_once(closed.add(2, LayerView::States(Ascending::new(1, &[21_000])))).unwrap();
        assert!(Screen::of(&closed, 8 << 10, &disk.governor).unwrap().is_none(), "three bits for each");
        let screen = Screen::of(&closed, 64 << 10, &disk.governor).unwrap().expect("enough for each");
        assert_eq!(screen.noted(), 21_001);
    }
}
