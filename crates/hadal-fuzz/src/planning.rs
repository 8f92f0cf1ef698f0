//! PDDL: domains, problems, plans, and outcomes of chance.

use hadal_lang::pddl::{self, NotLoaded, Options};
use hadal_system::Source;

pub(crate) const DOMAIN: &str =
    "(define (domain d) (:requirements :adl :fluents :constraints) (:types a b - t)
 (:constants k - a) (:predicates (p ?x - t) (q) (r ?x ?y - t) (d ?x - t))
 (:functions (f) (g ?x - t) - number) (:derived (d ?x - t) (exists (?y - t) (and (r ?x ?y) (d ?y))))
 (:action go :parameters (?x - t ?y - a) :precondition (and (p ?x) (or (q) (not (r ?x k))))
  :effect (and (q) (forall (?z - t) (when (p ?z) (not (p ?z)))) (increase (f) 1))))";
pub(crate) const PROBLEM: &str =
    "(define (problem x) (:domain d) (:objects o - a n - b) (:init (p o) (= (f) 0) (= (g o) 1.5)
  (= (g n) -2)) (:goal (and (q) (preference z (d k)))) (:metric minimize (+ (f) (is-violated z))))";
/// A domain with outcomes of chance, and its problem.
pub(crate) const CHANCES: &str = "(define (domain c) (:requirements :probabilistic-effects) (:predicates (up) (done))
 (:action toss :parameters () :precondition (not (up)) :effect (probabilistic 0.5 (up) 0.25 (and (up) (done)))))
(define (problem y) (:domain c) (:init) (:goal (up)))";

/// Grounding may take this much: more is an error, which must come soon.
fn small() -> Options {
    Options { memory: 64 << 20, work: 2_000_000, ..Options::default() }
}

fn ground(domain: &str, problem: &str) -> bool {
    match pddl::load(Source::new("domain.pddl", domain), Source::new("problem.pddl", problem), small()) {
        Ok(loaded) => {
            let _ = loaded.warnings;
            true
        }
        Err(NotLoaded::Refused(refused)) => {
            assert!(refused.diagnostics.has_errors(), "a refusal says why");
            false
        }
        Err(NotLoaded::Stopped(_)) => false,
    }
}

pub(crate) fn domain(data: &[u8]) -> bool {
    ground(&String::from_utf8_lossy(data), PROBLEM)
}

pub(crate) fn problem(data: &[u8]) -> bool {
    ground(DOMAIN, &String::from_utf8_lossy(data))
}

pub(crate) fn plan(data: &[u8]) -> bool {
    let (domain, problem) = (Source::new("domain.pddl", DOMAIN), Source::new("problem.pddl", PROBLEM));
    match pddl::validate(&domain, &problem, &String::from_utf8_lossy(data)) {
        Ok(judged) => judged.is_valid(),
        Err(refused) => panic!("the task is right: {:?}", refused.diagnostics),
    }
}

/// Domain and problem with outcomes of chance in one text, as the planning competitions wrote them.
pub(crate) fn ppddl(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let at = text.find("(define (problem").unwrap_or(text.len());
    let (domain, problem) = text.split_at(at);
    let problem = if problem.is_empty() { PROBLEM } else { problem };
    let (domain, problem) = (Source::new("domain.pddl", domain), Source::new("problem.pddl", problem));
    pddl::load_chances(domain, problem, small()).is_ok()
}
