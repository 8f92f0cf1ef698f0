//! Iterative context bounding: no trace has fewer switches than the one that is found.

use crate::truth::{Asked, Searched, Truth, figures, model, run};
use hadal_exec::{Model, SymmetryMode};
use hadal_guide::{priority, registry};
use hadal_search::directed::{DirectedOptions, Insertion, Order, Tie};
use hadal_search::{DeadlockNotion, Verdict, ViolationKind};
use hadal_system::Label;
use hadal_testkit::generate;
use std::collections::{BTreeSet, VecDeque};

/// The processes that take part in each label.
fn processes(model: &Model) -> Vec<Vec<u32>> {
    let system = model.system();
    let bases = system.label_bases(&system.actions);
    let mut of_label = vec![Vec::new(); bases.last().copied().unwrap_or(0) as usize];
    for (n, action) in system.actions.iter().enumerate() {
        for label in bases[n]..bases[n + 1] {
            of_label[label as usize] = action.processes.iter().map(|process| process.0).collect();
        }
    }
    of_label
}

/// The least number of switches on any way to something wrong: a shortest path over states with the label that led there,
/// where a step costs 1 if it shares no process with the one before.
fn least_switches(truth: &Truth, processes: &[Vec<u32>]) -> Option<u64> {
    let mut leaving: Vec<Vec<(usize, Label)>> = vec![Vec::new(); truth.states.len()];
    truth.edges.iter().for_each(|&(from, to, label)| leaving[from].push((to, label)));
    let mut done = BTreeSet::new();
    let mut queue: VecDeque<(u64, usize, Option<Label>)> =
        truth.starts.iter().map(|&start| (0, start, None)).collect();
    while let Some((switches, at, before)) = queue.pop_front() {
        if truth.is_wrong(at) {
            return Some(switches);
        }
        if !done.insert((at, before.map(|label| label.0))) {
            continue;
        }
        for &(to, label) in &leaving[at] {
            let moving = &processes[label.0 as usize];
            let stays = before.is_none_or(|before| {
                processes[before.0 as usize].iter().any(|process| moving.contains(process))
            });
            if stays {
                queue.push_front((switches, to, Some(label)));
            } else {
                queue.push_back((switches + 1, to, Some(label)));
            }
        }
    }
    None
}

/// Counts the traces that were compared, and the most switches on one.
fn compare(seeds: std::ops::Range<u64>) -> (usize, u64) {
    let (mut compared, mut most) = (0, 0);
    for seed in seeds {
        let system = if seed % 4 == 0 { generate::components(seed) } else { generate::network(seed) };
        let Some(model) = model(system, SymmetryMode::Off) else { continue };
        let asked = Asked::properties(&model, DeadlockNotion::Off);
        let Some(truth) = Truth::of(&model, &asked, 2000) else { continue };
        let least = least_switches(&truth, &processes(&model));
        for name in ["blind", "du", "hff"] {
            let Ok(guide) = registry::build(name, &model, &asked.goal) else { continue };
            let layer = priority::build("bound-process", &model, &asked.goal, &*guide).expect("processes");
            let tie = [None, Some(Tie::Random(seed))][seed as usize % 2];
            for order in [Order::Greedy, Order::Breadth, Order::Depth, Order::AStar, Order::Alternating] {
                for insertion in [Insertion::WhenBetter, Insertion::UnlessClosed] {
                    if insertion == Insertion::UnlessClosed
                        && matches!(order, Order::AStar | Order::Alternating)
                    {
                        continue;
                    }
                    let options = DirectedOptions { order, insertion, tie, ..DirectedOptions::default() };
                    let report = run(&model, &asked, &*guide, &*layer, options);
                    let case = format!("seed {seed} {name} {order} {insertion:?}");
                    truth.assert_agrees(Searched { model: &model, priority: &*layer, order }, &report, &case);
                    let Verdict::Violated(found) = &report.verdict else { continue };
                    if order == Order::Alternating || matches!(found.kind, ViolationKind::StartFault(_)) {
                        continue;
                    }
                    assert_eq!(figures(&report).switches, least, "{case}");
                    compared += 1;
                    most = most.max(least.unwrap_or(0));
                }
            }
        }
    }
    (compared, most)
}

#[test]
fn no_trace_has_fewer_switches_between_processes() {
    let (compared, most) = compare(0..200);
    println!("{compared} traces, up to {most} switches");
    assert!(compared > 1000 && most > 1, "{compared} {most}");
}

#[test]
#[ignore = "minutes: the same with many networks"]
fn no_trace_of_many_networks_has_fewer_switches() {
    println!("{:?}", compare(0..30_000));
}
