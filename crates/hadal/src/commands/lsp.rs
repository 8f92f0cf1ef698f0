//! `hadal lsp`: a language server for editors, on standard input and output.

use crate::failure::Failure;
use crate::lsp;
use std::io;

/// Serves until the editor leaves; returns the exit code.
pub fn run() -> Result<u8, Failure> {
    lsp::serve(io::stdin().lock(), io::stdout().lock())
        .map_err(|error| Failure::Usage(format!("the editor cannot be talked to: {error}")))
}
