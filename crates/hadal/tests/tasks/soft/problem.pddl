; expect: cost 16
; Worked out by trying all plans of up to seven steps.
(define (problem p) (:domain soft) (:objects a b c - room)
  (:init (in a) (door a b) (door b c) (= (total-cost) 0))
  (:goal (and (clean c) (preference home (in a)) (forall (?r - room) (preference tidy (clean ?r)))))
  (:constraints (and (at-most-once (lit)) (sometime-before (clean c) (in b))
    (preference once (at-most-once (in b))) (preference dark (always (not (lit))))
    (forall (?r - room) (preference back (sometime-after (clean ?r) (in a))))))
  (:metric minimize (+ (total-cost) (* 3 (is-violated shut)) (* 2 (is-violated home)) (* 3 (is-violated tidy))
    (* 4 (is-violated once)) (is-violated dark) (* 2 (is-violated back)))))
