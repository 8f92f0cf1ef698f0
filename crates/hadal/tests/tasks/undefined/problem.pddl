; expect: cost 5
; give 4, double, half, half to 2, use.
(define (problem p) (:domain undefined) (:init (= (g) 2)) (:goal (q)))
