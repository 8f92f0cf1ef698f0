//! "Did you mean ...?": the nearest known word, where one is near enough to be obvious.

use crate::Diagnostic;
use hadal_system::Span;

/// The candidate nearest to `word`, if it is close: at most a third of the letters differ, case aside. Of several, the
/// first in the alphabet, so that candidates may come from a hash map.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // Longer words are not typing mistakes of anything, and the distance is quadratic.
    if word.len() > 64 {
        return None;
    }
    let limit = (word.chars().count() / 3).clamp(1, 3);
    let folded = word.to_lowercase();
    candidates
        .into_iter()
        .filter(|c| *c != word && c.len() <= 64)
        .map(|c| (distance(&folded, &c.to_lowercase()), c))
        .filter(|(d, _)| *d <= limit)
        .min()
        .map(|(_, c)| c)
}

/// `did you mean ...?` with the candidate [`nearest`] to `word`, where one is near: the help of a finding.
pub fn did_you_mean<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    nearest(word, candidates).map(|meant| format!("did you mean `{meant}`?"))
}

/// The finding for `-D NAME` where the model declares no constant of that name: suggests the nearest one, or lists all.
pub fn unknown_constant<'a>(name: &str, constants: impl IntoIterator<Item = &'a str>) -> Diagnostic {
    let mut constants: Vec<&str> = constants.into_iter().collect();
    constants.sort_unstable();
    let message = format!("-D {name}: the model has no constant `{name}`");
    let mut finding = Diagnostic::error(Span::default(), message);
    finding.help = did_you_mean(name, constants.iter().copied()).or_else(|| listed("constant", &constants));
    finding
}

/// `its constants are A, B`: the help of a finding about a name that is none of them.
pub fn listed(what: &str, names: &[&str]) -> Option<String> {
    match names {
        [] => None,
        [only] => Some(format!("its only {what} is {only}")),
        names => Some(format!("its {what}s are {}", names.join(", "))),
    }
}

/// Whether `name` occurs in a text as a whole word.
pub fn mentions(text: &str, name: &str) -> bool {
    let part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    !name.is_empty()
        && text.match_indices(name).any(|(at, found)| {
            !text[..at].chars().next_back().is_some_and(part)
                && !text[at + found.len()..].chars().next().is_some_and(part)
        })
}

/// Edits that turn one word into the other: insert, delete, replace, swap neighbours.
fn distance(a: &str, b: &str) -> usize {
    let (a, b): (Vec<char>, Vec<char>) = (a.chars().collect(), b.chars().collect());
    let mut before: Vec<usize> = Vec::new();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for i in 1..=a.len() {
        let mut row = vec![i; b.len() + 1];
        for j in 1..=b.len() {
            let replace = previous[j - 1] + usize::from(a[i - 1] != b[j - 1]);
            row[j] = replace.min(previous[j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                row[j] = row[j].min(before[j - 2] + 1);
            }
        }
        before = std::mem::replace(&mut previous, row);
    }
    previous[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_typing_mistakes_and_nothing_else() {
        assert_eq!(nearest("boolaen", ["boolean", "begin"]), Some("boolean"));
        assert_eq!(nearest("State", ["state", "start"]), Some("state"));
        assert_eq!(nearest("x", ["completely", "different"]), None);
        assert_eq!(nearest("rulset", ["rule", "ruleset"]), Some("ruleset"));
        assert_eq!(did_you_mean("coutner", ["counter", "count"]).as_deref(), Some("did you mean `counter`?"));
        assert_eq!(did_you_mean("turn", ["counter", "count", "x"]), None);
    }
}
