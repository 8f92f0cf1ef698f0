//! Groups of atoms of which exactly one is true in every reachable state, found as invariants of schemas.
//!
//! Candidates and their refinement follow Helmert 2009, "Concise finite-domain representations for PDDL planning tasks",
//! sec. 5: atoms that agree in some arguments, at most one further argument being counted. The proof is different: each
//! instance of a candidate is checked against the ground rows, so an invariant may hold for some objects only, and what
//! unreachable instances of a schema would break breaks nothing.

use super::prune::{Lists, Truth};
use crate::pddl::ground::{GroundChange, GroundEffect, GroundRow, GroundTask, Literal, Relation};
use std::collections::{HashSet, VecDeque};

/// Candidates looked at.
const MAX_CANDIDATES: usize = 300;
/// Effects looked at, over all candidates.
const MAX_WORK: u64 = 400_000_000;
/// Ways to match the arguments of a part with an instance; where an object stands in many places there is one for every
/// permutation of them.
const MAX_ORDERS: usize = 64;
const NONE: u32 = u32::MAX;

/// One predicate of a candidate: which arguments name the instance, which one is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Part {
    predicate: u32,
    order: Vec<u8>,
}

/// Parts with different predicates and equally many arguments that name an instance.
type Candidate = Vec<Part>;

/// The groups, by candidate, then instance.
pub(crate) fn groups(task: &GroundTask, truth: &[Truth]) -> Vec<Vec<u32>> {
    let mut finder = Finder::new(task, truth);
    let mut queue: VecDeque<Candidate> = VecDeque::new();
    let mut seen: HashSet<Candidate> = HashSet::new();
    for predicate in 0..task.builder.base.len() as u32 {
        if finder.adders[predicate as usize].is_empty() && finder.atoms_of(predicate).is_empty() {
            continue;
        }
        let arity = task.builder.facts.relations[predicate as usize].arity() as u8;
        let all: Vec<u8> = (0..arity).collect();
        let uncounted = std::iter::once(all.clone());
        let counted = (0..arity).map(|counted| all.iter().copied().filter(|&at| at != counted).collect());
        for order in uncounted.chain(counted) {
            let candidate = vec![Part { predicate, order }];
            if seen.insert(candidate.clone()) {
                queue.push_back(candidate);
            }
        }
    }
    let mut groups = Vec::new();
    let mut looked_at = 0;
    while let Some(candidate) = queue.pop_front() {
        looked_at += 1;
        if looked_at > MAX_CANDIDATES || finder.work > MAX_WORK {
            break;
        }
        for refined in finder.check(&candidate, &mut groups) {
            if seen.insert(refined.clone()) {
                queue.push_back(refined);
            }
        }
    }
    groups
}

/// Drops rows and effects that need two atoms of one group; says whether there were any.
pub(crate) fn drop_excluded(task: &mut GroundTask, groups: &[Vec<u32>]) -> bool {
    let pairs = groups
        .iter()
        .enumerate()
        .flat_map(|(group, atoms)| atoms.iter().map(move |&atom| (atom, group as u32)));
    let groups_of = Lists::of(pairs.collect(), task.initial.len());
    let mut seen: Vec<u32> = Vec::new();
    let mut excluded = |literals: &[&[Literal]]| {
        seen.clear();
        for literal in literals.iter().copied().flatten() {
            if let Literal::Atom(atom, true) = literal {
                seen.extend(groups_of.get(*atom));
            }
        }
        seen.sort_unstable();
        seen.windows(2).any(|pair| pair[0] == pair[1])
    };
    let before = task.rows.len();
    let mut dropped = false;
    task.rows.retain_mut(|row| {
        if excluded(&[&row.needs]) {
            return false;
        }
        let effects = row.effects.len();
        row.effects.retain(|effect| effect.when.is_empty() || !excluded(&[&row.needs, &effect.when]));
        dropped |= effects != row.effects.len();
        !row.effects.is_empty()
    });
    task.rules.retain(|(_, body)| !excluded(&[body]));
    dropped || before != task.rows.len()
}

struct Finder<'a> {
    task: &'a GroundTask<'a>,
    truth: &'a [Truth],
    /// Rows and effects that add an atom of each predicate.
    adders: Vec<Vec<(u32, u32)>>,
    /// The predicate of each atom.
    predicate: Vec<u32>,
    /// The instance of each atom under the candidate that is being checked.
    instance: Vec<u32>,
    work: u64,
}

impl<'a> Finder<'a> {
    fn new(task: &'a GroundTask, truth: &'a [Truth]) -> Self {
        let builder = &task.builder;
        let mut predicate = vec![NONE; truth.len()];
        for number in 0..builder.base.len() {
            if let (Some(base), false) = (builder.base[number], builder.task.predicates[number].derived) {
                let atoms = base as usize..(base + builder.facts.relations[number].len()) as usize;
                predicate[atoms].fill(number as u32);
            }
        }
        let mut adders = vec![Vec::new(); builder.base.len()];
        for (row_number, row) in task.rows.iter().enumerate() {
            for (number, effect) in row.effects.iter().enumerate() {
                if let GroundChange::Add(atom) = effect.change {
                    adders[predicate[atom as usize] as usize].push((row_number as u32, number as u32));
                }
            }
        }
        Finder { task, truth, adders, predicate, instance: vec![NONE; truth.len()], work: 0 }
    }

    fn atoms_of(&self, predicate: u32) -> std::ops::Range<u32> {
        let builder = &self.task.builder;
        match builder.base[predicate as usize] {
            Some(base) if !builder.task.predicates[predicate as usize].derived => {
                base..base + builder.facts.relations[predicate as usize].len()
            }
            _ => 0..0,
        }
    }

    /// Adds the groups that `candidate` proves; where it fails, what might mend it.
    fn check(&mut self, candidate: &Candidate, groups: &mut Vec<Vec<u32>>) -> Vec<Candidate> {
        let mut keys = Relation::new(candidate[0].order.len());
        let mut members: Vec<Vec<u32>> = Vec::new();
        let mut weight: Vec<u32> = Vec::new();
        let mut key = Vec::new();
        for part in candidate {
            for atom in self.atoms_of(part.predicate).filter(|&atom| self.truth[atom as usize] == Truth::Open)
            {
                let (_, tuple) = self.task.builder.atom(atom);
                key.clear();
                key.extend(part.order.iter().map(|&at| tuple[at as usize]));
                let instance = keys.find(&key).or_else(|| keys.insert(&key)).unwrap_or(NONE);
                if instance as usize == members.len() {
                    members.push(Vec::new());
                    weight.push(0);
                }
                members[instance as usize].push(atom);
                weight[instance as usize] += u32::from(self.task.initial[atom as usize]);
                self.instance[atom as usize] = instance;
            }
        }
        // A further part may raise the weight at the start to 1, none lowers it.
        let mut fit: Vec<bool> = weight.iter().map(|&weight| weight <= 1).collect();
        let total = fit.iter().filter(|&&fit| fit).count();
        let mut left = total;
        let mut refined = Vec::new();
        'parts: for part in candidate {
            for at in 0..self.adders[part.predicate as usize].len() {
                if left * 2 < total || left == 0 {
                    left = 0;
                    break 'parts;
                }
                let (row, effect) = self.adders[part.predicate as usize][at];
                let row = &self.task.rows[row as usize];
                let GroundChange::Add(atom) = row.effects[effect as usize].change else { continue };
                let instance = self.instance[atom as usize];
                if instance == NONE || !fit[instance as usize] {
                    continue;
                }
                self.work += row.effects.len() as u64;
                let failure = self.failure(row, effect as usize, instance);
                if let Some(failure) = failure.filter(|_| !self.needs_two(row, effect as usize, instance)) {
                    fit[instance as usize] = false;
                    left -= 1;
                    if refined.is_empty() && failure == Failure::Unbalanced {
                        refined = self.refine(candidate, row, effect as usize, keys.tuple(instance));
                    }
                }
            }
        }
        for part in candidate {
            for atom in self.atoms_of(part.predicate) {
                self.instance[atom as usize] = NONE;
            }
        }
        if left > 0 {
            groups.extend(
                members
                    .into_iter()
                    .zip(fit)
                    .filter(|(atoms, fit)| *fit && atoms.len() > 1)
                    .map(|(atoms, _)| atoms),
            );
        }
        refined
    }

    /// Whether the add at `effect` of `row` may raise the number of true atoms of its instance.
    fn failure(&self, row: &GroundRow, effect: usize, instance: u32) -> Option<Failure> {
        let add = &row.effects[effect];
        let GroundChange::Add(atom) = add.change else { return None };
        let mut balanced = self.known(row, add, atom);
        for other in &row.effects {
            match other.change {
                GroundChange::Add(also)
                    if also != atom
                        && self.instance[also as usize] == instance
                        && !exclude(&other.when, &add.when) =>
                {
                    return Some(Failure::Heavy);
                }
                GroundChange::Delete(gone) if !balanced && self.instance[gone as usize] == instance => {
                    balanced = self.known(row, add, gone)
                        && other.when.iter().all(|need| row.needs.contains(need) || add.when.contains(need));
                }
                _ => {}
            }
        }
        (!balanced).then_some(Failure::Unbalanced)
    }

    /// Whether the effect happens only where two atoms of the instance are true: never, as long as the invariant holds.
    fn needs_two(&self, row: &GroundRow, effect: usize, instance: u32) -> bool {
        let needed = row.needs.iter().chain(&row.effects[effect].when);
        let mut first = NONE;
        needed.into_iter().any(|literal| match literal {
            Literal::Atom(atom, true) if self.instance[*atom as usize] == instance && *atom != first => {
                std::mem::replace(&mut first, *atom) != NONE
            }
            _ => false,
        })
    }

    /// Whether `atom` is true whenever `effect` happens.
    fn known(&self, row: &GroundRow, effect: &GroundEffect, atom: u32) -> bool {
        let literal = Literal::Atom(atom, true);
        row.needs.binary_search(&literal).is_ok() || effect.when.contains(&literal)
    }

    /// Candidates with one more part, which counts an atom that the row certainly deletes.
    fn refine(&self, candidate: &Candidate, row: &GroundRow, effect: usize, key: &[u32]) -> Vec<Candidate> {
        let add = &row.effects[effect];
        let mut list = Vec::new();
        for other in &row.effects {
            let GroundChange::Delete(gone) = other.change else { continue };
            let predicate = self.predicate[gone as usize];
            if candidate.iter().any(|part| part.predicate == predicate) || !self.known(row, add, gone) {
                continue;
            }
            let (_, tuple) = self.task.builder.atom(gone);
            if tuple.len() != key.len() && tuple.len() != key.len() + 1 {
                continue;
            }
            let mut orders = vec![Vec::new()];
            for &object in key {
                orders = orders
                    .iter()
                    .flat_map(|order: &Vec<u8>| {
                        (0..tuple.len() as u8)
                            .filter(|at| tuple[*at as usize] == object && !order.contains(at))
                            .map(|at| [order.as_slice(), &[at]].concat())
                    })
                    .take(MAX_ORDERS)
                    .collect();
            }
            for order in orders {
                let mut refined = candidate.clone();
                refined.push(Part { predicate, order });
                refined.sort_unstable();
                list.push(refined);
            }
        }
        list
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Failure {
    /// Two atoms may be added together.
    Heavy,
    /// No atom is certainly deleted.
    Unbalanced,
}

/// Whether two conditions demand an atom both ways.
fn exclude(left: &[Literal], right: &[Literal]) -> bool {
    left.iter().any(|literal| match literal {
        Literal::Atom(atom, positive) => right.contains(&Literal::Atom(*atom, !positive)),
        Literal::Compare(_) => false,
    })
}
