//! Where each scalar lies in the packed words. Nothing outside this file decides a bit position.
//!
//! The state is one large integer (see [`crate::state`]). Variables take it up from the most significant end in a
//! given order; inside a variable the first field or element is the most significant. Each *shape* has one relative
//! layout, wherever it stands, so that references and copies need no knowledge of the variable behind them, and an
//! array has one stride.

use crate::domain::{Domain, DomainId, Value};
use crate::expr::{Expr, Step};
use crate::shape::{Shape, ShapeId};
use crate::state::{get_bits, set_bits};
use crate::system::{System, VarId};

/// Positions of all scalars for one order of the variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    bits: u32,
    words: usize,
    order: Vec<VarId>,
    /// Offset of each variable's least significant bit.
    variables: Vec<u32>,
    shape_bits: Vec<u32>,
    slots: Vec<Slot>,
}

/// Where one scalar lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// Offset of its least significant bit in the state.
    pub offset: u32,
    /// How many bits it takes; 0 for a domain of one value.
    pub width: u32,
    /// Its domain.
    pub domain: DomainId,
}

/// A value that does not belong to its scalar's domain was to be packed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("scalar {slot} cannot hold {value:?}")]
pub struct OutsideDomain {
    /// Which scalar.
    pub slot: usize,
    /// What it was to hold.
    pub value: Option<Value>,
}

impl Layout {
    /// The layout in declaration order.
    pub fn natural(system: &System) -> Self {
        Self::ordered(system, (0..system.variables.len() as u32).map(VarId).collect())
    }

    /// The layout that places the variables in this order, the first most significant. `order` names each variable
    /// once.
    pub fn ordered(system: &System, order: Vec<VarId>) -> Self {
        assert_eq!(order.len(), system.variables.len(), "the order names each variable once");
        let mut shape_bits: Vec<u32> = Vec::new();
        for (_, shape) in system.shapes.iter() {
            let bits = match shape {
                Shape::Scalar(domain) => system.domains[*domain].bits(),
                Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                    // `Shapes` bounds the number of scalars by 2^20, so 64 bits each cannot overflow.
                    system.domains[*index].size() as u32 * shape_bits[element.0 as usize]
                }
                Shape::Record(fields) => fields.iter().map(|f| shape_bits[f.shape.0 as usize]).sum(),
            };
            shape_bits.push(bits);
        }
        let bits: u32 = system.variables.iter().map(|v| shape_bits[v.shape.0 as usize]).sum();
        let mut variables = vec![0; order.len()];
        let mut top = bits;
        for &var in &order {
            top -= shape_bits[system.variable(var).shape.0 as usize];
            variables[var.0 as usize] = top;
        }
        let words = bits.div_ceil(64).max(1) as usize;
        let mut layout = Layout { bits, words, order, variables, shape_bits, slots: Vec::new() };
        let mut slots = Vec::with_capacity(system.slot_count());
        for (variable, &offset) in system.variables.iter().zip(&layout.variables) {
            layout.place_slots(system, variable.shape, offset, &mut slots);
        }
        layout.slots = slots;
        layout
    }

    fn place_slots(&self, system: &System, shape: ShapeId, offset: u32, out: &mut Vec<Slot>) {
        match &system.shapes[shape] {
            Shape::Scalar(domain) => {
                out.push(Slot { offset, width: self.shape_bits(shape), domain: *domain })
            }
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                for position in 0..system.domains[*index].size() {
                    let inside = self.element_offset(system, shape, position);
                    self.place_slots(system, *element, offset + inside, out);
                }
            }
            Shape::Record(fields) => {
                for (n, field) in fields.iter().enumerate() {
                    self.place_slots(system, field.shape, offset + self.field_offset(system, shape, n), out);
                }
            }
        }
    }

    /// Bits of a state.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// Words of a state, at least one.
    pub fn words(&self) -> usize {
        self.words
    }

    /// The order of the variables, most significant first.
    pub fn order(&self) -> &[VarId] {
        &self.order
    }

    /// Bits a shape takes.
    pub fn shape_bits(&self, shape: ShapeId) -> u32 {
        self.shape_bits[shape.0 as usize]
    }

    /// Offset of a variable's least significant bit in the state.
    pub fn variable_offset(&self, var: VarId) -> u32 {
        self.variables[var.0 as usize]
    }

    /// Follows steps into a variable: the offset of what they lead to, and its shape. `index` is asked of each index with the
    /// domain of its values and the bits of an element, and gives what it adds to the offset now. `None` where a step does not
    /// suit its shape, or `index` says so.
    pub fn follow<'s>(
        &self,
        system: &'s System,
        (var, steps): (VarId, &'s [Step]),
        mut index: impl FnMut(&'s Expr, &'s Domain, u32) -> Option<u32>,
    ) -> Option<(u32, ShapeId)> {
        let mut shape = system.variable(var).shape;
        let mut offset = self.variable_offset(var);
        for step in steps {
            match (step, &system.shapes[shape]) {
                (Step::Field(n), Shape::Record(fields)) => {
                    offset += self.field_offset(system, shape, *n);
                    shape = fields[*n].shape;
                }
                (Step::Index(at), Shape::Array { index: domain, element }) => {
                    offset += index(at, &system.domains[*domain], self.shape_bits(*element))?;
                    shape = *element;
                }
                _ => return None,
            }
        }
        Some((offset, shape))
    }

    /// Offset of a record's n-th field from the least significant bit of the record.
    pub fn field_offset(&self, system: &System, record: ShapeId, field: usize) -> u32 {
        match &system.shapes[record] {
            Shape::Record(fields) => fields[field + 1..].iter().map(|f| self.shape_bits(f.shape)).sum(),
            _ => 0,
        }
    }

    /// Offset of the element at index position `position` from the least significant bit of the array:
    /// `(length - 1 - position) * stride`.
    pub fn element_offset(&self, system: &System, array: ShapeId, position: u64) -> u32 {
        match &system.shapes[array] {
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                (system.domains[*index].size() - 1 - position) as u32 * self.shape_bits(*element)
            }
            _ => 0,
        }
    }

    /// Every scalar of the state in slot order.
    pub fn slots(&self) -> &[Slot] {
        &self.slots
    }

    /// Packs the values of all slots.
    pub fn pack(
        &self,
        system: &System,
        values: &[Option<Value>],
        state: &mut [u64],
    ) -> Result<(), OutsideDomain> {
        state.fill(0);
        for (n, (slot, &value)) in self.slots.iter().zip(values).enumerate() {
            let code = system.domains[slot.domain].encode(value).ok_or(OutsideDomain { slot: n, value })?;
            set_bits(state, slot.offset, slot.width, code);
        }
        Ok(())
    }

    /// Whether these words are a state: every slot holds a code of its domain, and the bits beside them are 0.
    pub fn admits(&self, system: &System, state: &[u64]) -> bool {
        if state.len() != self.words {
            return false;
        }
        let beside = self.words as u32 * 64 - self.bits;
        let clear = beside == 0 || get_bits(state, self.bits, beside) == 0;
        clear
            && self.slots.iter().all(|slot| {
                let domain = &system.domains[slot.domain];
                let codes = u128::from(domain.size()) + u128::from(domain.undefined);
                u128::from(get_bits(state, slot.offset, slot.width)) < codes
            })
    }

    /// The value of one slot.
    pub fn value(&self, system: &System, state: &[u64], slot: usize) -> Option<Value> {
        let slot = &self.slots[slot];
        system.domains[slot.domain].decode(get_bits(state, slot.offset, slot.width))
    }

    /// The values of all slots.
    pub fn unpack(&self, system: &System, state: &[u64]) -> Vec<Option<Value>> {
        (0..self.slots.len()).map(|slot| self.value(system, state, slot)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Domain;
    use crate::system::{Role, Variable};

    #[test]
    fn words_are_a_state_where_every_scalar_has_a_code() {
        let mut system = System::default();
        for (name, domain) in [("three", Domain::range(0, 2, false)), ("maybe", Domain::range(5, 9, true))] {
            let domain = system.domains.add(domain);
            let shape = system.shapes.add(Shape::Scalar(domain), &system.domains).expect("few");
            let (name, span) = (name.into(), crate::source::Span::default());
            system.variables.push(Variable { name, shape, role: Role::Data, owner: None, span });
        }
        let layout = Layout::natural(&system);
        assert_eq!(layout.bits(), 5);
        let admitted: Vec<u64> = (0..64).filter(|&word| layout.admits(&system, &[word])).collect();
        let mut packed = Vec::new();
        for three in 0..3 {
            for maybe in [None, Some(5), Some(6), Some(7), Some(8), Some(9)] {
                let mut state = [0];
                layout.pack(&system, &[Some(three), maybe], &mut state).expect("in their domains");
                packed.push(state[0]);
            }
        }
        packed.sort_unstable();
        assert_eq!(admitted, packed);
        assert!(!layout.admits(&system, &[0, 0]) && !layout.admits(&system, &[]));
    }
}
