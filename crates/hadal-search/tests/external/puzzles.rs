//! Sliding tiles: the published tables of External A*, and rows of Korf's instances.

use crate::harness::{Begin, Run, replayed_cost};
use hadal_search::Verdict;
use hadal_search::external::{BucketFigures, ExternalOptions, StopAt, TraceBy, bucket_bound};
use hadal_search::tiles::{Manhattan, Tiles};
use hadal_system::guide::Blind;
use hadal_testkit::{Faults, FaultyFolder};
use std::sync::Arc;

/// Jabbar 2008, table 3.1: states inserted into each bucket from the one with the smaller and the one with the larger
/// estimate, as (g, h, from below, from above).
const INSERTED: &str = "
    0 4 1 0; 1 5 2 0; 2 4 0 4; 2 6 2 0; 3 5 7 3; 3 7 4 0; 4 4 0 7; 4 6 13 4; 4 8 10 0; 5 5 5 15; 5 7 24 10; 5 9 24 0;
    6 4 0 6; 6 6 12 26; 6 8 46 28; 6 10 44 0; 7 5 9 10; 7 7 20 51; 7 9 99 57; 7 11 76 0; 8 4 0 8; 8 6 15 25;
    8 8 48 137; 8 10 195 0; 9 5 4 17; 9 7 45 52; 9 9 203 0; 10 4 0 3; 10 6 13 49; 10 8 92 0; 11 5 2 19; 11 7 46 0;
    12 4 0 5; 12 6 31 0; 13 3 0 2; 13 5 10 0; 14 2 0 2; 14 4 5 0; 15 1 0 2; 15 3 5 0";

/// Table 3.2: duplicates within a bucket and those removed by subtraction; buckets not named have none.
const REMOVED: &str = "
    2 4 1 1; 3 5 2 2; 4 4 3 2; 4 6 3 2; 5 5 8 6; 5 7 6 4; 6 4 1 2; 6 6 16 12; 6 8 14 10; 7 5 6 6; 7 7 24 24;
    7 9 26 24; 8 4 3 3; 8 6 10 10; 8 8 52 50; 9 5 9 7; 9 7 29 23; 10 4 0 2; 10 6 21 20; 11 5 6 5; 12 4 0 1; 15 1 1 0";

fn cells(table: &str) -> Vec<[u64; 4]> {
    let cell = |text: &str| {
        let numbers: Vec<u64> = text.split_whitespace().map(|n| n.parse().unwrap()).collect();
        numbers.try_into().unwrap()
    };
    table.split(';').map(cell).collect()
}

fn inserted(buckets: &[BucketFigures], g: u64, h: u64, from_h: u64) -> u64 {
    let from = buckets.iter().filter(|bucket| bucket.g + 1 == g && u64::from(bucket.h) == from_h);
    let to = from.flat_map(|bucket| &bucket.targets).filter(|to| to.g == g && u64::from(to.h) == h);
    to.map(|to| to.states).sum()
}

#[test]
fn the_toy_instance_matches_the_published_tables_cell_by_cell() {
    let tiles = Tiles::new(&[0, 2, 1, 3, 5, 4, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15]).unwrap();
    let guide = Manhattan::new(&tiles);
    let explored = Run::new(&tiles, &guide).done();
    let figures = &explored.figures;
    assert_eq!((figures.path.cost, figures.path.optimal), (Some(16), true));
    assert_eq!((figures.states.expanded, figures.states.generated, figures.buckets.len()), (534, 1656, 31));
    assert_eq!(replayed_cost(&tiles, &explored), Some(16));
    let expanded = |g: u64, h: u64| figures.buckets.iter().find(|b| (b.g, u64::from(b.h)) == (g, h));
    for [g, h, below, above] in cells(INSERTED) {
        if g > 0 {
            let found = (inserted(&figures.buckets, g, h, h - 1), inserted(&figures.buckets, g, h, h + 1));
            assert_eq!(found, (below, above), "bucket ({g},{h})");
        }
        if let Some(bucket) = expanded(g, h) {
            assert_eq!(bucket.raw, below + above);
        }
    }
    let removed = cells(REMOVED);
    for bucket in &figures.buckets {
        let known = removed.iter().find(|cell| (cell[0], cell[1]) == (bucket.g, u64::from(bucket.h)));
        let [_, _, within, closed] = known.copied().unwrap_or_default();
        let found = (bucket.raw - bucket.unique, bucket.unique - bucket.expanded);
        assert_eq!(found, (within, closed), "bucket ({},{})", bucket.g, bucket.h);
    }
    for to in figures.buckets.iter().flat_map(|bucket| &bucket.targets).filter(|to| to.g < 16) {
        assert!(cells(INSERTED).iter().any(|cell| (cell[0], cell[1]) == (to.g, u64::from(to.h))), "{to:?}");
    }
}

#[test]
fn without_a_guide_the_rows_are_the_layers_of_the_eight_puzzle() {
    const LAYERS: [u64; 32] = [
        1, 2, 4, 8, 16, 20, 39, 62, 116, 152, 286, 396, 748, 1024, 1893, 2512, 4485, 5638, 9529, 10878,
        16993, 17110, 23952, 20224, 24047, 15578, 14560, 6274, 3910, 760, 221, 2,
    ];
    let tiles = Tiles::parse("012345678").unwrap().without_goal();
    for (threads, budget) in [(1, 64 << 20), (2, 2 << 20)] {
        let explored = Run { threads, budget, ..Run::new(&tiles, &Blind) }.done();
        assert_eq!(explored.report.verdict, Verdict::Holds);
        let rows: Vec<u64> = explored
            .figures
            .buckets
            .iter()
            .map(|bucket| bucket.expanded)
            .filter(|&states| states > 0)
            .collect();
        assert_eq!(rows, LAYERS);
        assert_eq!(explored.figures.states.generated, 483_840);
        assert_eq!(explored.figures.locality, 2);
    }
}

/// Korf's instances 12, 42 and 55 with the published figures (Jabbar 2008, tables 3.4 and 3.5).
#[test]
fn published_rows_of_korfs_instances_are_met_within_five() {
    let rows = [
        ("E19648C57230ABDF", 45, [493_990, 163_768, 423_522]),
        ("45729ECD036B81FA", 42, [629_613, 210_854, 524_441]),
        ("D8E39107F54AC26B", 41, [601_350, 199_298, 483_920]),
    ];
    for (start, moves, published) in rows {
        let tiles = Tiles::parse(start).unwrap();
        let guide = Manhattan::new(&tiles);
        let explored = Run::new(&tiles, &guide).done();
        let figures = &explored.figures;
        assert_eq!(replayed_cost(&tiles, &explored), Some(moves));
        let counted = [figures.states.generated, figures.states.expanded, figures.states.stored];
        for (ours, theirs) in counted.into_iter().zip(published) {
            assert!(ours.abs_diff(theirs) <= 5, "{start}: {counted:?} against {published:?}");
        }
        assert!(figures.buckets.len() as u64 <= bucket_bound(moves));
        assert_eq!(figures.locality, 2);
    }
}

#[test]
fn budgets_threads_and_ways_back_do_not_change_the_numbers() {
    let tiles = Tiles::parse("E19648C57230ABDF").unwrap();
    let guide = Manhattan::new(&tiles);
    let mut first = None;
    for (threads, budget) in [(1, 64 << 20), (2, 64 << 20), (1, 1 << 20), (2, 2 << 20)] {
        for trace_by in [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide] {
            let options = ExternalOptions { trace_by, ..ExternalOptions::default() };
            let explored = Run { threads, budget, options, ..Run::new(&tiles, &guide) }.done();
            assert_eq!(replayed_cost(&tiles, &explored), Some(45), "{threads} {budget} {trace_by:?}");
            let figures = explored.figures;
            let buckets = figures.buckets.iter().map(|b| (b.g, b.h, b.raw, b.unique, b.expanded));
            let numbers = (
                figures.states.expanded,
                figures.states.generated,
                figures.states.stored,
                buckets.collect::<Vec<_>>(),
            );
            assert!(
                numbers == *first.get_or_insert_with(|| numbers.clone()),
                "{threads} {budget} {trace_by:?}"
            );
        }
    }
}

#[test]
fn stopping_at_expansion_costs_more_and_finds_the_same() {
    let tiles = Tiles::parse("D8E39107F54AC26B").unwrap();
    let guide = Manhattan::new(&tiles);
    let at = |stop_at| {
        let options = ExternalOptions { stop_at, ..ExternalOptions::default() };
        Run { options, ..Run::new(&tiles, &guide) }.done()
    };
    let (early, late) = (at(StopAt::Generation), at(StopAt::Expansion));
    assert_eq!((early.figures.path.cost, late.figures.path.cost), (Some(41), Some(41)));
    assert!(early.figures.buckets.len() < late.figures.buckets.len());
}

#[test]
fn a_bound_below_the_least_cost_finds_nothing_and_says_what_lies_beyond() {
    let tiles = Tiles::parse("D8E39107F54AC26B").unwrap();
    let guide = Manhattan::new(&tiles);
    let with = |bound| {
        let options = ExternalOptions { bound: Some(bound), ..ExternalOptions::default() };
        Run { options, ..Run::new(&tiles, &guide) }.done()
    };
    let below = with(40);
    assert!(matches!(below.report.verdict, Verdict::Stopped(_)));
    assert_eq!(below.figures.least_beyond, Some(41));
    let exact = with(41);
    assert_eq!(exact.figures.path.cost, Some(41));
    assert!(exact.figures.states.stored < 483_920, "nothing beyond the bound is kept");
}

#[test]
fn hundreds_of_spills_under_a_tiny_budget_change_nothing() {
    let tiles = Tiles::parse("C8FD1054632B97EA").unwrap();
    let guide = Manhattan::new(&tiles);
    let folder = FaultyFolder::new(Faults::default());
    let run = Run { budget: 1 << 20, ..Run::new(&tiles, &guide) };
    let explored = run.on(Arc::new(folder.clone()), Begin::Fresh).unwrap();
    let figures = &explored.figures;
    // 27 MB of states were generated.
    assert!(figures.bytes_written > 12 << 20, "{} bytes written", figures.bytes_written);
    assert_eq!(replayed_cost(&tiles, &explored), Some(50));
    for (ours, theirs) in [
        (figures.states.generated, 2_686_215),
        (figures.states.expanded, 910_375),
        (figures.states.stored, 2_270_950u64),
    ] {
        assert!(ours.abs_diff(theirs) <= 5, "{ours} against {theirs}");
    }
}
