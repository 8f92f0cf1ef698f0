//! The dve front end on any text.
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| hadal_fuzz::read_model("fuzzed.dve", data));
