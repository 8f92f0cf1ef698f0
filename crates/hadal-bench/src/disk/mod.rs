//! `hadal bench disk`: every strategy under a small memory budget against hadal's own table in RAM.
//!
//! Each run is a child process with `--memory` set to a share of (states x packed bytes). Run files are read and written
//! past the page cache; where the system lets us, a control group limits the child's memory as well.

mod page;
mod result;
mod text;

use super::cage::Cage;
use super::choice::Choice;
use super::corpus::Corpus;
use super::exploration::Exploration;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::suite::{self, Case};
use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_search::strategies::{Resumes, STRATEGIES};
use result::{DiskModel, DiskReport, DiskRun, OVERHEAD};

/// The suite it measures.
pub const SUITE: &str = "disk";
/// What is measured unless told otherwise: the default, and one strategy of each kind.
const USUAL: &str = "auto,sort,hash,part";

/// Measures every chosen model; exit code 1 where a count is wrong.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let strategies = strategies(args.chosen.strategies.as_deref().unwrap_or(USUAL))?;
    let choice = Choice::of(args)?;
    let cases = suite::chosen(SUITE, args)?;
    let corpus = Corpus::find(&cases)?;
    let scratch = Scratch::new(args.disk.as_deref())?;
    let hadal = Hadal::new(args.threads, args.time_limit, &scratch)?;
    let cage = Cage::new();
    let mut report = DiskReport::new(args, &choice, &strategies, cage.is_some());
    println!("{}", text::heading(&report));
    for case in cases {
        if let Some(reason) = choice.leaves_out(case) {
            println!("{:34} not run: {reason}", case.name());
            report.left_out.push((case.name(), reason));
            continue;
        }
        let bench = Bench { args, hadal: &hadal, cage: cage.as_ref(), case, corpus: &corpus };
        let model = bench.measure(&choice, &strategies)?;
        report.models.push(model);
    }
    println!("{}", text::summary(&report));
    super::write_results(args, &report, || page::render(&report))?;
    Ok(u8::from(report.has_problem()))
}

/// The named strategies, each once.
fn strategies(list: &str) -> Result<Vec<String>, BenchError> {
    // What stays in RAM is what they are compared with, and what deletes layers may count too much by design.
    let known: Vec<String> = STRATEGIES
        .iter()
        .filter(|strategy| strategy.resumes != Resumes::Nothing && strategy.promises.counts)
        .map(|strategy| strategy.name.to_owned())
        .collect();
    if list == "all" {
        return Ok(known);
    }
    let mut chosen = Vec::new();
    for name in list.split(',').map(str::trim) {
        if !known.iter().any(|known| known == name) {
            let known = known.join(", ");
            return Err(BenchError::Usage(format!(
                "no strategy `{name}` to measure here; there are {known}"
            )));
        }
        if !chosen.iter().any(|chosen| chosen == name) {
            chosen.push(name.to_owned());
        }
    }
    Ok(chosen)
}

/// What is needed to measure one case.
struct Bench<'a> {
    args: &'a BenchArgs,
    hadal: &'a Hadal,
    cage: Option<&'a Cage>,
    case: &'a Case,
    corpus: &'a Corpus,
}

impl Bench<'_> {
    fn measure(&self, choice: &Choice, strategies: &[String]) -> Result<DiskModel, BenchError> {
        let ram = self.best(&["--strategy", "bfs"], None)?;
        let mut model = DiskModel::new(self.case, ram);
        println!("{}", text::ram(&model));
        if model.problem.is_some() || model.ram.is_late() {
            return Ok(model);
        }
        for strategy in strategies {
            for &percent in &choice.budgets {
                let run = self.under(strategy, percent, &model)?;
                println!("{}", text::run(&run));
                model.runs.push(run);
            }
        }
        Ok(model)
    }

    /// A strategy at a share. Shares below the least budget are the same run.
    fn under(&self, strategy: &str, percent: f64, model: &DiskModel) -> Result<DiskRun, BenchError> {
        let budget = model.ram.budget(percent, self.args.chosen.least);
        let same = model.runs.iter().find(|run| run.strategy == strategy && run.budget_bytes == budget);
        if let Some(same) = same {
            let of = same.same_as.unwrap_or(same.percent);
            return Ok(DiskRun { percent, same_as: Some(of), ..same.clone() });
        }
        let run =
            |budget: u64| self.best(&["--strategy", strategy, "--memory", &budget.to_string()], Some(budget));
        let mut found = run(budget)?;
        let mut raised_to = None;
        // What it asks for is the next thing that does not fit: perhaps not the last.
        while let Some(asked) = found.asks_for().filter(|&asked| asked > raised_to.unwrap_or(budget)) {
            raised_to = Some(asked);
            found = run(asked)?;
        }
        let within_memory = found.peak_bytes <= raised_to.unwrap_or(budget) + OVERHEAD;
        let run = DiskRun::new(model, strategy, percent, budget, found);
        Ok(DiskRun { raised_to, within_memory, ..run })
    }

    fn best(&self, more: &[&str], budget: Option<u64>) -> Result<Exploration, BenchError> {
        let more: Vec<String> = more.iter().map(|&word| word.to_owned()).collect();
        let model = self.corpus.path(self.case);
        let cage = self.cage.zip(budget.map(|bytes| bytes + OVERHEAD));
        let run = || Exploration::run(self.hadal, self.case, &model, &more, cage);
        let mut best = run()?;
        for _ in 1..self.args.repeat {
            best = best.better(run()?, self.args.clock);
        }
        Ok(best)
    }
}

#[cfg(test)]
mod tests {
    use super::strategies;

    #[test]
    fn strategies_are_taken_by_name_and_those_without_exact_counts_are_not_offered() {
        assert_eq!(strategies("auto, sort,auto").expect("known"), ["auto", "sort"]);
        let all = strategies("all").expect("known");
        assert!(all.contains(&"della-penna".to_owned()) && !all.contains(&"frontier".to_owned()));
        assert!(strategies("dfs").is_err());
    }
}
