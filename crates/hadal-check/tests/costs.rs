//! Costs from the command line's syntax, followed by every order that follows costs, against Dijkstra's algorithm.

use hadal_check::{Check, Directing, Options, Outcome};
use hadal_exec::model::{Model, ModelOptions};
use hadal_system::{Check as Looked, Source, StateSpace, Successors, System};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

const WALK: &str = "
    type Side: 0..7; Way: enum { there, back };
    var x: Side; y: Side; tolls: array [Side] of 0..9;
    startstate x := 0; y := 0; for i: Side do tolls[i] := (i * 5) % 10; end; end;
    ruleset w: Way do
      rule \"east\" (w = there & x < 7) | (w = back & x > 0) ==> if w = there then x := x + 1; else x := x - 1; end; end;
    end;
    rule \"north\" y < 7 ==> y := y + 1; end;
    rule \"jump\" x < 4 & y < 6 ==> x := x + 3; y := y + 2; end;
    invariant \"far\" !(x = 6 & y = 7);
";

const COSTS: [&[&str]; 6] = [
    &["3"],
    &["0", "north=1", "jump=7"],
    &["east=w = back ? 0 : tolls[x]", "north=tolls[y]", "jump=1000000"],
    &["x * y", "jump = max(x, y) * 3", "north= 2 "],
    &["east=1000000", "north=x", "jump=0"],
    &["0"],
];

fn walk() -> System {
    hadal_lang::murphi::load(Source::new("walk.m", WALK), &[]).expect("it loads").system
}

fn ask(costs: &[&str], order: &str, disk: Option<&std::path::Path>) -> Outcome {
    let directing = Directing {
        order: Some(order.into()),
        guide: Some("hmax".into()),
        cost: costs.iter().map(|cost| cost.to_string()).collect(),
        ..Directing::default()
    };
    let mut options = Options { properties: vec!["far".into()], directing, ..Options::default() };
    options.budget.memory = Some(64 << 20);
    options.budget.threads = Some(1);
    options.deadlock = hadal_check::DeadlockNotion::Off;
    options.place.disk = disk.map(std::path::Path::to_owned);
    Check::with_options(walk(), options).run().unwrap_or_else(|error| panic!("{costs:?}, {order}: {error}"))
}

/// The least cost to a state that breaks the invariant.
fn dijkstra(model: &Model) -> Option<u64> {
    let (mut worker, mut out) = (model.worker(), Successors::new(model.words()));
    worker.initial(&mut out);
    let mut queue: BinaryHeap<_> = out.iter().map(|(_, state)| Reverse((0, state.to_vec()))).collect();
    let mut done = HashMap::new();
    while let Some(Reverse((cost, state))) = queue.pop() {
        if done.contains_key(&state) {
            continue;
        }
        if worker.check(&state) != Looked::Fine {
            return Some(cost);
        }
        out.clear();
        worker.successors(&state, &mut out);
        let mut costs = Vec::new();
        worker.costs(&state, out.labels(), &mut costs);
        queue.extend(
            out.iter().zip(costs).map(|((_, next), step)| Reverse((cost + u64::from(step), next.to_vec()))),
        );
        done.insert(state, cost);
    }
    None
}

/// What the costs of the walk come to when they are written into the model by hand.
fn least(costs: &[&str]) -> u64 {
    let directing = Directing {
        order: Some("ucs".into()),
        cost: costs.iter().map(|cost| cost.to_string()).collect(),
        ..Directing::default()
    };
    let options = Options { properties: vec!["far".into()], directing, ..Options::default() };
    let prepared = Check::with_options(walk(), options).prepare().expect("it compiles");
    let model = Model::new(prepared.model().system().clone(), ModelOptions::default()).expect("well formed");
    dijkstra(&model).expect("the corner can be reached")
}

#[test]
fn every_order_that_follows_costs_finds_the_least() {
    let folder = tempfile::tempdir().expect("a folder");
    for costs in COSTS {
        let least = least(costs);
        for order in ["astar", "ucs", "ida", "bfhs", "external-astar", "wastar:2", "greedy"] {
            let outcome = ask(costs, order, (order == "external-astar").then_some(folder.path()));
            let cost = outcome.cost.expect("a trace with a cost");
            let figures = outcome.report.particular.directed.expect("a directed search");
            let case = format!("{costs:?}, {order}");
            match order {
                "wastar:2" | "greedy" => assert!(cost >= least, "{case}"),
                _ => {
                    assert_eq!(cost, least, "{case}");
                    assert!(figures.found_cheapest, "{case}");
                    assert_eq!(figures.found_cost, Some(cost), "{case}");
                }
            }
        }
    }
}

#[test]
fn constants_agree_with_what_is_known() {
    assert_eq!(ask(&["3"], "astar", None).cost, Some(3 * 5));
    assert_eq!(ask(&["0"], "astar", None).cost, Some(0));
    assert_eq!(ask(&["0", "north=1"], "ucs", None).cost, Some(1));
}

#[test]
fn costs_that_make_no_sense_are_refused_with_a_caret() {
    let refused = |costs: &[&str], order: Option<&str>| {
        let directing = Directing {
            order: order.map(str::to_owned),
            cost: costs.iter().map(|cost| cost.to_string()).collect(),
            ..Directing::default()
        };
        let options = Options { directing, ..Options::default() };
        Check::with_options(walk(), options).prepare().err().map(|error| error.to_string())
    };
    let unknown = refused(&["south=3"], Some("astar")).expect("no such action");
    assert!(
        unknown.contains("no scalar or value is called `south`") && unknown.contains("north"),
        "{unknown}"
    );
    let mistyped = refused(&["east=tolls[x"], Some("astar")).expect("not closed");
    assert!(mistyped.starts_with("the cost of `east`: expected `]`") && mistyped.contains('^'), "{mistyped}");
    assert!(refused(&["3"], None).is_some_and(|error| error.contains("--order astar")));
    // A parameter is known to its own action only.
    assert!(refused(&["north=w"], Some("astar")).is_some());
    assert_eq!(refused(&["east=w"], Some("astar")), None);
}

#[test]
fn a_cost_below_zero_is_an_error_of_the_model() {
    let outcome = ask(&["2 - y"], "astar", None);
    let trace = outcome.trace.expect("the way to the error");
    let hadal_exec::replay::TraceEnd::Fault { fault, .. } = trace.end else { panic!("{:?}", trace.end) };
    assert!(fault.message.contains("is -"), "{}", fault.message);
    assert!(fault.message.contains("not from 0 to 4294967294"), "{}", fault.message);
}
