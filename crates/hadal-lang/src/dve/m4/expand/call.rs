//! Calls of macros: their arguments, and what is put in their place.

use super::{Definition, Expander, Piece};
use crate::dve::m4::Failure;
use crate::dve::m4::builtin::Builtin;
use crate::dve::m4::traced::Traced;
use hadal_system::Span;

impl Expander<'_> {
    /// Expands the macro called `word`, if there is one.
    pub(super) fn call_if_macro(
        &mut self,
        (word, origin): (&str, u32),
        nesting: u32,
    ) -> Result<bool, Failure> {
        let Some(definition) = self.macros.get(word).and_then(|stack| stack.last()).cloned() else {
            return Ok(false);
        };
        let has_arguments = self.peek_char() == Some('(');
        if let Definition::Builtin(builtin) = &definition
            && !has_arguments
            && builtin.needs_arguments()
        {
            return Ok(false);
        }
        self.calls += 1;
        if self.calls > self.limits.calls {
            let call = Failure {
                span: Span::new(self.call_at, self.source_at.max(self.call_at + 1)),
                message: format!(
                    "expansion does not end: `{word}` and others were called {} times",
                    self.limits.calls
                ),
                help: Some("a macro that expands to itself needs quotes around its own name".to_string()),
            };
            return Err(call);
        }
        let call_at = self.call_at;
        let arguments = if has_arguments { self.collect_arguments(word, nesting)? } else { Vec::new() };
        // Reading the arguments moved on; what goes wrong in the call itself is told at its name.
        self.call_at = call_at;
        self.called_from = origin;
        match definition {
            Definition::Text(body) => {
                let expansion = self.substitute(word, &body, &arguments)?;
                self.push_back(expansion)?;
            }
            Definition::Builtin(builtin) => self.call_builtin(builtin, word, &arguments)?,
        }
        Ok(true)
    }

    /// Calls a macro by name with arguments that are already expanded (`indir`).
    pub(in crate::dve::m4) fn call_indirectly(
        &mut self,
        name: &str,
        arguments: &[Traced],
    ) -> Result<(), Failure> {
        match self.macros.get(name).and_then(|stack| stack.last()).cloned() {
            // Inside its own expansion `indir` would be found again; that is one more call, counted there.
            Some(Definition::Text(body)) => {
                let expansion = self.substitute(name, &body, arguments)?;
                self.push_back(expansion)
            }
            Some(Definition::Builtin(Builtin::Indir)) | None => {
                self.fail(format!("there is no macro `{name}`"))
            }
            Some(Definition::Builtin(builtin)) => self.call_builtin(builtin, name, arguments),
        }
    }

    /// The arguments in parentheses, each expanded, without the white space in front of it.
    fn collect_arguments(&mut self, word: &str, nesting: u32) -> Result<Vec<Traced>, Failure> {
        if nesting > self.limits.nesting {
            return self.fail(format!("calls inside calls inside `{word}` are nested too deeply"));
        }
        let start = self.call_at;
        self.next_char();
        let mut arguments = Vec::new();
        let mut argument = Traced::default();
        let mut depth = 0u32;
        let mut at_start = true;
        loop {
            if at_start {
                while self.peek_char().is_some_and(|c| c.is_ascii_whitespace()) {
                    self.next_char();
                }
                at_start = false;
            }
            let Some(piece) = self.next_piece()? else {
                return Err(Failure {
                    span: Span::new(start, start + 1),
                    message: format!("the arguments of `{word}` are not closed: `)` is missing"),
                    help: None,
                });
            };
            match piece {
                // White space in front of an argument is dropped before it is expanded, not after.
                Piece::Word(inner, origin) => {
                    if !self.call_if_macro((&inner, origin), nesting + 1)? {
                        argument.push(&inner, origin);
                    }
                }
                Piece::Quoted(text) => argument.append(&text),
                Piece::Plain(text, origin) => match text.as_str() {
                    "(" => {
                        depth += 1;
                        argument.push("(", origin);
                    }
                    ")" if depth == 0 => {
                        arguments.push(argument);
                        return Ok(arguments);
                    }
                    ")" => {
                        depth -= 1;
                        argument.push(")", origin);
                    }
                    "," if depth == 0 => {
                        arguments.push(std::mem::take(&mut argument));
                        at_start = true;
                    }
                    other => argument.push(other, origin),
                },
            }
            if argument.text.len() > self.limits.bytes {
                return self.fail(format!("an argument of `{word}` is too long"));
            }
        }
    }

    /// The body with `$0` to `$9`, `$#`, `$*` and `$@` filled in.
    fn substitute(&self, name: &str, body: &Traced, arguments: &[Traced]) -> Result<Traced, Failure> {
        let mut text = Traced::default();
        let mut at = 0;
        while let Some(found) = body.text[at..].find('$') {
            text.append_part(body, at..at + found);
            at += found + 1;
            let after = &body.text[at..];
            let digits = after.bytes().take_while(u8::is_ascii_digit).count();
            if digits > 0 {
                match after[..digits].parse::<usize>() {
                    Ok(0) => text.push_made(name),
                    Ok(number) => {
                        if let Some(argument) = arguments.get(number - 1) {
                            text.append(argument);
                        }
                    }
                    Err(_) => {}
                }
                at += digits;
            } else if after.starts_with('#') {
                text.push_made(&arguments.len().to_string());
                at += 1;
            } else if after.starts_with('*') {
                text.append(&Traced::joined(arguments, ("", "")));
                at += 1;
            } else if after.starts_with('@') {
                text.append(&Traced::joined(arguments, (&self.quotes.0, &self.quotes.1)));
                at += 1;
            } else {
                text.push_made("$");
            }
            if text.text.len() > self.limits.bytes {
                return self.fail(format!("`{name}` expands to too much text"));
            }
        }
        text.append_part(body, at..body.text.len());
        Ok(text)
    }
}
