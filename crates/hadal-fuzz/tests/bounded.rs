//! Every reader answers everything: damaged texts and files are read or refused, never met with a panic.
//!
//! The number of rounds for each is fixed, so that every run does the same. `HADAL_FUZZ_ROUNDS` raises it; the example
//! `soak` goes on for hours, and `fuzz/` looks where coverage leads.

use hadal_fuzz::{READERS, seeds};
use hadal_testkit::{Random, mutate};

#[test]
fn damaged_texts_and_files_are_read_or_refused() {
    let rounds = std::env::var("HADAL_FUZZ_ROUNDS").ok().and_then(|n| n.parse().ok()).unwrap_or(120u64);
    for reader in READERS {
        let seeds = seeds::of(reader);
        assert!(!seeds.is_empty(), "{}: nothing to begin with", reader.name);
        let (mut read, mut refused) = (0, 0);
        for round in 0..rounds {
            let mut random = Random::new(round);
            let damaged = mutate(&seeds[random.below(seeds.len())], &mut random);
            match (reader.read)(&damaged) {
                true => read += 1,
                false => refused += 1,
            }
        }
        println!("{}: {} seeds, {read} read, {refused} refused", reader.name, seeds.len());
        assert!(refused > 0, "{}: nothing was refused", reader.name);
    }
}

#[test]
fn some_seed_of_each_reader_is_accepted() {
    for reader in READERS {
        let seeds = seeds::of(reader);
        assert!(seeds.iter().any(|seed| (reader.read)(seed)), "{}: {} seeds", reader.name, seeds.len());
    }
}

#[test]
fn every_reader_is_a_target_of_cargo_fuzz() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz");
    let manifest = std::fs::read_to_string(folder.join("Cargo.toml")).expect("it is there");
    for reader in READERS {
        assert!(manifest.contains(&format!("name = \"{}\"", reader.name)), "{}", reader.name);
        let target = folder.join(format!("fuzz_targets/{}.rs", reader.name));
        let text = std::fs::read_to_string(&target).unwrap_or_else(|e| panic!("{}: {e}", target.display()));
        assert!(text.contains(&format!("hadal_fuzz::read(\"{}\"", reader.name)), "{}", target.display());
    }
}
