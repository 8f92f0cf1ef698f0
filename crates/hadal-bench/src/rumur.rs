//! Rumur, the peer for Murphi models: translates the model to C, compiles it, runs it and reads its last words.
//!
//! Rumur has no way to override a constant, so it gets a copy of the model with the constant's value replaced.

use super::measure::measure;
use super::result::{Figures, PeerResult};
use super::scratch::Scratch;
use super::suite::Case;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// How the generated C is compiled: as Rumur's manual advises, and for this very machine.
const C_FLAGS: [&str; 3] = ["-std=c11", "-O3", "-march=native"];

/// An installed Rumur and C compiler.
pub struct Rumur {
    /// What it says about itself.
    pub version: String,
    threads: u16,
    limit: Duration,
}

impl Rumur {
    /// Looks for it on the path; `None` where it or a C compiler is missing.
    pub fn find(threads: u16, limit: Duration) -> Option<Self> {
        let ask = |program: &str| Command::new(program).arg("--version").output().ok();
        ask("cc").filter(|answer| answer.status.success())?;
        let answer = ask("rumur").filter(|answer| answer.status.success())?;
        let text = [answer.stdout, answer.stderr].concat();
        let version = String::from_utf8_lossy(&text).lines().next().unwrap_or("rumur").trim().to_owned();
        Some(Rumur { version, threads, limit })
    }

    /// Translates and compiles a case; where it cannot, its first words say why.
    pub fn build(&self, case: &Case, model: &Path, scratch: &Scratch) -> Result<Verifier, String> {
        let complain = |what: &dyn std::fmt::Display| format!("{}: {what}", model.display());
        let bytes = std::fs::read(model).map_err(|error| complain(&error))?;
        let mut text = String::from_utf8_lossy(&bytes).into_owned();
        for (name, value) in &case.constants {
            text = override_constant(&text, name, *value)
                .ok_or_else(|| complain(&format!("found no constant {name}")))?;
        }
        let copy = scratch.file("model.m");
        let source = scratch.file("verifier.c");
        let program = scratch.file("verifier");
        std::fs::write(&copy, text).map_err(|error| complain(&error))?;

        let mut translate = Command::new("rumur");
        let symmetry = match case.symmetry.as_str() {
            "exact" => "exhaustive",
            other => other,
        };
        translate
            .args(["--symmetry-reduction", symmetry])
            .args(["--deadlock-detection", if case.deadlock == "on" { "stuttering" } else { "off" }])
            .args(["--threads", &self.threads.to_string()])
            .args(["--output-format", "machine-readable", "--output"])
            .args([&source, &copy]);
        let mut compile = Command::new("cc");
        compile.args(C_FLAGS).arg("-o").args([&program, &source]).arg("-lpthread");

        let mut build_cpu_seconds = 0.0;
        for step in [&mut translate, &mut compile] {
            let measured = measure(step, self.limit).map_err(|error| complain(&error))?;
            build_cpu_seconds += measured.cpu_seconds;
            if measured.exit_code != Some(0) {
                let first = measured.complaints.lines().next().unwrap_or("no reason given");
                return Err(first.replace(&format!("{}:", copy.display()), "line "));
            }
        }
        Ok(Verifier { program, build_cpu_seconds, limit: self.limit })
    }
}

/// A compiled verifier.
pub struct Verifier {
    program: PathBuf,
    build_cpu_seconds: f64,
    limit: Duration,
}

impl Verifier {
    /// Runs it to its end.
    pub fn run(&self) -> PeerResult {
        let measured = match measure(&mut Command::new(&self.program), self.limit) {
            Ok(measured) => measured,
            Err(error) => return PeerResult::Refused { reason: error.to_string() },
        };
        if measured.timed_out {
            return PeerResult::Late { seconds: self.limit.as_secs_f64() };
        }
        match Summary::read(&measured.output) {
            Some(Summary { errors: 0, states, transitions }) => PeerResult::Finished {
                figures: Figures {
                    states,
                    transitions,
                    wall_seconds: measured.wall_seconds,
                    cpu_seconds: measured.cpu_seconds,
                    peak_bytes: measured.peak_bytes,
                },
                build_cpu_seconds: self.build_cpu_seconds,
            },
            Some(summary) => PeerResult::Refused { reason: format!("found {} errors", summary.errors) },
            None => PeerResult::Refused { reason: "no summary at the end of its output".into() },
        }
    }
}

/// The last element of Rumur's machine-readable output.
#[derive(Debug, PartialEq, Eq)]
struct Summary {
    states: u64,
    transitions: u64,
    errors: u64,
}

impl Summary {
    fn read(output: &str) -> Option<Self> {
        let element = output.lines().rev().find(|line| line.trim_start().starts_with("<summary "))?;
        let attribute = |name: &str| -> Option<u64> {
            let (_, rest) = element.split_once(&format!(" {name}=\""))?;
            rest.split_once('"')?.0.parse().ok()
        };
        Some(Summary {
            states: attribute("states")?,
            transitions: attribute("rules_fired")?,
            errors: attribute("errors")?,
        })
    }
}

/// The model's text with `NAME : old;` replaced by `NAME : value;`, at its first place outside comments.
fn override_constant(text: &str, name: &str, value: i64) -> Option<String> {
    let code = blank_comments(text);
    let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    for (at, _) in code.match_indices(name) {
        let inside_a_name = code[..at].chars().next_back().is_some_and(is_part_of_name);
        let rest = &code[at + name.len()..];
        let Some(old) = rest.trim_start().strip_prefix(':').filter(|old| !old.starts_with('=')) else {
            continue;
        };
        let Some(length) = old.find(';').filter(|_| !inside_a_name) else { continue };
        let begin = code.len() - old.len();
        let new = match old[..length].trim().to_ascii_lowercase().as_str() {
            "true" | "false" => (value != 0).to_string(),
            _ => value.to_string(),
        };
        return Some(format!("{} {new}{}", &text[..begin], &text[begin + length..]));
    }
    None
}

/// The model's text with every `assert` statement outside comments turned into blanks.
pub fn without_asserts(text: &str) -> String {
    let code = blank_comments(text);
    let is_part_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut kept = String::with_capacity(text.len());
    let mut from = 0;
    for (at, word) in code.match_indices("assert") {
        let inside_a_name = code[..at].chars().next_back().is_some_and(is_part_of_name)
            || code[at + word.len()..].chars().next().is_some_and(is_part_of_name);
        let Some(length) = code[at..].find(';').filter(|_| at >= from && !inside_a_name) else { continue };
        kept.push_str(&text[from..at]);
        from = at + length + 1;
    }
    kept.push_str(&text[from..]);
    kept
}

/// The same text, byte for byte as long, with comments turned into blanks.
fn blank_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(begin) = rest.find("--").into_iter().chain(rest.find("/*")).min() {
        code.push_str(&rest[..begin]);
        let comment = &rest[begin..];
        let length = if comment.starts_with("--") {
            comment.find('\n').unwrap_or(comment.len())
        } else {
            comment.find("*/").map_or(comment.len(), |end| end + 2)
        };
        code.extend(std::iter::repeat_n(' ', length));
        rest = &comment[length..];
    }
    code.push_str(rest);
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#"<?xml version="1.0" encoding="utf-8"?>
<rumur_run>
<information state_size_bits="69" state_size_bytes="9" hash_table_slots="32768"/>
<progress states="20000" duration_seconds="4" rules_fired="77596" queue_size="601" thread_id="0"/>
<summary states="23636" rules_fired="94544" errors="0" duration_seconds="5"/>
</rumur_run>
"#;

    #[test]
    fn the_summary_is_read_and_progress_is_not() {
        let summary = Summary { states: 23636, transitions: 94544, errors: 0 };
        assert_eq!(Summary::read(OUTPUT), Some(summary));
    }

    #[test]
    fn output_without_a_summary_has_none() {
        assert_eq!(Summary::read(""), None);
        assert_eq!(Summary::read(r#"<summary states="1" errors="0"/>"#), None);
        assert_eq!(Summary::read(r#"<summary states="many" rules_fired="1" errors="0"/>"#), None);
    }

    #[test]
    fn a_constant_is_replaced_where_it_is_declared() {
        let text = "-- N: 9;\nConst\n  MAXN: 2; N : 4; -- number\nVar x: N;\n";
        let expected = "-- N: 9;\nConst\n  MAXN: 2; N : 7; -- number\nVar x: N;\n";
        assert_eq!(override_constant(text, "N", 7).as_deref(), Some(expected));
        assert_eq!(override_constant(text, "M", 7), None);
    }

    #[test]
    fn boolean_constants_stay_boolean() {
        let text = "const nohome:  true; /* nohome: 1; */";
        assert_eq!(
            override_constant(text, "nohome", 0).as_deref(),
            Some("const nohome: false; /* nohome: 1; */")
        );
    }

    #[test]
    fn asserts_are_taken_out_and_comments_about_them_stay() {
        let text = "x := 1; assert !y; -- assert z;\nassert (a\n & b); asserted := 2;";
        assert_eq!(without_asserts(text), "x := 1;  -- assert z;\n asserted := 2;");
    }

    #[test]
    fn comments_turn_to_blanks_of_the_same_length() {
        let text = "a -- é\nb /* c */ d /* open";
        let code = blank_comments(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b", "d"]);
    }
}
