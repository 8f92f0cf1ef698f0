//! m4's own macros, as far as family files use them, and the loops of BEEM's library.

use super::Failure;
use super::evaluate::evaluate;
use super::expand::{Definition, Expander};

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

fn argument(arguments: &[String], number: usize) -> &str {
    arguments.get(number).map_or("", String::as_str)
}

impl Expander<'_> {
    pub(super) fn call_builtin(
        &mut self,
        builtin: Builtin,
        name: &str,
        arguments: &[String],
    ) -> Result<(), Failure> {
        let first = argument(arguments, 0);
        match builtin {
            Builtin::Define => {
                let definition = self.definition(argument(arguments, 1));
                let stack = self.macros.entry(first.to_string()).or_default();
                stack.pop();
                stack.push(definition);
            }
            Builtin::Pushdef => {
                let definition = self.definition(argument(arguments, 1));
                self.macros.entry(first.to_string()).or_default().push(definition);
            }
            Builtin::Popdef => {
                for name in arguments {
                    if let Some(stack) = self.macros.get_mut(name) {
                        stack.pop();
                    }
                }
            }
            Builtin::Undefine => {
                for name in arguments {
                    self.macros.remove(name);
                }
            }
            Builtin::Defn => {
                if let Some(Definition::Text(text)) = self.macros.get(first).and_then(|stack| stack.last()) {
                    let quoted = format!("{}{text}{}", self.quotes.0, self.quotes.1);
                    self.push_back(quoted)?;
                }
            }
            Builtin::Ifdef => {
                let defined = self.macros.get(first).is_some_and(|stack| !stack.is_empty());
                self.push_back(argument(arguments, if defined { 1 } else { 2 }).to_string())?;
            }
            Builtin::Ifelse => {
                let chosen = choose(arguments).to_string();
                self.push_back(chosen)?;
            }
            Builtin::Eval => {
                let value = self.value(first)?;
                self.push_back(value.to_string())?;
            }
            Builtin::Incr | Builtin::Decr => {
                let value = self.integer(name, first)?;
                let step = if builtin == Builtin::Incr { 1 } else { -1 };
                self.push_back(value.wrapping_add(step).to_string())?;
            }
            Builtin::Len => self.push_back(first.len().to_string())?,
            Builtin::Index => {
                let at = first.find(argument(arguments, 1)).map_or(-1, |at| at as i64);
                self.push_back(at.to_string())?;
            }
            Builtin::Substr => {
                let from = usize::try_from(self.value(argument(arguments, 1))?).unwrap_or(usize::MAX);
                let length = match arguments.get(2) {
                    Some(text) => usize::try_from(self.value(text)?).unwrap_or(0),
                    None => usize::MAX,
                };
                let part = first.chars().skip(from).take(length).collect();
                self.push_back(part)?;
            }
            Builtin::Translit => {
                let (from, to) = (argument(arguments, 1), argument(arguments, 2));
                let map = |c: char| match from.chars().position(|f| f == c) {
                    Some(at) => to.chars().nth(at),
                    None => Some(c),
                };
                let text = first.chars().filter_map(map).collect();
                self.push_back(text)?;
            }
            Builtin::Shift => {
                let (open, close) = self.quotes.clone();
                let rest: Vec<String> =
                    arguments.iter().skip(1).map(|a| format!("{open}{a}{close}")).collect();
                self.push_back(rest.join(","))?;
            }
            Builtin::Indir => self.call_indirectly(first, arguments.get(1..).unwrap_or(&[]))?,
            Builtin::Dnl => self.drop_line(),
            Builtin::Divert => {
                self.diversion = if first.trim().is_empty() { 0 } else { self.value(first)? };
            }
            Builtin::Divnum => self.push_back(self.diversion.to_string())?,
            Builtin::Undivert => {
                if arguments.is_empty() {
                    for slot in 1..10 {
                        self.undivert(slot)?;
                    }
                }
                for slot in arguments {
                    let slot = usize::try_from(self.value(slot)?).unwrap_or(0);
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
                let text = self.turns(arguments, 0, "")?;
                self.push_back(text)?;
            }
            Builtin::Myloop => {
                // The separator stands between turns; the last turn happens even where the bounds are crossed.
                let mut text = self.turns(arguments, 1, &format!(" {}", argument(arguments, 4)))?;
                text.push_str(&self.turn(
                    first,
                    argument(arguments, 2),
                    &format!("{} ", argument(arguments, 3)),
                ));
                self.push_back(text)?;
            }
            Builtin::PopFront => {
                let size = match self.macros.get(&format!("{first}_size")).and_then(|stack| stack.last()) {
                    Some(Definition::Text(size)) => size.clone(),
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
                self.push_back(text)?;
            }
        }
        Ok(())
    }

    /// What `define` stores: a text, or the builtin that `defn` would have named.
    fn definition(&self, text: &str) -> Definition {
        Definition::Text(text.to_string())
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
    fn turns(&self, arguments: &[String], omitted: i64, after: &str) -> Result<String, Failure> {
        let variable = argument(arguments, 0);
        let from = i64::from(self.value(argument(arguments, 1))?);
        let to = i64::from(self.value(argument(arguments, 2))?) - omitted;
        if to - from >= MAX_TURNS {
            return self.fail(format!("this loop has {} turns", to - from + 1));
        }
        let body = format!("{}{after}", argument(arguments, 3));
        let mut text = String::new();
        for value in from..=to {
            text.push_str(&self.turn(variable, &value.to_string(), &body));
            if text.len() > 64 << 20 {
                return self.fail("this loop expands to too much text");
            }
        }
        Ok(text)
    }

    /// One turn: the variable is a macro for its value while the body is expanded.
    fn turn(&self, variable: &str, value: &str, body: &str) -> String {
        let (open, close) = &self.quotes;
        format!("pushdef({open}{variable}{close},{open}{value}{close}){body}popdef({open}{variable}{close})")
    }
}

/// `ifelse`: pairs to compare with what they choose, then what is chosen where no pair is equal.
fn choose(arguments: &[String]) -> &str {
    let mut rest = arguments;
    loop {
        match rest {
            [left, right, equal, ..] if left == right => return equal,
            [_, _, _, other] => return other,
            [_, _, _, others @ ..] if others.len() >= 2 => rest = others,
            _ => return "",
        }
    }
}
