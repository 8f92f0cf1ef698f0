//! `hadal report`: a page and its figures from a run's folder.

mod support;

use hadal_system::units::grouped;
use serde_json::Value;
use std::path::{Path, PathBuf};
use support::hadal;
use tempfile::TempDir;

/// Half a million states; a run with a limit stops on the way.
const BOX: &str = "\
var x, y, z: 0 .. 79;
startstate begin x := 0; y := 0; z := 0; end;
rule \"x\" x < 79 ==> begin x := x + 1; end;
rule \"y\" y < 79 ==> begin y := y + 1; end;
rule \"z\" z < 79 ==> begin z := z + 1; end;
";

/// A run that stopped at a limit, in a folder of its own.
struct Stopped {
    folder: TempDir,
    run: PathBuf,
    /// What the check printed.
    result: Value,
}

fn stopped(model: &str, states: u64) -> Stopped {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (path, disk) = (folder.path().join(model), folder.path().join("runs"));
    std::fs::write(&path, BOX).expect("a model can be written");
    let (path, disk, states) = (path.display().to_string(), disk.display().to_string(), states.to_string());
    let limits = [
        "--deadlock",
        "off",
        "--memory",
        "16M",
        "--threads",
        "1",
        "--max-states",
        &states,
        "--disk",
        &disk,
        "--json",
    ];
    let result = hadal(&[&["check", &path][..], &limits].concat()).expect_code(3).json();
    let run = PathBuf::from(result["run"].as_str().expect("it is kept"));
    Stopped { folder, run, result }
}

fn report(run: &Path, flags: &[&str]) -> support::Run {
    let run = run.display().to_string();
    hadal(&[&["report", &run][..], flags].concat())
}

/// Every opened element is closed, in order; nothing is fetched.
#[track_caller]
fn assert_complete(page: &str) {
    const VOID: [&str; 3] = ["meta", "!doctype", "line"];
    let mut open = Vec::new();
    for piece in page.split('<').skip(1) {
        let (tag, _) = piece.split_once('>').expect("a tag ends");
        let name = tag.trim_start_matches('/').split([' ', '/']).next().expect("a name");
        if tag.starts_with('/') {
            assert_eq!(open.pop(), Some(name), "in order");
        } else if !tag.ends_with('/') && !VOID.contains(&name) {
            open.push(name);
        }
    }
    assert!(open.is_empty(), "{open:?}");
    for outside in ["http:", "https:", "src=", "@import", "url("] {
        assert!(!page.contains(outside), "{outside}");
    }
}

#[test]
fn the_figures_are_those_of_the_check_and_add_up() {
    let stopped = stopped("box.m", 300_000);
    let figures = report(&stopped.run, &["--json"]).expect_code(0).json();
    let layers = figures["layers"].as_array().expect("a list");
    let sum = |field: &str| layers.iter().filter_map(|layer| layer[field].as_u64()).sum::<u64>();
    assert_eq!(figures["states"], sum("states"));
    assert_eq!(figures["transitions"], sum("transitions"));
    // A check counts the layer it was in; the folder has complete layers only.
    assert!(figures["states"].as_u64() <= stopped.result["states"].as_u64());
    // Layer d of the box has as many states as there are ways to add up to d.
    for (depth, states) in [(0, 1), (1, 3), (2, 6), (79, 80 * 81 / 2)] {
        assert_eq!(layers[depth]["states"], states, "layer {depth}");
    }
    for layer in &layers[..layers.len() - 1] {
        let outcomes = layer["outcomes"].as_object().expect("they are counted");
        assert_eq!(outcomes.values().filter_map(Value::as_u64).sum::<u64>(), layer["transitions"]);
    }
    assert_eq!(layers.last().expect("a layer")["transitions"], Value::Null, "not expanded");
    assert!(figures["status"].as_str().expect("a status").starts_with("stopped: "));
    assert_eq!(figures["verdict"], Value::Null);
    let last = figures["samples"].as_array().and_then(|samples| samples.last()).expect("a moment");
    assert_eq!((&last["states"], &last["transitions"]), (&figures["states"], &figures["transitions"]));
    let left = 80 * 80 * 80 - figures["states"].as_u64().expect("a number");
    let most = figures["estimate"]["new_states_most"].as_u64().expect("the widest layer is behind");
    assert!(left / 4 < most && most < left * 4, "{left}: {}", figures["estimate"]);
}

#[test]
fn the_page_is_complete_in_itself_and_has_the_figures() {
    let stopped = stopped("box.m", 300_000);
    let file = stopped.folder.path().join("page.html");
    let printed = report(&stopped.run, &["--out", &file.display().to_string()]).expect_code(0);
    assert!(printed.stdout.is_empty());
    let page = std::fs::read_to_string(&file).expect("it is written");
    assert_complete(&page);
    let figures = report(&stopped.run, &["--json"]).expect_code(0).json();
    for field in ["states", "transitions", "depth", "frontier"] {
        let number = grouped(figures[field].as_u64().expect("a number"));
        assert!(page.contains(&format!("<dd>{number}</dd>")), "{field}: {number}");
    }
    for title in ["Layers", "What became of generated states", "Time of each layer", "(estimate)"] {
        assert!(page.contains(title), "{title}");
    }
    assert!(page.contains("hadal check ") && page.contains("box.m"));
}

#[test]
fn names_in_the_page_are_text() {
    let stopped = stopped("a&b <script>alert(1)<!--.m", 1000);
    let page = report(&stopped.run, &[]).expect_code(0).stdout;
    assert!(page.contains("a&amp;b &lt;script&gt;alert(1)&lt;!--.m"), "{page}");
    assert!(!page.contains("<script") && !page.contains("<!--"));
    assert_complete(&page);
}

#[test]
fn a_finished_run_says_so_and_estimates_nothing() {
    let stopped = stopped("box.m", 1000);
    let run = stopped.run.display().to_string();
    hadal(&["resume", &run, "--memory", "16M", "--quiet"]).expect_code(0);
    let figures = report(&stopped.run, &["--json"]).expect_code(0).json();
    assert_eq!((&figures["verdict"], &figures["estimate"]), (&"holds".into(), &Value::Null));
    assert_eq!((&figures["states"], &figures["frontier"]), (&512_000.into(), &0.into()));
    assert_eq!(figures["transitions"], 3 * 79 * 80 * 80);
    assert_eq!(figures["depth"], 237);
    let seconds: Vec<f64> = figures["samples"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|sample| sample["seconds"].as_f64().expect("a number"))
        .collect();
    assert!(seconds.len() >= 2 && seconds.is_sorted(), "both sittings: {seconds:?}");
}

#[test]
fn what_is_no_run_is_refused_by_name() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let missing = report(&folder.path().join("nothing"), &[]).expect_code(2);
    assert!(missing.stderr.contains("nothing"), "{missing:#?}");
    let empty = report(folder.path(), &[]).expect_code(4);
    assert!(empty.stdout.is_empty() && empty.stderr.contains("committed nothing yet"), "{empty:#?}");
}
