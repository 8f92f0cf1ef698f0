; expect: cost 6
; 2 a - b = 7 and a / 2 - 5 b / 4 <= 0.75: a = 4, b = 1 gives exactly 0.75, which is not below it; a = 5, b = 3 does, and
; takes 8 steps, but one more of each is not needed: y < 0.75 or x = -6 with a = 5, b = 1.
(define (problem p) (:domain negative)
  (:init (= (x) 3) (= (y) 0))
  (:goal (or (and (= (x) -4) (< (y) 0.75)) (and (= (x) -6) (>= (* (x) (y)) -7.5)))))
