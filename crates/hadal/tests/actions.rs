//! How often each action fires: the same for every strategy, thread count and history of a complete exploration.

mod support;

use serde_json::Value;
use support::hadal;
use tempfile::TempDir;

/// A box of N x N x 2N states. Two rules step along one side each, a rule set along the third in two instances, and one
/// rule never fires.
const BOX: &str = "\
const N: 16;
var x, y: 0 .. N - 1; z: 0 .. 2 * N - 1; on: array[0 .. 1] of boolean;
startstate begin x := 0; y := 0; z := 0; on[0] := true; on[1] := true; end;
rule \"x\" x < N - 1 ==> begin x := x + 1; end;
rule \"y\" y < N - 1 ==> begin y := y + 1; end;
ruleset k: 0 .. 1 do rule \"z\" on[k] & z + k < 2 * N - 1 ==> begin z := z + 1 + k; end; end;
rule \"never\" x = N - 1 & x < y ==> begin x := 0; end;
";

struct Model {
    folder: TempDir,
}

impl Model {
    fn new() -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        std::fs::write(folder.path().join("box.m"), BOX).expect("a model can be written");
        Model { folder }
    }

    fn check(&self, n: u64, flags: &[&str]) -> support::Run {
        let (model, disk) = (self.folder.path().join("box.m"), self.folder.path().join("runs"));
        let (model, disk, n) = (model.display().to_string(), disk.display().to_string(), format!("-DN={n}"));
        let fixed = ["check", &model, &n, "--deadlock", "off", "--json", "--disk", &disk];
        hadal(&[&fixed[..], flags].concat())
    }
}

/// What must have fired: the sides of the box say it.
fn expected(n: u64) -> Vec<(String, u64)> {
    let sides =
        [("x", (n - 1) * n * 2 * n), ("y", (n - 1) * n * 2 * n), ("z", n * n * (4 * n - 3)), ("never", 0)];
    sides.map(|(name, fired)| (name.to_owned(), fired)).into()
}

fn fired(result: &Value) -> Vec<(String, u64)> {
    let actions = result["actions"].as_array().expect("a list").iter();
    let pair = |action: &Value| {
        (action["name"].as_str().expect("a name").to_owned(), action["fired"].as_u64().expect("a number"))
    };
    actions.map(pair).collect()
}

#[test]
fn every_strategy_and_thread_count_counts_the_same_firings() {
    let model = Model::new();
    for strategy in ["auto", "bfs", "dfs", "part", "sort", "hash", "phased", "partial", "della-penna"] {
        for threads in ["1", "3"] {
            let flags = ["--strategy", strategy, "--threads", threads, "--memory", "24M"];
            let result = model.check(16, &flags).expect_code(0).json();
            assert_eq!(fired(&result), expected(16), "{strategy}, {threads} threads");
            let sum: u64 = fired(&result).iter().map(|(_, fired)| fired).sum();
            assert_eq!(result["transitions"], sum);
        }
    }
}

#[test]
fn firings_survive_stopping_resuming_and_changes_of_storage() {
    let model = Model::new();
    let stops = [
        ("auto", "16M", "60000"),
        ("auto", "16M", "200000"),
        ("part", "16M", "100000"),
        ("partial", "16M", "100000"),
    ];
    for (strategy, memory, states) in stops {
        let flags = ["--strategy", strategy, "--threads", "1", "--memory", memory, "--max-states", states];
        let stopped = model.check(60, &flags).expect_code(3).json();
        let run = stopped["run"].as_str().expect("it is kept").to_owned();
        let told = hadal(&["report", &run, "--json"]).expect_code(0).json();
        let sum: u64 = fired(&told).iter().map(|(_, fired)| fired).sum();
        assert_eq!(told["transitions"], sum, "{strategy} at {states}");
        let resumed =
            hadal(&["resume", &run, "--threads", "2", "--memory", "20M", "--json"]).expect_code(0).json();
        assert_eq!(fired(&resumed), expected(60), "{strategy} at {states}");
        let page = hadal(&["report", &run]).expect_code(0).stdout;
        assert!(page.contains("How often each action fired") && page.contains("Never fired: never."));
    }
}
