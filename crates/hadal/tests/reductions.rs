//! Reductions keep answers: with each of them the command says the same, in as many steps where that is promised, on the
//! bundled families, on small models of the corpus, and (`--ignored`, minutes) on everything of the corpus up to
//! 300 000 states, or `HADAL_STATES`: `cargo test --release -p hadal --test reductions -- --ignored --nocapture`.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{Run, Table, bundled, corpus, hadal, on_threads};

/// A command without `--json` and reductions.
type Command = Vec<String>;

fn run(command: &Command, further: &[&str]) -> Run {
    let mut arguments: Vec<&str> = vec!["check"];
    arguments.extend(command.iter().map(String::as_str));
    arguments.extend(["--json", "--quiet", "--memory", "1500M", "--threads", "1"]);
    arguments.extend(further);
    hadal(&arguments)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Lengths {
    Kept,
    Free,
}

/// What differs between the answers with and without a reduction, and how many states each visited.
fn compare(command: &Command, flags: &[&str], lengths: Lengths) -> Result<(u64, u64), String> {
    // Known numbers of states are with symmetry, or of a part: a model that has many more without is left out.
    let most = ["--max-states", "1000000"];
    let whole = run(command, &most);
    if whole.code > 1 {
        return Ok((0, 0));
    }
    let reduced = run(command, &[flags, &most].concat());
    // The models with covers and liveness are refused.
    if reduced.code == 2 && reduced.stderr.contains("--por keeps errors") {
        return Ok((0, 0));
    }
    if reduced.code > 1 {
        return Err(format!("{}: {}", reduced.command, reduced.stderr));
    }
    let (a, b) = (whole.json(), reduced.json());
    let states = |result: &Value| result["states"].as_u64().unwrap_or(0);
    let length = |result: &Value| result["trace_length"].as_u64().unwrap_or(0);
    // Where a deadlock and an error lie equally deep, either may be shown; an error is one step behind its state.
    let same_kind = a["trace"]["violation"]["kind"] == b["trace"]["violation"]["kind"];
    let near = length(&a).abs_diff(length(&b)) <= u64::from(!same_kind);
    let right = a["verdict"] == b["verdict"]
        && (lengths == Lengths::Free || near)
        && (a["verdict"] != "holds" || states(&b) <= states(&a));
    if right { Ok((states(&a), states(&b))) } else { Err(format!("{}: {a:#} but {b:#}", reduced.command)) }
}

/// Compares all commands; prints how much was left out.
fn compare_all(commands: &[Command], flags: &[&str], lengths: Lengths) {
    let answers = on_threads(2, commands, |command| compare(command, flags, lengths));
    let wrong: Vec<&String> = answers.iter().filter_map(|a| a.as_ref().err()).collect();
    assert!(wrong.is_empty(), "{} wrong: {:#?}", wrong.len(), wrong);
    let (mut compared, mut smaller, mut logs) = (0, 0, 0.0);
    for (command, (whole, reduced)) in commands.iter().zip(answers.into_iter().flatten()) {
        if whole > 0 {
            compared += 1;
            smaller += usize::from(reduced < whole);
            logs += (whole as f64 / reduced.max(1) as f64).ln();
            println!("{whole:>9} {reduced:>9} {}", command.join(" "));
        }
    }
    let mean = (logs / f64::from(compared.max(1))).exp();
    println!("{flags:?}: {compared} compared, {smaller} smaller, {mean:.2} times fewer states in the mean");
}

fn answers() -> Vec<Command> {
    let table = Table::read(&bundled().join("ANSWERS.tsv"));
    let quick = table.rows().filter(|row| row.get("run") == "quick");
    quick
        .map(|row| {
            let model = bundled().join(row.get("model")).display().to_string();
            std::iter::once(model).chain(row.get("flags").split_whitespace().map(str::to_owned)).collect()
        })
        .collect()
}

#[test]
fn partial_order_reduction_keeps_the_answers_of_bundled_families() {
    compare_all(&answers(), &["--por"], Lengths::Free);
    compare_all(&answers(), &["--por=shortest"], Lengths::Kept);
}

#[test]
fn smaller_models_keep_the_answers_of_bundled_families() {
    compare_all(&answers(), &["--coi"], Lengths::Kept);
    compare_all(&answers(), &["--coi", "--safe-abstraction", "--decompose", "--por"], Lengths::Free);
}

/// The models of the corpus with up to this many states, for deadlock, and for each goal where `goals`.
fn corpus_commands(states: u64, goals: bool) -> Vec<Command> {
    let mut commands = Vec::new();
    if let Some(dve) = corpus("dve") {
        for row in Table::read(&dve.join("KNOWN.tsv")).rows() {
            if row.number("beem_states").is_none_or(|known| known > states) {
                continue;
            }
            let model = dve.join(row.get("file")).display().to_string();
            commands.push(vec![model.clone()]);
            let named = row.get("reach_goal").split_whitespace().filter_map(|g| g.split_once('='));
            for (goal, _) in named.filter(|_| goals) {
                commands.push(vec![
                    model.clone(),
                    "--property".into(),
                    goal.into(),
                    "--strategy".into(),
                    "bfs".into(),
                ]);
            }
        }
    }
    if let Some(murphi) = corpus("murphi") {
        for row in Table::read(&murphi.join("KNOWN.tsv")).rows() {
            let shipped = row.get("constants").contains("as shipped");
            if shipped && row.number("states").is_some_and(|known| known <= states) {
                let model = murphi.join(row.get("file")).display().to_string();
                for symmetry in ["off", "exact"] {
                    commands.push(vec![model.clone(), "--symmetry".into(), symmetry.into()]);
                }
            }
        }
    }
    commands
}

#[test]
fn partial_order_reduction_keeps_the_answers_of_small_models() {
    compare_all(&corpus_commands(3_000, true), &["--por"], Lengths::Free);
    compare_all(&corpus_commands(1_000, true), &["--por=shortest"], Lengths::Kept);
}

/// Formulas without `X`, bundled and of the corpus.
fn formulas() -> Vec<Command> {
    let command = |model: String, flags: &[&str]| {
        std::iter::once(model).chain(flags.iter().map(|flag| (*flag).to_owned())).collect::<Command>()
    };
    let bahn = bundled().join("hbahn.mdve").display().to_string();
    let response = "[](Cabin2.Library -> <> Cabin2.Eichlinghofen)";
    let mut commands = vec![
        command(bahn.clone(), &["--ltl", response]),
        command(bahn.clone(), &["-D", "BOTH=1", "--ltl", response]),
        command(bahn, &["-D", "BOTH=1", "--ltl", "[]<> (Cabin1.Eichlinghofen || Cabin2.Eichlinghofen)"]),
    ];
    if let Some(promela) = corpus("promela/spin-examples/LTL") {
        let asked = [("train.pml", "c1 c2 c5"), ("zune.pml", "p1")];
        for (file, names) in asked {
            let model = promela.join(file).display().to_string();
            commands.extend(names.split(' ').map(|name| command(model.clone(), &["--property", name])));
        }
    }
    if let Some(dve) = corpus("dve") {
        for file in ["anderson/anderson.2.dve", "bakery/bakery.1.dve"] {
            let model = dve.join(file).display().to_string();
            commands.extend(
                ["prop2", "prop3", "prop4"].map(|name| command(model.clone(), &["--property", name])),
            );
        }
    }
    commands
}

#[test]
fn partial_order_reduction_keeps_the_answers_of_formulas() {
    compare_all(&formulas(), &["--por", "--deadlock", "off"], Lengths::Free);
}

#[test]
fn reduced_products_are_the_same_under_a_budget_on_threads_and_resumed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().join("runs").display().to_string();
    for command in formulas() {
        let whole = run(&command, &["--deadlock", "off"]).json();
        let asked = |further: &[&str]| {
            let own: Vec<&str> = command.iter().map(String::as_str).collect();
            let flags = ["--por", "--deadlock", "off", "--json", "--quiet", "--disk", &disk];
            hadal(&[&["check"], &own[..], &flags, further].concat())
        };
        let in_ram = asked(&["--threads", "1"]).json();
        assert_eq!(in_ram["verdict"], whole["verdict"], "{command:?}");
        let states = in_ram["states"].as_u64().expect("a count");
        let half = (states / 2).to_string();
        let stopped = asked(&["--max-states", &half, "--threads", "1"]).json();
        let run = stopped["run"].as_str().filter(|_| stopped["verdict"] == "stopped");
        let resumed = run.map(|run| hadal(&["resume", run, "--max-states", "100000000", "--json"]).json());
        let others =
            [asked(&["--memory", "16M", "--threads", "1"]).json(), asked(&["--threads", "2"]).json()];
        for other in others.iter().chain(&resumed) {
            for figure in ["verdict", "states", "transitions", "trace_length", "loop_length"] {
                assert_eq!(other[figure], in_ram[figure], "{command:?}: {figure}");
            }
        }
    }
}

/// The product has over five million states; reduced, some thousand.
#[test]
fn partial_order_reduction_answers_a_formula_about_a_ring() {
    let Some(ring) = corpus("promela/spin-examples/LTL/leader.pml") else { return };
    let command = vec![ring.display().to_string(), "--property".into(), "p0".into()];
    let answer = run(&command, &["--por", "--deadlock", "off", "--max-states", "100000"]).json();
    assert_eq!(answer["verdict"], "holds", "{answer:#}");
}

/// At most three times what SPIN 6.5.2 keeps with its reduction and statement merging.
#[test]
fn partial_order_reduction_keeps_few_states_of_promela_models() {
    for (model, verdict, most) in [
        ("spin4-tests/leader.pml", "holds", 3 * 97),
        ("spin-examples/sort.pml", "holds", 3 * 135),
        ("spin4-tests/snoopy.pml", "violated", 3 * 9343),
        ("spin4-tests/mobile1.pml", "holds", 3 * 6602),
        ("spin-examples/eratosthenes.pml", "holds", 3 * 2093),
        ("spin4-tests/pftp.pml", "holds", 3 * 47_356),
    ] {
        let Some(path) = corpus(&format!("promela/{model}")) else { return };
        let answer = run(&vec![path.display().to_string()], &["--por"]).json();
        assert_eq!(answer["verdict"], verdict, "{model}: {answer:#}");
        assert!(answer["states"].as_u64().is_some_and(|states| states <= most), "{model}: {answer:#}");
    }
}

#[test]
fn partial_order_reduction_refuses_what_it_does_not_keep() {
    let bahn = bundled().join("hbahn.mdve").display().to_string();
    let formula = |text: &str, further: &[&str]| {
        let run = run(&vec![bahn.clone(), "--ltl".into(), text.into()], &[&["--por"], further].concat());
        assert_eq!(run.code, 2, "{}: {}", run.command, run.stderr);
        run.stderr
    };
    assert!(formula("[] (Cabin2.Library -> X Cabin2.Track4)", &[]).contains("how often a state is repeated"));
    assert!(formula("[]<> Cabin2.Library", &["--fair", "weak"]).contains("fair"));
}

/// How many states the models of a long comparison have at most.
fn most_states() -> u64 {
    std::env::var("HADAL_STATES").ok().and_then(|states| states.parse().ok()).unwrap_or(300_000)
}

#[test]
#[ignore = "minutes"]
fn partial_order_reduction_keeps_the_answers_of_the_corpus() {
    compare_all(&corpus_commands(most_states(), true), &["--por"], Lengths::Free);
}

#[test]
#[ignore = "minutes"]
fn partial_order_reduction_keeps_the_shortest_traces_of_the_corpus() {
    compare_all(&corpus_commands(most_states(), true), &["--por=shortest"], Lengths::Kept);
}

#[test]
#[ignore = "minutes"]
fn smaller_models_keep_the_answers_of_the_corpus() {
    let goals: Vec<Command> =
        corpus_commands(most_states(), true).into_iter().filter(|c| c.len() > 1).collect();
    compare_all(&goals, &["--coi"], Lengths::Kept);
    compare_all(&goals, &["--coi", "--safe-abstraction", "--decompose", "--por"], Lengths::Free);
}

/// Two rings of four that a chain waits for, a counter that nobody asks about, and a second part of the question.
const RINGS: &str = "
process P1 { state l0, l1, l2, l3; init l0;
  trans l0 -> l1 {}, l1 -> l2 {}, l2 -> l3 {}, l3 -> l0 {}, l1 -> l0 {}, l2 -> l1 {}, l3 -> l2 {}, l0 -> l3 {}; }
process P2 { state l0, l1, l2, l3; init l0;
  trans l0 -> l1 {}, l1 -> l2 {}, l2 -> l3 {}, l3 -> l0 {}, l1 -> l0 {}, l2 -> l1 {}, l3 -> l2 {}, l0 -> l3 {}; }
process P3 { state l0, l1, l2, l3; init l0;
  assert l3: not Q.q2;
  trans l0 -> l1 { guard P1.l2; }, l1 -> l2 { guard P2.l2; }, l2 -> l3 { guard P1.l0 and P2.l0; }; }
process Q { state q0, q1, q2; init q0; trans q0 -> q1 {}, q1 -> q2 {}; }
process R { byte x; state r0; init r0;
  trans r0 -> r0 { guard x < 9; effect x = x + 1; }, r0 -> r0 { guard x > 0; effect x = x - 1; }; }
system async;";

fn with_rings(test: impl Fn(&Path)) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("rings.dve");
    std::fs::write(&path, RINGS).expect("a model can be written");
    test(&path);
}

#[test]
fn each_reduction_leaves_out_what_it_should_and_shows_the_whole_trace() {
    with_rings(|path| {
        let command = vec![path.display().to_string(), "--deadlock".into(), "off".into()];
        for (flags, names, states, length) in [
            (vec!["--coi"], "cone of influence", Some(161), 13),
            (vec!["--safe-abstraction"], "safe abstraction", Some(12), 13),
            (vec!["--decompose"], "decomposition", Some(52), 13),
            (vec!["--coi", "--por=shortest"], "cone of influence, partial order", None, 13),
            (vec!["--decompose", "--safe-abstraction"], "decomposition, safe abstraction", Some(7), 13),
        ] {
            let result = run(&command, &flags).expect_code(1).json();
            let used: Vec<&str> =
                result["reductions"].as_array().expect("names").iter().filter_map(Value::as_str).collect();
            assert_eq!(used.join(", "), names);
            assert_eq!(result["trace_length"], length, "{flags:?}");
            assert_eq!(result["trace"]["violation"]["property"], "P3.l3");
            if let Some(states) = states {
                assert_eq!(result["states"], states, "{flags:?}");
            }
        }
    });
}

#[test]
fn reductions_that_a_question_does_not_allow_say_so() {
    with_rings(|path| {
        let command = vec![path.display().to_string()];
        let result = run(&command, &["--coi"]).expect_code(1).json();
        assert!(result.get("reductions").is_none());
        assert!(result["reduction_notes"].to_string().contains("deadlocks are checked"), "{result:#}");
    });
    let ferry = bundled().join("ferry.m").display().to_string();
    let refused = run(&vec![ferry], &["--por"]).expect_code(2);
    assert!(refused.stderr.contains("--por keeps errors"), "{refused:?}");
}

#[test]
fn a_reduced_run_is_resumed_with_its_reduction() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().join("runs").display().to_string();
    let model = bundled().join("arbiter_tree.mdve").display().to_string();
    let command: Command =
        [&model, "-D", "DEPTH=3", "--property", "C6.work", "--por"].map(str::to_owned).to_vec();
    let whole = run(&command, &[]).expect_code(0).json();
    let stopped =
        run(&command, &["--strategy", "sort", "--max-states", "20000", "--disk", &disk]).expect_code(3);
    let place = stopped.json()["run"].as_str().expect("a run to go on with").to_owned();
    let resumed = hadal(&["resume", &place, "--json", "--quiet", "--threads", "1"]).expect_code(0).json();
    assert_eq!(resumed["states"], whole["states"]);
    assert_eq!(resumed["reductions"][0], "partial order");
}
