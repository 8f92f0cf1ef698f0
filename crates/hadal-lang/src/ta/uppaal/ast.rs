//! What UPPAAL's text says, before names are resolved.

use hadal_system::{BinaryOp, Source, Span, UnaryOp};

/// An expression.
#[derive(Clone, Debug)]
pub(super) struct Term {
    pub(super) kind: TermKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum TermKind {
    Number(i64),
    Name(String),
    Index(Box<Term>, Box<Term>),
    Field(Box<Term>, String),
    Unary(UnaryOp, Box<Term>),
    Binary(BinaryOp, Box<Term>, Box<Term>),
    /// `a <? b` and `a >? b`: the smaller, the larger.
    Least(Box<Term>, Box<Term>),
    Most(Box<Term>, Box<Term>),
    If(Box<Term>, Box<Term>, Box<Term>),
    Call(Box<Term>, Vec<Term>),
    /// `lhs op= rhs`; none for plain assignment.
    Assign(Option<BinaryOp>, Box<Term>, Box<Term>),
    /// `x++` (true) or `++x`, with 1 or -1.
    Step(Box<Term>, i64, bool),
    Quantified(Quantity, String, Box<Type>, Box<Term>),
    Deadlock,
    /// `x'`
    Rate(Box<Term>),
    /// `{ a, b }` in an initialiser.
    List(Vec<Term>),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    ForAll,
    Exists,
    Sum,
}

/// A type as it is written.
#[derive(Clone, Debug)]
pub(super) struct Type {
    pub(super) kind: TypeKind,
    pub(super) constant: bool,
    pub(super) urgent: bool,
    pub(super) broadcast: bool,
    pub(super) meta: bool,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum TypeKind {
    Int(Option<(Box<Term>, Box<Term>)>),
    Bool,
    Clock,
    Channel,
    Void,
    Scalar(Box<Term>),
    Struct(Vec<Declared>),
    Named(String),
}

/// A name with its type and dimensions.
#[derive(Clone, Debug)]
pub(super) struct Declared {
    pub(super) name: String,
    pub(super) ty: Type,
    pub(super) dimensions: Vec<Dimension>,
    pub(super) reference: bool,
    pub(super) initial: Option<Term>,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum Dimension {
    Size(Term),
    Type(Type),
}

#[derive(Clone, Debug)]
pub(super) enum Declaration {
    Variable(Declared),
    Typedef(Declared),
    Function(std::rc::Rc<Function>),
}

#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) result: Type,
    pub(super) parameters: Vec<Declared>,
    pub(super) body: Command,
    pub(super) span: Span,
}

/// A statement.
#[derive(Clone, Debug)]
pub(super) struct Command {
    pub(super) kind: CommandKind,
    pub(super) span: Span,
}

#[derive(Clone, Debug)]
pub(super) enum CommandKind {
    Empty,
    Term(Term),
    Block(Vec<Declaration>, Vec<Command>),
    If(Term, Box<Command>, Option<Box<Command>>),
    While(Term, Box<Command>),
    Do(Box<Command>, Term),
    For(Option<Term>, Option<Term>, Option<Term>, Box<Command>),
    Each(String, Type, Box<Command>),
    Return(Option<Term>),
}

#[derive(Clone, Debug, Default)]
pub(super) struct Template {
    pub(super) name: String,
    pub(super) parameters: Vec<Declared>,
    pub(super) declarations: Vec<Declaration>,
    pub(super) locations: Vec<Location>,
    pub(super) initial: Option<String>,
    pub(super) edges: Vec<Edge>,
    pub(super) span: Span,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Location {
    /// What edges call it.
    pub(super) id: String,
    pub(super) name: String,
    pub(super) invariant: Option<Term>,
    pub(super) committed: bool,
    pub(super) urgent: bool,
    pub(super) span: Span,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Edge {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) select: Vec<(String, Type)>,
    pub(super) guard: Option<Term>,
    /// The channel, and whether it is sent on.
    pub(super) sync: Option<(Term, bool)>,
    pub(super) update: Vec<Term>,
    pub(super) span: Span,
}

/// `P = T(a, b);`
#[derive(Clone, Debug)]
pub(super) struct Instance {
    pub(super) name: String,
    pub(super) template: String,
    pub(super) arguments: Vec<Term>,
    pub(super) span: Span,
}

/// A query.
#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) text: String,
    pub(super) kind: QueryKind,
    pub(super) formula: Term,
    /// What `-->` leads to.
    pub(super) response: Option<Term>,
    /// What `sup` and `inf` measure, with its text.
    pub(super) measured: Vec<(String, Term)>,
    pub(super) span: Span,
    /// The text that places in it point into, where it is not the model's.
    pub(super) source: Option<Source>,
}

impl Query {
    /// Where it stands in the model's text, if it does.
    pub(super) fn place(&self) -> Span {
        if self.source.is_some() { Span::default() } else { self.span }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum QueryKind {
    /// `E<>`
    Possibly,
    /// `A[]`
    Always,
    /// `A<>`
    Eventually,
    /// `E[]`
    ForEver,
    /// `p --> q`
    LeadsTo,
    /// `sup{p}: x, y`
    Most,
    /// `inf{p}: x, y`
    Least,
}

/// A whole model.
#[derive(Clone, Debug, Default)]
pub(super) struct Document {
    pub(super) declarations: Vec<Declaration>,
    pub(super) templates: Vec<Template>,
    /// Declared between templates and the system line.
    pub(super) instances: Vec<Instance>,
    /// Names of the system line.
    pub(super) system: Vec<(String, Span)>,
    pub(super) queries: Vec<Query>,
    /// Expressions that formulas are made of, with their text.
    pub(super) propositions: Vec<(String, Term)>,
}
