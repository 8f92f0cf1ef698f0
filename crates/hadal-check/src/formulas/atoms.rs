//! The propositions of formulas: expressions of the model's language.

use super::ReadModel;
use hadal_ltl::{AtomError, Atoms};
use hadal_system::System;
use std::collections::HashMap;

/// How much of a formula is one expression of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Maximal,
    AtEveryOperator,
}

/// The propositions of all formulas, each once.
pub(super) struct Expressions<'s> {
    system: &'s System,
    single_operators: bool,
    cut: Cut,
    pub(super) texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl<'s> Expressions<'s> {
    pub(super) fn new(plain: &'s ReadModel, cut: Cut) -> Self {
        Expressions {
            system: &plain.system,
            single_operators: plain.language.name == "Murphi",
            cut,
            texts: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Whether a Boolean operator of formulas stands in it.
    fn has_operator(&self, text: &str) -> bool {
        let words = ["and", "or", "not", "imply", "implies"];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let arrow = text.match_indices("->").any(|(at, _)| {
            let owner = text[..at].rsplit(|c: char| !is_part(c)).next().unwrap_or("");
            !self.joins(owner, "")
        });
        arrow
            || text.split(|c: char| !is_part(c)).any(|word| words.contains(&word))
            || text.contains("&&")
            || text.contains("||")
            || text.replace("!=", "").contains('!')
    }

    pub(super) fn number(&mut self, text: &str) -> u32 {
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.texts.push(text.to_owned());
        }
        number
    }
}

impl Atoms for Expressions<'_> {
    fn atom(&mut self, text: &str) -> Result<u32, AtomError> {
        if self.cut == Cut::AtEveryOperator && self.has_operator(text) {
            return Err(AtomError {
                message: "this is not one expression of the model".into(),
                at: 0..text.len(),
            });
        }
        if self.texts.len() == 64 && !self.numbers.contains_key(text) {
            return Err(AtomError { message: "more than 64 propositions".into(), at: 0..text.len() });
        }
        Ok(self.number(text))
    }

    fn declares(&self, word: &str) -> bool {
        let named = |name: &str| name == word || name.rsplit('.').next() == Some(word);
        self.system.variables.iter().any(|variable| named(&variable.name))
            || self.system.processes.iter().any(|process| process.name == word)
            || self.system.functions.iter().any(|function| function.name == word)
    }

    fn joins(&self, before: &str, _after: &str) -> bool {
        self.system.processes.iter().any(|process| process.name == before)
    }

    fn has_single_operators(&self) -> bool {
        self.single_operators
    }
}
