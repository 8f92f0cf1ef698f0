//! Kills: every strategy that leaves a run, on three graphs, is killed in the middle and goes on to the numbers of a run that
//! nobody disturbed, or to those of the search in RAM where it promises them.

mod runs;
mod spaces;

use hadal_search::auto::Auto;
use hadal_search::explore::Method;
use hadal_search::layered::Trouble;
use hadal_search::layered::cache::CacheKind;
use hadal_search::layered::partial::Bound;
use hadal_search::partition::{Heuristic, PartitionOptions};
use hadal_search::paths::CountedPaths;
use hadal_search::relaxed::Relaxed;
use hadal_search::strategies::{self, STRATEGIES};
use hadal_search::strategy::Strategy;
use hadal_search::{DeadlockNotion, Limits, Report, Verdict};
use hadal_store::vfs::Vfs;
use hadal_system::StateSpace;
use hadal_testkit::{Faults, FaultyFolder, Survival};
use runs::{Begin, Setting, in_ram};
use spaces::Grid;
use std::sync::Arc;
use std::time::Duration;

/// For strategies that are on disk from the beginning.
const BUDGET: u64 = 3 << 20;
/// For those that leave RAM when they must.
const SMALL_BUDGET: u64 = 2 << 20;

/// Those that may count states again.
const FORGETFUL: [&str; 2] = ["layered", "frontier"];

/// A strategy, the name it goes by, and whether it begins in RAM.
struct Way {
    name: String,
    method: Box<dyn Method>,
    begins_in_ram: bool,
}

/// Every strategy that can be resumed, and those whose options make them detect in another way.
fn ways() -> Vec<Way> {
    let part = |heuristic| PartitionOptions {
        commit_every: Duration::ZERO,
        resident_states: Some(600),
        heuristic,
        ..PartitionOptions::default()
    };
    let mut ways = Vec::new();
    let mut add = |name: &str, begins_in_ram: bool, method: Box<dyn Method>| {
        ways.push(Way { name: name.into(), method, begins_in_ram });
    };
    add("auto", true, Box::new(Auto));
    add("relaxed", true, Box::new(Relaxed));
    add("paths", true, Box::new(Auto));
    add("part --part-states 600", false, Box::new(part(Heuristic::default())));
    add("part --part-states 600 --part-heuristic d-ghc", false, Box::new(part(Heuristic::DynamicGhc)));
    let bao_jones = PartitionOptions { one_at_a_time: true, ..part(Heuristic::StaticGhc) };
    add("bao-jones --part-states 600", false, Box::new(bao_jones));
    for (name, strategy) in strategies::on_disk() {
        match name {
            "layered" => {
                let strategy = Strategy { keep_layers: Some(9), ..strategy };
                add("layered --keep-layers 9", false, Box::new(strategy));
            }
            _ => add(name, false, Box::new(strategy)),
        }
    }
    let named = |name: &str| Strategy::named(name).expect("it is known");
    let bound = Some(Bound::Auto);
    for (name, strategy) in [
        ("hash --bound auto", Strategy { bound, ..named("hash") }),
        ("hash --shared-table", Strategy { shared_table: true, ..named("hash") }),
        ("hash --cache buffer", Strategy { cache: CacheKind::Buffer, ..named("hash") }),
        ("phased --bound auto", Strategy { bound, ..named("phased") }),
        ("sort --cache off", Strategy { cache: CacheKind::Off, ..named("sort") }),
    ] {
        add(name, false, Box::new(strategy));
    }
    ways
}

/// What must be the same after a kill.
fn numbers(report: &Report) -> Numbers {
    let layers = report.layers.iter().map(|layer| (layer.states, layer.transitions)).collect();
    (report.verdict.clone(), report.states, report.transitions, report.depth, layers)
}

#[test]
fn every_strategy_killed_on_three_graphs_goes_on_to_the_same_numbers() {
    let small = [
        ("torus", Grid::torus(2, 60).scrambled().with_fields()),
        ("one way", Grid::one_way(2, 60).scrambled().with_fields()),
        ("cycles", Grid::cycles(2, 50).with_fields()),
    ];
    let large =
        [("torus", Grid::torus(3, 44)), ("one way", Grid::one_way(3, 44)), ("cycles", Grid::cycles(3, 44))];
    let ways = ways();
    for info in STRATEGIES.iter().filter(|info| !info.stays_in_ram()) {
        assert!(ways.iter().any(|way| way.name.split(' ').next() == Some(info.name)), "{}", info.name);
    }
    assert!(ways.len() >= 24, "{}", ways.len());
    for way in &ways {
        let (graphs, budget) = if way.begins_in_ram { (&large, SMALL_BUDGET) } else { (&small, BUDGET) };
        for (graph, space) in graphs {
            let counted = CountedPaths::of(space);
            let space: &dyn StateSpace = if way.name == "paths" { &counted } else { space };
            let setting = Setting { space, threads: 1, budget, limits: Limits::default() };
            let (whole, operations) = undisturbed(&*way.method, &setting);
            if !FORGETFUL.iter().any(|name| way.name.starts_with(name)) {
                let expected = in_ram(space, DeadlockNotion::Off);
                assert_eq!(
                    (whole.1, whole.2),
                    (expected.states, expected.transitions),
                    "{} on {graph}",
                    way.name
                );
            }
            let mut resumed = 0;
            for part in 1..5 {
                let place = format!("{} on {graph}, killed at {part}/5 of {operations} operations", way.name);
                resumed += u32::from(killed(&*way.method, &setting, operations * part / 5, (&whole, &place)));
            }
            assert!(resumed > 0, "{} on {graph}: no kill came after a commit", way.name);
        }
    }
}

type Numbers = (Verdict, u64, u64, Option<u64>, Vec<(u64, u64)>);

/// The numbers of a run that nobody kills, and how many operations on its folder it takes.
fn undisturbed(method: &dyn Method, setting: &Setting) -> (Numbers, u64) {
    let folder = FaultyFolder::new(Faults::default());
    let explored = runs::committing(method, setting, Arc::new(folder.clone()), Begin::Fresh).unwrap();
    (numbers(&explored.report), folder.operations())
}

/// Kills a run at this operation and goes on; whether there was something to go on from.
fn killed(method: &dyn Method, setting: &Setting, die_at: u64, (whole, place): (&Numbers, &str)) -> bool {
    let folder = FaultyFolder::new(Faults { die_at: Some(die_at), ..Faults::default() });
    if runs::committing(method, setting, Arc::new(folder.clone()), Begin::Fresh).is_ok() {
        return false;
    }
    let again: Arc<dyn Vfs> = Arc::new(folder.after_crash(Survival::Synced));
    match runs::committing(method, setting, again, Begin::Again) {
        Ok(explored) => {
            assert_eq!(&numbers(&explored.report), whole, "{place}");
            true
        }
        Err(Trouble::Open(_) | Trouble::NothingToResume) => false,
        Err(other) => panic!("{place}: {other}"),
    }
}
