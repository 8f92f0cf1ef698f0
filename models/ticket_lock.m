-- expect: violated, invariant "mutual exclusion", trace 10
-- expect -D ATOMIC=1: holds, 28 states, 80 transitions
-- expect -D ATOMIC=1 --symmetry off: holds, 124 states, 336 transitions
-- expect -D ATOMIC=1 -D THREADS=5: holds, 66 states, 264 transitions

/* A ticket lock whose waiting threads may lose patience.
 *
 * A thread draws a ticket and enters when its number is served. A thread that does not want to wait any longer
 * may put its ticket back, but only the last one drawn: otherwise its number would come up and nobody would be there.
 *
 * Here it looks whether its ticket is the last, and then puts it back. In between, another thread may draw the next
 * one, and soon two threads have the same number. With ATOMIC, looking and putting back are one compare-and-swap.
 */

const
  THREADS: 3;
  ATOMIC: false;

type
  Thread: scalarset(THREADS);
  -- Numbers are reused in turn; one more than there are threads is enough to tell tickets apart.
  Ticket: 0 .. THREADS;

var
  next: Ticket;      -- the next ticket to be drawn
  served: Ticket;    -- the number whose turn it is
  place: array [Thread] of enum { Outside, Waiting, Impatient, Inside };
  ticket: array [Thread] of Ticket;

function after(t: Ticket): Ticket;
begin
  return t = THREADS ? 0 : t + 1;
end;

startstate begin
  next := 0;
  served := 0;
  for t: Thread do
    place[t] := Outside;
  end;
end;

ruleset t: Thread do

  rule "draw a ticket" place[t] = Outside ==> begin
    ticket[t] := next;
    next := after(next);
    place[t] := Waiting;
  end;

  rule "enter" place[t] = Waiting & ticket[t] = served ==> begin
    place[t] := Inside;
  end;

  rule "leave" place[t] = Inside ==> begin
    served := after(served);
    undefine ticket[t];
    place[t] := Outside;
  end;

  rule "lose patience" place[t] = Waiting & next = after(ticket[t]) ==> begin
    if ATOMIC then
      next := ticket[t];
      undefine ticket[t];
      place[t] := Outside;
    else
      place[t] := Impatient;
    end;
  end;

  rule "put the ticket back" place[t] = Impatient ==> begin
    next := ticket[t];
    undefine ticket[t];
    place[t] := Outside;
  end;

end;

invariant "mutual exclusion"
  forall s: Thread do forall t: Thread do
    place[s] = Inside & place[t] = Inside -> s = t
  end end;

liveness "the lock can get free again"
  forall t: Thread do place[t] = Outside end;
