//! Standard output and standard error, shared with whoever reads them: a reader that has seen enough ends no command with
//! an error.

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

/// Tells something beside the answer, on standard error. Nobody has to listen.
pub fn aside(text: std::fmt::Arguments) {
    let _ = std::io::stderr().lock().write_fmt(text);
}

/// A line on standard error, as `eprintln!`; a closed pipe is no panic.
macro_rules! note {
    ($($text:tt)*) => {
        $crate::output::aside(format_args!("{}\n", format_args!($($text)*)))
    };
}
pub(crate) use note;
