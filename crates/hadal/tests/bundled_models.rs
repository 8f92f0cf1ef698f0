//! Every model in `models/` says in its first lines what `hadal check` answers. It does, with one thread and two,
//! compiled and interpreted.
//!
//! `-- expect [FLAGS]: holds, N states, M transitions`, or `-- expect [FLAGS]: violated, KIND "NAME", trace N`;
//! `//` instead of `--` in DVE and Promela.

mod support;

use support::{bundled, hadal, on_threads};

struct Expectation {
    model: String,
    flags: Vec<String>,
    answer: String,
}

fn expectations() -> Vec<Expectation> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(bundled()).expect("the models are there") {
        let path = entry.expect("an entry").path();
        let Some("m" | "dve" | "mdve" | "xta" | "pml") = path.extension().and_then(|e| e.to_str()) else {
            continue;
        };
        let text = std::fs::read_to_string(&path).expect("a model can be read");
        let before = found.len();
        for line in text.lines() {
            let comment = line.strip_prefix("-- ").or_else(|| line.strip_prefix("// "));
            let Some(expectation) = comment.and_then(|c| c.strip_prefix("expect")) else { break };
            let (flags, answer) = expectation.split_once(": ").expect("an answer after the flags");
            found.push(Expectation {
                model: path.display().to_string(),
                flags: flags.split_whitespace().map(str::to_owned).collect(),
                answer: answer.to_owned(),
            });
        }
        assert!(found.len() > before, "{}: the first line says nothing to expect", path.display());
    }
    found
}

/// The answer of `hadal check` in the words of the first lines.
fn answer(expectation: &Expectation, further: &[&str]) -> String {
    let mut arguments = vec!["check", &expectation.model, "--json", "--memory", "256M"];
    arguments.extend(expectation.flags.iter().map(String::as_str));
    arguments.extend(further);
    let run = hadal(&arguments);
    let result = run.json();
    match run.code {
        0 => format!("holds, {} states, {} transitions", result["states"], result["transitions"]),
        1 => {
            let violation = &result["trace"]["violation"];
            let kind = violation["kind"].as_str().expect("a kind");
            let name = violation["property"].as_str().map_or(String::new(), |name| format!(" {name:?}"));
            format!("violated, {kind}{name}, trace {}", result["trace_length"])
        }
        _ => format!("{run:?}"),
    }
}

#[test]
fn bundled_models_answer_as_their_first_lines_say() {
    let expectations = expectations();
    let wrong = on_threads(2, &expectations, |expectation| {
        let ways: [&[&str]; 4] = [
            &["--threads", "1"],
            &["--threads", "2"],
            &["--interpret", "--threads", "1"],
            &["--interpret", "--threads", "2"],
        ];
        let answers = ways.map(|further| answer(expectation, further));
        let Expectation { model, flags, answer: expected } = expectation;
        let differs = answers.iter().any(|answer| answer != expected);
        differs.then(|| format!("{model} {}: expected {expected}; got {answers:#?}", flags.join(" ")))
    });
    let wrong: Vec<String> = wrong.into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(expectations.len() >= 10, "only {} expectations found", expectations.len());
}
