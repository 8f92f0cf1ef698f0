//! Packed ground tasks mean what their definition says.

use hadal_exec::rows::{Fired, Firing, RowMeaning, RowSpace, RowState};
use hadal_exec::{Interpreter, Outcome};
use hadal_system::rows::scale::number_scales;
use hadal_system::rows::{
    Change, Effect, FiniteVariable, Need, NumberVariable, Rational, Row, RowTask, Term,
};
use hadal_system::validate::validate;
use hadal_system::{Label, Layout, PropertyId};
use hadal_testkit::rows::{self as draw, Drawing};
use std::collections::{HashSet, VecDeque};

/// Every combination of features, with this many seeds each.
fn drawings(seeds: u64) -> impl Iterator<Item = Drawing> {
    (0..32 * seeds).map(|n| Drawing {
        seed: n,
        conditional: n & 1 > 0,
        derived: n & 2 > 0,
        numbers: n & 4 > 0,
        monitors: n & 8 > 0,
        largest_cost: (n & 16 > 0).then_some([1, 7, 1_000_000][(n % 3) as usize]),
    })
}

#[test]
fn packed_successors_costs_and_goals_are_those_of_the_definition() {
    let (mut compared, mut goals) = (0u64, 0u64);
    for drawing in drawings(30) {
        let space = RowSpace::new(draw::task(drawing)).unwrap();
        let meaning = RowMeaning::new(space.task());
        let mut worker = space.row_worker();
        let start = meaning.initial().unwrap();
        assert_eq!(space.pack(&start).as_deref(), Some(space.initial()), "{drawing:?}");
        let mut seen: HashSet<RowState> = HashSet::from([start.clone()]);
        let mut open = VecDeque::from([start]);
        while let Some(state) = open.pop_front() {
            if seen.len() > 400 {
                break;
            }
            let packed = space.pack(&state).expect("drawn numbers are small");
            assert_eq!(space.unpack(&packed), state, "{drawing:?}");
            assert_eq!(worker.is_goal(&packed), meaning.is_goal(&state).unwrap(), "{drawing:?}");
            goals += u64::from(meaning.is_goal(&state).unwrap());
            let mut found: Vec<(u32, u32, Vec<u64>)> = Vec::new();
            worker.expand(&packed, |row, firing, next| match firing {
                Firing::Reached(cost) => found.push((row, cost, next.to_vec())),
                other => panic!("{drawing:?}: row {row} {other:?}"),
            });
            found.sort();
            let mut expected = Vec::new();
            for (at, row) in space.task().rows.iter().enumerate() {
                if let Fired::Reached(next, cost) = meaning.fire(&state, row).unwrap() {
                    let units = cost / space.cost_unit();
                    assert!(units.is_integer());
                    expected.push((at as u32, *units.numer() as u32, space.pack(&next).unwrap()));
                    if seen.insert(next.clone()) {
                        open.push_back(next);
                    }
                }
            }
            assert_eq!(found, expected, "{drawing:?} in {state:?}");
            compared += found.len() as u64;
        }
        assert!(!space.overflowed() && !space.faulted());
    }
    assert!(compared > 30_000 && goals > 1_000, "{compared} transitions, {goals} goals");
}

#[test]
fn the_system_of_a_task_does_what_its_rows_do() {
    let (mut compared, mut goals, mut disabled, mut paid) = (0u64, 0u64, 0u64, 0u64);
    for drawing in drawings(12) {
        let task = draw::task(drawing);
        let system = task.to_system().expect("drawn numbers are exact");
        assert_eq!(validate(&system), [], "{drawing:?}");
        let layout = Layout::natural(&system);
        let interpreter = Interpreter::new(&system, &layout);
        let scales = number_scales(&task).expect("drawn numbers are exact");
        let read = |state: &[u64]| {
            let mut slots = layout.unpack(&system, state);
            let numbers = slots.split_off(task.variables.len());
            let number = |(units, &scale): (Option<i64>, &i128)| {
                units.map(|units| Rational::new(i128::from(units), scale))
            };
            RowState {
                values: slots.into_iter().map(|value| value.expect("always defined") as u32).collect(),
                numbers: numbers.into_iter().zip(&scales).map(number).collect(),
            }
        };
        let meaning = RowMeaning::new(&task);
        let Outcome::Reached(start) = interpreter.start(Label(0)) else { panic!("{drawing:?}: no start") };
        assert_eq!(read(&start), meaning.initial().unwrap(), "{drawing:?}");
        let mut seen = HashSet::from([start.clone()]);
        let mut open = VecDeque::from([start]);
        // What one of a row's costs is in units of the system's, the same for all.
        let mut unit: Option<Rational> = None;
        while let Some(state) = open.pop_front().filter(|_| seen.len() < 200) {
            let before = read(&state);
            let goal = meaning.is_goal(&before).unwrap();
            assert_eq!(interpreter.satisfies(&state, PropertyId(0)), Some(goal), "{drawing:?}");
            goals += u64::from(goal);
            for (row, label) in task.rows.iter().zip(0..) {
                match (meaning.fire(&before, row).unwrap(), interpreter.fire(&state, Label(label))) {
                    (Fired::Inapplicable, Outcome::Disabled) => disabled += 1,
                    (Fired::Reached(next, cost), Outcome::Reached(reached)) => {
                        assert_eq!(read(&reached), next, "{drawing:?}: row {label} in {before:?}");
                        compared += 1;
                        let units = interpreter.cost(&state, Label(label)).expect("drawn costs are small");
                        let units = Rational::from_integer(i128::from(units));
                        match unit {
                            _ if cost == Rational::from_integer(0) => assert_eq!(units, cost, "{drawing:?}"),
                            None => unit = Some(units / cost),
                            Some(unit) => assert_eq!(units, cost * unit, "{drawing:?}: row {label}"),
                        }
                        paid += u64::from(system.has_costs());
                        if seen.insert(reached.clone()) {
                            open.push_back(reached);
                        }
                    }
                    other => panic!("{drawing:?}: row {label} in {before:?}: {other:?}"),
                }
            }
        }
    }
    assert!(compared > 10_000 && goals > 300 && disabled > 20_000, "{compared} {goals} {disabled}");
    assert!(paid > 2_000, "{paid}");
}

/// A counter that grows without bounds.
fn counter(step: Rational) -> RowTask {
    let mut task = RowTask::default();
    task.names.schemas.push("count".to_owned());
    task.variables.push(FiniteVariable {
        name: "only".to_owned(),
        values: vec!["on".to_owned()],
        initial: 0,
    });
    task.numbers.push(NumberVariable { name: "n".to_owned(), initial: Some(Rational::from_integer(0)) });
    task.terms = vec![Term::Number(0), Term::Constant(step), Term::Add(0, 1)];
    let effects = vec![Effect { when: Vec::new(), change: Change::Assign(0, 2) }];
    task.rows.push(Row { needs: vec![Need::Is(0, 0)], effects, ..Row::default() });
    task
}

#[test]
fn a_number_that_does_not_fit_is_noted_and_fits_when_widened() {
    let mut space = RowSpace::new(counter(Rational::new(1001, 4))).unwrap();
    for widening in 0.. {
        let mut worker = space.row_worker();
        let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
        let mut steps = 0;
        while steps < 1000 && worker.fire(&state, 0, &mut next) == Firing::Reached(1) {
            std::mem::swap(&mut state, &mut next);
            steps += 1;
        }
        if !space.overflowed() {
            let sum = space.unpack(&state).numbers[0];
            assert_eq!((steps, sum), (1000, Some(Rational::new(1001 * 1000, 4))));
            assert!(widening > 0, "16 bits are too few");
            break;
        }
        assert!(steps < 1000);
        let wider = space.widths().widened().expect("there are more bits");
        space = space.with_widths(wider).unwrap();
    }
}

#[test]
fn a_number_halved_for_ever_is_floating_point_and_says_so() {
    let mut task = counter(Rational::new(1, 2));
    task.numbers[0].initial = Some(Rational::from_integer(1));
    task.terms[2] = Term::Multiply(0, 1);
    let space = RowSpace::new(task).unwrap();
    assert!(!space.is_exact());
    let mut worker = space.row_worker();
    let (mut state, mut next) = (space.initial().to_vec(), space.initial().to_vec());
    for _ in 0..3 {
        assert_eq!(worker.fire(&state, 0, &mut next), Firing::Reached(1));
        std::mem::swap(&mut state, &mut next);
    }
    assert_eq!(space.unpack(&state).numbers[0], Some(Rational::new(1, 8)));
    assert!(RowSpace::new(counter(Rational::new(1, 2))).unwrap().is_exact());
}

#[test]
fn fractional_costs_are_counted_in_their_largest_common_unit() {
    let mut task = counter(Rational::from_integer(0));
    let (offset, sense) = (Rational::from_integer(0), hadal_system::rows::Sense::Minimise);
    task.metric = hadal_system::rows::Metric::Cost { at_end: None, offset, sense };
    for cost in [Rational::new(3, 2), Rational::from_integer(6), Rational::from_integer(0)] {
        task.terms.push(Term::Constant(cost));
        let cost = Some(task.terms.len() as u32 - 1);
        task.rows.push(Row { cost, ..Row::default() });
    }
    let space = RowSpace::new(task).unwrap();
    assert_eq!(space.cost_unit(), Rational::new(3, 2));
    let costs: Vec<_> = (0..4).map(|row| space.fixed_cost(row)).collect();
    assert_eq!(costs, [Some(0), Some(1), Some(4), Some(0)]);
}

#[test]
fn what_preparing_a_task_takes_is_foreseen() {
    for seed in 0..400 {
        let drawing = Drawing {
            seed,
            conditional: seed & 1 > 0,
            derived: seed & 2 > 0,
            numbers: seed & 4 > 0,
            monitors: seed & 8 > 0,
            largest_cost: (seed & 16 > 0).then_some(3),
        };
        let task = draw::task(drawing);
        // Rules and monitors, of which there are few, are conditions, too.
        let others = 64 * (task.rules.len() + task.goal.len())
            + 64 * task.monitors.iter().map(|monitor| monitor.steps.len() * 4).sum::<usize>();
        let foreseen = RowSpace::foreseen_bytes(&task) as usize + others;
        let space = RowSpace::new(task).unwrap();
        assert!(space.table_bytes() <= foreseen, "{drawing:?}: {} of {foreseen}", space.table_bytes());
    }
}
