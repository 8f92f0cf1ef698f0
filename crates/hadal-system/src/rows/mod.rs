//! Ground tasks as tables: finite variables, exact numbers, and one *row* per ground action.
//!
//! A planning task has up to hundreds of thousands of ground actions. Each is a row of flat lists here, never a syntax
//! tree: a successor generator reads the rows as they are, and so do estimates. All effects of a row read the state before
//! it; every conditional effect is decided there, too.

pub mod scale;
mod system;
mod weight;

pub use system::NoSystem;
pub use weight::list_bytes;

use num_rational::Ratio;

/// An exact number of a model; arithmetic on it is checked and never wraps.
pub type Rational = Ratio<i128>;

/// A ground task.
#[derive(Clone, Debug, Default)]
pub struct RowTask {
    /// What to call it.
    pub name: String,
    /// Variables with a few values each; a state gives each one value.
    pub variables: Vec<FiniteVariable>,
    /// Numeric variables; a state gives each one number.
    pub numbers: Vec<NumberVariable>,
    /// Facts that follow from the state: evaluated once per state, never stored.
    pub derived: Vec<DerivedFact>,
    /// The rules behind derived facts, by ascending stratum.
    pub rules: Vec<DerivedRule>,
    /// Comparisons that conditions name by number.
    pub comparisons: Vec<Comparison>,
    /// Numeric expressions, children before parents; everything else names them by number.
    pub terms: Vec<Term>,
    /// The names that rows give by number.
    pub names: Names,
    /// The ground actions; a row's number is its label.
    pub rows: Vec<Row>,
    /// Automata that are stepped on every state just entered, the initial one included, in this order.
    pub monitors: Vec<Monitor>,
    /// What a goal state satisfies.
    pub goal: Vec<Need>,
    /// What is minimised or maximised.
    pub metric: Metric,
}

/// The names that rows give by number.
#[derive(Clone, Debug, Default)]
pub struct Names {
    /// Of action schemas.
    pub schemas: Vec<String>,
    /// Of objects.
    pub objects: Vec<String>,
}

impl RowTask {
    /// A row as a plan writes it: `(name argument ...)`.
    pub fn label(&self, row: u32) -> String {
        let row = &self.rows[row as usize];
        let mut text = format!("({}", self.names.schemas[row.schema as usize]);
        for &argument in &row.arguments {
            text.push(' ');
            text.push_str(&self.names.objects[argument as usize]);
        }
        text.push(')');
        text
    }
}

/// A variable with finitely many values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FiniteVariable {
    /// What to call it.
    pub name: String,
    /// What each value means, as the language writes it: an atom, or that none of the others holds.
    pub values: Vec<String>,
    /// Its value at the start.
    pub initial: u32,
}

/// A numeric variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumberVariable {
    /// What to call it.
    pub name: String,
    /// Its value at the start; `None` is undefined, and reading it makes a condition false and an action inapplicable.
    pub initial: Option<Rational>,
}

/// A fact that follows from others by rules; false unless a rule derives it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedFact {
    /// What to call it.
    pub name: String,
    /// Rules of a stratum may negate only facts of lower ones.
    pub stratum: u32,
}

/// One way to derive a fact.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DerivedRule {
    /// Which fact follows, an index into [`RowTask::derived`].
    pub head: u32,
    /// From what.
    pub body: Vec<Need>,
}

/// One conjunct of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// A finite variable has this value.
    Is(u32, u32),
    /// A finite variable has another value than this.
    IsNot(u32, u32),
    /// A derived fact is true.
    Derived(u32),
    /// A derived fact is false.
    NotDerived(u32),
    /// A comparison is true, an index into [`RowTask::comparisons`].
    Compares(u32),
}

/// A comparison of a term with zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// What is compared with zero, an index into [`RowTask::terms`].
    pub term: u32,
    /// How.
    pub sign: Sign,
}

/// What the sign of a term must be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sign {
    /// `= 0`
    Zero,
    /// `> 0`
    Positive,
    /// `>= 0`
    NotNegative,
    /// Not `= 0`
    NotZero,
}

/// A numeric expression; operands are indices of earlier terms.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Term {
    /// This number.
    Constant(Rational),
    /// The value of a numeric variable.
    Number(u32),
    /// 1 where this holds, else 0 (penalties of preferences). A comparison here is one of earlier terms.
    Holds(Need),
    /// Sum.
    Add(u32, u32),
    /// Difference.
    Subtract(u32, u32),
    /// Product.
    Multiply(u32, u32),
    /// Quotient; by zero is undefined.
    Divide(u32, u32),
}

/// A ground action.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Row {
    /// Index into [`RowTask::schemas`].
    pub schema: u32,
    /// The objects its parameters stand for, indices into [`RowTask::objects`].
    pub arguments: Vec<u32>,
    /// When it can fire.
    pub needs: Vec<Need>,
    /// What it does; where several set one variable in a state, the last one counts.
    pub effects: Vec<Effect>,
    /// What it costs, an index into [`RowTask::terms`]; `None` is 1 where the metric counts steps, else 0.
    pub cost: Option<u32>,
    /// Whether it is bookkeeping (the end of a plan, a preference collected or forgone) that no plan shows.
    pub hidden: bool,
}

/// One effect of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// When it happens besides the row's own needs.
    pub when: Vec<Need>,
    /// What happens.
    pub change: Change,
}

/// What an effect changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// A finite variable gets a value.
    Set(u32, u32),
    /// A numeric variable gets the value of a term in the state before. No other effect changes it in the same state.
    Assign(u32, u32),
    /// A numeric variable grows by the value of a term in the state before; several that happen add up.
    Increase(u32, u32),
}

/// A deterministic automaton that watches the states of a plan. Its state is a finite variable of the task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Monitor {
    /// The finite variable that holds its state.
    pub variable: u32,
    /// Steps: where the variable has the first value and the needs hold in the state entered, it gets the second. The first
    /// that applies is taken; none leaves it as it is.
    pub steps: Vec<(u32, Vec<Need>, u32)>,
}

/// What is optimised.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// The number of steps is minimised.
    #[default]
    Steps,
    /// The sum of the costs of the steps is minimised, plus a term read in the last state, where there is one.
    Cost {
        /// Index into [`RowTask::terms`].
        at_end: Option<u32>,
        /// The metric as the model writes it: this, plus the sum where it is minimised, less the sum where it is maximised.
        offset: Rational,
        /// What the model asks for.
        sense: Sense,
    },
    /// A term read in the last state is minimised.
    Minimise(u32),
    /// A term read in the last state is maximised.
    Maximise(u32),
}

/// Whether less or more of a metric is better.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sense {
    /// Less.
    #[default]
    Minimise,
    /// More.
    Maximise,
}
