//! The suites: which model, which constants, which symmetry, and how many states and transitions there must be.

use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_lang::{Language, murphi};
use serde::Serialize;
use std::sync::OnceLock;

/// The table itself; its first lines describe the columns.
const TABLE: &str = include_str!("suites.tsv");

/// Models that are measured together.
#[derive(Clone, Debug)]
pub struct Suite {
    /// Its name on the command line.
    pub name: String,
    /// What it is for.
    pub about: String,
    /// Its models, in the order of the table.
    pub cases: Vec<Case>,
}

/// One model with its constants, and what is known about it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Case {
    /// Path inside the corpus; `models/NAME` is bundled.
    pub model: String,
    /// Constants that are given another value.
    pub constants: Vec<(String, i64)>,
    /// `off`, `heuristic` or `exact`.
    pub symmetry: String,
    /// `on` or `off`, as for `hadal check --deadlock`.
    pub deadlock: String,
    /// Whether peers are run on it: off where a peer would need hours.
    pub peers: bool,
    /// Distinct states of the complete exploration.
    pub states: u64,
    /// Transitions of the complete exploration, where they are known.
    pub transitions: Option<u64>,
    /// Who says so.
    pub source: String,
}

impl Case {
    /// How people call it: `mux/mcslock2 N=3 exact`. The folder tells models of one file name apart.
    pub fn name(&self) -> String {
        let path = self.model.trim_end_matches(".m").trim_end_matches(".dve").trim_end_matches(".mdve");
        let start = path.rmatch_indices('/').nth(1).map_or(0, |(slash, _)| slash + 1);
        let mut name = path[start..].to_owned();
        for (constant, value) in &self.constants {
            name.push_str(&format!(" {constant}={value}"));
        }
        if self.symmetry != "off" {
            name.push(' ');
            name.push_str(&self.symmetry);
        }
        name
    }

    /// Whether the model is part of the repository.
    pub fn is_bundled(&self) -> bool {
        self.model.starts_with(crate::bundled::FOLDER)
    }

    /// Whether peers that read Murphi can run it.
    pub fn is_murphi(&self) -> bool {
        Language::of(self.model.as_ref()).is_some_and(|language| *language == murphi::LANGUAGE)
    }
}

/// Every suite of the table.
pub fn all() -> Result<Vec<Suite>, BenchError> {
    parse(TABLE).map_err(|error| BenchError::Internal(format!("suites.tsv, {error}")))
}

/// The cases of a suite that `--only` leaves.
pub fn chosen(name: &str, args: &BenchArgs) -> Result<Vec<&'static Case>, BenchError> {
    static SUITES: OnceLock<Vec<Suite>> = OnceLock::new();
    let suites = match SUITES.get() {
        Some(suites) => suites,
        None => {
            let suites = all()?;
            SUITES.get_or_init(|| suites)
        }
    };
    let suite = suites.iter().find(|suite| suite.name == name).ok_or_else(|| {
        let known: Vec<_> = suites.iter().map(|suite| suite.name.as_str()).collect();
        BenchError::Usage(format!("there is no suite `{name}`; there are {}", known.join(", ")))
    })?;
    let only = args.chosen.only.as_deref();
    let cases: Vec<_> =
        suite.cases.iter().filter(|case| only.is_none_or(|text| case.name().contains(text))).collect();
    match only {
        Some(text) if cases.is_empty() => {
            Err(BenchError::Usage(format!("no model of the suite `{name}` has `{text}` in its name")))
        }
        _ => Ok(cases),
    }
}

/// Lines of `suite NAME ABOUT` open a suite; every other line is a case of the suite above it.
fn parse(table: &str) -> Result<Vec<Suite>, String> {
    let mut suites: Vec<Suite> = Vec::new();
    for (n, line) in table.lines().enumerate() {
        if line.trim().is_empty() || line.starts_with('#') {
            continue;
        }
        let fields: Vec<&str> = line.split('\t').map(str::trim).collect();
        let wrong = |what: &str| format!("line {}: {what}", n + 1);
        if fields[0] == "suite" {
            let [_, name, about] = fields[..] else { return Err(wrong("write suite, name, what it is for")) };
            suites.push(Suite { name: name.to_owned(), about: about.to_owned(), cases: Vec::new() });
            continue;
        }
        let suite = suites.last_mut().ok_or_else(|| wrong("a case before the first suite"))?;
        suite.cases.push(parse_case(&fields).map_err(|what| wrong(&what))?);
    }
    Ok(suites)
}

fn parse_case(fields: &[&str]) -> Result<Case, String> {
    let [model, constants, symmetry, deadlock, peers, states, transitions, source] = *fields else {
        return Err(format!("{} columns where there should be 8", fields.len()));
    };
    if !["off", "heuristic", "exact"].contains(&symmetry) {
        return Err(format!("`{symmetry}` is no symmetry"));
    }
    if let Some(other) = [deadlock, peers].iter().find(|text| !["on", "off"].contains(text)) {
        return Err(format!("deadlock and peers are on or off, not `{other}`"));
    }
    let number = |text: &str| text.parse::<u64>().map_err(|_| format!("`{text}` is no count"));
    Ok(Case {
        model: model.to_owned(),
        constants: parse_constants(constants)?,
        symmetry: symmetry.to_owned(),
        deadlock: deadlock.to_owned(),
        peers: peers == "on",
        states: number(states)?,
        transitions: if transitions == "-" { None } else { Some(number(transitions)?) },
        source: source.to_owned(),
    })
}

/// `N=4,M=2`, or `-` for none.
pub fn parse_constants(text: &str) -> Result<Vec<(String, i64)>, String> {
    if text == "-" {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|pair| {
            let (name, value) = pair.split_once('=').ok_or(format!("`{pair}` is not NAME=VALUE"))?;
            let value = value.parse().map_err(|_| format!("`{pair}` has no whole number"))?;
            Ok((name.to_owned(), value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn the_table_reads_and_names_every_case_once() {
        let suites = parse(TABLE).expect("the table is well formed");
        for name in ["quick", "small", "murphi", "dve", "instructions"] {
            let suite = suites.iter().find(|s| s.name == name).expect(name);
            assert!(!suite.cases.is_empty(), "{name} has no cases");
            let names: HashSet<_> = suite.cases.iter().map(Case::name).collect();
            assert_eq!(names.len(), suite.cases.len(), "{name} has a case twice");
        }
    }

    #[test]
    fn cases_of_the_large_suites_have_at_least_a_hundred_thousand_states() {
        let suites = parse(TABLE).expect("the table is well formed");
        for suite in suites.iter().filter(|s| s.name == "murphi" || s.name == "dve") {
            for case in &suite.cases {
                assert!(case.states >= 100_000, "{} is too small", case.name());
            }
        }
    }

    #[test]
    fn a_case_is_named_by_folder_file_constants_and_symmetry() {
        let fields =
            ["murphi/mux/mcslock2.m", "N=3,fast=1", "exact", "on", "off", "540219", "1620657", "file"];
        let case = parse_case(&fields).expect("well formed");
        assert_eq!(case.name(), "mux/mcslock2 N=3 fast=1 exact");
        assert!(case.is_murphi());
    }

    #[test]
    fn mistakes_in_the_table_are_named_with_their_line() {
        assert!(parse("a.m\t-\toff\ton\ton\t1\t2\tx").unwrap_err().contains("line 1"));
        let broken = "suite\ts\ttext\na.m\tN\toff\ton\ton\t1\t2\tx";
        assert!(parse(broken).unwrap_err().contains("line 2: `N` is not NAME=VALUE"));
        let broken = "suite\ts\ttext\na.m\t-\tsome\ton\ton\t1\t2\tx";
        assert!(parse(broken).unwrap_err().contains("`some` is no symmetry"));
    }
}
