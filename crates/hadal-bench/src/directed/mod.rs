//! `hadal bench directed`: Wehrle's tables (2011) with our columns beside them.
//!
//! The families of the tables are bundled models. Rows that can be met to the digit must be; the others show the shape.

mod instances;
mod published;
mod tables;

use super::exploration::Exploration;
use super::html;
use super::ours::Hadal;
use super::scratch::Scratch;
use super::suite::Case;
use crate::args::BenchArgs;
use crate::error::BenchError;
use hadal_check::units::{decimal, grouped};
use instances::Instance;
use published::{Match, Row};
use serde::Serialize;

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
    /// Entries put into and taken out of each queue.
    queues: Vec<(u64, u64)>,
    /// Switches of context at the error.
    switches: Option<u64>,
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
    print!("{}", tables::means(&report.rows)?);
    print!("{}", tables::traffic(&report.rows)?);
    println!("{}", report.summary());
    super::write_results(args, &report, || report.page())?;
    if let Some(path) = &args.files.csv {
        super::write(path, &report.csv())?;
    }
    Ok(u8::from(report.is_wrong()))
}

fn compare(hadal: &Hadal, scratch: &Scratch, row: Row) -> Result<Compared, BenchError> {
    let Some(Instance { model, constants, property }) = Instance::named(row.instance, scratch) else {
        return Err(BenchError::Internal(format!("published.tsv has an unknown instance {}", row.instance)));
    };
    let memory = if row.table.starts_with('5') { "1G" } else { "4G" };
    let mut more: Vec<String> =
        ["--find", "--calibration", "seed", "--memory", memory].map(str::to_owned).into();
    for (flag, value) in [("--order", row.order), ("--guide", row.guide), ("--priority", row.priority)] {
        more.extend([flag.to_owned(), value.to_owned()]);
    }
    more.extend(row.reduction.map(|_| "--safe-abstraction".to_owned()));
    property.into_iter().for_each(|name| more.extend(["--property".to_owned(), name]));
    let case = Case {
        model: String::new(),
        constants,
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
        // With what was left out put back in.
        length: match row.reduction {
            Some(_) => run.json["trace_length"].as_u64(),
            None => figures["found_length"].as_u64(),
        }
        .filter(|_| solved),
        deferred: figures["deferred_share"].as_f64().filter(|_| solved && row.deferred.is_some()),
        seconds: Some(run.time.wall_seconds),
        queues: figures["queues"].as_array().map_or_else(Vec::new, |queues| {
            let count = |queue: &serde_json::Value, name: &str| queue[name].as_u64().unwrap_or(0);
            queues.iter().map(|queue| (count(queue, "pushes"), count(queue, "pops"))).collect()
        }),
        switches: figures["switches"].as_u64().filter(|_| solved),
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

    /// The cells of the printed table.
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
            [Some(theirs.priority), theirs.reduction].into_iter().flatten().collect::<Vec<_>>().join(" "),
            count(theirs.explored),
            count(self.explored),
            count(theirs.length),
            count(self.length),
            decimal(theirs.seconds),
            decimal(self.seconds),
            matched,
        ]
    }

    fn csv(&self) -> String {
        let Row {
            table,
            instance,
            order,
            guide,
            priority,
            reduction,
            explored,
            length,
            seconds,
            deferred,
            ..
        } = &self.published;
        let number = |value: Option<f64>| value.map(|value| value.to_string()).unwrap_or_default();
        let count = |value: Option<u64>| value.map(|value| value.to_string()).unwrap_or_default();
        let matched = self.cells()[10].replace(',', ";");
        let cells = [
            table.to_string(),
            instance.to_string(),
            order.to_string(),
            guide.to_string(),
            priority.to_string(),
            reduction.unwrap_or_default().to_string(),
            count(*explored),
            count(*length),
            number(*seconds),
            number(*deferred),
            count(self.explored),
            count(self.length),
            number(self.seconds),
            number(self.deferred),
            matched,
        ];
        cells.join(",") + "\n"
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

    /// The rows with commas between, as other tools read them.
    fn csv(&self) -> String {
        let head = "table,instance,order,guide,priority,reduction,explored,length,seconds,deferred,ours_explored,\
                    ours_length,ours_seconds,ours_deferred,match\n";
        let lines = self.rows.iter().map(Compared::csv);
        std::iter::once(head.to_owned()).chain(lines).collect()
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
