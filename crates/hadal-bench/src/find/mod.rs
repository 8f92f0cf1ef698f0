//! `hadal bench find`: how many states `hadal check --find` visits on public questions, against breadth-first search, and
//! what it costs where it does not help.
//!
//! Families of models are split into two halves by a rule that nobody chose ([`questions`]): defaults are chosen on one
//! half, and the figures of the other say what to expect of a model that is new.

mod questions;
mod report;

use super::corpus::Corpus;
use super::exploration::Exploration;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::suite::Case;
use crate::args::BenchArgs;
use crate::error::BenchError;
use questions::{Question, Truth};
use report::{Asked, FindReport};
use std::path::Path;

/// Its name on the command line.
pub const SUITE: &str = "find";

/// Runs the comparison; exit code 1 where an answer is wrong.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let scratch = Scratch::new(args.disk.as_deref())?;
    let hadal = Hadal::new(args.threads, args.time_limit, &scratch)?;
    let chosen = |question: &Question| {
        let name = format!("{} {}", question.half().name(), question.name());
        args.chosen.only.as_deref().is_none_or(|text| name.contains(text))
    };
    let questions: Vec<Question> = questions::all()?.into_iter().filter(chosen).collect();
    if questions.is_empty() {
        return Err(BenchError::Usage("--only names no question: say a model, tuning or held out".into()));
    }
    let cases: Vec<Case> = questions.iter().map(Question::case).collect();
    let corpus = Corpus::find(&cases.iter().collect::<Vec<_>>())?;
    let mut report = FindReport::new();
    println!("{}", report::HEAD);
    for (question, case) in questions.into_iter().zip(&cases) {
        let asked = ask(&hadal, question, (case, &corpus.path(case)), args.repeat)?;
        println!("{}", asked.line());
        report.rows.push(asked);
    }
    report.sum_up();
    println!("{}", report.summary());
    super::write_results(args, &report, || report.page())?;
    Ok(u8::from(report.is_wrong()))
}

/// Asks in both ways, in turns; of several times the least counts.
fn ask(
    hadal: &Hadal,
    question: Question,
    (case, model): (&Case, &Path),
    repeat: u16,
) -> Result<Asked, BenchError> {
    let run = |more: &[&str]| {
        let mut all: Vec<String> = more.iter().map(|text| (*text).to_owned()).collect();
        question.property.iter().for_each(|name| all.extend(["--property".to_owned(), (*name).to_owned()]));
        Exploration::run(hadal, case, model, &all, None)
    };
    let (mut breadth, mut find) = (run(&["--strategy", "bfs"])?, run(&["--find"])?);
    for _ in 1..repeat {
        breadth = sooner(breadth, run(&["--strategy", "bfs"])?);
        find = sooner(find, run(&["--find"])?);
    }
    let expected = match question.truth {
        Truth::Error => "violated",
        Truth::Holds => "holds",
    };
    let told = |(name, run): (&str, &Exploration)| {
        format!("{name}: {}, {}", run.verdict, run.reason.as_deref().unwrap_or_default())
    };
    let both = [("breadth-first", &breadth), ("find", &find)];
    let other = both.into_iter().find(|(_, run)| run.verdict != expected);
    let wrong = other.is_some_and(|(_, run)| !run.is_late());
    Ok(Asked { remark: other.map(told), wrong, breadth: (&breadth).into(), find: (&find).into(), question })
}

fn sooner(one: Exploration, other: Exploration) -> Exploration {
    if report::processor_time(&other) < report::processor_time(&one) { other } else { one }
}
