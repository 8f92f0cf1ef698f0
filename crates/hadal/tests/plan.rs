//! `hadal plan`: optimal costs are those that other planners proved, plans validate, verdicts and exit codes are as
//! documented.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The public corpus and the oracle's table, where they are.
fn corpus() -> Option<(PathBuf, String)> {
    let table = std::fs::read_to_string(hadal_testkit::corpus::oracle("planning.tsv")?).ok()?;
    Some((hadal_testkit::corpus::find("pddl")?, table))
}

fn plan(domain: &Path, problem: &Path, more: &[&str]) -> (Output, serde_json::Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(["plan", "--json", "--memory", "1G"])
        .args([domain, problem])
        .args(more)
        .output()
        .expect("hadal runs");
    let json = serde_json::from_slice(&output.stdout).unwrap_or_default();
    (output, json)
}

/// Writes a task of one's own into a folder that goes with the test.
fn task(name: &str, domain: &str, problem: &str) -> (PathBuf, PathBuf) {
    let folder = std::env::temp_dir().join(format!("hadal-plan-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder for the test");
    let paths = (folder.join("domain.pddl"), folder.join("problem.pddl"));
    std::fs::write(&paths.0, domain).expect("a domain");
    std::fs::write(&paths.1, problem).expect("a problem");
    paths
}

const LAMPS: &str = "(define (domain lamps) (:requirements :strips :typing :action-costs)
  (:types lamp) (:predicates (on ?l - lamp) (next ?a ?b - lamp) (first ?l - lamp))
  (:functions (total-cost) - number)
  (:action begin :parameters (?l - lamp) :precondition (first ?l)
    :effect (and (on ?l) (increase (total-cost) 3)))
  (:action pass :parameters (?a ?b - lamp) :precondition (and (on ?a) (next ?a ?b))
    :effect (and (on ?b) (not (on ?a)) (increase (total-cost) 0))))";

#[test]
fn a_small_task_is_solved_optimally_with_steps_that_cost_nothing() {
    let problem = "(define (problem three) (:domain lamps) (:objects a b c - lamp)
      (:init (first a) (next a b) (next b c) (= (total-cost) 0)) (:goal (and (on c) (on a)))
      (:metric minimize (total-cost)))";
    let (domain, problem) = task("lamps", LAMPS, problem);
    for more in [&["--optimal"][..], &["--optimal", "--external"], &[]] {
        let (output, json) = plan(&domain, &problem, more);
        assert_eq!(output.status.code(), Some(0), "{more:?}: {}", String::from_utf8_lossy(&output.stderr));
        assert_eq!((&json["verdict"], &json["cost"]), (&"solved".into(), &6.into()), "{more:?}");
        assert_eq!(json["plan_length"], 4, "{more:?}");
        assert_eq!(json["optimal"], true, "{more:?}");
        assert_eq!(json["plan"][0], "(begin a)", "{more:?}");
    }
}

#[test]
fn a_task_without_a_plan_is_proved_unsolvable() {
    let problem = "(define (problem none) (:domain lamps) (:objects a b c - lamp)
      (:init (first a) (next a b) (= (total-cost) 0)) (:goal (on c)))";
    let (domain, problem) = task("none", LAMPS, problem);
    for more in [&["--optimal"][..], &[]] {
        let (output, json) = plan(&domain, &problem, more);
        assert_eq!(output.status.code(), Some(1), "{more:?}");
        assert_eq!((&json["verdict"], &json["plan"]), (&"unsolvable".into(), &serde_json::Value::Null));
    }
}

#[test]
fn optima_are_those_of_the_oracle() {
    let Some((models, table)) = corpus() else {
        println!("skipped: 1 test of planning needs the public corpus");
        return;
    };
    let (mut checked, mut refused) = (0, Vec::new());
    for line in table.lines().filter(|line| !line.starts_with('#')).skip(1) {
        let columns: Vec<&str> = line.split('\t').collect();
        let [problem, domain, kind, optimum, ..] = columns[..] else { continue };
        let expanded = columns.get(8).and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX);
        let operators = columns.get(13).and_then(|text| text.parse::<u64>().ok()).unwrap_or(u64::MAX);
        // Small ones here; `hadal bench planning` has the others.
        if kind == "numeric" || expanded > 2_000 || expanded * operators > 400_000 {
            continue;
        }
        let (output, json) = plan(&models.join(domain), &models.join(problem), &["--optimal"]);
        if output.status.code() == Some(2) {
            refused.push(problem.to_owned());
            continue;
        }
        let cost = json["cost"].as_f64();
        assert_eq!(cost, optimum.parse().ok(), "{problem}: {json:#}");
        assert_eq!(json["optimal"], true, "{problem}");
        checked += 1;
    }
    assert!(refused.is_empty(), "refused: {refused:?}");
    assert!(checked >= 40, "only {checked} tasks of the oracle were checked");
}
