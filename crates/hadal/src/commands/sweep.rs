//! Parameter sweeps: `hadal check M -D N=2..6` asks for every value in turn and shows the answers side by side.

use crate::args::{CheckArgs, Given};
use crate::failure::Failure;
use crate::output;
use hadal_check::units::{grouped, size, span};
use serde_json::Value;
use std::process::Command;

/// Most checks of one sweep.
const MOST_CHECKS: usize = 1000;
/// Characters of the longest bar.
const BAR: usize = 24;

/// The values that `2..6` stands for.
fn range(text: &str) -> Option<std::ops::RangeInclusive<i64>> {
    let (from, to) = text.split_once("..")?;
    Some(from.trim().parse().ok()?..=to.trim().parse().ok()?)
}

/// Whether some definition is a range of values.
pub fn is_asked(args: &CheckArgs) -> bool {
    let swept = |given: &Given| matches!(given, Given::Text(text) if range(text).is_some());
    args.model.define.iter().any(|(_, given)| swept(given))
}

/// Checks the model once for every combination of values; returns the worst exit code.
pub fn run(args: &CheckArgs, words: &[String]) -> Result<u8, Failure> {
    let mut combinations: Vec<Vec<(String, i64)>> = vec![Vec::new()];
    for (name, given) in &args.model.define {
        let Given::Text(text) = given else { continue };
        let Some(values) = range(text) else { continue };
        if values.is_empty() {
            return Err(Failure::Usage(format!("-D {name}={text}: there is no value in this range")));
        }
        let longer = |so_far: Vec<(String, i64)>| {
            values.clone().map(move |value| [so_far.clone(), vec![(name.clone(), value)]].concat())
        };
        combinations = combinations.into_iter().flat_map(longer).take(MOST_CHECKS + 1).collect();
    }
    if combinations.len() > MOST_CHECKS {
        return Err(Failure::Usage(format!("a sweep of more than {MOST_CHECKS} checks")));
    }
    let mut rows = Vec::new();
    let mut worst = 0;
    for values in combinations {
        let (code, result) = one(words, &values)?;
        if result.is_null() {
            return Ok(code);
        }
        worst = worst.max(code);
        if !args.output.json && !args.output.quiet {
            crate::output::note!("{}: {}", named(&values), result["verdict"].as_str().unwrap_or("?"));
        }
        rows.push((values, result));
        if code == 130 {
            break;
        }
    }
    if args.output.json {
        let all: Vec<Value> = rows
            .iter()
            .map(|(values, result)| {
                let define: serde_json::Map<String, Value> =
                    values.iter().map(|(name, value)| (name.clone(), (*value).into())).collect();
                serde_json::json!({ "define": define, "result": result })
            })
            .collect();
        output::line(&serde_json::to_string_pretty(&all).unwrap_or_default())?;
    } else {
        output::line(&table(&rows))?;
    }
    Ok(worst)
}

fn named(values: &[(String, i64)]) -> String {
    values.iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join(" ")
}

/// One check, in a process of its own: each has its memory to itself.
fn one(words: &[String], values: &[(String, i64)]) -> Result<(u8, Value), Failure> {
    let program = std::env::current_exe()
        .map_err(|error| Failure::Internal(format!("this program cannot be found: {error}")))?;
    let ran = Command::new(program)
        .args(words.iter().filter(|word| !is_about_output(word)).map(|word| with_value(word, values)))
        .args(["--json", "--quiet"])
        .output()
        .map_err(|error| Failure::Internal(format!("a check cannot be started: {error}")))?;
    let code = u8::try_from(ran.status.code().unwrap_or(4)).unwrap_or(4);
    let result: Value = serde_json::from_slice(&ran.stdout).unwrap_or(Value::Null);
    // Errors are told by text.
    let result = if result.get("errors").is_some() { Value::Null } else { result };
    if result.is_null() {
        crate::output::aside(format_args!("{}: {}", named(values), String::from_utf8_lossy(&ran.stderr)));
    }
    Ok((code, result))
}

/// Whether a word says how the result is shown, which a sweep does itself.
fn is_about_output(word: &str) -> bool {
    matches!(word, "--json" | "--quiet" | "-q")
}

/// A word of the command with the range in it replaced by a value.
fn with_value(word: &str, values: &[(String, i64)]) -> String {
    let (flag, definition) = match word.strip_prefix("-D") {
        Some(rest) => ("-D", rest),
        None => ("", word),
    };
    let Some((name, text)) = definition.split_once('=') else { return word.to_owned() };
    match values.iter().find(|(known, _)| known == name.trim()) {
        Some((name, value)) if range(text).is_some() => format!("{flag}{name}={value}"),
        _ => word.to_owned(),
    }
}

/// The answers as a table, with a bar for the logarithm of the number of states.
fn table(rows: &[(Vec<(String, i64)>, Value)]) -> String {
    let number = |value: &Value| value.as_u64().map_or("-".to_owned(), grouped);
    let mut cells =
        vec![["", "verdict", "states", "transitions", "depth", "trace", "time", "memory"].map(String::from)];
    for (values, result) in rows {
        cells.push([
            named(values),
            result["verdict"].as_str().unwrap_or("?").to_owned(),
            number(&result["states"]),
            number(&result["transitions"]),
            number(&result["depth"]),
            number(&result["trace_length"]),
            span(result["seconds"].as_f64().unwrap_or(0.0)),
            size(result["peak_memory_bytes"].as_u64().unwrap_or(0)),
        ]);
    }
    let width = |column: usize| cells.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..8).map(width).collect();
    let logs: Vec<f64> =
        rows.iter().map(|(_, result)| (result["states"].as_f64().unwrap_or(0.0) + 1.0).ln()).collect();
    let longest = logs.iter().copied().fold(1e-9, f64::max);
    let mut lines = Vec::new();
    for (n, row) in cells.iter().enumerate() {
        let mut line: String = row
            .iter()
            .enumerate()
            .map(|(column, cell)| match column {
                0 | 1 => format!("{cell:<width$}  ", width = widths[column]),
                _ => format!("{cell:>width$}  ", width = widths[column]),
            })
            .collect();
        match n.checked_sub(1) {
            None => line.push_str("states (logarithmic)"),
            Some(n) => line.push_str(&"#".repeat((logs[n] / longest * BAR as f64).round() as usize)),
        }
        lines.push(line.trim_end().to_owned());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_replaced_where_they_are_defined() {
        assert_eq!(range("2..6"), Some(2..=6));
        assert_eq!(range("-1..1"), Some(-1..=1));
        assert_eq!(range("a..b"), None);
        let values = [("N".to_owned(), 4)];
        assert_eq!(with_value("-DN=2..6", &values), "-DN=4");
        assert_eq!(with_value("N=2..6", &values), "N=4");
        assert_eq!(with_value("M=2..6", &values), "M=2..6");
        assert_eq!(with_value("models/N=2.m", &values), "models/N=2.m");
    }
}
