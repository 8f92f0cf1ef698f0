//! What a PRISM model or property file says, before names mean anything.

use hadal_system::Span;
use hadal_system::rows::Rational;

/// An expression, a state formula or a question.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// What it is.
    pub kind: Kind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression is.
#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A whole number.
    Int(i64),
    /// A decimal number, exactly.
    Real(Rational),
    /// `true` or `false`
    Bool(bool),
    /// A constant, variable or formula.
    Name(String),
    /// `"name"`: a label or another property.
    Label(String),
    /// `!x`
    Not(Box<Expr>),
    /// `-x`
    Negate(Box<Expr>),
    /// Two operands.
    Binary(Op, Box<Expr>, Box<Expr>),
    /// `c ? a : b`
    If(Box<Expr>, Box<Expr>, Box<Expr>),
    /// A function with its name.
    Call(String, Vec<Expr>),
    /// `P ... [ ... ]`
    Probability(Box<Query<Path>>),
    /// `R{"name"} ... [ ... ]`
    Reward(Option<RewardName>, Box<Query<Earning>>),
    /// `filter(op, what, states)`
    Filter(String, Box<Expr>, Option<Box<Expr>>),
    /// A temporal formula among others: `(F p) & (G q)`.
    Path(Box<Path>),
    /// `E [ ... ]` (`true`) or `A [ ... ]`: on some path, on all paths.
    Paths(bool, Box<Path>),
    /// `S ... [ ... ]` or `LRA ... [ ... ]`
    Average(Box<Query<Expr>>),
    /// Expected times, games, several objectives: known, not answered.
    Unsupported(&'static str),
}

impl Expr {
    /// Whether it is made of temporal formulas.
    pub fn is_temporal(&self) -> bool {
        match &self.kind {
            Kind::Path(_) => true,
            Kind::Not(operand) => operand.is_temporal(),
            Kind::Binary(_, left, right) => left.is_temporal() || right.is_temporal(),
            Kind::If(condition, then, otherwise) => {
                condition.is_temporal() || then.is_temporal() || otherwise.is_temporal()
            }
            _ => false,
        }
    }
}

/// Operators on two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are PRISM's own")]
pub enum Op {
    Add,
    Subtract,
    Multiply,
    Divide,
    Less,
    LessEqual,
    Greater,
    GreaterEqual,
    Equal,
    NotEqual,
    And,
    Or,
    Implies,
    Iff,
}

/// Which reward is asked about.
#[derive(Clone, Debug, PartialEq)]
pub enum RewardName {
    /// By name.
    Name(String, Span),
    /// By place, from 1.
    Number(i64, Span),
}

/// How the value of a query is used.
#[derive(Clone, Debug, PartialEq)]
pub enum Use {
    /// `=?`, `min=?`, `max=?`
    Value(Option<hadal_system::chance::Sense>),
    /// `>= p` and its like.
    Compare(hadal_system::chance::Relation, Expr),
}

/// A `P`, `R` or `S` operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Query<T> {
    /// What becomes of its value.
    pub used: Use,
    /// What is measured.
    pub of: T,
    /// The old way to write a filter: `{states}{min}{max}` before the bracket closes.
    pub filter: Option<(Expr, Option<String>)>,
}

/// A path formula.
#[derive(Clone, Debug, PartialEq)]
pub enum Path {
    /// A state formula.
    State(Expr),
    /// `X p`
    Next(Box<Path>, Span),
    /// `F p`
    Finally(Box<Path>, Vec<Bound>, Span),
    /// `G p`
    Globally(Box<Path>, Vec<Bound>, Span),
    /// `p U q`
    Until(Box<Path>, Box<Path>, Vec<Bound>, Span),
    /// `p W q`
    WeakUntil(Box<Path>, Box<Path>, Vec<Bound>, Span),
    /// `p R q`
    Release(Box<Path>, Box<Path>, Vec<Bound>, Span),
}

impl Path {
    /// Whether it has one temporal operator at most, above formulas about states.
    pub fn is_simple(&self) -> bool {
        let state = |path: &Path| matches!(path, Path::State(expr) if !expr.is_temporal());
        match self {
            Path::State(expr) => !expr.is_temporal(),
            Path::Next(of, _) | Path::Finally(of, ..) | Path::Globally(of, ..) => state(of),
            Path::Until(left, right, ..)
            | Path::WeakUntil(left, right, ..)
            | Path::Release(left, right, ..) => state(left) && state(right),
        }
    }
}

/// A bound of a temporal operator.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// The reward that is counted; `None`: steps.
    pub reward: Option<Option<RewardName>>,
    /// At least, and whether that itself is excluded.
    pub low: Option<(Expr, bool)>,
    /// At most, and whether that itself is excluded.
    pub high: Option<(Expr, bool)>,
    /// Where it stands.
    pub span: Span,
}

/// What an `R` operator adds up.
#[derive(Clone, Debug, PartialEq)]
pub enum Earning {
    /// `F p`
    Reach(Expr),
    /// `C<=k`
    Cumulative(Expr),
    /// `C`
    Total,
    /// `I=k`
    Instant(Expr),
    /// `S` or `LRA`
    LongRun,
}

/// What kind of process a model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ModelKind {
    /// `mdp`
    Mdp,
    /// `dtmc`
    Dtmc,
    /// `ctmc`
    Ctmc,
}

/// The type of a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// `int`
    Int,
    /// `double`
    Double,
    /// `bool`
    Bool,
}

/// `const int N = 3;`
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// Its value, where the model gives it.
    pub value: Option<Expr>,
    /// Where its name stands.
    pub span: Span,
}

/// `x : [0..3] init 1;`
#[derive(Clone, Debug, PartialEq)]
pub struct Variable {
    /// Its name.
    pub name: String,
    /// Its bounds; `None`: a boolean.
    pub range: Option<(Expr, Expr)>,
    /// `int` without bounds.
    pub unbounded: bool,
    /// Its value at the start.
    pub init: Option<Expr>,
    /// Where its name stands.
    pub span: Span,
}

/// `[a] g -> p : (x'=1) + ...;`
#[derive(Clone, Debug, PartialEq)]
pub struct Command {
    /// What it synchronises on.
    pub action: Option<String>,
    /// When.
    pub guard: Expr,
    /// Probabilities (`None`: 1) with assignments.
    pub updates: Vec<(Option<Expr>, Vec<Assignment>)>,
    /// Where it stands.
    pub span: Span,
}

/// `(x'=1)`
#[derive(Clone, Debug, PartialEq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Its next value.
    pub value: Expr,
    /// Where it stands.
    pub span: Span,
}

/// `module m ... endmodule`
#[derive(Clone, Debug, PartialEq)]
pub struct Module {
    /// Its name.
    pub name: String,
    /// Its variables.
    pub variables: Vec<Variable>,
    /// Its commands.
    pub commands: Vec<Command>,
    /// Where its name stands.
    pub span: Span,
}

/// `module m2 = m1 [x=y, ...] endmodule`
#[derive(Clone, Debug, PartialEq)]
pub struct Renaming {
    /// The new module's name.
    pub name: String,
    /// The module it is made of.
    pub base: String,
    /// Old names with new ones.
    pub pairs: Vec<(String, String)>,
    /// Where it stands.
    pub span: Span,
}

/// A module in the order of the text.
#[derive(Clone, Debug, PartialEq)]
pub enum ModuleText {
    /// Written out.
    Plain(Module),
    /// Made of another one.
    Renamed(Renaming),
}

/// An item of a reward structure.
#[derive(Clone, Debug, PartialEq)]
pub struct RewardItem {
    /// `None`: a state reward; otherwise the action, which itself may be none.
    pub action: Option<Option<String>>,
    /// When.
    pub guard: Expr,
    /// How much.
    pub value: Expr,
    /// Where it stands.
    pub span: Span,
}

/// `rewards "name" ... endrewards`
#[derive(Clone, Debug, PartialEq)]
pub struct Reward {
    /// Its name; empty where it has none.
    pub name: String,
    /// Its items.
    pub items: Vec<RewardItem>,
}

/// How modules are composed.
#[derive(Clone, Debug, PartialEq)]
pub enum Composition {
    /// One module.
    Module(String, Span),
    /// `a || b` (over the common alphabet), `a |[x, y]| b`, or `a ||| b`.
    Parallel(Box<Composition>, Sync, Box<Composition>),
    /// `a / {x, y}`
    Hide(Box<Composition>, Vec<String>),
    /// `a {x <- y}`
    Rename(Box<Composition>, Vec<(String, String)>),
}

/// What both sides of a composition do together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Sync {
    /// What both know.
    Common,
    /// These.
    Only(Vec<String>),
}

/// A named expression.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    /// Its name.
    pub name: String,
    /// What it stands for.
    pub value: Expr,
    /// Where its name stands.
    pub span: Span,
}

/// A question.
#[derive(Clone, Debug, PartialEq)]
pub struct Property {
    /// Its name, where it has one.
    pub name: Option<String>,
    /// What it asks.
    pub asks: Expr,
}

/// Everything a model file says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct File {
    /// What it is; `None` means `mdp`.
    pub kind: Option<ModelKind>,
    /// Constants.
    pub constants: Vec<Constant>,
    /// Formulas.
    pub formulas: Vec<Named>,
    /// Labels.
    pub labels: Vec<Named>,
    /// Global variables.
    pub globals: Vec<Variable>,
    /// Modules.
    pub modules: Vec<ModuleText>,
    /// Rewards.
    pub rewards: Vec<Reward>,
    /// `init ... endinit`
    pub init: Option<Expr>,
    /// `system ... endsystem`
    pub system: Option<Composition>,
    /// Questions, in property files.
    pub properties: Vec<Property>,
}
