//! Every command of the README and of `docs/` works in a clone without the corpus, and does what is said beside it.
//!
//! Blocks marked `sh` are run, line by line, in a folder that has nothing but the repository's `models/`. What stands
//! behind `#` is a promise: it begins with *holds*, *violated* or *stopped* where the exit code is to say so (otherwise the
//! command succeeds), `N states` is the count that the command prints, and text between quotation marks is printed, too. Lines
//! that begin with `cargo` build or test and are not run here; commands with files that are not there stand in other blocks.

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

/// Lines of the blocks marked `sh`.
fn commands(page: &str) -> Vec<String> {
    let mut lines = Vec::new();
    let mut inside = false;
    for line in page.lines() {
        match line.trim_end() {
            "```sh" => inside = true,
            "```" => inside = false,
            line if inside && !line.trim().is_empty() => lines.push(line.to_owned()),
            _ => {}
        }
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
fn run(line: &str, folder: &Path) -> Option<String> {
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
    let (code, printed) = promises(comment);
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
        for line in commands(&std::fs::read_to_string(&page).expect("a page")) {
            if line.starts_with("cargo ") && !line.starts_with("cargo run --release -- ") {
                continue;
            }
            ran += 1;
            wrong.extend(run(&line, folder.path()).map(|what| format!("{}: {what}", page.display())));
        }
    }
    println!("{ran} commands");
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
    assert!(ran > 30, "{ran} commands");
}

#[test]
fn promises_are_read_as_they_are_meant() {
    assert_eq!(promises("holds: 28 states"), (0, vec!["28 states".to_owned()]));
    assert_eq!(promises("violated, \"60\""), (1, vec!["60".to_owned()]));
    assert_eq!(promises("stopped"), (3, Vec::new()));
    assert_eq!(promises("a walk; the same seed"), (0, Vec::new()));
    assert_eq!(without_groups("  181 440 states, 1 234 567 of 12 34"), "  181440 states, 1234567 of 12 34");
}
