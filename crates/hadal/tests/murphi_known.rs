//! The figures that others published for Murphi models (`murphi/KNOWN.tsv` of the corpus): states, rules fired and
//! verdict, with one thread and two, compiled and, where it is quick, interpreted.

mod support;

use std::path::Path;
use support::{Row, Table, corpus, hadal, on_threads};

/// Up to here rows run in every test.
const QUICK_STATES: u64 = 700_000;
/// Up to here they run on the interpreter as well.
const INTERPRETED_STATES: u64 = 10_000;
/// Above this a run needs more than a machine for tests has.
const FINITE_IN_RAM: u64 = 20_000_000;

/// The `constants` column in the models' own names.
fn overrides(file: &str, constants: &str) -> Vec<(&'static str, u64)> {
    let shipped = constants.trim_end_matches(" (as shipped)");
    let number = |text: &str| text.trim_start_matches("home+").split(' ').next().and_then(|n| n.parse().ok());
    let first = number(shipped);
    match (file.rsplit('/').next().unwrap_or_default(), first) {
        _ if shipped == "as shipped" => vec![],
        _ if shipped.starts_with("N=") => vec![("N", shipped[2..].parse().expect("a number"))],
        ("cache3.m", Some(procs)) => {
            let values = shipped.split(' ').nth(2).and_then(|n| n.parse().ok()).expect("a number of values");
            vec![("ProcCount", procs), ("ValueCount", values)]
        }
        // The file's comment says `6 remove cells`, and means all of them: the count is the one for six.
        ("newlist6.m", Some(6)) => vec![("CellCount", 6)],
        // The list's head is a cell, too.
        ("list6.m" | "newlist6.m", Some(remote)) => vec![("CellCount", remote + 1)],
        ("eadash.m" | "ldash.m", Some(remote)) => {
            vec![("RemoteCount", remote), ("nohome", u64::from(!constants.contains("nohome=false")))]
        }
        _ => panic!("{file}: what does `{constants}` mean?"),
    }
}

fn symmetry(row: Row) -> &'static str {
    match row.get("symmetry") {
        "none" | "none effective" | "nosym" | "multiset only" => "off",
        "sym" | "sym1" | "sym3" => "exact",
        other => panic!("unknown symmetry `{other}`"),
    }
}

/// The command of a row.
fn command(corpus: &Path, row: Row) -> Vec<String> {
    let file = row.get("file");
    let mut command = vec!["check".to_owned(), corpus.join(file).display().to_string()];
    for (name, value) in overrides(file, row.get("constants")) {
        command.extend(["-D".to_owned(), format!("{name}={value}")]);
    }
    command.extend(["--symmetry", symmetry(row), "--json", "--memory", "1500M"].map(str::to_owned));
    command
}

/// What is wrong with the answer to `command`, if anything.
fn compare(row: Row, command: &[String]) -> Option<String> {
    let run = hadal(command);
    let result = if run.code <= 1 { run.json() } else { return Some(format!("{run:#?}")) };
    let right = match row.get("result") {
        "no error" => {
            result["verdict"] == "holds"
                && result["states"].as_u64() == row.number("states")
                && result["transitions"].as_u64() == row.number("rules_fired")
        }
        // The counts at the moment of failure depend on the order within a layer; the answer does not.
        failure => {
            let property = failure.split("\"\"").nth(1).expect("the name of an invariant");
            // An invariant of a ruleset is named with the instance that fails.
            let found = result["property"].as_str().and_then(|name| name.split(", ").next());
            result["verdict"] == "violated" && found == Some(property)
        }
    };
    (!right).then(|| {
        format!(
            "{}\n  published {} states, {} rules fired, {}\n  got {}, {}, {} {}",
            run.command,
            row.get("states"),
            row.get("rules_fired"),
            row.get("result"),
            result["states"],
            result["transitions"],
            result["verdict"],
            result["property"],
        )
    })
}

/// Meets the rows whose number of states is in `sizes`, each in the ways that `ways` names; how many there are.
fn meet(
    sizes: std::ops::Range<u64>,
    threads: usize,
    ways: impl Fn(u64) -> Vec<&'static str> + Sync,
) -> Option<usize> {
    let corpus = corpus("murphi")?;
    let table = Table::read(&corpus.join("KNOWN.tsv"));
    let size = |row: &Row| row.number("states").expect("a number of states");
    let rows: Vec<Row> = table.rows().filter(|row| sizes.contains(&size(row))).collect();
    let wrong = on_threads(threads, &rows, |&row| {
        let ways = ways(size(&row)).into_iter();
        let commands = ways.map(|way| {
            let mut command = command(&corpus, row);
            command.extend(way.split(' ').map(str::to_owned));
            command
        });
        commands.filter_map(|command| compare(row, &command)).collect::<Vec<_>>()
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    Some(rows.len())
}

#[test]
fn published_murphi_figures_are_met() {
    let met = meet(0..QUICK_STATES, 2, |states| match states {
        0..INTERPRETED_STATES => vec!["--threads 1", "--threads 2", "--threads 2 --interpret"],
        _ => vec!["--threads 1", "--threads 2"],
    });
    assert!(met.is_none_or(|met| met > 30), "only {met:?} rows found");
}

/// `cargo test --release -p hadal --test murphi_known -- --ignored`
#[test]
#[ignore = "minutes, and a gigabyte"]
fn large_published_murphi_figures_are_met() {
    meet(QUICK_STATES..FINITE_IN_RAM, 1, |_| vec!["--threads 2"]);
}
