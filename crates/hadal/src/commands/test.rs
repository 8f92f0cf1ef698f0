//! `hadal test FILES`: models say in their first lines what `hadal check` answers; this checks that it does.
//!
//! `-- expect [FLAGS]: CLAIM, CLAIM, ...` with `//` or `/*` instead of `--` where the language has it. A claim is a
//! verdict (`holds`, `violated`, `stopped`), a count (`322 states`, `943 transitions`, `trace 9`, `loop 2`, `depth 12`),
//! or what is violated (`deadlock`, `invariant "NAME"`).

use crate::failure::Failure;
use crate::output;
use clap::Args;
use hadal_check::units::span;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Arguments of `test`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "EXAMPLES:\n  \
    hadal test models\n  \
    hadal test models/peterson.m --junit results.xml\n\n\
    A model's first lines say what to expect, as in\n  \
    -- expect -D N=3: holds, 322 states, 943 transitions\n  \
    -- expect --property safe: violated, invariant \"safe\", trace 9\n\n\
    Exit codes: 0 all as expected, 1 some are not, 2 nothing to test or an unreadable file.")]
pub struct TestArgs {
    /// Models, and folders of models.
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Write the results to this file in JUnit's format, for continuous integration.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    /// Memory for each check.
    #[arg(long, value_name = "SIZE", default_value = "1G")]
    memory: String,
    /// Time for each check.
    #[arg(long, value_name = "TIME", default_value = "10m")]
    time_limit: String,
}

/// What a line of a model expects.
#[derive(Debug, PartialEq, Eq)]
struct Expectation {
    model: PathBuf,
    flags: Vec<String>,
    claims: Vec<String>,
}

/// How one expectation went.
struct Tested {
    name: String,
    seconds: f64,
    /// Why it failed, where it did.
    wrong: Option<String>,
}

/// Runs the command; returns the exit code.
pub fn run(args: &TestArgs) -> Result<u8, Failure> {
    let mut expectations = Vec::new();
    for file in &args.files {
        gather(file, &mut expectations)?;
    }
    if expectations.is_empty() {
        return Err(Failure::Usage(
            "no model says what to expect; write `-- expect: holds` (or `// expect: holds`) in its first lines".into(),
        ));
    }
    let mut results = Vec::new();
    for expectation in &expectations {
        let tested = test(expectation, args)?;
        output::line(&match &tested.wrong {
            None => format!("ok      {} ({})", tested.name, span(tested.seconds)),
            Some(why) => format!("FAILED  {} ({})\n        {why}", tested.name, span(tested.seconds)),
        })?;
        results.push(tested);
    }
    let failed = results.iter().filter(|tested| tested.wrong.is_some()).count();
    if let Some(path) = &args.junit {
        std::fs::write(path, junit(&results)).map_err(|error| Failure::File { path: path.clone(), error })?;
    }
    output::line(&format!("{} passed, {failed} failed", results.len() - failed))?;
    Ok(u8::from(failed > 0))
}

/// The expectations of a model, or of the models in a folder and below it.
fn gather(path: &Path, found: &mut Vec<Expectation>) -> Result<(), Failure> {
    let unreadable = |error| Failure::File { path: path.to_owned(), error };
    if path.is_dir() {
        let mut entries: Vec<PathBuf> =
            std::fs::read_dir(path).map_err(unreadable)?.flatten().map(|entry| entry.path()).collect();
        entries.sort();
        let is_model = |path: &&PathBuf| path.is_dir() || hadal_lang::Language::of(path).is_some();
        return entries.iter().filter(is_model).try_for_each(|entry| gather(entry, found));
    }
    let text = std::fs::read(path).map_err(unreadable)?;
    found.extend(expectations(path, &String::from_utf8_lossy(&text)));
    Ok(())
}

fn expectations(model: &Path, text: &str) -> Vec<Expectation> {
    let mut found = Vec::new();
    for line in text.lines() {
        let comment = ["--", "//", "/*", "<!--", "#", ";"].iter().find_map(|mark| line.strip_prefix(mark));
        let Some(comment) = comment else { break };
        let comment = comment.trim().trim_end_matches("*/").trim_end_matches("-->").trim();
        let Some((flags, claims)) = comment.strip_prefix("expect").and_then(|rest| rest.split_once(": "))
        else {
            continue;
        };
        found.push(Expectation {
            model: model.to_owned(),
            flags: words(flags),
            claims: split_outside_quotes(claims, ','),
        });
    }
    found
}

/// Words as a shell splits them, quotes taken off.
fn words(text: &str) -> Vec<String> {
    let bare = |word: String| word.replace(['"', '\''], "");
    split_outside_quotes(text, ' ').into_iter().map(bare).collect()
}

fn split_outside_quotes(text: &str, at: char) -> Vec<String> {
    let (mut parts, mut part, mut quote) = (Vec::new(), String::new(), None);
    for c in text.chars() {
        match quote {
            None if c == at => parts.push(std::mem::take(&mut part)),
            _ => {
                if quote == Some(c) {
                    quote = None;
                } else if quote.is_none() && (c == '"' || c == '\'') {
                    quote = Some(c);
                }
                part.push(c);
            }
        }
    }
    parts.push(part);
    parts.into_iter().map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect()
}

/// Asks a process of its own, so that one model cannot take the others down.
fn test(expectation: &Expectation, args: &TestArgs) -> Result<Tested, Failure> {
    let begun = Instant::now();
    let program = std::env::current_exe()
        .map_err(|error| Failure::Internal(format!("this program cannot be found: {error}")))?;
    let ran = Command::new(program)
        .arg("check")
        .arg(&expectation.model)
        .args(["--json", "--quiet", "--memory", &args.memory, "--time-limit", &args.time_limit])
        .args(&expectation.flags)
        .output()
        .map_err(|error| Failure::Internal(format!("a check cannot be started: {error}")))?;
    let name = format!(
        "{} {}: {}",
        expectation.model.display(),
        expectation.flags.join(" "),
        expectation.claims.join(", ")
    );
    let wrong = match serde_json::from_slice::<Value>(&ran.stdout) {
        Ok(result) => {
            let wrong: Vec<String> =
                expectation.claims.iter().filter_map(|claim| mismatch(claim, &result)).collect();
            (!wrong.is_empty()).then(|| wrong.join("; "))
        }
        Err(_) => Some(String::from_utf8_lossy(&ran.stderr).trim().to_owned()),
    };
    Ok(Tested { name: name.replace(" :", ":"), seconds: begun.elapsed().as_secs_f64(), wrong })
}

/// How a result differs from a claim, if it does.
fn mismatch(claim: &str, result: &Value) -> Option<String> {
    let differs = |name: &str, expected: &str| {
        let is = match &result[name] {
            Value::String(text) => text.clone(),
            Value::Null => "none".into(),
            other => other.to_string(),
        };
        (is != expected).then(|| format!("expected {claim}, {name} is {is}"))
    };
    let violation = &result["trace"]["violation"];
    let kind = violation["kind"].as_str().unwrap_or("none");
    match claim.split_once(' ') {
        None if matches!(claim, "holds" | "violated" | "stopped") => differs("verdict", claim),
        None => (kind != claim).then(|| format!("expected {claim}, what is violated is: {kind}")),
        Some(("trace", length)) => differs("trace_length", length),
        Some(("loop", length)) => differs("loop_length", length),
        Some(("depth", depth)) => differs("depth", depth),
        Some((count, "states" | "state")) => differs("states", count),
        Some((count, "transitions" | "transition")) => differs("transitions", count),
        Some((expected, name)) => {
            let property = violation["property"].as_str().unwrap_or("");
            let same = kind == expected && name.trim_matches('"') == property;
            (!same).then(|| format!("expected {claim}, what is violated is: {kind} \"{property}\""))
        }
    }
}

/// The results as JUnit's consumers read them.
fn junit(results: &[Tested]) -> String {
    let escape = |text: &str| {
        let text =
            text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;");
        text.chars().map(|c| if c.is_control() && c != '\n' { ' ' } else { c }).collect::<String>()
    };
    let failed = results.iter().filter(|tested| tested.wrong.is_some()).count();
    let seconds: f64 = results.iter().map(|tested| tested.seconds).sum();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuite name=\"hadal\" tests=\"{}\" failures=\"{failed}\" \
         time=\"{seconds:.3}\">\n",
        results.len()
    );
    for tested in results {
        let case = format!("  <testcase name=\"{}\" time=\"{:.3}\"", escape(&tested.name), tested.seconds);
        text.push_str(&match &tested.wrong {
            None => format!("{case}/>\n"),
            Some(why) => format!("{case}><failure message=\"{}\"/></testcase>\n", escape(why)),
        });
    }
    text + "</testsuite>\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expectations_stand_in_the_first_comments() {
        let text = "-- a lock\n-- expect -D N=3 --property 'a, b': violated, invariant \"a, b\", trace 9\nvar\n-- expect: holds\n";
        let found = expectations(Path::new("m.m"), text);
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].flags, ["-D", "N=3", "--property", "a, b"]);
        assert_eq!(found[0].claims, ["violated", "invariant \"a, b\"", "trace 9"]);
    }

    #[test]
    fn every_kind_of_claim_can_fail() {
        let result = serde_json::json!({
            "verdict": "violated", "states": 3, "transitions": 4, "depth": 1, "trace_length": 2,
            "trace": { "violation": { "kind": "invariant", "property": "a" } },
        });
        for claim in
            ["violated", "3 states", "4 transitions", "depth 1", "trace 2", "invariant \"a\"", "invariant"]
        {
            assert_eq!(mismatch(claim, &result), None, "{claim}");
        }
        for claim in [
            "holds",
            "4 states",
            "3 transitions",
            "depth 2",
            "trace 1",
            "invariant \"b\"",
            "deadlock",
            "loop 1",
        ] {
            assert!(mismatch(claim, &result).is_some(), "{claim}");
        }
    }
}
