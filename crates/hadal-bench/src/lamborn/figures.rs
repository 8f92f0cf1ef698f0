//! Our figures under the names of the published ones, and how a variant is asked of hadal.

use super::published::Instance;
use crate::exploration::Exploration;
use hadal_check::units::{decimal, grouped, span};
use serde_json::Value;

/// The arguments that ask for a variant; a file for a saved partition stands for itself. `Err` says why there are none.
pub fn arguments(variant: &str, instance: &Instance, saved: &str) -> Result<Vec<String>, &'static str> {
    let words: &[&str] = match variant {
        "-" => &["--strategy", "auto"],
        "single-file" => &["--strategy", "sort-single-file"],
        "file-per-layer" | "combined" | "full" | "sorting" | "lru" => {
            &["--strategy", "sort-file-per-layer", "--cache", "lru"]
        }
        "no-cache" | "buffer" => &["--strategy", "sort-file-per-layer", "--cache", "buffer"],
        "separate" => &["--strategy", "sort-separate", "--cache", "lru"],
        "partial" => &["--strategy", "partial"],
        "phased" => &["--strategy", "phased"],
        "hash" | "sampled" | "min-max" => &["--strategy", "hash", "--save-partition", saved],
        "hash-saved" => &["--strategy", "hash", "--partition", saved],
        "random-split" => &["--strategy", "hash", "--split-by", "random"],
        "fewest-split" => &["--strategy", "hash", "--split-by", "fewest"],
        "random-variables" => &["--strategy", "hash", "--first-partition", "random"],
        "bfs-sample" => &["--strategy", "hash", "--first-partition", "bfs"],
        "one-more-variable" => &["--strategy", "hash", "--first-partition", "one-more"],
        _ => return Err("not known"),
    };
    let mut words: Vec<String> = words.iter().map(|&word| word.to_owned()).collect();
    // Layers checked as published belong to the published size; a smaller one has other distances.
    if variant == "partial"
        && instance.size == super::published::Size::Published
        && let Some(layers) = checked(&instance.model)
    {
        words.extend(["--partial".to_owned(), layers.to_string()]);
    }
    Ok(words)
}

/// How many layers partial detection looked at (table 3.5).
fn checked(model: &str) -> Option<u64> {
    match model {
        "newlist" => Some(55),
        "mcslock" => Some(86),
        "eadash" => Some(34),
        _ => None,
    }
}

/// The layers of a run as the dissertation counts them. There a search ends at the first error: of the layer that it was
/// expanding then, the states count, and not what was generated from them. hadal finishes that layer and the next.
struct Counted<'r> {
    /// Those whose states count.
    layers: &'r [Value],
    /// Those of which it counts what was generated from them.
    expanded: &'r [Value],
}

impl<'r> Counted<'r> {
    fn of(run: &'r Exploration) -> Option<Self> {
        let layers = run.json["layers"].as_array().filter(|layers| !layers.is_empty())?;
        let expanded = if run.verdict == "violated" { layers.len() - 1 } else { layers.len() };
        Some(Counted { layers, expanded: &layers[..expanded] })
    }

    fn widths(&self) -> impl Iterator<Item = f64> + 'r {
        self.layers.iter().filter_map(|layer| layer["states"].as_f64())
    }

    fn sum(&self, path: &str) -> f64 {
        self.expanded.iter().filter_map(|layer| layer.pointer(path).and_then(Value::as_f64)).sum()
    }
}

/// States and transitions as the dissertation counts them.
pub fn counts(run: &Exploration) -> (u64, u64) {
    match Counted::of(run) {
        Some(counted) => (counted.widths().sum::<f64>() as u64, counted.sum("/transitions") as u64),
        None => (run.states, run.transitions),
    }
}

/// One of our figures, in seconds, bytes or counts; `None` where hadal does not count it.
pub fn figure(name: &str, run: &Exploration) -> Option<f64> {
    let counted = Counted::of(run);
    let sum = |path: &str| -> Option<f64> { Some(counted.as_ref()?.sum(path)) };
    match name {
        "states" => Some(counts(run).0 as f64),
        "edges" => Some(counts(run).1 as f64),
        "largest_layer" => Some(counted.as_ref()?.widths().fold(0.0, f64::max)),
        "layers" => Some(counted.as_ref()?.layers.len() as f64),
        "state_bytes" => Some(run.packed_bytes() as f64),
        "disk_gb" => Some(run.disk.held as f64 / 1e9),
        "time" => Some(run.time.wall_seconds),
        "generate_time" => Some(sum("/seconds/expanding")? + sum("/seconds/sorting")?),
        "ddd_time" => sum("/seconds/detecting"),
        "read_candidates_time" => sum("/seconds/files/candidates_read"),
        "read_closed_time" => sum("/seconds/files/closed_read"),
        "write_open_time" => sum("/seconds/files/next_written"),
        // Candidates are written while the layer is expanded, and once more where they are merged on their own.
        "other_io_time" => sum("/seconds/files/candidates_written"),
        "idd_duplicates" => sum("/duplicates_cache"),
        "left" => Some(sum("/candidates")? - sum("/duplicates_within")?),
        "ddd_duplicates" => {
            Some(sum("/duplicates_within")? + sum("/duplicates_earlier")? + sum("/duplicates_either")?)
        }
        "buckets" => run.json.pointer("/buckets/buckets").and_then(Value::as_f64),
        "splits" => run.json.pointer("/buckets/splits").and_then(Value::as_f64),
        "comparisons" => sum("/detection/comparisons"),
        "locality" => run.json.pointer("/locality/most").and_then(Value::as_f64),
        "duplicates" => Some(sum("/transitions")? - sum("/unique")?),
        _ => None,
    }
}

/// How a figure is written.
pub fn written(name: &str, value: Option<f64>) -> String {
    match value {
        None => "-".into(),
        Some(value) if name.ends_with("time") => span(value),
        Some(value) if name == "disk_gb" => decimal(value),
        Some(value) => grouped(value as u64),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_ends_in_an_error_counts_what_was_generated_before_its_last_layer() {
        let text = r#"{"verdict": "VERDICT", "states": 17, "transitions": 30, "depth": 2, "layers": [
            {"states": 1, "transitions": 4, "candidates": 4, "duplicates_within": 1},
            {"states": 3, "transitions": 9, "candidates": 8, "duplicates_within": 3},
            {"states": 5, "transitions": 17, "candidates": 16, "duplicates_within": 8}]}"#;
        let run = |verdict: &str| {
            let json = serde_json::from_str(&text.replace("VERDICT", verdict)).expect("JSON");
            Exploration::read(json)
        };
        let told = |name: &str, verdict: &str| figure(name, &run(verdict)).expect("it is known");
        assert_eq!(counts(&run("violated")), (9, 13));
        assert_eq!(counts(&run("holds")), (9, 30));
        assert_eq!((told("left", "violated"), told("left", "holds")), (8.0, 16.0));
        assert_eq!((told("layers", "violated"), told("largest_layer", "violated")), (3.0, 5.0));
    }
}
