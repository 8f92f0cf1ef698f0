//! `hadal bench partition`: the three experiments of Evangelista and Kristensen (2011) in the paper's own ratios.
//!
//! One: cross transitions and disk operations of each heuristic over those of S-GHC, and the largest partition. Two: disk
//! operations as the share of states in RAM shrinks. Three: time over breadth-first search in RAM.

mod page;
mod paper;
mod result;
mod tables;

use super::choice::Choice;
use super::corpus::Corpus;
use super::exploration::Exploration;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::suite::{self, Case};
use crate::args::{BenchArgs, Clock};
use crate::error::BenchError;
use hadal_check::units::span;
use hadal_search::partition::Heuristic;
use result::{BASELINE, OtherRun, PartRun, PartitionModel, PartitionReport};

/// The suite it measures.
pub const SUITE: &str = "partition";
/// Heuristics that are measured at every share; the others at the smallest.
const AT_EVERY_SHARE: [&str; 3] = [BASELINE, "de", "adaptive"];
/// What PART is compared with at the smallest share: the paper's layered baseline, and hadal's own choice.
const OTHERS: [&str; 2] = ["bfs-hd3", "auto"];

/// Measures every chosen model; exit code 1 where a count is wrong.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let heuristics = heuristics(args.chosen.strategies.as_deref())?;
    let choice = Choice::of(args)?;
    let cases = suite::chosen(SUITE, args)?;
    let corpus = Corpus::find(&cases)?;
    let scratch = Scratch::new(args.disk.as_deref())?;
    let hadal = Hadal::new(1, args.time_limit, &scratch)?;
    let published = paper::all()?;
    let mut report = PartitionReport {
        hadal: env!("CARGO_PKG_VERSION"),
        clock: args.clock.name(),
        repeat: args.repeat,
        budgets: choice.budgets.clone(),
        heuristics,
        models: Vec::new(),
        left_out: Vec::new(),
    };
    println!(
        "partition, one thread, best of {}, {} clock, hadal {}",
        args.repeat, report.clock, report.hadal
    );
    for case in cases {
        if let Some(reason) = choice.leaves_out(case) {
            println!("{} not run: {reason}", case.name());
            report.left_out.push((case.name(), reason));
            continue;
        }
        let paper = published.iter().find(|row| case.model.ends_with(&format!("/{}.dve", row.model)));
        let bench = Bench { args, hadal: &hadal, case, corpus: &corpus };
        let model = bench.measure(&report, paper.cloned())?;
        report.models.push(model);
    }
    let clock = args.clock;
    println!("{}", tables::text(&report, clock));
    super::write_results(args, &report, || page::render(&report, clock))?;
    Ok(u8::from(report.has_problem()))
}

/// The named heuristics, or all; the baseline is always among them.
fn heuristics(list: Option<&str>) -> Result<Vec<String>, BenchError> {
    let known: Vec<&str> = Heuristic::ALL.iter().map(|&(name, _)| name).collect();
    let mut chosen = vec![BASELINE.to_owned()];
    let names: Vec<&str> = match list {
        None | Some("all") => known.clone(),
        Some(list) => list.split(',').map(str::trim).collect(),
    };
    for name in names {
        if !known.contains(&name) {
            return Err(BenchError::Usage(format!("no heuristic `{name}`; there are {}", known.join(", "))));
        }
        if !chosen.iter().any(|chosen| chosen == name) {
            chosen.push(name.to_owned());
        }
    }
    Ok(chosen)
}

struct Bench<'a> {
    args: &'a BenchArgs,
    hadal: &'a Hadal,
    case: &'a Case,
    corpus: &'a Corpus,
}

impl Bench<'_> {
    fn measure(
        &self,
        report: &PartitionReport,
        paper: Option<paper::Published>,
    ) -> Result<PartitionModel, BenchError> {
        let ram = self.best(&["--strategy", "bfs"])?;
        let problem = ram.problem(self.case);
        self.tell("RAM", &ram, problem.as_deref());
        let mut model = PartitionModel {
            name: self.case.name(),
            case: self.case.clone(),
            paper,
            problem,
            ram,
            parts: Vec::new(),
            others: Vec::new(),
        };
        if model.problem.is_some() || model.ram.is_late() {
            return Ok(model);
        }
        for &percent in &report.budgets {
            for heuristic in &report.heuristics {
                let everywhere = AT_EVERY_SHARE.contains(&heuristic.as_str());
                if everywhere || percent == report.smallest() {
                    model.parts.push(self.part(&model.ram, heuristic, percent)?);
                }
            }
        }
        for strategy in OTHERS {
            let mut budget_bytes = model.ram.budget(report.smallest(), self.args.chosen.least);
            let mut run = self.best(&["--strategy", strategy, "--memory", &budget_bytes.to_string()])?;
            if let Some(asked) = run.asks_for() {
                budget_bytes = asked;
                run = self.best(&["--strategy", strategy, "--memory", &budget_bytes.to_string()])?;
            }
            let problem = run.problem(self.case);
            self.tell(strategy, &run, problem.as_deref());
            model.others.push(OtherRun { strategy: strategy.to_owned(), budget_bytes, problem, run });
        }
        Ok(model)
    }

    fn part(&self, ram: &Exploration, heuristic: &str, percent: f64) -> Result<PartRun, BenchError> {
        let resident_states = ((ram.states as f64 * percent / 100.0) as u64).max(2);
        let states = resident_states.to_string();
        let under = |budget: u64| {
            let part = ["--strategy", "part", "--part-heuristic", heuristic, "--part-states", &states];
            self.best(&[&part[..], &["--memory", &budget.to_string()]].concat())
        };
        let mut run = under(ram.budget(percent, self.args.chosen.least))?;
        if let Some(asked) = run.asks_for() {
            run = under(asked)?;
        }
        let run = PartRun::new(self.case, heuristic, percent, resident_states, run);
        self.tell(&format!("{heuristic} {percent}%"), &run.run, run.problem.as_deref());
        Ok(run)
    }

    fn tell(&self, what: &str, run: &Exploration, problem: Option<&str>) {
        let remark = match (problem, run.is_late()) {
            (Some(problem), _) => format!("  WRONG: {problem}"),
            (None, true) => format!("  not done: {}", run.reason.as_deref().unwrap_or_default()),
            (None, false) => String::new(),
        };
        println!(
            "  {:26} {what:14} {:>9} wall {:>9} cpu{remark}",
            self.case.name(),
            span(run.seconds(Clock::Wall)),
            span(run.seconds(Clock::Cpu))
        );
    }

    fn best(&self, more: &[&str]) -> Result<Exploration, BenchError> {
        let more: Vec<String> = more.iter().map(|&word| word.to_owned()).collect();
        let model = self.corpus.path(self.case);
        let run = || Exploration::run(self.hadal, self.case, &model, &more, None);
        let mut best = run()?;
        for _ in 1..self.args.repeat {
            best = best.better(run()?, self.args.clock);
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::heuristics;

    #[test]
    fn the_baseline_is_always_measured_and_first() {
        assert_eq!(heuristics(Some("de,ee,de")).expect("known"), ["s-ghc", "de", "ee"]);
        assert!(heuristics(None).expect("all").len() >= 10);
        assert!(heuristics(Some("xy")).is_err());
    }
}
