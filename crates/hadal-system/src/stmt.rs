//! Statements: the structured language of action and function bodies.

use crate::domain::DomainId;
use crate::expr::{Expr, Place, Range};
use crate::source::Span;
use crate::system::{FunctionId, LocalId};

/// A statement and where it stands in the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StmtKind {
    /// Writes a scalar; a value outside the scalar's domain is an error of the model. The place is resolved first
    /// (its index expressions evaluated), then the value.
    Assign(Place, Expr),
    /// Copies every scalar of a place to another of the same slots, undefined ones included.
    Copy {
        /// Where to.
        to: Place,
        /// Where from; may overlap `to` only by being the same place.
        from: Place,
    },
    /// Sets every scalar below the place to its domain's least value; empties multisets.
    Clear(Place),
    /// Makes every scalar below the place undefined (those that cannot be: least value; multisets: empty).
    Undefine(Place),
    /// The first branch whose condition is not 0, else `otherwise`.
    If {
        /// Conditions with their bodies.
        branches: Vec<(Expr, Vec<Stmt>)>,
        /// When none holds.
        otherwise: Vec<Stmt>,
    },
    /// The first arm with a value equal to the subject, else `otherwise`.
    Switch {
        /// Evaluated once.
        subject: Expr,
        /// The arms in order.
        arms: Vec<SwitchArm>,
        /// When none matches.
        otherwise: Vec<Stmt>,
    },
    /// Runs the body for each value of the range, bound to the local.
    For {
        /// The bound local.
        local: LocalId,
        /// Its values.
        range: Range,
        /// The body.
        body: Vec<Stmt>,
    },
    /// Runs the body while the condition is not 0; more than [`crate::MAX_LOOP_TURNS`] turns are an error.
    While(Expr, Vec<Stmt>),
    /// Calls a function; a result is dropped. More than [`crate::MAX_CALL_DEPTH`] nested calls are an error.
    Call(FunctionId, Vec<Argument>),
    /// Ends the function with this result, or the action.
    Return(Option<Expr>),
    /// Binds a reference local to a place (index expressions are evaluated now), then runs the body.
    Bind {
        /// A local of kind reference.
        local: LocalId,
        /// What it stands for.
        place: Place,
        /// Where it is visible.
        body: Vec<Stmt>,
    },
    /// Meets an error, or drops the transition, when the condition is 0.
    Check {
        /// Assertion or assumption.
        kind: CheckKind,
        /// What must hold.
        condition: Expr,
        /// What to say.
        message: String,
    },
    /// Always an error with this message.
    Fail(String),
    /// Counts a hit of a cover property when the condition is not 0. The index is into [`crate::System::properties`];
    /// that property has no parameters and the body [`crate::PropertyBody::Statements`].
    Cover(usize, Expr),
    /// Text for a person replaying the action; nothing while exploring.
    Print(Vec<PrintItem>),
}

/// What a failed check means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CheckKind {
    /// An error of the model.
    Assert,
    /// The transition does not exist.
    Assume,
}

/// An arm of a switch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwitchArm {
    /// The values it takes, compared in order.
    pub values: Vec<Expr>,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// An argument of a call, in the order of the function's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Argument {
    /// A scalar by value; must lie in the parameter's domain.
    Value(Expr),
    /// A copy of an aggregate (or of a scalar with its undefinedness).
    Copy(Place),
    /// The place itself, for a parameter of kind reference.
    Reference(Place),
}

/// Something to print.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PrintItem {
    /// As it is.
    Text(String),
    /// A value, written as its domain says (plain integer where there is none).
    Value(Expr, Option<DomainId>),
    /// Every scalar below a place with its name; undefined ones too.
    Whole(Place),
}

impl Stmt {
    /// A statement at `span`.
    pub fn new(kind: StmtKind, span: Span) -> Self {
        Stmt { kind, span }
    }
}
