//! `hadal validate` from the outside: verdicts, exit codes, which step fails and why.

use std::path::PathBuf;
use std::process::{Command, Output};

const DOMAIN: &str = "(define (domain lift) (:requirements :typing :action-costs)
  (:types box place) (:predicates (at ?b - box ?p - place) (held ?b - box) (free)) (:functions (total-cost))
  (:action take :parameters (?b - box ?p - place) :precondition (and (free) (at ?b ?p))
    :effect (and (held ?b) (not (free)) (not (at ?b ?p)) (increase (total-cost) 2)))
  (:action put :parameters (?b - box ?p - place) :precondition (held ?b)
    :effect (and (free) (at ?b ?p) (not (held ?b)) (increase (total-cost) 1))))";
const PROBLEM: &str = "(define (problem one) (:domain lift) (:objects b - box x y - place)
  (:init (free) (at b x) (= (total-cost) 0)) (:goal (and (at b y) (preference tidy (not (free)))))
  (:metric minimize (+ (total-cost) (* 5 (is-violated tidy)))))";

fn validate(name: &str, problem: &str, plan: &str, flags: &[&str]) -> (Option<i32>, String, String) {
    let folder: PathBuf = std::env::temp_dir().join(format!("hadal-validate-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (file, text) in [("d.pddl", DOMAIN), ("p.pddl", problem), ("a.plan", plan)] {
        std::fs::write(folder.join(file), text).unwrap();
    }
    let files = ["d.pddl", "p.pddl", "a.plan"].map(|file| folder.join(file));
    let Output { status, stdout, stderr } =
        Command::new(env!("CARGO_BIN_EXE_hadal")).arg("validate").args(files).args(flags).output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    (status.code(), String::from_utf8(stdout).unwrap(), String::from_utf8(stderr).unwrap())
}

#[test]
fn a_plan_is_valid_with_its_cost_and_exit_0() {
    let (code, text, _) = validate("valid", PROBLEM, "; a comment\n0: (TAKE b x) [1]\n(put b y)\n", &[]);
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("valid, 2 steps, cost 8") && text.contains("tidy is violated 1 time\n"), "{text}");
}

#[test]
fn json_has_verdict_cost_and_flaw() {
    let (code, text, _) = validate("json", PROBLEM, "(take b x)\n(take b y)\n", &["--json"]);
    assert_eq!(code, Some(1));
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["verdict"], "invalid");
    assert_eq!(value["flaw"]["step"], 2);
    assert_eq!(value["flaw"]["reason"], "(free) does not hold");
    let (_, text, _) = validate("json-valid", PROBLEM, "(take b x)\n(put b y)\n", &["--json"]);
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!((&value["verdict"], &value["cost"]), (&"valid".into(), &"8".into()));
}

#[test]
fn a_goal_that_is_missed_is_exit_1_and_a_broken_problem_exit_2() {
    let (code, text, _) = validate("goal", PROBLEM, "(take b x)\n", &[]);
    assert_eq!(code, Some(1));
    assert!(text.contains("the goal is not reached: (at b y) does not hold"), "{text}");
    let (code, _, text) = validate("broken", &PROBLEM.replace("(at b x)", "(on b x)"), "(take b x)\n", &[]);
    assert_eq!(code, Some(2));
    assert!(text.contains("unknown predicate `on`") && text.contains("^^"), "{text}");
}
