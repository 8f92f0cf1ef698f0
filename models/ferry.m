-- expect: holds, 10 states, 20 transitions

/* The wolf, the goat and the cabbage: the ferryman takes one of them at a time, or nobody, and must not leave the
 * wolf with the goat, or the goat with the cabbage.
 *
 * The cover property asks whether all can get across; the liveness property whether that stays possible
 * whatever the ferryman does on the way.
 */

type
  Load: enum { Wolf, Goat, Cabbage };
  Bank: enum { Near, Far };

var
  ferry: Bank;
  bank: array [Load] of Bank;

function other(b: Bank): Bank;
begin
  return b = Near ? Far : Near;
end;

-- Nothing is eaten where the ferryman is not.
function is_safe(): boolean;
begin
  return bank[Goat] = ferry | (bank[Wolf] != bank[Goat] & bank[Cabbage] != bank[Goat]);
end;

startstate "everything on the near bank" begin
  ferry := Near;
  for l: Load do
    bank[l] := Near;
  end;
end;

rule "cross alone" true ==> begin
  ferry := other(ferry);
end;

ruleset l: Load do
  rule "cross with" bank[l] = ferry ==> begin
    ferry := other(ferry);
    bank[l] := ferry;
  end;
end;

-- A crossing that ends in a meal does not exist.
assume "nothing is eaten" is_safe();

cover "all across" ferry = Far & forall l: Load do bank[l] = Far end;

liveness "all can still get across" ferry = Far & forall l: Load do bank[l] = Far end;
