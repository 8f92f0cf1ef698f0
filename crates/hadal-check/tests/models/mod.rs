//! Models of the corpus.

use hadal_system::{Source, System};
use std::path::{Path, PathBuf};

/// The corpus, if it is there.
pub fn corpus() -> Option<PathBuf> {
    hadal_testkit::corpus::find("")
}

/// A model of the corpus.
pub fn load(corpus: &Path, file: &str) -> System {
    let text = String::from_utf8_lossy(&std::fs::read(corpus.join(file)).unwrap()).into_owned();
    let source = Source::new(file, text);
    match file.ends_with(".m") {
        true => hadal_lang::murphi::load(source, &[]).unwrap().system,
        false => hadal_lang::dve::load(source, &[]).unwrap().system,
    }
}
