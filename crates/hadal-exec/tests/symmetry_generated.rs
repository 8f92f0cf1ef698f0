//! Symmetry reduction of generated systems: what is reachable through representatives is what is reachable.

use std::collections::{HashSet, VecDeque};

use hadal_exec::symmetry::Canonicaliser;
use hadal_exec::{Engine, Model, ModelOptions, SymmetryMode};
use hadal_system::{StateSpace, Successors, System};
use hadal_testkit::generate::{self, Size};

/// The reachable states, or none where there are more than `bound` of them.
fn reachable(system: &System, symmetry: SymmetryMode, bound: usize) -> Option<HashSet<Vec<u64>>> {
    let options = ModelOptions { engine: Engine::Interpreted, symmetry };
    let model = Model::new(system.clone(), options).ok()?;
    let mut worker = model.worker();
    let mut out = Successors::new(model.words());
    worker.initial(&mut out);
    let mut seen: HashSet<Vec<u64>> = out.iter().map(|(_, state)| state.to_vec()).collect();
    let mut queue: VecDeque<Vec<u64>> = seen.iter().cloned().collect();
    while let Some(state) = queue.pop_front() {
        if seen.len() > bound {
            return None;
        }
        out.clear();
        worker.successors(&state, &mut out);
        for (_, state) in out.iter() {
            if seen.insert(state.to_vec()) {
                queue.push_back(state.to_vec());
            }
        }
    }
    Some(seen)
}

#[test]
fn representatives_reach_exactly_the_orbits_of_reachable_states() {
    let mut reduced = 0;
    for seed in 0..400 {
        let system = generate::system(seed, Size::SYMMETRIC);
        let Some(all) = reachable(&system, SymmetryMode::Off, 3000) else { continue };
        let model = Model::new(
            system.clone(),
            ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Exact },
        );
        let Ok(model) = model else { continue };
        let Some(canonicaliser) = model.symmetry() else { continue };
        let orbits = canonical(canonicaliser, &all);
        let exact = reachable(&system, SymmetryMode::Exact, usize::MAX).unwrap();
        assert_eq!(exact, orbits, "seed {seed}");
        let heuristic = reachable(&system, SymmetryMode::Heuristic, usize::MAX).unwrap();
        assert!(heuristic.len() <= all.len(), "seed {seed}");
        assert_eq!(canonical(canonicaliser, &heuristic), orbits, "seed {seed}");
        reduced += usize::from(exact.len() < all.len());
    }
    assert!(reduced > 20, "only {reduced} systems were reduced at all");
}

/// The representatives of a set of states.
fn canonical(canonicaliser: &Canonicaliser, states: &HashSet<Vec<u64>>) -> HashSet<Vec<u64>> {
    let mut scratch = canonicaliser.scratch();
    let represent = |state: &Vec<u64>| {
        let mut state = state.clone();
        canonicaliser.canonicalise(&mut state, &mut scratch);
        state
    };
    states.iter().map(represent).collect()
}
