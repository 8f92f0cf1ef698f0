//! Damages seeds for as long as it is told, on a stable toolchain:
//!
//! ```text
//! cargo run --release -p hadal-fuzz --example soak -- murphi 3600
//! cargo run --release -p hadal-fuzz --example soak -- all 60
//! cargo run --release -p hadal-fuzz --example soak -- seeds fuzz/corpus
//! ```
//!
//! The input at hand is kept in a file, which is what to look at when the process dies. `seeds` writes the seeds of all
//! readers where cargo-fuzz looks for them.

use hadal_fuzz::{READERS, Reader, seeds};
use hadal_testkit::{Random, mutate};
use std::panic::catch_unwind;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// Answers that take longer are shown.
const SLOW: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [name, more] = words.as_slice() else {
        eprintln!("usage: soak NAME|all SECONDS, or: soak seeds FOLDER");
        return ExitCode::from(2);
    };
    if name == "seeds" {
        return write_seeds(Path::new(more));
    }
    let Ok(seconds) = more.parse() else {
        eprintln!("{more} is not a number of seconds");
        return ExitCode::from(2);
    };
    let chosen: Vec<&Reader> = READERS.iter().filter(|reader| name == "all" || name == reader.name).collect();
    if chosen.is_empty() {
        eprintln!("no reader is called {name}");
        return ExitCode::from(2);
    }
    let wrong: usize = chosen.iter().map(|reader| soak(reader, Duration::from_secs(seconds))).sum();
    ExitCode::from(u8::from(wrong > 0))
}

/// Returns how many inputs were answered with a panic, or too late.
fn soak(reader: &Reader, time: Duration) -> usize {
    let seeds = seeds::of(reader);
    let kept = std::env::temp_dir().join(format!("hadal-soak-{}-{}", reader.name, std::process::id()));
    let (begun, mut rounds, mut wrong) = (Instant::now(), 0u64, 0);
    let first = begun.elapsed().as_nanos() as u64 ^ u64::from(std::process::id()) << 32;
    while begun.elapsed() < time {
        let mut random = Random::new(first ^ rounds);
        let mut damaged = mutate(&seeds[random.below(seeds.len())], &mut random);
        if random.one_in(3) {
            damaged = mutate(&damaged, &mut random);
        }
        if let Err(error) = std::fs::write(&kept, &damaged) {
            eprintln!("{}: {error}", kept.display());
            return 1;
        }
        let asked = Instant::now();
        let panicked = catch_unwind(|| (reader.read)(&damaged)).is_err();
        if panicked || asked.elapsed() > SLOW {
            wrong += 1;
            let path = kept.with_extension(format!("{wrong}"));
            let _ = std::fs::write(&path, &damaged);
            println!("{}: {} {:?}", path.display(), if panicked { "panic" } else { "slow" }, asked.elapsed());
        }
        rounds += 1;
    }
    let _ = std::fs::remove_file(&kept);
    println!("{}: {rounds} rounds from {} seeds, {wrong} wrong", reader.name, seeds.len());
    wrong
}

fn write_seeds(folder: &Path) -> ExitCode {
    for reader in READERS {
        let place = folder.join(reader.name);
        let written = std::fs::create_dir_all(&place).and_then(|()| {
            seeds::of(reader)
                .iter()
                .enumerate()
                .try_for_each(|(n, seed)| std::fs::write(place.join(format!("seed-{n}")), seed))
        });
        if let Err(error) = written {
            eprintln!("{}: {error}", place.display());
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
