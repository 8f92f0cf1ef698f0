; expect: cost 5
; Raise the first, turn three times, raise the first again.
(define (problem p) (:domain arity) (:objects x y - v)
  (:init (succ x y) (row x x x x x x x x x x x x))
  (:goal (row y x x x x x x x x y x x)))
