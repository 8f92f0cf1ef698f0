//! Relaxed plans count what rows use up.

use hadal_exec::rows::RowSpace;
use hadal_guide::plan::{CostKind, Relaxation, Relaxed, RelaxedGuide};
use hadal_lang::pddl;
use hadal_system::Source;

/// Timber is felled, sawn into wood, carried one by one; houses take two pieces of wood each.
const SAWMILL: &str = "(define (domain sawmill) (:requirements :typing :numeric-fluents) (:types place)
  (:predicates (mill ?p - place) (forest ?p - place) (cart ?p - place))
  (:functions (timber ?p - place) (wood ?p - place) (houses ?p - place) (loaded) (room))
  (:action fell :parameters (?p - place) :precondition (forest ?p) :effect (increase (timber ?p) 1))
  (:action saw :parameters (?p - place) :precondition (and (mill ?p) (>= (timber ?p) 1))
    :effect (and (decrease (timber ?p) 1) (increase (wood ?p) 1)))
  (:action load :parameters (?p - place) :precondition (and (cart ?p) (> (wood ?p) 0) (> (room) 0))
    :effect (and (decrease (wood ?p) 1) (increase (loaded) 1) (decrease (room) 1)))
  (:action unload :parameters (?p - place) :precondition (and (cart ?p) (> (loaded) 0))
    :effect (and (increase (wood ?p) 1) (decrease (loaded) 1) (increase (room) 1)))
  (:action go :parameters (?a ?b - place) :precondition (cart ?a) :effect (and (cart ?b) (not (cart ?a))))
  (:action build :parameters (?p - place) :precondition (>= (wood ?p) 2)
    :effect (and (decrease (wood ?p) 2) (increase (houses ?p) 1))))";

fn estimate(timber: u32, wood_there: u32, houses: u32, at: &str) -> u32 {
    let problem = format!(
        "(define (problem p) (:domain sawmill) (:objects here there - place)
         (:init (mill here) (forest here) (cart here) (= (timber here) {timber}) (= (timber there) 0) (= (wood here) 0)
           (= (wood there) {wood_there}) (= (houses here) 0) (= (houses there) 0) (= (loaded) 0) (= (room) 1))
         (:goal (>= (houses {at}) {houses})))"
    );
    let loaded =
        pddl::load(Source::new("d", SAWMILL), Source::new("p", problem.as_str()), pddl::Options::default());
    let task = match loaded {
        Ok(loaded) => loaded.task,
        Err(why) => panic!("{why}"),
    };
    let space = RowSpace::new(task).expect("a task that runs");
    let guide = RelaxedGuide::new(Relaxed::new(&space, CostKind::Unit), Relaxation::Plan);
    let mut exploration = guide.exploration();
    exploration.cost(space.initial(), None)
}

#[test]
fn every_row_of_a_relaxed_plan_needs_its_own_share() {
    // Three houses: three times build, six times saw, six times fell.
    assert_eq!(estimate(0, 0, 3, "here"), 15);
    // Timber that is there need not be felled.
    assert_eq!(estimate(4, 0, 3, "here"), 11);
    assert_eq!(estimate(9, 0, 3, "here"), 9);
    // Elsewhere, each piece is loaded and unloaded, and the cart goes there; one house's wood is there already.
    assert_eq!(estimate(9, 2, 2, "there"), 2 + 2 + 2 + 2 + 1);
    assert_eq!(estimate(0, 4, 2, "there"), 2);
}
