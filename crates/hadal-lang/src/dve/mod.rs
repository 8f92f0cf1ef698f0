//! DVE, the language of DiVinE and of the BEEM benchmark.
pub mod ast;
pub mod lex;
pub mod m4;
pub mod parse;
pub mod token;
