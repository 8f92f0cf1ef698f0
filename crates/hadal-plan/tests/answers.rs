//! Plans, proofs and costs against what every state of a drawn task says, in RAM and on disk.

mod truth;

use hadal_guide::plan::{Pruned, Safe, Stubborn};
use hadal_plan::{
    Abstraction, Answer, ENGINES, Engine, Found, GUIDES, GuideChoice, Kept, OnDisk, Opening, Outcome,
    Planner, Resumed,
};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{Control, Limits};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, RunFolder, Verify};
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_system::rows::{Change, Metric, Need, Rational, RowTask, Term};
use hadal_testkit::rows::{self as draw, Drawing};
use hadal_testkit::{Faults, FaultyFolder};
use std::cell::RefCell;
use std::sync::{Arc, Mutex};
use truth::{Truth, drawings};

/// How a task is planned for.
#[derive(Clone, Copy)]
struct How {
    engine: Engine,
    guide: &'static str,
    optimal: bool,
    abstraction: Abstraction,
    on_disk: bool,
    /// Stops the search when so many states are known.
    most_states: Option<u64>,
}

const ANY: How = How {
    engine: Engine::Auto,
    guide: "auto",
    optimal: false,
    abstraction: Abstraction::Whole,
    on_disk: false,
    most_states: None,
};
const BEST: How = How { optimal: true, ..ANY };

/// The folder of the run that was opened last, and what was kept in it.
type Left = RefCell<Option<(Arc<dyn Vfs>, Kept)>>;

fn sit(task: RowTask, how: How, left: &Left, resumed: Option<Resumed>) -> Outcome {
    let control = Control::new(Limits { max_states: how.most_states, ..Limits::default() });
    let governor = Governor::new(1 << 28);
    let open = |kept: &Kept| -> Result<Ledger, Trouble> {
        let held = left.borrow().as_ref().map(|(vfs, _)| Arc::clone(vfs));
        let (vfs, folder) = match held.filter(|_| kept.opening != Opening::New) {
            Some(vfs) => {
                let threads = IoThreads::new(1);
                let (fingerprint, governor) = (kept.fingerprint, governor.clone());
                let folder = RunFolder::open(
                    Medium::new(Arc::clone(&vfs), threads, governor),
                    fingerprint,
                    4096,
                    Verify::EveryBlock,
                )?;
                (vfs, folder)
            }
            None => {
                let vfs: Arc<dyn Vfs> = Arc::new(FaultyFolder::new(Faults::default()));
                let threads = IoThreads::new(1);
                let (fingerprint, governor) = (kept.fingerprint, governor.clone());
                let folder =
                    RunFolder::create(Medium::new(Arc::clone(&vfs), threads, governor), fingerprint, 4096)?;
                (vfs, folder)
            }
        };
        *left.borrow_mut() = Some((vfs, kept.clone()));
        Ok(Ledger::new(folder, serde_json::json!({})).spaced(std::time::Duration::ZERO))
    };
    let announced = Mutex::new(Vec::new());
    let announce = |found: &Found| announced.lock().unwrap().push(found.cost);
    let disk = OnDisk { open: &open, overflowed: &|| {}, resumed, threads: 2 };
    let planner = Planner {
        control: &control,
        governor: &governor,
        disk,
        optimal: how.optimal,
        external: how.on_disk,
        first: false,
        engine: how.engine,
        guide: GuideChoice::named(how.guide).expect("a guide of the table"),
        abstraction: how.abstraction,
        resident: || 0,
        announce: &announce,
    };
    let shown = format!("{task:?}");
    planner.solve(task).unwrap_or_else(|error| panic!("{error}: {shown}"))
}

fn plan(task: RowTask, how: How) -> Outcome {
    sit(task, how, &RefCell::default(), None)
}

/// Plans in many sittings, each with room for a few states more.
fn plan_in_sittings(task: &RowTask, how: How) -> (Outcome, u32) {
    let left: Left = RefCell::default();
    let mut resumed = None;
    for (sittings, most) in (0..).zip((3..).step_by(7)) {
        let outcome = sit(task.clone(), How { most_states: Some(most), ..how }, &left, resumed.take());
        if !matches!(outcome.answer, Answer::Stopped(_)) {
            return (outcome, sittings);
        }
        let (_, kept) = left.borrow().clone().expect("a search that stops leaves a run");
        resumed = Some(Resumed {
            rows: kept.rows,
            stage: kept.stage,
            in_ram: kept.in_ram,
            widened: kept.widened,
            guide: kept.guide,
            overflowed: false,
        });
    }
    unreachable!("drawn tasks are finite")
}

fn units(truth: &Truth, outcome: &Outcome) -> Option<u64> {
    let cost = outcome.plan.as_ref()?.cost / truth.space.cost_unit();
    assert!(cost.is_integer());
    Some(*cost.numer() as u64)
}

#[test]
fn every_guide_finds_the_same_costs_in_memory_and_on_disk() {
    let (mut solved, mut on_disk) = (0, 0);
    for drawing in drawings(6) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let task = truth.space.task();
        for guide in GUIDES {
            let how = How { guide: guide.name, ..BEST };
            assert_eq!(GuideChoice::named(&guide.written()), Some(*guide));
            let outcome = plan(task.clone(), how);
            assert_eq!(units(&truth, &outcome), truth.distances[0], "{} {drawing:?}", guide.name);
            solved += u32::from(outcome.optimal);
            if ["scp", "lmcut"].contains(&guide.name) && truth.states.len() > 40 {
                let outcome = plan(task.clone(), How { on_disk: true, ..how });
                assert_eq!(units(&truth, &outcome), truth.distances[0], "{} {drawing:?}", guide.name);
                on_disk += 1;
            }
        }
    }
    assert!(solved > 200 && on_disk > 20, "{solved} {on_disk}");
}

#[test]
fn optimal_plans_cost_what_the_nearest_goal_costs() {
    let (mut solved, mut unsolvable) = (0, 0);
    for drawing in drawings(24) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let outcome = plan(truth.space.task().clone(), BEST);
        assert_eq!(units(&truth, &outcome), truth.distances[0], "{drawing:?}");
        match truth.distances[0] {
            Some(_) => {
                assert!(outcome.answer == Answer::Solved && outcome.optimal, "{drawing:?}");
                solved += 1;
            }
            None => {
                assert_eq!(outcome.answer, Answer::Unsolvable, "{drawing:?}");
                unsolvable += 1;
            }
        }
    }
    assert!(solved > 100 && unsolvable > 50, "{solved} {unsolvable}");
}

#[test]
fn first_plans_are_plans_and_what_is_called_optimal_is() {
    let mut proved = 0;
    for drawing in drawings(6) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let outcome = plan(truth.space.task().clone(), ANY);
        match truth.distances[0] {
            Some(least) => {
                let cost = units(&truth, &outcome).expect("there is a plan");
                assert!(cost >= least && outcome.answer == Answer::Solved, "{drawing:?}");
                if outcome.optimal {
                    assert_eq!(cost, least, "{drawing:?}");
                    proved += 1;
                }
            }
            None => assert_eq!(outcome.answer, Answer::Unsolvable, "{drawing:?}"),
        }
    }
    assert!(proved > 40, "{proved}");
}

#[test]
fn searches_on_disk_answer_as_those_in_memory() {
    let mut on_disk = 0;
    for drawing in drawings(16) {
        let Some(truth) = Truth::of(drawing) else { continue };
        if truth.states.len() < 40 {
            continue;
        }
        for optimal in [true, false] {
            let outcome = plan(truth.space.task().clone(), How { optimal, on_disk: true, ..ANY });
            on_disk += 1;
            if optimal {
                assert_eq!(units(&truth, &outcome), truth.distances[0], "{drawing:?}");
                assert_eq!(outcome.optimal, truth.distances[0].is_some(), "{drawing:?}");
            }
            assert_eq!(outcome.answer == Answer::Solved, truth.distances[0].is_some(), "{drawing:?}");
        }
    }
    assert!(on_disk > 40, "{on_disk}");
}

/// Whether stubborn sets leave out a fifth of the transitions of all states.
fn is_worth_pruning(truth: &Truth) -> bool {
    let mut stubborn = Stubborn::new(&truth.space, 1 << 16).expect("a plain task");
    let mut worker = truth.space.row_worker();
    let (mut rows, mut pruned) = (Vec::new(), Pruned::default());
    for state in &truth.states {
        worker.applicable(state, &mut rows);
        stubborn.prune(state, &mut rows, &mut pruned);
    }
    pruned.pays()
}

#[test]
fn stubborn_sets_on_disk_keep_costs_in_one_sitting_and_in_many() {
    let (mut pruned, mut solved) = (0, 0);
    for drawing in drawings(400).filter(|d| !(d.conditional || d.derived || d.numbers || d.monitors)) {
        let Some(truth) = Truth::of(drawing).filter(is_worth_pruning) else { continue };
        let how = How { on_disk: true, guide: "blind", ..BEST };
        for outcome in [plan(truth.space.task().clone(), how), plan_in_sittings(truth.space.task(), how).0] {
            assert_eq!(units(&truth, &outcome), truth.distances[0], "{drawing:?}");
            assert_eq!(outcome.optimal, truth.distances[0].is_some(), "{drawing:?}");
            pruned += u32::from(outcome.searches.iter().any(|search| search.starts_with("stubborn sets")));
            solved += u32::from(outcome.optimal);
        }
    }
    assert!(pruned > 5 && solved > 5, "{pruned} {solved}");
}

#[test]
fn the_best_last_state_is_found_and_proved() {
    let mut proved = 0;
    for drawing in drawings(12).filter(|drawing| drawing.numbers) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let mut task = truth.space.task().clone();
        for more in [false, true] {
            // The first term is the first number; undefined ends do not count.
            task.metric = if more { Metric::Maximise(0) } else { Metric::Minimise(0) };
            let mut worker = truth.space.row_worker();
            let ends: Vec<Rational> = truth
                .states
                .iter()
                .filter(|state| worker.is_goal(state))
                .filter_map(|state| truth.space.unpack(state).numbers[0])
                .collect();
            let best = if more { ends.iter().max() } else { ends.iter().min() };
            let outcome = plan(task.clone(), BEST);
            assert_eq!(outcome.plan.as_ref().map(|plan| plan.cost), best.copied(), "{drawing:?}");
            assert_eq!(outcome.optimal, best.is_some());
            proved += u32::from(best.is_some());
        }
    }
    assert!(proved > 20, "{proved}");
}

/// What an outcome must be, given all states.
fn agrees(truth: &Truth, outcome: &Outcome, name: &str) {
    match truth.distances[0] {
        Some(least) => {
            assert_eq!(outcome.answer, Answer::Solved, "{name}");
            let cost = units(truth, outcome).expect("there is a plan");
            assert!(cost >= least, "{name}: {cost} below {least}");
            assert!(!outcome.optimal || cost == least, "{name}: {cost} is not {least}");
            let costs: Vec<Rational> = outcome.costs.iter().map(|found| found.cost).collect();
            assert!(costs.is_sorted_by(|a, b| a > b), "{name}: costs do not fall: {costs:?}");
            assert_eq!(costs.last(), outcome.plan.as_ref().map(|plan| &plan.cost), "{name}");
        }
        None => assert_eq!(outcome.answer, Answer::Unsolvable, "{name}"),
    }
}

#[test]
fn every_engine_agrees_with_all_states() {
    let mut proved = 0;
    for drawing in drawings(3) {
        let Some(truth) = Truth::of(drawing) else { continue };
        for info in &ENGINES {
            if info.engine == Engine::CostBreadth {
                continue;
            }
            let outcome = plan(truth.space.task().clone(), How { engine: info.engine, ..ANY });
            let name = format!("{} on {drawing:?}", info.name);
            agrees(&truth, &outcome, &name);
            if info.proves {
                assert_eq!(outcome.optimal, truth.distances[0].is_some(), "{name}");
                proved += u32::from(outcome.optimal);
            }
        }
    }
    assert!(proved > 100, "{proved}");
}

#[test]
fn searches_that_stop_again_and_again_go_on_to_the_same_answer() {
    let (mut resumed, mut solved) = (0, 0);
    for drawing in drawings(9) {
        let Some(truth) = Truth::of(drawing) else { continue };
        if truth.states.len() < 30 {
            continue;
        }
        for info in &ENGINES {
            // Hill climbing and beams begin a segment or a beam anew, which needs all its states at once.
            let anew = [Engine::Climbing, Engine::Beam, Engine::CostBreadth].contains(&info.engine);
            if anew {
                continue;
            }
            let how = How { engine: info.engine, ..ANY };
            let (outcome, sittings) = plan_in_sittings(truth.space.task(), how);
            let name = format!("{} on {drawing:?} in {sittings} sittings", info.name);
            match truth.distances[0] {
                Some(least) => {
                    assert_eq!(outcome.answer, Answer::Solved, "{name}");
                    let cost = units(&truth, &outcome);
                    assert!(cost >= Some(least) && (!outcome.optimal || cost == Some(least)), "{name}");
                    assert!(outcome.optimal || !info.proves, "{name}");
                    solved += 1;
                }
                None => assert_eq!(outcome.answer, Answer::Unsolvable, "{name}"),
            }
            resumed += sittings;
        }
    }
    assert!(resumed > 250 && solved > 100, "{resumed} {solved}");
}

#[test]
fn the_best_last_state_is_the_same_in_one_sitting_and_in_many() {
    let mut sittings_in_all = 0;
    for drawing in drawings(8).filter(|drawing| drawing.numbers) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let mut task = truth.space.task().clone();
        task.metric = Metric::Minimise(0);
        let how = How { engine: Engine::CostBreadth, ..ANY };
        let whole = plan(task.clone(), how);
        let (outcome, sittings) = plan_in_sittings(&task, how);
        let cost = |outcome: &Outcome| outcome.plan.as_ref().map(|plan| plan.cost);
        assert_eq!(cost(&outcome), cost(&whole), "{drawing:?}");
        assert_eq!((outcome.answer, outcome.optimal), (whole.answer, whole.optimal), "{drawing:?}");
        sittings_in_all += sittings;
    }
    assert!(sittings_in_all > 20, "{sittings_in_all}");
}

/// The least cost of a way from the first state to each of the others.
fn costs_from_the_start(truth: &Truth) -> Vec<u64> {
    let mut costs = vec![u64::MAX; truth.states.len()];
    costs[0] = 0;
    let mut changed = true;
    while changed {
        changed = false;
        for &(from, _, to, cost) in &truth.edges {
            let there = costs[from].saturating_add(u64::from(cost));
            if there < costs[to] {
                costs[to] = there;
                changed = true;
            }
        }
    }
    costs
}

#[test]
fn the_least_sum_of_costs_and_a_last_state_is_proved_in_ram_on_disk_and_in_many_sittings() {
    let (mut proved, mut ends_decide, mut sittings_in_all, mut undefined) = (0, 0, 0, 0);
    let drawn =
        drawings(12).filter(|drawing| drawing.numbers && drawing.largest_cost.is_some_and(|most| most > 0));
    for drawing in drawn {
        let mut task = draw::task(drawing);
        let Metric::Cost { at_end, .. } = &mut task.metric else { continue };
        // More of the first number is better, which is the first term; undefined ends do not count.
        let worth = Rational::from_integer(-20);
        task.terms.push(Term::Constant(worth));
        task.terms.push(Term::Multiply(0, task.terms.len() as u32 - 1));
        *at_end = Some(task.terms.len() as u32 - 1);
        undefined += u32::from(task.numbers[0].initial.is_none());
        let Some(truth) = Truth::explore(task) else { continue };
        let costs = costs_from_the_start(&truth);
        let mut worker = truth.space.row_worker();
        let sums = truth.states.iter().zip(&costs).filter(|(state, _)| worker.is_goal(state));
        let sums: Vec<(u64, Rational)> =
            sums.filter_map(|(state, &cost)| Some((cost, truth.space.unpack(state).numbers[0]?))).collect();
        let sum = |&(cost, end): &(u64, Rational)| {
            truth.space.cost_unit() * Rational::from_integer(i128::from(cost)) + worth * end
        };
        let best = sums.iter().map(sum).min();
        let cheapest = sums.iter().min().map(sum);
        for on_disk in [false, true] {
            let outcome = plan(truth.space.task().clone(), How { on_disk, ..BEST });
            assert_eq!(outcome.answer == Answer::Solved, best.is_some(), "on disk: {on_disk} {drawing:?}");
            assert_eq!(outcome.plan.as_ref().map(|plan| plan.cost), best, "on disk: {on_disk} {drawing:?}");
            assert_eq!(outcome.optimal, best.is_some(), "on disk: {on_disk} {drawing:?}");
        }
        if best.is_none() || truth.states.len() > 300 {
            continue;
        }
        proved += 1;
        ends_decide += u32::from(best != cheapest);
        for on_disk in [false, true] {
            let (outcome, sittings) = plan_in_sittings(truth.space.task(), How { on_disk, ..BEST });
            assert_eq!(outcome.plan.as_ref().map(|plan| plan.cost), best, "on disk: {on_disk} {drawing:?}");
            assert!(outcome.optimal, "on disk: {on_disk} {drawing:?}");
            sittings_in_all += sittings;
        }
    }
    assert!(
        proved > 10 && ends_decide > 2 && sittings_in_all > 40,
        "{proved} {ends_decide} {sittings_in_all}"
    );
    assert!(undefined > 2, "{undefined}");
}

/// A drawn task, some of whose variables are moved by rows of their own alone.
fn with_free_variables(drawing: Drawing) -> RowTask {
    let mut task = draw::task(drawing);
    let free = task.variables.len() as u32 / 2;
    let asks = |need: &Need, of: u32| matches!(*need, Need::Is(v, _) | Need::IsNot(v, _) if v == of);
    for row in &mut task.rows {
        let moved = row.effects.iter().find_map(|effect| match effect.change {
            Change::Set(variable, _) if variable < free => Some(variable),
            _ => None,
        });
        match moved {
            Some(of) => {
                row.effects.retain(|effect| matches!(effect.change, Change::Set(v, _) if v == of));
                row.effects.iter_mut().for_each(|effect| effect.when.clear());
                row.needs.retain(|need| asks(need, of));
                row.cost = None;
            }
            None => row.effects.iter_mut().for_each(|effect| {
                effect.when.retain(|need| !matches!(*need, Need::Is(v, _) | Need::IsNot(v, _) if v < free));
            }),
        }
    }
    task
}

#[test]
fn safe_abstraction_keeps_verdicts_and_its_plans_are_plans() {
    let (mut smaller, mut solved, mut unsolvable, mut fewer) = (0, 0, 0, 0);
    for drawing in drawings(40).filter(|drawing| !drawing.monitors && !drawing.derived && !drawing.numbers) {
        let task = with_free_variables(drawing);
        let Some(safe) = Safe::of(&task) else { continue };
        smaller += 1;
        let whole = plan(task.clone(), ANY);
        let outcome = plan(task.clone(), How { abstraction: Abstraction::Safe, ..ANY });
        // Replayed on the whole task by the planner.
        assert_eq!(
            outcome.answer,
            whole.answer,
            "{drawing:?}: without {:?}",
            safe.removed().collect::<Vec<_>>()
        );
        assert!(!outcome.optimal && outcome.plan.is_some() == whole.plan.is_some());
        match outcome.answer {
            Answer::Solved => solved += 1,
            _ => {
                unsolvable += 1;
                fewer += u32::from(outcome.figures.states < whole.figures.states);
            }
        }
    }
    assert!(
        smaller > 100 && solved > 40 && unsolvable > 20 && fewer > 4,
        "{smaller} {solved} {unsolvable} {fewer}"
    );
}
