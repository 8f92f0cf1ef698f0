//! `hadal check`: load, compile, explore, replay what was found, and say what is true.

use super::about::About;
use super::present::{outcome, show};
use super::several::{Found, with_rest};
use super::shorten;
use crate::args::{CheckArgs, Deadlock};
use crate::cluster;
use crate::export;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::progress::Progress;
use crate::reading::Reading;
use crate::report;
use crate::timed;
use crate::violation;
use hadal_check::formulas::{Asking, Own};
use hadal_check::options::Place;
use hadal_check::room::MoreRoom;
use hadal_check::usage::{begin_peak, cpu_seconds};
use hadal_check::{Check, DeadlockNotion, Fair, Options, Several, Verdict, folder};
use hadal_lang::{Language, LoadOptions};
use hadal_system::{Property, progress};
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

/// Runs the command, or goes on with the run in the folder `resumed`; returns the exit code.
pub fn run(args: &CheckArgs, resumed: Option<&Path>) -> Result<u8, Failure> {
    let begun = Instant::now();
    if args.output.until_input_ends {
        end_with_input();
    }
    if timed::reads(&args.model) {
        if args.formulas.progress || args.running.fair != Fair::Off {
            return Err(Failure::Usage(
                "progress labels and fairness are not known for models in real time: ask with --ltl, A<>, E[] or --> \
                 (docs/timed.md)"
                    .into(),
            ));
        }
        if args.asked.shorten.is_some() {
            return Err(Failure::Usage("--shorten is for models without real time".into()));
        }
        cluster::must_suit(args)?;
        cluster::must_suit_time(args)?;
        let mut args = args.clone();
        cluster::choose_order(&mut args);
        return timed::check(&args, resumed);
    }
    if let Some(option) = args.timed.first_given() {
        return Err(Failure::Usage(format!("{option} is for models in real time")));
    }
    cluster::must_suit(args)?;
    let mut args = args.clone();
    cluster::choose_order(&mut args);
    let mut resumed = resumed;
    loop {
        match carry_out(&args, resumed.take(), begun)? {
            ControlFlow::Break(code) => return Ok(code),
            ControlFlow::Continue(more) => more.give(&mut args.model.processes),
        }
    }
}

/// One exploration with the room for processes that the arguments give: the exit code, or how much more room there must be.
fn carry_out(
    args: &CheckArgs,
    resumed: Option<&Path>,
    begun: Instant,
) -> Result<ControlFlow<u8, MoreRoom>, Failure> {
    let reading = Reading::of_check(args, resumed.is_some());
    let (mut loaded, mut named) = asking(args, &args.model.load_options()).read()?;
    if args.formulas.progress {
        progress::ask_progress(&mut loaded.system).map_err(|error| Failure::Usage(error.to_string()))?;
        named.push(progress::PROGRESS.to_owned());
    }
    let about_runs = |property: &Property| property.kind.is_about_runs();
    if let Some(option) = args.running.given()
        && !args.formulas.asks()
        && !loaded.system.properties.iter().any(about_runs)
    {
        return Err(Failure::Usage(format!(
            "--{option} is about infinite runs, but no property is: leave it out, or ask with --ltl"
        )));
    }
    // What is asked for by name, formulas on the command line included.
    let mut asked = args.clone();
    asked.asked.property = named;
    let trail = shorten::ask(&mut asked, &mut loaded.system)?;
    let args = &asked;
    if !loaded.warnings.is_empty() && !args.output.quiet {
        crate::output::aside(format_args!("{}", loaded.warnings));
    }
    if let Some(path) = &args.output.export {
        export::GraphFormat::of(path)?;
    }
    let about_all = About::of(args);
    let before = resumed.and_then(|path| folder::look_at(path).ok()).map_or(0, |run| run.record.states());
    let first_options = options(args, loaded.language, resumed)?;
    let mut system = loaded.system;
    let mut several = Several::new(first_options.clone(), args.asked.several.map_or(1, |most| most as usize));
    let given = if several.may_go_on() { system.clone() } else { std::mem::take(&mut system) };
    let mut prepared = Check::with_options(given, first_options).prepare()?;
    if !args.output.quiet {
        prepared.notes().iter().for_each(|note| crate::output::note!("{note}"));
    }
    drop(reading);
    let startup = begun.elapsed();
    let startup_cpu = cpu_seconds();
    let startup_peak = begin_peak();

    let progress = Progress::new(args.output.quiet || args.output.json, args.output.events.as_deref())?;
    let mut earlier = Found::default();
    let mut workers = Vec::new();
    // What is left to ask, for whoever makes the next search.
    let (mut rest, mut resumed) = (args.clone(), resumed);
    let (found, trace) = loop {
        let search = prepared.begin()?;
        let control = search.control();
        interrupt_stops(control)?;
        let found = progress.during(control, search.governor(), || match args.cluster.cluster {
            None => search.finish(),
            Some(_) => cluster::finish(&rest, (&search, resumed.take()), &progress, &mut workers),
        });
        progress.tell(control);
        let found = found?;
        if let Some(more) = MoreRoom::wanted(&found) {
            if !args.output.quiet {
                let MoreRoom { process, room } = &more;
                crate::output::note!(
                    "more processes `{process}` live at once than there was room for: again, with room for {room}"
                );
            }
            return Ok(ControlFlow::Continue(more));
        }
        let trace = match (&found.report.verdict, &found.trace) {
            (Verdict::Violated(violation), Some(trace)) => {
                Some(violation::render(prepared.shown(), violation, trace))
            }
            _ => None,
        };
        let Some(mut next) = several.after(&prepared, &found) else { break (found, trace) };
        earlier.0.extend(trace);
        rest = with_rest(args, &next);
        next.place.about = about(&rest)?;
        drop(search);
        prepared = Check::with_options(system.clone(), next).prepare()?;
    };
    if let Some(path) = &args.output.export {
        export::write(prepared.shown(), path, args.limits.max_states)?;
    }
    let exit_code = if !earlier.0.is_empty() { 1 } else { Outcome::exit_code(&found.report) };
    let coverage = prepared.coverage(&found.report, &found.answers)?;
    let mut outcome = outcome(args, &prepared, found, trace.as_ref());
    outcome.time.seconds = begun.elapsed().as_secs_f64();
    outcome.time.startup_seconds = startup.as_secs_f64();
    outcome.memory.startup_peak_memory_bytes = startup_peak;
    outcome.time.startup_cpu_seconds = startup_cpu;
    outcome.counts.states_before = before;
    outcome.traces.trail_length = trail;
    outcome.used.settings = args.output.settings.clone();
    outcome.seen.coverage = coverage;
    outcome.details.workers = workers;
    let traces = earlier.conclude(args, &mut outcome, trace);
    progress.event(|| serde_json::json!({ "event": "result", "result": outcome }));
    if let Some(path) = &args.output.report {
        write_report(path, &outcome, &about_all)?;
    }
    show(args, &outcome, &traces)?;
    Ok(ControlFlow::Break(exit_code))
}

/// Writes the page about this run: from its folder where there is one, else from what the search counted.
pub(crate) fn write_report(path: &Path, outcome: &Outcome, about: &About) -> Result<(), Failure> {
    let page = match &outcome.used.run {
        Some(run) => report::page(Path::new(run))?,
        None => report::page_of(outcome, serde_json::to_value(about).unwrap_or_default()),
    };
    std::fs::write(path, page).map_err(|error| Failure::File { path: path.to_owned(), error })
}

/// The search that an interrupt stops, once there is one, and whether one came.
static INTERRUPTIBLE: Mutex<(Option<Arc<hadal_search::Control>>, bool)> = Mutex::new((None, false));

/// Lets an interrupt stop the search that runs now; one that came before stops it at once.
pub(crate) fn interrupt_stops(control: &Arc<hadal_search::Control>) -> Result<(), Failure> {
    let first = {
        let (current, interrupted) = &mut *INTERRUPTIBLE.lock().unwrap_or_else(PoisonError::into_inner);
        if *interrupted {
            control.interrupt();
        }
        current.replace(Arc::clone(control)).is_none()
    };
    if !first {
        return Ok(());
    }
    ctrlc::set_handler(interrupt)
        .map_err(|error| Failure::Internal(format!("cannot handle interrupts: {error}")))
}

fn interrupt() {
    let (current, interrupted) = &mut *INTERRUPTIBLE.lock().unwrap_or_else(PoisonError::into_inner);
    *interrupted = true;
    if let Some(control) = current {
        control.interrupt();
    }
}

/// Interrupts this process when its standard input ends.
fn end_with_input() {
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        interrupt();
        // Ends what reads the model; where interrupts are ignored, as in the background of a shell, the search ends as it begins.
        // SAFETY: sends a signal to this process.
        #[cfg(unix)]
        unsafe {
            libc::kill(libc::getpid(), libc::SIGINT);
        }
        #[cfg(not(unix))]
        std::process::exit(130);
    });
}

/// What a run's folder keeps of the command.
fn about(args: &CheckArgs) -> Result<serde_json::Value, Failure> {
    serde_json::to_value(About::of(args))
        .map_err(|error| Failure::Usage(format!("a run cannot remember this command: {error}")))
}

/// What is asked of the model at `args`, and how it is read.
pub(super) fn asking<'a>(args: &'a CheckArgs, options: &'a LoadOptions) -> Asking<'a> {
    // Nothing named and no deadlocks: the plain graph is asked for.
    let own = if args.asked.deadlock == Some(Deadlock::Off) { Own::Named } else { Own::All };
    Asking {
        path: &args.model.model,
        options,
        formulas: &args.formulas,
        properties: &args.asked.property,
        own,
    }
}

/// What the arguments ask of the library.
pub(crate) fn options(
    args: &CheckArgs,
    language: &Language,
    resumed: Option<&Path>,
) -> Result<Options, Failure> {
    let stem = args.model.model.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    Ok(Options {
        properties: args.asked.property.clone(),
        settled: args.asked.settled.clone(),
        deadlock: match args.asked.deadlock {
            // Naming properties asks about those only, unless deadlock is asked for as well.
            None if !args.asked.property.is_empty() => DeadlockNotion::Off,
            None | Some(Deadlock::On) => language.deadlock,
            Some(Deadlock::Off) => DeadlockNotion::Off,
            Some(Deadlock::Stuck) => DeadlockNotion::Stuck,
            Some(Deadlock::Stuttering) => DeadlockNotion::Stuttering,
        },
        strategy: args.storing.strategy,
        directing: args.directed.clone(),
        reductions: args.reduction.clone(),
        partitioning: args.storing.partition.clone(),
        detecting: args.storing.detection.clone(),
        running: cluster::running(args),
        model: args.model.model_options(),
        budget: args.limits.budget(),
        place: Place {
            disk: args.storing.disk.clone(),
            name: stem,
            resumed: resumed.map(Path::to_owned),
            about: about(args)?,
        },
    })
}
