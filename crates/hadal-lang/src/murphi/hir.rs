//! The checked model: names resolved, types known, constants folded. What [`super::check`] hands to
//! [`super::lower`].

use super::types::{TypeId, Types};
use hadal_system::{BinaryOp, Quantifier, Span, UnaryOp};
use std::rc::Rc;

/// Index of a symbol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SymbolId(pub u32);

/// What a name stands for at run time.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name.
    pub name: Rc<str>,
    /// Its type.
    pub ty: TypeId,
    /// What it is.
    pub kind: SymbolKind,
    /// Whether it may be assigned to.
    pub writable: bool,
    /// Where it is declared.
    pub span: Span,
}

/// Kinds of symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SymbolKind {
    /// A variable of the state.
    Global,
    /// A variable of a rule or function.
    Local,
    /// A parameter passed by value; only read.
    Value,
    /// A parameter passed by reference.
    Reference,
    /// Bound by a loop, quantifier, ruleset or `choose`; only read.
    Bound,
    /// Another name for a place.
    AliasOfPlace,
    /// A name for a value computed once.
    AliasOfValue,
}

/// The whole model.
#[derive(Debug)]
pub struct Model {
    /// All types.
    pub types: Types,
    /// All symbols.
    pub symbols: Vec<Symbol>,
    /// The state's variables in declaration order.
    pub variables: Vec<SymbolId>,
    /// Functions in declaration order.
    pub functions: Vec<Function>,
    /// Rules, start states and properties in source order.
    pub rules: Vec<Rule>,
    /// How undefined values are treated.
    pub dialect: Dialect,
}

/// How undefined values are treated where the two Murphis differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// Rumur: reading one is always an error.
    Strict,
    /// CMurphi: `x := y` copies undefined, and comparing scalarset and union values that are undefined is no error.
    Copying,
}

/// A function or procedure.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Rc<str>,
    /// Its parameters.
    pub parameters: Vec<SymbolId>,
    /// What it returns.
    pub result: Option<TypeId>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Its heading.
    pub span: Span,
}

/// A rule, start state or property with everything it stands in.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name, if it has one.
    pub name: Option<String>,
    /// Rulesets, aliases and chooses around it, outermost first.
    pub scopes: Vec<Rc<Scope>>,
    /// What it is.
    pub kind: RuleKind,
    /// Its heading.
    pub span: Span,
}

/// Kinds of rules.
#[derive(Clone, Debug)]
pub enum RuleKind {
    /// An action.
    Rule {
        /// When it can fire.
        guard: Expr,
        /// What it does.
        body: Vec<Stmt>,
        /// It can fire only where no rule of a lower number can (CMurphi).
        priority: i64,
    },
    /// A way to make an initial state.
    Start(Vec<Stmt>),
    /// A question.
    Property(Category, Expr),
}

pub use super::ast::Category;

/// Something around a rule.
#[derive(Clone, Debug)]
pub enum Scope {
    /// One instance per value.
    Ruleset(Binder),
    /// One instance per element present in the multiset.
    Choose(SymbolId, Place),
    /// Another name.
    Alias(SymbolId, Expr),
}

/// A bound symbol and its values.
#[derive(Clone, Debug)]
pub struct Binder {
    /// The symbol.
    pub symbol: SymbolId,
    /// Its values.
    pub values: Values,
}

/// What a binder runs over.
#[derive(Clone, Debug)]
pub enum Values {
    /// Every value of a simple type.
    Type(TypeId),
    /// From, to, by.
    Steps(Box<Expr>, Box<Expr>, Box<Expr>),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Its type.
    pub ty: TypeId,
    /// Where.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// This value.
    Const(i64),
    /// What stands at a place, scalar or not.
    Place(Place),
    /// One operand.
    Unary(UnaryOp, Box<Expr>),
    /// Two operands; `Equal` and `NotEqual` also take aggregates.
    Binary(BinaryOp, Box<Expr>, Box<Expr>),
    /// Whether all are true, asked in order.
    All(Vec<Expr>),
    /// Whether any is true, asked in order.
    Any(Vec<Expr>),
    /// The second where the first is true, else the third.
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// Over all binders, the first outermost.
    Quantified(Quantifier, Vec<Binder>, Box<Expr>),
    /// Whether a scalar is undefined.
    IsUndefined(Place),
    /// Whether a value belongs to a simple type.
    IsMember(Box<Expr>, TypeId),
    /// The result of a function.
    Call(usize, Vec<Expr>),
    /// How many elements of a multiset satisfy the condition.
    Count(Box<Pick>),
    /// The word `undefined`.
    Undefined,
    /// Reported already.
    Error,
}

/// Elements of a multiset that satisfy a condition.
#[derive(Clone, Debug)]
pub struct Pick {
    /// Stands for each element's position.
    pub symbol: SymbolId,
    /// The multiset.
    pub set: Place,
    /// The condition.
    pub condition: Expr,
}

/// Something that can be read, and perhaps written.
#[derive(Clone, Debug)]
pub struct Place {
    /// Where it starts.
    pub base: SymbolId,
    /// The way from there.
    pub steps: Vec<Step>,
    /// The type of what stands there.
    pub ty: TypeId,
    /// Where.
    pub span: Span,
}

/// One step of a place.
#[derive(Clone, Debug)]
pub enum Step {
    /// The n-th field of a record.
    Field(usize),
    /// An element of an array.
    Index(Expr),
    /// An element of a multiset.
    Element(Expr),
}

/// A statement.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What it does.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
#[allow(missing_docs)]
pub enum StmtKind {
    Assign(Place, Expr),
    Call(usize, Vec<Expr>),
    Clear(Place),
    Undefine(Place),
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    Switch(Expr, Vec<(Vec<Expr>, Vec<Stmt>)>, Vec<Stmt>),
    For(Vec<Binder>, Vec<Stmt>),
    While(Expr, Vec<Stmt>),
    Alias(SymbolId, Expr, Vec<Stmt>),
    Return(Option<Expr>),
    Fail(String),
    PutText(String),
    Put(Expr),
    Property(Category, Expr, Option<String>),
    MultisetAdd(Expr, Place),
    MultisetRemove(Expr, Place),
    MultisetRemovePred(Box<Pick>),
}

impl Expr {
    /// The value, where it is a constant.
    pub fn constant(&self) -> Option<i64> {
        match self.kind {
            ExprKind::Const(value) => Some(value),
            _ => None,
        }
    }

    /// Stands in where a mistake was reported.
    pub fn error(span: Span) -> Self {
        Expr { kind: ExprKind::Error, ty: TypeId::ERROR, span }
    }
}
