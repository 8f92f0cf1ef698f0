//! What is wrong with a text is said where it stands, several mistakes in one go; nothing panics on any text.

use hadal_lang::diagnostic::render_plain;
use hadal_lang::pddl::{self, Excess, NotLoaded, Options};
use hadal_system::Source;

fn findings(domain: &str, problem: &str) -> String {
    let options = Options { memory: 1 << 26, work: 1_000_000, ..Options::default() };
    match pddl::load(Source::new("d.pddl", domain), Source::new("p.pddl", problem), options) {
        Ok(loaded) => loaded.warnings.iter().map(|(source, finding)| render_plain(source, finding)).collect(),
        Err(NotLoaded::Refused(refused)) => refused
            .diagnostics
            .list
            .iter()
            .map(|finding| render_plain(&refused.source_text, finding))
            .collect(),
        Err(stopped) => stopped.to_string(),
    }
}

const DOMAIN: &str = "(define (domain d) (:requirements :adl :fluents) (:types t)
 (:predicates (p ?x - t) (q)) (:functions (f) (g ?x - t))
 (:action a :parameters (?x - t) :precondition (p ?x) :effect (and (q) (increase (f) (g ?x)))))";
const PROBLEM: &str = "(define (problem x) (:domain d) (:objects o - t) (:init (p o) (= (f) 0) (= (g o) 1.5))
 (:goal (q)) (:metric minimize (f)))";

#[test]
fn grounding_that_takes_too_much_is_stopped_and_not_refused() {
    let objects: Vec<String> = (0..60).map(|n| format!("o{n}")).collect();
    let domain = "(define (domain d) (:requirements :strips) (:predicates (p ?a ?b ?c ?d ?e))
 (:action a :parameters (?a ?b ?c ?d ?e) :precondition () :effect (p ?a ?b ?c ?d ?e)))";
    let problem = format!(
        "(define (problem x) (:domain d) (:objects {}) (:init) (:goal (p o1 o2 o3 o4 o5)))",
        objects.join(" ")
    );
    let stopped = |options: Options| match pddl::load(
        Source::new("d.pddl", domain),
        Source::new("p.pddl", problem.as_str()),
        options,
    ) {
        Err(NotLoaded::Stopped(excess)) => excess,
        other => panic!("{other:?}"),
    };
    let few = Options { memory: 1 << 22, ..Options::default() };
    assert!(matches!(stopped(few), Excess::Memory { bytes } if bytes > 1 << 22 && bytes < 1 << 26));
    let short = Options { work: 1_000_000, ..Options::default() };
    assert!(matches!(stopped(short), Excess::Work { steps } if steps < 2_000_000));
    let late = Options { deadline: Some(std::time::Instant::now()), ..Options::default() };
    assert_eq!(stopped(late), Excess::Time);
}

#[test]
fn several_mistakes_are_reported_with_carets_in_one_go() {
    let text = findings(
        "(define (domain d) (:predicates (near ?x ?y))
 (:action a :parameters (?x - thing) :precondition (and (nea ?x ?x) (near ?x) (near ?x ?z)) :effect (near ?x ?x)))",
        PROBLEM,
    );
    assert_eq!(text.matches("error:").count(), 4, "{text}");
    assert!(text.contains("unknown type `thing`"), "{text}");
    assert!(text.contains("unknown predicate `nea`") && text.contains("did you mean `near`?"), "{text}");
    assert!(text.contains("predicate `near` takes 2 arguments, not 1"), "{text}");
    assert!(text.contains("d.pddl:2:88: error: unknown variable `?z`"), "{text}");
}

#[test]
fn what_is_not_supported_gets_a_caret() {
    // Where the caret stands: under the beginning of this.
    let at = |domain: &str, problem: &str, said: &str, begins: &str| {
        let text = findings(domain, problem);
        let lines: Vec<&str> = text.lines().collect();
        let caret =
            lines.iter().position(|line| line.contains('^')).unwrap_or_else(|| panic!("no caret: {text}"));
        let column = lines[caret].find('^').unwrap();
        assert!(
            text.contains(said) && lines[caret - 1][column..].trim_start_matches('(').starts_with(begins),
            "{text}"
        );
    };
    let domain = |from: &str, to: &str| DOMAIN.replace(from, to);
    at(
        &domain("(:action a", "(:durative-action b :duration (= ?duration 1)) (:action a"),
        PROBLEM,
        "actions with durations are not supported",
        ":durative-action",
    );
    at(
        DOMAIN,
        &PROBLEM.replace("(p o)", "(p o) (at 5 (q))"),
        "literals that come true at a time are not supported",
        "at 5 (q)",
    );
    at(
        &domain("(:functions (f)", "(:functions (where ?x - t) - t (f)"),
        PROBLEM,
        "functions whose values are objects are not supported",
        "t (f)",
    );
    at(
        &domain("(and (q)", "(and (probabilistic 0.5 (q))"),
        PROBLEM,
        "outcomes of chance are not part of a plan",
        "probabilistic",
    );
    let circle = domain("(q)) (:functions", "(q) (r)) (:derived (r) (not (r))) (:functions");
    at(&circle, PROBLEM, "this rule depends on its own negation", "");
}

#[test]
fn doubts_are_warnings() {
    assert_eq!(findings(DOMAIN, PROBLEM), "");
    let quiet = DOMAIN.replace(":adl :fluents", ":strips");
    let text = findings(&quiet, PROBLEM);
    assert!(text.contains("warning: `:typing` is used but not declared"), "{text}");
    let text = findings(DOMAIN, &PROBLEM.replace("(= (f) 0)", "(= (h) 0)"));
    assert!(text.contains("the domain has no function `h`"), "{text}");
    let text = findings(&DOMAIN.replace("(q)) (:functions", "(q) (between ?x ?x)) (:functions"), PROBLEM);
    assert!(text.contains("warning: `?x` is declared twice"), "{text}");
}

#[test]
fn no_mutation_of_a_text_panics() {
    let mut random = hadal_testkit::Random::new(1);
    let mut draw = |bound: usize| random.below(bound);
    let domain = "(define (domain d) (:requirements :adl :fluents :constraints) (:types a b - t)
 (:constants k - a) (:predicates (p ?x - t) (q) (r ?x ?y - t) (at ?x - (either a b)) (d ?x - t))
 (:functions (f) (g ?x - t) - number) (:derived (d ?x - t) (exists (?y - t) (and (r ?x ?y) (d ?y))))
 (:action a :parameters (?x - t ?y - a) :precondition (and (p ?x) (or (q) (not (r ?x k)) (> (g ?x) (/ (f) 2)))
   (preference w (forall (?z - t) (imply (p ?z) (= ?z ?x)))))
  :effect (and (q) (forall (?z - t) (when (p ?z) (and (not (p ?z)) (scale-down (g ?z) 3)))) (increase (f) (- (g ?x))))))";
    let problem = "(define (problem x) (:domain d) (:objects o - a n - b) (:init (p o) (at o) (not (q)) (= (f) 0)
  (= (g o) 1.5) (= (g n) -2)) (:goal (and (q) (preference z (d k)))) (:constraints (and (always-within 3 (q) (p o))
  (preference v (hold-during 1 2 (q))))) (:metric maximize (- (* 2 (f)) (is-violated z))))";
    let words = [
        "(",
        ")",
        "and",
        "not",
        "?x",
        "-",
        "0",
        "1e99",
        "either",
        ":effect",
        "forall",
        "preference",
        "999999999999999999",
        "o",
        "=",
        "probabilistic",
        ";",
        "é",
    ];
    for _ in 0..4000 {
        let mut texts = [domain.to_string(), problem.to_string()];
        for _ in 0..1 + draw(3) {
            let text = &mut texts[draw(2)];
            let mut at = draw(text.len() + 1);
            while !text.is_char_boundary(at) {
                at -= 1;
            }
            let mut end = (at + draw(12)).min(text.len());
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            if draw(2) == 0 && end > at {
                text.replace_range(at..end, "");
            } else {
                text.insert_str(at, &format!(" {} ", words[draw(words.len())]));
            }
        }
        findings(&texts[0], &texts[1]);
        let _ = pddl::validate(
            &Source::new("d", &*texts[0]),
            &Source::new("p", &*texts[1]),
            "(a o o)\n(a n k)\n(",
        );
    }
}

#[test]
fn endless_parameter_lists_are_refused() {
    let variables: Vec<String> = (0..100).map(|number| format!("?v{number}")).collect();
    let variables = variables.join(" ");
    let domain = DOMAIN.replace("(?x - t) :precondition", &format!("({variables} ?x - t) :precondition"));
    assert!(findings(&domain, PROBLEM).contains("a list has more than 60 variables"));
    let domain = DOMAIN.replace("(q)) (:functions", &format!("(q) (wide {variables})) (:functions"));
    assert!(findings(&domain, PROBLEM).contains("a list has more than 60 variables"));
}

#[test]
fn bottomless_nesting_is_refused() {
    for opening in ["(not ", "(and ", "(forall (?z - t) ", "(when (q) "] {
        let deep = format!("{}(q){}", opening.repeat(50_000), ")".repeat(50_000));
        let domain = DOMAIN.replace("(p ?x) :effect", &format!("{deep} :effect"));
        assert!(findings(&domain, PROBLEM).contains("lists nest deeper than"));
    }
    let wide = format!("(and {})", "(q) ".repeat(100_000));
    assert_eq!(findings(&DOMAIN.replace("(p ?x) :effect", &format!("{wide} :effect")), PROBLEM), "");
}
