//! The diagram against an ordered set: every operation, every width, collected at every step.

#[path = "diagram/states.rs"]
mod states;

use hadal_store::diagram::{Diagram, Levels, Root};
use hadal_store::{Bitmap, Governor};
use hadal_testkit::Random;
use proptest::prelude::*;
use states::{Set, Shape, State, families, flat, sets, shapes};

fn diagram(shape: Shape, width: usize) -> Diagram {
    let levels = Levels::even(shape.words, shape.bits, width).unwrap();
    Diagram::new(levels, &Governor::unlimited()).unwrap()
}

fn listed(diagram: &Diagram, root: Root, batch_limit: usize) -> Vec<u64> {
    let mut all = Vec::new();
    let mut position = diagram.enumerate(root);
    while position.next_batch(diagram, batch_limit, &mut all) == batch_limit {}
    assert!(position.is_done());
    all
}

fn present(diagram: &Diagram, root: Root, batch: &[u64]) -> Vec<bool> {
    let mut marks = Bitmap::default();
    diagram.filter_sorted(root, batch, &mut marks);
    (0..marks.len()).map(|at| marks.get(at)).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn what_was_built_is_counted_found_and_listed_in_order(
        (shape, family) in families(2, 400), width in 4..=8usize, limit in 1..50usize,
    ) {
        let mut d = diagram(shape, width);
        let root = d.add_root("set");
        let set = &family[0];
        d.build(root, &flat(set)).unwrap();
        prop_assert_eq!(d.count(root).unwrap(), set.len() as u64);
        prop_assert_eq!(listed(&d, root, limit), flat(set));
        // Candidates: members, strangers, and neighbours of members, where walks leave late.
        let mut candidates: Set = family.iter().flatten().cloned().collect();
        for state in family.iter().flatten() {
            for bit in [0, shape.bits.min(4) - 1, shape.bits / 2, shape.bits - 1] {
                let mut near = state.0.clone();
                near[bit / 64] ^= 1 << (bit % 64);
                candidates.insert(State(near));
            }
        }
        let expected: Vec<bool> = candidates.iter().map(|state| set.contains(state)).collect();
        prop_assert_eq!(present(&d, root, &flat(&candidates)), expected);
        for state in &candidates {
            prop_assert_eq!(d.contains(root, &state.0), set.contains(state));
        }
    }

    #[test]
    fn set_operations_agree_with_ordered_sets_and_are_canonical(
        (shape, family) in families(5, 120), width in 4..=8usize,
    ) {
        let mut d = diagram(shape, width);
        let [all, one, direct, scratch] = ["all", "one", "direct", "scratch"].map(|name| d.add_root(name));
        let mut model = Set::new();
        for set in &family {
            d.build(one, &flat(set)).unwrap();

            d.subtract(scratch, all, one).unwrap();
            d.build(direct, &flat(&model.difference(set).cloned().collect())).unwrap();
            prop_assert!(d.same(scratch, direct));
            d.subtract(scratch, one, all).unwrap();
            d.build(direct, &flat(&set.difference(&model).cloned().collect())).unwrap();
            prop_assert!(d.same(scratch, direct));
            d.intersect(scratch, one, all).unwrap();
            d.build(direct, &flat(&set.intersection(&model).cloned().collect())).unwrap();
            prop_assert!(d.same(scratch, direct));

            d.unite(all, all, one).unwrap();
            model.extend(set.iter().cloned());
            d.build(direct, &flat(&model)).unwrap();
            prop_assert!(d.same(all, direct));
            prop_assert_eq!(d.count(all).unwrap(), model.len() as u64);
        }
    }

    #[test]
    fn a_collection_at_every_step_changes_no_set((shape, family) in families(6, 150), width in 4..=8usize) {
        let mut d = diagram(shape, width);
        let [all, one, kept] = ["all", "one", "kept"].map(|name| d.add_root(name));
        d.build(kept, &flat(&family[0])).unwrap();
        let mut model = Set::new();
        for set in &family {
            d.build(one, &flat(set)).unwrap();
            d.collect();
            d.unite(all, all, one).unwrap();
            d.clear(one);
            d.collect();
            model.extend(set.iter().cloned());
            prop_assert_eq!(listed(&d, all, 1000), flat(&model));
            prop_assert_eq!(listed(&d, kept, 1000), flat(&family[0]));
        }
        d.clear(kept);
        d.collect();
        let after = d.statistics();
        prop_assert_eq!(after.live_bytes, after.node_bytes);
        // What is left is exactly what a fresh diagram of the set holds.
        let mut fresh = diagram(shape, width);
        let root = fresh.add_root("all");
        fresh.build(root, &flat(&model)).unwrap();
        fresh.collect();
        prop_assert_eq!(fresh.statistics().live_bytes, after.live_bytes);
        prop_assert_eq!(fresh.statistics().nodes, after.nodes);
    }

    #[test]
    fn an_enumeration_survives_collections_and_follows_a_changed_set(
        (shape, family) in families(4, 150), limit in 1..20usize,
    ) {
        let mut d = diagram(shape, 8);
        let [all, one, other] = ["all", "one", "other"].map(|name| d.add_root(name));
        d.build(other, &flat(&family[0])).unwrap();
        d.build(all, &flat(family.last().unwrap())).unwrap();
        d.clear(other);
        let mut model = family.last().unwrap().clone();
        let mut position = d.enumerate(all);
        let mut seen: Vec<State> = Vec::new();
        let mut round = 0;
        loop {
            let mut batch = Vec::new();
            let given = position.next_batch(&d, limit, &mut batch);
            let last = seen.last().cloned();
            let expected: Vec<State> =
                model.iter().filter(|&state| last.as_ref().is_none_or(|last| state > last)).take(limit).cloned().collect();
            let got: Vec<State> = batch.chunks_exact(shape.words).map(|state| State(state.to_vec())).collect();
            prop_assert_eq!(&got, &expected);
            seen.extend(got);
            if given < limit {
                break;
            }
            match round % 3 {
                0 => d.collect(),
                1 => {
                    let set = &family[round % family.len()];
                    d.build(one, &flat(set)).unwrap();
                    d.unite(all, all, one).unwrap();
                    model.extend(set.iter().cloned());
                }
                _ => {}
            }
            round += 1;
        }
    }

    #[test]
    fn an_enumeration_can_start_after_any_state((shape, set, start) in shapes().prop_flat_map(|shape| {
        (Just(shape), sets(shape, 200), sets(shape, 5))
    })) {
        let mut d = diagram(shape, 8);
        let root = d.add_root("set");
        d.build(root, &flat(&set)).unwrap();
        for start in start.iter().chain(set.iter().take(20)) {
            let mut batch = Vec::new();
            d.enumerate_after(root, &start.0).next_batch(&d, 1000, &mut batch);
            let expected: Set = set.iter().filter(|&state| state > start).cloned().collect();
            prop_assert_eq!(batch, flat(&expected));
        }
    }

    #[test]
    fn a_step_over_budget_leaves_every_set_as_it_was(
        (shape, family) in families(6, 400), budget in 30_000..120_000u64,
    ) {
        let governor = Governor::new(budget);
        let levels = Levels::even(shape.words, shape.bits, 8).unwrap();
        let Ok(mut d) = Diagram::new(levels, &governor) else { return Ok(()) };
        let [all, one] = ["all", "one"].map(|name| d.add_root(name));
        let mut model = Set::new();
        for set in &family {
            let added = d.build(one, &flat(set)).and_then(|()| d.unite(all, all, one));
            if added.is_ok() {
                model.extend(set.iter().cloned());
            }
            prop_assert!(governor.current() <= budget);
            prop_assert_eq!(listed(&d, all, 1000), flat(&model));
            // Leaving: streaming out needs neither tables nor room.
            if added.is_err() {
                d.release_tables();
                prop_assert_eq!(listed(&d, all, 7), flat(&model));
                break;
            }
        }
    }
}

#[test]
fn levels_of_any_widths_keep_the_order() {
    let widths = [3u8, 8, 1, 7, 5, 8, 8, 8, 2, 8, 8, 6, 8];
    let bits: usize = widths.iter().map(|&width| width as usize).sum();
    let shape = Shape { words: 2, bits };
    let mut random = Random::new(7);
    let set: Set = (0..2000).map(|_| shape.trim(vec![random.bits(), random.bits() & 0xff])).collect();
    let mut d = Diagram::new(Levels::from_widths(2, &widths).unwrap(), &Governor::unlimited()).unwrap();
    let root = d.add_root("set");
    d.build(root, &flat(&set)).unwrap();
    assert_eq!(listed(&d, root, 100), flat(&set));
    assert!(present(&d, root, &flat(&set)).iter().all(|&here| here));
}

#[test]
fn the_longest_chain_and_the_deepest_recursion_are_allowed() {
    let words = 512;
    let mut d = Diagram::new(Levels::even(words, words * 64, 8).unwrap(), &Governor::unlimited()).unwrap();
    let [all, one] = ["all", "one"].map(|name| d.add_root(name));
    // States that branch at every level of the other: the recursion goes through all of them.
    let mut sets = [Vec::new(), Vec::new()];
    for (index, set) in sets.iter_mut().enumerate() {
        let mut states = Set::new();
        for level in 0..words * 8 {
            let mut state = vec![0u64; words];
            state[level / 8] = (index as u64 + 1) << (level % 8 * 8);
            states.insert(State(state));
        }
        *set = flat(&states);
    }
    d.build(all, &sets[0]).unwrap();
    d.build(one, &sets[1]).unwrap();
    d.unite(all, all, one).unwrap();
    assert_eq!(d.count(all).unwrap(), 2 * 8 * words as u64);
    assert!(Levels::even(513, 513 * 64, 8).is_err());
}
