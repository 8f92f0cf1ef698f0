//! Runs on disk as a person meets them: limits of the disk, warnings, kills, and the list of runs.

mod support;

use serde_json::Value;
use std::process::{Command, Stdio};
use std::time::Duration;
use support::{Run, hadal};
use tempfile::TempDir;

/// A cube with sides of `side` states, in layers of moderate width.
fn cube(side: u64) -> String {
    let last = side - 1;
    format!(
        "\
var x, y, z: 0 .. {last};
startstate begin x := 0; y := 0; z := 0; end;
rule \"x\" x < {last} ==> begin x := x + 1; end;
rule \"y\" y < {last} ==> begin y := y + 1; end;
rule \"z\" z < {last} ==> begin z := z + 1; end;
"
    )
}

/// The same cube with a scalar that no coding makes small, so that its layers fill a disk however seldom they are written.
fn scrambled(side: u64) -> String {
    let scramble = "h := (x * x * 311 + y * y * 577 + z * z * 913 + x * y * z * 17) % 65536; end;";
    let plain = cube(side).replace(":= 0; end;", ":= 0; h := 0; end;");
    format!("var h: 0 .. 65535;\n{}", plain.replace("+ 1; end;", &format!("+ 1; {scramble}")))
}

/// States and transitions of a cube.
const fn cube_counts(side: u64) -> (u64, u64) {
    (side * side * side, 3 * (side - 1) * side * side)
}

/// Two million states.
const SIDE: u64 = 128;
const CUBE_COUNTS: (u64, u64) = cube_counts(SIDE);

/// A model, and a folder for its runs.
struct Place {
    folder: TempDir,
    model: String,
    runs: String,
}

impl Place {
    fn new() -> Self {
        Self::with_model(&cube(SIDE))
    }

    fn with_model(text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let model = folder.path().join("cube.m");
        std::fs::write(&model, text).expect("a model can be written");
        let runs = folder.path().join("runs").display().to_string();
        Place { model: model.display().to_string(), runs, folder }
    }

    fn check(&self, flags: &[&str]) -> Run {
        hadal(&[&self.check_arguments(), flags].concat())
    }

    fn check_arguments(&self) -> Vec<&str> {
        let fixed = ["--memory", "16M", "--deadlock", "off", "--json", "--disk", &self.runs];
        [&["check", &self.model], &fixed[..]].concat()
    }

    /// The one run there is.
    fn run(&self) -> Option<String> {
        let mut entries = std::fs::read_dir(&self.runs).ok()?.flatten();
        entries.next().map(|entry| entry.path().display().to_string())
    }

    fn listed(&self) -> String {
        hadal(&["runs", "--disk", &self.runs]).expect_code(0).stdout
    }
}

fn counts(result: &Value) -> (u64, u64) {
    let number = |field: &str| result[field].as_u64().expect("a number");
    (number("states"), number("transitions"))
}

#[test]
fn a_limited_disk_warns_pauses_with_exit_3_and_goes_on_when_the_limit_is_raised() {
    let place = Place::new();
    let events = place.folder.path().join("events.jsonl").display().to_string();
    let paused =
        place.check(&["--strategy", "sort", "--disk-limit", "1150K", "--events", &events]).expect_code(3);
    let result = paused.json();
    assert_eq!(result["verdict"], "stopped");
    assert!(result["reason"].as_str().expect("a reason").contains("--disk-limit"), "{result}");
    let warnings = result["warnings"].as_array().expect("a list");
    assert_eq!(warnings.len(), 1, "{warnings:?}");
    let warning = warnings[0].as_str().expect("a string");
    assert!(warning.contains("will probably not fit"), "{warning}");
    assert!(paused.stderr.contains(warning), "{paused:#?}");
    let lines = std::fs::read_to_string(events).expect("events were written");
    assert!(lines.lines().any(|line| line.contains("\"event\":\"warning\"") && line.contains(warning)));
    assert!(place.listed().contains("stopped: the disk is full"));
    let run = place.run().expect("a run");
    let resumed = hadal(&["resume", &run, "--memory", "24M", "--disk-limit", "20M", "--json"]).expect_code(0);
    assert_eq!(counts(&resumed.json()), CUBE_COUNTS);
}

#[test]
fn a_full_disk_is_relieved_of_old_layers_where_that_is_allowed_and_the_verdict_says_so() {
    let side = 100;
    let place = Place::with_model(&scrambled(side));
    let flags = ["--strategy", "sort", "--disk-limit", "1M", "--when-full", "delete-layers"];
    let result = place.check(&flags).expect_code(0).json();
    let reason = result["reason"].as_str().expect("a reason");
    assert!(reason.contains("were deleted"), "{reason}");
    assert_eq!(counts(&result), cube_counts(side), "layers are never met again in this cube");
}

#[test]
fn the_bytes_of_a_run_are_those_of_all_its_files() {
    let place = Place::with_model(&scrambled(60));
    let run = place.check(&["--strategy", "sort", "--max-states", "100000"]).expect_code(3).json();
    let folder = place.run().expect("a run");
    let files = std::fs::read_dir(folder).expect("its folder").flatten();
    let bytes: u64 = files.map(|file| file.metadata().map_or(0, |metadata| metadata.len())).sum();
    let said = |name: &str| run[name].as_u64().expect("a number");
    // The last commit is written after the figures are taken, and the search's own files go after that.
    assert!(said("disk_bytes") + (64 << 10) > bytes, "{bytes} in the folder: {run:#}");
    assert!(said("peak_disk_bytes") >= said("disk_bytes"), "{run:#}");
}

#[test]
fn successors_of_one_state_that_fill_the_table_are_all_one_layer() {
    // The table is left while the last states of a layer are expanded: what waits still belongs to the next layer.
    let star = "\
var x: 0 .. 6000;
var pad: array [0 .. 19] of 0 .. 1000000000;
startstate begin x := 0; for i: 0 .. 19 do pad[i] := 0; end; end;
ruleset i: 1 .. 6000 do rule \"out\" x = 0 ==> begin x := i; pad[i % 20] := i; end; end;
rule \"back\" x > 0 ==> begin pad[x % 20] := 0; x := 0; end;
";
    let place = Place::with_model(star);
    for memory in ["1M", "64M"] {
        let flags =
            ["check", &place.model, "--disk", &place.runs, "--memory", memory, "--deadlock", "off", "--json"];
        let flags = [&flags[..], &["--threads", "1", "--symmetry", "off"]].concat();
        let whole = hadal(&flags).expect_code(0).json();
        assert_eq!((counts(&whole), &whole["depth"]), ((6001, 12_000), &Value::from(1)), "{memory}");
        let limited = hadal(&[&flags[..], &["--max-depth", "1"]].concat()).expect_code(3).json();
        assert_eq!((counts(&limited), &limited["depth"]), ((6001, 6000), &Value::from(1)), "{memory}");
    }
}

#[test]
fn options_of_the_disk_that_would_do_nothing_are_refused() {
    let place = Place::new();
    for flags in [
        &["--strategy", "bfs", "--disk-limit", "1G"][..],
        &["--strategy", "part", "--when-full", "delete-layers"],
        // The place is a folder on disk.
        &["--strategy", "layered", "--keep-layers", "4", "--in-ram"],
        &["--strategy", "sort", "--part-heuristic", "adaptive"],
        &["--strategy", "bao-jones", "--part-heuristic", "adaptive"],
    ] {
        let refused = place.check(flags).expect_code(2);
        assert!(refused.stderr.contains("would do nothing"), "{refused:#?}");
    }
}

#[test]
fn a_run_killed_again_and_again_ends_with_the_same_counts() {
    for strategy in ["auto", "sort", "phased"] {
        let place = Place::new();
        let mut wait = Duration::from_millis(250);
        let mut deaths = 0;
        let result = loop {
            let run = place.run().filter(|_| !place.listed().contains("nothing to resume"));
            let mut command = Command::new(env!("CARGO_BIN_EXE_hadal"));
            match &run {
                Some(run) => command.args(["resume", run, "--memory", "20M", "--json"]),
                // Killed before its first commit: there is nothing to go on from.
                None => {
                    if let Some(run) = place.run() {
                        hadal(&["runs", "rm", &run]).expect_code(0);
                    }
                    command.args(place.check_arguments()).args(["--strategy", strategy])
                }
            };
            let mut child =
                command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("the command starts");
            let (sender, receiver) = std::sync::mpsc::channel();
            let mut output = child.stdout.take().expect("it is piped");
            let reader = std::thread::spawn(move || {
                let mut text = String::new();
                let read = std::io::Read::read_to_string(&mut output, &mut text);
                let _ = sender.send(());
                read.map(|_| text)
            });
            // It ends by itself, or is killed: the moment differs each time.
            let ended = receiver.recv_timeout(wait).is_ok();
            if !ended {
                child.kill().expect("it can be killed");
            }
            child.wait().expect("it ends");
            let text = reader.join().expect("the reader ends").expect("the output can be read");
            if let Ok(result) = serde_json::from_str::<Value>(&text) {
                break result;
            }
            deaths += 1;
            let listed = place.listed();
            assert!(!listed.contains("  running  "), "nobody runs it: {listed}");
            assert!(deaths < 60, "it never ends");
            wait = wait.mul_f64(1.25);
        };
        assert_eq!(result["verdict"], "holds", "{strategy} after {deaths} deaths");
        assert_eq!(counts(&result), CUBE_COUNTS, "{strategy} after {deaths} deaths");
    }
}

#[test]
fn a_directed_search_that_uses_up_its_memory_leaves_the_rest_to_the_disk() {
    let place = Place::new();
    let model = format!("{}invariant \"inside\" x + y + z < 382;\n", cube(SIDE));
    std::fs::write(&place.model, model).expect("a model can be written");
    let stopped = place.check(&["--find", "--max-states", "1500000"]).expect_code(3).json();
    assert_eq!(stopped["verdict"], "stopped");
    let run = place.run().expect("a run to go on with");
    let result = hadal(&["resume", &run, "--memory", "16M", "--json"]).expect_code(0).json();
    assert_eq!((result["verdict"].as_str(), counts(&result)), (Some("holds"), CUBE_COUNTS));
    let whole = place.check(&["--find", "--explain"]).expect_code(0);
    assert_eq!((whole.json()["verdict"].as_str(), counts(&whole.json())), (Some("holds"), CUBE_COUNTS));
    assert!(!whole.stderr.contains("explored again"), "{}", whole.stderr);
}

#[test]
fn shortest_paths_to_what_is_found_are_counted() {
    // The wolf, the goat and the cabbage get across in seven crossings, in two ways.
    let puzzle = std::fs::read_to_string(support::bundled_model("ferry.m")).expect("the puzzle is there");
    let (before, _) = puzzle.split_once("\ncover ").expect("it asks whether all can get across");
    let text = before.to_owned()
        + "invariant \"not all across\" !(ferry = Far & forall l: Load do bank[l] = Far end);";
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = folder.path().join("puzzle.m").display().to_string();
    std::fs::write(&model, text).expect("a model can be written");
    let command = ["check", &model, "--strategy", "paths"];
    let found = hadal(&[&command[..], &["--json"]].concat()).expect_code(1).json();
    assert_eq!((&found["shortest_paths"], &found["trace_length"]), (&Value::from(2), &Value::from(7)));
    let told = hadal(&command).expect_code(1);
    assert!(told.stdout.contains("2 shortest paths lead there"), "{}", told.stdout);
    let refused = hadal(&[&command[..], &["--por"]].concat()).expect_code(2);
    assert!(refused.stderr.contains("--por"), "{}", refused.stderr);
}

/// A cube of counters whose far corner is wrong: as many shortest paths as words of ten As, ten Bs and ten Cs, 30!/(10!)^3.
#[test]
fn shortest_paths_are_counted_by_a_run_that_is_stopped_and_resumed_on_threads() {
    let text = "const N: 10; type count: 0..N; var a, b, c: count;
        startstate begin a := 0; b := 0; c := 0; end;
        rule a < N ==> begin a := a + 1; end;
        rule b < N ==> begin b := b + 1; end;
        rule c < N ==> begin c := c + 1; end;
        invariant \"corner\" a + b + c < 3 * N;";
    let place = Place::with_model(text);
    let stopped =
        place.check(&["--strategy", "paths", "--max-states", "600", "--threads", "2"]).expect_code(3);
    assert_eq!(stopped.json()["verdict"], "stopped");
    let run = place.run().expect("a run to go on with");
    let found = hadal(&["resume", &run, "--memory", "20M", "--json"]).expect_code(1).json();
    assert_eq!(found["shortest_paths"], 5_550_996_791_340_u64);
}

#[test]
fn a_structured_search_lets_as_many_tables_leave_as_a_large_one_needs_to_grow() {
    let Some(dve) = support::corpus("dve") else { return };
    let model = dve.join("rether/rether.4.dve");
    let folder = TempDir::new().expect("a folder");
    let (model, disk) = (model.to_str().expect("a path"), folder.path().to_str().expect("a path"));
    let begun = hadal(&[
        "check",
        model,
        "--deadlock",
        "off",
        "--strategy",
        "structured",
        "--memory",
        "24M",
        "--threads",
        "1",
        "--disk",
        disk,
        "--max-depth",
        "200",
        "--json",
    ]);
    let run = begun.expect_code(3).json()["run"].as_str().expect("a run").to_owned();
    // Its tables are read back, small ones first.
    let resumed =
        hadal(&["resume", &run, "--memory", "24M", "--threads", "1", "--max-depth", "210", "--json"]);
    let known = hadal(&[
        "check",
        model,
        "--deadlock",
        "off",
        "--strategy",
        "bfs",
        "--threads",
        "1",
        "--max-depth",
        "210",
        "--json",
    ]);
    assert_eq!(counts(&resumed.expect_code(3).json()), counts(&known.expect_code(3).json()));
}

#[test]
fn bao_jones_is_the_search_by_partitions_with_a_fixed_hash_and_one_of_them_in_memory() {
    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().display().to_string();
    let ask = |strategy: &[&str]| {
        let common = [
            "check",
            &support::bundled_model("philosophers.mdve"),
            "-D",
            "N=7",
            "--deadlock",
            "off",
            "--json",
        ];
        let room = ["--memory", "2M", "--disk", &folder, "--part-states", "1000"];
        hadal(&[&common[..], &room, strategy].concat())
    };
    let preset = ask(&["--strategy", "bao-jones"]).expect_code(0).json();
    let named = ask(&["--strategy", "part", "--part-heuristic", "s-ghc", "--part-one"]).expect_code(0).json();
    let searched = ask(&["--strategy", "bfs", "--memory", "64M"]);
    assert!(searched.code == 2, "--part-states is not of bfs: {searched:?}");
    for figure in ["heuristic", "cross_transitions", "swaps", "partitions"] {
        assert_eq!(preset["partition"][figure], named["partition"][figure], "{figure}");
    }
    assert!(preset["partition"]["cross_transitions"].as_u64() > Some(1000), "{preset}");
    assert_eq!((&preset["states"], &preset["transitions"]), (&named["states"], &named["transitions"]));
    let refused = ask(&["--strategy", "bao-jones", "--part-heuristic", "de"]);
    assert!(refused.code == 2 && refused.stderr.contains("part-heuristic"), "{refused:?}");
}

/// Where many runs are probed at a time, each leaves memory to those who come after it.
#[test]
fn neighbouring_budgets_of_a_deep_model_all_suffice() {
    let Some(model) = hadal_testkit::corpus::find("dve/rether/rether.4.dve") else {
        return;
    };
    let model = model.display().to_string();
    for memory in ["1110K", "1120K", "1132K", "1140K", "1160K"] {
        let place = TempDir::new().expect("a place");
        let folder = place.path().display().to_string();
        let how = ["--deadlock", "off", "--threads", "1", "--memory", memory, "--disk", &folder, "--json"];
        let result = hadal(&[&["check", &model][..], &how].concat()).expect_code(0).json();
        assert_eq!(
            (&result["states"], &result["transitions"]),
            (&1_157_052.into(), &1_535_386.into()),
            "{memory}"
        );
    }
}
