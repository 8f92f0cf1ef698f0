//! `hadal bench planning`: two tasks of every domain of the corpus, any plan and a best plan, beside Fast Downward where it
//! is installed, with equal time and memory: coverage, costs, expansions per second, bytes per state. `hadal bench
//! planning-seeds`: the published tables of planning on disk.

mod downward;
mod page;
mod said;
mod seeds;
mod tasks;

use crate::args::BenchArgs;
use crate::corpus::Corpus;
use crate::error::BenchError;
use crate::write_results;
use downward::Downward;
use page::{line, page, summary};
use said::{Asked, Limit, Said, hadal};
pub use seeds::{SEEDS, run as run_seeds};
use serde::Serialize;
use std::path::PathBuf;
use tasks::{known, tasks};

/// The suite's name.
pub const SUITE: &str = "planning";

/// One task.
#[derive(Debug, Serialize)]
struct Row {
    problem: String,
    /// Any plan, a best plan, and every state without a guide.
    ours: Vec<Said>,
    peer: Vec<Said>,
    /// What others proved.
    known: Option<f64>,
}

/// All of it.
#[derive(Debug, Serialize)]
struct PlanningReport {
    seconds_each: f64,
    clock: &'static str,
    peer: Option<String>,
    rows: Vec<Row>,
}

/// Runs the suite; 1 where a cost contradicts what is known.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let root = absolute(Corpus::find(&[])?.path_of("pddl"));
    let known = known(&root);
    let peer = if args.no_peers { None } else { Downward::find() };
    let limit = Limit { time: args.time_limit, clock: args.clock };
    let mut report = PlanningReport {
        seconds_each: args.time_limit.as_secs_f64(),
        clock: args.clock.name(),
        peer: peer.as_ref().map(Downward::name),
        rows: Vec::new(),
    };
    println!(
        "task: hadal any / best / blind; Fast Downward LAMA-first / LM-cut / blind (cost, * proved best, then seconds)"
    );
    for (domain, problem) in tasks(&root, args.chosen.only.as_deref()) {
        let name = problem.strip_prefix(&root).unwrap_or(&problem).display().to_string();
        let ours = Asked::ALL.map(|asked| hadal((&domain, &problem), asked, limit)).to_vec();
        let peer = peer.as_ref().map(|peer| peer.run(&domain, &problem, limit)).unwrap_or_default();
        let known = known.iter().find(|(known, _)| *known == name).map(|&(_, cost)| cost);
        let row = Row { known, problem: name, ours, peer };
        println!("{}", line(&row));
        report.rows.push(row);
    }
    println!("{}", summary(&report));
    write_results(args, &report, || page(&report))?;
    Ok(u8::from(report.rows.iter().any(contradicts)))
}

/// Planners work elsewhere, so paths must not depend on where we are.
fn absolute(path: PathBuf) -> PathBuf {
    std::fs::canonicalize(&path).unwrap_or(path)
}

/// Whether a cost is below a known optimum, or said to be best above it; or two planners prove different ones.
fn contradicts(row: &Row) -> bool {
    let proved = row.ours.iter().chain(&row.peer).filter(|said| said.optimal).filter_map(|said| said.cost);
    let mut proved = proved.chain(row.known);
    let Some(least) = proved.next() else { return false };
    proved.any(|cost| (cost - least).abs() > 1e-6)
        || row.ours.iter().filter_map(|said| said.cost).any(|cost| row.minimises() && cost < least - 1e-6)
}

impl Row {
    /// Whether less is better, as far as this row shows: a proved best plan is never dearer than any other.
    fn minimises(&self) -> bool {
        let costs = |optimal: bool| self.ours.iter().filter(move |said| said.optimal == optimal);
        let best = costs(true).filter_map(|said| said.cost).next();
        self.known.is_some()
            || best
                .is_none_or(|best| costs(false).filter_map(|said| said.cost).all(|cost| best <= cost + 1e-6))
    }
}
