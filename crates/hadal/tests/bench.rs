//! The benchmark commands on a small model each: counts are met, memory stays within its bound, ratios are real.

mod support;

use serde_json::Value;
use std::path::PathBuf;
use support::{corpus, hadal};

/// Runs a benchmark with its files in a folder of its own; returns what it printed, its JSON and its page. `None` where the
/// models are not there.
fn bench(arguments: &[&str]) -> Option<(String, Value, String)> {
    let models: PathBuf = corpus("dve")?;
    assert!(models.is_dir());
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (json, html, disk) = (file("result.json"), file("result.html"), file(""));
    let files = ["--json", &json, "--html", &html, "--disk", &disk];
    let run = hadal(&[&["bench"][..], arguments, &files].concat()).expect_code(0);
    let read = |path: &str| std::fs::read_to_string(path).expect("it is written");
    let left: Vec<_> = std::fs::read_dir(folder.path()).expect("it is there").collect();
    assert_eq!(left.len(), 2, "run folders are removed: {left:?}");
    Some((run.stdout, serde_json::from_str(&read(&json)).expect("JSON"), read(&html)))
}

#[track_caller]
fn positive(value: &Value) -> f64 {
    let number = value.as_f64().unwrap_or_else(|| panic!("{value} is no number"));
    assert!(number > 0.0 && number.is_finite(), "{number}");
    number
}

#[test]
fn strategies_under_a_budget_meet_the_counts_within_their_memory() {
    // In 24 MiB, the usual least, all of it stays in the table.
    let asked =
        ["disk", "--only", "telephony.3", "--strategies", "auto,sort", "--budgets", "5,1", "--least", "4M"];
    let Some((text, json, page)) = bench(&asked) else { return };
    let model = &json["models"][0];
    assert_eq!((&model["ram"]["states"], &model["ram"]["transitions"]), (&765_379.into(), &3_155_026.into()));
    let runs = model["runs"].as_array().expect("a list");
    assert_eq!(runs.len(), 4);
    for run in runs {
        assert_eq!(run["run"]["states"], 765_379);
        assert_eq!((&run["problem"], &run["within_memory"]), (&Value::Null, &true.into()), "{run}");
        let budget = run["budget_bytes"].as_u64().expect("a number");
        assert!(run["run"]["peak_bytes"].as_u64().expect("a number") <= budget + (16 << 20));
        for figure in ["wall_ratio", "cpu_ratio", "written_per_state", "disk_per_state"] {
            positive(&run[figure]);
        }
    }
    // Eleven megabytes of states: five and one per cent are both below the least budget.
    assert_eq!((&runs[0]["same_as"], &runs[1]["same_as"]), (&Value::Null, &5.0.into()));
    assert!(text.contains("every finished run has the counts of the table"), "{text}");
    assert!(page.contains("<svg") && page.contains("telephony/telephony.3") && !page.contains("<script"));
}

#[test]
fn heuristics_are_compared_with_the_published_figures() {
    let asked =
        ["partition", "--only", "anderson.4", "--strategies", "de", "--budgets", "50", "--time-limit", "20s"];
    let Some((text, json, page)) = bench(&asked) else { return };
    let model = &json["models"][0];
    assert_eq!(model["ram"]["states"], 29_641);
    for part in model["parts"].as_array().expect("a list") {
        assert_eq!((&part["problem"], &part["within_bound"]), (&Value::Null, &true.into()), "{part}");
        positive(&part["io_records"]);
    }
    assert_eq!(model["others"][1]["strategy"], "auto");
    assert_eq!(model["others"][1]["run"]["states"], 29_641);
    assert!(text.contains("3. Time over breadth-first search in RAM"), "{text}");
    assert!(text.contains("40.58") && page.contains("40.58"), "the paper's average stands beside ours");
}

#[test]
fn spin_is_measured_on_the_promela_twin_where_it_is_installed() {
    let Some((text, json, _)) = bench(&["peers", "--only", "bakery.4"]) else { return };
    let pair = &json["pairs"][0];
    assert_eq!((&pair["ours"]["states"], &pair["problem"]), (&157_003.into(), &Value::Null));
    if json["spin"].is_null() {
        assert!(text.contains("SPIN or gcc is not installed"));
        return;
    }
    assert!(text.contains("similar to the originals', not equal"));
    for figure in ["states", "transitions", "total_bytes", "state_bytes"] {
        positive(&pair["spin"][figure]);
    }
    let (full, reduced) = (positive(&pair["spin"]["states"]), positive(&pair["spin_reduced"]["states"]));
    assert!(reduced <= full, "a reduction adds no states: {reduced} and {full}");
}

#[test]
fn published_tables_have_our_figures_beside_them_and_say_what_was_not_run() {
    let Some((text, json, page)) = bench(&["lamborn", "--only", "2.1 newlist"]) else { return };
    let row = &json["rows"][0];
    assert_eq!(row["published"]["table"], "2.1");
    let ours = row["ours"].as_array().expect("a list");
    assert_eq!(ours[0]["values"][0], serde_json::json!(["states", 196_548.0]));
    assert_eq!(ours[0]["problem"], Value::Null);
    assert!(ours[1]["not_run"].as_str().expect("why").contains("80109979 states, above --max-states"));
    assert!(text.contains("states 80109979") && page.contains("Table 2.1"));
}

#[test]
fn options_that_would_do_nothing_are_refused() {
    let refused = hadal(&["bench", "quick", "--strategies", "sort"]).expect_code(2);
    assert!(refused.stderr.contains("--strategies belongs to disk, partition"), "{}", refused.stderr);
    let refused = hadal(&["bench", "disk", "--strategies", "frontier"]).expect_code(2);
    assert!(refused.stderr.contains("no strategy `frontier`"), "{}", refused.stderr);
}

#[test]
fn published_directed_searches_are_repeated_to_the_digit() {
    for (family, rows) in [("A2 ", 6), ("A3 ", 6), ("F10 ", 10)] {
        let Some((text, json, page)) = bench(&["directed", "--only", family]) else { return };
        assert!(text.contains(&format!("{rows} of {rows} rows that can be met are met")), "{text}");
        let exact: Vec<&Value> = (json["rows"].as_array().expect("a list").iter())
            .filter(|row| row["published"]["matched"] == "exact")
            .collect();
        assert_eq!(exact.len(), rows);
        for row in exact {
            let theirs = &row["published"];
            assert_eq!((&row["explored"], &row["length"]), (&theirs["explored"], &theirs["length"]), "{row}");
        }
        assert!(page.contains("Wehrle 2011"));
    }
}

#[test]
fn find_is_compared_with_breadth_first_search_by_halves_of_the_families() {
    let Some((text, json, page)) = bench(&["find", "--only", "bakery.2"]) else { return };
    let rows = json["rows"].as_array().expect("a list");
    assert!(!rows.is_empty() && rows.iter().all(|row| row["wrong"] == false), "{rows:?}");
    for row in rows.iter().filter(|row| row["question"]["truth"] == "error") {
        assert!(row["find"]["length"].as_u64() >= row["breadth"]["length"].as_u64(), "{row}");
    }
    let means = json["means"].as_array().expect("a list");
    assert_eq!((means.len(), &means[0]["half"]), (1, &"held-out".into()));
    assert!(positive(&means[0]["fewer_states"]["geometric_mean"]) > 1.0, "{means:?}");
    assert!(text.contains("held out half, 1 families") && page.contains("bakery.2 prop1"), "{text}");
}
