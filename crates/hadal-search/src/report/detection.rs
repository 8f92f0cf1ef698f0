//! What is counted of duplicate detection on disk: distances, comparisons, bytes, buckets.

use serde::{Deserialize, Serialize};

/// What finding the next layer took (Lamborn 2014, tables 3.2 to 4.7).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct DetectionWork {
    /// Sorted runs of candidates that were written.
    pub runs: u64,
    /// Merges of runs, and passes over the candidates, ahead of the last.
    pub passes: u64,
    /// Phases.
    pub phases: u64,
    /// Buckets with candidates.
    pub buckets: u64,
    /// Pairs of states compared while merging and detecting; sorting in RAM is not counted.
    pub comparisons: u64,
    /// Bytes of the layer read, to expand it.
    pub layer_read: u64,
    /// Bytes of candidates read.
    pub candidates_read: u64,
    /// Bytes of candidates written.
    pub candidates_written: u64,
    /// Bytes of closed states read.
    pub closed_read: u64,
    /// Bytes of closed states written, as runs merge.
    pub closed_written: u64,
    /// Bytes of the next layer written.
    pub next_written: u64,
}

impl DetectionWork {
    /// Its numbers, for those who write or add them.
    pub(crate) fn numbers(&mut self) -> [&mut u64; 11] {
        let DetectionWork {
            runs,
            passes,
            phases,
            buckets,
            comparisons,
            layer_read,
            candidates_read,
            candidates_written,
            closed_read,
            closed_written,
            next_written,
        } = self;
        [
            runs,
            passes,
            phases,
            buckets,
            comparisons,
            layer_read,
            candidates_read,
            candidates_written,
            closed_read,
            closed_written,
            next_written,
        ]
    }
}

/// Seconds that reading and writing files took, by what they hold (Lamborn 2014, table 3.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct FileSeconds {
    /// Reading the layer, to expand it.
    pub layer_read: f64,
    /// Reading candidates.
    pub candidates_read: f64,
    /// Writing candidates.
    pub candidates_written: f64,
    /// Reading closed states.
    pub closed_read: f64,
    /// Writing closed states, as runs merge.
    pub closed_written: f64,
    /// Writing the next layer.
    pub next_written: f64,
}

impl FileSeconds {
    /// Its numbers, for those who write or read them.
    pub(crate) fn numbers(&mut self) -> [&mut f64; 6] {
        let FileSeconds {
            layer_read,
            candidates_read,
            candidates_written,
            closed_read,
            closed_written,
            next_written,
        } = self;
        [layer_read, candidates_read, candidates_written, closed_read, closed_written, next_written]
    }
}

/// Duplicates by how many layers back the original lies, counted from the layer being found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distance {
    /// At least this far.
    pub nearest: u64,
    /// At most this far: the same where layers are stored one by one.
    pub farthest: u64,
    /// How many.
    pub found: u64,
}

impl Distance {
    /// From the layer being found at `depth` to layers from the first to the last of `depths`.
    pub(crate) fn between(depth: u64, depths: (u64, u64), found: u64) -> Self {
        Distance { nearest: depth - depths.1, farthest: depth - depths.0, found }
    }

    /// Adds it to those that are known, to one with the same ends where there is one.
    pub(crate) fn add_to(self, known: &mut Vec<Distance>) {
        let same = |other: &&mut Distance| (other.nearest, other.farthest) == (self.nearest, self.farthest);
        match known.iter_mut().find(same) {
            Some(other) => other.found += self.found,
            None => known.push(self),
        }
    }
}

/// Generated states by how many distinct ones came since they were generated before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CacheDistanceFigures {
    /// Generated for the first time, as far as is remembered.
    pub first: u64,
    /// Duplicates with a distance of 0, of 1, of 2 to 3, of 4 to 7, and so on.
    pub duplicates: Vec<u64>,
    /// How often everything was forgotten for want of memory.
    pub restarts: u64,
}

impl CacheDistanceFigures {
    /// Counts a duplicate at this distance.
    pub(crate) fn count(&mut self, distance: u64) {
        let place = (u64::BITS - distance.leading_zeros()) as usize;
        if self.duplicates.len() <= place {
            self.duplicates.resize(place + 1, 0);
        }
        self.duplicates[place] += 1;
    }
}

/// The largest distance between a duplicate and its original (Lamborn 2014, sec. 3.4.4), as far as the storage tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Locality {
    /// At least so many layers.
    pub least: u64,
    /// At most.
    pub most: u64,
}

/// How states were parted (Lamborn 2014, ch. 4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Buckets {
    /// Buckets at the end.
    pub buckets: u64,
    /// Buckets that were split in this sitting.
    pub splits: u64,
    /// How often a bucket was freed of duplicates by merging, because nothing splits it.
    pub sorted: u64,
    /// Most scalars on the way to a bucket.
    pub depth: u64,
    /// Milliseconds spent on the sample that chose the first scalars.
    pub sampling_ms: u64,
}
