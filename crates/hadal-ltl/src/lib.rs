//! Linear temporal logic and Büchi automata. Knows no model: atoms are numbers.
//!
//! ```
//! use hadal_ltl::{parse, translate, Names};
//! let mut names = Names::default();
//! let formula = parse("[] (request -> <> granted)", &mut names)?;
//! // Runs that break the formula are those that the automaton of its negation accepts.
//! let claim = translate(&formula.not())?.degeneralise();
//! assert_eq!(claim.len(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod automaton;
pub mod classify;
pub mod components;
pub mod degeneralise;
pub mod formula;
pub mod guard;
pub mod hoa;
mod lexer;
pub mod never;
pub mod parse;
pub mod pool;
pub mod reduce;
mod rewrite;
pub mod simulation;
pub mod translate;
pub mod word;

pub use automaton::{Automaton, Edge};
pub use classify::{Class, Strength};
pub use formula::Ltl;
pub use guard::{Cube, Guard};
pub use parse::{AtomError, Atoms, Chains, Names, ParseError, parse, parse_with};
pub use translate::{TooLarge, translate};
pub use word::Word;
