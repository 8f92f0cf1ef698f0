//! Decision processes larger than memory: states numbered by rank, edges by two external sorts, end components collapsed by
//! scans, and equations that are swept from RAM, from disk, block by block, or as it was published. A run that was killed goes
//! on from its last commit.

mod answer;
mod asked;
mod average;
mod blocks;
mod bounded;
mod certain;
mod certify;
mod certify_steps;
mod company;
mod components;
mod earning;
mod envelope;
mod equations;
mod everywhere;
mod evidence;
mod exactly;
mod explore;
mod faithful;
mod fractions;
mod graph;
mod inside;
mod jacobi;
mod journal;
mod letters;
mod moving;
mod packed;
mod parts;
mod policy;
mod ranges;
mod rows;
mod solve;
mod stages;
mod sweep;
mod timed;
mod vector;

pub use answer::{Member, Place, answer, answer_among, answer_in_ram, answer_with, fingerprint};
pub use company::Company;
pub use envelope::{answer_growing, answer_growing_with};
pub use everywhere::{Everywhere, StateBounds, solve_everywhere};
pub(crate) use graph::{Cursor, run_options};
pub use graph::{DiskError, DiskGraph, DiskOptions};
pub use jacobi::{Jacobi, jacobi};
pub use journal::Journal;
pub(crate) use letters::{Letters, Lookup};
pub use rows::{Row, Rows, States};
pub use solve::{Found, How, Question, Tier, solve};
