//! Colour on terminals, and only there.

use clap::ValueEnum;
use std::io::IsTerminal;

/// When to use colour.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Color {
    /// Where standard output is a terminal, unless NO_COLOR is set.
    #[default]
    Auto,
    /// Also in pipes and files.
    Always,
    /// Not at all.
    Never,
}

/// Whether text is coloured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Paint {
    /// As it is.
    Plain,
    /// With the escape sequences of terminals.
    Coloured,
}

impl Color {
    /// What it means for standard output.
    pub fn paint(self) -> Paint {
        let is_set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = || std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let wanted = match self {
            Color::Auto => std::io::stdout().is_terminal() && !is_set("NO_COLOR") && !is_dumb(),
            Color::Always => true,
            Color::Never => false,
        };
        if wanted { Paint::Coloured } else { Paint::Plain }
    }
}

/// What is marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// The good answer, what is new.
    Good,
    /// The bad answer, what is gone.
    Bad,
    /// Neither: a search that stopped, a value that changed.
    Open,
    /// A heading: the action of a step.
    Strong,
}

impl Paint {
    /// The text, marked.
    pub fn mark(self, mark: Mark, text: &str) -> String {
        let code = match mark {
            Mark::Good => "32",
            Mark::Bad => "31",
            Mark::Open => "33",
            Mark::Strong => "1",
        };
        match self {
            Paint::Plain => text.to_owned(),
            Paint::Coloured => format!("\x1b[{code}m{text}\x1b[0m"),
        }
    }

    /// A verdict, as loud as it is.
    pub fn verdict(self, verdict: &str) -> String {
        let mark = match verdict {
            "holds" => Mark::Good,
            "violated" => Mark::Bad,
            _ => Mark::Open,
        };
        self.mark(mark, &verdict.to_uppercase())
    }
}
