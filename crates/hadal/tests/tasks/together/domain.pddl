; Effects under conditions all read the state before: every lamp passes its light on at once.
(define (domain together)
  (:requirements :adl)
  (:types lamp)
  (:predicates (on ?l - lamp) (next ?a ?b - lamp))
  (:action shift
    :effect (forall (?a ?b - lamp)
      (and (when (and (next ?a ?b) (on ?a)) (on ?b))
           (when (and (next ?a ?b) (not (on ?a))) (not (on ?b))))))
  (:action flip :parameters (?l - lamp)
    :effect (and (when (on ?l) (not (on ?l))) (when (not (on ?l)) (on ?l)))))
