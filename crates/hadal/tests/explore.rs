//! `hadal explore`: its answers, what it refuses, and its page in a real browser where there is one.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use support::bundled_model;

/// A server that ends with the test.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        // It has ended already where the test found that.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn serve(arguments: &[&str]) -> Server {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .arg("explore")
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("the command starts");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("it is piped")).read_line(&mut line).expect("an address");
    let address = line.trim_start_matches("http://").split('/').next().expect("an address").to_owned();
    Server { child, address }
}

impl Server {
    /// The answer to a request that says it is for `host`.
    fn ask(&self, request: &str, headers: &str) -> String {
        let mut stream = TcpStream::connect(&self.address).expect("a connection");
        write!(stream, "{request} HTTP/1.1\r\n{headers}\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        answer
    }

    fn json(&self, path: &str) -> serde_json::Value {
        let answer = self.ask(&format!("GET {path}"), "Host: localhost\r\n");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        serde_json::from_str(body).unwrap_or_else(|error| panic!("{error}: {answer}"))
    }
}

#[test]
fn walking_shows_what_each_action_would_change() {
    let server = serve(&[&bundled_model("ticket_lock.m"), "--no-check"]);
    let starts = server.json("/api/state");
    let first = starts["choices"][0]["to"].as_str().expect("a state").to_owned();
    let state = server.json(&format!("/api/state?s={first}"));
    assert_eq!(state["choices"].as_array().map(Vec::len), Some(3), "three threads can draw: {state}");
    assert_eq!(state["choices"][0]["changes"][0]["name"], "next");
    assert_eq!(state["choices"][0]["line"], 45);
    let watched = server.json(&format!("/api/watch?e=next%20%3D%200&s={first}"));
    assert_eq!(watched["value"], true);
    let value = server.json(&format!("/api/watch?e=served&s={first}"));
    assert_eq!(value["value"], "0");
    let wrong = server.json(&format!("/api/watch?e=nothing%20%2B&s={first}"));
    assert!(wrong["error"].is_string(), "{wrong}");
}

#[test]
fn only_this_machine_and_its_own_page_are_obeyed() {
    let server = serve(&[&bundled_model("ferry.m"), "--no-check"]);
    assert!(server.ask("GET /", "Host: evil.example\r\n").starts_with("HTTP/1.1 403"));
    assert!(server.ask("POST /api/check", "Host: localhost\r\n").starts_with("HTTP/1.1 404"));
    assert!(server.ask("GET /api/state?s=zz", "Host: localhost\r\n").starts_with("HTTP/1.1 400"));
    assert!(
        server.ask("GET /api/state?s=ffffffffffffffff", "Host: localhost\r\n").starts_with("HTTP/1.1 400")
    );
    assert!(server.ask("GET /nowhere", "Host: localhost\r\n").starts_with("HTTP/1.1 404"));
    let page = server.ask("GET /", "Host: localhost\r\n");
    assert!(page.starts_with("HTTP/1.1 200") && page.len() < 300_000, "{} bytes", page.len());
}

#[test]
fn the_search_beside_the_page_ends_with_its_result() {
    let server = serve(&[&bundled_model("ticket_lock.m")]);
    let events = server.ask("GET /api/events", "Host: localhost\r\n");
    assert!(events.contains(r#""event":"result""#) && events.contains("event: over"), "{events}");
    assert!(events.contains(r#""key":"#), "steps can be walked on from");
}

/// What a browser shows after it ran the page for a while; none where there is no browser.
fn shown(server: &Server) -> Option<String> {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    });
    let Some(browser) = browser else {
        println!("skipped: there is no Chromium");
        return None;
    };
    let profile = tempfile::tempdir().expect("a folder");
    let shown = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--virtual-time-budget=8000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{}/", server.address))
        .output()
        .expect("the browser runs");
    Some(String::from_utf8_lossy(&shown.stdout).into_owned())
}

/// A process that is inside an atomic sequence continues alone: the page must walk on as the search did.
#[test]
fn steps_inside_an_atomic_sequence_say_who_continues() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("two.pml");
    let text = "byte x; chan q = [1] of {byte}; active proctype P() { atomic { x++; q!1; x++; assert(x < 2) } }\n\
        active proctype Q() { x = 0 }\n";
    std::fs::write(&model, text).expect("it can be written");
    let server = serve(&[&model.display().to_string()]);
    let events = server.ask("GET /api/events", "Host: localhost\r\n");
    let result = events.lines().find(|line| line.contains(r#""event":"result""#)).expect("a result");
    let result: serde_json::Value =
        serde_json::from_str(result.trim_start_matches("data:").trim()).expect("an event");
    let steps = result["result"]["trace"]["steps"].as_array().expect("a trace").clone();
    let inner: Vec<_> = steps.iter().filter(|step| step["inner"] == true).collect();
    assert!(!inner.is_empty(), "{steps:#?}");
    for step in inner {
        let (key, then) = (step["key"].as_str().expect("a key"), step["then"].as_u64().expect("a process"));
        let state = server.json(&format!("/api/state?s={key}&then={then}"));
        let choices = state["choices"].as_array().expect("a list");
        assert_eq!(choices.len(), 1, "only the process inside can move: {state:#}");
    }
}

#[test]
fn a_million_states_and_three_thousand_steps_open_quickly() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("long.m");
    let text = "var x: 0..3000; y: 0..332; startstate x := 0; y := 0; end; rule \"x\" x < 3000 ==> x := x + 1; end; \
        rule \"y\" y < 332 ==> y := y + 1; end; invariant \"far\" x < 3000 | y < 332;";
    // The error is the last of all states.
    std::fs::write(&model, text).expect("it can be written");
    let server = serve(&[&model.display().to_string()]);
    let loaded: usize = ["GET /", "GET /api/model", "GET /api/state"]
        .map(|request| server.ask(request, "Host: localhost\r\n").len())
        .iter()
        .sum();
    assert!(loaded < 300_000, "{loaded} bytes");
    let events = server.ask("GET /api/events", "Host: localhost\r\n");
    let result = events.lines().find(|line| line.contains(r#""event":"result""#)).expect("a result");
    let result: serde_json::Value =
        serde_json::from_str(result.trim_start_matches("data:").trim()).expect("an event");
    assert_eq!(
        (&result["result"]["states"], &result["result"]["trace_length"]),
        (&999_333.into(), &3332.into())
    );
    let last = result["result"]["trace"]["steps"][3332]["key"].as_str().expect("a state").to_owned();
    assert!(server.ask(&format!("GET /api/state?s={last}"), "Host: localhost\r\n").len() < 10_000);
    if let Some(page) = shown(&server) {
        assert!(page.contains("VIOLATED: invariant `far` is violated"), "{}", &page[..page.len().min(3000)]);
        assert!(page.contains("3332. "), "the whole trace is the path");
    }
}

#[test]
fn a_browser_shows_the_counterexample() {
    let server = serve(&[&bundled_model("ticket_lock.m")]);
    let Some(page) = shown(&server) else { return };
    assert!(page.contains("VIOLATED: invariant `mutual exclusion` is violated"), "{page}");
    assert!(page.contains("10. enter, t: Thread_"), "the counterexample is the path");
    assert!(page.contains("mutual exclusion is violated here"), "the last state is shown");
}
