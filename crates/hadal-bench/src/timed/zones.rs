//! `hadal bench ta`: zone graphs of TChecker's models beside TChecker itself (`tck-reach`, where it is installed).

use super::{beside_corpus, itself};
use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::scratch::Scratch;
use crate::write_results;
use hadal_check::units::{decimal, grouped};
use serde::Serialize;
use std::process::Command;

/// The name of the zone graphs on the command line.
pub const ZONES: &str = "ta";

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

/// Runs `bench ta`; exit code 1 where a count is wrong.
pub fn zones(args: &BenchArgs) -> Result<u8, BenchError> {
    let (models, scratch) = (beside_corpus("ta")?, Scratch::new(args.disk.as_deref())?);
    let mut rows = Vec::new();
    println!(
        "{:42} {:>9} {:>10} {:>10} {:>9} {:>7} {:>9}",
        "model", "covering", "zones", "maximal", "cpu s", "bytes", "TChecker"
    );
    for (model, by_equality, maximal) in MODELS {
        if args.chosen.only.as_ref().is_some_and(|only| !model.contains(only.as_str())) {
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
