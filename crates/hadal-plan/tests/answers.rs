//! Plans, proofs and costs against what every state of a drawn task says, in RAM and on disk.

mod truth;

use hadal_plan::{Answer, Kept, OnDisk, Outcome, Planner};
use hadal_search::layered::Trouble;
use hadal_search::layered::ledger::Ledger;
use hadal_search::{Control, Limits};
use hadal_store::Governor;
use hadal_store::manifest::RunFolder;
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_system::rows::{Metric, Rational, RowTask};
use hadal_testkit::{Faults, FaultyFolder};
use std::sync::Arc;
use truth::{Truth, drawings};

/// Where a search begins.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Begin {
    InMemory,
    OnDisk,
}

fn plan(task: RowTask, optimal: bool, begin: Begin) -> Outcome {
    let control = Control::new(Limits::default());
    let governor = Governor::new(1 << 28);
    let open = |kept: &Kept| -> Result<Ledger, Trouble> {
        let vfs: Arc<dyn Vfs> = Arc::new(FaultyFolder::new(Faults::default()));
        let folder = RunFolder::create(vfs, IoThreads::new(1), governor.clone(), kept.fingerprint, 4096)?;
        Ok(Ledger::new(folder, serde_json::json!({})))
    };
    let disk = OnDisk { open: &open, resumed: false, best: None, threads: 2 };
    let external = begin == Begin::OnDisk;
    let planner = Planner { control: &control, governor: &governor, disk, optimal, external };
    planner.solve(task).expect("a drawn task can be planned for")
}

fn units(truth: &Truth, outcome: &Outcome) -> Option<u64> {
    let cost = outcome.plan.as_ref()?.cost / truth.space.cost_unit();
    assert!(cost.is_integer());
    Some(*cost.numer() as u64)
}

#[test]
fn optimal_plans_cost_what_the_nearest_goal_costs() {
    let (mut solved, mut unsolvable) = (0, 0);
    for drawing in drawings(24) {
        let Some(truth) = Truth::of(drawing) else { continue };
        let outcome = plan(truth.space.task().clone(), true, Begin::InMemory);
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
        let outcome = plan(truth.space.task().clone(), false, Begin::InMemory);
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
            let outcome = plan(truth.space.task().clone(), optimal, Begin::OnDisk);
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
            let outcome = plan(task.clone(), true, Begin::InMemory);
            assert_eq!(outcome.plan.as_ref().map(|plan| plan.cost), best.copied(), "{drawing:?}");
            assert_eq!(outcome.optimal, best.is_some());
            proved += u32::from(best.is_some());
        }
    }
    assert!(proved > 20, "{proved}");
}
