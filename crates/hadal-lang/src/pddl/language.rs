//! PDDL in the registry of languages: a problem file is a system, together with the domain that lies beside it; a domain
//! file alone is checked and describes no states.

use super::{NotLoaded, Options, load, read, tree};
use crate::diagnostic::{Diagnostic, Diagnostics, Refused};
use crate::language::{Given, Language, LoadError, Loaded, LoadedModel, Request};
use hadal_system::{DeadlockNotion, Source, Span};
use std::path::{Path, PathBuf};

/// PDDL, for the registry.
pub static LANGUAGE: Language = Language {
    name: "PDDL",
    extensions: &["pddl"],
    deadlock: DeadlockNotion::Off,
    defines: "`domain`, the file of a problem's domain",
    expand: None,
    load: load_file,
};

/// What is grounded here is meant to be looked at whole, so that it may take less than a plan's task.
const OPTIONS: Options = Options {
    memory: 1 << 30,
    held: || 0,
    work: 2_000_000_000,
    deadline: None,
    soft: super::SoftGoals::Collect,
};
/// Larger files beside a problem are not looked at for its domain.
const LARGEST_DOMAIN: u64 = 4 << 20;

/// What a text defines.
enum Defined {
    Domain(String),
    /// A problem of this domain.
    Problem(Option<String>),
    Nothing,
}

fn defined(text: &str) -> Defined {
    let text = text.to_ascii_lowercase();
    let trees = tree::read(&text, &mut Diagnostics::default());
    let Some(items) = trees.iter().find(|tree| tree.head() == Some("define")).and_then(tree::Tree::list)
    else {
        return Defined::Nothing;
    };
    let named = |head: &str| {
        let found = items.iter().find(|item| item.head() == Some(head))?.list()?;
        found.get(1).and_then(tree::Tree::word).map(str::to_owned)
    };
    match (named("domain"), named("problem")) {
        (Some(name), _) => Defined::Domain(name),
        (None, Some(_)) => Defined::Problem(named(":domain")),
        (None, None) => Defined::Nothing,
    }
}

fn load_file(request: Request) -> Result<Loaded, LoadError> {
    let Request { path, source, options } = request;
    let refuse = |message: String| {
        let diagnostics = Diagnostics { list: vec![Diagnostic::error(Span::default(), message)] };
        LoadError::Refused(Refused { source_text: source.clone(), diagnostics })
    };
    let wanted = match defined(&source.text) {
        Defined::Domain(name) => return check_domain(source, &name),
        Defined::Problem(wanted) => wanted,
        Defined::Nothing => return Err(refuse("neither a domain nor a problem is defined here".to_owned())),
    };
    if let Some((name, _)) = options.define.iter().find(|(name, _)| name != "domain") {
        return Err(refuse(format!(
            "-D {name}: a problem has no constants; -D domain=FILE names its domain"
        )));
    }
    let given = options.define.first().map(|(_, given)| match given {
        Given::Text(text) => PathBuf::from(text),
        Given::Number(number) => PathBuf::from(number.to_string()),
    });
    let domain = match given {
        Some(path) => Some(path),
        None => wanted.as_deref().and_then(|wanted| find_domain(path, wanted)),
    };
    let Some(domain) = domain else {
        let wanted = wanted.unwrap_or_else(|| "the problem's domain".to_owned());
        return Err(refuse(format!(
            "no file beside this one defines the domain `{wanted}`; name it with -D domain=FILE"
        )));
    };
    let text = std::fs::read(&domain).map_err(|error| LoadError::File { path: domain.clone(), error })?;
    let domain = Source::new(domain.display().to_string(), String::from_utf8_lossy(&text).into_owned());
    let loaded = match load(domain, source.clone(), OPTIONS) {
        Ok(loaded) => loaded,
        Err(NotLoaded::Refused(refused)) => return Err(LoadError::Refused(refused)),
        Err(stopped) => return Err(refuse(stopped.to_string())),
    };
    let mut system = loaded.task.to_system().map_err(|error| refuse(error.to_string()))?;
    system.source = source.clone();
    // Spans of warnings point into the model's own text.
    let own = loaded.warnings.into_iter().filter(|(of, _)| of.name == source.name);
    let warnings = Diagnostics { list: own.map(|(_, finding)| finding).collect() };
    Ok(Loaded { model: LoadedModel::System(system), warnings })
}

/// A domain alone: read with a problem that has no objects and asks nothing.
fn check_domain(domain: Source, name: &str) -> Result<Loaded, LoadError> {
    let text = format!("(define (problem none) (:domain {name}) (:init) (:goal (and)))");
    let problem = Source::new("problem", text);
    let found = read(&domain, &problem)?;
    let own = found.warnings.into_iter().filter(|(of, _)| of.name == domain.name);
    let warnings = Diagnostics { list: own.map(|(_, finding)| finding).collect() };
    Ok(Loaded { model: LoadedModel::Domain(domain), warnings })
}

/// The file that defines the domain `name`: beside the problem, usual names first, else in the folder above.
pub fn find_domain(problem: &Path, name: &str) -> Option<PathBuf> {
    let folder = problem.parent()?;
    let stem = problem.file_stem()?.to_string_lossy().into_owned();
    let mut candidates = vec![
        folder.join("domain.pddl"),
        folder.join(format!("domain-{stem}.pddl")),
        folder.join(format!("{stem}-domain.pddl")),
        folder.join(format!("domain_{stem}.pddl")),
    ];
    for folder in [Some(folder), folder.parent()].into_iter().flatten() {
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let mut beside: Vec<PathBuf> = std::fs::read_dir(folder)
            .map(|entries| entries.filter_map(|entry| Some(entry.ok()?.path())).collect())
            .unwrap_or_default();
        beside.sort();
        candidates.extend(beside.into_iter().filter(|path| {
            let pddl = path.extension().is_some_and(|extension| {
                extension.eq_ignore_ascii_case("pddl") || extension.eq_ignore_ascii_case("ppddl")
            });
            pddl && path != problem
        }));
    }
    candidates.into_iter().find(|path| {
        let small = std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LARGEST_DOMAIN);
        let text = if small { std::fs::read(path).ok() } else { None };
        text.is_some_and(|text| {
            let text = String::from_utf8_lossy(&text);
            // Most files beside a problem are problems, and large: look at the words before reading.
            text.to_ascii_lowercase().contains("(domain")
                && matches!(defined(&text), Defined::Domain(found) if found == name)
        })
    })
}
