//! m4's own macros, as far as family files use them, and the loops of BEEM's library.

use super::Failure;
use super::evaluate::evaluate;
use super::expand::{Definition, Expander};
use super::traced::Traced;

macro_rules! builtins {
    ($($variant:ident $name:literal),* $(,)?) => {
        /// A macro that computes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub(super) enum Builtin { $($variant),* }

        impl Builtin {
            /// Every builtin with the name it starts under.
            pub(super) fn table() -> Vec<(&'static str, Builtin)> {
                vec![$(($name, Builtin::$variant)),*]
            }
        }
    };
}

builtins! {
    Changecom "changecom", Changequote "changequote", Decr "decr", Define "define", Defn "defn", Divert "divert",
    Divnum "divnum", Dnl "dnl", Eval "eval", Ifdef "ifdef", Ifelse "ifelse", Incr "incr", Index "index",
    Indir "indir", Len "len", Popdef "popdef", Pushdef "pushdef", Shift "shift", Substr "substr",
    Translit "translit", Undefine "undefine", Undivert "undivert",
    // BEEM's library.
    Forloop "forloop", Myloop "myloop", PopFront "pop_front",
}

/// The most turns of one loop.
const MAX_TURNS: i64 = 100_000;

impl Builtin {
    /// Whether the name means nothing without parentheses after it (so that `index` may be an ordinary word).
    pub(super) fn needs_arguments(self) -> bool {
        use Builtin::*;
        !matches!(self, Changecom | Changequote | Divert | Divnum | Dnl | Undivert | Shift)
    }
}

fn argument(arguments: &[Traced], number: usize) -> &str {
    arguments.get(number).map_or("", |it| &it.text)
}

fn traced(arguments: &[Traced], number: usize) -> Traced {
    arguments.get(number).cloned().unwrap_or_default()
}

impl Expander<'_> {
    pub(super) fn call_builtin(
        &mut self,
        builtin: Builtin,
        name: &str,
        arguments: &[Traced],
    ) -> Result<(), Failure> {
        let first = argument(arguments, 0);
        match builtin {
            Builtin::Define => {
                let definition = Definition::Text(traced(arguments, 1));
                let stack = self.macros.entry(first.to_string()).or_default();
                stack.pop();
                stack.push(definition);
            }
            Builtin::Pushdef => {
                let definition = Definition::Text(traced(arguments, 1));
                self.macros.entry(first.to_string()).or_default().push(definition);
            }
            Builtin::Popdef => {
                for name in arguments {
                    if let Some(stack) = self.macros.get_mut(&name.text) {
                        stack.pop();
                    }
                }
            }
            Builtin::Undefine => {
                for name in arguments {
                    self.macros.remove(&name.text);
                }
            }
            Builtin::Defn => {
                if let Some(Definition::Text(text)) = self.macros.get(first).and_then(|stack| stack.last()) {
                    let quotes = (self.quotes.0.as_str(), self.quotes.1.as_str());
                    let quoted = Traced::joined(std::slice::from_ref(text), quotes);
                    self.push_back(quoted)?;
                }
            }
            Builtin::Ifdef => {
                let defined = self.macros.get(first).is_some_and(|stack| !stack.is_empty());
                self.push_back(traced(arguments, if defined { 1 } else { 2 }))?;
            }
            Builtin::Ifelse => {
                let chosen = choose(arguments);
                self.push_back(chosen)?;
            }
            Builtin::Eval => {
                let value = self.value(first)?;
                self.push_back_made(value.to_string())?;
            }
            Builtin::Incr | Builtin::Decr => {
                let value = self.integer(name, first)?;
                let step = if builtin == Builtin::Incr { 1 } else { -1 };
                self.push_back_made(value.wrapping_add(step).to_string())?;
            }
            Builtin::Len => self.push_back_made(first.len().to_string())?,
            Builtin::Index => {
                let at = first.find(argument(arguments, 1)).map_or(-1, |at| at as i64);
                self.push_back_made(at.to_string())?;
            }
            Builtin::Substr => {
                let from = usize::try_from(self.value(argument(arguments, 1))?).unwrap_or(usize::MAX);
                let length = match arguments.get(2) {
                    Some(text) => usize::try_from(self.value(&text.text)?).unwrap_or(0),
                    None => usize::MAX,
                };
                let part: String = first.chars().skip(from).take(length).collect();
                self.push_back_made(part)?;
            }
            Builtin::Translit => {
                let (from, to) = (argument(arguments, 1), argument(arguments, 2));
                let map = |c: char| match from.chars().position(|f| f == c) {
                    Some(at) => to.chars().nth(at),
                    None => Some(c),
                };
                let text: String = first.chars().filter_map(map).collect();
                self.push_back_made(text)?;
            }
            Builtin::Shift => {
                let quotes = (self.quotes.0.as_str(), self.quotes.1.as_str());
                let rest = Traced::joined(arguments.get(1..).unwrap_or(&[]), quotes);
                self.push_back(rest)?;
            }
            Builtin::Indir => self.call_indirectly(first, arguments.get(1..).unwrap_or(&[]))?,
            Builtin::Dnl => self.drop_line(),
            Builtin::Divert => {
                self.diversion = if first.trim().is_empty() { 0 } else { self.value(first)? };
            }
            Builtin::Divnum => self.push_back_made(self.diversion.to_string())?,
            Builtin::Undivert => {
                if arguments.is_empty() {
                    for slot in 1..10 {
                        self.undivert(slot)?;
                    }
                }
                for slot in arguments {
                    let slot = usize::try_from(self.value(&slot.text)?).unwrap_or(0);
                    self.undivert(slot)?;
                }
            }
            Builtin::Changequote => {
                let or = |text: &str, default: &str| {
                    if text.is_empty() { default.to_string() } else { text.to_string() }
                };
                self.quotes = (or(first, "`"), or(argument(arguments, 1), "'"));
            }
            Builtin::Changecom => self.comment = Some(first.to_string()).filter(|text| !text.is_empty()),
            Builtin::Forloop => {
                let text = self.turns(arguments, 0, &Traced::default())?;
                self.push_back(text)?;
            }
            Builtin::Myloop => {
                // The separator stands between turns; the last turn happens even where the bounds are crossed.
                let mut between = Traced::made(" ");
                between.append(&traced(arguments, 4));
                let mut text = self.turns(arguments, 1, &between)?;
                let mut last = traced(arguments, 3);
                last.push_made(" ");
                self.add_turn(&mut text, first, argument(arguments, 2), &last);
                self.push_back(text)?;
            }
            Builtin::PopFront => {
                let size = match self.macros.get(&format!("{first}_size")).and_then(|stack| stack.last()) {
                    Some(Definition::Text(size)) => size.text.clone(),
                    _ => {
                        return self
                            .fail(format!("`{first}` is not a queue: there is no `queue({first}, size)`"));
                    }
                };
                let size = self.value(&size)?;
                if i64::from(size) > MAX_TURNS {
                    return self.fail(format!("the queue `{first}` is too long"));
                }
                let mut text = String::new();
                for at in 1..size {
                    text.push_str(&format!("{first}[{}] = {first}[{at}], ", at - 1));
                }
                text.push_str(&format!(" {first}[{}] = 0, {first}_act = {first}_act -1", size - 1));
                self.push_back_made(text)?;
            }
        }
        Ok(())
    }

    /// The value of an expression; names in it that are macros have been expanded on the way in.
    fn value(&self, text: &str) -> Result<i32, Failure> {
        evaluate(text).or_else(|problem| self.fail(problem))
    }

    fn integer(&self, name: &str, text: &str) -> Result<i32, Failure> {
        if text.trim().is_empty() {
            return Ok(0);
        }
        match text.trim().parse() {
            Ok(value) => Ok(value),
            Err(_) => self.fail(format!("`{name}` needs a number, not `{}`", text.trim())),
        }
    }

    /// The turns of a loop from its second to its third argument, leaving out the last `omitted` turns.
    fn turns(&self, arguments: &[Traced], omitted: i64, after: &Traced) -> Result<Traced, Failure> {
        let variable = argument(arguments, 0);
        let from = i64::from(self.value(argument(arguments, 1))?);
        let to = i64::from(self.value(argument(arguments, 2))?) - omitted;
        if to - from >= MAX_TURNS {
            return self.fail(format!("this loop has {} turns", to - from + 1));
        }
        let mut body = traced(arguments, 3);
        body.append(after);
        let mut text = Traced::default();
        for value in from..=to {
            self.add_turn(&mut text, variable, &value.to_string(), &body);
            if text.text.len() > 64 << 20 {
                return self.fail("this loop expands to too much text");
            }
        }
        Ok(text)
    }

    /// Adds one turn: the variable is a macro for its value while the body is expanded.
    fn add_turn(&self, text: &mut Traced, variable: &str, value: &str, body: &Traced) {
        let (open, close) = &self.quotes;
        text.push_made(&format!("pushdef({open}{variable}{close},{open}{value}{close})"));
        text.append(body);
        text.push_made(&format!("popdef({open}{variable}{close})"));
    }
}

/// `ifelse`: pairs to compare with what they choose, then what is chosen where no pair is equal.
fn choose(arguments: &[Traced]) -> Traced {
    let mut rest = arguments;
    loop {
        match rest {
            [left, right, equal, ..] if left.text == right.text => return equal.clone(),
            [_, _, _, other] => return other.clone(),
            [_, _, _, others @ ..] if others.len() >= 2 => rest = others,
            _ => return Traced::default(),
        }
    }
}
