; Pairs of coins are turned over together: an odd number of heads never becomes even.
(define (domain parity) (:requirements :strips :typing :negative-preconditions) (:types coin)
  (:predicates (head ?c - coin) (tail ?c - coin) (other ?a ?b - coin))
  (:action both :parameters (?a ?b - coin) :precondition (and (head ?a) (head ?b) (other ?a ?b))
    :effect (and (tail ?a) (tail ?b) (not (head ?a)) (not (head ?b))))
  (:action swap :parameters (?a ?b - coin) :precondition (and (head ?a) (tail ?b))
    :effect (and (tail ?a) (head ?b) (not (head ?a)) (not (tail ?b)))))
