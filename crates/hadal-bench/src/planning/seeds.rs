//! `hadal bench planning-seeds`: the tables of Jabbar 2008, ch. 9. Settlers by hill climbing (table 9.1): plans at most 1.5
//! times as long as published, and the instance that was given up there. The travelling purchaser with four preferences
//! (table 9.2): how many states each layer has, and the best cost in it. Useless actions (Wehrle 2011, tables 3.5 and 3.6): how
//! many tasks of a domain greedy search leaves unsolved with and without them.

use super::said::{Limit, Said, ask};
use super::tasks::tasks;
use crate::args::BenchArgs;
use crate::corpus::Corpus;
use crate::error::BenchError;
use crate::scratch::Scratch;
use crate::write_results;
use hadal_check::units::{decimal, grouped, span};
use serde::Serialize;
use std::path::Path;

/// The suite's name.
pub const SEEDS: &str = "planning-seeds";

const SETTLERS: &str = "pddl/numeric/ipc-2002/settlers-numeric-automatic";
const PURCHASER: &str = "pddl/preferences/ipc-2006/tpp-preferences-simple";
/// Instances of Settlers with the published lengths of plans; none for the one that was stopped after three and a half days.
const LENGTHS: [(u32, Option<u64>); 6] =
    [(1, Some(53)), (2, Some(27)), (3, Some(52)), (4, Some(64)), (6, Some(79)), (7, None)];
/// States of the layers of the purchaser's task as published; the fifth was misprinted there as 326.
const LAYERS: [u64; 18] = [
    1, 2, 10, 61, 252, 945, 3_153, 9_509, 26_209, 66_705, 158_311, 353_182, 745_960, 1_500_173, 2_886_261,
    5_331_550, 9_481_864, 16_266_810,
];
/// Layers in which the best cost falls, and to what.
const COSTS: [(u64, f64); 6] = [(0, 105.0), (5, 104.0), (8, 103.0), (11, 101.0), (14, 97.0), (17, 96.0)];

/// Domains of the published comparison of useless actions that are at hand.
const DOMAINS: [&str; 6] = [
    "pddl/classical/ipc-2002/depot",
    "pddl/classical/ipc-2004/optical-telegraphs",
    "pddl/classical/ipc-2004/pipesworld-notankage",
    "pddl/classical/ipc-2006/pathways",
    "pddl/classical/ipc-2006/tpp",
    "pddl/classical/ipc-2006/trucks",
];
/// Greedy search with h^FF, alone, with useless, with helpful actions, and with both, as the columns are published.
const CONFIGURATIONS: [&str; 4] = ["greedy", "greedy-useless", "greedy-helpful", "greedy-helpful-useless"];

/// One configuration on the tasks of a domain.
#[derive(Debug, Serialize)]
struct UselessRow {
    domain: &'static str,
    engine: &'static str,
    tasks: usize,
    unsolved: usize,
    evaluated: u64,
}

/// Two tasks of each domain in every configuration.
fn useless(corpus: &Corpus, limit: Limit) -> Vec<UselessRow> {
    println!("useless actions: domain, engine: tasks left unsolved, estimates");
    let mut rows = Vec::new();
    for domain in DOMAINS {
        let tasks = tasks(&super::absolute(corpus.path_of(domain)), None);
        for engine in CONFIGURATIONS {
            let options = ["--engine", engine, "--memory", "1G"];
            let said: Vec<Said> =
                tasks.iter().map(|(domain, problem)| ask((domain, problem), &options, limit)).collect();
            let unsolved = said.iter().filter(|said| said.length.is_none()).count();
            let evaluated = said.iter().filter_map(|said| said.evaluated).sum();
            println!("  {domain}, {engine}: {unsolved} of {}, {evaluated}", tasks.len());
            rows.push(UselessRow { domain, engine, tasks: tasks.len(), unsolved, evaluated });
        }
    }
    rows
}

#[derive(Debug, Serialize)]
struct SettlersRow {
    instance: u32,
    published: Option<u64>,
    engine: &'static str,
    said: Said,
}

#[derive(Debug, Serialize)]
struct SeedsReport {
    settlers: Vec<SettlersRow>,
    purchaser: Said,
    useless: Vec<UselessRow>,
}

/// Runs the suite; 1 where a layer or a cost is not the published one, or a plan is too long.
pub fn run(args: &BenchArgs) -> Result<u8, BenchError> {
    let corpus = Corpus::find(&[])?;
    let limit = Limit { time: args.time_limit, clock: args.clock };
    let mut met = true;
    let mut settlers = Vec::new();
    println!("Settlers: instance, engine: steps (published), seconds, estimates");
    for (instance, published) in LENGTHS {
        let folder = super::absolute(corpus.path_of(SETTLERS));
        let problem = folder.join(format!("instance-{instance}.pddl"));
        for engine in ["auto", "external-ehc"] {
            let options = ["--engine", engine, "--first", "--memory", "256M"];
            let said = ask((&folder.join("domain.pddl"), &problem), &options, limit);
            let shown = said.length.map_or(said.verdict.clone(), |length| format!("{length} steps"));
            let published_text = published.map_or("not solved".to_owned(), |length| length.to_string());
            let (seconds, evaluated) = (span(said.seconds), grouped(said.evaluated.unwrap_or(0)));
            println!("  {instance}, {engine}: {shown} ({published_text}), {seconds}, {evaluated}");
            if engine == "auto" {
                met &= said.length.is_some_and(|length| published.is_none_or(|most| 2 * length <= 3 * most));
            }
            settlers.push(SettlersRow { instance, published, engine, said });
        }
    }
    let scratch = Scratch::new(args.disk.as_deref())?;
    let purchaser = purchaser(&super::absolute(corpus.path_of(PURCHASER)), scratch.folder(), limit)?;
    println!("travelling purchaser: layer, states, best cost where it falls");
    for (layer, states) in purchaser.levels.iter().enumerate() {
        let best = purchaser.improvements.iter().find(|(at, _)| *at == layer as u64);
        println!(
            "  {layer}, {}{}",
            grouped(*states),
            best.map_or(String::new(), |(_, cost)| format!(", {cost}"))
        );
    }
    met &= purchaser.levels == LAYERS && purchaser.improvements == COSTS;
    println!("{}", if met { "all as published, or better" } else { "NOT as published" });
    let useless = useless(&corpus, limit);
    let report = SeedsReport { settlers, purchaser, useless };
    write_results(args, &report, || page(&report))?;
    Ok(u8::from(!met))
}

/// The task of the published experiment, made from the public one: only the first four preferences are kept, and driving
/// costs nothing.
fn purchaser(folder: &Path, scratch: &Path, limit: Limit) -> Result<Said, BenchError> {
    let public = folder.join("instance-5.pddl");
    let read = std::fs::read_to_string(&public);
    let text = read.map_err(|error| BenchError::File { path: public.clone(), error })?;
    let parts = text.find("(forall (?l - level)").zip(text.find("(:metric"));
    let Some((cut, end)) = parts.filter(|(cut, end)| cut < end) else {
        return Err(BenchError::Usage(format!("{}: not the public instance", public.display())));
    };
    let text = format!("{}))\n{}", &text[..cut], &text[end..]).replace("(* 1 (is-violated p-drive))", "0");
    let path = scratch.join("tpp-5-four-preferences.pddl");
    std::fs::write(&path, text).map_err(|error| BenchError::File { path: path.clone(), error })?;
    let depth = LAYERS.len().to_string();
    let options = ["--engine", "cost-bfs", "--max-depth", depth.as_str()];
    Ok(ask((&folder.join("domain.pddl"), &path), &options, limit))
}

fn page(report: &SeedsReport) -> String {
    let settlers: String = report
        .settlers
        .iter()
        .map(|row| {
            let number = |number: Option<u64>| number.map_or("-".to_owned(), |number| number.to_string());
            format!(
                "<tr><td>{}<td>{}<td>{}<td>{}<td>{}</tr>\n",
                row.instance,
                row.engine,
                number(row.said.length),
                number(row.published),
                decimal(row.said.seconds)
            )
        })
        .collect();
    let layers: String = report
        .purchaser
        .levels
        .iter()
        .enumerate()
        .map(|(layer, states)| {
            let best = report.purchaser.improvements.iter().find(|(at, _)| *at == layer as u64);
            let best = best.map_or(String::new(), |(_, cost)| cost.to_string());
            format!("<tr><td>{layer}<td>{states}<td>{best}</tr>\n")
        })
        .collect();
    let useless: String = report
        .useless
        .iter()
        .map(|row| {
            format!(
                "<tr><td>{}<td>{}<td>{} of {}<td>{}</tr>\n",
                row.domain, row.engine, row.unsolved, row.tasks, row.evaluated
            )
        })
        .collect();
    format!(
        "<!doctype html><meta charset=utf-8><title>hadal bench {SEEDS}</title>\
         <style>body{{font:14px sans-serif}}td,th{{padding:2px 8px;text-align:left}}</style>\
         <h1>Settlers</h1><table><tr><th>instance<th>engine<th>steps<th>published<th>seconds</tr>\n{settlers}</table>\
         <h1>Travelling purchaser</h1><table><tr><th>layer<th>states<th>best cost</tr>\n{layers}</table>\
         <h1>Useless actions</h1><table><tr><th>domain<th>engine<th>unsolved<th>estimates</tr>\n{useless}</table>"
    )
}
