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

#[test]
fn a_browser_shows_the_counterexample() {
    let browser = ["chromium", "chromium-browser", "google-chrome"].into_iter().find(|name| {
        Command::new(name).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    });
    let Some(browser) = browser else {
        println!("skipped: there is no Chromium");
        return;
    };
    let server = serve(&[&bundled_model("ticket_lock.m")]);
    let profile = tempfile::tempdir().expect("a folder");
    let shown = Command::new(browser)
        .args(["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"])
        .args(["--disable-background-networking", "--disable-component-update", "--disable-sync"])
        .args(["--virtual-time-budget=8000", "--dump-dom"])
        .arg(format!("--user-data-dir={}", profile.path().display()))
        .arg(format!("http://{}/", server.address))
        .output()
        .expect("the browser runs");
    let page = String::from_utf8_lossy(&shown.stdout);
    assert!(page.contains("VIOLATED: invariant `mutual exclusion` is violated"), "{page}");
    assert!(page.contains("10. enter, t: Thread_"), "the counterexample is the path");
    assert!(page.contains("mutual exclusion is violated here"), "the last state is shown");
}
