//! What workers say to each other, as words.

use crate::finding::Finding;
use crate::firings::Counts;
use crate::report::{Distance, Layer, StopReason, ViolationKind};
use hadal_system::{Label, PropertyId};
use std::collections::BTreeMap;

/// Words being written.
#[derive(Default)]
pub(crate) struct Said {
    words: Vec<u64>,
}

impl Said {
    pub(crate) fn word(mut self, word: u64) -> Self {
        self.words.push(word);
        self
    }

    /// A list, with its length.
    pub(crate) fn list(mut self, words: &[u64]) -> Self {
        self.words.push(words.len() as u64);
        self.words.extend_from_slice(words);
        self
    }

    pub(crate) fn stop(self, reason: Option<&StopReason>) -> Self {
        let (code, argument) = reason.map_or((0, 0), stop_words);
        self.word(code).word(argument)
    }

    pub(crate) fn finding(self, finding: Option<&Finding>) -> Self {
        match finding {
            None => self.word(u64::MAX),
            Some(finding) => {
                let (kind, id) = kind_words(finding.kind);
                self.word(kind).word(id).list(&finding.state)
            }
        }
    }

    pub(crate) fn layer(self, row: &Layer) -> Self {
        let by_distance = row.by_distance.iter().flat_map(|d| [d.nearest, d.farthest, d.found]);
        let numbers = ROW.map(|get| *get(&mut row.clone()));
        let seconds = SPENT.map(|get| get(&mut row.clone()).to_bits());
        let mut detection = row.detection;
        let detection = detection.numbers().map(|number| *number);
        self.list(&numbers).list(&seconds).list(&by_distance.collect::<Vec<_>>()).list(&detection)
    }

    pub(crate) fn counts(self, counts: &Counts) -> Self {
        self.list(&counts.covers).list(&counts.fired)
    }

    pub(crate) fn into_words(self) -> Vec<u64> {
        self.words
    }
}

/// Words being read. What is missing reads as nothing: who speaks was checked to be of the same version.
pub(crate) struct Words<'a> {
    rest: &'a [u64],
}

impl<'a> Words<'a> {
    pub(crate) fn new(words: &'a [u64]) -> Self {
        Words { rest: words }
    }

    pub(crate) fn word(&mut self) -> u64 {
        let Some((&first, rest)) = self.rest.split_first() else { return 0 };
        self.rest = rest;
        first
    }

    pub(crate) fn list(&mut self) -> &'a [u64] {
        let length = self.word() as usize;
        let (list, rest) = self.rest.split_at(length.min(self.rest.len()));
        self.rest = rest;
        list
    }

    fn stop(&mut self) -> Option<StopReason> {
        let (code, argument) = (self.word(), self.word());
        stop_of(code, argument)
    }

    /// Passes over a reason to stop.
    pub(crate) fn skip_stop(&mut self) {
        self.stop();
    }

    pub(crate) fn finding(&mut self) -> Option<Finding> {
        let kind = self.word();
        if kind == u64::MAX {
            return None;
        }
        let id = self.word() as u32;
        let state = self.list().to_vec();
        Some(Finding { kind: kind_of(kind, id)?, state })
    }

    /// Adds a layer's figures to `sum`; of times, the longest counts.
    pub(crate) fn add_layer(&mut self, sum: &mut Layer) {
        for (get, &word) in ROW.iter().zip(self.list()) {
            *get(sum) += word;
        }
        for (get, &word) in SPENT.iter().zip(self.list()) {
            let longest = get(sum);
            *longest = longest.max(f64::from_bits(word));
        }
        let mut distances: BTreeMap<(u64, u64), u64> =
            sum.by_distance.iter().map(|d| ((d.nearest, d.farthest), d.found)).collect();
        for distance in self.list().chunks_exact(3) {
            *distances.entry((distance[0], distance[1])).or_default() += distance[2];
        }
        let summed = distances.into_iter();
        sum.by_distance =
            summed.map(|((nearest, farthest), found)| Distance { nearest, farthest, found }).collect();
        for (place, &word) in sum.detection.numbers().into_iter().zip(self.list()) {
            *place += word;
        }
    }

    pub(crate) fn counts(&mut self) -> Counts {
        Counts { covers: self.list().to_vec(), fired: self.list().to_vec() }
    }
}

/// Why a search must stop, of all workers: the gravest reason counts.
#[derive(Default)]
pub(crate) struct Stops(Option<StopReason>);

impl Stops {
    pub(crate) fn add(&mut self, words: &mut Words) {
        let code = |reason: &Option<StopReason>| reason.as_ref().map(stop_words);
        let said = words.stop();
        if code(&said) > code(&self.0) {
            self.0 = said;
        }
    }

    pub(crate) fn reason(self) -> Option<StopReason> {
        self.0
    }
}

type Number = for<'l> fn(&'l mut Layer) -> &'l mut u64;
type Seconds = for<'l> fn(&'l mut Layer) -> &'l mut f64;

const ROW: [Number; 12] = [
    |row| &mut row.states,
    |row| &mut row.transitions,
    |row| &mut row.again.states,
    |row| &mut row.again.transitions,
    |row| &mut row.duplicates_cache,
    |row| &mut row.candidates,
    |row| &mut row.duplicates.within,
    |row| &mut row.duplicates.earlier,
    |row| &mut row.duplicates.either,
    |row| &mut row.unique,
    |row| &mut row.bytes_read,
    |row| &mut row.bytes_written,
];

const SPENT: [Seconds; 10] = [
    |row| &mut row.seconds.expanding,
    |row| &mut row.seconds.sorting,
    |row| &mut row.seconds.detecting,
    |row| &mut row.seconds.waiting,
    |row| &mut row.seconds.files.layer_read,
    |row| &mut row.seconds.files.candidates_read,
    |row| &mut row.seconds.files.candidates_written,
    |row| &mut row.seconds.files.closed_read,
    |row| &mut row.seconds.files.closed_written,
    |row| &mut row.seconds.files.next_written,
];

/// A reason to stop as two words; the graver, the larger.
pub fn stop_words(reason: &StopReason) -> (u64, u64) {
    match reason {
        StopReason::Unanswered => (1, 0),
        StopReason::Incomplete => (2, 0),
        StopReason::DepthLimit => (3, 0),
        StopReason::CostBound => (4, 0),
        StopReason::StateLimit => (5, 0),
        StopReason::TimeLimit => (6, 0),
        StopReason::Interrupted => (7, 0),
        StopReason::Memory { needed } => (8, *needed),
        StopReason::DiskFull => (9, 0),
    }
}

/// What [`stop_words`] said.
pub fn stop_of(code: u64, argument: u64) -> Option<StopReason> {
    Some(match code {
        1 => StopReason::Unanswered,
        2 => StopReason::Incomplete,
        3 => StopReason::DepthLimit,
        4 => StopReason::CostBound,
        5 => StopReason::StateLimit,
        6 => StopReason::TimeLimit,
        7 => StopReason::Interrupted,
        8 => StopReason::Memory { needed: argument },
        9 => StopReason::DiskFull,
        _ => return None,
    })
}

/// What is wrong as two words; of a run, without where its loop begins.
pub fn kind_words(kind: ViolationKind) -> (u64, u64) {
    match kind {
        ViolationKind::StartFault(Label(id)) => (0, id.into()),
        ViolationKind::Deadlock => (1, 0),
        ViolationKind::Invariant(PropertyId(id)) => (2, id.into()),
        ViolationKind::Goal(PropertyId(id)) => (3, id.into()),
        ViolationKind::PropertyFault(PropertyId(id)) => (4, id.into()),
        ViolationKind::Fault(Label(id)) => (5, id.into()),
        ViolationKind::Liveness(PropertyId(id)) => (6, id.into()),
        ViolationKind::Uncovered(PropertyId(id)) => (7, id.into()),
        ViolationKind::Prefix(PropertyId(id)) => (8, id.into()),
        // Runs are looked for when all states are known, not found on the way.
        ViolationKind::Cycle { property: PropertyId(id), .. } => (9, id.into()),
    }
}

/// What [`kind_words`] said.
pub fn kind_of(kind: u64, id: u32) -> Option<ViolationKind> {
    Some(match kind {
        0 => ViolationKind::StartFault(Label(id)),
        1 => ViolationKind::Deadlock,
        2 => ViolationKind::Invariant(PropertyId(id)),
        3 => ViolationKind::Goal(PropertyId(id)),
        4 => ViolationKind::PropertyFault(PropertyId(id)),
        5 => ViolationKind::Fault(Label(id)),
        6 => ViolationKind::Liveness(PropertyId(id)),
        7 => ViolationKind::Uncovered(PropertyId(id)),
        8 => ViolationKind::Prefix(PropertyId(id)),
        _ => return None,
    })
}

/// A run that a property does not allow, whose loop begins with this state of its path.
pub fn cycle_of(id: u32, loop_from: usize) -> ViolationKind {
    ViolationKind::Cycle { property: PropertyId(id), loop_from }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::{Duplicates, Spent};

    #[test]
    fn what_is_said_is_heard() {
        let finding = Finding { kind: ViolationKind::Fault(Label(7)), state: vec![1, 2] };
        let row = Layer {
            states: 1,
            transitions: 2,
            candidates: 3,
            duplicates: Duplicates { within: 4, earlier: 5, either: 6 },
            unique: 7,
            by_distance: vec![Distance { nearest: 1, farthest: 2, found: 9 }],
            seconds: Spent { expanding: 0.5, ..Spent::default() },
            ..Layer::default()
        };
        let words = Said::default()
            .stop(Some(&StopReason::Memory { needed: 5 }))
            .finding(Some(&finding))
            .finding(None)
            .layer(&row)
            .layer(&row)
            .into_words();
        let (mut read, mut stops, mut sum) = (Words::new(&words), Stops::default(), Layer::default());
        stops.add(&mut read);
        stops.add(&mut Words::new(&Said::default().stop(Some(&StopReason::TimeLimit)).into_words()));
        assert_eq!(stops.reason(), Some(StopReason::Memory { needed: 5 }));
        assert_eq!((read.finding(), read.finding()), (Some(finding), None));
        (0..2).for_each(|_| read.add_layer(&mut sum));
        assert_eq!((sum.unique, sum.duplicates.earlier, sum.seconds.expanding), (14, 10, 0.5));
        assert_eq!(sum.by_distance, [Distance { nearest: 1, farthest: 2, found: 18 }]);
        assert_eq!((read.word(), read.list().len()), (0, 0), "nothing is left");
    }
}
