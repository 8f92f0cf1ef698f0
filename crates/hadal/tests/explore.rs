//! `hadal explore`: its answers, what it refuses, and its page in a real browser where there is one.

mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use support::browser::Browser;
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

/// Processes that this one started.
#[cfg(target_os = "linux")]
fn children(parent: u32) -> Vec<u32> {
    let processes = std::fs::read_dir("/proc").expect("processes").flatten();
    let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |&number: &u32| {
        std::fs::read_to_string(format!("/proc/{number}/stat")).is_ok_and(|text| {
            text.rsplit(')').next().and_then(|rest| rest.split_whitespace().nth(1))
                == Some(&parent.to_string())
        })
    };
    numbers.filter(is_child).collect()
}

#[test]
#[cfg(target_os = "linux")]
fn a_search_ends_with_the_explorer_that_began_it_however_that_ends() {
    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().display().to_string();
    let tiles = bundled_model("tiles.m");
    // Hours of search, if nobody ends it.
    let mut server = serve(&[&tiles, "-D", "ROW4=12131514", "--", "--memory", "8M", "--disk", &folder]);
    let searches = children(server.child.id());
    assert_eq!(searches.len(), 1, "{searches:?}");
    server.child.kill().expect("it runs");
    server.child.wait().expect("it ended");
    let is_there = || {
        let state = std::fs::read_to_string(format!("/proc/{}/stat", searches[0]));
        state.is_ok_and(|text| !text.contains(") Z "))
    };
    let begun = std::time::Instant::now();
    while is_there() {
        assert!(begun.elapsed().as_secs() < 60, "the search goes on");
        std::thread::yield_now();
    }
}

#[test]
#[cfg(unix)]
fn a_search_whose_input_ended_ends_where_interrupts_are_ignored() {
    let place = tempfile::tempdir().expect("a place");
    let command =
        r#"trap '' INT; exec "$0" check "$1" -D ROW4=12131514 --memory 8M --disk "$2" --until-input-ends"#;
    let status = Command::new("sh")
        .args(["-c", command, env!("CARGO_BIN_EXE_hadal"), &bundled_model("tiles.m")])
        .arg(place.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .expect("a shell");
    assert_eq!(status.code(), Some(130), "{status}");
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
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("http://{}/", server.address));
    browser.until(
        "document.querySelector('#verdict').textContent.includes('VIOLATED: invariant `far` is violated')",
    );
    browser.until("document.querySelectorAll('#path li').length === 3333");
    // Walking, jumping, searching and drawing: none of it may take longer than people notice.
    browser.until("document.querySelector('#statehead').textContent.includes('far is violated here')");
    for (what, action) in [
        ("a step back", "await go(at - 1)"),
        ("a jump", "await go(1500)"),
        ("a search", "document.querySelector('#find').value = 'y'; drawPath()"),
        ("the end of a search", "document.querySelector('#find').value = ''; drawPath()"),
        ("the neighbourhood", "tab('near')"),
    ] {
        let timed = format!(
            "(async () => {{ const begun = performance.now(); {action}; return performance.now() - begun; }})()"
        );
        // Twice, for a busy machine may stall anything once.
        let took =
            (0..3).map(|_| browser.value(&timed).as_f64().expect("a time")).fold(f64::INFINITY, f64::min);
        assert!(took < 1000.0, "{what} takes {took} ms");
    }
    assert_eq!(browser.value("document.querySelectorAll('#path li').length"), 3333);
    let loaded = browser.value(
        "performance.getEntries().filter(e => e.transferSize && !e.name.includes('/api/events')).reduce((sum, e) => sum + e.transferSize, 0)",
    );
    assert!(loaded.as_u64().is_some_and(|bytes| bytes > 10_000 && bytes < 300_000), "{loaded} bytes");
    browser.picture("explore-long");
}

fn text(browser: &mut Browser, selector: &str) -> String {
    let value = browser.value(&format!("document.querySelector({selector:?}).innerText"));
    value.as_str().unwrap_or_default().to_owned()
}

fn set(browser: &mut Browser, selector: &str, value: &str, event: &str) {
    browser.value(&format!(
        "(() => {{ const e = document.querySelector({selector:?}); e.value = {value:?}; e.dispatchEvent(new Event({event:?}, {{ bubbles: true, cancelable: true }})); }})()"
    ));
}

#[test]
fn a_browser_walks_through_the_counterexample() {
    let server = serve(&[&bundled_model("ticket_lock.m")]);
    let Some(mut browser) = Browser::start() else { return };
    browser.window(1400, 900, "light");
    browser.open(&format!("http://{}/", server.address));
    browser.until("document.querySelector('#verdict').textContent.includes('VIOLATED: invariant `mutual exclusion` is violated')");
    // The counterexample is the path, and its last state is shown.
    browser.until("document.querySelectorAll('#path li').length === 11");
    browser.until(
        "document.querySelector('#statehead').textContent.includes('mutual exclusion is violated here')",
    );
    assert!(text(&mut browser, "#path").contains("10. enter, t: Thread_"));
    browser.picture("explore-wide-light");
    // The state is grouped by record, and every enabled action says what it would change.
    assert!(browser.value("document.querySelectorAll('#choices small').length").as_u64() > Some(0));
    assert!(text(&mut browser, "#state").contains("place[Thread_1]"));
    // Back, by the arrow key, and to a step by its number.
    browser.value("document.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowLeft' }))");
    browser.until("document.querySelector('#statehead').textContent === 'state after step 9'");
    browser.value("document.querySelector('#forward').click()");
    browser.until("document.querySelector('#statehead').textContent.includes('violated here')");
    set(&mut browser, "#jump", "3", "change");
    browser.until("document.querySelector('#statehead').textContent === 'state after step 3'");
    // The line of the step is marked in the source; so is the one that a link names.
    assert!(text(&mut browser, "#text .here").len() > 3);
    browser.value("document.querySelector('#path li:nth-child(2) a.line').click()");
    let marked = browser
        .value("[...document.querySelectorAll('#text .l')].findIndex(l => l.classList.contains('here')) + 1");
    let named = text(&mut browser, "#path li:nth-child(2) a.line");
    assert_eq!(format!("line {marked}"), named);
    // Watching a variable and a condition, and a mistake.
    for expression in ["served", "next = 0", "nothing +"] {
        browser.value(&format!("document.querySelector('#watch').value = {expression:?}; document.querySelector('#watchform').requestSubmit()"));
    }
    browser.until("document.querySelectorAll('#watches tr').length === 3 && document.querySelector('#watches').innerText.includes('error: ')");
    let watched = text(&mut browser, "#watches");
    assert!(watched.contains("next = 0\tfalse") && watched.contains("error: "), "{watched}");
    // Two steps side by side.
    set(&mut browser, "#other", "10", "input");
    browser.until("document.querySelector('#state th:nth-child(2)')?.textContent === 'step 10'");
    assert!(browser.value("document.querySelectorAll('#state tr.changed').length").as_u64() > Some(0));
    set(&mut browser, "#other", "", "input");
    // Searching the path.
    set(&mut browser, "#find", "enter", "input");
    browser.until("document.querySelectorAll('#path li').length < 11");
    assert!(
        browser
            .value("[...document.querySelectorAll('#path li')].every(l => l.textContent.includes('enter'))")
            == true
    );
    set(&mut browser, "#find", "", "input");
    // The neighbourhood as a graph, and as dot.
    browser.value("document.querySelector('[data-tab=near]').click()");
    browser.until("document.querySelector('#near svg text')");
    let dot = browser.value("neighbourhood()");
    let dot = dot.as_str().expect("text");
    assert!(dot.starts_with("digraph") && dot.contains("here -> "), "{dot}");
    browser.picture("explore-near");
    // Another way from here: what follows is not the counterexample any more.
    browser.value("document.querySelector('#choices button').click()");
    browser.until("document.querySelectorAll('#path li').length === 5");
    browser.value("document.querySelector('#load').click()");
    browser.until("document.querySelectorAll('#path li').length === 11");
}

/// Text can be read in light and in dark, and nothing is cut off on a phone.
#[test]
fn the_explorer_can_be_read_on_any_screen() {
    let server = serve(&[&bundled_model("ticket_lock.m")]);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("http://{}/", server.address));
    browser.until("document.querySelector('#statehead').textContent.includes('violated here')");
    for (width, height) in [(1400, 900), (390, 844)] {
        for scheme in ["light", "dark"] {
            browser.window(width, height, scheme);
            for tab in ["source", "near", "live"] {
                browser.value(&format!("document.querySelector('[data-tab={tab}]').click()"));
                let (contrast, of) = browser.least_contrast();
                assert!(contrast >= 4.5, "{width} {scheme} {tab}: {contrast:.2} : 1 for `{of}`");
                assert!(browser.overhang() <= 0, "{width} {tab}: {} points are cut off", browser.overhang());
                browser.picture(&format!("explore-{width}-{scheme}-{tab}"));
            }
        }
    }
}

/// A sender and a receiver with a channel of one place; the third message is one too many.
const MESSAGES: &str = "chan q = [1] of { byte };\nactive proctype Sender() { byte n; do :: n < 4 -> n++; q!n od }\n\
    active proctype Receiver() { byte m; do :: q?m -> assert(m < 3) od }\n";

#[test]
fn messages_are_drawn_as_a_sequence_chart() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("messages.pml");
    std::fs::write(&model, MESSAGES).expect("it can be written");
    let server = serve(&[&model.display().to_string()]);
    let Some(mut browser) = Browser::start() else { return };
    browser.window(1400, 900, "light");
    browser.open(&format!("http://{}/", server.address));
    browser.until("document.querySelector('#verdict').textContent.includes('VIOLATED')");
    browser.until("document.querySelectorAll('#path li').length > 5");
    browser.value("document.querySelector('[data-tab=chart]').click()");
    browser.until("document.querySelectorAll('#chart svg circle').length >= 5");
    let chart = browser.value("document.querySelector('#chart').textContent");
    let chart = chart.as_str().expect("text");
    assert!(chart.contains("Sender") && chart.contains("Receiver") && chart.contains('q'), "{chart}");
    browser.picture("explore-chart");
}

/// A search that takes a while shows its layers, rate, memory, disk and estimate as it goes.
#[test]
fn a_running_search_is_shown_as_it_goes() {
    let model = bundled_model("tiles.m");
    let folder = tempfile::tempdir().expect("a folder");
    let disk = folder.path().display().to_string();
    let server = serve(&[&model, "-D", "ROW4=12131514", "--", "--memory", "32M", "--disk", &disk]);
    let Some(mut browser) = Browser::start() else { return };
    browser.window(1400, 900, "dark");
    browser.open(&format!("http://{}/", server.address));
    browser.value("document.querySelector('[data-tab=live]').click()");
    browser.until("document.querySelectorAll('#charts svg').length === 6");
    browser.until("/\\d+ on disk|on disk\\t[1-9]/.test(document.querySelector('#figures').innerText)");
    let shown = text(&mut browser, "#live");
    for figure in ["layer", "frontier", "memory", "on disk", "left"] {
        assert!(shown.contains(figure), "{figure}: {shown}");
    }
    let drawn = browser.value("document.querySelector('#charts').textContent");
    for curve in [
        "states:",
        "transitions per second:",
        "frontier:",
        "memory:",
        "on disk:",
        "states of a layer, by depth:",
    ] {
        assert!(drawn.as_str().is_some_and(|drawn| drawn.contains(curve)), "{curve}: {drawn}");
    }
    browser.picture("explore-live");
    browser.value("document.querySelector('#stop').click()");
    browser.until("document.querySelector('#verdict').textContent.includes('STOPPED: interrupted')");
}

/// In real time a step of the walk leads to a zone, and a counterexample shows how long its run waits.
#[test]
fn models_in_real_time_are_walked_from_zone_to_zone() {
    const LIGHT: &str = "clock x;\nint[0,3] n = 0;\nprocess P() {\nstate A { x <= 4 }, B;\ninit A;\n\
        trans A -> B { guard x > 2; assign x = 0, n = 2; };\n}\np = P();\nsystem p;\n";
    let folder = tempfile::tempdir().expect("a folder");
    let model = folder.path().join("light.xta");
    std::fs::write(&model, LIGHT).expect("it can be written");
    std::fs::write(folder.path().join("light.q"), "A[] n < 2\n").expect("it can be written");
    let server = serve(&[&model.display().to_string()]);
    let starts = server.json("/api/state");
    let first = starts["choices"][0]["to"].as_str().expect("a state").to_owned();
    let state = server.json(&format!("/api/state?s={first}"));
    let zone = |state: &serde_json::Value| {
        let items = state["items"].as_array().expect("items").clone();
        items.into_iter().find(|item| item["name"] == "zone").expect("a zone")["value"].clone()
    };
    assert_eq!(zone(&state), "x <= 4");
    let step = &state["choices"][0];
    assert_eq!((&step["action"], &step["line"]), (&"p A -> B".into(), &6.into()), "{state:#}");
    let next = step["to"].as_str().expect("a state").to_owned();
    let state = server.json(&format!("/api/state?s={next}"));
    assert_eq!((zone(&state), &state["wrong"]), ("true".into(), &"A[] n < 2".into()), "{state:#}");
    for (watched, value) in [("n", serde_json::json!("2")), ("n == 2 and p.B", serde_json::json!(true))] {
        let e = watched.replace(' ', "%20").replace('=', "%3D");
        assert_eq!(server.json(&format!("/api/watch?e={e}&s={next}"))["value"], value, "{watched}");
    }
    assert!(server.ask("GET /api/state?s=0.7", "Host: localhost\r\n").starts_with("HTTP/1.1 400"));
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&format!("http://{}/", server.address));
    browser.until("document.querySelector('#statehead').textContent.includes('is violated here')");
    browser.until("document.querySelectorAll('#path li').length === 2");
    let path = browser.value("document.querySelector('#path').textContent");
    let path = path.as_str().unwrap_or_default();
    assert!(path.contains("1. wait 3, p A -> B") && path.contains("n: 0 → 2"), "{path}");
    for (width, scheme) in [(1400, "light"), (390, "dark")] {
        browser.window(width, 900, scheme);
        let (contrast, of) = browser.least_contrast();
        assert!(contrast >= 4.5, "{width} {scheme}: {contrast:.2} : 1 for `{of}`");
        assert!(browser.overhang() <= 0, "{width}: {} points are cut off", browser.overhang());
        browser.picture(&format!("explore-timed-{width}-{scheme}"));
    }
}
