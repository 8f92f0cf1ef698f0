//! Every model of the corpus loads, or is refused for a reason that stands in `docs/languages/murphi.md`.
//!
//! The corpus is not part of the repository: `hadal_testkit::corpus` says where it is looked for.

use hadal_lang::diagnostic::render_plain;
use hadal_lang::{Severity, murphi};
use hadal_system::{Source, validate::validate};
use std::fs;
use std::path::{Path, PathBuf};

/// The Murphi part of the corpus, if it is there.
fn corpus() -> Option<PathBuf> {
    hadal_testkit::corpus::find("murphi")
}

fn read(path: &Path) -> Source {
    let bytes = fs::read(path).expect("a corpus file can be read");
    Source::new(path.display().to_string(), String::from_utf8_lossy(&bytes).into_owned())
}

/// Loads a model and checks what must be true of every answer; the errors, if it was refused.
fn load(path: &Path) -> Result<(), String> {
    match murphi::load(read(path), &[]) {
        Ok(loaded) => {
            let problems = validate(&loaded.system);
            assert!(problems.is_empty(), "{}: {}", path.display(), problems[0]);
            assert!(loaded.warnings.list.iter().all(|d| d.severity == Severity::Warning));
            Ok(())
        }
        Err(refused) => {
            assert!(refused.diagnostics.has_errors(), "{}: refused without a reason", path.display());
            let shown = refused.diagnostics.list.iter().map(|d| render_plain(&refused.source_text, d));
            Err(shown.collect())
        }
    }
}

/// Header expectations of the one-feature models that are about Rumur's command line, not about the language.
const ABOUT_THE_COMMAND: &[&str] = &["bound-illegal.m"];

/// One-feature models that hadal deliberately refuses; the reasons stand in `docs/languages/murphi.md`.
const REFUSED_BY_HADAL: &[(&str, &str)] = &[("uint64-model.m", "signed 64 bits")];

#[test]
fn one_feature_models_are_accepted_and_refused_as_their_headers_say() {
    let Some(corpus) = corpus() else { return };
    let models = hadal_testkit::corpus::files(&corpus.join("rumur-tests"), &["m"]);
    let mut wrong = Vec::new();
    for path in &models {
        let name = path.file_name().and_then(|n| n.to_str()).unwrap_or_default();
        let header = read(path).text;
        let refused_by_rumur =
            header.lines().any(|l| l.starts_with("--") && l.contains("rumur_exit_code: 1"))
                && !ABOUT_THE_COMMAND.contains(&name);
        let expected = REFUSED_BY_HADAL.iter().find(|(n, _)| *n == name).map(|(_, reason)| *reason);
        match (load(path), expected) {
            (Ok(()), None) if !refused_by_rumur => {}
            (Err(_), None) if refused_by_rumur => {}
            (Err(shown), Some(reason)) if shown.contains(reason) => {}
            (outcome, _) => wrong.push(format!("{name}: {outcome:?}")),
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(models.len() > 200, "only {} one-feature models found", models.len());
}

/// Files of other dialects and templates, with a part of what is said about them.
const OTHER_DIALECTS: &[(&str, &str)] = &[
    ("cmurphi/probrules/lr_dphil.m", "real types are not supported"),
    ("i-protocol/i1.m", "temporal formulas are not supported in `liveness`"),
    ("i-protocol/i2.m", "temporal formulas are not supported in `liveness`"),
    ("i-protocol/i4.m", "temporal formulas are not supported in `liveness`"),
    ("protogen/msi.m", "this is a template"),
    ("protogen/msi_bug_invariant.m", "this is a template"),
    ("protogen/msi_bug_store.m", "this is a template"),
];

#[test]
fn protocol_models_load() {
    let Some(corpus) = corpus() else { return };
    let mut models = hadal_testkit::corpus::files(&corpus, &["m"]);
    models.retain(|p| !p.starts_with(corpus.join("rumur-tests")));
    for path in &models {
        let name = path.strip_prefix(&corpus).expect("below the corpus").to_string_lossy().replace('\\', "/");
        let expected = OTHER_DIALECTS.iter().find(|(n, _)| *n == name).map(|(_, reason)| *reason);
        match (load(path), expected) {
            (Ok(()), None) => {}
            (Err(shown), Some(reason)) => assert!(shown.contains(reason), "{name}: {shown}"),
            (Err(shown), None) => panic!("{name} was refused:\n{shown}"),
            (Ok(()), Some(_)) => panic!("{name} was accepted"),
        }
    }
    assert!(models.len() > 40, "only {} protocol models found", models.len());
}
