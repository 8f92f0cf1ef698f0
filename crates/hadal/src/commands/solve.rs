//! `hadal solve`: values of a decision process, between proved bounds or exactly.

mod asking;
mod certificate;
mod method;
mod show;
mod threshold;

pub(super) use asking::{Asking, load, ppddl, questions};
pub use certificate::{CheckCertificateArgs, check_certificate};

use crate::args::{Given, parse_override};
use crate::failure::Failure;
use crate::output;
use clap::{Args, ValueEnum};
use hadal_check::options::parse_size;
use hadal_exec::{Model, ModelOptions};
use hadal_system::chance::Objective;
use hadal_system::{PropertyId, StateSpace, System};
use hadal_value::build::{BuildError, BuildOptions};
use hadal_value::disk::{Place, Tier};
use hadal_value::explicit::{self, Described, ExportError};
use hadal_value::follow::state_text;
use hadal_value::{Answer, Options, Precision, SolveError};
use method::Method;
use show::{shown, stopped};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use threshold::threshold;

/// Arguments of `solve`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal solve models/gambler.prism --formula 'Pmax=? [ F \"rich\" ]'\n  \
    hadal solve coin.prism -D K=4 --property disagree --exact\n\n\
    EXIT CODES:\n  0 solved, or the formula holds   1 the formula does not hold   2 wrong input or command   \
    3 stopped by a limit")]
pub struct SolveArgs {
    /// The model: PRISM's language (mdp, dtmc, ctmc), explicit files (.tra), or a PPDDL domain.
    pub model: PathBuf,
    /// The problem of a PPDDL domain, if it is in a file of its own.
    pub problem: Option<PathBuf>,
    /// Give a constant of the model or of the question a value; may be repeated.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_override)]
    pub define: Vec<(String, Given)>,
    /// Answer this property of the file beside the model, given by name or number. For a PPDDL problem: goal (the
    /// probability of reaching it, the default), steps (the expected number) or cost (the expected cost).
    #[arg(long, value_name = "NAME", conflicts_with = "formula")]
    pub property: Option<String>,
    /// Answer this question.
    #[arg(long, value_name = "TEXT")]
    pub formula: Option<String>,
    /// The file of properties. Default: the .props or .pctl file beside the model with the model's name, or with its
    /// name up to a dot or digit.
    #[arg(long, value_name = "FILE")]
    pub properties: Option<PathBuf>,
    /// Print the exact value, as a fraction.
    #[arg(long)]
    pub exact: bool,
    /// Compare the value with this bound and answer holds or violated: a relation and a number, such as '>=0.5' or
    /// '<1/3'.
    #[arg(long, value_name = "BOUND", conflicts_with = "export")]
    pub threshold: Option<String>,
    /// Write a policy that attains the value, up to the precision, to this file: one line per state with its variables
    /// and the choice.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Write a certificate to this file; `hadal check-certificate` checks it without solving anything.
    #[arg(long, value_name = "FILE", conflicts_with = "exact")]
    pub certificate: Option<PathBuf>,
    /// Write the graph as explicit files for PRISM and Storm instead of answering: STEM.tra, STEM.sta, STEM.lab, and
    /// STEM.NAME.trew for each reward.
    #[arg(long, value_name = "STEM", conflicts_with_all = ["formula", "property", "exact", "policy", "disk"])]
    pub export: Option<PathBuf>,
    /// How to compute values. Methods other than intervals and lao prove nothing: they compute least rewards until a
    /// target and end when no value changes by more than the precision.
    #[arg(long, value_enum, default_value_t = Method::Intervals, value_name = "NAME")]
    pub method: Method,
    /// How far apart the bounds may be, relative to the value.
    #[arg(long, value_name = "WIDTH", default_value_t = 1e-6)]
    pub precision: f64,
    /// Memory budget for the graph and for solving it.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Continue in this folder when memory runs out. After a kill, the same command resumes.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Threads that sweep large components. The values are the same to the bit for any number.
    #[arg(long, value_name = "N", default_value_t = hadal_check::memory::default_threads())]
    pub threads: usize,
    /// Where to keep values. All tiers but auto sweep all values at once and agree to the bit; those other than ram need
    /// --disk.
    #[arg(long, value_enum, default_value_t = TierName::Auto, value_name = "NAME")]
    pub tier: TierName,
    /// Stop when more states are found.
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// Where values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// In RAM, component by component; on disk when RAM runs out.
    Auto,
    /// In RAM.
    Ram,
    /// In RAM, with the equations on disk.
    SemiExternal,
    /// On disk, with one block in RAM at a time.
    Blocks,
    /// On edges that every sweep sorts again, as published.
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
            threads: args.threads.max(1),
        },
        memory: args.memory,
        max_states: args.max_states,
    };
    let threshold = args.threshold.as_deref().map(threshold).transpose()?;
    let mut code = 0;
    let proved = matches!(args.method, Method::Intervals | Method::Lao);
    if !proved && (args.exact || args.policy.is_some() || args.certificate.is_some() || threshold.is_some()) {
        return Err(Failure::Usage("this method proves nothing: use --method intervals".into()));
    }
    if args.method != Method::Intervals && args.tier != TierName::Auto {
        return Err(Failure::Usage("tiers are of --method intervals".into()));
    }
    for objective in objectives {
        if !proved {
            code = code.max(method::run(args, (space, system), objective, started)?);
            continue;
        }
        let answer = answered(args, space, system, objective, options).and_then(|mut answer| {
            if let (Some(threshold), Some(_)) = (&threshold, answer.value) {
                let verdict = threshold.decides(&answer).map_or_else(
                    || {
                        // Bounds touch it: only the value itself can say.
                        let precision = Precision { exact: true, ..options.precision };
                        let exact =
                            answered(args, space, system, objective, Options { precision, ..options })?;
                        threshold.decides(&exact).ok_or(SolveError::Undecided)
                    },
                    Ok,
                )?;
                answer.verdict = Some(verdict);
            }
            Ok(answer)
        });
        match answer {
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
            Err(error @ (SolveError::Disk(_) | SolveError::NotOnDisk(_))) if args.tier == TierName::Auto => {
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
        TierName::Auto if args.method == Method::Lao => {
            return hadal_value::growing::answer(space, system, objective, options);
        }
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
        None => Err(SolveError::NotOnDisk("files need a place: write --disk DIR")),
    }
}
