//! `models/ANSWERS.tsv` lists instances of the bundled families with answers that are known otherwise: closed forms and
//! published figures. `quick` rows are checked always, `large` ones by
//! `cargo test --release -p hadal --test model_answers -- --ignored`; `directed` ones are out of a blind search's reach.

mod support;

use support::{bundled, hadal, on_threads};

struct Row {
    model: String,
    flags: Vec<String>,
    verdict: String,
    states: Option<u64>,
    length: Option<u64>,
    run: String,
}

fn rows() -> Vec<Row> {
    let text = std::fs::read_to_string(bundled().join("ANSWERS.tsv")).expect("the table is there");
    let read = |line: &str| {
        let cells: Vec<&str> = line.split('\t').collect();
        assert_eq!(cells.len(), 7, "{line}");
        let number = |cell: &str| (cell != "-").then(|| cell.parse().expect("a number or a dash"));
        Row {
            model: bundled().join(cells[0]).display().to_string(),
            flags: cells[1].split_whitespace().map(str::to_owned).collect(),
            verdict: cells[2].to_owned(),
            states: number(cells[3]),
            length: number(cells[4]),
            run: cells[5].to_owned(),
        }
    };
    text.lines().skip(1).map(read).collect()
}

/// What differs between a row and what `hadal check` says, with these flags added.
fn difference(row: &Row, further: &[&str]) -> Option<String> {
    let mut arguments = vec!["check", &row.model, "--json", "--memory", "1G", "--strategy", "bfs"];
    arguments.extend(row.flags.iter().map(String::as_str));
    arguments.extend(further);
    let run = hadal(&arguments);
    let result = run.json();
    let same = result["verdict"] == row.verdict.as_str()
        && row.states.is_none_or(|states| result["states"] == states)
        && row.length.is_none_or(|length| result["trace_length"] == length);
    (!same).then(|| {
        let (verdict, states, length) = (&result["verdict"], &result["states"], &result["trace_length"]);
        format!("{}: {verdict}, {states} states, trace {length} {}", run.command, run.stderr)
    })
}

fn check_rows(run: &str, least: usize) {
    let rows: Vec<Row> = rows().into_iter().filter(|row| row.run == run).collect();
    assert!(rows.len() >= least, "only {} rows", rows.len());
    let wrong: Vec<String> =
        on_threads(2, &rows, |row| difference(row, &["--threads", "1"])).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn small_instances_have_their_known_answers() {
    check_rows("quick", 20);
}

#[test]
#[ignore = "minutes"]
fn large_instances_have_their_known_answers() {
    check_rows("large", 8);
}
