//! Estimates of the user's own, and guides that take something with them.

use hadal_exec::{Model, ModelOptions};
use hadal_guide::{Distance, Goal, registry};
use hadal_system::{Source, StateSpace, Successors};

const MODEL: &str = "byte x = 3; byte a[3] = {1, 5, 2};
process P { state idle, busy, done; init idle; assert done: x != 9; trans
  idle -> busy { guard x < 9; effect x = x + 1; }, busy -> idle {}, busy -> done { guard x == 9; }; }
process Q { state q; init q; trans q -> q { guard a[0] < 4; effect a[0] = a[0] + 1; }; }
system async;";

fn loaded() -> Model {
    let system = hadal_lang::dve::load(Source::new("m.dve", MODEL), &[]).expect("it is DVE").system;
    Model::new(system, ModelOptions::default()).expect("it runs")
}

fn value(model: &Model, guide: &str) -> Result<Distance, String> {
    let goal = Goal::of_properties(model.properties());
    let guide = registry::build(guide, model, &goal).map_err(|error| error.to_string())?;
    let mut out = Successors::new(model.words());
    model.worker().initial(&mut out);
    Ok(guide.estimator().estimate(out.state(0), None))
}

#[test]
fn expressions_compute_with_the_state() {
    let model = loaded();
    let cases = [
        ("x", 3),
        ("9 - x", 6),
        ("x - 9", 0),
        ("2 + 3 * x", 11),
        ("(2 + 3) * x", 15),
        ("a[0] + a[1] + a[ 2 ]", 8),
        ("x > 2 && a[1] == 5 ? 7 : 1", 7),
        ("!(x = 3) || x % 2 != 1", 0),
        ("max(a[0], a[1], a[2]) - min(x, 2)", 3),
        ("abs(x - a[1])", 2),
        ("P.idle + 10 * P.busy", 1),
        ("x / 0", 0),
        ("- -x", 3),
    ];
    for (text, expected) in cases {
        assert_eq!(value(&model, &format!("expr:{text}")), Ok(Distance(expected)), "{text}");
    }
    assert_eq!(value(&model, "max(expr:x, expr:max(4, x))"), Ok(Distance(4)));
}

#[test]
fn mistakes_in_expressions_have_a_caret_under_them() {
    let model = loaded();
    let cases = [
        ("x + yy", "yy", "no scalar or value is called `yy`"),
        ("X + 1", "X", "did you mean `x`?"),
        ("(x + 1", "", "expected `)`"),
        ("x +", "", "the expression ends here"),
        ("x x", "x", "expected an operator or the end"),
        ("abs(x, x)", "abs", "takes one value"),
        ("99999999999999999999", "99999999999999999999", "too large"),
        ("a[0", "a[0", "a `[` is not closed"),
    ];
    for (text, marked, message) in cases {
        let error = value(&model, &format!("expr:{text}")).expect_err(text);
        assert!(error.contains(message), "{text}: {error}");
        let lines: Vec<&str> = error.lines().collect();
        let from = lines[2].find('^').expect("a caret");
        let carets = lines[2].matches('^').count();
        assert_eq!(lines[1].get(from..from + marked.len()), Some(marked), "{error}");
        assert_eq!(carets, marked.len().max(1), "{error}");
    }
    let deep = format!("expr:{}1{}", "(".repeat(5000), ")".repeat(5000));
    assert!(value(&model, &deep).expect_err("too deep").contains("nested too deep"));
}

#[test]
fn patterns_can_be_named_and_their_greatest_counts() {
    let model = loaded();
    let both = value(&model, "pdb:P,x").expect("a pattern");
    assert_eq!(both, Distance(12), "six rounds of idle and busy, the last ending in done");
    assert_eq!(value(&model, "pdb"), Ok(both));
    let apart = value(&model, "pdb:P;x").expect("patterns");
    assert_eq!(apart, Distance(6), "x alone must be raised six times");
    for (guide, message) in [
        ("pdb:P,nobody", "no scalar is called `nobody`"),
        ("pdb:a[0]", "does not matter here"),
        ("max(hl", "a bracket is not closed"),
        ("max(hl,(du)", "a bracket is not closed"),
    ] {
        let error = value(&model, guide).expect_err(guide);
        assert!(error.contains(message), "{guide}: {error}");
    }
}

#[test]
fn counters_are_followed_through_arithmetic() {
    let model = loaded();
    assert_eq!(
        value(&model, "hl"),
        Ok(Distance(7)),
        "six additions to x, then done, as if nothing were undone"
    );
    assert_eq!(value(&model, "hadd").map(|value| value.0 >= 8), Ok(true));
}
