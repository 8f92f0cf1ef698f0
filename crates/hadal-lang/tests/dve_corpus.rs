//! Every model of the corpus is understood.

#[path = "dve/corpus.rs"]
mod corpus;

use hadal_lang::diagnostic::{Diagnostics, render_plain};
use hadal_system::Source;

#[test]
fn every_model_of_the_corpus_parses() {
    let Some(folder) = corpus::folder() else { return };
    for path in corpus::files(&folder, "dve") {
        let text = String::from_utf8_lossy(&std::fs::read(&path).expect("readable")).into_owned();
        let mut findings = Diagnostics::default();
        hadal_lang::dve::parse::parse(&text, &mut findings);
        let source = Source::new(path.display().to_string(), text);
        for finding in &findings.list {
            print!("{}", render_plain(&source, finding));
        }
        assert!(!findings.has_errors(), "{}", path.display());
    }
}
