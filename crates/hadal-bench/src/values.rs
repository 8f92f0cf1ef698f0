//! `hadal bench values`: the published tables of value iteration (Jabbar 2008, ch. 10), and every question of the corpus whose
//! value is known, beside Storm where it is installed (`pip install stormpy`; `HADAL_STORM` names its interpreter).

mod large;

use crate::args::BenchArgs;
use crate::corpus::Corpus;
use crate::error::BenchError;
use crate::html;
use crate::measure::{Measured, measure};
use crate::write_results;
use hadal_check::units::{decimal, grouped};
use hadal_value::iterate::{Explicit, Iteration};
use hadal_value::task::{Actions, Racetrack, Task, Tiles, WetFloor};
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

/// The suite's name.
pub const SUITE: &str = "values";

/// Tracks with the edges and seconds of the published tables, and the sweeps and values that a second implementation found.
const TRACKS: [(&str, u64, f64, u64, f64); 6] = [
    ("barto-small", 139_857, 19.4, 27, 14.4597),
    ("barto-big", 337_429, 82.5, 44, 26.1343),
    ("hansen-bigger", 780_533, 325.2, 73, 50.5707),
    ("ring-4", 497_135, 92.2, 33, 18.5308),
    ("ring-5", 1_435_048, 193.1, 41, 24.9492),
    ("square-5", 21_383_804, 3975.0, 34, 15.6588),
];
/// Edges, sweeps and seconds of the 8-puzzle, by how often moves work and whether it begins with Manhattan distances.
const PUZZLES: [(f64, bool, u64, u64, f64); 4] = [
    (1.0, false, 483_839, 32, 71.5),
    (1.0, true, 483_839, 28, 65.2),
    (0.9, false, 967_677, 45, 247.4),
    (0.9, true, 967_677, 43, 237.4),
];

/// Sides of floors whose policies are counted.
const GROWING: [u32; 6] = [100, 200, 400, 800, 1600, 2000];
/// With more states only where they are asked for.
const SMALL: u64 = 1_000_000;

/// A row of a published table.
#[derive(Debug, Serialize)]
struct SeedRow {
    task: String,
    states: u64,
    edges: u64,
    sweeps: u64,
    value: f64,
    /// States that the greedy policy can visit.
    policy: u64,
    seconds: f64,
    published_edges: Option<u64>,
    published_seconds: Option<f64>,
    met: bool,
}

/// A question of the corpus.
#[derive(Debug, Serialize)]
struct QuestionRow {
    model: String,
    formula: String,
    states: u64,
    lower: f64,
    upper: f64,
    known: String,
    met: bool,
    cpu_seconds: f64,
    peak_bytes: u64,
    storm_cpu_seconds: Option<f64>,
    storm_peak_bytes: Option<u64>,
}

#[derive(Debug, Serialize)]
struct ValuesReport {
    seeds: Vec<SeedRow>,
    large: Vec<large::LargeRow>,
    questions: Vec<QuestionRow>,
    storm: bool,
    /// Storm's processor time over ours, the geometric mean.
    speed: Option<f64>,
}

/// Runs the suite; 1 where a count, a number of sweeps or a value is not the known one.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let corpus = Corpus::find(&[])?;
    let wanted = |name: &str| args.chosen.only.as_ref().is_none_or(|part| name.contains(part.as_str()));
    println!(
        "published tables: task, states, edges (published), sweeps, value, states of the policy, seconds (published)"
    );
    let mut seeds = Vec::new();
    for row in seed_rows(&corpus, args, &wanted) {
        println!(
            "  {:28} {:>10} {:>11} ({:>11}) {:>4} {:>10.4} {:>10} {:>8} ({:>7}){}",
            row.task,
            grouped(row.states),
            grouped(row.edges),
            row.published_edges.map_or("-".into(), grouped),
            row.sweeps,
            row.value,
            grouped(row.policy),
            decimal(row.seconds),
            decimal(row.published_seconds),
            if row.met { "" } else { "  WRONG" }
        );
        seeds.push(row);
    }
    let large = large::rows(args)?;
    let storm = if args.no_peers { None } else { Storm::find() };
    let peer = if storm.is_some() { "Storm, sound" } else { "no peer" };
    println!("questions: model, states, [lower, upper], known, cpu seconds ({peer})");
    let mut questions = Vec::new();
    for (model, constants, formula, known) in oracle_rows(&corpus, args.chosen.max_states)? {
        if wanted(&model) {
            let row = question(&corpus, (&model, &constants, &formula, &known), args, storm.as_ref())?;
            println!(
                "  {:44} {:>10} [{:.9}, {:.9}] {:.30} {:>7} ({}){}",
                format!("{model} {formula}").chars().take(44).collect::<String>(),
                grouped(row.states),
                row.lower,
                row.upper,
                row.known,
                decimal(row.cpu_seconds),
                decimal(row.storm_cpu_seconds),
                if row.met { "" } else { "  WRONG" }
            );
            questions.push(row);
        }
    }
    let ratios: Vec<f64> = questions
        .iter()
        .filter_map(|q| Some((q.storm_cpu_seconds? / q.cpu_seconds.max(1e-3)).ln()))
        .collect();
    let speed = (!ratios.is_empty()).then(|| (ratios.iter().sum::<f64>() / ratios.len() as f64).exp());
    if let Some(speed) = speed {
        println!(
            "Storm takes {} times hadal's processor time, process start included (geometric mean)",
            decimal(speed)
        );
    }
    let met = seeds.iter().all(|r| r.met) && large.iter().all(|r| r.met) && questions.iter().all(|r| r.met);
    println!("{}", if met { "all as known" } else { "NOT as known" });
    let report = ValuesReport { seeds, large, questions, storm: storm.is_some(), speed };
    write_results(args, &report, || page(&report))?;
    Ok(u8::from(!met))
}

/// A task whose estimate is 0.
struct FromZero<T>(T);

impl<T: Task> Task for FromZero<T> {
    fn initial(&self) -> u64 {
        self.0.initial()
    }
    fn terminal(&self, state: u64) -> Option<f64> {
        self.0.terminal(state)
    }
    fn actions(&self, state: u64, out: &mut Actions) {
        self.0.actions(state, out);
    }
}

fn seed_rows(corpus: &Corpus, args: &BenchArgs, wanted: &impl Fn(&str) -> bool) -> Vec<SeedRow> {
    let mut rows = Vec::new();
    let mut add =
        |name: String, task: &dyn Task, published: (Option<u64>, Option<f64>), known: Option<(u64, f64)>| {
            let started = Instant::now();
            let Some(explicit) = Explicit::explore(task) else { return };
            let found = explicit.iterate(task, Iteration::default());
            let (edges, value) = (explicit.edges(), found.values[0]);
            let near = |published: u64| edges.abs_diff(published) * 1000 <= published;
            rows.push(SeedRow {
                task: name,
                states: explicit.states.len() as u64,
                edges,
                sweeps: found.sweeps(),
                value,
                policy: explicit.policy_size(&found.values),
                seconds: started.elapsed().as_secs_f64(),
                published_edges: published.0,
                published_seconds: published.1,
                met: published.0.is_none_or(near)
                    && known.is_none_or(|(sweeps, known)| {
                        found.sweeps() == sweeps && (value - known).abs() <= 5e-4 * known
                    }),
            });
        };
    for (name, edges, seconds, sweeps, value) in TRACKS {
        let file = corpus.path_of("../oracles/tracks").join(format!("{name}.track"));
        let text = std::fs::read_to_string(file).ok().filter(|_| wanted(name));
        if let Some(Ok(track)) = text.map(|text| Racetrack::parse(&text, 0.7)) {
            add(format!("racetrack {name}"), &track, (Some(edges), Some(seconds)), Some((sweeps, value)));
        }
    }
    for (works, guided, edges, sweeps, seconds) in PUZZLES {
        let name = format!("8-puzzle p={works}{}", if guided { ", Manhattan" } else { "" });
        if wanted(&name) {
            let tiles = Tiles::new(3, 3, works, at_distance_14());
            let tiles = if guided { tiles.guided() } else { tiles };
            add(name, &tiles, (Some(edges), Some(seconds)), Some((sweeps, 14.0 / works)));
        }
    }
    for (side, edges, sweeps, value) in [(20, 3238, 55, 39.291859), (50, 22_066, 116, 100.661557)] {
        let name = format!("wet floor {side} x {side}");
        if wanted(&name) {
            add(name, &FromZero(WetFloor::new(side, 0.3)), (Some(edges), None), Some((sweeps, value)));
        }
    }
    // The author drew how policies and sweeps grow, without figures.
    for side in GROWING {
        let name = format!("wet floor {side} x {side}");
        let states = u64::from(side) * u64::from(side);
        if wanted(&name) && states <= args.chosen.max_states.unwrap_or(SMALL) {
            add(name, &FromZero(WetFloor::new(side, 0.3)), (None, None), None);
        }
    }
    rows
}

/// A state of the 8-puzzle 14 moves from the goal, with tiles 10 moves from their places.
fn at_distance_14() -> u64 {
    let tiles = Tiles::new(3, 3, 1.0, 0);
    let goal = Tiles::goal(3, 3);
    let (mut seen, mut layer) = (std::collections::HashSet::from([goal]), vec![goal]);
    for _ in 0..14 {
        let next: Vec<u64> = layer.iter().flat_map(|&s| tiles.moves(s).collect::<Vec<_>>()).collect();
        layer = next.into_iter().filter(|&s| seen.insert(s)).collect();
    }
    layer.into_iter().find(|&s| tiles.manhattan(s) == 10).unwrap_or(goal)
}

type Question = (String, String, String, String);

/// Model, constants, formula and value of the questions with at most so many states.
fn oracle_rows(corpus: &Corpus, most: Option<u64>) -> Result<Vec<Question>, BenchError> {
    let path = corpus.path_of("../oracles/mdp.tsv");
    let text = std::fs::read_to_string(&path).map_err(|error| BenchError::File { path, error })?;
    let rows = text.lines().filter(|l| l.starts_with("qcomp/") || l.starts_with("prism-examples/"));
    let rows = rows.map(|line| line.split('\t').collect::<Vec<_>>()).filter(|c| c.len() > 11);
    let small =
        |c: &Vec<&str>| most.is_none_or(|most| c[11].parse::<u64>().is_ok_and(|states| states <= most));
    Ok(rows
        .filter(small)
        .map(|c| {
            let known = if c[8] == "-" { c[4] } else { c[8] };
            (c[0].to_owned(), c[1].to_owned(), c[3].to_owned(), known.to_owned())
        })
        .collect())
}

fn question(
    corpus: &Corpus,
    (model, constants, formula, known): (&str, &str, &str, &str),
    args: &BenchArgs,
    storm: Option<&Storm>,
) -> Result<QuestionRow, BenchError> {
    let path = corpus.path_of("prism").join(model);
    let program = std::env::current_exe().map_err(|error| BenchError::Internal(error.to_string()))?;
    let mut command = Command::new(&program);
    command.arg("solve").arg(&path).args(["--formula", formula, "--json"]);
    for pair in constants.split(',').filter(|pair| !pair.is_empty()) {
        command.arg("-D").arg(given(pair));
    }
    let measured = measure(&mut command, args.time_limit)
        .map_err(|error| BenchError::File { path: program.clone(), error })?;
    let json: serde_json::Value = serde_json::from_str(&measured.output).unwrap_or_default();
    let number = |name: &str| json[name].as_f64().unwrap_or(f64::NAN);
    let (lower, upper) = (number("lower"), number("upper"));
    let met = match known {
        "True" => json["verdict"] == "holds",
        "False" => json["verdict"] == "violated",
        text => value_of(text).is_some_and(|value| {
            let near = value * 1e-15;
            lower <= value + near && value - near <= upper && upper - lower <= 1.01e-6 * upper
        }),
    };
    let theirs = storm.and_then(|storm| storm.measure(&path, constants, formula, args));
    Ok(QuestionRow {
        model: model.to_owned(),
        formula: formula.to_owned(),
        states: json["states"].as_u64().unwrap_or(0),
        lower,
        upper,
        known: known.to_owned(),
        met,
        cpu_seconds: measured.cpu_seconds,
        peak_bytes: measured.peak_bytes,
        storm_cpu_seconds: theirs.as_ref().map(|m| m.cpu_seconds),
        storm_peak_bytes: theirs.as_ref().map(|m| m.peak_bytes),
    })
}

/// A constant as hadal and Storm write it.
fn given(pair: &str) -> String {
    match pair.split_once('=') {
        Some((name, value)) => format!("{name}={}", value.to_ascii_lowercase()),
        None => pair.to_owned(),
    }
}

fn value_of(text: &str) -> Option<f64> {
    match text.split_once('/') {
        Some((above, below)) => Some(above.parse::<f64>().ok()? / below.parse::<f64>().ok()?),
        None => text.parse().ok(),
    }
}

/// Storm through its Python package.
struct Storm {
    python: PathBuf,
}

/// Builds and checks with sound methods.
const SCRIPT: &str = "import sys, stormpy
file, constants, formula = sys.argv[1:4]
program = stormpy.parse_prism_program(file, prism_compatibility=True)
properties = stormpy.parse_properties(formula, program)
program, properties = stormpy.instantiate_constants(program, constants, properties)
model = stormpy.build_model(program, properties)
result = stormpy.model_checking(model, properties[0], environment=stormpy.environments.sound())
print(result[model.initial_states[0]])
";

impl Storm {
    fn find() -> Option<Storm> {
        let python = std::env::var_os("HADAL_STORM").map_or_else(|| "python3".into(), PathBuf::from);
        let tried = Command::new(&python)
            .args(["-c", "import stormpy"])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        tried.is_ok_and(|status| status.success()).then_some(Storm { python })
    }

    fn measure(&self, model: &Path, constants: &str, formula: &str, args: &BenchArgs) -> Option<Measured> {
        let constants: Vec<String> = constants.split(',').map(given).collect();
        let mut command = Command::new(&self.python);
        command.args(["-c", SCRIPT]).arg(model).arg(constants.join(",")).arg(formula);
        measure(&mut command, args.time_limit).ok().filter(|m| m.exit_code == Some(0))
    }
}

fn page(report: &ValuesReport) -> String {
    let seeds: Vec<Vec<String>> = report
        .seeds
        .iter()
        .map(|r| {
            let (value, seconds) = (format!("{:.4}", r.value), decimal(r.seconds));
            let counts = [r.states, r.edges, r.sweeps].map(grouped);
            let rest = vec![value, grouped(r.policy), seconds, decimal(r.published_seconds)];
            [vec![r.task.clone()], counts.into(), rest].concat()
        })
        .collect();
    let questions: Vec<Vec<String>> = report
        .questions
        .iter()
        .map(|q| {
            let bounds = [q.lower, q.upper].map(|v| v.to_string());
            let head = vec![q.model.clone(), q.formula.clone(), grouped(q.states)];
            [head, bounds.into(), vec![decimal(q.cpu_seconds), decimal(q.storm_cpu_seconds)]].concat()
        })
        .collect();
    let mut page =
        html::begin(SUITE, "Values of decision processes: published tables, and questions beside Storm.");
    let heads = ["task", "states", "edges", "sweeps", "value", "policy", "seconds", "published"];
    page.push_str(&html::table("Published tables", &heads, &seeds));
    page.push_str(&large::table(&report.large));
    let heads = ["model", "formula", "states", "lower", "upper", "cpu seconds", "Storm"];
    page.push_str(&html::table("Questions", &heads, &questions));
    page.push_str(html::END);
    page
}
