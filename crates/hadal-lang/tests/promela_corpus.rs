//! Every Promela model of the corpus loads, or is refused for a reason that stands in `docs/languages/promela.md`.
//!
//! The corpus is not part of the repository: `HADAL_CORPUS` names its folder (default `../shared/models` beside the
//! workspace). Without it the test prints a line and passes.

use hadal_lang::diagnostic::render_plain;
use hadal_lang::promela::{self, LANGUAGE, Options};
use hadal_system::{Source, validate::validate};
use std::path::{Path, PathBuf};

/// Refused: the first two by SPIN as well, the third for its priorities.
const REFUSED: &[&str] = &["case/first.spin", "ltsmin/zune.pml", "spin-examples/priorities.pml"];

fn models_below(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<_> = std::fs::read_dir(folder)
        .expect("the corpus can be read")
        .map(|e| e.expect("an entry").path())
        .collect();
    entries.sort();
    for path in entries {
        let ending = path.extension().and_then(|it| it.to_str()).unwrap_or_default();
        if path.is_dir() {
            models_below(&path, found);
        } else if LANGUAGE.endings.contains(&ending) {
            found.push(path);
        }
    }
}

#[test]
fn every_model_loads_or_is_refused_for_a_listed_reason() {
    let models = std::env::var_os("HADAL_CORPUS")
        .map_or_else(|| Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/models"), PathBuf::from);
    let folder = models.join("promela");
    if !folder.is_dir() {
        println!("skipped: no corpus at {} (set HADAL_CORPUS)", models.display());
        return;
    }
    let mut paths = Vec::new();
    models_below(&folder, &mut paths);
    let mut loaded = 0;
    for path in &paths {
        let name = path.strip_prefix(&folder).expect("below").display().to_string();
        let text = String::from_utf8_lossy(&std::fs::read(path).expect("a file")).into_owned();
        let parent = path.parent().unwrap_or(Path::new("."));
        let include = |name: &str| {
            let bytes = std::fs::read(parent.join(name)).ok()?;
            Some(String::from_utf8_lossy(&bytes).into_owned())
        };
        match promela::load(
            Source::new(name.clone(), text),
            Options { include: &include, ..Options::default() },
        ) {
            Ok(model) => {
                assert!(!REFUSED.contains(&name.as_str()), "{name} loads now");
                let problems = validate(&model.system);
                assert!(problems.is_empty(), "{name}: {}", problems[0]);
                loaded += 1;
            }
            Err(refused) => {
                let shown: String =
                    refused.diagnostics.list.iter().map(|d| render_plain(&refused.source_text, d)).collect();
                assert!(REFUSED.contains(&name.as_str()), "{name}\n{shown}");
            }
        }
    }
    println!("{loaded} of {} models load", paths.len());
    assert!(loaded > 250);
}
