; expect: cost 3
; A circle of three is even and odd everywhere once one node is lit; d is lit from c. Light a; cut c d once d is even;
; then d is not reached, so that it is dark again, and e may be lit.
(define (problem p) (:domain rules)
  (:objects a b c d e - node)
  (:init (edge a b) (edge b c) (edge c a) (edge c d) (edge d e))
  (:goal (and (odd a) (even c) (lit e) (not (reached d)))))
