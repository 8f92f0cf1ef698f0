//! Rough tasks are still supersets of their models: what guides promise holds however little was looked at.

use super::{AbstractTask, Limits};
use crate::estimate::formula::{Combine, FormulaGuide, Graphs, Other, Shape};
use crate::estimate::pattern::Patterns;
use crate::estimate::relaxed::{Kind, Network, Relaxed, Supporter};
use crate::room::Room;
use hadal_system::guide::Goal;
use hadal_system::guide::Guide;
use hadal_system::guide::Mask;
use hadal_system::guide::Unmetered;
use hadal_system::{Label, StateSpace};
use hadal_testkit::generate::{self, Size};
use std::sync::Arc;
use truth::{assert_promises, model, truth, with_a_far_goal};

#[path = "../../tests/truth/mod.rs"]
mod truth;

#[test]
fn promises_hold_however_roughly_the_model_is_known() {
    let fine = Limits::default();
    let rough = [
        Limits { paths: 2, ..fine },
        Limits { instance_fuel: 25, ..fine },
        Limits { total_fuel: 300, ..fine },
        Limits { instances: 3, ..fine },
    ];
    let (mut roughly_known, mut far) = (0, 0);
    for seed in 0..80 {
        let Some(system) = with_a_far_goal(generate::system(seed, Size::SMALL), 300) else { continue };
        let Some(model) = model(system) else { continue };
        let properties = Goal::of_properties(model.properties());
        let last = properties.properties.last().copied();
        for goal in [
            Goal { faults: true, ..properties },
            Goal { deadlock: true, ..Goal::default() },
            Goal { properties: last.into_iter().collect(), ..Goal::default() },
        ] {
            let Some(truth) = truth(&model, &goal, 300) else { continue };
            far += usize::from(truth.distance.iter().any(|d| d.is_finite() && d.0 > 1));
            let off: Mask = [0, 2, 5].map(Label).into_iter().collect();
            for (n, &limits) in rough.iter().enumerate() {
                let task = Arc::new(
                    AbstractTask::within(&model, &goal, limits, &Unmetered)
                        .expect("the properties exist")
                        .whole,
                );
                roughly_known += task.coarse.0;
                let shape = Shape {
                    name: "dl:all",
                    other: Other::Nothing,
                    graphs: Graphs::All,
                    combine: Combine::Greatest,
                    divisor: 1,
                };
                let guides: [Box<dyn Guide>; 5] = [
                    Box::new(Relaxed::new("hl", Arc::new(Network::of(&task)), Kind::Rounds)),
                    Box::new(Relaxed::merged("hl", &task, Kind::Rounds)),
                    Box::new(Relaxed::merged("hff", &task, Kind::Trace(Supporter::First))),
                    Box::new(FormulaGuide::new(model.system(), task.clone(), shape)),
                    Box::new(
                        Patterns::automatic(&model, task.clone(), None, &Room::default()).expect("it fits"),
                    ),
                ];
                for guide in guides {
                    assert_promises(&*guide, &truth, &off, &format!("seed {seed}, limits {n}"));
                }
            }
        }
    }
    assert!(roughly_known > 100, "{roughly_known}");
    assert!(far > 20, "{far}");
}

/// Whether an operator can lead from one state to the other.
fn covers(task: &AbstractTask, operator: &super::Operator, label: u32, from: &[u64], to: &[u64]) -> bool {
    let fires = operator.labels.iter().any(|&(first, last)| first <= label && label <= last)
        && operator.preconditions.iter().all(|(var, bits)| task.variables[*var as usize].has(from, bits));
    fires
        && task.variables.iter().enumerate().all(|(var, variable)| {
            let mut before = Vec::new();
            variable.each_number(from, |n| before.push(n));
            let mut allowed = true;
            variable.each_number(to, |n| {
                // Elements of a multiset change places.
                allowed &= before.contains(&n)
                    || operator.effects.iter().any(|effect| {
                        let applies = (effect.condition.iter())
                            .all(|(on, bits)| task.variables[*on as usize].has(from, bits));
                        effect.var == var as u32 && applies && effect.values.contains(n as usize)
                    });
            });
            // What surely is written does not stay as it was.
            let stays = variable.is_single() && variable.number(to) == variable.number(from);
            let must_change = operator.effects.iter().any(|effect| {
                effect.var == var as u32
                    && effect.condition.is_none()
                    && !effect.values.contains(variable.number(from) as usize)
            });
            allowed && !(stays && must_change)
        })
}

#[test]
fn every_transition_of_a_model_is_a_way_of_its_task_and_every_target_meets_its_goal() {
    // The last one has a multiset of a single element.
    for seed in (0..200).chain([901]) {
        let Some(system) = with_a_far_goal(generate::system(seed, Size::SMALL), 300) else { continue };
        let Some(model) = model(system) else { continue };
        let properties = Goal::of_properties(model.properties());
        for goal in [
            Goal { faults: true, ..properties.clone() },
            properties,
            Goal { deadlock: true, ..Goal::default() },
        ] {
            let Some(truth) = truth(&model, &goal, 300) else { continue };
            let task = AbstractTask::within(&model, &goal, Limits::default(), &Unmetered)
                .expect("the properties exist")
                .whole;
            for (state, &goal) in truth.states.iter().zip(&truth.goal) {
                let holds = task.goal.holds(&|var, bits| task.variables[var as usize].has(state, bits));
                assert!(holds || !goal, "seed {seed}: {:?} is a goal", model.render_state(state));
            }
            for &(from, to, label) in &truth.edges {
                let (from, to) = (&truth.states[from as usize], &truth.states[to as usize]);
                let matters = task.variables.iter().any(|v| v.is_single() && v.number(from) != v.number(to));
                assert!(
                    !matters
                        || task.operators.iter().any(|operator| covers(&task, operator, label.0, from, to)),
                    "seed {seed}: {} from {:?} to {:?}",
                    model.render_label(label),
                    model.render_state(from),
                    model.render_state(to)
                );
            }
        }
    }
}
