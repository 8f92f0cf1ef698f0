//! `hadal bench`: named suites of models with known counts, measured in child processes, with peers beside them.
//!
//! A suite is a list of [`suite::Case`]s from a table in the repository. Every figure comes from a process of its own,
//! so memory is per model; every count is held against the table, so a fast wrong answer is an error.
//! `docs/benchmarks.md` describes the method.

pub mod args;
mod bundled;
mod cage;
mod choice;
mod cluster;
mod corpus;
mod directed;
mod disk;
pub mod error;
mod exploration;
mod find;
mod html;
mod instructions;
mod korf;
mod lamborn;
mod liveness;
mod measure;
mod ours;
mod page;
mod partition;
mod peers;
mod planning;
mod previous;
mod result;
mod rumur;
mod scratch;
mod statistics;
mod suite;
mod text;
mod timed;
mod values;

pub use args::{BenchArgs, Clock};
use corpus::Corpus;
pub use error::BenchError;
use ours::Hadal;
use result::{BenchReport, CaseResult, PeerResult};
use rumur::Rumur;
use scratch::Scratch;
use std::path::Path;
use suite::Case;

/// Runs the command; returns the exit code: 1 when a count is not what the table says.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let suites = suite::all()?;
    if args.suite == "list" {
        print!("{}", text::list(&suites));
        return Ok(0);
    }
    refuse_what_does_nothing(args)?;
    match args.suite.as_str() {
        cluster::SUITE => return cluster::run(args),
        directed::SUITE => return directed::run(args),
        disk::SUITE => return disk::run(args),
        find::SUITE => return find::run(args),
        korf::SUITE => return korf::run(args),
        lamborn::SUITE => return lamborn::run(args),
        liveness::SUITE => return liveness::run(args),
        partition::SUITE => return partition::run(args),
        peers::SUITE => return peers::run(args),
        timed::ZONES => return timed::zones(args),
        timed::LANDING => return timed::landing(args),
        timed::MCTA => return timed::mcta(args),
        planning::SUITE => return planning::run(args),
        planning::SEEDS => return planning::run_seeds(args),
        values::SUITE => return values::run(args),
        _ => {}
    }
    let cases = suite::chosen(&args.suite, args)?;
    let scratch = Scratch::new(args.disk.as_deref())?;
    let corpus = Corpus::with_bundled(&cases, &scratch)?;
    if args.suite == instructions::SUITE {
        return instructions::run(args, &cases, &corpus, &scratch);
    }
    let report = explore(args, &cases, &corpus, &scratch)?;
    println!("{}", text::summary(&report));
    write_results(args, &report, || page::render(&report))?;
    Ok(u8::from(!report.all_counts_met()))
}

/// Options that a suite would not look at.
fn refuse_what_does_nothing(args: &BenchArgs) -> Result<(), BenchError> {
    let timed = ["quick", "small", "murphi", "dve", "peers", "korf", "ta", "planning", "liveness", "values"];
    let given: [(&str, bool, &[&str]); 7] = [
        ("--csv", args.files.csv.is_some(), &[directed::SUITE]),
        ("--strategies", args.chosen.strategies.is_some(), &["disk", "partition"]),
        ("--budgets", args.chosen.budgets.is_some(), &["disk", "partition"]),
        (
            "--max-states",
            args.chosen.max_states.is_some(),
            &["cluster", "disk", "korf", "lamborn", "liveness", "partition", "peers", "values"],
        ),
        ("--simulate", args.chosen.simulate.is_some(), &[cluster::SUITE]),
        ("--no-peers", args.no_peers, &timed),
        ("--threads", args.threads != 1, &["quick", "small", "murphi", "dve", "disk", "korf", "lamborn"]),
    ];
    match given.iter().find(|(_, given, suites)| *given && !suites.contains(&args.suite.as_str())) {
        Some((option, _, suites)) => Err(BenchError::Usage(format!(
            "{option} belongs to {}; it would do nothing with {}",
            suites.join(", "),
            args.suite
        ))),
        None => Ok(()),
    }
}

/// Writes the files that the command asks for.
fn write_results(
    args: &BenchArgs,
    report: &impl serde::Serialize,
    page: impl FnOnce() -> String,
) -> Result<(), BenchError> {
    if let Some(path) = &args.files.json {
        previous::write_beside_previous(path, report)?;
    }
    match &args.files.html {
        Some(path) => write(path, &page()),
        None => Ok(()),
    }
}

fn explore(
    args: &BenchArgs,
    cases: &[&Case],
    corpus: &Corpus,
    scratch: &Scratch,
) -> Result<BenchReport, BenchError> {
    let hadal = Hadal::new(args.threads, args.time_limit, scratch)?;
    let rumur = if args.no_peers { None } else { Rumur::find(args.threads, args.time_limit) };
    let mut report = BenchReport::new(args, rumur.as_ref().map(|r| r.version.clone()));
    let contest = Contest { args, corpus, scratch, hadal, rumur };
    let wide = cases.iter().map(|case| case.name().chars().count()).max().unwrap_or(0);
    println!("{}", text::heading(&report, wide));
    for case in cases {
        let row = contest.measure(case)?;
        println!("{}", text::row(&row, report.clock, wide));
        report.rows.push(row);
    }
    Ok(report)
}

/// hadal and its peer on one machine.
struct Contest<'a> {
    args: &'a BenchArgs,
    corpus: &'a Corpus,
    scratch: &'a Scratch,
    hadal: Hadal,
    rumur: Option<Rumur>,
}

impl Contest<'_> {
    /// Measures one case `--repeat` times, hadal and its peer in turns so that both meet the same noise; the best counts.
    fn measure(&self, case: &Case) -> Result<CaseResult, BenchError> {
        let Contest { args, corpus, scratch, hadal, rumur } = self;
        let model = corpus.path(case);
        let rumur = rumur.as_ref().filter(|_| case.peers && case.is_murphi());
        let built = rumur.map(|rumur| rumur.build(case, &model, scratch));
        let mut best = hadal.run(case, &model)?;
        let mut peer = built.as_ref().map(|built| match built {
            Ok(verifier) => verifier.run(),
            Err(refused) => PeerResult::Refused { reason: refused.clone() },
        });
        for _ in 1..args.repeat {
            best = best.better(hadal.run(case, &model)?, args.clock);
            if let Some(Ok(verifier)) = &built {
                peer = peer.map(|peer| peer.better(verifier.run(), args.clock));
            }
        }
        Ok(CaseResult::new(case, best, peer))
    }
}

fn write(path: &Path, text: &str) -> Result<(), BenchError> {
    std::fs::write(path, text).map_err(|error| BenchError::File { path: path.to_owned(), error })
}
