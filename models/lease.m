-- expect: violated, invariant "a writer is alone", trace 11
-- expect -D WAIT=1: holds, 114 states, 342 transitions
-- expect -D WAIT=1 --symmetry off: holds, 487 states, 1437 transitions
-- expect -D CLIENTS=1: holds, 79 states, 229 transitions

/* A server lends a document to readers and writers, over a network that may reorder messages.
 *
 * A client asks to read or to write. The server lends the document as soon as nobody else stands in the way,
 * and remembers who has it. A client that is done says so, and is free to ask again.
 *
 * That is once too often. The word that it is done may still be on its way when its next wish is granted;
 * arriving late, it makes the server forget a client that is reading again. With WAIT, a client asks again only
 * after the server has noted that it is done.
 */

const
  CLIENTS: 3;
  ROOM: 4;        -- messages on the network
  WAIT: false;

type
  Client: scalarset(CLIENTS);
  Kind: enum { AskRead, AskWrite, MayRead, MayWrite, Done, Noted };
  Message: record
    kind: Kind;
    client: Client;
  end;

var
  status: array [Client] of enum { Idle, Asking, Reading, Writing, Ending };
  network: multiset [ROOM] of Message;

  -- What the server believes.
  reads: array [Client] of boolean;
  writes: array [Client] of boolean;

function has_room(): boolean;
begin
  return multisetcount(m: network, true) < ROOM;
end;

procedure send(kind: Kind; client: Client);
var message: Message;
begin
  message.kind := kind;
  message.client := client;
  multisetadd(message, network);
end;

startstate begin
  undefine network;
  for c: Client do
    status[c] := Idle;
    reads[c] := false;
    writes[c] := false;
  end;
end;

ruleset c: Client do

  rule "ask to read" status[c] = Idle & has_room() ==> begin
    status[c] := Asking;
    send(AskRead, c);
  end;

  rule "ask to write" status[c] = Idle & has_room() ==> begin
    status[c] := Asking;
    send(AskWrite, c);
  end;

  rule "be done" (status[c] = Reading | status[c] = Writing) & has_room() ==> begin
    if WAIT then
      status[c] := Ending;
    else
      status[c] := Idle;
    end;
    send(Done, c);
  end;

end;

-- Any message may be the next to arrive. One that cannot be served yet stays on the network.
choose m: network do

  rule "lend for reading"
    network[m].kind = AskRead & forall d: Client do writes[d] -> d = network[m].client end
  ==>
  var c: Client;
  begin
    c := network[m].client;
    multisetremove(m, network);
    reads[c] := true;
    send(MayRead, c);
  end;

  rule "lend for writing"
    network[m].kind = AskWrite & forall d: Client do reads[d] | writes[d] -> d = network[m].client end
  ==>
  var c: Client;
  begin
    c := network[m].client;
    multisetremove(m, network);
    writes[c] := true;
    send(MayWrite, c);
  end;

  rule "take back" network[m].kind = Done ==>
  var c: Client;
  begin
    c := network[m].client;
    multisetremove(m, network);
    reads[c] := false;
    writes[c] := false;
    if WAIT then
      send(Noted, c);
    end;
  end;

  rule "begin to read" network[m].kind = MayRead ==> begin
    status[network[m].client] := Reading;
    multisetremove(m, network);
  end;

  rule "begin to write" network[m].kind = MayWrite ==> begin
    status[network[m].client] := Writing;
    multisetremove(m, network);
  end;

  rule "be free again" network[m].kind = Noted ==> begin
    status[network[m].client] := Idle;
    multisetremove(m, network);
  end;

end;

invariant "a writer is alone"
  forall c: Client do forall d: Client do
    c != d & status[c] = Writing -> status[d] != Reading & status[d] != Writing
  end end;

cover "two read together"
  CLIENTS = 1 | exists c: Client do exists d: Client do
    c != d & status[c] = Reading & status[d] = Reading
  end end;
