//! What a person sees while a search runs: a line that rewrites itself on a terminal, plain lines elsewhere, and
//! JSON lines in a file when asked for. It only reads the search's gauges.

use crate::failure::Failure;
use hadal_check::units::{counted, grouped, size};
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
    /// What stands behind the line.
    beside: Mutex<String>,
}

enum Shown {
    Nothing,
    Lines,
    Bar(ProgressBar),
}

/// What the line that people see is made of.
struct Line {
    /// Whether what was explored before is read back first.
    resumed: bool,
    /// The most states that were ever shown: what moves to another storage is counted again there.
    states: u64,
    /// The layer that is shown.
    depth: u64,
    /// When the line was made last.
    last: Mark,
    /// When the layer before the one that is shown began, and that one: on disk a layer is expanded first and its
    /// duplicates are found then, so a rate means something over whole layers only.
    before: Mark,
    began: Mark,
}

/// A moment, and what was counted until then.
#[derive(Clone, Copy)]
struct Mark {
    at: Instant,
    transitions: u64,
    states: u64,
}

impl Line {
    fn new(resumed: bool) -> Self {
        let start = Mark { at: Instant::now(), transitions: 0, states: 0 };
        Line { resumed, states: 0, depth: 0, last: start, before: start, began: start }
    }

    /// The line for what the gauges show now, `elapsed` after the start.
    fn next(&mut self, gauges: &Gauges, elapsed: Duration, memory: (u64, u64)) -> String {
        let load = |gauge: &AtomicU64| gauge.load(Ordering::Relaxed);
        let (transitions, frontier, depth) =
            (load(&gauges.transitions), load(&gauges.frontier), load(&gauges.depth));
        self.states = self.states.max(load(&gauges.states));
        let time = clock(elapsed);
        if transitions == 0 {
            self.begin_at(Mark { at: Instant::now(), transitions, states: self.states });
            return match self.resumed {
                false => format!("{time}  starting"),
                true => format!("{time}  reading back {}, depth {depth}", counted(self.states, "state")),
            };
        }
        let now = Mark { at: Instant::now(), transitions, states: self.states };
        if transitions < self.last.transitions {
            // Another search begins.
            self.begin_at(now);
        } else if depth != self.depth {
            (self.before, self.began, self.depth) = (self.began, self.last, depth);
        }
        self.last = now;
        let fired = transitions.saturating_sub(self.before.transitions);
        let rate = match fired as f64 / self.before.at.elapsed().as_secs_f64().max(1e-3) {
            rate if rate < 1.0 => String::new(),
            rate => format!(", {} transitions/s", grouped(rate as u64)),
        };
        let expanded = load(&gauges.expanded).min(frontier);
        let doing = match expanded.saturating_mul(100).checked_div(frontier) {
            Some(100) => "detecting duplicates".to_owned(),
            share => format!("{} % expanded", share.unwrap_or(0)),
        };
        let disk = match load(&gauges.disk) {
            0 => String::new(),
            bytes => format!(", {} on disk", size(bytes)),
        };
        format!(
            "{time}  {}{rate}, depth {depth}, frontier {} ({doing}), {} of {}{disk}",
            counted(self.states, "state"),
            grouped(frontier),
            size(memory.0),
            size(memory.1),
        )
    }

    /// New states per second over the last layers, where there are any.
    fn rate(&self) -> Option<f64> {
        let (states, seconds) =
            (self.last.states.saturating_sub(self.before.states), self.before.at.elapsed().as_secs_f64());
        (states > 0 && seconds > 0.0).then(|| states as f64 / seconds)
    }

    fn begin_at(&mut self, mark: Mark) {
        (self.last, self.before, self.began) = (mark, mark, mark);
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
            beside: Mutex::default(),
        })
    }

    /// Shows this behind the line from now on.
    pub fn beside(&self, text: String) {
        *self.beside.lock().unwrap_or_else(|e| e.into_inner()) = text;
    }

    /// Writes one event, if events are asked for: else nothing is put into words.
    pub fn event(&self, event: impl FnOnce() -> serde_json::Value) {
        if let Some(file) = &self.events {
            let event = event();
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
            self.event(|| serde_json::json!({ "event": "warning", "seconds": seconds, "message": message }));
        }
    }

    fn watch(&self, control: &Control, governor: &Governor) {
        let mut shown = Line::new(control.is_resumed());
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
            let mut line = shown.next(gauges, control.elapsed(), (governor.current(), governor.limit()));
            line.push_str(&self.beside.lock().unwrap_or_else(|e| e.into_inner()));
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
            self.event(|| {
                serde_json::json!({
                    "event": "progress",
                    "seconds": control.elapsed().as_secs_f64(),
                    "states": shown.states,
                    "transitions": gauges.transitions.load(Ordering::Relaxed),
                    "depth": gauges.depth.load(Ordering::Relaxed),
                    "frontier": gauges.frontier.load(Ordering::Relaxed),
                    "expanded": gauges.expanded.load(Ordering::Relaxed),
                    "memory_bytes": governor.current(),
                    "memory_budget_bytes": governor.limit(),
                    "disk_bytes": gauges.disk.load(Ordering::Relaxed),
                    "estimate": gauges.estimate(shown.rate()),
                })
            });
        }
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMORY: (u64, u64) = (1 << 20, 1 << 30);

    fn at(gauges: &Gauges, states: u64, transitions: u64, (depth, frontier, expanded): (u64, u64, u64)) {
        let set = |gauge: &AtomicU64, value| gauge.store(value, Ordering::Relaxed);
        set(&gauges.states, states);
        set(&gauges.transitions, transitions);
        set(&gauges.depth, depth);
        set(&gauges.frontier, frontier);
        set(&gauges.expanded, expanded);
    }

    /// When states move to another storage, they are counted there from the beginning.
    #[test]
    fn states_never_become_fewer_and_rates_never_wrap() {
        let gauges = Gauges::default();
        let mut line = Line::new(false);
        at(&gauges, 1_703_382, 5_000_000, (18, 100, 10));
        let text = line.next(&gauges, Duration::from_secs(61), MEMORY);
        assert!(text.starts_with("1:01  1 703 382 states"), "{text}");
        at(&gauges, 920_893, 4_000_000, (18, 100, 10));
        let text = line.next(&gauges, Duration::from_secs(3700), MEMORY);
        assert!(text.starts_with("1:01:40  1 703 382 states, depth 18"), "{text}");
    }

    /// On disk nothing is fired while duplicates are detected, which takes most of the time.
    #[test]
    fn a_run_on_disk_has_a_rate_all_through_its_layers() {
        let gauges = Gauges::default();
        let mut line = Line::new(false);
        for (transitions, layer) in [
            (1000, (5, 400, 200)),
            (2000, (5, 400, 400)),
            (2000, (5, 400, 400)),
            (2000, (5, 400, 400)),
            (2000, (6, 900, 0)),
            (5000, (6, 900, 900)),
            (5000, (6, 900, 900)),
        ] {
            at(&gauges, 700, transitions, layer);
            let text = line.next(&gauges, Duration::from_secs(5), MEMORY);
            assert!(text.contains(" transitions/s") && !text.contains(" 0 transitions/s"), "{text}");
            assert_eq!(text.contains("(detecting duplicates)"), layer.1 == layer.2, "{text}");
        }
    }

    #[test]
    fn a_resumed_run_shows_what_it_reads_back() {
        let gauges = Gauges::default();
        let mut line = Line::new(true);
        at(&gauges, 3_418_020, 0, (20, 0, 0));
        let text = line.next(&gauges, Duration::from_secs(3), MEMORY);
        assert_eq!(text, "0:03  reading back 3 418 020 states, depth 20");
    }
}
