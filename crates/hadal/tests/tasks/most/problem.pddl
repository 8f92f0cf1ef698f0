; expect: cost 6
; Pay 3, take 5 and 4 (not -2), leave it open or not: 3 - 3 + 5 + 4 = 9, and shutting is asked for; opening again would cost 3,
; which the third coin, worth -3, never brings back. The last coin must be taken: 9 - 3 = 6.
(define (problem p) (:domain most) (:objects a b c - coin)
  (:init (= (purse) 3) (= (worth a) 5) (= (worth b) 4) (= (worth c) -3))
  (:goal (and (taken c) (not (open))))
  (:metric maximize (purse)))
