//! The propositions of formulas: expressions of the model's language.

use super::ReadModel;
use hadal_ltl::{AtomError, Atoms};
use hadal_system::System;
use std::collections::HashMap;

/// The most propositions of one formula.
const MOST: u32 = 64;

/// How much of a formula is one expression of the model.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Cut {
    Maximal,
    AtEveryOperator,
}

/// The propositions of all formulas, each once.
pub(super) struct Expressions<'s> {
    system: &'s System,
    language: &'static str,
    cut: Cut,
    pub(super) texts: Vec<String>,
    numbers: HashMap<String, usize>,
    /// Those of the formula at hand, by their numbers in it.
    own: Vec<usize>,
}

impl<'s> Expressions<'s> {
    pub(super) fn new(plain: &'s ReadModel, cut: Cut) -> Self {
        Expressions {
            system: &plain.system,
            language: plain.language.name,
            cut,
            texts: Vec::new(),
            numbers: HashMap::new(),
            own: Vec::new(),
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

    /// The number of a proposition in the formula at hand.
    pub(super) fn number(&mut self, text: &str) -> u32 {
        let next = self.texts.len();
        let number = *self.numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.texts.push(text.to_owned());
        }
        let own = self.own.iter().position(|&it| it == number).unwrap_or_else(|| {
            self.own.push(number);
            self.own.len() - 1
        });
        own as u32
    }

    /// Ends a formula: the positions of its propositions among all.
    pub(super) fn finish(&mut self) -> Vec<usize> {
        std::mem::take(&mut self.own)
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
        match self.number(text) {
            MOST.. => Err(AtomError { message: format!("more than {MOST} propositions"), at: 0..text.len() }),
            number => Ok(number),
        }
    }

    fn declares(&self, word: &str) -> bool {
        let named = |name: &str| name == word || name.rsplit('.').next() == Some(word);
        self.system.variables.iter().any(|variable| named(&variable.name))
            || self.system.processes.iter().any(|process| process.name == word)
            || self.system.functions.iter().any(|function| function.name == word)
    }

    /// SPIN's formulas know no letters but these.
    fn prefers_name(&self, word: &str) -> bool {
        self.language == "Promela" && !["U", "V", "W", "X"].contains(&word)
    }

    fn joins(&self, before: &str, _after: &str) -> bool {
        self.system.processes.iter().any(|process| process.name == before)
    }

    fn has_single_operators(&self) -> bool {
        self.language == "Murphi"
    }
}
