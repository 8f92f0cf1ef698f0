//! Which values each scalar of the state can have, as far as is known.
//!
//! Scalars are the variables of the abstract task, but for those of a multiset: its elements change places, so that one
//! variable stands for the same scalar of all elements. A variable with too many values is *wide*: nothing is known of it.

use super::bits::{Bits, MAX_VALUES};
use hadal_system::{DomainId, Shape, ShapeId, System, Value};
use std::rc::Rc;

/// A scalar's value; `None` is undefined.
pub type Scalar = Option<Value>;

/// The possible values of one variable.
#[derive(Clone, Debug)]
pub struct Possible {
    /// The scalars it stands for.
    pub slots: Vec<u32>,
    /// Their domain.
    pub domain: DomainId,
    /// The values, in the order in which they were found; sorted once all are known.
    pub values: Rc<[Scalar]>,
    /// The places of all of them.
    pub whole: Bits,
    /// Whether it may have any value of its domain, none told apart.
    pub wide: bool,
    /// Whether every value of the domain is possible.
    pub full: bool,
    /// Whether it is part of a multiset: its scalars change places and are forgotten in absent elements.
    pub loose: bool,
    /// How often a value was added.
    pub growth: u32,
}

/// The variables and their possible values.
#[derive(Clone, Debug)]
pub struct Universe {
    /// The variable of each scalar.
    pub var_of: Vec<u32>,
    /// By variable.
    pub vars: Vec<Possible>,
    /// Outermost multisets, ascending.
    pub multisets: Vec<Multiset>,
}

/// A multiset of the state. Its elements are brought into order after every transition, and what an absent one held is
/// forgotten.
#[derive(Clone, Debug)]
pub struct Multiset {
    /// Its first scalar and the one after its last.
    pub slots: (u32, u32),
    /// A scalar of each variable that its elements' values consist of, with what it is in an absent one.
    pub blanks: Vec<(u32, Scalar)>,
}

/// After so many additions a variable gets all values of its domain at once.
const MAX_GROWTH: u32 = 40;

impl Possible {
    fn set(&mut self, values: impl Iterator<Item = Scalar>) {
        self.values = values.collect();
        self.whole = Bits::below(self.values.len());
    }

    /// Whether it has every value there can be, or none are told apart.
    pub fn is_whole(&self) -> bool {
        self.wide || self.full
    }

    fn widen(&mut self) {
        self.wide = true;
        self.set(std::iter::empty());
    }
}

impl Universe {
    /// Variables without any possible value yet.
    pub fn empty(system: &System) -> Self {
        let mut universe = Universe { var_of: Vec::new(), vars: Vec::new(), multisets: Vec::new() };
        for variable in &system.variables {
            universe.add_shape(system, variable.shape);
        }
        universe
    }

    /// Notes a multiset that has just been added; those inside it go with it.
    fn note_multiset(&mut self, system: &System, first: u32, element: usize) {
        let end = self.var_of.len() as u32;
        for slot in first..end {
            self.vars[self.var_of[slot as usize] as usize].loose = true;
        }
        self.multisets.retain(|inner| inner.slots.0 < first);
        // The first scalar of an element says whether it is there.
        let values = first + 1..(first + element as u32).min(end);
        let blank = |slot: u32| {
            let domain = &system.domains[self.of_slot(slot).domain];
            if domain.undefined { None } else { Some(domain.min()) }
        };
        let blanks = values.map(|slot| (slot, blank(slot))).collect();
        self.multisets.push(Multiset { slots: (first, end), blanks });
    }

    /// The multisets that some of these scalars are in.
    pub fn multisets_of<'a>(&'a self, slots: &'a [u32]) -> impl Iterator<Item = &'a Multiset> {
        let touches = |m: &&Multiset| slots.iter().any(|&slot| m.slots.0 <= slot && slot < m.slots.1);
        self.multisets.iter().filter(touches)
    }

    fn add_shape(&mut self, system: &System, shape: ShapeId) {
        match &system.shapes[shape] {
            Shape::Scalar(domain) => {
                let slot = self.var_of.len() as u32;
                self.var_of.push(self.vars.len() as u32);
                self.vars.push(Possible {
                    slots: vec![slot],
                    domain: *domain,
                    values: Rc::new([]),
                    whole: Bits::default(),
                    wide: false,
                    full: false,
                    loose: false,
                    growth: 0,
                });
            }
            Shape::Record(fields) => fields.iter().for_each(|field| self.add_shape(system, field.shape)),
            Shape::Array { index, element } => {
                (0..system.domains[*index].size()).for_each(|_| self.add_shape(system, *element));
            }
            Shape::Multiset { slots, element } => {
                let first_var = self.vars.len() as u32;
                let first_slot = self.var_of.len() as u32;
                for position in 0..system.domains[*slots].size() {
                    if position == 0 {
                        self.add_shape(system, *element);
                    } else {
                        for n in 0..system.shapes.slots(*element) as u32 {
                            // A multiset inside the element repeats its own variables in the same order.
                            let like = self.var_of.len() - system.shapes.slots(*element);
                            let var = self.var_of[like];
                            debug_assert!(var >= first_var, "{n}");
                            self.vars[var as usize].slots.push(self.var_of.len() as u32);
                            self.var_of.push(var);
                        }
                    }
                }
                self.note_multiset(system, first_slot, system.shapes.slots(*element));
            }
        }
    }

    /// The variable of a scalar.
    pub fn of_slot(&self, slot: u32) -> &Possible {
        &self.vars[self.var_of[slot as usize] as usize]
    }

    /// Adds a possible value; whether it is new.
    pub fn add(&mut self, system: &System, var: u32, value: Scalar) -> bool {
        let possible = &mut self.vars[var as usize];
        if possible.wide || possible.full || possible.values.contains(&value) {
            return false;
        }
        possible.growth += 1;
        if possible.growth > MAX_GROWTH {
            return self.add_all(system, var);
        }
        let values = possible.values.clone();
        possible.set(values.iter().copied().chain([value]));
        true
    }

    /// Takes over the values of a first sight, however many: they do not count as growth.
    pub fn seed(&mut self, var: u32, value: Scalar) {
        let possible = &mut self.vars[var as usize];
        if possible.wide || possible.values.contains(&value) {
            return;
        }
        if possible.values.len() == MAX_VALUES {
            possible.widen();
        } else {
            let values = possible.values.clone();
            possible.set(values.iter().copied().chain([value]));
        }
    }

    /// Adds every value of the domain; whether something is new.
    pub fn add_all(&mut self, system: &System, var: u32) -> bool {
        let possible = &mut self.vars[var as usize];
        if possible.wide || possible.full {
            return false;
        }
        let domain = &system.domains[possible.domain];
        let codes = domain.size().saturating_add(u64::from(domain.undefined));
        if possible.values.len() as u64 == codes {
            possible.full = true;
            return false;
        }
        if codes > MAX_VALUES as u64 {
            possible.widen();
        } else {
            let undefined = domain.undefined.then_some(None);
            possible.set(undefined.into_iter().chain(domain.values().map(Some)));
            possible.full = true;
        }
        true
    }

    /// Brings the values into ascending order, undefined first. What was said by number before means something else now.
    pub fn sort(&mut self) {
        for possible in &mut self.vars {
            let mut values = possible.values.to_vec();
            values.sort_unstable();
            possible.values = values.into();
        }
    }
}
