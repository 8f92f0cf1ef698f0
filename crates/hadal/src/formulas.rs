//! Formulas and claims asked of a model: where they come from, what their propositions are, and the properties they become.

use crate::args::ModelArgs;
use crate::failure::Failure;
use crate::load::{self, Model};
use clap::Args;
use hadal_lang::dve::beem::Description;
use hadal_ltl::{AtomError, Atoms, Automaton, Chains, Ltl, ParseError, hoa, never, parse_with, translate};
use hadal_system::{Claim, Expr, Property, PropertyBody, PropertyKind, Span, System};
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::path::{Path, PathBuf};

/// What is asked about infinite runs, and how the answer is looked for.
#[derive(Args, Clone, Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FormulaArgs {
    /// Check that every run has this LTL formula; may be repeated. Its propositions are expressions of the model's language
    /// (docs/ltl.md). Formulas in MODEL.ltl, one a line, are checked with the model's other properties.
    #[arg(long, value_name = "FORMULA")]
    pub ltl: Vec<String>,
    /// Check that no run is accepted by the never claim in this file.
    #[arg(long, value_name = "FILE")]
    pub never: Option<PathBuf>,
    /// Check that no run is accepted by the automaton in this file, in the Hanoi format.
    #[arg(long, value_name = "FILE")]
    pub hoa: Option<PathBuf>,
    /// Check that no run is for ever outside the locations with a progress label (non-progress cycles).
    #[arg(long)]
    pub progress: bool,
}

impl FormulaArgs {
    /// Whether something is asked.
    pub fn asks(&self) -> bool {
        !self.ltl.is_empty() || self.never.is_some() || self.hoa.is_some() || self.progress
    }
}

/// One question.
struct Written {
    name: String,
    text: String,
    form: Form,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    Ltl,
    Never,
    Hoa,
}

/// What a question becomes before its propositions are known to the model.
enum Read {
    Formula(Ltl),
    Claim(Automaton),
    /// The model's language reads it.
    Native,
}

/// Loads the model with everything that is asked of it. The names are those of the properties that the command names in
/// addition.
pub fn load(
    model: &ModelArgs,
    args: &FormulaArgs,
    properties: &[String],
    own: Own,
) -> Result<(Model, Vec<String>), Failure> {
    let plain = load::load(model)?;
    let is_claim = |property: &&Property| property.kind == PropertyKind::Formula;
    let claims: Vec<String> =
        plain.system.properties.iter().filter(is_claim).map(|property| property.name.clone()).collect();
    let (mut loaded, named) = load_asked(model, args, plain, (properties, own))?;
    if own == Own::Named && named.is_empty() {
        leave_claims(&mut loaded.system, &claims);
    }
    Ok((loaded, named))
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

fn load_asked(
    model: &ModelArgs,
    args: &FormulaArgs,
    plain: Model,
    (properties, own): (&[String], Own),
) -> Result<(Model, Vec<String>), Failure> {
    let mut named = properties.to_vec();
    let mut written = Vec::new();
    for (n, text) in args.ltl.iter().enumerate() {
        let name = if args.ltl.len() == 1 { "ltl".to_owned() } else { format!("ltl{}", n + 1) };
        named.push(name.clone());
        written.push(Written { name, text: text.clone(), form: Form::Ltl });
    }
    for (path, form) in [(&args.never, Form::Never), (&args.hoa, Form::Hoa)] {
        let Some(path) = path else { continue };
        let name = path.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        named.push(name.clone());
        written.push(Written { name, text: read_file(path)?, form });
    }
    written.extend(beside(&model.model)?);
    written.extend(described(model, &plain, properties)?);
    let own = of_text(&plain, own, &named);
    if !own.is_empty() {
        let names: Vec<String> = own.iter().map(|one| one.name.clone()).collect();
        let before = written.len();
        written.extend(own);
        match with_all(model, &plain, &written) {
            Ok(mut loaded) => {
                loaded.system.besides.unanswered.retain(|name| !names.contains(name));
                return Ok((loaded, named));
            }
            // A formula that nobody understands stays unanswered; one that is asked for by name is refused with its reason.
            Err(failure) if names.iter().any(|name| named.contains(name)) => return Err(failure),
            Err(_) => written.truncate(before),
        }
    }
    if written.is_empty() {
        return Ok((plain, named));
    }
    Ok((with_all(model, &plain, &written)?, named))
}

/// Which of the formulas in the model's own text are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Own {
    /// All of them, where nothing else is named.
    All,
    /// Those that are named.
    Named,
}

/// The formulas of the model's own text that are to be checked.
fn of_text(plain: &Model, own: Own, named: &[String]) -> Vec<Written> {
    let asked = |name: &String| named.contains(name) || own == Own::All && named.is_empty();
    let formulas = plain.system.besides.formulas.iter().filter(|(name, _)| asked(name));
    formulas.map(|(name, text)| Written { name: name.clone(), text: text.clone(), form: Form::Ltl }).collect()
}

/// Loads the model again with what is asked.
fn with_all(model: &ModelArgs, plain: &Model, written: &[Written]) -> Result<Model, Failure> {
    // The largest expressions first; where the model's language does not know them as a whole, smaller ones.
    with(model, plain, written, Cut::Maximal)
        .or_else(|first| with(model, plain, written, Cut::AtEveryOperator).map_err(|_| first))
}

fn read_file(path: &Path) -> Result<String, Failure> {
    std::fs::read_to_string(path).map_err(|error| Failure::File { path: path.to_owned(), error })
}

/// The formulas in `MODEL.ltl`: one a line, with a name and a colon in front if wanted; `#` begins a comment.
fn beside(model: &Path) -> Result<Vec<Written>, Failure> {
    let path = model.with_extension("ltl");
    if !path.is_file() {
        return Ok(Vec::new());
    }
    let mut written = Vec::new();
    for line in read_file(&path)?.lines() {
        let line = line.split('#').next().unwrap_or("").trim();
        if line.is_empty() {
            continue;
        }
        let is_name =
            |name: &str| !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let (name, text) = match line.split_once(':').filter(|(name, _)| is_name(name.trim())) {
            Some((name, text)) => (name.trim().to_owned(), text.trim()),
            None => (format!("ltl{}", written.len() + 1), line),
        };
        written.push(Written { name, text: text.to_owned(), form: Form::Ltl });
    }
    Ok(written)
}

/// The LTL properties of a BEEM description that are asked about by name.
fn described(model: &ModelArgs, plain: &Model, properties: &[String]) -> Result<Vec<Written>, Failure> {
    let known = |name: &String| plain.system.properties.iter().any(|p| p.name == *name);
    let missing: Vec<&String> = properties.iter().filter(|name| !known(name)).collect();
    if missing.is_empty() {
        return Ok(Vec::new());
    }
    let description = Description::beside(&model.model)
        .map_err(|error| Failure::File { path: model.model.with_extension("xml"), error })?;
    let Some(description) = description else { return Ok(Vec::new()) };
    let mut written = Vec::new();
    for (name, formula) in description.formulas(&model.load_options().numbers()) {
        if missing.contains(&&name) {
            let text =
                formula.map_err(|problem| Failure::Usage(format!("the property `{name}`: {problem}")))?;
            written.push(Written { name, text, form: Form::Ltl });
        }
    }
    Ok(written)
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Cut {
    Maximal,
    AtEveryOperator,
}

/// Loads the model again with the propositions of what is asked, and adds what is asked.
fn with(model: &ModelArgs, plain: &Model, written: &[Written], cut: Cut) -> Result<Model, Failure> {
    let mut atoms = Expressions::new(plain, cut);
    let mut read = Vec::new();
    // SPIN reads chains from the left, and its claims are written in Promela.
    let promela = plain.language.name == "Promela";
    let chains = if promela { Chains::Left } else { Chains::Refused };
    let mut options = model.load_options();
    for one in written {
        let wrong = |error: ParseError| Failure::Usage(told(one, &error));
        read.push(match one.form {
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
        });
    }
    options.propositions.clone_from(&atoms.texts);
    let mut loaded = load::load_with(model, &options)?;
    let system = &mut loaded.system;
    let first = system.properties.len().saturating_sub(atoms.texts.len());
    let kept = system.properties[first..].iter().all(|p| p.kind == PropertyKind::Proposition);
    if !kept || system.properties.len() < atoms.texts.len() {
        let language = loaded.language.name;
        return Err(Failure::Usage(format!("formulas cannot be asked of {language} models yet")));
    }
    for (one, read) in written.iter().zip(read) {
        system.properties.extend(asked(system, first, one, read)?);
    }
    Ok(loaded)
}

/// The property that a question becomes, if the model does not have it already.
fn asked(system: &System, first: usize, one: &Written, read: Read) -> Result<Option<Property>, Failure> {
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
                let always = system.properties[first + *n as usize].clone();
                let kind = PropertyKind::Invariant;
                return Ok(Some(Property { name: one.name.clone(), kind, ..always }));
            }
            let negated = translate(&formula.not())
                .map_err(|error| Failure::Usage(format!("`{}`: {error}", one.name)))?;
            negated.degeneralise()
        }
        Read::Claim(automaton) => automaton,
        Read::Native if system.properties.iter().any(|it| it.name == one.name) => return Ok(None),
        Read::Native => return Err(Failure::Usage(format!("`{}`: no never claim stands here", one.name))),
    };
    let propositions = (first..system.properties.len())
        .take_while(|&n| system.properties[n].kind == PropertyKind::Proposition)
        .collect();
    let claim = Claim { automaton, propositions, text: one.text.clone(), stutters: true, stutter_invariant };
    Ok(Some(property(PropertyKind::Formula, PropertyBody::Claim(claim))))
}

/// What is wrong with a formula, with a caret under the place.
fn told(one: &Written, error: &ParseError) -> String {
    let start = error.at.start.min(one.text.len());
    let line_start = one.text[..start].rfind('\n').map_or(0, |at| at + 1);
    let line = one.text[line_start..].lines().next().unwrap_or("");
    let before = one.text[line_start..start].chars().count();
    let length = one.text.get(error.at.clone()).map_or(1, |part| part.chars().count().max(1));
    let help = error.help.as_ref().map_or(String::new(), |help| format!("\n  help: {help}"));
    format!(
        "`{}`: {}\n  {line}\n  {}{}{help}",
        one.name,
        error.message,
        " ".repeat(before),
        "^".repeat(length.min(line.chars().count().saturating_sub(before).max(1)))
    )
}

/// The propositions of all formulas, each once.
struct Expressions<'s> {
    system: &'s System,
    single_operators: bool,
    cut: Cut,
    texts: Vec<String>,
    numbers: HashMap<String, u32>,
}

impl<'s> Expressions<'s> {
    fn new(plain: &'s Model, cut: Cut) -> Self {
        Expressions {
            system: &plain.system,
            single_operators: plain.language.name == "Murphi",
            cut,
            texts: Vec::new(),
            numbers: HashMap::new(),
        }
    }

    /// Whether a Boolean operator of formulas stands in it.
    fn has_operator(&self, text: &str) -> bool {
        let words = ["and", "or", "not", "imply", "implies"];
        let is_part = |c: char| c.is_alphanumeric() || c == '_';
        let arrow = text.match_indices("->").any(|(at, _)| {
            let owner = text[..at].rsplit(|c: char| !is_part(c)).next().unwrap_or("");
            !self.joins(owner, "")
        });
        arrow
            || text.split(|c: char| !is_part(c)).any(|word| words.contains(&word))
            || text.contains("&&")
            || text.contains("||")
            || text.replace("!=", "").contains('!')
    }

    fn number(&mut self, text: &str) -> u32 {
        let next = self.texts.len() as u32;
        let number = *self.numbers.entry(text.to_owned()).or_insert(next);
        if number == next {
            self.texts.push(text.to_owned());
        }
        number
    }
}

impl Atoms for Expressions<'_> {
    fn atom(&mut self, text: &str) -> Result<u32, AtomError> {
        if self.cut == Cut::AtEveryOperator && self.has_operator(text) {
            return Err(AtomError {
                message: "this is not one expression of the model".into(),
                at: 0..text.len(),
            });
        }
        if self.texts.len() == 64 && !self.numbers.contains_key(text) {
            return Err(AtomError { message: "more than 64 propositions".into(), at: 0..text.len() });
        }
        Ok(self.number(text))
    }

    fn declares(&self, word: &str) -> bool {
        let named = |name: &str| name == word || name.rsplit('.').next() == Some(word);
        self.system.variables.iter().any(|variable| named(&variable.name))
            || self.system.processes.iter().any(|process| process.name == word)
            || self.system.functions.iter().any(|function| function.name == word)
    }

    fn joins(&self, before: &str, _after: &str) -> bool {
        self.system.processes.iter().any(|process| process.name == before)
    }

    fn has_single_operators(&self) -> bool {
        self.single_operators
    }
}
