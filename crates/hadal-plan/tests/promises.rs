//! Guides over rows keep what they promise, in every state of drawn tasks.

mod truth;

use hadal_guide::plan::{CostKind, LandmarkCount, LmCut, Relaxation, Relaxed, RelaxedGuide};
use hadal_guide::{Distance, Guide};
use truth::{Truth, drawings};

#[test]
fn guides_keep_their_promises_against_true_distances() {
    let (mut looked_at, mut dead, mut informed) = (0u64, 0u64, 0u64);
    for drawing in drawings(24) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let relaxed = |kind| RelaxedGuide::new(Relaxed::new(&truth.space, CostKind::Real), kind);
        let (max, add, plan) =
            (relaxed(Relaxation::Max), relaxed(Relaxation::Add), relaxed(Relaxation::Plan));
        let cut = LmCut::new(Relaxed::new(&truth.space, CostKind::Real));
        let guides: [&dyn Guide; 4] = [&max, &add, &plan, &cut];
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
    assert!(looked_at > 30_000 && dead > 10_000 && informed > 2_000, "{looked_at} {dead} {informed}");
}

#[test]
fn every_plan_passes_every_landmark() {
    let (mut landmarks, mut walks) = (0u64, 0u64);
    for drawing in drawings(24) {
        let Some(truth) = Truth::of(drawing) else { continue };
        if truth.distances[0].is_none() {
            continue;
        }
        let count = LandmarkCount::new(&truth.space, CostKind::Unit);
        let found = count.landmarks();
        landmarks += found.all.len() as u64;
        let relaxed = Relaxed::new(&truth.space, CostKind::Unit);
        // Without the states that have it, a landmark cuts the initial state off from the goal.
        for landmark in &found.all {
            let has: Vec<bool> =
                truth.states.iter().map(|state| relaxed.holds(state, landmark.fact)).collect();
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
    assert!(landmarks > 300 && walks > 300, "{landmarks} {walks}");
}
