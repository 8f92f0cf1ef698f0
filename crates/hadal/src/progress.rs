//! What a person sees while a search runs: a line that rewrites itself on a terminal, plain lines elsewhere, and
//! JSON lines in a file when asked for. It only reads the search's gauges.

use crate::failure::Failure;
use hadal_check::units::{grouped, size};
use hadal_search::{Control, Gauges};
use hadal_store::Governor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex};
use std::time::{Duration, Instant};

/// Where progress goes.
pub struct Progress {
    shown: Shown,
    events: Option<Mutex<File>>,
    done: Mutex<bool>,
    wake: Condvar,
    failed: AtomicBool,
    /// Warnings shown already.
    told: AtomicUsize,
}

enum Shown {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

/// What the line that people see is made of.
struct Line {
    /// The most states that were ever shown: what moves to another storage is counted again there.
    states: u64,
    /// Transitions when the line was made last, and when.
    transitions: u64,
    at: Instant,
}

impl Line {
    fn new() -> Self {
        Line { states: 0, transitions: 0, at: Instant::now() }
    }

    /// The line for what the gauges show now, `elapsed` after the start.
    fn next(&mut self, gauges: &Gauges, elapsed: Duration, memory: (u64, u64)) -> String {
        let load = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        let (transitions, frontier) = (load(&gauges.transitions), load(&gauges.frontier));
        self.states = self.states.max(load(&gauges.states));
        // Transitions are counted while a layer is expanded; new states of a layer on disk only at its end.
        let fired = transitions.saturating_sub(self.transitions);
        let rate = fired as f64 / self.at.elapsed().as_secs_f64().max(1e-3);
        (self.transitions, self.at) = (transitions, Instant::now());
        let time = clock(elapsed);
        if transitions == 0 && self.states == 0 {
            return format!("{time}  starting, or reading back what was explored before");
        }
        format!(
            "{time}  {} states, {} transitions/s, depth {}, frontier {} ({} % expanded), {} of {}",
            grouped(self.states),
            grouped(rate as u64),
            load(&gauges.depth),
            grouped(frontier),
            (load(&gauges.expanded).saturating_mul(100)).checked_div(frontier).unwrap_or(0).min(100),
            size(memory.0),
            size(memory.1),
        )
    }
}

/// Hours, minutes and seconds.
fn clock(elapsed: Duration) -> String {
    let seconds = elapsed.as_secs();
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

impl Progress {
    /// `quiet` shows nothing; `events` writes JSON lines besides.
    pub fn new(quiet: bool, events: Option<&Path>) -> Result<Self, Failure> {
        let shown = if quiet {
            Shown::Nothing
        } else if std::io::stderr().is_terminal() {
            let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(5));
            // The template is a constant: if it were wrong, the plain one shows the same message.
            bar.set_style(
                ProgressStyle::with_template("{spinner} {msg}").unwrap_or(ProgressStyle::default_spinner()),
            );
            Shown::Bar(bar)
        } else {
            Shown::Lines
        };
        let events = match events {
            None => None,
            Some(path) => Some(Mutex::new(
                File::create(path).map_err(|error| Failure::File { path: path.into(), error })?,
            )),
        };
        Ok(Progress {
            shown,
            events,
            done: Mutex::new(false),
            wake: Condvar::new(),
            failed: AtomicBool::new(false),
            told: AtomicUsize::new(0),
        })
    }

    /// Writes one event, if events are asked for.
    pub fn event(&self, event: serde_json::Value) {
        if let Some(file) = &self.events {
            let mut file = file.lock().unwrap_or_else(|e| e.into_inner());
            if writeln!(file, "{event}").is_err() && !self.failed.swap(true, Ordering::Relaxed) {
                crate::output::note!("warning: cannot write events any more");
            }
        }
    }

    /// Shows a line beside the progress, where that is shown.
    pub fn line(&self, text: &str) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => crate::output::note!("{text}"),
            Shown::Bar(bar) => bar.suspend(|| crate::output::note!("{text}")),
        }
    }

    /// Shows progress of `control` until `work` is done.
    pub fn during<T>(&self, control: &Control, governor: &Governor, work: impl FnOnce() -> T) -> T {
        std::thread::scope(|scope| {
            scope.spawn(|| self.watch(control, governor));
            // The watcher must end even if the search panics, or the scope would wait for ever.
            struct Finish<'a>(&'a Progress);
            impl Drop for Finish<'_> {
                fn drop(&mut self) {
                    *self.0.done.lock().unwrap_or_else(|e| e.into_inner()) = true;
                    self.0.wake.notify_all();
                }
            }
            let _finish = Finish(self);
            work()
        })
    }

    /// Shows the warnings of the search that were not shown yet: they are not progress, so `quiet` does not hide them.
    pub fn tell(&self, control: &Control) {
        let warnings = control.warnings();
        let shown = self.told.swap(warnings.len(), Ordering::Relaxed);
        for message in warnings.iter().skip(shown) {
            match &self.shown {
                Shown::Bar(bar) => bar.suspend(|| crate::output::note!("warning: {message}")),
                _ => crate::output::note!("warning: {message}"),
            }
            let seconds = control.elapsed().as_secs_f64();
            self.event(serde_json::json!({ "event": "warning", "seconds": seconds, "message": message }));
        }
    }

    fn watch(&self, control: &Control, governor: &Governor) {
        let mut shown = Line::new();
        let mut last_line = Instant::now();
        let mut done = self.done.lock().unwrap_or_else(|e| e.into_inner());
        while !*done {
            let waited = self.wake.wait_timeout(done, Duration::from_millis(500));
            done = waited.unwrap_or_else(|e| e.into_inner()).0;
            if *done {
                break;
            }
            self.tell(control);
            let gauges = &control.gauges;
            let line = shown.next(gauges, control.elapsed(), (governor.current(), governor.limit()));
            match &self.shown {
                Shown::Nothing => {}
                Shown::Bar(bar) => {
                    bar.set_message(line);
                    bar.tick();
                }
                Shown::Lines if last_line.elapsed() >= Duration::from_secs(5) => {
                    last_line = Instant::now();
                    crate::output::note!("{line}");
                }
                Shown::Lines => {}
            }
            self.event(serde_json::json!({
                "event": "progress",
                "seconds": control.elapsed().as_secs_f64(),
                "states": shown.states,
                "transitions": gauges.transitions.load(Ordering::Relaxed),
                "depth": gauges.depth.load(Ordering::Relaxed),
                "frontier": gauges.frontier.load(Ordering::Relaxed),
                "expanded": gauges.expanded.load(Ordering::Relaxed),
                "memory_bytes": governor.current(),
                "memory_budget_bytes": governor.limit(),
            }));
        }
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When states move to another storage, they are counted there from the beginning.
    #[test]
    fn states_never_become_fewer_and_rates_never_wrap() {
        let gauges = Gauges::default();
        let mut line = Line::new();
        gauges.transitions.store(5_000_000, Ordering::Relaxed);
        gauges.states.store(1_703_382, Ordering::Relaxed);
        let text = line.next(&gauges, Duration::from_secs(61), (1 << 20, 1 << 30));
        assert!(text.starts_with("1:01  1 703 382 states"), "{text}");
        gauges.states.store(920_893, Ordering::Relaxed);
        gauges.transitions.store(4_000_000, Ordering::Relaxed);
        let text = line.next(&gauges, Duration::from_secs(3700), (1 << 20, 1 << 30));
        assert!(text.starts_with("1:01:40  1 703 382 states, 0 transitions/s"), "{text}");
    }
}
