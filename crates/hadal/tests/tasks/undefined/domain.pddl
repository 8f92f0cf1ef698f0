; What has no value can be given one, and before that nothing is true of it.
(define (domain undefined) (:requirements :numeric-fluents :negative-preconditions) (:predicates (p) (q))
  (:functions (f) (g))
  (:action give :effect (assign (f) 4))
  (:action half :precondition (>= (f) 1) :effect (scale-down (f) 2))
  (:action double :precondition (< (f) 100) :effect (and (scale-up (f) 2) (p)))
  (:action use :precondition (and (p) (= (f) (g))) :effect (q)))
