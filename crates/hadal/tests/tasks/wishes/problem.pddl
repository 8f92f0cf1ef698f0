; expect: cost 16
; A wish of every kind on the way, one on every step of a kind, one at the end; found by trying all plans of up to seven steps.
(define (problem p) (:domain wishes) (:init (p) (= (total-cost) 0)) (:goal (and (not (p)) (preference last (q))))
  (:constraints (and
    (preference w1 (at end (not (q)))) (preference w2 (always (or (p) (q)))) (preference w3 (sometime (and (p) (q))))
    (preference w4 (at-most-once (p))) (preference w5 (sometime-after (p) (q))) (preference w6 (sometime-before (p) (q)))
    (preference w7 (within 2 (and (p) (q)))) (preference w8 (always-within 2 (p) (q))) (preference w9 (hold-during 1 3 (p)))
    (preference w10 (hold-after 2 (q))) (sometime (and (not (p)) (not (q))))))
  (:metric minimize (+ (total-cost) (* 5 (is-violated last)) (* 3 (is-violated w1)) (* 2 (is-violated w2)) (* 4 (is-violated w3))
    (* 3 (is-violated w4)) (* 4 (is-violated w5)) (is-violated w6) (* 3 (is-violated w7)) (* 5 (is-violated w8))
    (* 6 (is-violated w9)) (* 2 (is-violated w10)) (* 3 (is-violated after-p)))))
