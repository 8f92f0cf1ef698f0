//! The questions of `hadal bench find` as data, and which half of the families each belongs to.

use crate::error::BenchError;
use crate::suite::Case;
use hadal_system::random::SplitMix;
use serde::Serialize;

const TABLE: &str = include_str!("questions.tsv");

/// What exhaustive search says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Truth {
    /// Something wrong, or the goal, can be reached.
    Error,
    /// Nothing can.
    Holds,
}

/// A half of the families.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Half {
    /// Defaults are chosen on these families.
    Tuning,
    /// Nothing is chosen on these.
    HeldOut,
}

impl Half {
    /// As the tables name it.
    pub fn name(self) -> &'static str {
        match self {
            Half::Tuning => "tuning",
            Half::HeldOut => "held out",
        }
    }
}

/// A question about a public model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Question {
    /// Path inside the corpus.
    pub model: &'static str,
    /// What is looked for, where it is not everything.
    pub property: Option<&'static str>,
    /// The answer.
    pub truth: Truth,
}

impl Question {
    /// The folder of its model: instances of one model, and models of one author, lie together.
    pub fn family(&self) -> &'static str {
        self.model.rsplit('/').nth(1).unwrap_or(self.model)
    }

    /// The half of its family: a bit of the hash of the family's name (FNV-1a, mixed).
    pub fn half(&self) -> Half {
        let hash = self.family().bytes().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        if SplitMix::new(hash).bits() & 1 == 0 { Half::Tuning } else { Half::HeldOut }
    }

    /// How it is run.
    pub fn case(&self) -> Case {
        Case {
            model: self.model.to_owned(),
            constants: Vec::new(),
            symmetry: "auto".into(),
            deadlock: if self.property.is_some() { "off".into() } else { "on".into() },
            peers: false,
            states: 0,
            transitions: None,
            source: String::new(),
        }
    }

    /// How people call it.
    pub fn name(&self) -> String {
        let case = self.case().name();
        let case = case.trim_end_matches(" auto");
        self.property.map_or(case.to_owned(), |property| format!("{case} {property}"))
    }
}

/// Every question, in the order of the table.
pub fn all() -> Result<Vec<Question>, BenchError> {
    let lines = TABLE.lines().enumerate().filter(|(_, line)| !line.starts_with('#') && !line.is_empty());
    let broken =
        |n: usize| BenchError::Internal(format!("questions.tsv, line {} is not as its head says", n + 1));
    lines.skip(1).map(|(n, line)| parse(line).ok_or_else(|| broken(n))).collect()
}

fn parse(line: &'static str) -> Option<Question> {
    let mut fields = line.split('\t');
    let (model, property, truth) = (fields.next()?, fields.next()?, fields.next()?);
    let truth = match truth {
        "error" => Truth::Error,
        "holds" => Truth::Holds,
        _ => return None,
    };
    fields.next().is_none().then_some(Question {
        model,
        property: Some(property).filter(|name| *name != "-"),
        truth,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_family_is_in_one_half_and_both_halves_have_enough() {
        let questions = all().expect("the table");
        let mut families: BTreeMap<Half, Vec<&str>> = BTreeMap::new();
        for question in &questions {
            families.entry(question.half()).or_default().push(question.family());
        }
        for (half, names) in &mut families {
            names.sort_unstable();
            names.dedup();
            let of = |truth| questions.iter().filter(|q| q.half() == *half && q.truth == truth).count();
            assert!(names.len() >= 12 && of(Truth::Error) >= 30 && of(Truth::Holds) >= 12, "{half:?}");
        }
        assert_eq!(families.len(), 2);
    }

    #[test]
    fn a_question_reads_as_people_call_it() {
        let question = parse("dve/adding/adding.1.dve\tprop1\terror").expect("a line");
        assert_eq!((question.name().as_str(), question.family()), ("adding/adding.1 prop1", "adding"));
        assert_eq!(parse("dve/adding/adding.1.dve\tprop1\tmaybe"), None);
    }
}
