//! The tables of directed searches as data: Wehrle's (2011) rows.

use crate::error::BenchError;
use serde::Serialize;

const TABLE: &str = include_str!("published.tsv");

/// How near our figures must come to a published row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Match {
    /// To the digit.
    Exact,
    /// The length of the trace.
    Length,
    /// Not at all: the model is a reconstruction, or a rule is not published.
    Shape,
}

/// A published row.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// The tables it stands in.
    pub table: &'static str,
    /// Family and size: `A3`, `F10`, `H5`.
    pub instance: &'static str,
    /// `--order`.
    pub order: &'static str,
    /// `--guide`.
    pub guide: &'static str,
    /// `--priority`.
    pub priority: &'static str,
    /// States taken out of the queues; none where it was not solved.
    pub explored: Option<u64>,
    /// Of the trace.
    pub length: Option<u64>,
    /// On the machine of the time.
    pub seconds: Option<f64>,
    /// The share of states taken out of the deferred queue.
    pub deferred: Option<f64>,
    /// How near ours must come.
    pub matched: Match,
}

impl Row {
    /// As `--only` sees it.
    pub fn name(&self) -> String {
        format!("{} {} {} {}", self.instance, self.order, self.guide, self.priority)
    }
}

/// The rows of the tables.
pub fn rows() -> Result<Vec<Row>, BenchError> {
    lines(TABLE).map(|(n, fields)| row(&fields).ok_or_else(|| broken("published.tsv", n))).collect()
}

/// The lines below the heads, with their numbers.
fn lines(table: &'static str) -> impl Iterator<Item = (usize, Vec<&'static str>)> {
    let kept = table.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    kept.skip(1).map(|(n, line)| (n + 1, line.split('\t').collect()))
}

fn row(fields: &[&'static str]) -> Option<Row> {
    let [table, instance, order, guide, priority, explored, length, seconds, deferred, matched] = *fields
    else {
        return None;
    };
    Some(Row {
        table,
        instance,
        order,
        guide,
        priority,
        explored: number(explored)?,
        length: number(length)?,
        seconds: number(seconds)?,
        deferred: number(deferred)?,
        matched: match matched {
            "exact" => Match::Exact,
            "length" => Match::Length,
            "shape" => Match::Shape,
            _ => return None,
        },
    })
}

fn given(text: &'static str) -> Option<&'static str> {
    (text != "-").then_some(text)
}

/// What `-` or a number says; none where it is neither.
fn number<T: std::str::FromStr>(text: &'static str) -> Option<Option<T>> {
    match given(text) {
        None => Some(None),
        Some(text) => text.parse().ok().map(Some),
    }
}

fn broken(file: &str, line: usize) -> BenchError {
    BenchError::Internal(format!("{file}, line {line} is not as its head says"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_well_formed() {
        let rows = rows().expect("rows");
        let find = |name: &str| rows.iter().find(|row| row.name() == name).cloned().expect("there");
        let cell = find("A4 greedy du useless");
        assert_eq!((cell.explored, cell.length, cell.deferred), (Some(19035), Some(129), Some(0.973)));
        assert_eq!(find("A6 greedy hl none").explored, None);
        assert!(rows.iter().filter(|row| row.matched == Match::Exact).all(|row| row.explored.is_some()));
    }
}
