//! What a person sees while a search runs: a line that rewrites itself on a terminal, plain lines elsewhere, and
//! JSON lines in a file when asked for. It only reads the search's gauges.

use crate::failure::Failure;
use hadal_check::units::{grouped, size};
use hadal_search::Control;
use hadal_store::Governor;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use std::fs::File;
use std::io::{IsTerminal, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
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

/// Figures at one moment.
#[derive(Clone, Copy)]
struct Moment {
    at: Instant,
    states: u64,
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
                eprintln!("warning: cannot write events any more");
            }
        }
    }

    /// Shows a line beside the progress, where that is shown.
    pub fn line(&self, text: &str) {
        match &self.shown {
            Shown::Nothing => {}
            Shown::Lines => eprintln!("{text}"),
            Shown::Bar(bar) => bar.suspend(|| eprintln!("{text}")),
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
                Shown::Bar(bar) => bar.suspend(|| eprintln!("warning: {message}")),
                _ => eprintln!("warning: {message}"),
            }
            let seconds = control.elapsed().as_secs_f64();
            self.event(serde_json::json!({ "event": "warning", "seconds": seconds, "message": message }));
        }
    }

    fn watch(&self, control: &Control, governor: &Governor) {
        let mut last = Moment { at: Instant::now(), states: 0 };
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
            let states = gauges.states.load(Ordering::Relaxed);
            let now = Moment { at: Instant::now(), states };
            let rate = (now.states - last.states) as f64 / (now.at - last.at).as_secs_f64().max(1e-3);
            last = now;
            let (depth, frontier, expanded) = (
                gauges.depth.load(Ordering::Relaxed),
                gauges.frontier.load(Ordering::Relaxed),
                gauges.expanded.load(Ordering::Relaxed),
            );
            let line = format!(
                "{} states, {}/s, depth {depth}, frontier {} ({}%), {} of {}",
                grouped(states),
                grouped(rate as u64),
                grouped(frontier),
                (expanded * 100).checked_div(frontier).unwrap_or(0).min(100),
                size(governor.current()),
                size(governor.limit()),
            );
            match &self.shown {
                Shown::Nothing => {}
                Shown::Bar(bar) => {
                    bar.set_message(line);
                    bar.tick();
                }
                Shown::Lines if last_line.elapsed() >= Duration::from_secs(5) => {
                    last_line = Instant::now();
                    eprintln!("{line}");
                }
                Shown::Lines => {}
            }
            self.event(serde_json::json!({
                "event": "progress",
                "seconds": control.elapsed().as_secs_f64(),
                "states": states,
                "transitions": gauges.transitions.load(Ordering::Relaxed),
                "depth": depth,
                "frontier": frontier,
                "expanded": expanded,
                "memory_bytes": governor.current(),
                "memory_budget_bytes": governor.limit(),
            }));
        }
        if let Shown::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
    }
}
