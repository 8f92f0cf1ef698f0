//! What the tests of hadal share and no user needs: a generator of systems, one source of choices, the public corpus.

pub mod corpus;
pub mod generate;
pub mod mutate;
pub mod random;

pub use mutate::mutate;
pub use random::Random;
