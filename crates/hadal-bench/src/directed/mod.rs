//! `hadal bench directed`: Wehrle's tables (2011) with our columns beside them, and how many states the default directed
//! search needs on public models with errors, against breadth-first search.
//!
//! The families of the tables are bundled models. Rows that can be met to the digit must be; the others show the shape.

mod published;

use super::corpus::Corpus;
use super::exploration::Exploration;
use super::html;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::statistics::Spread;
use super::suite::Case;
use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_check::units::{decimal, grouped};
use published::{ErrorModel, Match, Row};
use serde::Serialize;
use std::path::{Path, PathBuf};

/// Its name on the command line.
pub const SUITE: &str = "directed";

/// Published rows of more states than this are run when `--only` names them.
const USUAL_MOST_EXPLORED: u64 = 3_000_000;

#[derive(Debug, Serialize)]
struct DirectedReport {
    hadal: &'static str,
    rows: Vec<Compared>,
    errors: Vec<Found>,
    /// States of breadth-first search over those of directed search.
    fewer_states: Option<Spread>,
    /// Length of the trace over that of a shortest one.
    longer_traces: Option<Spread>,
    /// Time of directed search over that of breadth-first search.
    time: Option<Spread>,
}

/// A published row and ours.
#[derive(Debug, Serialize)]
struct Compared {
    published: Row,
    explored: Option<u64>,
    length: Option<u64>,
    deferred: Option<f64>,
    seconds: Option<f64>,
    /// Why there are no figures, or what is wrong with them.
    remark: Option<String>,
    wrong: bool,
}

/// A model with an error, searched in both ways.
#[derive(Debug, Serialize)]
struct Found {
    model: String,
    guide: String,
    breadth_states: u64,
    directed_states: u64,
    shortest: u64,
    length: u64,
    breadth_seconds: f64,
    directed_seconds: f64,
    /// Why one of them has no trace.
    remark: Option<String>,
}

/// Runs the comparison; exit code 1 where a row that can be met is not.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let scratch = Scratch::new(args.disk.as_deref())?;
    let hadal = Hadal::new(args.threads, args.time_limit, &scratch)?;
    let chosen = |name: &str| args.chosen.only.as_deref().is_none_or(|text| name.contains(text));
    let mut report = DirectedReport {
        hadal: env!("CARGO_PKG_VERSION"),
        rows: Vec::new(),
        errors: Vec::new(),
        fewer_states: None,
        longer_traces: None,
        time: None,
    };
    crate::bundled::write_all(&scratch)?;
    println!("{}", ROWS_HEAD);
    for row in published::rows()?.into_iter().filter(|row| chosen(&row.name())) {
        let large = row.explored.is_none_or(|explored| explored > USUAL_MOST_EXPLORED);
        if large && args.chosen.only.is_none() {
            continue;
        }
        let compared = compare(&hadal, &scratch, row)?;
        println!("{}", compared.line());
        report.rows.push(compared);
    }
    let models: Vec<ErrorModel> =
        published::error_models()?.into_iter().filter(|model| chosen(model.model)).collect();
    let cases: Vec<Case> = models.iter().map(case_of).collect();
    match Corpus::find(&cases.iter().collect::<Vec<_>>()) {
        Err(failure) => println!("\nmodels with errors are left out: {failure}"),
        Ok(_) if models.is_empty() => {}
        Ok(corpus) => {
            println!("\n{}", ERRORS_HEAD);
            for (model, case) in models.iter().zip(&cases) {
                let found = search_both(&hadal, model, case, &corpus.path(case))?;
                println!("{}", found.line());
                report.errors.push(found);
            }
        }
    }
    if report.rows.is_empty() && report.errors.is_empty() {
        return Err(BenchError::Usage("--only names no row: say A3, hl useless, or a model".into()));
    }
    report.sum_up();
    println!("{}", report.summary());
    super::write_results(args, &report, || report.page())?;
    Ok(u8::from(report.is_wrong()))
}

fn case_of(model: &ErrorModel) -> Case {
    Case {
        model: model.model.to_owned(),
        constants: Vec::new(),
        symmetry: "auto".into(),
        deadlock: if model.property.is_some() { "off".into() } else { "on".into() },
        peers: false,
        states: 0,
        transitions: None,
        source: String::new(),
    }
}

/// A bundled model of a certain size.
struct Instance {
    model: PathBuf,
    constant: &'static str,
    size: i64,
    /// What is looked for, where it is not everything.
    property: Option<String>,
}

/// The instance that a table calls `name`.
fn instance(name: &str, scratch: &Scratch) -> Option<Instance> {
    let size: i64 = name.get(1..)?.parse().ok()?;
    let of =
        |family: &str, constant, property| Instance { model: scratch.file(family), constant, size, property };
    Some(match name.get(..1)? {
        "A" => of("models/arbiter_tree.mdve", "DEPTH", Some(format!("C{}.work", (1i64 << (size - 1)) - 1))),
        "F" => of("models/fischer.mdve", "N", None),
        "H" => of("models/hanoi.mdve", "N", Some(format!("Disc{size}.i1"))),
        _ => return None,
    })
}

fn compare(hadal: &Hadal, scratch: &Scratch, row: Row) -> Result<Compared, BenchError> {
    let Some(Instance { model, constant, size, property }) = instance(row.instance, scratch) else {
        return Err(BenchError::Internal(format!("published.tsv has an unknown instance {}", row.instance)));
    };
    let mut more: Vec<String> = ["--find", "--calibration", "seed"].map(str::to_owned).into();
    for (flag, value) in [("--order", row.order), ("--guide", row.guide), ("--priority", row.priority)] {
        more.extend([flag.to_owned(), value.to_owned()]);
    }
    property.into_iter().for_each(|name| more.extend(["--property".to_owned(), name]));
    let none = ErrorModel { model: "", property: Some("") };
    let constants = vec![(constant.to_owned(), size)];
    let case = Case { constants, symmetry: "off".into(), ..case_of(&none) };
    let run = Exploration::run(hadal, &case, &model, &more, None)?;
    let figures = &run.json["directed"];
    let solved = run.verdict == "violated";
    let mut compared = Compared {
        explored: figures["pops"].as_u64().filter(|_| solved),
        length: figures["found_length"].as_u64().filter(|_| solved),
        deferred: figures["deferred_share"].as_f64().filter(|_| solved && row.deferred.is_some()),
        seconds: Some(run.time.wall_seconds),
        remark: run.reason.filter(|_| !solved),
        wrong: false,
        published: row,
    };
    compared.judge();
    Ok(compared)
}

const ROWS_HEAD: &str = "Wehrle 2011: states explored, length of the trace, seconds (theirs, ours)\n\
    instance order  guide priority                explored       ours   length   ours  seconds     ours  match";

impl Compared {
    /// Compares with what is published, as far as that can be met. A search that was stopped is not wrong.
    fn judge(&mut self) {
        let theirs = &self.published;
        let same_share = |(a, b): (f64, f64)| (a - b).abs() < 0.0006;
        let met = match theirs.matched {
            Match::Shape => return,
            Match::Length => self.length == theirs.length,
            Match::Exact => {
                self.explored == theirs.explored
                    && self.length == theirs.length
                    && theirs.deferred.zip(self.deferred).is_none_or(same_share)
            }
        };
        self.wrong = !met && (self.explored.is_some() || self.remark.is_none());
        if self.wrong {
            self.remark = Some("WRONG".into());
        }
    }

    /// The columns.
    fn cells(&self) -> [String; 11] {
        let theirs = &self.published;
        let matched = match (&self.remark, theirs.matched) {
            (Some(remark), _) => remark.clone(),
            (None, Match::Exact) => "same".into(),
            (None, Match::Length) => "same length".into(),
            (None, Match::Shape) => String::new(),
        };
        let count = |value: Option<u64>| value.map_or("-".into(), grouped);
        [
            theirs.instance.to_string(),
            theirs.order.to_string(),
            theirs.guide.to_string(),
            theirs.priority.to_string(),
            count(theirs.explored),
            count(self.explored),
            count(theirs.length),
            count(self.length),
            decimal(theirs.seconds),
            decimal(self.seconds),
            matched,
        ]
    }

    fn line(&self) -> String {
        let [
            instance,
            order,
            guide,
            priority,
            explored,
            ours,
            length,
            our_length,
            seconds,
            our_seconds,
            matched,
        ] = self.cells();
        format!(
            "{instance:8} {order:6} {guide:5} {priority:21} {explored:>10} {ours:>10} {length:>8} {our_length:>6} \
             {seconds:>8} {our_seconds:>8}  {matched}"
        )
    }
}

fn search_both(hadal: &Hadal, model: &ErrorModel, case: &Case, path: &Path) -> Result<Found, BenchError> {
    let property = model.property.map(|name| ["--property".to_owned(), name.to_owned()]);
    let with = |more: &[&str]| {
        let all = more.iter().map(|text| (*text).to_owned()).chain(property.iter().flatten().cloned());
        all.collect::<Vec<String>>()
    };
    let breadth = Exploration::run(hadal, case, path, &with(&["--strategy", "bfs"]), None)?;
    let directed = Exploration::run(hadal, case, path, &with(&["--find"]), None)?;
    let length = |run: &Exploration| run.json["trace_length"].as_u64().unwrap_or(0);
    let remark = [("breadth-first", &breadth), ("directed", &directed)]
        .into_iter()
        .find(|(_, run)| run.verdict != "violated")
        .map(|(name, run)| format!("{name}: {}, {}", run.verdict, run.reason.as_deref().unwrap_or_default()));
    Ok(Found {
        model: match model.property {
            Some(property) => format!("{} {property}", case.name()),
            None => case.name(),
        },
        guide: directed.json["directed"]["guide"].as_str().unwrap_or_default().to_owned(),
        breadth_states: breadth.states,
        directed_states: directed.states,
        shortest: length(&breadth),
        length: length(&directed),
        breadth_seconds: breadth.time.startup_seconds + breadth.time.wall_seconds,
        directed_seconds: directed.time.startup_seconds + directed.time.wall_seconds,
        remark,
    })
}

const ERRORS_HEAD: &str = "Models with errors: breadth-first search and --find; times of the whole command\n\
    model                                    guide      breadth   directed    fewer shortest length  seconds     find  slower";

impl Found {
    fn line(&self) -> String {
        format!(
            "{:40} {:7} {:>10} {:>10} {:>8} {:>8} {:>6} {:>8} {:>8} {:>7}  {}",
            self.model,
            self.guide,
            grouped(self.breadth_states),
            grouped(self.directed_states),
            decimal(self.fewer()),
            self.shortest,
            self.length,
            decimal(self.breadth_seconds),
            decimal(self.directed_seconds),
            decimal(self.directed_seconds / self.breadth_seconds),
            self.remark.as_deref().unwrap_or_default(),
        )
    }

    fn fewer(&self) -> f64 {
        self.breadth_states as f64 / self.directed_states.max(1) as f64
    }
}

impl DirectedReport {
    fn sum_up(&mut self) {
        let found = || self.errors.iter().filter(|found| found.remark.is_none());
        let fewer = Spread::of(found().map(Found::fewer));
        let longer = Spread::of(found().map(|found| found.length as f64 / found.shortest as f64));
        let time = Spread::of(found().map(|found| found.directed_seconds / found.breadth_seconds));
        (self.fewer_states, self.longer_traces, self.time) = (fewer, longer, time);
    }

    fn is_wrong(&self) -> bool {
        self.rows.iter().any(|row| row.wrong)
    }

    fn summary(&self) -> String {
        let exact = || self.rows.iter().filter(|row| row.published.matched != Match::Shape);
        let met = exact().filter(|row| row.remark.is_none()).count();
        let mut text = format!("\n{met} of {} rows that can be met are met", exact().count());
        let told = [
            ("states, breadth-first over directed", self.fewer_states),
            ("trace length over the shortest", self.longer_traces),
            ("time, directed over breadth-first", self.time),
        ];
        for (what, spread) in told {
            if let Some(spread) = spread {
                text.push_str(&format!("\n{what}: {spread}"));
            }
        }
        text
    }

    fn page(&self) -> String {
        let about =
            "Directed search: published tables with our figures, and states explored on models with errors.";
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().into()).collect();
        let heads = [
            "instance", "order", "guide", "priority", "explored", "ours", "length", "ours", "seconds",
            "ours", "match",
        ];
        let errors: Vec<Vec<String>> = (self.errors.iter())
            .map(|found| {
                let numbers = [found.breadth_states, found.directed_states, found.shortest, found.length];
                let mut line = vec![found.model.clone(), found.guide.clone()];
                line.extend(numbers.map(grouped));
                line.extend([found.breadth_seconds, found.directed_seconds].map(decimal));
                line.push(found.remark.clone().unwrap_or_default());
                line
            })
            .collect();
        let error_heads =
            ["model", "guide", "breadth-first", "directed", "shortest", "length", "seconds", "directed", ""];
        [
            html::begin(SUITE, about),
            html::table("Wehrle 2011", &heads, &rows),
            html::table("Models with errors", &error_heads, &errors),
            html::END.to_owned(),
        ]
        .concat()
    }
}
