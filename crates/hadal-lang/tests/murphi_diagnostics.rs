//! What a person sees when a model is wrong: one finding per mistake, at the mistake, with a way out.

use hadal_lang::{Diagnostic, Severity, murphi};
use hadal_system::Source;

/// A model around `body`, which stands among the rules.
fn with_rules(body: &str) -> String {
    format!(
        "const N: 3;\n\
         type color: enum {{ red, green, blue }};\n\
         type cell: record value: 0 .. N; paint: color; end;\n\
         var x: 0 .. N; b: boolean; c: color; cells: array [0 .. N] of cell;\n\
         function double(v: 0 .. N): 0 .. 10; begin return v + v; end;\n\
         procedure bump(var v: 0 .. N); begin v := v + 1; end;\n\
         startstate begin x := 0; b := true; end;\n\
         {body}\n"
    )
}

fn errors(text: &str) -> Vec<(String, Diagnostic)> {
    match murphi::load(Source::new("m.m", text), &[]) {
        Ok(_) => Vec::new(),
        Err(refused) => refused
            .diagnostics
            .list
            .into_iter()
            .filter(|d| d.severity == Severity::Error)
            .map(|d| (refused.source_text.slice(d.span).to_owned(), d))
            .collect(),
    }
}

/// The only error of a model with these rules: the text under it, and the finding.
fn only_error(body: &str) -> (String, Diagnostic) {
    let mut found = errors(&with_rules(body));
    assert_eq!(found.len(), 1, "{body}: {found:#?}");
    found.remove(0)
}

#[test]
fn each_mistake_is_reported_once_where_it_stands() {
    for (body, at, message) in [
        ("rule begin y := 1; end", "y", "unknown variable or constant `y`"),
        ("rule begin y := 1; y := 2; x := y; end", "y", "unknown variable"),
        ("rule begin x := true; end", "x := true", "cannot be assigned"),
        ("rule x ==> begin end", "x", "the guard must be boolean"),
        ("rule begin if x then end; end", "x", "the condition of `if` must be boolean"),
        ("rule begin N := 1; end", "N", "must be a variable"),
        ("rule begin for i := 0 to 2 by 0 do end; end", "0", "never ends"),
        ("rule begin x := cells[1].valu; end", "valu", "has no field `valu`"),
        ("rule begin x := cells[red].value; end", "red", "the index is `color`"),
        ("rule begin x := x[1]; end", "[1]", "cannot be indexed"),
        ("rule begin x := double(1, 2); end", "double(1, 2)", "takes 1 argument, not 2"),
        ("rule begin x := 1 + bump(x); end", "bump(x)", "is a procedure and has no value"),
        ("rule begin bump(3); end", "3", "must be a variable"),
        ("rule begin c := x; end", "c := x", "cannot be assigned"),
        ("rule begin b := c < red; end", "c", "computes with numbers"),
        ("rule begin b := isundefined(cells); end", "cells", "asks about one scalar"),
        ("rule begin b := isundefined(!b); end", "!b", "only a variable can be undefined"),
        ("rule begin return 1; end", "1", "nothing can be returned from here"),
        ("rule begin liveness b; end", "liveness b", "is a property of the model"),
        ("rule begin x := ; end", ";", "expected an expression"),
        ("rule begin x = 1; end", "=", "`=` compares"),
        ("rule begin x := 1 b := true; end", "", "expected `;` between statements"),
        ("rule begin b := x = 1 = b; end", "=", "without parentheses"),
        ("ruleset i := 0 to x do rule begin end; end", "i := 0 to x", "must be constants"),
        ("var t: 3 .. 1;", "3 .. 1", "is empty"),
        ("var t: array [cell] of boolean;", "cell", "cannot be indexed by"),
        ("var t: enum { red };", "red", "declared twice"),
        ("var x: boolean;", "x", "declared twice"),
        ("type t: record a: boolean; a: color; end;", "a", "two fields called `a`"),
        ("const M: x;", "x", "is not a constant"),
        ("var t: 0 .. 0xffffffffffffffff;", "0xffffffffffffffff", "signed 64 bits"),
        ("rule \"open\nbegin end", "\"", "never closed"),
        ("rule begin x := x @ 1; end", "@", "unexpected `@`"),
    ] {
        let (found, diagnostic) = only_error(body);
        assert!(diagnostic.message.contains(message), "{body}: {}", diagnostic.message);
        assert_eq!(found, at, "{body}: {}", diagnostic.message);
        assert!(diagnostic.label.is_some() || diagnostic.help.is_some(), "{body}: nothing to go by");
    }
}

#[test]
fn obvious_typing_mistakes_come_with_a_suggestion() {
    for (body, meant) in [
        ("rule begin c := gren; end", "green"),
        ("rule begin x := cells[0].valeu; end", "value"),
        ("rule begin x := duoble(1); end", "double"),
        ("var y: colour;", "color"),
        ("rule begin whlie b do end; end", "while"),
        ("rule begin if b thne x := 1; end; end", "then"),
        ("rulset i: 0 .. 1 do rule begin end; end", "ruleset"),
    ] {
        let found = errors(&with_rules(body));
        let help = found.iter().filter_map(|(_, d)| d.help.as_deref()).collect::<Vec<_>>().join(" ");
        assert!(help.contains(&format!("did you mean `{meant}`?")), "{body}: {found:#?}");
    }
}

#[test]
fn several_mistakes_are_reported_in_one_go() {
    let found = errors(&with_rules(
        "rule begin x := yy; end;\n\
         rule begin x := ; b := zz; end;\n\
         rule x + ==> begin end;\n\
         var t: nosuchtype;\n\
         invariant c = 4;",
    ));
    let at: Vec<&str> = found.iter().map(|(at, _)| at.as_str()).collect();
    assert_eq!(at, ["yy", ";", "zz", "==>", "nosuchtype", "c = 4"], "{found:#?}");
}

#[test]
fn a_broken_declaration_does_not_cascade() {
    let found = errors(
        "var x: array [0 .. huge] of boolean;\nstartstate begin x[0] := true; end;\nrule begin x[1] := x[2]; end;",
    );
    assert_eq!(found.len(), 1, "{found:#?}");
    assert_eq!(found[0].0, "huge");
}

#[test]
fn constants_are_overridden_and_unknown_ones_refused() {
    let text = "const N: 2; F: false; M: N * 2; type t: 0 .. M; var x: t; startstate begin x := 0; end; rule F ==> begin x := M; end;";
    let load = |overrides: &[(&str, i64)]| {
        let overrides: Vec<(String, i64)> = overrides.iter().map(|(n, v)| ((*n).to_owned(), *v)).collect();
        murphi::load(Source::new("m.m", text), &overrides)
    };
    let size = |overrides: &[(&str, i64)]| {
        let system = load(overrides).expect("accepted").system;
        let (_, domain) = system.slots()[0];
        system.domains[domain].size()
    };
    assert_eq!(size(&[]), 5);
    assert_eq!(size(&[("N", 5)]), 11);
    assert_eq!(size(&[("N", 5), ("M", 1), ("F", 1)]), 2);
    let refused = load(&[("NN", 1)]).expect_err("no such constant");
    assert!(refused.diagnostics.list[0].message.contains("`NN`"));
    assert!(load(&[("F", 2)]).is_err(), "a boolean is 0 or 1");
}

#[test]
fn monstrous_inputs_are_refused_quickly() {
    let deep_expression =
        format!("var b: boolean; rule {}b{} ==> begin end", "(".repeat(100_000), ")".repeat(100_000));
    let deep_not = format!("var b: boolean; rule {}b ==> begin end", "!".repeat(100_000));
    let deep_if =
        format!("var b: boolean; rule begin {} {} end", "if b then ".repeat(50_000), "end ".repeat(50_000));
    let deep_type = format!("var b: {} boolean;", "array [0 .. 1] of ".repeat(50_000));
    let long_sum = format!("var x: 0 .. 1; rule begin x := 0{}; end", " + x".repeat(100_000));
    let mut doubling = String::from("type t0: boolean;");
    for n in 1..200 {
        doubling.push_str(&format!("type t{n}: record a, b: t{}; end;", n - 1));
    }
    doubling.push_str("var v: t199; w: t199; rule begin v := w; clear v; end;");
    let mut aliases = String::from("var x: 0 .. 9; alias a0: x + x;");
    let mut places = String::from("var t: array [0 .. 1] of array [0 .. 1] of 0 .. 1; alias a0: t[0][0];");
    for n in 1..100 {
        aliases.push_str(&format!("a{n}: a{} + a{};", n - 1, n - 1));
        places.push_str(&format!("a{n}: t[a{}][a{}];", n - 1, n - 1));
    }
    aliases.push_str("do rule a99 > 0 ==> begin end end");
    places.push_str("do rule a99 > 0 ==> begin end end");
    let mut comparisons = String::from("x");
    for _ in 0..40 {
        comparisons = format!("t[{comparisons} = x ? x : x]");
    }
    let comparisons = format!(
        "type s: scalarset(2); e: enum {{ h }}; u: union {{ s, e }}; var x: u; t: array [u] of u; rule {comparisons} = x ==> begin end"
    );
    for text in [
        aliases,
        places,
        comparisons,
        "@ ".repeat(200_000),
        deep_expression,
        deep_not,
        deep_if,
        deep_type,
        long_sum,
        doubling,
        "var a: array [0 .. 0x0fffffffffffffff] of boolean;".into(),
        "var a, b: array [0 .. 1000000] of boolean;".into(),
        "type s: scalarset(0x7ffffffffffffff0); var a: array [s] of s;".into(),
        "var x: boolean; ruleset i: 0 .. 0x7fffffffff do rule begin x := true; end; end;".into(),
        "[".repeat(200_000),
        "rule x[ ".repeat(100_000),
        "\"".repeat(99_999),
        "/*".repeat(100_000) + "var",
    ] {
        assert!(!errors(&text).is_empty(), "accepted: {}...", &text[..60.min(text.len())]);
    }
    let long_disjunction = format!(
        "var b: boolean; startstate begin b := true; end; rule b{} ==> begin b := !b; end",
        " | b".repeat(20_000)
    );
    assert!(errors(&long_disjunction).is_empty(), "a long disjunction is no mistake");
}
