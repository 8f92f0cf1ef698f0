//! Numbers and numeric expressions.

use super::{Reader, Scope, head_span, nearest};
use crate::diagnostic::Diagnostic;
use crate::pddl::ast::{Atom, Number, Symbol};
use crate::pddl::tree::Tree;
use hadal_system::rows::Rational;

/// A decimal number, or a fraction, exactly.
pub(super) fn parse_rational(word: &str) -> Option<Rational> {
    if let Some((over, under)) = word.split_once('/') {
        let (over, under) = (parse_decimal(over)?, parse_decimal(under)?);
        return if *under.numer() == 0 { None } else { num_checked_div(over, under) };
    }
    parse_decimal(word)
}

fn num_checked_div(over: Rational, under: Rational) -> Option<Rational> {
    let numer = over.numer().checked_mul(*under.denom())?;
    let denom = over.denom().checked_mul(*under.numer())?;
    Some(Rational::new(numer, denom))
}

fn parse_decimal(word: &str) -> Option<Rational> {
    let (word, exponent) = match word.split_once('e') {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (word, 0),
    };
    let (negative, digits) = match word.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, word.strip_prefix('+').unwrap_or(word)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let mut numer: i128 = 0;
    for byte in whole.bytes().chain(fraction.bytes()) {
        if !byte.is_ascii_digit() {
            return None;
        }
        numer = numer.checked_mul(10)?.checked_add(i128::from(byte - b'0'))?;
    }
    let scale = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    let power = 10i128.checked_pow(scale.unsigned_abs())?;
    let numer = if negative { -numer } else { numer };
    if scale >= 0 {
        Some(Rational::from_integer(numer.checked_mul(power)?))
    } else {
        Some(Rational::new(numer, power))
    }
}

impl Reader {
    /// A numeric expression of a condition or an effect.
    pub(super) fn number(&mut self, tree: &Tree, scope: &Scope) -> Number {
        let zero = Number::Constant(Rational::from_integer(0));
        if let Some(word) = tree.word() {
            if let Some(value) = parse_rational(word) {
                return Number::Constant(value);
            }
            if word.starts_with(|c: char| c.is_ascii_digit() || c == '-' || c == '.') {
                self.error(tree.span, format!("`{word}` is not a number that hadal can hold exactly"));
                return zero;
            }
            return self.fluent(tree, scope).map_or(zero, Number::Fluent);
        }
        let items = tree.list().unwrap_or_default();
        let Some(name) = tree.head() else {
            self.expected(tree, "a number, a function or an arithmetic expression");
            return zero;
        };
        let operands = &items[1..];
        let mut all = || -> Vec<Number> { operands.iter().map(|item| self.number(item, scope)).collect() };
        match (name, operands.len()) {
            ("+", 1..) => Number::Add(all()),
            ("*", 1..) => Number::Multiply(all()),
            ("-", 1) => Number::Subtract(Box::new(zero), Box::new(self.number(&operands[0], scope))),
            ("-" | "/", 2) => {
                let left = Box::new(self.number(&operands[0], scope));
                let right = Box::new(self.number(&operands[1], scope));
                if name == "-" { Number::Subtract(left, right) } else { Number::Divide(left, right) }
            }
            ("+" | "-" | "*" | "/", _) => {
                self.error(head_span(tree), format!("`{name}` has the wrong number of operands"));
                zero
            }
            _ => self.fluent(tree, scope).map_or(zero, Number::Fluent),
        }
    }

    /// The expression of a metric, which may name preferences and the number of steps.
    pub(super) fn metric_number(&mut self, tree: &Tree) -> Number {
        let scope = Scope::default();
        let name = tree.word().or(tree.head());
        let items = tree.list().unwrap_or_default();
        match (name, items) {
            (Some("total-time"), _) if !self.functions.contains_key("total-time") => Number::TotalTime,
            (Some("goal-achieved"), _) => Number::GoalAchieved,
            (Some("is-violated"), [head, name]) if name.word().is_some() => {
                let word = name.word().unwrap_or_default();
                match self.preferences.get(word) {
                    Some(&number) => Number::Violated(number),
                    None => {
                        let message = format!("no preference is called `{word}`: it counts as 0");
                        self.findings.push(Diagnostic::warning(head.span.to(name.span), message));
                        Number::Constant(Rational::from_integer(0))
                    }
                }
            }
            (Some("+"), [_, _, ..]) => {
                Number::Add(items[1..].iter().map(|item| self.metric_number(item)).collect())
            }
            (Some("*"), [_, _, ..]) => {
                Number::Multiply(items[1..].iter().map(|item| self.metric_number(item)).collect())
            }
            (Some("-"), [_, only]) => Number::Subtract(
                Box::new(Number::Constant(Rational::from_integer(0))),
                Box::new(self.metric_number(only)),
            ),
            (Some("-"), [_, left, right]) => {
                Number::Subtract(Box::new(self.metric_number(left)), Box::new(self.metric_number(right)))
            }
            (Some("/"), [_, left, right]) => {
                Number::Divide(Box::new(self.metric_number(left)), Box::new(self.metric_number(right)))
            }
            _ => self.number(tree, &scope),
        }
    }

    /// A function with its arguments; a bare word is one without.
    pub(super) fn fluent(&mut self, tree: &Tree, scope: &Scope) -> Option<Atom> {
        let (name, arguments) = match (tree.word(), tree.head()) {
            (Some(word), _) => (word, [].as_slice()),
            (None, Some(word)) => (word, &tree.list().unwrap_or_default()[1..]),
            (None, None) => {
                self.expected(tree, "a function with its arguments");
                return None;
            }
        };
        if name == "total-cost" && arguments.is_empty() && !self.functions.contains_key(name) {
            let message = "`total-cost` is used but not declared in :functions";
            self.findings.push(Diagnostic::warning(head_span(tree), message));
            self.declare_function(Symbol { name: name.to_string(), sorts: Vec::new(), derived: false });
        }
        let Some(&symbol) = self.functions.get(name) else {
            let near = nearest(name, self.functions.keys());
            self.unknown("function", name, head_span(tree), near);
            return None;
        };
        let terms = self.terms(arguments, scope)?;
        let declared = self.task.functions[symbol as usize].sorts.len();
        self.check_arity("function", name, (terms.len(), declared), head_span(tree))?;
        Some(Atom { symbol, terms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        assert_eq!(parse_rational("1.25"), Some(Rational::new(5, 4)));
        assert_eq!(parse_rational("-.5"), Some(Rational::new(-1, 2)));
        assert_eq!(parse_rational("3/12"), Some(Rational::new(1, 4)));
        assert_eq!(parse_rational("1e3"), Some(Rational::from_integer(1000)));
        assert_eq!(parse_rational("1/0"), None);
        assert_eq!(parse_rational("-"), None);
        assert_eq!(parse_rational("99999999999999999999999999999999999999999"), None);
    }
}
