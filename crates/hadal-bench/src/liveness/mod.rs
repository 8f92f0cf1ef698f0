//! `hadal bench liveness`: published lassos, directed search on protocols, Promela graphs and claims beside SPIN, and
//! BEEM's products of models with properties.
//!
//! Answers are held against the tables, lassos against the published lengths (Jabbar 2008, chapters 6 and 7). Times are
//! processor times of whole runs. What the pass over the explored product costs is taken from the clock of the run itself.

mod cases;
mod report;
mod spin;

use crate::args::BenchArgs;
use crate::bundled;
use crate::corpus::Corpus;
use crate::error::BenchError;
use crate::measure::measure;
use crate::scratch::Scratch;
use crate::write_results;
use cases::{Case, cases};
use report::{LivenessReport, Row, Taken, Whole};
use serde_json::Value;
use spin::Peer;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// The suite's name.
pub const SUITE: &str = "liveness";
/// Graphs of fewer states do not weigh enough beside the program's own memory, which varies.
const WEIGHED_FROM: u64 = 200_000;
/// Products with fewer states say little about what the pass costs.
const LEAST_STATES: u64 = 20_000;

/// Runs the suite; 1 where an answer is not the known one or a lasso is longer than published.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let root = Corpus::find(&[])?.path_of("");
    let scratch = Scratch::new(args.disk.as_deref())?;
    bundled::write_all(&scratch)?;
    let peer = if args.no_peers { None } else { Peer::find(args.time_limit) };
    println!("part: model: answer, states, steps (stem+loop); processor seconds; SPIN beside it");
    let mut rows = Vec::new();
    for case in cases()? {
        let few = args.chosen.max_states.is_none_or(|most| case.states.is_none_or(|states| states <= most));
        let named = args
            .chosen
            .only
            .as_ref()
            .is_none_or(|text| case.model.contains(text) || case.part.contains(text));
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
        println!("{row}");
        rows.push(row);
    }
    let report = LivenessReport::of(peer.map(|peer| peer.version), rows);
    println!("{}", report.summary());
    write_results(args, &report, || report.page())?;
    Ok(u8::from(report.rows.iter().any(|row| row.wrong.is_some())))
}

fn ask(
    args: &BenchArgs,
    case: &Case,
    model: &Path,
    peer: Option<&Peer>,
    scratch: &Scratch,
) -> Result<Row, BenchError> {
    let json = best(args, case, model, scratch)?;
    let whole = match case.part.as_str() {
        "reduced" => {
            let flags = case.flags.iter().filter(|flag| *flag != "--por").cloned().collect();
            let json = best(args, &Case { flags, ..case.clone() }, model, scratch)?;
            let finished = json["verdict"] == "holds";
            finished
                .then(|| Whole { states: count(&json, "states"), cpu_seconds: seconds(&json, "cpu_seconds") })
        }
        _ => None,
    };
    let verdict = json["verdict"].as_str().unwrap_or("failed").to_owned();
    let states = count(&json, "states");
    let trace = json["trace_length"].as_u64();
    let bytes_per_state = match case.part.as_str() {
        // Beyond what the program takes for one state: reading and compiling took more, and let go of it.
        "graph" if states >= WEIGHED_FROM => {
            let flags = case.flags.iter().cloned().chain(["--max-states".into(), "1".into()]).collect();
            let first = hadal(&Case { flags, ..case.clone() }, model, args.time_limit, scratch)?;
            let beyond = count(&json, "peak_memory_bytes").saturating_sub(count(&first, "peak_memory_bytes"));
            Some(beyond as f64 / states.max(1) as f64)
        }
        _ => None,
    };
    let finished = verdict == "holds";
    let wrong = case.wrong(&verdict, states, trace);
    let pass = (case.part == "product" && finished && states >= LEAST_STATES).then(|| pass(&json)).flatten();
    let beside = match (peer, &case.peer) {
        (Some(peer), Some(kind)) => peer.run(model, kind, &case.flags, scratch),
        _ => None,
    };
    Ok(Row {
        part: case.part.clone(),
        model: case.model.clone(),
        flags: case.flags.join(" "),
        verdict,
        states,
        trace,
        loop_length: json["loop_length"].as_u64(),
        taken: Taken {
            cpu_seconds: seconds(&json, "cpu_seconds"),
            startup_cpu_seconds: seconds(&json, "startup_cpu_seconds"),
            packed_bytes: count(&json, "state_bytes"),
            bytes_per_state,
        },
        pass,
        whole,
        peer: beside,
        wrong,
    })
}

/// The run with the least processor time of those asked for.
fn best(args: &BenchArgs, case: &Case, model: &Path, scratch: &Scratch) -> Result<Value, BenchError> {
    let mut best = hadal(case, model, args.time_limit, scratch)?;
    for _ in 1..args.repeat {
        let again = hadal(case, model, args.time_limit, scratch)?;
        if seconds(&again, "cpu_seconds") < seconds(&best, "cpu_seconds") {
            best = again;
        }
    }
    Ok(best)
}

fn count(json: &Value, name: &str) -> u64 {
    json[name].as_u64().unwrap_or(0)
}

fn seconds(json: &Value, name: &str) -> f64 {
    json[name].as_f64().unwrap_or(0.0)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pass_is_what_follows_the_layers() {
        let json = serde_json::json!({
            "seconds": 5.0, "startup_seconds": 1.0,
            "layers": [{"seconds": {"expanding": 0.5, "sorting": 0.5}}, {"seconds": {"expanding": 1.0}}]
        });
        assert_eq!(pass(&json), Some(1.0));
    }
}
