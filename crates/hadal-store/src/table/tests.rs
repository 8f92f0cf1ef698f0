//! Tests of the table.

use super::reference::WRITER_SHIFT;
use super::*;
use hadal_system::Merge;
use hadal_system::state::mask;
use hadal_testkit::Random;
use std::collections::{HashMap, HashSet};

/// Miri looks at every access, which takes its time.
const MANY: usize = if cfg!(miri) { 400 } else { 40_000 };

/// As good as unlimited; the list of chunks is as long as the budget allows, and Miri goes over it.
fn plenty() -> Governor {
    if cfg!(miri) { Governor::new(1 << 20) } else { Governor::unlimited() }
}

fn pseudo_random(seed: u64, n: usize, words: usize, spread: u64) -> Vec<u64> {
    let mut random = Random::new(seed);
    (0..n * words).map(|_| random.below(spread)).collect()
}

/// States of this many bits, some of which come again.
fn states_of_bits(seed: u64, n: usize, words: usize, bits: u32) -> Vec<u64> {
    let mut random = Random::new(seed);
    let mut states = Vec::with_capacity(n * words);
    for number in 0..n {
        if number > 0 && random.below(3) == 0 {
            let again = random.below(number as u64) as usize * words;
            states.extend_from_within(again..again + words);
            continue;
        }
        states.extend((0..words).map(|_| random.bits()));
        let last = states.len() - 1;
        states[last] &= mask(bits - 64 * (words as u32 - 1));
    }
    states
}

/// Whether the entries of the index are remainders of states.
fn holds_remainders(table: &StateTable) -> bool {
    matches!(&*table.read_index(), AnyIndex::Narrow(_, Entries::Remainders))
}

#[test]
fn an_index_of_remainders_holds_each_state_once_until_places_are_asked_for() {
    let widths: &[u32] = if cfg!(miri) { &[9, 38] } else { &[1, 9, 31, 33, 38, 39, 42, 60] };
    for &bits in widths {
        let mut table = StateTable::keeping((1, bits), Payload::NONE, 1, &Governor::new(1 << 26)).unwrap();
        assert_eq!(holds_remainders(&table), bits <= 38, "{bits} bits");
        let states = states_of_bits(u64::from(bits), MANY, 1, bits);
        let mut expected = HashSet::new();
        let mut was_used = false;
        for batch in states.chunks(777) {
            let mut new = Vec::new();
            table.insert_all(batch, |_, _| {}, |n, _| new.push(batch[n])).unwrap();
            let firsts: Vec<u64> = batch.iter().copied().filter(|&state| expected.insert(state)).collect();
            assert_eq!(new, firsts, "{bits} bits");
            was_used |= holds_remainders(&table);
        }
        assert_eq!(was_used, bits <= 42, "{bits} bits");
        table.insert_all(&states, |_, _| {}, |_, _| panic!("it was known")).unwrap();
        assert_eq!(table.len(), expected.len() as u64);
        let mut flat = Vec::new();
        table.copy_states(0, 0, table.len(), &mut flat);
        for (number, &state) in flat.iter().enumerate() {
            assert_eq!(table.find(&[state]), Some(StateRef::new(0, number as u64)));
        }
        assert!(!holds_remainders(&table), "it says where states lie");
        table.clear().unwrap();
        assert!(!holds_remainders(&table) || !was_used, "and goes on to");
    }
}

#[test]
fn asking_for_many_states_tells_what_asking_for_each_does() {
    let forms: &[(usize, u32)] = &[(1, 37), (1, 64), (2, 72), (3, 130), (5, 320)];
    for &(words, bits) in forms {
        let mut table =
            StateTable::keeping((words, bits), Payload::NONE, 1, &Governor::new(1 << 26)).unwrap();
        let states = states_of_bits(u64::from(bits), MANY / 4, words, bits);
        let (there, missing) = states.split_at(states.len() / words / 2 * words);
        table.insert_all(there, |_, _| {}, |_, _| {}).unwrap();
        let expected: HashSet<&[u64]> = there.chunks_exact(words).collect();
        let before = holds_remainders(&table);
        for asked in [there, missing, &[]] {
            let mut told = Vec::new();
            table.ask_all(asked, |n, known| told.push((n, known)));
            let each = asked.chunks_exact(words).map(|state| expected.contains(state)).enumerate();
            assert!(told.into_iter().eq(each), "{words} words");
        }
        assert_eq!(holds_remainders(&table), before, "places were not asked for");
    }
    let mut table = StateTable::keeping((1, 33), Payload::NONE, 1, &Governor::new(1 << 26)).unwrap();
    table.insert_all(&[5], |_, _| {}, |_, _| {}).unwrap();
    table.ask_all(&[5 | 1 << 38], |_, known| assert!(!known, "a state with other bits"));
}

#[test]
fn states_too_far_from_their_buckets_or_with_other_bits_end_an_index_of_remainders() {
    let mut table = StateTable::keeping((1, 33), Payload::NONE, 1, &Governor::new(1 << 26)).unwrap();
    let remainders = Remainders::of(1, 33).unwrap();
    // States that all begin at the first of 128 buckets: the third is the last that tests allow.
    let near = (0..).filter(|&state| remainders.hash(remainders.scatter(state)) >> 57 == 0);
    let states: Vec<u64> = near.take(12 * 3 + 1).collect();
    table.insert_all(&states[..36], |_, _| {}, |_, _| {}).unwrap();
    assert!(holds_remainders(&table));
    let mut new = 0;
    table.insert_all(&states, |_, _| {}, |_, _| new += 1).unwrap();
    assert_eq!((new, holds_remainders(&table)), (1, false));
    assert!(states.iter().all(|&state| table.find(&[state]).is_some()));

    let mut table = StateTable::keeping((1, 33), Payload::NONE, 1, &Governor::new(1 << 26)).unwrap();
    table.insert_all(&[5, 5 | 1 << 38, 5], |_, _| {}, |_, _| {}).unwrap();
    assert_eq!((table.len(), holds_remainders(&table)), (2, false));
}

#[test]
fn threads_agree_on_states_in_an_index_of_remainders() {
    let mut table = StateTable::keeping((1, 37), Payload::NONE, 4, &Governor::new(1 << 26)).unwrap();
    let states = states_of_bits(8, MANY / 4, 1, 37);
    let new = AtomicU64::new(0);
    let (_, writers) = table.share();
    std::thread::scope(|scope| {
        for mut writer in writers {
            let (states, new) = (&states, &new);
            scope.spawn(move || {
                let mut added = 0;
                for batch in states.chunks(100) {
                    writer.insert_all(batch, |_, _| {}, |_, _| added += 1).unwrap();
                }
                new.fetch_add(added, Ordering::Relaxed);
            });
        }
    });
    let expected: HashSet<u64> = states.iter().copied().collect();
    assert_eq!((new.into_inner(), table.len()), (expected.len() as u64, expected.len() as u64));
    let mut flat = Vec::new();
    (0..4).for_each(|writer| table.copy_states(writer, 0, table.added_by(writer), &mut flat));
    assert_eq!(flat.into_iter().collect::<HashSet<_>>(), expected);
}

#[test]
fn states_far_from_their_buckets_are_still_found_when_the_index_has_grown() {
    for writers in if cfg!(miri) { 1..2 } else { 1..4 } {
        let mut table =
            StateTable::keeping((2, 100), Payload::NONE, writers, &Governor::new(1 << 26)).unwrap();
        // States that all begin at the first bucket of a new index: entries are too far from it to say so.
        let crowded: Vec<u64> = (0..)
            .map(|n| [n, n % 7])
            .filter(|state| hash(state) >> 57 == 0)
            .take(if cfg!(miri) { 12 * 4 } else { 12 * 20 })
            .flatten()
            .collect();
        table.insert_all(&crowded, |_, _| {}, |_, _| {}).unwrap();
        let others = pseudo_random(4, if cfg!(miri) { 1600 } else { MANY }, 2, 1 << 20);
        for batch in others.chunks(2 * 500) {
            table.insert_all(batch, |_, _| {}, |_, _| {}).unwrap();
        }
        let all: Vec<u64> = crowded.into_iter().chain(others).collect();
        assert!(all.chunks(2).all(|state| table.find(state).is_some()), "{writers} writers");
        let distinct: HashSet<&[u64]> = all.chunks(2).collect();
        assert_eq!(table.len(), distinct.len() as u64);
        assert_eq!(table.find(&[1 << 21, 0]), None);
    }
}

/// A budget whose index has room for more than four billion states.
fn gigantic() -> Governor {
    Governor::new(1 << 40)
}

#[test]
fn holds_each_state_once_and_finds_it_whatever_its_width() {
    let widths: &[u32] = if cfg!(miri) {
        &[9, 40, 70, 130, 300]
    } else {
        &[1, 9, 24, 31, 32, 33, 40, 55, 57, 63, 64, 65, 70, 80, 127, 128, 130, 192, 200, 256, 257, 300, 600]
    };
    let governors: &[Governor] = if cfg!(miri) { &[plenty()] } else { &[Governor::new(1 << 30), gigantic()] };
    for (&bits, governor) in widths.iter().flat_map(|bits| governors.iter().map(move |g| (bits, g))) {
        let words = bits.div_ceil(64) as usize;
        let mut table = StateTable::keeping((words, bits), Payload::NONE, 1, governor).unwrap();
        let states = states_of_bits(u64::from(bits), MANY, words, bits);
        let mut new = Vec::new();
        // In batches of all sizes: windows end anywhere.
        let (mut at, mut size) = (0, 1);
        while at < MANY {
            let batch = &states[at * words..(at + size).min(MANY) * words];
            table.insert_all(batch, |_, _| {}, |n, reference| new.push((at + n, reference))).unwrap();
            (at, size) = (at + size, size % 700 + 13);
        }
        let mut expected: HashSet<&[u64]> = HashSet::new();
        let firsts: Vec<usize> =
            (0..MANY).filter(|n| expected.insert(&states[n * words..][..words])).collect();
        assert_eq!(new.iter().map(|(n, _)| *n).collect::<Vec<_>>(), firsts, "{bits} bits");
        assert_eq!(table.len(), expected.len() as u64);
        let mut flat = Vec::new();
        table.copy_states(0, 0, table.added_by(0), &mut flat);
        for (state, &(n, reference)) in flat.chunks(words).zip(&new) {
            assert_eq!(state, &states[n * words..][..words]);
            assert_eq!(table.find(state), Some(reference));
        }
        for state in states_of_bits(99, 100, words, bits).chunks(words) {
            assert_eq!(table.find(state).is_some(), expected.contains(state), "{bits} bits");
        }
        let mut again = 0;
        table.insert_all(&states, |_, _| {}, |_, _| again += 1).unwrap();
        assert_eq!(again, 0);
    }
}

#[test]
#[should_panic(expected = "states of fewer bytes are copied")]
fn packed_states_cannot_be_looked_at_in_place() {
    let mut table = StateTable::keeping((1, 33), Payload::NONE, 1, &plenty()).unwrap();
    table.insert_all(&[1], |_, _| {}, |_, _| {}).unwrap();
    table.nth(0, 0);
}

#[test]
fn threads_that_insert_the_same_states_agree_on_the_set() {
    threads_agree(&plenty());
    if !cfg!(miri) {
        threads_agree(&Governor::new(1 << 28));
    }
}

fn threads_agree(governor: &Governor) {
    let mut table = StateTable::new(2, 0, 4, governor).unwrap();
    let states = pseudo_random(3, MANY, 2, 150);
    let new = AtomicU64::new(0);
    let (shared, writers) = table.share();
    std::thread::scope(|scope| {
        for mut writer in writers {
            let (states, new) = (&states, &new);
            scope.spawn(move || {
                let mut added = Vec::new();
                writer.insert_all(states, |_, _| {}, |n, _| added.push(n)).unwrap();
                new.fetch_add(added.len() as u64, Ordering::Relaxed);
                // What one thread has added every other one finds, and may look at.
                for n in added {
                    let at = shared.find(&states[2 * n..2 * n + 2]).expect("it was added");
                    assert_eq!(shared.state(at), &states[2 * n..2 * n + 2]);
                }
            });
        }
    });
    let expected: HashSet<&[u64]> = states.chunks(2).collect();
    assert_eq!(new.into_inner(), expected.len() as u64);
    assert_eq!((0..4).map(|w| table.added_by(w)).sum::<u64>(), expected.len() as u64);
}

#[test]
fn the_budget_is_an_error_not_a_lost_state() {
    let budget = if cfg!(miri) { 40_000 } else { 300_000 };
    let governor = Governor::new(budget);
    let mut table = StateTable::new(1, 0, 1, &governor).unwrap();
    let states: Vec<u64> = (0..4 * budget).collect();
    let mut new = 0u64;
    assert!(table.insert_all(&states, |_, _| {}, |_, _| new += 1).is_err());
    assert!(new > budget / 40, "{new} states of 8 bytes in {budget} bytes");
    assert_eq!(table.len(), new);
    assert!(governor.peak() <= budget);
    for state in 0..new {
        assert!(table.find(&[state]).is_some());
    }
}

#[test]
fn threads_fill_a_table_without_losing_or_repeating_a_state() {
    let budget = if cfg!(miri) { 70_000 } else { 2_000_000 };
    let governor = Governor::new(budget);
    let mut table = StateTable::keeping((1, 30), Payload::NONE, 3, &governor).unwrap();
    let (_, writers) = table.share();
    std::thread::scope(|scope| {
        for mut writer in writers {
            scope.spawn(move || {
                // The same states in an order of each one's own, until nothing fits.
                let step = [1, 7, 11][writer.number()];
                let states: Vec<u64> = (0..budget).map(|n| n * step % budget).collect();
                assert!(writer.insert_all(&states, |_, _| {}, |_, _| {}).is_err());
            });
        }
    });
    assert!(governor.peak() <= budget);
    let mut flat = Vec::new();
    (0..3).for_each(|writer| table.copy_states(writer, 0, table.added_by(writer), &mut flat));
    assert_eq!(flat.len() as u64, table.len());
    assert_eq!(flat.iter().collect::<HashSet<_>>().len(), flat.len(), "no state is there twice");
    assert!(flat.iter().all(|&state| table.find(&[state]).is_some()));
    assert!(table.len() > budget / 40, "{} states in {budget} bytes", table.len());
}

#[test]
#[cfg_attr(miri, ignore = "megabytes of states")]
fn the_whole_budget_is_used_whatever_the_width_of_a_state() {
    for words in 1..=24 {
        let governor = Governor::new(4 << 20);
        let mut table = StateTable::new(words, 0, 1, &governor).unwrap();
        let states: Vec<u64> = (0..(5 << 20) / 8).map(|n| n / words as u64).collect();
        assert!(table.insert_all(&states, |_, _| {}, |_, _| {}).is_err());
        assert!(governor.peak() > 3 << 20, "{words} words: {} of 4 MiB", governor.peak());
    }
}

#[test]
#[should_panic(expected = "no such record")]
fn a_reference_past_the_end_is_refused() {
    let mut table = StateTable::new(1, 0, 1, &plenty()).unwrap();
    table.insert_all(&[1], |_, _| {}, |_, _| {}).unwrap();
    table.nth(0, 1);
}

#[test]
fn a_word_is_a_reference_only_where_there_is_a_state() {
    let mut table = StateTable::new(1, 0, 2, &plenty()).unwrap();
    let (_, mut writers) = table.share();
    writers[1].insert_all(&[7], |_, _| {}, |_, _| {}).unwrap();
    let at = table.find(&[7]).unwrap();
    assert_eq!(table.reference(at.to_word()), Some(at));
    for word in [0, at.to_word() + 1, u64::MAX, 2 << WRITER_SHIFT] {
        assert_eq!(table.reference(word), None);
    }
    assert_eq!(table.added_since(1, 0).collect::<Vec<_>>(), [at]);
}

#[test]
fn the_callers_words_stay_beside_the_state() {
    let mut table = StateTable::new(1, 1, 1, &plenty()).unwrap();
    table.insert_all(&[5, 6, 5], |n, extra| extra[0] = n as u64 + 100, |_, _| {}).unwrap();
    assert_eq!(table.extra(table.find(&[6]).unwrap()), &[101]);
    assert_eq!(table.extra(table.find(&[5]).unwrap()), &[100]);
}

#[test]
fn payloads_of_one_state_are_merged_whoever_brings_them() {
    let (states, payloads) = (pseudo_random(5, MANY, 2, 40), pseudo_random(6, MANY, 2, 1000));
    for merge in [Merge::Sum, Merge::Least] {
        let mut expected: HashMap<&[u64], Vec<u64>> = HashMap::new();
        for (state, payload) in states.chunks(2).zip(payloads.chunks(2)) {
            // Every thread brings everything.
            for _ in 0..3 {
                let known = expected.entry(state).and_modify(|kept| merge.merge(kept, payload));
                known.or_insert_with(|| payload.to_vec());
            }
        }
        let mut table = StateTable::keeping((2, 128), Payload { words: 2, merge }, 3, &plenty()).unwrap();
        let (_, writers) = table.share();
        std::thread::scope(|scope| {
            for mut writer in writers {
                let (states, payloads) = (&states, &payloads);
                scope.spawn(move || writer.merge_all(states, payloads, &[0; 3], |_| {}).unwrap());
            }
        });
        assert_eq!(table.len(), expected.len() as u64);
        for writer in 0..3 {
            let mut records = Vec::new();
            table.copy_records(writer, 0, table.added_by(writer), &mut records);
            for record in records.chunks(4) {
                assert_eq!(record[..2], expected[&record[2..]], "{merge:?}");
            }
        }
    }
}

#[test]
fn payloads_of_earlier_states_stay_and_a_full_table_says_how_far_it_came() {
    let payload = Payload { words: 1, merge: Merge::Sum };
    let mut table = StateTable::keeping((1, 64), payload, 1, &Governor::new(96 << 10)).unwrap();
    let mut writer = table.share().1.remove(0);
    writer.merge_all(&[7, 8, 7], &[1, 1, 1], &[0], |_| {}).unwrap();
    writer.merge_all(&[7, 9, 9], &[1, 1, 1], &[2], |_| {}).unwrap();
    // Every state comes twice; the first half of what is taken is new, and nothing else is touched.
    let states: Vec<u64> = (100..40_000).flat_map(|state| [state, state]).collect();
    let ones = vec![1; states.len()];
    let mut added = 0;
    let (taken, _) = writer.merge_all(&states, &ones, &[2], |_| added += 1).expect_err("it does not fit");
    assert_eq!(taken.div_ceil(2), added);
    let mut payloads = Vec::new();
    (0..table.len()).for_each(|number| table.copy_payload(0, number, &mut payloads));
    assert_eq!(payloads[..3], [2, 1, 2]);
    let (last, pairs) = payloads[3..].split_last().expect("some were taken");
    assert!(pairs.iter().all(|&payload| payload == 2), "both of each are counted");
    assert_eq!(*last as usize, 2 - taken % 2);
}

#[test]
#[should_panic(expected = "more bits than its space says")]
fn a_state_with_bits_that_have_no_room_is_not_taken_for_another() {
    let governor = Governor::new(1 << 20);
    let mut table = StateTable::keeping((1, 40), Payload::NONE, 1, &governor).unwrap();
    let _ = table.insert_all(&[1, 1 | 1 << 41], |_, _| {}, |_, _| {});
}
