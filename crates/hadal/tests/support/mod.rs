//! What the black-box tests share: running the command, the corpus, and work spread over a few threads.

// Every test binary uses its own part of this.
#![allow(dead_code)]

pub mod browser;

use serde_json::Value;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// What a run of the command left behind.
#[derive(Debug)]
pub struct Run {
    pub command: String,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    /// Standard output as one JSON value.
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:#?}"))
    }

    /// Panics with everything that was printed unless the exit code is `code`.
    #[track_caller]
    pub fn expect_code(self, code: i32) -> Self {
        assert_eq!(self.code, code, "{self:#?}");
        self
    }
}

/// Runs `hadal` with these arguments and nothing to read.
pub fn hadal<S: AsRef<str>>(arguments: &[S]) -> Run {
    hadal_reading(arguments, "")
}

/// Runs `hadal` with these arguments and `input` on standard input.
pub fn hadal_reading<S: AsRef<str>>(arguments: &[S], input: &str) -> Run {
    let arguments: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
    // What a stopped search keeps goes with the folder.
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut child = Command::new(env!("CARGO_BIN_EXE_hadal"))
        .args(&arguments)
        .current_dir(&folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the command starts");
    // The command may end before it has read everything.
    let _ = child.stdin.take().expect("it is piped").write_all(input.as_bytes());
    let output = child.wait_with_output().expect("the command ends");
    Run {
        command: format!("hadal {}", arguments.join(" ")),
        code: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

/// The workspace's own models.
pub fn bundled() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models")
}

/// The path of one of them, as an argument.
pub fn bundled_model(name: &str) -> String {
    bundled().join(name).display().to_string()
}

/// A folder of the corpus, if it is there.
#[track_caller]
pub fn corpus(folder: &str) -> Option<PathBuf> {
    hadal_testkit::corpus::find(folder).map(|path| path.canonicalize().expect("it is there"))
}

/// Does `work` for every item on `threads` threads; the answers in the items' order.
pub fn on_threads<T: Sync, A: Send>(threads: usize, items: &[T], work: impl Fn(&T) -> A + Sync) -> Vec<A> {
    let (next, answers) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some((n, item)) =
                    Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|n| Some((n, items.get(n)?)))
                {
                    let answer = work(item);
                    answers.lock().expect("no test thread panics while it holds this").push((n, answer));
                }
            });
        }
    });
    let mut answers = answers.into_inner().expect("no test thread panics while it holds this");
    answers.sort_by_key(|(n, _)| *n);
    answers.into_iter().map(|(_, answer)| answer).collect()
}

/// A table of tab-separated values, by column name.
pub struct Table {
    columns: Vec<String>,
    rows: Vec<Vec<String>>,
}

/// One row of it.
#[derive(Clone, Copy)]
pub struct Row<'t> {
    table: &'t Table,
    cells: &'t [String],
}

impl Table {
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).expect("the table can be read");
        let mut lines = text.lines().map(|line| line.split('\t').map(str::to_owned).collect());
        Table { columns: lines.next().expect("a header"), rows: lines.collect() }
    }

    pub fn rows(&self) -> impl Iterator<Item = Row<'_>> {
        self.rows.iter().map(|cells| Row { table: self, cells })
    }
}

impl<'t> Row<'t> {
    /// The cell of this column; empty where the row is short.
    #[track_caller]
    pub fn get(self, column: &str) -> &'t str {
        let at = self.table.columns.iter().position(|c| c == column);
        let at = at.unwrap_or_else(|| panic!("no column {column}"));
        self.cells.get(at).map_or("", |cell| cell.trim_matches('"'))
    }

    pub fn number(self, column: &str) -> Option<u64> {
        self.get(column).parse().ok()
    }
}
