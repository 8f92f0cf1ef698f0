//! Room on disk: a warning when the rest will probably not fit, and making room by deleting old layers.

use super::Trouble;
use super::journal::Journal;
use super::ledger::{Ledger, RunRecord, Tally};
use crate::control::WhenFull;
use crate::estimate;
use crate::run::RUNNING;
use hadal_store::run::RunOptions;
use hadal_system::units::{grouped, size};

/// Before this share of the disk is used, bytes per state say little.
const TOLD_FROM: u64 = 16;
/// No more than this many times the states seen are expected.
const FARTHEST: u64 = 10;

/// What to tell about a search with layers of these widths that took `used` bytes and has `free` more, if it will probably
/// not fit.
pub(crate) fn foresee(widths: &[u64], used: u64, free: u64) -> Option<String> {
    let states: u64 = widths.iter().sum();
    if states == 0 || used < free / TOLD_FROM {
        return None;
    }
    let each = used as f64 / states as f64;
    let more = match estimate::remaining(widths, None) {
        // Bells seen from far below their peak may seem to have any height.
        Some(estimate) => estimate.new_states_least.min(FARTHEST.saturating_mul(states)) as f64,
        None => next_width(widths),
    };
    let needed = more * each;
    (needed > free as f64).then(|| {
        format!(
            "the run will probably not fit on the disk: an estimated {} more states of {each:.1} bytes take {}, and {} \
             are free",
            grouped(more as u64),
            size(needed as u64),
            size(free)
        )
    })
}

/// The next layer if widths go on growing, or falling, as they did last.
fn next_width(widths: &[u64]) -> f64 {
    match widths {
        [.., before, last] => *last as f64 * (*last as f64 / (*before).max(1) as f64).clamp(0.5, 4.0),
        _ => 0.0,
    }
}

/// Commits the run without the older layers that take half of its bytes; whether the disk has room to do so. The last two
/// layers stay in any case, so there must be more ([`RunRecord::has_old_layers`]).
fn deleted_layers(ledger: &mut Ledger, options: RunOptions, record: &RunRecord) -> Result<bool, Trouble> {
    let mut journal = ledger.open_journal(options, record)?;
    let (bytes, last) = (journal.bytes(), journal.depth() - 1);
    while journal.first_kept() + 1 < last && journal.bytes() > bytes / 2 {
        let many = (last - 1 - journal.first_kept()).div_ceil(64);
        (0..many).for_each(|_| journal.delete_first());
    }
    // The generation before a commit keeps its files: only the second commit makes room.
    for _ in 0..2 {
        let &RunRecord { ref layers, ref covers, ref actions, seconds, .. } = record;
        let tally =
            Tally { layers, covers, actions: actions.clone(), seconds, stages: &[], reached: None, begun: 0 };
        match ledger.commit(&mut journal, tally, RUNNING) {
            // What was committed before stands.
            Err(full) if full.is_disk_full() => return Ok(false),
            other => other?,
        }
    }
    Ok(true)
}

/// Committed layers and what was made for them: nothing where the disk has no room for it.
pub(crate) struct Fitted<T> {
    pub(crate) journal: Journal,
    pub(crate) record: RunRecord,
    pub(crate) made: Option<T>,
}

/// Whether the disk is known to be full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Disk {
    Full,
    Untried,
}

/// What `make` makes for the committed layers. Where the disk is full, old layers make room for it if they may. The
/// seconds of the record are those before this sitting, and stay.
pub(crate) fn make_fit<T>(
    ledger: &mut Ledger,
    options: RunOptions,
    mut record: RunRecord,
    (mut disk, when_full): (Disk, WhenFull),
    mut make: impl FnMut(&Journal) -> Result<T, Trouble>,
) -> Result<Fitted<T>, Trouble> {
    loop {
        if disk == Disk::Full {
            let may_delete = when_full == WhenFull::DeleteLayers && record.has_old_layers();
            let deleted = may_delete && deleted_layers(ledger, options, &record)?;
            let left = ledger.record().ok_or(Trouble::NothingToResume)?;
            record = RunRecord { seconds: record.seconds, ..left };
            if !deleted {
                let journal = ledger.open_journal(options, &record)?;
                return Ok(Fitted { journal, record, made: None });
            }
        }
        let journal = ledger.open_journal(options, &record)?;
        match make(&journal) {
            Err(full) if full.is_disk_full() => disk = Disk::Full,
            made => return Ok(Fitted { made: Some(made?), journal, record }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::foresee;

    #[test]
    fn a_layer_that_will_not_fit_is_foretold_and_one_that_will_is_not() {
        // The next layer alone has about 4000 states of 10 bytes.
        let doubling = [125, 250, 500, 1000, 2000];
        let told = foresee(&doubling, 38_750, 30_000).expect("it does not fit");
        assert!(told.contains("4000 more states of 10.0 bytes"), "{told}");
        assert_eq!(foresee(&doubling, 38_750, 50_000), None);
        assert_eq!(foresee(&doubling, 38_750, 1 << 30), None, "far too early to say");
    }

    #[test]
    fn a_bell_past_its_peak_needs_what_its_falling_side_needs() {
        let widths: Vec<u64> =
            (0..14).map(|n: i64| (10_000.0 * (-((n - 9) as f64).powi(2) / 18.0).exp()) as u64).collect();
        let states: u64 = widths.iter().sum();
        assert!(foresee(&widths, 4 * states, 4 * states).is_none(), "less than half is left");
        assert!(foresee(&widths, 4 * states, 1000).is_some());
    }
}
