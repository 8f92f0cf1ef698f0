//! Which states have probability 0 or 1, by graph search alone (de Alfaro 1997; Forejt et al. 2011, sec. 4.2).

use crate::graph::{Graph, Reverse};
use hadal_system::chance::Sense;

/// Of each state: is the probability 0, is it 1.
#[derive(Clone, Debug)]
pub struct Certain {
    /// Probability 0.
    pub zero: Vec<bool>,
    /// Probability 1.
    pub one: Vec<bool>,
}

/// The states with probability 0 or 1 of `through U target` under the best or worst choices.
pub fn certain(graph: &Graph, reverse: &Reverse, through: &[bool], target: &[bool], sense: Sense) -> Certain {
    match sense {
        Sense::Greatest => {
            let reach = can_reach(graph, reverse, through, target);
            let one = almost_surely(graph, reverse, through, target, &reach);
            Certain { zero: reach.iter().map(|r| !r).collect(), one }
        }
        Sense::Least => {
            let forced = must_touch(graph, reverse, through, target);
            let zero: Vec<bool> = forced.iter().map(|f| !f).collect();
            // Probability 1 whatever is chosen: no way leads past the target to where it can be avoided.
            let open: Vec<bool> = target.iter().map(|t| !t).collect();
            let escape = can_reach(graph, reverse, &open, &zero);
            let one = escape.iter().zip(target).map(|(e, t)| *t || !e).collect();
            Certain { zero, one }
        }
    }
}

/// States from which some way leads through `through` to `target`.
pub fn can_reach(graph: &Graph, reverse: &Reverse, through: &[bool], target: &[bool]) -> Vec<bool> {
    let mut found = target.to_vec();
    let mut open: Vec<u32> = (0..graph.states() as u32).filter(|&s| target[s as usize]).collect();
    while let Some(state) = open.pop() {
        for &choice in reverse.leading_to(state as usize) {
            let from = reverse.state_of[choice as usize] as usize;
            if !found[from] && through[from] {
                found[from] = true;
                open.push(from as u32);
            }
        }
    }
    found
}

/// States from which the target is reached with some probability, whatever is chosen.
fn must_touch(graph: &Graph, reverse: &Reverse, through: &[bool], target: &[bool]) -> Vec<bool> {
    let mut found = target.to_vec();
    let mut left: Vec<u32> = (0..graph.states()).map(|s| graph.choices_of(s).len() as u32).collect();
    let mut counted = vec![false; graph.choices()];
    let mut open: Vec<u32> = (0..graph.states() as u32).filter(|&s| target[s as usize]).collect();
    while let Some(state) = open.pop() {
        for &choice in reverse.leading_to(state as usize) {
            let from = reverse.state_of[choice as usize] as usize;
            if found[from] || !through[from] || std::mem::replace(&mut counted[choice as usize], true) {
                continue;
            }
            left[from] -= 1;
            if left[from] == 0 {
                found[from] = true;
                open.push(from as u32);
            }
        }
    }
    found
}

/// States from which some choices reach the target with probability 1.
fn almost_surely(
    graph: &Graph,
    reverse: &Reverse,
    through: &[bool],
    target: &[bool],
    within: &[bool],
) -> Vec<bool> {
    let mut safe = within.to_vec();
    // How many branches of a choice leave the safe states.
    let mut leaving: Vec<u32> = (0..graph.choices())
        .map(|c| graph.targets_of(c).iter().filter(|&&t| !safe[t as usize]).count() as u32)
        .collect();
    loop {
        let mut found = target.to_vec();
        let mut open: Vec<u32> = (0..graph.states() as u32).filter(|&s| target[s as usize]).collect();
        while let Some(state) = open.pop() {
            for &choice in reverse.leading_to(state as usize) {
                let from = reverse.state_of[choice as usize] as usize;
                if !found[from] && through[from] && leaving[choice as usize] == 0 {
                    found[from] = true;
                    open.push(from as u32);
                }
            }
        }
        let mut changed = false;
        for state in 0..graph.states() {
            if safe[state] && !found[state] {
                safe[state] = false;
                changed = true;
                for &choice in reverse.leading_to(state) {
                    leaving[choice as usize] += 1;
                }
            }
        }
        if !changed {
            return found;
        }
    }
}
