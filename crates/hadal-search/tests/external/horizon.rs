//! Writing late, going on with a larger bound, and steps that are not joined: the same answers for other amounts of work.

use crate::drawn::{Estimates, Graph, Kind};
use crate::harness::{Begin, Run, replayed_cost};
use hadal_search::external::{ExternalFigures, ExternalOptions, Flush, Steps, TraceBy};
use hadal_search::tiles::{Manhattan, Tiles};
use hadal_search::{StopReason, Verdict};
use hadal_testkit::{Faults, FaultyFolder, Random};
use std::sync::Arc;

fn deferred() -> ExternalOptions {
    ExternalOptions { flush: Flush::Deferred, ..ExternalOptions::default() }
}

/// Which buckets were expanded in which order, and how many states of each.
fn walk(figures: &ExternalFigures) -> Vec<(u64, u32, u64, u64)> {
    figures.buckets.iter().map(|bucket| (bucket.g, bucket.h, bucket.raw, bucket.expanded)).collect()
}

#[test]
fn a_deferred_flush_expands_the_same_buckets_on_random_graphs() {
    let mut noise = Random::new(7);
    let mut again = 0;
    for n in 0..120 {
        let graph = Graph::wide(&mut noise, n % 2 == 0);
        for kind in [Kind::Consistent, Kind::Admissible, Kind::Wrong] {
            let guide = Estimates::new(&graph, kind, &mut noise);
            let trace_by = [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide][noise.below(3) as usize];
            let at_once = Run::new(&graph, &guide).done();
            let threads = 1 + noise.below(2) as usize;
            let options = ExternalOptions { trace_by, ..deferred() };
            let late = Run { options, threads, ..Run::new(&graph, &guide) }.done();
            let case = format!("graph {n}, {kind:?}, {trace_by:?}");
            assert_eq!(walk(&late.figures), walk(&at_once.figures), "{case}");
            assert_eq!(replayed_cost(&graph, &late), replayed_cost(&graph, &at_once), "{case}");
            assert_eq!(late.figures.states.generated, at_once.figures.states.generated, "{case}");
            assert_eq!(late.report.verdict == Verdict::Holds, graph.least_cost().is_none(), "{case}");
            again += late.figures.expanded_again;
        }
    }
    assert!(again > 1000, "{again}");
}

#[test]
fn a_deferred_flush_keeps_and_writes_nothing_beyond_the_last_diagonal() {
    let tiles = Tiles::parse("D8E39107F54AC26B").unwrap();
    let guide = Manhattan::new(&tiles);
    let with = |options| Run { options, budget: 1 << 20, ..Run::new(&tiles, &guide) }.done().figures;
    let (at_once, late) = (with(ExternalOptions::default()), with(deferred()));
    assert_eq!((at_once.path.cost, late.path.cost), (Some(41), Some(41)));
    assert_eq!(walk(&late), walk(&at_once));
    assert!(
        late.states.stored * 3 < at_once.states.stored * 2,
        "{} of {} are kept",
        late.states.stored,
        at_once.states.stored
    );
    assert!(late.bytes_written < at_once.bytes_written, "{} {}", late.bytes_written, at_once.bytes_written);
}

#[test]
fn a_larger_bound_expands_only_the_diagonal_again_that_left_something_out() {
    let tiles = Tiles::parse("D8E39107F54AC26B").unwrap();
    let guide = Manhattan::new(&tiles);
    for trace_by in [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide] {
        let folder = Arc::new(FaultyFolder::new(Faults::default()));
        let bounded = |bound, begin, threads| {
            let options = ExternalOptions { bound: Some(bound), trace_by, ..ExternalOptions::default() };
            Run { options, threads, ..Run::new(&tiles, &guide) }.on(folder.clone(), begin).unwrap()
        };
        let first = bounded(37, Begin::Fresh, 1);
        assert_eq!(first.report.verdict, Verdict::Stopped(StopReason::CostBound));
        assert_eq!((first.figures.least_beyond, first.figures.expanded_again), (Some(39), 0));
        // The same bound once more changes nothing.
        assert_eq!(bounded(37, Begin::Again, 1).figures.states.expanded, first.figures.states.expanded);
        let second = bounded(40, Begin::Again, 2);
        assert_eq!(second.figures.least_beyond, Some(41));
        let diagonal = |figures: &ExternalFigures, f| {
            let on = figures.buckets.iter().filter(|bucket| bucket.g + u64::from(bucket.h) == f);
            on.map(|bucket| bucket.expanded).sum::<u64>()
        };
        assert_eq!(second.figures.expanded_again, diagonal(&second.figures, 37));
        let third = bounded(41, Begin::Again, 1);
        assert_eq!(replayed_cost(&tiles, &third), Some(41));
        let both = diagonal(&third.figures, 37) + diagonal(&third.figures, 39);
        assert_eq!(third.figures.expanded_again, both);
        let whole = Run::new(&tiles, &guide).done();
        assert_eq!(walk(&third.figures), walk(&whole.figures), "{trace_by:?}");
    }
}

#[test]
fn one_pass_saves_two_fifths_of_the_bytes_that_separate_steps_move() {
    let tiles = Tiles::parse("D8E39107F54AC26B").unwrap();
    let guide = Manhattan::new(&tiles);
    let with = |steps, threads| {
        let options = ExternalOptions { steps, ..ExternalOptions::default() };
        Run { options, threads, budget: 2 << 20, ..Run::new(&tiles, &guide) }.done()
    };
    let fused = with(Steps::Fused, 1);
    for threads in [1, 2] {
        let apart = with(Steps::Apart, threads);
        assert_eq!(replayed_cost(&tiles, &apart), Some(41));
        assert_eq!(walk(&apart.figures), walk(&fused.figures));
        let moved = |figures: &ExternalFigures| figures.bytes_read + figures.bytes_written;
        let (one, many) = (moved(&fused.figures), moved(&apart.figures));
        assert!(10 * one <= 6 * many, "{one} of {many}");
    }
}
