//! Guides over rows keep what they promise, in every state of drawn tasks.

mod truth;

use hadal_guide::plan::{
    Allowance, CostKind, LandmarkCount, LmCut, Partitioned, Pruned, Relaxation, Relaxed, RelaxedGuide,
    Source, Stubborn,
};
use hadal_guide::{Distance, Guide};
use truth::{Truth, drawings};

#[test]
fn guides_keep_their_promises_against_true_distances() {
    let (mut looked_at, mut dead, mut informed, mut summed) = (0u64, 0u64, 0u64, 0);
    for drawing in drawings(24) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let relaxed = |kind| RelaxedGuide::new(Relaxed::new(&truth.space, CostKind::Real), kind);
        let (max, add, plan) =
            (relaxed(Relaxation::Max), relaxed(Relaxation::Add), relaxed(Relaxation::Plan));
        let cut = LmCut::new(Relaxed::new(&truth.space, CostKind::Real));
        let small = Allowance { bytes: 1 << 20, work: 1_000_000 };
        let partition = |source| Partitioned::new(&truth.space, source, small);
        let (patterns, cells) = (partition(Source::Patterns), partition(Source::Cartesian));
        let (both, merged) = (partition(Source::Both), partition(Source::Merged));
        let guides: [&dyn Guide; 8] = [&max, &add, &plan, &cut, &patterns, &cells, &both, &merged];
        for guide in guides {
            let promises = guide.promises();
            let mut estimator = guide.estimator();
            let estimates: Vec<Distance> =
                truth.states.iter().map(|state| estimator.estimate(state, None)).collect();
            for (estimate, distance) in estimates.iter().zip(&truth.distances) {
                looked_at += 1;
                match distance {
                    Some(distance) => {
                        assert!(estimate.is_finite(), "{} is not safe: {drawing:?}", guide.name());
                        if promises.admissible {
                            assert!(
                                u64::from(estimate.0) <= *distance,
                                "{}: {drawing:?}, {estimate:?} for {distance}",
                                guide.name()
                            );
                            informed += u64::from(estimate.0 > 0);
                        }
                    }
                    None => dead += u64::from(!estimate.is_finite()),
                }
            }
            if guide.name() == "scp" {
                summed += estimates.iter().filter(|estimate| estimate.is_finite() && estimate.0 > 0).count();
            }
            if promises.consistent {
                for &(from, _, to, cost) in &truth.edges {
                    if estimates[to].is_finite() {
                        let most = u64::from(estimates[to].0) + u64::from(cost);
                        assert!(u64::from(estimates[from].0) <= most, "{}: {drawing:?}", guide.name());
                    }
                }
            }
        }
        // LM-cut is never below h^max where a row is one operator; otherwise operators share their row's cost.
        if drawing.conditional || drawing.numbers {
            continue;
        }
        let (mut max, mut cut) = (max.exploration(), cut.cuts());
        for state in &truth.states {
            assert!(cut.cost(state, None) >= max.cost(state, None), "{drawing:?}");
        }
    }
    assert!(looked_at > 50_000 && dead > 20_000, "{looked_at} {dead}");
    assert!(informed > 5_000 && summed > 1_000, "{informed} {summed}");
}

#[test]
fn stubborn_sets_leave_a_cheapest_plan_of_every_state() {
    let (mut tasks, mut pruned, mut looked_at) = (0u64, 0u64, 0u64);
    for drawing in drawings(400).filter(|d| !(d.conditional || d.derived || d.numbers || d.monitors)) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let mut stubborn = Stubborn::new(&truth.space).expect("a plain task");
        let mut worker = truth.space.row_worker();
        let mut rows = Vec::new();
        let mut kept: Vec<Vec<u32>> = Vec::new();
        for state in &truth.states {
            worker.applicable(state, &mut rows);
            let before = rows.len();
            stubborn.prune(state, &mut rows, &mut Pruned::default());
            looked_at += before as u64;
            pruned += (before - rows.len()) as u64;
            kept.push(rows.clone());
        }
        // What is left must connect every state with the goal at the same cost.
        let edges: Vec<_> =
            truth.edges.iter().filter(|&&(from, row, ..)| kept[from].contains(&row)).collect();
        let goal = |state: &Vec<u64>| truth.space.row_worker().is_goal(state).then_some(0);
        let mut distances: Vec<Option<u64>> = truth.states.iter().map(goal).collect();
        let mut changed = true;
        while changed {
            changed = false;
            for &&(from, _, to, cost) in &edges {
                if let Some(there) = distances[to].map(|there| there + u64::from(cost))
                    && distances[from].is_none_or(|held| there < held)
                {
                    distances[from] = Some(there);
                    changed = true;
                }
            }
        }
        assert_eq!(distances, truth.distances, "{drawing:?}");
        tasks += 1;
    }
    assert!(tasks > 300 && pruned * 20 > looked_at, "{tasks} {pruned} {looked_at}");
}

#[test]
fn every_plan_passes_every_landmark() {
    let (mut landmarks, mut walks, mut several) = (0u64, 0u64, 0);
    for drawing in drawings(48) {
        let Some(truth) = Truth::of(drawing) else { continue };
        if truth.distances[0].is_none() {
            continue;
        }
        let count = LandmarkCount::new(&truth.space, CostKind::Unit);
        let found = count.landmarks();
        landmarks += found.all.len() as u64;
        several += found.all.iter().filter(|landmark| landmark.facts.len() > 1).count();
        let relaxed = Relaxed::new(&truth.space, CostKind::Unit);
        // Without the states that have it, a landmark cuts the initial state off from the goal.
        for landmark in &found.all {
            let one_holds = |state: &Vec<u64>| landmark.facts.iter().any(|&fact| relaxed.holds(state, fact));
            let has: Vec<bool> = truth.states.iter().map(one_holds).collect();
            let mut reached = vec![false; truth.states.len()];
            reached[0] = !has[0];
            let mut changed = true;
            while changed {
                changed = false;
                for &(from, _, to, _) in &truth.edges {
                    if reached[from] && !reached[to] && !has[to] {
                        reached[to] = true;
                        changed = true;
                    }
                }
            }
            for (at, reached) in reached.iter().enumerate() {
                assert!(
                    !reached || truth.distances[at] != Some(0) || {
                        // A distance of zero may be steps that cost nothing: the goal itself is what counts.
                        !truth.space.row_worker().is_goal(&truth.states[at])
                    },
                    "{drawing:?}: a goal without landmark {landmark:?}"
                );
            }
            walks += 1;
        }
    }
    assert!(landmarks > 600 && walks > 600 && several > 0, "{landmarks} {walks} {several}");
}
