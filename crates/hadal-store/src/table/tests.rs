//! Tests of the table.

use super::*;
use hadal_testkit::Random;
use std::collections::HashSet;

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

#[test]
fn holds_each_state_once_and_finds_it() {
    for words in [1, 2, 5] {
        let mut table = StateTable::new(words, 0, 1, &plenty()).unwrap();
        let states = pseudo_random(7, MANY, words, 60);
        let mut new = 0;
        table.insert_all(&states, |_, _| {}, |_, _| new += 1).unwrap();
        let expected: HashSet<&[u64]> = states.chunks(words).collect();
        assert_eq!(new, expected.len());
        assert_eq!(table.len(), expected.len() as u64);
        for state in &expected {
            let at = table.find(state).expect("every inserted state is found");
            assert_eq!(table.state(at), *state);
        }
        assert_eq!(table.find(&vec![99; words]), None);
        let mut again = 0;
        table.insert_all(&states, |_, _| {}, |_, _| again += 1).unwrap();
        assert_eq!(again, 0);
    }
}

#[test]
fn threads_that_insert_the_same_states_agree_on_the_set() {
    let mut table = StateTable::new(2, 0, 4, &plenty()).unwrap();
    let states = pseudo_random(3, MANY, 2, 150);
    let new = AtomicU64::new(0);
    let (shared, writers) = table.share();
    std::thread::scope(|scope| {
        for mut writer in writers {
            let (states, new) = (&states, &new);
            scope.spawn(move || {
                let count = |n, _| {
                    new.fetch_add(1, Ordering::Relaxed);
                    // What one thread has added every other one finds, and may look at.
                    let at = shared.find(&states[2 * n..2 * n + 2]).expect("it was added");
                    assert_eq!(shared.state(at), &states[2 * n..2 * n + 2]);
                };
                writer.insert_all(states, |_, _| {}, count).unwrap()
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
