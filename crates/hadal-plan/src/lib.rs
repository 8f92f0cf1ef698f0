//! A planning task becomes a plan: which search, with which guides, in RAM and then on disk.
//!
//! [`Planner`] takes a ground task and answers with a plan, a proof that there is none, or why it stopped. Every plan is
//! replayed on the task's definition before it is handed out. *Optimal* and *unsolvable* are said only when proved.

mod astar;
mod external;
mod finish;
mod lazy;
mod open;
mod page;
mod plan;
mod planner;
mod states;
mod stop;
mod width;

pub use astar::Figures;
pub use external::{Kept, OnDisk};
pub use page::html;
pub use plan::{Plan, ReplayError, decimal};
pub use planner::{Answer, Outcome, PlanError, Planner};
