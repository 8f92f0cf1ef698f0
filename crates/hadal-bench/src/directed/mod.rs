//! `hadal bench directed`: Wehrle's tables (2011) with our columns beside them.
//!
//! The families of the tables are bundled models. Rows that can be met to the digit must be; the others show the shape.

mod published;

use super::exploration::Exploration;
use super::html;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::suite::Case;
use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_check::units::{decimal, grouped};
use published::{Match, Row};
use serde::Serialize;
use std::path::PathBuf;

/// Its name on the command line.
pub const SUITE: &str = "directed";

/// Published rows of more states than this are run when `--only` names them.
const USUAL_MOST_EXPLORED: u64 = 3_000_000;

#[derive(Debug, Serialize)]
struct DirectedReport {
    hadal: &'static str,
    rows: Vec<Compared>,
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

/// Runs the comparison; exit code 1 where a row that can be met is not.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let scratch = Scratch::new(args.disk.as_deref())?;
    let hadal = Hadal::new(args.threads, args.time_limit, &scratch)?;
    let chosen = |name: &str| args.chosen.only.as_deref().is_none_or(|text| name.contains(text));
    let mut report = DirectedReport { hadal: env!("CARGO_PKG_VERSION"), rows: Vec::new() };
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
    if report.rows.is_empty() {
        return Err(BenchError::Usage("--only names no row: say A3, or hl useless".into()));
    }
    println!("{}", report.summary());
    super::write_results(args, &report, || report.page())?;
    Ok(u8::from(report.is_wrong()))
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
    let case = Case {
        model: String::new(),
        constants: vec![(constant.to_owned(), size)],
        symmetry: "off".into(),
        deadlock: "off".into(),
        peers: false,
        states: 0,
        transitions: None,
        source: String::new(),
    };
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

impl DirectedReport {
    fn is_wrong(&self) -> bool {
        self.rows.iter().any(|row| row.wrong)
    }

    fn summary(&self) -> String {
        let exact = || self.rows.iter().filter(|row| row.published.matched != Match::Shape);
        let met = exact().filter(|row| row.remark.is_none()).count();
        format!("\n{met} of {} rows that can be met are met", exact().count())
    }

    fn page(&self) -> String {
        let about = "Directed search: published tables with our figures.";
        let rows: Vec<Vec<String>> = self.rows.iter().map(|row| row.cells().into()).collect();
        let heads = [
            "instance", "order", "guide", "priority", "explored", "ours", "length", "ours", "seconds",
            "ours", "match",
        ];
        [html::begin(SUITE, about), html::table("Wehrle 2011", &heads, &rows), html::END.to_owned()].concat()
    }
}
