//! The narrow waist of hadal: what a model *is*, whatever language it was written in.
//!
//! A front end lowers its language to a [`System`]: finite-domain variables in [`Shapes`], guarded
//! [`Action`]s with structured bodies, [`Property`]s. A [`Layout`] packs its states into a fixed number of
//! 64-bit words. Explorers see neither: they see a [`StateSpace`], which a Rust user may implement directly.

pub mod chance;
pub mod claim;
pub mod cost;
pub mod cursor;
pub mod deadlock;
pub mod domain;
pub mod expr;
pub mod facts;
pub mod fold;
pub mod guide;
pub mod interval;
pub mod layout;
pub mod machine;
pub mod payload;
pub mod portrait;
pub mod progress;
pub mod random;
pub mod rows;
pub mod shape;
pub mod source;
pub mod space;
pub mod state;
pub mod states;
pub mod stmt;
pub mod system;
pub mod text;
pub mod timed;
pub mod trail;
pub mod units;
pub mod validate;
pub mod visit;
pub mod wide;
pub mod wrap;

pub use chance::{Amount, Chance, ChoiceFault, Choices, Outcomes, Reward, RewardItem};
pub use claim::Claim;
pub use cost::{COST_ERROR, CostRange, MOST_COST};
pub use deadlock::DeadlockNotion;
pub use domain::{Domain, DomainId, DomainKind, Domains, ScalarsetId, Value};
pub use expr::{Base, BinaryOp, Expr, ExprKind, Place, Quantifier, Range, Step, UnaryOp};
pub use layout::Layout;
pub use payload::{Merge, Payload};
pub use shape::{Field, Shape, ShapeId, Shapes};
pub use source::{LineColumn, Source, Span};
pub use space::{
    Acceptance, ActionInfo, Check, Cover, Label, Matcher, PropertyId, PropertyInfo, PropertyKind, Shown,
    StateField, StateSpace, Successors, Worker, check_one_by_one, successors_one_by_one,
};
pub use states::{Ascending, States};
pub use stmt::{Argument, CheckKind, PrintItem, Stmt, StmtKind, SwitchArm};
pub use system::{
    Action, ActionId, Besides, ControlEdge, Function, FunctionId, Instance, Local, LocalId, LocalKind,
    Location, Param, ParamValues, Process, ProcessId, Property, PropertyBody, Quantities, Role, System,
    VarId, Variable,
};
pub use wrap::{WrapsSpace, WrapsWorker};

pub use timed::TimedSystem;

/// How deep calls may nest before the model is reported as running away.
pub const MAX_CALL_DEPTH: u32 = 500;

/// How often a `while` loop may turn in one execution before the model is reported as running away.
pub const MAX_LOOP_TURNS: u64 = 1_000_000;
