//! Standard output, shared with whoever reads it: a reader that has seen enough ends no command with an error.

use crate::failure::Failure;
use std::io::{ErrorKind, Write};

/// Prints `text` and ends the line.
pub fn line(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    seen(writeln!(out, "{text}").and_then(|()| out.flush()))
}

/// Prints `bytes` as they are.
pub fn raw(bytes: &[u8]) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    seen(out.write_all(bytes).and_then(|()| out.flush()))
}

/// A closed pipe is no failure; a full disk is.
fn seen(written: std::io::Result<()>) -> Result<(), Failure> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        written => written.map_err(|error| Failure::File { path: "standard output".into(), error }),
    }
}
