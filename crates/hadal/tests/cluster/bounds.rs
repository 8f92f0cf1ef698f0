//! What workers take, and what they do for each other.

use super::place::{Place, answer, cube};
use super::support::hadal;
use serde_json::{Value, json};
use std::collections::HashMap;

const MIB: u64 = 1 << 20;

/// The most memory that a process ever had, while it lives.
fn peak(pid: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim().strip_suffix(" kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

#[test]
fn resident_memory_is_the_budget_and_sixteen_mebibytes_and_two_for_each_neighbour() {
    const SIDE: u64 = 100;
    let place = Place::new(&cube(SIDE, false));
    for strategy in ["auto", "sort"] {
        let mut search = place.start("local:4", &["--strategy", strategy]);
        let mut most: HashMap<u32, u64> = HashMap::new();
        let seen = std::cell::RefCell::new(&mut most);
        search.until(|search| {
            for worker in search.workers() {
                if let Some(peak) = peak(worker) {
                    seen.borrow_mut().insert(worker, peak);
                }
            }
            false
        });
        let (code, result, told) = search.end();
        assert_eq!((code, &result["states"]), (0, &json!(SIDE * SIDE * SIDE)), "{told}");
        assert_eq!(most.len(), 4);
        let (budget, own, neighbours) = (32 * MIB, 16 * MIB, 2 * 3 * MIB);
        for (worker, peak) in most {
            assert!(peak > 8 * MIB, "{worker} was not seen while it searched");
            assert!(peak <= budget + own + neighbours, "{strategy}, {worker}: {} MiB", peak / MIB);
        }
    }
}

#[test]
fn who_owns_little_expands_for_others_and_the_answer_is_the_same() {
    // Layers of up to 7500 states.
    let place = Place::new(&cube(100, true));
    let hosts = place.path("hosts.txt");
    std::fs::write(&hosts, "localhost\nlocalhost weight=400\nlocalhost\n").expect("a file of hosts");
    let (code, result, told) = place.start(&hosts.display().to_string(), &[]).end();
    assert_eq!((code, answer(&result)), (1, answer(&place.alone())), "{told}");
    let helped = |worker: &Value| worker["helped_states"].as_u64().expect("a number");
    let workers = result["workers"].as_array().expect("a list");
    let (idle, busy) = (helped(&workers[0]) + helped(&workers[2]), workers[1]["states"].as_u64());
    assert!(idle > 1000 && busy > Some(900_000), "{workers:#?}");
}

/// A cube whose states are wide: more than a small table holds.
fn wide_cube(side: u64) -> String {
    let last = side - 1;
    let rule = |name: &str| {
        format!("rule \"{name}\" {name} < {last} ==> begin {name} := {name} + 1; follow(); end;\n")
    };
    format!(
        "\
var x, y, z: 0 .. {last}; w: array [0 .. 7] of 0 .. 1048575;
procedure follow(); begin
  for i: 0 .. 7 do w[i] := ((x + 1) * (7919 + 31 * i) + (y + 1) * (104729 + 17 * i) + (z + 1) * (15485863 + i)) % 1048576; end;
end;
startstate begin x := 0; y := 0; z := 0; follow(); end;
{}{}{}",
        rule("x"),
        rule("y"),
        rule("z")
    )
}

#[test]
fn tables_that_are_left_under_a_tight_budget_cost_no_answer() {
    const SIDE: u64 = 80;
    let place = Place::of("wide.m", &wide_cube(SIDE));
    for (workers, memory) in [("local:2", "20M"), ("local:3", "24M"), ("local:8", "24M")] {
        let run = hadal(&[
            "check",
            &place.model,
            "--deadlock",
            "off",
            "--json",
            "--threads",
            "1",
            "--cluster",
            workers,
            "--memory",
            memory,
        ]);
        let result = run.expect_code(0).json();
        assert_eq!(
            (&result["states"], &result["transitions"]),
            (&json!(SIDE * SIDE * SIDE), &json!(3 * (SIDE - 1) * SIDE * SIDE)),
            "{workers}"
        );
        if workers == "local:2" {
            assert!(result["storage"].as_array().is_some_and(|storage| storage.len() > 1), "{result:#}");
        }
    }
}
