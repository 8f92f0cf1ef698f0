//! The translation against direct evaluation on lasso words, and against SPIN's.

mod drawn;

use drawn::Dice;
use hadal_ltl::{Atoms, Names, Strength, hoa, never, parse, translate};
use hadal_testkit::Random;

#[test]
fn a_hundred_thousand_pairs_of_formula_and_word_agree() {
    let mut dice = Dice(Random::new(20080101));
    let mut pairs = 0;
    let mut satisfied = 0;
    while pairs < 100_000 {
        let atoms = 1 + dice.below(3);
        let size = 1 + dice.below(9);
        let formula = dice.formula(size, atoms);
        let edges = translate(&formula).expect("small enough");
        let states = edges.degeneralise();
        assert!(states.is_state_based() && states.sets <= 1, "{formula}");
        for _ in 0..25 {
            let word = dice.word(atoms);
            let wanted = word.satisfies(&formula);
            assert_eq!(word.is_accepted_by(&edges), wanted, "edges: {formula} on {word:?}\n{edges:?}");
            assert_eq!(word.is_accepted_by(&states), wanted, "states: {formula} on {word:?}\n{states:?}");
            assert_eq!(word.satisfies(&formula.not()), !wanted, "{formula} on {word:?}");
            satisfied += u32::from(wanted);
            pairs += 1;
        }
    }
    assert!(
        (20_000..80_000).contains(&satisfied),
        "{satisfied} of {pairs} words have their formula: lopsided"
    );
}

#[test]
fn what_is_printed_is_read_back_as_the_same_automaton() {
    let mut dice = Dice(Random::new(7));
    for _ in 0..400 {
        let size = 2 + dice.below(8);
        let formula = dice.formula(size, 3);
        let edges = translate(&formula).expect("small enough");
        let atoms: Vec<String> = (0..3).map(|n| format!("p{n}")).collect();
        let from_hoa = hoa::read(&hoa::print(&edges, &atoms, "f")).expect("our own HOA").automaton;
        let mut names = Names::default();
        let claim = never::print(&edges, &atoms);
        let from_never = never::read(&claim, &mut names).unwrap_or_else(|e| panic!("{e:?} in\n{claim}"));
        let number: Vec<u32> = names
            .texts
            .iter()
            .map(|text| text.trim_matches(['(', ')', 'p']).parse().expect("p and a number"))
            .collect();
        for _ in 0..20 {
            let word = dice.word(3);
            assert_eq!(word.is_accepted_by(&from_hoa), word.satisfies(&formula), "{formula}");
            let renamed = from_never.clone();
            let wanted = word.is_accepted_by(&edges.degeneralise());
            assert_eq!(word.renamed(&number).is_accepted_by(&renamed), wanted, "{formula}\n{claim}");
        }
    }
}

/// Claims as people write them, and what the runs have that they accept.
const BY_HAND: &[(&str, &str)] = &[
    ("never { do :: !p0 :: p0 -> break od; accept: do :: !p1 od }", "!p0 U (p0 && X [] !p1)"),
    ("never { do :: p0 -> skip; break :: else od; accept: do :: p1 :: else -> assert(p0) od }", "<> p0"),
    (
        "never { T: if :: atomic { p0 -> p1 -> goto accept_1 } :: else -> goto T fi; accept_1: do :: true od }",
        "!p0 U (p0 && p1)",
    ),
    ("never { do :: p0 -> goto end1 :: true od; end1: do :: p1 od }", "<> p0"),
    ("never { p0; p1; !p0 }", "p0 && X p1 && X X !p0"),
    ("never { do :: assert(p0 || p1) od }", "<> (!p0 && !p1)"),
    ("never { L: { (p0 && !p1); if :: p1 -> goto L fi }; }", "false"),
];

#[test]
fn claims_written_by_hand_accept_what_they_say() {
    let mut dice = Dice(Random::new(11));
    for (claim, formula) in BY_HAND {
        let mut names = Names::default();
        for (number, name) in ["p0", "p1"].into_iter().enumerate() {
            assert_eq!(names.atom(name).ok(), Some(number as u32));
        }
        let claim = never::read(claim, &mut names).unwrap_or_else(|e| panic!("{e:?} in\n{claim}"));
        let formula = parse(formula, &mut names).expect("a formula");
        for _ in 0..400 {
            let word = dice.word(2);
            assert_eq!(word.is_accepted_by(&claim), word.satisfies(&formula), "{formula} on {word:?}");
        }
    }
}

#[test]
fn claims_that_are_wrong_say_where() {
    let cases = [
        ("never { do :: p0 -> goto L od }", "no label `L`"),
        ("never { break }", "outside a loop"),
        ("never { do od }", "an option is expected"),
        ("never { [] p0 }", "temporal"),
        ("never { p0 } p1", "nothing may follow"),
        ("never { if :: p0 -> p1 }", "`fi` is expected"),
    ];
    for (claim, expected) in cases {
        let error = never::read(claim, &mut Names::default()).expect_err(claim);
        assert!(error.message.contains(expected), "{claim}: {}", error.message);
    }
    let deep = format!("never {{ {}p0{} }}", "{ ".repeat(100_000), " }".repeat(100_000));
    assert!(never::read(&deep, &mut Names::default()).is_err());
}

/// Formulas of the pattern collections, and ones on which translators differ. SPIN as distributed reads no `X`.
const SUITE: &[&str] = &[
    "[] p",
    "<> p",
    "p U q",
    "<> [] p",
    "[] <> p",
    "[] (p -> <> q)",
    "[] (p -> (q U r))",
    "<> (p && <> q)",
    "([] <> p) -> ([] <> q)",
    "! (([] <> p) -> ([] <> q))",
    "[] (p -> X q)",
    "[] (p -> X X q)",
    "p U (q U r)",
    "(p U q) U r",
    "! (p U (q U r))",
    "! ((p U q) U r)",
    "[] (p || <> q)",
    "<> p -> (! p U q)",
    "! (<> p -> (! p U q))",
    "[] (q -> [] ! p)",
    "<> q -> (! p U (q || r))",
    "[] ((p && ! q && <> q) -> (! r U q))",
    "! ([] ((p && ! q && <> q) -> (! r U q)))",
    "[] (p -> (! q U (r || [] ! q)))",
    "(<> p) && (<> q) && (<> r)",
    "([] <> p) && ([] <> q) && ([] <> r)",
    "! (([] <> p) && ([] <> q))",
    "<> [] p || <> [] q",
    "[] (p -> <> (q && <> r))",
    "! ([] (p -> <> (q && <> r)))",
    "(p V q)",
    "! (p V q)",
    "[] (p V q)",
    "p U [] q",
    "<> (p U q)",
    "[] (p U q)",
    "(X p) U (X q)",
    "X (p U q)",
    "(<> p) U (<> q)",
    "([] p) V ([] q)",
    "(p -> q) U r",
    "[] (p -> [] q)",
    "[] ((p -> <> q) && (r -> <> s))",
    "! [] ((p -> <> q) && (r -> <> s))",
    "(p U q) && (q U r) && (r U s)",
    "((p U q) || ! q) U (r V s)",
    "[] (p <-> X q)",
    "[] <> (p && X q)",
];

#[test]
fn no_automaton_is_larger_than_spins() {
    if std::process::Command::new("spin").arg("-V").output().is_err() {
        println!("SKIPPED 1: spin is not installed");
        return;
    }
    let (mut ours, mut theirs, mut larger) = (0, 0, Vec::new());
    for text in SUITE.iter().filter(|text| !text.contains('X')) {
        let formula = parse(text, &mut Names::default()).expect("a formula");
        let claim = translate(&formula).expect("small").degeneralise();
        let printed = std::process::Command::new("spin").args(["-f", text]).output().expect("runs");
        let mut names = Names::default();
        let spins = never::read(&String::from_utf8_lossy(&printed.stdout), &mut names).unwrap_or_else(|e| {
            panic!("{e:?} in SPIN's claim of {text}:\n{}", String::from_utf8_lossy(&printed.stdout))
        });
        ours += claim.len();
        theirs += spins.len();
        if claim.len() > spins.len() {
            larger.push(format!("{text}: {} states, SPIN {}", claim.len(), spins.len()));
        }
    }
    println!(
        "{} formulas: {ours} states, SPIN {theirs}",
        SUITE.iter().filter(|text| !text.contains('X')).count()
    );
    assert!(larger.is_empty(), "{larger:#?}");
}

#[test]
fn spins_claims_accept_the_same_words() {
    if std::process::Command::new("spin").arg("-V").output().is_err() {
        println!("SKIPPED 1: spin is not installed");
        return;
    }
    let mut dice = Dice(Random::new(99));
    for text in SUITE.iter().filter(|text| !text.contains('X')) {
        let mut names = Names::default();
        let formula = parse(text, &mut names).expect("a formula");
        let printed = std::process::Command::new("spin").args(["-f", text]).output().expect("runs");
        let mut theirs = Names::default();
        let spins =
            never::read(&String::from_utf8_lossy(&printed.stdout), &mut theirs).expect("SPIN's claim");
        let number: Vec<u32> = theirs
            .texts
            .iter()
            .map(|text| {
                let bare = text.trim_matches(['(', ')', ' ']);
                names.texts.iter().position(|name| name == bare).expect("an atom of the formula") as u32
            })
            .collect();
        for _ in 0..60 {
            let word = dice.word(names.texts.len() as u64);
            let accepted = word.renamed(&number).is_accepted_by(&spins);
            assert_eq!(accepted, word.satisfies(&formula), "{text} on {word:?}");
        }
    }
}

#[test]
fn strengths_are_those_of_the_hierarchy() {
    let strength = |text: &str| {
        let formula = parse(text, &mut Names::default()).expect("a formula");
        translate(&formula.not()).expect("small").degeneralise().strength()
    };
    assert_eq!(strength("[] p"), Strength::Terminal);
    assert_eq!(strength("[] (p -> X q)"), Strength::Terminal);
    assert_eq!(strength("<> p"), Strength::Weak);
    assert_eq!(strength("[] (p -> <> q)"), Strength::Weak);
    assert_eq!(strength("<> [] p"), Strength::Strong);
    assert_eq!(strength("[] <> p -> [] <> q"), Strength::Strong);
}
