//! Every language answers every text: damaged models are read or refused, never met with a panic, and what is read is
//! well formed. The number of rounds is fixed; `HADAL_FUZZ_ROUNDS` raises it, and `fuzz/` looks further.

use hadal_lang::{LANGUAGES, Language, LoadOptions, LoadedModel, Request};
use hadal_system::{Source, validate::validate};
use hadal_testkit::{Random, mutate};
use std::path::{Path, PathBuf};

/// Larger models take too long to be damaged often.
const MOST_BYTES: u64 = 6_000;

/// Models of a language, from the repository and from the corpus where it is there.
fn seeds(language: &Language) -> Vec<(PathBuf, Vec<u8>)> {
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../models");
    let (mut folders, mut found) = (vec![bundled, hadal_testkit::corpus::root()], Vec::new());
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() {
                folders.push(path);
            } else if Language::of(&path) == Some(language)
                && entry.metadata().is_ok_and(|file| file.len() <= MOST_BYTES)
            {
                found.push(path);
            }
        }
    }
    found.sort();
    let step = found.len().div_ceil(20).max(1);
    found
        .into_iter()
        .step_by(step)
        .filter_map(|path| Some((path.clone(), std::fs::read(path).ok()?)))
        .collect()
}

#[test]
fn damaged_models_are_read_or_refused() {
    let rounds = std::env::var("HADAL_FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(150);
    for language in LANGUAGES {
        let seeds = seeds(language);
        let (mut read, mut refused) = (0, 0);
        for round in 0..rounds {
            let mut random = Random::new(round);
            // Without a model to begin with, damage nothing.
            let (path, text) = match seeds.len() {
                0 => (PathBuf::from(format!("none.{}", language.endings[0])), Vec::new()),
                count => seeds[random.below(count)].clone(),
            };
            let text = String::from_utf8_lossy(&mutate(&text, &mut random)).into_owned();
            let source = Source::new(path.display().to_string(), text);
            let request = Request { path: &path, source, options: &LoadOptions::default() };
            match (language.load)(request) {
                Ok(loaded) => {
                    read += 1;
                    loaded.render_warnings();
                    if let LoadedModel::System(system) = &loaded.model {
                        assert_eq!(validate(system), [], "{} round {round}, {path:?}", language.name);
                    }
                }
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().is_empty());
                }
            }
        }
        println!("{}: {} models, {read} read, {refused} refused", language.name, seeds.len());
        assert!(refused > 0, "{}: nothing was refused", language.name);
    }
}
