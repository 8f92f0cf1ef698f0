//! Formulas about runs, and automata.

use hadal_ltl::{Names, hoa as format, never as claims, parse, translate};

/// Longer formulas are parsed, not translated: automata may be exponential.
const TRANSLATED_BYTES: usize = 40;

pub(crate) fn ltl(data: &[u8]) -> bool {
    let text = String::from_utf8_lossy(data);
    let Ok(formula) = parse(&text, &mut Names::default()) else { return false };
    if data.len() <= TRANSLATED_BYTES {
        let _ = translate(&formula.not()).map(|automaton| automaton.degeneralise());
    }
    true
}

pub(crate) fn never(data: &[u8]) -> bool {
    let mut names = Names::default();
    match claims::read(&String::from_utf8_lossy(data), &mut names) {
        Ok(automaton) => {
            let printed = claims::print(&automaton, &names.texts);
            assert!(!printed.is_empty());
            true
        }
        Err(error) => {
            assert!(!error.to_string().is_empty());
            false
        }
    }
}

pub(crate) fn hoa(data: &[u8]) -> bool {
    format::read(&String::from_utf8_lossy(data)).is_ok()
}
