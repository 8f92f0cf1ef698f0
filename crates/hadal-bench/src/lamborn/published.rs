//! Lamborn's tables (2014) as data, and the instances of the public models that they are of.

use crate::error::BenchError;
use crate::suite::{Case, parse_constants};
use serde::Serialize;

/// The table itself; its first lines describe it.
const TABLE: &str = include_str!("published.tsv");

/// A row of one of the tables.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The table's number.
    pub table: String,
    /// The model, as the dissertation calls it.
    pub model: String,
    /// What is compared; `-` where nothing is.
    pub variant: String,
    /// What is published, by name, as printed.
    pub values: Vec<(String, String)>,
}

/// Whether an instance has the published constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Size {
    /// It has.
    Published,
    /// It is the same model, smaller.
    Small,
}

/// A public model with constants.
#[derive(Clone, Debug, Serialize)]
pub struct Instance {
    /// The model, as the dissertation calls it.
    pub model: String,
    /// Its size.
    pub size: Size,
    /// File, constants, symmetry, deadlock; `states` is what decides whether it is run.
    pub case: Case,
    /// Whether assertions are taken out before it is run.
    pub without_asserts: bool,
    /// The verdict that is expected.
    pub verdict: String,
    /// States and transitions, where they are certain.
    pub counts: Option<(u64, u64)>,
}

/// How many states each layer has.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Profile {
    /// The table's number.
    pub table: String,
    /// The model, as the dissertation calls it.
    pub model: String,
    /// New states of each layer, from the first on.
    pub layers: Vec<u64>,
}

/// Everything in the table.
pub struct Published {
    /// The rows, in the order of the tables.
    pub rows: Vec<Row>,
    /// The tables of layers.
    pub profiles: Vec<Profile>,
    /// The instances.
    pub instances: Vec<Instance>,
}

/// Reads the table.
pub fn all() -> Result<Published, BenchError> {
    parse(TABLE).map_err(|error| BenchError::Internal(format!("published.tsv, {error}")))
}

fn parse(table: &str) -> Result<Published, String> {
    let mut published = Published { rows: Vec::new(), profiles: Vec::new(), instances: Vec::new() };
    for (n, line) in table.lines().enumerate() {
        let fields: Vec<&str> = line.split('\t').collect();
        let wrong = |what: &str| format!("line {}: {what}", n + 1);
        match fields[..] {
            ["row", table, model, variant, ref values @ ..] => published.rows.push(Row {
                table: table.to_owned(),
                model: model.to_owned(),
                variant: variant.to_owned(),
                values: values
                    .iter()
                    .map(|pair| {
                        let (name, value) = pair.split_once('=').ok_or_else(|| wrong(pair))?;
                        Ok((name.to_owned(), value.to_owned()))
                    })
                    .collect::<Result<_, String>>()?,
            }),
            ["layers", table, model, layers] => published.profiles.push(Profile {
                table: table.to_owned(),
                model: model.to_owned(),
                layers: layers
                    .split(' ')
                    .map(|states| states.parse().map_err(|_| wrong(states)))
                    .collect::<Result<_, String>>()?,
            }),
            ["instance", ref fields @ ..] => {
                published
                    .instances
                    .push(instance(fields).ok_or_else(|| wrong("no instance of eleven columns"))?);
            }
            _ if line.starts_with('#') || line.trim().is_empty() => {}
            _ => return Err(wrong("neither a row nor layers nor an instance")),
        }
    }
    Ok(published)
}

fn instance(fields: &[&str]) -> Option<Instance> {
    let [model, size, file, constants, symmetry, deadlock, asserts, verdict, states, transitions, about] =
        *fields
    else {
        return None;
    };
    Some(Instance {
        model: model.to_owned(),
        size: if size == "published" { Size::Published } else { Size::Small },
        case: Case {
            model: file.to_owned(),
            constants: parse_constants(constants).ok()?,
            symmetry: symmetry.to_owned(),
            deadlock: deadlock.to_owned(),
            peers: false,
            states: about.parse().ok()?,
            transitions: None,
            source: String::new(),
        },
        without_asserts: asserts == "removed",
        verdict: verdict.to_owned(),
        counts: states.parse().ok().zip(transitions.parse().ok()),
    })
}

impl Row {
    /// Seconds of the whole search, as published: its time, or the times of its parts; `None` where a part is a bound.
    pub fn seconds(&self) -> Option<f64> {
        let named = |name: &str| -> Option<&str> {
            self.values.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
        };
        let parts: Vec<&str> = match named("time") {
            Some(whole) => vec![whole],
            // Where the parts of delayed detection are given, so is their sum.
            None if named("ddd_time").is_some() => {
                named("generate_time").into_iter().chain(named("ddd_time")).collect()
            }
            None => ["generate_time", "intralayer_time", "interlayer_time"]
                .into_iter()
                .filter_map(named)
                .collect(),
        };
        if parts.is_empty() { None } else { parts.into_iter().map(seconds).sum() }
    }
}

/// Seconds of `d:hh:mm:ss`, `hh:mm:ss` or `mm:ss`; `None` of anything else, such as a bound.
fn seconds(text: &str) -> Option<f64> {
    let parts: Vec<f64> = text.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let units = [1.0, 60.0, 3600.0, 86_400.0];
    (2..=4)
        .contains(&parts.len())
        .then(|| parts.iter().rev().zip(units).map(|(part, unit)| part * unit).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    const IDENTIFIED: [&str; 10] =
        ["mcslock", "eadash", "arbiter1", "arbiter2", "newlist", "ns", "adashe", "ldash", "sci1", "sci2"];

    #[test]
    fn every_table_is_there_and_identified_models_have_two_instances() {
        let published = all().expect("the table is well formed");
        let tables = [
            "2.1", "2.2", "3.1", "3.2", "3.3", "3.4", "3.5", "4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7",
        ];
        for table in tables {
            assert!(published.rows.iter().any(|row| row.table == table && !row.values.is_empty()), "{table}");
        }
        let sums: Vec<(usize, u64)> =
            published.profiles.iter().map(|it| (it.layers.len(), it.layers.iter().sum())).collect();
        assert_eq!(sums, [(70, 145_114_130), (154, 666_254_196)], "tables 3.6 and 3.7");
        for model in IDENTIFIED {
            let sizes: Vec<Size> =
                published.instances.iter().filter(|i| i.model == model).map(|i| i.size).collect();
            assert_eq!(sizes, [Size::Small, Size::Published], "{model}");
        }
    }

    #[test]
    fn times_are_read_from_the_right() {
        assert_eq!(seconds("1:02"), Some(62.0));
        assert_eq!(seconds("1:16:56:53"), Some(86_400.0 + 16.0 * 3600.0 + 56.0 * 60.0 + 53.0));
        assert_eq!(seconds("not finished"), None);
        assert_eq!(seconds("> 1:11:40:28"), None);
        let published = all().expect("the table is well formed");
        let row = |table: &str, variant: &str| {
            let found = |row: &&Row| row.table == table && row.model == "newlist" && row.variant == variant;
            published.rows.iter().find(found).and_then(Row::seconds)
        };
        assert_eq!(row("3.1", "file-per-layer"), Some(3.0 * 3600.0 + 58.0 * 60.0 + 58.0));
        assert_eq!(row("3.1", "single-file"), None);
        assert_eq!(row("3.5", "partial"), Some(5799.0 + 3024.0));
        assert_eq!(row("2.1", "-"), None);
    }
}
