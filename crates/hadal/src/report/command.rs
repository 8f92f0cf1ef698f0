//! The command that asks again what a run was asked.

use crate::args::Cli;
use clap::{Command, CommandFactory};
use hadal_search::partition::Heuristic;
use serde_json::Value;

/// A command that asks what the run was asked: what the run keeps is named like the flags.
pub fn command(about: &Value) -> Option<String> {
    let model = about["model"].as_str()?;
    let (verb, files, kept) = match (&about["plan"], &about["timed_plan"]) {
        (Value::Object(plan), _) => ("plan", vec![plan["domain"].as_str()?, plan["problem"].as_str()?], plan),
        (_, Value::Object(_)) => ("plan", vec![model], about.as_object()?),
        _ => ("check", vec![model], about.as_object()?),
    };
    let mut words = vec!["hadal".to_owned(), verb.to_owned()];
    words.extend(files.into_iter().map(quoted));
    let command = Cli::command();
    let command = command.find_subcommand(verb)?;
    pairs("-D", &kept.get("define").cloned().unwrap_or_default(), &mut words);
    for (key, value) in kept.iter().filter(|(key, _)| *key != "define") {
        flag(command, key, value, &mut words);
    }
    Some(words.join(" "))
}

fn flag(check: &Command, key: &str, value: &Value, words: &mut Vec<String>) {
    let name = key.replace('_', "-");
    if let Value::Object(fields) = value {
        return fields.iter().for_each(|(key, value)| flag(check, key, value, words));
    }
    match key {
        "define" => return pairs("-D", value, words),
        "processes" => return pairs("--processes", value, words),
        // A run keeps more than what was typed.
        _ if argument(check, &name).is_none() => return,
        _ => {}
    }
    let said = match value {
        Value::Bool(true) => return words.push(format!("--{name}")),
        Value::Bool(false) | Value::Null | Value::Object(_) => return,
        Value::Array(items) => return items.iter().for_each(|item| flag(check, key, item, words)),
        Value::Number(number) => number.to_string(),
        Value::String(_) if key == "part_heuristic" => serde_json::from_value(value.clone())
            .map_or_else(|_| value.to_string(), |known| Heuristic::name(known).to_owned()),
        Value::String(text) => spelled(check, &name, text),
    };
    if !is_default(check, &name, &said) {
        words.extend([format!("--{name}"), quoted(&said)]);
    }
}

/// `FLAG NAME=VALUE` for each pair of a name and a value.
fn pairs(flag: &str, pairs: &Value, words: &mut Vec<String>) {
    for pair in pairs.as_array().into_iter().flatten() {
        if let Some(name) = pair[0].as_str() {
            let value = pair[1].as_str().map_or_else(|| pair[1].to_string(), str::to_owned);
            words.extend([flag.to_owned(), quoted(&format!("{name}={value}"))]);
        }
    }
}

/// One of hadal's words as the command line spells it; names, formulas and files are somebody's own.
fn spelled(check: &Command, name: &str, text: &str) -> String {
    let word = kebab(text);
    let known = argument(check, name).map_or(Vec::new(), clap::Arg::get_possible_values);
    if known.iter().any(|value| value.matches(&word, false)) { word } else { text.to_owned() }
}

fn is_default(check: &Command, name: &str, said: &str) -> bool {
    argument(check, name).is_some_and(|arg| arg.get_default_values().iter().any(|value| value == said))
}

fn argument<'a>(check: &'a Command, name: &str) -> Option<&'a clap::Arg> {
    check.get_arguments().find(|arg| arg.get_long() == Some(name))
}

/// `ClosedPerLayer` as the command line spells it.
fn kebab(text: &str) -> String {
    let mut word = String::new();
    for letter in text.chars() {
        if letter.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(letter.to_lowercase());
    }
    word
}

/// As a shell reads it.
fn quoted(text: &str) -> String {
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.to_owned();
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let about = serde_json::json!({
            "model": "/m/it's here.m", "define": [["N", 4]], "symmetry": "Auto", "interpret": true,
            "property": ["mutual exclusion"], "deadlock": "Stuttering", "model_errors": "Report",
            "fair": "Off", "lasso": "Some", "liveness": "Sweep", "ltl": ["[] (Cabin1.Library -> <> p)"],
            "strategy": "Part", "partition": { "part_heuristic": "StaticGhc", "part_states": null },
        });
        let words = command(&about).expect("a command");
        assert!(words.starts_with("hadal check '/m/it'\\''s here.m' -D N=4 "), "{words}");
        assert!(words.contains("--property 'mutual exclusion'") && words.contains("--deadlock stuttering"));
        assert!(words.contains("--strategy part") && words.contains("--part-heuristic s-ghc"), "{words}");
        assert!(words.contains("--ltl '[] (Cabin1.Library -> <> p)'"), "{words}");
        assert!(["--fair", "--lasso", "--liveness"].iter().all(|flag| !words.contains(flag)), "{words}");
        assert!(words.contains("--interpret") && !words.contains("--symmetry") && !words.contains("errors"));
    }

    #[test]
    fn the_command_says_limits_and_leaves_out_what_was_not_typed() {
        let about = serde_json::json!({
            "model": "m.pml", "processes": [["P", 3]], "settled": ["done"],
            "timed": { "earlier": ["/r"], "several": 2, "fastest": true },
            "limits": { "memory": "16M", "time_limit": "90s", "max_states": 7, "continue": 2, "disk": "/d" },
        });
        let words = command(&about).expect("a command");
        let said: Vec<&str> = words.split(" --").collect();
        assert_eq!(said[0], "hadal check m.pml");
        for flag in ["memory 16M", "time-limit 90s", "max-states 7", "continue 2", "disk /d", "fastest"] {
            assert!(said.contains(&flag), "{flag}: {words}");
        }
        assert!(said.contains(&"processes P=3") && said.len() == 8, "{words}");
        Cli::try_parse_from(words.split(' ')).expect("words that the command line reads");
    }

    #[test]
    fn the_command_of_a_plan_is_one_of_plan() {
        let kept = serde_json::json!({ "domain": "/d.pddl", "problem": "/p.pddl", "optimal": true, "first": false,
            "engine": "auto", "plan": null, "limits": { "memory": "64M" } });
        let about = serde_json::json!({ "model": "/p.pddl", "plan": kept, "rows": [1, 2], "stage": "best" });
        assert_eq!(command(&about).as_deref(), Some("hadal plan /d.pddl /p.pddl --memory 64M --optimal"));
        let timed = serde_json::json!({ "model": "/m.tck", "limits": { "threads": 2 },
            "timed_plan": { "define": [["N", 3]], "order": "Broadening", "coverage": [50, 100] } });
        let words = command(&timed).expect("a command");
        assert!(words.starts_with("hadal plan /m.tck "), "{words}");
        assert!(words.contains("-D N=3") && words.contains("--order broadening"), "{words}");
        Cli::try_parse_from(words.split(' ')).expect("words that the command line reads");
    }
}
