//! The last state of a trail as a goal: whether it can be reached, and in how few steps (Jabbar 2008, sec. 4.7.2).

use crate::domain::Value;
use crate::expr::{BinaryOp, Expr, ExprKind, Place, Step, UnaryOp};
use crate::layout::Layout;
use crate::shape::Shape;
use crate::source::Span;
use crate::space::PropertyKind;
use crate::system::{Property, PropertyBody, System, VarId};

/// The name of the goal.
pub const TRAIL: &str = "end of the trail";

/// There is no such state to look for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the trail does not end in a state of this model: was it made with other constants?")]
pub struct NoState;

/// Adds the goal [`TRAIL`], which is to be in exactly this state, packed in the order of declaration.
pub fn ask_state(system: &mut System, state: &[u64]) -> Result<(), NoState> {
    let layout = Layout::natural(system);
    if !layout.admits(system, state) {
        return Err(NoState);
    }
    let values = layout.unpack(system, state);
    let mut places = Vec::with_capacity(values.len());
    for (n, variable) in system.variables.iter().enumerate() {
        let whole = Place::global(VarId(n as u32), variable.shape, Span::default());
        scalars(system, whole, &mut places);
    }
    let equal = places.into_iter().zip(values).map(|(place, value)| is(place, value)).collect();
    system.properties.push(Property {
        name: TRAIL.to_owned(),
        kind: PropertyKind::Goal,
        params: Vec::new(),
        locals: Vec::new(),
        body: PropertyBody::State(all(equal)),
        span: Span::default(),
    });
    Ok(())
}

/// The scalars at a place, in the order of slots.
fn scalars(system: &System, place: Place, out: &mut Vec<Place>) {
    let inside = |step, shape| {
        let mut inner = place.clone();
        inner.steps.push(step);
        Place { shape, ..inner }
    };
    match &system.shapes[place.shape] {
        Shape::Scalar(_) => out.push(place),
        Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
            for value in system.domains[*index].values() {
                scalars(system, inside(Step::Index(Expr::constant(value)), *element), out);
            }
        }
        Shape::Record(fields) => {
            for (n, field) in fields.iter().enumerate() {
                scalars(system, inside(Step::Field(n), field.shape), out);
            }
        }
    }
}

/// Whether the scalar has this value, or none.
fn is(place: Place, value: Option<Value>) -> Expr {
    let undefined = Expr::new(ExprKind::IsUndefined(Box::new(place.clone())), Span::default());
    let Some(value) = value else { return undefined };
    let known = Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(undefined)), Span::default());
    let equal = Expr::binary(BinaryOp::Equal, place.read(), Expr::constant(value));
    Expr::binary(BinaryOp::And, known, equal)
}

/// The conjunction, as deep as it must be: a state may have thousands of scalars.
fn all(mut conjuncts: Vec<Expr>) -> Expr {
    while conjuncts.len() > 1 {
        let mut rest = conjuncts.into_iter();
        let mut half = Vec::new();
        while let Some(left) = rest.next() {
            half.push(match rest.next() {
                Some(right) => Expr::binary(BinaryOp::And, left, right),
                None => left,
            });
        }
        conjuncts = half;
    }
    conjuncts.pop().unwrap_or_else(|| Expr::constant(1))
}
