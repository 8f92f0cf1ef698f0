//! Which model, and what is asked of it: PRISM's language, explicit files, PPDDL.

use super::problem::{self, Question};
use crate::args::Given;
use crate::failure::Failure;
use hadal_exec::rows::RowSpace;
use hadal_lang::prism;
use hadal_lang::prism::explicit::Explicit;
use hadal_lang::prism::jani::{self, Translated};
use hadal_system::chance::{Formula, Objective, Reward, Summary};
use hadal_system::{Expr, Property, PropertyBody, PropertyKind, Quantities, Source, Span, System};
use hadal_value::chances::RowChances;
use std::path::{Path, PathBuf};

/// What is asked of which model.
pub(crate) struct Asking<'a> {
    pub model: &'a Path,
    pub problem: Option<&'a Path>,
    pub define: &'a [(String, Given)],
    pub properties: Option<&'a Path>,
    pub formula: Option<&'a str>,
    pub property: Option<&'a str>,
}

impl Asking<'_> {
    pub fn is_ppddl(&self) -> bool {
        let extension = self.model.extension();
        self.problem.is_some()
            || extension.is_some_and(|e| e.eq_ignore_ascii_case("pddl") || e.eq_ignore_ascii_case("ppddl"))
    }
}

/// Reads the model with the constants that are given.
pub(crate) fn load(args: &Asking) -> Result<prism::Loaded, Failure> {
    let define: Vec<(String, hadal_lang::Given)> = args
        .define
        .iter()
        .map(|(name, given)| match given {
            Given::Number(value) => (name.clone(), hadal_lang::Given::Number(*value)),
            Given::Text(text) => (name.clone(), hadal_lang::Given::Text(text.clone())),
        })
        .collect();
    let is_explicit = args.model.extension().is_some_and(|e| e == "tra");
    let source = match translated(args)? {
        Some(translated) => Source::new(args.model.display().to_string(), translated.model),
        None if is_explicit => explicit_source(args.model)?,
        None => read_source(args.model)?,
    };
    prism::load(source, &prism::definitions(&define)?)
        .map_err(|refused| Failure::from(hadal_lang::LoadError::Refused(refused)))
}

/// A document in JANI, in PRISM's language.
fn translated(args: &Asking) -> Result<Option<Translated>, Failure> {
    if !args.model.extension().is_some_and(|e| e.eq_ignore_ascii_case("jani")) {
        return Ok(None);
    }
    let text = std::fs::read_to_string(args.model)
        .map_err(|error| Failure::File { path: args.model.to_owned(), error })?;
    let wrong = |error| Failure::Usage(format!("{}: {error}", args.model.display()));
    jani::to_prism(&text).map(Some).map_err(wrong)
}

/// A model of explicit files: transitions, with states, labels and rewards that lie beside them under the same name.
fn explicit_source(path: &Path) -> Result<Source, Failure> {
    let read = |path: &Path| -> Result<String, Failure> {
        std::fs::read_to_string(path).map_err(|error| Failure::File { path: path.to_owned(), error })
    };
    let transitions = read(path)?;
    let beside = |extension: &str| {
        let file = Some(path.with_extension(extension)).filter(|file| file.is_file());
        file.map(|file| read(&file)).transpose()
    };
    let (labels, states) = (beside("lab")?, beside("sta")?);
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let mut rewards: Vec<(String, bool, String)> = Vec::new();
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let entries =
        std::fs::read_dir(folder).map_err(|error| Failure::File { path: folder.to_owned(), error })?;
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let Some(rest) = name.strip_prefix(stem).and_then(|rest| rest.strip_prefix('.')) else { continue };
        for (extension, of_states) in [("srew", true), ("trew", false)] {
            let called = rest
                .strip_suffix(extension)
                .and_then(|r| r.strip_suffix('.').or(Some(r).filter(|r| r.is_empty())));
            if let Some(called) = called {
                rewards.push((called.to_owned(), of_states, read(&entry.path())?));
            }
        }
    }
    rewards.sort();
    let of = |states: bool| {
        let chosen = rewards.iter().filter(|r| r.1 == states);
        chosen.map(|(name, _, text)| (name.clone(), text.as_str())).collect()
    };
    let explicit = Explicit {
        transitions: &transitions,
        states: states.as_deref(),
        labels: labels.as_deref(),
        state_rewards: of(true),
        transition_rewards: of(false),
    };
    let text = explicit.to_prism().map_err(|error| Failure::Usage(format!("{}: {error}", path.display())))?;
    Ok(Source::new(path.display().to_string(), text))
}

fn read_source(path: &Path) -> Result<Source, Failure> {
    let text = std::fs::read(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
    Ok(Source::new(path.display().to_string(), String::from_utf8_lossy(&text).into_owned()))
}

/// A problem in PPDDL and the question about its goal.
pub(crate) fn ppddl(args: &Asking) -> Result<(RowChances, System, Objective), Failure> {
    let read = |path: &Path| -> Result<String, Failure> {
        let text = std::fs::read(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
        Ok(String::from_utf8_lossy(&text).into_owned())
    };
    let text = read(args.model)?;
    let name = args.model.display().to_string();
    let (domain, problem) = match args.problem {
        Some(path) => (Source::new(name, text), Source::new(path.display().to_string(), read(path)?)),
        None => hadal_lang::pddl::split(&Source::new(name.clone(), text)).ok_or_else(|| {
            Failure::Usage(format!("{name}: this file does not hold a domain and a problem; name both files"))
        })?,
    };
    let chances = hadal_lang::pddl::load_chances(domain, problem, hadal_lang::pddl::Options::default())
        .map_err(|refused| Failure::from(hadal_lang::LoadError::Refused(refused)))?;
    let space = RowSpace::new(chances.task).map_err(|error| Failure::Usage(error.to_string()))?;
    let rewards = [Some(chances.steps), chances.costs.clone()].into_iter().flatten().collect();
    let space = RowChances::new(space, chances.outcome_of, chances.weights, rewards);
    let goal = Property {
        name: "goal".into(),
        kind: PropertyKind::Proposition,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(Expr::constant(1)),
        span: Span::default(),
    };
    let named = |name: &str| Reward { name: name.into(), items: Vec::new() };
    let system = System {
        properties: vec![goal],
        quantities: Quantities { rewards: vec![named("steps"), named("cost")], ..Quantities::default() },
        ..System::default()
    };
    let Question { name, text, asked } =
        problem::question((args.property, args.formula), Formula::Proposition(0))?;
    if name == "cost" && chances.costs.is_none() {
        return Err(Failure::Usage("costs that depend on the state, or gains, are not supported".into()));
    }
    let objective =
        Objective { name: name.into(), text, asked, states: Formula::Initial, summary: Summary::Greatest };
    Ok((space, system, objective))
}

/// Reads the model and what is asked of it: one question, or every property of the file beside it.
pub(crate) fn questions(args: &Asking) -> Result<(prism::Loaded, Vec<Objective>), Failure> {
    let refused = |refused| Failure::from(hadal_lang::LoadError::Refused(refused));
    let mut loaded = load(args)?;
    let beside = args.properties.map(Path::to_owned).or_else(|| properties_beside(args.model));
    let inside = translated(args)?;
    if let Some(path) = &beside {
        loaded.add_properties(read_source(path)?).map_err(refused)?;
    } else if let Some(inside) = &inside {
        let source = Source::new(args.model.display().to_string(), inside.properties.clone());
        loaded.add_properties(source).map_err(refused)?;
        let asked =
            |name: &str| args.property == Some(name) || args.property.is_none() && args.formula.is_none();
        for (name, why) in inside.refused.iter().filter(|(name, _)| asked(name)) {
            crate::output::note!("{}: `{name}` is not answered: {why}", args.model.display());
        }
    }
    loaded.must_declare_given().map_err(refused)?;
    let mut objectives = Vec::new();
    if let Some(text) = args.formula {
        objectives.push(loaded.formula(text).map_err(refused)?);
    } else if let Some(name) = args.property {
        match loaded.property(name) {
            Some(objective) => objectives.push(objective.map_err(refused)?),
            None => {
                let known = loaded.properties().join(", ");
                return Err(Failure::Usage(match beside {
                    Some(path) => format!("{} has no property `{name}`; it has {known}", path.display()),
                    None => format!("no property file lies beside {}; write --formula", args.model.display()),
                }));
            }
        }
    } else {
        for name in loaded.properties() {
            match loaded.property(&name) {
                Some(Ok(objective)) => objectives.push(objective),
                Some(Err(refused)) => {
                    crate::output::note!("{}", hadal_lang::language::render_refusal(&refused))
                }
                None => {}
            }
        }
        if objectives.is_empty() {
            return Err(Failure::Usage(
                "there is no question: write --property NAME or --formula TEXT".into(),
            ));
        }
    }
    Ok((loaded, objectives))
}

/// The property file that belongs to a model: the same name, or the longest part of it before a dot or a digit.
fn properties_beside(model: &Path) -> Option<PathBuf> {
    let folder = model.parent()?;
    let stem = model.file_stem()?.to_str()?;
    let mut names = vec![stem.to_owned()];
    names.extend(stem.rmatch_indices('.').map(|(at, _)| stem[..at].to_owned()));
    let bare = stem.trim_end_matches(|c: char| c.is_ascii_digit() || c == '-' || c == '.');
    names.push(bare.to_owned());
    let extensions = ["props", "pctl", "csl"];
    let all =
        names.iter().flat_map(|name| extensions.map(|extension| folder.join(format!("{name}.{extension}"))));
    all.into_iter().find(|path| path.is_file())
}
