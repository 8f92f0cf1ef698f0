; Wishes of every kind at once.
(define (domain soft) (:requirements :adl :preferences :constraints :action-costs) (:types room)
  (:predicates (in ?r - room) (clean ?r - room) (door ?a ?b - room) (lit)) (:functions (total-cost))
  (:action go :parameters (?a ?b - room)
    :precondition (and (in ?a) (or (door ?a ?b) (door ?b ?a)) (preference shut (lit)))
    :effect (and (in ?b) (not (in ?a)) (increase (total-cost) 1)))
  (:action wipe :parameters (?r - room) :precondition (in ?r) :effect (and (clean ?r) (increase (total-cost) 2)))
  (:action switch :effect (and (when (lit) (not (lit))) (when (not (lit)) (lit)) (increase (total-cost) 1))))
