//! A report on its way from a worker to the launcher.

use crate::launch::Conclusion;
use hadal_search::directed::DirectedFigures;
use hadal_search::exchange::{cycle_of, kind_of, kind_words, stop_of, stop_words};
use hadal_search::report::{CoverFigures, DiskFigures, Stage};
use hadal_search::{
    ActionFirings, Layer, Particular, Proviso, Report, StopReason, Verdict, Violation, ViolationKind,
};
use serde::{Deserialize, Serialize};

/// A [`Report`] as it is written. What only searches in one process count is not in it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Answer {
    verdict: Written,
    states: u64,
    transitions: u64,
    depth: Option<u64>,
    layers: Vec<Layer>,
    covers: Vec<u64>,
    actions: Vec<ActionFirings>,
    proviso: Option<Proviso>,
    storage: Vec<(String, u64, u64)>,
    peak_memory: u64,
    disk: Disk,
    /// Where the search was directed.
    directed: Option<DirectedFigures>,
    /// Where states may cover each other.
    covering: Option<CoverFigures>,
}

/// Bytes in the folder of a worker, at the end and at most, and those it read and wrote.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
struct Disk {
    bytes: u64,
    peak: u64,
    read: u64,
    written: u64,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Written {
    Holds,
    Violated { kind: (u64, u64), loop_from: Option<usize>, path: Vec<Vec<u64>>, shortest: bool },
    Stopped((u64, u64)),
}

impl From<&Report> for Answer {
    fn from(report: &Report) -> Self {
        let verdict = match &report.verdict {
            Verdict::Holds => Written::Holds,
            Verdict::Violated(found) => Written::Violated {
                kind: kind_words(found.kind),
                loop_from: match found.kind {
                    ViolationKind::Cycle { loop_from, .. } => Some(loop_from),
                    _ => None,
                },
                path: found.path.clone(),
                shortest: found.shortest,
            },
            Verdict::Stopped(reason) => Written::Stopped(stop_words(reason)),
        };
        let disk = report.disk.unwrap_or_default();
        Answer {
            verdict,
            states: report.states,
            transitions: report.transitions,
            depth: report.depth,
            layers: report.layers.clone(),
            covers: report.covers.clone(),
            actions: report.actions.clone(),
            proviso: report.proviso,
            storage: report.stages.iter().map(|it| (it.storage.to_owned(), it.states, it.depth)).collect(),
            peak_memory: report.peak_memory,
            disk: Disk { bytes: disk.bytes, peak: disk.peak, read: disk.read, written: disk.written },
            directed: report.particular.directed.clone(),
            covering: report.particular.covering,
        }
    }
}

/// Workers that do not say the same.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("the workers of the cluster do not agree on the answer: {0}")]
pub struct Disagreement(
    /// Who they are.
    pub String,
);

impl Conclusion for Answer {
    fn is_stopped(&self) -> bool {
        matches!(self.verdict, Written::Stopped(_))
    }
}

impl Answer {
    /// One report of all workers: they agree on what was found, and each had a memory and a disk of its own.
    pub fn united(answers: &[Answer]) -> Result<Report, Disagreement> {
        let Some(first) = answers.first() else { return Err(Disagreement("there are none".into())) };
        for (worker, other) in answers.iter().enumerate() {
            let essence =
                |it: &Answer| (it.verdict.clone(), it.states, it.transitions, it.depth, it.covering);
            if essence(other) != essence(first) {
                return Err(Disagreement(format!("worker 0 and worker {worker}")));
            }
        }
        let wrong = || Disagreement("an answer that means nothing".into());
        let verdict = match first.verdict.clone() {
            Written::Holds => Verdict::Holds,
            Written::Violated { kind: (kind, id), loop_from, path, shortest } => {
                let id = u32::try_from(id).map_err(|_| wrong())?;
                let kind = match loop_from {
                    Some(loop_from) => cycle_of(id, loop_from),
                    None => kind_of(kind, id).ok_or_else(wrong)?,
                };
                Verdict::Violated(Violation { kind, path, shortest })
            }
            Written::Stopped((code, argument)) => {
                let reason: StopReason = stop_of(code, argument).ok_or_else(wrong)?;
                Verdict::Stopped(reason)
            }
        };
        let total = |of: fn(&Answer) -> u64| answers.iter().map(of).sum();
        let stage = |(storage, states, depth): &(String, u64, u64)| Stage {
            // A handful of names, each of a few letters.
            storage: Box::leak(storage.clone().into_boxed_str()),
            states: *states,
            depth: *depth,
        };
        Ok(Report {
            verdict,
            states: first.states,
            transitions: first.transitions,
            depth: first.depth,
            layers: first.layers.clone(),
            covers: first.covers.clone(),
            actions: first.actions.clone(),
            peak_memory: answers.iter().map(|answer| answer.peak_memory).max().unwrap_or(0),
            stages: first.storage.iter().map(stage).collect(),
            disk: Some(DiskFigures {
                bytes: total(|answer| answer.disk.bytes),
                peak: total(|answer| answer.disk.peak),
                read: total(|answer| answer.disk.read),
                written: total(|answer| answer.disk.written),
                ..DiskFigures::default()
            }),
            proviso: answers.iter().find_map(|answer| answer.proviso),
            particular: Particular {
                directed: first.directed.clone(),
                covering: first.covering,
                ..Particular::default()
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_system::PropertyId;

    fn report(verdict: Verdict, disk: u64) -> Report {
        Report {
            verdict,
            states: 3,
            transitions: 4,
            depth: Some(2),
            layers: vec![Layer { states: 1, unique: 2, ..Layer::default() }],
            covers: vec![1],
            actions: vec![ActionFirings { name: "step".into(), fired: 4 }],
            peak_memory: disk,
            stages: vec![Stage { storage: "sorted runs", states: 0, depth: 0 }],
            disk: Some(DiskFigures {
                bytes: disk,
                peak: 2 * disk,
                read: 1,
                written: 2,
                ..DiskFigures::default()
            }),
            proviso: None,
            particular: Particular::default(),
        }
    }

    #[test]
    fn workers_that_agree_make_one_report() {
        let kind = ViolationKind::Invariant(PropertyId(3));
        let wrong = Verdict::Violated(Violation { kind, path: vec![vec![1, 2]], shortest: true });
        let kind = ViolationKind::Cycle { property: PropertyId(1), loop_from: 1 };
        let round = Verdict::Violated(Violation { kind, path: vec![vec![1], vec![2]], shortest: false });
        for verdict in [Verdict::Holds, wrong, round, Verdict::Stopped(StopReason::TimeLimit)] {
            let answers: Vec<Answer> = [10, 30].map(|disk| (&report(verdict.clone(), disk)).into()).into();
            let text = serde_json::to_string(&answers).expect("plain data");
            let read: Vec<Answer> = serde_json::from_str(&text).expect("as written");
            let united = Answer::united(&read).expect("they agree");
            assert_eq!((united.verdict, united.states, united.depth), (verdict, 3, Some(2)));
            assert_eq!(
                (united.peak_memory, united.disk.map(|disk| (disk.bytes, disk.peak))),
                (30, Some((40, 80)))
            );
            assert_eq!(united.layers, report(Verdict::Holds, 0).layers);
        }
        let answers = [&report(Verdict::Holds, 1), &Report { states: 4, ..report(Verdict::Holds, 1) }];
        assert!(Answer::united(&answers.map(Answer::from)).is_err());
    }
}
