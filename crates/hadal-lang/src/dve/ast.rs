//! The syntax tree of a DVE model, as written: names unresolved, every node with its span.
//!
//! Covers BEEM's dialect, and of DiVinE 3's later dialect `input`, process templates and their instances,
//! `for` over instances, `property process`, named expressions and LTL properties.

use hadal_system::Span;

/// A name where it was written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ident {
    /// The name.
    pub text: String,
    /// Where.
    pub span: Span,
}

/// The scalar types.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// 0 to 255.
    Byte,
    /// -32768 to 32767.
    Int,
}

impl Type {
    /// Least and greatest value.
    pub fn range(self) -> (i64, i64) {
        match self {
            Type::Byte => (0, 255),
            Type::Int => (-32768, 32767),
        }
    }

    /// How it is spelt.
    pub fn name(self) -> &'static str {
        match self {
            Type::Byte => "byte",
            Type::Int => "int",
        }
    }
}

/// Binary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum BinaryOp {
    Imply,
    Or,
    And,
    BitOr,
    BitAnd,
    BitXor,
    Equal,
    NotEqual,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
}

/// Unary operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnaryOp {
    /// `-`
    Negate,
    /// `~`
    BitNot,
    /// `not`, `!`
    Not,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
    /// Height of the tree below, so that nothing walks a tree deeper than [`crate::dve::parse::MAX_HEIGHT`].
    pub height: u32,
}

/// A process as named in an expression: `P`, or an instance `P(1)` of a template.
#[derive(Clone, Debug)]
pub struct ProcessRef {
    /// Its name.
    pub name: Ident,
    /// The instance's key, for templates.
    pub key: Option<Box<Expr>>,
}

/// The shapes of an expression.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number, `true` or `false`.
    Number(i64),
    /// A variable or constant.
    Name(String),
    /// `array[index]`
    Index(Ident, Box<Expr>),
    /// `process.location`
    Location(ProcessRef, Ident),
    /// `process->variable`, `process->array[index]`
    Foreign(ProcessRef, Ident, Option<Box<Expr>>),
    /// Operator and operand.
    Unary(UnaryOp, Box<Expr>),
    /// Operator and operands.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
}

/// What a declaration of variables begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    /// Part of the state.
    Variable,
    /// `const`
    Constant,
    /// `input` (later dialect): a constant meant to be given from outside.
    Input,
}

/// An initialiser.
#[derive(Clone, Debug)]
pub enum Initialiser {
    /// `= e`
    Single(Expr),
    /// `= { e, ... }`
    List(Vec<Expr>, Span),
}

/// One declared variable or constant.
#[derive(Clone, Debug)]
pub struct VariableDecl {
    /// Variable, constant or input.
    pub storage: Storage,
    /// Its scalar type.
    pub scalar: Type,
    /// Its name.
    pub name: Ident,
    /// The size, for arrays.
    pub size: Option<Expr>,
    /// The initial value or values.
    pub initial: Option<Initialiser>,
}

/// One declared channel.
#[derive(Clone, Debug)]
pub struct ChannelDecl {
    /// Its name.
    pub name: Ident,
    /// The types of the values it carries, where it says.
    pub types: Option<Vec<Type>>,
    /// The size of its buffer, where it says.
    pub buffer: Option<Expr>,
}

/// Sends or receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// `channel!`
    Send,
    /// `channel?`
    Receive,
}

/// The `sync` part of a transition.
#[derive(Clone, Debug)]
pub struct Synchronisation {
    /// The channel.
    pub channel: Ident,
    /// Which end of it.
    pub direction: Direction,
    /// Values sent, or variables received into.
    pub values: Vec<Expr>,
    /// The whole `sync` part.
    pub span: Span,
}

/// `target = value`
#[derive(Clone, Debug)]
pub struct Assignment {
    /// What is assigned.
    pub target: Expr,
    /// The value.
    pub value: Expr,
}

/// One transition of a process.
#[derive(Clone, Debug)]
pub struct Transition {
    /// The location it leaves.
    pub source: Ident,
    /// The location it enters.
    pub target: Ident,
    /// Its guard.
    pub guard: Option<Expr>,
    /// Its synchronisation.
    pub sync: Option<Synchronisation>,
    /// Its effects, in order.
    pub effects: Vec<Assignment>,
    /// The whole transition.
    pub span: Span,
}

/// A process or, with parameters, a process template.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name.
    pub name: Ident,
    /// The parameters of a template; `None` for a plain process.
    pub parameters: Option<Vec<Ident>>,
    /// Declared by `property process`.
    pub is_property: bool,
    /// Local variables and constants.
    pub variables: Vec<VariableDecl>,
    /// Its locations.
    pub states: Vec<Ident>,
    /// Initial locations: exactly one in a correct model.
    pub init: Vec<Ident>,
    /// Committed locations.
    pub commit: Vec<Ident>,
    /// Accepting locations.
    pub accept: Vec<Ident>,
    /// Assertions: at this location, this holds.
    pub asserts: Vec<(Ident, Expr)>,
    /// Its transitions.
    pub transitions: Vec<Transition>,
}

/// `process a(1, 2);`, perhaps inside `for (x : 1 .. 3) { ... }`.
#[derive(Clone, Debug)]
pub struct Instance {
    /// The template.
    pub template: Ident,
    /// Its arguments.
    pub arguments: Vec<Expr>,
    /// The `for` around it: variable, from, to.
    pub repeat: Option<(Ident, Expr, Expr)>,
}

/// Asynchronous (interleaving) or synchronous (all processes at once).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Composition {
    /// `system async`
    Asynchronous,
    /// `system sync`
    Synchronous,
}

/// The `system` line.
#[derive(Clone, Debug)]
pub struct SystemDecl {
    /// How processes run together.
    pub composition: Composition,
    /// `property P`
    pub property: Option<Ident>,
    /// The line.
    pub span: Span,
}

/// `property ltl NAME "formula"` of the later dialect.
#[derive(Clone, Debug)]
pub struct LtlDecl {
    /// Its name.
    pub name: Ident,
    /// The formula's text and where it stands.
    pub formula: (String, Span),
}

/// A whole model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Global variables and constants.
    pub variables: Vec<VariableDecl>,
    /// Channels.
    pub channels: Vec<ChannelDecl>,
    /// Processes and templates, in source order.
    pub processes: Vec<Process>,
    /// Instances of templates, in source order.
    pub instances: Vec<Instance>,
    /// `expression name() { e }`
    pub expressions: Vec<(Ident, Expr)>,
    /// LTL properties.
    pub ltl: Vec<LtlDecl>,
    /// The `system` line; `None` only where it is missing (an error).
    pub system: Option<SystemDecl>,
}
