//! Sweeps that peel components one by one give way to a depth-first search: same answer, same figures.

use hadal_check::{Check, Liveness, Outcome, Verdict};
use hadal_system::{Source, System};

/// A chain of cycles; an accepting state leads from each to the next, so no run is accepted, and each round of sweeps finds
/// that of the last cycle only. Where `closes`, the last one leads back to the first.
fn chain(links: u32, length: u32, closes: bool) -> System {
    let back =
        if closes { format!(", c -> a {{ guard i == {links}; effect i = 0; }}") } else { String::new() };
    let text = format!(
        "int i = 0; int j = 0;
         process P {{ state c, a; init c; trans
           c -> c {{ effect j = (j + 1) % {length}; }},
           c -> a {{ guard j == 0 && i < {links}; effect i = i + 1; }}{back},
           a -> c {{ }};
         }}
         process W {{ state n, y; init n; accept y; trans
           n -> n {{ guard P.c; }}, n -> y {{ guard P.a; }}, y -> n {{ guard P.c; }}, y -> y {{ guard P.a; }};
         }}
         system async property W;"
    );
    hadal_lang::dve::load(Source::new("chain.dve", text), &[]).expect("a model").system
}

fn answered(system: System, liveness: Liveness) -> Outcome {
    let mut check = Check::of(system).memory(256 << 20).threads(1);
    check.options_mut().running.liveness = liveness;
    check.run().expect("an answer")
}

fn is_handed_over(outcome: &Outcome) -> bool {
    outcome.decisions.iter().any(|line| line.contains("in their place"))
}

#[test]
fn a_long_chain_is_answered_by_depth_first_search() {
    let outcome = answered(chain(1500, 40, false), Liveness::Sweep);
    assert!(is_handed_over(&outcome), "{:?}", outcome.decisions);
    assert_eq!(outcome.report.verdict, Verdict::Holds);
    let components = answered(chain(1500, 40, false), Liveness::Scc);
    assert_eq!(outcome.report.states, components.report.states);
    assert_eq!(outcome.report.transitions, components.report.transitions);
    assert!(outcome.report.depth.is_some_and(|depth| depth > 1500), "the layers are still told");
}

#[test]
fn a_short_chain_is_left_to_sweeps() {
    for closes in [false, true] {
        let outcome = answered(chain(20, 40, closes), Liveness::Sweep);
        assert!(!is_handed_over(&outcome), "{:?}", outcome.decisions);
        assert_eq!(matches!(outcome.report.verdict, Verdict::Violated(_)), closes);
    }
}
