//! Measures the parts of the store on made-up states: `cargo run --release -p hadal-store --example store_bench [WIDTH..]`.
//!
//! *Structured* states look like those of a protocol: small fields, some of which follow from others, a quarter of the
//! combinations missing. *Random* states are noise. Times are processor time of the calling thread, the best of three;
//! files are in a temporary folder.

use std::sync::Arc;

use hadal_store::merge::{BlockSource, MemorySource, RunMerge};
use hadal_store::run::{BlockIndex, ProbeStats};
use hadal_store::sort::sort_unique;
use hadal_store::vfs::{Folder, IoThreads};
use hadal_store::{
    Bitmap, Disk, Governor, RecordShape, Records, RunFile, RunKind, RunOptions, RunProbe, RunReader,
    RunWriter,
};

fn main() {
    let place = std::env::temp_dir().join(format!("hadal-store-bench-{}", std::process::id()));
    let folder = Folder::create(&place).expect("a temporary folder can be created");
    let io_threads = std::env::var("IO_THREADS").ok().and_then(|n| n.parse().ok()).unwrap_or(1);
    let disk = Disk::new(Arc::new(folder), IoThreads::new(io_threads), Governor::unlimited(), 0);
    println!("{:<12} {:<16} {:>9} {:>10}  note", "states", "part", "ns/state", "MB/s");
    let widths = std::env::args().skip(1).filter_map(|width| width.parse().ok()).collect::<Vec<usize>>();
    for words in if widths.is_empty() { vec![1, 2, 5] } else { widths } {
        measure(&disk, words, "structured", structured(words));
        measure(&disk, words, "random", random(words, 1 << 20));
    }
    let _ = std::fs::remove_dir_all(&place);
}

struct Row<'a> {
    set: &'a str,
    words: usize,
}

impl Row<'_> {
    fn print(&self, part: &str, seconds: f64, states: usize, note: String) {
        let ns = seconds * 1e9 / states as f64;
        let raw = self.words as f64 * 8.0 * states as f64 / seconds / 1e6;
        println!("{:<10} {} {:<16} {ns:>9.2} {raw:>10.0}  {note}", self.set, self.words, part);
    }
}

fn measure(disk: &Disk, words: usize, set: &str, sorted: Vec<u64>) {
    let row = Row { set, words };
    let shape = RecordShape::states(words);
    let mut options = RunOptions::new(shape, 1);
    if let Some(bytes) = std::env::var("BLOCK_BYTES").ok().and_then(|n| n.parse().ok()) {
        options.block_bytes = bytes;
    }
    let count = sorted.len() / words;

    let shuffled = shuffle(words, &sorted);
    let mut copy = Vec::new();
    let seconds = best_of(
        |copy| shuffled.clone_into(copy),
        |copy| {
            sort_unique(shape, copy);
        },
        &mut copy,
    );
    row.print("sort", seconds, count, String::new());
    assert_eq!(copy, sorted);
    drop((copy, shuffled));

    let seconds = best(|| drop(write(disk, &options, &sorted)));
    let whole = write(disk, &options, &sorted);
    row.print("write", seconds, count, format!("{:.3} bytes/state", whole.bytes() as f64 / count as f64));

    let seconds = best(|| {
        let mut reader = RunReader::open(&whole).expect("just written");
        let (mut block, mut seen) = (Vec::new(), 0);
        while reader.next_block(&mut block).expect("just written") {
            seen += block.len() / words;
        }
        assert_eq!(seen, count);
    });
    row.print("read", seconds, count, String::new());

    for ways in [2, 4, 16, 64] {
        let parts = deal(words, &sorted, ways);
        let seconds = best(|| {
            let memory: Vec<Box<dyn BlockSource + '_>> = parts
                .iter()
                .map(|part| Box::new(MemorySource::new(Records::new(shape, part))) as Box<dyn BlockSource>)
                .collect();
            assert_eq!(drain(RunMerge::new(shape, memory)), count * words);
        });
        row.print(&format!("merge {ways} RAM"), seconds, count, String::new());
        let runs: Vec<_> = parts.iter().map(|part| write(disk, &options, part)).collect();
        let seconds = best(|| {
            assert_eq!(drain(RunMerge::of_runs(shape, &runs).expect("just written")), count * words);
        });
        row.print(&format!("merge {ways} runs"), seconds, count, String::new());
    }

    for every in [1, 16, 256, 65536] {
        let candidates: Vec<u64> = sorted.chunks_exact(words).step_by(every).flatten().copied().collect();
        let records = Records::new(shape, &candidates);
        let index = Arc::new(BlockIndex::load(&whole).expect("just written"));
        let mut stats = ProbeStats::default();
        let seconds = best(|| {
            let mut probe = RunProbe::open(&whole, Arc::clone(&index)).expect("just written");
            let mut present = Bitmap::new(records.len());
            let found = probe.mark(records, &mut present).expect("just written");
            assert_eq!(found as usize, records.len());
            stats = probe.stats();
        });
        let note = format!("per candidate; {} blocks, {} reads", stats.blocks_decoded, stats.reads);
        row.print(&format!("probe 1/{every}"), seconds, records.len(), note);
    }
}

/// The shortest of three runs: other work on the machine only ever adds time.
fn best_of<T>(mut prepare: impl FnMut(&mut T), mut work: impl FnMut(&mut T), with: &mut T) -> f64 {
    let mut best = f64::INFINITY;
    for _ in 0..3 {
        prepare(with);
        let start = processor_seconds();
        work(with);
        best = best.min(processor_seconds() - start);
    }
    best
}

fn best(mut work: impl FnMut()) -> f64 {
    best_of(|()| (), |()| work(), &mut ())
}

fn processor_seconds() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

fn drain(mut merge: RunMerge<'_>) -> usize {
    let (mut block, mut seen) = (Vec::new(), 0);
    while merge.next_block(&mut block).expect("just written") {
        seen += block.len();
    }
    seen
}

fn write(disk: &Disk, options: &RunOptions, flat: &[u64]) -> RunFile {
    let mut writer = RunWriter::create(disk, RunKind::Closed, options).expect("the disk has room");
    writer.push_all(Records::new(options.shape, flat)).expect("the disk has room");
    writer.finish().expect("the disk has room")
}

/// Eleven free fields of four values spread over the state, dependent bytes between them, ascending.
fn structured(words: usize) -> Vec<u64> {
    const FIELDS: usize = 11;
    let bits = words * 64;
    let mut flat = Vec::new();
    for number in 0..1u64 << (2 * FIELDS) {
        let field = |at: usize| number >> (2 * at) & 3;
        if (0..FIELDS - 3).any(|at| field(at) == 2 && field(at + 1) == 3 && field(at + 3) == 1) {
            continue;
        }
        let start = flat.len();
        flat.resize(start + words, 0);
        for at in 0..FIELDS {
            // A field's slot: its two bits, and below them bits that follow from it and the field above.
            let (low, high) = (at * bits / FIELDS, (at + 1) * bits / FIELDS);
            let above = if at + 1 < FIELDS { field(at + 1) } else { 0 };
            let dependent = (field(at) * 37 + above * 11) & ((1 << (high - low - 2).min(8)) - 1);
            for (bit, value) in [(high - 2, field(at)), (low, dependent)] {
                flat[start + bit / 64] |= value << (bit % 64);
                if bit % 64 > 0 && bit / 64 + 1 < words {
                    flat[start + bit / 64 + 1] |= value >> (64 - bit % 64);
                }
            }
        }
    }
    sort_unique(RecordShape::states(words), &mut flat);
    flat
}

fn random(words: usize, count: usize) -> Vec<u64> {
    let mut noise = Noise(words as u64);
    let mut flat: Vec<u64> = (0..count * words).map(|_| noise.next()).collect();
    sort_unique(RecordShape::states(words), &mut flat);
    flat
}

fn shuffle(words: usize, flat: &[u64]) -> Vec<u64> {
    let mut shuffled = flat.to_vec();
    let mut noise = Noise(7);
    for at in (1..flat.len() / words).rev() {
        let other = (noise.next() % (at as u64 + 1)) as usize;
        for word in 0..words {
            shuffled.swap(at * words + word, other * words + word);
        }
    }
    shuffled
}

fn deal(words: usize, flat: &[u64], ways: usize) -> Vec<Vec<u64>> {
    let mut noise = Noise(3);
    let mut parts = vec![Vec::new(); ways];
    for state in flat.chunks_exact(words) {
        parts[(noise.next() % ways as u64) as usize].extend_from_slice(state);
    }
    parts
}

struct Noise(u64);

impl Noise {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ z >> 27).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ z >> 31
    }
}
