//! The macros that BEEM's family files expect to find: truth values, queues, channels with a buffer process, and
//! `default` for parameters. (The loops are builtins.)
//!
//! A channel macro declares a pair of handshake channels and, on diversion 1, the process that carries values from
//! one to the other; `ch!` and `ch?` become the two ends. The `system` line brings the carriers out in front of it.

/// Names and texts.
pub(super) const DEFINITIONS: [(&str, &str); 20] = [
    ("true", "1"),
    ("false", "0"),
    ("bool", "byte"),
    ("default", "ifdef(`$1',`',`define(`$1',`$2')')"),
    ("forallx", "forloop(`x',0,decr(N),`$1')"),
    ("system", "undivert(1)`system'"),
    ("queue", "byte $1[$2]; byte $1_act = 0; define(`$1_size',`$2')"),
    ("stack", "byte $1[$2]; byte $1_act = 0; define(`$1_size',`$2')"),
    ("full", "$1_act == $1_size"),
    ("empty", "$1_act == 0"),
    ("push", "$1[$1_act] = $2, $1_act = $1_act +1"),
    ("pop", "$1[$1_act-1] = 0, $1_act = $1_act -1"),
    ("top", "$1[$1_act-1]"),
    ("front", "$1[0]"),
    (
        "buffer_channel",
        "_ends(`$1')divert(1)process channel_$1 { queue(buf,$2) state q; init q; trans \
         q -> q { guard not(full(buf)); sync $1_in?buf[buf_act]; effect buf_act = buf_act+1; }, \
         q -> q { guard not(empty(buf)); sync $1_out!buf[0]; effect pop_front(buf); }; }\ndivert\n",
    ),
    ("async_channel", "_ends(`$1')_carrier(`$1',`byte v;',`',`')"),
    ("loosy_channel", "_ends(`$1')_carrier(`$1',`byte v;',`tr -> ready {},',`')"),
    (
        "bounded_loosy_channel",
        "_ends(`$1')_carrier(`$1',`byte v, lost=0;',`tr -> ready { guard lost < $2; effect lost = lost + 1; },',\
         ` effect lost = 0;')",
    ),
    ("_ends", "channel $1_in, $1_out;define(`$1!',`$1_in!')define(`$1?',`$1_out?')\n"),
    (
        "_carrier",
        "divert(1)process channel_$1 { $2 state ready, tr; init ready; trans \
         ready -> tr { sync $1_in?v; }, $3 tr -> ready { sync $1_out!v;$4 }; }\ndivert\n",
    ),
];
