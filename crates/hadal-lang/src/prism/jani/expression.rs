//! Names and expressions of JANI in PRISM's language.

use super::{Read, wrong};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};

/// Words that are no names in PRISM's language.
const WORDS: [&str; 46] = [
    "A",
    "bool",
    "clock",
    "const",
    "ctmc",
    "C",
    "double",
    "dtmc",
    "E",
    "endinit",
    "endinvariant",
    "endmodule",
    "endrewards",
    "endsystem",
    "false",
    "formula",
    "filter",
    "func",
    "F",
    "global",
    "G",
    "init",
    "invariant",
    "I",
    "int",
    "label",
    "max",
    "mdp",
    "min",
    "module",
    "X",
    "nondeterministic",
    "P",
    "Pmin",
    "Pmax",
    "prob",
    "pta",
    "rate",
    "rewards",
    "R",
    "S",
    "stochastic",
    "system",
    "true",
    "U",
    "W",
];

/// A name with nothing in it but letters, digits and underscores.
pub(super) fn plain(name: &str) -> String {
    let mut plain: String =
        name.chars().map(|c| if c.is_ascii_alphanumeric() || c == '_' { c } else { '_' }).collect();
    let functions = ["floor", "ceil", "round", "pow", "mod", "log"];
    if plain.is_empty() || plain.starts_with(|c: char| c.is_ascii_digit()) {
        plain.insert(0, '_');
    }
    if WORDS.contains(&plain.as_str()) || functions.contains(&plain.as_str()) {
        plain.push('_');
    }
    plain
}

/// What names stand for.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    names: BTreeMap<String, String>,
}

impl Scope {
    /// Gives a name one that nobody else has.
    pub fn declare(&mut self, name: &str, prefix: &str, taken: &mut BTreeSet<String>) -> String {
        let mut fresh = plain(name);
        if taken.contains(&fresh) && !prefix.is_empty() {
            fresh = format!("{prefix}_{fresh}");
        }
        let first = fresh.clone();
        let mut n = 1;
        while !taken.insert(fresh.clone()) {
            n += 1;
            fresh = format!("{first}_{n}");
        }
        self.names.insert(name.to_owned(), fresh.clone());
        fresh
    }

    pub fn name(&self, name: &str, place: &str) -> Read<&str> {
        match self.names.get(name) {
            Some(name) => Ok(name),
            None => wrong(place, format!("`{name}` is not declared")),
        }
    }

    /// An expression, in parentheses where it needs them.
    pub fn expression(&self, value: &Value, place: &str) -> Read<String> {
        Ok(match value {
            Value::Number(number) => number.to_string(),
            Value::Bool(truth) => truth.to_string(),
            Value::String(name) => self.name(name, place)?.to_owned(),
            Value::Object(_) => self.operation(value, place)?,
            other => return wrong(place, format!("{other} is no expression")),
        })
    }

    fn operation(&self, value: &Value, place: &str) -> Read<String> {
        let Some(op) = value["op"].as_str() else {
            return wrong(place, format!("{value} is no expression that is supported"));
        };
        let part = |name: &str| self.expression(&value[name], place);
        let infix = match op {
            "∨" => "|",
            "∧" => "&",
            "⇒" => "=>",
            "⇔" => "<=>",
            "=" => "=",
            "≠" => "!=",
            "≤" => "<=",
            "≥" => ">=",
            "<" | ">" | "+" | "-" | "*" | "/" => op,
            _ => "",
        };
        if !infix.is_empty() {
            return Ok(format!("(({}) {infix} ({}))", part("left")?, part("right")?));
        }
        Ok(match op {
            "¬" => format!("!({})", part("exp")?),
            "ite" => format!("(({}) ? ({}) : ({}))", part("if")?, part("then")?, part("else")?),
            "%" => format!("mod({}, {})", part("left")?, part("right")?),
            "min" | "max" | "pow" | "log" => format!("{op}({}, {})", part("left")?, part("right")?),
            "floor" | "ceil" => format!("{op}({})", part("exp")?),
            "abs" => format!("max({0}, 0 - ({0}))", part("exp")?),
            "sgn" => format!("(({0}) > 0 ? 1 : (({0}) < 0 ? 0 - 1 : 0))", part("exp")?),
            "trc" => format!("(({0}) < 0 ? ceil({0}) : floor({0}))", part("exp")?),
            other => return wrong(place, format!("the operator `{other}` is not supported")),
        })
    }
}
