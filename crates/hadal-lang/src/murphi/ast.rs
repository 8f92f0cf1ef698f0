//! The syntax tree: what was written, where it stands, nothing resolved.
//!
//! Chains of operators of one precedence are flat, so that the depth of a tree is bounded by how deep its text
//! nests ([`super::MAX_NESTING`]) and walking it by recursion is safe.

use hadal_system::Span;
use std::rc::Rc;

/// A name where it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// As written; names are case-sensitive.
    pub text: Rc<str>,
    /// Where.
    pub span: Span,
}

/// A whole model, in source order.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Declarations, functions and rules in the order they stand.
    pub items: Vec<Item>,
}

/// Something at the top level.
#[derive(Clone, Debug)]
pub enum Item {
    /// A constant, type or variable.
    Decl(Decl),
    /// A function or procedure.
    Function(Function),
    /// A rule, start state, property or a group of them.
    Rule(Rule),
}

/// A declaration.
#[derive(Clone, Debug)]
pub enum Decl {
    /// `const name, ...: value`
    Const(Vec<Name>, Expr),
    /// `type name, ...: definition`
    Type(Vec<Name>, TypeExpr),
    /// `var name, ...: type`
    Var(Vec<Name>, TypeExpr),
}

/// A type as written.
#[derive(Clone, Debug)]
pub struct TypeExpr {
    /// What kind.
    pub kind: TypeKind,
    /// Where.
    pub span: Span,
}

/// Kinds of types.
#[derive(Clone, Debug)]
pub enum TypeKind {
    /// `boolean`
    Boolean,
    /// A declared type.
    Named(Name),
    /// `low .. high`
    Range(Box<Expr>, Box<Expr>),
    /// `enum { ... }`
    Enum(Vec<Name>),
    /// `scalarset(size)`
    Scalarset(Box<Expr>),
    /// `union { ... }`
    Union(Vec<TypeExpr>),
    /// `record ... end`
    Record(Vec<(Vec<Name>, TypeExpr)>),
    /// `array [index] of element`
    Array(Box<TypeExpr>, Box<TypeExpr>),
    /// `multiset [capacity] of element`
    Multiset(Box<Expr>, Box<TypeExpr>),
    /// `real(...)`, which the parser has refused already.
    Refused,
}

/// An expression as written.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What kind.
    pub kind: ExprKind,
    /// Where.
    pub span: Span,
}

/// Kinds of expressions.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number; `None` where it is too large for anything.
    Number(Option<i128>),
    /// A variable, constant or alias, then fields and indices.
    Designator(Designator),
    /// `name(argument, ...)`
    Call(Name, Vec<Expr>),
    /// `first op second op third ...`, all of one precedence, grouping to the left.
    Chain(Box<Expr>, Vec<(Operator, Expr)>),
    /// A sign in front.
    Prefix(Prefix, Box<Expr>),
    /// `condition ? yes : no`
    Conditional(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `forall` or `exists`.
    Quantified(Quantified, Vec<Quantifier>, Box<Expr>),
    /// `isundefined(place)`
    IsUndefined(Box<Expr>),
    /// `ismember(value, type)`
    IsMember(Box<Expr>, Box<TypeExpr>),
    /// `multisetcount(name: set, condition)`
    MultisetCount(Box<Picker>),
    /// Something the parser has refused already.
    Refused,
}

/// Which quantifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantified {
    /// `forall`
    ForAll,
    /// `exists`
    Exists,
}

/// `name: set, condition` of `multisetcount` and `multisetremovepred`.
#[derive(Clone, Debug)]
pub struct Picker {
    /// Stands for each element's place in turn.
    pub name: Name,
    /// The multiset.
    pub set: Designator,
    /// Which elements are meant.
    pub condition: Expr,
}

/// A path to something: a name, then fields and indices.
#[derive(Clone, Debug)]
pub struct Designator {
    /// Where it starts.
    pub base: Name,
    /// Fields and indices, outermost first.
    pub steps: Vec<Step>,
    /// The whole of it.
    pub span: Span,
}

/// One step of a path.
#[derive(Clone, Debug)]
pub enum Step {
    /// `.field`
    Field(Name),
    /// `[index]`; the span includes the brackets.
    Index(Expr, Span),
}

/// Signs between operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Operator {
    Implies,
    /// `||` and `∨`: booleans only.
    Or,
    /// `&&` and `∧`: booleans only.
    And,
    /// `|`: booleans or bits.
    Pipe,
    Xor,
    /// `&`: booleans or bits.
    Amp,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    ShiftLeft,
    ShiftRight,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    /// How it is written.
    pub fn text(self) -> &'static str {
        match self {
            Operator::Implies => "->",
            Operator::Or => "||",
            Operator::And => "&&",
            Operator::Pipe => "|",
            Operator::Xor => "^",
            Operator::Amp => "&",
            Operator::Less => "<",
            Operator::LessEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterEqual => ">=",
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::ShiftLeft => "<<",
            Operator::ShiftRight => ">>",
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
        }
    }
}

/// Signs in front of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Prefix {
    Not,
    Negate,
    Plus,
    BitNot,
}

/// What a loop, quantified expression or ruleset runs over.
#[derive(Clone, Debug)]
pub struct Quantifier {
    /// The bound name.
    pub name: Name,
    /// Its values.
    pub values: QuantifierValues,
    /// The whole of it.
    pub span: Span,
}

/// The values of a quantifier.
#[derive(Clone, Debug)]
pub enum QuantifierValues {
    /// `name: type`
    Type(TypeExpr),
    /// `name := from to to by step`
    Steps(Box<Expr>, Box<Expr>, Option<Box<Expr>>),
}

/// A function or procedure.
#[derive(Clone, Debug)]
pub struct Function {
    /// Its name.
    pub name: Name,
    /// Its parameters.
    pub parameters: Vec<Parameter>,
    /// What it returns, if it is a function.
    pub result: Option<TypeExpr>,
    /// Its own declarations.
    pub decls: Vec<Decl>,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// Its heading.
    pub span: Span,
}

/// Parameters declared together.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// Their names.
    pub names: Vec<Name>,
    /// `var`: the caller's place, not a copy.
    pub by_reference: bool,
    /// Their type.
    pub ty: TypeExpr,
}

/// What a property asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum Category {
    Assertion,
    Assumption,
    Cover,
    Liveness,
}

/// A rule, start state, property, or group of rules.
#[derive(Clone, Debug)]
pub struct Rule {
    /// What kind.
    pub kind: RuleKind,
    /// Its heading: keyword and name.
    pub span: Span,
}

/// Kinds of rules.
#[derive(Clone, Debug)]
pub enum RuleKind {
    /// `rule "name" guard ==> decls begin body end`
    Rule {
        /// The number in front of the name: it fires only where no rule of a lower number can (CMurphi).
        priority: i64,
        /// Its name, if it has one.
        name: Option<String>,
        /// When it can fire; always where absent.
        guard: Option<Expr>,
        /// Its own declarations.
        decls: Vec<Decl>,
        /// Its statements.
        body: Vec<Stmt>,
    },
    /// `startstate "name" decls begin body end`
    Start {
        /// Its name, if it has one.
        name: Option<String>,
        /// Its own declarations.
        decls: Vec<Decl>,
        /// Its statements.
        body: Vec<Stmt>,
    },
    /// `invariant "name" condition` and its kin.
    Property {
        /// What is asked.
        category: Category,
        /// Its name, if it has one.
        name: Option<String>,
        /// The condition.
        condition: Expr,
    },
    /// `ruleset quantifiers do rules end`
    Ruleset(Vec<Quantifier>, Vec<Rule>),
    /// `alias name: value; ... do rules end`
    Alias(Vec<(Name, Expr)>, Vec<Rule>),
    /// `choose name: multiset do rules end`
    Choose(Name, Designator, Vec<Rule>),
}

/// A statement as written.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// What kind.
    pub kind: StmtKind,
    /// Where.
    pub span: Span,
}

/// Kinds of statements.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// `place := value`
    Assign(Designator, Expr),
    /// `name(argument, ...)`
    Call(Name, Vec<Expr>),
    /// `clear place`
    Clear(Designator),
    /// `undefine place`
    Undefine(Designator),
    /// `if ... elsif ... else ... end`
    If(Vec<(Expr, Vec<Stmt>)>, Vec<Stmt>),
    /// `switch subject case values: ... else ... end`
    Switch(Expr, Vec<(Vec<Expr>, Vec<Stmt>)>, Vec<Stmt>),
    /// `for quantifiers do ... end`
    For(Vec<Quantifier>, Vec<Stmt>),
    /// `while condition do ... end`
    While(Expr, Vec<Stmt>),
    /// `alias name: value; ... do ... end`
    Alias(Vec<(Name, Expr)>, Vec<Stmt>),
    /// `return` or `return value`
    Return(Option<Expr>),
    /// `error "message"`
    Error(String),
    /// `put "text"`
    PutText(String),
    /// `put value`
    Put(Expr),
    /// `assert condition "message"` and its kin.
    Property(Category, Expr, Option<String>),
    /// `multisetadd(element, set)`
    MultisetAdd(Expr, Designator),
    /// `multisetremove(position, set)`
    MultisetRemove(Expr, Designator),
    /// `multisetremovepred(name: set, condition)`
    MultisetRemovePred(Box<Picker>),
}
