//! DVE, the language of DiVinE and of the BEEM benchmark.
pub mod ast;
pub mod check;
pub mod lex;
pub mod m4;
pub mod model;
pub mod parse;
pub mod token;
