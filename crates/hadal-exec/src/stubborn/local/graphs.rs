//! Control graphs, by what groups demand and leave: who can still get where while another process does not move.

use crate::stubborn::build::Build;
use crate::stubborn::precondition::allowed;
use crate::stubborn::print::Print;
use crate::stubborn::rows::members;
use hadal_system::facts::SlotSet;
use std::collections::HashMap;

/// Locations of more bits than this are not looked at place by place.
pub(super) const MAX_BITS: u32 = 8;

/// What can be told of a group that must not come before a process moves.
#[derive(Clone)]
pub(super) enum Apart {
    /// It does not.
    Never,
    /// Not while the process with this number stands at one of the places.
    While(usize, Vec<u64>),
    /// It may.
    May,
}

/// The control graphs, by what groups demand and leave.
pub(super) struct Graphs {
    /// By process: codes of its locations, and per group that asks for or changes it the codes before and after.
    pub(super) processes: Vec<Graph>,
}

pub(super) struct Graph {
    pub(super) words: usize,
    /// By group: the codes among which it demands the process to be.
    pub(super) demanded: HashMap<usize, Vec<u64>>,
    /// Groups that may move it, with the codes from where and to where.
    moves: Vec<(usize, Vec<u64>, Vec<u64>)>,
}

impl Graphs {
    pub(super) fn of(build: &Build, prints: &[Print]) -> Self {
        let processes = (build.locations.iter().enumerate())
            .map(|(process, &location)| {
                let place = &build.layout.slots()[location as usize];
                let domain = &build.system.domains[place.domain];
                let has_death = !domain.undefined && domain.min() == 0;
                if place.width > MAX_BITS {
                    return Graph { words: 0, demanded: HashMap::new(), moves: Vec::new() };
                }
                let words = (1usize << place.width).div_ceil(64);
                let codes = |holds: &dyn Fn(u64) -> bool| {
                    let mut row = vec![0u64; words];
                    (0..1u64 << place.width)
                        .filter(|&code| holds(code))
                        .for_each(|code| row[code as usize / 64] |= 1 << (code % 64));
                    row
                };
                let demanded = prints.iter().enumerate().filter_map(|(n, print)| {
                    let from = allowed(domain, print.facts.precondition(location)?);
                    Some((n, codes(&|code| from.has(code))))
                });
                let demanded: HashMap<usize, Vec<u64>> = demanded.collect();
                let moves = build.writers(&SlotSet::range(location, location + 1)).map(|(n, print)| {
                    let living = build.writes_while_living(n, process, location);
                    let from = match demanded.get(&n) {
                        Some(from) => from.clone(),
                        None => codes(&|code| living || !has_death || code == 0),
                    };
                    let to = match print.facts.result(location) {
                        Some(values) => {
                            let to = allowed(domain, values);
                            codes(&|code| to.has(code))
                        }
                        None => codes(&|_| true),
                    };
                    (n, from, to)
                });
                let moves = moves.collect();
                Graph { words, demanded, moves }
            })
            .collect();
        Graphs { processes }
    }

    /// What is known of a group that does not ask where process `p` stands, as long as that does not move.
    pub(super) fn apart(&self, group: usize, p: usize, reach: &mut HashMap<usize, Vec<Vec<u64>>>) -> Apart {
        let mut best: Option<(usize, Vec<u64>)> = None;
        for (q, graph) in self.processes.iter().enumerate() {
            let Some(at) = graph.demanded.get(&group).filter(|_| q != p) else { continue };
            let away = self.away(q, at, p, reach);
            let size = |row: &[u64]| row.iter().map(|word| word.count_ones()).sum::<u32>();
            if best.as_ref().is_none_or(|(_, known)| size(known) < size(&away)) {
                best = Some((q, away));
            }
        }
        match best {
            Some((_, away)) if away.iter().all(|word| *word == u64::MAX) => Apart::Never,
            Some((q, away)) => Apart::While(q, away),
            None => Apart::May,
        }
    }

    /// From where process `q` does not get to one of these places while `p` does not move.
    pub(super) fn away(
        &self,
        q: usize,
        at: &[u64],
        p: usize,
        reach: &mut HashMap<usize, Vec<Vec<u64>>>,
    ) -> Vec<u64> {
        let graph = &self.processes[q];
        let reach = reach.entry(q).or_insert_with(|| graph.reach_without(&self.processes[p]));
        let mut away = vec![0u64; graph.words];
        for (code, reached) in reach.iter().enumerate() {
            if reached.iter().zip(at).all(|(reached, at)| reached & at == 0) {
                away[code / 64] |= 1 << (code % 64);
            }
        }
        away
    }
}

impl Graph {
    /// Whether something may bring the process to life that does not ask where it stands.
    pub(super) fn is_born(&self) -> bool {
        self.moves.iter().any(|(group, ..)| !self.demanded.contains_key(group))
    }

    /// Whether something may move the process that does not ask where it stands, other than bringing it to life.
    pub(super) fn is_moved_unasked(&self) -> bool {
        let living = |from: &[u64]| from.iter().enumerate().any(|(at, word)| word & !u64::from(at == 0) != 0);
        self.moves.iter().any(|(group, from, _)| !self.demanded.contains_key(group) && living(from))
    }

    /// By code, where the process may get from there while `p` does not move.
    fn reach_without(&self, p: &Graph) -> Vec<Vec<u64>> {
        let count = self.words * 64;
        let mut next: Vec<Vec<u64>> = vec![vec![0; self.words]; count];
        for (group, from, to) in &self.moves {
            if !p.demanded.contains_key(group) {
                for code in members(from) {
                    next[code].iter_mut().zip(to).for_each(|(next, to)| *next |= to);
                }
            }
        }
        let from = |start: usize| {
            let mut reached = vec![0u64; self.words];
            reached[start / 64] |= 1 << (start % 64);
            let mut open = vec![start];
            while let Some(code) = open.pop() {
                for word in 0..self.words {
                    let mut fresh = next[code][word] & !reached[word];
                    reached[word] |= fresh;
                    while fresh != 0 {
                        open.push(word * 64 + fresh.trailing_zeros() as usize);
                        fresh &= fresh - 1;
                    }
                }
            }
            reached
        };
        (0..count).map(from).collect()
    }
}
