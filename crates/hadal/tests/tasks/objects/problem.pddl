; expect: cost 0
(define (problem p) (:domain objects) (:objects a b - t) (:init)
  (:goal (and (exists (?x - t) (not (= ?x k))) (not (= a b)) (forall (?x - t) (or (= ?x k) (= ?x a) (= ?x b))))))
