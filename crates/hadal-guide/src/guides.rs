//! Every guide as data: what `--guide` may name, what it says in one line, what it promises, how it is made.
//!
//! The command line, its help, the documents' table and the tests read this. A new guide is a file in
//! [`estimate`](crate::estimate) and one entry here.

use crate::GuideError;
use crate::estimate::active::{Active, Measure};
use crate::estimate::causal;
use crate::estimate::combined::GreatestOf;
use crate::estimate::expression::Expression;
use crate::estimate::formula::{Combine, Graphs, Other, Shape};
use crate::estimate::hamming::Hamming;
use crate::estimate::pattern::Patterns;
use crate::estimate::relaxed::{Kind, Supporter};
use crate::registry::Prepared;
use hadal_system::guide::Blind;
use hadal_system::guide::Guide;
use std::fmt;

/// What is known of a guide.
#[derive(Debug)]
pub struct GuideInfo {
    /// As it is typed.
    pub name: &'static str,
    /// How it is typed with what it takes, where it takes something.
    pub spelling: Option<&'static str>,
    /// What its numbers are, in one line.
    pub help: &'static str,
    /// What can be relied on.
    pub claims: Claims,
    /// What of it a resumed run finds again.
    pub resumes: Kept,
    make: Make,
}

/// What a guide leaves in the folder of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Nothing: it is made again.
    Nothing,
    /// Tables that do not fit in memory; whole ones are taken up again.
    Tables,
    /// What the guides that it is made from leave.
    OfItsParts,
}

/// When a promise holds, in a model without symmetry and where all that is looked for is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Claim {
    /// Always.
    Yes,
    /// Never.
    No,
    /// Where nothing but deadlocks is looked for.
    ForDeadlocks,
    /// Where it holds of every guide that it is made from.
    IfAllDo,
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Claim::Yes => "yes",
            Claim::No => "no",
            Claim::ForDeadlocks => "for deadlocks",
            Claim::IfAllDo => "if all are",
        })
    }
}

/// What a guide promises, as [`hadal_system::guide::Promises`] explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Claims {
    /// Never more than the distance.
    pub admissible: Claim,
    /// A transition lowers it by at most its cost.
    pub consistent: Claim,
    /// Infinity is a proof.
    pub safe: Claim,
    /// Disabling transitions never makes it smaller.
    pub monotone: Claim,
}

/// A lower bound of which everything holds.
const BOUND: Claims =
    Claims { admissible: Claim::Yes, consistent: Claim::Yes, safe: Claim::Yes, monotone: Claim::Yes };
/// No lower bound, and a proof where it is infinite.
const SAFE: Claims = Claims { admissible: Claim::No, consistent: Claim::No, ..BOUND };
/// The same, and smaller where transitions are disabled.
const UNSTEADY: Claims = Claims { monotone: Claim::No, ..SAFE };
/// Nothing.
const NOTHING: Claims = Claims { safe: Claim::No, ..UNSTEADY };

/// What a guide is made from.
pub(crate) struct Request<'p, 'm> {
    pub(crate) prepared: &'p Prepared<'m>,
    /// The name as it was typed, and what stood with it.
    pub(crate) name: &'p str,
    pub(crate) argument: &'p str,
    /// Whether its values are cached.
    pub(crate) cache: bool,
}

type Made<'m> = Result<Box<dyn Guide + 'm>, GuideError>;
type Make = for<'p, 'm> fn(Request<'p, 'm>) -> Made<'m>;

/// Every guide, in the order of docs/guides.md.
pub static GUIDES: &[GuideInfo] = &[
    plain("auto", "chosen by what is known of the model", NOTHING, |it| {
        it.prepared.make(it.prepared.choose().name, it.cache)
    }),
    plain("blind", "0 everywhere", BOUND, |_| Ok(Box::new(Blind))),
    plain("hamming", "bits that differ from the nearest goal", SAFE, |it| {
        Ok(it.prepared.focusing(|task| Box::new(Hamming::new(task.clone()))))
    }),
    plain("formula", "unmet parts of the goal, added up; distances for locations", SAFE, |it| {
        it.structural(Other::One, Graphs::Locations, Combine::Sum)
    }),
    plain("formula:max", "the greatest of them", BOUND, |it| {
        it.structural(Other::One, Graphs::Locations, Combine::Greatest)
    }),
    plain("dl", "greatest distance of a process to its goal location (d^L)", BOUND, |it| {
        it.structural(Other::Nothing, Graphs::Locations, Combine::Greatest)
    }),
    plain("dl:all", "the same over all variables", BOUND, |it| {
        it.structural(Other::Nothing, Graphs::All, Combine::Greatest)
    }),
    plain("du", "sum of these distances (d^U)", SAFE, |it| {
        it.structural(Other::Nothing, Graphs::Locations, Combine::Sum)
    }),
    plain("du:all", "the same over all variables", SAFE, |it| {
        it.structural(Other::Nothing, Graphs::All, Combine::Sum)
    }),
    plain(
        "control",
        "half of du, rounded up: a step of two processes counts for both (FSM distance)",
        SAFE,
        |it| {
            let shape = it.shape(Other::Nothing, Graphs::Locations, Combine::Sum);
            it.prepared.structural(Shape { divisor: 2, ..shape })
        },
    ),
    plain("hl", "rounds until values that only accumulate contain it (h^L)", BOUND, |it| {
        it.relaxed(Kind::Rounds)
    }),
    plain("hmax", "another name of hl", BOUND, |it| it.relaxed(Kind::Rounds)),
    plain("hu", "transitions of a trace of that kind (h^U), first supporters", UNSTEADY, |it| {
        it.relaxed(Kind::Trace(Supporter::First))
    }),
    plain("hff", "another name of hu", UNSTEADY, |it| it.relaxed(Kind::Trace(Supporter::First))),
    plain("hu:sum", "the same with supporters whose needs appear earliest", UNSTEADY, |it| {
        it.relaxed(Kind::Trace(Supporter::Cheapest))
    }),
    plain("hff:add", "the same with the supporters of hadd", UNSTEADY, |it| it.relaxed(Kind::SumTrace)),
    plain("hadd", "as hl, needs paid for one by one", SAFE, |it| it.relaxed(Kind::Sum)),
    plain(
        "hcg",
        "each variable's own way, with what it needs of variables before it (causal graph)",
        NOTHING,
        |it| it.prepared.causal(it.name, causal::Kind::CausalGraph, it.cache),
    ),
    plain(
        "hcea",
        "the same for all variables at once, from where each step left the others",
        NOTHING,
        |it| it.prepared.causal(it.name, causal::Kind::ContextEnhanced, it.cache),
    ),
    GuideInfo {
        resumes: Kept::Tables,
        ..plain("pdb", "true distances in projections, chosen by hadal", BOUND, |it| {
            it.prepared.patterns(None)
        })
    },
    GuideInfo {
        name: "pdb:",
        spelling: Some("pdb:NAMES"),
        help: "the same, with the variables of each: `pdb:a,b;c`",
        claims: BOUND,
        resumes: Kept::Tables,
        make: |it| {
            let (task, room) = (it.prepared.task().clone(), it.prepared.room());
            Ok(Box::new(Patterns::given(it.prepared.model(), task, it.argument, room)?))
        },
    },
    GuideInfo {
        name: "pdb=",
        spelling: Some("pdb=SIZE"),
        help: "the same, of at most so many states: `pdb=64M`",
        claims: BOUND,
        resumes: Kept::Tables,
        make: |it| {
            let states = count(it.argument);
            let states = states.ok_or_else(|| malformed(it.name, "a number of states is wanted: 64M"))?;
            it.prepared.patterns(Some(states))
        },
    },
    plain("active", "processes that can do something: for deadlocks", UNSTEADY, |it| {
        Ok(Box::new(Active::new(it.prepared.model(), it.prepared.goal(), Measure::Count)))
    }),
    plain(
        "active:bound",
        "the same divided by what one step can block",
        Claims { admissible: Claim::ForDeadlocks, consistent: Claim::ForDeadlocks, ..UNSTEADY },
        |it| Ok(Box::new(Active::new(it.prepared.model(), it.prepared.goal(), Measure::Bound))),
    ),
    GuideInfo {
        name: "expr:",
        spelling: Some("expr:TEXT"),
        help: "the value of an expression over the state",
        claims: SAFE,
        resumes: Kept::Nothing,
        make: |it| Ok(Box::new(Expression::parse(it.prepared.model(), it.argument)?)),
    },
    GuideInfo {
        name: "max(",
        spelling: Some("max(a, b)"),
        help: "the greatest of several",
        claims: Claims {
            admissible: Claim::IfAllDo,
            consistent: Claim::IfAllDo,
            safe: Claim::IfAllDo,
            monotone: Claim::IfAllDo,
        },
        resumes: Kept::OfItsParts,
        make: |it| {
            let inside = it.argument.strip_suffix(')');
            let parts = inside.and_then(split);
            let parts = parts.ok_or_else(|| malformed(it.name, "a bracket is not closed"))?;
            let guides: Result<Vec<_>, _> =
                parts.into_iter().map(|part| it.prepared.make(part, it.cache)).collect();
            Ok(Box::new(GreatestOf::new(guides?)))
        },
    },
];

/// A guide that takes nothing.
const fn plain(name: &'static str, help: &'static str, claims: Claims, make: Make) -> GuideInfo {
    GuideInfo { name, spelling: None, help, claims, resumes: Kept::Nothing, make }
}

/// The names that stand for a guide by themselves.
pub fn names() -> impl Iterator<Item = &'static str> {
    GUIDES.iter().filter(|info| info.spelling.is_none()).map(|info| info.name)
}

/// All names, with what they take: `auto, blind, pdb:NAMES` and so on.
pub fn list() -> String {
    GUIDES.iter().map(GuideInfo::spelling).collect::<Vec<_>>().join(", ")
}

impl GuideInfo {
    /// The guide that a name begins with, and what stands with it.
    pub fn named(text: &str) -> Option<(&'static GuideInfo, &str)> {
        let whole = GUIDES.iter().find(|info| info.spelling.is_none() && info.name == text);
        let begins = |info: &&GuideInfo| info.spelling.is_some() && text.starts_with(info.name);
        whole.or_else(|| GUIDES.iter().find(begins)).map(|info| (info, &text[info.name.len()..]))
    }

    /// As it is typed, with what it takes.
    pub fn spelling(&self) -> &'static str {
        self.spelling.unwrap_or(self.name)
    }

    pub(crate) fn make<'m>(&self, request: Request<'_, 'm>) -> Made<'m> {
        (self.make)(request)
    }
}

impl<'m> Request<'_, 'm> {
    fn shape(&self, other: Other, graphs: Graphs, combine: Combine) -> Shape {
        // Only names of the table come here.
        let name = GuideInfo::named(self.name).map_or("", |(info, _)| info.name);
        Shape { name, other, graphs, combine, divisor: 1 }
    }

    fn structural(&self, other: Other, graphs: Graphs, combine: Combine) -> Made<'m> {
        self.prepared.structural(self.shape(other, graphs, combine))
    }

    fn relaxed(&self, kind: Kind) -> Made<'m> {
        let name = GuideInfo::named(self.name).map_or("", |(info, _)| info.name);
        self.prepared.relaxed(name, kind, self.cache)
    }
}

/// A number, in thousands, millions or thousands of millions where a letter says so.
fn count(text: &str) -> Option<u64> {
    let (digits, unit) = match text.trim().char_indices().last()? {
        (at, 'k' | 'K') => (&text.trim()[..at], 1_000),
        (at, 'M') => (&text.trim()[..at], 1_000_000),
        (at, 'G') => (&text.trim()[..at], 1_000_000_000),
        _ => (text.trim(), 1),
    };
    digits.parse::<u64>().ok()?.checked_mul(unit).filter(|&count| count > 0)
}

/// The parts between commas outside brackets.
fn split(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (at, c) in text.char_indices() {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => depth = depth.checked_sub(1)?,
            ',' if depth == 0 => {
                parts.push(&text[from..at]);
                from = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[from..]);
    (depth == 0).then_some(parts)
}

pub(crate) fn malformed(name: &str, reason: &str) -> GuideError {
    GuideError::Malformed { name: name.into(), reason: reason.into() }
}

pub(crate) fn unknown(name: &str) -> GuideError {
    GuideError::Unknown { name: name.into(), known: list() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// docs/guides.md has a row for every guide but `auto`, names none that does not exist, and says of each what it
    /// promises and what it keeps.
    #[test]
    fn the_document_has_a_row_for_every_guide() {
        let text = include_str!("../../../docs/guides.md");
        let rows = text.lines().skip_while(|line| !line.starts_with("| name |")).skip(2);
        let mut told = BTreeMap::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            let cells: Vec<String> = row.split('|').map(|cell| cell.trim().replace("**", "")).collect();
            for name in cells[1].split('`').skip(1).step_by(2) {
                told.insert(name.to_owned(), cells[2..7].to_vec());
            }
        }
        let known = GUIDES.iter().filter(|info| info.name != "auto").map(|info| {
            let Claims { admissible, consistent, safe, monotone } = info.claims;
            let claims = [admissible, consistent, safe, monotone].map(|claim| claim.to_string());
            let kept = match info.resumes {
                Kept::Nothing => "no",
                Kept::Tables => "tables",
                Kept::OfItsParts => "of its parts",
            };
            (info.spelling().to_owned(), [&claims[..], &[kept.to_owned()]].concat())
        });
        assert_eq!(told, known.collect());
    }

    #[test]
    fn a_name_is_itself_or_begins_with_what_takes_something() {
        assert_eq!(GuideInfo::named("pdb").map(|(info, rest)| (info.name, rest)), Some(("pdb", "")));
        assert_eq!(GuideInfo::named("pdb:a,b").map(|(info, rest)| (info.name, rest)), Some(("pdb:", "a,b")));
        assert_eq!(GuideInfo::named("dl:all").map(|(info, rest)| (info.name, rest)), Some(("dl:all", "")));
        assert!(GuideInfo::named("dl:none").is_none() && GuideInfo::named("hm").is_none());
        let names: Vec<&str> = names().collect();
        assert!(names.contains(&"hadd") && !names.contains(&"max("));
    }
}
