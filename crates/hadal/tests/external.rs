//! External A* from the command line: cheapest traces, pause and resume, and Korf's puzzles.

mod support;

use serde_json::Value;
use support::{bundled_model, hadal};

fn json(run: &support::Run) -> Value {
    serde_json::from_str(&run.stdout).expect("the result is JSON")
}

#[test]
fn traces_are_as_short_as_known_and_called_shortest_where_the_guide_promises_it() {
    let cases: [(&str, &[&str], u64); 3] = [
        ("hanoi.mdve", &["-D", "N=4", "--property", "Disc4.i1"], 52),
        ("fischer.mdve", &["-D", "N=5"], 6),
        ("philosophers.mdve", &["-D", "N=8"], 8),
    ];
    for (model, flags, length) in cases {
        for way in ["scan", "parents", "divide"] {
            let path = bundled_model(model);
            let mut arguments = vec!["check", &path, "--memory", "64M", "--json"];
            arguments.extend(["--order", "external-astar", "--guide", "blind", "--trace-by", way]);
            arguments.extend(flags);
            let run = hadal(&arguments);
            let result = json(&run);
            assert_eq!(result["verdict"], "violated", "{model} {way}: {}", run.stderr);
            assert_eq!(result["trace_length"], length, "{model} {way}");
            assert_eq!(result["directed"]["external"]["cost"], length, "{model} {way}");
        }
    }
}

#[test]
fn a_run_that_met_a_limit_goes_on_where_it_was() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (disk, model) = (folder.path().display().to_string(), bundled_model("hanoi.mdve"));
    let flags = ["--order", "external-astar", "--guide", "blind", "--property", "Disc5.i1", "--json"];
    let check = |more: &[&str]| {
        let mut arguments = vec!["check", &model, "-D", "N=5", "--memory", "64M"];
        arguments.extend(flags);
        arguments.extend(more);
        json(&hadal(&arguments))
    };
    let whole = check(&[]);
    let part = check(&["--max-states", "3000", "--disk", &disk]);
    assert_eq!(part["verdict"], "stopped");
    let run = part["run"].as_str().expect("the run is kept");
    let rest = json(&hadal(&["resume", run, "--memory", "32M", "--json"]));
    for figure in ["verdict", "states", "transitions", "trace_length"] {
        assert_eq!(rest[figure], whole[figure], "{figure}");
    }
    assert_eq!(rest["directed"]["external"]["cost"], 114);
}

#[test]
fn a_bound_is_raised_when_a_run_is_resumed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (disk, model) = (folder.path().display().to_string(), bundled_model("hanoi.mdve"));
    let flags = ["--order", "external-astar", "--guide", "blind", "--property", "Disc4.i1", "--json"];
    let check = |more: &[&str]| {
        let mut arguments = vec!["check", &model, "-D", "N=4", "--memory", "64M"];
        arguments.extend(flags);
        arguments.extend(more);
        hadal(&arguments)
    };
    let whole = json(&check(&[]));
    let bounded = check(&["--cost-bound", "40", "--disk", &disk]);
    let (code, part) = (bounded.code, json(&bounded));
    assert_eq!((code, &part["verdict"]), (3, &Value::from("stopped")), "{}", bounded.stderr);
    assert_eq!(part["directed"]["external"]["least_beyond"], 41);
    let run = part["run"].as_str().expect("the run is kept");
    let rest = json(&hadal(&["resume", run, "--cost-bound", "60", "--json"]));
    for way in [&rest, &json(&check(&["--defer-flush"])), &json(&check(&["--no-pipeline"]))] {
        for figure in ["verdict", "states", "transitions", "trace_length"] {
            assert_eq!(way[figure], whole[figure], "{figure}");
        }
        assert_eq!(way["directed"]["external"]["cost"], 52);
    }
    assert!(rest["directed"]["external"]["expanded_again"].as_u64().is_some_and(|again| again > 0));
}

#[test]
fn a_table_that_does_not_fit_the_memory_guides_from_disk_and_is_taken_up_again() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (disk, model) = (folder.path().display().to_string(), bundled_model("tiles.m"));
    let check = |memory: &str, more: &[&str]| {
        let mut arguments = vec!["check", &model, "-D", "SIDE=3", "-D", "ROW1=30200", "-D", "ROW2=60104"];
        arguments.extend(["-D", "ROW3=70805", "--order", "external-astar", "--guide", "pdb", "--json"]);
        arguments.extend(["--memory", memory]);
        arguments.extend(more);
        json(&hadal(&arguments))
    };
    let whole = check("1G", &[]);
    assert_eq!(whole["verdict"], "violated");
    let part = check("24M", &["--max-states", "3", "--disk", &disk]);
    let run = part["run"].as_str().expect("the run is kept");
    let tables = || {
        let entries = std::fs::read_dir(format!("{run}/tables")).expect("there are tables");
        let mut names: Vec<_> = entries.flatten().map(|entry| entry.file_name()).collect();
        names.sort();
        names
    };
    let made = tables();
    assert!(!made.is_empty());
    let rest = json(&hadal(&["resume", run, "--memory", "32M", "--json"]));
    assert_eq!(tables(), made, "nothing was made again");
    for figure in ["verdict", "states", "transitions", "trace_length"] {
        assert_eq!(rest[figure], whole[figure], "{figure}");
    }
}

#[test]
fn options_that_do_not_go_together_are_refused() {
    let model = bundled_model("hanoi.mdve");
    for flags in [
        &["--order", "external-astar", "--priority", "useless"][..],
        &["--order", "greedy", "--trace-by", "scan"],
        &["--trace-by", "scan"],
        &["--cost-bound", "10"],
        &["--order", "astar", "--defer-flush"],
        &["--order", "bfs", "--no-pipeline"],
    ] {
        let mut arguments = vec!["check", &model];
        arguments.extend(flags);
        assert_eq!(hadal(&arguments).code, 2, "{flags:?}");
    }
}

#[test]
fn korfs_easiest_puzzles_are_solved_as_published() {
    let run = hadal(&["bench", "korf", "--only", "12,55"]);
    assert_eq!(run.code, 0, "{}{}", run.stdout, run.stderr);
    assert!(run.stdout.contains("2 of 2 as published"), "{}", run.stdout);
}
