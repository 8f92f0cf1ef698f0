//! BEEM's descriptions.
#![no_main]

libfuzzer_sys::fuzz_target!(|text: &str| {
    hadal_lang::dve::beem::Description::parse(text, Some("1"), None);
});
