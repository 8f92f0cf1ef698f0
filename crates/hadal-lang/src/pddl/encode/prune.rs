//! Drops what can never happen: rows whose conditions are out of reach when nothing is undone, literals that never change.

use crate::pddl::ground::{GroundChange, GroundTask, Literal};

/// What an atom can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Truth {
    /// True in some states, false in others, as far as is known.
    Open,
    /// In every reachable state.
    Always,
    /// In none.
    Never,
}

/// Bytes that [`prune`] takes, about.
pub(crate) fn foreseen_bytes(task: &GroundTask) -> usize {
    let (mut units, mut literals, mut effects) = (task.rows.len() + task.rules.len(), 0, task.rules.len());
    for row in &task.rows {
        literals += row.needs.len();
        effects += row.effects.len();
        for effect in row.effects.iter().filter(|effect| !effect.when.is_empty()) {
            units += 1;
            effects += 1;
            literals += effect.when.len();
        }
    }
    literals += task.rules.iter().map(|(_, body)| body.len()).sum::<usize>();
    // Pairs as they are gathered, with room to grow, and the lists made of them.
    units * (size_of::<Unit>() + 8 + 4) + (literals + effects) * (16 + 4) + task.initial.len() * 2 * 13
}

/// Drops what can never happen from `task`; says what each atom can be.
pub(crate) fn prune(task: &mut GroundTask) -> Vec<Truth> {
    let reachable = Reachable::of(task);
    let truth: Vec<Truth> = (0..task.initial.len())
        .map(|atom| match (reachable.can(atom as u32, true), reachable.can(atom as u32, false)) {
            (false, _) => Truth::Never,
            (true, false) => Truth::Always,
            (true, true) => Truth::Open,
        })
        .collect();
    let possible = |literals: &[Literal]| {
        literals.iter().all(|literal| match literal {
            Literal::Atom(atom, positive) => reachable.can(*atom, *positive),
            Literal::Compare(_) => true,
        })
    };
    let open = |literal: &Literal| match literal {
        Literal::Atom(atom, _) => truth[*atom as usize] == Truth::Open,
        Literal::Compare(_) => true,
    };
    task.rows.retain_mut(|row| {
        if !possible(&row.needs) {
            return false;
        }
        row.needs.retain(open);
        row.effects.retain_mut(|effect| {
            let changes = match effect.change {
                GroundChange::Add(atom) | GroundChange::Delete(atom) => truth[atom as usize] == Truth::Open,
                GroundChange::Assign(..) | GroundChange::Increase(..) => true,
            };
            let happens = changes && possible(&effect.when);
            effect.when.retain(open);
            happens
        });
        !row.effects.is_empty()
    });
    task.rules.retain_mut(|(head, body)| {
        let fires = truth[*head as usize] == Truth::Open && possible(body);
        body.retain(open);
        fires
    });
    if task.goal.as_ref().is_some_and(|goal| !possible(goal)) {
        task.goal = None;
    }
    if let Some(goal) = &mut task.goal {
        goal.retain(open);
    }
    truth
}

/// Literals that are reachable when nothing is undone.
struct Reachable {
    literals: Vec<bool>,
}

/// A conjunction that waits for its literals, and what follows from it.
struct Unit<'a> {
    needs: &'a [Literal],
    waiting: u32,
}

fn code(atom: u32, positive: bool) -> usize {
    atom as usize * 2 + usize::from(positive)
}

impl Reachable {
    fn can(&self, atom: u32, positive: bool) -> bool {
        self.literals[code(atom, positive)]
    }

    fn of(task: &GroundTask) -> Self {
        let atoms = task.initial.len();
        let mut units: Vec<Unit> = Vec::with_capacity(task.rows.len() + task.rules.len());
        // What a unit gives: literals, and conditional effects (further units) that wait for it.
        let mut gives: Vec<(u32, u32)> = Vec::new();
        for row in &task.rows {
            let number = units.len() as u32;
            units.push(Unit { needs: &row.needs, waiting: 0 });
            for effect in &row.effects {
                let given = match effect.change {
                    GroundChange::Add(atom) => code(atom, true) as u32,
                    GroundChange::Delete(atom) => code(atom, false) as u32,
                    GroundChange::Assign(..) | GroundChange::Increase(..) => continue,
                };
                if effect.when.is_empty() {
                    gives.push((number, given));
                } else {
                    gives.push((number, (atoms * 2 + units.len()) as u32));
                    gives.push((units.len() as u32, given));
                    units.push(Unit { needs: &effect.when, waiting: 1 });
                }
            }
        }
        for (head, body) in &task.rules {
            gives.push((units.len() as u32, code(*head, true) as u32));
            units.push(Unit { needs: body, waiting: 0 });
        }
        let watch = units.iter().enumerate().flat_map(|(number, unit)| {
            unit.needs.iter().filter_map(move |literal| match literal {
                Literal::Atom(atom, positive) => Some((code(*atom, *positive) as u32, number as u32)),
                Literal::Compare(_) => None,
            })
        });
        let watchers = Lists::of(watch.collect(), atoms * 2);
        let given = Lists::of(gives, units.len());
        for unit in &mut units {
            unit.waiting += unit.needs.iter().filter(|need| matches!(need, Literal::Atom(..))).count() as u32;
        }
        let mut literals = vec![false; atoms * 2];
        let mut open: Vec<u32> = Vec::new();
        let reach = |literal: usize, literals: &mut Vec<bool>, open: &mut Vec<u32>| {
            if !std::mem::replace(&mut literals[literal], true) {
                open.push(literal as u32);
            }
        };
        for atom in 0..atoms {
            // A derived atom may be false until a rule gives it.
            let positive = task.initial[atom] && !task.derived[atom];
            reach(code(atom as u32, positive), &mut literals, &mut open);
        }
        let mut ready: Vec<u32> =
            (0..units.len() as u32).filter(|&number| units[number as usize].waiting == 0).collect();
        loop {
            while let Some(number) = ready.pop() {
                for &item in given.get(number) {
                    if (item as usize) < atoms * 2 {
                        reach(item as usize, &mut literals, &mut open);
                    } else {
                        let unit = item - (atoms * 2) as u32;
                        units[unit as usize].waiting -= 1;
                        if units[unit as usize].waiting == 0 {
                            ready.push(unit);
                        }
                    }
                }
            }
            let Some(literal) = open.pop() else { break };
            for &number in watchers.get(literal) {
                let unit = &mut units[number as usize];
                unit.waiting -= 1;
                if unit.waiting == 0 {
                    ready.push(number);
                }
            }
        }
        Reachable { literals }
    }
}

/// Lists of numbers, one after another.
pub(crate) struct Lists {
    starts: Vec<u32>,
    items: Vec<u32>,
}

impl Lists {
    /// The second parts of `pairs` by their first, which are below `count`.
    pub(crate) fn of(pairs: Vec<(u32, u32)>, count: usize) -> Self {
        let mut starts = vec![0u32; count + 1];
        for &(list, _) in &pairs {
            starts[list as usize + 1] += 1;
        }
        for list in 0..count {
            starts[list + 1] += starts[list];
        }
        let mut next = starts.clone();
        let mut items = vec![0; pairs.len()];
        for (list, item) in pairs {
            items[next[list as usize] as usize] = item;
            next[list as usize] += 1;
        }
        Lists { starts, items }
    }

    pub(crate) fn get(&self, list: u32) -> &[u32] {
        &self.items[self.starts[list as usize] as usize..self.starts[list as usize + 1] as usize]
    }
}
