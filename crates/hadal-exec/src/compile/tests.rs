//! Compiled code against the interpreter where generated systems seldom go.

use std::collections::{HashSet, VecDeque};

use hadal_system::{Check, Layout, PropertyId, Source, Successors, System};
use hadal_testkit::generate::{self, Size};

use super::Compiled;
use crate::Interpreter;

fn murphi(text: &str) -> System {
    match hadal_lang::murphi::load(Source::new("test.m", text), &[]) {
        Ok(loaded) => loaded.system,
        Err(refused) => panic!("{:?}", refused.diagnostics),
    }
}

/// Explores up to `bound` states with both engines; gives the number of states and of faults.
fn agree(system: &System, bound: usize) -> (usize, usize) {
    let layout = Layout::natural(system);
    let interpreter = Interpreter::new(system, &layout);
    let compiled = Compiled::new(system, &layout).expect("it compiles");
    let properties = system.property_infos().len();
    let (mut seen, mut open, mut faults) = (HashSet::new(), VecDeque::new(), 0);
    let (mut want, mut got) = (Successors::new(layout.words()), Successors::new(layout.words()));
    let (mut want_covers, mut got_covers) = (vec![0; properties], vec![0; properties]);
    interpreter.initial(&mut want, &mut want_covers);
    compiled.initial(&mut got, &mut got_covers);
    loop {
        assert_eq!(want.labels(), got.labels());
        assert_eq!(want.states(), got.states());
        assert_eq!(want.faults(), got.faults());
        assert_eq!(want_covers, got_covers);
        faults += want.faults().len();
        for (_, state) in want.iter() {
            if seen.len() < bound && seen.insert(state.to_vec()) {
                open.push_back(state.to_vec());
            }
        }
        let Some(state) = open.pop_front() else { return (seen.len(), faults) };
        assert_eq!(interpreter.check(&state), compiled.check(&state));
        for id in (0..properties as u32).map(PropertyId) {
            assert_eq!(interpreter.satisfies(&state, id), compiled.satisfies(&state, id));
        }
        want.clear();
        got.clear();
        interpreter.successors(&state, &mut want, &mut want_covers);
        compiled.successors(&state, &mut got, &mut got_covers);
    }
}

/// Successors of one state: labels and states in the order of labels, and labels of faults.
type Found = (Vec<(u32, Vec<u64>)>, Vec<u32>);

fn found(out: &Successors, numbers: std::ops::Range<usize>, faults: usize) -> Found {
    let mut found: Vec<_> =
        numbers.map(|number| (out.labels()[number].0, out.state(number).to_vec())).collect();
    found.sort();
    (found, out.faults()[faults..].iter().map(|label| label.0).collect())
}

#[test]
fn many_states_at_once_have_the_successors_and_answers_of_each() {
    let mut batches = 0;
    for seed in 0..if cfg!(debug_assertions) { 20 } else { 150 } {
        let system = generate::system(seed, Size::SMALL);
        let layout = Layout::natural(&system);
        let compiled = Compiled::new(&system, &layout).expect("it compiles");
        let words = layout.words();
        let mut covers = vec![0; system.property_infos().len()];
        let (mut states, mut one) = (Successors::new(words), Successors::new(words));
        compiled.initial(&mut states, &mut covers);
        for number in 0..200.min(states.len()) {
            let state = states.state(number).to_vec();
            compiled.successors(&state, &mut states, &mut covers);
        }
        let (mut next, mut ends) = (0, Vec::new());
        let (mut covers_of_one, mut covers_of_all) = (covers.clone(), covers);
        while next < states.len() {
            let mut all = Successors::new(words);
            ends.clear();
            let rest = &states.states()[next * words..];
            if !compiled.successors_of_each(rest, 40, (&mut all, &mut ends, &mut covers_of_all)) {
                break;
            }
            let mut from = 0;
            for (n, &end) in ends.iter().enumerate() {
                one.clear();
                compiled.successors(states.state(next + n), &mut one, &mut covers_of_one);
                let faults = if n + 1 == ends.len() { 0 } else { all.faults().len() };
                assert_eq!(found(&all, from..end, faults), found(&one, 0..one.len(), 0), "seed {seed}");
                from = end;
            }
            assert_eq!((from, &covers_of_all), (all.len(), &covers_of_one), "seed {seed}");
            let over = all.len() >= 40 || !all.faults().is_empty();
            assert!(over || next + ends.len() == states.len(), "seed {seed}: it ended early");
            next += ends.len();
            batches += 1;
        }
        let numbers: Vec<usize> = (0..states.len()).rev().step_by(3).collect();
        let of_each = |&number: &usize| compiled.check(states.state(number));
        let first = numbers.iter().map(of_each).enumerate().find(|(_, check)| *check != Check::Fine);
        assert_eq!(compiled.check_each(&states, &numbers), first, "seed {seed}");
    }
    assert!(batches > 20, "only {batches} batches");
}

#[test]
fn rulesets_of_thousands_of_instances_are_loops_called_in_stretches() {
    let system = murphi(
        "var x: 0..99; y: 0..99;
         startstate begin x := 0; y := 0; end;
         rule \"a\" x = 0 ==> begin y := 1; end;
         ruleset i: 0..99; j: 0..99 do
           rule \"b\" i + j < 3 | i * j = 99 ==> begin x := i; y := j; end;
         end;
         rule \"c\" x > 0 ==> begin x := 0; end;",
    );
    let (states, faults) = agree(&system, 50);
    assert!(states >= 12 && faults == 0, "{states} states, {faults} faults");
}

#[test]
fn calls_nest_to_the_limit_on_a_small_stack() {
    let system = murphi(
        "const deep: 600;
         var x: 0..deep; sum: 0..200000; log: array [0..63] of 0..deep;
         function down(n: 0..deep): 0..200000;
         var a: array [0..63] of 0..deep;
         begin
           a := log; a[n % 64] := n;
           if n = 0 then return a[0]; end;
           return down(n - 1) + a[n % 64];
         end;
         startstate begin x := 0; sum := 0; clear log; end;
         ruleset n: 0..deep do
           rule n % 50 = 0 | n = 499 ==> begin x := n; sum := down(n); end;
         end;",
    );
    let run = move || agree(&system, 8);
    let thread = std::thread::Builder::new().stack_size(256 << 10).spawn(run).expect("a thread");
    let (_, faults) = thread.join().expect("no overflow of the stack");
    assert!(faults > 0, "500 nested calls are the limit");
}

#[test]
fn a_runaway_loop_is_a_fault_of_its_instance() {
    let system = murphi(
        "var x: 0..3;
         startstate begin x := 0; end;
         rule \"turn\" x < 3 ==> begin x := x + 1; end;
         rule \"spin\" x = 2 ==> begin while x = 2 do x := 2; end; end;",
    );
    assert_eq!(agree(&system, 50), (4, 1));
}

#[test]
fn successors_come_in_label_order_whatever_the_dispatch() {
    let system = murphi(
        "type p: 0..2;
         var loc: array [p] of 0..3; b: boolean;
         startstate begin for i: p do loc[i] := 0; end; b := false; end;
         ruleset i: p do rule \"go\" loc[i] = 0 ==> begin loc[i] := 1; end; end;
         rule \"flip\" true ==> begin b := !b; end;
         ruleset i: p; j: p do
           rule \"meet\" i != j & loc[i] = 1 & loc[j] = 1 ==> begin loc[i] := 2; loc[j] := 3; end;
         end;
         ruleset i: p do rule \"back\" b & loc[i] >= 2 ==> begin loc[i] := 0; end; end;",
    );
    let (states, faults) = agree(&system, 1000);
    assert!(states > 100 && faults == 0);
}

#[test]
fn a_guard_that_meets_an_error_is_not_skipped_by_dispatch() {
    let system = murphi(
        "var x: 0..3; y: 0..3; z: 0..3;
         startstate begin x := 0; y := 0; undefine z; end;
         rule \"set\" y = 0 ==> begin z := 1; end;
         rule \"x\" true ==> begin x := (x + 1) % 4; end;
         rule \"y\" true ==> begin y := (y + 1) % 4; end;
         ruleset i: 0..3 do
           rule \"first\" z = 1 & x = i ==> begin undefine z; end;
           rule \"second\" x = i & z = 1 ==> begin z := 2; end;
           rule \"third\" 6 / x = i & y = 2 ==> begin z := 3; end;
           rule \"fourth\" z = 2 & !isundefined(z) & z = i ==> begin z := 3; end;
           rule \"fifth\" z + x >= 0 & !isundefined(z) & z = i ==> begin z := 3; end;
         end;",
    );
    let (states, faults) = agree(&system, 1000);
    assert!(states > 16 && faults > 0);
}

#[test]
fn wide_scalars_and_large_aggregates_cross_words() {
    let system = murphi(
        "type wide: -4611686018427387904..4611686018427387903;
         var a: array [0..12] of record w: wide; f: boolean; s: 3..9; end;
             b: array [0..12] of record w: wide; f: boolean; s: 3..9; end;
             n: 0..12;
         startstate begin
           clear a; undefine b; n := 0;
           for i: 0..12 do b[i].f := i % 2 = 0; end;
         end;
         rule \"next\" n < 12 ==> begin
           a[n].w := (n * 1234567890123) - 77; a[n].s := 3 + n / 2; b[n + 1] := a[n]; n := n + 1;
         end;
         rule \"all\" n = 5 ==> begin b := a; undefine a; end;
         rule \"read\" !isundefined(a[n].w) & a[n].w < 0 ==> begin a[n].w := -a[n].w; end;
         rule \"clear\" n = 9 ==> begin clear b; a[0] := b[n]; n := 0; end;",
    );
    agree(&system, 300);
}

#[test]
fn machine_code_is_counted_while_there_is_any() {
    // Other tests compile meanwhile: theirs only adds.
    let rules: String = (0..200)
        .map(|n| format!("rule \"r{n}\" x = {n} ==> begin x := (x * {} + 7) % 256; end;\n", 2 * n + 1))
        .collect();
    let system = murphi(&format!("var x: 0..255;\nstartstate begin x := 0; end;\n{rules}"));
    let layout = Layout::natural(&system);
    let compiled = Compiled::new(&system, &layout).expect("it compiles");
    assert!(super::code_bytes() > 200 * 16, "{} bytes", super::code_bytes());
    drop(compiled);
}
