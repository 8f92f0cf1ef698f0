//! What a Promela text says, before names are resolved.

use crate::cpp::lex::Token;
use hadal_system::Span;
use std::collections::HashSet;
use std::rc::Rc;

/// A name and where it stands.
#[derive(Clone, Debug)]
pub struct Name {
    /// As written.
    pub text: Rc<str>,
    /// Where.
    pub span: Span,
}

/// A whole text.
#[derive(Clone, Debug, Default)]
pub struct Tree {
    /// Names of message types, by set; `_unnamed_` is the set of plain `mtype`.
    pub mtypes: Vec<(Rc<str>, Vec<Name>)>,
    /// Record types.
    pub typedefs: Vec<Typedef>,
    /// Global variables.
    pub globals: Vec<Variable>,
    /// Processes, `init` among them.
    pub proctypes: Vec<Proctype>,
    /// Never claims.
    pub claims: Vec<Claim>,
    /// Formulas.
    pub formulas: Vec<Formula>,
    /// Assertions about the order of messages.
    pub traces: Vec<Claim>,
    /// Labels that something refers to from outside their process.
    pub watched: HashSet<Rc<str>>,
    /// Variables that a `select` gives values.
    pub selected: HashSet<Rc<str>>,
}

/// A record type.
#[derive(Clone, Debug)]
pub struct Typedef {
    /// Its name.
    pub name: Name,
    /// Its fields.
    pub fields: Vec<Variable>,
}

/// A type as written.
#[derive(Clone, Debug)]
pub enum Type {
    /// One bit.
    Bit,
    /// A truth value.
    Bool,
    /// 0 to 255.
    Byte,
    /// The number of a process.
    Pid,
    /// 16 bits.
    Short,
    /// 32 bits.
    Int,
    /// Some bits.
    Unsigned(u32),
    /// A message type of a set.
    Mtype(Rc<str>),
    /// A channel.
    Chan,
    /// A record type.
    User(Name),
}

/// A variable, parameter or field.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Name,
    /// Its type.
    pub ty: Type,
    /// How many elements, of an array.
    pub length: Option<Expr>,
    /// What it starts with.
    pub initial: Option<Initial>,
    /// `hidden`.
    pub hidden: bool,
}

/// What a variable starts with.
#[derive(Clone, Debug)]
pub enum Initial {
    /// A value.
    Value(Expr),
    /// A value for each element.
    List(Vec<Expr>),
    /// A channel of this capacity and these fields (per element of an array).
    Channel(Expr, Vec<Type>),
}

/// A process type.
#[derive(Clone, Debug)]
pub struct Proctype {
    /// Its name, `:init:` for the initial process.
    pub name: Name,
    /// How many run from the beginning.
    pub active: Option<Expr>,
    /// Its parameters.
    pub parameters: Vec<Variable>,
    /// When its instances may move.
    pub provided: Option<Expr>,
    /// With which priority its instances start.
    pub priority: Option<Expr>,
    /// What it does.
    pub body: Vec<Stmt>,
    /// Whether it is declared deterministic.
    pub deterministic: bool,
    /// Where its closing brace stands.
    pub end: Span,
}

/// A never claim or a trace assertion.
#[derive(Clone, Debug)]
pub struct Claim {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// `never`, `trace` or `notrace`.
    pub word: Name,
    /// What it does.
    pub body: Vec<Stmt>,
}

/// A formula of linear temporal logic.
#[derive(Clone, Debug)]
pub struct Formula {
    /// Its name, if it has one.
    pub name: Option<Name>,
    /// Its tokens.
    pub tokens: Vec<Token>,
    /// Where it stands.
    pub span: Span,
}

/// A statement with its labels.
#[derive(Clone, Debug)]
pub struct Stmt {
    /// Its labels.
    pub labels: Vec<Name>,
    /// What it does.
    pub kind: StmtKind,
    /// Where it stands.
    pub span: Span,
}

/// What a statement does.
#[derive(Clone, Debug)]
pub enum StmtKind {
    /// Declares a variable.
    Declare(Variable),
    /// Declares a variable that the text does not show.
    Temporary(Variable),
    /// Waits for a condition.
    Condition(Expr),
    /// Can fire where no other option can.
    Else,
    /// Assigns.
    Assign(Place, Expr),
    /// Prints.
    Print(Rc<str>, Vec<Expr>),
    /// Prints a message type.
    PrintName(Expr),
    /// Must hold.
    Assert(Expr),
    /// Sends.
    Send {
        /// Where to.
        channel: Place,
        /// What.
        values: Vec<Expr>,
        /// In the order of messages.
        sorted: bool,
    },
    /// Receives.
    Receive(Receive),
    /// Jumps.
    Goto(Name),
    /// Leaves the innermost loop.
    Break,
    /// One of several.
    If(Vec<Vec<Stmt>>),
    /// One of several, again and again.
    Do(Vec<Vec<Stmt>>),
    /// Without anybody else between.
    Atomic(Vec<Stmt>),
    /// As one step.
    Step(Vec<Stmt>),
    /// One after the other.
    Block(Vec<Stmt>),
    /// The first unless the second can.
    Unless(Box<Stmt>, Box<Stmt>),
    /// Gives a process a priority.
    SetPriority(Expr, Expr),
    /// Says that only this process sends or receives.
    Exclusive(Way, Vec<Place>),
}

/// The direction of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// It is sent.
    Send,
    /// It is received.
    Receive,
}

/// A receive statement or a poll.
#[derive(Clone, Debug)]
pub struct Receive {
    /// Where from.
    pub channel: Place,
    /// What must match, and where it goes.
    pub arguments: Vec<Argument>,
    /// The first message that matches, wherever it stands.
    pub random: bool,
    /// The message stays.
    pub keep: bool,
}

/// An argument of a receive statement.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Goes to a variable, or must equal a message type's name.
    Place(Place),
    /// Must equal this.
    Match(Expr),
}

/// A variable with indices and fields.
#[derive(Clone, Debug)]
pub struct Place {
    /// The variable.
    pub name: Name,
    /// Its index.
    pub index: Option<Box<Expr>>,
    /// The field of it.
    pub field: Option<Box<Place>>,
    /// All of it.
    pub span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it computes.
    pub kind: ExprKind,
    /// Where it stands.
    pub span: Span,
}

/// What an expression computes.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A number.
    Number(i64),
    /// A variable's value or a message type.
    Place(Place),
    /// `!`, `-`, `~`.
    Unary(char, Box<Expr>),
    /// Two operands.
    Binary(&'static str, Box<Expr>, Box<Expr>),
    /// `(c -> a : b)`.
    Choice(Box<Expr>, Box<Expr>, Box<Expr>),
    /// `len`, `empty`, `nempty`, `full`, `nfull`.
    Channel(&'static str, Place),
    /// Whether a receive statement could fire.
    Poll(Box<Receive>),
    /// Starts a process.
    Run {
        /// Its type.
        name: Name,
        /// Values of its parameters.
        arguments: Vec<Expr>,
        /// Its priority.
        priority: Option<Box<Expr>>,
    },
    /// `enabled`, `pc_value`, `get_priority`.
    Process(&'static str, Box<Expr>),
    /// Nothing else can fire.
    Timeout,
    /// No process is at a progress label.
    NonProgress,
    /// Whether a process is at a label.
    Label {
        /// Its type.
        process: Name,
        /// Its number.
        pid: Option<Box<Expr>>,
        /// The label.
        label: Name,
    },
    /// A variable of another process.
    Remote {
        /// Its type.
        process: Name,
        /// Its number.
        pid: Option<Box<Expr>>,
        /// The variable.
        place: Place,
    },
}
