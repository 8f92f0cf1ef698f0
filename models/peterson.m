-- expect: holds, 322 states, 943 transitions
-- expect --symmetry heuristic: holds, 322 states, 943 transitions
-- expect --symmetry off: holds, 5744 states, 15848 transitions
-- expect -D N=2 --symmetry off: holds, 24 states, 42 transitions

/* Peterson's lock for N processes: N - 1 waiting rooms, one behind the other, each of which holds one process back.
 *
 * A process that enters a room signs the book there. It goes on when somebody has signed after it, or when nobody
 * else has come this far. Processes are a scalarset: states that differ only in who is who are explored once.
 */

const
  N: 4;

type
  Process: scalarset(N);
  Room: 1 .. N - 1;

var
  -- How far a process has come; 0 is outside.
  room: array [Process] of 0 .. N - 1;
  place: array [Process] of enum { Outside, Signing, Waiting, Critical };
  -- Who signed last in each room.
  book: array [Room] of Process;

startstate begin
  for p: Process do
    room[p] := 0;
    place[p] := Outside;
  end;
end;

ruleset p: Process do

  rule "enter" place[p] = Outside ==> begin
    room[p] := 1;
    place[p] := Signing;
  end;

  rule "sign" place[p] = Signing ==> begin
    book[room[p]] := p;
    place[p] := Waiting;
  end;

  rule "go on"
    place[p] = Waiting
      & (book[room[p]] != p | forall q: Process do q = p | room[q] < room[p] end)
  ==> begin
    if room[p] = N - 1 then
      place[p] := Critical;
    else
      room[p] := room[p] + 1;
      place[p] := Signing;
    end;
  end;

  rule "leave" place[p] = Critical ==> begin
    room[p] := 0;
    place[p] := Outside;
  end;

end;

invariant "mutual exclusion"
  forall p: Process do forall q: Process do
    place[p] = Critical & place[q] = Critical -> p = q
  end end;
