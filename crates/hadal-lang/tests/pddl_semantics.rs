//! What PDDL means: small models whose state spaces and plans are known, rows against the lifted task on every short plan.

#[path = "pddl/corpus.rs"]
#[allow(dead_code)]
mod corpus;
#[path = "pddl/space.rs"]
mod space;

use hadal_exec::rows::{Fired, RowMeaning, RowState};
use hadal_lang::pddl::{self, LiftedTask, Options, SoftGoals};
use hadal_system::Source;
use hadal_system::rows::{Metric, Rational, RowTask, Sense};

fn load(domain: &str, problem: &str, soft: SoftGoals) -> RowTask {
    let options = Options { soft, ..Options::default() };
    match pddl::load(Source::new("domain", domain), Source::new("problem", problem), options) {
        Ok(loaded) => loaded.task,
        Err(not_loaded) => panic!("{not_loaded}"),
    }
}

const NET: &str = "(define (domain net) (:requirements :adl :derived-predicates)
  (:types place transition)
  (:predicates (marked ?p - place) (in ?t - transition ?p - place) (out ?t - transition ?p - place)
     (stuck ?t - transition) (deadlock))
  (:derived (stuck ?t - transition) (exists (?p - place) (and (in ?t ?p) (not (marked ?p)))))
  (:derived (deadlock) (forall (?t - transition) (stuck ?t)))
  (:action fire :parameters (?t - transition)
     :precondition (forall (?p - place) (imply (in ?t ?p) (marked ?p)))
     :effect (forall (?p - place) (and (when (in ?t ?p) (not (marked ?p))) (when (out ?t ?p) (marked ?p))))))";

const PHILOSOPHERS: &str = "(define (problem two) (:domain net)
  (:objects p11 p12 p21 p22 p31 p32 - place t11 t12 t21 t22 t31 t32 - transition)
  (:init (marked p11) (marked p12) (in t11 p11) (out t11 p21) (in t12 p12) (out t12 p22)
    (in t21 p21) (in t21 p12) (out t21 p31) (in t22 p22) (in t22 p11) (out t22 p32)
    (in t31 p31) (out t31 p11) (out t31 p12) (in t32 p32) (out t32 p12) (out t32 p11))
  (:goal (deadlock)))";

#[test]
fn the_net_of_two_philosophers_has_six_markings_and_deadlocks_after_two_steps() {
    let task = load(NET, PHILOSOPHERS, SoftGoals::Collect);
    assert_eq!(task.rows.len(), 6);
    let explored = space::explore(&task, 100);
    assert_eq!(explored.layers.iter().map(Vec::len).sum::<usize>(), 6);
    assert_eq!(explored.edges, 8);
    let meaning = RowMeaning::new(&task);
    let first = explored.layers.iter().position(|layer| layer.iter().any(|s| meaning.is_goal(s).unwrap()));
    assert_eq!(first, Some(2));
}

#[test]
fn tokens_on_a_ring_have_as_many_markings_as_there_are_multisets() {
    let domain = "(define (domain ring) (:requirements :typing :fluents) (:types place)
      (:predicates (next ?a ?b - place)) (:functions (tokens ?p - place))
      (:action move :parameters (?a ?b - place) :precondition (and (next ?a ?b) (> (tokens ?a) 0))
        :effect (and (decrease (tokens ?a) 1) (increase (tokens ?b) 1))))";
    let problem = "(define (problem p) (:domain ring) (:objects a b c d - place)
      (:init (next a b) (next b c) (next c d) (next d a)
        (= (tokens a) 3) (= (tokens b) 0) (= (tokens c) 0) (= (tokens d) 0))
      (:goal (and (>= (tokens c) 3) (= (+ (tokens a) (* 2 (tokens b))) 0))))";
    let explored = space::explore(&load(domain, problem, SoftGoals::Collect), 100);
    // 3 tokens on 4 places: 6 choose 3.
    assert_eq!(explored.layers.iter().map(Vec::len).sum::<usize>(), 20);
}

#[test]
fn levels_of_tpp_5_with_four_preferences_are_the_published_ones() {
    let Some(task) = corpus::tasks()
        .into_iter()
        .find(|task| task.problem.ends_with("tpp-preferences-simple/instance-5.pddl"))
    else {
        return;
    };
    let (domain, problem) = task.sources();
    // Only the first four preferences are kept, as in the published experiment.
    let text = &problem.text;
    let (cut, end) = (text.find("(forall (?l - level)").unwrap(), text.find("(:metric").unwrap());
    let text = format!("{}))\n{}", &text[..cut], &text[end..]);
    let text = text.replace("(* 1 (is-violated p-drive))", "0");
    let loaded = load(&domain.text, &text, SoftGoals::AtEnd);
    let explored = space::explore(&loaded, 6);
    let sizes: Vec<usize> = explored.layers.iter().map(Vec::len).collect();
    assert_eq!(sizes, [1, 2, 10, 61, 252, 945, 3153]);
    let Metric::Minimise(term) = loaded.metric else { panic!("{:?}", loaded.metric) };
    let meaning = RowMeaning::new(&loaded);
    let best = |layer: usize| {
        explored.layers[layer].iter().map(|state| meaning.value(term, state).unwrap().unwrap()).min().unwrap()
    };
    assert_eq!((best(0), best(4), best(5)), (105.into(), 105.into(), 104.into()));
}

/// Every step a lifted task has, as a plan writes it.
fn labels(task: &LiftedTask) -> Vec<String> {
    let mut list = Vec::new();
    for action in &task.actions {
        let mut partial = vec![format!("({}", action.name)];
        for parameter in &action.parameters {
            let members = &task.universe.members[parameter.sort as usize];
            partial = partial
                .iter()
                .flat_map(|text| {
                    members.iter().map(move |&o| format!("{text} {}", task.universe.objects[o as usize]))
                })
                .collect();
        }
        list.extend(partial.into_iter().map(|text| format!("{text})")));
    }
    list
}

fn reported(task: &RowTask, cost: Rational, last: &RowState) -> Option<Rational> {
    let value = |term: u32| RowMeaning::new(task).value(term, last).unwrap();
    match task.metric {
        Metric::Steps => Some(cost),
        Metric::Cost { at_end, offset, sense } => {
            let sum = cost + at_end.map_or(Some(Rational::from_integer(0)), value)?;
            Some(if sense == Sense::Maximise { offset - sum } else { offset + sum })
        }
        Metric::Minimise(term) | Metric::Maximise(term) => value(term),
    }
}

/// Settles preferences by hidden steps, the cheapest way.
fn settle(task: &RowTask, mut state: RowState, mut cost: Rational) -> (RowState, Rational) {
    let meaning = RowMeaning::new(task);
    let cheapest = |state: &RowState| {
        let fired = task.rows.iter().filter(|row| row.hidden).filter_map(|row| {
            match meaning.fire(state, row).unwrap() {
                Fired::Reached(next, cost) => Some((next, cost)),
                Fired::Inapplicable => None,
            }
        });
        fired.min_by_key(|(_, cost)| *cost)
    };
    while let Some((next, more)) = cheapest(&state) {
        state = next;
        cost += more;
    }
    (state, cost)
}

struct Comparison {
    lifted: LiftedTask,
    rows: RowTask,
    labels: Vec<String>,
    plans: usize,
}

impl Comparison {
    /// Compares every list of at most `depth` steps.
    fn run(domain: &str, problem: &str, soft: SoftGoals, depth: usize) -> usize {
        let rows = load(domain, problem, soft);
        let lifted = pddl::read(&Source::new("d", domain), &Source::new("p", problem)).unwrap().task;
        let labels = labels(&lifted);
        let mut comparison = Comparison { lifted, rows, labels, plans: 0 };
        let first = RowMeaning::new(&comparison.rows).initial().unwrap();
        comparison.go(&mut String::new(), first, Rational::from_integer(0), depth);
        comparison.plans
    }

    fn go(&mut self, plan: &mut String, state: RowState, cost: Rational, depth: usize) {
        let judged = pddl::validate_task(&self.lifted, plan);
        let (last, total) = settle(&self.rows, state.clone(), cost);
        let is_goal = RowMeaning::new(&self.rows).is_goal(&last).unwrap();
        assert_eq!(judged.is_valid(), is_goal, "{plan}{judged:?}");
        if is_goal {
            assert_eq!(judged.metric, reported(&self.rows, total, &last), "{plan}{judged:?}");
            self.plans += 1;
        }
        if depth == 0 {
            return;
        }
        for label in self.labels.clone() {
            let length = plan.len();
            plan.push_str(&label);
            plan.push('\n');
            let lifted = pddl::validate_task(&self.lifted, plan).flaw.is_none_or(|flaw| flaw.step.is_none());
            let rows: Vec<u32> =
                (0..self.rows.rows.len() as u32).filter(|&row| self.rows.label(row) == label).collect();
            let fired = rows.iter().find_map(|&row| {
                match RowMeaning::new(&self.rows).fire(&state, &self.rows.rows[row as usize]).unwrap() {
                    Fired::Reached(next, more) => Some((next, more)),
                    Fired::Inapplicable => None,
                }
            });
            match (lifted, fired) {
                (true, Some((next, more))) => self.go(plan, next, cost + more, depth - 1),
                (false, None) => {}
                // A step that changes nothing has no row.
                (true, None) if rows.is_empty() => {}
                (lifted, fired) => panic!("{plan}: lifted {lifted}, rows {}", fired.is_some()),
            }
            plan.truncate(length);
        }
    }
}

#[test]
fn conditions_and_effects_mean_the_same_lifted_and_as_rows() {
    let domain = "(define (domain d) (:requirements :adl :fluents)
      (:types a b - thing c - object)
      (:constants k - c a1 - a b1 - b)
      (:predicates (p ?x - thing) (q ?x - (either a c)) (r ?x ?y) (s) (t))
      (:functions (n ?x - thing) (m) (total))
      (:action swap :parameters (?x - thing ?y - thing)
        :precondition (and (or (p ?x) (and (s) (not (t))) (= ?x ?y)) (not (= ?y a1)))
        :effect (and (p ?y) (not (p ?x)) (when (p ?y) (s)) (increase (total) 2)
          (forall (?z - thing) (when (or (p ?z) (r ?z ?y)) (increase (m) 1)))))
      (:action count :parameters (?x - thing)
        :precondition (and (exists (?y - thing) (and (p ?y) (not (r ?x ?y)))) (<= (n ?x) (m)))
        :effect (and (assign (n ?x) (+ (n ?x) (* 2 (m)))) (increase (total) (n a1)) (when (s) (and (t) (not (s))))
          (when (not (t)) (decrease (m) 1/2))))
      (:action mark :parameters (?x - (either a c))
        :precondition (forall (?y - thing) (imply (p ?y) (not (r ?y ?x))))
        :effect (and (q ?x) (r b1 ?x) (not (r b1 ?x)) (increase (total) 1))))";
    let problem = "(define (problem p) (:domain d)
      (:init (p b1) (r b1 a1) (= (n a1) 0) (= (n b1) 1) (= (m) 1))
      (:goal (and (or (t) (q k) (> (m) 3)) (not (and (p a1) (s)))))
      (:metric minimize (+ (total) (* 3 (m)))))";
    assert!(Comparison::run(domain, problem, SoftGoals::Collect, 4) > 100);
}

#[test]
fn deletes_of_facts_that_a_step_does_not_need_have_no_condition() {
    // Both facts of a wall can be true: they are no values of one variable.
    let domain = "(define (domain d) (:predicates (wet ?w) (red ?w) (dry ?w) (here ?w) (next ?v ?w))
      (:action paint :parameters (?w) :precondition (and (here ?w) (dry ?w)) :effect (and (red ?w) (wet ?w)))
      (:action wash :parameters (?w) :precondition (here ?w) :effect (and (wet ?w) (not (red ?w)) (not (dry ?w))))
      (:action wait :parameters (?w) :precondition (here ?w) :effect (and (dry ?w) (not (wet ?w))))
      (:action go :parameters (?v ?w) :precondition (and (here ?v) (next ?v ?w)) :effect (and (here ?w) (not (here ?v)))))";
    let problem = "(define (problem p) (:domain d) (:objects a b)
      (:init (here a) (wet a) (next a b) (next b a)) (:goal (and (red a) (red b) (here a))))";
    let task = load(domain, problem, SoftGoals::Collect);
    assert!(task.rows.len() >= 8 && task.variables.iter().any(|variable| variable.values.len() == 2));
    assert!(task.rows.iter().flat_map(|row| &row.effects).all(|effect| effect.when.is_empty()), "{task:?}");
    let compared = Comparison::run(domain, problem, SoftGoals::Collect, 7);
    assert!(compared > 30, "{compared}");
}

#[test]
fn preferences_and_recursive_rules_mean_the_same_lifted_and_as_rows() {
    let domain = "(define (domain d) (:requirements :adl :preferences :derived-predicates)
      (:types node)
      (:predicates (on ?x - node) (edge ?x ?y - node) (far ?x - node))
      (:functions (cost))
      (:derived (far ?x - node) (or (on ?x) (exists (?y - node) (and (edge ?y ?x) (far ?y) (not (on ?y))))))
      (:action flip :parameters (?x - node)
        :precondition (and (not (on ?x)) (preference neat (forall (?y - node) (imply (edge ?x ?y) (on ?y)))))
        :effect (and (on ?x) (increase (cost) 2)))
      (:action cut :parameters (?x ?y - node) :precondition (and (on ?x) (edge ?x ?y))
        :effect (and (not (on ?x)) (not (edge ?x ?y)) (edge ?y ?x) (increase (cost) 1))))";
    let problem = "(define (problem p) (:domain d) (:objects a b c - node)
      (:init (edge a b) (edge b c) (on c))
      (:goal (and (far b)
         (preference all (and (on a) (on b)))
         (forall (?x - node) (preference each (or (on ?x) (edge ?x a))))
         (preference odd (not (far c)))))
      (:metric maximize (- 50 (+ (cost) (* 3 (is-violated neat)) (* 5 (is-violated all)) (* 2 (is-violated each))
         (* -4 (is-violated odd))))))";
    for soft in [SoftGoals::Collect, SoftGoals::AtEnd] {
        let plans = Comparison::run(domain, problem, soft, 5);
        assert!(plans > 20, "{plans}");
    }
}

#[test]
fn constraints_on_states_accept_exactly_the_traces_that_their_definitions_do() {
    let domain = "(define (domain d) (:requirements :adl :constraints) (:predicates (p) (q))
      (:action neither :effect (and (not (p)) (not (q)))) (:action one :effect (and (p) (not (q))))
      (:action other :effect (and (not (p)) (q))) (:action both :effect (and (p) (q))))";
    let watches = [
        "(at end (p))",
        "(always (or (p) (q)))",
        "(sometime (and (p) (q)))",
        "(at-most-once (p))",
        "(sometime-after (p) (q))",
        "(sometime-before (p) (q))",
        "(within 2 (and (p) (q)))",
        "(always-within 2 (p) (q))",
        "(always-within 0 (p) (q))",
        "(hold-during 1 3 (p))",
        "(hold-after 2 (p))",
        "(hold-after 0 (p))",
    ];
    for watch in watches {
        for (wrapped, metric) in [
            (format!("(preference w {watch})"), "(:metric minimize (is-violated w))"),
            (watch.to_string(), ""),
        ] {
            let problem = format!(
                "(define (problem p) (:domain d) (:init (p)) (:goal (or (p) (q) (not (p)))) (:constraints {wrapped}) {metric})"
            );
            for soft in [SoftGoals::Collect, SoftGoals::AtEnd] {
                let plans = Comparison::run(domain, &problem, soft, 4);
                assert!(plans > 0 || metric.is_empty(), "{problem}");
            }
        }
    }
}
