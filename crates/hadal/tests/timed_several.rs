//! Commands that need several searches of a model in real time: many queries, violations of each, the earliest run, largest and
//! least values. Their runs are stopped and killed, and resumed to the same answers.

mod support;

use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use support::hadal;

/// A lamp that a person may press: low for at most ten units, bright only by two presses within five.
const LAMP: &str = "clock x; chan press; int[0,9] presses = 0;
process Lamp() {
  state off, low { x <= 10 }, bright;
  init off;
  trans off -> low { sync press?; assign x = 0; }, low -> bright { guard x < 5; sync press?; },
    low -> off { guard x == 10; }, bright -> off { sync press?; };
}
process User() { state idle; init idle; trans idle -> idle { guard presses < 7; sync press!; assign presses = presses + 1; }; }
L = Lamp(); U = User();
system L, U;
";

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("it can be written");
    path.display().to_string()
}

/// What a result says, without times and places.
fn said(result: &Value) -> Vec<Value> {
    let fields =
        ["verdict", "reason", "property", "states", "transitions", "properties", "measured", "fastest"];
    let lengths = ["trace_length", "loop_length", "response"];
    fields.iter().chain(&lengths).map(|&field| result[field].clone()).collect()
}

/// Every property's verdict, by name.
fn verdicts(result: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let all = result["properties"].as_array().cloned().unwrap_or_default();
    all.iter().map(|it| (text(&it["name"]), text(&it["verdict"]))).collect()
}

/// The run in a folder that was written to last and can be resumed.
fn newest(folder: &Path) -> Option<PathBuf> {
    let runs = std::fs::read_dir(folder).ok()?.flatten().map(|run| run.path());
    let committed = |run: &PathBuf| {
        let files = std::fs::read_dir(run).map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
        files.iter().any(|file| file.file_name().to_string_lossy().starts_with("manifest-"))
    };
    let written = |run: &PathBuf| std::fs::metadata(run).and_then(|it| it.modified()).ok();
    runs.filter(committed).max_by_key(written)
}

/// The result of a command that is killed a little later each time, and how often it was.
fn killed(begin: &[&str], memory: &str) -> (Value, u32) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let disk = folder.path().display().to_string();
    let mut deaths = 0;
    let mut wait = 60;
    loop {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hadal"));
        match newest(folder.path()) {
            Some(run) => command.arg("resume").arg(run),
            None => command.args(begin).args(["--disk", &disk]),
        };
        command.args(["--memory", memory, "--json"]);
        let mut child =
            command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
        std::thread::sleep(Duration::from_millis(wait));
        if child.try_wait().expect("it is ours").is_none() {
            child.kill().expect("it is ours");
        }
        let output = child.wait_with_output().expect("it ends");
        if let Ok(result) = serde_json::from_slice::<Value>(&output.stdout) {
            return (result, deaths);
        }
        deaths += 1;
        assert!(deaths < 60, "it never ends");
        wait = wait * 4 / 3;
    }
}

#[test]
fn searches_of_one_command_that_are_killed_are_resumed_to_all_answers() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = support::bundled_model("fischer_timed.xta");
    let queries = "A[] not (P(1).critical && P(2).critical)\nA[] not (P(1).critical && owner == 2)\n\
        P(1).trying --> P(1).waiting\nsup{P(1).trying}: P(1).x\ninf{P(1).critical}: P(1).x\nE[] owner == 0\n";
    let queries = written(folder.path(), "all.q", queries);
    let begin = ["check", &model, "-D", "N=5", "--queries", &queries];
    let expected = hadal(&[&begin[..], &["--json"]].concat()).expect_code(1).json();
    let values: Vec<_> =
        expected["measured"].as_array().expect("values").iter().map(|it| &it["value"]).collect();
    assert_eq!(values, ["2", "more than 2, as near to it as one likes"]);
    assert_eq!(verdicts(&expected).last(), Some(&("E[] owner == 0".into(), "reached".into())));
    let (found, deaths) = killed(&begin, "20M");
    assert_eq!(said(&found), said(&expected));
    assert!(deaths >= 2, "killed {deaths} times");
}

#[test]
fn a_command_that_meets_its_limit_is_resumed_where_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = support::bundled_model("fischer_timed.xta");
    let queries =
        "A[] not (P(1).critical && P(2).critical)\nP(1).trying --> P(1).waiting\nsup{P(1).trying}: P(1).x\n";
    let queries = written(folder.path(), "all.q", queries);
    let disk = folder.path().join("runs").display().to_string();
    let begin = ["check", &model, "-D", "N=4", "--queries", &queries, "--memory", "20M", "--json"];
    let expected = hadal(&begin).expect_code(0).json();
    for limit in ["100", "300"] {
        let stopped = hadal(&[&begin[..], &["--disk", &disk, "--max-states", limit]].concat()).expect_code(3);
        let run = stopped.json()["run"].as_str().expect("it can be resumed").to_owned();
        let result = hadal(&["resume", &run, "--memory", "20M", "--json"]).expect_code(0).json();
        assert_eq!(said(&result), said(&expected), "stopped at {limit}");
    }
}

#[test]
fn the_earliest_run_is_found_on_disk_and_after_kills() {
    let model = support::bundled_model("fischer_timed.xta");
    let begin = [
        "check",
        &model,
        "-D",
        "N=5",
        "--property",
        "E<> P(1).critical && P(2).idle && owner == 1",
        "--fastest",
    ];
    let expected = hadal(&[&begin[..], &["--json"]].concat()).expect_code(1).json();
    // Written at once, entered after more than two.
    assert_eq!(expected["fastest"], "2 (not taken itself)");
    let (found, _) = killed(&begin, "20M");
    assert_eq!(said(&found), said(&expected));
}

#[test]
fn one_violation_of_each_property_is_reported() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lamp = written(folder.path(), "lamp.xta", LAMP);
    let queries = "A[] not L.low\nA[] not L.bright\nA[] x <= 10 or not L.low\nE<> presses == 7\nE<> L.bright && x >= 20\n\
        A<> L.low\nL.low --> (L.off || L.bright)\n";
    let queries = written(folder.path(), "all.q", queries);
    let begin = ["check", &lamp, "--queries", &queries, "--json"];
    let all = hadal(&[&begin[..], &["--continue", "9"]].concat()).expect_code(1).json();
    let names = |result: &Value| {
        let all = result["violations"].as_array().cloned().unwrap_or_default();
        all.iter().map(|it| it["property"].as_str().unwrap_or_default().to_owned()).collect::<Vec<_>>()
    };
    let mut found = names(&all);
    assert_eq!(found.len(), 5, "{all}");
    found.sort();
    let expected =
        ["A<> L.low", "A[] not L.bright", "A[] not L.low", "E<> L.bright && x >= 20", "E<> presses == 7"];
    assert_eq!(found, expected);
    let verdict = |name: &str| verdicts(&all).into_iter().find(|(known, _)| known == name).map(|it| it.1);
    assert_eq!(verdict("E<> presses == 7").as_deref(), Some("reached"));
    assert_eq!(verdict("A[] not L.bright").as_deref(), Some("violated"));
    assert_eq!(verdict("A[] x <= 10 or not L.low").as_deref(), Some("holds"));
    assert_eq!(verdict("L.low --> (L.off || L.bright)").as_deref(), Some("holds"));
    // Every trace is as short as one that is looked for alone.
    for violation in all["violations"].as_array().expect("a list") {
        let name = violation["property"].as_str().expect("a name");
        let alone = hadal(&["check", &lamp, "--property", name, "--json"]).expect_code(1).json();
        assert_eq!(alone["trace_length"], violation["trace_length"], "{name}");
    }
    let two = hadal(&[&begin[..], &["--continue", "2"]].concat()).expect_code(1).json();
    assert_eq!(names(&two).len(), 2, "{two}");
    let (found, _) = killed(&[&begin[..4], &["--continue", "9"]].concat(), "20M");
    assert_eq!(names(&found), names(&all));
    let refused = hadal(&["check", &lamp, "--continue", "2", "--fastest"]).expect_code(2);
    assert!(refused.stderr.contains("--fastest is about one goal"), "{refused:#?}");
}

#[test]
fn largest_and_least_values_are_exact() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lamp = written(folder.path(), "lamp.xta", LAMP);
    for (query, value) in [
        ("sup{L.low}: x", "10"),
        ("inf{L.low}: x", "0"),
        ("sup{L.low && x < 7}: x", "less than 7, as near to it as one likes"),
        ("inf{L.bright && x > 3}: x", "more than 3, as near to it as one likes"),
        ("sup: presses", "7"),
        ("sup: 0 - presses", "0"),
        ("inf{L.bright}: presses", "2"),
        ("inf{L.bright}: 3 - presses", "-4"),
        ("sup{L.low && L.bright}: x", "none (no such state is reachable)"),
        ("sup{L.bright}: x", "more than 1048576, perhaps without end"),
    ] {
        let found = hadal(&["check", &lamp, "--property", query, "--json"]).expect_code(0).json();
        let measured = found["measured"].as_array().expect("a list");
        assert_eq!((measured.len(), measured[0]["value"].as_str()), (1, Some(value)), "{query}");
    }
    let both = hadal(&["check", &lamp, "--property", "sup{L.low}: x, presses"]).expect_code(0);
    assert!(both.stdout.contains("x is 10") && both.stdout.contains("presses is 7"), "{both:#?}");
    // What cannot be asked is shown where it stands.
    let wrong = written(folder.path(), "wrong.q", "E<> L.low\nsup{L.low}: nobody\nsup x\nA<> x > 3\n");
    let told = hadal(&["check", &lamp, "--queries", &wrong]).expect_code(1).stderr;
    for place in ["wrong.q:2:13: warning", "wrong.q:3:1: warning", "wrong.q:4:5: warning"] {
        assert!(told.contains(place), "{place}\n{told}");
    }
    assert!(told.contains("  |             ^^^^^^"), "{told}");
}

/// Leaves `s` within five units, unless time does not get that far.
const HURRY: &str = "clock x;
process P() { state s { x <= 5 }, t; init s; trans s -> s { }, s -> t { guard x >= 3; }; }
A = P();
system A;
";

#[test]
fn runs_in_which_time_does_not_go_on_are_left_out_where_that_is_asked() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let hurry = written(folder.path(), "hurry.xta", HURRY);
    let zeno = hadal(&["check", &hurry, "--property", "A<> A.t"]).expect_code(1);
    assert!(zeno.stdout.contains("Zeno"), "{zeno:#?}");
    hadal(&["check", &hurry, "--property", "A<> A.t", "--non-zeno"]).expect_code(0);
    hadal(&["check", &hurry, "--ltl", "F A.t", "--non-zeno"]).expect_code(0);
    hadal(&["check", &hurry, "--property", "E[] A.s", "--non-zeno"]).expect_code(0);
    // A stay in `t` is a run in which time goes on.
    let stays = hadal(&["check", &hurry, "--ltl", "F G A.s", "--non-zeno"]).expect_code(1);
    assert!(stays.stdout.contains("time diverges along it"), "{stays:#?}");
    // Resting in a place without limit needs no step; a lock of time is no such run.
    let lamp = written(folder.path(), "lamp.xta", LAMP);
    hadal(&["check", &lamp, "--property", "A<> L.low", "--non-zeno"]).expect_code(1);
    hadal(&["check", &lamp, "--property", "L.low --> (L.off || L.bright)", "--non-zeno"]).expect_code(0);
    let lock = HURRY.replace("s -> s { }, s -> t { guard x >= 3; }", "s -> t { guard x > 5; }");
    let lock = written(folder.path(), "lock.xta", &lock);
    hadal(&["check", &lock, "--property", "A<> A.t"]).expect_code(1);
    hadal(&["check", &lock, "--property", "A<> A.t", "--non-zeno"]).expect_code(0);
    let refused = hadal(&["check", &hurry, "--property", "E<> A.t", "--non-zeno"]).expect_code(2);
    assert!(refused.stderr.contains("about infinite runs"), "{refused:#?}");
}
