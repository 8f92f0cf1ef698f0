//! Automata in the HOA format.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    let _ = hadal_ltl::hoa::read(text);
});
