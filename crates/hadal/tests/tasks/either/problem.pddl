; expect: cost 2
; The tin goes alone; the sack goes along with the barrel, and the barrel counts as moved, too.
(define (problem p) (:domain either)
  (:objects c - crate b - barrel t - tin s - sack here there - place)
  (:init (at c here) (at b here) (at t there) (at s here))
  (:goal (and (exists (?x - (either barrel sack)) (moved ?x)) (at c here) (at s there) (at t here))))
