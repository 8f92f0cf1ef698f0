//! Public PDDL files: all load, published plans run at their cost on rows and on the lifted task, mutated ones do not.

#[path = "pddl/corpus.rs"]
mod corpus;

use hadal_exec::rows::{Fired, RowMeaning, RowState};
use hadal_lang::diagnostic::render_plain;
use hadal_lang::pddl::{self, Options};
use hadal_system::rows::{Metric, Need, Rational, RowTask, Sense};
use hadal_testkit::Random;
use std::collections::HashMap;

fn load(task: &corpus::CorpusTask) -> RowTask {
    let (domain, problem) = task.sources();
    match pddl::load(domain, problem, Options::default()) {
        Ok(loaded) => loaded.task,
        Err(not_loaded) => panic!("{}: {not_loaded}", task.problem.display()),
    }
}

/// What the model calls the metric, from the costs of steps and the last state.
fn reported(task: &RowTask, cost: Rational, last: &RowState) -> Rational {
    let value = |term: u32| RowMeaning::new(task).value(term, last).unwrap().unwrap();
    match task.metric {
        Metric::Steps => cost,
        Metric::Cost { at_end, offset, sense } => {
            let sum = cost + at_end.map_or(Rational::from_integer(0), value);
            if sense == Sense::Maximise { offset - sum } else { offset + sum }
        }
        Metric::Minimise(term) | Metric::Maximise(term) => value(term),
    }
}

/// Problems of the corpus that are refused, with what is said of them. The corpus has no temporal files: none is.
const REFUSED: &[(&str, &str)] = &[];

#[test]
fn every_file_of_the_corpus_loads_but_those_that_are_listed() {
    let tasks = corpus::tasks();
    let (mut rows, mut refused) = (0, Vec::new());
    for task in &tasks {
        let (domain, problem) = task.sources();
        let loaded = match pddl::load(domain, problem, Options::default()) {
            Ok(loaded) => loaded.task,
            Err(pddl::NotLoaded::Refused(why)) => {
                let first =
                    why.diagnostics.list.first().map(|finding| render_plain(&why.source_text, finding));
                let first = first.unwrap_or_default();
                assert!(
                    first.contains('^'),
                    "{} is refused without a caret: {first}",
                    task.problem.display()
                );
                refused.push((corpus::name(&task.problem), first));
                continue;
            }
            Err(stopped) => panic!("{}: {stopped}", task.problem.display()),
        };
        rows += loaded.rows.len();
        let fits = |needs: &[Need]| {
            needs.iter().all(|need| match *need {
                Need::Is(v, x) | Need::IsNot(v, x) => {
                    (x as usize) < loaded.variables[v as usize].values.len()
                }
                Need::Derived(d) | Need::NotDerived(d) => (d as usize) < loaded.derived.len(),
                Need::Compares(c) => (c as usize) < loaded.comparisons.len(),
            })
        };
        assert!(loaded.rows.iter().all(|row| fits(&row.needs)), "{}", task.problem.display());
        assert!(fits(&loaded.goal), "{}", task.problem.display());
    }
    let listed = |(problem, why): &(String, String)| {
        REFUSED.iter().any(|(name, said)| name == problem && why.contains(said))
    };
    let surprising: Vec<_> = refused.iter().filter(|refused| !listed(refused)).collect();
    assert!(surprising.is_empty(), "refused, and not listed: {surprising:#?}");
    assert!(
        tasks.is_empty() || refused.len() == REFUSED.len(),
        "of the listed files, only {refused:?} are refused"
    );
    println!("{} tasks, {rows} rows, {} refused", tasks.len(), refused.len());
}

#[test]
fn every_file_of_the_corpus_belongs_to_a_task() {
    let tasks = corpus::tasks();
    let mut read: Vec<_> =
        tasks.iter().flat_map(|task| [task.domain.clone(), task.problem.clone()]).collect();
    read.sort();
    read.dedup();
    assert_eq!(read, corpus::files("pddl"), "files that no test reads");
    let plans: Vec<_> = tasks
        .iter()
        .filter(|task| task.plan().is_some())
        .map(|task| task.problem.with_extension("plan"))
        .collect();
    assert_eq!(plans, corpus::files("plan"), "plans that no test reads");
    println!("{} files, {} plans", read.len(), plans.len());
}

/// Carries out a plan on rows; none where a step has no applicable row.
fn replay(task: &RowTask, plan: &str) -> Option<(RowState, Rational)> {
    let meaning = RowMeaning::new(task);
    let mut by_label: HashMap<String, Vec<u32>> = HashMap::new();
    for row in 0..task.rows.len() as u32 {
        by_label.entry(task.label(row)).or_default().push(row);
    }
    let mut state = meaning.initial().unwrap();
    let mut total = Rational::from_integer(0);
    for step in plan.lines().filter(|line| line.starts_with('(')) {
        let step = step.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        // A step without a row changes nothing that matters, or cannot be taken: the goal tells.
        let Some(rows) = by_label.get(&step) else { continue };
        let fired =
            rows.iter().find_map(|&row| match meaning.fire(&state, &task.rows[row as usize]).unwrap() {
                Fired::Reached(next, cost) => Some((next, cost)),
                Fired::Inapplicable => None,
            });
        let (next, cost) = fired?;
        state = next;
        total += cost;
    }
    meaning.is_goal(&state).unwrap().then_some((state, total))
}

#[test]
fn published_plans_run_at_their_cost_on_rows() {
    let mut plans = 0;
    for task in corpus::tasks() {
        let Some((plan, cost)) = task.plan() else { continue };
        let rows = load(&task);
        let Some((last, total)) = replay(&rows, &plan) else { panic!("{}", task.problem.display()) };
        assert_eq!(reported(&rows, total, &last).to_string(), cost, "{}", task.problem.display());
        plans += 1;
    }
    println!("{plans} plans");
}

#[test]
fn published_plans_validate_at_their_cost_and_mutations_do_not() {
    let (mut plans, mut mutations, mut free) = (0, 0, 0);
    for task in corpus::tasks() {
        let Some((plan, cost)) = task.plan() else { continue };
        let (domain, problem) = task.sources();
        let lifted = pddl::read(&domain, &problem).unwrap().task;
        let valid = pddl::validate_task(&lifted, &plan);
        assert_eq!(valid.metric.map(|m| m.to_string()), Some(cost), "{} {valid:?}", task.problem.display());
        plans += 1;
        let steps: Vec<&str> = plan.lines().filter(|line| line.starts_with('(')).collect();
        let mut mutants: Vec<Vec<&str>> = Vec::new();
        // The plans are optimal: without one of its steps, with one twice, or with none of the last ones, each is no plan
        // at this cost.
        for place in 0..10.min(steps.len()) {
            let at = place * steps.len() / 10.min(steps.len());
            let mut without = steps.clone();
            without.remove(at);
            mutants.push(without);
        }
        for place in 0..5.min(steps.len()) {
            mutants.push(steps[..place * steps.len() / 5].to_vec());
        }
        while mutants.len() < 20 {
            let mut longer = steps.clone();
            longer.insert(
                mutants.len() * steps.len() / 20,
                ["(no-such-action)", "(", steps[0]][mutants.len() % 3],
            );
            mutants.push(longer);
        }
        for mutant in mutants {
            let judged = pddl::validate_task(&lifted, &mutant.join("\n"));
            mutations += 1;
            if judged.is_valid() {
                assert!(judged.metric >= valid.metric, "{}: cheaper than optimal", task.problem.display());
                // Steps that cost nothing can be left out or repeated.
                free += usize::from(judged.metric == valid.metric);
            } else {
                assert!(judged.flaw.as_ref().is_some_and(|flaw| !flaw.reason.is_empty()));
            }
        }
    }
    println!("{plans} plans, {mutations} mutations, {free} of them plans at the same cost");
    assert!(free * 1000 <= mutations, "{free} of {mutations} mutations were accepted");
}

#[test]
fn random_walks_on_rows_are_plans_of_the_lifted_task() {
    let mut seen = std::collections::HashSet::new();
    let (mut walks, mut compared) = (0, 0);
    for task in corpus::tasks() {
        // One small task of each domain.
        if !seen.insert(task.problem.parent().map(|folder| folder.to_path_buf())) {
            continue;
        }
        let rows = load(&task);
        if rows.rows.len() > 5000 {
            continue;
        }
        let (domain, problem) = task.sources();
        let lifted = pddl::read(&domain, &problem).unwrap().task;
        let meaning = RowMeaning::new(&rows);
        for seed in 1..=4u64 {
            let mut draw = Random::new(seed);
            let mut state = meaning.initial().unwrap();
            let mut total = Rational::from_integer(0);
            let mut plan = String::new();
            for _ in 0..25 {
                let applicable: Vec<(usize, RowState, Rational)> = (0..rows.rows.len())
                    .filter(|&row| !rows.rows[row].hidden)
                    .filter_map(|row| match meaning.fire(&state, &rows.rows[row]).unwrap() {
                        Fired::Reached(next, cost) => Some((row, next, cost)),
                        Fired::Inapplicable => None,
                    })
                    .collect();
                if applicable.is_empty() {
                    break;
                }
                let (row, next, cost) = applicable[draw.below(applicable.len())].clone();
                plan.push_str(&rows.label(row as u32));
                plan.push('\n');
                state = next;
                total += cost;
            }
            // Hidden steps settle preferences, the cheapest way.
            while let Some((next, cost)) = rows
                .rows
                .iter()
                .filter(|row| row.hidden)
                .filter_map(|row| match meaning.fire(&state, row).unwrap() {
                    Fired::Reached(next, cost) => Some((next, cost)),
                    Fired::Inapplicable => None,
                })
                .min_by_key(|(_, cost)| *cost)
            {
                state = next;
                total += cost;
            }
            let judged = pddl::validate_task(&lifted, &plan);
            let place = format!("{}\n{plan}{judged:?}", task.problem.display());
            assert!(judged.flaw.as_ref().is_none_or(|flaw| flaw.step.is_none()), "{place}");
            assert_eq!(judged.is_valid(), meaning.is_goal(&state).unwrap(), "{place}");
            walks += 1;
            if judged.is_valid() {
                assert_eq!(judged.metric, Some(reported(&rows, total, &state)), "{place}");
                compared += 1;
            }
        }
    }
    println!("{walks} walks, {compared} of them plans");
}

#[test]
fn the_systems_of_corpus_tasks_do_what_their_rows_do() {
    let (mut compared, mut tasks) = (0u64, 0);
    for task in corpus::tasks().iter().step_by(23) {
        let loaded = load(task);
        // Systems are syntax trees: the largest tasks are left to the rows.
        if loaded.rows.len() > 800 {
            continue;
        }
        let Ok(system) = loaded.to_system() else { continue };
        assert_eq!(hadal_system::validate::validate(&system), [], "{}", task.problem.display());
        let layout = hadal_system::Layout::natural(&system);
        let interpreter = hadal_exec::Interpreter::new(&system, &layout);
        let meaning = RowMeaning::new(&loaded);
        let (mut state, start) = (meaning.initial().unwrap(), interpreter.start(hadal_system::Label(0)));
        let hadal_exec::Outcome::Reached(mut packed) = start else { panic!("{start:?}") };
        let read = |packed: &[u64]| -> Vec<u32> {
            let slots = layout.unpack(&system, packed).into_iter().take(loaded.variables.len());
            slots.map(|value| value.unwrap_or(-1) as u32).collect()
        };
        for step in 0..12u32 {
            let mut next = None;
            for (row, label) in loaded.rows.iter().zip(0..) {
                let found = interpreter.fire(&packed, hadal_system::Label(label));
                match (meaning.fire(&state, row).unwrap(), found) {
                    (Fired::Inapplicable, hadal_exec::Outcome::Disabled) => {}
                    (Fired::Reached(after, _), hadal_exec::Outcome::Reached(reached)) => {
                        assert_eq!(read(&reached), after.values, "{} row {label}", task.problem.display());
                        compared += 1;
                        // Any of them: a walk that is always the same.
                        if next.is_none() || (label * 7 + step) % 5 == 0 {
                            next = Some((after, reached));
                        }
                    }
                    other => panic!("{} row {label}: {other:?}", task.problem.display()),
                }
            }
            let Some((after, reached)) = next else { break };
            (state, packed) = (after, reached);
        }
        tasks += 1;
    }
    println!("{tasks} tasks, {compared} transitions");
    assert!(corpus::tasks().is_empty() || tasks > 10 && compared > 1000, "{tasks} {compared}");
}
