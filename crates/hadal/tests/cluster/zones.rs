//! Models in real time: zones that cover each other have one owner.

use super::kills::survive;
use super::place::{Place, answer};
use super::support::{bundled_model, hadal};
use serde_json::{Value, json};

/// Large enough to be interrupted: 122 184 zones.
const MANY: [&str; 4] = ["-D", "N=8", "--covering", "off"];

fn counts(result: &Value) -> Value {
    json!([answer(result), result["discrete"], result["maximal"], result["fastest"]])
}

/// What `more` asks of a model, by one process and by workers, must be answered alike.
fn assert_alike(model: &str, more: &[&str], workers: &[(&str, &str)], compare: &dyn Fn(&Value) -> Value) {
    let model = bundled_model(model);
    let arguments = [&["check", &model, "--json", "--memory", "32M", "--threads", "1"], more].concat();
    let alone = hadal(&arguments);
    assert!(alone.code < 2, "{alone:#?}");
    for (workers, small) in workers {
        let mut shared = vec!["--cluster", workers];
        if !small.is_empty() {
            shared.extend(["--cluster-small", small]);
        }
        let together = hadal(&[&arguments[..], &shared].concat());
        assert_eq!(together.code, alone.code, "{together:#?}");
        assert_eq!(compare(&together.json()), compare(&alone.json()), "{model} {more:?} {workers} {small}");
    }
}

#[test]
fn any_number_of_workers_finds_the_zones_of_one_process() {
    let workers = [("local:1", "0"), ("local:2", "20"), ("local:3", "0"), ("local:5", "0")];
    for (model, more) in [
        ("fischer_timed.xta", &["-D", "N=4"][..]),
        ("fischer_timed.xta", &["-D", "N=4", "--covering", "off"]),
        ("fischer_timed.xta", &["-D", "N=4", "--covering", "inclusion"]),
        ("fischer_timed.xta", &["-D", "N=4", "--strategy", "sort-separate"]),
        ("fischer_timed.xta", &["-D", "WAIT=1"]),
        ("fischer_timed.xta", &["-D", "N=2", "--covering", "regions"]),
        ("csma.xta", &["--deadlock", "on"]),
        ("train_gate.xta", &[]),
        ("bridge.xta", &[]),
    ] {
        assert_alike(model, more, &workers, &counts);
    }
}

#[test]
fn external_astar_on_zones_expands_what_it_does_in_one_process() {
    let figures = |result: &Value| -> Value {
        let external = &result["directed"]["external"];
        let keys = ["expanded", "generated", "stored", "closed", "f", "cost", "optimal"];
        [counts(result)].into_iter().chain(keys.iter().map(|key| external[key].clone())).collect()
    };
    let workers = [("local:2", "0"), ("local:3", "10"), ("local:5", "0")];
    for (model, more) in [
        ("fischer_timed.xta", &["-D", "WAIT=1", "--order", "external-astar"][..]),
        ("fischer_timed.xta", &["-D", "N=4", "--order", "external-astar", "--guide", "blind"]),
    ] {
        assert_alike(model, more, &workers, &figures);
    }
    let queries = bundled_model("bridge.q");
    let more = ["--order", "external-astar", "--covering", "inclusion", "--queries", &queries];
    assert_alike("bridge.xta", &more, &workers, &figures);
}

#[test]
fn questions_about_infinite_runs_of_zones_are_answered_by_sorting() {
    // The loop that is shown may be another one.
    let about = |result: &Value| json!([result["verdict"], result["reason"]]);
    for formula in ["P(1).trying --> P(1).critical", "A[] not P(2).critical or owner == 2"] {
        let more = ["-D", "N=2", "--property", formula];
        assert_alike("fischer_timed.xta", &more, &[("local:2", ""), ("local:3", "")], &about);
    }
}

#[test]
fn workers_and_launchers_that_are_killed_cost_no_zone() {
    let text = std::fs::read_to_string(bundled_model("fischer_timed.xta")).expect("a model");
    let asked = "\nA[] forall (i : pid_t) forall (j : pid_t) P(i).critical && P(j).critical imply i == j\n";
    let place = Place::of("fischer.xta", &text);
    std::fs::write(place.path("fischer.q"), asked).expect("a question");
    let alone = hadal(&[&["check", &place.model, "--json", "--threads", "1"], &MANY[..]].concat()).json();
    let (code, result, killed) = survive(&place, &MANY, (3, 11), 400);
    assert_eq!((code, counts(&result)), (0, counts(&alone)), "after {killed} kills");
    assert!(killed > 0, "it was over before anything could be killed");
}

#[test]
fn another_number_of_workers_goes_on_with_zones() {
    let text = std::fs::read_to_string(bundled_model("fischer_timed.xta")).expect("a model");
    let place = Place::of("fischer.xta", &text);
    let more = ["-D", "N=4", "--property", "A[] owner <= N"];
    let alone = hadal(&[&["check", &place.model, "--json", "--threads", "1"], &more[..]].concat()).json();
    let depth = ["--max-depth", "5"];
    let (code, _, told) = place.start("local:3", &[&more[..], &depth].concat()).end();
    assert_eq!(code, 3, "{told}");
    let (code, result, told) = place.resume("local:2").end();
    assert_eq!((code, counts(&result)), (0, counts(&alone)), "{told}");
}

#[test]
fn what_needs_one_process_is_refused() {
    let model = bundled_model("fischer_timed.xta");
    for (more, told) in [
        (&["--fastest"][..], "--fastest is a search by one process"),
        (&["--property", "sup{P(1).waiting}: P(1).x"], "bisected by one process: leave out --cluster"),
        (&["--cluster-by", "owner"], "those of one discrete part have one owner"),
        (&["--continue", "2"], "--continue makes a search for each property by one process"),
    ] {
        let run = hadal(&[&["check", &model, "--cluster", "local:2"], more].concat());
        assert!(run.code == 2 && run.stderr.contains(told), "{run:#?}");
    }
}
