//! Formulas, claims and accepted cycles, through the command.

mod support;

use support::{Run, corpus, hadal, on_threads};

/// A lamp that two people switch: pressing lights it, a timer puts it out, and it may break.
const LAMP: &str = "const N: 3;\n\
    type count: 0..N;\n\
    var lit: boolean; broken: boolean; timer: count; waiting: boolean;\n\
    startstate lit := false; broken := false; timer := 0; waiting := false; end;\n\
    rule \"ask\" !waiting ==> waiting := true; end;\n\
    rule \"light\" waiting & !broken ==> lit := true; waiting := false; timer := N; end;\n\
    rule \"tick\" timer > 0 ==> timer := timer - 1; if timer = 0 then lit := false; end; end;\n\
    rule \"break\" !broken ==> broken := true; end;\n";

fn written(folder: &tempfile::TempDir, name: &str, text: &str) -> String {
    let path = folder.path().join(name);
    std::fs::write(&path, text).expect("the folder can be written to");
    path.display().to_string()
}

fn check(model: &str, further: &[&str]) -> Run {
    hadal(&[&["check", model, "--json", "--threads", "1"], further].concat())
}

const ENGINES: [&str; 8] = ["sweep", "ndfs", "driven", "scc", "owcty", "map", "las-bfs", "las-any"];

#[test]
fn formulas_of_a_murphi_model_are_answered_by_every_engine() {
    let folder = tempfile::tempdir().expect("a folder");
    let lamp = written(&folder, "lamp.m", LAMP);
    let answers = [
        ("[] (lit -> timer > 0)", true),
        ("[] (waiting -> <> lit)", false),
        ("<> [] !lit || [] <> lit", true),
        ("[] <> !lit", false),
        ("[] (timer = N -> X timer < N) ", false),
        ("!lit W waiting", true),
        ("<> lit", false),
        ("[] (broken -> [] broken)", true),
        ("[] (broken & !lit -> [] !lit)", true),
    ];
    for (formula, holds) in answers {
        for engine in ENGINES {
            let run = check(&lamp, &["--ltl", formula, "--liveness", engine]);
            let result = run.expect_code(i32::from(!holds)).json();
            assert_eq!(result["verdict"], if holds { "holds" } else { "violated" }, "{formula} {engine}");
            if let Some(length) = result["loop_length"].as_u64() {
                let steps = result["trace"]["steps"].as_array().expect("steps");
                assert_eq!(result["trace_length"], steps.len() - 1, "{formula} {engine}");
                assert!(length >= 1 && result["trace"]["loop_from"].is_u64());
            }
        }
    }
}

#[test]
fn a_safety_formula_is_an_invariant_with_a_shortest_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    let lamp = written(&folder, "lamp.m", LAMP);
    for find in [&[][..], &["--find"]] {
        let result = check(&lamp, &[&["--ltl", "[] (timer < 3)"][..], find].concat()).expect_code(1).json();
        assert_eq!(result["trace"]["violation"]["kind"], "invariant");
        assert_eq!(result["trace_length"], 2);
    }
    let result = check(&lamp, &["--ltl", "[] (waiting -> X waiting)"]).expect_code(1).json();
    assert_eq!(result["trace"]["violation"]["kind"], "formula");
    assert!(result["loop_length"].is_null());
}

#[test]
fn claims_and_automata_from_files_say_what_formulas_say() {
    let folder = tempfile::tempdir().expect("a folder");
    let lamp = written(&folder, "lamp.m", LAMP);
    // The negation of [] (waiting -> <> lit), as SPIN prints it.
    let claim = "never { /* !([] (waiting -> <> lit)) */\nT0_init:\n do\n :: (! (lit) && (waiting)) -> goto accept_S4\n \
        :: (1) -> goto T0_init\n od;\naccept_S4:\n do\n :: (! (lit)) -> goto accept_S4\n od;\n}\n";
    let never = written(&folder, "response.never", claim);
    let automaton = "HOA: v1\nStates: 2\nStart: 0\nAP: 2 \"waiting\" \"lit\"\nacc-name: Buchi\nAcceptance: 1 Inf(0)\n\
        --BODY--\nState: 0\n[t] 0\n[0&!1] 1\nState: 1 {0}\n[!1] 1\n--END--\n";
    let hoa = written(&folder, "response.hoa", automaton);
    let formula = check(&lamp, &["--ltl", "[] (waiting -> <> lit)"]).expect_code(1).json();
    for further in [["--never", &never], ["--hoa", &hoa]] {
        let result = check(&lamp, &further).expect_code(1).json();
        assert_eq!(result["states"], formula["states"], "{further:?}");
        assert_eq!(result["transitions"], formula["transitions"], "{further:?}");
        assert_eq!(result["trace_length"], formula["trace_length"], "{further:?}");
    }
}

#[test]
fn formulas_beside_the_model_are_checked_with_everything_else() {
    let folder = tempfile::tempdir().expect("a folder");
    let lamp = written(&folder, "lamp.m", LAMP);
    written(
        &folder,
        "lamp.ltl",
        "# what must hold\nlight: [] (lit -> timer > 0)\nresponse: [] (waiting -> <> lit)\n",
    );
    let result = check(&lamp, &["--deadlock", "off"]).expect_code(1).json();
    assert_eq!(result["property"], "response");
    check(&lamp, &["--property", "light"]).expect_code(0);
}

#[test]
fn weak_fairness_leaves_out_runs_that_starve_somebody() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "byte turns = 0;\n\
        process A { state a; init a; trans a -> a { }; }\n\
        process B { state wait, done; init wait; trans wait -> done { }; }\n\
        process C { state c0, c1; init c0; trans c0 -> c1 { guard turns == 1; }; }\n\
        system async;\n";
    let model = written(&folder, "starve.dve", text);
    check(&model, &["--ltl", "<> B.done"]).expect_code(1);
    check(&model, &["--ltl", "<> B.done", "--fair", "weak"]).expect_code(0);
    check(&model, &["--ltl", "<> B.done", "--fair", "weak", "--liveness", "scc"]).expect_code(0);
    // Nobody is unfair to a process that cannot move.
    check(&model, &["--ltl", "<> C.c1", "--fair", "weak"]).expect_code(1);
}

#[test]
fn a_deadlocked_run_stays_for_ever() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "process A { state a0, a1; init a0; trans a0 -> a1 { }; }\nsystem async;\n";
    let model = written(&folder, "stuck.dve", text);
    check(&model, &["--ltl", "<> A.a1"]).expect_code(0);
    let result = check(&model, &["--ltl", "[] <> A.a0"]).expect_code(1).json();
    assert_eq!((&result["trace_length"], &result["loop_length"]), (&3.into(), &1.into()));
    check(&model, &["--ltl", "<> [] A.a1"]).expect_code(0);
}

#[test]
fn bad_formulas_are_told_with_a_caret() {
    let folder = tempfile::tempdir().expect("a folder");
    let lamp = written(&folder, "lamp.m", LAMP);
    for (formula, told) in [
        ("[] (lit", "this is not closed"),
        ("lit U waiting U broken", "parentheses"),
        ("[] (lamp -> <> lit)", "lamp"),
        ("[] <>", "a formula is expected here"),
    ] {
        let run = check(&lamp, &["--ltl", formula]).expect_code(2);
        assert!(run.stderr.contains(told), "{formula}: {}", run.stderr);
    }
}

#[test]
fn a_property_process_of_a_dve_model_has_its_lasso_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = "process A { state a0, a1; init a0; trans a0 -> a1 { }, a1 -> a0 { }; }\n\
        process N { state q; init q; accept q; trans q -> q { guard A.a0; }, q -> q { guard A.a1; }; }\n\
        system async property N;\n";
    let model = written(&folder, "ring.dve", text);
    for engine in ENGINES {
        let result = check(&model, &["--liveness", engine]).expect_code(1).json();
        assert_eq!(result["trace"]["violation"]["kind"], "cycle", "{engine}");
        assert_eq!(result["loop_length"], 2, "{engine}");
        assert_eq!(result["property"], "N", "{engine}");
    }
    let text = hadal(&["check", &model]).expect_code(1).stdout;
    assert!(text.contains("here the loop begins") && text.contains("repeat forever"), "{text}");
    let page = hadal(&["check", &model, "--trace", "html"]).expect_code(1).stdout;
    assert!(page.contains("\"loop_from\":"), "the page knows the loop");
}

/// Products of BEEM's property processes: states and transitions as counted, answers as published.
fn products(most_states: u64) {
    let Some(models) = corpus("dve/ltl") else { return };
    let Some(oracle) = hadal_testkit::corpus::oracle("dve-ltl.tsv") else { return };
    let text = std::fs::read_to_string(oracle).expect("the table can be read");
    let rows: Vec<Vec<&str>> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.starts_with("model"))
        .map(|line| line.split('\t').collect())
        .filter(|row: &Vec<&str>| row[1].parse().is_ok_and(|states: u64| states <= most_states))
        .collect();
    assert!(rows.len() > 20, "{} rows", rows.len());
    let wrong = on_threads(2, &rows, |row| {
        let model = models.join(format!("{}.dve", row[0])).display().to_string();
        let run = check(&model, &["--deadlock", "off", "--memory", "1500M"]);
        let result = if run.code <= 1 { run.json() } else { return Some(format!("{run:#?}")) };
        let answer = if run.code == 0 { "yes" } else { "no" };
        let same = |field: &str, n: usize| result[field].as_u64() == row[n].parse().ok();
        let known =
            [row.get(4), row.get(5)].into_iter().flatten().find(|known| ["yes", "no"].contains(known));
        // In a huge space a wrong run is found before everything is explored, and the counts are those of that search.
        let is_huge = row[1].parse().is_ok_and(|states: u64| states >= 1_000_000);
        let counted = same("states", 1) && same("transitions", 2) || is_huge && answer == "no";
        let right = counted && known.is_none_or(|known| *known == answer);
        (!right).then(|| {
            format!("{row:?}: {answer}, {} states, {} transitions", result["states"], result["transitions"])
        })
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn products_of_beem_have_the_published_answers() {
    products(8_000);
}

#[test]
#[ignore = "minutes; cargo test --release -p hadal --test liveness -- --ignored"]
fn all_products_of_beem_have_the_published_answers() {
    products(3_000_000);
}

#[test]
fn products_on_disk_have_the_answers_they_have_in_ram() {
    let Some(models) = corpus("dve/ltl") else { return };
    for (name, code) in [("bopdp.1.prop2", 1), ("bopdp.1.prop1", 0), ("anderson.4.prop4", 0)] {
        let model = models.join(format!("{name}.dve"));
        if !model.is_file() {
            println!("SKIPPED 1: no {}", model.display());
            continue;
        }
        let model = model.display().to_string();
        let small = check(&model, &["--deadlock", "off", "--strategy", "sort"]);
        assert_eq!(small.code, 2, "layered strategies say that they do not look for runs: {small:#?}");
        let large = check(&model, &["--deadlock", "off"]).expect_code(code).json();
        let tight = check(&model, &["--deadlock", "off", "--memory", "16M"]).expect_code(code).json();
        assert_eq!(tight["states"], large["states"], "{name}");
        assert_eq!(tight["loop_length"], large["loop_length"], "{name}");
        assert_eq!(tight["trace_length"], large["trace_length"], "{name}");
    }
}

#[test]
fn the_railway_has_its_four_answers() {
    let model = support::bundled().join("hbahn.mdve").display().to_string();
    let deadlock = check(&model, &[]).json();
    assert_eq!((&deadlock["verdict"], &deadlock["trace_length"]), (&"violated".into(), &7.into()));
    let exclusion = check(&model, &["--ltl", "[] !(Cabin1.Track2a && Cabin2.Track2a)"]).json();
    assert_eq!((&exclusion["verdict"], &exclusion["states"]), (&"holds".into(), &86.into()));
    let cured = check(&model, &["-D", "BOTH=1"]).json();
    assert_eq!((&cured["verdict"], &cured["states"]), (&"holds".into(), &80.into()));
    let response = "[] (Cabin2.Library -> <> Cabin2.Eichlinghofen)";
    for both in ["BOTH=0", "BOTH=1"] {
        for engine in ENGINES {
            for por in [&[][..], &["--por"]] {
                let flags = ["-D", both, "--liveness", engine, "--ltl", response];
                let run = check(&model, &[&flags, por].concat());
                assert_eq!(run.json()["verdict"], "violated", "{}: {}", run.command, run.stderr);
            }
        }
    }
}

/// Three counters that go up to `LAST` each and then begin again together.
fn counters(last: u32) -> String {
    let count = |name: &str| format!("rule \"{name}\" {name} < LAST ==> {name} := {name} + 1; end;\n");
    format!(
        "const LAST: {last};\ntype count: 0..LAST;\nvar x: count; y: count; z: count;\n\
        startstate x := 0; y := 0; z := 0; end;\n{}{}{}\
        rule \"again\" x = LAST & y = LAST & z = LAST ==> x := 0; y := 0; z := 0; end;\n",
        count("x"),
        count("y"),
        count("z"),
    )
}

/// Kills a check again and again, a little later each time, and resumes it until it ends by itself.
fn killed(model: &str, further: &[&str], first_wait_ms: u64) -> (serde_json::Value, u32) {
    let disk = tempfile::tempdir().expect("a folder");
    let place = disk.path().display().to_string();
    let mut wait = std::time::Duration::from_millis(first_wait_ms);
    let mut deaths = 0;
    loop {
        let mut runs = std::fs::read_dir(disk.path()).expect("the folder can be read").flatten();
        let run = runs.next().map(|run| run.path());
        let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_hadal"));
        match &run {
            Some(run) => command.arg("resume").arg(run).arg("--json"),
            None => {
                command.args(["check", model, "--json", "--threads", "1", "--disk", &place]).args(further)
            }
        };
        let child = command
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("the command starts");
        let id = child.id();
        let (sender, receiver) = std::sync::mpsc::channel();
        let waiting = std::thread::spawn(move || {
            let output = child.wait_with_output();
            let _ = sender.send(());
            output
        });
        if receiver.recv_timeout(wait).is_err() {
            let id = id.to_string();
            std::process::Command::new("kill").args(["-9", &id]).status().expect("there is kill");
        }
        let output = waiting.join().expect("it ends").expect("its output can be read");
        if let Ok(result) = serde_json::from_slice::<serde_json::Value>(&output.stdout)
            && result["verdict"].is_string()
        {
            return (result, deaths);
        }
        if let Some(run) =
            run.filter(|run| !run.join("MANIFEST-0").exists() && output.status.code() == Some(2))
        {
            // Killed before its first commit: there is nothing to go on from.
            std::fs::remove_dir_all(run).expect("it can be removed");
        }
        deaths += 1;
        assert!(deaths < 60, "it never ends");
        wait = wait.mul_f64(1.3);
    }
}

#[test]
fn searches_for_accepted_cycles_that_are_killed_are_resumed_to_the_same_answer() {
    let folder = tempfile::tempdir().expect("a folder");
    let large = written(&folder, "large.m", &counters(32));
    let small = written(&folder, "small.m", &counters(6));
    let mut all = 0;
    for (engine, model, formula, holds) in [
        ("external-owcty", &large, "[] <> (x = 0)", true),
        ("external-owcty", &small, "<> [] (x = 0)", false),
        ("external-map", &large, "[] <> (x = 0)", true),
        ("las-bfs", &small, "<> [] (x = 0)", false),
        ("las-bfs", &small, "[] <> (x = 0)", true),
        ("las-astar", &small, "<> [] (x = 0)", false),
    ] {
        let asked = ["--ltl", formula, "--liveness", engine];
        let whole = check(model, &asked).expect_code(i32::from(!holds)).json();
        let (result, deaths) = killed(model, &asked, 60);
        all += deaths;
        for figure in ["verdict", "states", "transitions", "trace_length", "loop_length"] {
            assert_eq!(result[figure], whole[figure], "{engine} {formula}: {figure} after {deaths} deaths");
        }
    }
    println!("{all} deaths");
    assert!(all > 0, "nothing was killed");
}

#[test]
fn a_bound_on_the_steps_of_lassos_is_raised_when_the_run_is_resumed() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = written(&folder, "counters.m", &counters(2));
    let disk = folder.path().join("runs").display().to_string();
    let asked = ["--ltl", "<> [] (x = 0)", "--liveness", "las-any"];
    let whole = check(&model, &asked).expect_code(1).json();
    let shortest = whole["trace_length"].as_u64().expect("a lasso");
    let bound = (shortest - 1).to_string();
    let limits = ["--max-depth", &bound, "--strategy", "sort", "--disk", &disk];
    let stopped = check(&model, &[&asked[..], &limits].concat()).expect_code(3).json();
    let run = stopped["run"].as_str().expect("a run to resume");
    let next = shortest.to_string();
    let found = hadal(&["resume", run, "--max-depth", &next, "--json"]).expect_code(1).json();
    assert_eq!(
        (found["verdict"].as_str(), found["trace_length"].as_u64()),
        (Some("violated"), Some(shortest))
    );
}

#[test]
fn a_wrong_run_of_a_large_space_is_found_before_all_of_it_is_explored() {
    let folder = tempfile::tempdir().expect("a folder");
    // 1.7 million states.
    let model = written(&folder, "counters.m", &counters(119));
    let asked = ["--ltl", "<> [] (x = 0)", "--deadlock", "off"];
    let one = check(&model, &asked).expect_code(1).json();
    assert_eq!(one["verdict"], "violated");
    assert!(one["states"].as_u64().expect("a count") < 250_001, "{}", one["states"]);
    let two =
        hadal(&[&["check", &model, "--json", "--threads", "2"][..], &asked].concat()).expect_code(1).json();
    assert_eq!(one["trace"], two["trace"], "threads make no difference");
    let holds = check(&model, &["--ltl", "[] <> (x = 0)"]).expect_code(0).json();
    assert!(holds["states"].as_u64().expect("a count") > 1_700_000);
}

#[test]
fn symmetry_is_left_out_for_formulas_and_that_is_said() {
    let folder = tempfile::tempdir().expect("a folder");
    let model = written(
        &folder,
        "users.m",
        "type user: scalarset(3);\nvar busy: array [user] of boolean;\n\
        startstate for u: user do busy[u] := false; end; end;\n\
        ruleset u: user do\n\
          rule \"begin\" forall v: user do !busy[v] end ==> busy[u] := true; end;\n\
          rule \"end\" busy[u] ==> busy[u] := false; end;\n\
        end;\n\
        invariant \"one\" forall u: user do forall v: user do busy[u] & busy[v] -> u = v end end;\n",
    );
    let plain = check(&model, &[]).expect_code(0).json();
    assert_eq!((plain["symmetry"].as_str(), plain["states"].as_u64()), (Some("exact"), Some(2)));
    let formula = "[] <> (forall u: user do !busy[u] end)";
    let asked = check(&model, &["--ltl", formula]).expect_code(0).json();
    assert_eq!(asked["symmetry"], "off");
    let notes = asked["reduction_notes"].as_array().expect("notes");
    assert!(
        notes.iter().any(|note| note.as_str().is_some_and(|it| it.starts_with("symmetry is off"))),
        "{notes:?}"
    );
    assert!(plain["reduction_notes"].as_array().is_none_or(Vec::is_empty));
}

/// Looks for a shortest lasso with much memory and with little: its loop takes all counters round once.
fn shortest_in_little_memory(last: u32) {
    let folder = tempfile::tempdir().expect("a folder");
    let model = written(&folder, "counters.m", &counters(last));
    let formula = format!("<> [] !(x = {last} & y = {last} & z = {last})");
    let asked = ["--ltl", &formula, "--lasso", "accepting", "--deadlock", "off"];
    let roomy = check(&model, &asked).expect_code(1).json();
    assert_eq!(roomy["loop_length"], 3 * last + 1);
    let disk = folder.path().join("runs").display().to_string();
    let small = ["--memory", "16M", "--disk", &disk];
    let narrow = check(&model, &[&asked[..], &small].concat()).expect_code(1).json();
    for figure in ["trace_length", "loop_length", "shortest_among"] {
        assert!(!roomy[figure].is_null(), "{figure}");
        assert_eq!(narrow[figure], roomy[figure], "{figure}");
    }
}

#[test]
fn a_shortest_lasso_is_found_where_memory_does_not_hold_all_loops() {
    shortest_in_little_memory(55);
}

#[test]
#[ignore = "half a minute; cargo test --release -p hadal --test liveness -- --ignored shortest"]
fn a_shortest_lasso_is_found_on_disk() {
    shortest_in_little_memory(63);
}
