//! PRISM's language for decision processes and Markov chains, and its questions about probabilities and rewards.
//!
//! Kwiatkowska, Norman, Parker 2011 ("PRISM 4.0"). Numbers are exact: a decimal is the fraction it says.

pub mod ast;
pub mod explicit;
pub mod jani;
pub mod lex;
pub mod lower;
pub mod parse;

use crate::text::unknown_constant;
use crate::{Diagnostic, Diagnostics, Given, Language, LoadError, Refused, Request};
use ast::{File, Property};
use hadal_system::chance::Objective;
use hadal_system::rows::Rational;
use hadal_system::{DeadlockNotion, Source, System};
use lower::Lowered;
use num_traits::CheckedDiv;
use parse::{Text, parse};
use std::collections::HashMap;

/// PRISM, as hadal reads it. Files that end in `.pm` are told from Promela by what they say: see [`recognises`].
pub static LANGUAGE: Language = Language {
    name: "PRISM",
    extensions: &["prism", "nm", "sm"],
    deadlock: DeadlockNotion::Stuck,
    defines: "constants, as numbers, decimals, fractions, true or false",
    expand: None,
    load: read,
};

fn read(request: Request) -> Result<crate::Loaded, LoadError> {
    let given = definitions(&request.options.define)?;
    let loaded = load(request.source, &given)?;
    loaded.must_declare_given()?;
    let warnings = loaded.warnings.clone();
    Ok(crate::Lowered { system: loaded.into_system(), warnings }.into())
}

/// What `-D` gives to constants.
pub fn definitions(define: &[(String, Given)]) -> Result<HashMap<String, Rational>, LoadError> {
    let value = |(name, given): &(String, Given)| {
        let value = match given {
            Given::Number(value) => Some(Rational::from_integer((*value).into())),
            Given::Text(text) => number(text),
        };
        let text = match given {
            Given::Number(value) => value.to_string(),
            Given::Text(text) => text.clone(),
        };
        match value {
            Some(value) => Ok((name.clone(), value)),
            None => Err(LoadError::NotANumber { name: name.clone(), value: text, language: "PRISM" }),
        }
    };
    define.iter().map(value).collect()
}

/// `true`, `0.1`, `1e-3`, `-2`, `1/3`.
fn number(text: &str) -> Option<Rational> {
    let text = text.trim();
    match text.to_ascii_lowercase().as_str() {
        "true" => return Some(Rational::from_integer(1)),
        "false" => return Some(Rational::from_integer(0)),
        _ => {}
    }
    if let Some((above, below)) = text.split_once('/') {
        let (above, below) = (number(above)?, number(below)?);
        return (*below.numer() != 0).then(|| above.checked_div(&below)).flatten();
    }
    if let Some(rest) = text.strip_prefix('-') {
        return number(rest).map(|value| -value);
    }
    match parse::literal(text)? {
        ast::Kind::Int(value) => Some(Rational::from_integer(value.into())),
        ast::Kind::Real(value) => Some(value),
        _ => None,
    }
}

/// A model that was read, with the questions beside it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// What may surprise the reader.
    pub warnings: Diagnostics,
    model: Lowered,
    given: HashMap<String, Rational>,
    questions: File,
    text: Source,
}

/// Reads and checks a model. `given` are values for its constants.
pub fn load(source: Source, given: &HashMap<String, Rational>) -> Result<Loaded, Refused> {
    let mut diagnostics = Diagnostics::default();
    let file = parse(&source.text, Text::Model, &mut diagnostics);
    let model = if diagnostics.has_errors() {
        None
    } else {
        lower::lower(&file, source.clone(), given, &mut diagnostics)
    };
    diagnostics.finish();
    match model {
        Some(model) => Ok(Loaded {
            warnings: diagnostics,
            model,
            given: given.clone(),
            questions: File::default(),
            text: Source::new("", ""),
        }),
        None => Err(Refused { source_text: source, diagnostics }),
    }
}

impl Loaded {
    /// The model. Questions add propositions to it.
    pub fn system(&self) -> &System {
        &self.model.system
    }

    /// The model, when everything is asked.
    pub fn into_system(self) -> System {
        self.model.system
    }

    /// Adds a property file. Properties that cannot be read are left out, with a warning.
    pub fn add_properties(&mut self, source: Source) -> Result<(), Refused> {
        let mut diagnostics = Diagnostics::default();
        let file = parse(&source.text, Text::Properties, &mut diagnostics);
        let unread = diagnostics.has_errors();
        if file.properties.is_empty() && unread {
            return Err(Refused { source_text: source, diagnostics });
        }
        self.model.extend(&file, &self.given, &mut diagnostics);
        if !unread && diagnostics.has_errors() {
            return Err(Refused { source_text: source, diagnostics });
        }
        self.questions = file;
        self.text = source;
        Ok(())
    }

    /// Refuses values for constants that neither the model nor its property file declares.
    pub fn must_declare_given(&self) -> Result<(), Refused> {
        let known: Vec<&str> = self.model.constants().collect();
        let mut unknown: Vec<&str> = self.given.keys().map(String::as_str).collect();
        unknown.retain(|name| !known.contains(name));
        unknown.sort_unstable();
        if unknown.is_empty() {
            return Ok(());
        }
        let mut diagnostics = Diagnostics::default();
        unknown.iter().for_each(|name| diagnostics.push(unknown_constant(name, known.iter().copied())));
        Err(Refused { source_text: self.model.system.source.clone(), diagnostics })
    }

    /// The names of the properties; those without one are numbered from 1.
    pub fn properties(&self) -> Vec<String> {
        let all = self.questions.properties.iter().enumerate();
        all.map(|(n, p)| p.name.clone().unwrap_or_else(|| (n + 1).to_string())).collect()
    }

    /// The question behind a property of the file beside the model.
    pub fn property(&mut self, name: &str) -> Option<Result<Objective, Refused>> {
        let at = self.properties().iter().position(|n| n == name)?;
        let property = self.questions.properties[at].clone();
        let (source, others) = (self.text.clone(), self.questions.properties.clone());
        let mut objective = self.ask(&property, &source, &others);
        if let Ok(objective) = &mut objective {
            objective.name = name.to_owned();
        }
        Some(objective)
    }

    /// The labels by name, each with the number of its proposition among the properties of the system.
    pub fn labels(&mut self) -> Result<Vec<(String, usize)>, Refused> {
        let source_text = self.model.system.source.clone();
        self.model.label_propositions().map_err(|(span, wrong)| {
            let mut diagnostics = Diagnostics::default();
            diagnostics.push(Diagnostic::error(span, wrong));
            Refused { source_text, diagnostics }
        })
    }

    /// A question written out.
    pub fn formula(&mut self, text: &str) -> Result<Objective, Refused> {
        let source = Source::new("formula", text);
        let mut diagnostics = Diagnostics::default();
        let file = parse(text, Text::Properties, &mut diagnostics);
        if file.properties.len() != 1 && !diagnostics.has_errors() {
            diagnostics.push(Diagnostic::error(hadal_system::Span::default(), "one question is expected"));
        }
        self.model.extend(&file, &self.given, &mut diagnostics);
        match file.properties.first() {
            Some(property) if !diagnostics.has_errors() => {
                let others = self.questions.properties.clone();
                self.ask(property, &source, &others)
            }
            _ => Err(Refused { source_text: source, diagnostics }),
        }
    }

    fn ask(
        &mut self,
        property: &Property,
        source: &Source,
        others: &[Property],
    ) -> Result<Objective, Refused> {
        let text = source.slice(property.asks.span).to_owned();
        self.model.objective(property, text, others).map_err(|(span, wrong)| {
            let mut diagnostics = Diagnostics::default();
            diagnostics.push(Diagnostic::error(span, wrong));
            Refused { source_text: source.clone(), diagnostics }
        })
    }
}

/// Whether a text is a PRISM model: extensions such as `.pm` are other languages' too.
pub fn recognises(text: &str) -> bool {
    let mut diagnostics = Diagnostics::default();
    let head: String = text.chars().take(1 << 16).collect();
    let tokens = lex::lex(&head, &mut diagnostics);
    let word = |n: usize| match tokens.get(n).map(|t| &t.kind) {
        Some(lex::Kind::Name(name)) => name.as_str(),
        _ => "",
    };
    let kinds =
        ["mdp", "dtmc", "ctmc", "probabilistic", "nondeterministic", "stochastic", "pta", "pomdp", "smg"];
    (0..tokens.len()).any(|n| {
        kinds.contains(&word(n)) && (n == 0 || matches!(tokens[n - 1].kind, lex::Kind::Sign(";")))
            || word(n) == "endmodule"
    })
}
