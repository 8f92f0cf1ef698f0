//! `hadal bench ta`: zone graphs of TChecker's models beside TChecker itself (`tck-reach`, where it is installed), and
//! `hadal bench landing`: aircraft landing, broadening against plain branch and bound (Jabbar 2008, table 8.1).
//!
//! Counts and costs are held against what is known; a fast wrong answer is an error.

use super::scratch::Scratch;
use super::write_results;
use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_check::units::{decimal, grouped, size};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name of the zone graphs on the command line.
pub const ZONES: &str = "ta";
/// The name of the landings.
pub const LANDING: &str = "landing";

/// A model with what TChecker 0.8 counts: zones by equality, maximal zones under aLU.
const MODELS: [(&str, Option<u64>, u64); 9] = [
    ("tchecker/fischer_6.tck", Some(5798), 2378),
    ("tchecker/fischer_8.tck", Some(122_184), 25080),
    ("tchecker/csmacd-fixed_5.tck", Some(8582), 850),
    ("tchecker/fddi_5.tck", Some(1461), 129),
    ("tchecker/fddi_10.tck", None, 459),
    ("tchecker/mutex_2.tck", Some(10851), 485),
    ("tchecker/mutex_4.tck", None, 17563),
    ("tchecker-examples/critical-region_3_10.tck", Some(65653), 3015),
    ("tchecker/csmacd_6.tck", Some(4025), 2594),
];

/// An instance of aircraft landing.
struct Planes {
    file: &'static str,
    runways: u8,
    /// Independent copies, each with runways of its own.
    copies: u8,
    /// The known least cost.
    known: i64,
    orders: &'static [&'static str],
}

const fn planes(file: &'static str, runways: u8, known: i64) -> Planes {
    Planes { file, runways, copies: 1, known, orders: &["best", "broadening"] }
}

/// The doubled instance is the one for which the comparison of the dissertation ran out of memory.
const LANDINGS: [Planes; 8] = [
    Planes { orders: &["best", "broadening", "breadth"], ..planes("airland1.txt", 1, 700) },
    Planes { orders: &["best", "broadening", "breadth"], ..planes("airland1.txt", 2, 90) },
    planes("airland1.txt", 3, 0),
    planes("airland2.txt", 1, 1480),
    planes("airland3.txt", 1, 820),
    planes("airland4.txt", 1, 2520),
    planes("airland5.txt", 1, 3100),
    Planes { copies: 2, orders: &["broadening"], ..planes("airland1.txt", 1, 1400) },
];

/// What every landing may take.
const LANDING_MEMORY: &str = "256M";

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
    runways: u8,
    copies: u8,
    order: &'static str,
    place: &'static str,
    cost: Option<i64>,
    known: i64,
    expanded: u64,
    seconds: f64,
    peak_memory_bytes: u64,
    disk_bytes: u64,
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
        "{:42} {:>9} {:>10} {:>10} {:>9} {:>7} {:>9}",
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
            println!(
                "{:42} {:>9} {:>10} {:>10} {:>9} {:>7} {:>9}{}",
                row.model,
                row.covering,
                grouped(row.zones),
                grouped(row.maximal),
                decimal(row.cpu_seconds),
                row.bytes_per_zone,
                decimal(row.tchecker_seconds),
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
        "{:14} {:>7} {:>6} {:>11} {:>5} {:>7} {:>7} {:>10} {:>8} {:>9}",
        "file", "runways", "copies", "order", "in", "cost", "known", "expanded", "s", "peak"
    );
    for it in &LANDINGS {
        if args.only.as_ref().is_some_and(|only| !it.file.contains(only.as_str())) {
            continue;
        }
        let listed = files.join(it.file);
        let text = std::fs::read_to_string(&listed)
            .map_err(|error| BenchError::File { path: listed.clone(), error })?;
        let text = hadal_lang::ta::landing::model(&text, it.runways, it.copies)
            .map_err(|what| BenchError::Usage(format!("{}: {what}", listed.display())))?;
        let model = scratch.folder().join(format!("{}-{}-{}.tck", it.file, it.runways, it.copies));
        std::fs::write(&model, text).map_err(|error| BenchError::File { path: model.clone(), error })?;
        for (&order, place) in it.orders.iter().flat_map(|order| [(order, "RAM"), (order, "disk")]) {
            let path = model.display().to_string();
            let disk = scratch.folder().join("runs").display().to_string();
            let mut command = vec![
                "plan",
                &path,
                "--order",
                order,
                "--json",
                "--time-limit",
                "10m",
                "--memory",
                LANDING_MEMORY,
            ];
            if place == "disk" {
                command.extend(["--disk", &disk]);
            }
            let command: Vec<String> = command.into_iter().map(str::to_owned).collect();
            let result = itself(&command, scratch.folder())?;
            let count = |field: &str| result[field].as_u64().unwrap_or(0);
            let row = LandingRow {
                file: it.file.to_owned(),
                runways: it.runways,
                copies: it.copies,
                order,
                place,
                cost: result["cost"].as_i64(),
                known: it.known,
                expanded: count("expanded"),
                seconds: result["seconds"].as_f64().unwrap_or(0.0),
                peak_memory_bytes: count("peak_memory_bytes"),
                disk_bytes: count("disk_bytes"),
                agrees: result["optimal"] == true && result["cost"].as_i64() == Some(it.known),
            };
            println!(
                "{:14} {:>7} {:>6} {:>11} {:>5} {:>7} {:>7} {:>10} {:>8} {:>9}{}",
                row.file,
                row.runways,
                row.copies,
                row.order,
                row.place,
                row.cost.map_or("-".into(), |cost| cost.to_string()),
                row.known,
                grouped(row.expanded),
                decimal(row.seconds),
                size(row.peak_memory_bytes),
                if row.agrees { "" } else { "  WRONG" }
            );
            rows.push(row);
        }
    }
    write_results(args, &rows, String::new)?;
    Ok(u8::from(rows.iter().any(|row| !row.agrees)))
}
