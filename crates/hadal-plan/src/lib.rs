//! A planning task becomes a plan: which search, with which guides, in RAM and then on disk.
//!
//! [`Planner`] takes a ground task and answers with a plan, a proof that there is none, or why it stopped. Every plan is
//! replayed on the task's definition before it is handed out. *Optimal* and *unsolvable* are said only when proved.

mod astar;
mod beam;
mod bound;
mod bounds;
mod climb;
mod disk;
mod eager;
mod ends;
mod engine;
mod external;
mod guides;
mod hope;
mod judged;
mod lazy;
mod open;
mod optimal;
mod page;
mod plan;
mod planner;
mod pruning;
mod satisficing;
mod sitting;
mod snapshot;
mod states;
mod stop;
mod sums;
mod trim;
mod types;
mod width;

pub use astar::Figures;
pub use disk::{Kept, OnDisk, Opening, Resumed, Stage};
pub use engine::{ENGINES, Engine, EngineInfo};
pub use guides::{GUIDES, GuideChoice};
pub use page::html;
pub use plan::{Plan, ReplayError, decimal};
pub use planner::{Abstraction, Answer, Found, Outcome, PlanError, Planner};
