//! `hadal bench planning`: two tasks of every domain of the corpus, any plan and a best plan, beside Fast Downward where it
//! is installed, with equal time and memory: coverage, costs, states and bytes.

use super::corpus::Corpus;
use super::write_results;
use crate::args::BenchArgs;
use crate::error::BenchError;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// The suite's name.
pub const SUITE: &str = "planning";
/// What every planner may take.
const MEMORY: &str = "2G";
const MEMORY_KIB: u64 = 2 << 20;
/// Fast Downward's configurations beside hadal's two.
const PEER_SEARCHES: [&str; 2] = [
    "let(hlm, landmark_sum(lm_factory=lm_reasonable_orders_hps(lm_rhw()), transform=adapt_costs(one), pref=false), \
     let(hff, ff(transform=adapt_costs(one)), lazy_greedy([hff, hlm], preferred=[hff, hlm], cost_type=one, \
     reopen_closed=false)))",
    "astar(lmcut())",
];

/// What one planner said of one task.
#[derive(Clone, Debug, Default, Serialize)]
struct Said {
    /// `solved`, `unsolvable`, `stopped`, or why there is no answer.
    verdict: String,
    cost: Option<f64>,
    optimal: bool,
    states: Option<u64>,
    evaluated: Option<u64>,
    seconds: f64,
    cpu_seconds: Option<f64>,
    peak_bytes: Option<u64>,
}

/// One task.
#[derive(Debug, Serialize)]
struct Row {
    problem: String,
    /// Any plan, then a best plan.
    ours: Vec<Said>,
    peer: Vec<Said>,
    /// What others proved.
    known: Option<f64>,
}

/// All of it.
#[derive(Debug, Serialize)]
struct PlanningReport {
    seconds_each: f64,
    peer: Option<String>,
    rows: Vec<Row>,
}

/// Runs the suite; 1 where a cost contradicts what is known.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let root = Corpus::find(&[])?.path_of("pddl");
    let known = known(&root);
    let peer = if args.no_peers { None } else { Peer::find() };
    let mut report = PlanningReport {
        seconds_each: args.time_limit.as_secs_f64(),
        peer: peer.as_ref().map(|peer| peer.binary.display().to_string()),
        rows: Vec::new(),
    };
    println!("task: hadal any / best; Fast Downward LAMA-first / LM-cut (cost, * proved best; seconds)");
    for (domain, problem) in tasks(&root, args.only.as_deref()) {
        let name = problem.strip_prefix(&root).unwrap_or(&problem).display().to_string();
        let ours = [false, true].map(|optimal| hadal(&domain, &problem, optimal, args.time_limit));
        let peer = peer.as_ref().map(|peer| peer.run(&domain, &problem, args.time_limit)).unwrap_or_default();
        let row = Row {
            known: known.iter().find(|(known, _)| *known == name).map(|&(_, cost)| cost),
            problem: name,
            ours: ours.into_iter().collect(),
            peer,
        };
        println!("{}", line(&row));
        report.rows.push(row);
    }
    println!("{}", summary(&report));
    write_results(args, &report, || page(&report))?;
    Ok(u8::from(report.rows.iter().any(contradicts)))
}

/// Whether a cost is below a known optimum, or said to be best above it.
fn contradicts(row: &Row) -> bool {
    let Some(known) = row.known else { return false };
    row.ours
        .iter()
        .any(|said| said.cost.is_some_and(|cost| cost < known - 1e-6 || said.optimal && cost > known + 1e-6))
}

/// Two problems of every folder: one early, one in the middle.
fn tasks(root: &Path, only: Option<&str>) -> Vec<(PathBuf, PathBuf)> {
    let mut folders = vec![root.to_owned()];
    let mut tasks = Vec::new();
    while let Some(folder) = folders.pop() {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect();
        files.sort();
        folders.extend(files.iter().filter(|path| path.is_dir()).rev().cloned());
        let named = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let is_pddl = |path: &&PathBuf| path.extension().is_some_and(|ending| ending == "pddl");
        let (domains, problems): (Vec<&PathBuf>, Vec<&PathBuf>) =
            files.iter().filter(is_pddl).partition(|path| named(path).contains("domain"));
        let mut chosen: Vec<&&PathBuf> =
            problems.first().into_iter().chain(problems.get(problems.len() / 2)).collect();
        chosen.dedup();
        for &&problem in &chosen {
            let stem = problem.file_stem().unwrap_or_default().to_string_lossy();
            let own = domains.iter().find(|domain| named(domain).contains(&*stem));
            let shared = domains.iter().find(|domain| named(domain) == "domain.pddl");
            let wanted = only.is_none_or(|only| problem.display().to_string().contains(only));
            if let Some(domain) = own.or(shared).or(domains.first()).filter(|_| wanted) {
                tasks.push(((*domain).clone(), problem.clone()));
            }
        }
    }
    tasks
}

/// Optimal costs by problem.
fn known(root: &Path) -> Vec<(String, f64)> {
    let text = std::fs::read_to_string(root.join("KNOWN.tsv")).unwrap_or_default();
    let row = |line: &str| {
        let mut columns = line.split('\t');
        Some((columns.next()?.to_owned(), columns.nth(1)?.parse().ok()?))
    };
    text.lines().filter_map(row).collect()
}

fn hadal(domain: &Path, problem: &Path, optimal: bool, limit: Duration) -> Said {
    let begun = Instant::now();
    let Ok(binary) = std::env::current_exe() else { return Said::default() };
    let mut command = Command::new(binary);
    command.arg("plan").args([domain, problem]).args(["--json", "--quiet", "--memory", MEMORY]);
    command.args(["--time-limit", &format!("{}s", limit.as_secs().max(1))]);
    if optimal {
        command.arg("--optimal");
    }
    let Ok(output) = command.current_dir(std::env::temp_dir()).output() else { return Said::default() };
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    Said {
        verdict: json["verdict"].as_str().map_or_else(
            || String::from_utf8_lossy(&output.stderr).lines().next().unwrap_or("no answer").to_owned(),
            str::to_owned,
        ),
        cost: json["cost"].as_f64(),
        optimal: json["optimal"] == true,
        states: json["states"].as_u64(),
        evaluated: json["evaluated"].as_u64(),
        seconds: begun.elapsed().as_secs_f64(),
        cpu_seconds: json["cpu_seconds"].as_f64(),
        peak_bytes: json["peak_memory_bytes"].as_u64(),
    }
}

/// Fast Downward as `pip install up-fast-downward fast-downward.translate` brings it.
struct Peer {
    binary: PathBuf,
}

impl Peer {
    fn find() -> Option<Peer> {
        let place = "import importlib.util; print(importlib.util.find_spec('up_fast_downward').submodule_search_locations[0])";
        let output = Command::new("python3").args(["-c", place]).stderr(Stdio::null()).output().ok()?;
        let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        let binary = folder.join("downward/builds/release/bin/downward");
        binary.is_file().then_some(Peer { binary })
    }

    /// LAMA-first, then A* with LM-cut; the translator's time counts in both.
    fn run(&self, domain: &Path, problem: &Path, limit: Duration) -> Vec<Said> {
        let sas = std::env::temp_dir().join(format!("hadal-bench-{}.sas", std::process::id()));
        let begun = Instant::now();
        let translated = shell(&format!(
            "timeout {} python3 -m fast_downward.translate '{}' '{}' --sas-file '{}'",
            limit.as_secs().max(1),
            domain.display(),
            problem.display(),
            sas.display()
        ));
        let taken = begun.elapsed();
        let said = PEER_SEARCHES.iter().map(|search| {
            let left = limit.saturating_sub(taken).as_secs().max(1);
            if translated.is_none() {
                return Said { verdict: "not translated".to_owned(), ..Said::default() };
            }
            let begun = Instant::now();
            let output = shell(&format!(
                "ulimit -v {MEMORY_KIB}; timeout {left} '{}' --search '{search}' --internal-plan-file /dev/null < '{}'",
                self.binary.display(),
                sas.display()
            ));
            let text = output.unwrap_or_default();
            let after = |mark: &str| {
                let rest = text.lines().find_map(|line| Some(line.split_once(mark)?.1.to_owned()))?;
                rest.split_whitespace().next()?.parse::<f64>().ok()
            };
            let cost = after("Plan cost: ");
            let verdict = match (cost, text.contains("Completely explored state space")) {
                (Some(_), _) => "solved",
                (None, true) => "unsolvable",
                (None, false) => "stopped",
            };
            Said {
                verdict: verdict.to_owned(),
                optimal: cost.is_some() && search.starts_with("astar"),
                cost,
                states: after("Registered states: ").or(after("Evaluated ")).map(|states| states as u64),
                evaluated: after("Evaluated ").map(|states| states as u64),
                seconds: (taken + begun.elapsed()).as_secs_f64(),
                cpu_seconds: None,
                peak_bytes: after("Peak memory: ").map(|kib| kib as u64 * 1024),
            }
        });
        let said = said.collect();
        // A file that is left over is in nobody's way.
        let _ = std::fs::remove_file(&sas);
        said
    }
}

/// What a command prints, whatever its exit code; `None` where it cannot run or prints nothing.
fn shell(command: &str) -> Option<String> {
    let output = Command::new("bash").args(["-c", command]).stderr(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    (!text.is_empty()).then_some(text)
}

fn shown(said: &Said) -> String {
    match (said.cost, said.verdict.as_str()) {
        (Some(cost), _) => format!("{cost}{} {:.1}s", if said.optimal { "*" } else { "" }, said.seconds),
        (None, verdict) => format!("{verdict} {:.1}s", said.seconds),
    }
}

fn line(row: &Row) -> String {
    let ours: Vec<String> = row.ours.iter().map(shown).collect();
    let peer: Vec<String> = row.peer.iter().map(shown).collect();
    let wrong = if contradicts(row) { "  CONTRADICTS what is known" } else { "" };
    format!("{}: {}; {}{wrong}", row.problem, ours.join(" / "), peer.join(" / "))
}

fn summary(report: &PlanningReport) -> String {
    let answered =
        |said: Option<&Said>| said.is_some_and(|said| matches!(&*said.verdict, "solved" | "unsolvable"));
    let count = |which: fn(&Row) -> &[Said], at: usize| {
        report.rows.iter().filter(|row| answered(which(row).get(at))).count()
    };
    let ours: fn(&Row) -> &[Said] = |row| &row.ours;
    let peer: fn(&Row) -> &[Said] = |row| &row.peer;
    format!(
        "{} tasks, {} s and {MEMORY} each. Answered: hadal {} (any), {} (best); Fast Downward {} (LAMA-first), {} (LM-cut)",
        report.rows.len(),
        report.seconds_each,
        count(ours, 0),
        count(ours, 1),
        count(peer, 0),
        count(peer, 1)
    )
}

fn page(report: &PlanningReport) -> String {
    let escape = |text: &str| text.replace('&', "&amp;").replace('<', "&lt;");
    let rows: String = report
        .rows
        .iter()
        .map(|row| {
            let cells: String = row
                .ours
                .iter()
                .chain(&row.peer)
                .map(|said| format!("<td>{}</td>", escape(&shown(said))))
                .collect();
            format!("<tr><td>{}</td>{cells}</tr>\n", escape(&row.problem))
        })
        .collect();
    format!(
        "<!doctype html><meta charset=utf-8><title>hadal bench planning</title>\
         <style>body{{font:14px sans-serif}}td,th{{padding:2px 8px;text-align:left}}</style>\
         <p>{}</p><table><tr><th>task<th>hadal, any<th>hadal, best<th>LAMA-first<th>LM-cut</tr>\n{rows}</table>",
        escape(&summary(report))
    )
}
