//! What every lexer needs: a [`Cursor`] over the text, the [`literal`]s that languages share, and suggestions for words
//! that are nearly known.

pub mod cursor;
pub mod literal;
pub mod suggest;

pub use cursor::Cursor;
pub use suggest::{did_you_mean, listed, mentions, nearest, unknown_constant};
