; An action without parameters, conditions or effects.
(define (domain nothing) (:predicates (p)) (:action idle) (:action set :effect (p)))
