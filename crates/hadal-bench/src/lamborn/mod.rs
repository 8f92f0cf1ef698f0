//! `hadal bench lamborn`: the tables of Lamborn's dissertation (2014) with our columns beside them.
//!
//! Ten of its models are public and identified. Each is run in a small size, and in the published one where `--max-states`
//! and `--time-limit` allow it; every other row says why it was not run. Strategies are hadal's of the same name.

mod figures;
mod profile;
mod published;

use super::corpus::Corpus;
use super::exploration::{Exploration, LEAST_BUDGET};
use super::ours::Hadal;
use super::rumur::without_asserts;
use super::scratch::Scratch;
use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_check::units::{counted, decimal, size};
use profile::ProfileCompared;
use published::{Instance, Row, Size};
use serde::Serialize;
use std::collections::HashMap;

/// Its name on the command line.
pub const SUITE: &str = "lamborn";
/// What is run unless told otherwise: the small instances.
const USUAL_MOST_STATES: u64 = 1_000_000;
/// Memory for the published instances: what the searches of the dissertation had for states.
const PUBLISHED_BUDGET: u64 = 3000 << 20;

/// The whole report.
#[derive(Debug, Serialize)]
struct LambornReport {
    hadal: &'static str,
    threads: u16,
    clock: &'static str,
    rows: Vec<Compared>,
    layers: Vec<ProfileCompared>,
}

/// A published row and ours.
#[derive(Debug, Serialize)]
struct Compared {
    published: Row,
    ours: Vec<Ours>,
}

/// One of our runs for a row.
#[derive(Debug, Serialize)]
struct Ours {
    /// Model and constants.
    instance: String,
    /// Whether it has the published constants.
    size: Size,
    /// Why there are no figures, where there are none.
    not_run: Option<String>,
    /// What is wrong with the counts, if anything.
    problem: Option<String>,
    /// Time of the search, by the clock that was chosen.
    seconds: Option<f64>,
    /// Ours under the published names.
    values: Vec<(String, Option<f64>)>,
}

/// Compares every row; exit code 1 where a count is wrong.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let published = published::all()?;
    let cases: Vec<_> = published.instances.iter().map(|instance| &instance.case).collect();
    let corpus = Corpus::find(&cases)?;
    let scratch = Scratch::new(args.disk.as_deref())?;
    let hadal = Hadal::new(args.threads, args.time_limit, &scratch)?;
    let mut bench = Bench { args, hadal, corpus, scratch, runs: HashMap::new() };
    let mut report = LambornReport {
        hadal: env!("CARGO_PKG_VERSION"),
        threads: args.threads,
        clock: args.clock.name(),
        rows: Vec::new(),
        layers: Vec::new(),
    };
    let mut table = String::new();
    let chosen = |table: &str, model: &str| {
        let name = format!("{table} {model}");
        args.chosen.only.as_deref().is_none_or(|text| name.contains(text))
    };
    let only = |row: &&Row| chosen(&row.table, &row.model);
    for row in published.rows.iter().filter(only) {
        if table != row.table {
            table.clone_from(&row.table);
            println!("\nTable {table}");
        }
        let shown: Vec<String> = row.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
        println!("{:10} {:17} theirs: {}", row.model, row.variant, shown.join(", "));
        let mut ours = Vec::new();
        for instance in published.instances.iter().filter(|instance| instance.model == row.model) {
            let compared = bench.compare(row, instance)?;
            println!("{}", told(&compared));
            ours.push(compared);
        }
        if ours.is_empty() {
            println!("  not run: the model is not public, or its constants are not known");
        }
        report.rows.push(Compared { published: row.clone(), ours });
    }
    for profile in published.profiles.iter().filter(|it| chosen(&it.table, &it.model)) {
        let same = |instance: &&Instance| instance.model == profile.model && instance.size == Size::Published;
        if let Some(instance) = published.instances.iter().find(same) {
            let compared = bench.compare_layers(profile, instance)?;
            println!("\nTable {}, layers\n{}", profile.table, compared.told());
            report.layers.push(compared);
        }
    }
    if report.rows.is_empty() && report.layers.is_empty() {
        return Err(BenchError::Usage(
            "--only names no row: say a table or a model, such as 3.1 or mcslock".into(),
        ));
    }
    let factors = factors(&report);
    if !factors.is_empty() {
        println!("\nTime of each variant over the first of its table\n{}", factors.join("\n"));
    }
    let wrong = report.rows.iter().flat_map(|row| &row.ours).any(|ours| ours.problem.is_some());
    println!("{}", if wrong { "\nsome counts are WRONG" } else { "\nevery count that is known is met" });
    super::write_results(args, &report, || page(&report))?;
    Ok(u8::from(wrong))
}

struct Bench<'a> {
    args: &'a BenchArgs,
    hadal: Hadal,
    corpus: Corpus,
    scratch: Scratch,
    /// What was run already, by instance and arguments: several tables have rows of the same search.
    runs: HashMap<String, Exploration>,
}

impl Bench<'_> {
    fn compare(&mut self, row: &Row, instance: &Instance) -> Result<Ours, BenchError> {
        let mut ours = Ours {
            instance: instance.case.name(),
            size: instance.size,
            not_run: None,
            problem: None,
            seconds: None,
            values: Vec::new(),
        };
        let most = self.most_states();
        if instance.case.states > most {
            ours.not_run = Some(format!("{} states, above --max-states {most}", instance.case.states));
            return Ok(ours);
        }
        let saved = self.scratch.file(&format!("{}-{:?}.partition", instance.model, instance.size));
        let saved = saved.display().to_string();
        if row.variant == "hash-saved" {
            // The run that saves the partition comes first.
            let _ = self.explore("hash", instance, &saved)?;
        }
        let clock = self.args.clock;
        let run = match self.explore(&row.variant, instance, &saved)? {
            Ok(run) => run,
            Err(why) => {
                ours.not_run = Some(why.to_owned());
                return Ok(ours);
            }
        };
        if run.is_late() {
            ours.not_run = Some(format!("not done: {}", run.reason.as_deref().unwrap_or_default()));
            return Ok(ours);
        }
        ours.problem = problem(instance, run);
        ours.seconds = Some(run.seconds(clock));
        ours.values = row.values.iter().map(|(name, _)| (name.clone(), figures::figure(name, run))).collect();
        Ok(ours)
    }

    /// The largest search that is made.
    fn most_states(&self) -> u64 {
        self.args.chosen.max_states.unwrap_or(USUAL_MOST_STATES)
    }

    fn explore(
        &mut self,
        variant: &str,
        instance: &Instance,
        saved: &str,
    ) -> Result<Result<&Exploration, &'static str>, BenchError> {
        match figures::arguments(variant, instance, saved) {
            Ok(words) => self.search(instance, words).map(Ok),
            Err(why) => Ok(Err(why)),
        }
    }

    /// Explores an instance with these arguments, unless that was done before.
    fn search(&mut self, instance: &Instance, mut words: Vec<String>) -> Result<&Exploration, BenchError> {
        let budget = if instance.size == Size::Published { PUBLISHED_BUDGET } else { LEAST_BUDGET };
        words.extend(["--memory".to_owned(), budget.to_string()]);
        let key = format!("{} {}", instance.case.name(), words.join(" "));
        if !self.runs.contains_key(&key) {
            let mut model = self.corpus.path(&instance.case);
            if instance.without_asserts {
                let copy = self.scratch.file("without-asserts.m");
                let text =
                    std::fs::read(&model).map_err(|error| BenchError::File { path: model.clone(), error })?;
                super::write(&copy, &without_asserts(&String::from_utf8_lossy(&text)))?;
                model = copy;
            }
            let run = Exploration::run(&self.hadal, &instance.case, &model, &words, None)?;
            self.runs.insert(key.clone(), run);
        }
        Ok(&self.runs[&key])
    }
}

fn problem(instance: &Instance, run: &Exploration) -> Option<String> {
    if run.verdict != instance.verdict {
        let reason = run.reason.as_deref().unwrap_or("for no reason given");
        return Some(format!("{} where {} is expected: {reason}", run.verdict, instance.verdict));
    }
    let (states, transitions) = instance.counts?;
    let ours = figures::counts(run);
    (ours != (states, transitions)).then(|| {
        format!("{} states and {} transitions where there are {states} and {transitions}", ours.0, ours.1)
    })
}

/// What the tables are about: by how much one variant is slower than another, theirs and ours.
fn factors(report: &LambornReport) -> Vec<String> {
    let mut lines = Vec::new();
    for (n, row) in report.rows.iter().enumerate() {
        let same = |other: &&Compared| {
            (&other.published.table, &other.published.model) == (&row.published.table, &row.published.model)
        };
        let Some(first) = report.rows[..n].iter().find(same).filter(|_| !row.ours.is_empty()) else {
            continue;
        };
        let mut told = Vec::new();
        if let (Some(theirs), Some(base)) = (row.published.seconds(), first.published.seconds()) {
            told.push(format!("theirs {}", decimal(theirs / base)));
        }
        for (ours, base) in row.ours.iter().zip(&first.ours) {
            if let (Some(seconds), Some(base)) = (ours.seconds, base.seconds) {
                told.push(format!("ours {} ({})", decimal(seconds / base.max(1e-4)), ours.instance));
            }
        }
        let (published, base) = (&row.published, &first.published.variant);
        lines.push(format!(
            "{} {:9} {} over {base}: {}",
            published.table,
            published.model,
            published.variant,
            if told.is_empty() { "not run".to_owned() } else { told.join(", ") }
        ));
    }
    lines
}

fn told(ours: &Ours) -> String {
    let label = format!("  ours, {}", ours.instance);
    if let Some(why) = &ours.not_run {
        return format!("{label}: not run: {why}");
    }
    let shown: Vec<String> = ours
        .values
        .iter()
        .filter(|(_, value)| value.is_some())
        .map(|(name, value)| format!("{name} {}", figures::written(name, *value)))
        .collect();
    let problem = ours.problem.as_ref().map_or(String::new(), |problem| format!("\n  WRONG: {problem}"));
    format!("{label}: {}{problem}", shown.join(", "))
}

fn page(report: &LambornReport) -> String {
    use super::html;
    let about = format!(
        "hadal {}, {}, beside the figures that P. C. Lamborn published in 2014. Small instances have {} of memory, \
         published ones {}.",
        report.hadal,
        counted(u64::from(report.threads), "thread"),
        size(LEAST_BUDGET),
        size(PUBLISHED_BUDGET)
    );
    let mut page = html::begin(SUITE, &about);
    let mut tables: Vec<&str> = report.rows.iter().map(|row| row.published.table.as_str()).collect();
    tables.dedup();
    for table in tables {
        let mut lines = Vec::new();
        for row in report.rows.iter().filter(|row| row.published.table == table) {
            let theirs: Vec<String> =
                row.published.values.iter().map(|(name, value)| format!("{name} {value}")).collect();
            let head = format!("{} {}", row.published.model, row.published.variant);
            lines.push(vec![head, "published".into(), theirs.join(", ")]);
            for ours in &row.ours {
                let text = told(ours);
                let text = text.split_once(": ").map_or(text.as_str(), |(_, figures)| figures);
                lines.push(vec![String::new(), ours.instance.clone(), text.to_owned()]);
            }
        }
        page.push_str(&html::table(&format!("Table {table}"), &["model", "who", "figures"], &lines));
    }
    let layers: Vec<Vec<String>> = report.layers.iter().map(|it| vec![it.table.clone(), it.told()]).collect();
    page.push_str(&html::table("Layers", &["table", "comparison"], &layers));
    let rows: Vec<Vec<String>> = factors(report).into_iter().map(|line| vec![line]).collect();
    page.push_str(&html::table("Time of each variant over the first of its table", &["factor"], &rows));
    page.push_str(html::END);
    page
}
