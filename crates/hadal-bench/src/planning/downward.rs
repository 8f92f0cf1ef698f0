//! Fast Downward beside hadal, as `pip install up-fast-downward` brings it: found through the interpreter that
//! `HADAL_FAST_DOWNWARD` names, else `python3`.

use super::said::{Asked, Limit, MEMORY_KIB, Said};
use crate::args::Clock;
use crate::measure::{Measured, measure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Commands end by their own limits.
const FOREVER: Duration = Duration::from_secs(1 << 30);

/// LAMA's first search, A* with LM-cut, A* without a guide.
const SEARCHES: [&str; 3] = [
    "let(hlm, eval_modify_costs(landmark_sum(lm_factory=lm_reasonable_orders_hps(lm_rhw()), pref=false), cost_type=one), \
     let(hff, eval_modify_costs(ff(), cost_type=one), lazy_greedy([hff, hlm], preferred=[hff, hlm], cost_type=one, \
     reopen_closed=false)))",
    "astar(lmcut())",
    "astar(blind())",
];

/// The installed planner.
pub struct Downward {
    python: PathBuf,
    binary: PathBuf,
}

impl Downward {
    /// Finds it.
    pub fn find() -> Option<Downward> {
        let python = std::env::var_os("HADAL_FAST_DOWNWARD").map_or_else(|| "python3".into(), PathBuf::from);
        let place = "import importlib.util; print(importlib.util.find_spec('up_fast_downward').submodule_search_locations[0])";
        let output = Command::new(&python).args(["-c", place]).stderr(Stdio::null()).output().ok()?;
        let folder = PathBuf::from(String::from_utf8(output.stdout).ok()?.trim());
        let binary = folder.join("downward/builds/release/bin/downward");
        binary.is_file().then_some(Downward { python, binary })
    }

    /// What to call it.
    pub fn name(&self) -> String {
        format!("Fast Downward ({})", self.binary.display())
    }

    /// All searches; the translator's time counts in each.
    pub fn run(&self, domain: &Path, problem: &Path, limit: Limit) -> Vec<Said> {
        let sas = std::env::temp_dir().join(format!("hadal-bench-{}.sas", std::process::id()));
        let translate = format!(
            "{}'{}' -m fast_downward.translate '{}' '{}' --sas-file '{}'",
            limit.shell(Duration::ZERO),
            self.python.display(),
            domain.display(),
            problem.display(),
            sas.display()
        );
        let translated = shell(&translate).filter(|_| sas.is_file());
        let said = Asked::ALL.iter().zip(SEARCHES).map(|(&asked, search)| match &translated {
            Some(translation) => self.search(asked, search, &sas, (limit, translation)),
            None => Said { verdict: "not translated".to_owned(), ..Said::default() },
        });
        let said = said.collect();
        // A file that is left over is in nobody's way.
        let _ = std::fs::remove_file(&sas);
        said
    }

    fn search(
        &self,
        asked: Asked,
        search: &str,
        sas: &Path,
        (limit, translation): (Limit, &Measured),
    ) -> Said {
        let taken = match limit.clock {
            Clock::Wall => translation.wall_seconds,
            Clock::Cpu => translation.cpu_seconds,
        };
        let command = format!(
            "ulimit -v {MEMORY_KIB}; {}'{}' --search '{search}' --internal-plan-file /dev/null < '{}'",
            limit.shell(Duration::from_secs_f64(taken)),
            self.binary.display(),
            sas.display()
        );
        let searched = shell(&command);
        let (text, seconds) = searched.map_or((String::new(), 0.0), |it| (it.output, it.wall_seconds));
        let after = |mark: &str| {
            let rest = text.lines().find_map(|line| Some(line.split_once(mark)?.1.to_owned()))?;
            let number: String =
                rest.trim().chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
            number.parse::<f64>().ok()
        };
        let cost = after("Plan cost: ");
        let says = |mark| text.contains(mark);
        let unsolvable = says("Task is provably unsolvable") || says("Completely explored state space");
        let verdict = match (cost, unsolvable) {
            (Some(_), _) => "solved",
            (None, true) => "unsolvable",
            (None, false) => "stopped",
        };
        let count = |mark: &str| after(mark).map(|count| count as u64);
        Said {
            verdict: verdict.to_owned(),
            optimal: cost.is_some() && asked != Asked::Any,
            cost,
            length: count("Plan length: "),
            states: count("Number of registered states: ").or(count("Evaluated ")),
            expanded: count("Expanded "),
            evaluated: count("Evaluated "),
            seconds: translation.wall_seconds + seconds,
            search_seconds: after("Search time: "),
            peak_bytes: count("Peak memory: ").map(|kib| kib * 1024),
            levels: Vec::new(),
            improvements: Vec::new(),
        }
    }
}

/// What a command prints and takes, whatever its exit code; `None` where it cannot run or prints nothing.
fn shell(command: &str) -> Option<Measured> {
    let measured = measure(Command::new("bash").args(["-c", command]), FOREVER).ok()?;
    (!measured.output.is_empty()).then_some(measured)
}
