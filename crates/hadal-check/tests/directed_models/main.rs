//! Directed search on generated models, held against everything that can be reached: every order, guide and priority.

mod bound;
mod contexts;
mod examples;
mod matrix;
mod truth;
