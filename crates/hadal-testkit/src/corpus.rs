//! The corpus of public models that some tests hold hadal against. It is not part of the repository.
//!
//! `HADAL_CORPUS` names its folder; else it is looked for beside the workspace, in `../shared/models`. A test that misses
//! it says so in one line and does nothing else. `HADAL_CORPUS_REQUIRED=1` makes that a failure instead; `HADAL_SKIPS`
//! names a file that takes a line for every such test, so that they can be counted over all test programs.

use std::io::Write;
use std::path::{Path, PathBuf};

/// Where the corpus is, whether it is there or not.
pub fn root() -> PathBuf {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models");
    std::env::var_os("HADAL_CORPUS").map_or_else(beside, PathBuf::from)
}

/// A folder or file of the corpus; where it is missing, the caller's test is skipped: nothing is returned, and the skip is
/// counted. Panics where the corpus is required.
#[track_caller]
pub fn find(part: &str) -> Option<PathBuf> {
    let path = root().join(part);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("no corpus at {} (set HADAL_CORPUS)", path.display()));
    None
}

/// A file or folder of the tables that others computed, which lie beside the corpus; skips like [`find`].
#[track_caller]
pub fn oracle(name: &str) -> Option<PathBuf> {
    let path = root().join("../oracles").join(name);
    if path.exists() {
        return Some(path);
    }
    skip(&format!("no table at {} (it lies beside HADAL_CORPUS)", path.display()));
    None
}

/// Every file below `folder` with one of these extensions, in order; none where there is no such folder.
pub fn files(folder: &Path, extensions: &[&str]) -> Vec<PathBuf> {
    let (mut open, mut found) = (vec![folder.to_owned()], Vec::new());
    while let Some(next) = open.pop() {
        for entry in std::fs::read_dir(next).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().and_then(|e| e.to_str()).is_some_and(|e| extensions.contains(&e)) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// A model's text; bytes that are not UTF-8 are replaced.
pub fn text(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Says why a test does nothing, and counts it. Panics where nothing may be skipped.
#[track_caller]
pub fn skip(why: &str) {
    let place = std::panic::Location::caller();
    assert!(!is_required(), "{place}: {why}, and HADAL_CORPUS_REQUIRED is set");
    println!("skipped: {why}");
    let Some(list) = std::env::var_os("HADAL_SKIPS") else { return };
    let list = std::fs::OpenOptions::new().create(true).append(true).open(list);
    // A list that cannot be written is no reason to fail: the line above was printed.
    let _ = list.and_then(|mut list| writeln!(list, "{place}: {why}"));
}

/// Whether a missing corpus is a failure.
pub fn is_required() -> bool {
    std::env::var_os("HADAL_CORPUS_REQUIRED").is_some_and(|value| value != "0" && !value.is_empty())
}
