//! `hadal automaton`: a formula as an automaton, for other tools or for `check --hoa` and `--never`.

use crate::failure::Failure;
use clap::{Args, ValueEnum};
use hadal_ltl::{AtomError, Atoms, hoa, never, parse, translate};

/// Arguments of `automaton`.
#[derive(Args, Clone, Debug)]
pub struct AutomatonArgs {
    /// The formula. The text between temporal and Boolean operators is taken as it is.
    pub formula: String,
    /// Write the automaton of the negation, which accepts the runs that violate the formula.
    #[arg(long)]
    pub negate: bool,
    /// The format.
    #[arg(long, value_enum, default_value_t = Form::Hoa)]
    pub form: Form,
}

/// How an automaton is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// The Hanoi format.
    Hoa,
    /// A never claim, as SPIN reads it.
    Never,
}

/// Runs the command.
pub fn run(args: &AutomatonArgs) -> Result<u8, Failure> {
    let mut texts = Texts::default();
    let formula = parse(&args.formula, &mut texts).map_err(|error| {
        let before = args.formula[..error.at.start.min(args.formula.len())].chars().count();
        Failure::Usage(format!("{}\n  {}\n  {}^", error.message, args.formula, " ".repeat(before)))
    })?;
    let wanted = if args.negate { formula.not() } else { formula };
    let automaton = translate(&wanted).map_err(|error| Failure::Usage(error.to_string()))?.degeneralise();
    let name = if args.negate { format!("! ({})", args.formula) } else { args.formula.clone() };
    let text = match args.form {
        Form::Hoa => hoa::print(&automaton, &texts.0, &name),
        Form::Never => never::print(&automaton, &texts.0),
    };
    crate::output::line(&text)?;
    Ok(0)
}

/// Propositions as they are written.
#[derive(Default)]
struct Texts(Vec<String>);

impl Atoms for Texts {
    fn atom(&mut self, text: &str) -> Result<u32, AtomError> {
        let known = self.0.iter().position(|known| known == text);
        if known.is_none() && self.0.len() == 64 {
            return Err(AtomError { message: "more than 64 propositions".into(), at: 0..text.len() });
        }
        Ok(known.unwrap_or_else(|| {
            self.0.push(text.to_owned());
            self.0.len() - 1
        }) as u32)
    }
}
