//! The questions of the suite, and what is known of their answers.

use crate::error::BenchError;

const CASES: &str = include_str!("cases.tsv");
const PRODUCTS: &str = include_str!("products.tsv");

/// A question with what is known of the answer.
#[derive(Clone, Debug)]
pub(super) struct Case {
    pub part: String,
    pub model: String,
    pub flags: Vec<String>,
    pub answer: Option<String>,
    /// The most steps of a trace, stem and loop together.
    pub longest: Option<u64>,
    pub states: Option<u64>,
    /// What another tool is asked.
    pub peer: Option<String>,
}

impl Case {
    /// What contradicts what is known. Being stopped contradicts nothing.
    pub fn wrong(&self, verdict: &str, states: u64, trace: Option<u64>) -> Option<String> {
        if verdict == "stopped" {
            return None;
        }
        if let Some(answer) = self.answer.as_deref().filter(|answer| *answer != verdict) {
            return Some(format!("{answer} is known"));
        }
        if let (Some(known), "holds") = (self.states.filter(|known| *known != states), verdict) {
            return Some(format!("{known} states are known"));
        }
        let longest = self.longest.filter(|longest| trace.is_some_and(|trace| trace > *longest))?;
        Some(format!("{longest} steps are published"))
    }
}

/// All cases: those of the table, then the products.
pub(super) fn cases() -> Result<Vec<Case>, BenchError> {
    let some = |cell: &str| (cell != "-").then(|| cell.to_owned());
    let number = |cell: &str| cell.parse().ok();
    let broken = |line: &str| BenchError::Internal(format!("a table of the suite has the line `{line}`"));
    let mut cases = Vec::new();
    for line in CASES.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[part, model, flags, answer, longest, states, peer] = cells.as_slice() else {
            return Err(broken(line));
        };
        cases.push(Case {
            part: part.into(),
            model: model.into(),
            flags: flags.split_whitespace().map(str::to_owned).collect(),
            answer: some(answer),
            longest: number(longest),
            states: number(states),
            peer: some(peer),
        });
    }
    for line in PRODUCTS.lines().skip(1) {
        let cells: Vec<&str> = line.split('\t').collect();
        let &[model, answer, states] = cells.as_slice() else { return Err(broken(line)) };
        cases.push(Case {
            part: "product".into(),
            model: format!("dve/ltl/{model}.dve"),
            flags: vec!["--deadlock".into(), "off".into()],
            answer: some(answer),
            longest: None,
            states: number(states),
            peer: None,
        });
    }
    Ok(cases)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_tables_are_read() {
        let cases = cases().expect("tables without mistakes");
        assert_eq!(cases.iter().filter(|case| case.part == "product").count(), 122);
        assert!(cases.iter().any(|case| case.part == "lasso" && case.longest == Some(198)));
        let reduced = cases.iter().filter(|case| case.part == "reduced");
        assert!(reduced.clone().count() > 0);
        assert!(reduced.clone().all(|case| case.flags.contains(&"--por".into())));
    }

    #[test]
    fn what_contradicts_the_table_is_wrong() {
        let mut case = cases().expect("tables without mistakes").remove(0);
        (case.answer, case.longest, case.states) = (Some("violated".into()), Some(20), Some(7));
        assert_eq!(case.wrong("violated", 3, Some(20)), None);
        assert_eq!(case.wrong("stopped", 3, None), None);
        assert!(case.wrong("violated", 3, Some(21)).is_some());
        assert!(case.wrong("holds", 7, None).is_some());
        case.answer = None;
        assert!(case.wrong("holds", 8, None).is_some());
    }
}
