//! Searches of several workers, and what may happen to them.

use super::support::hadal;
use serde_json::{Value, json};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Longer than anything here takes on a machine that does much else.
pub const PATIENCE: Duration = Duration::from_secs(240);

/// A cube that takes a while: four million states.
pub const SIDE: u64 = 160;
pub const COUNTS: (u64, u64) = (SIDE * SIDE * SIDE, 3 * (SIDE - 1) * SIDE * SIDE);

/// A cube of states with something wrong in its far corner, if that is asked for.
pub fn cube(side: u64, corner: bool) -> String {
    let last = side - 1;
    let invariant = format!("invariant \"not there\" x + y + z < {};", 3 * last);
    format!(
        "\
var x, y, z: 0 .. {last};
startstate begin x := 0; y := 0; z := 0; end;
rule \"x\" x < {last} ==> begin x := x + 1; end;
rule \"y\" y < {last} ==> begin y := y + 1; end;
rule \"z\" z < {last} ==> begin z := z + 1; end;
{}
",
        if corner { invariant.as_str() } else { "" }
    )
}

pub fn answer(result: &Value) -> Value {
    let mut result = result.clone();
    if let Some(violation) = result.pointer_mut("/trace/violation") {
        // Models lie in different folders.
        violation["place"] = Value::Null;
    }
    let depth_and_counts = ["verdict", "reason", "states", "transitions", "depth", "trace_length", "trace"];
    depth_and_counts.iter().map(|key| json!([key, result[key]])).collect()
}

/// A model and a folder for its runs.
pub struct Place {
    pub folder: TempDir,
    pub model: String,
}

impl Place {
    pub fn new(text: &str) -> Self {
        Place::of("cube.m", text)
    }

    /// With a model in a file of this name.
    pub fn of(name: &str, text: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let model = folder.path().join(name);
        std::fs::write(&model, text).expect("a model can be written");
        Place { model: model.display().to_string(), folder }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Where the answer goes: a pipe that nobody reads would hold up a long one.
    fn answer(&self) -> File {
        File::create(self.path("answer")).expect("a file for the answer")
    }

    /// Starts a search with so many workers.
    pub fn start(&self, workers: &str, more: &[&str]) -> Search {
        let (runs, events) = (self.path("runs"), self.path("events"));
        let child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .args(["check", &self.model, "--deadlock", "off", "--json", "--cluster", workers])
            .args((!divides_at_once(more)).then_some("--cluster-small=0"))
            .args(["--memory", "32M", "--threads", "1", "--disk"])
            .arg(&runs)
            .arg("--events")
            .arg(&events)
            .args(more)
            .stdin(Stdio::null())
            .stdout(self.answer())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        Search { child: Some(child), events, runs, answer: self.path("answer") }
    }

    /// Whether there is a run to go on with; what is left of one that has noted nothing goes.
    pub fn has_run(&self) -> bool {
        let runs = self.path("runs");
        let is_noted = |run: &PathBuf| {
            let files = std::fs::read_dir(run).into_iter().flatten().flatten();
            files.map(|file| file.file_name()).any(|name| name.to_string_lossy().starts_with("manifest-"))
        };
        let entries = std::fs::read_dir(&runs).into_iter().flatten().flatten();
        let has_run = entries.map(|entry| entry.path()).any(|run| is_noted(&run));
        if !has_run && runs.exists() {
            std::fs::remove_dir_all(&runs).expect("the folder is ours");
        }
        has_run
    }

    /// Goes on with the run that is there, with so many workers.
    pub fn resume(&self, workers: &str) -> Search {
        let (runs, events) = (self.path("runs"), self.path("events"));
        let entries = std::fs::read_dir(&runs).expect("runs").flatten();
        let run = entries.map(|entry| entry.path()).find(|path| path.is_dir()).expect("a run");
        let child = Command::new(env!("CARGO_BIN_EXE_hadal"))
            .arg("resume")
            .arg(run)
            .args(["--json", "--cluster", workers, "--memory", "32M", "--threads", "1", "--events"])
            .arg(&events)
            .stdin(Stdio::null())
            .stdout(self.answer())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the command starts");
        Search { child: Some(child), events, runs, answer: self.path("answer") }
    }

    /// The same by one process.
    pub fn alone(&self) -> Value {
        let args =
            ["check", &self.model, "--deadlock", "off", "--json", "--threads", "1", "--strategy", "sort"];
        hadal(&args).json()
    }
}

/// Whether states are divided from the first one on, or as is said.
pub fn divides_at_once(more: &[&str]) -> bool {
    more.iter().any(|it| ["--cluster-small", "relaxed", "external-owcty", "external-map"].contains(it))
}

/// A launcher with its workers.
pub struct Search {
    pub child: Option<Child>,
    pub events: PathBuf,
    pub runs: PathBuf,
    answer: PathBuf,
}

impl Search {
    pub fn pid(&self) -> u32 {
        self.child.as_ref().expect("it runs").id()
    }

    /// Events so far.
    pub fn events(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(&self.events).unwrap_or_default();
        text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect()
    }

    pub fn count(&self, event: &str) -> usize {
        self.events().iter().filter(|it| it["event"] == event).count()
    }

    /// The least that any worker has committed, as the last events tell.
    pub fn committed(&self) -> u64 {
        let mut last = std::collections::BTreeMap::new();
        for event in self.events().iter().filter(|it| it["event"] == "worker") {
            last.insert(event["worker"].as_u64(), event["figures"]["committed"].as_u64().unwrap_or(0));
        }
        last.values().copied().min().unwrap_or(0)
    }

    /// Waits until something holds; whether it did before the search ended.
    pub fn until(&mut self, mut holds: impl FnMut(&Search) -> bool) -> bool {
        let begun = Instant::now();
        loop {
            if holds(self) {
                return true;
            }
            if self.child.as_mut().expect("it runs").try_wait().expect("a child").is_some() {
                return false;
            }
            assert!(begun.elapsed() < PATIENCE, "nothing happens");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    pub fn workers(&self) -> Vec<u32> {
        children(self.pid())
    }

    pub fn end(mut self) -> (i32, Value, String) {
        let output = self.child.take().expect("it runs").wait_with_output().expect("it ends");
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        let answer = std::fs::read(&self.answer).expect("the file of the answer");
        let result = serde_json::from_slice(&answer).unwrap_or(Value::Null);
        (output.status.code().unwrap_or(-1), result, told)
    }

    /// The run's folder.
    pub fn run(&self) -> PathBuf {
        let entries = std::fs::read_dir(&self.runs).expect("runs").flatten();
        entries.map(|entry| entry.path()).find(|path| path.is_dir()).expect("a run")
    }
}

impl Drop for Search {
    fn drop(&mut self) {
        if let Some(child) = &mut self.child {
            let _ = child.kill();
            let _ = child.wait();
        }
    }
}

/// Processes that this one started and that live.
pub fn children(parent: u32) -> Vec<u32> {
    let listed = std::fs::read_dir("/proc").expect("a list of processes").flatten();
    let numbers = listed.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let is_child = |pid: &u32| {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let mut fields = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
        let (state, of) = (fields.next(), fields.next().and_then(|it| it.parse().ok()));
        state.is_some_and(|state| state != "Z") && of == Some(parent)
    };
    numbers.filter(is_child).collect()
}

pub fn signal(pid: u32, name: &str) {
    let _ = Command::new("kill").arg(format!("-{name}")).arg(pid.to_string()).stderr(Stdio::null()).status();
}

pub fn is_alive(pid: u32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().and_then(|rest| rest.split_whitespace().next()).is_some_and(|state| state != "Z")
}
