//! Every Promela model of the corpus loads, or is refused for a reason that stands in `docs/languages/promela.md`.
//!
//! The corpus is not part of the repository: `HADAL_CORPUS` names its folder (default `../shared/models` beside the
//! workspace). Without it the test prints a line and passes.

use hadal_lang::diagnostic::render_plain;
use hadal_lang::promela::{self, LANGUAGE, Options};
use hadal_system::{Source, validate::validate};
use hadal_testkit::corpus;
use std::path::Path;

/// Refused, and by SPIN as well: a variable outside its block, an included file that is missing.
const REFUSED: &[&str] = &["case/first.spin", "ltsmin/zune.pml"];

#[test]
fn every_model_loads_or_is_refused_for_a_listed_reason() {
    let Some(folder) = corpus::find("promela") else { return };
    let paths = corpus::files(&folder, LANGUAGE.extensions);
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
