//! Random Promela programs have the states that SPIN counts. Skipped with a line where SPIN is not installed.

#[path = "promela/explorer.rs"]
mod explorer;
#[path = "promela/generate.rs"]
mod generate;
#[path = "promela/spin.rs"]
mod spin;

use explorer::{count, count_watched, load, load_as};
use hadal_exec::model::Engine;
use hadal_testkit::random::Random;
use spin::{Graph, ask};
use std::path::Path;

/// The most states of a program that is compared.
const MOST: usize = 20_000;

/// Compares programs of these seeds; how many could be compared.
fn compare(seeds: std::ops::Range<u64>, graph: Graph) -> usize {
    let folder = std::env::temp_dir().join(format!("hadal-promela-{}-{graph:?}", std::process::id()));
    let show = std::env::var_os("HADAL_SHOW").is_some();
    let (mut compared, mut different) = (0, Vec::new());
    for seed in seeds {
        let text = generate::program(&mut Random::new(seed), graph == Graph::Watched);
        let asked = match ask(&text, graph, &folder) {
            Ok(asked) if asked.states <= MOST => asked,
            Ok(_) => continue,
            Err(why) => {
                if show {
                    println!("seed {seed}: {why}");
                }
                continue;
            }
        };
        if show {
            println!("seed {seed}: {asked:?}");
        }
        let system = match load_as("random.pml", &text, Path::new("."), graph == Graph::Merged) {
            Ok(system) => system,
            Err(refused) => {
                different.push(format!("seed {seed}: SPIN reads it, hadal does not\n{refused}\n{text}"));
                continue;
            }
        };
        let (found, accepted) = match graph {
            Graph::Plain | Graph::Merged => (count(system, Engine::Compiled, MOST + 1), false),
            Graph::Watched => count_watched(system, MOST + 1),
        };
        // SPIN goes on behind an error, here a step that meets one leads nowhere.
        if found.faults > 0 || found.states > MOST {
            continue;
        }
        // SPIN counts the paths through atomic sequences, and every statement of a claim.
        let same_transitions =
            graph == Graph::Watched || asked.atomic_steps > 0 || found.transitions == asked.transitions;
        // Where the model is stuck SPIN does not keep the first state that only the claim moves to.
        let same_states = found.states == asked.states || graph == Graph::Watched && found.stuck > 0;
        // SPIN sees no progress label in the initial state (`o_pm` is set there with -DNP only), and takes a state that only the claim
        // moved to for the one before, where `np_` is asked anew (`(trpt-1)->tau&128` at `AllOver` in pan.c).
        let may_see_more = text.contains("np_") && (found.stuck > 0 || text.contains("progress"));
        if may_see_more && asked.errors > 0 && !accepted {
            continue;
        }
        let same = match asked.errors {
            0 => same_states && same_transitions && !accepted,
            _ => accepted,
        };
        match same {
            true => compared += 1,
            false => {
                let answer = if accepted { "accepted" } else { "holds" };
                different.push(format!("seed {seed}: {found:?} {answer}, SPIN {asked:?}\n{text}"));
            }
        }
    }
    let _ = std::fs::remove_dir_all(&folder);
    println!("{compared} programs agree");
    assert!(different.is_empty(), "{} differ\n{}", different.len(), different.join("\n"));
    compared
}

fn seeds() -> std::ops::Range<u64> {
    let seeds = std::env::var("HADAL_SEEDS").unwrap_or_else(|_| "1000..2000".into());
    let (from, to) = seeds.split_once("..").expect("FROM..TO");
    from.parse().expect("a number")..to.parse().expect("a number")
}

#[test]
fn random_programs_have_the_states_that_spin_counts() {
    if spin::is_installed() {
        assert!(compare(0..30, Graph::Plain) > 15);
    }
}

#[test]
fn random_programs_have_the_states_that_spin_counts_when_it_merges() {
    if spin::is_installed() {
        assert!(compare(0..30, Graph::Merged) > 15);
    }
}

#[test]
fn random_claims_have_the_answers_that_spin_gives() {
    if spin::is_installed() {
        assert!(compare(0..30, Graph::Watched) > 15);
    }
}

#[test]
#[ignore = "minutes; HADAL_SEEDS=0..1000 cargo test --release -p hadal-lang --test promela_spin many -- --ignored"]
fn many_random_programs_have_the_states_that_spin_counts() {
    if spin::is_installed() {
        compare(seeds(), Graph::Plain);
    }
}

#[test]
#[ignore = "minutes; HADAL_SEEDS=0..1000 cargo test --release -p hadal-lang --test promela_spin many -- --ignored"]
fn many_random_programs_have_the_states_that_spin_counts_when_it_merges() {
    if spin::is_installed() {
        compare(seeds(), Graph::Merged);
    }
}

#[test]
#[ignore = "minutes; HADAL_SEEDS=0..1000 cargo test --release -p hadal-lang --test promela_spin many -- --ignored"]
fn many_random_claims_have_the_answers_that_spin_gives() {
    if spin::is_installed() {
        compare(seeds(), Graph::Watched);
    }
}

#[test]
#[ignore = "for a model at hand; HADAL_MODEL=FILE cargo test --release -p hadal-lang --test promela_spin given -- --ignored"]
fn a_given_model_has_the_states_that_spin_counts() {
    let Some(path) = std::env::var_os("HADAL_MODEL") else { return println!("skipped: no HADAL_MODEL") };
    let text = std::fs::read_to_string(&path).expect("a model");
    let folder = std::env::temp_dir().join(format!("hadal-promela-{}-given", std::process::id()));
    let system = || load("given.pml", &text, Path::new(".")).unwrap_or_else(|refused| panic!("{refused}"));
    let (plain, watched) = (ask(&text, Graph::Plain, &folder), ask(&text, Graph::Watched, &folder));
    let _ = std::fs::remove_dir_all(&folder);
    println!("{plain:?}\n{:?}", count(system(), Engine::Compiled, 1 << 20));
    let merged = ask(&text, Graph::Merged, &folder);
    let system_merged = load_as("given.pml", &text, Path::new("."), true);
    println!(
        "merged: {merged:?}\n{:?}",
        system_merged.map(|system| count(system, Engine::Compiled, 1 << 20))
    );
    println!("watched: {watched:?}\n{:?}", count_watched(system(), 1 << 20));
    assert_eq!(plain.map(|it| it.states), Ok(count(system(), Engine::Compiled, 1 << 20).states));
}
