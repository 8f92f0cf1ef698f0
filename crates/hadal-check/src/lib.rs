//! A question becomes a run: the library that the command, tests and other programs call.
//!
//! [`Check`] is given a [`System`](hadal_system::System) and options, chooses how to search, reduces the model where that
//! is asked for, races a guided search against a blind one, goes to disk when memory is full, lifts what it finds back to
//! the model and replays it. The [`Outcome`] is typed; nothing is printed.
//!
//! ```
//! use hadal_check::{Check, Verdict};
//! # let text = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end; invariant \"small\" x < 3;";
//! # let source = hadal_system::Source::new("counter.m", text);
//! let system = hadal_lang::murphi::load(source, &[])?.system;
//! let outcome = Check::of(system).memory(64 << 20).threads(1).run()?;
//! let trace = outcome.trace.expect("the invariant does not hold");
//! assert!(matches!(outcome.report.verdict, Verdict::Violated(_)));
//! assert_eq!(trace.steps.len(), 4);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Looking for an error where a guide says it is near, with steps in one order only:
//!
//! ```
//! use hadal_check::{Check, Traces};
//! # let text = "var x: 0..3; startstate x := 0; end; rule x < 3 ==> x := x + 1; end; invariant \"small\" x < 3;";
//! # let source = hadal_system::Source::new("counter.m", text);
//! # let system = hadal_lang::murphi::load(source, &[])?.system;
//! let outcome = Check::of(system).property("small").por(Traces::Some).find().memory(64 << 20).run()?;
//! assert_eq!(outcome.trace.map(|trace| trace.steps.len()), Some(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod by;
pub mod check;
mod costs;
pub mod coverage;
pub mod detection;
pub mod directed;
mod early;
pub mod error;
pub mod folder;
pub mod formulas;
pub mod memory;
pub mod options;
pub mod partition;
mod plan;
mod preparation;
pub mod properties;
mod race;
pub mod reduction;
pub mod room;
pub mod run;
pub mod running;
mod runs;
mod searching;
pub mod several;
pub mod space;
pub mod strategy;
pub mod timed;
pub mod usage;

pub use by::{By, Chosen, Launch, Work};
pub use check::{Check, Subject};
pub use coverage::Coverage;
pub use detection::Detecting;
pub use directed::Directing;
pub use error::CheckError;
pub use folder::RunPlace;
pub use hadal_system::units;
pub use options::Options;
pub use partition::Partitioning;
pub use reduction::{Reductions, Traces};
pub use run::{Outcome, Prepared, Run};
pub use running::{Fair, Lasso, Liveness, Running};
pub use runs::Answer;
pub use several::Several;
pub use space::{SpaceCheck, SpaceOutcome, SpaceRun};
pub use strategy::Strategy;

// What options and outcomes are made of.
pub use hadal_exec::model::Engine;
pub use hadal_exec::symmetry::SymmetryMode;
pub use hadal_search::{
    Limits, Phase, Progress, Report, StopReason, Verdict, Violation, ViolationKind, WhenFull,
};
pub use hadal_system::DeadlockNotion;
