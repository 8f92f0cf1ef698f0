//! Text to nested lists: PDDL's only lexical structure. Names are case-insensitive, comments run from `;` to the line's end.

use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// How deep lists may nest: deeper text is refused, so that nothing behind this module runs out of stack.
pub const MAX_DEPTH: usize = 200;

/// A word or a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree<'a> {
    /// Where it stands.
    pub span: Span,
    /// What it is.
    pub kind: Kind<'a>,
}

/// What stands in a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind<'a> {
    /// A name, variable, keyword or number, in lower case.
    Word(&'a str),
    /// What stands between parentheses.
    List(Vec<Tree<'a>>),
}

impl<'a> Tree<'a> {
    /// The word, where it is one.
    pub fn word(&self) -> Option<&'a str> {
        match self.kind {
            Kind::Word(word) => Some(word),
            Kind::List(_) => None,
        }
    }

    /// The items, where it is a list.
    pub fn list(&self) -> Option<&[Tree<'a>]> {
        match &self.kind {
            Kind::List(items) => Some(items),
            Kind::Word(_) => None,
        }
    }

    /// The word a list begins with.
    pub fn head(&self) -> Option<&'a str> {
        self.list().and_then(|items| items.first()).and_then(Tree::word)
    }
}

/// Reads every list of `text`, which is in lower case.
pub fn read<'a>(text: &'a str, findings: &mut Diagnostics) -> Vec<Tree<'a>> {
    let mut open: Vec<(usize, Vec<Tree<'a>>)> = Vec::new();
    let mut top = Vec::new();
    let bytes = text.as_bytes();
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        match bytes[at] {
            b';' => {
                while at < bytes.len() && bytes[at] != b'\n' {
                    at += 1;
                }
            }
            b'(' => {
                at += 1;
                if open.len() == MAX_DEPTH {
                    let message = format!("lists nest deeper than {MAX_DEPTH}");
                    findings.push(Diagnostic::error(Span::new(start, at), message));
                    return top;
                }
                open.push((start, Vec::new()));
            }
            b')' => {
                at += 1;
                match open.pop() {
                    Some((first, items)) => {
                        let list = Tree { span: Span::new(first, at), kind: Kind::List(items) };
                        open.last_mut().map_or(&mut top, |(_, items)| items).push(list);
                    }
                    None => findings.push(
                        Diagnostic::error(Span::new(start, at), "`)` closes nothing")
                            .help("remove it, or look for a `(` that is missing above"),
                    ),
                }
            }
            byte if byte.is_ascii_whitespace() => at += 1,
            // A name begins with a letter: `-place` is a hyphen and a name.
            b'-' if bytes.get(at + 1).is_some_and(u8::is_ascii_alphabetic) => {
                at += 1;
                let hyphen = Tree { span: Span::new(start, at), kind: Kind::Word(&text[start..at]) };
                open.last_mut().map_or(&mut top, |(_, items)| items).push(hyphen);
            }
            _ => {
                at += 1;
                // A variable needs no blank before it: published domains have `(city?c)`.
                let variable =
                    |at: usize| bytes[at] == b'?' && bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric);
                while at < bytes.len() && !ends_word(bytes[at]) && !variable(at) {
                    at += 1;
                }
                let word = Tree { span: Span::new(start, at), kind: Kind::Word(&text[start..at]) };
                open.last_mut().map_or(&mut top, |(_, items)| items).push(word);
            }
        }
    }
    if let Some((first, _)) = open.first() {
        let span = Span::new(*first, first + 1);
        findings
            .push(Diagnostic::error(span, "this `(` is never closed").label("the file ends before its `)`"));
    }
    top
}

fn ends_word(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b'(' | b')' | b';')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings_of(text: &str) -> Vec<String> {
        let mut findings = Diagnostics::default();
        read(text, &mut findings);
        findings.list.into_iter().map(|d| d.message).collect()
    }

    #[test]
    fn comments_end_with_their_line_and_words_at_parentheses() {
        let mut findings = Diagnostics::default();
        let trees = read("(a;x)(\n (b ?c)d) ; e", &mut findings);
        assert!(findings.list.is_empty());
        let items = trees[0].list().unwrap();
        assert_eq!((items[0].word(), items[1].head(), items[2].word()), (Some("a"), Some("b"), Some("d")));
    }

    #[test]
    fn a_hyphen_before_a_name_stands_by_itself() {
        let mut findings = Diagnostics::default();
        let trees = read("(a-b -place - c -5)", &mut findings);
        let words: Vec<_> = trees[0].list().unwrap().iter().filter_map(Tree::word).collect();
        assert_eq!(words, ["a-b", "-", "place", "-", "c", "-5"]);
    }

    #[test]
    fn a_variable_needs_no_blank_before_it() {
        let mut findings = Diagnostics::default();
        let trees = read("(city?c ?d sure? ?)", &mut findings);
        let words: Vec<_> = trees[0].list().unwrap().iter().filter_map(Tree::word).collect();
        assert_eq!(words, ["city", "?c", "?d", "sure?", "?"]);
    }

    #[test]
    fn unbalanced_and_bottomless_text_is_refused() {
        assert_eq!(findings_of("(a))"), ["`)` closes nothing"]);
        assert_eq!(findings_of("((a)"), ["this `(` is never closed"]);
        assert_eq!(findings_of(&"(".repeat(100_000)), ["lists nest deeper than 200"]);
    }
}
