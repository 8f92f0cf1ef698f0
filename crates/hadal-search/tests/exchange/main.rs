//! Any number of workers must give the numbers, the verdict and the trace of one.

mod cycles;
#[path = "../drawn/mod.rs"]
mod drawn;
mod external;
#[path = "../graphs/mod.rs"]
mod graphs;
mod hall;
mod layers;
mod relaxed;
#[path = "../runs/mod.rs"]
mod runs;
mod slow;
#[path = "../spaces/mod.rs"]
mod spaces;
