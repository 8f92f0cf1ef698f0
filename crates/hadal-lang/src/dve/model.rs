//! A checked DVE model: every name resolved, constants folded, templates instantiated.

use super::ast::{BinaryOp, Composition, Direction, Type, UnaryOp};
use hadal_system::Span;

/// A model without mistakes.
#[derive(Clone, Debug)]
pub struct Model {
    /// The variables of the state: globals first, then each process's own. Constants are folded away.
    pub variables: Vec<Variable>,
    /// The constant arrays that are read with an index known only at run time.
    pub tables: Vec<Table>,
    /// The channels.
    pub channels: Vec<Channel>,
    /// The processes, the property process among them.
    pub processes: Vec<Process>,
    /// How processes run together.
    pub composition: Composition,
    /// The property process.
    pub property: Option<usize>,
    /// Named expressions (later dialect).
    pub expressions: Vec<(String, Term)>,
    /// What the names mean, for expressions that come later.
    pub names: super::check::Names,
}

/// A variable of the state.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name; of a process's own: `Process.name`.
    pub name: String,
    /// The process it belongs to.
    pub owner: Option<usize>,
    /// Its scalar type.
    pub scalar: Type,
    /// Number of elements, for arrays.
    pub size: Option<usize>,
    /// Initial value of each element; one for scalars.
    pub initial: Vec<i64>,
    /// Where it is declared.
    pub span: Span,
}

/// A constant array.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its values.
    pub values: Vec<i64>,
}

/// A channel.
#[derive(Clone, Debug)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// Types of the values of a message, where declared.
    pub types: Option<Vec<Type>>,
    /// Messages its buffer holds; 0 for a handshake.
    pub capacity: usize,
    /// Where it is declared.
    pub span: Span,
}

/// A process.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name; of an instance: `template(key)`.
    pub name: String,
    /// Its locations.
    pub locations: Vec<Location>,
    /// Where it starts.
    pub initial: usize,
    /// Its transitions.
    pub transitions: Vec<Transition>,
    /// At this location, this must hold.
    pub assertions: Vec<(usize, Term)>,
    /// Where its name stands.
    pub span: Span,
}

/// A location.
#[derive(Clone, Debug)]
pub struct Location {
    /// Its name.
    pub name: String,
    /// While some process is here only transitions from such locations fire.
    pub committed: bool,
    /// Accepting, for a property process.
    pub accepting: bool,
}

/// A transition.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The location it leaves.
    pub source: usize,
    /// The location it enters.
    pub target: usize,
    /// Its guard.
    pub guard: Option<Term>,
    /// Its synchronisation.
    pub sync: Option<Synchronisation>,
    /// Its effects, in order.
    pub effects: Vec<Effect>,
    /// Where it stands.
    pub span: Span,
}

/// One end of a synchronisation.
#[derive(Clone, Debug)]
pub struct Synchronisation {
    /// The channel.
    pub channel: usize,
    /// Which end.
    pub direction: Direction,
    /// What is sent, in order.
    pub sent: Vec<Term>,
    /// What is received into, in order.
    pub received: Vec<Lvalue>,
    /// Where it stands.
    pub span: Span,
}

/// An assignment.
#[derive(Clone, Debug)]
pub struct Effect {
    /// What is assigned.
    pub target: Lvalue,
    /// The value.
    pub value: Term,
}

/// Something that can be assigned.
#[derive(Clone, Debug)]
pub struct Lvalue {
    /// The variable.
    pub variable: usize,
    /// The index, for arrays.
    pub index: Option<Term>,
    /// Where it stands.
    pub span: Span,
}

/// A resolved expression.
#[derive(Clone, Debug)]
pub struct Term {
    /// What it is.
    pub kind: TermKind,
    /// Where it stands.
    pub span: Span,
}

/// The shapes of a resolved expression.
#[derive(Clone, Debug)]
pub enum TermKind {
    /// A value.
    Constant(i64),
    /// A scalar variable.
    Read(usize),
    /// An element of an array variable.
    Element(usize, Box<Term>),
    /// An element of a constant array.
    Lookup(usize, Box<Term>),
    /// Whether a process is at a location.
    At(usize, usize),
    /// Operator and operand.
    Unary(UnaryOp, Box<Term>),
    /// Operator and operands.
    Binary(BinaryOp, Box<Term>, Box<Term>),
}

impl Term {
    /// A value at `span`.
    pub fn constant(value: i64, span: Span) -> Self {
        Term { kind: TermKind::Constant(value), span }
    }

    /// The value, where the term is a constant.
    pub fn as_constant(&self) -> Option<i64> {
        match self.kind {
            TermKind::Constant(value) => Some(value),
            _ => None,
        }
    }
}

/// Applies an operator to two values; `None` where DVE has an error (division by zero) or the value leaves 64 bits.
pub fn apply_binary(op: BinaryOp, left: i64, right: i64) -> Option<i64> {
    Some(match op {
        BinaryOp::Imply => i64::from(left == 0 || right != 0),
        BinaryOp::Or => i64::from(left != 0 || right != 0),
        BinaryOp::And => i64::from(left != 0 && right != 0),
        BinaryOp::BitOr => left | right,
        BinaryOp::BitAnd => left & right,
        BinaryOp::BitXor => left ^ right,
        BinaryOp::Equal => i64::from(left == right),
        BinaryOp::NotEqual => i64::from(left != right),
        BinaryOp::Less => i64::from(left < right),
        BinaryOp::LessEqual => i64::from(left <= right),
        BinaryOp::Greater => i64::from(left > right),
        BinaryOp::GreaterEqual => i64::from(left >= right),
        BinaryOp::ShiftLeft => left.checked_shl(u32::try_from(right).ok()?)?,
        BinaryOp::ShiftRight => left.checked_shr(u32::try_from(right).ok()?)?,
        BinaryOp::Add => left.checked_add(right)?,
        BinaryOp::Subtract => left.checked_sub(right)?,
        BinaryOp::Multiply => left.checked_mul(right)?,
        BinaryOp::Divide => left.checked_div(right)?,
        BinaryOp::Modulo => left.checked_rem(right)?,
    })
}

/// Applies an operator to a value; `None` where the value leaves 64 bits.
pub fn apply_unary(op: UnaryOp, value: i64) -> Option<i64> {
    match op {
        UnaryOp::Negate => value.checked_neg(),
        UnaryOp::BitNot => Some(!value),
        UnaryOp::Not => Some(i64::from(value == 0)),
    }
}
