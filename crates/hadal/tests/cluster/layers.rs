//! Breadth-first layers, and what may happen to a worker, a connection or the launcher.

use super::place::{COUNTS, PATIENCE, Place, SIDE, answer, cube, is_alive, signal};
use super::support::{bundled_model, hadal};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

#[test]
fn any_number_of_workers_answers_as_one_process_does() {
    for (model, more) in [
        ("lease.m", &[][..]),
        ("futex.m", &["-D", "MARKS=1"]),
        ("philosophers.mdve", &[]),
        ("hanoi.mdve", &["-D", "N=3", "--deadlock", "off"]),
    ] {
        let model = bundled_model(model);
        let mut arguments = vec!["check", &model, "--json", "--memory", "32M", "--threads", "1"];
        arguments.extend(more);
        let alone = hadal(&[&arguments[..], &["--strategy", "sort"]].concat());
        for (workers, small, strategy) in [
            ("local:1", "0", "auto"),
            ("local:3", "0", "auto"),
            ("local:3", "0", "sort"),
            ("local:2", "40", "auto"),
            ("local:8", "40", "auto"),
            ("local:2", "65536", "auto"),
        ] {
            let shared = ["--cluster", workers, "--cluster-small", small, "--strategy", strategy];
            let together = hadal(&[&arguments[..], &shared].concat());
            assert_eq!(together.code, alone.code, "{together:#?}");
            assert_eq!(answer(&together.json()), answer(&alone.json()), "{model} {workers}");
        }
    }
}

#[test]
fn traces_are_the_same_for_every_number_of_workers_and_every_way_to_own_states() {
    let place = Place::new(&cube(14, true));
    let alone = place.alone();
    assert_eq!(alone["trace_length"], 39, "{alone}");
    let hosts = place.path("hosts.txt");
    std::fs::write(&hosts, "localhost weight=3\nlocalhost # the slower one\n").expect("a file of hosts");
    let hosts = hosts.display().to_string();
    for (workers, more) in [
        ("local:2", &[][..]),
        ("local:4", &["--cluster-by", "x"]),
        (&hosts, &["--strategy", "sort-separate"]),
    ] {
        let (code, result, told) = place.start(workers, more).end();
        assert_eq!((code, answer(&result)), (1, answer(&alone)), "{workers}: {told}");
    }
}

#[test]
fn the_report_shows_every_worker() {
    let place = Place::new(&cube(60, false));
    // Small layers are explored by every worker, and count once.
    let (code, result, told) = place.start("local:3", &["--cluster-small", "500"]).end();
    assert_eq!(code, 0, "{told}");
    let run = result["run"].as_str().expect("it is kept");
    let figures = hadal(&["report", run, "--json"]).json();
    for field in ["states", "transitions", "depth"] {
        assert_eq!(figures[field], result[field], "{field}: {figures:#}");
    }
    assert_eq!((&figures["status"], &figures["frontier"]), (&json!("holds"), &json!(0)), "{figures:#}");
    let workers = figures["workers"].as_array().expect("a list");
    let total = |field: &str| workers.iter().filter_map(|worker| worker[field].as_u64()).sum::<u64>();
    assert_eq!((workers.len(), total("states")), (3, 60 * 60 * 60), "{figures:#}");
    assert!(total("sent_bytes") > 0 && total("sent_bytes") == total("received_bytes"), "{figures:#}");
    assert_eq!(figures["disk_bytes"], total("disk_bytes"), "{figures:#}");
    assert!(workers.iter().all(|worker| worker["transitions_per_second"].as_f64() > Some(0.0)));
    let page = hadal(&["report", run]).stdout;
    for part in
        ["<h2>Workers</h2>", "inbox at most", "States of each worker", "Network traffic", "2 (localhost"]
    {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn a_worker_that_is_killed_again_and_again_changes_nothing() {
    let place = Place::new(&cube(SIDE, false));
    let mut search = place.start("local:3", &[]);
    let (mut seed, mut killed, mut before) = (12345u64, 0, 0);
    while killed < 4 && search.until(|search| search.committed() > before && search.count("lost") == killed) {
        before = search.committed();
        seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        std::thread::sleep(Duration::from_millis(seed >> 57));
        let workers = search.workers();
        if let Some(&worker) = workers.get((seed >> 33) as usize % workers.len().max(1)) {
            signal(worker, "KILL");
            killed += 1;
            search.until(|search| search.count("lost") == killed);
        }
    }
    assert!(killed > 0, "the search was over before a worker could be killed");
    let (code, result, told) = search.end();
    assert_eq!((code, &result["states"]), (0, &json!(COUNTS.0)), "{told}");
    assert_eq!(result["transitions"], COUNTS.1);
    assert!(told.contains("was lost: all workers start again"), "{told}");
}

#[test]
fn a_launcher_that_is_killed_takes_its_workers_along_and_any_number_goes_on() {
    let place = Place::new(&cube(SIDE, false));
    let mut search = place.start("local:3", &[]);
    assert!(search.until(|search| search.committed() > 0), "it was over too soon");
    let workers = search.workers();
    assert_eq!(workers.len(), 3);
    search.child.as_mut().expect("it runs").kill().expect("it lives");
    let run = search.run().display().to_string();
    let begun = Instant::now();
    while workers.iter().any(|&worker| is_alive(worker)) {
        assert!(begun.elapsed() < PATIENCE, "workers outlive their launcher");
        std::thread::sleep(Duration::from_millis(5));
    }
    drop(search);
    let stopped = hadal(&["resume", &run, "--json", "--memory", "32M", "--max-depth", "250"]).expect_code(3);
    assert_eq!(stopped.json()["depth"], 250, "{stopped:#?}");
    let fewer =
        hadal(&["resume", &run, "--json", "--memory", "32M", "--cluster", "local:2", "--max-depth", "270"]);
    assert_eq!(fewer.expect_code(3).json()["depth"], 270);
    let listed = hadal(&["runs", "--disk", &place.path("runs").display().to_string()]);
    assert!(
        listed.stdout.contains("stopped: the limit of depth") && listed.stdout.contains("--cluster local:2"),
        "{listed:#?}"
    );
    let more = hadal(&["resume", &run, "--json", "--memory", "32M", "--cluster", "local:4"]).expect_code(0);
    let counts = more.json();
    assert_eq!((&counts["states"], &counts["transitions"]), (&json!(COUNTS.0), &json!(COUNTS.1)));
    assert_eq!(counts["depth"], 3 * (SIDE - 1));
}

#[test]
fn a_worker_that_pauses_is_waited_for_and_inboxes_stay_small() {
    let place = Place::new(&cube(36, false));
    let mut search = place.start("local:3", &[]);
    for round in 1..=2 {
        if !search.until(|search| search.committed() > 8 * round) {
            break;
        }
        if let Some(&worker) = search.workers().get(round as usize) {
            signal(worker, "STOP");
            let told = search.count("progress");
            search.until(|search| search.count("progress") > told);
            signal(worker, "CONT");
        }
    }
    let events = search.events.clone();
    let (code, result, told) = search.end();
    assert_eq!((code, &result["states"]), (0, &json!(36 * 36 * 36)), "{told}");
    let text = std::fs::read_to_string(events).expect("events");
    assert!(!text.contains("\"event\":\"lost\""), "nobody was lost");
    let inboxes = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let most = inboxes.filter_map(|event| event["figures"]["most_inbox_bytes"].as_u64()).max();
    assert!(most.is_some_and(|most| most <= (2 * 2 * 256) << 10), "{most:?}");
}

#[test]
fn strangers_are_turned_away_and_workers_that_join_do_the_work() {
    let place = Place::new(&cube(12, true));
    let alone = place.alone();
    let token = place.path("token");
    std::fs::write(&token, "open sesame\n").expect("a token");
    let token = token.display().to_string();
    let wait = ["--cluster-wait", "127.0.0.1:0", "--cluster-token", &token];
    let mut search = place.start("local:2", &wait);
    assert!(search.until(|search| search.count("waiting") == 1));
    let waiting = search.events().into_iter().find(|it| it["event"] == "waiting").expect("it waits");
    let address = waiting["address"].as_str().expect("an address").to_owned();
    let said = |line: String| -> Value {
        let mut stranger = TcpStream::connect(&address).expect("it listens");
        writeln!(stranger, "{line}").expect("it reads");
        let mut reply = String::new();
        BufReader::new(stranger).read_line(&mut reply).expect("it answers");
        serde_json::from_str(&reply).expect("a reply")
    };
    let version = hadal_cluster::VERSION;
    let wrong = said(json!({ "say": "hello", "version": version, "token": "open barley" }).to_string());
    assert_eq!(wrong["why"], "a wrong token", "{wrong}");
    let old = said(json!({ "say": "hello", "version": "0.0.1", "token": "open sesame" }).to_string());
    assert!(old["why"].as_str().is_some_and(|why| why.starts_with("it is version 0.0.1")), "{old}");
    let join = |at: &str| join(at, &token);
    let workers = [join(&address), join(&address)];
    let (code, result, told) = search.end();
    assert_eq!((code, answer(&result)), (1, answer(&alone)), "{told}");
    for mut worker in workers {
        assert!(worker.wait().expect("it ends").success());
    }
}

#[test]
fn a_worker_that_reads_another_model_is_noticed() {
    let place = Place::new(&cube(12, true));
    let token = place.path("token");
    std::fs::write(&token, "open sesame").expect("a token");
    let token = token.display().to_string();
    let mut search = place.start("local:2", &["--cluster-wait", "127.0.0.1:0", "--cluster-token", &token]);
    assert!(search.until(|search| search.count("waiting") == 1));
    let waiting = search.events().into_iter().find(|it| it["event"] == "waiting").expect("it waits");
    let address = waiting["address"].as_str().expect("an address").to_owned();
    let mut stranger = TcpStream::connect(&address).expect("it listens");
    let hello = json!({ "say": "hello", "version": hadal_cluster::VERSION, "token": "open sesame" });
    writeln!(stranger, "{hello}").expect("it reads");
    let mut worker = join(&address, &token);
    let mut job = String::new();
    BufReader::new(stranger.try_clone().expect("a socket")).read_line(&mut job).expect("a job");
    assert!(job.contains("\"job\""), "{job}");
    let ready = json!({ "say": "ready", "fingerprint": 1, "address": "127.0.0.1:1" });
    writeln!(stranger, "{ready}").expect("it reads");
    let (code, _, told) = search.end();
    assert!(code == 2 && told.contains("it reads another model"), "{code}: {told}");
    worker.wait().expect("it ends");
}

/// A worker that joins a launcher.
fn join(address: &str, token: &str) -> Child {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hadal"));
    command.args(["worker", "--join", address, "--token", token, "--listen", "127.0.0.1"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts")
}

#[test]
fn a_connection_that_is_cut_costs_no_answer() {
    let place = Place::new(&cube(36, false));
    let token = place.path("token");
    std::fs::write(&token, "open sesame").expect("a token");
    let token = token.display().to_string();
    let mut search = place.start("local:2", &["--cluster-wait", "127.0.0.1:0", "--cluster-token", &token]);
    assert!(search.until(|search| search.count("waiting") == 1));
    let waiting = search.events().into_iter().find(|it| it["event"] == "waiting").expect("it waits");
    let address = waiting["address"].as_str().expect("an address").to_owned();
    // One worker reaches the launcher through somebody else, who hangs up.
    let between = TcpListener::bind("127.0.0.1:0").expect("a port");
    let through = between.local_addr().expect("its own").to_string();
    let mut workers = vec![join(&address, &token), join(&through, &token)];
    let (near, _) = between.accept().expect("the worker");
    let far = TcpStream::connect(&address).expect("the launcher");
    for (mut from, mut to) in [
        (near.try_clone().expect("a socket"), far.try_clone().expect("a socket")),
        (far.try_clone().expect("a socket"), near.try_clone().expect("a socket")),
    ] {
        std::thread::spawn(move || std::io::copy(&mut from, &mut to));
    }
    let is_cut = search.until(|search| search.committed() > 4);
    near.shutdown(std::net::Shutdown::Both).expect("it was open");
    far.shutdown(std::net::Shutdown::Both).expect("it was open");
    if is_cut && search.until(|search| search.count("lost") == 1) {
        // Both end, and others come in their place.
        workers.extend([join(&address, &token), join(&address, &token)]);
    }
    let (code, result, told) = search.end();
    assert_eq!((code, &result["states"]), (0, &json!(36 * 36 * 36)), "{told}");
    for mut worker in workers {
        worker.wait().expect("it ends");
    }
}

#[test]
fn hosts_are_reached_by_a_command_that_can_be_chosen() {
    let place = Place::new(&cube(9, true));
    let hosts = place.path("hosts.txt");
    // An address of this machine that is not the usual one, reached by something that stands for ssh.
    std::fs::write(
        &hosts,
        "127.0.0.2\n127.0.0.3 weight=2 disk=DISK\n".replace("DISK", &text(&place.path("far"))),
    )
    .expect("a file of hosts");
    let ssh = place.path("ssh.sh");
    std::fs::write(
        &ssh,
        format!("echo \"$1\" >> {}\nshift 2\neval exec \"$@\"\n", text(&place.path("called"))),
    )
    .expect("a script");
    let (code, result, told) =
        place.start(&text(&hosts), &["--cluster-ssh", &format!("sh {}", text(&ssh))]).end();
    assert_eq!((code, answer(&result)), (1, answer(&place.alone())), "{told}");
    let called = std::fs::read_to_string(place.path("called")).expect("it was called");
    let mut called: Vec<&str> = called.lines().collect();
    called.sort_unstable();
    assert_eq!(called, ["127.0.0.2", "127.0.0.3"]);
    assert!(place.path("far").read_dir().is_ok_and(|mut entries| entries.next().is_some()), "its own disk");
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn what_workers_cannot_do_is_refused_with_what_to_do_instead() {
    let model = bundled_model("futex.m");
    for (more, told) in [
        (
            &["--ltl", "[] true", "--fair", "weak"][..],
            "fair runs are looked for by one process: leave out --cluster",
        ),
        (&["--ltl", "[] true", "--liveness", "ndfs"], "found by sorting there: --liveness external-owcty"),
        (
            &["--order", "greedy"],
            "of directed searches only --order external-astar is shared: leave out --cluster",
        ),
        (&["--strategy", "part"], "--strategy part runs in one process: leave out --cluster"),
        (&["--strategy", "hash"], "use --strategy auto, sort"),
        (&["--cluster-by", "nobody"], "the states have no `nobody`"),
        (
            &["--strategy", "relaxed", "--cluster-small", "5"],
            "an order-relaxed search divides states from the first one on: leave out --cluster-small",
        ),
        (
            &["--ltl", "[] true", "--cluster-small", "5"],
            "a search for cycles divides states from the first one on: leave out --cluster-small",
        ),
    ] {
        let run = hadal(&[&["check", &model, "--cluster", "local:2", "--memory", "32M"], more].concat());
        assert!(run.code == 2 && run.stderr.contains(told), "{run:#?}");
    }
    let run = hadal(&["check", &model, "--cluster", "nowhere.txt"]).expect_code(2);
    assert!(run.stderr.contains("nowhere.txt"), "{run:#?}");
    let run = hadal(&["check", &model, "--cluster", "local:0"]).expect_code(2);
    assert!(run.stderr.contains("local:N starts 1 to 64 workers"), "{run:#?}");
}
