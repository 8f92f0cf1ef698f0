//! Claims, accept labels and orders of messages in a text have the answers that SPIN gives.

#[path = "promela/explorer.rs"]
mod explorer;

use explorer::{count, count_watched, load};
use hadal_exec::model::Engine;
use hadal_system::System;
use std::path::Path;

fn read(text: &str) -> System {
    load("claim.pml", text, Path::new(".")).unwrap_or_else(|refused| panic!("{text}\n{refused}"))
}

/// Models with what SPIN 6.5.2 says (`spin -o1 -o2 -o3 -a`, `-DNOREDUCE`, `pan -a`): whether there is an error, and
/// the states of the product where there is none and the model is never stuck.
const WATCHED: &[(&str, bool, Option<usize>)] = &[
    // No run stays at 1.
    (
        "byte x; active proctype A() { do :: x = 1 - x od }
        never { T0: do :: x == 1 -> goto accept :: true od; accept: do :: x == 1 od }",
        false,
        Some(3),
    ),
    // Where nothing moves any more `np_` is asked once more, and is false from then on.
    (
        "byte x; active proctype P() { progress: x = 1; x = 2; (x == 5) }
        never { T: if :: x < 2 -> goto T :: x == 2 && np_ -> goto S fi; S: if :: !np_ -> goto accept fi; accept: do :: true od }",
        true,
        None,
    ),
    (
        "byte x; active proctype P() { progress: x = 1; x = 2; (x == 5) }
        never { T: if :: x < 2 -> goto T :: x == 2 && np_ -> goto accept fi; accept: do :: np_ od }",
        false,
        None,
    ),
    // A claim that comes to its end has found something wrong.
    (
        "byte x; active proctype A() { do :: x < 3 -> x++ :: else -> x = 0 od }
        never { do :: x == 2 -> break :: else od }",
        true,
        None,
    ),
    // An end label of a claim is its end.
    (
        "byte x; active proctype A() { do :: x = 1 :: x = 0 od }
        never { S: do :: x == 0 :: x == 1 -> goto endx od; endx: do :: true od }",
        true,
        None,
    ),
    // An assertion inside an atomic sequence looks at the same state.
    (
        "byte x; active proctype A() { do :: x < 3 -> x++ :: else -> x = 0 od }
        never { do :: atomic { x == 3 -> assert(x != 3) } :: else od }",
        true,
        None,
    ),
    (
        "byte x; active proctype A() { do :: x < 3 -> x++ :: else -> x = 0 od }
        never { do :: atomic { x == 3 -> assert(x == 3) } :: else od }",
        false,
        Some(8),
    ),
    // Accept labels without a claim: a loop, a run that passes once, a run that stays.
    ("byte x; active proctype A() { do :: x = 1; accept: x = 0 od }", true, None),
    ("byte x; active proctype A() { accept: x = 1 }", false, None),
    ("byte x; active proctype A() { x = 1; accept: x == 2 }", true, None),
    // Accept labels beside a claim, which may forbid the loop.
    (
        "byte x; active proctype A() { do :: x = 1; accept: x = 0 od }
        never { do :: x == 0 :: x == 1 od }",
        true,
        None,
    ),
    (
        "byte x; active proctype A() { do :: x = 1; accept: x = 0 od }
        never { x == 0; x == 0; false }",
        false,
        Some(2),
    ),
    // A run that stays where it is makes no progress, and is no cycle.
    ("byte x; active proctype A() { x = 1 } never { accept: do :: np_ od }", false, None),
    ("byte x; active proctype A() { do :: x = 1 - x od } never { accept: do :: np_ od }", true, None),
    (
        "byte x; active proctype A() { do :: x = 1 - x; progress: skip od }
        never { T: do :: true :: np_ -> goto accept od; accept: do :: np_ od }",
        false,
        None,
    ),
    // Remote references, who moved last, who can move.
    (
        "byte x; active proctype A() { byte v; do :: v = 1 - v; L: x = v od }
        never { T: do :: true :: A@L && A:v == 1 -> goto accept od; accept: do :: x == 1 od }",
        false,
        None,
    ),
    (
        "byte x; active proctype A() { do :: x = 1 od } active proctype B() { do :: x = 0 od }
        never { T: do :: true :: _last == 1 -> goto accept od; accept: do :: _last == 1 od }",
        true,
        None,
    ),
    (
        "byte x; active proctype A() { do :: x = 1 - x od } active proctype B() { x == 2 }
        never { T: do :: true :: enabled(1) -> goto accept od; accept: do :: true od }",
        false,
        None,
    ),
    // `timeout`: nothing else can move.
    (
        "byte x; active proctype A() { x = 1; timeout; x = 2; do :: x == 2 od }
        never { T: do :: true :: timeout -> goto accept od; accept: do :: true od }",
        true,
        None,
    ),
];

#[test]
fn claims_have_the_answers_that_spin_gives() {
    for (text, wrong, states) in WATCHED {
        let (counts, accepted) = count_watched(read(text), 100_000);
        assert_eq!(accepted, *wrong, "{text}\n{counts:?}");
        if let Some(states) = states {
            assert_eq!(counts.states, *states, "{text}");
        }
    }
}

#[test]
fn messages_must_follow_a_trace_and_must_not_follow_a_notrace() {
    let model = |messages: &str, rest: &str| {
        format!(
            "chan q = [1] of {{ byte }}; active proctype A() {{ {messages} }}
            active proctype B() {{ q?_; q?_ }} {rest}"
        )
    };
    let faults = |text: String| count(read(&text), Engine::Compiled, 1000).faults;
    assert_eq!(faults(model("q!1; q!1", "trace { do :: q!1; q?1 od }")), 0);
    assert!(faults(model("q!1; q!2", "trace { do :: q!1; q?1 od }")) > 0);
    assert!(faults(model("q!1; q!2", "trace { do :: q!1 od }")) > 0);
    assert_eq!(faults(model("q!1; q!2", "trace { do :: q!_ od }")), 0);
    assert!(faults(model("q!1; q!2", "notrace { q!1; q!2 }")) > 0);
    assert_eq!(faults(model("q!2; q!1", "notrace { q!1; q!2 }")), 0);
}

#[test]
fn claims_that_do_more_than_look_are_refused_where_they_do() {
    let cases = [
        ("byte x; active proctype A() { x = 1 } never { x = 2 }", "a claim only looks"),
        ("byte x; active proctype A() { x = 1 } never { byte y; y == 1 }", "no variables of its own"),
        ("active proctype A() { skip } never { run A() }", "a claim starts no process"),
        (
            "chan q = [1] of { byte }; byte x; active proctype A() { q!1 } trace { x == 1 }",
            "made of messages",
        ),
        ("chan q = [1] of { byte }; byte x; active proctype A() { q!1 } trace { q!x }", "with constants"),
        ("active proctype A() { d_step { skip; goto L }; L: skip }", "cannot leave"),
        (
            "chan r = [0] of { byte }; active proctype A() priority 2 { r!1 } active proctype B() { r?_ }",
            "no rendezvous",
        ),
        ("active proctype A() priority 0 { skip }", "between 1 and 255"),
        (
            "active proctype A() { enabled(1) } active proctype B() { enabled(0) }",
            "asks for `enabled` itself",
        ),
    ];
    for (text, expected) in cases {
        let refused = load("claim.pml", text, Path::new(".")).expect_err(text);
        assert!(refused.contains(expected) && refused.contains('^'), "{text}\n{refused}");
    }
}
