//! `hadal solve`: values of a decision process, between proved bounds or exactly.

mod arguments;
mod asking;
mod certificate;
mod guide;
mod member;
mod method;
mod problem;
mod show;
mod threshold;
mod together;
mod watch;

use arguments::{MethodArgs, Outcomes, QuestionArgs, RoomArgs, SourceArgs, TierName, WrittenArgs};
pub(super) use asking::{Asking, load, ppddl, questions};
pub use certificate::{CheckCertificateArgs, check_certificate};
pub(super) use member::{question, take_part};

use crate::args::ClusterArgs;
use crate::failure::Failure;
use crate::output;
use crate::reading::{Reading, Room};
use clap::Args;
use guide::Origin;
use hadal_exec::{Model, ModelOptions};
use hadal_system::chance::Objective;
use hadal_system::{PropertyId, StateSpace};
use hadal_value::asking::{Threshold, Way};
use hadal_value::build::{BuildError, BuildOptions};
use hadal_value::disk::{Tier, fingerprint};
use hadal_value::evidence::Wanted;
use hadal_value::explicit::{self, Described, ExportError};
use hadal_value::follow::state_text;
use hadal_value::{Answer, Options, Precision, SolveError};
use method::Method;
use show::{shown, stopped};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;
use threshold::threshold;
use together::Trouble;
use watch::Watch;

/// Arguments of `solve`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal solve models/gambler.prism --formula 'Pmax=? [ F \"rich\" ]'\n  \
    hadal solve coin.prism -D K=4 --property disagree --exact\n\n\
    EXIT CODES:\n  0 solved, or the formula holds   1 the formula does not hold   2 wrong input or command   \
    3 stopped by a limit")]
pub struct SolveArgs {
    /// Which model.
    #[command(flatten)]
    model: SourceArgs,
    /// What is asked of it.
    #[command(flatten, next_help_heading = "Questions")]
    asked: QuestionArgs,
    /// How it is answered.
    #[command(flatten, next_help_heading = "Methods")]
    method: MethodArgs,
    /// How much that may take.
    #[command(flatten, next_help_heading = "Limits")]
    room: RoomArgs,
    /// Several machines.
    #[command(flatten, next_help_heading = "Several machines")]
    cluster: ClusterArgs,
    /// What is written.
    #[command(flatten, next_help_heading = "Output")]
    written: WrittenArgs,
}

/// Runs the verb; returns the exit code.
pub fn run(args: &SolveArgs) -> Result<u8, Failure> {
    if args.method.precision.is_nan() || args.method.precision <= 0.0 || args.method.precision >= 1.0 {
        return Err(Failure::Usage("--precision lies between 0 and 1".into()));
    }
    together::must_suit(args)?;
    let keeps_files = !matches!(args.method.tier, TierName::Auto | TierName::Ram);
    if keeps_files && args.room.disk.is_none() && args.cluster.cluster.is_none() {
        return Err(Failure::Usage("this tier keeps files: write --disk DIR".into()));
    }
    let started = Instant::now();
    let asking = args.asking();
    let reading = args.reading();
    if asking.is_ppddl() {
        if args.written.export.is_some() {
            return Err(Failure::Usage("--export writes models in PRISM's language".into()));
        }
        let (space, system, objective) = ppddl(&asking)?;
        drop(reading);
        return solve_all(args, Origin::Task(&space, &system), &[objective], started);
    }
    if let Some(stem) = &args.written.export {
        return export(args, stem);
    }
    let (loaded, objectives) = questions(&asking)?;
    let model = Model::new(loaded.into_system(), ModelOptions::default())
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.model.display())))?;
    drop(reading);
    solve_all(args, Origin::Model(&model), &objectives, started)
}

impl SolveArgs {
    /// Watches over reading the model: ends the process as stopped where it takes more memory than it may.
    fn reading(&self) -> Reading {
        let files: Vec<&Path> =
            std::iter::once(&self.model.model).chain(&self.model.problem).map(PathBuf::as_path).collect();
        let json = self.written.json;
        let stop = move |why: &str| {
            let object = serde_json::json!({ "verdict": "stopped", "reason": why });
            let text = if json { object.to_string() } else { format!("stopped: {why}") };
            // The exit code says the same where nobody reads.
            drop(output::line(&text));
        };
        Reading::begin(&files, Room { memory: self.room.memory, time: self.room.time_limit }, stop)
    }

    fn asking(&self) -> Asking<'_> {
        Asking {
            model: &self.model.model,
            problem: self.model.problem.as_deref(),
            define: &self.model.define,
            properties: self.asked.properties.as_deref(),
            formula: self.asked.formula.as_deref(),
            property: self.asked.property.as_deref(),
        }
    }
}

fn solve_all(
    args: &SolveArgs,
    origin: Origin,
    objectives: &[Objective],
    started: Instant,
) -> Result<u8, Failure> {
    let (space, system) = (origin.space(), origin.system());
    let threshold = args.asked.threshold.as_deref().map(threshold).transpose()?;
    let paths = match (&args.written.paths, &threshold) {
        (None, _) => Wanted::Nothing,
        (Some(_), Some(threshold)) => Wanted::Of(threshold.relation, threshold.bound),
        (Some(_), None) => Wanted::OfFormula,
    };
    let options = Options {
        precision: Precision {
            relative: args.method.precision,
            exact: args.method.exact,
            policy: args.written.policy.is_some(),
            certificate: args.written.certificate.is_some(),
            threads: args.room.threads.max(1),
            paths,
            room: args.room.memory,
            spare: None,
        },
        memory: args.room.memory,
        max_states: args.room.max_states,
    };
    let way = match args.method.tier {
        TierName::Auto if args.method.method == Method::Lao => Way::Growing,
        TierName::Auto => Way::Anywhere,
        TierName::Ram => Way::SweptInRam,
        TierName::SemiExternal if args.method.method == Method::Lao => Way::GrowingOnDisk,
        TierName::SemiExternal => Way::OnDisk(Tier::SemiExternal),
        TierName::Blocks => Way::OnDisk(Tier::Blocks),
        TierName::Faithful => Way::OnDisk(Tier::Faithful),
    };
    let asking = hadal_value::asking::Asking { options, way, folder: args.room.disk.as_deref(), threshold };
    let mut code = 0;
    let (method, outcomes) = (args.method.method, args.method.outcomes);
    let proved = method.proves(outcomes);
    if method == Method::Intervals && outcomes != Outcomes::Mean {
        return Err(Failure::Usage(
            "intervals are of means: with --outcomes sum or worst use --method ao, ldfs, lrtdp, lao, jacobi or gauss-seidel".into(),
        ));
    }
    if !proved
        && (args.method.exact
            || args.written.policy.is_some()
            || args.written.certificate.is_some()
            || args.written.paths.is_some()
            || asking.threshold.is_some())
    {
        return Err(Failure::Usage("this method proves nothing: use --method intervals".into()));
    }
    if proved && args.method.guide != "blind" {
        return Err(Failure::Usage("guides are of rtdp, lrtdp, ldfs, ao and fret".into()));
    }
    if args.method.max_sweeps.is_some() && !matches!(method, Method::Jacobi | Method::GaussSeidel) {
        return Err(Failure::Usage("--max-sweeps is of --method jacobi and gauss-seidel".into()));
    }
    if args
        .method
        .dead_end
        .is_some_and(|cost| proved || method == Method::Fret || cost.is_nan() || cost < 0.0)
    {
        return Err(Failure::Usage(
            "--dead-end is a cost, for --method jacobi, gauss-seidel, rtdp, lrtdp, ldfs and ao, and for lao with --outcomes".into(),
        ));
    }
    let grows = method == Method::Lao && proved && args.method.tier == TierName::SemiExternal;
    if method != Method::Intervals && args.method.tier != TierName::Auto && !grows {
        return Err(Failure::Usage("tiers are of --method intervals; lao also has semi-external".into()));
    }
    let watch = Watch::begin(args, started)?;
    if args.cluster.cluster.is_some() {
        return solve_together(args, origin, objectives, (asking.threshold.as_ref(), &watch, started));
    }
    for objective in objectives {
        if !proved {
            code = code.max(method::run(args, origin, objective, started)?);
            continue;
        }
        match asking.answer(space, system, objective) {
            Ok(answer) => {
                let _alone = watch.speak();
                code = code.max(u8::from(answer.verdict == Some(false)));
                if let Some(path) = &args.written.policy {
                    write_policy(path, space, &answer)?;
                }
                if let Some(path) = &args.written.paths {
                    write_paths(path, space, objective, &answer)?;
                }
                if let (Some(path), Some(certificate)) = (&args.written.certificate, &answer.certificate) {
                    let failed = |error| Failure::File { path: path.clone(), error };
                    let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
                    certificate.write(&mut file).and_then(|()| file.flush()).map_err(failed)?;
                }
                output::raw(shown(args, objective, (&answer, &[]), started).as_bytes())?;
            }
            Err(SolveError::Build(
                error @ (BuildError::Memory { .. } | BuildError::States(_) | BuildError::TooLarge),
            )) => {
                stopped(args, objective, &error.to_string())?;
                return Ok(3);
            }
            Err(error @ (SolveError::Disk(_) | SolveError::NotOnDisk(_)))
                if args.method.tier == TierName::Auto =>
            {
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

/// Lets several workers answer, one question after the other.
fn solve_together(
    args: &SolveArgs,
    origin: Origin,
    objectives: &[Objective],
    (threshold, watch, started): (Option<&Threshold>, &Watch, Instant),
) -> Result<u8, Failure> {
    if args.cluster.cluster_wait.is_some() && objectives.len() > 1 {
        return Err(Failure::Usage("workers that join answer one question: name it with --property".into()));
    }
    let (space, system) = (origin.space(), origin.system());
    let precision = Precision { relative: args.method.precision, ..Precision::default() };
    let mut code = 0;
    for objective in objectives {
        let number = fingerprint(space, system, objective, (precision, Some(Tier::SemiExternal)));
        let is_ppddl = args.asking().is_ppddl();
        let (mut answer, workers) = match together::solve(args, (objective, is_ppddl), number) {
            Ok(found) => found,
            Err(Trouble::Stopped(why)) => {
                stopped(args, objective, &why)?;
                return Ok(3);
            }
            Err(Trouble::Failed(failure)) => return Err(failure),
        };
        if let Some(threshold) = threshold.filter(|_| answer.value.is_some()) {
            let touches =
                "the bounds touch what they are compared with: ask one process, or for more --precision";
            let verdict = threshold.decides(&answer);
            answer.verdict = Some(verdict.ok_or_else(|| Failure::Usage(touches.into()))?);
        }
        let _alone = watch.speak();
        code = code.max(u8::from(answer.verdict == Some(false)));
        output::raw(shown(args, objective, (&answer, &workers), started).as_bytes())?;
    }
    Ok(code)
}

/// Writes the graph of a model as explicit files.
fn export(args: &SolveArgs, stem: &Path) -> Result<u8, Failure> {
    let mut loaded = load(&args.asking())?;
    let labels = loaded.labels().map_err(|refused| Failure::from(hadal_lang::LoadError::Refused(refused)))?;
    let model = Model::new(loaded.into_system(), ModelOptions::default())
        .map_err(|error| Failure::Usage(format!("{}: {error}", args.model.model.display())))?;
    let system = model.system();
    let bases = system.property_bases();
    let labels: Vec<(String, PropertyId)> =
        labels.into_iter().map(|(name, property)| (name, PropertyId(bases[property]))).collect();
    let quantities = &system.quantities;
    let described = Described { chance: quantities.chance, labels: &labels, rewards: &quantities.rewards };
    let limits = BuildOptions {
        memory: args.room.memory,
        max_states: args.room.max_states,
        ..BuildOptions::default()
    };
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
        Err(error) => Err(Failure::Usage(format!("{}: {error}", args.model.model.display()))),
    }
}

/// Writes what is done in each state that the policy reaches.
fn write_policy(path: &Path, space: &dyn StateSpace, answer: &Answer) -> Result<(), Failure> {
    let Some(policy) = &answer.policy else {
        return Err(Failure::Usage("this question has no policy of states alone".into()));
    };
    let failed = |error| Failure::File { path: path.to_owned(), error };
    let mut file = std::io::BufWriter::new(std::fs::File::create(path).map_err(failed)?);
    let written = policy.each(|state, label, number| {
        let action = if label.0 == u32::MAX { "rest".into() } else { space.render_label(label) };
        // The first outcome stands for the choice.
        let action = action.split(", outcome:").next().unwrap_or_default();
        writeln!(file, "{}\t{action}\t{number}", state_text(space, state))
    });
    written.and_then(|()| file.flush()).map_err(failed)
}

/// Writes paths, each with its probability and its steps.
fn write_paths(
    path: &Path,
    space: &dyn StateSpace,
    objective: &Objective,
    answer: &Answer,
) -> Result<(), Failure> {
    let Some(evidence) = &answer.evidence else {
        return Err(Failure::Usage(format!(
            "{}: paths show how a probability compares with a bound: write P<=0.5 [ ... ], or --threshold",
            objective.text
        )));
    };
    let end = if evidence.fails { "where the target is out of reach" } else { "in the target" };
    let mut text = format!(
        "{}\nprobability {} of the paths below, which end {end}\n",
        objective.text, evidence.probability
    );
    for (n, found) in evidence.paths.iter().enumerate() {
        text.push_str(&format!("\npath {} probability {}\n", n + 1, found.probability));
        for (at, state) in found.states.iter().enumerate() {
            let action = match at.checked_sub(1).map(|before| found.labels[before]) {
                None => String::new(),
                Some(label) if label.0 == u32::MAX => "rest: ".into(),
                // The first outcome stands for the choice.
                Some(label) => {
                    let name = space.render_label(label);
                    format!("{}: ", name.split(", outcome:").next().unwrap_or_default())
                }
            };
            text.push_str(&format!("  {action}{}\n", state_text(space, state)));
        }
    }
    std::fs::write(path, text).map_err(|error| Failure::File { path: path.to_owned(), error })
}
