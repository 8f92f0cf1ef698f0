//! `hadal bench mcta`: errors of models in real time found by directed search on zones, beside what MCTA explored (Wehrle 2011, tables
//! 3.1 to 3.3 and 6.1), where the models are known: arbiter trees are the public ones; Fischer's protocol, with a delay that is too
//! short, is ours; the public mutual exclusion of PLC automata stands for the family M, whose files are not public.

use super::{beside_corpus, itself};
use crate::args::BenchArgs;
use crate::error::BenchError;
use crate::scratch::Scratch;
use crate::write_results;
use hadal_check::units::{decimal, grouped};
use serde::Serialize;

/// The name of the suite.
pub const MCTA: &str = "mcta";

/// How near the published figures are to be met.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Match {
    /// To the digit.
    Exact,
    /// The model is not the same: figures stand beside each other.
    Beside,
}

/// A model with an error.
struct Case {
    name: &'static str,
    /// In the corpus, or one of ours.
    model: &'static str,
    defines: &'static [&'static str],
    query: &'static str,
    /// Guide, priority, states that MCTA explored, length of its trace.
    rows: &'static [(&'static str, &'static str, u64, u64, Match)],
}

const FISCHER: &str = "fischer_timed.xta";
const FISCHER_TEXT: &str = include_str!("../../models/fischer_timed.xta");
const BOTH: &str = "E<> P(1).critical && P(2).critical";
const MUTEX: &str = "ta/uppaal/ticktac/mutex.xml";
const UNSAFE: &str = "E<> exists (i : pid_t) exists (j : pid_t) i != j && A(i).Unsafe && A(j).Unsafe";

use Match::{Beside, Exact};

const CASES: [Case; 7] = [
    Case {
        name: "A2",
        model: "ta/uppaal/ticktac/arbiter_tree_2.xml",
        defines: &[],
        query: "E<> Client_1.work && Client_2.work",
        rows: &[
            ("du", "none", 23, 13, Exact),
            ("hl", "useless", 15, 12, Exact),
            ("hu", "useless", 20, 18, Exact),
        ],
    },
    Case {
        name: "A3",
        model: "ta/uppaal/ticktac/arbiter_tree_3.xml",
        defines: &[],
        query: "E<> Client_3.work && Client_4.work",
        rows: &[
            ("du", "none", 296, 39, Beside),
            ("hl", "useless", 48, 17, Exact),
            ("hu", "useless", 27, 17, Exact),
        ],
    },
    Case {
        name: "F5",
        model: FISCHER,
        defines: &["N=5", "WAIT=1"],
        query: BOTH,
        rows: &[("du", "none", 9, 6, Exact), ("hl", "useless", 7, 6, Exact), ("hu", "useless", 7, 6, Exact)],
    },
    Case {
        name: "F10",
        model: FISCHER,
        defines: &["N=10", "WAIT=1"],
        query: BOTH,
        rows: &[("du", "none", 9, 6, Exact), ("hl", "useless", 7, 6, Exact), ("hu", "useless", 7, 6, Exact)],
    },
    Case {
        name: "F15",
        model: FISCHER,
        defines: &["N=15", "WAIT=1"],
        query: BOTH,
        rows: &[("du", "none", 9, 6, Exact), ("hl", "useless", 7, 6, Exact), ("hu", "useless", 7, 6, Exact)],
    },
    Case {
        name: "M2 (no delay)",
        model: MUTEX,
        defines: &["MUTEX_DELAY=0"],
        query: UNSAFE,
        rows: &[("hu", "useless", 2018, 81, Beside)],
    },
    Case {
        name: "M3 (delay 1)",
        model: MUTEX,
        defines: &["MUTEX_DELAY=1"],
        query: UNSAFE,
        rows: &[("hu", "useless", 17_315, 163, Beside)],
    },
];

#[derive(Debug, Serialize)]
struct Row {
    case: &'static str,
    guide: &'static str,
    priority: &'static str,
    explored: u64,
    length: u64,
    mcta_explored: u64,
    mcta_length: u64,
    seconds: f64,
    wanted: Match,
    agrees: bool,
}

/// Runs `bench mcta`; exit code 1 where an error is not found, or an exact figure is missed.
pub fn mcta(args: &BenchArgs) -> Result<u8, BenchError> {
    let scratch = Scratch::new(args.disk.as_deref())?;
    let own = scratch.file(FISCHER);
    crate::write(&own, FISCHER_TEXT)?;
    let mut rows = Vec::new();
    println!(
        "{:14} {:>5} {:>8} {:>9} {:>7} {:>9} {:>7} {:>8}",
        "error", "guide", "priority", "explored", "length", "MCTA's", "length", "cpu s"
    );
    for case in &CASES {
        if args.chosen.only.as_ref().is_some_and(|only| !case.name.contains(only.as_str())) {
            continue;
        }
        let model = if case.model == FISCHER { own.clone() } else { beside_corpus(case.model)? };
        let model = model.display().to_string();
        for &(guide, priority, mcta_explored, mcta_length, wanted) in case.rows {
            let begin = ["check", &model, "--property", case.query, "--json", "-q", "--memory", "1G"];
            let how = ["--order", "greedy", "--guide", guide, "--priority", priority];
            let defines = case.defines.iter().flat_map(|define| ["-D", define]);
            let command = begin.into_iter().chain(how).chain(defines).map(str::to_owned).collect::<Vec<_>>();
            let result = itself(&command, scratch.folder())?;
            // The goal counts where it is taken from the queue.
            let explored = result["directed"]["pops"].as_u64().map_or(0, |pops| pops + 1);
            let length = result["trace_length"].as_u64().unwrap_or(0);
            let seconds = |field: &str| result[field].as_f64().unwrap_or(0.0);
            let is_exact = (explored, length) == (mcta_explored, mcta_length);
            let row = Row {
                case: case.name,
                guide,
                priority,
                explored,
                length,
                mcta_explored,
                mcta_length,
                seconds: seconds("cpu_seconds") - seconds("startup_cpu_seconds"),
                wanted,
                agrees: result["verdict"] == "violated" && (wanted == Beside || is_exact),
            };
            println!(
                "{:14} {:>5} {:>8} {:>9} {:>7} {:>9} {:>7} {:>8}{}",
                row.case,
                row.guide,
                row.priority,
                grouped(row.explored),
                row.length,
                grouped(row.mcta_explored),
                row.mcta_length,
                decimal(row.seconds),
                if row.agrees { "" } else { "  WRONG" }
            );
            rows.push(row);
        }
    }
    write_results(args, &rows, String::new)?;
    Ok(u8::from(rows.iter().any(|row| !row.agrees)))
}
