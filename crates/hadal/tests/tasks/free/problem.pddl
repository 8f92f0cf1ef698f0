; expect: cost 1000003
; The long way round costs a million and three; the short one a million and four.
(define (problem p) (:domain free)
  (:objects a b c d e f g h - spot)
  (:init (at a) (ring a b) (ring b c) (ring c a) (ring d e) (ring e d) (ring f g) (ring g h) (ring h f)
    (gate a d) (= (toll a d) 1000004) (gate b f) (= (toll b f) 1) (gate g d) (= (toll g d) 1000002) (= (total-cost) 0))
  (:goal (at e))
  (:metric minimize (total-cost)))
