//! Reading arrays and records whose scalars are all known.

use super::Fold;
use crate::domain::Value;
use crate::expr::{Base, BinaryOp, Expr, ExprKind, Place, Step};
use crate::shape::{Shape, ShapeId};

/// Arrays of more elements than this are not taken apart by an index that is not known.
const MOST_ELEMENTS: u64 = 32;

impl Fold<'_> {
    /// The value of a scalar of a variable that is held.
    pub(super) fn held(&self, place: &Place) -> Option<Expr> {
        let Base::Global(var) = place.base else { return None };
        self.element(self.system.variable(var).shape, &place.steps, self.held.get(&var)?)
    }

    /// The scalar that these steps lead to within a shape whose scalars have these values.
    fn element(&self, shape: ShapeId, steps: &[Step], values: &[Value]) -> Option<Expr> {
        let shapes = &self.system.shapes;
        let Some((step, rest)) = steps.split_first() else {
            return match *values {
                [value] if shapes.scalar(shape).is_some() => Some(Expr::constant(value)),
                _ => None,
            };
        };
        match (&shapes[shape], step) {
            (Shape::Record(fields), Step::Field(field)) => {
                let (from, shape) = (shapes.field_slot(fields, *field), fields[*field].shape);
                self.element(shape, rest, &values[from..from + shapes.slots(shape)])
            }
            (Shape::Array { index, element }, Step::Index(at)) => {
                let (at, domain) = (self.expr(at), &self.system.domains[*index]);
                let width = shapes.slots(*element);
                let piece = |n: u64| self.element(*element, rest, &values[n as usize * width..][..width]);
                if let Some(value) = at.as_const() {
                    return piece(domain.position(value)?);
                }
                if domain.size() > MOST_ELEMENTS {
                    return None;
                }
                let pieces = domain.values().zip(0..).map(|(value, n)| Some((value, piece(n)?)));
                let mut pieces: Vec<(Value, Expr)> = pieces.collect::<Option<_>>()?;
                let (_, mut chosen) = pieces.pop()?;
                for (value, piece) in pieces.into_iter().rev() {
                    if piece == chosen {
                        continue;
                    }
                    let here = Expr::binary(BinaryOp::Equal, at.clone(), Expr::constant(value));
                    let kind = ExprKind::If(Box::new(here), Box::new(piece), Box::new(chosen));
                    chosen = Expr::new(kind, at.span);
                }
                Some(chosen)
            }
            _ => None,
        }
    }
}
