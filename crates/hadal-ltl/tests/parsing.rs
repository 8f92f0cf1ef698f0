//! What formulas mean as text.

use hadal_ltl::{AtomError, Atoms, Chains, Ltl, Names, parse, parse_with};

fn shown(text: &str) -> String {
    let mut names = Names::default();
    let formula = parse(text, &mut names).unwrap_or_else(|e| panic!("{text}: {e:?}"));
    formula.show(&names.texts).to_string()
}

#[test]
fn operators_bind_as_people_expect() {
    assert_eq!(shown("G p -> F q"), shown("([] p) -> (<> q)"));
    assert_eq!(shown("! p U q"), "(! p U q)");
    assert_eq!(shown("[] x == 1 && <> y"), "([] (x == 1) && <> y)");
    assert_eq!(shown("GF p"), "[] <> p");
    assert_eq!(shown("a until b"), "(a U b)");
    assert_eq!(shown("always eventually done"), "[] <> done");
    assert_eq!(shown("F q || X r && s U t"), shown("(F q) || ((X r) && (s U t))"));
    assert_eq!(shown("[] (q?[m] -> <> a[i].b == 2)"), "[] (! (q?[m]) || <> (a[i].b == 2))");
}

#[test]
fn the_model_sees_maximal_expressions() {
    struct Whole(Vec<String>);
    impl Atoms for Whole {
        fn atom(&mut self, text: &str) -> Result<u32, AtomError> {
            self.0.push(text.to_owned());
            Ok(self.0.len() as u32 - 1)
        }
        fn joins(&self, before: &str, _: &str) -> bool {
            before == "P"
        }
    }
    let mut whole = Whole(Vec::new());
    parse("[] (P->x == 1 && (y || z) -> <> (!w && P.q))", &mut whole).expect("a formula");
    assert_eq!(whole.0, ["P->x == 1 && (y || z)", "!w && P.q"]);
}

#[test]
fn chains_are_refused_or_read_as_spin_does() {
    let chained = parse("a U b U c", &mut Names::default()).expect_err("tools differ");
    assert_eq!(chained.at, 6..7);
    let left = parse_with("a U b U c", &mut Names::default(), Chains::Left).expect("SPIN reads it");
    assert_eq!(left, Ltl::Atom(0).until(Ltl::Atom(1)).until(Ltl::Atom(2)));
}

#[test]
fn a_declared_name_is_no_operator() {
    struct Declares;
    impl Atoms for Declares {
        fn atom(&mut self, _: &str) -> Result<u32, AtomError> {
            Ok(0)
        }
        fn declares(&self, word: &str) -> bool {
            word == "F"
        }
    }
    let error = parse("[] (F == 1)", &mut Declares).expect_err("ambiguous");
    assert!(error.help.expect("help").contains("write []"));
}

#[test]
fn a_language_may_prefer_its_names_to_operators() {
    struct Prefers(Names);
    impl Atoms for Prefers {
        fn atom(&mut self, text: &str) -> Result<u32, AtomError> {
            self.0.atom(text)
        }
        fn declares(&self, word: &str) -> bool {
            word == "R"
        }
        fn prefers_name(&self, word: &str) -> bool {
            word != "U"
        }
    }
    let mut prefers = Prefers(Names::default());
    let formula = parse("<> R -> (p U R)", &mut prefers).expect("`R` is a name");
    assert_eq!(formula.show(&prefers.0.texts).to_string(), shown("<> r -> (p U r)").replace('r', "R"));
    // What is not declared is still an operator.
    assert_eq!(parse("G p", &mut prefers), parse("[] p", &mut prefers));
}

#[test]
fn bad_input_is_told_with_a_place() {
    for (text, at) in
        [("", 0), ("[] (p", 3), ("p)", 1), ("[] ", 3), ("p U", 3), ("f([] p)", 2), ("(p U q) r", 3)]
    {
        let error = parse(text, &mut Names::default()).expect_err(text);
        assert_eq!(error.at.start, at, "{text}: {error:?}");
    }
    let deep = format!("{}p{}", "[](".repeat(5000), ")".repeat(5000));
    assert!(parse(&deep, &mut Names::default()).is_err());
    let unary = format!("{}p", "[]!".repeat(3000));
    assert!(parse(&unary, &mut Names::default()).is_err());
}
