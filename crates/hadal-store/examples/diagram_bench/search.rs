//! The two searches, and what is printed about them.

use std::time::Duration;

use hadal_store::diagram::{ClosedDiagram, Keep, Levels, Set};
use hadal_store::{Bitmap, Governor};

use crate::spaces::Space;
use crate::table::Table;

#[derive(Clone, Copy)]
pub struct Options {
    pub level_bits: usize,
    pub threads: usize,
    pub with_table: bool,
    pub diagram_frontier: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options { level_bits: 8, threads: 1, with_table: true, diagram_frontier: true }
    }
}

/// Distinct candidates gathered before they are sorted and added.
const CANDIDATES: usize = 1 << 20;
/// States expanded at a time.
const EXPANDED: usize = 1 << 12;

pub fn heading() {
    println!(
        "{:10} {:>10} {:>7} | {:>8} {:>8} {:>8} | {:>8} {:>8} {:>6} | expand+dedupe, sort, list, add (ns/state)",
        "set", "states", "layers", "live B/s", "peak B/s", "table", "ns/state", "table", "ratio"
    );
}

#[derive(Default)]
struct Phases {
    expand: Duration,
    sort: Duration,
    list: Duration,
    add: Duration,
}

/// CPU time of the main thread, which neighbours disturb less than wall time.
fn now() -> Duration {
    cpu_time().unwrap_or_default()
}

fn cpu_time() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(Duration::from_nanos(text.split(' ').next()?.parse().ok()?))
}

fn timed<T>(sum: &mut Duration, work: impl FnOnce() -> T) -> T {
    let start = now();
    let result = work();
    *sum += now() - start;
    result
}

struct DiagramSearch<'s, const W: usize> {
    space: &'s dyn Space<W>,
    closed: ClosedDiagram,
    candidates: Table<W>,
    /// What stands in the table of candidates.
    gathered: Vec<[u64; W]>,
    sorted: Vec<[u64; W]>,
    next: Vec<[u64; W]>,
    options: Options,
    phases: Phases,
}

impl<'s, const W: usize> DiagramSearch<'s, W> {
    fn new(space: &'s dyn Space<W>, governor: &Governor, options: Options) -> Self {
        let levels = Levels::even(W, space.bits(), options.level_bits).expect("levels");
        let mut closed = ClosedDiagram::with_levels(levels, governor).expect("unlimited");
        closed.set_threads(options.threads);
        let candidates = Table::for_states(CANDIDATES * 3 / 4);
        let (gathered, sorted, next) = (Vec::new(), Vec::new(), Vec::new());
        DiagramSearch {
            space,
            closed,
            candidates,
            gathered,
            sorted,
            next,
            options,
            phases: Phases::default(),
        }
    }

    /// Adds the gathered candidates; how many were new.
    fn flush(&mut self) -> usize {
        timed(&mut self.phases.sort, || {
            self.candidates.clear(&self.gathered);
            std::mem::swap(&mut self.sorted, &mut self.gathered);
            self.gathered.clear();
            self.sorted.sort_unstable_by(|a, b| hadal_system::state::compare(a, b));
        });
        let mut fresh = Bitmap::default();
        let keep = if self.options.diagram_frontier { Keep::ClosedAndNext } else { Keep::Closed };
        let added = timed(&mut self.phases.add, || {
            self.closed.filter_add(self.sorted.as_flattened(), keep, &mut fresh).expect("unlimited")
        });
        if !self.options.diagram_frontier {
            self.next.extend((0..fresh.len()).filter(|&at| fresh.get(at)).map(|at| self.sorted[at]));
        }
        added
    }

    fn gather(&mut self, state: [u64; W]) {
        if self.candidates.insert(state) {
            self.gathered.push(state);
        }
    }

    fn expand(&mut self, states: &[[u64; W]]) -> usize {
        let mut successors = Vec::new();
        let mut added = 0;
        let mut start = now();
        for state in states {
            successors.clear();
            self.space.expand(state, &mut successors);
            successors.iter().for_each(|&successor| self.gather(successor));
            if self.candidates.is_crowded() {
                self.phases.expand += now() - start;
                added += self.flush();
                start = now();
            }
        }
        self.phases.expand += now() - start;
        added
    }

    /// One layer; how many states the next one has.
    fn layer(&mut self) -> usize {
        let mut added = 0;
        if self.options.diagram_frontier {
            self.closed.turn_layer();
            let mut position = self.closed.iter(Set::Frontier);
            let mut batch = Vec::new();
            loop {
                batch.clear();
                let given =
                    timed(&mut self.phases.list, || position.next_batch(&self.closed, EXPANDED, &mut batch));
                added += self.expand(batch.as_chunks::<W>().0);
                if given < EXPANDED {
                    break;
                }
            }
        } else {
            let states = std::mem::take(&mut self.next);
            added += self.expand(&states);
        }
        added + self.flush()
    }
}

pub fn compare<const W: usize>(name: &str, space: &dyn Space<W>, options: Options) {
    let governor = Governor::unlimited();
    let start = now();
    let mut search = DiagramSearch::new(space, &governor, options);
    search.gather(space.initial());
    search.flush();
    let mut layers = 0;
    while layers < space.depth() && search.layer() > 0 {
        layers += 1;
    }
    let time = now() - start;
    let states = search.closed.len();
    let peak = governor.peak();
    search.closed.trim();
    let (table_time, table_bytes) =
        if options.with_table { table_search(space, states as usize, layers) } else { (Duration::ZERO, 0) };
    let each = |time: Duration| time.as_secs_f64() * 1e9 / states as f64;
    let Phases { expand, sort, list, add } = search.phases;
    println!(
        "{name:10} {states:>10} {layers:>7} | {:>8.4} {:>8.3} {:>8.2} | {:>8.1} {:>8.1} {:>6.2} | {:.0} {:.0} {:.0} {:.0}",
        search.closed.live_bytes_per_state(),
        peak as f64 / states as f64,
        table_bytes as f64 / states as f64,
        each(time),
        each(table_time),
        if options.with_table { time.as_secs_f64() / table_time.as_secs_f64() } else { f64::NAN },
        each(expand),
        each(sort),
        each(list),
        each(add),
    );
    let statistics = search.closed.statistics();
    println!(
        "{:10} shards {} nodes {} made {} unions {} steps {} hits {} collections {}",
        "",
        search.closed.shards(),
        statistics.nodes,
        statistics.made,
        statistics.unions,
        statistics.union_steps,
        statistics.cache_hits,
        statistics.collections
    );
}

/// The same search with the table; checks the number of states.
fn table_search<const W: usize>(space: &dyn Space<W>, states: usize, layers: usize) -> (Duration, usize) {
    let start = now();
    let mut closed = Table::<W>::for_states(states);
    closed.insert(space.initial());
    let mut frontier = vec![space.initial()];
    let mut next = Vec::new();
    let mut successors = Vec::new();
    let mut found = 1;
    for _ in 0..layers.saturating_add(1).min(space.depth()) {
        for state in &frontier {
            successors.clear();
            space.expand(state, &mut successors);
            next.extend(successors.iter().copied().filter(|&successor| closed.insert(successor)));
        }
        found += next.len();
        std::mem::swap(&mut frontier, &mut next);
        next.clear();
    }
    assert_eq!(found, states, "both searches find the same states");
    ((now() - start), closed.bytes())
}

/// A set without structure: random states of two words, in batches.
pub fn random(options: Options) {
    const BATCH: usize = 1 << 17;
    let governor = Governor::unlimited();
    let mut closed = ClosedDiagram::new(2, 128, &governor).expect("unlimited");
    closed.set_threads(options.threads);
    let mut table = Table::<2>::for_states(16 * BATCH);
    let (mut seed, mut add, mut insert) = (1u64, Duration::ZERO, Duration::ZERO);
    let mut next = || {
        seed = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        hadal_system::state::hash(&[seed])
    };
    for _ in 0..16 {
        let mut batch: Vec<[u64; 2]> = (0..BATCH).map(|_| [next(), next()]).collect();
        timed(&mut insert, || batch.iter().for_each(|&state| _ = table.insert(state)));
        let mut fresh = Bitmap::default();
        timed(&mut add, || {
            batch.sort_unstable_by(|a, b| hadal_system::state::compare(a, b));
            batch.dedup();
            closed.filter_add(batch.as_flattened(), Keep::Closed, &mut fresh).expect("unlimited")
        });
    }
    let peak = governor.peak();
    closed.trim();
    let states = closed.len() as f64;
    println!(
        "{:10} {states:>10} {:>7} | {:>8.4} {:>8.3} {:>8.2} | {:>8.1} {:>8.1} {:>6.2} | insertions only",
        "random",
        "-",
        closed.live_bytes_per_state(),
        peak as f64 / states,
        table.bytes() as f64 / states,
        add.as_secs_f64() * 1e9 / states,
        insert.as_secs_f64() * 1e9 / states,
        add.as_secs_f64() / insert.as_secs_f64(),
    );
}
