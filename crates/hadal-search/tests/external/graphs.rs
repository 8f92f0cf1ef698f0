//! Graphs given edge by edge, with every kind of estimate, against Dijkstra's algorithm.

use super::drawn::{Estimates, Graph, Kind, Labels, PRICES};
use super::harness::{Run, replayed_cost};
use hadal_search::Verdict;
use hadal_search::external::{ExternalOptions, Flush, StopAt, TraceBy};
use hadal_system::guide::Blind;
use hadal_testkit::Random;

#[test]
fn costs_equal_those_of_dijkstra_on_random_directed_and_undirected_graphs() {
    let mut noise = Random::new(1);
    let (mut solved, mut reopened) = (0, 0);
    for n in 0..240 {
        let graph = Graph::wide(&mut noise, n % 2 == 0);
        let expected = graph.least_cost();
        for kind in [Kind::Consistent, Kind::Admissible, Kind::Wrong] {
            let guide = Estimates::new(&graph, kind, &mut noise);
            let trace_by = [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide][noise.below(3) as usize];
            let stop_at = [StopAt::Generation, StopAt::Expansion][noise.below(2) as usize];
            let mut run = Run::new(&graph, &guide);
            run.options = ExternalOptions { trace_by, stop_at, ..ExternalOptions::default() };
            run.threads = 1 + noise.below(2) as usize;
            let explored = run.done();
            let case = format!("graph {n}, {kind:?}, {trace_by:?}, {stop_at:?}");
            let figures = &explored.figures;
            match (expected, replayed_cost(&graph, &explored)) {
                (None, None) => assert_eq!(explored.report.verdict, Verdict::Holds, "{case}"),
                (Some(least), Some(cost)) => {
                    solved += 1;
                    assert_eq!(figures.path.cost, Some(cost), "{case}");
                    assert!(cost >= least && (cost == least || !figures.path.optimal), "{case}");
                    assert_eq!(figures.path.optimal, kind != Kind::Wrong, "{case}");
                }
                other => panic!("{case}: {other:?}"),
            }
            let expanded = figures.buckets.iter().map(|bucket| bucket.expanded).sum::<u64>();
            assert_eq!(figures.states.expanded, expanded, "{case}");
            if kind == Kind::Consistent {
                assert!(expanded <= graph.vertices() as u64, "{case}: a state is expanded twice");
            }
            reopened += u64::from(expanded > graph.vertices() as u64);
        }
    }
    assert!(solved > 300 && reopened > 0, "{solved} solved, {reopened} with states opened again");
}

#[test]
fn costs_of_nothing_and_of_millions_that_depend_on_the_state_are_followed_exactly() {
    let mut noise = Random::new(3);
    let mut solved = 0;
    for n in 0..150 {
        let labels = [Labels::Distinct, Labels::Shared][n % 2];
        let graph = Graph::priced(&mut noise, n % 4 == 0, labels, PRICES[n % 3]);
        for kind in [Kind::Consistent, Kind::Admissible, Kind::Wrong] {
            let guide = Estimates::new(&graph, kind, &mut noise);
            let trace_by = [TraceBy::Scan, TraceBy::Parents, TraceBy::Divide][noise.below(3) as usize];
            let stop_at = [StopAt::Generation, StopAt::Expansion][noise.below(2) as usize];
            let flush = [Flush::AtOnce, Flush::Deferred][noise.below(2) as usize];
            let mut run = Run::new(&graph, &guide);
            run.options = ExternalOptions { trace_by, stop_at, flush, ..ExternalOptions::default() };
            run.threads = 1 + noise.below(2) as usize;
            let explored = run.done();
            let case = format!("graph {n}, {labels:?}, {kind:?}, {trace_by:?}, {stop_at:?}, {flush:?}");
            match (graph.least_cost(), replayed_cost(&graph, &explored)) {
                (None, None) => assert_eq!(explored.report.verdict, Verdict::Holds, "{case}"),
                (Some(least), Some(cost)) => {
                    solved += 1;
                    assert_eq!(explored.figures.path.cost, Some(cost), "{case}");
                    assert!(cost >= least && (cost == least || kind == Kind::Wrong), "{case}");
                    assert_eq!(explored.figures.path.optimal, kind != Kind::Wrong, "{case}");
                }
                other => panic!("{case}: {other:?}"),
            }
            if kind == Kind::Consistent {
                let expanded = explored.figures.states.expanded;
                assert!(expanded <= graph.vertices() as u64, "{case}: a state is expanded twice");
            }
        }
    }
    assert!(solved > 200, "{solved}");
}

/// An undirected step of cost C is closed within 2C rows, and in a crafted graph not within fewer.
#[test]
fn twice_the_largest_cost_is_the_scope_of_undirected_graphs() {
    for cost in 1..=6u32 {
        // The way back from 1 costs as much as the way there.
        let mut graph = Graph::new(3, 1, vec![0], &[]);
        for (a, b) in [(0, 1), (1, 2)] {
            graph.edge(a, b, cost);
            graph.edge(b, a, cost);
        }
        graph.both_ways = Some(cost);
        let explored = Run::new(&graph, &Blind).done();
        assert_eq!(explored.report.verdict, Verdict::Holds);
        assert_eq!(explored.figures.states.expanded, 3);
        assert_eq!(explored.figures.locality, 2 * u64::from(cost), "found again that many rows later");
        let spread = explored.figures.buckets.iter().map(|bucket| bucket.targets.len() as u32).max();
        assert!(spread.unwrap() <= cost * (cost + 2));
    }
}

#[test]
fn a_chain_of_tiny_buckets_shares_files() {
    let length = 4000;
    let mut graph = Graph::new(length, 1, vec![0], &[length - 1]);
    (0..length - 1).for_each(|vertex| graph.edge(vertex, vertex + 1, 3));
    let mut run = Run::new(&graph, &Blind);
    run.budget = 4 << 20;
    run.options.commit_every = std::time::Duration::from_secs(3600);
    let explored = run.done();
    assert_eq!(replayed_cost(&graph, &explored), Some(3 * (length as u64 - 1)));
    assert_eq!(explored.figures.buckets.len(), length);
    assert!(explored.figures.bytes_written < 100 * length as u64, "{}", explored.figures.bytes_written);
}

/// More buckets than there are chunks of memory for successors: none has more than the chunk it begins with.
#[test]
fn steps_of_very_many_costs_out_of_one_state_leave_memory_when_it_is_full() {
    let many = 2000;
    let mut graph = Graph::new(many + 2, 1, vec![0], &[many + 1]);
    for n in 1..=many {
        graph.edge(0, n, 3 * n as u32);
        graph.edge(n, many + 1, 5 * (many - n) as u32 + 1);
    }
    let mut run = Run::new(&graph, &Blind);
    run.budget = 4 << 20;
    let explored = run.done();
    assert_eq!(replayed_cost(&graph, &explored), Some(3 * many as u64 + 1));
    assert_eq!(graph.least_cost(), Some(3 * many as u64 + 1));
}

/// Two cabins on a track that they share in part, as sheet 2.3 of the sources reconstructs it.
#[test]
fn the_observed_locality_of_two_cabins_is_twelve() {
    // Positions along each route, and the tracks that hold one cabin only.
    let routes: [&[&str]; 2] =
        [&["E", "2a", "2b", "3", "South", "1", "North"], &["E", "2a", "2b", "4", "Library"]];
    let single = |place: &str| ["2a", "2b", "1", "3", "4"].contains(&place);
    let mut states = vec![[(0usize, true), (0, true)]];
    let mut edges = Vec::new();
    let mut next = 0;
    while next < states.len() {
        let state = states[next];
        for cabin in 0..2 {
            let (at, forward) = state[cabin];
            let to = if forward { at + 1 } else { at - 1 };
            let other = state[1 - cabin].0;
            if single(routes[cabin][to]) && routes[1 - cabin][other] == routes[cabin][to] {
                continue;
            }
            let mut moved = state;
            moved[cabin] = (to, if to + 1 == routes[cabin].len() { false } else { to == 0 || forward });
            let target = states.iter().position(|&known| known == moved).unwrap_or_else(|| {
                states.push(moved);
                states.len() - 1
            });
            edges.push((next, target));
        }
        next += 1;
    }
    let mut graph = Graph::new(states.len(), 1, vec![0], &[]);
    edges.iter().for_each(|&(from, to)| graph.edge(from, to, 1));
    let explored = Run::new(&graph, &Blind).done();
    let figures = &explored.figures;
    assert_eq!((figures.states.expanded, figures.states.generated, figures.path.f), (86, 156, 17));
    assert_eq!(figures.locality, 12);
}
