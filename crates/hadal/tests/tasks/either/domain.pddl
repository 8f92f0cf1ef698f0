; Things of several types take part in one action, and quantifiers range over either of them.
(define (domain either)
  (:requirements :adl :typing)
  (:types crate barrel - cargo tin sack place)
  (:predicates (at ?x - (either cargo tin sack) ?p - place) (heavy ?x - (either crate tin)) (moved ?x - (either cargo sack)))
  (:action carry
    :parameters (?x - (either tin cargo) ?a ?b - place)
    :precondition (and (at ?x ?a) (not (= ?a ?b)))
    :effect (and (at ?x ?b) (not (at ?x ?a))
      (forall (?y - (either sack barrel)) (when (at ?y ?a) (and (at ?y ?b) (not (at ?y ?a)) (moved ?y)))))))
