//! Every model in `models/` says in its first lines what `hadal check` answers. It does, with one thread and two,
//! compiled and interpreted.
//!
//! `-- expect [FLAGS]: holds, N states, M transitions`, or `-- expect [FLAGS]: violated, KIND "NAME", trace N`;
//! `//` instead of `--` in DVE and Promela.

mod support;

use support::{bundled, bundled_model, hadal, on_threads};

struct Expectation {
    model: String,
    flags: Vec<String>,
    answer: String,
}

fn expectations() -> Vec<Expectation> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(bundled()).expect("the models are there") {
        let path = entry.expect("an entry").path();
        let Some("m" | "dve" | "mdve" | "xta" | "pml") = path.extension().and_then(|e| e.to_str()) else {
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("a model can be read");
        let before = found.len();
        for line in text.lines() {
            let comment = line.strip_prefix("-- ").or_else(|| line.strip_prefix("// "));
            let Some(expectation) = comment.and_then(|c| c.strip_prefix("expect")) else { break };
            let (flags, answer) = expectation.split_once(": ").expect("an answer after the flags");
            found.push(Expectation {
                model: path.display().to_string(),
                flags: flags.split_whitespace().map(str::to_owned).collect(),
                answer: answer.to_owned(),
            });
        }
        assert!(found.len() > before, "{}: the first line says nothing to expect", path.display());
    }
    found
}

/// The answer of `hadal check` in the words of the first lines.
fn answer(expectation: &Expectation, further: &[&str]) -> String {
    let mut arguments = vec!["check", &expectation.model, "--json", "--memory", "256M"];
    arguments.extend(expectation.flags.iter().map(String::as_str));
    arguments.extend(further);
    let run = hadal(&arguments);
    let result = run.json();
    match run.code {
        0 => format!("holds, {} states, {} transitions", result["states"], result["transitions"]),
        1 => {
            let violation = &result["trace"]["violation"];
            let kind = violation["kind"].as_str().expect("a kind");
            let name = violation["property"].as_str().map_or(String::new(), |name| format!(" {name:?}"));
            format!("violated, {kind}{name}, trace {}", result["trace_length"])
        }
        _ => format!("{run:?}"),
    }
}

#[test]
fn bundled_models_answer_as_their_first_lines_say() {
    let expectations = expectations();
    let wrong = on_threads(2, &expectations, |expectation| {
        let ways: [&[&str]; 4] = [
            &["--threads", "1"],
            &["--threads", "2"],
            &["--interpret", "--threads", "1"],
            &["--interpret", "--threads", "2"],
        ];
        let answers = ways.map(|further| answer(expectation, further));
        let Expectation { model, flags, answer: expected } = expectation;
        let differs = answers.iter().any(|answer| answer != expected);
        differs.then(|| format!("{model} {}: expected {expected}; got {answers:#?}", flags.join(" ")))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(expectations.len() >= 10, "only {} expectations found", expectations.len());
}

#[test]
fn small_models_give_the_same_counts_in_a_few_megabytes() {
    // Some stay in the table, some move to a diagram, some are sorted on disk from the first layer on.
    let models: [&[&str]; 4] = [
        &["tiles.m", "-D", "SIDE=3", "-D", "ROW1=201", "-D", "ROW2=30405", "-D", "ROW3=60708"],
        &["arbiter_tree.mdve", "-D", "DEPTH=3", "--property", "C6.work"],
        &["polled_mutex.mdve", "-D", "CYCLE=3", "-D", "DELAY=7"],
        &["peterson.m"],
    ];
    let counts = |model: &[&str], strategy: &str, memory: &str| {
        let path = bundled_model(model[0]);
        let ours = ["--json", "--threads", "1", "--strategy", strategy, "--memory", memory];
        let result = hadal(&[&["check", &path], &model[1..], &ours].concat()).expect_code(0).json();
        let moved = result["storage"].as_array().map_or(0, Vec::len) > 1;
        ((result["states"].clone(), result["transitions"].clone(), result["depth"].clone()), moved)
    };
    let moved = on_threads(2, &models, |model| {
        let (expected, _) = counts(model, "bfs", "256M");
        let mut moved = 0;
        for strategy in ["auto", "sort"] {
            for memory in ["1M", "2M", "4M", "8M"] {
                let (small, has_moved) = counts(model, strategy, memory);
                assert_eq!(small, expected, "{model:?} --strategy {strategy} --memory {memory}");
                moved += usize::from(has_moved);
            }
        }
        moved
    });
    assert!(moved.iter().sum::<usize>() >= 4, "budgets force some out of the table: {moved:?}");
}

#[test]
fn a_budget_that_a_model_does_not_fit_says_how_much_it_needs() {
    // States of 3001 bits: a block of them does not fit into a megabyte.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("star.m").display().to_string();
    let star = "\
var out: boolean;
var x: array [0 .. 2999] of 0 .. 1;
startstate begin out := false; for i: 0 .. 2999 do x[i] := 0; end; end;
ruleset i: 0 .. 2999 do rule \"out\" !out ==> begin out := true; x[i] := 1; end; end;
ruleset i: 0 .. 2999 do rule \"back\" out & x[i] = 1 ==> begin out := false; x[i] := 0; end; end;
";
    std::fs::write(&path, star).expect("a model can be written");
    let sorted = |memory: &str| {
        let flags =
            ["--symmetry", "off", "--threads", "1", "--json", "--strategy", "sort", "--memory", memory];
        hadal(&[&["check", &path], &flags[..]].concat())
    };
    let refused = sorted("1M").expect_code(2);
    assert!(refused.stderr.contains("give it --memory 2M at least"), "{refused:#?}");
    let result = sorted("2M").expect_code(0).json();
    assert_eq!((&result["states"], &result["transitions"]), (&3001.into(), &6000.into()));
}
