use super::serve;
use serde_json::{Value, json};

/// Everything a server says to these messages.
fn talk(messages: &[Value]) -> (Vec<Value>, u8) {
    let mut input = Vec::new();
    for message in messages {
        let body = message.to_string();
        input.extend(format!("Content-Length: {}\r\nX: y\r\n\r\n{body}", body.len()).into_bytes());
    }
    let mut output = Vec::new();
    let code = serve(input.as_slice(), &mut output).expect("memory does not fail");
    let text = String::from_utf8(output).expect("JSON");
    let mut said = Vec::new();
    let mut rest = text.as_str();
    while let Some((head, tail)) = rest.split_once("\r\n\r\n") {
        let length: usize = head.trim_start_matches("Content-Length: ").parse().expect("a length");
        said.push(serde_json::from_str(&tail[..length]).expect("JSON"));
        rest = &tail[length..];
    }
    (said, code)
}

fn open(uri: &str, text: &str) -> Value {
    json!({ "jsonrpc": "2.0", "method": "textDocument/didOpen",
            "params": { "textDocument": { "uri": uri, "languageId": "murphi", "version": 1, "text": text } } })
}

fn ask(method: &str, uri: &str, line: u32, character: u32) -> Value {
    json!({ "jsonrpc": "2.0", "id": 7, "method": method,
            "params": { "textDocument": { "uri": uri }, "position": { "line": line, "character": character } } })
}

/// A letter of two bytes and one UTF-16 unit stands before every name, so that columns are not bytes.
const MODEL: &str =
    "/*é*/ const N: 3;\n/*é*/ var x: 0..N;\nstartstate x := 0; end;\n/*é*/ rule x < N ==> x := x + 1; end;\n";

#[test]
fn mistakes_are_published_where_they_stand_and_go_when_they_are_mended() {
    let broken = "var x: boolaen;\nstartstate x := true; end;\nrule x ==> x := !x; end;\n";
    let mended = json!({ "jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
        "textDocument": { "uri": "file:///tmp/a%20b.m" },
        "contentChanges": [{ "text": "var x: boolean;\nstartstate x := true; end;\nrule x ==> x := !x; end;\n" }] } });
    let (said, code) = talk(&[open("file:///tmp/a%20b.m", broken), mended]);
    assert_eq!(code, 1, "the client left without shutting down");
    let first = &said[0]["params"]["diagnostics"];
    assert_eq!(first[0]["range"]["start"], json!({ "line": 0, "character": 7 }), "{first}");
    assert!(first[0]["message"].as_str().is_some_and(|text| text.contains("boolaen")));
    assert_eq!(said[1]["params"]["diagnostics"], json!([]));
}

#[test]
fn a_name_leads_to_its_declaration_and_tells_its_domain() {
    let uri = "file:///m.m";
    let messages = [
        open(uri, MODEL),
        ask("textDocument/hover", uri, 3, 11),
        ask("textDocument/definition", uri, 3, 11),
        ask("textDocument/definition", uri, 3, 15),
        ask("textDocument/hover", uri, 3, 15),
        json!({ "jsonrpc": "2.0", "id": 8, "method": "shutdown" }),
        json!({ "jsonrpc": "2.0", "method": "exit" }),
    ];
    let (said, code) = talk(&messages);
    assert_eq!(code, 0);
    let hover = said[1]["result"]["contents"]["value"].as_str().expect("a text");
    assert!(hover.contains("0..3"), "{hover}");
    assert_eq!(said[2]["result"]["range"]["start"], json!({ "line": 1, "character": 10 }));
    assert_eq!(said[3]["result"]["range"]["start"], json!({ "line": 0, "character": 12 }));
    assert!(said[4]["result"]["contents"]["value"].as_str().is_some_and(|text| text.contains("const N: 3")));
}

#[test]
fn what_nobody_answers_is_said_to_be_unknown() {
    let (said, _) = talk(&[
        ask("textDocument/rename", "file:///m.m", 0, 0),
        ask("textDocument/hover", "file:///never-opened.m", 0, 0),
    ]);
    assert_eq!(said[0]["error"]["code"], json!(-32601));
    assert_eq!(said[1]["result"], Value::Null);
}

/// A small text of a language: where it is right and, with one word exchanged, wrong; and names with what they mean.
struct Sample {
    file: &'static str,
    text: &'static str,
    /// A word and what makes a mistake of it.
    broken: (&'static str, &'static str),
    /// The text in which a name stands first, what its hover has to say, and the text that it is declared by.
    names: &'static [(&'static str, &'static str, &'static str)],
}

const SAMPLES: &[Sample] = &[
    Sample {
        file: "a.m",
        text: "const N: 3;\ntype T: 0..N;\nvar x: T;\nfunction f(a: T): T; begin return a; end;\nstartstate x := 0; end;\n\
               rule \"up\" x < N ==> begin x := f(x) + 1; end;\n",
        broken: ("x < N", "y < N"),
        names: &[
            ("x < N", "0..3", "x: T"),
            ("N ==>", "const N: 3", "N: 3"),
            ("f(x)", "function `f`", "f(a: T)"),
        ],
    },
    Sample {
        file: "a.dve",
        text: "const int N = 3;\nint x = 0;\nchannel {byte} q[2];\nprocess P { byte k; state a, b; init a;\n\
               trans a -> b { guard x < N && k == 0; sync q!x; effect x = x + 1, k = 1; }; }\n\
               process Q { byte r; state s; init s; trans s -> s { sync q?r; }; }\nsystem async;\n",
        broken: ("guard x", "guard y"),
        names: &[("x < N", "int x = 0;", "x = 0"), ("k == 0", "0..1", "k; state"), ("q!x", "array", "q[2]")],
    },
    Sample {
        file: "a.pml",
        text: "mtype = { ping, pong };\nbyte x;\nchan q = [1] of { mtype };\ninline up(v) { v++ }\n\
               active proctype P() { byte k; do :: x < 3 -> up(x); k = x; q!ping :: else -> break od }\n\
               active proctype Q() { mtype m; q?m }\n",
        broken: ("k = x", "k = y"),
        names: &[
            ("x < 3", "0..255", "x;\nchan"),
            ("ping ::", "mtype", "ping, pong"),
            ("up(x)", "inline up", "up(v)"),
        ],
    },
    Sample {
        file: "a.prism",
        text: "mdp\nconst int N = 3;\nformula low = x < N;\nmodule M\n  x : [0..N] init 0;\n  b : bool init false;\n\
               [go] low & !b -> 0.5 : (x'=x+1) + 0.5 : (b'=true);\nendmodule\n",
        broken: ("low &", "lou &"),
        names: &[
            ("x'=", "0..3", "x : [0..N]"),
            ("b'=", "boolean", "b : bool"),
            ("low &", "x < N", "low = x"),
        ],
    },
    Sample {
        file: "domain.pddl",
        text: "(define (domain d) (:requirements :typing)\n (:types ball room - object)\n (:constants ROOM-1 - room)\n\
               (:predicates (at ?b - ball ?r - room))\n (:action pick-up :parameters (?b - ball ?f ?t - room)\n\
               :precondition (at ?b ?f) :effect (and (at ?b ?t) (not (at ?b ?f)))))\n",
        broken: ("(at ?b ?f) :effect", "(aat ?b ?f) :effect"),
        names: &[
            ("at ?b ?f) :eff", "predicate `(at ?b - ball ?r - room)`", "at ?b - ball"),
            ("?f) :effect", "parameter `?f` of type `room`", "?f ?t - room"),
            ("room))\n", "type `room` of `object`: { room-1 }", "room - object"),
            ("pick-up", "action `(pick-up ?b - ball ?f - room ?t - room)`", "pick-up"),
        ],
    },
    Sample {
        file: "a.ppddl",
        text: "(define (domain d) (:requirements :probabilistic-effects)\n (:predicates (p) (q))\n\
               (:action go :precondition (p) :effect (probabilistic 0.5 (q))))\n\
               (define (problem x) (:domain d) (:objects o)\n (:init (p)) (:goal (q)))\n",
        broken: ("(:goal (q))", "(:goal (qq))"),
        names: &[("q))))", "predicate `(q)`", "q))\n"), ("go ", "action `(go)`", "go ")],
    },
    Sample {
        file: "a.tck",
        text: "system:s\nint:1:0:5:0:n\nclock:1:x\nevent:e\nprocess:P\nlocation:P:a{initial:}\nlocation:P:b{invariant:x<=3}\n\
               edge:P:a:b:e{provided:x>=1 && n<5 : do:n=n+1;x=0}\n",
        broken: ("x>=1", "y>=1"),
        names: &[
            ("x>=1", "clock `x`", "x\nevent"),
            ("n<5", "0..5", "n\nclock"),
            ("b:e", "{ a, b }", "b{invariant"),
        ],
    },
    Sample {
        file: "a.xta",
        text: "const int N = 3;\nclock x; int[0,N] n;\nprocess P() { state a, b { x <= N }; init a;\n\
               trans a -> b { guard x >= 1 && n < N; assign n := n + 1, x := 0; }; }\nQ = P();\nsystem Q;\n",
        broken: ("guard x", "guard y"),
        names: &[
            ("x >= 1", "clock `x`", "x; int"),
            ("n < N", "0..3", "n;\nprocess"),
            ("P();\nsys", "process P()", "P() {"),
        ],
    },
    Sample {
        file: "a.xml",
        text: "<?xml version=\"1.0\"?>\n<nta><declaration>clock x; int[0,3] n;</declaration>\n<template><name>P</name>\n\
               <location id=\"i0\"><name>a</name></location><init ref=\"i0\"/><transition><source ref=\"i0\"/><target ref=\"i0\"/>\n\
               <label kind=\"guard\">x &gt;= 1 &amp;&amp; n &lt; 3</label><label kind=\"assignment\">n = n + 1, x = 0</label>\n\
               </transition></template><system>Q = P(); system Q;</system></nta>\n",
        broken: ("x &gt;", "y &gt;"),
        names: &[("x &gt;", "clock `x`", "x; int"), ("n &lt;", "0..3", "n;</decl")],
    },
];

/// Line and column of a byte in a text of ASCII.
fn position(text: &str, at: usize) -> (u32, u32) {
    let line = text[..at].matches('\n').count();
    (line as u32, (at - text[..at].rfind('\n').map_or(0, |end| end + 1)) as u32)
}

#[test]
fn every_language_has_diagnostics_definitions_and_hovers() {
    let folder = tempfile::tempdir().expect("a folder");
    for language in hadal_lang::LANGUAGES {
        let known = |extension: &&&str| SAMPLES.iter().any(|it| it.file.ends_with(&format!(".{extension}")));
        assert!(
            language.extensions.iter().any(|extension| known(&extension)),
            "{} has no sample",
            language.name
        );
    }
    for Sample { file, text, broken, names } in SAMPLES {
        let uri = format!("file://{}/{file}", folder.path().display());
        let wrong = text.replacen(broken.0, broken.1, 1);
        let change = json!({ "jsonrpc": "2.0", "method": "textDocument/didChange",
            "params": { "textDocument": { "uri": uri }, "contentChanges": [{ "text": wrong }] } });
        let mut messages = vec![open(&uri, text)];
        for (name, ..) in *names {
            let (line, column) = position(text, text.find(name).unwrap_or_else(|| panic!("{file}: {name}")));
            messages.push(ask("textDocument/hover", &uri, line, column));
            messages.push(ask("textDocument/definition", &uri, line, column));
        }
        messages.push(change);
        let (said, _) = talk(&messages);
        assert_eq!(said[0]["params"]["diagnostics"], json!([]), "{file}");
        for (n, (name, about, declared)) in names.iter().enumerate() {
            let hover = said[2 * n + 1]["result"]["contents"]["value"].as_str().unwrap_or_default();
            assert!(hover.contains(about), "{file}, {name}: {hover}");
            let start = &said[2 * n + 2]["result"]["range"]["start"];
            let (line, column) =
                position(text, text.find(declared).unwrap_or_else(|| panic!("{file}: {declared}")));
            assert_eq!(start, &json!({ "line": line, "character": column }), "{file}, {name}");
        }
        let findings = &said.last().expect("an answer")["params"]["diagnostics"];
        let first = findings.as_array().and_then(|all| all.iter().find(|it| it["severity"] == 1));
        let first = first.unwrap_or_else(|| panic!("{file}: no mistake is found"));
        let (line, _) = position(&wrong, wrong.find(broken.1).expect("it is there"));
        assert_eq!(first["range"]["start"]["line"], line, "{file}: {first}");
    }
}

#[test]
fn a_problem_knows_the_names_of_its_domain() {
    let folder = tempfile::tempdir().expect("a folder");
    let domain = SAMPLES.iter().find(|it| it.file == "domain.pddl").expect("a domain");
    std::fs::write(folder.path().join("domain.pddl"), domain.text).expect("a file");
    let uri = format!("file://{}/problem.pddl", folder.path().display());
    let text = "(define (problem p) (:domain d)\n (:objects o - ball r2 - room)\n (:init (at o room-1))\n (:goal (at o r2)))\n";
    let ask_at = |method: &str, name: &str| {
        let (line, column) = position(text, text.find(name).expect("it is there"));
        ask(method, &uri, line, column)
    };
    let (said, _) = talk(&[
        open(&uri, text),
        ask_at("textDocument/hover", "at o r2"),
        ask_at("textDocument/definition", "at o r2"),
        ask_at("textDocument/hover", "r2))"),
    ]);
    assert_eq!(said[0]["params"]["diagnostics"], json!([]));
    let hover = said[1]["result"]["contents"]["value"].as_str().unwrap_or_default();
    assert!(hover.contains("predicate `(at ?b - ball ?r - room)`"), "{hover}");
    assert!(
        said[2]["result"]["uri"].as_str().is_some_and(|uri| uri.ends_with("/domain.pddl")),
        "{}",
        said[2]
    );
    assert_eq!(said[2]["result"]["range"]["start"]["line"], 3);
    let hover = said[3]["result"]["contents"]["value"].as_str().unwrap_or_default();
    assert!(hover.contains("object `r2` of type `room`"), "{hover}");
}
