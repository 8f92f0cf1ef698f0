//! One exploration by a child process, alone or with workers.

use super::MEMORY;
use crate::args::Clock;
use crate::error::BenchError;
use crate::measure::measure;
use crate::ours::{Hadal, first_complaint};
use crate::scratch::Scratch;
use crate::suite::Case;
use serde::Serialize;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

/// Who explores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Setup {
    /// One process with so many threads.
    Threads(u16),
    /// So many workers of one thread.
    Workers(u16),
}

/// A layer, as far as the model of the exchange needs it.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub(super) struct LayerTaken {
    pub(super) states: u64,
    pub(super) candidates: u64,
    pub(super) seconds: f64,
}

/// What an exploration took.
#[derive(Clone, Debug, Serialize)]
pub(super) struct Taken {
    pub(super) verdict: String,
    pub(super) states: u64,
    pub(super) transitions: u64,
    /// By the clock that was chosen.
    pub(super) seconds: f64,
    /// Of all processes.
    pub(super) cpu_seconds: f64,
    /// Of the worker that had most to do.
    pub(super) busiest_seconds: f64,
    /// What workers shipped.
    pub(super) sent_bytes: u64,
    pub(super) sent_states: u64,
    /// The largest inbox of a worker at any time.
    pub(super) most_inbox_bytes: u64,
    pub(super) layers: Vec<LayerTaken>,
}

impl Taken {
    /// With times by this clock: of processor time, what each thread has of it, or the worker that had most to do. Waiting for
    /// others is left out.
    pub(super) fn by(mut self, clock: Clock, setup: Setup) -> Taken {
        if clock == Clock::Cpu {
            let seconds = match setup {
                Setup::Threads(threads) => self.cpu_seconds / f64::from(threads),
                Setup::Workers(_) => self.busiest_seconds,
            };
            let scale = seconds / self.seconds.max(f64::MIN_POSITIVE);
            self.layers.iter_mut().for_each(|layer| layer.seconds *= scale);
            self.seconds = seconds;
        }
        self
    }

    /// The faster of two.
    pub(super) fn better(self, other: Taken) -> Taken {
        if other.seconds < self.seconds { other } else { self }
    }
}

/// Explores a case by a strategy, or gives up at the limit.
pub(super) fn take(
    (case, model): (&Case, &Path),
    (setup, strategy): (Setup, &str),
    limit: Duration,
    scratch: &Scratch,
) -> Result<Taken, BenchError> {
    let threads = match setup {
        Setup::Threads(threads) => threads,
        Setup::Workers(_) => 1,
    };
    let hadal = Hadal::new(threads, limit, scratch)?;
    let events = scratch.file("events.jsonl");
    let failed = |error| BenchError::File { path: events.clone(), error };
    match std::fs::remove_file(&events) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(failed(error)),
        _ => {}
    }
    let mut arguments = hadal.arguments(case, model);
    arguments.extend(["--memory".to_owned(), MEMORY.to_string()]);
    arguments.extend(["--strategy", strategy].map(str::to_owned));
    if let Setup::Workers(workers) = setup {
        arguments.extend(["--cluster".to_owned(), format!("local:{workers}")]);
        arguments.extend(["--events".to_owned(), events.display().to_string()]);
    }
    let mut command = Command::new(hadal.program());
    command.args(arguments);
    let measured = measure(&mut command, limit + Duration::from_secs(60))
        .map_err(|error| BenchError::File { path: hadal.program().to_owned(), error })?;
    let json: serde_json::Value = serde_json::from_str(&measured.output).unwrap_or_default();
    if json["verdict"].as_str().is_none() {
        return Err(BenchError::Internal(format!("{}: {}", case.name(), first_complaint(&measured))));
    }
    let told = match std::fs::read_to_string(&events) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let traffic = Traffic::of(&told);
    Ok(Taken {
        verdict: json["verdict"].as_str().unwrap_or_default().to_owned(),
        states: json["states"].as_u64().unwrap_or(0),
        transitions: json["transitions"].as_u64().unwrap_or(0),
        seconds: measured.wall_seconds,
        cpu_seconds: measured.cpu_seconds,
        busiest_seconds: traffic.busiest_seconds,
        sent_bytes: traffic.sent_bytes,
        sent_states: traffic.sent_states,
        most_inbox_bytes: traffic.most_inbox_bytes,
        layers: json["layers"].as_array().map_or(Vec::new(), |rows| rows.iter().map(layer).collect()),
    })
}

fn layer(row: &serde_json::Value) -> LayerTaken {
    let part = |name: &str| row["seconds"][name].as_f64().unwrap_or(0.0);
    LayerTaken {
        states: row["states"].as_u64().unwrap_or(0),
        candidates: row["candidates"].as_u64().unwrap_or(0),
        seconds: part("expanding") + part("sorting") + part("detecting"),
    }
}

/// What the workers shipped, as the last event of each says.
#[derive(Debug, Default, PartialEq)]
struct Traffic {
    sent_bytes: u64,
    sent_states: u64,
    most_inbox_bytes: u64,
    busiest_seconds: f64,
}

impl Traffic {
    fn of(events: &str) -> Self {
        let mut last: BTreeMap<u64, serde_json::Value> = BTreeMap::new();
        for line in events.lines() {
            let Ok(event) = serde_json::from_str::<serde_json::Value>(line) else { continue };
            if let (Some("worker"), Some(worker)) = (event["event"].as_str(), event["worker"].as_u64()) {
                last.insert(worker, event["figures"].clone());
            }
        }
        let all = |name: &'static str| last.values().filter_map(move |figures| figures[name].as_u64());
        Traffic {
            sent_bytes: all("sent_bytes").sum(),
            sent_states: all("sent_states").sum(),
            most_inbox_bytes: all("most_inbox_bytes").max().unwrap_or(0),
            busiest_seconds: last
                .values()
                .filter_map(|figures| figures["cpu_seconds"].as_f64())
                .fold(0.0, f64::max),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_event_of_each_worker_counts() {
        let events = r#"{"event":"worker","worker":0,"figures":{"sent_bytes":5,"sent_states":1,"most_inbox_bytes":9}}
{"event":"lost","worker":0}
{"event":"worker","worker":1,"figures":{"sent_bytes":7,"sent_states":2,"most_inbox_bytes":3}}
{"event":"worker","worker":0,"figures":{"sent_bytes":50,"sent_states":10,"most_inbox_bytes":9,"cpu_seconds":1.5}}
"#;
        let expected = Traffic { sent_bytes: 57, sent_states: 12, most_inbox_bytes: 9, busiest_seconds: 1.5 };
        assert_eq!(Traffic::of(events), expected);
    }
}
