//! Measures compiled code on a model file: how long compiling takes, and nanoseconds per transition while the same
//! reached states are expanded again and again. Times are the processor's (Linux), so that other work on the machine
//! does not count.
//!
//! `expand_rate model.dve --states 20000 --rounds 10 -D N=3`. Under `valgrind --tool=callgrind
//! --toggle-collect='*Compiled::successors*'`, the instructions counted divided by the transitions printed are the
//! instructions per transition.

use std::collections::{HashSet, VecDeque};
use std::time::{Duration, Instant};

use hadal_exec::compile::Compiled;
use hadal_system::{Layout, Source, Successors, System};

fn main() -> Result<(), String> {
    let (mut file, mut overrides) = (String::new(), Vec::new());
    let (mut bound, mut rounds) = (20_000usize, 10u32);
    let mut args = std::env::args().skip(1);
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--states" => bound = value()?.parse().map_err(|_| "--states: not a number")?,
            "--rounds" => rounds = value()?.parse().map_err(|_| "--rounds: not a number")?,
            "-D" => {
                let text = value()?;
                let (name, number) = text.split_once('=').ok_or("-D NAME=VALUE")?;
                overrides.push((name.to_owned(), number.parse().map_err(|_| "-D: not a number")?));
            }
            _ => file = arg,
        }
    }
    let started = Clock::now();
    let system = load(&file, &overrides)?;
    let layout = Layout::natural(&system);
    let loaded = started.elapsed();
    let started = Clock::now();
    let compiled = Compiled::new(&system, &layout).map_err(|e| e.to_string())?;
    let compiling = started.elapsed();

    let properties = system.property_infos().len();
    let mut covers = vec![0; properties];
    let mut out = Successors::new(layout.words());
    let states = reach(&compiled, &layout, &mut covers, bound);

    let started = Clock::now();
    let (mut transitions, mut faults) = (0u64, 0u64);
    for _ in 0..rounds {
        for state in states.chunks_exact(layout.words()) {
            out.clear();
            compiled.successors(state, &mut out, &mut covers);
            transitions += out.len() as u64;
            faults += out.faults().len() as u64;
        }
    }
    let expanding = started.elapsed();
    let started = Clock::now();
    for _ in 0..rounds {
        for state in states.chunks_exact(layout.words()) {
            std::hint::black_box(compiled.check(state));
        }
    }
    let checking = started.elapsed();
    let count = (states.len() / layout.words()) as f64;
    println!(
        "{file}: {} words, {} labels, load {:.3} s, compile {:.3} s, {count} states, {} transitions, {} faults, \
         {:.1} ns/transition, {:.1} ns/state, check {:.1} ns/state",
        layout.words(),
        system.label_bases(&system.actions).last().copied().unwrap_or(0),
        loaded.as_secs_f64(),
        compiling.as_secs_f64(),
        transitions / u64::from(rounds),
        faults / u64::from(rounds),
        expanding.as_nanos() as f64 / transitions.max(1) as f64,
        expanding.as_nanos() as f64 / count / f64::from(rounds),
        checking.as_nanos() as f64 / count / f64::from(rounds),
    );
    Ok(())
}

/// Processor time of this thread where the system tells it, else wall time.
struct Clock {
    processor: Option<Duration>,
    wall: Instant,
}

impl Clock {
    fn now() -> Self {
        let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let processor = text
            .and_then(|t| t.split_whitespace().next().and_then(|n| n.parse().ok()))
            .map(Duration::from_nanos);
        Clock { processor, wall: Instant::now() }
    }

    fn elapsed(&self) -> Duration {
        match (self.processor, Clock::now().processor) {
            (Some(start), Some(end)) => end - start,
            _ => self.wall.elapsed(),
        }
    }
}

fn load(file: &str, overrides: &[(String, i64)]) -> Result<System, String> {
    let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {e}"))?;
    let source = Source::new(file, text);
    if file.ends_with("dve") {
        hadal_lang::dve::load(source, overrides).map(|l| l.system).map_err(|_| format!("{file}: refused"))
    } else {
        hadal_lang::murphi::load(source, overrides).map(|l| l.system).map_err(|_| format!("{file}: refused"))
    }
}

/// The first reached states in breadth-first order, one after the other.
fn reach(compiled: &Compiled, layout: &Layout, covers: &mut [u64], bound: usize) -> Vec<u64> {
    let (mut seen, mut open, mut all) = (HashSet::new(), VecDeque::new(), Vec::new());
    let mut out = Successors::new(layout.words());
    compiled.initial(&mut out, covers);
    loop {
        for (_, state) in out.iter() {
            if seen.len() < bound && seen.insert(state.to_vec()) {
                open.push_back(state.to_vec());
            }
        }
        let Some(state) = open.pop_front() else { return all };
        all.extend_from_slice(&state);
        out.clear();
        compiled.successors(&state, &mut out, covers);
    }
}
