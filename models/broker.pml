// expect -D USERS=2 -D SERVERS=1: holds, 1435 states, 3150 transitions
// expect -D USERS=2: holds, 72042 states, 167841 transitions
// expect -D USERS=3: violated, deadlock, trace 25

/* An object request broker, after the General Inter-ORB Protocol: USERS call objects through one client stub, SERVERS say
   at an agent where their object is, may move it, and answer over a wire with room for one message. Everything that
   comes to the stub waits in one short queue, requests and replies alike: when a server cannot get rid of its reply while
   the stub cannot get rid of a request for that server, nothing moves any more. */

#ifndef USERS
#define USERS 4
#endif
#ifndef SERVERS
#define SERVERS 2
#endif
#ifndef MOVES
#define MOVES 1
#endif

mtype = { lookup, found, request, reply, moved, open, opened };

chan stub = [1] of { mtype, byte, byte };           /* what, which user, which server */
chan wire[SERVERS] = [1] of { mtype, byte };
chan agent = [0] of { mtype, byte, chan };
chan returned[USERS] = [0] of { mtype };

byte place[SERVERS];                                /* where each object is, as the agent knows */
byte moves;

proctype User(byte me) {
  byte where;
  chan answer = [0] of { mtype, byte };
  byte object;
end:
  do
  :: select (object : 0 .. SERVERS - 1);
     agent!lookup(object, answer);
     answer?found(where);
again:
     stub!request(me, where);
     if
     :: returned[me]?reply
     :: returned[me]?moved ->                       /* the object is elsewhere: ask once more */
        agent!lookup(object, answer);
        answer?found(where);
        goto again
     fi
  od
}

proctype Agent() {
  byte object;
  chan answer;
end:
  do
  :: agent?lookup(object, answer) -> answer!found(place[object])
  od
}

proctype Stub() {
  byte user, server;
  bool connected[SERVERS];
end:
  do
  :: stub?request(user, server) ->
     if
     :: connected[server]
     :: else -> wire[server]!open(user); connected[server] = true
     fi;
     wire[server]!request(user)
  :: stub?reply(user, server) -> returned[user]!reply
  :: stub?moved(user, server) -> connected[server] = false; returned[user]!moved
  :: stub?opened(user, server)
  od
}

proctype Server(byte me) {
  byte user;
end:
  do
  :: wire[me]?open(user) -> stub!opened(user, me)
  :: wire[me]?request(user) ->
     if
     :: place[me] == me || place[(me + 1) % SERVERS] == me -> stub!reply(user, me)
     :: else -> stub!moved(user, me)
     fi
  :: atomic { moves < MOVES && place[me] == me -> place[me] = (me + 1) % SERVERS; moves++ }
  od
}

init {
  byte n;
  atomic {
    for (n : 0 .. SERVERS - 1) { place[n] = n; run Server(n) }
    run Agent();
    run Stub();
    for (n : 0 .. USERS - 1) { run User(n) }
  }
}
