//! The figures of layers as a manifest keeps them: short rows of numbers, as deep graphs have thousands of layers and
//! every commit writes them all.

use crate::report::{Again, DetectionWork, Distance, Duplicates, FileSeconds, Layer, Spent};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Numbers, duplicates by distance, seconds; zeros at the end of a list are left out.
#[derive(Serialize, Deserialize)]
struct Row(Vec<u64>, Vec<(u64, u64, u64)>, Vec<f32>);

impl From<&Layer> for Row {
    fn from(layer: &Layer) -> Self {
        let Layer { states, transitions, again, .. } = *layer;
        let Layer { duplicates_cache, candidates, duplicates, unique, .. } = *layer;
        let Layer { bytes_read, bytes_written, seconds, window, .. } = *layer;
        let mut numbers = vec![
            states,
            transitions,
            unique,
            duplicates_cache,
            candidates,
            duplicates.either,
            duplicates.earlier,
            duplicates.within,
            bytes_written,
            bytes_read,
            again.states,
            again.transitions,
            window,
        ];
        let mut detection = layer.detection;
        numbers.extend(detection.numbers().map(|number| *number));
        while numbers.last() == Some(&0) {
            numbers.pop();
        }
        let distances = layer.by_distance.iter().map(|d| (d.nearest, d.farthest, d.found)).collect();
        let Spent { expanding, sorting, detecting, waiting, mut files } = seconds;
        // Microseconds are near enough.
        let short = |seconds: f64| (seconds * 1e6).round() as f32 / 1e6;
        let mut seconds: Vec<f32> = [expanding, detecting, sorting, waiting].map(short).into();
        seconds.extend(files.numbers().map(|seconds| short(*seconds)));
        while seconds.last() == Some(&0.0) {
            seconds.pop();
        }
        Row(numbers, distances, seconds)
    }
}

impl From<Row> for Layer {
    fn from(Row(numbers, distances, seconds): Row) -> Self {
        let number = |n: usize| numbers.get(n).copied().unwrap_or(0);
        let second = |n: usize| seconds.get(n).map_or(0.0, |&s| f64::from(s));
        let by_distance = distances.into_iter();
        let mut detection = DetectionWork::default();
        for (n, place) in detection.numbers().into_iter().enumerate() {
            *place = number(13 + n);
        }
        let mut files = FileSeconds::default();
        for (n, place) in files.numbers().into_iter().enumerate() {
            *place = second(4 + n);
        }
        Layer {
            states: number(0),
            transitions: number(1),
            unique: number(2),
            duplicates_cache: number(3),
            candidates: number(4),
            duplicates: Duplicates { either: number(5), earlier: number(6), within: number(7) },
            bytes_written: number(8),
            bytes_read: number(9),
            again: Again { states: number(10), transitions: number(11) },
            window: number(12),
            detection,
            by_distance: by_distance
                .map(|(nearest, farthest, found)| Distance { nearest, farthest, found })
                .collect(),
            seconds: Spent {
                expanding: second(0),
                detecting: second(1),
                sorting: second(2),
                waiting: second(3),
                files,
            },
        }
    }
}

pub(super) fn serialize<S: Serializer>(layers: &[Layer], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(layers.iter().map(Row::from))
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Layer>, D::Error> {
    Ok(Vec::<Row>::deserialize(deserializer)?.into_iter().map(Layer::from).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_layer_is_read_as_it_was_written() {
        let full = Layer {
            states: 1,
            transitions: 2,
            again: Again { states: 3, transitions: 4 },
            duplicates_cache: 5,
            candidates: 6,
            duplicates: Duplicates { within: 7, earlier: 8, either: 9 },
            unique: 10,
            by_distance: vec![Distance { nearest: 1, farthest: 4, found: 8 }],
            bytes_read: 11,
            bytes_written: 12,
            window: 13,
            detection: DetectionWork {
                runs: 14,
                comparisons: 15,
                next_written: 16,
                ..DetectionWork::default()
            },
            seconds: Spent {
                expanding: 0.5,
                sorting: 0.25,
                detecting: 2.0,
                waiting: 0.125,
                files: FileSeconds { candidates_read: 1.5, next_written: 0.75, ..FileSeconds::default() },
            },
        };
        let few = Layer { states: 7, transitions: 9, ..Layer::default() };
        for layer in [full, few, Layer::default()] {
            let text = serde_json::to_string(&Row::from(&layer)).unwrap();
            let row: Row = serde_json::from_str(&text).unwrap();
            assert_eq!(Layer::from(row), layer, "{text}");
        }
    }
}
