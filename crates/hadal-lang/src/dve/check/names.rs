//! Scopes, and the nearest name where one is unknown.

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
}

/// `did you mean ...?` with the nearest candidate, where one is near.
pub(super) fn suggest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> Option<String> {
    let mut best: Option<(usize, &str)> = None;
    for candidate in candidates {
        let away = distance(name, candidate);
        if away <= 1 + name.len() / 4 && best.is_none_or(|b| (away, candidate) < b) {
            best = Some((away, candidate));
        }
    }
    best.map(|(_, candidate)| format!("did you mean `{candidate}`?"))
}

/// Insertions, deletions and replacements between two words (Levenshtein), a change of case counting nothing.
fn distance(left: &str, right: &str) -> usize {
    if left.len().abs_diff(right.len()) > 8 {
        return usize::MAX;
    }
    let right: Vec<char> = right.to_lowercase().chars().collect();
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.to_lowercase().chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in right.iter().enumerate() {
            let change = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = change.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[right.len()]
}

#[cfg(test)]
mod tests {
    use super::suggest;

    #[test]
    fn the_nearest_name_is_suggested() {
        let names = ["counter", "count", "x"];
        assert_eq!(suggest("coutner", names.into_iter()).as_deref(), Some("did you mean `counter`?"));
        assert_eq!(suggest("turn", names.into_iter()), None);
    }
}
