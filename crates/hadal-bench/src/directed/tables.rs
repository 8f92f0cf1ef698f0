//! The tables that sum rows up: means and medians of configurations (4.4), and traffic of queues (4.5).

use super::Compared;
use super::published::{self, Mean, Traffic};
use crate::error::BenchError;
use hadal_check::units::{decimal, grouped};
use std::fmt::Write;

/// The instances of table 4.4.
const FAMILIES: [char; 5] = ['F', 'S', 'M', 'N', 'H'];

/// Table 4.4 over the instances that were run with every configuration of a group, for groups of which some were.
pub(super) fn means(rows: &[Compared]) -> Result<String, BenchError> {
    let published = published::means()?;
    let mut text = String::new();
    let heading = "\ntable 4.4: mean and median over the instances that all configurations of a group solved (theirs, ours)\n\
        order  guide priority                explored        ours   seconds    ours    length    ours  solved  ours\n";
    for group in published.chunk_by(|a, b| (a.order, a.guide) == (b.order, b.guide)) {
        let ours = |mean: &Mean| -> Vec<&Compared> {
            let same = |row: &&Compared| {
                let it = &row.published;
                (it.order, it.guide, it.priority, it.reduction)
                    == (mean.order, mean.guide, mean.priority, None)
                    && it.instance.starts_with(FAMILIES)
            };
            rows.iter().filter(same).filter(|row| row.explored.is_some()).collect()
        };
        let solved: Vec<Vec<&Compared>> = group.iter().map(ours).collect();
        let by_all = |row: &&Compared| {
            let instance = row.published.instance;
            solved.iter().all(|rows| rows.iter().any(|row| row.published.instance == instance))
        };
        if !solved[0].iter().any(by_all) {
            continue;
        }
        if text.is_empty() {
            text.push_str(heading);
        }
        for (mean, rows) in group.iter().zip(&solved) {
            let common: Vec<&Compared> = rows.iter().copied().filter(|row| by_all(row)).collect();
            let of = |value: fn(&Compared) -> Option<f64>| {
                middle(common.iter().filter_map(|row| value(row)).collect())
            };
            let explored = of(|row| row.explored.map(|count| count as f64));
            let (seconds, length) = (of(|row| row.seconds), of(|row| row.length.map(|steps| steps as f64)));
            for (n, what) in ["mean", "median"].into_iter().enumerate() {
                let pick = |values: [f64; 2]| decimal(Some(values[n]));
                let theirs = |at: usize| decimal(Some(mean.values[at + n]));
                let _ = writeln!(
                    text,
                    "{:6} {:5} {:21} {:>10} {:>10} {:>9} {:>7} {:>9} {:>7} {:>7} {:>5}  {what}",
                    mean.order,
                    mean.guide,
                    mean.priority,
                    theirs(0),
                    pick(explored),
                    theirs(2),
                    pick(seconds),
                    theirs(4),
                    pick(length),
                    mean.solved,
                    rows.len()
                );
            }
        }
    }
    Ok(text)
}

/// Mean and median.
fn middle(mut values: Vec<f64>) -> [f64; 2] {
    values.sort_by(f64::total_cmp);
    let count = values.len();
    if count == 0 {
        return [0.0; 2];
    }
    let median = (values[(count - 1) / 2] + values[count / 2]) / 2.0;
    [values.iter().sum::<f64>() / count as f64, median]
}

/// Table 4.5 for the families of which rows were run.
pub(super) fn traffic(rows: &[Compared]) -> Result<String, BenchError> {
    let mut text = String::new();
    for published in published::traffic()? {
        let lines = traffic_of(&published, rows);
        if !lines.is_empty() && text.is_empty() {
            text.push_str(
                "\ntable 4.5: mean entries put into and taken out of each queue, and switches of context\n",
            );
        }
        text.push_str(&lines);
    }
    Ok(text)
}

fn traffic_of(published: &Traffic, rows: &[Compared]) -> String {
    let Traffic { order, guide, family, context, useless, switches } = *published;
    let of = |priority: &str| -> Vec<&Compared> {
        let same = |row: &&Compared| {
            let it = &row.published;
            (it.order, it.guide, it.priority) == (order, guide, priority) && it.instance.starts_with(family)
        };
        rows.iter().filter(same).filter(|row| row.explored.is_some()).collect()
    };
    let mut text = String::new();
    for (priority, theirs) in [("context", context), ("useless", useless)] {
        let rows = of(priority);
        if let Some(theirs) = theirs
            && !rows.is_empty()
        {
            let ours = queues(&rows);
            let _ = writeln!(text, "{order:6} {guide:5} {family} {priority:21} theirs {theirs}; ours {ours}");
        }
    }
    for (priority, theirs) in ["bound-process", "bound-interference:2"].into_iter().zip(switches) {
        let switches: Vec<f64> = of(priority).iter().filter_map(|row| Some(row.switches? as f64)).collect();
        if let Some(theirs) = theirs
            && !switches.is_empty()
        {
            let ours = decimal(Some(middle(switches)[0]));
            let _ = writeln!(
                text,
                "{order:6} {guide:5} {family} {priority:21} theirs {theirs} switches; ours {ours}"
            );
        }
    }
    text
}

/// Mean traffic, queue by queue.
fn queues(rows: &[&Compared]) -> String {
    let count = rows.iter().map(|row| row.queues.len()).max().unwrap_or(0);
    let mean = |of: &dyn Fn(&(u64, u64)) -> u64, queue: usize| {
        rows.iter().filter_map(|row| row.queues.get(queue)).map(of).sum::<u64>() / rows.len() as u64
    };
    let each =
        (0..count).map(|n| format!("{}/{}", grouped(mean(&|it| it.0, n)), grouped(mean(&|it| it.1, n))));
    each.collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        assert_eq!(middle(vec![4.0, 1.0, 2.0, 9.0]), [4.0, 3.0]);
        assert_eq!(middle(vec![5.0]), [5.0, 5.0]);
    }
}
