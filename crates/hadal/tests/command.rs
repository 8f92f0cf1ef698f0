//! The command as a person or a script meets it: exit codes, messages, limits, output formats, walks.

mod support;

use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use support::{Run, bundled_model, hadal, hadal_reading};
use tempfile::TempDir;

/// Two million states in a cube; a path to the far corner is as long as three edges.
const CUBE: &str = "\
var x, y, z: 0 .. 127;
startstate begin x := 0; y := 0; z := 0; end;
rule \"x\" x < 127 ==> begin x := x + 1; end;
rule \"y\" y < 127 ==> begin y := y + 1; end;
rule \"z\" z < 127 ==> begin z := z + 1; end;
";
const CUBE_STATES: u64 = 128 * 128 * 128;
const CUBE_TRANSITIONS: u64 = 3 * 127 * 128 * 128;

/// Counts to three and stays there.
const COUNTER: &str = "\
var n: 0 .. 3;
startstate \"zero\" begin n := 0; end;
rule \"up\" n < 3 ==> begin n := n + 1; end;
";

/// A folder with one model in it.
struct Model {
    folder: TempDir,
    path: String,
}

impl Model {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let path = folder.path().join("model.m");
        std::fs::write(&path, text).expect("a model can be written");
        Model { folder, path: path.display().to_string() }
    }

    fn check(&self, flags: &[&str]) -> Run {
        let mut arguments = vec!["check", &self.path, "--memory", "256M"];
        arguments.extend(flags);
        hadal(&arguments)
    }

    fn file(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }
}

fn check(model: &str, flags: &[&str]) -> Run {
    let model = bundled_model(model);
    let mut arguments = vec!["check", &model, "--memory", "256M"];
    arguments.extend(flags);
    hadal(&arguments)
}

fn counts(run: &Run) -> (u64, u64) {
    let result = run.json();
    (result["states"].as_u64().expect("a number"), result["transitions"].as_u64().expect("a number"))
}

#[test]
fn the_exit_code_says_the_verdict() {
    let holds = check("peterson.m", &[]).expect_code(0);
    assert!(holds.stdout.starts_with("HOLDS: "), "{holds:#?}");
    let violated = check("ticket_lock.m", &[]).expect_code(1);
    assert!(violated.stdout.contains("VIOLATED: invariant `mutual exclusion` is violated"), "{violated:#?}");
    check("peterson.m", &["--strategy", "sideways"]).expect_code(2);
    let stopped = check("peterson.m", &["--max-states", "5"]).expect_code(3);
    assert!(stopped.stdout.starts_with("STOPPED: "), "{stopped:#?}");
}

#[test]
fn every_mistake_of_a_model_is_shown_with_its_place() {
    let model = Model::new(
        "var n: 0 .. 3;\nstartstate begin n := 0; end;\nrule begin m := 1; end;\nrule begin n := tru; end;\n",
    );
    let run = model.check(&[]).expect_code(2);
    assert!(run.stdout.is_empty(), "{run:#?}");
    for place in ["model.m:3:12: error", "model.m:4:17: error", "2 errors", "^"] {
        assert!(run.stderr.contains(place), "`{place}` is missing: {run:#?}");
    }
}

#[test]
fn a_wrong_command_says_what_would_be_right() {
    let unknown = check("futex.m", &["--property", "speed"]).expect_code(2);
    assert!(unknown.stderr.contains("no property `speed`"), "{unknown:#?}");
    assert!(unknown.stderr.contains("`mutual exclusion`"), "{unknown:#?}");
    let missing = hadal(&["check", "/nowhere/at/all.m"]).expect_code(2);
    assert!(missing.stderr.contains("/nowhere/at/all.m"), "{missing:#?}");
    let ending = hadal(&["check", "model.txt"]).expect_code(2);
    assert!(ending.stderr.contains(".dve"), "{ending:#?}");
    let constant = check("futex.m", &["-D", "SPEED=3"]).expect_code(2);
    assert!(constant.stderr.contains("SPEED"), "{constant:#?}");
    let memory = hadal(&["check", &bundled_model("futex.m"), "--memory", "1K"]).expect_code(2);
    assert!(memory.stderr.contains("at least 1M"), "{memory:#?}");
    check("futex.m", &["--max-depth", "3", "--strategy", "dfs"]).expect_code(2);
    hadal(&["check"]).expect_code(2);
}

#[test]
fn a_small_budget_ends_a_search_in_ram_and_moves_the_default_one_elsewhere() {
    let model = Model::new(CUBE);
    let small = |strategy: &str| {
        let disk = model.file("runs");
        let budget = ["--memory", "16M", "--deadlock", "off", "--json", "--threads", "2", "--disk", &disk];
        hadal(&[&["check", &model.path, "--strategy", strategy], &budget[..]].concat())
    };
    let in_ram = small("bfs").expect_code(3).json();
    assert_eq!(in_ram["verdict"], "stopped");
    assert!(in_ram["reason"].as_str().is_some_and(|r| r.contains("--memory")), "{in_ram:#}");
    let moved = small("auto").expect_code(0);
    assert_eq!(counts(&moved), (CUBE_STATES, CUBE_TRANSITIONS));
    let stages = moved.json()["storage"].as_array().map_or(0, Vec::len);
    assert!(stages > 1, "it stayed in the table: {moved:#?}");
}

#[test]
fn limits_stop_a_search_and_are_named() {
    for (flag, value) in [("--max-states", "1000"), ("--max-depth", "7"), ("--time-limit", "0s")] {
        let run = Model::new(CUBE).check(&[flag, value, "--json", "--deadlock", "off"]).expect_code(3);
        let result = run.json();
        assert_eq!(result["verdict"], "stopped");
        assert!(result["reason"].as_str().is_some_and(|reason| reason.contains(flag)), "{result:#}");
    }
    // Seven layers of a cube's corner: all states whose coordinates add up to 7 at most.
    let seven = Model::new(CUBE).check(&["--max-depth", "7", "--json"]).json();
    assert_eq!((&seven["states"], &seven["depth"]), (&Value::from(120), &Value::from(7)));
}

#[test]
fn a_limit_that_is_not_reached_changes_nothing() {
    let free = Model::new(COUNTER).check(&["--json", "--deadlock", "off"]).expect_code(0);
    for limit in [["--max-depth", "100"], ["--max-states", "100"], ["--time-limit", "1h"]] {
        let limited = Model::new(COUNTER).check(&[&limit[..], &["--json", "--deadlock", "off"]].concat());
        assert_eq!(counts(&limited.expect_code(0)), counts(&free));
    }
}

#[test]
fn naming_a_property_asks_about_nothing_else() {
    check("futex.m", &[]).expect_code(1);
    check("futex.m", &["--property", "mutual exclusion"]).expect_code(0);
    let two = ["--property", "mutual exclusion", "--property", "a sleeper is not forgotten"];
    check("futex.m", &two).expect_code(1);
}

#[test]
fn deadlock_is_what_one_asks_for() {
    let counter = Model::new(COUNTER);
    for (notion, code) in [("on", 1), ("off", 0), ("stuck", 1), ("stuttering", 1)] {
        counter.check(&["--deadlock", notion]).expect_code(code);
    }
    let found = counter.check(&["--json"]).json();
    assert_eq!(found["trace"]["violation"]["kind"], "deadlock");
    assert_eq!(found["trace_length"], 3);
    // A rule that can fire but leads nowhere else.
    let idle = Model::new(&format!("{COUNTER}rule \"rest\" begin end;\n"));
    for (notion, code) in [("on", 1), ("off", 0), ("stuck", 0), ("stuttering", 1)] {
        idle.check(&["--deadlock", notion]).expect_code(code);
    }
}

#[test]
fn an_error_of_the_model_is_a_violation_with_a_trace() {
    let model = Model::new(&format!("{COUNTER}rule \"over\" n = 2 ==> begin n := n + 2; end;\n"));
    let result = model.check(&["--json"]).expect_code(1).json();
    assert_eq!(result["trace"]["violation"]["kind"], "error");
    assert_eq!(result["property"], Value::Null);
    assert_eq!(result["trace_length"], 3, "two steps and the one that meets the error");
    let shown = model.check(&[]).stdout;
    assert!(shown.contains("model.m:4:") && shown.contains('^'), "{shown}");
}

#[test]
fn threads_engines_and_strategies_agree() {
    let model = bundled_model("peterson.m");
    let mut found = BTreeSet::new();
    for way in ["--threads 1", "--threads 2", "--threads 3", "--threads 2 --interpret"] {
        for strategy in ["auto", "bfs", "dfs"] {
            let mut arguments = vec!["check", &model, "--symmetry", "off", "--json", "--strategy", strategy];
            arguments.extend(way.split(' '));
            found.insert(counts(&hadal(&arguments).expect_code(0)));
        }
    }
    assert_eq!(found, BTreeSet::from([(5744, 15848)]));
}

#[test]
fn a_shortest_trace_is_shortest_for_any_number_of_threads() {
    for threads in ["1", "2", "3"] {
        for strategy in ["auto", "bfs"] {
            let run = check("ticket_lock.m", &["--json", "--threads", threads, "--strategy", strategy]);
            let result = run.expect_code(1).json();
            assert_eq!(result["trace_length"], 10);
            assert_eq!(result["trace"]["shortest"], true);
        }
    }
    let deep = check("ticket_lock.m", &["--json", "--strategy", "dfs", "--property", "mutual exclusion"]);
    assert_eq!(deep.expect_code(1).json()["trace"]["shortest"], false);
}

/// The names in the first column of a table of `docs/json.md`, by the table's heading of that column.
fn documented(heading: &str) -> BTreeSet<String> {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let head = format!("| {heading} |");
    let rows = page.lines().skip_while(|line| !line.starts_with(&head)).skip(2);
    let names = rows.map_while(|line| line.strip_prefix("| `")?.split('`').next());
    let names: BTreeSet<String> = names.map(str::to_owned).collect();
    assert!(!names.is_empty(), "no table `{heading}`");
    names
}

#[track_caller]
fn keys(value: &Value) -> BTreeSet<String> {
    value.as_object().expect("an object").keys().cloned().collect()
}

#[test]
fn the_result_has_the_documented_fields() {
    let violated = check("lease.m", &["--json", "--full-states"]).expect_code(1).json();
    let mut fields = keys(&violated);
    fields.insert("partition".into());
    fields.insert("buckets".into());
    fields.insert("cache_distances".into());
    fields.insert("peak_states".into());
    fields.insert("one_way".into());
    fields.insert("shortest_paths".into());
    fields.insert("reductions".into());
    fields.insert("reduction_notes".into());
    fields.insert("directed".into());
    fields.extend(
        ["answers", "cost", "discrete", "fastest", "loop_length", "measured", "response", "shortest_among"]
            .map(String::from),
    );
    fields.extend(["trail_length", "violations", "states_before", "settings", "workers"].map(String::from));
    assert_eq!(
        fields,
        documented("field"),
        "`partition`, `buckets`, `peak_states` and `shortest_paths` belong to some strategies, `cache_distances` and `one_way` to options, `reductions` to options of its own, `discrete`, `fastest` and `response` \
         to real time, `loop_length`, `answers` and `shortest_among` to infinite runs, \
         `trail_length`, `violations`, `states_before`, `settings` and `workers` to --shorten, to --continue, to resumed \
         runs, to hadal.toml and to clusters"
    );
    assert_eq!(keys(&violated["layers"][0]), documented("field in `layers`"));
    assert_eq!(keys(&violated["layers"][0]["detection"]), documented("field in `detection`"));
    assert_eq!(keys(&violated["storage"][0]), documented("field in `storage`"));
    assert_eq!(keys(&violated["trace"]), documented("field in `trace`"));
    assert_eq!(keys(&violated["trace"]["violation"]), documented("field in `violation`"));
    let mut step = keys(&violated["trace"]["steps"][1]);
    step.extend(["printed", "channels", "inner", "then"].map(String::from));
    assert_eq!(step, documented("field in `steps`"), "what did not happen is left out");
    assert_eq!(violated["trace"]["steps"].as_array().map(Vec::len), Some(12));
    assert_eq!(violated["covers"][0]["property"], "two read together");

    let hash = check("peterson.m", &["--json", "--strategy", "hash", "--first-partition", "random"]);
    let hash = hash.expect_code(0).json();
    assert!(hash["buckets"]["buckets"].as_u64() > Some(1));
    assert!(hash["buckets"]["scalars"].as_array().is_some_and(|scalars| !scalars.is_empty()), "{hash}");
    let sum = |part: &str| -> u64 {
        let layers = hash["layers"].as_array().expect("a list");
        layers.iter().filter_map(|layer| layer["detection"][part].as_u64()).sum()
    };
    assert!(sum("buckets") > 1 && sum("comparisons") > 0, "{hash}");
    // A duplicate is never farther back than the graph is deep.
    assert!(hash["locality"]["most"].as_u64() <= hash["depth"].as_u64(), "{hash}");
    assert!(hash["cache_states"].as_u64() > Some(0), "{hash}");
    let measured =
        check("peterson.m", &["--json", "--strategy", "sort", "--cache-distances", "--threads", "1"]);
    let measured = measured.expect_code(0).json();
    let distances = &measured["cache_distances"];
    let repeated: u64 =
        distances["duplicates"].as_array().expect("a list").iter().filter_map(Value::as_u64).sum();
    let initial = distances["first"].as_u64().expect("a number") + repeated - 943;
    assert_eq!((&distances["first"], initial, &distances["restarts"]), (&322.into(), 1, &0.into()));
    let part = check("peterson.m", &["--json", "--strategy", "part"]).expect_code(0).json();
    assert_eq!(keys(&part["partition"]), documented("field in `partition`"));

    let holds = check("peterson.m", &["--json", "--threads", "2"]).expect_code(0).json();
    assert!(holds.get("trace").is_none());
    assert_eq!(holds["threads"], 2);
    assert_eq!(holds["symmetry"], "exact");
    let layers = holds["layers"].as_array().expect("a list");
    assert_eq!(layers.len() as u64, holds["depth"].as_u64().expect("a number") + 1);
    let sum = |field: &str| layers.iter().filter_map(|layer| layer[field].as_u64()).sum::<u64>();
    assert_eq!((sum("states"), sum("transitions")), (322, 943));
}

#[test]
fn events_are_json_lines_that_end_with_the_result() {
    let model = Model::new(CUBE);
    let events = model.file("events.jsonl");
    model.check(&["--events", &events, "--deadlock", "off", "--threads", "1"]).expect_code(0);
    let text = std::fs::read_to_string(events).expect("events were written");
    let lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let (last, before) = lines.split_last().expect("at least the result");
    assert_eq!(keys(last), documented("field in `result`"));
    assert_eq!(last["event"], "result");
    assert_eq!(last["result"]["states"], CUBE_STATES);
    for line in before {
        assert_eq!(keys(line), documented("field in `progress`"));
        assert_eq!(line["event"], "progress");
    }
}

#[test]
fn a_trace_comes_as_text_as_json_and_as_a_page() {
    let text = check("ticket_lock.m", &["--trace", "text"]).expect_code(1).stdout;
    assert!(text.contains("\n   10  enter, t: Thread_"), "{text}");
    assert!(text.contains("place[Thread_1]: Outside -> Waiting"), "{text}");
    let json = check("ticket_lock.m", &["--trace", "json"]).expect_code(1);
    assert!(json.stderr.contains("VIOLATED"), "the result has to go elsewhere: {json:#?}");
    assert_eq!(keys(&json.json()), documented("field in `trace`"));
    assert!(json.json()["steps"][1].get("state").is_none());
    let page = check("ticket_lock.m", &["--trace", "html"]).expect_code(1).stdout;
    assert!(page.starts_with("<!doctype html>") && page.trim_end().ends_with("</html>"));
    assert!(!page.contains("http://") && !page.contains("https://"), "the page needs no network");
}

#[test]
fn a_reader_that_has_seen_enough_does_not_change_the_verdict() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["check", &bundled_model("ticket_lock.m"), "--trace", "html"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    drop(child.stdout.take());
    assert_eq!(child.wait().expect("the command ends").code(), Some(1));
}

#[test]
fn completions_and_the_manual_are_printed() {
    for shell in ["bash", "zsh", "fish"] {
        assert!(hadal(&["completions", shell]).expect_code(0).stdout.contains("hadal"));
    }
    let manual = hadal(&["man"]).expect_code(0).stdout;
    assert!(manual.contains(".TH") && manual.contains("simulate"), "{manual}");
    let check = hadal(&["man", "check"]).expect_code(0).stdout;
    assert!(check.contains("hadal\\-check") && check.contains("\\-\\-memory"), "{check}");
    assert!(hadal(&["man", "chekc"]).expect_code(2).stderr.contains("there is no `chekc`"));
    let folder = tempfile::tempdir().expect("a temporary folder");
    hadal(&["man", "--out", &folder.path().display().to_string()]).expect_code(0);
    // A page for each verb, and in it something about each option.
    let help = hadal(&["--help"]).expect_code(0).stdout;
    let verbs =
        help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    // What is said of a verb may go on in further lines, which stand further in.
    let verbs = verbs.filter(|line| line.starts_with("  ") && !line.starts_with("   "));
    let verbs: Vec<&str> =
        verbs.filter_map(|line| line.split_whitespace().next()).filter(|verb| *verb != "help").collect();
    assert!(verbs.len() > 12, "{help}");
    for verb in verbs {
        let page = std::fs::read_to_string(folder.path().join(format!("hadal-{verb}.1"))).expect(verb);
        let lines: Vec<&str> = page.lines().collect();
        for option in lines.windows(3).filter(|at| at[0] == ".TP") {
            assert!(!option[2].is_empty(), "hadal-{verb}.1 says nothing of {}", option[1]);
        }
        assert!(!page.contains(".SH EXTRA"), "{page}");
    }
    assert!(folder.path().join("hadal.1").is_file() && !folder.path().join("hadal-help.1").is_file());
    assert!(check.contains(".SH EXAMPLES\n.nf\n\\&hadal check models/peterson.m\n"), "{check}");
    assert!(hadal(&["check", "--help"]).expect_code(0).stdout.contains("EXAMPLES"));
    assert!(hadal(&["--version"]).expect_code(0).stdout.starts_with("hadal "));
}

#[test]
fn a_walk_at_random_depends_on_its_seed_only() {
    let model = bundled_model("peterson.m");
    let walk = |seed: &str| {
        hadal(&["simulate", &model, "--random", "--seed", seed, "--steps", "20"]).expect_code(0).stdout
    };
    let first = walk("7");
    assert_eq!(first, walk("7"));
    assert!(first.contains("\n   20  ") && first.contains("nothing wrong in 20 steps (seed 7)"), "{first}");
    let others: BTreeSet<String> = ["1", "2", "3", "4"].map(walk).into();
    assert!(others.len() > 1, "seeds make no difference");
}

#[test]
fn a_walk_ends_where_something_is_wrong() {
    let walk =
        |model: &Model| hadal(&["simulate", &model.path, "--random", "--steps", "50"]).expect_code(1).stdout;
    let stuck = walk(&Model::new(COUNTER));
    assert!(stuck.contains("ended after 3 steps (seed 1): deadlock"), "{stuck}");
    let broken = walk(&Model::new(&format!("{COUNTER}invariant \"small\" n < 2;\n")));
    assert!(broken.contains("ended after 2 steps (seed 1): invariant `small` is violated"), "{broken}");
    assert!(broken.contains("    n = 2\n"), "the values that break it are shown: {broken}");
    let faulty = walk(&Model::new(&COUNTER.replace("n < 3", "true")));
    assert!(faulty.contains("ended after 3 steps (seed 1): firing `up` raises an error"), "{faulty}");
}

#[test]
fn a_person_walks_by_number_and_back() {
    let model = Model::new(&format!("{COUNTER}rule \"reset\" n > 0 ==> begin n := 0; end;\n"));
    let walk = |input: &str| hadal_reading(&["simulate", &model.path], input);
    let there_and_back = walk("1\n1\ns\nb\n2\n9\nq\n").expect_code(0).stdout;
    let expected = [
        "start  zero\n         n = 0\n",
        "    1. up  [n: 0 -> 1]\n> 1\n    1  up  (line 3)\n         n: 0 -> 1\n    1. up  [n: 1 -> 2]\n    2. reset  [n: 1 -> 0]\n",
        "> 1\n    2  up  (line 3)\n         n: 1 -> 2\n",
        "> s\n         n = 2\n",
        "> b\n    1  up  (line 3)\n         n: 0 -> 1\n",
        "> 2\n    2  reset  (line 4)\n         n: 1 -> 0\n",
        "> 9\n`9` is none of the choices",
    ];
    let mut rest = there_and_back.as_str();
    for part in expected {
        let at = rest.find(part).unwrap_or_else(|| panic!("`{part}` is missing in order: {there_and_back}"));
        rest = &rest[at + part.len()..];
    }
    // The end of the input ends the walk, and so does going back at the start not.
    assert!(walk("b\nr\n").expect_code(0).stdout.contains("this is where the walk begins"));
    let deadlock = hadal_reading(&["simulate", &Model::new(COUNTER).path], "1\n1\n1\nb\nq\n").expect_code(1);
    assert!(deadlock.stdout.contains("deadlock: no action leads to another state"), "{deadlock:#?}");
}

#[test]
fn a_walk_begins_in_the_state_that_is_chosen() {
    let model = Model::new(
        "var n: 0 .. 3;\nruleset i: 0 .. 3 do startstate \"at\" begin n := i; end; end;\nrule \"turn\" begin n := 3 - n; end;\n",
    );
    let run = hadal_reading(&["simulate", &model.path], "s\n3\nq\n").expect_code(0);
    assert!(run.stdout.contains("    4. at, i: 3\n> s\nno initial state is chosen yet\n"), "{run:#?}");
    assert!(run.stdout.contains("> 3\nstart  at, i: 2\n         n = 2\n"), "{run:#?}");
}

/// One of two elements is chosen once and for all; the array tells the chosen one apart in either phase.
const CHOSEN: &str = "\
type Element: scalarset(2);
var chosen: Element; phase: boolean; differs: array [Element] of boolean;
ruleset e: Element do
  startstate begin chosen := e; phase := false; for d: Element do differs[d] := d = e; end; end;
end;
rule \"turn\" begin phase := !phase; for d: Element do differs[d] := !differs[d]; end; end;
";

#[test]
fn symmetry_does_not_change_the_answer_to_properties_about_one_element() {
    let never_another =
        format!("{CHOSEN}ruleset e: Element do liveness \"its turn comes\" chosen = e; end;\n");
    let any_of_them =
        format!("{CHOSEN}ruleset e: Element do cover \"can be chosen\" chosen = e & !phase; end;\n");
    for symmetry in ["off", "heuristic", "exact"] {
        Model::new(&never_another).check(&["--symmetry", symmetry]).expect_code(1);
        Model::new(&any_of_them).check(&["--symmetry", symmetry]).expect_code(0);
    }
}

#[test]
fn an_empty_file_is_a_mistake_in_every_language() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for language in hadal_lang::LANGUAGES {
        for extension in language.extensions {
            let path = folder.path().join(format!("empty.{extension}"));
            std::fs::write(&path, "").expect("an empty file");
            let run = hadal(&["check", &path.display().to_string()]).expect_code(2);
            assert!(run.stderr.contains("error"), "{extension}: {run:#?}");
        }
    }
}
