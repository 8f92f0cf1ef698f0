//! The published figures of Evangelista and Kristensen (2011), for the columns beside ours.

use crate::error::BenchError;
use serde::Serialize;

/// The table itself; its first lines describe the columns.
const TABLE: &str = include_str!("paper.tsv");

/// Averages over the paper's 24 models: BFS-HD3's and PART's time over RAM, and by how much PART divides disk operations.
pub const AVERAGES: (f64, f64, f64) = (40.58, 4.98, 17.08);
/// Disk operations of DE over those of S-GHC, in per cent, by per cent of the states in RAM (15 models).
pub const IO_OVER_S_GHC: [(f64, f64); 2] = [(10.0, 32.2), (1.0, 37.5)];

/// One model's published figures.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Published {
    /// The model, as BEEM calls it.
    pub model: String,
    /// Seconds of breadth-first search in RAM.
    pub ram_seconds: f64,
    /// Whether those are extrapolated.
    pub extrapolated: bool,
    /// Layered search on disk, time over RAM.
    pub layered_ratio: f64,
    /// PART with DE, time over RAM.
    pub part_ratio: f64,
    /// Disk operations per state of the layered search.
    pub layered_io_per_state: f64,
    /// By how much PART divides them.
    pub io_divided_by: f64,
    /// Largest partition with S-LHC, per cent of all states.
    pub largest_s_lhc: Option<f64>,
    /// Largest partition with D-LHC, per cent of all states.
    pub largest_d_lhc: Option<f64>,
}

/// All rows.
pub fn all() -> Result<Vec<Published>, BenchError> {
    let rows = TABLE.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    rows.map(|line| {
        parse(line)
            .ok_or_else(|| BenchError::Internal(format!("paper.tsv: `{line}` is no row of nine columns")))
    })
    .collect()
}

fn parse(line: &str) -> Option<Published> {
    let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
    let [model, ram, extrapolated, layered, part, io, divided, s_lhc, d_lhc] = fields[..] else {
        return None;
    };
    Some(Published {
        model: model.to_owned(),
        ram_seconds: ram.parse().ok()?,
        extrapolated: extrapolated == "yes",
        layered_ratio: layered.parse().ok()?,
        part_ratio: part.parse().ok()?,
        layered_io_per_state: io.parse().ok()?,
        io_divided_by: divided.parse().ok()?,
        largest_s_lhc: s_lhc.parse().ok(),
        largest_d_lhc: d_lhc.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_give_the_averages_that_are_published() {
        let rows = all().expect("the table is well formed");
        assert_eq!(rows.len(), 24);
        let mean = |of: fn(&Published) -> f64| rows.iter().map(of).sum::<f64>() / rows.len() as f64;
        assert!((mean(|row| row.layered_ratio) - AVERAGES.0).abs() < 0.01);
        assert!((mean(|row| row.part_ratio) - AVERAGES.1).abs() < 0.01);
    }
}
