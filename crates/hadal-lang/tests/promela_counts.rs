//! State counts of Promela models equal SPIN's without reduction and merging: small models of one trap each, and the
//! published corpus.
//!
//! The corpus is not part of the repository: `HADAL_CORPUS` names its folder (default `../shared/models` beside the
//! workspace), counts lie beside it in `oracles/promela.tsv`. Without it the tests print a line and pass.

#[path = "promela/explorer.rs"]
mod explorer;

use explorer::{Counts, count, load, load_as, without_assertions};
use hadal_exec::model::Engine;
use hadal_testkit::corpus;
use std::path::Path;

/// Models of our own, with the states and transitions that SPIN 6.5.2 counts for them
/// (`spin -o1 -o2 -o3 -a`, `-DSAFETY -DNOREDUCE`, transitions less the start).
const SMALL: &[(&str, usize, usize)] = &[
    // The end is a step.
    ("active proctype A() { skip; skip }", 4, 3),
    // Jumps are none; a jump that begins an option is.
    ("byte x; active proctype A() { if :: goto L :: x = 1 fi; x = 2; L: x = 3 }", 6, 6),
    // A block that begins with a loop has a state of its own.
    ("byte x; active proctype A() { x = 1; { do :: x < 3 -> x++ :: else -> break od }; x = 0 }", 9, 8),
    // A variable that is declared in the middle is set by a step.
    ("byte x; active proctype A() { x = 1; byte y; y = x; { byte z = 2; x = z } }", 7, 6),
    // An atomic sequence that blocks can be seen.
    (
        "bit a, b; active proctype A() { atomic { a = 1; b == 1; a = 0 } } active proctype B() { b = 1 }",
        9,
        11,
    ),
    // Messages that must match; sorted messages; messages taken from the middle.
    (
        "chan c = [2] of { byte, byte }; byte x; active proctype A() { c!1,2; c!3,4; c??3,x; c?1,x; x = 0 }",
        7,
        6,
    ),
    // Arithmetic wraps.
    ("byte x = 254; short y = 32767; active proctype A() { x = x + 3; y++; x == 1 && y == -32768 }", 5, 4),
    // A process that may not move does not die, either.
    ("byte x; active proctype A() { x = 1; x = 0 } active proctype B() provided (x == 0) { skip }", 10, 11),
    // The process with the higher priority moves as long as it can.
    (
        "byte x; active proctype A() priority 3 { x = 1; x == 2; x = 3 } active proctype B() { x = 2; x = 4 }",
        8,
        7,
    ),
    // Priorities change; a process that is started has priority 1 unless the text says otherwise.
    (
        "byte x; proctype C() { x = _priority; x = 0 }
        active proctype A() priority 2 {
          run C(); set_priority(1, 3); run C() priority 4; x = get_priority(1); _priority = 1; x = 7
        }
        active proctype B() { x = 5; x = 6 }",
        26,
        27,
    ),
    // A sorted message is put where the values belong before their fields cut them.
    (
        "chan q = [3] of { bit, byte }; byte x;
        active [2] proctype S() { do :: x < 4 -> atomic { q!!x + 1, 254 + x; x++ } od }
        active proctype R() { byte y; end: do :: q?_, y od }",
        56,
        118,
    ),
    // While a message is offered, only what receives it escapes.
    (
        "chan c = [0] of { byte };
        chan d = [0] of { byte };
        bool e = 1; byte x;
        active proctype A() { c!1; x = 5 }
        active proctype B() { { c?1; x = 2 } unless { e -> x = 3 } }
        active proctype C() { { d?1; x = 7 } unless { c!2 -> x = 8 } }
        active proctype D() { d!1; x = 9 }",
        151,
        283,
    ),
    // Rendezvous that wait for each other inside `unless`.
    (
        "chan a = [0] of { byte }; chan b = [0] of { byte }; chan c = [0] of { byte }; chan d = [0] of { byte }; chan e = [0] of { byte };
        byte x;
        active proctype A() { { a?1; x = 1 } unless { b!1; x = 2 } }
        active proctype B() { { b?1; x = 3 } unless { c!1; x = 4 } }
        active proctype C() { { c?1; x = 5 } unless { d!1; x = 6 } }
        active proctype D() { { d?1; x = 7 } unless { e!1; x = 8 } }
        active proctype E() { do :: e?1 -> break :: x = 0; break od; a!1; x = 9 }",
        1094,
        2709,
    ),
    // `pc_value` has SPIN's numbers of places.
    (
        "byte x, i; byte a[3]; bool e;
        byte seen;
        inline twice(v) { v = 1; v = 2 }
        active proctype P() { 
          x = 1;
          for (i : 1 .. 3) { x = 2; x = 3 }
          select (i : 1 .. 4);
          select (i : x .. 4);
          for (i in a) { x = 9 }
          twice(x);
          { x = 4; x = 5 }
          byte w = 3;
        L1: goto L2;
          x = 6;
        L2: x = 7;
           (x == 7) unless (e);
          x = 8 unless { e; x = 1 };
          d_step { x = 1; if :: x == 1 -> x = 2 :: else fi; do :: x > 2 :: else -> break od; x = 3 };
          atomic { x = 4; if :: x == 4 -> x = 5; x = 7 :: else fi; x == 7; x = 6 };
          { x = 1; { x = 2 } unless { e } } unless { e -> x = 9 };
        end1: skip;
        progress2: do :: x = 3 ; break :: else -> break od;
          x == 1 -> x = 2
        }
        active proctype Q() { end: do :: seen != pc_value(0) -> seen = pc_value(0) od }",
        1329,
        2613,
    ),
    // A jump inside a d_step.
    (
        "byte x; active proctype A() {
          d_step { x = 1; do :: x < 9 -> x++; if :: x == 4 -> goto out :: else fi od; out: x = 7 }; x = 0
        }",
        4,
        3,
    ),
    // Channels inside records, and channels that are sent.
    (
        "typedef C { chan in = [1] of { byte }; chan out = [2] of { byte } };
        C c[2]; chan g = [1] of { chan };
        active proctype A() { byte v; chan k; c[1].in!3; g!c[1].in; g?k; k?v; c[0].out!v; c[0].out?v }",
        8,
        7,
    ),
    // What is hidden and nothing depends on is no part of the state.
    (
        "hidden byte h; hidden int z[2]; byte y;
        active [2] proctype A() { h = _pid + 1; y = 1; z[1] = h; y = 0 }",
        37,
        58,
    ),
    // Who moved last: of a rendezvous, the receiver.
    (
        "byte x; chan r = [0] of { byte };
        active proctype A() { r!1; x = _last } active proctype B() { r?x; x = _last }",
        12,
        12,
    ),
    // Whether another process can move.
    (
        "byte x; active proctype A() { do :: enabled(1) -> x = 1 :: else -> break od }
        active proctype B() { x == 1; x = 2 }",
        2,
        1,
    ),
    // How far messages have followed a trace is part of the state.
    (
        "chan q = [1] of { byte }; trace { q!0; q!1 }
        active proctype A() { byte n; do :: n < 2 -> q!n; n++ :: else -> break od }
        active proctype B() { byte v; q?v; q?v }",
        18,
        23,
    ),
    (
        "chan q = [1] of { byte }; notrace { q!2; q!1 }
        active proctype A() { q!1; q!2 } active proctype B() { byte v; q?v; q?v }",
        7,
        6,
    ),
    // The outer escape comes first.
    (
        "byte x; active proctype B() { x = 2; x = 1 }
        active proctype A() {
          { { x = 1; x = 2; x = 3 } unless { x == 2; x = 10 } } unless { x == 1; x = 20 }
        }",
        25,
        34,
    ),
    // Messages that are evaluated, only seen, or anywhere.
    (
        "chan q = [3] of { byte, byte }; byte x = 2, y;
        active proctype A() {
          q!1,2; q!2,3; q!!1,1; q??[2,3]; q??eval(x),y; q?<1,y>; q?1,y; q?_,_; nempty(q)
        }",
        9,
        8,
    ),
    // Sets of message types with names.
    (
        "mtype:fruit = { apple, pear }; mtype = { red }; mtype:fruit f = apple; mtype c;
        active proctype A() { f = pear; c = red; f == pear }",
        5,
        4,
    ),
    // Loops over a channel and over an array.
    (
        "typedef M { byte v }; chan q = [2] of { M }; byte a[3];
        active proctype A() {
          byte i; M m; m.v = 1; q!m; m.v = 2; q!m;
          for (m in q) { a[m.v] = m.v }; for (i in a) { a[i] = 0 }
        }",
        29,
        28,
    ),
    // Inlines inside inlines, with variables of their own.
    (
        "byte x; inline twice(v) { byte t = v; x = t; once(t) } inline once(v) { x = v + 1 }
        active proctype A() { twice(3); once(x) }",
        6,
        5,
    ),
    // An array of channels.
    (
        "chan q[2] = [1] of { byte }; byte i;
        active proctype A() { q[i]!1; i = 1; q[i]!2; q[1 - i]?_; q[i]?_ }",
        7,
        6,
    ),
    // A bit that is alone in its message keeps more than a bit.
    ("chan c = [1] of { bit }; active proctype A() { byte x = 2; c!x; c?[2]; x = 0 }", 5, 4),
    // Fields of three bits wrap.
    ("unsigned u : 3 = 7; active proctype A() { u++; u--; u = u - 1 }", 5, 4),
];

/// Ways to end, to leave and to enter an atomic sequence, with SPIN's states.
const ATOMIC: &[(&str, usize)] = &[
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){atomic{if :: g=1 -> c!1 fi}}
        active proctype B(){c?_; g=2}",
        8,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){atomic{do :: g=1 -> c!1; break od}; g=3}
        active proctype B(){c?_; g=2}",
        14,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){atomic{g=1; c!1; goto L}; g=5; L: g=3}
        active proctype B(){c?_; g=2}",
        14,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){atomic{g=1; atomic{ g=7; c!1 }; g=4; atomic {if :: c!2 fi} }; g=3}
        active proctype B(){c?_; g=2; c?_}",
        16,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){atomic{g=1; { g=7; c!1; g=8; c!2 } unless { g==2; g=9 } }; g=3}
        active proctype B(){c?_; g=2; c?_; g=2}",
        7,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){atomic{g=1; c!1; d_step { g=8; g=6 } }; g=3}
        active proctype B(){c?_; g=2; g=4}",
        21,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){g=1; goto L; atomic{ g=4; L: g=5; c!1; g=6 }; g=3}
        active proctype B(){c?_; g=2; g=4}",
        22,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ atomic { g=1; c!1; goto M }; atomic{ g=4; M: g=5; c!1; g=6 }; g=3}
        active proctype B(){c?_; g=2; g=4; c?_; g=9}",
        24,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ do :: atomic { g<3; g++; c!1; break } :: g>5 -> g=0 od; g=3}
        active proctype B(){atomic {c?_; g=2; g=4}; g=9}",
        14,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ atomic { if :: if :: c!1 fi fi }; g=3 }
        active proctype B(){atomic {if :: c?_ fi}; g=9}",
        14,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ atomic { g=1; if :: c!1 :: g=2; end1: goto L fi; g=6 }; L: g=3 }
        active proctype B(){atomic {if :: c?_ fi}; g=9}",
        18,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ do :: g<2 -> skip; skip; printf(\"x\"); skip; g++ :: skip; skip; break od; if :: skip; skip :: true; true; g=1 fi}
        active proctype B(){atomic {g=1; do :: g < 3 -> g++ :: else -> break od}; g=9}",
        66,
    ),
    (
        "byte g;
        active proctype A() provided (g != 1) { atomic { if :: g=1 :: g=2 fi }; g=3; atomic { do :: g<5 -> g++ :: else -> g=1; break od }; g=4 }
        active proctype B(){g=2; g=0; g=2}",
        54,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ { atomic { c!1; if :: c!2 fi } ; c!3 } unless { g==2 -> g=7 }; g=3 }
        active proctype B(){byte v; do :: c?v -> g=v :: v==3 -> break od}",
        10,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ if :: { c!1; g=3; g=4 } unless { g==2 -> goto L } fi; L: g=3 }
        active proctype B(){byte v; g=2; c?v; g=2}",
        4,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ atomic { g=1; for (g : 1 .. 3) { c!g } } g=9 }
        active proctype B(){byte v; do :: c?v od}",
        6,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ L: atomic { g=1; c!1; if :: g==1 -> goto L :: else fi }; g=9 }
        active proctype B(){byte v; do :: c?v; g=v; g=2 od}",
        19,
    ),
    (
        "chan c=[0] of {byte}; byte g;
        active proctype A(){ byte x; do :: atomic { x<2; x++; c!x; if :: x==2 -> break :: else -> skip fi } od; g=9 }
        active proctype B(){byte v; do :: atomic{c?v; do :: v > 0 -> v-- :: else -> break od} od}",
        6,
    ),
];

#[test]
fn atomic_sequences_end_where_spin_ends_them() {
    for (text, states) in ATOMIC {
        for engine in [Engine::Interpreted, Engine::Compiled] {
            let system = load("atomic.pml", text, Path::new(".")).unwrap_or_else(|e| panic!("{text}\n{e}"));
            assert_eq!(count(system, engine, usize::MAX).states, *states, "{text} {engine:?}");
        }
    }
}

#[test]
fn small_models_have_the_states_that_spin_counts() {
    for (text, states, transitions) in SMALL {
        for engine in [Engine::Interpreted, Engine::Compiled] {
            let system = load("small.pml", text, Path::new(".")).unwrap_or_else(|e| panic!("{text}\n{e}"));
            let found = count(system, engine, usize::MAX);
            let counts = (found.states, found.transitions, found.faults);
            assert_eq!(counts, (*states, *transitions, 0), "{text} {engine:?}");
        }
    }
}

/// What a process compares numbers with says nothing about how often it starts itself.
#[test]
fn a_process_that_starts_itself_gets_little_room_at_first() {
    let text = "proctype f(chan up; byte n) { chan me = [0] of { byte }; byte r;
            if :: n == '+' -> up!1 :: n >= 2 -> up!n :: else -> run f(me, n + 1); me?r; up!r fi }
        init { chan me = [0] of { byte }; byte r; run f(me, 0); me?r }";
    let system = load("recursive.pml", text, Path::new(".")).unwrap_or_else(|why| panic!("{why}"));
    assert!(system.processes.len() <= 10, "{} processes", system.processes.len());
    let found = count(system, Engine::Compiled, usize::MAX);
    assert_eq!((found.states, found.transitions, found.faults), (17, 19, 0));
}

/// Rows of the table up to this many states are counted by compiled code, and by the interpreter up to the second.
const LARGEST: usize = 100_000;
const LARGEST_INTERPRETED: usize = 300;

/// `xs` and `xr` are checked where they are believed, with merged statements.
#[test]
fn a_channel_that_a_process_says_is_its_own_is_used_by_no_other() {
    let faults = |text: &str, merge| {
        let system = load_as("alone.pml", text, Path::new("."), merge).unwrap_or_else(|why| panic!("{why}"));
        count(system, Engine::Compiled, 1000).faults
    };
    let declared = |both: &str| {
        format!(
            "chan q = [2] of {{ byte }};
            proctype S(byte n) {{ xs q; q!n; q!n }}
            active proctype R() {{ xr q; byte x; q?x; q?x }}
            init {{ run S(1); {both} }}"
        )
    };
    let wrong = [
        declared("run S(2)"),
        declared("q!3"),
        declared("q?_"),
        declared("len(q) == 1"),
        "chan q = [0] of { byte }; active proctype S() { xs q; q!1 } active proctype R() { q?1 }".into(),
    ];
    for text in &wrong {
        assert!(faults(text, true) > 0, "{text}");
        assert_eq!(faults(text, false), 0, "{text}");
    }
    assert_eq!(faults(&declared("skip"), true), 0);
    // Each has channels of its own.
    let given = "chan a = [1] of { byte }; chan b = [1] of { byte };
        proctype N(chan from; chan to) { xr from; xs to; to!1; from?1 }
        init { atomic { run N(a, b); run N(b, a) } }";
    assert_eq!(faults(given, true), 0);
}

#[test]
fn the_corpus_has_the_states_that_spin_counts() {
    assert!(compare(0..=LARGEST, Steps::AsWritten).is_none_or(|compared| compared > 60));
}

#[test]
#[ignore = "minutes; cargo test --release -p hadal-lang --test promela_counts -- --ignored"]
fn large_models_of_the_corpus_have_the_states_that_spin_counts() {
    assert!(compare(LARGEST + 1..=usize::MAX, Steps::AsWritten).is_none_or(|compared| compared > 3));
}

#[test]
fn merged_models_of_the_corpus_have_the_states_that_spin_counts() {
    assert!(compare(0..=LARGEST, Steps::Merged).is_none_or(|compared| compared > 12));
}

#[test]
#[ignore = "minutes; cargo test --release -p hadal-lang --test promela_counts -- --ignored"]
fn large_merged_models_of_the_corpus_have_the_states_that_spin_counts() {
    assert!(compare(LARGEST + 1..=usize::MAX, Steps::Merged).is_none_or(|compared| compared > 1));
}

/// Which columns of the table are compared.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Steps {
    AsWritten,
    Merged,
}

/// Compares the models of the table with so many states; how many, where the corpus is there.
fn compare(sizes: std::ops::RangeInclusive<usize>, steps: Steps) -> Option<usize> {
    let (models, table) = (corpus::find("promela")?, corpus::oracle("promela.tsv")?);
    let oracles = table.parent().unwrap_or(Path::new("."));
    let table = std::fs::read_to_string(&table).expect("the table can be read");
    let mut compared = 0;
    for row in table.lines() {
        let columns: Vec<&str> = row.split('\t').collect();
        let folder = match columns.first() {
            Some(&"plain") => models.as_path(),
            Some(&"micro") => oracles,
            _ => continue,
        };
        let number = |n: usize| columns.get(n).and_then(|text| text.parse::<usize>().ok());
        let at = if steps == Steps::Merged { 6 } else { 2 };
        let (Some(states), Some(transitions)) = (number(at), number(at + 1)) else { continue };
        if !sizes.contains(&states) {
            continue;
        }
        let path = folder.join(columns[1]);
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("a model")).into_owned();
        let parent = path.parent().unwrap_or(Path::new("."));
        let engines: &[Engine] = match states <= LARGEST_INTERPRETED {
            true => &[Engine::Compiled, Engine::Interpreted],
            false => &[Engine::Compiled],
        };
        for &engine in engines {
            let system = load_as(columns[1], &text, parent, steps == Steps::Merged)
                .unwrap_or_else(|e| panic!("{}\n{e}", columns[1]));
            // The table's runs go on behind assertions that fail.
            let Counts { states: found, transitions: fired, faults, .. } =
                count(without_assertions(system), engine, usize::MAX);
            assert_eq!(faults, 0, "{} {engine:?}", columns[1]);
            assert_eq!(found, states, "{} {engine:?}", columns[1]);
            let atomic = number(4).unwrap_or(0);
            if atomic == 0 {
                assert_eq!(fired, transitions, "{} {engine:?}", columns[1]);
            }
        }
        compared += 1;
    }
    println!("{compared} rows compared");
    Some(compared)
}
