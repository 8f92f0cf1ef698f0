//! Scopes.

use super::super::ast::Ident;
use std::collections::HashMap;

/// What a name stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    /// A variable of the state, by number.
    Variable(usize),
    /// A constant.
    Constant(i64),
    /// A constant array, by number.
    Table(usize),
    /// A channel, by number.
    Channel(usize),
}

/// Names with their meanings.
#[derive(Clone, Debug, Default)]
pub(super) struct Scope {
    names: HashMap<String, Meaning>,
}

impl Scope {
    pub(super) fn insert(&mut self, name: &Ident, meaning: Meaning) -> Option<Meaning> {
        self.names.insert(name.text.clone(), meaning)
    }

    pub(super) fn get(&self, name: &str) -> Option<Meaning> {
        self.names.get(name).copied()
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.names.remove(name);
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &String> {
        self.names.keys()
    }

    /// The constants that are numbers.
    pub(super) fn constants(&self) -> impl Iterator<Item = &str> {
        let is_constant = |meaning: &Meaning| matches!(meaning, Meaning::Constant(_));
        self.names.iter().filter(move |(_, meaning)| is_constant(meaning)).map(|(name, _)| name.as_str())
    }
}
