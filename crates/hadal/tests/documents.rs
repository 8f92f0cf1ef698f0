//! Every command of the README and of `docs/` works in a clone without the corpus, and does what is said beside it.
//!
//! Blocks marked `sh` are run, line by line, in a folder that has nothing but the repository's `models/`. What stands
//! behind `#` is a promise: it begins with *holds*, *violated* or *stopped* where the exit code is to say so (otherwise the
//! command succeeds), `N states` is the count that the command prints, and text between quotation marks is printed, too. A block
//! marked `text` that follows with nothing but an empty line between shows what the last command prints: every line of it is
//! looked for. Lines that begin with `cargo` build or test and are not run here; commands with files that are not there stand in other blocks.

mod support;

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use support::bundled;

fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut pages = hadal_testkit::corpus::files(&root.join("docs"), &["md"]);
    pages.push(root.join("README.md"));
    pages.push(root.join("CONTRIBUTING.md"));
    pages
}

/// A line of a block marked `sh`, and the output that is shown for it.
#[derive(Debug, Default, PartialEq)]
struct Shown {
    line: String,
    output: Vec<String>,
}

/// Lines of the blocks marked `sh`.
fn commands(page: &str) -> Vec<Shown> {
    enum At {
        Text,
        Commands,
        /// Behind a block of commands, with nothing but empty lines since.
        Behind,
        Output,
    }
    let mut lines: Vec<Shown> = Vec::new();
    let mut at = At::Text;
    for line in page.lines().map(str::trim_end) {
        at = match (at, line) {
            (At::Text | At::Behind, "```sh") => At::Commands,
            (At::Behind, "```text") => At::Output,
            (At::Commands, "```") => At::Behind,
            (At::Output, "```") => At::Text,
            (At::Commands, line) => {
                if !line.trim().is_empty() {
                    lines.push(Shown { line: line.to_owned(), output: Vec::new() });
                }
                At::Commands
            }
            (At::Output, line) => {
                if let Some(last) = lines.last_mut().filter(|_| !line.is_empty()) {
                    last.output.push(line.trim().to_owned());
                }
                At::Output
            }
            (At::Behind, "") => At::Behind,
            (At::Text | At::Behind, _) => At::Text,
        };
    }
    lines
}

/// What a line promises: the exit code, and what is printed.
fn promises(comment: &str) -> (i32, Vec<String>) {
    let code = match comment.split(|c: char| !c.is_alphabetic()).find(|word| !word.is_empty()) {
        Some("violated") => 1,
        Some("stopped") => 3,
        _ => 0,
    };
    let mut printed: Vec<String> = comment.split('"').skip(1).step_by(2).map(str::to_owned).collect();
    let before = comment.split(" states").next().filter(|before| before.len() < comment.len());
    let count = before.map(|before| {
        let digits: String = before
            .chars()
            .rev()
            .take_while(|c| c.is_ascii_digit())
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        digits
    });
    if let Some(count) = count.filter(|count| !count.is_empty()) {
        printed.push(format!("{count} states"));
    }
    (code, printed)
}

/// Numbers are grouped for people: `181 440`.
fn without_groups(text: &str) -> String {
    let chars: Vec<char> = text.chars().collect();
    let digit = |n: usize| chars.get(n).is_some_and(char::is_ascii_digit);
    let group =
        |n: usize| chars[n] == ' ' && n > 0 && digit(n - 1) && (1..=3).all(|k| digit(n + k)) && !digit(n + 4);
    (0..chars.len()).filter(|&n| !group(n)).map(|n| chars[n]).collect()
}

/// Runs a line in `folder`; what is wrong with it, if anything.
fn run(shown: &Shown, folder: &Path) -> Option<String> {
    let line = shown.line.as_str();
    let (command, comment) = match line.find("  #").or_else(|| line.find(" # ")) {
        Some(at) => (&line[..at], line[at..].trim_start_matches([' ', '#'])),
        None => (line, ""),
    };
    let command = command.trim().replace("cargo run --release --", "hadal");
    let binary = Path::new(env!("CARGO_BIN_EXE_hadal")).parent().expect("a folder");
    let path = std::env::join_paths(
        std::iter::once(binary.to_owned())
            .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap_or_default())),
    );
    let output = Command::new("sh")
        .args(["-c", &command])
        .current_dir(folder)
        .env("PATH", path.expect("paths without colons"))
        .env_remove("HADAL_CORPUS")
        .stdin(Stdio::null())
        .output()
        .expect("a shell");
    let text =
        format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let (code, mut printed) = promises(comment);
    printed.extend(shown.output.iter().map(|line| without_groups(line)));
    if output.status.code() != Some(code) {
        return Some(format!("{line}\n  ends with {:?} instead of {code}:\n{text}", output.status.code()));
    }
    let plain = without_groups(&text);
    let missing = printed.iter().find(|promise| !plain.contains(promise.as_str()))?;
    Some(format!("{line}\n  does not print `{missing}`:\n{text}"))
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("the models are there").flatten() {
        if entry.path().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).expect("a copy");
        }
    }
}

#[test]
fn every_command_of_the_documents_keeps_its_promise() {
    let (mut ran, mut wrong) = (0, Vec::new());
    for page in pages() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        copy(&bundled(), &folder.path().join("models"));
        for shown in commands(&std::fs::read_to_string(&page).expect("a page")) {
            if shown.line.starts_with("cargo ") && !shown.line.starts_with("cargo run --release -- ") {
                continue;
            }
            ran += 1;
            wrong.extend(run(&shown, folder.path()).map(|what| format!("{}: {what}", page.display())));
        }
    }
    println!("{ran} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 30, "{ran} commands");
}

#[test]
fn output_belongs_to_the_command_before_it() {
    let page = "```sh\na\nb\n```\n\n```text\none\n  two\n```\n\n```text\nthree\n```\n```sh\nc\n```\nwords\n```text\nfour\n```\n";
    let shown = |line: &str, output: &[&str]| Shown {
        line: line.into(),
        output: output.iter().map(|line| (*line).to_owned()).collect(),
    };
    assert_eq!(commands(page), [shown("a", &[]), shown("b", &["one", "two"]), shown("c", &[])]);
}

#[test]
fn promises_are_read_as_they_are_meant() {
    assert_eq!(promises("holds: 28 states"), (0, vec!["28 states".to_owned()]));
    assert_eq!(promises("violated, \"60\""), (1, vec!["60".to_owned()]));
    assert_eq!(promises("stopped"), (3, Vec::new()));
    assert_eq!(promises("a walk; the same seed"), (0, Vec::new()));
    assert_eq!(without_groups("  181 440 states, 1 234 567 of 12 34"), "  181440 states, 1234567 of 12 34");
}
