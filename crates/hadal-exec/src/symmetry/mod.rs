//! symmetry
