//! Formulas in Promela texts, through the command, against SPIN's answers.

mod support;

use support::{corpus, hadal};

/// Models whose products are small enough for a test, of those that the table answers by name.
const MODELS: [&str; 8] = [
    "spin-examples/LTL/train.pml",
    "spin-examples/LTL/zune.pml",
    "spin-examples/LTL/bakery.pml",
    "spin-examples/LTL/salesman1.pml",
    "spin-examples/LTL/ltl_always_eventually.pml",
    "spin-examples/Exercises/ex_3a.pml",
    "spin-examples/Book_1991/p123.pml",
    "spin-examples/werkplaats.pml",
];

#[test]
fn formulas_of_a_text_have_the_answers_that_spin_gives() {
    let Some(models) = corpus("promela") else { return };
    let Some(table) = hadal_testkit::corpus::oracle("promela.tsv") else { return };
    let table = std::fs::read_to_string(table).expect("the table can be read");
    let mut compared = 0;
    for row in table.lines().map(|line| line.split('\t').collect::<Vec<_>>()) {
        let ["ltl", model, name, "none", verdict, states, ..] = row[..] else { continue };
        if !MODELS.contains(&model) {
            continue;
        }
        let name = if name == "NEVER" { "never" } else { name };
        let path = models.join(model).display().to_string();
        let run = hadal(&["check", &path, "--property", name, "--json", "--threads", "1"]);
        let result = run.expect_code(i32::from(verdict == "violated")).json();
        assert_eq!(result["verdict"], verdict, "{model} {name}");
        if verdict == "holds" && !states.is_empty() {
            assert_eq!(result["states"].to_string(), states, "{model} {name}");
        }
        compared += 1;
    }
    assert!(compared >= 14, "{compared} formulas compared");
}

/// A model in a folder of its own.
fn written(name: &str, text: &str) -> String {
    let folder = std::env::temp_dir().join(format!("hadal-promela-command-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let path = folder.join(name);
    std::fs::write(&path, text).expect("a file");
    path.display().to_string()
}

#[test]
fn claims_of_a_text_are_answered_by_name_and_all_together() {
    let text = "byte x; active proctype A() { do :: x = 1 - x od }
        never good { T0: do :: x == 1 -> goto accept :: true od; accept: do :: x == 1 od }
        never bad { do :: x == 1 -> break :: else od }";
    let path = written("claims.pml", text);
    let one = hadal(&["check", &path, "--property", "good", "--json"]).expect_code(0).json();
    assert_eq!((one["verdict"].as_str(), one["states"].as_u64()), (Some("holds"), Some(3)));
    let all = hadal(&["check", &path, "--json"]).expect_code(1).json();
    assert_eq!(all["property"], "bad");
    // Nothing is asked: the plain graph.
    let plain = hadal(&["check", &path, "--deadlock", "off", "--json"]).expect_code(3).json();
    assert_eq!((plain["verdict"].as_str(), plain["states"].as_u64()), (Some("stopped"), Some(2)));
}

#[test]
fn formulas_without_names_are_numbered_and_each_has_its_answer() {
    let text = "byte x; active proctype A() { do :: x = 1 - x od }
        ltl { []<>(x == 1) } ltl named { []<>(x == 0) } ltl { <>[](x == 1) }";
    let path = written("unnamed.pml", text);
    for (name, code) in [("ltl_0", 0), ("named", 0), ("ltl_1", 1)] {
        hadal(&["check", &path, "--property", name, "--json"]).expect_code(code);
    }
    let all = hadal(&["check", &path, "--json"]).expect_code(1).json();
    let verdict = |name: &str| {
        let list = all["properties"].as_array().expect("a list");
        list.iter().find(|it| it["name"] == name).map(|it| it["verdict"].clone())
    };
    assert_eq!(verdict("ltl_0"), Some("holds".into()));
    assert_eq!(verdict("named"), Some("holds".into()));
    assert_eq!(verdict("ltl_1"), Some("violated".into()));
    let unknown = hadal(&["check", &path, "--property", "nobody"]).expect_code(2);
    assert!(unknown.stderr.contains("`ltl_0`, `named`, `ltl_1`"), "{}", unknown.stderr);
}

#[test]
fn letters_that_spin_does_not_know_are_names_in_formulas() {
    let text = "byte R, G; active proctype A() { R = 1; G = 1 }
        ltl holds { (!G) U (R) } ltl fails { []!R } ltl both { <>(R && G) }";
    let path = written("letters.pml", text);
    for (name, code) in [("holds", 0), ("fails", 1), ("both", 0)] {
        hadal(&["check", &path, "--property", name, "--json"]).expect_code(code);
    }
    // What is no name of the model is an operator.
    hadal(&["check", &path, "--ltl", "F (R == 1)", "--json"]).expect_code(0);
}

#[test]
fn a_formula_that_nobody_understands_leaves_the_others_their_answers() {
    let text = "byte x; active proctype A() { do :: x = 1 - x od }
        ltl good { []<>(x == 1) } ltl bad { []<>(nobody == 1) }";
    let path = written("one_bad.pml", text);
    let run = hadal(&["check", &path, "--json"]).expect_code(3);
    let told = "the formula `bad` is not answered: there is no variable `nobody`";
    assert!(run.stderr.contains(told), "{}", run.stderr);
    let good = run.json()["properties"].as_array().expect("a list").iter().any(|it| it["name"] == "good");
    assert!(good, "{}", run.stdout);
}

#[test]
fn every_formula_has_propositions_of_its_own() {
    // Each has another one: together there are more than a claim may have.
    let formulas: String = (0..70).map(|n| format!("ltl f{n} {{ []<>(x != {}) }}\n", n + 2)).collect();
    let text = format!("byte x; active proctype A() {{ do :: x = 1 - x od }}\n{formulas}");
    let all = hadal(&["check", &written("many.pml", &text), "--json"]).expect_code(0).json();
    assert_eq!(all["verdict"], "holds", "{all:#}");
}

#[test]
fn runs_that_pass_accept_labels_for_ever_are_lassos() {
    let path = written("accept.pml", "byte x; active proctype A() { do :: x = 1; accept: x = 0 od }");
    let found = hadal(&["check", &path, "--json"]).expect_code(1).json();
    assert_eq!((found["property"].as_str(), found["loop_length"].as_u64()), (Some("acceptance"), Some(2)));
}

#[test]
fn a_trace_shows_channels_and_who_sends_what_to_whom() {
    let text = "chan q = [2] of { byte }; chan r = [0] of { byte };
        active proctype A() { q!7; r!1 } active proctype B() { byte x; r?x; q?x; assert(x == 0) }";
    let path = written("messages.pml", text);
    let chart = hadal(&["check", &path, "--trace", "msc"]).expect_code(1).stdout;
    assert!(chart.contains("q!7 (sent in step 1)") && chart.contains("r!1"), "{chart}");
    let plain = hadal(&["check", &path]).expect_code(1).stdout;
    assert!(plain.contains("q: [] -> [7]") && plain.contains("q: [7] -> []"), "{plain}");
    let page = hadal(&["check", &path, "--trace", "html"]).expect_code(1).stdout;
    assert!(page.contains("<svg class=\"messages\"") && page.contains("q!7"), "{page}");
}

#[test]
fn a_trace_that_is_not_completed_is_no_valid_end() {
    let text = "chan q = [1] of { byte }; active proctype A() { q!1; end: do :: q!3 od }
        active proctype B() { q?_; end: false } trace { q!1; q!3; q!4 }";
    let found = hadal(&["check", &written("events.pml", text), "--json"]).expect_code(1).json();
    assert_eq!(found["reason"].as_str().map(|reason| reason.contains("deadlock")), Some(true), "{found}");
}

#[test]
fn chains_of_operators_are_read_from_the_left() {
    // From the right, `true` would follow from anything: it would hold.
    let text = "bit a = 1, b, c; active proctype A() { do :: skip od } ltl p { b -> a -> c }";
    hadal(&["check", &written("chain.pml", text), "--property", "p"]).expect_code(1);
}

#[test]
fn a_claim_in_a_file_may_be_written_by_hand() {
    let text = "byte x; active proctype A() { do :: x < 3 -> x++ :: else -> x = 0 od }";
    let path = written("counter.pml", text);
    let cases = [
        // After 3 comes 0, not 1, and a step between them.
        ("#define full (x == 3)\nnever { do :: !full :: full -> break od; x == 1 }", 0),
        ("#define full (x == 3)\nnever { do :: !full :: full -> break od; x == 3; x == 0 }", 1),
        // The counter passes 2 again and again.
        ("never { do :: true :: x == 2 -> break od; accept: do :: x == 2 -> goto accept :: else od }", 1),
        ("never { do :: atomic { x == 2 -> assert(x != 3) } :: else od }", 0),
        ("never { do :: atomic { x == 2 -> assert(x == 3) } :: else od }", 1),
    ];
    for (n, (claim, code)) in cases.into_iter().enumerate() {
        let claim = written(&format!("claim{n}.never"), claim);
        let result = hadal(&["check", &path, "--never", &claim, "--json"]).expect_code(code).json();
        assert_eq!(result["property"].as_str().unwrap_or("").is_empty(), code == 0, "{claim}");
    }
    let wrong = written("wrong.never", "never { do :: y == 3 od }");
    let said = hadal(&["check", &path, "--never", &wrong]).expect_code(2).stderr;
    assert!(said.contains('^') && said.contains("y == 3"), "{said}");
}

#[test]
fn merging_keeps_answers_and_leaves_fewer_states() {
    let text = "byte x; active [2] proctype A() { byte v; do :: v = 1; v = v + x; x = 1 - x :: x == 2 -> assert(false) od }";
    let path = written("merged.pml", text);
    let states = |more: &[&str]| {
        let mut arguments = vec!["check", &path, "--json"];
        arguments.extend(more);
        hadal(&arguments).expect_code(0).json()["states"].as_u64().expect("a number")
    };
    // As SPIN counts them.
    assert_eq!((states(&[]), states(&["--merge"])), (61, 18));
    let other = written("other.dve", "process A { state a; init a; } system async;");
    let said = hadal(&["check", &other, "--merge"]).expect_code(2).stderr;
    assert!(said.contains("--merge is for Promela"), "{said}");
}

#[test]
#[ignore = "many minutes, 3 GB; cargo test --release -p hadal --test promela -- --ignored"]
fn the_largest_models_of_the_table_have_the_published_counts() {
    let Some(models) = corpus("promela") else { return };
    let Some(table) = hadal_testkit::corpus::oracle("promela.tsv") else { return };
    let table = std::fs::read_to_string(table).expect("the table can be read");
    let mut compared = 0;
    for row in table.lines().map(|line| line.split('\t').collect::<Vec<_>>()) {
        let ["large", model, .., counts, _, _, _, _] = row[..] else { continue };
        let path = models.join(model).display().to_string();
        let run = hadal(&["check", &path, "--deadlock", "off", "--json", "--threads", "1", "--memory", "3G"]);
        let result = run.expect_code(0).json();
        assert_eq!(format!("{}/{}", result["states"], result["transitions"]), counts, "{model}");
        compared += 1;
    }
    assert!(compared >= 4, "{compared} models compared");
}
