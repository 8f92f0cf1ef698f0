//! One abstract machine: runs guards, bodies and predicates for many states at once, generic over what is known of values.
//!
//! The machine's side is here: which part of an expression or statement is looked at next, where a place is, what a call is
//! given. What is *known* is the implementor's side ([`AbstractMachine`]): what a value may be, where something may stand,
//! and what becomes of a condition that may be both true and false. One implementor joins what it knows behind both branches
//! (the static facts of actions); another follows one path at a time and is run once for each (the abstract tasks of guides).
//!
//! Whatever the implementor cannot say, it must overestimate: then everything a model can do, its machine does.

mod call;
mod place;
mod statement;
mod value;

pub use call::call;
pub use place::resolve;
pub use statement::block;
pub use value::{has_call, steps, value};

use crate::domain::{DomainId, Value};
use crate::expr::{BinaryOp, Expr, Range, UnaryOp};
use crate::shape::ShapeId;
use crate::stmt::{CheckKind, Stmt, SwitchArm};
use crate::system::{Function, FunctionId, Local, LocalId, LocalKind, System, VarId};

/// Somewhere, and the shape of what stands there.
pub type Spotted<'a, M> = (<M as AbstractMachine<'a>>::Spot, ShapeId);

/// The locals of a function, action or property that is running.
pub struct Frame<'a, M: AbstractMachine<'a>> {
    /// The function, where it is one.
    pub function: Option<FunctionId>,
    /// Its locals.
    pub locals: &'a [Local],
    /// First slot of each local; references have none of their own.
    pub slots: Vec<u32>,
    /// What each reference stands for.
    pub references: Vec<Option<Spotted<'a, M>>>,
    /// What the machine keeps about returning from it.
    pub exit: M::Exit,
}

/// How the truth of a condition is known.
pub enum Decision<Aside> {
    /// It holds, on the path that is followed from here.
    Holds,
    /// It does not.
    Fails,
    /// Paths that are followed together from here may have met either.
    Open(Open<Aside>),
}

/// Where a condition left two branches open.
pub struct Open<Aside> {
    /// Whether it may hold.
    pub holds: bool,
    /// Whether it may not.
    pub fails: bool,
    /// What was known here.
    pub aside: Aside,
}

/// What is done behind a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behind {
    /// The same whatever its truth.
    Alike,
    /// What only reads.
    Reads,
    /// What may write.
    Writes,
}

/// The values a loop variable takes.
pub struct Turns<V> {
    /// All of them in order, where they are known and few.
    pub list: Option<Vec<Value>>,
    /// A superset of them.
    pub hull: V,
}

/// What a call hands over for one parameter.
pub enum Passed<'a, M: AbstractMachine<'a>> {
    /// A scalar.
    Value(M::Value),
    /// A copy of what stood there.
    Copy(M::Contents),
    /// The place itself.
    Reference(Spotted<'a, M>),
}

/// What `clear` and `undefine` leave behind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blank {
    /// The least value of each scalar.
    Cleared,
    /// Undefined, where the scalar can be.
    Undefined,
}

/// What is known of values and places, and how that follows control. The functions of this module do the rest.
///
/// `Err` ends what is followed at present: one path, or all that were joined.
pub trait AbstractMachine<'a>: Sized {
    /// What an expression may be.
    type Value: Clone;
    /// Where a place may be.
    type Spot: Clone;
    /// What may stand at a place, scalar by scalar.
    type Contents;
    /// Why what is followed ended.
    type Stop;
    /// What is known at another point of the run; uninhabited where one path is followed at a time.
    type Aside;
    /// What is kept about returning from a frame.
    type Exit: Default;

    /// The system that is run.
    fn system(&self) -> &'a System;
    /// The frames, innermost last.
    fn frames(&mut self) -> &mut Vec<Frame<'a, Self>>;
    /// Counts one step, and runs it.
    fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T, Self::Stop>) -> Result<T, Self::Stop>;
    /// The first slot that is not in use.
    fn next_slot(&self) -> u32;
    /// Takes the next slot for a bound local.
    fn push_bound(&mut self);
    /// Takes the next slots for a variable that was not written yet.
    fn push_variable(&mut self, shape: ShapeId) -> Result<(), Self::Stop>;

    /// The first slot of a variable of the state.
    fn first_slot(&self, var: VarId) -> u32;
    /// A known place.
    fn at(slot: u32) -> Self::Spot;
    /// The place that lies `by` slots further inside.
    fn inside(spot: &mut Self::Spot, by: u32);
    /// Where an element of the array or multiset may be.
    fn element(&mut self, array: Spotted<'a, Self>, index: Self::Value) -> Result<Self::Spot, Self::Stop>;
    /// What becomes of a reference that stands for nothing, or a step that does not fit the shape.
    fn misplaced(&mut self) -> Self::Stop;

    /// A known value.
    fn constant(value: Value) -> Self::Value;
    /// Either of two.
    fn either(one: Self::Value, other: Self::Value) -> Self::Value;
    /// The scalar there, which must be defined.
    fn read(&mut self, at: Spotted<'a, Self>) -> Result<Self::Value, Self::Stop>;
    /// Whether something there is undefined.
    fn is_undefined(&mut self, at: Spotted<'a, Self>) -> Result<Self::Value, Self::Stop>;
    /// Whether the same stands at both places.
    fn same(&mut self, one: Spotted<'a, Self>, other: Spotted<'a, Self>) -> Result<Self::Value, Self::Stop>;
    /// 1 where it is not 0.
    fn truth(&mut self, of: Self::Value) -> Result<Self::Value, Self::Stop>;
    /// An operator applied.
    fn unary(&mut self, op: UnaryOp, of: Self::Value) -> Result<Self::Value, Self::Stop>;
    /// An operator applied that always looks at both operands.
    fn binary(
        &mut self,
        op: BinaryOp,
        left: Self::Value,
        right: Self::Value,
    ) -> Result<Self::Value, Self::Stop>;
    /// The value taken round into a domain.
    fn wrap(&mut self, of: Self::Value, domain: DomainId) -> Result<Self::Value, Self::Stop>;
    /// Whether it lies in a domain.
    fn in_domain(&mut self, of: Self::Value, domain: DomainId) -> Result<Self::Value, Self::Stop>;
    /// The value, where it fits the domain; an error of the model where it does not.
    fn fit(&mut self, value: Self::Value, domain: DomainId) -> Result<Self::Value, Self::Stop>;

    /// What stands there, to be copied.
    fn contents(&mut self, at: Spotted<'a, Self>) -> Result<Self::Contents, Self::Stop>;
    /// Writes a scalar.
    fn assign(&mut self, to: Self::Spot, value: Self::Value) -> Result<(), Self::Stop>;
    /// Writes a copy.
    fn paste(&mut self, to: Spotted<'a, Self>, contents: Self::Contents) -> Result<(), Self::Stop>;
    /// Clears or undefines.
    fn blank(&mut self, at: Spotted<'a, Self>, blank: Blank) -> Result<(), Self::Stop>;
    /// Hands a fresh local its value or copy.
    fn hand_over(&mut self, slot: u32, shape: ShapeId, passed: Result<Self::Value, Self::Contents>);
    /// Gives a bound local its value.
    fn bind(&mut self, slot: u32, value: Value);
    /// Forgets the value of a bound local.
    fn unbind(&mut self, slot: u32);

    /// What is known of a condition's truth.
    fn decide(
        &mut self,
        value: &Self::Value,
        behind: impl FnOnce() -> Behind,
    ) -> Result<Decision<Self::Aside>, Self::Stop>;
    /// Learns from a condition that was just evaluated and decided.
    fn learn(&mut self, condition: &'a Expr, holds: bool) -> Result<(), Self::Stop>;
    /// Goes to where the other branch begins; what is known at the end of the first is put aside.
    fn turn(&mut self, aside: &mut Self::Aside);
    /// Goes on behind two branches, one of which ended aside, the other here, if they did.
    fn rejoin(&mut self, aside: Self::Aside, ended_aside: bool, ended_here: bool);
    /// Adds one point of the run to others from which it goes on alike.
    fn gather(&mut self, all: &mut Option<Self::Aside>, aside: Self::Aside);

    /// The values of a range; its bounds are evaluated now.
    fn turns(&mut self, range: &'a Range) -> Result<Turns<Self::Value>, Self::Stop>;
    /// Whether one more turn is followed by itself.
    fn unrolls(&mut self) -> bool;
    /// Begins a loop whose body does no more than `behind` says.
    fn begin_turns(&mut self, behind: Behind);
    /// Ends it.
    fn end_turns(&mut self, behind: Behind);
    /// Any number of turns in which the local in a slot is any of these values.
    fn any_turns(
        &mut self,
        bound: (u32, Self::Value),
        behind: Behind,
        turn: &mut dyn FnMut(&mut Self) -> Result<(), Self::Stop>,
    ) -> Result<(), Self::Stop>;
    /// A loop until a condition fails.
    fn repeat(&mut self, condition: &'a Expr, body: &'a [Stmt]) -> Result<(), Self::Stop>;
    /// The first arm with a value that is the subject's.
    fn switch(
        &mut self,
        subject: &'a Expr,
        arms: &'a [SwitchArm],
        otherwise: &'a [Stmt],
    ) -> Result<(), Self::Stop>;
    /// An assertion or assumption.
    fn check(&mut self, kind: CheckKind, condition: &'a Expr) -> Result<(), Self::Stop>;
    /// An error of the model.
    fn fail(&mut self) -> Self::Stop;

    /// A call that is not followed; `None` where it is.
    fn unfollowed(
        &mut self,
        id: FunctionId,
        passed: &[Passed<'a, Self>],
    ) -> Option<Result<Option<Self::Value>, Self::Stop>>;
    /// Leaves a frame with a result, where there is one.
    fn return_with(&mut self, result: Option<Self::Value>) -> Self::Stop;
    /// What holds after the body of a function: its frame, whose slots begin with `first`, is left.
    fn leave_call(
        &mut self,
        function: &'a Function,
        first: u32,
        end: Result<(), Self::Stop>,
    ) -> Result<Option<Self::Value>, Self::Stop>;

    /// The innermost frame.
    fn frame(&mut self) -> &mut Frame<'a, Self> {
        // Every run enters a frame before it looks at an expression or statement.
        self.frames().last_mut().expect("a run is always inside a frame")
    }

    /// The slot of a bound or variable local of the innermost frame.
    fn local_slot(&mut self, local: LocalId) -> u32 {
        self.frame().slots[local.0 as usize]
    }

    /// Enters a function, action or property: its locals get slots.
    fn enter(&mut self, function: Option<FunctionId>, locals: &'a [Local]) -> Result<(), Self::Stop> {
        let mut slots = Vec::with_capacity(locals.len());
        for local in locals {
            slots.push(self.next_slot());
            match local.kind {
                LocalKind::Reference => {}
                LocalKind::Bound => self.push_bound(),
                LocalKind::Variable => self.push_variable(local.shape)?,
            }
        }
        let references = locals.iter().map(|_| None).collect();
        self.frames().push(Frame { function, locals, slots, references, exit: Self::Exit::default() });
        Ok(())
    }
}
