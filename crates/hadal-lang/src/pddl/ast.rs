//! A PDDL task as its text says it, names resolved to numbers. Front end, grounder and validator share this and nothing else.
//!
//! Variables are *slots* of an environment: an action's parameters come first, variables of quantifiers follow in order of
//! nesting. PPDDL's additions (probabilistic effects and rewards) are here, too.

use hadal_system::Span;
use hadal_system::rows::{Rational, Sense};

/// A domain and a problem together.
#[derive(Clone, Debug, Default)]
pub struct LiftedTask {
    /// The problem's name.
    pub name: String,
    /// Objects and constants, and which of them each sort has.
    pub universe: Universe,
    /// Declared predicates.
    pub predicates: Vec<Symbol>,
    /// Declared numeric functions.
    pub functions: Vec<Symbol>,
    /// Action schemas.
    pub actions: Vec<Action>,
    /// Rules of derived predicates.
    pub axioms: Vec<Axiom>,
    /// The state at the start.
    pub init: Init,
    /// What a plan must reach, preferences included.
    pub goal: Formula,
    /// What a plan must do on its way, preferences included.
    pub constraints: Vec<Constraint>,
    /// Names of preferences; equal names are one entry.
    pub preferences: Vec<String>,
    /// What is optimised.
    pub metric: Option<Metric>,
    /// PPDDL: what reaching the goal earns.
    pub goal_reward: Option<Rational>,
}

/// Objects and their sorts. A sort is a set of types, as `either` writes it.
#[derive(Clone, Debug, Default)]
pub struct Universe {
    /// Names of objects.
    pub objects: Vec<String>,
    /// The objects of each sort, ascending.
    pub members: Vec<Vec<u32>>,
    /// Whether an object is of a sort, by sort, then object.
    pub has: Vec<Vec<bool>>,
}

/// A predicate or function.
#[derive(Clone, Debug)]
pub struct Symbol {
    /// Its name.
    pub name: String,
    /// The sort of each parameter.
    pub sorts: Vec<u32>,
    /// Whether rules define it.
    pub derived: bool,
}

/// A variable of an action, rule or quantifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Its place in the environment.
    pub slot: u32,
    /// What it ranges over.
    pub sort: u32,
}

/// An action schema.
#[derive(Clone, Debug)]
pub struct Action {
    /// Its name.
    pub name: String,
    /// Where it stands in the domain.
    pub span: Span,
    /// Its parameters, slots 0, 1, ...
    pub parameters: Vec<Variable>,
    /// When it can be applied, preferences included.
    pub precondition: Formula,
    /// What it does.
    pub effect: Effect,
}

/// A rule of a derived predicate.
#[derive(Clone, Debug)]
pub struct Axiom {
    /// Where it stands in the domain.
    pub span: Span,
    /// What follows.
    pub predicate: u32,
    /// Its parameters, slots 0, 1, ...
    pub parameters: Vec<Variable>,
    /// From what.
    pub body: Formula,
}

/// The state at the start.
#[derive(Clone, Debug, Default)]
pub struct Init {
    /// What is true.
    pub atoms: Vec<(u32, Vec<u32>)>,
    /// What functions are.
    pub values: Vec<(u32, Vec<u32>, Rational)>,
    /// PPDDL: independent draws, each of atoms and values with a probability.
    pub draws: Vec<Vec<(Rational, Init)>>,
}

/// An object or a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// This object.
    Object(u32),
    /// What the slot holds.
    Variable(u32),
}

/// A predicate or function with its arguments.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atom {
    /// Which predicate or function.
    pub symbol: u32,
    /// Its arguments.
    pub terms: Vec<Term>,
}

/// A condition.
#[derive(Clone, Debug)]
pub enum Formula {
    /// Always, or never.
    Constant(bool),
    /// An atom is true.
    Atom(Atom),
    /// Two terms are the same object.
    Equal(Term, Term),
    /// Two numbers compare so.
    Compare(Comparator, Box<Number>, Box<Number>),
    /// It is false.
    Not(Box<Formula>),
    /// All are true.
    And(Vec<Formula>),
    /// One is true.
    Or(Vec<Formula>),
    /// True for some objects.
    Exists(Vec<Variable>, Box<Formula>),
    /// True for all objects.
    Forall(Vec<Variable>, Box<Formula>),
    /// May be false at a price; the number of its name, where it has one.
    Preference(Option<u32>, Box<Formula>),
}

impl Default for Formula {
    fn default() -> Self {
        Formula::Constant(true)
    }
}

/// How numbers compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparator {
    /// `<`
    Less,
    /// `<=`
    AtMost,
    /// `=`
    Equal,
    /// `>=`
    AtLeast,
    /// `>`
    Greater,
}

/// A numeric expression.
#[derive(Clone, Debug)]
pub enum Number {
    /// This number.
    Constant(Rational),
    /// The value of a function.
    Fluent(Atom),
    /// A sum.
    Add(Vec<Number>),
    /// A product.
    Multiply(Vec<Number>),
    /// A difference.
    Subtract(Box<Number>, Box<Number>),
    /// A quotient.
    Divide(Box<Number>, Box<Number>),
    /// How often a preference is violated (metrics only).
    Violated(u32),
    /// The number of steps (metrics only).
    TotalTime,
    /// PPDDL: 1 where the goal is reached (metrics only).
    GoalAchieved,
}

/// What an action does; all of it reads the state before.
#[derive(Clone, Debug)]
pub enum Effect {
    /// All of these.
    And(Vec<Effect>),
    /// For all objects.
    Forall(Vec<Variable>, Box<Effect>),
    /// Where a condition holds.
    When(Formula, Box<Effect>),
    /// An atom becomes true.
    Add(Atom),
    /// An atom becomes false, unless another effect makes it true.
    Delete(Atom),
    /// A number changes.
    Update(Update),
    /// PPDDL: one of these with its probability; nothing with what is missing to 1.
    Probabilistic(Vec<(Rational, Effect)>),
}

impl Default for Effect {
    fn default() -> Self {
        Effect::And(Vec::new())
    }
}

/// A change of a number.
#[derive(Clone, Debug)]
pub struct Update {
    /// Where it stands in the domain.
    pub span: Span,
    /// How it changes.
    pub operator: Operator,
    /// Which one.
    pub target: Atom,
    /// By what.
    pub value: Number,
}

/// How a number changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// It becomes the value.
    Assign,
    /// It grows by it.
    Increase,
    /// It shrinks by it.
    Decrease,
    /// It is multiplied by it.
    ScaleUp,
    /// It is divided by it.
    ScaleDown,
}

/// A condition on all states of a plan, the first one included.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// All of these.
    And(Vec<Constraint>),
    /// For all objects.
    Forall(Vec<Variable>, Box<Constraint>),
    /// May be violated at a price; the number of its name, where it has one.
    Preference(Option<u32>, Box<Constraint>),
    /// A watch on the states.
    Watch(Watch),
}

/// One operator over the states of a plan. Numbers of steps count from the initial state, which is at 0.
#[derive(Clone, Debug)]
pub enum Watch {
    /// In the last state.
    AtEnd(Formula),
    /// In every state.
    Always(Formula),
    /// In some state.
    Sometime(Formula),
    /// In at most one uninterrupted stretch of states.
    AtMostOnce(Formula),
    /// After (or when) the first, the second.
    SometimeAfter(Formula, Formula),
    /// Strictly before the first, the second.
    SometimeBefore(Formula, Formula),
    /// In some state, at most so many steps from the start.
    Within(u32, Formula),
    /// After (or when) the first, the second at most so many steps later.
    AlwaysWithin(u32, Formula, Formula),
    /// In every state from the first step up to, not including, the second.
    HoldDuring(u32, u32, Formula),
    /// In every state from this step on; where the plan ends before, in its last.
    HoldAfter(u32, Formula),
}

/// What is optimised.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Less or more is better.
    pub sense: Sense,
    /// Of what.
    pub value: Number,
}
