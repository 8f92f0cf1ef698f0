//! Killed anywhere, resumed anyhow, the numbers stay: random systems, strategies, budgets, threads and moments of death.
//!
//! The long version tries many more seeds, and kills at every commit and at 500 other moments of each run:
//! `cargo test --release -p hadal-check --test kills -- --ignored` (`HADAL_KILL_SEEDS` says how many seeds, 200 if not).

#[path = "../../hadal-search/tests/spaces/mod.rs"]
mod spaces;

use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_search::auto::Auto;
use hadal_search::layered::Trouble;
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::ledger::Ledger;
use hadal_search::layered::partial::Bound;
use hadal_search::partition::PartitionOptions;
use hadal_search::ram::Breadth;
use hadal_search::strategies;
use hadal_search::strategy::Strategy;
use hadal_search::{
    Control, DeadlockNotion, Limits, Method, Question, Report, Run, SearchTask, Setting, StopReason, Verdict,
    explore,
};
use hadal_store::Governor;
use hadal_store::manifest::{Medium, OpenError, RunFolder, Verify};
use hadal_store::vfs::{IoThreads, Vfs};
use hadal_system::{PropertyKind, Source, StateSpace};
use hadal_testkit::generate::{self, Size};
use hadal_testkit::{Faults, FaultyFolder, Random, Survival};
use spaces::{Grid, RandomGraph};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Spaces outside of this range are left out: too few states for a second layer on disk, or too slow for so many runs.
const FEWEST: u64 = 300;
const MOST: u64 = 30_000;

fn one_of<T: Clone>(random: &mut Random, from: &[T]) -> T {
    from[random.below(from.len())].clone()
}

/// How a search is carried out.
#[derive(Clone, Debug)]
enum How {
    Auto,
    Part,
    Layered(Box<Strategy>),
}

#[derive(Clone, Debug)]
struct Way {
    how: How,
    threads: usize,
    budget: u64,
}

impl Way {
    /// Any way of which runs can be resumed by any other: all but partition by partition.
    fn layered(random: &mut Random, space: &dyn StateSpace) -> Self {
        let (threads, budget) = (1 + random.below(3), one_of(random, &[2 << 20, 3 << 20, 5 << 20]));
        // Frontier search deletes layers: its counts may differ, and say so.
        let names: Vec<&str> = strategies::on_disk()
            .map(|(name, _)| name)
            .filter(|&name| name != "frontier" && (name != "structured" || !space.fields().is_empty()))
            .collect();
        if random.below(names.len() + 1) == 0 {
            return Way { how: How::Auto, threads, budget };
        }
        let name = one_of(random, &names);
        let mut strategy = Strategy::named(name).expect("it has a name");
        if name != "structured" {
            // Off is smallest: it spills the most.
            strategy.cache = one_of(
                random,
                &[CacheKind::Off, CacheKind::Off, CacheKind::Buffer, CacheKind::Table, CacheKind::Lru],
            );
        }
        if name == "hash" || name == "phased" {
            strategy.bound =
                one_of(random, &[None, Some(Bound::Layers(1)), Some(Bound::Layers(4)), Some(Bound::Auto)]);
        }
        Way { how: How::Layered(Box::new(strategy)), threads, budget }
    }
}

struct Case<'a> {
    space: &'a dyn StateSpace,
    question: Question,
    expected: Report,
}

enum Begin {
    New,
    Again,
}

impl<'a> Case<'a> {
    /// None where the space is not of a suitable size.
    fn new(space: &'a dyn StateSpace, deadlock: DeadlockNotion) -> Option<Self> {
        let mut question = Question::everything(space.properties(), deadlock);
        for (asked, property) in question.asked.iter_mut().zip(space.properties()) {
            *asked = property.kind != PropertyKind::Liveness;
        }
        let control = Control::new(Limits { max_states: Some(MOST), ..Limits::default() });
        let task = SearchTask { space, question: &question, control: &control };
        let unlimited = Governor::unlimited();
        let setting = Setting::in_ram(task, &unlimited, 1);
        let expected = explore(&Breadth, setting).expect("nothing fails in RAM").report;
        let suits = expected.verdict != Verdict::Stopped(StopReason::StateLimit) && expected.states >= FEWEST;
        suits.then_some(Case { space, question, expected })
    }

    fn run(&self, way: &Way, vfs: Arc<dyn Vfs>, begin: &Begin) -> Result<Report, Trouble> {
        let governor = Governor::new(way.budget);
        let print = self.space.fingerprint();
        let ledger = || {
            let (threads, governor) = (IoThreads::new(1), governor.clone());
            let folder = match begin {
                Begin::New => RunFolder::create(Medium::new(vfs.clone(), threads, governor), print, 4096)?,
                Begin::Again => {
                    RunFolder::open(Medium::new(vfs.clone(), threads, governor), print, 4096, Verify::Tails)?
                }
            };
            Ok(Ledger::new(folder, serde_json::json!({})).spaced(Duration::ZERO))
        };
        let control = Control::new(Limits::default());
        let task = SearchTask { space: self.space, question: &self.question, control: &control };
        let (governor, ledger, threads) = (&governor, &ledger, way.threads);
        let options = PartitionOptions {
            resident_states: Some(2000),
            commit_every: Duration::ZERO,
            ..PartitionOptions::default()
        };
        let method: &dyn Method = match &way.how {
            How::Auto => &Auto,
            How::Part => &options,
            How::Layered(strategy) => &**strategy,
        };
        let run = match begin {
            Begin::New => Run::New(ledger),
            Begin::Again => Run::Resumed(ledger),
        };
        let setting = Setting { task, governor, threads, run };
        let report = explore(method, setting).map(|explored| explored.report);
        assert!(governor.peak() <= way.budget, "{way:?} held {} of {}", governor.peak(), way.budget);
        report
    }

    fn assert_expected(&self, report: &Report, way: &Way, what: &str) {
        match (&report.verdict, &self.expected.verdict) {
            (Verdict::Violated(found), Verdict::Violated(wanted)) => {
                if !matches!(way.how, How::Part) {
                    assert_eq!(found.kind, wanted.kind, "{what}");
                    assert_eq!(found.path.len(), wanted.path.len(), "{what}: the trace is shortest");
                }
            }
            (verdict, wanted) => {
                assert_eq!(verdict, wanted, "{what}");
                let figures = |r: &Report| (r.states, r.transitions, r.covers.clone());
                assert_eq!(figures(report), figures(&self.expected), "{what}");
                if !matches!(way.how, How::Part) {
                    assert_eq!(report.depth, self.expected.depth, "{what}");
                    let profile = |r: &Report| -> Vec<_> {
                        r.layers.iter().map(|l| (l.states, l.transitions, l.unique)).collect()
                    };
                    assert_eq!(profile(report), profile(&self.expected), "{what}");
                    assert!(report.layers.iter().all(|layer| layer.balances()), "{what}");
                }
            }
        }
    }

    /// Runs it, dies at `die_at`, and resumes in other ways until it is through; says whether there was a run to resume.
    fn kill(&self, way: &Way, die_at: u64, random: &mut Random, what: &str) -> bool {
        let mut folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
        let mut outcome = self.run(way, Arc::new(folder.clone()), &Begin::New);
        let mut now = way.clone();
        for deaths in 1.. {
            let what = format!("{what}, {deaths} deaths, the last way {now:?}");
            match outcome {
                Ok(report) => {
                    self.assert_expected(&report, &now, &what);
                    return deaths > 1;
                }
                Err(Trouble::Open(OpenError::NothingCommitted)) => return false,
                Err(_) if folder.is_dead() => {}
                Err(trouble) => panic!("{what}: {trouble}"),
            }
            let survival = one_of(random, &[Survival::Synced, Survival::Everything, Survival::TornLastWrite]);
            folder = folder.after_crash(survival);
            if deaths < 3 && random.below(3) == 0 {
                folder.set_faults(Faults { die_at: Some(random.below(60)), ..Faults::default() });
            }
            if !matches!(now.how, How::Part) {
                now = Way::layered(random, self.space);
            }
            outcome = self.run(&now, Arc::new(folder.clone()), &Begin::Again);
        }
        unreachable!("the third resumption is not killed")
    }
}

/// Moments of death: around commits, and anywhere; `most` of each kind.
fn moments(whole: &FaultyFolder, random: &mut Random, most: usize) -> Vec<u64> {
    let mut moments = Vec::new();
    let mut commits = whole.renames();
    while commits.len() > most {
        commits.remove(random.below(commits.len()));
    }
    for commit in commits {
        moments.push((commit + random.below(4)).saturating_sub(1));
    }
    moments.extend((0..most).map(|_| random.below(whole.operations())));
    moments
}

/// The space of this seed, and how it is called.
fn space_of(seed: u64) -> (String, Box<dyn StateSpace>) {
    let options = ModelOptions { engine: Engine::Compiled, symmetry: SymmetryMode::Off };
    match seed % 5 {
        0 => (format!("random graph {seed}"), Box::new(RandomGraph::new(seed, 3000))),
        1 => ("cycles".into(), Box::new(Grid::cycles(3, 12 + seed % 7).scrambled().with_fields())),
        2 if seed.is_multiple_of(2) => {
            let name = ["peterson.m", "ferry.m", "lease.m"][seed as usize / 10 % 3];
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models").join(name);
            let text = std::fs::read_to_string(path).expect("a bundled model");
            let system = hadal_lang::murphi::load(Source::new(name, text), &[]).expect("it loads").system;
            (name.into(), Box::new(Model::new(system, options).expect("it compiles")))
        }
        _ => {
            let size = Size { variables: 8, actions: 10, ..Size::SMALL };
            let system = generate::system(seed, size);
            (format!("generated system {seed}"), Box::new(Model::new(system, options).expect("it compiles")))
        }
    }
}

/// Tries the seeds of a range; returns how many spaces were of a suitable size and how many kills left a run to resume.
fn try_seeds(seeds: std::ops::Range<u64>, spaces: usize, most: usize) -> (usize, usize) {
    let (mut tried, mut resumed) = (0, 0);
    for seed in seeds {
        if tried == spaces {
            break;
        }
        let mut random = Random::new(seed);
        let (name, space) = space_of(seed);
        let deadlock =
            one_of(&mut random, &[DeadlockNotion::Off, DeadlockNotion::Off, DeadlockNotion::Stuck]);
        let Some(case) = Case::new(&*space, deadlock) else { continue };
        tried += 1;
        let mut way = Way::layered(&mut random, &*space);
        if random.below(8) == 0 {
            way.how = How::Part;
        }
        let what = format!("seed {seed}, {name}, {way:?}");
        let whole = FaultyFolder::new(Faults::default());
        let report =
            case.run(&way, Arc::new(whole.clone()), &Begin::New).unwrap_or_else(|e| panic!("{what}: {e}"));
        case.assert_expected(&report, &way, &what);
        for die_at in moments(&whole, &mut random, most) {
            let what = format!("{what}, killed at {die_at}");
            resumed += usize::from(case.kill(&way, die_at, &mut random, &what));
        }
    }
    (tried, resumed)
}

#[test]
fn a_run_killed_at_commits_and_between_resumes_to_the_same_numbers_in_any_way() {
    let (tried, resumed) = try_seeds(0..400, 24, 4);
    println!("{tried} spaces, {resumed} runs resumed");
    assert!(tried == 24 && resumed >= 24, "{tried} spaces, {resumed} runs resumed");
}

#[test]
#[ignore = "minutes to hours: many more seeds, kills at every commit"]
fn many_runs_killed_at_every_commit_and_between_resume_to_the_same_numbers() {
    let seeds = std::env::var("HADAL_KILL_SEEDS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    let (tried, resumed) = try_seeds(1000..1000 + seeds, usize::MAX, 500);
    println!("{tried} spaces, {resumed} runs resumed");
}

/// Every way there is, with a budget that makes it spill hundreds of times, gives the numbers of the search in RAM.
#[test]
fn hundreds_of_spills_do_not_change_the_numbers() {
    let space = Grid::torus(3, 24).scrambled();
    let case = Case::new(&space, DeadlockNotion::Off).expect("a suitable size");
    for (name, usual) in strategies::on_disk().filter(|&(name, _)| name != "frontier" && name != "structured")
    {
        let strategy = Strategy { cache: CacheKind::Off, ..usual };
        let way = Way { how: How::Layered(Box::new(strategy)), threads: 2, budget: 2 << 20 };
        let folder = FaultyFolder::new(Faults::default());
        let report = case.run(&way, Arc::new(folder), &Begin::New).unwrap_or_else(|e| panic!("{name}: {e}"));
        case.assert_expected(&report, &way, name);
    }
}
