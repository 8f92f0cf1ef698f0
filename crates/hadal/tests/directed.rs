//! Directed search through the command: published figures to the digit, and agreement with breadth-first search.

mod support;

use serde_json::Value;
use support::{bundled_model, hadal};

fn check(model: &str, arguments: &[&str], code: i32) -> Value {
    let model = bundled_model(model);
    let mut all = vec!["check", model.as_str(), "--json", "--memory", "64M", "--threads", "1"];
    all.extend(arguments);
    hadal(&all).expect_code(code).json()
}

/// Pops, trace length and the share of pops that were put off, in thousandths.
fn published(model: &str, arguments: &[&str]) -> (u64, u64, u64) {
    let found = check(model, &[arguments, &["--calibration", "seed"]].concat(), 1);
    let share = found["directed"]["deferred_share"].as_f64().expect("a share");
    let number = |value: &Value| value.as_u64().expect("a number");
    (number(&found["directed"]["pops"]), number(&found["trace_length"]), (share * 1000.0).round() as u64)
}

#[test]
fn the_arbiter_tree_gives_the_published_figures() {
    let cases = [
        ("2", "C1.work", "du", "none", (23, 13, 0)),
        ("2", "C1.work", "hl", "none", (36, 21, 0)),
        ("2", "C1.work", "hu", "none", (25, 21, 0)),
        ("2", "C1.work", "du", "useless", (24, 13, 708)),
        ("2", "C1.work", "hl", "useless", (15, 12, 0)),
        ("2", "C1.work", "hl", "useless-plain", (15, 12, 0)),
        ("2", "C1.work", "hu", "useless", (20, 18, 0)),
        ("3", "C3.work", "du", "none", (296, 39, 0)),
        ("3", "C3.work", "hl", "none", (206, 24, 0)),
        ("3", "C3.work", "hu", "none", (82, 18, 0)),
        ("3", "C3.work", "du", "useless", (297, 39, 939)),
        ("3", "C3.work", "hl", "useless", (48, 17, 0)),
        ("3", "C3.work", "hu", "useless", (27, 17, 0)),
        ("4", "C7.work", "du", "none", (19034, 129, 0)),
        ("4", "C7.work", "du", "useless", (19035, 129, 973)),
        ("4", "C7.work", "hl", "useless", (149, 23, 0)),
        ("4", "C7.work", "hu", "none", (39, 28, 0)),
        ("4", "C7.work", "hu", "useless", (34, 22, 0)),
        ("5", "C15.work", "hl", "useless", (34, 27, 0)),
        ("5", "C15.work", "hu", "useless", (42, 27, 0)),
    ];
    for (depth, property, guide, priority, expected) in cases {
        let define = format!("DEPTH={depth}");
        let arguments = ["-D", &define, "--property", property, "--guide", guide, "--priority", priority];
        let met = published("arbiter_tree.mdve", &arguments);
        // Table 3.1 rounds shares to three digits.
        assert_eq!(met, expected, "depth {depth}, guide {guide}, priority {priority}");
    }
}

#[test]
fn fischer_gives_the_published_figures() {
    for (n, breadth, contexts, guided, bounded) in [("5", 333, 29, 21, 112), ("10", 5313, 44, 36, 447)] {
        let define = format!("N={n}");
        let run = |more: &[&str]| {
            let (pops, length, _) =
                published("fischer.mdve", &[&["-D", &define, "--property", "P1.cs"], more].concat());
            assert_eq!(length, 6, "{n} {more:?}");
            pops
        };
        assert_eq!(run(&["--order", "bfs", "--guide", "blind"]), breadth);
        assert_eq!(run(&["--order", "bfs", "--guide", "blind", "--priority", "context"]), contexts);
        assert_eq!(run(&["--guide", "du", "--priority", "context"]), guided);
        assert_eq!(run(&["--guide", "hl", "--priority", "context"]), guided);
        assert_eq!(run(&["--guide", "du", "--priority", "bound-process"]), bounded);
        assert_eq!(run(&["--guide", "hu", "--priority", "useless"]), 7);
    }
    let switches =
        check("fischer.mdve", &["--guide", "du", "--priority", "bound-process", "--order", "greedy"], 1);
    assert_eq!(switches["directed"]["switches"], 2, "no trace has fewer switches between processes");
}

#[test]
fn every_order_and_priority_finds_the_error_and_its_trace_replays() {
    let orders =
        ["greedy", "astar", "wastar:3", "ehc", "ida", "bfhs", "bfs", "dfs", "ucs", "alternate", "beam:50"];
    for order in orders {
        for guide in ["hl", "hff", "formula", "hamming"] {
            let found =
                check("fischer.mdve", &["--property", "P1.cs", "--order", order, "--guide", guide], 1);
            let length = found["trace_length"].as_u64().expect("a trace");
            assert!(length >= 6, "{order} {guide}");
            let shortest = found["trace"]["shortest"].as_bool().expect("said");
            let optimal =
                matches!(order, "astar" | "ida" | "bfhs") && guide == "hl" || matches!(order, "bfs" | "ucs");
            assert!(shortest || !optimal, "{order} {guide}");
            assert!(!shortest || length == 6, "{order} {guide}: {length}");
        }
    }
    for priority in [
        "useless",
        "useless-plain",
        "useless-strong",
        "context",
        "context-literal",
        "useless+context",
        "context+useless",
        "preferred",
        "preferred+useless",
        "bound-process",
        "bound-interference:1",
    ] {
        for order in ["greedy", "astar", "bfs", "dfs"] {
            let arguments = [
                "-D",
                "N=4",
                "--property",
                "P1.cs",
                "--order",
                order,
                "--guide",
                "hff",
                "--priority",
                priority,
            ];
            let found = check("fischer.mdve", &arguments, 1);
            assert!(found["trace_length"].as_u64().is_some_and(|length| length >= 6), "{order} {priority}");
        }
    }
}

#[test]
fn nothing_is_found_where_nothing_is_and_what_was_left_out_is_said() {
    let arguments = ["--property", "C2.work", "--order", "greedy"];
    let blind = check("arbiter_tree.mdve", &[&arguments[..], &["--guide", "blind"]].concat(), 0);
    assert_eq!((&blind["verdict"], &blind["states"]), (&"holds".into(), &809.into()));
    let pruned = check("arbiter_tree.mdve", &[&arguments[..], &["--guide", "hl"]].concat(), 0);
    assert_eq!(pruned["directed"]["distinct"], 775, "published: 775 of 809 states are closed");
    assert!(pruned["directed"]["hopeless"].as_u64().is_some_and(|n| n > 0));
    assert!(
        pruned["reason"].as_str().is_some_and(|reason| reason.contains("were pruned")),
        "{}",
        pruned["reason"]
    );
    let beam =
        check("arbiter_tree.mdve", &["--property", "C2.work", "--order", "beam:3", "--guide", "formula"], 3);
    assert_eq!(beam["verdict"], "stopped", "a beam that dropped states proves nothing");
    for priority in ["useless", "context", "preferred+useless", "bound-process"] {
        let held = check(
            "arbiter_tree.mdve",
            &[&arguments[..], &["--guide", "hff", "--priority", priority]].concat(),
            0,
        );
        assert_eq!(held["verdict"], "holds", "{priority}");
    }
}

#[test]
fn find_agrees_with_breadth_first_search_on_the_bundled_models() {
    for (model, code) in [("lease.m", 1), ("crossing.dve", 1), ("peterson.m", 0), ("fischer.mdve", 1)] {
        let blind = check(model, &["--strategy", "bfs"], code);
        let found = check(model, &["--find", "--deadlock", "on"], code);
        assert_eq!(found["verdict"], blind["verdict"], "{model}");
        let (length, shortest) = (&found["trace_length"], &blind["trace_length"]);
        if let (Some(length), Some(shortest)) = (length.as_u64(), shortest.as_u64()) {
            assert!(shortest <= length && length <= 2 * shortest, "{model}: {length} against {shortest}");
        }
    }
}

#[test]
fn find_sees_the_same_for_every_number_of_threads() {
    for (model, more) in [
        ("lease.m", vec![]),
        ("crossing.dve", vec![]),
        ("fischer.mdve", vec!["-D", "N=6"]),
        ("arbiter_tree.mdve", vec!["-D", "DEPTH=4", "--property", "C7.work"]),
        ("ticket_lock.m", vec!["-D", "THREADS=6"]),
    ] {
        let seen = |threads: &str| {
            let path = bundled_model(model);
            let mut all =
                vec!["check", path.as_str(), "--json", "--find", "--memory", "64M", "--threads", threads];
            all.extend(&more);
            let found = hadal(&all).expect_code(1).json();
            ["states", "transitions", "trace_length", "directed"].map(|field| found[field].clone())
        };
        let alone = seen("1");
        for threads in ["2", "2", "3"] {
            assert_eq!(seen(threads), alone, "{model} with {threads} threads");
        }
    }
}

/// A cell that no step fills, in a model of many states: the guide proves that it stays empty.
#[test]
fn an_impossible_goal_is_proved_without_a_search() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = "byte a = 0; byte b = 0; byte c = 0; byte full = 0;
        process P { state p, q; init p; trans
          p -> p { guard a < 90; effect a = a + 1; }, p -> p { guard b < 90; effect b = b + 1; },
          p -> p { guard c < 90; effect c = c + 1; }, p -> q { guard full == 1; };
        }
        system async;";
    let model = dve_with_goal(&folder, text, "(P.q)");
    for threads in ["1", "2"] {
        let ask = ["check", &model, "--json", "--find", "--property", "prop1", "--threads", threads];
        let proved = hadal(&ask).expect_code(0).json();
        assert_eq!((&proved["verdict"], &proved["states"]), (&"holds".into(), &1.into()), "{proved}");
    }
}

/// The philosophers of the dissertation cannot fail, so the bound on active processes may prove what is shortest.
#[test]
fn active_processes_bound_the_way_to_a_deadlock_where_nothing_can_fail() {
    let shortest = check("philosophers.mdve", &["-D", "N=4", "--strategy", "bfs"], 1);
    let bounded =
        check("philosophers.mdve", &["-D", "N=4", "--order", "astar", "--guide", "active:bound"], 1);
    assert_eq!(bounded["trace"]["shortest"], true, "{bounded}");
    assert_eq!(bounded["trace_length"], shortest["trace_length"]);
}

#[test]
fn partial_expansion_sees_everything_where_nothing_is_wrong() {
    for model in ["peterson.m", "ticket_lock.m"] {
        let right: &[&str] = if model == "ticket_lock.m" { &["-D", "ATOMIC=1"] } else { &[] };
        let whole = check(model, &[right, &["--strategy", "bfs"]].concat(), 0);
        for order in ["greedy", "wastar:5"] {
            let partial =
                ["--order", order, "--guide", "hff", "--priority", "preferred", "--expand", "partial"];
            let found = check(model, &[right, &partial, &["--deadlock", "on"]].concat(), 0);
            for field in ["verdict", "states", "transitions"] {
                assert_eq!(found[field], whole[field], "{model}, {order}: {field}");
            }
        }
    }
    let found = ["--order", "greedy", "--guide", "hff", "--expand", "partial", "--property", "C7.work"];
    let fewer = check("arbiter_tree.mdve", &[&found[..], &["-D", "DEPTH=4"]].concat(), 1);
    let whole = check("arbiter_tree.mdve", &[&found[..4], &found[6..], &["-D", "DEPTH=4"]].concat(), 1);
    assert!(fewer["states"].as_u64() < whole["states"].as_u64(), "{} {}", fewer["states"], whole["states"]);
}

#[test]
fn liveness_is_checked_after_no_error_was_found() {
    for how in [vec!["--find"], vec!["--order", "greedy"]] {
        let holds = check("ferry.m", &how, 0);
        assert_eq!(holds["verdict"], "holds", "{how:?}");
        assert_eq!((&holds["states"], &holds["transitions"]), (&10.into(), &20.into()), "{how:?}");
        let broken = check("ticket_lock.m", &how, 1);
        assert_eq!(broken["trace"]["violation"]["kind"], "invariant", "{how:?}");
    }
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("sink.m").display().to_string();
    let text = "var x: 0..3; startstate begin x := 0; end;
        rule \"on\" x < 2 ==> begin x := x + 1; end;
        rule \"back\" x = 1 ==> begin x := 0; end;
        rule \"stay\" x = 2 ==> begin x := 3; end;
        rule \"turn\" x = 3 ==> begin x := 2; end;
        invariant \"small\" x <= 3;
        liveness \"home\" x = 0;";
    std::fs::write(&path, text).expect("a model can be written");
    let found = hadal(&["check", &path, "--json", "--find", "--memory", "64M"]).expect_code(1).json();
    assert_eq!(found["trace"]["violation"]["kind"], "liveness");
    let refused = hadal(&["check", &path, "--order", "astar"]).expect_code(2);
    assert!(refused.stderr.contains("liveness"), "{}", refused.stderr);
}

#[test]
fn wrong_combinations_are_refused_with_a_reason() {
    let model = bundled_model("fischer.mdve");
    for (arguments, reason) in [
        (vec!["--find", "--strategy", "bfs"], "--strategy"),
        (vec!["--find", "--max-depth", "3"], "--max-depth"),
        (vec!["--tie", "lifo"], "--find"),
        (vec!["--order", "ida", "--tie", "lifo"], "--tie does not go with --order ida"),
        (vec!["--order", "beam:9", "--tie", "lifo"], "--tie does not go with --order beam:WIDTH"),
        (vec!["--order", "dfs", "--expand", "partial"], "--expand"),
        (vec!["--order", "best"], "no such order"),
        (vec!["--priority", "best"], "no priority"),
        (vec!["--guide", "best"], "no guide"),
        (vec!["--order", "beam:5", "--priority", "useless"], "--priority"),
        (vec!["--order", "beam:5", "--calibration", "seed"], "--calibration"),
    ] {
        let run = hadal(&[vec!["check", model.as_str()], arguments.clone()].concat()).expect_code(2);
        assert!(run.stderr.contains(reason), "{arguments:?}: {}", run.stderr);
    }
}

#[test]
fn figures_have_the_documented_fields_and_decisions_are_explained() {
    let found = check("fischer.mdve", &["--find"], 1);
    let page = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/json.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    let rows = page.lines().skip_while(|line| !line.starts_with("| field in `directed` |")).skip(2);
    let documented: Vec<&str> = rows.map_while(|line| line.strip_prefix("| `")?.split('`').next()).collect();
    let mut given: Vec<&str> =
        found["directed"].as_object().expect("an object").keys().map(String::as_str).collect();
    // Only a run with `--check-h` has it.
    given.push("audit");
    given.sort_unstable();
    let mut documented = documented;
    documented.sort_unstable();
    assert_eq!(given, documented);
    let model = bundled_model("fischer.mdve");
    let run = hadal(&["check", model.as_str(), "--find", "--explain"]).expect_code(1);
    assert!(run.stderr.contains("guide"), "{}", run.stderr);
}

/// Writes a DVE model with one goal, `prop1`, into a folder.
fn dve_with_goal(folder: &tempfile::TempDir, text: &str, goal: &str) -> String {
    let model = folder.path().join("m.1.dve");
    std::fs::write(&model, text).expect("written");
    let xml = format!("<property id=\"1\" prop-type=\"reachability\"><formula>{goal}</formula></property>");
    std::fs::write(folder.path().join("m.xml"), xml).expect("written");
    model.display().to_string()
}

const WAYS: [&[&str]; 9] = [
    &["--strategy", "bfs"],
    &["--find"],
    &["--find", "--threads", "2"],
    &["--find", "--por"],
    &["--find", "--guide", "du"],
    &["--find", "--guide", "formula"],
    &["--order", "astar", "--guide", "dl"],
    &["--order", "astar", "--guide", "hl"],
    &["--order", "external-astar", "--guide", "dl"],
];

#[test]
fn a_process_that_only_the_error_state_moves_is_found_there() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "byte y = 250;\n\
        process A { state a0, a1, a2; init a0; trans a0 -> a1 { }, a1 -> a2 { effect y = y + 10; }; }\n\
        process B { state b0, b1, b2; init b1; trans b1 -> b2 { }, b2 -> b1 { }; }\nsystem async;\n";
    let model = dve_with_goal(&folder, text, "B.b0");
    for way in WAYS {
        let command = ["check", &model, "--json", "--property", "prop1", "--model-errors", "state"];
        let found = hadal(&[&command, way].concat()).expect_code(1).json();
        assert_eq!(found["trace_length"], 2, "{way:?}");
    }
}

#[test]
fn an_error_of_the_model_is_reported_behind_states_without_hope() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "byte y = 3;\n\
        process A { state a0, a1, a2; init a0; trans a0 -> a1 { effect y = y - 1; }, a1 -> a0 { effect y = y - 1; }; }\n\
        system async;\n";
    let model = dve_with_goal(&folder, text, "A.a2");
    for way in WAYS {
        let found = hadal(&[&["check", &model, "--json", "--property", "prop1"], way].concat());
        let found = found.expect_code(1).json();
        assert_eq!(found["trace"]["violation"]["kind"], "error", "{way:?}");
    }
    let harmless = text.replace("y - 1", "1 - y % 2");
    let model = dve_with_goal(&folder, &harmless, "A.a2");
    let found =
        hadal(&["check", &model, "--json", "--property", "prop1", "--order", "astar", "--guide", "hl"]);
    assert_eq!(found.expect_code(0).json()["states"], 1, "where no error can be met, states are left out");
}

#[test]
fn deadlocks_are_looked_for_beside_a_property_where_that_is_written_out() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "process A { state a0, a1, a2; init a0; trans a0 -> a1 { }; }\nsystem async;\n";
    let stuck = dve_with_goal(&folder, text, "A.a2");
    let check = |more: &[&str]| hadal(&[&["check", &stuck, "--json", "--property", "prop1"], more].concat());
    for find in [&[][..], &["--find"]] {
        check(find).expect_code(0);
        let found = check(&[find, &["--deadlock", "on"]].concat()).expect_code(1).json();
        assert_eq!(found["trace"]["violation"]["kind"], "deadlock");
        check(&[find, &["--deadlock", "off"]].concat()).expect_code(0);
    }
}

#[test]
fn accepting_cycles_are_found_whatever_the_way() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "process A { state a0, a1; init a0; trans a0 -> a1 { }, a1 -> a0 { }; }\n\
        process N { state q; init q; accept q; trans q -> q { guard A.a0; }, q -> q { guard A.a1; }; }\n\
        system async property N;\n";
    let model = dve_with_goal(&folder, text, "A.a0 and A.a1");
    for way in [&["--strategy", "bfs"][..], &[], &["--find"]] {
        let found = hadal(&[&["check", &model, "--json"], way].concat()).expect_code(1).json();
        assert_eq!(found["trace"]["violation"]["kind"], "cycle", "{way:?}");
    }
    hadal(&["check", &model, "--json", "--property", "prop1"]).expect_code(0);
}

#[test]
fn costs_from_the_command_line_are_counted_in_every_language() {
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().to_string_lossy().into_owned();
    for order in ["astar", "external-astar"] {
        let found =
            check("tiles.m", &["--order", order, "--guide", "pdb", "--cost", "slide=2", "--disk", &disk], 1);
        assert_eq!((&found["cost"], &found["trace_length"]), (&Value::from(32), &Value::from(16)), "{order}");
        assert_eq!(found["directed"]["found_cheapest"], true, "{order}");
    }
    let free = check("hanoi.mdve", &["--property", "Disc3.i1", "--order", "ucs", "--cost", "0"], 1);
    assert_eq!(free["cost"], 0);
    let unnamed = check("tiles.m", &["--order", "astar"], 1);
    assert_eq!(unnamed.get("cost"), None, "without costs there is nothing to say of them");

    let model = bundled_model("tiles.m");
    let refused = hadal(&["check", model.as_str(), "--order", "astar", "--cost", "slid=2"]).expect_code(2);
    assert!(refused.stderr.contains("`slid`") && refused.stderr.contains("slide"), "{}", refused.stderr);
    let aimless = hadal(&["check", model.as_str(), "--cost", "2"]).expect_code(2);
    assert!(aimless.stderr.contains("--order astar"), "{}", aimless.stderr);
}

/// Writes the trace that depth-first search finds, and gives its length.
fn deep_trail(model: &str, arguments: &[&str], path: &str) -> u64 {
    let found = check(model, &[&["--order", "dfs"], arguments].concat(), 1);
    std::fs::write(path, found.to_string()).expect("a trail can be written");
    found["trace_length"].as_u64().expect("a trail")
}

#[test]
fn a_trail_is_shortened_to_a_shortest_one() {
    let folder = tempfile::tempdir().expect("a folder");
    let trail = folder.path().join("trail.json").display().to_string();
    // Philosophers are stuck once each of them has a fork.
    for (model, given, shortest) in
        [("philosophers.mdve", &["-D", "N=6"][..], 6), ("crossing.dve", &[], 4), ("lease.m", &[], 15)]
    {
        let long = deep_trail(model, given, &trail);
        let ask = |more: &[&str]| check(model, &[given, &["--shorten", &trail], more].concat(), 1);
        let found = ask(&[]);
        let length = found["trace_length"].as_u64().expect("a trace");
        assert_eq!(found["trail_length"].as_u64(), Some(long), "{model}");
        assert!(length <= long && found["trace"]["shortest"] == true, "{model}: {length} of {long}");
        assert_eq!(ask(&["--strategy", "bfs"])["trace_length"], length, "{model}");
        let end = |of: &Value| {
            of["trace"]["steps"].as_array().and_then(|steps| steps.last()?["key"].as_str().map(str::to_owned))
        };
        let wanted: Value =
            serde_json::from_str(&std::fs::read_to_string(&trail).expect("it is there")).expect("JSON");
        assert_eq!(end(&found), end(&wanted), "{model}");
        assert_eq!(length, shortest, "{model}");
    }
}

#[test]
fn a_trail_that_cannot_be_shortened_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().expect("a folder");
    let trail = folder.path().join("trail.json").display().to_string();
    deep_trail("philosophers.mdve", &["-D", "N=4"], &trail);
    let model = bundled_model("philosophers.mdve");
    let refused = |more: &[&str], reason: &str| {
        let run = hadal(&[&["check", model.as_str(), "--shorten"], more].concat()).expect_code(2);
        assert!(run.stderr.contains(reason), "{more:?}: {}", run.stderr);
    };
    refused(&[&trail, "--property", "some"], "--property does not go with --shorten");
    refused(&[&trail, "--ltl", "[] true"], "--ltl");
    refused(&[&trail, "--deadlock", "on"], "--deadlock");
    refused(&[&trail, "-D", "N=9"], "does not end in a state of this model");
    std::fs::write(&trail, "{}").expect("it can be written");
    refused(&[&trail], "holds no trace");
    let looping = r#"{"steps": [{"key": "0"}], "violation": {"kind": "cycle"}}"#;
    std::fs::write(&trail, looping).expect("it can be written");
    refused(&[&trail], "--lasso shortest");
    let elsewhere = r#"{"steps": [{"key": "ffffffffffffffff"}], "violation": {"kind": "deadlock"}}"#;
    std::fs::write(&trail, elsewhere).expect("it can be written");
    refused(&[&trail], "does not end in a state of this model");
}

#[test]
fn a_bound_ends_breadth_first_heuristic_search_and_lets_it_free_layers() {
    let whole = check("tiles.m", &["--order", "bfhs", "--guide", "pdb"], 1);
    let length = whole["trace_length"].as_u64().expect("a trace").to_string();
    let bounded = ["--order", "bfhs", "--guide", "pdb", "--cost-bound", &length];
    for keep in [&[][..], &["--keep-layers", "3"], &["--keep-layers", "2"]] {
        let found = check("tiles.m", &[&bounded[..], keep].concat(), 1);
        assert_eq!(found["trace_length"], whole["trace_length"], "{keep:?}");
        assert_eq!(found["trace"]["shortest"], true, "{keep:?}");
        assert_eq!(found.get("peak_states").is_some(), !keep.is_empty(), "{keep:?}");
    }
    let below = ["--order", "bfhs", "--guide", "pdb", "--cost-bound", "9", "--keep-layers", "2"];
    let stopped = check("tiles.m", &below, 3);
    assert!(stopped["reason"].as_str().is_some_and(|why| why.contains("--cost-bound")), "{stopped}");
    let model = bundled_model("tiles.m");
    for (given, reason) in [
        (&["--order", "bfhs", "--keep-layers", "2"][..], "add --cost-bound"),
        (&["--order", "astar", "--keep-layers", "2"], "--keep-layers belongs to"),
        (
            &["--order", "bfhs", "--keep-layers", "2", "--cost-bound", "9", "--tie", "lifo"],
            "--tie does not go",
        ),
    ] {
        let refused = hadal(&[&["check", model.as_str()], given].concat()).expect_code(2);
        assert!(refused.stderr.contains(reason), "{given:?}: {}", refused.stderr);
    }
}

/// The tiles can be moved back; the railway's cabins cannot.
#[test]
fn used_operators_stand_for_closed_states_where_steps_can_be_undone() {
    let puzzle = ["-D", "SIDE=3", "-D", "ROW1=201", "-D", "ROW2=30405", "-D", "ROW3=60708"];
    let whole = check("tiles.m", &[&puzzle[..], &["--strategy", "bfs"]].concat(), 0);
    let marked = ["--strategy", "frontier", "--used-operators", "--in-ram"];
    let found = check("tiles.m", &[&puzzle[..], &marked].concat(), 0);
    for field in ["verdict", "states", "depth"] {
        assert_eq!(found[field], whole[field], "{field}");
    }
    assert_eq!((found["one_way"].as_u64(), found["reason"].as_str()), (Some(0), whole["reason"].as_str()));
    let [peak, states] = ["peak_states", "states"].map(|field| found[field].as_u64().expect("a count"));
    assert!(peak * 2 < states, "{peak} of {states}");
    let directed = check("hbahn.mdve", &["--strategy", "frontier", "--used-operators", "--in-ram"], 1);
    let known = check("hbahn.mdve", &["--strategy", "bfs"], 1);
    assert_eq!(directed["trace_length"], known["trace_length"]);
    assert!(directed["one_way"].as_u64() > Some(0));
    let model = bundled_model("hbahn.mdve");
    let refused = hadal(&["check", model.as_str(), "--strategy", "sort", "--used-operators"]).expect_code(2);
    assert!(refused.stderr.contains("--strategy frontier"), "{}", refused.stderr);
}
