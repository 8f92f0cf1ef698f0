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
