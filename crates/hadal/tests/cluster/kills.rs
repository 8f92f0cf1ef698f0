//! Workers and launchers that are killed.

use super::place::{Place, answer, cube, signal};
use super::support::hadal;
use serde_json::{Value, json};
use std::time::Duration;

/// Large enough to be interrupted.
const SIDE: u64 = 90;

/// Choices that look random.
struct Choices(u64);

impl Choices {
    fn next(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (self.0 >> 33) % below.max(1)
    }
}

/// Kills a worker, or the launcher, `kills` times at moments that look random; the launcher's run is resumed. What the search
/// came to in the end, and how many were killed.
pub fn survive(
    place: &Place,
    more: &[&str],
    (kills, seed): (usize, u64),
    longest_ms: u64,
) -> (i32, Value, usize) {
    let mut choices = Choices(seed);
    let mut search = place.start(&format!("local:{}", 2 + choices.next(3)), more);
    let mut killed = 0;
    loop {
        let lost = search.count("lost");
        std::thread::sleep(Duration::from_millis(choices.next(longest_ms)));
        let is_over = search.child.as_mut().expect("it runs").try_wait().expect("a child").is_some();
        if is_over || killed == kills {
            let (code, result, told) = search.end();
            if code == 4 && told.contains("without a commit in between; the run can be resumed") {
                // Four kills came before anything new was committed: somebody goes on.
                search = place.resume("local:2");
                continue;
            }
            assert!(code == 0 || code == 1, "{code}: {told}");
            return (code, result, killed);
        }
        killed += 1;
        if choices.next(4) > 0 {
            let workers = search.workers();
            if let Some(&worker) = workers.get(choices.next(workers.len() as u64) as usize) {
                signal(worker, "KILL");
                search.until(|search| search.count("lost") > lost);
            }
            continue;
        }
        search.child.as_mut().expect("it runs").kill().expect("it lives");
        let gone = search.workers();
        let (_, _, _) = search.end();
        // Workers see that the launcher is gone, and let go of the run.
        while gone.iter().any(|&worker| super::place::is_alive(worker)) {
            std::thread::sleep(Duration::from_millis(5));
        }
        let workers = format!("local:{}", 2 + choices.next(3));
        // A launcher that is killed before its first note leaves nothing to resume.
        search = match place.has_run() {
            true => place.resume(&workers),
            false => place.start(&workers, more),
        };
    }
}

#[test]
fn every_kind_of_search_survives_kills_of_workers_and_launchers() {
    let place = Place::new(&cube(SIDE, true));
    let alone = |more: &[&str]| {
        hadal(&[&["check", &place.model, "--deadlock", "off", "--json"], more].concat()).json()
    };
    let mut all = 0;
    for (n, more) in [
        &["--order", "external-astar", "--guide", "blind"][..],
        &["--strategy", "relaxed"],
        &["--ltl", "<> (x + y + z = 30)", "--liveness", "external-map"],
    ]
    .into_iter()
    .enumerate()
    {
        let expected = alone(more);
        let place = Place::new(&cube(SIDE, true));
        let (_, result, killed) = survive(&place, more, (4, 7 + n as u64), 300);
        all += killed;
        for key in ["verdict", "trace_length"] {
            assert_eq!(result[key], expected[key], "{more:?} after {killed} kills: {key}");
        }
        if n == 0 {
            assert_eq!(
                (&result["states"], &result["transitions"]),
                (&expected["states"], &expected["transitions"])
            );
        }
    }
    assert!(all > 0, "all searches were over before anything could be killed");
}

/// Two hundred kills over all kinds of searches: minutes. `HADAL_KILLS` asks for another number.
#[test]
#[ignore = "takes minutes: run it with --ignored before a release"]
fn two_hundred_kills_cost_no_answer() {
    let kills: usize = std::env::var("HADAL_KILLS").ok().and_then(|text| text.parse().ok()).unwrap_or(200);
    const SORT: &[&str] = &["--strategy", "sort"];
    let blind: &[&str] = &["--order", "external-astar", "--guide", "blind"];
    let (owcty, map) = (
        &["--ltl", "<> (x + y + z = 30)", "--liveness", "external-owcty"][..],
        &["--ltl", "<> (x + y + z = 30)", "--liveness", "external-map"][..],
    );
    // What workers are asked, and what of one process they must answer like.
    let searches: [(&[&str], &[&str]); 6] = [
        (&[], SORT),
        (SORT, SORT),
        (blind, blind),
        (&["--strategy", "relaxed"], SORT),
        (owcty, owcty),
        (map, map),
    ];
    let model = cube(SIDE, true);
    let alone = Place::new(&model);
    let ask = |more: &[&str]| {
        hadal(&[&["check", &alone.model, "--deadlock", "off", "--json"], more].concat()).json()
    };
    let expected: Vec<Value> = searches.iter().map(|(_, alone)| ask(alone)).collect();
    let (mut made, mut seed) = (0, 1);
    while made < kills {
        for ((more, _), expected) in searches.iter().zip(&expected) {
            let place = Place::new(&model);
            seed += 1;
            let (_, result, killed) = survive(&place, more, (10.min(kills - made), seed), 1500);
            made += killed;
            // What is wrong is found again by another search, which counts what it sees, in whatever order.
            let told = |result: &Value| match more.contains(&"relaxed") {
                true => json!([result["verdict"], result["trace_length"]]),
                false => answer(result),
            };
            let same = told(&result) == told(expected);
            assert!(same, "{more:?}, seed {seed}, after {made} kills: {} states", result["states"]);
            eprintln!("{made} kills: {more:?} answered as one process does");
        }
    }
}
