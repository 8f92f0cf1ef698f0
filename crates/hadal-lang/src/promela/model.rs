//! What a Promela text means: names resolved, sequences turned into control graphs of elements.

use super::ast::Way;
use super::merge::Merged;
use hadal_system::Span;
use std::rc::Rc;

/// A type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Type {
    /// An integer of these bits; one of several kinds.
    Number(Width),
    /// A message type of a set.
    Mtype(usize),
    /// A channel.
    Chan,
    /// A record.
    Record(usize),
}

/// Which integers fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// A bit or a truth value.
    Bit,
    /// A truth value, written as one.
    Bool,
    /// 0 to 255.
    Byte,
    /// 16 bits with sign.
    Short,
    /// 32 bits with sign.
    Int,
    /// That many bits.
    Unsigned(u32),
}

impl Width {
    /// The least and the greatest.
    pub fn bounds(self) -> (i64, i64) {
        match self {
            Width::Bit | Width::Bool => (0, 1),
            Width::Byte => (0, 255),
            Width::Short => (-32768, 32767),
            Width::Int => (i64::from(i32::MIN), i64::from(i32::MAX)),
            Width::Unsigned(bits) => (0, (1 << bits) - 1),
        }
    }
}

impl Type {
    /// The least and the greatest value of a scalar.
    pub fn bounds(self) -> (i64, i64) {
        match self {
            Type::Number(width) => width.bounds(),
            Type::Mtype(_) | Type::Chan | Type::Record(_) => (0, 255),
        }
    }
}

/// A record type.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name.
    pub name: Rc<str>,
    /// Its fields.
    pub fields: Vec<Variable>,
}

/// A variable, parameter or field.
#[derive(Clone, Debug)]
pub struct Variable {
    /// Its name.
    pub name: Rc<str>,
    /// Its type.
    pub ty: Type,
    /// How many elements, of an array.
    pub length: Option<usize>,
    /// What it starts with.
    pub initial: Initial,
    /// It is kept apart from the state.
    pub hidden: bool,
    /// What a process says about a channel.
    pub exclusive: Exclusive,
    /// Where it is declared.
    pub span: Span,
}

/// Whether it is said that one process alone uses a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusive {
    /// `xs`: one process alone sends.
    pub sends: bool,
    /// `xr`: one process alone receives.
    pub receives: bool,
}

/// What a variable starts with.
#[derive(Clone, Debug)]
pub enum Initial {
    /// 0.
    Zero,
    /// A value, of every element.
    Value(Term),
    /// A value for each element.
    List(Vec<Term>),
    /// A channel (or one per element).
    Channel {
        /// How many messages it holds.
        capacity: usize,
        /// The types of its fields.
        fields: Vec<Type>,
    },
}

/// Whose variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum VarRef {
    /// A global one.
    Global(usize),
    /// One of the process at hand.
    Local(usize),
}

/// A place.
#[derive(Clone, Debug)]
pub struct VarPath {
    /// The variable.
    pub var: VarRef,
    /// Indices and fields.
    pub path: Vec<Segment>,
    /// What stands there (an element of it, where it is an array).
    pub ty: Type,
    /// Set where it is a whole array.
    pub length: Option<usize>,
    /// Where it stands.
    pub span: Span,
}

/// A step of a path.
#[derive(Clone, Debug)]
pub enum Segment {
    /// An element.
    Index(Term),
    /// A field.
    Field(usize),
}

/// An expression.
#[derive(Clone, Debug)]
pub struct Term {
    /// What it computes.
    pub kind: TermKind,
    /// Where it stands.
    pub span: Span,
}

impl Term {
    /// Whether its evaluation starts a process.
    pub fn starts(&self) -> bool {
        stacker::maybe_grow(64 << 10, 1 << 20, || match &self.kind {
            TermKind::Run(_) => true,
            TermKind::Unary(_, of) => of.starts(),
            TermKind::Binary(_, left, right) => left.starts() || right.starts(),
            TermKind::Choice(condition, yes, no) => condition.starts() || yes.starts() || no.starts(),
            _ => false,
        })
    }
}

/// What an expression computes.
#[derive(Clone, Debug)]
pub enum TermKind {
    /// A number.
    Const(i64),
    /// A variable's value.
    Read(VarPath),
    /// `!`, `-`, `~`.
    Unary(char, Box<Term>),
    /// Two operands.
    Binary(&'static str, Box<Term>, Box<Term>),
    /// One of two.
    Choice(Box<Term>, Box<Term>, Box<Term>),
    /// `len`, `empty`, `nempty`, `full`, `nfull`.
    Channel(&'static str, Box<VarPath>),
    /// Whether a receive could fire.
    Poll(Box<Receive>),
    /// Starts a process and gives its number.
    Run(Box<Run>),
    /// The number of the process at hand.
    Pid,
    /// How many processes there are.
    Count,
    /// Who moved last.
    Last,
    /// Nothing else can fire.
    Timeout,
    /// No process is at a progress label.
    NonProgress,
    /// `enabled`, `pc_value`, `get_priority` of a process.
    Process(&'static str, Box<Term>),
    /// Whether a process of this type, with this number if given, is at this label.
    Label {
        /// The process type.
        process: usize,
        /// The number.
        pid: Option<Box<Term>>,
        /// The label.
        label: Rc<str>,
    },
    /// A local variable of a process of this type.
    Remote {
        /// The process type.
        process: usize,
        /// The number.
        pid: Option<Box<Term>>,
        /// The variable, as that process names it.
        target: Box<VarPath>,
    },
}

/// Starting a process.
#[derive(Clone, Debug)]
pub struct Run {
    /// Its type.
    pub process: usize,
    /// The values of its parameters.
    pub arguments: Vec<Term>,
    /// Its priority.
    pub priority: i64,
}

/// A receive statement or poll.
#[derive(Clone, Debug)]
pub struct Receive {
    /// Where from.
    pub channel: VarPath,
    /// One per field.
    pub arguments: Vec<Argument>,
    /// The first that matches, wherever it stands.
    pub random: bool,
    /// The message stays.
    pub keep: bool,
}

/// An argument of a receive.
#[derive(Clone, Debug)]
pub enum Argument {
    /// Goes there.
    Into(VarPath),
    /// Must equal this.
    Match(Term),
    /// Is thrown away.
    Ignore,
}

/// A basic statement.
#[derive(Clone, Debug)]
pub enum Op {
    /// Waits for a condition.
    Condition(Term),
    /// Where nothing else of this process can fire.
    Else,
    /// Assigns.
    Assign(VarPath, Term),
    /// Sets a variable that is declared in the middle to what it starts with.
    Declare(usize),
    /// Prints.
    Print(Rc<str>, Vec<Term>),
    /// Must hold.
    Assert(Term),
    /// Sends.
    Send {
        /// Where to.
        channel: VarPath,
        /// What, one per field.
        values: Vec<Term>,
        /// In order.
        sorted: bool,
    },
    /// Receives.
    Receive(Receive),
    /// Gives a process a priority.
    SetPriority(Term, Term),
    /// A jump that is a step of its own.
    Jump,
    /// A message that a `trace` waits for: sent or received, with these fields (none of them goes anywhere).
    Event {
        /// Through which channel.
        channel: VarPath,
        /// What its fields must be.
        arguments: Vec<Argument>,
        /// Whether it is sent.
        sent: bool,
    },
}

/// Index of an element of a control graph.
pub type ElementId = usize;

/// A point in the text that control can stand at.
#[derive(Clone, Debug)]
pub struct Element {
    /// What it is.
    pub kind: ElementKind,
    /// What comes after it.
    pub next: ElementId,
    /// Where it lies in an atomic sequence.
    pub atomic: Atomic,
    /// Escapes around it, innermost first.
    pub escapes: Rc<[ElementId]>,
    /// Its number, as SPIN counts the parts of a process: the value of `pc_value` there.
    pub number: u32,
    /// Where it stands.
    pub span: Span,
}

/// Where an element lies in an atomic sequence.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Atomic {
    /// In none.
    #[default]
    Outside,
    /// Among those that others follow: the process goes on alone behind it.
    Inside,
    /// At its end.
    Last,
}

/// What an element is.
#[derive(Clone, Debug)]
pub enum ElementKind {
    /// A basic statement.
    Op(Op),
    /// One of several.
    Choice(Vec<ElementId>),
    /// A block: the first of what it holds.
    Enter(ElementId),
    /// A jump: goes on elsewhere.
    Goto(ElementId),
    /// The end of a selection.
    Join(ElementId),
    /// What a `break` leads to, the end of a loop.
    Leave(ElementId),
    /// A main part that may be left.
    Unless(ElementId),
    /// One step of many.
    Step(Vec<Step>),
    /// The end of the process.
    End,
}

/// A statement inside a `d_step`.
#[derive(Clone, Debug)]
pub enum Step {
    /// A basic statement.
    Op(Op, Span),
    /// The first option that can.
    If(Vec<Vec<Step>>, Span),
    /// The same again and again.
    Do(Vec<Vec<Step>>, Span),
    /// Leaves the loop.
    Break,
    /// Goes to a label of the same `d_step`.
    Goto(Rc<str>),
    /// A label that something jumps to.
    Label(Rc<str>),
}

/// A label.
#[derive(Clone, Debug)]
pub struct Label {
    /// Its name.
    pub name: Rc<str>,
    /// Where it stands.
    pub element: ElementId,
    /// Whether it is referred to from outside.
    pub watched: bool,
}

/// A process type.
#[derive(Clone, Debug)]
pub struct Process {
    /// Its name.
    pub name: Rc<str>,
    /// Those that run from the beginning.
    pub active: Active,
    /// Its variables, parameters first.
    pub variables: Vec<Variable>,
    /// How many of them are parameters.
    pub parameters: usize,
    /// How many of them start with a value when the process does.
    pub at_head: Vec<bool>,
    /// When it may move.
    pub provided: Option<Term>,
    /// Its control graph; element 0 is the end.
    pub elements: Vec<Element>,
    /// Where it begins.
    pub entry: ElementId,
    /// Its labels.
    pub labels: Vec<Label>,
    /// By element, what belongs to its step, where statements are merged.
    pub merged: Vec<Merged>,
    /// `xs` and `xr`: channels that it says it alone sends to, or receives from.
    pub alone: Vec<(Way, VarPath)>,
    /// Where it stands.
    pub span: Span,
}

/// Processes that run from the beginning.
#[derive(Clone, Copy, Debug)]
pub struct Active {
    /// How many.
    pub count: usize,
    /// With which priority.
    pub priority: i64,
}

impl Default for Active {
    fn default() -> Self {
        Active { count: 0, priority: 1 }
    }
}

/// An order of messages that must be kept, or must not be seen whole.
#[derive(Clone, Debug)]
pub struct Trace {
    /// Its control graph, whose statements are events.
    pub process: Process,
    /// `notrace`: what it describes must not happen.
    pub negated: bool,
}

/// A model.
#[derive(Clone, Debug, Default)]
pub struct Model {
    /// Sets of message types: names by value, from 1.
    pub mtypes: Vec<Vec<Rc<str>>>,
    /// Record types.
    pub records: Vec<Record>,
    /// Global variables.
    pub globals: Vec<Variable>,
    /// Process types.
    pub processes: Vec<Process>,
    /// Never claims, as processes that only look.
    pub claims: Vec<Process>,
    /// The order of messages.
    pub trace: Option<Trace>,
}
