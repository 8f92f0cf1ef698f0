//! What survives: a killed run ends with the same numbers, a full disk pauses, another guide is refused.

use crate::drawn::{Estimates, Graph, Kind, PRICES};
use crate::harness::{Begin, Run, replayed_cost};
use hadal_search::external::{ExternalFigures, ExternalOptions, Flush, TraceBy};
use hadal_search::layered::Trouble;
use hadal_search::tiles::{Manhattan, Tiles};
use hadal_search::{Limits, StopReason, Verdict};
use hadal_store::manifest::OpenError;
use hadal_store::vfs::Vfs;
use hadal_testkit::{Faults, FaultyFolder, Random, Survival};
use std::sync::Arc;
use std::time::Duration;

fn puzzle() -> (Tiles, Manhattan) {
    // About 19,000 states are expanded.
    let tiles = Tiles::new(&[0, 1, 2, 3, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]).unwrap();
    let guide = Manhattan::new(&tiles);
    (tiles, guide)
}

/// What must not depend on how the run was interrupted.
fn numbers(figures: &ExternalFigures) -> Vec<[u64; 4]> {
    let totals = [
        figures.states.expanded,
        figures.states.generated,
        figures.states.stored,
        figures.path.cost.unwrap_or(0),
    ];
    let buckets = figures.buckets.iter().map(|b| [b.g, u64::from(b.h), b.raw, b.expanded]);
    std::iter::once(totals).chain(buckets).collect()
}

fn committing_always(trace_by: TraceBy) -> ExternalOptions {
    ExternalOptions { trace_by, commit_every: Duration::ZERO, ..ExternalOptions::default() }
}

#[test]
fn resume_after_a_kill_at_any_operation_ends_with_the_same_numbers() {
    let (tiles, guide) = puzzle();
    let ways = [
        (TraceBy::Scan, Flush::AtOnce),
        (TraceBy::Parents, Flush::AtOnce),
        (TraceBy::Divide, Flush::AtOnce),
        (TraceBy::Scan, Flush::Deferred),
    ];
    for (trace_by, flush) in ways {
        let options = ExternalOptions { flush, ..committing_always(trace_by) };
        let run = Run { options, budget: 1200 << 10, ..Run::new(&tiles, &guide) };
        let whole = FaultyFolder::new(Faults::default());
        let expected = run.on(Arc::new(whole.clone()), Begin::Fresh).unwrap();
        let operations = whole.operations();
        let mut resumed = 0;
        for n in 1..=24 {
            let die_at = operations * n / 25;
            let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
            let died = run.on(Arc::new(folder.clone()), Begin::Fresh);
            let (after, begin) = match died {
                Ok(explored) => (explored, false),
                Err(_) => {
                    let left: Arc<dyn Vfs> = Arc::new(folder.after_crash(Survival::Synced));
                    let again =
                        Run { threads: 1 + n as usize % 2, budget: (1000 + 100 * n) << 10, ..run.clone() };
                    match again.on(left, Begin::Again) {
                        Ok(explored) => (explored, true),
                        Err(Trouble::Open(OpenError::NothingCommitted)) => continue,
                        Err(trouble) => panic!("{trace_by:?}, killed at {die_at}: {trouble}"),
                    }
                }
            };
            resumed += u32::from(begin);
            assert_eq!(
                numbers(&after.figures),
                numbers(&expected.figures),
                "{trace_by:?}, killed at {die_at}"
            );
            assert_eq!(replayed_cost(&tiles, &after), Some(24));
        }
        assert!(resumed > 12, "{resumed} resumed");
    }
}

#[test]
fn steps_that_cost_nothing_survive_kills() {
    let mut noise = Random::new(9);
    for price in PRICES {
        let graph = Graph::square(20, &mut noise, price);
        let guide = Estimates::new(&graph, Kind::Consistent, &mut noise);
        let run =
            Run { options: committing_always(TraceBy::Scan), budget: 600 << 10, ..Run::new(&graph, &guide) };
        let whole = FaultyFolder::new(Faults::default());
        let expected = run.on(Arc::new(whole.clone()), Begin::Fresh).unwrap();
        assert_eq!(replayed_cost(&graph, &expected), graph.least_cost());
        let mut resumed = 0;
        for n in 1..=4 {
            let die_at = Some(whole.operations() * n / 5);
            let folder = FaultyFolder::new(Faults { die_at, ..Faults::default() });
            if run.on(Arc::new(folder.clone()), Begin::Fresh).is_ok() {
                continue;
            }
            let left: Arc<dyn Vfs> = Arc::new(folder.after_crash(Survival::Synced));
            match (Run { threads: 1 + n as usize % 2, ..run.clone() }).on(left, Begin::Again) {
                Ok(after) => {
                    resumed += 1;
                    assert_eq!(numbers(&after.figures), numbers(&expected.figures), "killed at {die_at:?}");
                    assert_eq!(replayed_cost(&graph, &after), graph.least_cost());
                }
                Err(Trouble::Open(OpenError::NothingCommitted)) => {}
                Err(trouble) => panic!("killed at {die_at:?}: {trouble}"),
            }
        }
        assert!(resumed > 1, "{resumed} resumed");
    }
}

#[test]
fn a_limit_pauses_between_buckets_and_the_rest_adds_up() {
    let (tiles, guide) = puzzle();
    let expected = Run::new(&tiles, &guide).done();
    let folder: Arc<dyn Vfs> = Arc::new(FaultyFolder::new(Faults::default()));
    let mut run = Run::new(&tiles, &guide);
    run.limits = Limits { max_states: Some(2000), ..Limits::default() };
    let first = run.on(folder.clone(), Begin::Fresh).unwrap();
    assert_eq!(first.report.verdict, Verdict::Stopped(StopReason::StateLimit));
    assert!(first.figures.states.expanded < 2000);
    run.limits = Limits::default();
    let rest = run.on(folder, Begin::Again).unwrap();
    assert_eq!(numbers(&rest.figures), numbers(&expected.figures));
}

#[test]
fn a_full_disk_pauses_and_room_lets_it_go_on() {
    let (tiles, guide) = puzzle();
    let expected = Run::new(&tiles, &guide).done();
    let mut paused = 0;
    for capacity in [30, 60, 90, 120, 150, 200] {
        let folder = FaultyFolder::new(Faults { capacity: Some(capacity << 10), ..Faults::default() });
        let options = committing_always(TraceBy::Scan);
        let run = Run { options, budget: 1200 << 10, ..Run::new(&tiles, &guide) };
        let first = match run.on(Arc::new(folder.clone()), Begin::Fresh) {
            Ok(explored) => explored,
            Err(trouble) => panic!("{capacity} KiB: {trouble}"),
        };
        if first.report.verdict == Verdict::Stopped(StopReason::DiskFull) {
            paused += 1;
            folder.set_faults(Faults::default());
            let rest = run.on(Arc::new(folder), Begin::Again).unwrap();
            assert_eq!(numbers(&rest.figures), numbers(&expected.figures), "{capacity} KiB");
        } else {
            assert_eq!(numbers(&first.figures), numbers(&expected.figures), "{capacity} KiB");
        }
    }
    assert!(paused >= 2, "{paused} paused");
}

#[test]
fn dividing_keeps_few_closed_states() {
    let tiles = Tiles::parse("45729ECD036B81FA").unwrap();
    let guide = Manhattan::new(&tiles);
    let run = |trace_by| {
        let options = ExternalOptions { trace_by, ..ExternalOptions::default() };
        Run { options, budget: 2 << 20, ..Run::new(&tiles, &guide) }.done().figures
    };
    let (scan, divide) = (run(TraceBy::Scan), run(TraceBy::Divide));
    assert_eq!((scan.states.expanded, scan.states.closed), (divide.states.expanded, scan.states.expanded));
    // Of each column, the rows that the next one could have duplicates in.
    let last_row = |h| divide.buckets.iter().filter(|b| b.h == h).map(|b| b.g).max().unwrap();
    let recent = divide.buckets.iter().filter(|bucket| bucket.g + 1 >= last_row(bucket.h));
    assert_eq!(divide.states.closed, recent.map(|bucket| bucket.expanded).sum::<u64>());
    assert!(divide.states.closed < scan.states.closed);
}
