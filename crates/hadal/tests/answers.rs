//! What people see: answers that say what was asked, traces that show what happened, and commands that end well
//! whatever they are given.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::{bundled, bundled_model, hadal};

/// A file in a folder of its own.
fn file(name: &str, text: impl AsRef<[u8]>) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("a file");
    (folder, path.display().to_string())
}

const POST: &str = r#"type msg: record kind: 0..2; urgent: boolean; end;
var sent: 0..3; taken: 0..3; stuck: boolean; net: multiset[3] of msg;
startstate begin sent := 0; taken := 0; stuck := false; undefine net; end;
rule "send" sent < 3 ==> var m: msg; begin m.kind := sent; m.urgent := true; multisetadd(m, net); sent := sent + 1; end;
choose i: net do rule "take" taken < 2 ==> begin taken := net[i].kind; multisetremove(i, net); end; end;
rule "never" sent = 0 & taken = 1 ==> begin stuck := true; end;
rule "idle" true ==> begin end;
invariant "vacuous" (stuck -> sent = 7) & (sent = 1 -> taken < 2);
invariant "fine" forall a: 0..3 do sent != a | taken <= 2 end;
invariant "wrong" forall a: 1..2 do forall b: 0..2 do (sent = a -> taken != b | b = 0) end end;
"#;

#[test]
fn holds_lists_what_was_asked_and_what_never_happened() {
    let (_folder, model) = file("post.m", POST);
    let run = hadal(&["check", &model, "--property", "vacuous", "--property", "fine"]);
    assert_eq!(run.code, 0, "{run:?}");
    for line in [
        r#"holds: invariant "vacuous", invariant "fine""#,
        "1 of 4 actions never fired: `never`",
        "never changed: `stuck`",
        "never true: `stuck` (line 8)",
    ] {
        assert!(run.stdout.contains(line), "{line}: {}", run.stdout);
    }
    assert!(
        !run.stdout.contains("sent = 1"),
        "a premise that is true somewhere is not vacuous: {}",
        run.stdout
    );
    let result = hadal(&["check", &model, "--json", "--property", "vacuous"]).json();
    assert_eq!(result["properties"][0]["verdict"], "holds");
    assert_eq!(result["never_fired"][0], "never");
    assert_eq!(result["vacuous"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_violation_names_the_conjunct_and_its_witnesses() {
    let (_folder, model) = file("post.m", POST);
    let run = hadal(&["check", &model]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(
        run.stdout.contains("`taken != b | b = 0` (line 10) is false for a = 2, b = 1"),
        "{}",
        run.stdout
    );
    assert!(run.stdout.contains(r#"violated: invariant "wrong""#), "{}", run.stdout);
    assert!(run.stdout.contains("not decided: invariant \"vacuous\""), "{}", run.stdout);
}

#[test]
fn messages_leave_and_enter_multisets_whole() {
    let (_folder, model) = file("post.m", POST);
    let run = hadal(&["check", &model]);
    assert!(run.stdout.contains("net: + {kind: 1, urgent: true}"), "{}", run.stdout);
    assert!(run.stdout.contains("net: - {kind: 1, urgent: true}"), "{}", run.stdout);
    assert!(!run.stdout.contains("present"), "{}", run.stdout);
    let result = hadal(&["check", &model, "--json"]).json();
    let last = result["trace"]["steps"].as_array().and_then(|steps| steps.last()).expect("steps").clone();
    let net =
        last["changes"].as_array().expect("changes").iter().find(|it| it["name"] == "net").expect("net");
    assert_eq!(net["removed"][0], "{kind: 1, urgent: true}");
    assert!(net.get("added").is_none());
}

#[test]
fn channels_are_queues_and_steps_name_them_with_their_line() {
    let text = "byte x;\nchannel {byte,byte} q[3];\nprocess A { state a; init a;\n trans a -> a { guard x < 3; sync q!{x, 7}; effect x = x + 1; }; }\n\
                process B { byte y, z; state b, c; init b;\n trans b -> c { guard x >= 2; sync q?{y, z}; }; }\nsystem async;\n";
    let (_folder, model) = file("queue.dve", text);
    let run = hadal(&["check", &model]);
    assert_eq!(run.code, 1, "it ends: {run:?}");
    assert!(run.stdout.contains("q: [] -> [0,7]"), "{}", run.stdout);
    assert!(run.stdout.contains("(q!, line 4)") && run.stdout.contains("(q?, line 6)"), "{}", run.stdout);
    assert!(!run.stdout.contains("q.held"), "{}", run.stdout);
}

#[test]
fn closed_pipes_end_commands_without_a_panic() {
    let model = bundled().join("lease.m").display().to_string();
    let (_folder, damaged) = file("damaged.pml", "\u{0}$%& never before seen\n");
    let gambler = bundled().join("gambler.prism").display().to_string();
    let commands: [&[&str]; 7] = [
        &["inspect", &model],
        &["inspect", &model, "--json"],
        &["completions", "bash"],
        &["man"],
        &["solve", &gambler],
        &["check", &damaged],
        &["check", &model, "--trace", "json"],
    ];
    for arguments in commands {
        let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("a process");
        drop(child.stdout.take());
        drop(child.stderr.take());
        let ended = child.wait_with_output().expect("an end");
        assert_ne!(ended.status.code(), Some(101), "{arguments:?} panicked");
    }
}

#[test]
fn traces_in_a_format_are_in_that_format_though_nothing_is_violated() {
    let model = bundled().join("peterson.m").display().to_string();
    let json = hadal(&["check", &model, "--trace", "json"]);
    assert_eq!(json.code, 0);
    assert!(serde_json::from_str::<serde_json::Value>(&json.stdout).is_ok_and(|it| it.is_null()), "{json:?}");
    assert!(json.stderr.contains("HOLDS"), "{json:?}");
    let html = hadal(&["check", &model, "--trace", "html"]);
    assert!(html.stdout.starts_with("<!doctype html>") && html.stdout.contains("HOLDS"), "{html:?}");
}

#[test]
fn a_text_without_a_model_is_no_answer() {
    let (_folder, model) = file("empty.m", "");
    let run = hadal(&["check", &model]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("no initial state"), "{run:?}");
}

#[test]
fn a_binary_file_does_not_reach_the_terminal() {
    let bytes: Vec<u8> = (0..4000u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 13) as u8).collect();
    for name in ["noise.m", "noise.dve", "noise.pml", "noise.prism"] {
        let (_folder, model) = file(name, &bytes);
        let run = hadal(&["check", &model]);
        assert_eq!(run.code, 2, "{name}: {run:?}");
        let bad = run.stderr.chars().find(|c| c.is_control() && *c != '\n');
        assert_eq!(bad, None, "{name}: {:?}", run.stderr);
        assert!(run.stderr.len() < 100_000, "{name}: {} bytes", run.stderr.len());
    }
}

#[test]
fn a_folder_without_a_run_is_a_usage_error() {
    let folder = tempfile::tempdir().expect("a folder");
    let run = hadal(&["resume", &folder.path().display().to_string()]);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("hadal runs"), "{run:?}");
}

#[test]
fn unknown_constants_are_not_blamed_on_the_first_line() {
    for (name, text, near) in [
        ("m.m", "-- a comment\nconst NODES: 3; var x: 0..NODES; startstate x := 0; end;", "NODES"),
        (
            "m.dve",
            "// a comment\nconst byte NODES = 3; byte x; process P { state a; init a; }\nsystem async;",
            "NODES",
        ),
    ] {
        let (_folder, model) = file(name, text);
        let run = hadal(&["check", &model, "-D", "NODE=4"]);
        assert_eq!(run.code, 2, "{run:?}");
        assert!(!run.stderr.contains("a comment"), "{}", run.stderr);
        assert!(run.stderr.contains(near), "{}", run.stderr);
    }
}

#[test]
fn a_full_multiset_is_an_error_with_its_place() {
    let text = "type msg: 0..3; var n: 0..3; net: multiset[1] of msg;\nstartstate n := 0; undefine net; end;\n\
                rule n < 3 ==> begin\n  multisetadd(n, net);\n  n := n + 1;\nend;";
    let (_folder, model) = file("full.m", text);
    let run = hadal(&["check", &model]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("full.m:4:3"), "{}", run.stdout);
    assert!(!run.stdout.contains("error: error"), "{}", run.stdout);
}

#[test]
fn limits_hold_while_a_model_is_read() {
    let mut text = String::from("var x: 0..1;\nstartstate x := 0; end;\n");
    for n in 0..20_000 {
        text.push_str(&format!("rule \"rule number {n}\" x = 0 ==> begin x := 1 - x; end;\n"));
    }
    let (_folder, model) = file("large.m", &text);
    let late = hadal(&["check", &model, "--json", "--time-limit", "0"]);
    assert_eq!((late.code, late.json()["verdict"].as_str()), (3, Some("stopped")), "{late:?}");
    let large = hadal(&["check", &model, "--memory", "16M"]);
    assert_eq!(large.code, 3, "{large:?}");
    assert!(large.stdout.contains("reading a model of") && large.stdout.contains("--memory"), "{large:?}");
}

/// A run of the philosophers that is stopped and kept in `folder`.
fn stopped_run(folder: &Path) -> PathBuf {
    let model = bundled().join("philosophers.mdve").display().to_string();
    let disk = folder.display().to_string();
    let run = hadal(&[
        "check",
        &model,
        "-D",
        "N=14",
        "--deadlock",
        "off",
        "--memory",
        "16M",
        "--disk",
        &disk,
        "--max-states",
        "300000",
        "--json",
    ]);
    assert_eq!(run.code, 3, "{run:?}");
    PathBuf::from(run.json()["run"].as_str().expect("a run"))
}

#[test]
fn runs_are_listed_resumed_and_removed_by_name() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("kept");
    let run = stopped_run(&disk);
    let name = run.file_name().expect("a name").to_string_lossy().into_owned();
    let disk = disk.display().to_string();
    let listed = hadal(&["runs", "--disk", &disk, "--json"]).json();
    assert_eq!(listed[0]["run"], run.display().to_string());
    assert!(listed[0]["command"].as_str().is_some_and(|it| it.contains("-D N=14")), "{listed}");
    let text = hadal(&["runs", "--disk", &disk]);
    assert!(text.stdout.contains("-D N=14") && text.stdout.contains("20"), "{text:?}");
    for limit in ["--memory 16M", "--max-states 300000", "--deadlock off", &format!("--disk {disk}")] {
        assert!(text.stdout.contains(limit), "{limit}: {text:?}");
    }
    let kept = hadal(&["runs", "--disk", &disk, "rm", "--finished"]);
    assert!(kept.stdout.contains("0 runs removed") && run.exists(), "{kept:?}");
    let young = hadal(&["runs", "--disk", &disk, "rm", "--older-than", "1d"]);
    assert!(young.stdout.contains("0 runs removed") && run.exists(), "{young:?}");
    assert_eq!(hadal(&["runs", "--disk", &disk, "rm", &name]).code, 0);
    assert!(!run.exists());
}

#[test]
fn runs_that_ended_say_how_and_are_removed_as_finished() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().join("kept").display().to_string();
    let (holds, violated) = (bundled_model("peterson.m"), bundled_model("ticket_lock.m"));
    let searches: [&[&str]; 2] = [&["--strategy", "sort"], &["--order", "external-astar"]];
    let asked = ["--property", "mutual exclusion", "--disk", &disk];
    for search in searches {
        hadal(&[&["check", &violated][..], &asked, search].concat()).expect_code(1);
    }
    hadal(&["check", &holds, "--order", "external-astar", "--deadlock", "off", "--disk", &disk])
        .expect_code(0);
    let (domain, problem) = (folder.path().join("domain.pddl"), folder.path().join("problem.pddl"));
    std::fs::write(
        &domain,
        "(define (domain lamp) (:predicates (on)) (:action press :parameters () :effect (on)))",
    )
    .expect("a domain");
    std::fs::write(&problem, "(define (problem lit) (:domain lamp) (:init) (:goal (on)))")
        .expect("a problem");
    let (domain, problem) = (domain.display().to_string(), problem.display().to_string());
    hadal(&["plan", &domain, &problem, "--optimal", "--external", "--guide", "hmax", "--disk", &disk])
        .expect_code(0);
    let listed = hadal(&["runs", "--disk", &disk, "--json"]).json();
    let mut said: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|run| run["status"].as_str()).collect();
    said.sort_unstable();
    assert_eq!(said, ["holds", "solved", "violated", "violated"], "{listed:#}");
    let text = hadal(&["runs", "--disk", &disk]);
    assert!(text.stdout.contains("--external") && text.stdout.contains("--guide hmax"), "{text:?}");
    let removed = hadal(&["runs", "--disk", &disk, "rm", "--finished"]);
    assert!(removed.stdout.contains("4 runs removed"), "{removed:?}");
}

#[test]
fn models_are_tested_against_their_first_lines() {
    let folder = tempfile::tempdir().expect("a folder");
    let report = folder.path().join("junit.xml").display().to_string();
    let good = folder.path().join("good.m");
    let text = "-- expect: holds, 2 states, 2 transitions\nvar x: 0..1; startstate x := 0; end; rule x := 1 - x; end;";
    std::fs::write(&good, text).expect("a model");
    let run = hadal(&["test", &folder.path().display().to_string(), "--junit", &report]);
    assert_eq!(run.code, 0, "{run:?}");
    assert!(run.stdout.contains("1 passed, 0 failed"), "{run:?}");
    std::fs::write(folder.path().join("bad.m"), text.replace("2 states", "3 states")).expect("a model");
    let run = hadal(&["test", &folder.path().display().to_string(), "--junit", &report]);
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stdout.contains("expected 3 states, states is 2"), "{run:?}");
    let junit = std::fs::read_to_string(&report).expect("a report");
    assert!(junit.contains(r#"tests="2" failures="1""#), "{junit}");
    assert_eq!(hadal(&["test", "/nowhere.m"]).code, 2);
}

#[test]
fn sweeps_ask_for_every_value() {
    let model = bundled().join("philosophers.mdve").display().to_string();
    let run = hadal(&["check", &model, "-D", "N=2..4", "--deadlock", "off"]);
    assert_eq!(run.code, 0, "{run:?}");
    for (name, states) in [("N=2", "8"), ("N=3", "26"), ("N=4", "80")] {
        let row = run.stdout.lines().find(|line| line.starts_with(name)).expect(name);
        assert!(row.split_whitespace().any(|word| word == states), "{row}");
    }
    let rows = hadal(&["check", &model, "-D", "N=2..3", "--deadlock", "off", "--json"]).json();
    assert_eq!(rows[1]["define"]["N"], 3);
    assert_eq!(rows[1]["result"]["states"], 26);
}

#[test]
fn graphs_have_the_states_and_transitions_that_were_counted() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = bundled().join("ferry.m").display().to_string();
    let path = |extension: &str| folder.path().join(format!("g.{extension}")).display().to_string();
    let result = hadal(&["check", &model, "--symmetry", "off", "--json", "--export", &path("json")]).json();
    let (states, transitions) = (result["states"].as_u64(), result["transitions"].as_u64());
    let text = std::fs::read_to_string(path("json")).expect("a graph");
    let graph: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    assert_eq!(graph["states"].as_array().map(|it| it.len() as u64), states);
    assert_eq!(graph["transitions"].as_array().map(|it| it.len() as u64), transitions);
    hadal(&["check", &model, "--symmetry", "off", "--export", &path("aut")]);
    let aut = std::fs::read_to_string(path("aut")).expect("a graph");
    let head = format!("des (0,{},{})", transitions.expect("a count"), states.expect("a count"));
    assert_eq!(aut.lines().next(), Some(head.as_str()));
    assert_eq!(hadal(&["check", &model, "--export", &path("png")]).code, 2);
    let refused =
        hadal(&["check", &model, "--symmetry", "off", "--max-states", "5", "--export", &path("dot")]);
    assert!(refused.code == 2 && refused.stderr.contains("--max-states"), "{refused:?}");
}

const COVERED: &str = "var x: 0..3; y: 0..3; startstate x := 0; y := 0; end; rule \"up\" x < 3 ==> x := x + 1; end; \
    rule \"down\" x > 0 ==> x := x - 1; end; invariant \"small\" x < 4; cover \"top\" x = 3; cover \"moves\" y = 1; \
    cover \"jumps\" y = 2;";

#[test]
fn a_cover_that_is_never_met_leaves_the_other_answers_known() {
    let (_folder, model) = file("covered.m", COVERED);
    let run = hadal(&["check", &model]).expect_code(1);
    for line in [
        "  violated: cover \"moves\", cover \"jumps\"",
        "  holds: invariant \"small\", cover \"top\", no deadlock",
        "  cover \"top\": 1 hit",
        "  cover \"moves\": 0 hits",
    ] {
        assert!(run.stdout.lines().any(|it| it == line), "{line}: {}", run.stdout);
    }
    assert!(!run.stdout.contains("not decided"), "{}", run.stdout);
}

#[test]
fn covers_that_are_not_asked_about_are_not_said_to_be_missed() {
    let (_folder, model) = file("covered.m", COVERED);
    let run = hadal(&["check", &model, "--property", "small"]).expect_code(0);
    assert!(!run.stdout.contains("cover"), "{}", run.stdout);
    let run = hadal(&["check", &model, "--property", "top", "--json"]).expect_code(0).json();
    let covers = run["covers"].as_array().expect("a list");
    assert_eq!((covers.len(), &covers[0]["property"], &covers[0]["hits"]), (1, &"top".into(), &1.into()));
}
