; expect: cost 3
(define (problem p) (:domain constants) (:objects cellar - room)
  (:init (IN hall) (open hall cellar) (room cellar))
  (:goal (and (safe) (open Hall Attic) (in hall))))
