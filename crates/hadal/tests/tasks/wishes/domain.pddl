; Two lamps that are set at will, at a price.
(define (domain wishes) (:requirements :adl :constraints :preferences :action-costs) (:predicates (p) (q)) (:functions (total-cost))
  (:action neither :effect (and (not (p)) (not (q)) (increase (total-cost) 1)))
  (:action one :effect (and (p) (not (q)) (increase (total-cost) 2)))
  (:action other :precondition (preference after-p (p)) :effect (and (not (p)) (q) (increase (total-cost) 1)))
  (:action both :effect (and (p) (q) (increase (total-cost) 3))))
