//! The closed set that explorers use: fresh states, layers, threads, budget.

#[path = "diagram/states.rs"]
mod states;

use hadal_store::diagram::{ClosedDiagram, Keep, RankedDiagram, Set as Kind};
use hadal_store::{Bitmap, Governor};
use proptest::prelude::*;
use states::{Set, State, families, flat};

fn all_states(closed: &ClosedDiagram, set: Kind, limit: usize) -> Vec<u64> {
    let mut all = Vec::new();
    let mut position = closed.iter(set);
    while position.next_batch(closed, limit, &mut all) == limit {}
    all
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn exactly_the_unseen_states_are_fresh((shape, family) in families(6, 200)) {
        let mut closed = ClosedDiagram::new(shape.words, shape.bits, &Governor::unlimited()).unwrap();
        let (mut model, mut fresh) = (Set::new(), Bitmap::default());
        for set in &family {
            let expected: Set = set.difference(&model).cloned().collect();
            let added = closed.filter_add(&flat(set), Keep::ClosedAndNext, &mut fresh).unwrap();
            let marked: Set = set.iter().enumerate().filter(|(at, _)| fresh.get(*at)).map(|(_, state)| state.clone()).collect();
            prop_assert_eq!(&marked, &expected);
            prop_assert_eq!(added, expected.len());
            model.extend(set.iter().cloned());
            prop_assert_eq!(closed.len(), model.len() as u64);
            prop_assert_eq!(all_states(&closed, Kind::Next, 50), flat(&expected));
            prop_assert_eq!(all_states(&closed, Kind::Closed, 50), flat(&model));
            closed.turn_layer();
            prop_assert_eq!(all_states(&closed, Kind::Frontier, 50), flat(&expected));
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn the_number_of_a_state_is_its_place_among_all((shape, family) in families(6, 200)) {
        let governor = Governor::unlimited();
        let mut closed = ClosedDiagram::new(shape.words, shape.bits, &governor).unwrap();
        let (mut model, mut fresh) = (Set::new(), Bitmap::default());
        let (last, first) = family.split_last().unwrap();
        for set in first {
            closed.filter_add(&flat(set), Keep::Closed, &mut fresh).unwrap();
            model.extend(set.iter().cloned());
        }
        let ranked = RankedDiagram::new(closed, &governor).unwrap();
        prop_assert_eq!(ranked.len(), model.len() as u64);
        for (place, state) in model.iter().enumerate() {
            prop_assert_eq!(ranked.number(&state.0), Some(place as u64));
        }
        for state in last.difference(&model) {
            prop_assert_eq!(ranked.number(&state.0), None);
        }
    }
}

/// Successors in a graph of some hundred thousand states of two words, without symmetry between them.
fn successors(state: u128, out: &mut Vec<u128>) {
    const SIZES: [u128; 5] = [13, 9, 17, 11, 14];
    for (field, &size) in SIZES.iter().enumerate() {
        let at = field * 23;
        let value = state >> at & 0x3f;
        let other = state >> ((field + 2) % 5 * 23) & 0x3f;
        if value + 1 < size && (value ^ other) % 5 != 3 {
            out.push(state + (1 << at));
        }
        if value > other {
            out.push(state & !(0x3f << at));
        }
    }
}

/// Searches breadth-first; sizes of layers, and a digest of the fresh marks.
fn search(threads: usize, budget: u64, batch_states: usize) -> (Vec<usize>, Vec<u64>, usize) {
    let governor = Governor::new(budget);
    let mut closed = ClosedDiagram::new(2, 98, &governor).unwrap();
    closed.set_threads(threads);
    let mut fresh = Bitmap::default();
    let mut layers = vec![closed.filter_add(&[0, 0], Keep::ClosedAndNext, &mut fresh).unwrap()];
    while layers.last() != Some(&0) {
        closed.turn_layer();
        let mut found = 0;
        let mut position = closed.iter(Kind::Frontier);
        loop {
            let mut batch = Vec::new();
            let given = position.next_batch(&closed, batch_states, &mut batch);
            let mut next = Vec::new();
            for state in batch.as_chunks::<2>().0 {
                successors(u128::from(state[1]) << 64 | u128::from(state[0]), &mut next);
            }
            next.sort_unstable();
            next.dedup();
            let flat: Vec<u64> =
                next.iter().flat_map(|&state| [state as u64, (state >> 64) as u64]).collect();
            found += closed.filter_add(&flat, Keep::ClosedAndNext, &mut fresh).unwrap();
            assert!(governor.current() <= budget);
            if given < batch_states {
                break;
            }
        }
        layers.push(found);
    }
    (layers, all_states(&closed, Kind::Closed, 10_000), closed.shards())
}

#[test]
fn any_number_of_threads_any_budget_and_any_batch_give_the_same_search() {
    let (layers, states, shards) = search(1, u64::MAX, 20_000);
    assert_eq!(shards, 1);
    assert_eq!(layers.iter().sum::<usize>() * 2, states.len());
    assert!(states.len() > 200_000, "{}", states.len());
    for (threads, budget, batch) in
        [(2, u64::MAX, 20_000), (3, u64::MAX, 7_001), (1, 4 << 20, 5_000), (2, 8 << 20, 9_000)]
    {
        let (other_layers, other_states, shards) = search(threads, budget, batch);
        assert_eq!(layers, other_layers, "{threads} threads");
        assert!(states == other_states, "{threads} threads");
        assert!(threads == 1 || shards > 1);
    }
}

#[test]
fn over_budget_adds_nothing_and_the_set_can_still_be_streamed_out() {
    for threads in [1, 2] {
        let governor = Governor::new(6 << 20);
        let mut closed = ClosedDiagram::new(2, 128, &governor).unwrap();
        closed.set_threads(threads);
        let (mut model, mut fresh, mut seed) = (Set::new(), Bitmap::default(), 1u64);
        let over = loop {
            let set: Set = (0..9000u64)
                .map(|index| {
                    seed = hadal_system::state::hash(&[seed, index]);
                    State(vec![seed, hadal_system::state::hash(&[seed])])
                })
                .collect();
            match closed.filter_add(&flat(&set), Keep::Closed, &mut fresh) {
                Ok(added) => assert_eq!(added, set.len()),
                Err(over) => break over,
            }
            model.extend(set);
        };
        assert_eq!(over.limit, 6 << 20);
        assert!(governor.peak() <= 6 << 20);
        assert!(model.len() > 60_000, "{}", model.len());
        assert_eq!(closed.len(), model.len() as u64);
        let before = governor.current();
        closed.release_tables();
        assert!(governor.current() < before);
        assert!(all_states(&closed, Kind::Closed, 512) == flat(&model));
        // Half of the packed size and more: this set does not pay as a diagram.
        closed.trim();
        assert!(closed.live_bytes_per_state() > 8.0);
    }
}

#[test]
fn numbers_do_not_depend_on_how_a_set_is_cut_into_shards() {
    let states: Vec<u128> = (0..400_000u128).map(|n| ((n * n % 1_000_003) << 40) | (n % 977)).collect();
    let states: std::collections::BTreeSet<u128> = states.into_iter().collect();
    let flat: Vec<u64> = states.iter().flat_map(|&state| [state as u64, (state >> 64) as u64]).collect();
    let numbers = |threads: usize| {
        let governor = Governor::unlimited();
        let mut closed = ClosedDiagram::new(2, 98, &governor).unwrap();
        closed.set_threads(threads);
        let mut fresh = Bitmap::default();
        for batch in flat.chunks(2 * 20_000) {
            closed.filter_add(batch, Keep::Closed, &mut fresh).unwrap();
        }
        let shards = closed.shards();
        let ranked = RankedDiagram::new(closed, &governor).unwrap();
        assert!(
            flat.chunks_exact(2).enumerate().all(|(place, state)| ranked.number(state) == Some(place as u64))
        );
        shards
    };
    assert_eq!(numbers(1), 1);
    assert!(numbers(3) > 1, "nothing was cut");
}
