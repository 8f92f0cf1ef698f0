//! The figures that others published for DVE models (`dve/KNOWN.tsv` of the corpus): states, transitions, and the
//! answers to BEEM's goals with their lengths.

mod support;

use std::path::Path;
use support::{Row, Table, corpus, hadal, on_threads};

/// Up to here rows run in every test.
const QUICK_STATES: u64 = 150_000;
/// Up to here in the long one.
const LONG_STATES: u64 = 3_000_000;

const STATES: [&str; 3] = ["beem_states", "paper_states", "plugobp_states"];
const TRANSITIONS: [&str; 2] = ["beem_edges", "paper_transitions"];

fn published(row: Row, columns: &[&str]) -> Vec<u64> {
    columns.iter().filter_map(|column| row.number(column)).collect()
}

fn check(corpus: &Path, row: Row, further: &[&str]) -> support::Run {
    let model = corpus.join(row.get("file")).display().to_string();
    let mut arguments = vec!["check", &model, "--json", "--memory", "1500M", "--threads", "1"];
    arguments.extend(further);
    hadal(&arguments)
}

/// What is wrong with the counts, if anything. Sources disagree on some rows: one of them must be met.
fn compare_counts(corpus: &Path, row: Row) -> Option<String> {
    let run = check(corpus, row, &["--deadlock", "off"]);
    let result = if run.code <= 1 { run.json() } else { return Some(format!("{run:#?}")) };
    let is_one_of = |field: &str, columns: &[&str]| {
        let published = published(row, columns);
        published.is_empty() || result[field].as_u64().is_some_and(|found| published.contains(&found))
    };
    let right = run.code == 0 && is_one_of("states", &STATES) && is_one_of("transitions", &TRANSITIONS);
    (!right).then(|| {
        format!(
            "{}\n  published {:?} states, {:?} transitions\n  got {}, {}, {}",
            run.command,
            published(row, &STATES),
            published(row, &TRANSITIONS),
            result["states"],
            result["transitions"],
            result["reason"],
        )
    })
}

/// `prop1=yes(len 16) prop2=no prop3=unknown`: the answers that are known; `None` is no.
fn goals(text: &str) -> Vec<(String, Option<u64>)> {
    let text = text.replace("(len ", "@").replace(')', "");
    let answers = text.split_whitespace().filter_map(|part| part.split_once('='));
    answers
        .filter_map(|(name, answer)| match answer.split_once('@') {
            Some((_, length)) => Some((name.to_owned(), length.parse().ok())),
            None if answer == "no" => Some((name.to_owned(), None)),
            None => None,
        })
        .collect()
}

/// What is wrong with the answers to the row's goals.
fn compare_goals(corpus: &Path, row: Row) -> Vec<String> {
    let compared = goals(row.get("reach_goal")).into_iter().map(|(name, length)| {
        let run = check(corpus, row, &["--property", &name, "--strategy", "bfs"]);
        if run.code > 1 {
            return Some(format!("{run:#?}"));
        }
        let result = run.json();
        // BEEM counts the states of the path, both ends included.
        let found = result["trace_length"].as_u64().map(|steps| steps + 1);
        let right = found == length && run.code == i32::from(length.is_some());
        (!right)
            .then(|| format!("{}\n  published {length:?}, got {found:?}: {}", run.command, result["reason"]))
    });
    compared.flatten().collect()
}

fn meet(sizes: std::ops::Range<u64>, compare: impl Fn(&Path, Row) -> Vec<String> + Sync) -> Option<usize> {
    let corpus = corpus("dve")?;
    let table = Table::read(&corpus.join("KNOWN.tsv"));
    let size = |row: &Row| published(*row, &STATES).into_iter().max();
    let rows: Vec<Row> = table.rows().filter(|row| size(row).is_some_and(|n| sizes.contains(&n))).collect();
    let wrong: Vec<String> =
        on_threads(2, &rows, |&row| compare(&corpus, row)).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Some(rows.len())
}

#[test]
fn published_dve_counts_are_met() {
    let met = meet(0..QUICK_STATES, |corpus, row| Vec::from_iter(compare_counts(corpus, row)));
    assert!(met.is_none_or(|met| met > 80), "only {met:?} rows found");
}

#[test]
fn published_dve_goals_are_met() {
    meet(0..QUICK_STATES, compare_goals);
}

/// `cargo test --release -p hadal --test dve_known -- --ignored`
#[test]
#[ignore = "minutes"]
fn large_published_dve_counts_are_met() {
    meet(QUICK_STATES..LONG_STATES, |corpus, row| Vec::from_iter(compare_counts(corpus, row)));
}
