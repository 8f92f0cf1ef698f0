//! The tokens of DVE, and what to call them in messages.

use hadal_system::Span;

/// One kind of token. Words that only some dialects reserve (`key`, `input`, `buchi`) stay names and are
/// recognised where the grammar expects them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier.
    Name(String),
    /// A natural number.
    Number(i64),
    /// A double-quoted string (the text of an LTL formula in the later dialect).
    Text(String),
    /// A reserved word.
    Keyword(Keyword),
    /// An operator or punctuation mark.
    Mark(&'static str),
    /// The end of the text.
    End,
}

/// A token with its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: TokenKind,
    /// Where it stands.
    pub span: Span,
}

macro_rules! keywords {
    ($($variant:ident $text:literal),* $(,)?) => {
        /// The reserved words of DVE.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs)]
        pub enum Keyword { $($variant),* }

        impl Keyword {
            /// The keyword spelt `word`, if there is one.
            pub fn from_word(word: &str) -> Option<Keyword> {
                match word { $($text => Some(Keyword::$variant),)* _ => None }
            }

            /// How it is spelt.
            pub fn text(self) -> &'static str {
                match self { $(Keyword::$variant => $text),* }
            }
        }
    };
}

keywords! {
    Accept "accept", And "and", Assert "assert", Async "async", Byte "byte", Channel "channel",
    Commit "commit", Const "const", Effect "effect", False "false", Guard "guard", Imply "imply",
    Init "init", Int "int", Not "not", Or "or", Process "process", Property "property",
    State "state", Sync "sync", System "system", Trans "trans", True "true",
}

/// The marks, longest first so that the lexer may take the first that fits.
pub const MARKS: [&str; 39] = [
    "->", "=>", "==", "!=", "<=", ">=", "<<", ">>", "&&", "||", "++", "--", "+=", "-=", "..", "(", ")", "{",
    "}", "[", "]", ",", ";", ":", ".", "?", "!", "~", "=", "+", "-", "*", "/", "%", "|", "&", "^", "<", ">",
];

impl TokenKind {
    /// What to call the token in a message.
    pub fn describe(&self) -> String {
        match self {
            TokenKind::Name(name) => format!("the name `{name}`"),
            TokenKind::Number(number) => format!("the number {number}"),
            TokenKind::Text(_) => "a quoted text".to_string(),
            TokenKind::Keyword(keyword) => format!("the keyword `{}`", keyword.text()),
            TokenKind::Mark(mark) => format!("`{mark}`"),
            TokenKind::End => "the end of the file".to_string(),
        }
    }
}
