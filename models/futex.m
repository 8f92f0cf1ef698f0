-- expect: violated, invariant "a sleeper is not forgotten", trace 9
-- expect -D MARKS=1: holds, 49 states, 133 transitions
-- expect -D MARKS=1 --symmetry off: holds, 221 states, 591 transitions

/* A mutex whose waiting threads sleep in the kernel.
 *
 * The lock is one word: Free, Taken, or Contended (taken, and somebody may be asleep). A thread takes a free
 * lock with one compare-and-swap. A thread that finds it taken marks it Contended and goes to sleep, unless
 * the lock was freed in between, which the kernel checks when it is asked to put the thread to sleep. Who frees
 * a Contended lock wakes one sleeper.
 *
 * The question is what a woken thread does. If it starts over, it finds the lock free and takes it the quick
 * way: the word is Taken, although others may still be asleep, and nobody will ever wake them. With MARKS, a thread
 * that has slept always takes the lock as Contended: at worst it wakes nobody, once.
 */

const
  THREADS: 3;
  MARKS: false;

type
  Thread: scalarset(THREADS);

  Place: enum {
    Outside,   -- has no business with the lock
    Blocked,   -- found the lock taken; will mark it
    Marked,    -- marked the lock; will ask the kernel for sleep
    Asleep,
    Inside,    -- holds the lock
    Leaving    -- freed a Contended lock; will wake somebody
  };

var
  word: enum { Free, Taken, Contended };
  place: array [Thread] of Place;

startstate begin
  word := Free;
  for t: Thread do
    place[t] := Outside;
  end;
end;

ruleset t: Thread do

  rule "take the lock" place[t] = Outside & word = Free ==> begin
    word := Taken;
    place[t] := Inside;
  end;

  rule "find it taken" place[t] = Outside & word != Free ==> begin
    place[t] := Blocked;
  end;

  -- One atomic exchange: the old value says whether the lock has become ours.
  rule "mark it" place[t] = Blocked ==> begin
    if word = Free then
      place[t] := Inside;
    else
      place[t] := Marked;
    end;
    word := Contended;
  end;

  -- The kernel compares the word once more before it puts the thread to sleep.
  rule "go to sleep" place[t] = Marked ==> begin
    if word = Contended then
      place[t] := Asleep;
    else
      place[t] := Blocked;
    end;
  end;

  rule "free the lock" place[t] = Inside ==> begin
    if word = Contended then
      place[t] := Leaving;
    else
      place[t] := Outside;
    end;
    word := Free;
  end;

  rule "nobody to wake" place[t] = Leaving & forall s: Thread do place[s] != Asleep end ==> begin
    place[t] := Outside;
  end;

  ruleset s: Thread do
    rule "wake" place[t] = Leaving & place[s] = Asleep ==> begin
      place[t] := Outside;
      if MARKS then
        place[s] := Blocked;
      else
        place[s] := Outside;
      end;
    end;
  end;

end;

invariant "mutual exclusion"
  forall s: Thread do forall t: Thread do
    place[s] = Inside & place[t] = Inside -> s = t
  end end;

-- Somebody will wake a sleeper: the holder, who sees the mark; a thread that is just about to; or one that is
-- about to set the mark.
invariant "a sleeper is not forgotten"
  (exists t: Thread do place[t] = Asleep end) ->
    word = Contended | exists s: Thread do place[s] = Leaving | place[s] = Blocked end;

cover "two sleep at once"
  exists s: Thread do exists t: Thread do s != t & place[s] = Asleep & place[t] = Asleep end end;
