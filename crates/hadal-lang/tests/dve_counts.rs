//! Published figures: states, transitions and depth of BEEM's instances, and the answers to its goals.
//!
//! Runs up to HADAL_DVE_STATES states per model (default 30000) on the interpreter, and only the models whose path contains
//! HADAL_DVE_ONLY where that is set.

#[path = "dve/corpus.rs"]
#[allow(dead_code)]
mod corpus;
#[path = "dve/explorer.rs"]
mod explorer;

use hadal_lang::ModelErrors;
use hadal_lang::dve::beem::Description;
use hadal_lang::dve::{Options, load_with};
use hadal_system::Source;

fn limit() -> u64 {
    std::env::var("HADAL_DVE_STATES").ok().and_then(|text| text.parse().ok()).unwrap_or(30_000)
}

/// `prop1=yes(len 16) prop2=no`: the answers that are known, with the published length.
fn answers(text: &str) -> Vec<(String, Option<u64>)> {
    let mut found = Vec::new();
    let text = text.replace("(len ", "@").replace(')', "");
    for part in text.split_whitespace() {
        let Some((name, answer)) = part.split_once('=') else { continue };
        match answer.split_once('@') {
            Some(("yes", length)) => found.push((name.to_string(), length.parse().ok())),
            _ if answer == "no" => found.push((name.to_string(), None)),
            _ => {}
        }
    }
    found
}

#[test]
fn published_counts_and_goals_are_met() {
    let Some(folder) = corpus::folder() else { return };
    let only = std::env::var("HADAL_DVE_ONLY").unwrap_or_default();
    let mut wrong = Vec::new();
    let (mut rows, mut goals) = (0, 0);
    for row in corpus::known(&folder) {
        let file = row.get("file");
        if !file.contains(&only) {
            continue;
        }
        if row.get("beem_search_complete") != "yes" || row.number("beem_states").is_none_or(|n| n > limit()) {
            continue;
        }
        let path = folder.join(file);
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("readable")).into_owned();
        let description = Description::beside(&path).expect("readable");
        let options = Options {
            description: description.as_ref(),
            errors: ModelErrors::ErrorState,
            ..Options::default()
        };
        let system = match load_with(Source::new(file, text), options) {
            Ok(loaded) => loaded.system,
            Err(refused) => {
                wrong.push(format!("{file}: {:?}", refused.diagnostics.list.first()));
                continue;
            }
        };
        let found = explorer::explore(&system, 4 * limit()).expect("not much more than published");
        rows += 1;
        let mut compare = |what: &str, published: Option<u64>, ours: u64| {
            if published.is_some_and(|published| published != ours) {
                wrong.push(format!("{file}: {what} {ours}, published {published:?}"));
            }
        };
        compare("states", row.number("beem_states"), found.states);
        compare("transitions", row.number("beem_edges"), found.transitions);
        compare("levels", row.number("beem_bfs_levels"), found.depth + 1);
        for (name, length) in answers(row.get("reach_goal")) {
            let Some(at) = system.properties.iter().position(|p| p.name == name) else {
                wrong.push(format!("{file}: the goal {name} is missing"));
                continue;
            };
            goals += 1;
            // BEEM counts the states of the path, both ends included.
            let ours = found.nearest[at].map(|distance| distance + 1);
            if ours != length {
                wrong.push(format!("{file}: {name} {ours:?}, published {length:?}"));
            }
        }
        println!("{file}: {} states in {} bits, {} actions", found.states, found.bits, system.actions.len());
    }
    println!("{rows} rows, {goals} goals");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
