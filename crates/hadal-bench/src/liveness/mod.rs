//! `hadal bench liveness`: published lassos, directed search on protocols, Promela graphs and claims beside SPIN, and
//! BEEM's products of models with properties.
//!
//! Answers are held against the tables, lassos against the published lengths (Jabbar 2008, chapters 6 and 7). Times are
//! processor times of whole runs. What the pass over the explored product costs is taken from the clock of the run itself.

mod spin;

use crate::args::BenchArgs;
use crate::bundled;
use crate::corpus::Corpus;
use crate::error::BenchError;
use crate::measure::measure;
use crate::scratch::Scratch;
use crate::statistics::Spread;
use crate::write_results;
use hadal_check::units::{counted, span};
use serde::Serialize;
use serde_json::Value;
use spin::{Beside, Peer};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The suite's name.
pub const SUITE: &str = "liveness";
const CASES: &str = include_str!("cases.tsv");
const PRODUCTS: &str = include_str!("products.tsv");
/// Products with fewer states say little about what the pass costs.
const LEAST_STATES: u64 = 20_000;

/// A question with what is known of the answer.
#[derive(Clone, Debug)]
struct Case {
    part: String,
    model: String,
    flags: Vec<String>,
    answer: Option<String>,
    /// The most steps of a trace, stem and loop together.
    longest: Option<u64>,
    states: Option<u64>,
    peer: Option<String>,
}

/// What hadal said, and a peer beside it.
#[derive(Clone, Debug, Serialize)]
struct Row {
    part: String,
    model: String,
    flags: String,
    verdict: String,
    states: u64,
    trace: Option<u64>,
    loop_length: Option<u64>,
    cpu_seconds: f64,
    startup_cpu_seconds: f64,
    /// Resident memory beyond what the program takes to start, over states.
    bytes_per_state: f64,
    /// The pass for accepted cycles over the exploration.
    pass: Option<f64>,
    peer: Option<Beside>,
    /// What contradicts the table.
    wrong: Option<String>,
}

#[derive(Debug, Serialize)]
struct LivenessReport {
    peer: Option<String>,
    rows: Vec<Row>,
    /// States per second of processor time over SPIN's, on equal graphs.
    rate: Option<Spread>,
    /// Bytes per state over SPIN's, on equal graphs.
    bytes: Option<Spread>,
    /// Start-up over translation and C compiler.
    startup: Option<Spread>,
    /// Processor time over SPIN's, claims that hold.
    claims: Option<Spread>,
    /// States over SPIN's, both reduced by partial order.
    reduced: Option<Spread>,
    /// The pass over the exploration, products.
    pass: Option<Spread>,
}

/// Runs the suite; 1 where an answer is not the known one or a lasso is longer than published.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let root = Corpus::find(&[])?.path_of("");
    let scratch = Scratch::new(args.disk.as_deref())?;
    bundled::write_all(&scratch)?;
    let peer = if args.no_peers { None } else { Peer::find(args.time_limit) };
    println!("part: model: answer, states, steps (loop); processor seconds; SPIN beside it");
    let mut rows = Vec::new();
    for case in cases()? {
        let few = args.max_states.is_none_or(|most| case.states.is_none_or(|states| states <= most));
        let named =
            args.only.as_ref().is_none_or(|text| case.model.contains(text) || case.part.contains(text));
        if !few || !named {
            continue;
        }
        let place = if case.model.starts_with(bundled::FOLDER) { scratch.folder() } else { &root };
        let model = place.join(&case.model);
        let Ok(model) = std::fs::canonicalize(&model) else {
            println!("{}: {} is not there", case.part, model.display());
            continue;
        };
        let row = ask(args, &case, &model, peer.as_ref(), &scratch)?;
        println!("{}", line(&row));
        rows.push(row);
    }
    let report = summed(peer.map(|peer| peer.version), rows);
    println!("{}", summary(&report));
    write_results(args, &report, || page(&report))?;
    Ok(u8::from(report.rows.iter().any(|row| row.wrong.is_some())))
}

/// All cases: those of the table, then the products.
fn cases() -> Result<Vec<Case>, BenchError> {
    let some = |cell: &str| (cell != "-").then(|| cell.to_owned());
    let number = |cell: &str| cell.parse().ok();
    let broken = |line: &str| BenchError::Internal(format!("a table of the suite has the line `{line}`"));
    let mut cases = Vec::new();
    for line in CASES.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[part, model, flags, answer, longest, states, peer] = cells.as_slice() else {
            return Err(broken(line));
        };
        cases.push(Case {
            part: part.into(),
            model: model.into(),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
            answer: some(answer),
            longest: number(longest),
            states: number(states),
            peer: some(peer),
        });
    }
    for line in PRODUCTS.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[model, answer, states] = cells.as_slice() else { return Err(broken(line)) };
        cases.push(Case {
            part: "product".into(),
            model: format!("dve/ltl/{model}.dve"),
            flags: vec!["--deadlock".into(), "off".into()],
            answer: some(answer),
            longest: None,
            states: number(states),
            peer: None,
        });
    }
    Ok(cases)
}

fn ask(
    args: &BenchArgs,
    case: &Case,
    model: &Path,
    peer: Option<&Peer>,
    scratch: &Scratch,
) -> Result<Row, BenchError> {
    let json = hadal(case, model, args.time_limit, scratch)?;
    let text = |name: &str| json[name].as_str().unwrap_or("failed").to_owned();
    let count = |name: &str| json[name].as_u64();
    let seconds = |name: &str| json[name].as_f64().unwrap_or(0.0);
    let (verdict, states) = (text("verdict"), count("states").unwrap_or(0));
    let trace = count("trace_length");
    let beyond = count("peak_memory_bytes")
        .unwrap_or(0)
        .saturating_sub(count("startup_peak_memory_bytes").unwrap_or(0));
    let finished = verdict == "holds";
    let wrong = wrong(case, &verdict, states, trace);
    let pass = (case.part == "product" && finished && states >= LEAST_STATES).then(|| pass(&json)).flatten();
    let beside = match (peer, &case.peer) {
        (Some(peer), Some(kind)) => peer.run(model, kind, scratch),
        _ => None,
    };
    Ok(Row {
        part: case.part.clone(),
        model: case.model.clone(),
        flags: case.flags.join(" "),
        verdict,
        states,
        trace,
        loop_length: count("loop_length"),
        cpu_seconds: seconds("cpu_seconds"),
        startup_cpu_seconds: seconds("startup_cpu_seconds"),
        bytes_per_state: beyond as f64 / states.max(1) as f64,
        pass,
        peer: beside,
        wrong,
    })
}

/// What contradicts what is known. Being stopped contradicts nothing.
fn wrong(case: &Case, verdict: &str, states: u64, trace: Option<u64>) -> Option<String> {
    if verdict == "stopped" {
        return None;
    }
    if let Some(answer) = case.answer.as_deref().filter(|answer| *answer != verdict) {
        return Some(format!("{answer} is known"));
    }
    if let (Some(known), "holds") = (case.states.filter(|known| *known != states), verdict) {
        return Some(format!("{known} states are known"));
    }
    let longest = case.longest.filter(|longest| trace.is_some_and(|trace| trace > *longest))?;
    Some(format!("{longest} steps are published"))
}

fn hadal(case: &Case, model: &Path, limit: Duration, scratch: &Scratch) -> Result<Value, BenchError> {
    let program: PathBuf = std::env::current_exe()
        .map_err(|error| BenchError::Internal(format!("cannot find this program: {error}")))?;
    let mut command = Command::new(&program);
    command.arg("check").arg(model).args(&case.flags);
    command.args(["--threads", "1", "--json", "--quiet", "--disk"]).arg(scratch.file("runs"));
    command.args(["--time-limit", &format!("{}s", limit.as_secs_f64())]);
    let measured = measure(&mut command, limit + Duration::from_secs(60))
        .map_err(|error| BenchError::File { path: program, error })?;
    let said: Value = serde_json::from_str(&measured.output).unwrap_or_default();
    if said["verdict"].is_null() {
        let complaint = measured.complaints.lines().next().unwrap_or("no answer").to_owned();
        println!("  {}: {complaint}", case.model);
    }
    Ok(said)
}

/// What follows the exploration, over the exploration, by the clock of one run.
fn pass(json: &Value) -> Option<f64> {
    let all = json["seconds"].as_f64()? - json["startup_seconds"].as_f64()?;
    let layers = json["layers"].as_array()?;
    let explored: f64 = (layers.iter())
        .filter_map(|layer| layer["seconds"].as_object())
        .flat_map(|parts| parts.values().filter_map(Value::as_f64))
        .sum();
    (explored > 0.0).then(|| (all - explored).max(0.0) / explored)
}

fn summed(peer: Option<String>, rows: Vec<Row>) -> LivenessReport {
    let ratios = |part: &str, of: &dyn Fn(&Row, &Beside) -> Option<f64>| {
        let chosen = rows.iter().filter(|row| row.part == part && row.verdict == "holds");
        Spread::of(chosen.filter_map(|row| of(row, row.peer.as_ref()?)))
    };
    let rate = ratios("graph", &|row, peer| {
        let own = row.states as f64 / row.cpu_seconds.max(1e-3);
        (row.states == peer.states).then(|| own / (peer.states as f64 / peer.cpu_seconds.max(1e-3)))
    });
    let bytes = ratios("graph", &|row, peer| {
        (row.states == peer.states).then(|| row.bytes_per_state / peer.bytes_per_state)
    });
    let startup = ratios("graph", &|row, peer| Some(row.startup_cpu_seconds / peer.build_cpu_seconds));
    let claims = ratios("claim", &|row, peer| Some(row.cpu_seconds / peer.cpu_seconds.max(1e-3)));
    let reduced = ratios("reduced", &|row, peer| Some(row.states as f64 / peer.states.max(1) as f64));
    let pass = Spread::of(rows.iter().filter_map(|row| row.pass));
    LivenessReport { peer, rate, bytes, startup, claims, reduced, pass, rows }
}

fn line(row: &Row) -> String {
    let Row { part, model, flags, verdict, states, cpu_seconds, .. } = row;
    let steps = match (row.trace, row.loop_length) {
        (Some(trace), Some(around)) => format!(", {}+{around} steps", trace - around.min(trace)),
        (Some(trace), None) => format!(", {}", counted(trace, "step")),
        _ => String::new(),
    };
    let peer = row.peer.as_ref().map_or(String::new(), |peer| {
        format!("; SPIN {}, {}", counted(peer.states, "state"), span(peer.cpu_seconds))
    });
    let (states, seconds) = (counted(*states, "state"), span(*cpu_seconds));
    let wrong = row.wrong.as_ref().map_or(String::new(), |wrong| format!("  WRONG: {wrong}"));
    format!("{part}: {model} {flags}: {verdict}, {states}{steps}; {seconds}{peer}{wrong}")
}

fn summary(report: &LivenessReport) -> String {
    let shown = [
        ("states per second over SPIN's, equal graphs", report.rate),
        ("bytes per state over SPIN's, equal graphs", report.bytes),
        ("start-up over spin -a and gcc -O2", report.startup),
        ("claims that hold: processor time over SPIN's", report.claims),
        ("reduced by partial order: states over SPIN's", report.reduced),
        ("pass for accepted cycles over exploration", report.pass),
    ];
    let lines = shown.iter().filter_map(|(name, spread)| {
        let spread = (*spread)?;
        Some(format!("{name}: {spread}"))
    });
    let wrong = report.rows.iter().filter(|row| row.wrong.is_some()).count();
    let ends = format!("{} rows, {wrong} contradict what is known", report.rows.len());
    lines.chain([ends]).collect::<Vec<_>>().join("\n")
}

fn page(report: &LivenessReport) -> String {
    let mut page = crate::html::begin("liveness", &summary(report));
    page.push_str("<pre>");
    for row in &report.rows {
        page.push_str(&crate::html::escape(&line(row)));
        page.push('\n');
    }
    page.push_str("</pre></body></html>\n");
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read() {
        let cases = cases().expect("tables without mistakes");
        assert_eq!(cases.iter().filter(|case| case.part == "product").count(), 122);
        assert!(cases.iter().any(|case| case.part == "lasso" && case.longest == Some(198)));
    }

    #[test]
    fn what_contradicts_the_table_is_wrong() {
        let mut case = cases().expect("tables without mistakes").remove(0);
        (case.answer, case.longest, case.states) = (Some("violated".into()), Some(20), Some(7));
        assert_eq!(wrong(&case, "violated", 3, Some(20)), None);
        assert_eq!(wrong(&case, "stopped", 3, None), None);
        assert!(wrong(&case, "violated", 3, Some(21)).is_some());
        assert!(wrong(&case, "holds", 7, None).is_some());
        case.answer = None;
        assert!(wrong(&case, "holds", 8, None).is_some());
    }

    #[test]
    fn the_pass_is_what_follows_the_layers() {
        let json = serde_json::json!({
            "seconds": 5.0, "startup_seconds": 1.0,
            "layers": [{"seconds": {"expanding": 0.5, "sorting": 0.5}}, {"seconds": {"expanding": 1.0}}]
        });
        assert_eq!(pass(&json), Some(1.0));
    }
}
