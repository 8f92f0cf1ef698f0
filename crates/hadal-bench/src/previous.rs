//! The results of the run before, kept beside the new ones: a change is held against what it changed.

use crate::statistics::Spread;
use crate::{BenchError, write};
use serde::Serialize;
use serde_json::Value;
use std::path::{Path, PathBuf};

/// Writes a report. What the file held is kept as `NAME.before.json`, and where both have rows of the same names, says how
/// they compare.
pub fn write_beside_previous(path: &Path, report: &impl Serialize) -> Result<(), BenchError> {
    // Reports are plain data: they always serialise.
    let report = serde_json::to_value(report).unwrap_or_default();
    if let Ok(text) = std::fs::read_to_string(path) {
        write(&kept_at(path), &text)?;
        let before = serde_json::from_str(&text).unwrap_or_default();
        for line in compare(&before, &report) {
            println!("{line}");
        }
    }
    write(path, &serde_json::to_string_pretty(&report).unwrap_or_default())
}

/// Where the former results go.
fn kept_at(path: &Path) -> PathBuf {
    path.with_extension("before.json")
}

/// One line for each kind of figure that rows of the same name have in both.
fn compare(before: &Value, now: &Value) -> Vec<String> {
    type Figure = (&'static str, fn(&Value) -> Option<f64>);
    let figures: [Figure; 3] = [
        ("instructions a transition", |row| row["instructions_per_transition"].as_f64()),
        ("seconds", |row| row["ours"]["cpu_seconds"].as_f64()),
        ("peak memory", |row| row["ours"]["peak_bytes"].as_f64()),
    ];
    let (before, now) = (rows(before), rows(now));
    let line = |(what, figure): &Figure| {
        let ratio = |row: &Value| {
            let old = before.iter().find(|old| old["name"].is_string() && old["name"] == row["name"])?;
            Some(figure(row)? / figure(old)?)
        };
        let Spread { geometric_mean, least, greatest, count } = Spread::of(now.iter().filter_map(ratio))?;
        Some(format!(
            "{what} over those before: {geometric_mean:.2}x ({least:.2}x to {greatest:.2}x, {count} models)"
        ))
    };
    figures.iter().filter_map(line).collect()
}

fn rows(report: &Value) -> &[Value] {
    report.as_array().or_else(|| report["rows"].as_array()).map_or(&[], Vec::as_slice)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_results_before_stay_beside_the_new_ones() {
        let folder = std::env::temp_dir().join(format!("hadal-bench-before-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let path = folder.join("figures.json");
        write_beside_previous(&path, &json!([{"name": "a", "instructions_per_transition": 800.0}])).unwrap();
        assert!(!kept_at(&path).exists());
        write_beside_previous(&path, &json!([{"name": "a", "instructions_per_transition": 400.0}])).unwrap();
        let read =
            |path: &Path| -> Value { serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap() };
        assert_eq!(read(&path)[0]["instructions_per_transition"], 400.0);
        assert_eq!(read(&kept_at(&path))[0]["instructions_per_transition"], 800.0);
        std::fs::remove_dir_all(folder).unwrap();
    }

    #[test]
    fn rows_are_compared_by_name_and_those_without_a_partner_are_left_out() {
        let row = |name: &str, seconds: f64| json!({"name": name, "ours": {"cpu_seconds": seconds}});
        let before = json!({"rows": [row("a", 2.0), row("b", 1.0), row("gone", 1.0)]});
        let now = json!({"rows": [row("b", 1.0), row("a", 0.5), row("new", 9.0)]});
        assert_eq!(compare(&before, &now), ["seconds over those before: 0.50x (0.25x to 1.00x, 2 models)"]);
    }
}
