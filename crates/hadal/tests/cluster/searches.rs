//! Searches other than breadth-first layers.

use super::place::{Place, answer, cube, divides_at_once};
use super::support::{bundled_model, hadal};
use serde_json::Value;

/// What `more` asks of a model, by one process and by workers, must be answered alike.
fn assert_alike(model: &str, more: &[&str], compare: &dyn Fn(&Value) -> Value) {
    let model = bundled_model(model);
    let arguments = [&["check", &model, "--json", "--memory", "48M", "--threads", "1"], more].concat();
    let alone = hadal(&arguments);
    for (workers, small) in [("1", "0"), ("2", "0"), ("3", "20"), ("5", "0"), ("8", "65536")] {
        let workers = format!("local:{workers}");
        let mut shared = vec!["--cluster", &workers];
        if !divides_at_once(more) {
            shared.extend(["--cluster-small", small]);
        }
        let together = hadal(&[&arguments[..], &shared].concat());
        assert_eq!(together.code, alone.code, "{together:#?}");
        assert_eq!(compare(&together.json()), compare(&alone.json()), "{model} {more:?} {workers}");
    }
}

#[test]
fn external_astar_expands_generates_and_costs_what_it_does_in_one_process() {
    let figures = |result: &Value| -> Value {
        let external = &result["directed"]["external"];
        let keys =
            ["expanded", "generated", "stored", "closed", "f", "cost", "optimal", "pruned", "locality"];
        let external = keys.iter().map(|key| external[key].clone());
        [answer(result)].into_iter().chain(external).collect()
    };
    for (model, more) in [
        ("lease.m", &["--order", "external-astar"][..]),
        ("philosophers.mdve", &["--order", "external-astar", "--guide", "blind"]),
        (
            "hanoi.mdve",
            &["-D", "N=3", "--deadlock", "off", "--order", "external-astar", "--trace-by", "parents"],
        ),
        (
            "hanoi.mdve",
            &["-D", "N=3", "--deadlock", "off", "--order", "external-astar", "--trace-by", "divide"],
        ),
    ] {
        assert_alike(model, more, &figures);
    }
    // Where no order is named, workers have this one.
    let model = bundled_model("lease.m");
    let found = hadal(&["check", &model, "--find", "--cluster", "local:2", "--json", "--memory", "48M"]);
    assert_eq!(found.json()["directed"]["order"], "external-astar", "{found:#?}");
}

#[test]
fn an_order_relaxed_search_counts_the_states_of_one_process() {
    let counts = |result: &Value| -> Value {
        ["verdict", "states", "transitions", "trace_length"].iter().map(|key| result[key].clone()).collect()
    };
    assert_alike("futex.m", &["-D", "MARKS=1", "--strategy", "relaxed"], &counts);
    assert_alike("philosophers.mdve", &["--strategy", "relaxed"], &|result| {
        // What is wrong is found again by another search, which counts what it sees.
        ["verdict", "reason", "trace_length"].iter().map(|key| result[key].clone()).collect()
    });
    let place = Place::new(&cube(14, true));
    let (code, result, told) = place.start("local:3", &["--strategy", "relaxed"]).end();
    assert_eq!((code, &result["trace_length"]), (1, &place.alone()["trace_length"]), "{told}");
}

#[test]
fn questions_about_infinite_runs_are_answered_with_a_lasso() {
    // All of the answer: states, transitions, depth and the trace itself.
    let about = |result: &Value| -> Value { [answer(result), result["answers"].clone()].into() };
    const SAFE: &str = "[] !(Cabin1.Track2a && Cabin2.Track2a)";
    const WRONG: &str = "[] (Cabin2.Library -> <> Cabin2.Eichlinghofen)";
    for liveness in ["external-owcty", "external-map", "las-bfs", "las-any", "las-astar"] {
        for formula in [SAFE, WRONG] {
            let mut more = vec!["--ltl", formula, "--liveness", liveness];
            if ["las-bfs", "las-any"].contains(&liveness) {
                // Searches that end at the first lasso count whole layers, as one process does on disk.
                more.extend(["--strategy", "sort"]);
            }
            assert_alike("hbahn.mdve", &more, &about);
        }
    }
    // Several formulas are several searches.
    let both = ["--ltl", SAFE, "--ltl", WRONG, "--liveness", "external-owcty"];
    assert_alike("hbahn.mdve", &both, &about);
    // Where nothing else is said, workers sort.
    let model = bundled_model("hbahn.mdve");
    let sorted = hadal(&["check", &model, "--ltl", WRONG, "--liveness", "external-owcty", "--json"]).json();
    let usual = hadal(&["check", &model, "--ltl", WRONG, "--cluster", "local:3", "--json"]);
    assert_eq!(about(&usual.json()), about(&sorted), "{usual:#?}");
}

#[test]
fn one_violation_of_each_property_is_found_as_by_one_process() {
    let text = format!(
        "{}invariant \"low\" x + y < 9;\ninvariant \"x\" x < 8;\ninvariant \"fine\" z < 12;\n",
        cube(12, true)
    );
    let place = Place::new(&text);
    let arguments =
        ["check", &place.model, "--json", "--deadlock", "off", "--continue", "9", "--memory", "32M"];
    let alone =
        hadal(&[&arguments[..], &["--strategy", "sort", "--threads", "1"]].concat()).expect_code(1).json();
    assert_eq!(alone["violations"].as_array().map(Vec::len), Some(3), "{alone:#}");
    let shared = ["--cluster", "local:3", "--cluster-small", "100", "--threads", "1"];
    let together = hadal(&[&arguments[..], &shared].concat()).expect_code(1).json();
    for key in ["violations", "properties", "reason", "states", "transitions"] {
        assert_eq!(together[key], alone[key], "{key}");
    }
}
