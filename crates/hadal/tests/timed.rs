//! Questions about models in real time as a person asks them: timelocks, response times, differences of clocks, runs for
//! ever, regions, and cheapest runs on disk.

mod support;

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::hadal;

/// A lamp that a person may press: low for at most ten units, bright only by two presses within five.
const LAMP: &str = "clock x; chan press;
process Lamp() {
  state off, low { x <= 10 }, bright;
  init off;
  trans off -> low { sync press?; assign x = 0; }, low -> bright { guard x < 5; sync press?; },
    low -> off { guard x == 10; }, bright -> off { sync press?; };
}
process User() { state idle; init idle; trans idle -> idle { sync press!; }; }
L = Lamp(); U = User();
system L, U;
";

/// Entered between 2 and 5, `t` can only be left until 3: who waits longer is stuck there at 7.
const LOCK: &str = "system:lock\nevent:a\nclock:1:x\nprocess:P\n\
    location:P:s{initial: : invariant: x<=5 : labels: ss}\nlocation:P:t{invariant: x<=7 : labels: tt}\n\
    location:P:u{labels: uu}\nedge:P:s:t:a{provided: x>=2}\nedge:P:t:u:a{provided: x<=3 : do: x=0}\n";

/// Back and forth for ever; every stay in `t` ends after at most 7.
const PING: &str = "system:ping\nevent:a\nevent:b\nclock:1:x\nprocess:P\n\
    location:P:s{initial: : invariant: x<=5 : labels: ss}\nlocation:P:t{invariant: x<7 : labels: tt}\n\
    edge:P:s:t:a{provided: x>=2 : do: x=0}\nedge:P:t:s:b{do: x=0}\n";

fn written(folder: &Path, name: &str, text: &str) -> String {
    let path = folder.join(name);
    std::fs::write(&path, text).expect("it can be written");
    path.display().to_string()
}

#[test]
fn a_timelock_is_a_deadlock_in_which_time_stops() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lock = written(folder.path(), "lock.tck", LOCK);
    let ping = written(folder.path(), "ping.tck", PING);
    for further in [&[][..], &["--covering", "off"], &["--covering", "regions"]] {
        let found =
            hadal(&[&["check", &lock, "--timelock", "--json"], further].concat()).expect_code(1).json();
        assert_eq!(found["property"], "timelock", "{found}");
        assert!(found["reason"].as_str().is_some_and(|it| it.contains("after waiting")), "{found}");
        hadal(&[&["check", &ping, "--timelock"], further].concat()).expect_code(0);
    }
    // Once `u` is reached nothing happens any more, but time passes.
    let resting = LOCK.replace("x<=7", "x<=3");
    let resting = written(folder.path(), "resting.tck", &resting.replace("x<=5", "x<=3"));
    hadal(&["check", &resting, "--timelock"]).expect_code(0);
    let stuck = hadal(&["check", &resting, "--deadlock", "on"]).expect_code(1);
    assert!(stuck.stdout.contains("though time passes"), "{stuck:#?}");
}

#[test]
fn the_response_time_of_a_state_is_its_longest_stay() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let lock = written(folder.path(), "lock.tck", LOCK);
    let ping = written(folder.path(), "ping.tck", PING);
    let response = |model: &str, label: &str| {
        let found = hadal(&["check", model, "--label", label, "--response-time", "--json"]);
        found.json()["response"].as_str().map(str::to_owned)
    };
    // Entered at 2 at the earliest, left at 7 at the latest.
    assert_eq!(response(&lock, "tt").as_deref(), Some("5"));
    assert_eq!(response(&lock, "ss").as_deref(), Some("5"));
    assert!(response(&lock, "uu").is_some_and(|it| it.starts_with("more than")));
    assert_eq!(response(&ping, "tt").as_deref(), Some("less than 7, as near to it as one likes"));
}

#[test]
fn runs_for_ever_are_judged_by_zones() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let queries =
        "A<> L.low\nE[] L.off\nL.low --> L.off\nL.low --> (L.off || L.bright)\nA[] not (L.low && x > 10)\n";
    let lamp = written(folder.path(), "lamp.xta", LAMP);
    written(folder.path(), "lamp.q", queries);
    // Nobody need press; pressed twice, it may stay bright; low it never stays.
    for (query, code) in [
        ("A<> L.low", 1),
        ("E[] L.off", 1),
        ("L.low --> L.off", 1),
        ("L.low --> (L.off || L.bright)", 0),
        ("A[] not (L.low && x > 10)", 0),
    ] {
        let found = hadal(&["check", &lamp, "--property", query, "--json"]).expect_code(code).json();
        assert_eq!(found["property"].as_str().is_some(), code == 1, "{found}");
    }
    // Both kinds are asked where nothing is named, but runs that are looked for are goals.
    let all = hadal(&["check", &lamp, "--json"]).expect_code(1).json();
    assert_eq!(all["property"], "A<> L.low", "{all}");
    for (formula, code) in [("G F !L.low", 0), ("F G L.off", 1), ("G (L.low -> F (L.off || L.bright))", 0)] {
        hadal(&["check", &lamp, "--ltl", formula]).expect_code(code);
    }
    // Queries that cannot be asked are not answered.
    let wrong = written(folder.path(), "wrong.q", "A<> Nobody.low\n");
    let refused = hadal(&["check", &lamp, "--queries", &wrong]).expect_code(2);
    assert!(refused.stderr.contains("none of these queries"), "{refused:#?}");
    // One step more or less is nothing while time passes.
    let refused = hadal(&["check", &lamp, "--ltl", "G (L.low -> X L.bright)"]).expect_code(2);
    assert!(refused.stderr.contains("how often a state is repeated"), "{refused:#?}");
    let refused = hadal(&["check", &lamp, "--ltl", "F G L.off", "--covering", "alu"]).expect_code(2);
    assert!(refused.stderr.contains("--covering"), "{refused:#?}");
    // A run that is stuck stays where it is.
    let lock = written(folder.path(), "lock.tck", LOCK);
    let stuck = hadal(&["check", &lock, "--ltl", "F uu"]).expect_code(1);
    assert!(stuck.stdout.contains("where time stops"), "{stuck:#?}");
    let ping = written(folder.path(), "ping.tck", PING);
    hadal(&["check", &ping, "--ltl", "G F tt"]).expect_code(0);
    // Leaving at once is a loop that takes two units a round.
    let forever = hadal(&["check", &ping, "--ltl", "F G ss"]).expect_code(1);
    assert!(forever.stdout.contains("time diverges along it"), "{forever:#?}");
}

#[test]
fn differences_of_clocks_are_compared() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // y is reset between 4 and 6, so x - y lies there from then on, however long one waits.
    let model = |guard: &str| {
        format!(
            "system:apart\nevent:a\nclock:1:x\nclock:1:y\nprocess:P\nlocation:P:s{{initial: : invariant: x<=6}}\n\
             location:P:t{{}}\nlocation:P:u{{labels: goal}}\nedge:P:s:t:a{{provided: x>=4 : do: y=0}}\n\
             edge:P:t:u:a{{provided: y>=100 && {guard}}}\n"
        )
    };
    for (guard, code) in [("x-y==5", 1), ("x-y<4", 0), ("x-y>6", 0), ("x-y>=6", 1), ("y-x==-4", 1)] {
        let file = written(folder.path(), "apart.tck", &model(guard));
        for covering in ["off", "inclusion"] {
            hadal(&["check", &file, "--label", "goal", "--covering", covering]).expect_code(code);
        }
        hadal(&["check", &file, "--label", "goal"]).expect_code(code);
        let refused = hadal(&["check", &file, "--label", "goal", "--covering", "alu"]).expect_code(2);
        assert!(refused.stderr.contains("differences of clocks"), "{refused:#?}");
    }
    let copies = model("x-y==5").replace("do: y=0", "do: y=x");
    let file = written(folder.path(), "copies.tck", &copies);
    let refused = hadal(&["check", &file, "--label", "goal"]).expect_code(2);
    assert!(refused.stderr.contains("set to another one"), "{refused:#?}");
}

/// Jobs that cost while they wait: each must pass one of two machines for its own time.
fn jobs(count: usize) -> String {
    let mut text = "system:jobs\nevent:e\nevent:b\nint:1:0:1:0:m\n".to_owned();
    (0..count).for_each(|n| text += &format!("clock:1:x{n}\n"));
    text +=
        &format!("clock:1:t\nprocess:Clock\nlocation:Clock:c{{initial: : invariant: t<={}}}\n", 40 * count);
    for n in 0..count {
        let (time, rate) = (2 + n * 3 % 7, 1 + n * 5 % 4);
        text += &format!(
            "process:J{n}\nlocation:J{n}:wait{{initial: : rate: {rate} : invariant: x{n}<={}}}\n\
             location:J{n}:work{{invariant: x{n}<={time}}}\nlocation:J{n}:done{{labels: d{n}}}\n\
             edge:J{n}:wait:work:b{{provided: m==0 : do: m=1; x{n}=0 : price: {n}}}\n\
             edge:J{n}:work:done:e{{provided: x{n}=={time} : do: m=0; x{n}=0}}\n",
            40 * count
        );
    }
    text
}

#[test]
fn cheapest_runs_cost_the_same_in_ram_and_on_disk_and_after_kills() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = written(folder.path(), "jobs.tck", &jobs(5));
    let expected = hadal(&["plan", &model, "--json"]).expect_code(0).json();
    let cost = expected["cost"].as_i64().expect("a cost");
    let certificate = &expected["certificate"];
    assert_eq!((&certificate["zones"], &certificate["replay"]), (&expected["cost"], &expected["cost"]));
    let disk = folder.path().join("runs").display().to_string();
    for order in ["best", "breadth", "broadening"] {
        let mut counts = Vec::new();
        for memory in ["24M", "64M", "256M"] {
            let arguments = ["plan", &model, "--order", order, "--disk", &disk, "--memory", memory, "--json"];
            let found = hadal(&arguments).expect_code(0).json();
            assert_eq!((found["cost"].as_i64(), &found["optimal"]), (Some(cost), &true.into()), "{found}");
            counts.push((found["expanded"].clone(), found["generated"].clone()));
            let bound = cost.to_string();
            let with = hadal(&[&arguments[..], &["--upper-bound", &bound]].concat()).expect_code(0).json();
            assert_eq!(with["cost"].as_i64(), Some(cost), "a bound that is the cost keeps the run: {with}");
            let below = (cost - 1).to_string();
            let none = hadal(&[&arguments[..], &["--upper-bound", &below]].concat()).expect_code(1).json();
            assert_eq!(none["cost"], serde_json::Value::Null, "{none}");
        }
        assert!(counts.windows(2).all(|pair| pair[0] == pair[1]), "{order}: {counts:?}");
        let (found, deaths) = killed(&model, order, folder.path());
        assert_eq!((found["cost"].as_i64(), found["expanded"].clone()), (Some(cost), counts[0].0.clone()));
        println!("{order}: killed {deaths} times");
    }
}

/// The result of a search that is killed a little later each time, and how often it was.
fn killed(model: &str, order: &str, folder: &Path) -> (serde_json::Value, u32) {
    let disk = folder.join(format!("killed-{order}"));
    let start = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("the command starts")
    };
    let disk_text = disk.display().to_string();
    let begin = ["plan", model, "--order", order, "--disk", &disk_text, "--memory", "32M", "--json"];
    let mut child = start(&begin);
    let mut deaths = 0;
    for wait in (40..).step_by(60) {
        std::thread::sleep(Duration::from_millis(wait));
        if child.try_wait().expect("it is ours").is_some() {
            break;
        }
        child.kill().expect("it is ours");
        child.wait().expect("it ends");
        deaths += 1;
        let runs = std::fs::read_dir(&disk).map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
        let run = runs.iter().map(|run| run.path()).find(|run| has_manifest(run));
        child = match run {
            Some(run) => start(&["resume", &run.display().to_string(), "--memory", "32M", "--json"]),
            None => start(&begin),
        };
    }
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    (serde_json::from_slice(&output.stdout).expect("a result"), deaths)
}

fn has_manifest(run: &Path) -> bool {
    let files = std::fs::read_dir(run).map(|all| all.flatten().collect::<Vec<_>>()).unwrap_or_default();
    files.iter().any(|file| file.file_name().to_string_lossy().starts_with("manifest-"))
}

#[test]
fn a_page_shows_the_schedule() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = written(folder.path(), "jobs.tck", &jobs(3));
    let page = folder.path().join("chart.html").display().to_string();
    hadal(&["plan", &model, "--gantt", &page]).expect_code(0);
    let text = std::fs::read_to_string(&page).expect("it was written");
    assert!(
        text.starts_with("<!doctype html>") && text.contains("<svg") && text.contains("J1 in work"),
        "{text}"
    );
}

/// A model of the repository with more processes, which two of never are in the critical section together.
fn fischer(processes: &str) -> [String; 4] {
    let model = support::bundled_model("fischer_timed.xta");
    ["check".into(), model, "-D".into(), format!("N={processes}")]
}

fn counts(result: &serde_json::Value) -> [Option<u64>; 2] {
    ["states", "transitions"].map(|field| result[field].as_u64())
}

#[test]
fn external_a_star_without_estimates_has_the_layers_of_the_usual_search() {
    let begin = fischer("5");
    let begin: Vec<&str> = begin.iter().map(String::as_str).collect();
    for covering in ["off", "inclusion", "alu"] {
        let usual = hadal(&[&begin[..], &["--covering", covering, "--json"]].concat()).expect_code(0).json();
        for memory in ["24M", "200M"] {
            let further = ["--order", "external-astar", "--guide", "blind", "--memory", memory];
            let found = hadal(&[&begin[..], &further, &["--covering", covering, "--json"]].concat());
            assert_eq!(counts(&found.expect_code(0).json()), counts(&usual), "{covering}, {memory}");
        }
    }
    // Where something is wrong, the way there is a shortest one, whatever guides.
    for further in [&[][..], &["--guide", "blind"], &["--trace-by", "parents"]] {
        let wrong = [&begin[..], &["-D", "WAIT=1", "--order", "external-astar", "--json"], further].concat();
        assert_eq!(hadal(&wrong).expect_code(1).json()["trace_length"].as_u64(), Some(6), "{further:?}");
    }
}

#[test]
fn useless_transitions_know_clocks_and_interference_is_refused() {
    let begin = fischer("4");
    let begin: Vec<&str> = begin.iter().map(String::as_str).collect();
    for priority in ["useless", "useless-plain", "preferred+useless"] {
        let with = [&begin[..], &["-D", "WAIT=1", "--find", "--priority", priority]].concat();
        hadal(&with).expect_code(1);
        hadal(&[&begin[..], &["--find", "--priority", priority]].concat()).expect_code(0);
    }
    let refused = hadal(&[&begin[..], &["--find", "--priority", "useless+context"]].concat()).expect_code(2);
    assert!(refused.stderr.contains("time couples all processes"), "{refused:#?}");
    let refused = hadal(&[&begin[..], &["--por"]].concat()).expect_code(2);
    assert!(refused.stderr.contains("does not know clocks"), "{refused:#?}");
}

/// An input that flips freely, and a process with a clock that needs it up, then down.
const FREE: &str = "clock x; bool up = false;
process Input() { state low, high; init low; trans low -> high { assign up = true; }, high -> low { assign up = false; }; }
process Timed() { state a { x <= 5 }, b, c; init a;
  trans a -> b { guard x >= 3 && up; assign x = 0; }, b -> c { guard x > LIMIT && !up; }; }
I = Input(); T = Timed();
system I, T;
";

#[test]
fn parts_that_no_clock_knows_are_left_out_safely() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let text = FREE.replace("LIMIT", "2");
    let model = written(folder.path(), "free.xta", &text);
    written(folder.path(), "free.q", "E<> T.c\nE<> T.c && x < 2\n");
    let whole = hadal(&["check", &model, "--property", "E<> T.c", "--json"]).expect_code(1).json();
    let arguments = ["check", &model, "--property", "E<> T.c", "--safe-abstraction", "--json"];
    let found = hadal(&arguments).expect_code(1).json();
    assert!(found["states"].as_u64() < whole["states"].as_u64(), "{found}");
    // The run is one of the whole model: the input is brought where it is needed.
    assert_eq!(found["trace_length"].as_u64(), Some(4), "{found}");
    let none = ["check", &model, "--property", "E<> T.c && x < 2", "--safe-abstraction"];
    hadal(&none).expect_code(0);
    // An input with a clock of its own stays, and is not low again after 4.
    let timed = text.replace("state low, high;", "clock y; state low { y <= 4 }, high;");
    let model = written(folder.path(), "timed.xta", &timed);
    written(folder.path(), "timed.q", "E<> T.c\n");
    let kept = hadal(&["check", &model, "--property", "E<> T.c", "--safe-abstraction"]).expect_code(0);
    assert!(kept.stderr.contains("no part without clocks"), "{kept:#?}");
}

#[test]
fn zones_up_to_covering_are_counted_the_same_after_kills_at_any_moment() {
    let begin = fischer("7");
    let begin: Vec<&str> = begin.iter().map(String::as_str).collect();
    let fields = |result: &serde_json::Value| {
        ["states", "transitions", "discrete", "maximal"].map(|field| result[field].as_u64())
    };
    let expected = fields(&hadal(&[&begin[..], &["--json"]].concat()).expect_code(0).json());
    let mut deaths = 0;
    for (threads, memory) in
        [("1", "20M"), ("2", "20M"), ("1", "40M"), ("2", "40M"), ("1", "300M"), ("2", "300M")]
    {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let disk = folder.path().display().to_string();
        let further = ["--threads", threads, "--memory", memory, "--disk", &disk, "--json"];
        let mut wait = 30;
        let result = loop {
            let runs = std::fs::read_dir(folder.path()).expect("it is there").flatten();
            let run = runs.map(|run| run.path()).find(|run| has_manifest(run));
            let mut command = Command::new(env!("CARGO_BIN_EXE_hadal"));
            match run {
                Some(run) => {
                    command.arg("resume").arg(run).args(["--threads", threads, "--memory", memory, "--json"])
                }
                None => command.args(&begin).args(further),
            };
            let mut child =
                command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
            std::thread::sleep(Duration::from_millis(wait));
            let ended = child.try_wait().expect("it is ours").is_some();
            if !ended {
                child.kill().expect("it is ours");
            }
            let output = child.wait_with_output().expect("it ends");
            if let Ok(result) = serde_json::from_slice::<serde_json::Value>(&output.stdout) {
                break result;
            }
            deaths += 1;
            wait = wait * 3 / 2;
        };
        assert_eq!(fields(&result), expected, "{threads} threads, {memory}: {result}");
    }
    assert!(deaths >= 3, "killed {deaths} times");
}

#[test]
fn a_violated_query_says_which_part_is_false_and_where_it_stands() {
    const MODEL: &str = "clock x;\nint[0,3] n = 0;\nprocess P() {\nstate A, B { x <= 7 }, C;\ninit A;\n\
        trans A -> B { guard x > 2; assign x = 0, n = 2; }, B -> C { guard x > 4; };\n}\n\
        p = P();\nsystem p;\n";
    const ASKED: &str = "// one a line\n\
        A[] n < 3 and not (p.B and x > 1) and n >= 0\n\
        A[] forall (i : int[0,2]) (n == i imply (p.A or i < 2 or x < 5))\n\
        A[] n < 3 and not deadlock\n\
        A[] p.A imply x < 9\n\
        A<> p.C and n == 3\n\
        E<> p.A and x < 0 or p.C and n == 2\n";
    let folder = tempfile::tempdir().expect("a folder");
    let model = written(folder.path(), "parts.xta", MODEL);
    let queries = written(folder.path(), "parts.q", ASKED);
    let explained = [
        (2, "`(p.B and x > 1)` (line 2) is true", &["n = 2", "p = B", "x = 2"][..]),
        (3, "`(p.A or i < 2 or x < 5)` (line 3) is false for i = 2", &["n = 2", "x = 5"]),
        (4, "`deadlock` (line 4) is true", &["n = 2"]),
        (5, "`x < 9` (line 5) is false", &["p = A", "x = 9"]),
        (6, "", &[]),
        (7, "`p.C and n == 2` (line 7) is true", &["p = C", "n = 2"]),
    ];
    for (line, culprit, values) in explained {
        let asked = ASKED.lines().nth(line - 1).expect("a line");
        let found = hadal(&["check", &model, "--property", asked]);
        let text = &found.stdout;
        assert_eq!(found.code, 1, "{found:?}");
        assert!(text.contains(&format!("--> {queries}:{line}:1")), "{asked}: {text}");
        assert!(text.contains(culprit), "{asked}: {text}");
        for value in values {
            assert!(text.contains(&format!("\n    {value}\n")), "{asked}: {value}: {text}");
        }
    }
    // A query of the command line has a text of its own.
    let own = hadal(&["check", &model, "--property", "A[] n < 2 and x < 100"]);
    assert!(own.stdout.contains("--> the query:1:1") && own.stdout.contains("is false"), "{own:?}");
}
