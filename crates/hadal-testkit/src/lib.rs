//! What the tests of hadal share and no user needs: a generator of systems, one source of choices,
//! faults of a disk, damaged texts, the public corpus.

pub mod corpus;
pub mod faults;
pub mod generate;
pub mod mutate;
pub mod random;
pub mod rows;

pub use faults::{Faults, FaultyFolder, Survival};
pub use mutate::mutate;
pub use random::Random;
