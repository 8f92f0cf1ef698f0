//! Family files (`.mdve`): the expansion equals the instances that BEEM ships, and the expander agrees with m4.

#[path = "dve/corpus.rs"]
mod corpus;

use hadal_lang::dve::m4::{Limits, expand};
use hadal_lang::diagnostic::Diagnostics;
use hadal_lang::dve::lex::lex;
use hadal_lang::dve::token::TokenKind;

fn tokens(text: &str) -> Vec<TokenKind> {
    lex(text, &mut Diagnostics::default()).into_iter().map(|token| token.kind).collect()
}

#[test]
fn families_expand_to_the_instances_that_beem_ships() {
    let Some(folder) = corpus::folder() else { return };
    let mut same = 0;
    let mut different = Vec::new();
    for row in corpus::known(&folder) {
        let file = row.get("file");
        let (family, _) = file.rsplit_once('/').expect("a folder");
        let Ok(text) = std::fs::read_to_string(folder.join(format!("{family}/{family}.mdve"))) else { continue };
        let Ok(instance) = std::fs::read_to_string(folder.join(file)) else { continue };
        if row.get("params").is_empty() {
            continue;
        }
        let parameters: Vec<(String, String)> = row
            .get("params")
            .split(',')
            .filter_map(|pair| pair.split_once('='))
            .map(|(name, value)| (name.trim().to_string(), value.trim().to_string()))
            .collect();
        match expand(&text, &parameters, Limits::default()) {
            Ok(expanded) if tokens(&expanded.text) == tokens(&instance) => same += 1,
            Ok(expanded) => {
                let (a, b) = (tokens(&expanded.text), tokens(&instance));
                let at = a.iter().zip(&b).position(|(x, y)| x != y).unwrap_or(a.len().min(b.len()));
                let around = |t: &[TokenKind]| format!("{:?}", &t[at.saturating_sub(4)..(at + 6).min(t.len())]);
                different.push(format!("{file}\n  ours {}\n  BEEM {}", around(&a), around(&b)));
            }
            Err(failure) => different.push(format!("{file}: {failure:?}")),
        }
    }
    println!("{same} instances equal, {} differ", different.len());
    assert!(different.is_empty(), "{}", different.join("\n"));
}
