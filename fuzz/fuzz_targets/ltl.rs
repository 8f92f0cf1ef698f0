//! LTL formulas: parsed, and translated where they are short.
#![no_main]

use hadal_ltl::parse::{AtomError, Atoms, parse};

struct Names(Vec<String>);

impl Atoms for Names {
    fn atom(&mut self, text: &str) -> Result<u32, AtomError> {
        let at = self.0.iter().position(|name| name == text).unwrap_or_else(|| {
            self.0.push(text.into());
            self.0.len() - 1
        });
        Ok(at as u32)
    }
}

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = parse(text, &mut Names(Vec::new()));
});
