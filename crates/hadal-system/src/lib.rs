//! The narrow waist of hadal: what a model *is*, whatever language it was written in.
pub mod source;
pub use source::{LineColumn, Source, Span};
