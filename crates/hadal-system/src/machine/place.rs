//! Where a place is.

use super::{AbstractMachine, Spotted, value};
use crate::expr::{Base, Place, Step};
use crate::shape::Shape;
use crate::system::LocalKind;

/// Where a place may be, and the shape of what stands there.
pub fn resolve<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    place: &'a Place,
) -> Result<Spotted<'a, M>, M::Stop> {
    let system = machine.system();
    let (mut spot, mut shape) = match place.base {
        Base::Global(var) => (M::at(machine.first_slot(var)), system.variable(var).shape),
        Base::Local(local) => {
            let at = local.0 as usize;
            let frame = machine.frame();
            let kind = &frame.locals[at];
            match kind.kind {
                LocalKind::Bound | LocalKind::Variable => (M::at(frame.slots[at]), kind.shape),
                LocalKind::Reference => match frame.references[at].clone() {
                    Some(known) => known,
                    None => return Err(machine.misplaced()),
                },
            }
        }
    };
    for step in &place.steps {
        match (step, &system.shapes[shape]) {
            (Step::Field(field), Shape::Record(fields)) => {
                M::inside(&mut spot, system.shapes.field_slot(fields, *field) as u32);
                shape = fields[*field].shape;
            }
            (Step::Index(index), Shape::Array { element, .. } | Shape::Multiset { element, .. }) => {
                let index = value(machine, index)?;
                spot = machine.element((spot, shape), index)?;
                shape = *element;
            }
            // Other combinations are refused by `validate`.
            _ => return Err(machine.misplaced()),
        }
    }
    Ok((spot, shape))
}
