//! The command that asks again what a run was asked.

use hadal_search::partition::Heuristic;
use serde_json::Value;

/// A command that asks what the run was asked: what the run keeps is named like the flags.
pub fn command(about: &Value) -> Option<String> {
    let mut words = vec!["hadal".to_owned(), "check".to_owned(), quoted(about["model"].as_str()?)];
    for define in about["define"].as_array().into_iter().flatten() {
        if let Some(name) = define[0].as_str() {
            let value = define[1].as_str().map_or_else(|| define[1].to_string(), str::to_owned);
            words.extend(["-D".to_owned(), quoted(&format!("{name}={value}"))]);
        }
    }
    for (key, value) in about.as_object().into_iter().flatten() {
        if key != "model" && key != "define" {
            flag(&format!("--{}", key.replace('_', "-")), key, value, &mut words);
        }
    }
    Some(words.join(" "))
}

fn flag(name: &str, key: &str, value: &Value, words: &mut Vec<String>) {
    match value {
        Value::Bool(true) => words.push(name.to_owned()),
        Value::Number(number) => words.extend([name.to_owned(), number.to_string()]),
        // Names of properties, components and files are somebody's own; everything else is one of hadal's words.
        Value::String(text) if matches!(key, "property" | "partition" | "save_partition") => {
            words.extend([name.to_owned(), quoted(text)])
        }
        Value::String(text) if is_default(key, text) => {}
        Value::String(_) if key == "part_heuristic" => {
            let known = serde_json::from_value(value.clone()).map(Heuristic::name);
            words.extend(known.into_iter().flat_map(|heuristic| [name.to_owned(), heuristic.to_owned()]));
        }
        Value::String(text) => words.extend([name.to_owned(), quoted(&kebab(text))]),
        Value::Array(items) => items.iter().for_each(|item| flag(name, key, item, words)),
        Value::Object(fields) => {
            for (key, value) in fields {
                flag(&format!("--{}", key.replace('_', "-")), key, value, words);
            }
        }
        Value::Bool(false) | Value::Null => {}
    }
}

fn is_default(key: &str, value: &str) -> bool {
    matches!(
        (key, value),
        ("symmetry" | "strategy", "Auto" | "auto")
            | ("part_heuristic", "Adaptive")
            | ("model_errors", "Report")
    )
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

    #[test]
    fn the_command_can_be_pasted_into_a_shell() {
        let about = serde_json::json!({
            "model": "/m/it's here.m", "define": [["N", 4]], "symmetry": "Auto", "interpret": true,
            "property": ["mutual exclusion"], "deadlock": "Stuttering", "model_errors": "Report",
            "strategy": "Part", "partition": { "part_heuristic": "StaticGhc", "part_states": null },
        });
        let words = command(&about).expect("a command");
        assert!(words.starts_with("hadal check '/m/it'\\''s here.m' -D N=4 "), "{words}");
        assert!(words.contains("--property 'mutual exclusion'") && words.contains("--deadlock stuttering"));
        assert!(words.contains("--strategy part") && words.contains("--part-heuristic s-ghc"), "{words}");
        assert!(words.contains("--interpret") && !words.contains("--symmetry") && !words.contains("errors"));
    }
}
