//! `hadal solve` through the command: fixed names of the JSON object, exit codes, files beside the model, policies.

mod support;

use support::{bundled, hadal};

fn model(name: &str) -> String {
    bundled().join(name).display().to_string()
}

#[test]
fn bundled_models_have_their_values() {
    for (file, property, exact) in [
        ("gambler.prism", "rich", "729/1261"),
        ("gambler.prism", "bold", "729/2825"),
        ("gambler.prism", "games", "20450/1357"),
        ("gambler.prism", "quick", "243/625"),
        ("agreement.prism", "disagree", "11/84"),
        ("agreement.prism", "steps", "48"),
        ("agreement.prism", "steps_min", "27"),
    ] {
        let run = hadal(&["solve", &model(file), "--property", property, "--exact", "--json"]);
        assert_eq!(run.code, 0, "{run:?}");
        let found = run.json();
        assert_eq!(found["exact"], exact, "{file} {property}");
        let (lower, upper) =
            (found["lower"].as_f64().expect("a bound"), found["upper"].as_f64().expect("a bound"));
        let (above, below) = exact.split_once('/').unwrap_or((exact, "1"));
        let value = above.parse::<f64>().expect("a number") / below.parse::<f64>().expect("a number");
        assert!(lower <= value && value <= upper && upper - lower <= 1e-5 * upper, "{found}");
        for name in ["states", "choices", "branches", "sweeps", "tier"] {
            assert!(!found[name].is_null(), "{name}: {found}");
        }
    }
}

#[test]
fn bounds_hold_or_are_violated_with_their_exit_codes() {
    let gambler = model("gambler.prism");
    let run = hadal(&["solve", &gambler, "--property", "fair", "--json"]);
    assert_eq!((run.code, &run.json()["verdict"]), (0, &"holds".into()));
    let run = hadal(&["solve", &gambler, "--formula", "P>=0.3 [ F \"rich\" ]", "--json"]);
    assert_eq!((run.code, &run.json()["verdict"]), (1, &"violated".into()));
    // The greatest probability is 729/1261, exactly.
    for (bound, code, verdict) in [
        (">=0.5", 0, "holds"),
        ("<0.5", 1, "violated"),
        (">=729/1261", 0, "holds"),
        (">729/1261", 1, "violated"),
    ] {
        let run = hadal(&["solve", &gambler, "--property", "rich", "--threshold", bound, "--json"]);
        assert_eq!((run.code, &run.json()["verdict"]), (code, &verdict.into()), "{bound}");
    }
    assert_eq!(hadal(&["solve", &gambler, "--property", "rich", "--threshold", "0.5"]).code, 2);
    let run = hadal(&["solve", &gambler, "--formula", "Pmax=? [ F coins=99 ", "--json"]);
    assert_eq!(run.code, 2);
    let run = hadal(&["solve", &gambler, "-D", "N=20", "--property", "rich", "--max-states", "5", "--json"]);
    assert_eq!((run.code, &run.json()["verdict"]), (3, &"stopped".into()));
}

#[test]
fn a_policy_is_written_and_attains_the_value() {
    let place = tempfile::tempdir().expect("a place");
    let file = place.path().join("policy").display().to_string();
    let run = hadal(&["solve", &model("gambler.prism"), "--property", "rich", "--policy", &file, "--json"]);
    assert_eq!(run.code, 0, "{run:?}");
    let found = run.json();
    let followed = found["policy_lower"].as_f64().expect("a bound");
    assert!((followed - 729.0 / 1261.0).abs() < 1e-5, "{found}");
    let text = std::fs::read_to_string(&file).expect("the policy");
    assert_eq!(text.lines().count() as u64, found["policy_states"].as_u64().expect("a number"));
    assert!(text.starts_with("coins=2\tone\t0\n"), "{text}");
    // Following it draws about that.
    let run = hadal(&[
        "simulate",
        &model("gambler.prism"),
        "--policy",
        &file,
        "--formula",
        "Pmax=? [ F \"rich\" ]",
        "--runs",
        "4000",
        "--steps",
        "2000",
    ])
    .expect_code(0);
    let mean = run.stdout.split("mean ").nth(1).and_then(|rest| rest.split(',').next());
    let mean: f64 = mean.and_then(|text| text.parse().ok()).expect("a mean");
    assert!((mean - 729.0 / 1261.0).abs() < 4.0 * 0.0078, "{run:?}");
    let walk =
        hadal(&["simulate", &model("gambler.prism"), "--policy", &file, "--steps", "3"]).expect_code(0);
    assert!(
        walk.stdout.starts_with("    0  coins=2\n    1  one  (0.") && walk.stdout.lines().count() == 4,
        "{walk:?}"
    );
    // A bound that does not hold is shown by the policy that breaks it.
    let run = hadal(&[
        "solve",
        &model("gambler.prism"),
        "--formula",
        "P>=0.3 [ F \"rich\" ]",
        "--policy",
        &file,
        "--json",
    ]);
    let found = run.json();
    assert_eq!((run.code, &found["verdict"]), (1, &"violated".into()));
    assert!(found["policy_upper"].as_f64().expect("a bound") < 0.3, "{found}");
}

#[test]
fn explicit_files_hold_the_graph_that_is_solved() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let stem = folder.path().join("gambler.v2").display().to_string();
    hadal(&["solve", &model("gambler.prism"), "--export", &stem]).expect_code(0);
    let read = |extension: &str| {
        std::fs::read_to_string(format!("{stem}.{extension}"))
            .unwrap_or_else(|error| panic!("{extension}: {error}"))
    };
    let solved = hadal(&["solve", &model("gambler.prism"), "--property", "rich", "--json"]).json();
    let (tra, sta, lab, trew) = (read("tra"), read("sta"), read("lab"), read("games.trew"));
    let head = format!("{} {} {}", solved["states"], solved["choices"], solved["branches"]);
    assert_eq!(tra.lines().next(), Some(head.as_str()));
    let mut sums = std::collections::BTreeMap::new();
    for line in tra.lines().skip(1) {
        let words: Vec<&str> = line.split(' ').collect();
        assert!(["one", "half", "all", "done"].contains(&words[4]), "{line}");
        *sums.entry((words[0].to_owned(), words[1].to_owned())).or_insert(0.0) +=
            words[3].parse::<f64>().expect("a weight");
    }
    assert_eq!(sums.len() as u64, solved["choices"].as_u64().expect("a number"));
    assert!(sums.values().all(|sum: &f64| (sum - 1.0).abs() < 1e-12), "{sums:?}");
    assert_eq!(sta.lines().take(2).collect::<Vec<_>>(), ["(coins)", "0:(2)"]);
    let number = |coins: &str| {
        let line = sta.lines().find(|line| line.ends_with(&format!("({coins})"))).expect("such a state");
        line.split(':').next().expect("a number").to_owned()
    };
    assert_eq!(lab.lines().next(), Some("0=\"init\" 1=\"deadlock\" 2=\"rich\" 3=\"ruined\""));
    for (coins, label) in [("2", 0), ("8", 2), ("0", 3)] {
        assert!(lab.lines().any(|line| line == format!("{}: {label}", number(coins))), "{lab}");
    }
    // Every game earns 1; nothing is earned where it is over.
    let over = [number("0"), number("8")];
    assert!(trew.lines().skip(1).all(|line| line.ends_with(" 1")), "{trew}");
    assert!(
        trew.lines().skip(1).all(|line| !over.iter().any(|state| line.starts_with(&format!("{state} "))))
    );
    let refused = hadal(&["solve", &model("gambler.prism"), "--export", &stem, "--exact"]);
    assert_eq!(refused.code, 2);
    // Read again, they are the same process.
    let file = format!("{stem}.tra");
    for (property, formula) in
        [("rich", "Pmax=? [ F \"rich\" ]"), ("games", "R{\"games\"}max=? [ F \"rich\" | \"ruined\" ]")]
    {
        let ours =
            hadal(&["solve", &model("gambler.prism"), "--property", property, "--exact", "--json"]).json();
        let read = hadal(&["solve", &file, "--formula", formula, "--exact", "--json"]).expect_code(0).json();
        for name in ["exact", "states", "choices", "branches"] {
            assert_eq!(read[name], ours[name], "{property} {name}");
        }
    }
    // The variables of the states can be asked for.
    let named =
        hadal(&["solve", &file, "--formula", "Pmax=? [ F coins=8 ]", "--exact", "--json"]).expect_code(0);
    assert_eq!(named.json()["exact"], "729/1261");
    std::fs::write(format!("{stem}.sta"), sta.replace("(coins)", "(s)")).expect("written");
    let named = hadal(&["solve", &file, "--formula", "Pmax=? [ F s=8 ]", "--exact", "--json"]).expect_code(0);
    assert_eq!(named.json()["exact"], "729/1261");
    std::fs::write(format!("{stem}.sta"), "(coins)\n0:(1)\n").expect("written");
    let refused = hadal(&["solve", &file, "--formula", "Pmax=? [ F s=8 ]"]).expect_code(2);
    assert!(refused.stderr.contains("states, line 1"), "{refused:?}");
    std::fs::remove_file(format!("{stem}.sta")).expect("gone");
    std::fs::write(&file, "3 2\n0 1 0.5\n0 7 0.5\n").expect("written");
    let refused = hadal(&["solve", &file, "--formula", "P=? [ F s=1 ]"]).expect_code(2);
    assert!(refused.stderr.contains("line 3"), "{refused:?}");
}

#[test]
fn named_tiers_give_the_same_bits() {
    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().display().to_string();
    for (file, property) in
        [("agreement.prism", "disagree"), ("agreement.prism", "steps_min"), ("gambler.prism", "quick")]
    {
        let ask = |tier: &str| {
            let model = model(file);
            let mut args = vec!["solve", &model, "--property", property, "--tier", tier, "--json"];
            if tier != "ram" {
                args.extend(["--memory", "2M", "--disk", &folder]);
            }
            let found = hadal(&args).json();
            assert_eq!(found["tier"], tier, "{found}");
            (
                found["lower"].clone(),
                found["upper"].clone(),
                found["states"].clone(),
                found["branches"].clone(),
            )
        };
        let ram = ask("ram");
        for tier in ["semi-external", "blocks", "faithful"] {
            assert_eq!(ask(tier), ram, "{file} {property} {tier}");
        }
    }
    // Answers take their folders with them.
    assert_eq!(std::fs::read_dir(place.path()).expect("the folder").count(), 0);
    let refused = hadal(&["solve", &model("gambler.prism"), "--property", "rich", "--tier", "blocks"]);
    assert_eq!(refused.code, 2, "{refused:?}");
}

#[test]
fn the_same_command_goes_on_after_a_kill() {
    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().display().to_string();
    let model = model("agreement.prism");
    let args = ["solve", &model, "--property", "disagree", "--tier", "faithful", "--memory", "2M", "--json"];
    let whole = hadal(&[&args[..], &["--disk", &folder]].concat()).json();
    let mut resumed = 0;
    for n in 1..5u64 {
        let folder = place.path().join(n.to_string()).display().to_string();
        let args = [&args[..], &["--disk", &folder]].concat();
        let mut child = std::process::Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(&args)
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("a process");
        std::thread::sleep(std::time::Duration::from_millis(20 * n));
        child.kill().expect("killed");
        child.wait().expect("gone");
        let found = hadal(&args).json();
        assert_eq!((&found["lower"], &found["upper"]), (&whole["lower"], &whole["upper"]), "{found}");
        resumed += u64::from(found["resumed"] == true);
    }
    println!("{resumed} of 4 runs went on from a commit");
}

#[test]
fn a_certificate_is_checked_without_solving() {
    let place = tempfile::tempdir().expect("a place");
    let file = place.path().join("certificate").display().to_string();
    for (name, property) in
        [("agreement.prism", "disagree"), ("agreement.prism", "steps_min"), ("gambler.prism", "rich")]
    {
        let model = model(name);
        hadal(&["solve", &model, "--property", property, "--certificate", &file]).expect_code(0);
        let run = hadal(&["check-certificate", &file, &model]).expect_code(0);
        assert!(run.stdout.contains("proved    between"), "{run:?}");
        let text = std::fs::read_to_string(&file).expect("the certificate");
        let between = text.lines().nth(2).expect("its bounds").to_owned();
        std::fs::write(&file, text.replace(&between, "between 0.0 0.0001")).expect("written");
        hadal(&["check-certificate", &file, &model]).expect_code(1);
    }
    std::fs::write(&file, "something else").expect("written");
    hadal(&["check-certificate", &file, &model("gambler.prism")]).expect_code(2);
}

#[test]
fn ppddl_has_costs_and_initial_states_left_to_chance() {
    let place = tempfile::tempdir().expect("a place");
    let file = place.path().join("walk.pddl");
    std::fs::write(
        &file,
        "(define (domain walk) (:requirements :typing :probabilistic-effects :rewards)
           (:predicates (near) (home) (wet))
           (:action walk :precondition (not (near))
             :effect (and (decrease (reward) 2) (probabilistic 1/2 (near))))
           (:action enter :precondition (and (near) (not (wet)))
             :effect (and (decrease (reward) 1) (probabilistic 3/4 (home) 1/4 (wet)))))
         (define (problem p) (:domain walk)
           (:init (probabilistic 1/3 (near))) (:goal (home)) (:goal-reward 10) (:metric maximize (reward)))",
    )
    .expect("written");
    let file = file.display().to_string();
    let ask = |property: &str| {
        hadal(&["solve", &file, "--property", property, "--exact", "--json"]).json()["exact"].clone()
    };
    assert_eq!(ask("goal"), "3/4");
    // Where it may rain for ever, nothing is reached for certain.
    assert_eq!(ask("cost"), "infinity");
    let text = std::fs::read_to_string(&file).expect("the text").replace("1/4 (wet)", "1/4 (near)");
    std::fs::write(&file, text).expect("written");
    assert_eq!(ask("goal"), "1");
    // Two thirds walk 2 steps at 2 each; then entering takes 4/3 steps at 1.
    assert_eq!(ask("steps"), "8/3");
    assert_eq!(ask("cost"), "4");
    // Trials find the same, whatever they begin with.
    for (property, method, expected) in [("cost", "lrtdp", 4.0), ("cost", "ldfs", 4.0), ("goal", "fret", 1.0)]
    {
        for guide in ["blind", "hmax", "lmcut"] {
            let run = hadal(&[
                "solve",
                &file,
                "--property",
                property,
                "--method",
                method,
                "--guide",
                guide,
                "--json",
            ]);
            let found = value(&run.expect_code(0));
            assert!((found - expected).abs() < 1e-4, "{property} {method} {guide}: {found}");
        }
    }
    // What was found can be followed.
    let policy = place.path().join("policy").display().to_string();
    hadal(&["solve", &file, "--property", "cost", "--policy", &policy]).expect_code(0);
    let run = hadal(&[
        "simulate",
        &file,
        "--policy",
        &policy,
        "--formula",
        "R{\"cost\"}min=? [ F goal ]",
        "--runs",
        "4000",
        "--steps",
        "1000",
    ])
    .expect_code(0);
    let mean = run.stdout.split("mean ").nth(1).and_then(|rest| rest.split(',').next());
    let mean: f64 = mean.and_then(|text| text.parse().ok()).expect("a mean");
    assert!((mean - 4.0).abs() < 4.0 * 0.05, "{run:?}");
}

#[test]
fn what_has_no_certificate_or_is_not_on_disk_says_why() {
    let place = tempfile::tempdir().expect("a place");
    let (file, folder) = (place.path().join("c").display().to_string(), place.path().display().to_string());
    let gambler = model("gambler.prism");
    let refused = |args: &[&str], reason: &str| {
        let run = hadal(&[&["solve", &gambler], args].concat());
        assert!(
            run.code >= 2 && format!("{}{}", run.stdout, run.stderr).contains(reason),
            "{reason}: {run:?}"
        );
    };
    for formula in [
        "Pmax=? [ F<=9 \"rich\" ]",
        "Pmin=? [ F<=9 \"rich\" ]",
        "Pmax=? [ G<=7 !\"ruined\" ]",
        "Pmax=? [ coins<7 U[2,6] \"rich\" ]",
        "Pmin=? [ X coins>2 ]",
        "R{\"games\"}max=? [ C<=12 ]",
        "R{\"games\"}min=? [ I=4 ]",
    ] {
        let disk = ["--tier", "blocks", "--disk", &folder, "--certificate", &file];
        hadal(&[&["solve", &gambler, "--formula", formula], &disk[..]].concat()).expect_code(0);
        hadal(&["check-certificate", &file, &gambler]).expect_code(0);
        hadal(&["solve", &gambler, "--formula", formula, "--certificate", &file]).expect_code(0);
        hadal(&["check-certificate", &file, &gambler]).expect_code(0);
        // Half of what is claimed of one state is too little, or contradicts what was claimed.
        let text = std::fs::read_to_string(&file).expect("a certificate");
        let line =
            text.lines().rfind(|line| line.split(' ').nth(2).is_some_and(|u| u != "0.0")).expect("a claim");
        let mut words: Vec<String> = line.split(' ').map(str::to_owned).collect();
        words[2] = format!("{:?}", words[2].parse::<f64>().expect("a bound") / 2.0);
        words[1] = "0.0".into();
        std::fs::write(&file, text.replace(line, &words.join(" "))).expect("written");
        hadal(&["check-certificate", &file, &gambler]).expect_code(1);
    }
    refused(&["--formula", "Pmax=? [ F G \"rich\" ]", "--certificate", &file], "product");
    // An infinite greatest reward has one: the target may be avoided.
    let run =
        hadal(&["solve", &gambler, "--formula", "R{\"games\"}max=? [ F \"rich\" ]", "--certificate", &file]);
    assert!(run.code == 0 && run.stdout.contains("inf"), "{run:?}");
    hadal(&["check-certificate", &file, &gambler]).expect_code(0);
    let on_disk = ["--tier", "semi-external", "--disk", &folder, "--formula"];
    for (formula, more, reason) in [
        ("Pmax=? [ (G F P>=0.5 [ F \"rich\" ]) & (F \"rich\") ]", &["--certificate", &file][..], "inside"),
        ("Smax=? [ \"rich\" ]", &["--certificate", &file], "averages"),
        ("Smax=? [ \"rich\" ]", &["--exact"], "leave --exact out"),
        ("Smax=? [ \"rich\" ]", &["--policy", &file], "policy of states alone"),
        ("Pmax=? [ (F \"rich\") | (F G \"ruined\") ]", &["--certificate", &file], "product"),
        ("Pmax=? [ (F \"rich\") | (F G \"ruined\") ]", &["--policy", &file], "policy of states alone"),
    ] {
        refused(&[&on_disk[..], &[formula], more].concat(), reason);
    }
}

#[test]
fn products_totals_and_fractions_are_the_same_on_disk() {
    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().display().to_string();
    let gambler = model("gambler.prism");
    for formula in [
        "Pmax=? [ (F \"rich\") & (G !\"ruined\") ]",
        "Pmin=? [ (F \"rich\") | (F G coins<3) ]",
        "Pmax=? [ F^{rew{\"games\"}<=6} \"rich\" ]",
        "Pmin=? [ F>=4 \"rich\" ]",
        "Pmax=? [ F<=9 \"rich\" ]",
        "filter(avg, Pmax=? [ F \"rich\" ], true)",
        "filter(avg, Pmax=? [ (F \"rich\") | (F G \"ruined\") ], coins>2)",
        "Pmax=? [ F P>=0.6 [ F^{rew{\"games\"}<=3} \"rich\" ] ]",
        "R{\"games\"}min=? [ C ]",
        "Pmax=? [ F \"rich\" ]",
        "R{\"games\"}max=? [ F \"rich\" | \"ruined\" ]",
    ] {
        let ask = |more: &[&str]| {
            hadal(&[&["solve", &gambler, "--formula", formula, "--json"], more].concat())
                .expect_code(0)
                .json()
        };
        let exact = ask(&["--exact"]);
        for tier in ["semi-external", "blocks", "faithful"] {
            let found = ask(&["--tier", tier, "--disk", &folder]);
            let (low, high) =
                (found["lower"].as_f64().expect("a bound"), found["upper"].as_f64().expect("a bound"));
            let text = exact["exact"].as_str().expect("a fraction");
            let (above, below) = text.split_once('/').unwrap_or((text, "1"));
            let value = above.parse::<f64>().expect("a number") / below.parse::<f64>().expect("a number");
            assert!(low <= value * (1.0 + 1e-9) && value <= high * (1.0 + 1e-9), "{formula} {found} {exact}");
            let sharp = ask(&["--tier", tier, "--disk", &folder, "--exact"]);
            assert_eq!(sharp["exact"], exact["exact"], "{formula} {tier}");
        }
    }
    // A bound that is the value itself is decided exactly.
    let value = hadal(&["solve", &gambler, "--formula", "Pmax=? [ F \"rich\" ]", "--exact", "--json"]).json();
    let bound = value["exact"].as_str().expect("a fraction").to_owned();
    let formula = format!("P<={bound} [ F \"rich\" ]");
    hadal(&["solve", &gambler, "--formula", &formula, "--tier", "blocks", "--disk", &folder]).expect_code(0);
    let formula = format!("P<{bound} [ F \"rich\" ]");
    hadal(&["solve", &gambler, "--formula", &formula, "--tier", "blocks", "--disk", &folder]).expect_code(1);
}

#[test]
fn tiers_on_disk_answer_nested_questions_and_filters_and_write_policies_and_certificates() {
    let place = tempfile::tempdir().expect("a place");
    let folder = place.path().display().to_string();
    let gambler = model("gambler.prism");
    let bounds = |found: &serde_json::Value| {
        (found["lower"].as_f64().expect("a bound"), found["upper"].as_f64().expect("a bound"))
    };
    for formula in [
        "Pmax=? [ F (P>=0.3 [ F \"rich\" ]) ]",
        "Pmin=? [ F \"deadlock\" | \"ruined\" ]",
        "filter(avg, Pmax=? [ F \"rich\" ], coins>0)",
        "filter(min, R{\"games\"}max=? [ F \"rich\" | \"ruined\" ], coins=3)",
        "filter(max, Pmax=? [ F<=3 \"rich\" ], coins<8)",
    ] {
        let ask = |more: &[&str]| {
            hadal(&[&["solve", &gambler, "--formula", formula, "--json"], more].concat())
                .expect_code(0)
                .json()
        };
        let (low, high) = bounds(&ask(&[]));
        let kept = ask(&["--tier", "ram"]);
        for tier in ["semi-external", "blocks", "faithful"] {
            let found = ask(&["--tier", tier, "--disk", &folder]);
            assert_eq!(bounds(&found), bounds(&kept), "{formula} {tier}");
        }
        let (other_low, other_high) = bounds(&kept);
        assert!(low <= other_high + 1e-12 && other_low <= high + 1e-12, "{formula}: {kept} {low} {high}");
    }
    let count = |more: &[&str]| {
        let formula = "filter(count, P>=0.4 [ F \"rich\" ], true)";
        hadal(&[&["solve", &gambler, "--formula", formula, "--json"], more].concat()).expect_code(0).json()
            ["count"]
            .clone()
    };
    assert_eq!(count(&[]), count(&["--tier", "blocks", "--disk", &folder]));
    for (number, formula) in [
        "Pmax=? [ F \"rich\" ]",
        "Pmin=? [ F \"rich\" ]",
        "Pmax=? [ G !\"rich\" ]",
        "R{\"games\"}max=? [ F \"rich\" | \"ruined\" ]",
        "R{\"games\"}min=? [ F \"rich\" | \"ruined\" ]",
        "R{\"games\"}max=? [ F \"rich\" ]",
    ]
    .into_iter()
    .enumerate()
    {
        let (policy, certificate) = (place.path().join("policy"), place.path().join(format!("c{number}")));
        let (policy, certificate) = (policy.display().to_string(), certificate.display().to_string());
        let written = ["--policy", &policy, "--certificate", &certificate];
        let disk = ["--tier", "semi-external", "--disk", &folder, "--json"];
        let run = hadal(&[&["solve", &gambler, "--formula", formula], &disk[..], &written[..]].concat());
        let found = run.expect_code(0).json();
        hadal(&["check-certificate", &certificate, &gambler]).expect_code(0);
        if found["lower"] != "infinity" {
            let (low, high) = bounds(&found);
            let gives = (
                found["policy_lower"].as_f64().expect("a bound"),
                found["policy_upper"].as_f64().expect("a bound"),
            );
            assert!(gives.0 <= high * (1.0 + 1e-4) && gives.1 >= low * (1.0 - 1e-4), "{formula}: {found}");
        }
        let lines = std::fs::read_to_string(&policy).expect("a policy").lines().count();
        assert_eq!(found["policy_states"], lines, "{found}");
    }
    // A certificate that was changed is refused.
    let certificate = place.path().join("c0").display().to_string();
    let text =
        std::fs::read_to_string(&certificate).expect("a certificate").replace("between 0.5", "between 0.6");
    std::fs::write(&certificate, text).expect("written");
    hadal(&["check-certificate", &certificate, &gambler]).expect_code(1);
}

#[test]
fn methods_of_the_literature_agree() {
    let place = tempfile::tempdir().expect("a place");
    let file = place.path().join("climb.prism").display().to_string();
    let text = "mdp module m x : [0..9]; [walk] x<9 -> 0.5 : (x'=x+1) + 0.5 : (x'=x);
                [jump] x<8 -> 0.7 : (x'=x+2) + 0.3 : (x'=0); [] x=9 -> true; endmodule
                rewards \"effort\" [walk] true : 1; [jump] true : 2; endrewards";
    std::fs::write(&file, text).expect("written");
    let ask = |method: &str, formula: &str| {
        hadal(&["solve", &file, "--formula", formula, "--method", method, "--json"])
    };
    let least = "R{\"effort\"}min=? [ F x=9 ]";
    let proved = ask("intervals", least).expect_code(0).json();
    let (lower, upper) =
        (proved["lower"].as_f64().expect("a bound"), proved["upper"].as_f64().expect("a bound"));
    let grown = ask("lao", least).expect_code(0).json();
    assert!(
        grown["lower"].as_f64() <= Some(upper) && grown["upper"].as_f64() >= Some(lower),
        "{grown} {proved}"
    );
    let refused = ask("ao", least);
    assert!(refused.code == 2 && refused.stderr.contains("circle"), "{refused:?}");
    for method in ["jacobi", "gauss-seidel", "rtdp", "lrtdp", "ldfs"] {
        let found = ask(method, least).expect_code(0).json();
        let value = found["value"].as_f64().expect("a value");
        assert!(
            (value - lower).abs() < 1e-3 && found["lower"].is_null() && found["method"] == method,
            "{found}"
        );
        let refused = ask(method, "Pmax=? [ F x=9 & x>0 ]");
        assert!(refused.code == 2 && refused.stderr.contains("lao"), "{refused:?}");
    }
    // So many sweeps and no more.
    let swept = |sweeps: &str| {
        let cut =
            ["solve", &file, "--formula", least, "--method", "jacobi", "--max-sweeps", sweeps, "--json"];
        hadal(&cut)
    };
    let (few, whole) = (swept("3"), ask("jacobi", least).json());
    let (all, cut) = (whole["residuals"].as_array().expect("a list"), few.json());
    assert!(few.code == 3 && cut["verdict"] == "stopped" && cut["sweeps"] == 3, "{few:?}");
    assert_eq!(cut["residuals"].as_array().expect("a list")[..], all[..3]);
    assert!(all.last().and_then(|last| last.as_f64()) <= Some(1e-6) && whole["sweeps"] == all.len());
    assert!(cut["value"].as_f64() < whole["value"].as_f64(), "{cut} {whole}");
    assert_eq!(swept("1000000").json()["value"], whole["value"]);
    let refused = hadal(&["solve", &file, "--formula", least, "--max-sweeps", "3"]);
    assert!(refused.code == 2 && refused.stderr.contains("jacobi"), "{refused:?}");
    // What never arrives is not said to have a value.
    let text = text.replace("[] x=9", "[] x=9 & false").replace("x<9", "x<5").replace("x<8", "x<5");
    std::fs::write(
        &file,
        text.replace("endmodule", "[stay] x>=5 & x<9 -> true; endmodule")
            .replace("[walk] true : 1;", "true : 1;"),
    )
    .expect("written");
    assert_eq!(ask("lao", least).json()["lower"], "infinity");
}

#[test]
fn dead_ends_cost_what_they_are_said_to() {
    let place = tempfile::tempdir().expect("a place");
    let file = place.path().join("bridge.prism").to_string_lossy().into_owned();
    let text = "mdp module bridge s : [0..2] init 0;
            [jump] s=0 -> 0.5 : (s'=1) + 0.5 : (s'=2);
            [walk] s=0 -> (s'=1);
            [] s>0 -> true;
        endmodule rewards [walk] true : 30; [jump] true : 1; s=2 : 1; endrewards";
    std::fs::write(&file, text).expect("written");
    let least = "Rmin=? [ F s=1 ]";
    // Whoever jumps pays 1, and half of what a fall costs; whoever walks pays 30; whoever gives up at once pays for a fall.
    for (cost, expected) in [("10", 6.0), ("100", 30.0), ("4", 3.0), ("1.5", 1.5), ("0", 0.0)] {
        for method in ["jacobi", "gauss-seidel", "rtdp", "lrtdp", "ldfs"] {
            let asked =
                ["solve", &file, "--formula", least, "--method", method, "--dead-end", cost, "--json"];
            let found = value(&hadal(&asked).expect_code(0));
            assert!((found - expected).abs() < 1e-4, "{method} {cost}: {found}");
        }
    }
    for wrong in [["--dead-end", "3"], ["--dead-end", "-1"]] {
        let asked = ["solve", &file, "--formula", least, "--method", "intervals"];
        let refused = hadal(&[&asked[..], &wrong[..]].concat());
        assert!(refused.code == 2, "{refused:?}");
    }
    let refused =
        hadal(&["solve", &file, "--formula", "Pmax=? [ F s=1 ]", "--method", "fret", "--dead-end", "3"]);
    assert!(refused.code == 2 && refused.stderr.contains("--dead-end"), "{refused:?}");
}

/// The value that a method finds, `infinity` included.
fn value(run: &support::Run) -> f64 {
    let found = &run.json()["value"];
    found.as_f64().unwrap_or_else(|| if found == "infinity" { f64::INFINITY } else { panic!("{run:?}") })
}

#[test]
fn parts_that_are_all_needed_add_up_or_wait_for_the_slowest() {
    let assembly = model("assembly.prism");
    for method in ["ao", "ldfs", "lrtdp", "lao", "jacobi", "gauss-seidel"] {
        let ask = |property: &str, outcomes: &str| {
            let outcomes = ["--outcomes", outcomes, "--method", method, "--json"];
            value(
                &hadal(&[&["solve", &assembly, "--property", property], &outcomes[..]].concat())
                    .expect_code(0),
            )
        };
        assert_eq!((ask("money", "sum"), ask("days", "worst")), (77.0, 9.0), "{method}");
    }
    let refused = hadal(&["solve", &assembly, "--property", "money", "--outcomes", "sum"]);
    assert!(refused.code == 2 && refused.stderr.contains("--method ao"), "{refused:?}");
}

#[test]
fn a_game_is_won_in_as_many_moves_as_it_takes_against_the_best_answers() {
    let game = model("take_away.prism");
    for matches in 1..=23u32 {
        let expected = if matches % 4 == 0 { f64::INFINITY } else { f64::from(matches.div_ceil(4)) };
        for method in ["ao", "ldfs"] {
            let given = format!("N={matches}");
            let run = hadal(&[
                "solve",
                &game,
                "-D",
                &given,
                "--property",
                "moves",
                "--outcomes",
                "worst",
                "--method",
                method,
                "--json",
            ]);
            assert_eq!(value(&run.expect_code(0)), expected, "{matches} {method}");
        }
    }
}

#[test]
fn fret_and_guided_trials_agree_with_proved_bounds() {
    for (file, property) in
        [("gambler.prism", "rich"), ("take_away.prism", "chance"), ("agreement.prism", "disagree")]
    {
        let file = model(file);
        let proved = hadal(&["solve", &file, "--property", property, "--json"]).expect_code(0).json();
        let found = value(
            &hadal(&[
                "solve",
                &file,
                "--property",
                property,
                "--method",
                "fret",
                "--precision",
                "1e-9",
                "--json",
            ])
            .expect_code(0),
        );
        let lower = proved["lower"].as_f64().expect("a bound");
        assert!((found - lower).abs() < 1e-4, "{file}: {found} {proved}");
    }
    // A guide leaves the value as it is and makes less of the graph.
    let floor = model("wet_floor.prism");
    let ask = |guide: &str| {
        let run =
            hadal(&["solve", &floor, "--property", "steps", "--method", "lrtdp", "--guide", guide, "--json"]);
        let found = run.expect_code(0).json();
        (found["value"].as_f64().expect("a value"), found["updates"].as_u64().expect("a count"))
    };
    let (blind, guided) = (ask("blind"), ask("pdb"));
    assert!((blind.0 - guided.0).abs() < 1e-4 && guided.1 < blind.1, "{blind:?} {guided:?}");
    let refused = hadal(&["solve", &floor, "--property", "steps", "--method", "lrtdp", "--guide", "hadd"]);
    assert!(refused.code == 2 && refused.stderr.contains("too high"), "{refused:?}");
}

#[test]
fn the_time_limit_ends_every_method_as_stopped() {
    let floor = model("wet_floor.prism");
    for more in
        [&["--method", "intervals"][..], &["--method", "jacobi"], &["--method", "lrtdp"], &["--exact"]]
    {
        let size = ["-D", "N=3000", "--time-limit", "1s", "--json"];
        let run = hadal(&[&["solve", &floor, "--property", "steps"], &size[..], more].concat());
        assert_eq!((run.code, run.json()["verdict"].as_str()), (3, Some("stopped")), "{more:?} {run:?}");
    }
}

#[test]
fn shortest_paths_under_chance_have_their_values() {
    for (file, given, property, value) in [
        ("wet_floor.prism", "N=10", "steps", 18.398601),
        ("wet_floor.prism", "N=20", "steps", 39.291859),
        ("wet_floor.prism", "N=50", "steps", 100.661557),
        ("noisy_tiles.prism", "p=0.9", "moves", 14.0 / 0.9),
        ("racetrack.prism", "p=1", "time", 7.0),
    ] {
        let run = hadal(&["solve", &model(file), "-D", given, "--property", property, "--json"]);
        let found = run.expect_code(0).json();
        let (lower, upper) =
            (found["lower"].as_f64().expect("a bound"), found["upper"].as_f64().expect("a bound"));
        // The known values are those of an iteration from below that stopped at a change of 1e-4.
        assert!(lower <= value + 5e-4 && value - 1e-4 <= upper, "{file} {given}: {found}");
    }
}

/// A fraction as it is printed.
fn fraction(text: &str) -> (u128, u128) {
    let (above, below) = text.split_once('/').unwrap_or((text, "1"));
    (above.parse().expect("a number"), below.parse().expect("a number"))
}

#[test]
fn paths_show_that_a_bound_is_broken_or_met() {
    let place = tempfile::tempdir().expect("a place");
    let (file, folder) =
        (place.path().join("paths").display().to_string(), place.path().display().to_string());
    let gambler = model("gambler.prism");
    // Whether more than the bound is wanted of paths to the target, or of others.
    for (formula, threshold, code, bound, end) in [
        ("P<=0.4 [ F \"rich\" ]", "", 1, 0.4, "in the target"),
        ("P>=0.5 [ F \"rich\" ]", "", 1, 0.5, "out of reach"),
        ("P<0.5 [ G !\"rich\" ]", "", 1, 0.5, "out of reach"),
        ("Pmax=? [ F \"rich\" ]", ">=0.35", 0, 0.35, "in the target"),
        ("Pmin=? [ F \"rich\" ]", "<=0.5", 0, 0.5, "out of reach"),
    ] {
        let mut args = vec!["solve", &gambler, "--formula", formula, "--paths", &file, "--json"];
        if !threshold.is_empty() {
            args.extend(["--threshold", threshold]);
        }
        // On disk the same paths are found.
        let ram = hadal(&args).expect_code(code).json();
        let text = std::fs::read_to_string(&file).expect("paths");
        let disk = [&args[..], &["--tier", "blocks", "--disk", &folder]].concat();
        let found = hadal(&disk).expect_code(code).json();
        assert_eq!(found["paths_probability"], ram["paths_probability"], "{formula}");
        assert_eq!(std::fs::read_to_string(&file).expect("paths"), text, "{formula}");
        let found = hadal(&args).expect_code(code).json();
        let text = std::fs::read_to_string(&file).expect("paths");
        assert!(text.contains(end), "{formula}: {text}");
        let mut sum = 0.0;
        let mut seen = std::collections::HashSet::new();
        for path in text.split("\npath ").skip(1) {
            let (head, steps) = path.split_once('\n').expect("steps");
            let (above, below) = fraction(head.split("probability ").nth(1).expect("a probability"));
            sum += above as f64 / below as f64;
            assert!(seen.insert(steps.to_owned()), "twice: {steps}");
            let coins = |line: &str| -> i32 {
                line.split("coins=").nth(1).and_then(|n| n.parse().ok()).unwrap_or_else(|| panic!("{line}"))
            };
            let states: Vec<i32> = steps.lines().filter(|l| !l.is_empty()).map(coins).collect();
            assert_eq!(states[0], 2, "{steps}");
            assert_eq!(states[states.len() - 1], if end == "in the target" { 8 } else { 0 }, "{steps}");
        }
        assert!(sum >= bound - 1e-9, "{formula}: {sum}");
        assert_eq!(found["paths"], seen.len(), "{found}");
    }
    // What holds whatever is chosen is not shown by the paths of one policy.
    let refused = hadal(&["solve", &gambler, "--formula", "P<=0.9 [ F \"rich\" ]", "--paths", &file]);
    assert!(refused.code == 2 && refused.stderr.contains("whatever is chosen"), "{refused:?}");
}

#[test]
fn a_problem_is_asked_what_the_formula_says() {
    let folder = tempfile::tempdir().expect("a folder");
    let (domain, problem) = (folder.path().join("domain.pddl"), folder.path().join("problem.pddl"));
    let text = "(define (domain coin) (:requirements :probabilistic-effects) (:predicates (heads) (lost))
        (:action toss :parameters () :precondition (not (lost))
          :effect (probabilistic 1/2 (heads) 1/4 (lost))))";
    std::fs::write(&domain, text).expect("a domain");
    std::fs::write(&problem, "(define (problem p) (:domain coin) (:init) (:goal (heads)))")
        .expect("a problem");
    let (domain, problem) = (domain.display().to_string(), problem.display().to_string());
    let ask = |formula: &str| hadal(&["solve", &domain, &problem, "--exact", "--json", "--formula", formula]);
    // Heads before losing is two in three; within two tosses one half and an eighth.
    assert_eq!(ask("Pmax=? [ F goal ]").json()["exact"], "2/3");
    assert_eq!(ask("Pmax=? [ F<=2 goal ]").json()["exact"], "5/8");
    let refused = ask("Pmax=? [ G goal ]");
    assert!(refused.code == 2 && refused.stderr.contains("Pmin=? [ F goal ]"), "{refused:?}");
}

#[test]
fn misprints_of_a_public_domain_are_refused_and_its_values_known_once_they_are_mended() {
    let Some(corpus) = hadal_testkit::corpus::find("ppddl") else { return };
    let (place, folder) = (tempfile::tempdir().expect("a place"), corpus.join("qcomp/cdrive"));
    let domain = folder.join("domain.pddl");
    let refused =
        hadal(&["solve", &domain.display().to_string(), &folder.join("p01.pddl").display().to_string()]);
    assert!(refused.code == 2 && refused.stderr.contains("unknown object `gree`"), "{refused:?}");
    // A colour that is never shown, and the third of three actions whose name is that of the first.
    let text = hadal_testkit::corpus::text(&domain).replace("green red", "green gree red");
    let (first, second) = text.rsplit_once("proceed-short-straight").expect("two actions");
    let mended = place.path().join("domain.pddl");
    std::fs::write(&mended, format!("{first}proceed-long-straight{second}")).expect("written");
    let known = hadal_testkit::corpus::text(&corpus.join("KNOWN.tsv"));
    for problem in ["p01", "p05", "p15"] {
        let line = known.lines().find(|line| line.contains(&format!("cdrive/{problem}"))).expect("a row");
        let file = folder.join(format!("{problem}.pddl")).display().to_string();
        let found = hadal(&["solve", &mended.display().to_string(), &file, "--exact", "--json"]);
        let found = found.expect_code(0).json();
        let exact = found["exact"].as_str().expect("a fraction");
        assert!(line.contains(&format!("states {}; goal = {exact} ", found["states"])), "{found}: {line}");
    }
}
