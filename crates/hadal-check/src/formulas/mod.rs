//! Formulas and claims asked of a model: where they come from, what their propositions are, and the properties they become.

mod atoms;
mod model;
mod written;

pub use model::{ReadError, ReadModel};

use atoms::{Cut, Expressions};
use hadal_lang::LoadOptions;
use hadal_ltl::{Automaton, Chains, Ltl, ParseError, hoa, never, parse_with, translate};
use hadal_system::{Claim, Expr, Property, PropertyBody, PropertyKind, Span, System};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use written::{Form, Written};

/// What is asked about infinite runs, and how the answer is looked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Formulas {
    /// Check that every run satisfies this LTL formula; may be repeated. Its propositions are expressions of the model's
    /// language (docs/ltl.md). Formulas in MODEL.ltl, one per line, are checked with the model's other properties.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FORMULA"))]
    pub ltl: Vec<String>,
    /// Check that no run is accepted by the never claim in this file.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub never: Option<PathBuf>,
    /// Check that no run is accepted by the automaton in this file, in the Hanoi format.
    #[cfg_attr(feature = "clap", arg(long, value_name = "FILE"))]
    pub hoa: Option<PathBuf>,
    /// Check that no run stays forever outside the locations with a progress label (non-progress cycles).
    #[cfg_attr(feature = "clap", arg(long))]
    pub progress: bool,
}

impl Formulas {
    /// Whether something is asked.
    pub fn asks(&self) -> bool {
        !self.ltl.is_empty() || self.never.is_some() || self.hoa.is_some() || self.progress
    }
}

/// A formula that cannot be asked.
#[derive(Debug, thiserror::Error)]
pub enum FormulaError {
    /// The model cannot be read, alone or with the propositions of the formulas.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// A formula, or a file with some, makes no sense.
    #[error("{0}")]
    Question(String),
    /// A file with formulas cannot be read.
    #[error("{path}: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
}

/// Which of the formulas in the model's own text are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// All of them, where nothing else is named.
    All,
    /// Those that are named.
    Named,
}

/// A model and what is asked of it.
#[derive(Clone, Copy, Debug)]
pub struct Asking<'a> {
    /// The model's file.
    pub path: &'a Path,
    /// How it is read.
    pub options: &'a LoadOptions,
    /// Formulas and claims.
    pub formulas: &'a Formulas,
    /// Properties that are named.
    pub properties: &'a [String],
    /// Which of the formulas in the text are checked.
    pub own: Own,
}

/// What a question becomes before its propositions are known to the model.
enum Read {
    Formula(Ltl),
    Claim(Automaton),
    /// The model's language reads it.
    Native,
}

impl Asking<'_> {
    /// Reads the model with everything that is asked of it. The names are those of the properties that are named, formulas
    /// included.
    pub fn read(&self) -> Result<(ReadModel, Vec<String>), FormulaError> {
        self.read_from(ReadModel::read(self.path, self.options)?)
    }

    /// The same for a model in real time.
    pub fn read_timed(&self) -> Result<(ReadModel, Vec<String>), FormulaError> {
        self.read_from(ReadModel::read_timed(self.path, self.options)?)
    }

    fn read_from(&self, plain: ReadModel) -> Result<(ReadModel, Vec<String>), FormulaError> {
        let is_claim = |property: &&Property| property.kind == PropertyKind::Formula;
        let claims: Vec<String> =
            plain.system.properties.iter().filter(is_claim).map(|property| property.name.clone()).collect();
        let (mut read, named) = self.read_asked(plain)?;
        if self.own == Own::Named && named.is_empty() {
            leave_claims(&mut read.system, &claims);
        }
        Ok((read, named))
    }

    fn read_asked(&self, plain: ReadModel) -> Result<(ReadModel, Vec<String>), FormulaError> {
        let (mut written, names) = written::on_command(self.formulas)?;
        let named: Vec<String> = self.properties.iter().cloned().chain(names).collect();
        written.extend(written::beside(self.path)?);
        written.extend(written::described(self, &plain)?);
        let own = written::of_text(&plain, self.own, &named);
        if !own.is_empty() {
            let names = |own: &[Written]| own.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
            let (before, own_names) = (written.len(), names(&own));
            written.extend(own);
            let (mut read, answered) = match self.with_all(&plain, &written) {
                Ok(read) => (read, own_names),
                // A formula that nobody understands stays unanswered; one that is asked for by name is refused with its reason.
                Err(failure) if own_names.iter().any(|name| named.contains(name)) => return Err(failure),
                Err(_) => {
                    let (own, refused) = self.understood(&plain, written.split_off(before));
                    let own_names = names(&own);
                    written.extend(own);
                    let mut read = match &written[..] {
                        [] => plain,
                        written => self.with_all(&plain, written)?,
                    };
                    read.warnings.push_str(&refused);
                    (read, own_names)
                }
            };
            read.system.besides.unanswered.retain(|name| !answered.contains(name));
            return Ok((read, named));
        }
        if written.is_empty() {
            return Ok((plain, named));
        }
        Ok((self.with_all(&plain, &written)?, named))
    }

    /// Those that are understood one by one, and why the others are not.
    fn understood(&self, plain: &ReadModel, own: Vec<Written>) -> (Vec<Written>, String) {
        let mut refused = String::new();
        let own = own.into_iter().filter(|one| match self.with_all(plain, std::slice::from_ref(one)) {
            Ok(_) => true,
            Err(failure) => {
                let told = failure.to_string();
                let line = told.lines().next().unwrap_or_default();
                let why = line.split_once("error: ").map_or(line, |(_, why)| why);
                let why = why.trim_start_matches(&format!("`{}`: ", one.name));
                refused.push_str(&format!("warning: the formula `{}` is not answered: {why}\n", one.name));
                false
            }
        });
        (own.collect(), refused)
    }

    /// Reads the model again with what is asked.
    fn with_all(&self, plain: &ReadModel, written: &[Written]) -> Result<ReadModel, FormulaError> {
        // The largest expressions first; where the model's language does not know them as a whole, smaller ones.
        self.with(plain, written, Cut::Maximal)
            .or_else(|first| self.with(plain, written, Cut::AtEveryOperator).map_err(|_| first))
    }

    /// Reads the model again with the propositions of what is asked, and adds what is asked.
    fn with(&self, plain: &ReadModel, written: &[Written], cut: Cut) -> Result<ReadModel, FormulaError> {
        let mut atoms = Expressions::new(plain, cut);
        let mut read = Vec::new();
        // SPIN reads chains from the left, and its claims are written in Promela.
        let promela = plain.language.name == "Promela";
        let chains = if promela { Chains::Left } else { Chains::Refused };
        let mut options = self.options.clone();
        for one in written {
            let wrong = |error: ParseError| FormulaError::Question(one.told(&error));
            let meant = match one.form {
                Form::Ltl => Read::Formula(parse_with(&one.text, &mut atoms, chains).map_err(wrong)?),
                Form::Never if promela => {
                    options.claim = Some((one.name.clone(), one.text.clone()));
                    Read::Native
                }
                Form::Never => Read::Claim(never::read(&one.text, &mut atoms).map_err(wrong)?),
                Form::Hoa => {
                    let found = hoa::read(&one.text).map_err(wrong)?;
                    let numbers: Vec<u32> = found.atoms.iter().map(|text| atoms.number(text)).collect();
                    Read::Claim(found.automaton.renumbered(&numbers))
                }
            };
            read.push((meant, atoms.finish()));
        }
        options.propositions.clone_from(&atoms.texts);
        let mut with_propositions = match plain.clocks {
            Some(_) => ReadModel::read_timed(self.path, &options)?,
            None => ReadModel::read(self.path, &options)?,
        };
        let system = &mut with_propositions.system;
        let first = system.properties.len().saturating_sub(atoms.texts.len());
        let kept = system.properties[first..].iter().all(|p| p.kind == PropertyKind::Proposition);
        if !kept || system.properties.len() < atoms.texts.len() {
            let language = with_propositions.language.name;
            return Err(FormulaError::Question(format!("formulas cannot be asked of {language} models yet")));
        }
        for (one, (read, own)) in written.iter().zip(read) {
            let propositions = own.into_iter().map(|n| first + n).collect();
            system.properties.extend(asked(system, propositions, one, read)?);
        }
        Ok(with_propositions)
    }
}

/// Leaves claims of a text unanswered.
fn leave_claims(system: &mut System, claims: &[String]) {
    let is_left =
        |property: &&mut Property| property.kind == PropertyKind::Formula && claims.contains(&property.name);
    for property in system.properties.iter_mut().filter(is_left) {
        system.besides.unanswered.push(property.name.clone());
        property.kind = PropertyKind::Proposition;
        property.body = PropertyBody::State(Expr::constant(1));
    }
}

/// The property that a question becomes, if the model does not have it already.
fn asked(
    system: &System,
    propositions: Vec<usize>,
    one: &Written,
    read: Read,
) -> Result<Option<Property>, FormulaError> {
    let property = |kind, body| Property {
        name: one.name.clone(),
        kind,
        params: Vec::new(),
        locals: Vec::new(),
        body,
        span: Span::default(),
    };
    let mut stutter_invariant = false;
    let automaton = match read {
        Read::Formula(formula) => {
            stutter_invariant = formula.is_stutter_invariant();
            if let Some(Ltl::Atom(n)) = formula.invariant() {
                // Every search answers that.
                let always = system.properties[propositions[*n as usize]].clone();
                let kind = PropertyKind::Invariant;
                return Ok(Some(Property { name: one.name.clone(), kind, ..always }));
            }
            let negated = translate(&formula.not())
                .map_err(|error| FormulaError::Question(format!("`{}`: {error}", one.name)))?;
            negated.degeneralise()
        }
        Read::Claim(automaton) => automaton,
        Read::Native if system.properties.iter().any(|it| it.name == one.name) => return Ok(None),
        Read::Native => {
            return Err(FormulaError::Question(format!("`{}`: no never claim stands here", one.name)));
        }
    };
    let claim = Claim { automaton, propositions, text: one.text.clone(), stutters: true, stutter_invariant };
    Ok(Some(property(PropertyKind::Formula, PropertyBody::Claim(claim))))
}
