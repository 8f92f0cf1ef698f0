//! PRISM's language: every model of the corpus loads, mistakes are shown where they are, and no text makes the parser fail.

use hadal_lang::prism;
use hadal_system::Source;
use hadal_system::rows::Rational;
use hadal_testkit::{Random, corpus};
use std::collections::HashMap;

/// Constants that some model leaves open.
fn given() -> HashMap<String, Rational> {
    let values =
        [("K", 2), ("N", 20), ("reset", 1), ("delay", 3), ("deadline", 200), ("COL", 0), ("MAXSTEPS", 5)];
    values.iter().map(|&(name, value)| (name.to_owned(), Rational::from_integer(value))).collect()
}

#[test]
fn every_model_of_the_corpus_loads() {
    let Some(folder) = corpus::find("prism") else { return };
    let found = corpus::files(&folder, &["prism", "nm"]);
    for path in &found {
        let text = std::fs::read_to_string(path).expect("a readable model");
        assert!(prism::recognises(&text), "{}", path.display());
        if let Err(refused) = prism::load(Source::new(path.display().to_string(), text), &given()) {
            panic!("{}: {:?}", path.display(), refused.diagnostics);
        }
    }
    println!("{} models loaded", found.len());
    assert!(found.len() > 60);
}

fn refused(text: &str) -> Vec<(String, String)> {
    let source = Source::new("model", text);
    let refused = prism::load(source.clone(), &HashMap::new()).expect_err("refused");
    let list = refused.diagnostics.list.iter();
    list.map(|d| (d.message.clone(), source.slice(d.span).to_owned())).collect()
}

#[test]
fn mistakes_are_shown_where_they_are_several_at_once() {
    let found = refused(
        "mdp const int N; module m x : [0..N]; y : bol; [] x<1 -> (z'=1); [] x -> 2 : (x'=y); endmodule",
    );
    assert!(found.iter().any(|(message, at)| message.contains("bol") && at == "bol"), "{found:?}");
    let found =
        refused("mdp module m x : [0..3]; [] w>0 -> (x'=1); [] x=0 -> (v'=1); [] x -> true; endmodule");
    let messages: Vec<&str> = found.iter().map(|f| f.1.as_str()).collect();
    assert_eq!(messages, ["w", "(v'=1)", "x"], "{found:?}");
    let found = refused("mdp const int N; module m x : [0..N]; endmodule");
    assert!(found[0].0.contains("-D N=VALUE"), "{found:?}");
    let found = refused("pta module m x : [0..1]; endmodule");
    assert!(found[0].0.contains("mdp"), "{found:?}");
    let found = refused("mdp formula a = b; formula b = a; module m x : [0..1] init a; endmodule");
    assert!(found.iter().any(|f| f.0.contains("defined by itself")), "{found:?}");
    let found =
        refused("mdp module a x : [0..1]; endmodule module b y : [0..1]; [] true -> (x'=1); endmodule");
    assert!(found[0].0.contains("another module"), "{found:?}");
}

#[test]
fn questions_that_are_not_answered_say_so() {
    let model = "mdp module m x : [0..1]; [] true -> true; endmodule rewards true : 1; endrewards";
    for (question, part) in [
        ("Pmax=? [ G (F<=100 x=1) ]", "at most 64 steps"),
        ("(F x=1) & (G x=0)", "needs P"),
        ("A [ F x=1 ]", "A [ G p ]"),
        ("R=? [ F x=1 ]", "min=?"),
        ("R{\"no\"}min=? [ F x=1 ]", "no rewards"),
        ("R=? [ S ]", "min=?"),
        ("Tmin=? [ F x=1 ]", "expected times"),
        ("Pmax=? [ F \"nothing\" ]", "no label"),
        ("Pmax=? [ F y=1 ]", "not declared"),
        ("Pmax=? [ F<=x x=1 ]", "before the search"),
        ("S=? [ x=1 ]", "min=?"),
        ("Smax=? [ F x=1 ]", "needs P"),
        ("x=", "not expected"),
    ] {
        let mut loaded = prism::load(Source::new("model", model), &HashMap::new()).expect("a model");
        let refused = loaded.formula(question).expect_err(question);
        let messages: Vec<&str> = refused.diagnostics.list.iter().map(|d| d.message.as_str()).collect();
        assert!(messages.iter().any(|m| m.contains(part)), "{question}: {messages:?}");
    }
}

#[test]
fn time_is_bounded_in_chains_of_continuous_time_only_once() {
    let model = "ctmc module m x : [0..1]; [] true -> 2 : (x'=1-x); endmodule rewards true : 1; endrewards";
    let mut loaded = prism::load(Source::new("model", model), &HashMap::new()).expect("a model");
    for question in
        ["P=? [ F<=0.5 x=1 ]", "P=? [ x=0 U[0.25,(1/3)] x=1 ]", "R=? [ C<=2.5 ]", "S=? [ x=1 ]", "R=? [ S ]"]
    {
        assert!(loaded.formula(question).is_ok(), "{question}");
    }
    for (question, part) in [
        ("P=? [ G (F<=0.5 x=1) ]", "one temporal operator"),
        ("P=? [ F<=0-1 x=1 ]", "not expected"),
        ("P=? [ F<=(0-1) x=1 ]", "not negative"),
        ("R{2}=? [ C<=1 ]", "1 reward"),
    ] {
        let refused = loaded.formula(question).expect_err(question);
        let messages: Vec<&str> = refused.diagnostics.list.iter().map(|d| d.message.as_str()).collect();
        assert!(messages.iter().any(|m| m.contains(part)), "{question}: {messages:?}");
    }
}

#[test]
fn no_text_makes_the_parser_fail() {
    let model = "mdp const int N = 2; formula f = x+1; global g : bool; module m x : [0..N] init 1; \
        [a] x<N -> 0.5 : (x'=f) & (g'=!g) + 1/2 : true; [] x=N -> true; endmodule \
        module k = m [x=y, a=b] endmodule rewards \"r\" [a] x>0 : 2*x; true : 0.5; endrewards \
        label \"l\" = x=2 | (g => x!=1); init x>=0 endinit";
    let question = "filter(max, P>=0.5 [ F<=3 (x=2 U \"l\") ], x>0) & R{\"r\"}<3 [ C<=4 ] & S>=0.5 [ x=1 ]";
    let mut random = Random::new(1);
    let mut roll = |n: usize| random.below(n);
    let pieces = [
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        "->",
        "'",
        "=",
        "..",
        "module",
        "endmodule",
        ";",
        "\"",
        "é",
        "1e9",
        "99999999999999999999",
        "?",
        ":",
        "init",
        "-",
        "P",
        "F",
    ];
    for round in 0..3000 {
        for text in [model, question] {
            let mut bytes: Vec<char> = text.chars().collect();
            for _ in 0..1 + roll(4) {
                if bytes.is_empty() {
                    break;
                }
                let at = roll(bytes.len());
                match roll(3) {
                    0 => {
                        bytes.remove(at);
                    }
                    1 => bytes.splice(at..at, pieces[roll(pieces.len())].chars()).for_each(drop),
                    _ => bytes.truncate(at + 1),
                }
            }
            let text: String = bytes.into_iter().collect();
            let _ = prism::load(Source::new("model", text.clone()), &HashMap::new());
            if round % 3 == 0
                && let Ok(mut loaded) = prism::load(Source::new("model", model), &HashMap::new())
            {
                let _ = loaded.formula(&text);
            }
        }
    }
    for deep in ["(", "!", "-", "x ? 1 : "] {
        let text = format!("mdp module m x : [0..1]; [] {} -> true; endmodule", deep.repeat(100_000));
        assert!(prism::load(Source::new("model", text), &HashMap::new()).is_err());
    }
    let wide = vec!["x=0"; 50_000].join(" | ");
    let text = format!("mdp module m x : [0..1]; [] {wide} -> true; endmodule");
    assert!(prism::load(Source::new("model", text), &HashMap::new()).is_ok());
}
