//! `hadal bench ta`: zone graphs of TChecker's models beside TChecker itself (`tck-reach`, where it is installed), and
//! `hadal bench landing`: aircraft landing, broadening against plain branch and bound (Jabbar 2008, table 8.1).
//!
//! Counts and costs are held against what is known; a fast wrong answer is an error.

use super::scratch::Scratch;
use super::write_results;
use crate::args::BenchArgs;
use crate::error::BenchError;
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the zone graphs on the command line.
pub const ZONES: &str = "ta";
/// The name of the landings.
pub const LANDING: &str = "landing";

/// A model with what TChecker 0.8 counts: zones by equality, maximal zones under aLU.
const MODELS: [(&str, Option<u64>, u64); 8] = [
    ("tchecker/fischer_6.tck", Some(5798), 2378),
    ("tchecker/fischer_8.tck", Some(122_184), 25080),
    ("tchecker/csmacd-fixed_5.tck", Some(8582), 850),
    ("tchecker/fddi_5.tck", Some(1461), 129),
    ("tchecker/mutex_2.tck", Some(10851), 485),
    ("tchecker/mutex_4.tck", None, 17563),
    ("tchecker-examples/critical-region_3_10.tck", Some(65653), 3015),
    ("tchecker/csmacd_6.tck", Some(4025), 2594),
];

/// Planes by file, with the known least costs by number of runways, from one on.
const LANDINGS: [(&str, &[i64]); 5] = [
    ("airland1.txt", &[700, 90, 0]),
    ("airland2.txt", &[1480]),
    ("airland3.txt", &[820]),
    ("airland4.txt", &[2520]),
    ("airland5.txt", &[3100]),
];

#[derive(Debug, Serialize)]
struct ZoneRow {
    model: String,
    covering: &'static str,
    zones: u64,
    maximal: u64,
    cpu_seconds: f64,
    bytes_per_zone: u64,
    tchecker_seconds: Option<f64>,
    agrees: bool,
}

#[derive(Debug, Serialize)]
struct LandingRow {
    file: String,
    runways: usize,
    order: &'static str,
    cost: Option<i64>,
    known: i64,
    expanded: u64,
    seconds: f64,
    agrees: bool,
}

fn itself(arguments: &[String], folder: &Path) -> Result<Value, BenchError> {
    let program = std::env::current_exe().map_err(|error| BenchError::Internal(error.to_string()))?;
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| BenchError::Internal(error.to_string()))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|_| BenchError::Usage(String::from_utf8_lossy(&output.stderr).into_owned()))
}

/// A folder beside the models, or the models themselves.
fn beside_corpus(folder: &str) -> Result<PathBuf, BenchError> {
    let named = std::env::var_os("HADAL_CORPUS").map(PathBuf::from);
    let root = named.unwrap_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models"));
    let path = root.join(folder);
    std::fs::canonicalize(&path).map_err(|error| BenchError::File { path, error })
}

/// Runs `bench ta`; exit code 1 where a count is wrong.
pub fn zones(args: &BenchArgs) -> Result<u8, BenchError> {
    let (models, scratch) = (beside_corpus("ta")?, Scratch::new(args.disk.as_deref())?);
    let mut rows = Vec::new();
    println!(
        "{:42} {:>9} {:>9} {:>9} {:>9} {:>7} {:>9}",
        "model", "covering", "zones", "maximal", "cpu s", "bytes", "TChecker"
    );
    for (model, by_equality, maximal) in MODELS {
        if args.only.as_ref().is_some_and(|only| !model.contains(only.as_str())) {
            continue;
        }
        for (covering, algorithm) in [("off", "reach"), ("alu", "aLU-covreach")] {
            if covering == "off" && by_equality.is_none() {
                continue;
            }
            let path = models.join(model).display().to_string();
            let command =
                ["check", &path, "--covering", covering, "--threads", "1", "--json", "-q", "--memory", "2G"];
            let result = itself(&command.map(str::to_owned), scratch.folder())?;
            let count = |field: &str| result[field].as_u64().unwrap_or(0);
            let seconds = |field: &str| result[field].as_f64().unwrap_or(0.0);
            let agrees = match (covering, by_equality) {
                ("off", Some(zones)) => count("states") == zones,
                _ => count("maximal") == maximal,
            };
            let row = ZoneRow {
                model: model.to_owned(),
                covering,
                zones: count("states"),
                maximal: count("maximal"),
                cpu_seconds: seconds("cpu_seconds") - seconds("startup_cpu_seconds"),
                bytes_per_zone: count("state_bytes"),
                tchecker_seconds: if args.no_peers { None } else { tchecker(&path, algorithm) },
                agrees,
            };
            let peer = row.tchecker_seconds.map_or("-".into(), |seconds| format!("{seconds:.2}"));
            println!(
                "{:42} {:>9} {:>9} {:>9} {:>9.3} {:>7} {:>9}{}",
                row.model,
                row.covering,
                row.zones,
                row.maximal,
                row.cpu_seconds,
                row.bytes_per_zone,
                peer,
                if row.agrees { "" } else { "  WRONG" }
            );
            rows.push(row);
        }
    }
    write_results(args, &rows, String::new)?;
    Ok(u8::from(rows.iter().any(|row| !row.agrees)))
}

/// Processor seconds of TChecker on a model, where it is installed.
fn tchecker(model: &str, algorithm: &str) -> Option<f64> {
    let script = format!("TIMEFORMAT='%U'; time tck-reach -a {algorithm} -s bfs '{model}' >/dev/null 2>&1");
    let output = Command::new("bash")
        .args(["-c", &format!("command -v tck-reach >/dev/null && {script}")])
        .output()
        .ok()?;
    String::from_utf8_lossy(&output.stderr).trim().parse().ok()
}

/// Runs `bench landing`; exit code 1 where a cost is wrong.
pub fn landing(args: &BenchArgs) -> Result<u8, BenchError> {
    let (files, scratch) = (beside_corpus("../oracles/airland")?, Scratch::new(args.disk.as_deref())?);
    let mut rows = Vec::new();
    println!(
        "{:14} {:>7} {:>11} {:>7} {:>7} {:>10} {:>8}",
        "file", "runways", "order", "cost", "known", "expanded", "s"
    );
    for (file, costs) in LANDINGS {
        if args.only.as_ref().is_some_and(|only| !file.contains(only.as_str())) {
            continue;
        }
        for (n, &known) in costs.iter().enumerate() {
            let runways = n + 1;
            let listed = files.join(file);
            let planes = std::fs::read_to_string(&listed)
                .map_err(|error| BenchError::File { path: listed.clone(), error })?;
            let text = hadal_lang::ta::landing::model(&planes, runways as u8, 1)
                .map_err(|what| BenchError::Usage(format!("{}: {what}", listed.display())))?;
            let model = scratch.folder().join(format!("{file}-{runways}.tck"));
            std::fs::write(&model, text).map_err(|error| BenchError::File { path: model.clone(), error })?;
            let orders: &[&'static str] =
                if file == "airland1.txt" { &["best", "broadening", "breadth"] } else { &["best"] };
            for &order in orders {
                let path = model.display().to_string();
                let command = ["plan", &path, "--order", order, "--json", "--time-limit", "10m"];
                let result = itself(&command.map(str::to_owned), scratch.folder())?;
                let row = LandingRow {
                    file: file.to_owned(),
                    runways,
                    order,
                    cost: result["cost"].as_i64(),
                    known,
                    expanded: result["expanded"].as_u64().unwrap_or(0),
                    seconds: result["seconds"].as_f64().unwrap_or(0.0),
                    agrees: result["optimal"] == true && result["cost"].as_i64() == Some(known),
                };
                println!(
                    "{:14} {:>7} {:>11} {:>7} {:>7} {:>10} {:>8.2}{}",
                    row.file,
                    row.runways,
                    row.order,
                    row.cost.map_or("-".into(), |cost| cost.to_string()),
                    row.known,
                    row.expanded,
                    row.seconds,
                    if row.agrees { "" } else { "  WRONG" }
                );
                rows.push(row);
            }
        }
    }
    write_results(args, &rows, String::new)?;
    Ok(u8::from(rows.iter().any(|row| !row.agrees)))
}
