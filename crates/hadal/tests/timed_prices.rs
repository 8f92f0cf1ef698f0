//! Cheapest runs where processes may take one another's place: one order of equal runways stands for all.

mod support;

use serde_json::Value;
use std::path::Path;
use support::hadal;

/// Planes as the OR-Library lists them: earliest, target and latest time, penalties, separations.
fn planes(count: usize) -> String {
    let mut text = format!("{count} 10\n");
    for n in 0..count {
        let target = 20 + (n as i64 * 37) % 23;
        let (early, late) = (1 + n as i64 % 3, 2 + n as i64 % 4);
        text += &format!("0 {} {target} {} {early}.00 {late}.00\n", target - 8, target + 60);
        let separation = |other: usize| match (n % 2, other % 2) {
            _ if other == n => 99999,
            (0, 0) => 5,
            (1, 1) => 9,
            _ => 7,
        };
        let all: Vec<String> = (0..count).map(|other| separation(other).to_string()).collect();
        text += &format!("{}\n", all.join(" "));
    }
    text
}

fn landing(folder: &Path, count: usize, runways: &str) -> String {
    let file = folder.join("planes.txt");
    std::fs::write(&file, planes(count)).expect("it can be written");
    let model = hadal(&["landing", &file.display().to_string(), "--runways", runways]).expect_code(0).stdout;
    let path = folder.join(format!("landing{runways}.tck"));
    std::fs::write(&path, model).expect("it can be written");
    path.display().to_string()
}

fn plan(model: &str, further: &[&str]) -> Value {
    let found = hadal(&[&["plan", model, "--json"], further].concat()).expect_code(0).json();
    assert_eq!(found["optimal"], true, "{found}");
    // The run is one of the model, whatever order its states were searched in.
    let certificate = &found["certificate"];
    for way in ["zones", "linear_program", "replay"] {
        assert_eq!(certificate[way], found["cost"], "{way}: {found}");
    }
    found
}

#[test]
fn one_order_of_equal_runways_costs_what_all_orders_cost() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    for (count, runways) in [(4, "2"), (5, "2"), (4, "3"), (4, "4")] {
        let model = landing(folder.path(), count, runways);
        let all = plan(&model, &["--no-symmetry"]);
        assert_eq!(all["symmetric"], Value::Null, "{all}");
        let disk = folder.path().join("runs").display().to_string();
        for order in ["best", "breadth", "broadening", "depth"] {
            let one = plan(&model, &["--order", order]);
            assert_eq!(one["cost"], all["cost"], "{count} planes, {runways} runways, {order}");
            assert_eq!(one["symmetric"][0].to_string(), runways, "{one}");
            if order == "depth" {
                continue;
            }
            let on_disk = plan(&model, &["--order", order, "--disk", &disk, "--memory", "64M"]);
            assert_eq!(on_disk["cost"], all["cost"], "{count} planes, {runways} runways, {order} on disk");
        }
        let expanded = |found: &Value| found["expanded"].as_u64().expect("a number");
        let (one, all) =
            (plan(&model, &["--order", "breadth"]), plan(&model, &["--order", "breadth", "--no-symmetry"]));
        assert!(expanded(&one) < expanded(&all), "{} of {}", expanded(&one), expanded(&all));
    }
}

#[test]
fn runways_that_differ_stay_apart() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let model = landing(folder.path(), 5, "3");
    let text = std::fs::read_to_string(&model).expect("it is there");
    // The second runway opens later: plane 1 may not take it before.
    let later = text.replacen(
        "edge:runway_1_2:open:open:plane_1_1{provided: ",
        "edge:runway_1_2:open:open:plane_1_1{provided: time>=25 && ",
        1,
    );
    assert_ne!(text, later);
    let path = folder.path().join("later.tck");
    std::fs::write(&path, later).expect("it can be written");
    let path = path.display().to_string();
    let found = plan(&path, &[]);
    assert_eq!(found["symmetric"].as_array().map(Vec::len), Some(1), "{found}");
    assert_eq!(found["symmetric"][0], 2, "the first and the third: {found}");
    assert_eq!(found["cost"], plan(&path, &["--no-symmetry"])["cost"]);
}
