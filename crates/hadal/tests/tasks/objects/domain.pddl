; A goal that speaks of objects alone.
(define (domain objects) (:requirements :adl) (:types t) (:constants k - t) (:predicates (p ?x - t))
  (:action do :parameters (?x - t) :effect (p ?x)))
