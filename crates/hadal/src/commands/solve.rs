//! `hadal solve`: values of a decision process, between proved bounds or exactly.

use crate::args::{Given, parse_override};
use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use hadal_check::options::parse_size;
use hadal_exec::rows::RowSpace;
use hadal_exec::{Model, ModelOptions};
use hadal_lang::prism;
use hadal_system::chance::{
    Asked, Formula, Horizon, Limit, Measure, Objective, Path as Paths, Reward, Sense, Summary,
};
use hadal_system::{
    Expr, Property, PropertyBody, PropertyId, PropertyKind, Quantities, Source, Span, StateSpace, System,
};
use hadal_value::build::{BuildError, BuildOptions};
use hadal_value::certificate::{self, Certificate};
use hadal_value::chances::RowChances;
use hadal_value::disk::{Place, Tier};
use hadal_value::explicit::{self, Described, ExportError};
use hadal_value::follow::state_text;
use hadal_value::values::Exact;
use hadal_value::{Answer, Options, Precision, SolveError};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

/// Arguments of `solve`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal solve models/gambler.prism --formula 'Pmax=? [ F \"rich\" ]'\n  \
    hadal solve coin.prism -D K=4 --property disagree --exact\n\n\
    EXIT CODES:\n  0 solved, or the formula holds   1 the formula does not hold   2 wrong input or command   \
    3 stopped by a limit")]
pub struct SolveArgs {
    /// The model: PRISM's language for mdp, dtmc and ctmc; or a domain in PPDDL.
    pub model: PathBuf,
    /// The problem of a domain in PPDDL, where it is not in the same file.
    pub problem: Option<PathBuf>,
    /// Give a constant of the model or of the question a value; may be repeated.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_override)]
    pub define: Vec<(String, Given)>,
    /// Answer this property of the file beside the model, by its name or number. Of a problem in PPDDL: goal (how likely it is
    /// reached, the default), steps (how many it takes) or cost (what it costs).
    #[arg(long, value_name = "NAME", conflicts_with = "formula")]
    pub property: Option<String>,
    /// Answer this question.
    #[arg(long, value_name = "TEXT")]
    pub formula: Option<String>,
    /// The properties. Default: the .props or .pctl file beside the model with its name, or with its name up to a dot or digit.
    #[arg(long, value_name = "FILE")]
    pub properties: Option<PathBuf>,
    /// The value itself, as a fraction.
    #[arg(long)]
    pub exact: bool,
    /// Write a policy that attains the value up to the precision to this file: a line per state, its variables and what to do.
    #[arg(long, value_name = "FILE", conflicts_with = "disk")]
    pub policy: Option<PathBuf>,
    /// Write a certificate to this file, which `hadal check-certificate` checks without solving anything.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["disk", "exact"])]
    pub certificate: Option<PathBuf>,
    /// Write the graph as explicit files for PRISM and Storm instead of answering: STEM.tra, STEM.sta, STEM.lab, and
    /// STEM.NAME.trew for each reward.
    #[arg(long, value_name = "STEM", conflicts_with_all = ["formula", "property", "exact", "policy", "disk"])]
    pub export: Option<PathBuf>,
    /// How far the bounds may lie apart, relative to the value.
    #[arg(long, value_name = "WIDTH", default_value_t = 1e-6)]
    pub precision: f64,
    /// How much memory the graph may take.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Continue in this folder when the memory does not suffice. The same command goes on after it was killed.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Where values are kept. Named tiers sweep all values at once and give the same bits; those other than ram need --disk.
    #[arg(long, value_enum, default_value_t = TierName::Auto, value_name = "NAME")]
    pub tier: TierName,
    /// Stop when more states are found.
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// One JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Where values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// In RAM, component by component; on disk where that does not suffice.
    Auto,
    /// In RAM.
    Ram,
    /// In RAM, with the equations on disk.
    SemiExternal,
    /// On disk, a block in RAM at a time.
    Blocks,
    /// On edges that are sorted anew in every sweep, as published.
    Faithful,
}

/// Runs the verb; returns the exit code.
pub fn run(args: &SolveArgs) -> Result<u8, Failure> {
    if args.precision.is_nan() || args.precision <= 0.0 || args.precision >= 1.0 {
        return Err(Failure::Usage("--precision lies between 0 and 1".into()));
    }
    if !matches!(args.tier, TierName::Auto | TierName::Ram) && args.disk.is_none() {
        return Err(Failure::Usage("this tier keeps files: write --disk DIR".into()));
    }
    let started = Instant::now();
    let asking = args.asking();
    if asking.is_ppddl() {
        if args.export.is_some() {
            return Err(Failure::Usage("--export writes models in PRISM's language".into()));
        }
        let (space, system, objective) = ppddl(&asking)?;
        return solve_all(args, &space, &system, &[objective], started);
    }
    if let Some(stem) = &args.export {
        return export(args, stem);
    }
    let (loaded, objectives) = questions(&asking)?;
    let model = Model::new(loaded.into_system(), ModelOptions::default())
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.display())))?;
    solve_all(args, &model, model.system(), &objectives, started)
}

/// Arguments of `check-certificate`.
#[derive(Args, Clone, Debug)]
pub struct CheckCertificateArgs {
    /// The certificate.
    pub certificate: PathBuf,
    /// The model it is about: PRISM's language; or a domain in PPDDL.
    pub model: PathBuf,
    /// The problem of a domain in PPDDL, where it is not in the same file.
    pub problem: Option<PathBuf>,
    /// Give a constant of the model or of the question a value; may be repeated.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_override)]
    pub define: Vec<(String, Given)>,
    /// The properties, where labels of the question stand there. Default: as for solve.
    #[arg(long, value_name = "FILE")]
    pub properties: Option<PathBuf>,
}

/// Checks a certificate; returns the exit code: 1 where it does not show what it claims.
pub fn check_certificate(args: &CheckCertificateArgs) -> Result<u8, Failure> {
    let failed = |error| Failure::File { path: args.certificate.clone(), error };
    let file = std::fs::File::open(&args.certificate).map_err(failed)?;
    let certificate = Certificate::read(std::io::BufReader::new(file)).map_err(failed)?;
    let asked = Asking {
        model: &args.model,
        problem: args.problem.as_deref(),
        define: &args.define,
        properties: args.properties.as_deref(),
        formula: Some(&certificate.formula),
        property: None,
    };
    let checked = if asked.is_ppddl() {
        let (space, system, objective) = ppddl(&asked)?;
        certificate::check(&space, &system, &objective, &certificate)
    } else {
        let (loaded, objectives) = questions(&asked)?;
        let model = Model::new(loaded.into_system(), ModelOptions::default())
            .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.display())))?;
        let Some(objective) = objectives.first() else {
            return Err(Failure::Usage("the certificate asks nothing".into()));
        };
        certificate::check(&model, model.system(), objective, &certificate)
    };
    let (lower, upper) = certificate.value;
    match checked {
        Ok(()) => {
            let states = certificate.claims.len();
            output::line(&format!(
                "{}\n  proved    between {lower:?} and {upper:?}, {states} states",
                certificate.formula
            ))?;
            Ok(0)
        }
        Err(flaw) => {
            output::line(&format!("{}\n  not proved: {flaw}", certificate.formula))?;
            Ok(1)
        }
    }
}

/// What is asked of which model.
pub(super) struct Asking<'a> {
    pub model: &'a Path,
    pub problem: Option<&'a Path>,
    pub define: &'a [(String, Given)],
    pub properties: Option<&'a Path>,
    pub formula: Option<&'a str>,
    pub property: Option<&'a str>,
}

impl Asking<'_> {
    fn is_ppddl(&self) -> bool {
        let extension = self.model.extension();
        self.problem.is_some()
            || extension.is_some_and(|e| e.eq_ignore_ascii_case("pddl") || e.eq_ignore_ascii_case("ppddl"))
    }
}

impl SolveArgs {
    fn asking(&self) -> Asking<'_> {
        Asking {
            model: &self.model,
            problem: self.problem.as_deref(),
            define: &self.define,
            properties: self.properties.as_deref(),
            formula: self.formula.as_deref(),
            property: self.property.as_deref(),
        }
    }
}

fn solve_all(
    args: &SolveArgs,
    space: &dyn StateSpace,
    system: &System,
    objectives: &[Objective],
    started: Instant,
) -> Result<u8, Failure> {
    let options = Options {
        precision: Precision {
            relative: args.precision,
            exact: args.exact,
            policy: args.policy.is_some(),
            certificate: args.certificate.is_some(),
        },
        memory: args.memory,
        max_states: args.max_states,
    };
    let mut code = 0;
    for objective in objectives {
        match answered(args, space, system, objective, options) {
            Ok(answer) => {
                code = code.max(u8::from(answer.verdict == Some(false)));
                if let Some(path) = &args.policy {
                    write_policy(path, space, &answer)?;
                }
                if let (Some(path), Some(certificate)) = (&args.certificate, &answer.certificate) {
                    let failed = |error| Failure::File { path: path.clone(), error };
                    let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
                    certificate.write(&mut file).and_then(|()| file.flush()).map_err(failed)?;
                }
                output::raw(shown(args, objective, &answer, started).as_bytes())?;
            }
            Err(SolveError::Build(
                error @ (BuildError::Memory { .. } | BuildError::States(_) | BuildError::TooLarge),
            )) => {
                stopped(args, objective, &error.to_string())?;
                return Ok(3);
            }
            Err(error @ (SolveError::Disk(_) | SolveError::NotOnDisk)) if args.tier == TierName::Auto => {
                stopped(args, objective, &error.to_string())?;
                return Ok(3);
            }
            Err(SolveError::Build(BuildError::Fault { reason, state, .. })) => {
                let state: Vec<String> =
                    state.iter().map(|(name, value)| format!("  {name} = {value}")).collect();
                let state = state.join("\n");
                return Err(Failure::Usage(format!(
                    "the model has an error: {reason}; in the state\n{state}"
                )));
            }
            Err(error) => return Err(Failure::Usage(format!("{}: {error}", objective.text))),
        }
    }
    Ok(code)
}

/// Writes the graph of a model as explicit files.
fn export(args: &SolveArgs, stem: &Path) -> Result<u8, Failure> {
    let mut loaded = load(&args.asking())?;
    let labels = loaded.labels().map_err(|refused| Failure::from(hadal_lang::LoadError::Refused(refused)))?;
    let model = Model::new(loaded.into_system(), ModelOptions::default())
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.display())))?;
    let system = model.system();
    let bases = system.property_bases();
    let labels: Vec<(String, PropertyId)> =
        labels.into_iter().map(|(name, property)| (name, PropertyId(bases[property]))).collect();
    let quantities = &system.quantities;
    let described = Described { chance: quantities.chance, labels: &labels, rewards: &quantities.rewards };
    let limits = BuildOptions { memory: args.memory, max_states: args.max_states, ..BuildOptions::default() };
    match explicit::export(&model, &described, stem, &limits) {
        Ok(files) => {
            for file in files {
                output::line(&file.display().to_string())?;
            }
            Ok(0)
        }
        Err(ExportError::Build(
            error @ (BuildError::Memory { .. } | BuildError::States(_) | BuildError::TooLarge),
        )) => {
            output::line(&format!("stopped: {error}"))?;
            Ok(3)
        }
        Err(ExportError::File(error)) => Err(Failure::File { path: stem.to_owned(), error }),
        Err(error) => Err(Failure::Usage(format!("{}: {error}", args.model.display()))),
    }
}

/// Reads the model with the constants that are given.
pub(super) fn load(args: &Asking) -> Result<prism::Loaded, Failure> {
    let define: Vec<(String, hadal_lang::Given)> = args
        .define
        .iter()
        .map(|(name, given)| match given {
            Given::Number(value) => (name.clone(), hadal_lang::Given::Number(*value)),
            Given::Text(text) => (name.clone(), hadal_lang::Given::Text(text.clone())),
        })
        .collect();
    prism::load(read_source(args.model)?, &prism::definitions(&define)?)
        .map_err(|refused| Failure::from(hadal_lang::LoadError::Refused(refused)))
}

fn read_source(path: &Path) -> Result<Source, Failure> {
    let text = std::fs::read(path).map_err(|error| Failure::File { path: path.to_owned(), error })?;
    Ok(Source::new(path.display().to_string(), String::from_utf8_lossy(&text).into_owned()))
}

/// Writes what is done in each state that the policy reaches.
fn write_policy(path: &Path, space: &dyn StateSpace, answer: &Answer) -> Result<(), Failure> {
    let Some(policy) = &answer.policy else {
        return Err(Failure::Usage("this question has no policy of states alone".into()));
    };
    let mut text = String::new();
    for (state, label, number) in &policy.steps {
        let action = if label.0 == u32::MAX { "rest".into() } else { space.render_label(*label) };
        // The first outcome stands for the choice.
        let action = action.split(", outcome:").next().unwrap_or_default();
        text.push_str(&format!("{}\t{action}\t{number}\n", state_text(space, state)));
    }
    std::fs::write(path, text).map_err(|error| Failure::File { path: path.to_owned(), error })
}

/// Answers where the tier says: in RAM, on disk, or on disk once RAM does not suffice.
fn answered(
    args: &SolveArgs,
    space: &dyn StateSpace,
    system: &System,
    objective: &Objective,
    options: Options,
) -> Result<Answer, SolveError> {
    let on_disk = |folder: &Path, tier: Option<Tier>| {
        let place = Place { folder, memory: args.memory.unwrap_or(1 << 30), tier };
        hadal_value::disk::answer(space, system, objective, options.precision, &place)
    };
    let named = match args.tier {
        TierName::Auto => {
            let found = hadal_value::answer(space, system, objective, options);
            return match (&found, &args.disk) {
                (Err(SolveError::Build(BuildError::Memory { .. } | BuildError::TooLarge)), Some(folder)) => {
                    on_disk(folder, None)
                }
                _ => found,
            };
        }
        TierName::Ram => return hadal_value::disk::answer_in_ram(space, system, objective, options),
        TierName::SemiExternal => Tier::SemiExternal,
        TierName::Blocks => Tier::Blocks,
        TierName::Faithful => Tier::Faithful,
    };
    match &args.disk {
        Some(folder) => on_disk(folder, Some(named)),
        None => Err(SolveError::NotOnDisk),
    }
}

/// What the properties of problems in PPDDL ask.
const STEPS: &str = "R{\"steps\"}min=? [ F goal ]";
const COST: &str = "R{\"cost\"}min=? [ F goal ]";

/// A problem in PPDDL and the question about its goal.
fn ppddl(args: &Asking) -> Result<(RowChances, System, Objective), Failure> {
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
    let reached = Formula::Proposition(0);
    let name = match (args.property, args.formula) {
        (Some(name), _) => name,
        (None, Some(STEPS)) => "steps",
        (None, Some(COST)) => "cost",
        _ => "goal",
    };
    let (text, asked) = match name {
        "goal" => {
            let path = Paths::Until(Formula::Constant(true), reached, Limit::None);
            ("Pmax=? [ F goal ]", Asked::Value(Measure::Probability(path), Sense::Greatest))
        }
        "steps" => (STEPS, Asked::Value(Measure::Earned(0, Horizon::Reach(reached)), Sense::Least)),
        "cost" if chances.costs.is_none() => {
            return Err(Failure::Usage("costs that depend on the state, or gains, are not supported".into()));
        }
        "cost" => (COST, Asked::Value(Measure::Earned(1, Horizon::Reach(reached)), Sense::Least)),
        other => {
            return Err(Failure::Usage(format!(
                "a problem in PPDDL has the properties goal, steps and cost, not {other}"
            )));
        }
    };
    let objective = Objective {
        name: name.into(),
        text: text.into(),
        asked,
        states: Formula::Initial,
        summary: Summary::Greatest,
    };
    Ok((space, system, objective))
}

/// Reads the model and what is asked of it: one question, or every property of the file beside it.
pub(super) fn questions(args: &Asking) -> Result<(prism::Loaded, Vec<Objective>), Failure> {
    let refused = |refused| Failure::from(hadal_lang::LoadError::Refused(refused));
    let mut loaded = load(args)?;
    let beside = args.properties.map(Path::to_owned).or_else(|| properties_beside(args.model));
    if let Some(path) = &beside {
        loaded.add_properties(read_source(path)?).map_err(refused)?;
    }
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
            return Err(Failure::Usage("nothing is asked: write --property NAME or --formula TEXT".into()));
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

fn exact_text(exact: &Exact) -> String {
    match exact {
        Exact::Finite(value) => value.to_string(),
        Exact::Infinite => "infinity".into(),
    }
}

fn stopped(args: &SolveArgs, objective: &Objective, reason: &str) -> Result<(), Failure> {
    if args.json {
        let object = serde_json::json!({
            "property": objective.name, "formula": objective.text, "verdict": "stopped", "reason": reason,
        });
        output::line(&object.to_string())
    } else {
        output::line(&format!("stopped: {reason}"))
    }
}

/// The answer, for people or as one object.
fn shown(args: &SolveArgs, objective: &Objective, answer: &Answer, started: Instant) -> String {
    let verdict = answer.verdict.map(|holds| if holds { "holds" } else { "violated" });
    if args.json {
        // JSON has no infinity: a bound that is not finite is text.
        let number = |value: f64| match serde_json::Number::from_f64(value) {
            Some(number) => serde_json::Value::Number(number),
            None => serde_json::Value::String("infinity".into()),
        };
        let mut object = serde_json::json!({
            "property": objective.name,
            "formula": objective.text,
            "states": answer.states,
            "choices": answer.choices,
            "branches": answer.branches,
            "sweeps": answer.sweeps,
            "tier": answer.tier,
            "deadlocks": answer.deadlocks,
            "seconds": started.elapsed().as_secs_f64(),
        });
        if let Some((lower, upper)) = answer.value {
            object["lower"] = number(lower);
            object["upper"] = number(upper);
        }
        if answer.resumed {
            object["resumed"] = true.into();
        }
        if let Some(policy) = &answer.policy {
            object["policy_states"] = policy.steps.len().into();
            object["policy_lower"] = number(policy.value.0);
            object["policy_upper"] = number(policy.value.1);
        }
        if let Some(exact) = &answer.exact {
            object["exact"] = exact_text(exact).into();
        }
        if let Some(verdict) = verdict {
            object["verdict"] = verdict.into();
        }
        if let Some(count) = answer.count {
            object["count"] = count.into();
        }
        return format!("{object}\n");
    }
    let name = if objective.name.is_empty() { String::new() } else { format!("{}: ", objective.name) };
    let mut lines = vec![format!("{name}{}", objective.text)];
    if answer.deadlocks > 0 {
        lines.push(format!("  warning: {} state(s) without a choice loop forever", answer.deadlocks));
    }
    match (answer.value, &answer.exact) {
        (_, Some(exact)) => lines.push(format!("  value     {}", exact_text(exact))),
        (Some((lower, upper)), None) if lower == upper => lines.push(format!("  value     {lower}")),
        _ => {}
    }
    if let Some((lower, upper)) = answer.value {
        lines.push(format!("  between   {lower:?} and {upper:?}"));
    }
    if let Some(policy) = &answer.policy {
        let (states, (lower, upper)) = (policy.steps.len(), policy.value);
        lines.push(format!("  policy    of {states} states gives between {lower:?} and {upper:?}"));
    }
    lines.extend(verdict.map(|verdict| format!("  {verdict}")));
    lines.extend(answer.count.map(|count| format!("  {count} state(s)")));
    let Answer { states, choices, branches, sweeps, .. } = answer;
    lines.push(format!("  {states} states, {choices} choices, {branches} branches; {sweeps} sweeps\n"));
    lines.join("\n")
}
