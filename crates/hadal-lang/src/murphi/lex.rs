//! Text to tokens.
//!
//! Accepts what CMurphi and Rumur accept: `--` and `/* */` comments, hexadecimal and octal numbers, Unicode
//! operators, curly quotes. Never fails: a bad character is reported and skipped, so that the parser can go on.

use super::token::{Keyword, Kind, Token};
use crate::text::Cursor;
use crate::text::cursor::{Closed, length_while};
use crate::text::literal::{self, LeadingZero};
use crate::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// After this many findings of a severity no more are reported.
const MAX_FINDINGS: usize = 100;

/// The tokens of `text`, ended by one [`Kind::EndOfFile`].
pub fn lex(text: &str, diagnostics: &mut Diagnostics) -> Vec<Token> {
    let cursor = Cursor::new(text);
    let mut lexer = Lexer { cursor, tokens: Vec::with_capacity(text.len() / 4), refused: false, diagnostics };
    while !lexer.cursor.is_at_end() {
        lexer.step();
    }
    lexer.push(Kind::EndOfFile, text.len());
    lexer.tokens
}

struct Lexer<'a> {
    cursor: Cursor<'a>,
    tokens: Vec<Token>,
    /// Something was refused since the last token.
    refused: bool,
    diagnostics: &'a mut Diagnostics,
}

/// What people write who know other languages.
const MISTAKEN_ARROW: &str = "=>";

/// Signs of more than one byte, longest first where one begins another.
const SIGNS: &[(&str, Kind)] = &[
    ("==>", Kind::LongArrow),
    ("⇒", Kind::LongArrow),
    // Taken for what is meant, with an error.
    (MISTAKEN_ARROW, Kind::LongArrow),
    ("==", Kind::Equal),
    (":=", Kind::Assign),
    ("≔", Kind::Assign),
    ("->", Kind::Arrow),
    ("→", Kind::Arrow),
    ("..", Kind::DotDot),
    ("!=", Kind::NotEqual),
    ("≠", Kind::NotEqual),
    ("<=", Kind::LessEqual),
    ("≤", Kind::LessEqual),
    (">=", Kind::GreaterEqual),
    ("≥", Kind::GreaterEqual),
    ("<<", Kind::ShiftLeft),
    (">>", Kind::ShiftRight),
    ("&&", Kind::AmpAmp),
    ("∧", Kind::AmpAmp),
    ("||", Kind::PipePipe),
    ("∨", Kind::PipePipe),
    ("¬", Kind::Not),
    ("÷", Kind::Slash),
    ("∕", Kind::Slash),
    ("×", Kind::Star),
    ("−", Kind::Minus),
    ("∀", Kind::Word(Keyword::Forall)),
    ("∃", Kind::Word(Keyword::Exists)),
];

fn sign_of(byte: u8) -> Option<Kind> {
    Some(match byte {
        b'.' => Kind::Dot,
        b',' => Kind::Comma,
        b':' => Kind::Colon,
        b';' => Kind::Semicolon,
        b'?' => Kind::Question,
        b'(' => Kind::OpenParen,
        b')' => Kind::CloseParen,
        b'[' => Kind::OpenBracket,
        b']' => Kind::CloseBracket,
        b'{' => Kind::OpenBrace,
        b'}' => Kind::CloseBrace,
        b'+' => Kind::Plus,
        b'-' => Kind::Minus,
        b'*' => Kind::Star,
        b'/' => Kind::Slash,
        b'%' => Kind::Percent,
        b'&' => Kind::Amp,
        b'|' => Kind::Pipe,
        b'^' => Kind::Caret,
        b'~' => Kind::Tilde,
        b'!' => Kind::Not,
        b'=' => Kind::Equal,
        b'<' => Kind::Less,
        b'>' => Kind::Greater,
        _ => return None,
    })
}

impl Lexer<'_> {
    /// Adds a finding; after the first many of its severity, the rest of a file says nothing new.
    fn report(&mut self, finding: Diagnostic) {
        let alike = self.diagnostics.list.iter().filter(|d| d.severity == finding.severity).count();
        if alike < MAX_FINDINGS {
            self.diagnostics.push(finding);
        }
    }

    fn push(&mut self, kind: Kind, end: usize) {
        let follows_refused = std::mem::take(&mut self.refused);
        let begin = self.cursor.at();
        self.cursor.take(end - begin);
        self.tokens.push(Token { kind, span: self.cursor.span_from(begin), follows_refused });
    }

    /// Reads one token, comment or run of blanks; always moves on.
    fn step(&mut self) {
        let rest = self.cursor.rest();
        let Some(first) = rest.chars().next() else { return };
        if first.is_whitespace() || first == '\u{feff}' {
            self.cursor.bump();
        } else if first.is_ascii_alphabetic() {
            self.word();
        } else if first.is_ascii_digit() {
            self.number();
        } else if rest.starts_with("--") {
            self.cursor.take_line();
        } else if rest.starts_with("/*") {
            self.block_comment();
        } else if first == '"' || first == '“' {
            self.string(first);
        } else if (first == '%' && self.cursor.opens_a_line() && !self.follows_an_operand())
            || (first == '#' && self.cursor.opens_a_line())
        {
            self.pragma();
        } else if first == '$' && rest.starts_with("${") {
            self.placeholder();
        } else if first == '.' && rest[1..].starts_with(|c: char| c.is_ascii_digit()) {
            self.real(1);
        } else if let Some(&(sign, kind)) = SIGNS.iter().find(|(sign, _)| rest.starts_with(sign)) {
            if sign == MISTAKEN_ARROW {
                let at = self.cursor.at();
                let finding =
                    Diagnostic::error(Span::new(at, at + sign.len()), "`=>` is not a Murphi operator");
                self.report(finding.help("`==>` ends a guard, `->` means implies"));
            }
            self.push(kind, self.cursor.at() + sign.len());
        } else if let Some(kind) = u8::try_from(first).ok().and_then(sign_of) {
            self.push(kind, self.cursor.at() + 1);
        } else {
            self.bad_characters();
        }
    }

    fn word(&mut self) {
        let rest = self.cursor.rest();
        let length = length_while(rest, |c| c.is_ascii_alphanumeric() || c == '_');
        let kind = Keyword::of(&rest[..length]).map_or(Kind::Identifier, Kind::Word);
        self.push(kind, self.cursor.at() + length);
    }

    fn number(&mut self) {
        let rest = self.cursor.rest();
        let length = literal::number_length(rest);
        let after = &rest[length..];
        if after.starts_with('.') && after[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return self.real(length + 1);
        }
        self.push(Kind::Number, self.cursor.at() + length);
    }

    /// A number with a decimal point, whose digits after the point begin `point` bytes on: reported, read as 0.
    fn real(&mut self, point: usize) {
        let rest = self.cursor.rest();
        let length = point + rest[point..].find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len() - point);
        let end = self.cursor.at() + length;
        self.report(
            Diagnostic::error(Span::new(self.cursor.at(), end), "real numbers are not supported")
                .label("every value must be an integer, an enum member or a boolean"),
        );
        self.push(Kind::Number, end);
    }

    fn block_comment(&mut self) {
        let begin = self.cursor.at();
        self.cursor.eat("/*");
        if self.cursor.take_through("*/") == Closed::No {
            self.report(
                Diagnostic::warning(Span::new(begin, begin + 2), "this comment is never closed")
                    .help("write `*/` where it ends"),
            );
        }
    }

    fn string(&mut self, opener: char) {
        let body = self.cursor.at() + opener.len_utf8();
        let mut escaped = false;
        for (offset, c) in self.cursor.text()[body..].char_indices() {
            if escaped {
                escaped = false;
            } else if c == '\\' {
                escaped = true;
            } else if c == '"' || (opener == '“' && c == '”') {
                let end = body + offset + c.len_utf8();
                if self.cursor.text()[body..body + offset].contains('\n') {
                    self.report(
                        Diagnostic::warning(
                            Span::new(self.cursor.at(), body),
                            "this string runs over several lines",
                        )
                        .label("opened here"),
                    );
                }
                return self.push(Kind::Text, end);
            }
        }
        let line = self.cursor.text()[body..].find('\n').unwrap_or(self.cursor.text().len() - body);
        self.report(
            Diagnostic::error(Span::new(self.cursor.at(), body), "this string is never closed")
                .label("opened here")
                .help("a quote after a backslash does not close a string; write `\\\\` for a backslash"),
        );
        self.push(Kind::Text, body + line);
    }

    fn follows_an_operand(&self) -> bool {
        self.tokens.last().is_some_and(|token| match token.kind {
            Kind::Identifier | Kind::Number | Kind::CloseParen | Kind::CloseBracket => true,
            Kind::Word(k) => k.is_end(),
            _ => false,
        })
    }

    fn pragma(&mut self) {
        let rest = self.cursor.rest();
        let line = rest.lines().next().unwrap_or("").trim_end();
        let span = Span::new(self.cursor.at(), self.cursor.at() + line.len());
        let length = rest.find('\n').unwrap_or(rest.len());
        let word: String = line[1..].trim_start().chars().take_while(|c| c.is_ascii_alphabetic()).collect();
        let changes_the_model = matches!(
            word.to_ascii_lowercase().as_str(),
            "include" | "define" | "undef" | "if" | "ifdef" | "ifndef" | "else" | "elif" | "endif"
        );
        self.report(if changes_the_model {
            Diagnostic::error(span, "preprocessor directives are not part of Murphi")
                .help("run the preprocessor first, or set constants with `-D NAME=VALUE`")
        } else {
            Diagnostic::warning(span, "this directive is ignored")
        });
        self.cursor.take(length);
    }

    /// `${...}`, a hole that a template tool fills before the model is checked: read as a number.
    fn placeholder(&mut self) {
        let rest = self.cursor.rest();
        let line = rest.find('\n').unwrap_or(rest.len());
        let length = rest[..line].find('}').map_or(2, |close| close + 1);
        let end = self.cursor.at() + length;
        self.report(
            Diagnostic::error(
                Span::new(self.cursor.at(), end),
                "this is a template, not a model: a placeholder is left to fill in",
            )
            .label("expected a value")
            .help("replace the placeholder with a number"),
        );
        self.push(Kind::Number, end);
    }

    fn bad_characters(&mut self) {
        let start = self.cursor.at();
        let rest = self.cursor.rest();
        let known = |c: char| c.is_whitespace() || c.is_ascii_alphanumeric() || c == '"' || c == '“';
        let length = rest
            .char_indices()
            .find(|&(i, c)| {
                known(c)
                    || (c.is_ascii() && sign_of(c as u8).is_some())
                    || SIGNS.iter().any(|(sign, _)| rest[i..].starts_with(sign))
            })
            .map_or(rest.len(), |(i, _)| i);
        self.cursor.take(length.max(1));
        let shown = &self.cursor.text()[start..self.cursor.at()];
        let finding = if shown.starts_with('_') {
            Diagnostic::error(Span::new(start, self.cursor.at()), "a name cannot begin with an underscore")
                .label("expected a letter")
        } else {
            Diagnostic::error(
                Span::new(start, self.cursor.at()),
                format!("unexpected `{}`", shown.escape_debug()),
            )
            .label("this means nothing in Murphi")
        };
        self.refused = true;
        self.report(finding);
    }
}

/// The value of a number token's text, as Rumur reads it; `None` when it exceeds what any computation here can hold.
pub fn number_value(text: &str) -> Option<i128> {
    literal::number_value(text, LeadingZero::Octal)
}

/// The characters a string token stands for: quotes off, escapes resolved.
pub fn string_value(token_text: &str) -> String {
    let inner = token_text.trim_start_matches(['"', '“']);
    let inner = inner.strip_suffix('"').or_else(|| inner.strip_suffix('”')).unwrap_or(inner);
    // A token is cut at its first quote, so only one opening quote can have been there.
    let inner = if token_text.starts_with("\"\"") || token_text.starts_with("“\"") { "" } else { inner };
    literal::unescaped(inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<Kind> {
        let mut diagnostics = Diagnostics::default();
        let kinds = lex(text, &mut diagnostics).iter().map(|t| t.kind).collect();
        assert!(diagnostics.list.is_empty(), "{:?}", diagnostics.list);
        kinds
    }

    #[test]
    fn unicode_spellings_are_the_ascii_ones() {
        assert_eq!(
            kinds("≔ ≤ ≥ ≠ ∧ ∨ ¬ → ⇒ × ÷ ∕ − ∀ ∃ “x”"),
            kinds(":= <= >= != && || ! -> ==> * / / - forall exists \"x\"")
        );
    }

    #[test]
    fn a_range_is_not_a_real_number() {
        assert_eq!(kinds("0..7"), [Kind::Number, Kind::DotDot, Kind::Number, Kind::EndOfFile]);
    }

    #[test]
    fn a_percent_sign_is_a_pragma_only_where_no_operand_stands_before_it() {
        let mut diagnostics = Diagnostics::default();
        let tokens = lex("x\n% 3;\n%pragma here\ny", &mut diagnostics);
        assert_eq!(tokens.len(), 6);
        assert_eq!(diagnostics.list.len(), 1);
        assert!(!diagnostics.has_errors());
    }

    #[test]
    fn many_warnings_do_not_hide_an_error() {
        let mut diagnostics = Diagnostics::default();
        lex(&("%note\n".repeat(500) + "@"), &mut diagnostics);
        assert_eq!(diagnostics.list.len(), MAX_FINDINGS + 1);
        assert!(diagnostics.has_errors());
    }

    #[test]
    fn numbers_are_read_as_rumur_reads_them() {
        assert_eq!(number_value("010"), Some(8));
        assert_eq!(number_value("0x1F"), Some(31));
        assert_eq!(number_value("089"), Some(89));
        assert_eq!(number_value("0"), Some(0));
        assert_eq!(number_value(&"9".repeat(60)), None);
    }

    #[test]
    fn strings_lose_quotes_and_escapes() {
        assert_eq!(string_value(r#""a\n\"b\\""#), "a\n\"b\\");
        assert_eq!(string_value("“foo”"), "foo");
        assert_eq!(string_value("\"\""), "");
    }
}
