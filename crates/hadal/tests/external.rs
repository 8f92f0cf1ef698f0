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
fn options_that_do_not_go_together_are_refused() {
    let model = bundled_model("hanoi.mdve");
    for flags in [
        &["--order", "external-astar", "--priority", "useless"][..],
        &["--order", "greedy", "--trace-by", "scan"],
        &["--trace-by", "scan"],
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
