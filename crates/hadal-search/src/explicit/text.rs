//! Graphs as text: pairs of numbers, or Aldebaran's labelled transitions, whose directions and labels do not matter here.

use std::io::BufRead;

/// A line that is no edge.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line} is no edge: write `FROM TO`, or `(FROM, \"LABEL\", TO)` as Aldebaran does")]
pub struct ParseError {
    /// Its number, from 1.
    pub line: usize,
}

/// The edges of a text, read as they are asked for.
pub struct Input<R> {
    text: R,
    buffer: String,
    line: usize,
}

/// What stops the reading of a text.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// The file cannot be read.
    #[error(transparent)]
    Io(#[from] std::io::Error),
    /// It is no graph.
    #[error(transparent)]
    Parse(#[from] ParseError),
}

impl<R: BufRead> Input<R> {
    /// Of this text.
    pub fn new(text: R) -> Self {
        Input { text, buffer: String::new(), line: 0 }
    }
}

impl<R: BufRead> Iterator for Input<R> {
    type Item = Result<(u64, u64), InputError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.buffer.clear();
            self.line += 1;
            match self.text.read_line(&mut self.buffer) {
                Ok(0) => return None,
                Err(error) => return Some(Err(error.into())),
                Ok(_) => {}
            }
            let line = self.buffer.trim();
            if line.is_empty() || line.starts_with(['#', '%', 'c']) || line.starts_with("des") {
                continue;
            }
            return Some(edge(line).ok_or(ParseError { line: self.line }.into()));
        }
    }
}

fn edge(line: &str) -> Option<(u64, u64)> {
    if let Some(inside) = line.strip_prefix('(') {
        let inside = inside.strip_suffix(')')?;
        let (from, rest) = inside.split_once(',')?;
        let (_, to) = rest.rsplit_once(',')?;
        return Some((from.trim().parse().ok()?, to.trim().parse().ok()?));
    }
    let mut numbers = line.split_whitespace();
    let (from, to) = (numbers.next()?, numbers.next()?);
    Some((from.parse().ok()?, to.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_are_read_and_other_lines_refused() {
        let text = "# a graph\n1 2\n\ndes (0, 2, 3)\n(7, \"go (x, y)\", 9)\n3 4 0.5\n";
        let edges: Vec<_> = Input::new(text.as_bytes()).map(|edge| edge.expect("an edge")).collect();
        assert_eq!(edges, [(1, 2), (7, 9), (3, 4)]);
        let wrong = Input::new("1 2\n1 x\n".as_bytes()).nth(1).expect("a line");
        assert!(wrong.is_err_and(|error| error.to_string().contains("line 2")));
    }
}
