//! Rumur's one-feature models (`murphi/rumur-tests` of the corpus) say in their headers what Rumur answers. hadal answers
//! the same, but for the differences listed here and in `docs/languages/murphi.md`.

mod support;

use std::path::{Path, PathBuf};
use support::{corpus, hadal, on_threads};

/// A model on which hadal differs on purpose.
struct Difference {
    file: &'static str,
    /// hadal's exit code.
    code: i32,
    /// What hadal says.
    says: &'static str,
    /// Stands in `docs/languages/murphi.md`.
    documented: &'static str,
}

const DIFFERENCES: &[Difference] = &[
    Difference {
        file: "uint64-model.m",
        code: 2,
        says: "does not fit in signed 64 bits",
        documented: "all values are signed 64-bit integers",
    },
    // Rumur calls it success to find nothing within a bound; for hadal the search was stopped.
    Difference {
        file: "bound-limit.m",
        code: 3,
        says: "--max-depth is reached",
        documented: "`bound-limit.m`",
    },
    // Rumur warns and finds nothing wrong; an empty file is no answer.
    Difference { file: "read-slice.m", code: 2, says: "no initial state", documented: "`read-slice.m`" },
];

/// Models that Rumur accepts only because a solver proves away a read of an undefined value.
const SOLVER: Difference = Difference {
    file: "smt-*.m",
    code: 1,
    says: "is undefined here",
    documented: "an answer should not depend on an optimiser",
};

/// What Rumur's output must match, in the words of hadal's.
const SAYS: &[(&str, &str)] = &[
    ("bad-enum-print.m", "enum { HELLO, WORLD }"),
    ("bad-invariant-number.m", "invariant `invariant at line 30` is violated"),
    ("cex-boolean-startstate.m", "start  start at line 10, y: false\n"),
    ("cex-boolean.m", "    1  rule at line 14, y: false\n"),
    ("cex-enum.m", "    1  rule at line 21, y: A\n"),
    ("cover-miss.m", "cover \"x was 2\": 0 hits"),
    ("cover-multiple.m", "cover \"x was 2\": 0 hits"),
    ("cover-stmt-miss.m", "cover \"x was 2\": 0 hits"),
    ("cover-trivial.m", "cover \"dummy\": 2 hits"),
    ("diff-trace-arrays.m", "s[D]: undefined -> 3\n    5 "),
    ("invariant-failure-message.m", "invariant `hello world` is violated"),
    ("liveness-in-ruleset2.m", "liveness property `x is y, y: 10` is violated"),
    ("liveness-miss1.m", "liveness property `x is 10` is violated"),
    ("liveness-miss2.m", "liveness property `x is 10` is violated"),
    ("ruleset-trace.m", "firing `rule at line 26, y: 1, z: 8, w: -32` raises an error"),
    ("ruleset-trace2.m", "firing `rule at line 32, y: 1, z: 8, w: -32` raises an error"),
    ("ruleset-trace3.m", "firing `start at line 17, y: 1, z: 8, w: -32` raises an error"),
    ("smart-quotes.m", "    1  foo  (line "),
    ("xml-escape-increment.m", "    1  foo  (line "),
];

/// The same for what models print: `hadal check` shows it in traces only, `hadal simulate` always.
const PRINTS: &[(&str, &str)] = &[
    ("put-stmt4.m", "| z[6]: false\n"),
    ("scalarset-put.m", "| y: undefined\n"),
    ("scalarset-put.m", "| y: t_10\n"),
];

/// Output that has no counterpart in hadal.
const NO_COUNTERPART: &[(&str, &str)] = &[
    ("multiple-deadlocks.m", "hadal reports one violation"),
    ("scalarset-schedules-off.m", "about an option of Rumur: hadal names scalarset elements always"),
    ("scalarset-schedules-off-2.m", "about an option of Rumur: hadal names scalarset elements always"),
    ("state-reorder.m", "Rumur's debugging output"),
];

/// What a model's header says.
struct Header {
    flags: Vec<String>,
    code: i32,
    has_output: bool,
    needs_solver: bool,
}

impl Header {
    fn read(text: &str) -> Self {
        let value = |key: &str| {
            let mut lines = text.lines().filter_map(|line| line.strip_prefix("-- ")?.strip_prefix(key));
            lines.find_map(|rest| rest.strip_prefix(": "))
        };
        let code = match (value("rumur_exit_code"), value("checker_exit_code")) {
            (Some("1"), _) => 2,
            (None, Some("1")) => 1,
            (None, None) => 0,
            other => panic!("unknown exit codes {other:?}"),
        };
        let flags = value("rumur_flags").unwrap_or("[]");
        Header {
            flags: translate(flags),
            code,
            has_output: value("checker_output").is_some(),
            needs_solver: flags.starts_with("smt_"),
        }
    }
}

/// Rumur's flags, written as a Python list, in hadal's words.
fn translate(flags: &str) -> Vec<String> {
    let mut words = flags.split('\'').skip(1).step_by(2);
    let mut translated = Vec::new();
    while let Some(flag) = words.next() {
        let ours = match flag {
            "--deadlock-detection" => "--deadlock",
            "--bound" => "--max-depth",
            // How Rumur generates its checker, not what it checks.
            "--counterexample-trace"
            | "--scalarset-schedules"
            | "--pack-state"
            | "--value-type"
            | "--threads"
            | "--max-errors" => {
                words.next();
                continue;
            }
            _ if flag.starts_with("--value-type=") => continue,
            _ => panic!("unknown flag {flag}"),
        };
        translated.extend([ours.to_owned(), words.next().expect("a value").to_owned()]);
    }
    translated
}

/// What is wrong with hadal's answer to one model.
fn disagreement(path: &Path) -> Option<String> {
    let file = path.file_name()?.to_str()?;
    // Some models are not UTF-8.
    let header =
        Header::read(&String::from_utf8_lossy(&std::fs::read(path).expect("a corpus file can be read")));
    let model = path.display().to_string();
    let mut arguments = vec!["check", &model, "--memory", "256M", "--threads", "1"];
    arguments.extend(header.flags.iter().map(String::as_str));
    let run = hadal(&arguments);
    let output = format!("{}{}", run.stdout, run.stderr);
    let solver = header.needs_solver.then_some(&SOLVER);
    let (code, says) = match DIFFERENCES.iter().find(|d| d.file == file).or(solver) {
        Some(difference) => (difference.code, difference.says),
        None => (header.code, SAYS.iter().find(|(name, _)| *name == file).map_or("", |(_, says)| says)),
    };
    let known = |list: &[(&str, &str)]| list.iter().any(|(name, _)| *name == file);
    if header.has_output && !known(SAYS) && !known(PRINTS) && !known(NO_COUNTERPART) {
        return Some(format!("{file}: what does its checker_output mean for hadal?"));
    }
    let right = run.code == code && output.contains(says);
    (!right).then(|| format!("{file}: expected exit code {code} and `{says}`: {run:#?}"))
}

#[test]
fn one_feature_models_are_answered_as_rumur_answers_them() {
    let Some(corpus) = corpus("murphi/rumur-tests") else { return };
    let entries = std::fs::read_dir(corpus).expect("the corpus can be read");
    let mut models: Vec<PathBuf> = entries.map(|entry| entry.expect("an entry").path()).collect();
    models.retain(|path| path.extension().is_some_and(|e| e == "m"));
    models.sort();
    let wrong: Vec<String> =
        on_threads(3, &models, |path| disagreement(path)).into_iter().flatten().collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(models.len() > 200, "only {} models found", models.len());
}

#[test]
fn what_models_print_is_shown_on_a_walk() {
    let Some(corpus) = corpus("murphi/rumur-tests") else { return };
    for (file, prints) in PRINTS {
        let model = corpus.join(file).display().to_string();
        let run = hadal(&["simulate", &model, "--random", "--steps", "1"]).expect_code(0);
        assert!(run.stdout.contains(prints), "{file}: expected `{prints}`: {run:#?}");
    }
}

#[test]
fn deliberate_differences_stand_in_the_language_page() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/languages/murphi.md");
    let page = std::fs::read_to_string(page).expect("the page is there");
    for difference in DIFFERENCES.iter().chain([&SOLVER]) {
        let stands = page.contains(difference.documented) && page.contains(difference.file);
        assert!(stands, "{} is not explained", difference.file);
    }
}
