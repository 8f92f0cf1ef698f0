//! Formulas in Promela texts, through the command, against SPIN's answers.

mod support;

use support::{corpus, hadal};

/// Models whose products are small enough for a test, of those that the table answers by name.
const MODELS: [&str; 6] = [
    "spin-examples/LTL/train.pml",
    "spin-examples/LTL/zune.pml",
    "spin-examples/LTL/bakery.pml",
    "spin-examples/LTL/salesman1.pml",
    "spin-examples/LTL/ltl_always_eventually.pml",
    "spin-examples/Exercises/ex_3a.pml",
];

#[test]
fn formulas_of_a_text_have_the_answers_that_spin_gives() {
    let Some(models) = corpus("promela") else { return };
    let Some(table) = hadal_testkit::corpus::oracle("promela.tsv") else { return };
    let table = std::fs::read_to_string(table).expect("the table can be read");
    let mut compared = 0;
    for row in table.lines().map(|line| line.split('\t').collect::<Vec<_>>()) {
        let ["ltl", model, name, "none", verdict, states, ..] = row[..] else { continue };
        if !MODELS.contains(&model) || name == "NEVER" {
            continue;
        }
        let path = models.join(model).display().to_string();
        let run = hadal(&["check", &path, "--property", name, "--json", "--threads", "1"]);
        let result = run.expect_code(i32::from(verdict == "violated")).json();
        assert_eq!(result["verdict"], verdict, "{model} {name}");
        if verdict == "holds" && !states.is_empty() {
            assert_eq!(result["states"].to_string(), states, "{model} {name}");
        }
        compared += 1;
    }
    assert!(compared >= 12, "{compared} formulas compared");
}
