//! The hundred instances and what is published about them.

use crate::error::BenchError;
use serde::Serialize;

const TABLE: &str = include_str!("instances.tsv");

/// A puzzle.
#[derive(Clone, Debug, Serialize)]
pub struct Instance {
    /// Its number, from 1.
    pub number: u32,
    /// The tiles, a hexadecimal digit each.
    pub tiles: String,
    /// The least number of moves.
    pub moves: u64,
    /// External A* as published.
    pub published: Published,
}

/// The figures of Jabbar (2008).
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Published {
    /// Successors generated.
    pub generated: u64,
    /// States expanded.
    pub expanded: u64,
    /// States in closed buckets, and generated ones that waited.
    pub stored: u64,
    /// Real time.
    pub seconds: f64,
    /// Processor time.
    pub cpu_seconds: f64,
}

/// All instances.
pub fn all() -> Result<Vec<Instance>, BenchError> {
    let lines = TABLE.lines().filter(|line| !line.starts_with('#'));
    lines
        .map(|line| parse(line).ok_or_else(|| BenchError::Internal(format!("instances.tsv: {line}"))))
        .collect()
}

fn parse(line: &str) -> Option<Instance> {
    let mut fields = line.split('\t');
    Some(Instance {
        number: fields.next()?.parse().ok()?,
        tiles: fields.next()?.to_owned(),
        moves: fields.next()?.parse().ok()?,
        published: Published {
            generated: fields.next()?.parse().ok()?,
            expanded: fields.next()?.parse().ok()?,
            stored: fields.next()?.parse().ok()?,
            seconds: fields.next()?.parse().ok()?,
            cpu_seconds: fields.next()?.parse().ok()?,
        },
    })
}

/// Those that `only` names: numbers and ranges of numbers, separated by commas.
pub fn chosen(only: Option<&str>, most_states: Option<u64>) -> Result<Vec<Instance>, BenchError> {
    let mut instances = all()?;
    if let Some(text) = only {
        let mut wanted = Vec::new();
        for part in text.split(',') {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            match (from.trim().parse::<u32>(), to.trim().parse::<u32>()) {
                (Ok(from), Ok(to)) if (1..=100).contains(&from) && from <= to && to <= 100 => {
                    wanted.extend(from..=to);
                }
                _ => {
                    return Err(BenchError::Usage(format!(
                        "--only {part}: give numbers from 1 to 100, or ranges of them, separated by commas"
                    )));
                }
            }
        }
        instances.retain(|instance| wanted.contains(&instance.number));
    }
    instances.retain(|instance| most_states.is_none_or(|most| instance.published.expanded <= most));
    Ok(instances)
}

#[cfg(test)]
mod tests {
    use super::*;
    use hadal_guide::Guide;
    use hadal_search::tiles::{Manhattan, Tiles};

    #[test]
    fn the_table_holds_a_hundred_solvable_puzzles_with_possible_lengths() {
        let instances = all().expect("the table is part of the program");
        assert_eq!(instances.len(), 100);
        for (n, instance) in instances.iter().enumerate() {
            assert_eq!(instance.number as usize, n + 1);
            let tiles = Tiles::parse(&instance.tiles).expect("these are tiles");
            assert!(tiles.is_solvable(), "{}", instance.number);
            let estimate = Manhattan::new(&tiles).estimator().estimate(&[tiles.start()], None);
            // Every move changes the distance by one, so the length has its parity.
            let slack = instance.moves - u64::from(estimate.0);
            assert!(slack.is_multiple_of(2), "{}", instance.number);
        }
        assert_eq!(instances.iter().map(|instance| instance.moves).sum::<u64>(), 5305);
    }

    #[test]
    fn instances_are_chosen_by_numbers_ranges_and_size() {
        let numbers = |only, most| -> Vec<u32> {
            chosen(only, most).expect("well-formed").iter().map(|instance| instance.number).collect()
        };
        assert_eq!(numbers(Some("12, 3-5"), None), [3, 4, 5, 12]);
        assert_eq!(numbers(None, Some(200_000)), [12, 55]);
        assert!(chosen(Some("0"), None).is_err() && chosen(Some("x"), None).is_err());
    }
}
