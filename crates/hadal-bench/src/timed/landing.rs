//! `hadal bench landing`: aircraft landing, broadening against plain branch and bound (Jabbar 2008, table 8.1), and equal runways
//! in one order against all orders.

use super::{beside_corpus, itself};
use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::scratch::Scratch;
use crate::write_results;
use hadal_check::units::{decimal, grouped, size};
use serde::Serialize;

/// The name of the landings.
pub const LANDING: &str = "landing";

/// An instance of aircraft landing.
struct Planes {
    file: &'static str,
    runways: u8,
    /// Independent copies, each with runways of its own.
    copies: u8,
    /// The known least cost.
    known: i64,
    orders: &'static [&'static str],
    /// Orders in RAM only: by least cost, External A* takes minutes on disk for some instances.
    in_ram: &'static [&'static str],
    /// Where every order of equal runways is searched as well.
    orders_apart: &'static [&'static str],
}

const fn planes(file: &'static str, runways: u8, known: i64) -> Planes {
    Planes {
        file,
        runways,
        copies: 1,
        known,
        orders: &["best", "broadening"],
        in_ram: &[],
        orders_apart: &[],
    }
}

/// The doubled instance is the one for which the comparison of the dissertation ran out of memory.
const LANDINGS: [Planes; 12] = [
    Planes { orders: &["best", "broadening", "breadth"], ..planes("airland1.txt", 1, 700) },
    Planes {
        orders: &["best", "broadening", "breadth"],
        orders_apart: &["best", "broadening"],
        ..planes("airland1.txt", 2, 90)
    },
    Planes { orders_apart: &["best", "broadening"], ..planes("airland1.txt", 3, 0) },
    planes("airland2.txt", 1, 1480),
    planes("airland3.txt", 1, 820),
    Planes { orders: &["broadening"], in_ram: &["best"], ..planes("airland4.txt", 1, 2520) },
    Planes { orders: &["broadening"], in_ram: &["best"], ..planes("airland5.txt", 1, 3100) },
    Planes { orders: &[], in_ram: &["best"], orders_apart: &["best"], ..planes("airland2.txt", 2, 210) },
    Planes { orders: &[], in_ram: &["best"], orders_apart: &["best"], ..planes("airland3.txt", 2, 60) },
    Planes { orders: &[], in_ram: &["best"], ..planes("airland4.txt", 2, 640) },
    Planes { orders: &[], in_ram: &["best"], ..planes("airland5.txt", 2, 650) },
    Planes { copies: 2, orders: &["broadening"], ..planes("airland1.txt", 1, 1400) },
];

/// What every landing may take.
const LANDING_MEMORY: &str = "256M";

#[derive(Debug, Serialize)]
struct LandingRow {
    file: String,
    runways: u8,
    copies: u8,
    order: &'static str,
    place: &'static str,
    /// Whether one order of equal runways stands for all.
    symmetry: bool,
    cost: Option<i64>,
    known: i64,
    expanded: u64,
    seconds: f64,
    peak_memory_bytes: u64,
    disk_bytes: u64,
    agrees: bool,
}

/// Runs `bench landing`; exit code 1 where a cost is wrong.
pub fn landing(args: &BenchArgs) -> Result<u8, BenchError> {
    let (files, scratch) = (beside_corpus("../oracles/airland")?, Scratch::new(args.disk.as_deref())?);
    let mut rows = Vec::new();
    println!(
        "{:14} {:>7} {:>6} {:>11} {:>5} {:>8} {:>7} {:>7} {:>10} {:>8} {:>9}",
        "file", "runways", "copies", "order", "in", "equal", "cost", "known", "expanded", "s", "peak"
    );
    for it in &LANDINGS {
        if args.chosen.only.as_ref().is_some_and(|only| !it.file.contains(only.as_str())) {
            continue;
        }
        let listed = files.join(it.file);
        let text = std::fs::read_to_string(&listed)
            .map_err(|error| BenchError::File { path: listed.clone(), error })?;
        let text = hadal_lang::ta::landing::model(&text, it.runways, it.copies)
            .map_err(|what| BenchError::Usage(format!("{}: {what}", listed.display())))?;
        let model = scratch.folder().join(format!("{}-{}-{}.tck", it.file, it.runways, it.copies));
        std::fs::write(&model, text).map_err(|error| BenchError::File { path: model.clone(), error })?;
        let usual = it.orders.iter().flat_map(|order| [(order, "RAM", true), (order, "disk", true)]);
        let in_ram = it.in_ram.iter().map(|order| (order, "RAM", true));
        let apart = it.orders_apart.iter().map(|order| (order, "RAM", false));
        for (&order, place, symmetry) in usual.chain(in_ram).chain(apart) {
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
            if !symmetry {
                command.push("--no-symmetry");
            }
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
                symmetry,
                cost: result["cost"].as_i64(),
                known: it.known,
                expanded: count("expanded"),
                seconds: result["seconds"].as_f64().unwrap_or(0.0),
                peak_memory_bytes: count("peak_memory_bytes"),
                disk_bytes: count("disk_bytes"),
                agrees: result["optimal"] == true && result["cost"].as_i64() == Some(it.known),
            };
            println!(
                "{:14} {:>7} {:>6} {:>11} {:>5} {:>8} {:>7} {:>7} {:>10} {:>8} {:>9}{}",
                row.file,
                row.runways,
                row.copies,
                row.order,
                row.place,
                if row.symmetry { "ordered" } else { "apart" },
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
