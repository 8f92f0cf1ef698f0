//! Atoms become values of finite variables: a group of atoms of which at most one is true is one variable.

use super::prune::Truth;
use crate::pddl::ground::{GroundTask, Literal};
use hadal_system::rows::{FiniteVariable, Need};

/// Where atoms are found in a state.
pub(crate) struct Variables {
    /// Their variables and values, or numbers of derived facts.
    pub(crate) place: Vec<Place>,
    /// The variables, by their atoms in order of values.
    pub(crate) groups: Vec<Vec<u32>>,
}

/// Where an atom is found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// It never changes.
    Constant(bool),
    /// It is true where this variable has this value.
    Value(u32, u32),
    /// It is this derived fact.
    Derived(u32),
}

/// A literal as a need, or decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Encoded {
    Decided(bool),
    Need(Need),
}

impl Variables {
    /// Covers the open atoms with `groups`, the largest first; each atom left is a variable of its own.
    pub(crate) fn cover(task: &GroundTask, truth: &[Truth], groups: Vec<Vec<u32>>) -> Self {
        let mut place: Vec<Option<Place>> = truth
            .iter()
            .map(|truth| match truth {
                Truth::Open => None,
                Truth::Always => Some(Place::Constant(true)),
                Truth::Never => Some(Place::Constant(false)),
            })
            .collect();
        let mut derived = 0;
        for (atom, place) in place.iter_mut().enumerate() {
            if place.is_none() && task.derived[atom] {
                *place = Some(Place::Derived(derived));
                derived += 1;
            }
        }
        let mut chosen: Vec<Vec<u32>> = Vec::new();
        let mut take = |atoms: Vec<u32>, place: &mut Vec<Option<Place>>| {
            for (value, &atom) in atoms.iter().enumerate() {
                place[atom as usize] = Some(Place::Value(chosen.len() as u32, value as u32));
            }
            chosen.push(atoms);
        };
        // A queue by size: a group is looked at again when it shrank since it was put in.
        let mut by_size: Vec<Vec<Vec<u32>>> = Vec::new();
        let put = |group: Vec<u32>, by_size: &mut Vec<Vec<Vec<u32>>>| {
            if by_size.len() <= group.len() {
                by_size.resize(group.len() + 1, Vec::new());
            }
            by_size[group.len()].push(group);
        };
        for group in groups.into_iter().rev() {
            put(group, &mut by_size);
        }
        while let Some(mut class) = by_size.pop() {
            if by_size.len() < 2 {
                break;
            }
            while let Some(mut group) = class.pop() {
                let size = group.len();
                group.retain(|&atom| place[atom as usize].is_none());
                if group.len() == size {
                    take(group, &mut place);
                } else if group.len() > 1 {
                    put(group, &mut by_size);
                }
            }
        }
        for atom in 0..truth.len() as u32 {
            if place[atom as usize].is_none() {
                take(vec![atom], &mut place);
            }
        }
        let place = place.into_iter().map(|place| place.unwrap_or(Place::Constant(false))).collect();
        Variables { place, groups: chosen }
    }

    /// The value of a variable that none of its atoms stands for.
    pub(crate) fn none_of(&self, variable: u32) -> u32 {
        self.groups[variable as usize].len() as u32
    }

    /// A literal over variables.
    pub(crate) fn encode(&self, literal: Literal) -> Encoded {
        let Literal::Atom(atom, positive) = literal else {
            let Literal::Compare(number) = literal else { return Encoded::Decided(true) };
            return Encoded::Need(Need::Compares(number));
        };
        match (self.place[atom as usize], positive) {
            (Place::Constant(value), positive) => Encoded::Decided(value == positive),
            (Place::Value(variable, value), true) => Encoded::Need(Need::Is(variable, value)),
            (Place::Value(variable, value), false) if self.none_of(variable) == 1 => {
                Encoded::Need(Need::Is(variable, 1 - value))
            }
            (Place::Value(variable, value), false) => Encoded::Need(Need::IsNot(variable, value)),
            (Place::Derived(fact), true) => Encoded::Need(Need::Derived(fact)),
            (Place::Derived(fact), false) => Encoded::Need(Need::NotDerived(fact)),
        }
    }

    /// The variables with names and their values at the start.
    pub(crate) fn describe(&self, task: &GroundTask) -> Vec<FiniteVariable> {
        self.groups
            .iter()
            .map(|atoms| {
                let mut values: Vec<String> = atoms.iter().map(|&atom| atom_name(task, atom)).collect();
                let name = match values.as_slice() {
                    [only] => only.clone(),
                    [first, ..] => format!("{first} or {} others", values.len() - 1),
                    [] => String::new(),
                };
                let initial = atoms.iter().position(|&atom| task.initial[atom as usize]);
                values.push(match values.as_slice() {
                    [only] => format!("(not {only})"),
                    _ => "none of these".to_string(),
                });
                FiniteVariable { name, initial: initial.unwrap_or(atoms.len()) as u32, values }
            })
            .collect()
    }
}

/// An atom as PDDL writes it.
pub(crate) fn atom_name(task: &GroundTask, atom: u32) -> String {
    let builder = &task.builder;
    if atom >= builder.atom_count {
        return format!("(choice-{})", atom - builder.atom_count);
    }
    let (predicate, tuple) = builder.atom(atom);
    written(&builder.task.predicates[predicate as usize].name, tuple, &builder.task.universe.objects)
}

/// A symbol with its arguments.
pub(crate) fn written(name: &str, tuple: &[u32], objects: &[String]) -> String {
    let mut text = format!("({name}");
    for &object in tuple {
        text.push(' ');
        text.push_str(&objects[object as usize]);
    }
    text.push(')');
    text
}
