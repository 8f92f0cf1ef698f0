; Numbers below nothing, and fractions of them.
(define (domain negative)
  (:requirements :numeric-fluents)
  (:predicates (done))
  (:functions (x) (y))
  (:action down :effect (and (decrease (x) 2) (increase (y) 0.5)))
  (:action up :precondition (<= (x) -1) :effect (and (increase (x) 1) (decrease (y) 1.25))))
