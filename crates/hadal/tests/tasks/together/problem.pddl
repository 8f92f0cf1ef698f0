; expect: cost 3
; Five lamps in a ring, one lit: two steps to d, and one more lamp to be lit on the way.
(define (problem p) (:domain together)
  (:objects a b c d e - lamp)
  (:init (on a) (next a b) (next b c) (next c d) (next d e) (next e a))
  (:goal (and (not (on a)) (not (on b)) (on c) (on d) (not (on e)))))
