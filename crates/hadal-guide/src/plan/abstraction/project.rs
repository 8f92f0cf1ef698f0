//! Projections on a few variables, the abstractions of pattern databases (Culberson and Schaeffer 1998; Edelkamp 2001).
//!
//! Conditional effects whose conditions lie within the pattern happen or not as they say; others may happen.

use super::fence::{Fence, Wanted, wanted};
use super::{Abstraction, Mapping, Transition};
use hadal_system::rows::{Change, Need};
use std::collections::HashMap;

/// Ways that one row may turn out in one abstract state.
const MOST_OUTCOMES: usize = 16;

/// What a row is in a projection.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Seen {
    needs: Vec<(u32, Wanted)>,
    effects: Vec<SeenEffect>,
}

/// An effect: which variable gets which value, under which conditions within the pattern, and whether there are others.
#[derive(Clone, PartialEq, Eq, Hash)]
struct SeenEffect {
    place: u32,
    value: u32,
    when: Vec<(u32, Wanted)>,
    certain: bool,
}

/// Projects a task on `pattern`, which ascends; `None` where that has more than `most` transitions, or says nothing.
pub(super) fn project(fence: &Fence, pattern: &[u32], most: usize) -> Option<Abstraction> {
    let task = fence.space.task();
    let mut factors = Vec::with_capacity(pattern.len());
    let mut states = 1u32;
    for &variable in pattern {
        factors.push(states);
        states = states.checked_mul(fence.sizes[variable as usize])?;
    }
    let place_of = |variable: u32| pattern.binary_search(&variable).ok().map(|place| place as u32);
    let within = |needs: &[Need]| -> Vec<(u32, Wanted)> {
        let mut seen: Vec<(u32, Wanted)> =
            wanted(needs).filter_map(|(variable, wanted)| Some((place_of(variable)?, wanted))).collect();
        seen.sort_unstable();
        seen
    };
    let mut rows: Vec<u32> =
        pattern.iter().flat_map(|&variable| fence.changed_by[variable as usize].iter().copied()).collect();
    rows.sort_unstable();
    rows.dedup();
    let mut numbers: HashMap<Seen, u32> = HashMap::new();
    let mut classes: Vec<Vec<u32>> = Vec::new();
    let mut kinds: Vec<Seen> = Vec::new();
    for row in rows {
        let at = &task.rows[row as usize];
        let effects = at.effects.iter().filter_map(|effect| match effect.change {
            Change::Set(variable, value) => {
                let place = place_of(variable)?;
                let when = within(&effect.when);
                Some(SeenEffect { place, value, certain: when.len() == effect.when.len(), when })
            }
            _ => None,
        });
        let seen = Seen { needs: within(&at.needs), effects: effects.collect() };
        let fresh = classes.len() as u32;
        let class = *numbers.entry(seen.clone()).or_insert(fresh);
        if class == fresh {
            classes.push(Vec::new());
            kinds.push(seen);
        }
        classes[class as usize].push(row);
    }
    let shape = Shape { sizes: pattern.iter().map(|&v| fence.sizes[v as usize]).collect(), factors };
    let mut transitions = Vec::new();
    for (seen, class) in kinds.iter().zip(0..) {
        shape.fire(seen, class, &mut transitions, most)?;
    }
    let goal = within(&task.goal);
    let mut goals = Vec::new();
    shape.each(&goal, |values| {
        goals.push(shape.number(values));
        true
    });
    let places = &fence.space.layout().finite;
    let initial = fence.space.initial();
    let parts =
        pattern.iter().zip(&shape.factors).map(|(&v, &factor)| (places[v as usize], factor)).collect();
    let mapping = Mapping::Projection(parts);
    let start = mapping.of(initial);
    Abstraction::new(mapping, (states, start), goals, classes, transitions)
}

struct Shape {
    sizes: Vec<u32>,
    factors: Vec<u32>,
}

impl Shape {
    fn number(&self, values: &[u32]) -> u32 {
        values.iter().zip(&self.factors).map(|(value, factor)| value * factor).sum()
    }

    /// Calls `found` with all values that meet `needs`, as long as it says so; says whether it always did.
    fn each(&self, needs: &[(u32, Wanted)], mut found: impl FnMut(&[u32]) -> bool) -> bool {
        let mut choices: Vec<Vec<u32>> = Vec::with_capacity(self.sizes.len());
        for (&size, place) in self.sizes.iter().zip(0..) {
            let allowed =
                |value: &u32| needs.iter().all(|&(of, wanted)| of != place || wanted.allows(*value));
            choices.push((0..size).filter(allowed).collect());
        }
        if choices.iter().any(Vec::is_empty) {
            return true;
        }
        let mut at = vec![0; choices.len()];
        let mut values: Vec<u32> = choices.iter().map(|choice| choice[0]).collect();
        loop {
            if !found(&values) {
                return false;
            }
            let Some(place) = (0..at.len()).find(|&place| at[place] + 1 < choices[place].len()) else {
                return true;
            };
            at[place] += 1;
            values[place] = choices[place][at[place]];
            for before in 0..place {
                at[before] = 0;
                values[before] = choices[before][0];
            }
        }
    }

    fn fire(&self, seen: &Seen, class: u32, transitions: &mut Vec<Transition>, most: usize) -> Option<()> {
        let mut ends: Vec<Vec<u32>> = Vec::new();
        let fits = self.each(&seen.needs, |values| {
            ends.clear();
            ends.push(values.to_vec());
            for effect in &seen.effects {
                if !effect.when.iter().all(|&(place, wanted)| wanted.allows(values[place as usize])) {
                    continue;
                }
                if !effect.certain {
                    ends.extend_from_within(..);
                }
                // Where it may happen, the second half is where it did.
                let from = if effect.certain { 0 } else { ends.len() / 2 };
                ends[from..].iter_mut().for_each(|end| end[effect.place as usize] = effect.value);
                ends.sort_unstable();
                ends.dedup();
                if ends.len() > MOST_OUTCOMES {
                    return false;
                }
            }
            let from = self.number(values);
            for end in &ends {
                let to = self.number(end);
                if to != from {
                    transitions.push(Transition { to, from, class });
                }
            }
            transitions.len() <= most
        });
        fits.then_some(())
    }
}
