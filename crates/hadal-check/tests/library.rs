//! What the command can, a Rust program can: race, reduce and lift, go to disk, stop and resume, and be told why not.

use hadal_check::{Check, CheckError, DeadlockNotion, Limits, StopReason, Strategy, Traces, Verdict};
use hadal_system::{Source, System};

const MEMORY: u64 = 64 << 20;

fn system(text: &str) -> System {
    hadal_lang::murphi::load(Source::new("model.m", text), &[]).expect("a model").system
}

/// Counters that step on their own, `wrong` says which states are wrong.
fn counters(count: usize, top: usize, wrong: &str) -> System {
    system(&format!(
        "type who: 1..{count}; var c: array [who] of 0..{top}; startstate for i: who do c[i] := 0; end; end;
         ruleset i: who do rule c[i] < {top} ==> c[i] := c[i] + 1; end; end; invariant \"fine\" {wrong};"
    ))
}

fn steps(check: Check) -> Option<usize> {
    check.memory(MEMORY).threads(1).run().expect("an answer").trace.map(|trace| trace.steps.len() - 1)
}

#[test]
fn every_strategy_counts_alike_and_knows_depths_where_it_promises() {
    for strategy in Strategy::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut check = Check::of(counters(3, 9, "true")).deadlock(DeadlockNotion::Off);
        if strategy.takes("keep-layers") {
            check.options_mut().detecting.keep_layers = Some(4);
        }
        let check = check.strategy(strategy).disk(folder.path()).memory(MEMORY).threads(2);
        let outcome = check.run().unwrap_or_else(|error| panic!("{strategy}: {error}"));
        assert_eq!(outcome.report.verdict, Verdict::Holds, "{strategy}");
        assert_eq!((outcome.report.states, outcome.report.transitions), (1000, 2700), "{strategy}");
        assert_eq!(outcome.report.depth.is_some(), strategy.promises.layers, "{strategy}");
        assert!(outcome.report.disk.is_none() || !strategy.stays_in_ram(), "{strategy}");
    }
}

#[test]
fn what_a_strategy_promises_of_traces_is_so() {
    for strategy in Strategy::all() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut check = Check::of(counters(2, 9, "c[1] + c[2] < 7")).disk(folder.path());
        if strategy.takes("keep-layers") {
            check.options_mut().detecting.keep_layers = Some(4);
        }
        let outcome = check.strategy(strategy).memory(MEMORY).threads(1).run().expect("an answer");
        let steps = outcome.trace.map(|trace| trace.steps.len() - 1);
        match strategy.promises.shortest {
            true => assert_eq!(steps, Some(7), "{strategy}"),
            false => assert!(steps >= Some(7), "{strategy}: {steps:?}"),
        }
    }
}

#[test]
fn guided_reduced_and_decomposed_searches_find_it_on_the_whole_model() {
    let wrong = || counters(3, 5, "c[1] < 4");
    assert_eq!(steps(Check::of(wrong())), Some(4));
    assert_eq!(steps(Check::of(wrong()).property("fine").find()), Some(4));
    assert_eq!(steps(Check::of(wrong()).property("fine").por(Traces::Shortest)), Some(4));
    let cone = Check::of(wrong()).property("fine").cone_of_influence().memory(MEMORY).prepare();
    let cone = cone.expect("a smaller model");
    assert!(!cone.notes().is_empty());
    let found = cone.begin().and_then(|run| run.finish()).expect("an answer");
    assert!(matches!(found.report.verdict, Verdict::Violated(_)) && found.report.states < 216);
    assert_eq!(steps(Check::of(wrong()).property("fine").cone_of_influence().decompose()), Some(4));
}

#[test]
fn a_stopped_run_goes_on_to_the_same_numbers() {
    let folder = tempfile::tempdir().expect("a folder");
    let check = || {
        let check = Check::of(counters(4, 9, "true")).deadlock(DeadlockNotion::Off);
        check.memory(MEMORY).threads(2).disk(folder.path())
    };
    let limits = Limits { max_states: Some(3000), ..Limits::default() };
    let stopped = check().limits(limits).run().expect("a stop");
    assert_eq!(stopped.report.verdict, Verdict::Stopped(StopReason::StateLimit));
    let run = stopped.run.expect("a folder to resume from");
    let done = check().resume(&run).run().expect("the rest");
    assert_eq!(done.report.verdict, Verdict::Holds);
    assert_eq!((done.report.states, done.report.transitions), (10_000, 36_000));
}

#[test]
fn what_makes_no_sense_is_refused_before_anything_is_explored() {
    let why = |check: Check| match check.run() {
        Err(CheckError::Question(why)) => why,
        other => panic!("{other:?}"),
    };
    let model = || counters(2, 3, "true");
    assert!(why(Check::of(model()).property("nothing")).contains("`fine`"));
    assert!(why(Check::of(model()).memory(1)).contains("too small"));
    let sort = Strategy::named("sort").expect("it has a name");
    assert!(why(Check::of(model()).strategy(sort).find()).contains("--strategy sort"));
    let mut check = Check::of(model()).strategy(sort);
    check.options_mut().detecting.bound = Some(hadal_search::layered::partial::Bound::Auto);
    assert!(why(check).contains("belongs to --strategy hash, phased and partial"));
}
