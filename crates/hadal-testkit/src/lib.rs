//! What the tests of hadal share and no user needs: a generator of systems, one source of choices, the public corpus.

pub mod corpus;
pub mod generate;
pub mod random;

pub use random::Random;
