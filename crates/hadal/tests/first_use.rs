//! What a new user meets: limits on disk and how runs are listed, several violations at once, mistakes in families, colour,
//! settings beside the model, pages about runs in RAM.

mod support;

use serde_json::Value;
use std::path::Path;
use support::{Run, bundled_model, hadal};

/// A file in a folder that goes with the test.
fn file(name: &str, text: &str) -> (tempfile::TempDir, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("it can be written");
    let path = path.display().to_string();
    (folder, path)
}

const GRID: &str = "const N: 60; var x, y, z: 0..N; startstate x := 0; y := 0; z := 0; end; \
    rule \"x\" x < N ==> x := x + 1; end; rule \"y\" y < N ==> y := y + 1; end; rule \"z\" z < N ==> z := z + 1; end;";

const THREE: &str = "var x: 0..9; startstate x := 0; end; rule \"up\" x < 9 ==> x := x + 1; end; \
    invariant \"below three\" x < 3; invariant \"below six\" x < 6; invariant \"below twenty\" x < 20;";

fn number(value: &Value, name: &str) -> u64 {
    value[name].as_u64().unwrap_or_else(|| panic!("{name} in {value:#}"))
}

#[test]
fn a_limit_of_states_ends_at_once_in_ram_and_is_never_exceeded_on_disk() {
    let (_folder, model) = file("grid.m", GRID);
    let run = |strategy: &str| {
        let run = hadal(&[
            "check",
            &model,
            "--strategy",
            strategy,
            "--max-states",
            "5000",
            "--json",
            "--deadlock",
            "off",
        ]);
        run.expect_code(3).json()
    };
    let ram = number(&run("auto"), "states");
    assert!((5000..6000).contains(&ram), "{ram}");
    let disk = run("sort");
    // Layer d of the grid has (d+1)(d+2)/2 states as long as d <= 60, and d layers d(d+1)(d+2)/6: as many as fit.
    let whole = |layers: u64| layers * (layers + 1) * (layers + 2) / 6;
    let layers = (1u64..).take_while(|&layers| whole(layers) <= 5000).last().expect("one layer fits");
    assert_eq!((number(&disk, "states"), number(&disk, "depth") + 1), (whole(layers), layers));
    assert!(
        disk["warnings"][0].as_str().is_some_and(|told| told.contains("more than --max-states 5000")),
        "{disk}"
    );
}

fn runs(disk: &Path) -> Vec<Value> {
    let run = hadal(&["runs", "--disk", &disk.display().to_string(), "--json"]).expect_code(0);
    run.json().as_array().expect("a list").clone()
}

#[test]
fn check_and_runs_agree_on_depths_and_traces_end_at_theirs() {
    let (folder, model) = file("deep.m", &THREE.replace("below six\" x < 6", "below six\" x < 7"));
    for strategy in ["auto", "sort", "hash", "bfs"] {
        let result = hadal(&["check", &model, "--property", "below six", "--strategy", strategy, "--json"]);
        let result = result.expect_code(1).json();
        assert_eq!((number(&result, "depth"), number(&result, "trace_length")), (7, 7), "{strategy}");
    }
    let disk = folder.path().join("runs");
    let (_grid, grid) = file("grid.m", GRID);
    let asked: [&[&str]; 3] = [
        &[&model, "--property", "below six", "--strategy", "sort"],
        &[&grid, "--strategy", "sort", "--max-states", "3000"],
        &[&grid, "--max-states", "3000"],
    ];
    for more in asked {
        let disk = disk.display().to_string();
        let arguments = [&["check"], more, &["--disk", &disk, "--json", "--deadlock", "off"]].concat();
        let result = hadal(&arguments).json();
        let listed = runs(Path::new(&disk));
        let name = result["run"].as_str().expect("a run is kept");
        let run = listed.iter().find(|run| run["run"] == name).expect("it is listed");
        assert_eq!(run["depth"], result["depth"], "{more:?}");
    }
}

#[test]
fn a_relaxed_run_that_found_a_violation_is_over() {
    let grid = GRID.replace("60", "120");
    let (folder, model) = file("grid.m", &format!("{grid} invariant \"inside\" x + y + z < 300;"));
    let disk = folder.path().join("runs");
    let result = hadal(&[
        "check",
        &model,
        "--strategy",
        "relaxed",
        "--memory",
        "16M",
        "--disk",
        &disk.display().to_string(),
        "--json",
        "--deadlock",
        "off",
    ]);
    let result = result.expect_code(1).json();
    assert_eq!(number(&result, "trace_length"), 300);
    let listed = runs(&disk);
    assert!(!listed.is_empty(), "the run went to disk: {result:#}");
    assert!(listed.iter().all(|run| run["status"] == "violated"), "{listed:#?}");
}

#[test]
fn a_run_resumed_with_a_short_limit_gets_on() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (_grid, model) = file("grid.m", &GRID.replace("60", "120"));
    let disk = folder.path().join("runs").display().to_string();
    let first = hadal(&[
        "check",
        &model,
        "--strategy",
        "sort",
        "--max-states",
        "200000",
        "--disk",
        &disk,
        "--json",
        "--deadlock",
        "off",
    ]);
    let first = first.expect_code(3).json();
    let (run, mut states) = (first["run"].as_str().expect("a run").to_owned(), number(&first, "states"));
    // A limit that reading back alone would exceed on a slow machine, again and again until everything is seen.
    for _ in 0..400 {
        let next = hadal(&["resume", &run, "--time-limit", "0.3s", "--json"]);
        let code = next.code;
        let next = next.json();
        let now = number(&next, "states");
        assert!(now > states || code == 0, "{next:#}");
        assert_eq!(number(&next, "states_before"), states);
        states = now;
        if code == 0 {
            assert_eq!(states, 121 * 121 * 121);
            return;
        }
        if states > 600_000 {
            return;
        }
    }
    panic!("it never came to 600 000 states: {states}");
}

#[test]
fn an_unknown_guide_is_refused_though_breadth_first_search_would_win() {
    let (_folder, model) = file("three.m", THREE);
    let refused = hadal(&["check", &model, "--guide", "foo"]).expect_code(2);
    assert!(refused.stderr.contains("no guide is called `foo`"), "{}", refused.stderr);
}

fn lengths(result: &Value) -> Vec<(String, u64)> {
    let list = result["violations"].as_array().expect("a list").iter();
    list.map(|it| (it["property"].as_str().unwrap_or("deadlock").to_owned(), number(it, "trace_length")))
        .collect()
}

#[test]
fn every_property_is_reported_with_its_own_shortest_trace() {
    let (_folder, model) = file("three.m", THREE);
    let all = [("below three".to_owned(), 3), ("below six".to_owned(), 6), ("deadlock".to_owned(), 9)];
    for strategy in ["auto", "bfs", "sort", "hash", "relaxed"] {
        let arguments = ["check", &model, "--continue", "9", "--strategy", strategy, "--json"];
        let result = hadal(&arguments).expect_code(1).json();
        assert_eq!(lengths(&result), all, "{strategy}");
        assert_eq!((result["verdict"].as_str(), number(&result, "trace_length")), (Some("violated"), 3));
        // The last search saw everything.
        assert_eq!((number(&result, "states"), number(&result, "transitions")), (10, 9), "{strategy}");
        let verdicts: Vec<(&str, &str)> = result["properties"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|it| (it["name"].as_str().expect("a name"), it["verdict"].as_str().expect("a verdict")))
            .collect();
        assert!(
            verdicts.contains(&("below twenty", "holds")) && verdicts.contains(&("below six", "violated")),
            "{verdicts:?}"
        );
        assert_eq!(result["violations"][1]["trace"]["steps"].as_array().map(Vec::len), Some(7));
    }
    let two = hadal(&["check", &model, "--continue", "2", "--json"]).expect_code(1).json();
    assert_eq!(lengths(&two), all[..2]);
    let text = hadal(&["check", &model, "--continue", "3", "-q"]).expect_code(1).stdout;
    assert!(text.contains("== 1 of 3 ==") && text.contains("== 3 of 3 =="), "{text}");
    assert!(text.contains("invariant \"below three\", invariant \"below six\""), "{text}");
    assert!(
        text.contains("invariant `below three` is violated; invariant `below six` is violated; "),
        "{text}"
    );
    let page = hadal(&["check", &model, "--continue", "3", "--trace", "html", "-q"]).expect_code(1).stdout;
    assert_eq!(page.matches("<iframe ").count(), 3);
    let json = hadal(&["check", &model, "--continue", "3", "--trace", "json", "-q"]).expect_code(1).json();
    assert_eq!(json.as_array().map(Vec::len), Some(3));
    let one =
        hadal(&["check", &bundled_model("peterson.m"), "--continue", "3", "--json"]).expect_code(0).json();
    assert!(one.get("violations").is_none());
}

#[test]
fn an_error_of_the_model_ends_the_list() {
    let text =
        "var x: 0..9; startstate x := 0; end; rule \"up\" x := x + 1; end; invariant \"below three\" x < 3;";
    let (_folder, model) = file("error.m", text);
    let result = hadal(&["check", &model, "--continue", "9", "--json"]).expect_code(1).json();
    let list = result["violations"].as_array().expect("a list");
    let kinds: Vec<_> = list.iter().filter_map(|it| it["kind"].as_str()).collect();
    assert_eq!(kinds, ["invariant", "error"]);
}

const FAMILY: &str = "default(N, 3)\nbyte fork[N];\nforloop(i, 0, eval(N - 1), `\nprocess Phil`'i {\n  state a, b;\n  init a;\n  \
    trans\n    a -> b { guard frok[i] == 0; },\n    b -> a { guard fork[i] = 0; };\n}\n')\nsystem async;\n";

#[test]
fn mistakes_of_a_family_are_shown_once_where_they_were_written() {
    let (_folder, model) = file("fam.mdve", &FAMILY.replace(" = 0; }", " == 0; }"));
    let refused = hadal(&["check", &model]).expect_code(2).stderr;
    assert!(refused.contains("fam.mdve:8:20: error: `frok` is not declared"), "{refused}");
    assert!(refused.contains("8 |     a -> b { guard frok[i] == 0; },"), "{refused}");
    assert!(refused.contains("                    ^^^^ "), "{refused}");
    assert!(
        refused.contains("did you mean `fork`?") && refused.contains("`a -> b { guard frok[0] == 0; },`"),
        "{refused}"
    );
    assert!(refused.contains(": 1 error;"), "one for each instance: {refused}");
    // The text that was read can be seen, also with its mistakes.
    let expanded = hadal(&["inspect", &model, "--expanded", "-D", "N=2"]).expect_code(0).stdout;
    assert_eq!(expanded.matches("guard frok[").count(), 2, "{expanded}");
    let line = refused.split("line ").nth(1).and_then(|rest| rest.split(' ').next()).expect("a line");
    let line: usize = line.parse().expect("a number");
    let expanded = hadal(&["inspect", &model, "--expanded"]).expect_code(0).stdout;
    assert!(expanded.lines().nth(line - 1).is_some_and(|line| line.contains("frok[0]")), "{expanded}");
    let (_folder, model) = file("fam.mdve", &FAMILY.replace("frok", "fork"));
    let refused = hadal(&["check", &model]).expect_code(2).stderr;
    assert!(refused.contains("fam.mdve:9:") && refused.contains("did you mean `==`?"), "{refused}");
    let (_folder, model) = file("fam.mdve", &FAMILY.replace("frok", "fork").replace(" = 0; }", " == 0; }"));
    let refused = hadal(&["check", &model, "-D", "NN=2"]).expect_code(2).stderr;
    assert!(refused.contains("no parameter `NN`") && refused.contains("did you mean `N`?"), "{refused}");
    let result = hadal(&["check", &model, "-D", "N=2", "--json"]).json();
    assert_eq!(result["verdict"], "holds");
    hadal(&["inspect", &bundled_model("peterson.m"), "--expanded"]).expect_code(2);
}

#[test]
fn mistaken_signs_have_their_own_message() {
    let (_folder, model) = file("arrow.m", "var x: 0..3; startstate x := 0; end; rule x = 3 => x := 0; end;");
    let refused = hadal(&["check", &model]).expect_code(2).stderr;
    assert!(refused.contains("`==>` ends a guard") && refused.contains("1 error;"), "{refused}");
    let (_folder, model) = file(
        "g.dve",
        "byte x;\nprocess P { state a; init a; trans a -> a { guard x = 1; }; }\nsystem async;\n",
    );
    let refused = hadal(&["check", &model]).expect_code(2).stderr;
    assert!(refused.contains("did you mean `==`?"), "{refused}");
}

#[test]
fn mistakes_are_json_where_json_is_asked_for() {
    let (_folder, model) = file("wrong.m", "var cont: 0..3;\nstartstate cnt := 0; end;\nrule nit := 1; end;");
    let errors = hadal(&["check", &model, "--json"]).expect_code(2).json()["errors"].clone();
    let list = errors.as_array().expect("a list");
    assert_eq!(list.len(), 2, "{errors:#}");
    assert_eq!(list[0]["file"], model.as_str());
    assert_eq!((number(&list[0], "line"), number(&list[0], "column")), (2, 12));
    assert!(list[0]["message"].as_str().is_some_and(|text| text.contains("cnt")), "{errors:#}");
    assert_eq!(list[0]["help"], "did you mean `cont`?");
    assert_eq!(list[0]["severity"], "error");
    let absent = hadal(&["check", "absent.m", "--json"]).expect_code(2).json();
    assert_eq!(absent["errors"][0]["file"], "absent.m");
    let usage = hadal(&["check", &model.replace("wrong.m", "."), "--json"]).expect_code(2).json();
    assert!(usage["errors"][0]["message"].is_string(), "{usage:#}");
}

#[test]
fn colour_is_for_terminals_and_for_those_who_ask() {
    let (_folder, model) = file("three.m", THREE);
    let plain = hadal(&["check", &model, "-q"]).expect_code(1).stdout;
    assert!(!plain.contains('\x1b'), "{plain:?}");
    let coloured = hadal(&["check", &model, "-q", "--color", "always"]).expect_code(1).stdout;
    assert!(coloured.contains("\x1b[31mVIOLATED\x1b[0m: "), "{coloured:?}");
    assert!(coloured.contains("x: 0 -> \x1b[33m1\x1b[0m"), "{coloured:?}");
    let json = hadal(&["check", &model, "-q", "--color", "always", "--json"]).expect_code(1).stdout;
    assert!(!json.contains("\\u001b") && !json.contains('\x1b'));
}

/// The command in a terminal, made by `script`, which most systems have.
#[cfg(target_os = "linux")]
#[test]
fn a_terminal_is_coloured_unless_no_color_is_set() {
    let (_folder, model) = file("three.m", THREE);
    let command = format!("{} check {model} -q", env!("CARGO_BIN_EXE_hadal"));
    let at_terminal = |name: &str, value: &str| {
        let ran = std::process::Command::new("script")
            .args(["-qec", &command, "/dev/null"])
            .env("TERM", "xterm")
            .env_remove("NO_COLOR")
            .env(name, value)
            .stdin(std::process::Stdio::null())
            .output();
        ran.map(|ran| String::from_utf8_lossy(&ran.stdout).into_owned())
    };
    let Ok(shown) = at_terminal("NO_COLOR", "") else {
        println!("skipped: there is no `script` to make a terminal");
        return;
    };
    assert!(shown.contains("\x1b[31mVIOLATED"), "{shown:?}");
    assert!(!at_terminal("NO_COLOR", "1").expect("it ran before").contains("\x1b[31m"));
    assert!(!at_terminal("TERM", "dumb").expect("it ran before").contains("\x1b[31m"));
}

#[test]
fn the_summary_tells_resident_from_reserved_and_rates_with_and_without_start_up() {
    let text = hadal(&["check", &bundled_model("peterson.m"), "-q", "--memory", "64M"]).expect_code(0).stdout;
    let memory = text.lines().find(|line| line.starts_with("  memory: ")).unwrap_or_else(|| panic!("{text}"));
    assert!(memory.contains("resident at most; of the budget of 64.0 MiB, "), "{memory}");
    let rate =
        text.lines().find(|line| line.contains(" states/s in all, ")).unwrap_or_else(|| panic!("{text}"));
    assert!(rate.contains(" without start-up ("), "{rate}");
}

#[test]
fn a_run_in_ram_has_a_page_too() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let page = folder.path().join("run.html").display().to_string();
    hadal(&["check", &bundled_model("peterson.m"), "-q", "--report", &page]).expect_code(0);
    let text = std::fs::read_to_string(&page).expect("a page");
    assert!(text.contains("322") && text.contains("943") && text.contains("holds"), "{text}");
    assert!(text.contains("<svg") && !text.contains("<script") && !text.contains("http://"), "{text}");
    assert!(!text.contains("What may be left"), "everything was seen: {text}");
    // A run on disk has the page of its folder.
    let (_grid, model) = file("grid.m", GRID);
    let stopped = ["check", &model, "-q", "--strategy", "sort", "--max-states", "3000", "--report", &page];
    hadal(&stopped).expect_code(3);
    assert!(std::fs::read_to_string(&page).expect("a page").contains("Figures of commit"));
}

fn beside(settings: &str) -> (tempfile::TempDir, String) {
    let (folder, model) = file(
        "model.m",
        "const N: 4; var x: 0..N; startstate x := 0; end; \
        rule \"up\" x < N ==> x := x + 1; end; invariant \"small\" x < 3; invariant \"fine\" x < 100;",
    );
    std::fs::write(folder.path().join("hadal.toml"), settings).expect("it can be written");
    (folder, model)
}

#[test]
fn settings_beside_the_model_are_taken_and_the_command_line_wins() {
    let (_folder, model) = beside(
        "memory = \"48M\"\nthreads = 1\nstrategy = \"bfs\"\nproperty = [\"fine\"]\nruns = 3\n[define]\nN = 7\n",
    );
    let result = hadal(&["check", &model, "--json"]).expect_code(0).json();
    assert_eq!((number(&result, "states"), number(&result, "memory_budget_bytes")), (8, 48 << 20));
    assert_eq!((number(&result, "threads"), result["strategy"].as_str()), (1, Some("bfs")));
    let options: Vec<&str> =
        result["settings"]["options"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    assert_eq!(options, ["-DN=7", "--memory=48M", "--property=fine", "--strategy=bfs", "--threads=1"]);
    assert!(result["settings"]["file"].as_str().is_some_and(|file| file.ends_with("hadal.toml")));
    let result = hadal(&["check", &model, "--json", "-D", "N=5", "--strategy", "auto", "--memory", "64M"]);
    let result = result.expect_code(0).json();
    assert_eq!((number(&result, "states"), number(&result, "memory_budget_bytes")), (6, 64 << 20));
    assert_eq!(result["strategy"], "auto");
    let told = hadal(&["check", &model, "--explain"]).expect_code(0).stderr;
    assert!(told.contains("hadal.toml says -DN=7 --memory=48M"), "{told}");
}

#[test]
fn a_range_in_the_settings_is_a_sweep() {
    let (_folder, model) = beside("property = \"fine\"\n[define]\nN = \"3..5\"\n");
    let rows = hadal(&["check", &model, "--json"]).expect_code(0).json();
    let rows = rows.as_array().expect("a list").clone();
    let states: Vec<u64> = rows.iter().map(|row| number(&row["result"], "states")).collect();
    assert_eq!(states, [4, 5, 6]);
}

#[test]
fn settings_that_mean_nothing_are_refused_with_a_suggestion() {
    let refused = |settings: &str| -> Run {
        let (_folder, model) = beside(settings);
        hadal(&["check", &model]).expect_code(2)
    };
    let run = refused("memroy = \"48M\"\n");
    assert!(
        run.stderr.contains("`memroy`") && run.stderr.contains("did you mean `memory`?"),
        "{}",
        run.stderr
    );
    let run = refused("quiet = \"yes\"\n");
    assert!(run.stderr.contains("true or false"), "{}", run.stderr);
    let run = refused("memory = [\"1G\", \"2G\"]\n");
    assert!(run.stderr.contains("one value"), "{}", run.stderr);
    let run = refused("memory = \"lots\"\n");
    assert!(run.stderr.contains("lots") && run.stderr.contains("hadal.toml"), "{}", run.stderr);
    let run = refused("memory = \n");
    assert!(run.stderr.contains("hadal.toml"), "{}", run.stderr);
}
