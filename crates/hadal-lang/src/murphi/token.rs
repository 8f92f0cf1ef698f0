//! The words and signs of Murphi: keywords in any case, operators in ASCII and in Rumur's Unicode spellings.

use hadal_system::Span;

/// Declares the keyword enum together with its table of spellings.
macro_rules! keywords {
    ($($variant:ident = $text:literal),* $(,)?) => {
        /// A reserved word.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[allow(missing_docs)]
        pub enum Keyword { $($variant),* }

        impl Keyword {
            /// Every keyword, in alphabetical order.
            pub const ALL: &'static [Keyword] = &[$(Keyword::$variant),*];

            /// The lower-case spelling.
            pub fn text(self) -> &'static str {
                match self { $(Keyword::$variant => $text),* }
            }
        }
    };
}

keywords! {
    Alias = "alias", Array = "array", Assert = "assert", Assume = "assume", Begin = "begin",
    Boolean = "boolean", By = "by", Case = "case", Clear = "clear", Const = "const", Cover = "cover",
    Do = "do", Else = "else", Elsif = "elsif", End = "end", EndAlias = "endalias", EndChoose = "endchoose",
    EndExists = "endexists", EndFor = "endfor", EndForall = "endforall", EndFunction = "endfunction",
    EndIf = "endif", EndProcedure = "endprocedure", EndRecord = "endrecord", EndRule = "endrule",
    EndRuleset = "endruleset", EndStartstate = "endstartstate", EndSwitch = "endswitch",
    EndWhile = "endwhile", Enum = "enum", Error = "error", Exists = "exists", For = "for",
    Forall = "forall", Function = "function", If = "if", Invariant = "invariant",
    IsUndefined = "isundefined", Liveness = "liveness", Of = "of", Procedure = "procedure", Put = "put",
    Real = "real", Record = "record", Return = "return", Rule = "rule", Ruleset = "ruleset",
    Scalarset = "scalarset", Startstate = "startstate", Switch = "switch", Then = "then", To = "to",
    Type = "type", Undefine = "undefine", Union = "union", Var = "var", While = "while",
}

impl Keyword {
    /// The keyword spelt `word`, in any case.
    pub fn of(word: &str) -> Option<Keyword> {
        // No keyword is longer than `endstartstate`.
        if word.len() > 13 {
            return None;
        }
        let lower = word.to_ascii_lowercase();
        Keyword::ALL.binary_search_by(|k| k.text().cmp(lower.as_str())).ok().map(|i| Keyword::ALL[i])
    }

    /// Whether the keyword closes a construct.
    pub fn is_end(self) -> bool {
        self.text().starts_with("end")
    }

    /// Whether the keyword opens a rule, a property or a group of rules.
    pub fn opens_rule(self) -> bool {
        use Keyword::*;
        matches!(self, Rule | Ruleset | Startstate | Invariant | Liveness | Cover | Assume | Assert | Alias)
    }

    /// Whether the keyword opens a section that can only stand at the top level.
    pub fn opens_section(self) -> bool {
        use Keyword::*;
        matches!(self, Const | Type | Var | Function | Procedure)
    }
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Kind {
    Word(Keyword),
    Identifier,
    Number,
    Text,
    Assign,
    Arrow,
    LongArrow,
    DotDot,
    Dot,
    Comma,
    Colon,
    Semicolon,
    Question,
    OpenParen,
    CloseParen,
    OpenBracket,
    CloseBracket,
    OpenBrace,
    CloseBrace,
    Plus,
    Minus,
    Star,
    Slash,
    Percent,
    Amp,
    AmpAmp,
    Pipe,
    PipePipe,
    Caret,
    Tilde,
    Not,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    EndOfFile,
}

impl Kind {
    /// How to name the kind to a person.
    pub fn describe(self) -> String {
        let sign = match self {
            Kind::Word(k) => return format!("`{}`", k.text()),
            Kind::Identifier => return "a name".into(),
            Kind::Number => return "a number".into(),
            Kind::Text => return "a string".into(),
            Kind::EndOfFile => return "the end of the file".into(),
            Kind::Assign => ":=",
            Kind::Arrow => "->",
            Kind::LongArrow => "==>",
            Kind::DotDot => "..",
            Kind::Dot => ".",
            Kind::Comma => ",",
            Kind::Colon => ":",
            Kind::Semicolon => ";",
            Kind::Question => "?",
            Kind::OpenParen => "(",
            Kind::CloseParen => ")",
            Kind::OpenBracket => "[",
            Kind::CloseBracket => "]",
            Kind::OpenBrace => "{",
            Kind::CloseBrace => "}",
            Kind::Plus => "+",
            Kind::Minus => "-",
            Kind::Star => "*",
            Kind::Slash => "/",
            Kind::Percent => "%",
            Kind::Amp => "&",
            Kind::AmpAmp => "&&",
            Kind::Pipe => "|",
            Kind::PipePipe => "||",
            Kind::Caret => "^",
            Kind::Tilde => "~",
            Kind::Not => "!",
            Kind::Equal => "=",
            Kind::NotEqual => "!=",
            Kind::Less => "<",
            Kind::LessEqual => "<=",
            Kind::Greater => ">",
            Kind::GreaterEqual => ">=",
            Kind::ShiftLeft => "<<",
            Kind::ShiftRight => ">>",
        };
        format!("`{sign}`")
    }
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it stands; its text is the source under the span.
    pub span: Span,
    /// Whether something that is no token stood right before it and was reported.
    pub follows_refused: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_found_in_any_case_and_the_table_is_sorted() {
        assert!(Keyword::ALL.windows(2).all(|pair| pair[0].text() < pair[1].text()));
        assert_eq!(Keyword::of("RuLeSeT"), Some(Keyword::Ruleset));
        assert_eq!(Keyword::of("rulesets"), None);
    }
}
