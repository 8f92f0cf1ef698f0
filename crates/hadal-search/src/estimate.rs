//! How much is left, guessed from the layers seen so far.
//!
//! The widths of breadth-first layers of most models rise and fall like a bell (Pelánek and Šimeček 2008, "Estimating
//! State Space Parameters"). A parabola through the logarithms of the last widths continues the bell; once the widest
//! layer is behind, the rising side mirrored is a second guess. The least and the greatest guess are given. None of it
//! is a bound: graphs with several bells, or none, mislead it.

use serde::Serialize;

/// Fewer layers tell nothing.
const LEAST_LAYERS: usize = 8;
/// Fewest points a parabola goes through.
const LEAST_POINTS: usize = 6;
/// A layer is on the falling side when it is narrower than this share of the widest.
const FALLEN: f64 = 0.9;
/// A bell that goes on for this many times the layers seen has no visible end.
const MOST_STRETCH: usize = 50;

/// A guess above this is no guess: the widths have not begun to bend.
const MOST_STATES: f64 = 1e15;

/// How it was made, for people.
pub const METHOD: &str = "An estimate, not a bound. Layer widths of most models rise and fall like a bell: parabolas \
    through the logarithms of the last half, third and quarter of the widths continue it, and, once the widest layer \
    is behind, so does the rising side mirrored. The least and the greatest of these guesses are given; a graph with \
    several bells misleads all of them.";

/// A guess of what is left.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// How it was made.
    pub method: &'static str,
    /// Fewest states still to be found, by any of the guesses.
    pub new_states_least: u64,
    /// Most states still to be found; absent where a guess sees no end.
    pub new_states_most: Option<u64>,
    /// Seconds until the end at the recent rate, fewest.
    pub seconds_least: Option<f64>,
    /// The same, most.
    pub seconds_most: Option<f64>,
}

/// What is left of a search with layers of these widths, the last still to be expanded, at this many states per second.
pub fn remaining(widths: &[u64], rate: Option<f64>) -> Option<Estimate> {
    if widths.len() < LEAST_LAYERS {
        return None;
    }
    let logs = smoothed_logs(widths);
    let last = widths[widths.len() - 1] as f64;
    let windows = [2, 3, 4].map(|part| (widths.len() / part).max(LEAST_POINTS));
    let mut guesses: Vec<f64> = mirrored(widths, &logs).into_iter().collect();
    let mut endless = false;
    for window in windows {
        match continued(&logs[logs.len() - window..], last, widths.len() * MOST_STRETCH) {
            Some(states) => guesses.push(states),
            None => endless = true,
        }
    }
    let least = guesses.iter().copied().fold(f64::INFINITY, f64::min);
    if least > MOST_STATES {
        return None;
    }
    let most = guesses.iter().copied().fold(0.0, f64::max);
    let most = (!endless && most <= MOST_STATES).then_some(most);
    // The layer that was found last is still to be expanded.
    let seconds = |states: f64| rate.filter(|&rate| rate > 0.0).map(|rate| (states + last) / rate);
    Some(Estimate {
        method: METHOD,
        new_states_least: least.round() as u64,
        new_states_most: most.map(|states| states.round() as u64),
        seconds_least: seconds(least),
        seconds_most: most.and_then(seconds),
    })
}

/// Logarithms of the widths, each averaged with its neighbours: deep graphs have ragged layers.
fn smoothed_logs(widths: &[u64]) -> Vec<f64> {
    let logs: Vec<f64> = widths.iter().map(|&width| (width.max(1) as f64).ln()).collect();
    let reach = widths.len() / 50;
    (0..logs.len())
        .map(|n| {
            let near = &logs[n.saturating_sub(reach)..logs.len().min(n + reach + 1)];
            near.iter().sum::<f64>() / near.len() as f64
        })
        .collect()
}

/// States in the layers after the last if the parabola through `logs` goes on; none where it does not fall.
fn continued(logs: &[f64], last: f64, most_layers: usize) -> Option<f64> {
    let (slope, bend) = parabola_at_end(logs)?;
    if bend >= -1e-9 {
        return None;
    }
    let mut sum = 0.0;
    for step in 1..=most_layers {
        let ahead = step as f64;
        let width = last * (slope * ahead + bend * ahead * ahead).exp();
        if width < 0.5 {
            return Some(sum);
        }
        sum += width;
    }
    None
}

/// Least squares of `a + slope x + bend x^2`, with x = 0 at the last point.
fn parabola_at_end(logs: &[f64]) -> Option<(f64, f64)> {
    // Sums are taken around the middle, where odd powers cancel.
    let count = logs.len() as f64;
    let middle = (count - 1.0) / 2.0;
    let (mut x2, mut x4, mut y, mut xy, mut x2y) = (0.0, 0.0, 0.0, 0.0, 0.0);
    for (n, &log) in logs.iter().enumerate() {
        let x = n as f64 - middle;
        x2 += x * x;
        x4 += x.powi(4);
        y += log;
        xy += x * log;
        x2y += x * x * log;
    }
    let determinant = count * x4 - x2 * x2;
    if x2 == 0.0 || determinant == 0.0 {
        return None;
    }
    let bend = (count * x2y - x2 * y) / determinant;
    Some((xy / x2 + 2.0 * bend * middle, bend))
}

/// States on the rising side below the width of the last layer, where the widest is behind.
fn mirrored(widths: &[u64], logs: &[f64]) -> Option<f64> {
    let peak = (0..logs.len()).max_by(|&a, &b| logs[a].total_cmp(&logs[b]))?;
    let last = logs[logs.len() - 1];
    if last > logs[peak] + FALLEN.ln() {
        return None;
    }
    let narrower = (0..peak).rev().find(|&depth| logs[depth] <= last)?;
    Some(widths[..=narrower].iter().sum::<u64>() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Layers of a cube with `side` points along each of three edges, walked from a corner.
    fn cube(side: u64) -> Vec<u64> {
        let mut widths = vec![0; 3 * side as usize - 2];
        for x in 0..side {
            for y in 0..side {
                for z in 0..side {
                    widths[(x + y + z) as usize] += 1;
                }
            }
        }
        widths
    }

    #[test]
    fn a_bell_past_its_peak_is_guessed_within_a_factor_of_two() {
        let widths = cube(60);
        for seen in [110, 120, 140] {
            let left: u64 = widths[seen..].iter().sum();
            let guess = remaining(&widths[..seen], Some(1000.0)).expect("enough layers");
            let most = guess.new_states_most.expect("it falls");
            assert!(guess.new_states_least <= 2 * left && most * 2 >= left, "{left}: {guess:?}");
            assert!(most <= 10 * left, "{left}: {guess:?}");
            assert!(guess.seconds_least.expect("a rate") > 0.0);
        }
    }

    #[test]
    fn growth_without_a_bend_has_no_end_and_few_layers_no_estimate() {
        let doubling: Vec<u64> = (0..30).map(|n| 1 << n).collect();
        assert_eq!(remaining(&doubling, None), None);
        assert_eq!(remaining(&[1, 3, 6, 9, 6], None), None);
    }
}
