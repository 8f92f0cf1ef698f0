//! The tables of directed searches as data: Wehrle's (2011) rows.

use crate::error::BenchError;
use serde::Serialize;

const TABLE: &str = include_str!("published.tsv");
const MEANS: &str = include_str!("means.tsv");
const QUEUES: &str = include_str!("queues.tsv");

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
    /// `safe` with `--safe-abstraction`; none without.
    pub reduction: Option<&'static str>,
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
        let reduction = self.reduction.map(|name| format!(" {name}")).unwrap_or_default();
        format!("{} {} {} {}{reduction}", self.instance, self.order, self.guide, self.priority)
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
    let [table, instance, order, guide, priority, reduction, explored, length, seconds, deferred, matched] =
        *fields
    else {
        return None;
    };
    Some(Row {
        table,
        instance,
        order,
        guide,
        priority,
        reduction: given(reduction),
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

/// A row of table 4.4: what a configuration came to over the instances that its whole group solved.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    pub order: &'static str,
    pub guide: &'static str,
    pub priority: &'static str,
    /// Mean and median of states taken out, seconds, and steps of the trace.
    pub values: [f64; 6],
    /// Instances solved.
    pub solved: u64,
}

/// The rows of table 4.4.
pub fn means() -> Result<Vec<Mean>, BenchError> {
    let mean = |fields: &[&'static str]| {
        let [order, guide, priority, values @ .., solved] = fields else { return None };
        let values: Vec<f64> = values.iter().map(|value| value.parse().ok()).collect::<Option<_>>()?;
        let (values, solved) = (values.try_into().ok()?, solved.parse().ok()?);
        Some(Mean { order, guide, priority, values, solved })
    };
    lines(MEANS).map(|(n, fields)| mean(&fields).ok_or_else(|| broken("means.tsv", n))).collect()
}

/// A row of table 4.5: mean traffic of the queues of a family, as it is printed: put in and taken out, queue by queue.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Traffic {
    pub order: &'static str,
    pub guide: &'static str,
    pub family: &'static str,
    /// With contexts.
    pub context: Option<&'static str>,
    /// With useless transitions.
    pub useless: Option<&'static str>,
    /// Switches of context at the error, by processes and by interference.
    pub switches: [Option<&'static str>; 2],
}

/// The rows of table 4.5.
pub fn traffic() -> Result<Vec<Traffic>, BenchError> {
    let traffic = |fields: &[&'static str]| {
        let [order, guide, family, context, useless, processes, interference] = *fields else { return None };
        let switches = [processes, interference].map(given);
        Some(Traffic { order, guide, family, context: given(context), useless: given(useless), switches })
    };
    lines(QUEUES).map(|(n, fields)| traffic(&fields).ok_or_else(|| broken("queues.tsv", n))).collect()
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
        assert_eq!(find("S5 greedy hcg none safe").explored, Some(7247));
        assert_eq!((means().expect("means").len(), traffic().expect("traffic").len()), (28, 15));
        assert!(rows.iter().filter(|row| row.matched == Match::Exact).all(|row| row.explored.is_some()));
    }
}
