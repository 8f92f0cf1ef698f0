//! Guides over rows keep what they promise, in every state of drawn tasks.

mod truth;

use hadal_guide::plan::{
    Allowance, CostKind, LandmarkCount, LmCut, NoOps, Partitioned, Pruned, Relaxation, Relaxed, RelaxedGuide,
    Source, Stubborn,
};
use hadal_guide::{Distance, Guide};
use hadal_system::rows::{Change, Effect, FiniteVariable, Need, Row, RowTask};
use hadal_testkit::rows::{self as draw, Drawing};
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

/// Pairs of variables: one row sets both of a pair, another the first alone. Which of a pair should have the cost of the row
/// that sets both depends on the state.
fn pairs(count: u32) -> RowTask {
    let mut task = RowTask::default();
    task.names.schemas = vec!["both".into(), "first".into()];
    for pair in 0..count {
        task.names.objects.push(format!("p{pair}"));
        for which in ["a", "b"] {
            let values = vec!["no".into(), "yes".into()];
            task.variables.push(FiniteVariable { name: format!("{which}{pair}"), values, initial: 0 });
        }
        let set = |variable: u32| Effect { when: Vec::new(), change: Change::Set(variable, 1) };
        let row = |schema: u32, effects| Row { schema, arguments: vec![pair], effects, ..Row::default() };
        let (first, second) = (2 * pair, 2 * pair + 1);
        task.rows.push(row(0, vec![set(first), set(second)]));
        task.rows.push(row(1, vec![set(first)]));
        task.goal.extend([Need::Is(first, 1), Need::Is(second, 1)]);
    }
    task
}

#[test]
fn orders_that_are_found_on_the_way_raise_estimates_and_never_beyond_true_distances() {
    let truth = Truth::explore(pairs(7)).expect("three to the seventh states");
    // Work for few orders: what is better is found on the way.
    let guide = Partitioned::new(&truth.space, Source::Climbed, Allowance { bytes: 1 << 20, work: 700 });
    let (mut fixed, mut improving) = (guide.sums(), guide.improving_sums());
    let mut raised = 0;
    for _ in 0..3 {
        for (state, distance) in truth.states.iter().zip(&truth.distances) {
            let estimates = (fixed.cost(state), improving.cost(state));
            assert!(estimates.0 <= estimates.1);
            assert!(distance.is_some_and(|distance| u64::from(estimates.1) <= distance));
            raised += u32::from(estimates.0 < estimates.1);
        }
    }
    assert!(raised > 300 && improving.found() > 10, "{raised} {}", improving.found());
}

#[test]
fn stubborn_sets_leave_a_cheapest_plan_of_every_state() {
    let (mut tasks, mut pruned, mut looked_at) = (0u64, 0u64, 0u64);
    for drawing in drawings(400).filter(|d| !(d.conditional || d.derived || d.numbers || d.monitors)) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let mut stubborn = Stubborn::new(&truth.space, 1 << 16).expect("a plain task");
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
        // A state keeps the same rows whatever was pruned before, on every thread and with any memory.
        let mut another = Stubborn::new(&truth.space, 0).expect("a plain task").another();
        for (state, kept) in truth.states.iter().zip(&kept).rev() {
            worker.applicable(state, &mut rows);
            another.prune(state, &mut rows, &mut Pruned::default());
            assert_eq!(rows, *kept, "{drawing:?}");
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
        let relaxed = Relaxed::new(&truth.space, CostKind::Unit);
        let count = LandmarkCount::new(&relaxed, u64::MAX);
        let found = count.landmarks();
        landmarks += found.all.len() as u64;
        several += found.all.iter().filter(|landmark| landmark.facts.len() > 1).count();
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

/// A drawn task whose rows ask for every value that they change, `undone` of them with a row that takes them back.
fn with_ways_back(drawing: Drawing, undone: impl Fn(usize) -> bool) -> RowTask {
    let mut task = draw::task(drawing);
    let mut back = Vec::new();
    for (at, row) in task.rows.iter_mut().enumerate() {
        let set = |effect: &Effect| match effect.change {
            Change::Set(variable, value) => Some((variable, value)),
            _ => None,
        };
        let mut after: Vec<(u32, u32)> = row.effects.iter().filter_map(set).collect();
        after.sort_unstable();
        after.dedup_by_key(|(variable, _)| *variable);
        let asked = |variable: u32| {
            row.needs.iter().find_map(|need| match *need {
                Need::Is(of, value) if of == variable => Some(value),
                _ => None,
            })
        };
        let sizes = &task.variables;
        let before: Vec<(u32, u32)> = after
            .iter()
            .map(|&(v, value)| (v, asked(v).unwrap_or((value + 1) % sizes[v as usize].values.len() as u32)))
            .collect();
        let is =
            |facts: &[(u32, u32)]| facts.iter().map(|&(v, value)| Need::Is(v, value)).collect::<Vec<_>>();
        let set = |facts: &[(u32, u32)]| {
            let change =
                |&(v, value): &(u32, u32)| Effect { when: Vec::new(), change: Change::Set(v, value) };
            facts.iter().map(change).collect::<Vec<_>>()
        };
        (row.needs, row.effects) = (is(&before), set(&after));
        if undone(at) {
            back.push(Row { needs: is(&after), effects: set(&before), ..row.clone() });
        }
    }
    task.rows.extend(back);
    task
}

#[test]
fn sequences_that_change_nothing_bound_where_duplicates_lie() {
    let (mut bounded, mut tight, mut unknown, mut same_cost) = (0, 0, 0, 0);
    for drawing in drawings(120).filter(|d| !(d.conditional || d.derived || d.numbers || d.monitors)) {
        let all = drawing.seed % 3 > 0;
        let Some(truth) = Truth::explore(with_ways_back(drawing, |at| all || at % 4 > 0)) else { continue };
        let Some(found) = NoOps::of(&truth.space, 3, 1_000_000) else {
            unknown += 1;
            assert!(!all, "{drawing:?}");
            continue;
        };
        // Breadth-first distances.
        let mut depth = vec![u64::MAX; truth.states.len()];
        depth[0] = 0;
        let mut changed = true;
        while std::mem::take(&mut changed) {
            for &(from, _, to, _) in &truth.edges {
                if depth[from] != u64::MAX && depth[from] + 1 < depth[to] {
                    depth[to] = depth[from] + 1;
                    changed = true;
                }
            }
        }
        let locality =
            truth.edges.iter().map(|&(from, _, to, _)| (depth[from] + 1).saturating_sub(depth[to])).max();
        assert!(locality.unwrap_or(0) <= u64::from(found.longest), "{drawing:?}: {locality:?} and {found:?}");
        bounded += 1;
        tight += u32::from(locality == Some(u64::from(found.longest)));
        assert!(!all || found.longest <= 2, "{drawing:?}: {found:?}");
        same_cost += u32::from(found.same_cost);
    }
    assert!(
        bounded > 40 && tight > 10 && unknown > 3 && same_cost > 5,
        "{bounded} {tight} {unknown} {same_cost}"
    );
}
