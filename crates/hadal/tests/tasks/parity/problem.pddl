; expect: unsolvable
(define (problem p) (:domain parity) (:objects a b c d e - coin)
  (:init (head a) (head b) (head c) (tail d) (tail e)
    (other a b) (other b a) (other a c) (other c a) (other b c) (other c b) (other a d) (other d a) (other a e)
    (other e a) (other b d) (other d b) (other b e) (other e b) (other c d) (other d c) (other c e) (other e c)
    (other d e) (other e d))
  (:goal (and (tail a) (tail b) (tail c) (tail d) (tail e))))
