//! What newcomers met and must not meet again: numbers that lie, panics, floods, messages without a place.

mod support;

use serde_json::Value;
use std::process::{Command, Stdio};
use support::{bundled_model, hadal};

fn file(name: &str, text: &[u8]) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a model is written");
    let path = path.display().to_string();
    (folder, path)
}

#[test]
fn a_command_whose_reader_left_does_not_panic() {
    let (lock, ferry) = (bundled_model("ticket_lock.m"), bundled_model("ferry.m"));
    let commands: &[&[&str]] = &[
        &["inspect", &lock],
        &["inspect", &lock, "--json"],
        &["inspect", &lock, "--dot", "causal"],
        &["runs"],
        &["bench", "list"],
        &["bench", "quick", "--no-peers", "--only", "ticket_lock"],
        &["completions", "bash"],
        &["man", "check"],
        &["check", "--help"],
        &["check", &lock],
        &["simulate", &lock, "--random"],
        &["test", &ferry],
    ];
    for command in commands {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(*command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        drop(child.stdout.take());
        let ended = child.wait_with_output().expect("the command ends");
        let told = String::from_utf8_lossy(&ended.stderr);
        assert!(ended.status.code() != Some(101) && !told.contains("panicked"), "{command:?}: {told}");
    }
}

#[test]
fn a_trace_that_is_not_there_is_json_or_a_page_all_the_same() {
    let json = hadal(&["check", &bundled_model("peterson.m"), "--trace", "json"]).expect_code(0);
    assert_eq!(json.json(), Value::Null);
    let page = hadal(&["check", &bundled_model("peterson.m"), "--trace", "html"]).expect_code(0);
    assert!(page.stdout.starts_with("<!doctype html>") && page.stdout.contains("HOLDS"), "{}", page.stdout);
    assert!(json.stderr.contains("HOLDS: ") && page.stderr.contains("HOLDS: "));
}

#[test]
fn a_full_multiset_is_an_error_with_a_place() {
    let text = "type T: 0..3; var net: multiset [2] of T;\nstartstate undefine net; end;\n\
                rule \"add\" begin multisetadd(0, net); end;";
    let (_folder, model) = file("full.m", text.as_bytes());
    let run = hadal(&["check", &model]).expect_code(1);
    assert!(run.stdout.contains("full.m:3:18"), "{}", run.stdout);
    assert!(run.stdout.contains("the multiset is full: it holds at most 2"), "{}", run.stdout);
    assert!(!run.stdout.contains("error: error"), "{}", run.stdout);
}

#[test]
fn messages_leave_and_come_and_do_not_turn_into_each_other() {
    let text = "type Node: enum { A, B, C }; Msg: record kind: enum { GetM, Inv }; src: Node; dst: Node; end;\n\
        var net: multiset [2] of Msg; sent: 0..3;\nstartstate undefine net; sent := 0; end;\n\
        rule \"ask\" sent = 0 ==> var m: Msg; begin m.kind := GetM; m.src := B; m.dst := C; multisetadd(m, net); sent := 1; end;\n\
        choose i: net do rule \"answer\" net[i].kind = GetM ==> var m: Msg; begin multisetremove(i, net);\n\
        m.kind := Inv; m.src := C; m.dst := A; multisetadd(m, net); sent := 2; end; end;\n\
        invariant \"unanswered\" sent < 2;";
    let (_folder, model) = file("bag.m", text.as_bytes());
    let text = hadal(&["check", &model]).expect_code(1).stdout;
    assert!(text.contains("net: - {kind: GetM, src: B, dst: C} + {kind: Inv, src: C, dst: A}"), "{text}");
    let json = hadal(&["check", &model, "--trace", "json"]).expect_code(1).json();
    let change = &json["steps"][2]["changes"][0];
    assert_eq!(change["removed"], serde_json::json!(["{kind: GetM, src: B, dst: C}"]), "{change}");
    assert_eq!(change["added"], serde_json::json!(["{kind: Inv, src: C, dst: A}"]), "{change}");
}

#[test]
fn channels_are_shown_by_what_they_hold_and_steps_name_them() {
    let text = "channel {byte} q[2];\nbyte x;\nprocess P { state a, b; init a; trans a -> b { sync q!2; }; }\n\
        process Q { state a, b; init a; trans a -> b { sync q?x; }; }\nsystem async;\n";
    let (_folder, model) = file("channel.dve", text.as_bytes());
    let text = hadal(&["check", &model]).expect_code(1).stdout;
    for line in ["P: a -> b  (q!, line 3)", "q: [] -> [2]", "Q: a -> b  (q?, line 4)", "q: [2] -> []"] {
        assert!(text.contains(line), "{line}: {text}");
    }
    let text = "chan q = [2] of { byte };\nactive proctype P() { q!2 }\n\
        active proctype Q() { byte m;\n q?m; assert(m == 3) }\n";
    let (_folder, model) = file("channel.pml", text.as_bytes());
    let text = hadal(&["check", &model]).expect_code(1).stdout;
    for line in ["P: q!2  (line 2)", "q: [] -> [2]", "Q: q?m  (line 4)", "q: [2] -> []"] {
        assert!(text.contains(line), "{line}: {text}");
    }
}

#[test]
fn a_binary_file_does_not_flood_the_terminal() {
    let program = std::fs::read(env!("CARGO_BIN_EXE_hadal")).expect("it is there");
    for language in hadal_lang::LANGUAGES {
        for extension in language.extensions {
            let (_folder, model) = file(&format!("binary.{extension}"), &program[..4000]);
            let run = hadal(&["check", &model]);
            assert_eq!(run.code, 2, "{extension}: {run:#?}");
            let control = run.stderr.chars().find(|&c| c.is_control() && c != '\n');
            assert_eq!(control, None, "{extension} prints a control character");
            let longest = run.stderr.lines().map(|line| line.chars().count()).max().unwrap_or(0);
            assert!(longest < 500, "{extension}: a line of {longest} characters");
            assert!(run.stderr.len() < 100_000, "{extension}: {} bytes", run.stderr.len());
        }
    }
}

#[test]
fn a_folder_without_a_run_is_a_mistake_of_the_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let run = hadal(&["resume", &folder.path().display().to_string()]).expect_code(2);
    assert!(run.stderr.contains("there is no run here"), "{}", run.stderr);
}

/// Rules that differ, so that nothing can be shared.
fn large(rules: usize) -> Vec<u8> {
    let mut text = "var x: 0..10000000;\nstartstate x := 0; end;\n".to_owned();
    for n in 0..rules {
        text.push_str(&format!("rule \"r{n}\" x = {n} ==> begin x := {}; end;\n", n + 1));
    }
    text.into_bytes()
}

#[test]
fn reading_a_large_model_keeps_to_the_budget_and_to_the_time() {
    let (_folder, model) = file("large.m", &large(400_000));
    let run = hadal(&["check", &model, "--memory", "200M", "--json"]).expect_code(3);
    let reason = run.json()["reason"].as_str().expect("a reason").to_owned();
    assert!(reason.contains("more than the budget of 200.0 MiB (--memory "), "{reason}");
    let run = hadal(&["check", &model, "--time-limit", "0.2s"]).expect_code(3);
    assert!(run.stdout.contains("--time-limit is reached while the model is read"), "{}", run.stdout);
}

#[test]
fn a_constant_that_is_not_there_points_nowhere_and_suggests_one() {
    for (model, wrong, right) in [
        ("ticket_lock.m", "THREAD=4", "THREADS"),
        ("philosophers.mdve", "M=4", "N"),
        ("tram_segment.mdve", "DELY=3", "DELAY"),
    ] {
        let run = hadal(&["check", &bundled_model(model), "-D", wrong]).expect_code(2);
        assert!(run.stderr.contains(&format!("did you mean `{right}`?")), "{}", run.stderr);
        assert!(!run.stderr.contains(":1:1"), "{}", run.stderr);
    }
    let text =
        "int speed = 0;\nprocess P { state a; init a; trans a -> a { guard sped == 0; }; }\nsystem async;\n";
    let (_folder, model) = file("names.dve", text.as_bytes());
    let run = hadal(&["check", &model]).expect_code(2);
    assert!(
        run.stderr.contains("did you mean `speed`?") && run.stderr.contains("names.dve:2:51"),
        "{}",
        run.stderr
    );
}

/// `1 hits`, `1 words`: a one before a plural.
fn miscounted(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let plural = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_alphanumeric());
        word.len() > 2
            && word.ends_with('s')
            && !word.ends_with("ss")
            && !["has", "was", "this"].contains(&word)
    };
    let one = |word: &str| word.trim_start_matches(['(', '"']) == "1";
    let plural = |word: &str| plural(word) && !word.starts_with("--");
    words.windows(2).find(|pair| one(pair[0]) && plural(pair[1])).map(|pair| pair.join(" "))
}

#[test]
fn one_thing_is_never_counted_in_the_plural() {
    assert_eq!(miscounted("cover \"hit\": 1 hits"), Some("1 hits".into()));
    let text = "var b: boolean;\nstartstate b := false; end;\nrule \"up\" !b ==> b := true; end;\n\
        cover \"hit\" b; invariant \"no\" true;";
    let (folder, model) = file("small.m", text.as_bytes());
    let lasso = file("lasso.pml", b"byte x; active proctype P() { do :: x = 1 - x od }");
    let disk = folder.path().join("runs").display().to_string();
    let commands: &[&[&str]] = &[
        &["check", &model, "--deadlock", "off", "--explain"],
        &[
            "check",
            &model,
            "--deadlock",
            "off",
            "--threads",
            "1",
            "--strategy",
            "sort",
            "--disk",
            &disk,
            "--max-states",
            "1",
        ],
        &["runs", "--disk", &disk],
        &["check", &model],
        &["check", &model, "--find", "--explain"],
        &["inspect", &model],
        &["simulate", &model, "--random", "--steps", "1"],
        &["simulate", &model, "--random", "--steps", "1", "--runs", "1"],
        &["check", &lasso.1, "--ltl", "<> (x == 2)", "--explain"],
        &["runs", "--disk", &disk, "rm", "--older-than", "0s"],
        &["bench", "quick", "--no-peers", "--only", "ticket_lock"],
    ];
    for command in commands {
        let run = hadal(command);
        assert!([0, 1, 3].contains(&run.code), "{run:#?}");
        let told = format!("{}\n{}", run.stdout, run.stderr);
        assert_eq!(miscounted(&told), None, "{command:?}: {told}");
    }
}

/// The tiles' layers grow without a bend: there is no end in sight, and no number that pretends to be one.
#[test]
fn a_report_far_from_the_end_has_no_saturated_numbers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().display().to_string();
    for most in ["20000", "100000", "300000"] {
        let asked = [
            "check",
            &bundled_model("tiles.m"),
            "-D",
            "ROW4=12131514",
            "--strategy",
            "sort",
            "--max-states",
            most,
        ];
        let run = hadal(&[&asked[..], &["--disk", &disk, "--json"]].concat()).expect_code(3).json();
        let run = run["run"].as_str().expect("a run").to_owned();
        let figures = hadal(&["report", &run, "--json"]).expect_code(0).json();
        let mut numbers = vec![&figures];
        while let Some(value) = numbers.pop() {
            match value {
                Value::Array(items) => numbers.extend(items),
                Value::Object(fields) => numbers.extend(fields.values()),
                Value::Number(number) => assert!(number.as_f64() < Some(1e15), "{number} in {figures:#}"),
                _ => {}
            }
        }
        let page = folder.path().join("report.html");
        hadal(&["report", &run, "--out", &page.display().to_string()]).expect_code(0);
        let page = std::fs::read_to_string(page).expect("a page");
        assert!(!page.contains("18 446 744") && !page.contains("000 days"), "{page}");
    }
}

#[test]
fn a_resumed_run_knows_its_states_from_the_first_moment() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().join("runs").display().to_string();
    let model = bundled_model("tiles.m");
    let asked = ["check", &model, "-D", "ROW4=12131514", "--strategy", "sort", "--max-states", "1000000"];
    let first = hadal(&[&asked[..], &["--disk", &disk, "--json"]].concat()).expect_code(3).json();
    let (run, states) = (first["run"].as_str().expect("a run"), first["states"].as_u64());
    let events = folder.path().join("events").display().to_string();
    hadal(&["resume", run, "--memory", "100M", "--time-limit", "1s", "--events", &events]).expect_code(3);
    let events = std::fs::read_to_string(events).expect("events");
    let shown = events.lines().map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let shown: Vec<Value> = shown.filter(|event| event["event"] == "progress").collect();
    assert!(!shown.is_empty(), "a second is long enough to be shown");
    assert!(shown.iter().all(|event| event["states"].as_u64() >= states), "{shown:#?}");
}

#[test]
fn a_family_shows_the_text_that_it_expands_to() {
    let run =
        hadal(&["inspect", &bundled_model("philosophers.mdve"), "-D", "N=3", "--expanded"]).expect_code(0);
    assert!(run.stdout.contains("process Phil2") && !run.stdout.contains("process Phil3"), "{}", run.stdout);
    let run = hadal(&["inspect", &bundled_model("ferry.m"), "--expanded"]).expect_code(2);
    assert!(run.stderr.contains("--expanded"), "{}", run.stderr);
}

#[test]
fn options_that_would_do_nothing_are_refused_with_a_reason() {
    let model = bundled_model("peterson.m");
    let commands: &[(&[&str], &str)] = &[
        (&["--part-heuristic", "de"], "--part-heuristic belongs to --strategy part"),
        (&["--part-states", "100", "--strategy", "sort"], "--part-states belongs to --strategy part"),
        (&["--shortest", "--strategy", "bfs"], "--shortest belongs to --strategy part"),
        (&["--fair", "weak"], "--fair is about infinite runs"),
        (&["--lasso", "shortest"], "--lasso is about infinite runs"),
        (&["--liveness", "ndfs"], "--liveness is about infinite runs"),
        (&["--cache", "lru"], "--cache belongs to"),
        (&["--tie", "fifo"], "--tie belongs to a directed search"),
    ];
    for (more, why) in commands {
        let run = hadal(&[&["check", &model], *more].concat()).expect_code(2);
        assert!(run.stderr.contains(why), "{}", run.stderr);
    }
}

#[test]
fn every_storage_has_a_reason_and_threads_are_those_that_explored() {
    let model = bundled_model("peterson.m");
    for strategy in
        ["auto", "bfs", "dfs", "part", "paths", "sort", "hash", "phased", "partial", "structured", "mr-bfs"]
    {
        let run = hadal(&[
            "check",
            &model,
            "--strategy",
            strategy,
            "--threads",
            "3",
            "--memory",
            "200M",
            "--explain",
        ]);
        let told = run.expect_code(0);
        let stages: Vec<&str> = told
            .stderr
            .lines()
            .chain(told.stdout.lines())
            .filter(|it| it.contains(" from depth 0"))
            .collect();
        assert!(!stages.is_empty(), "{strategy}: {told:#?}");
        for stage in stages {
            let (_, why) = stage.split_once("): ").expect("a reason");
            assert!(why.len() > 10, "{strategy}: {stage}");
        }
        let threads = if strategy == "part" { "1 thread" } else { "3 threads" };
        assert!(told.stdout.contains(&format!(", {threads}")), "{strategy}: {}", told.stdout);
    }
}

/// A ring whose last new state lies 399 steps away: what is deeper was seen before, and is not counted.
#[test]
fn a_diameter_counts_no_layer_behind_it() {
    let text = "var x: 0..399; startstate x := 0; end; rule x := (x + 1) % 400; end;";
    let (_folder, model) = file("ring.m", text.as_bytes());
    for (diameter, states) in [("399", 400), ("10", 11)] {
        let asked = [
            "check",
            &model,
            "--strategy",
            "layered",
            "--keep-layers",
            "3",
            "--diameter",
            diameter,
            "--json",
        ];
        let result = hadal(&asked).expect_code(0).json();
        assert_eq!(result["states"], states, "{result:#}");
        assert_eq!(result["depth"].to_string(), diameter, "{result:#}");
    }
}

#[test]
fn constants_that_a_definition_does_not_name_are_listed() {
    let models: [(&str, &str, &[&str]); 4] = [
        (
            "ring.dve",
            "const int SLOTS = 3; byte got = 0; channel {byte} q[2]; process P { state a, b; init a; trans a -> b { effect got = \
             SLOTS; }; } system async;",
            &["got", "ITEMS"],
        ),
        (
            "coin.prism",
            "dtmc const int SLOTS = 3; module m s: [0..3] init 0; [] s<SLOTS -> (s'=s+1); endmodule",
            &["s", "ITEMS"],
        ),
        (
            "lamp.xta",
            "const int SLOTS = 3; int got = 0; process P() { state a; init a; trans a -> a { guard got < SLOTS; assign got := got + \
             1; }; } system P;",
            &["got", "ITEMS"],
        ),
        ("up.m", "const SLOTS: 3; var x: 0..SLOTS; startstate x := 0; end;", &["x", "ITEMS"]),
    ];
    for (name, text, unknown) in models {
        let (_folder, model) = file(name, text.as_bytes());
        for constant in unknown {
            let run = hadal(&["check", &model, "-D", &format!("{constant}=2")]).expect_code(2);
            let told = format!("-D {constant}: the model has no constant `{constant}`");
            assert!(run.stderr.contains(&told), "{name}: {}", run.stderr);
            assert!(run.stderr.contains("its only constant is SLOTS"), "{name}: {}", run.stderr);
        }
        let run = hadal(&["check", &model, "-D", "SLOT=2"]).expect_code(2);
        assert!(run.stderr.contains("did you mean `SLOTS`?"), "{name}: {}", run.stderr);
        assert_ne!(hadal(&["check", &model, "-D", "SLOTS=2"]).code, 2, "{name}");
    }
    // Whoever defines a macro that nobody uses is warned, as SPIN accepts it.
    let text = b"active proctype P() { byte x = SLOTS; assert(x == 3) }";
    let (_folder, model) = file("p.pml", text);
    let run = hadal(&["check", &model, "-D", "SLOTS=3", "-D", "SLOT=4"]).expect_code(0);
    assert!(
        run.stderr.contains("warning: -D SLOT: the model does not use the macro `SLOT`"),
        "{}",
        run.stderr
    );
    assert!(!run.stderr.contains("`SLOTS`"), "{}", run.stderr);
    let domain = "(define (domain d) (:predicates (p)) (:action a :parameters () :effect (p)))";
    let (folder, _) = file("domain.pddl", domain.as_bytes());
    let problem = folder.path().join("problem.pddl");
    std::fs::write(&problem, "(define (problem q) (:domain d) (:init) (:goal (p)))")
        .expect("it can be written");
    let run = hadal(&["check", &problem.display().to_string(), "-D", "N=4"]).expect_code(2);
    assert!(run.stderr.contains("-D N: a problem has no constants"), "{}", run.stderr);
}

#[test]
fn models_that_a_command_does_not_read_are_refused_with_what_does() {
    let domain = "(define (domain d) (:predicates (p)) (:action a :parameters () :effect (p)))";
    let (_folder, domain) = file("domain.pddl", domain.as_bytes());
    let run = hadal(&["check", &domain]).expect_code(2);
    assert!(run.stderr.contains("hadal plan DOMAIN PROBLEM"), "{}", run.stderr);
    let run = hadal(&["simulate", &bundled_model("bridge.xta"), "--random"]).expect_code(2);
    assert!(run.stderr.contains("does not read real-time models"), "{}", run.stderr);
}

#[test]
fn a_resumed_run_without_a_new_layer_says_so_instead_of_a_rate() {
    let folder = tempfile::tempdir().expect("a folder");
    let (tiles, disk) = (bundled_model("tiles.m"), folder.path().join("runs").display().to_string());
    let limits = ["--max-states", "5000", "--disk", &disk];
    let first =
        hadal(&[&["check", &tiles, "--strategy", "sort", "--json"][..], &limits].concat()).expect_code(3);
    let run = first.json()["run"].as_str().expect("a run").to_owned();
    let again = hadal(&["resume", &run, "--max-states", "5000"]).expect_code(3);
    assert!(again.stdout.contains("; no new layer is complete yet\n"), "{}", again.stdout);
    assert!(!again.stdout.contains("states/s"), "{}", again.stdout);
    // The folder of runs may be named on either side of the verb.
    let name = run.rsplit('/').next().expect("a name");
    hadal(&["runs", "rm", name, "--disk", &disk]).expect_code(0);
    let listed = hadal(&["runs", "--disk", &disk]).expect_code(0);
    assert!(listed.stdout.starts_with("no runs in "), "{}", listed.stdout);
}
