//! Zone graphs against TChecker's counts (`oracles/ta.tsv` beside the corpus): zones and transitions by equality, maximal
//! zones under aLU, discrete parts and verdicts.

mod support;

use std::path::PathBuf;
use support::{Row, Table, corpus, hadal, on_threads};

/// Up to here rows run in every test.
const QUICK_ZONES: u64 = 30_000;

/// The table without its comments.
fn oracle() -> Option<Table> {
    let text = std::fs::read_to_string(hadal_testkit::corpus::oracle("ta.tsv")?).expect("it can be read");
    let folder = tempfile::tempdir().expect("a temporary folder");
    let plain: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
    let file: PathBuf = folder.path().join("ta.tsv");
    std::fs::write(&file, plain.join("\n")).expect("it can be written");
    Some(Table::read(&file))
}

/// What is wrong with a row, if anything.
fn compare(models: &std::path::Path, row: Row, further: &[&str]) -> Option<String> {
    let model = models.join(row.get("model")).display().to_string();
    let covering = match row.get("algorithm") {
        "reach" | "layered-reach" => "off",
        "layered-sub" => "inclusion",
        "layered-alu" | "aLU-covreach" => "alu",
        _ => return None,
    };
    let mut arguments = vec!["check", &model, "--covering", covering, "--json"];
    let label = row.get("labels").replace(':', ",");
    if label != "-" {
        arguments.extend(["--label", &label]);
    }
    arguments.extend(further);
    let run = hadal(&arguments);
    if run.code > 1 {
        return Some(format!("{run:#?}"));
    }
    let result = run.json();
    let reached = row.get("reachable") == "true";
    let mut wrong = Vec::new();
    if reached != (run.code == 1) {
        wrong.push(format!("verdict {}", result["verdict"]));
    }
    if !reached {
        let note = row.get("note");
        let discrete = note.split("discrete=").nth(1).and_then(|rest| rest.split(' ').next()?.parse().ok());
        let exact = row.get("algorithm") != "aLU-covreach";
        let maximal = covering == "alu";
        for (field, expected) in [
            ("states", row.number("zones").filter(|_| exact)),
            ("transitions", row.number("transitions").filter(|_| exact)),
            ("maximal", row.number("maximal").filter(|_| maximal)),
            ("discrete", discrete),
        ] {
            if expected.is_some() && result[field].as_u64() != expected {
                wrong.push(format!("{field}: {} instead of {expected:?}", result[field]));
            }
        }
    }
    (!wrong.is_empty()).then(|| format!("{}\n  {}", run.command, wrong.join("\n  ")))
}

#[test]
fn zones_of_tchecker_models_are_those_that_tchecker_counts() {
    let Some(models) = corpus("ta") else { return };
    let Some(table) = oracle() else { return };
    let rows: Vec<Row> = table
        .rows()
        .filter(|row| row.get("model").ends_with(".tck") && row.get("order") != "dfs")
        .filter(|row| row.number("zones").is_some_and(|zones| zones <= QUICK_ZONES))
        .collect();
    assert!(rows.len() > 100, "the oracle has {} rows", rows.len());
    let wrong: Vec<String> = on_threads(2, &rows, |&row| compare(&models, row, &["--memory", "500M"]))
        .into_iter()
        .flatten()
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
#[ignore = "minutes; cargo test --release -p hadal --test timed_known -- --ignored"]
fn every_row_of_the_oracle_is_met() {
    let Some(models) = corpus("ta") else { return };
    let Some(table) = oracle() else { return };
    let rows: Vec<Row> = table
        .rows()
        .filter(|row| row.get("model").ends_with(".tck") && row.get("order") != "dfs")
        .filter(|row| row.number("zones").is_some_and(|zones| zones > QUICK_ZONES))
        .collect();
    assert!(!rows.is_empty());
    let compared = |&row: &Row| {
        let wrong = compare(&models, row, &["--memory", "2G", "--time-limit", "10m"]);
        println!("{} {}: {}", row.get("model"), row.get("algorithm"), wrong.as_deref().unwrap_or("met"));
        wrong
    };
    let wrong: Vec<String> = on_threads(2, &rows, compared).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn counts_do_not_depend_on_threads_or_memory() {
    let Some(models) = corpus("ta") else { return };
    let Some(table) = oracle() else { return };
    let wanted =
        ["tchecker/fischer_6.tck", "tchecker/csmacd_5.tck", "tchecker-examples/critical-region_3_10.tck"];
    let rows: Vec<Row> = table
        .rows()
        .filter(|row| wanted.contains(&row.get("model")) && row.get("algorithm").starts_with("layered"))
        .collect();
    assert_eq!(rows.len(), 9);
    let ways: [&[&str]; 3] = [
        &["--memory", "500M", "--threads", "2"],
        &["--memory", "16M", "--threads", "1"],
        &["--memory", "24M", "--threads", "2"],
    ];
    let work: Vec<(Row, &[&str])> = rows.iter().flat_map(|&row| ways.map(|way| (row, way))).collect();
    let run = |(row, way): &(Row, &[&str])| compare(&models, *row, way);
    let wrong: Vec<String> = on_threads(2, &work, run).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_search_that_is_stopped_and_resumed_keeps_its_counts() {
    let Some(models) = corpus("ta") else { return };
    let model = models.join("tchecker/fischer_6.tck").display().to_string();
    for (covering, expected) in [("off", [5798, 12432, 5798]), ("alu", [3458, 9132, 2378])] {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disk = folder.path().display().to_string();
        let begin = ["check", &model, "--covering", covering, "--json", "--disk", &disk, "--memory", "16M"];
        let stopped = hadal(&[&begin[..], &["--max-states", "300"]].concat()).expect_code(3).json();
        let run = stopped["run"].as_str().expect("it can be resumed").to_owned();
        hadal(&["resume", &run, "--json", "--memory", "64M", "--max-states", "2000"]).expect_code(3);
        let result = hadal(&["resume", &run, "--json", "--memory", "20M"]).expect_code(0).json();
        let found = ["states", "transitions", "maximal"].map(|field| result[field].as_u64().unwrap_or(0));
        assert_eq!(found, expected, "{covering}");
    }
}

#[test]
fn a_directed_search_finds_what_a_blind_one_finds() {
    let Some(models) = corpus("ta") else { return };
    let model = models.join("tchecker/fischer_4_5_10.tck").display().to_string();
    let blind = hadal(&["check", &model, "--label", "cs1,cs2", "--json"]).expect_code(1).json();
    let astar =
        hadal(&["check", &model, "--label", "cs1,cs2", "--json", "--order", "astar"]).expect_code(1).json();
    assert_eq!(blind["trace_length"], 6);
    assert_eq!(astar["trace_length"], 6, "A* with an admissible guide finds a shortest trace");
    let right = models.join("tchecker/fischer_4.tck").display().to_string();
    hadal(&["check", &right, "--label", "cs1,cs2", "--json", "--find"]).expect_code(0);
}

#[test]
#[ignore = "a minute or two; cargo test --release -p hadal --test timed_known -- --ignored"]
fn every_model_of_the_corpus_is_explored_or_refused_with_a_reason() {
    let Some(models) = corpus("ta") else { return };
    let all = hadal_testkit::corpus::files(&models, &["tck", "xml", "xta"]);
    // Hundreds of trains make thousands of steps; one of them is enough.
    let is_huge = |name: &str| ["400N", "500N", "1000N", "2000N"].iter().any(|many| name.contains(many));
    let files: Vec<String> = all.iter().map(|path| path.display().to_string()).collect();
    let files: Vec<&String> = files.iter().filter(|name| !is_huge(name)).collect();
    let explored = |&file: &&String| {
        let run =
            hadal(&["check", file, "--max-states", "300", "--time-limit", "20s", "--memory", "1G", "-q"]);
        let refused = run.code == 2 && run.stderr.contains("error: ");
        (![0, 1, 3].contains(&run.code) && !refused).then(|| format!("{run:#?}"))
    };
    let wrong: Vec<String> = on_threads(2, &files, explored).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), files.len(), wrong.join("\n"));
}

#[test]
#[cfg(target_os = "linux")]
fn zones_over_workers_are_those_that_tchecker_counts() {
    let Some(models) = corpus("ta") else { return };
    let Some(table) = oracle() else { return };
    let wanted =
        ["tchecker/fischer_5.tck", "tchecker/csmacd_4.tck", "tchecker-examples/critical-region_3_10.tck"];
    let rows: Vec<Row> = table
        .rows()
        .filter(|row| wanted.contains(&row.get("model")) && row.get("order") != "dfs")
        .filter(|row| row.number("zones").is_some_and(|zones| zones <= QUICK_ZONES))
        .collect();
    assert!(rows.len() >= 6, "the oracle has {} rows", rows.len());
    for (n, &row) in rows.iter().enumerate() {
        let workers = ["local:2", "local:3", "local:5"][n % 3];
        let shared = ["--cluster", workers, "--cluster-small", "0", "--memory", "48M", "--threads", "1"];
        assert_eq!(compare(&models, row, &shared), None);
    }
}
