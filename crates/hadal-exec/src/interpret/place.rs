//! Resolving places to slots, and reading, writing and naming what stands there.

use hadal_system::{Base, LocalId, LocalKind, Place, Shape, Span, Step, Value};

use super::memory::{Scalar, SlotPlace, Store, name_of_part};
use super::{Execution, Stop};
use crate::fault::{FaultKind, describe_domain};

impl Execution<'_, '_> {
    /// Walks the path, evaluating and checking its indices from left to right.
    pub(super) fn resolve(&mut self, place: &Place) -> Result<SlotPlace, Stop> {
        let system = self.code.system;
        let mut at = self.resolve_base(place.base);
        for (n, step) in place.steps.iter().enumerate() {
            match (step, &system.shapes[at.shape]) {
                (Step::Field(field), Shape::Record(fields)) => {
                    at.slot += system.shapes.field_slot(fields, *field);
                    at.shape = fields[*field].shape;
                }
                (Step::Index(index), Shape::Array { index: domain, element })
                | (Step::Index(index), Shape::Multiset { slots: domain, element }) => {
                    let value = self.value(index)?;
                    let Some(position) = system.domains[*domain].position(value) else {
                        return Err(self.index_fault(place, n, at, value));
                    };
                    at.slot += position as usize * system.shapes.slots(*element);
                    at.shape = *element;
                }
                (step, shape) => unreachable!("a well-formed place has no step {step:?} into {shape:?}"),
            }
        }
        Ok(at)
    }

    fn resolve_base(&self, base: Base) -> SlotPlace {
        let system = self.code.system;
        match base {
            Base::Global(var) => SlotPlace {
                store: Store::State,
                slot: self.code.first_slots[var.0 as usize],
                shape: system.variable(var).shape,
            },
            Base::Local(LocalId(n)) => {
                let depth = self.frames.len() - 1;
                let (frame, n) = (&self.frames[depth], n as usize);
                match frame.plan.locals[n].kind {
                    LocalKind::Reference => {
                        // A well-formed system uses a reference only inside its `Bind`, or as a parameter.
                        frame.references[n].expect("a reference is bound before it is used")
                    }
                    LocalKind::Bound | LocalKind::Variable => SlotPlace {
                        store: Store::Frame(depth),
                        slot: frame.plan.first[n],
                        shape: frame.plan.locals[n].shape,
                    },
                }
            }
        }
    }

    /// Every scalar below a target, noting that the state's were read.
    pub(super) fn contents(&mut self, target: SlotPlace) -> Vec<Scalar> {
        let count = self.code.system.shapes.slots(target.shape);
        let slots = target.slot..target.slot + count;
        match target.store {
            Store::State => {
                if let Some(read) = &mut self.notes.read {
                    read.extend(slots.clone());
                }
                self.state[slots].to_vec()
            }
            Store::Frame(depth) => self.frames[depth].slots[slots].to_vec(),
        }
    }

    /// The scalar at a target, noting that the state's was read.
    pub(super) fn scalar(&mut self, target: SlotPlace) -> Scalar {
        match target.store {
            Store::State => {
                if let Some(read) = &mut self.notes.read {
                    read.push(target.slot);
                }
                self.state[target.slot]
            }
            Store::Frame(depth) => self.frames[depth].slots[target.slot],
        }
    }

    /// Reads a scalar that must be defined.
    pub(super) fn read(&mut self, place: &Place) -> Result<Value, Stop> {
        let target = self.resolve(place)?;
        match self.scalar(target) {
            Some(value) => Ok(value),
            None => {
                let message = format!("`{}` is undefined here", self.name(target));
                Err(self.fault(FaultKind::Undefined, place.span, message))
            }
        }
    }

    /// Writes a scalar; the value must lie in its domain.
    pub(super) fn write(&mut self, target: SlotPlace, value: Value, span: Span) -> Result<(), Stop> {
        let system = self.code.system;
        // Only scalars are assigned in a well-formed system.
        let domain = system.shapes.scalar(target.shape).expect("an assigned place is a scalar");
        if !system.domains[domain].contains(value) {
            let message = format!(
                "`{}`: value {value} is outside {}",
                self.name(target),
                describe_domain(&system.domains, domain)
            );
            return Err(self.fault(FaultKind::Range, span, message));
        }
        self.set(target.store, target.slot, Some(value));
        Ok(())
    }

    /// Writes a scalar that is known to fit.
    pub(super) fn set(&mut self, store: Store, slot: usize, value: Scalar) {
        match store {
            Store::State => self.state[slot] = value,
            Store::Frame(depth) => self.frames[depth].slots[slot] = value,
        }
    }

    /// The path name of a target: `cache[2].state`.
    pub(super) fn name(&self, target: SlotPlace) -> String {
        let system = self.code.system;
        match target.store {
            Store::State => {
                let var = self.code.first_slots.partition_point(|&first| first <= target.slot) - 1;
                let variable = &system.variables[var];
                let inside = target.slot - self.code.first_slots[var];
                name_of_part(system, variable.shape, inside, target.shape, &variable.name)
            }
            Store::Frame(depth) => {
                let plan = self.frames[depth].plan;
                // References share the first slot of the local after them and are never what stands there.
                let owner = (0..plan.locals.len())
                    .rev()
                    .find(|&n| plan.locals[n].kind != LocalKind::Reference && plan.first[n] <= target.slot)
                    .unwrap_or(0);
                let local = &plan.locals[owner];
                name_of_part(system, local.shape, target.slot - plan.first[owner], target.shape, &local.name)
            }
        }
    }

    fn index_fault(&self, place: &Place, step: usize, array: SlotPlace, value: Value) -> Stop {
        let system = self.code.system;
        let name = self.name(array);
        let (Shape::Array { index, .. } | Shape::Multiset { slots: index, .. }) = &system.shapes[array.shape]
        else {
            unreachable!("only arrays and multisets are indexed");
        };
        let shown = system.domains.render(*index, Some(value));
        let allowed = describe_domain(&system.domains, *index);
        let span = match &place.steps[step] {
            Step::Index(expr) => expr.span,
            Step::Field(_) => place.span,
        };
        self.fault(FaultKind::Index, span, format!("`{name}[{shown}]`: index {shown} is outside {allowed}"))
    }
}
