; More is better, up to a limit, and the end may cost what the way earns.
(define (domain most) (:requirements :numeric-fluents :typing) (:types coin)
  (:predicates (taken ?c - coin) (open)) (:functions (purse) (worth ?c - coin))
  (:action take :parameters (?c - coin) :precondition (and (open) (not (taken ?c)))
    :effect (and (taken ?c) (increase (purse) (worth ?c))))
  (:action unlock :precondition (>= (purse) 3) :effect (and (open) (decrease (purse) 3)))
  (:action shut :precondition (open) :effect (not (open))))
