-- expect: violated, invariant "unsolved", trace 16
-- expect -D SIDE=2 -D ROW1=100 -D ROW2=203: violated, invariant "unsolved", trace 1
-- expect -D SIDE=2 -D ROW1=200 -D ROW2=103: holds, 12 states, 24 transitions

-- The sliding-tile puzzle: SIDE * SIDE places, one of them empty; a tile beside the empty place may slide into it. The
-- puzzle is solved, and the invariant broken, when the empty place is the first one and the tiles are in order.
--
-- The start is given row by row, two digits a tile, 00 for the empty place: -D ROW1=20103 is 00 02 01 03.
const
  SIDE: 4;
  ROW1: 20103;
  ROW2: 5040607;
  ROW3: 8091011;
  ROW4: 12131415;
  ROW5: 0;
  PLACES: SIDE * SIDE;

type
  place_t: 0 .. PLACES - 1;
  side_t: 0 .. SIDE - 1;
  direction_t: enum { up, left, right, down };

var
  tile: array [place_t] of place_t;
  empty: place_t;

-- The n-th pair of digits of a row, from the left.
function digits(row: 0 .. 9999999999; n: side_t): place_t;
var
  rest: 0 .. 9999999999;
begin
  rest := row;
  for i := n to SIDE - 2 do
    rest := rest / 100;
  end;
  return rest % 100;
end;

function row(n: side_t): 0 .. 9999999999;
begin
  switch n
    case 0: return ROW1;
    case 1: return ROW2;
    case 2: return ROW3;
    case 3: return ROW4;
    else return ROW5;
  end;
end;

-- Whether the empty place has a neighbour there.
function open(d: direction_t): boolean;
begin
  switch d
    case up: return empty >= SIDE;
    case down: return empty + SIDE < PLACES;
    case left: return empty % SIDE > 0;
    case right: return empty % SIDE < SIDE - 1;
  end;
end;

function beside(d: direction_t): place_t;
begin
  switch d
    case up: return empty - SIDE;
    case down: return empty + SIDE;
    case left: return empty - 1;
    case right: return empty + 1;
  end;
end;

startstate "given"
  for r: side_t do
    for c: side_t do
      alias here: tile[r * SIDE + c] do
        here := digits(row(r), c);
        if here = 0 then
          empty := r * SIDE + c;
        end;
      end;
    end;
  end;
end;

ruleset d: direction_t do
  rule "slide" open(d) ==>
  var
    from: place_t;
  begin
    from := beside(d);
    tile[empty] := tile[from];
    tile[from] := 0;
    empty := from;
  end;
end;

invariant "unsolved"
  exists p: place_t do tile[p] != p end;
