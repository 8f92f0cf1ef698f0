//! Types, constants and what names stand for.

use super::ast::Function;
use hadal_system::Place;
use std::collections::HashMap;
use std::rc::Rc;

/// A type with its numbers.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Ty {
    Int(i64, i64),
    Bool,
    Clock,
    Channel { urgent: bool, broadcast: bool },
    Struct(Rc<Vec<(String, Ty)>>),
    Array { low: i64, high: i64, element: Box<Ty> },
    Void,
}

impl Ty {
    /// The usual integers of UPPAAL.
    pub(super) const INT: Ty = Ty::Int(-32768, 32767);

    /// What an array of arrays is made of.
    pub(super) fn innermost(&self) -> &Ty {
        match self {
            Ty::Array { element, .. } => element.innermost(),
            other => other,
        }
    }

    /// How many scalars (or clocks, or channels) it has.
    pub(super) fn size(&self) -> i64 {
        match self {
            Ty::Array { low, high, element } => {
                high.saturating_sub(*low).saturating_add(1).saturating_mul(element.size())
            }
            Ty::Struct(fields) => fields.iter().fold(0, |sum: i64, (_, ty)| sum.saturating_add(ty.size())),
            _ => 1,
        }
    }
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Constant {
    Int(i64),
    /// Elements of an array, or fields.
    List(Vec<Constant>),
}

/// What a name stands for.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Constant(Constant, Ty),
    /// A variable of the state, a local, or what a reference stands for.
    Place(Place, Ty),
    /// The first of so many clocks.
    Clock(u32, Ty),
    /// The first of so many channels.
    Channel(u32, Ty),
    Type(Ty),
    /// A function and the scope it stands in.
    Function(Rc<Function>, usize),
    /// A process.
    Process(usize),
    /// Processes by the values of a template's parameters.
    Family(Rc<HashMap<Vec<i64>, usize>>),
}

/// Names and the scope around them.
#[derive(Debug, Default)]
pub(super) struct Scope {
    pub(super) names: HashMap<String, Meaning>,
    pub(super) outer: Option<usize>,
}
