//! Expressions over a system as people type them beside it, on a command line: the same whatever language the model is
//! written in.
//!
//! Scalars are written by their path names as traces show them (`Procs[2].state`); an index may be any expression.
//! Enumeration values go by their names, and `P.q` is 1 where process `P` is at location `q`. Operators are those of C, `=`
//! also compares, and there are `min(a, b, ...)`, `max(a, b, ...)` and `abs(a)`.

use crate::cursor::Cursor;
use crate::domain::{DomainKind, Value};
use crate::expr::{BinaryOp, Expr, ExprKind, Place, Step, UnaryOp};
use crate::shape::{Shape, ShapeId};
use crate::source::Span;
use crate::system::{Local, LocalId, LocalKind, System};

/// Deeper brackets are refused.
const MAX_DEPTH: u32 = 200;
/// So are expressions with more parts: `min` and `max` write out what they compare twice.
const MAX_PARTS: usize = 10_000;

/// Binary operators by how tightly they bind, loosest first; longer ones before their beginnings.
pub const LEVELS: &[&[(&str, BinaryOp)]] = &[
    &[("||", BinaryOp::Or)],
    &[("&&", BinaryOp::And)],
    &[
        ("==", BinaryOp::Equal),
        ("!=", BinaryOp::NotEqual),
        ("<=", BinaryOp::LessEqual),
        (">=", BinaryOp::GreaterEqual),
        ("<", BinaryOp::Less),
        (">", BinaryOp::Greater),
        ("=", BinaryOp::Equal),
    ],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Subtract)],
    &[("*", BinaryOp::Multiply), ("/", BinaryOp::Divide), ("%", BinaryOp::Remainder)],
];

/// Reads an expression that may name the bound locals of an action besides the scalars of the state. All of it stands at
/// `span`. The message of an error shows the text with a caret under what is meant.
pub fn parse(system: &System, locals: &[Local], text: &str, span: Span) -> Result<Expr, String> {
    let mut parser = Parser { system, locals, cursor: Cursor::new(text), span, depth: 0, parts: 0 };
    let expr = parser.choice()?;
    parser.cursor.space();
    if parser.cursor.at < text.len() {
        return Err(parser.cursor.error(parser.cursor.at, 1, "expected an operator or the end"));
    }
    Ok(expr)
}

struct Parser<'t> {
    system: &'t System,
    locals: &'t [Local],
    cursor: Cursor<'t>,
    span: Span,
    depth: u32,
    parts: usize,
}

impl<'t> Parser<'t> {
    fn make(&mut self, kind: ExprKind) -> Result<Expr, String> {
        self.count(1)?;
        Ok(Expr::new(kind, self.span))
    }

    fn count(&mut self, parts: usize) -> Result<(), String> {
        self.parts = self.parts.saturating_add(parts);
        if self.parts > MAX_PARTS {
            Err(self.cursor.error(self.cursor.at, 1, "the expression is too large"))
        } else {
            Ok(())
        }
    }

    fn nested<T>(&mut self, inside: impl FnOnce(&mut Self) -> Result<T, String>) -> Result<T, String> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.cursor.error(self.cursor.at, 1, "nested too deep"));
        }
        let result = inside(self);
        self.depth -= 1;
        result
    }

    fn choice(&mut self) -> Result<Expr, String> {
        self.nested(|p| {
            let condition = p.level(0)?;
            if !p.cursor.eat("?") {
                return Ok(condition);
            }
            let yes = p.choice()?;
            p.cursor.expect(":")?;
            let no = p.choice()?;
            p.make(ExprKind::If(Box::new(condition), Box::new(yes), Box::new(no)))
        })
    }

    fn level(&mut self, level: usize) -> Result<Expr, String> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some((_, op)) = operators.iter().find(|(sign, _)| self.cursor.eat(sign)) {
            let right = self.level(level + 1)?;
            left = self.make(ExprKind::Binary(*op, Box::new(left), Box::new(right)))?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Expr, String> {
        self.nested(|p| {
            if p.cursor.eat("-") {
                let of = p.unary()?;
                p.make(ExprKind::Unary(UnaryOp::Negate, Box::new(of)))
            } else if p.cursor.eat("!") {
                let of = p.unary()?;
                p.make(ExprKind::Unary(UnaryOp::Not, Box::new(of)))
            } else if p.cursor.eat("(") {
                let inside = p.choice()?;
                p.cursor.expect(")")?;
                Ok(inside)
            } else {
                p.primary()
            }
        })
    }

    fn primary(&mut self) -> Result<Expr, String> {
        self.cursor.space();
        let from = self.cursor.at;
        let rest = &self.cursor.text[from..];
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        if digits > 0 {
            self.cursor.at += digits;
            return match rest[..digits].parse() {
                Ok(value) => self.make(ExprKind::Const(value)),
                Err(_) => Err(self.cursor.error(from, digits, "this number is too large")),
            };
        }
        let word = word(rest);
        if word.is_empty() {
            let ended = rest.is_empty();
            let found = if ended { "the expression ends here" } else { "expected a number or a name" };
            return Err(self.cursor.error(from, 1, found));
        }
        if ["min", "max", "abs"].contains(&word) && rest[word.len()..].trim_start().starts_with('(') {
            self.cursor.at += word.len();
            return self.of_several(word, from);
        }
        if let Some(at) = self.locals.iter().position(|it| it.name == word && it.kind == LocalKind::Bound) {
            self.cursor.at += word.len();
            return self.read(Place::local(LocalId(at as u32), self.locals[at].shape, self.span), from);
        }
        self.named(rest, from)
    }

    /// `min(...)`, `max(...)` or `abs(...)`.
    fn of_several(&mut self, word: &str, from: usize) -> Result<Expr, String> {
        self.cursor.expect("(")?;
        let mut of = vec![self.choice()?];
        while self.cursor.eat(",") {
            of.push(self.choice()?);
        }
        self.cursor.expect(")")?;
        let mut of = of.into_iter();
        // There is one at least.
        let Some(mut best) = of.next() else { return Err(self.cursor.error(from, 3, "expected a value")) };
        if word == "abs" {
            if of.next().is_some() {
                return Err(self.cursor.error(from, 3, "`abs` takes one value"));
            }
            let minus = self.make(ExprKind::Unary(UnaryOp::Negate, Box::new(best.clone())))?;
            return self.better(BinaryOp::Less, minus, best);
        }
        let op = if word == "min" { BinaryOp::Less } else { BinaryOp::Greater };
        for other in of {
            best = self.better(op, best, other)?;
        }
        Ok(best)
    }

    /// `a op b ? a : b`; with `<` for `abs`, where `a` is `-b`, the other way round.
    fn better(&mut self, op: BinaryOp, a: Expr, b: Expr) -> Result<Expr, String> {
        self.count(parts(&a) + parts(&b))?;
        let negated = matches!(&a.kind, ExprKind::Unary(UnaryOp::Negate, of) if **of == b);
        let test = self.make(ExprKind::Binary(op, Box::new(a.clone()), Box::new(b.clone())))?;
        let (yes, no) = if negated { (b, a) } else { (a, b) };
        self.make(ExprKind::If(Box::new(test), Box::new(yes), Box::new(no)))
    }

    /// A variable with its path, a location of a process, or a value by name.
    fn named(&mut self, rest: &str, from: usize) -> Result<Expr, String> {
        let system = self.system;
        let variables = system.variables.iter().enumerate();
        let variables = variables.filter(|(_, variable)| begins(rest, &variable.name));
        let variable = variables.max_by_key(|(_, variable)| variable.name.len());
        // The variable of a process's location may have the process's name: `P.q` is longer than `P`.
        let longest = variable.map_or(0, |(_, variable)| variable.name.len());
        for process in &system.processes {
            let after = rest.strip_prefix(process.name.as_str()).and_then(|after| after.strip_prefix('.'));
            let Some(after) = after else { continue };
            let at = process.locations.iter().position(|location| location.name == word(after));
            let length = process.name.len() + 1 + word(after).len();
            if let Some(at) = at.filter(|_| length > longest) {
                self.cursor.at += length;
                let place = system.whole(process.location).read();
                let (left, right) = (Box::new(place), Box::new(Expr::constant(at as Value)));
                return self.make(ExprKind::Binary(BinaryOp::Equal, left, right));
            }
        }
        if let Some((at, variable)) = variable {
            self.cursor.at += variable.name.len();
            let place = Place::global(crate::VarId(at as u32), variable.shape, self.span);
            return self.read(place, from);
        }
        let word = word(rest);
        match self.value(word) {
            Some(value) => {
                self.cursor.at += word.len();
                self.make(ExprKind::Const(value))
            }
            None => {
                let near =
                    self.nearest(word).map_or(String::new(), |near| format!("; did you mean `{near}`?"));
                Err(self.cursor.error(
                    from,
                    word.len(),
                    &format!("no scalar or value is called `{word}`{near}"),
                ))
            }
        }
    }

    /// Follows indices and fields down to a scalar.
    fn read(&mut self, mut place: Place, from: usize) -> Result<Expr, String> {
        loop {
            match &self.system.shapes[place.shape] {
                Shape::Scalar(_) => return self.make(ExprKind::Read(Box::new(place))),
                Shape::Array { element, .. } | Shape::Multiset { element, .. } => {
                    let element: ShapeId = *element;
                    self.cursor.expect("[")?;
                    let index = self.choice()?;
                    self.cursor.expect("]")?;
                    place.steps.push(Step::Index(index));
                    place.shape = element;
                }
                Shape::Record(fields) => {
                    self.cursor.expect(".")?;
                    self.cursor.space();
                    let name = word(&self.cursor.text[self.cursor.at..]);
                    let Some(at) = fields.iter().position(|field| field.name == name) else {
                        let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
                        let what = format!("the record has no field `{name}`; it has {}", names.join(", "));
                        return Err(self.cursor.error(from, self.cursor.at + name.len() - from, &what));
                    };
                    self.cursor.at += name.len();
                    place.steps.push(Step::Field(at));
                    place.shape = fields[at].shape;
                }
            }
            self.count(1)?;
        }
    }

    fn value(&self, name: &str) -> Option<Value> {
        let named = |id, value| self.system.domains.render(id, Some(value)) == name;
        let listed = |kind: &DomainKind| matches!(kind, DomainKind::Enum(_) | DomainKind::Scalarset(_));
        match name {
            "true" => return Some(1),
            "false" => return Some(0),
            _ => {}
        }
        let mut domains = self.system.domains.iter();
        domains.find_map(|(id, domain)| {
            let small = listed(&domain.kind) && domain.size() <= 4096;
            small.then(|| domain.values().find(|&value| named(id, value)))?
        })
    }

    /// A variable whose name differs in case or by little at its end.
    fn nearest(&self, name: &str) -> Option<&str> {
        let wanted = name.to_lowercase();
        let near = self.system.variables.iter().map(|variable| variable.name.as_str()).filter(|other| {
            let other = other.to_lowercase();
            other == wanted || other.starts_with(&wanted) || wanted.starts_with(&other) && other.len() > 2
        });
        near.min_by_key(|other| (other.len().abs_diff(name.len()), *other))
    }
}

/// The identifier that a text begins with.
fn word(text: &str) -> &str {
    let end = text.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(text.len());
    &text[..end]
}

/// Whether a text begins with this name, and not with a longer one.
fn begins(text: &str, name: &str) -> bool {
    let rest = text.strip_prefix(name);
    rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_alphanumeric() || c == '_'))
}

fn parts(expr: &Expr) -> usize {
    let mut count = 0;
    crate::visit::expr(expr, &mut |_| count += 1);
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::Domain;
    use crate::system::{Role, Variable};

    /// `n` and `row[i].left`, `row[i].right`, all from -3 to 9; colours are values.
    fn system() -> System {
        let mut system = System::default();
        let digit = system.domains.add(Domain::range(-3, 9, false));
        let names = vec!["red".to_owned(), "green".to_owned()];
        let colour = Domain { kind: DomainKind::Enum(names), ..Domain::range(0, 1, false) };
        let colour = system.domains.add(colour);
        let scalar = system.shapes.add(Shape::Scalar(digit), &system.domains).expect("small");
        let field = |name: &str| crate::Field { name: name.into(), shape: scalar };
        let pair = Shape::Record(vec![field("left"), field("right")]);
        let pair = system.shapes.add(pair, &system.domains).expect("small");
        let row = Shape::Array { index: colour, element: pair };
        let row = system.shapes.add(row, &system.domains).expect("small");
        for (name, shape) in [("n", scalar), ("row", row)] {
            let (name, span) = (name.to_owned(), Span::default());
            system.variables.push(Variable { name, shape, role: Role::Data, owner: None, span });
        }
        system
    }

    fn parsed(text: &str) -> Result<Expr, String> {
        let system = system();
        let shape = system.variables[0].shape;
        let locals = [Local { name: "i".into(), shape, kind: LocalKind::Bound }];
        parse(&system, &locals, text, Span::default())
    }

    #[test]
    fn everything_that_parses_is_well_formed_and_folds_to_what_it_says() {
        for (text, value) in [
            ("1 + 2 * 3 - 4 / 2 % 3", 5),
            ("min(3, 1, 2) * 100 + max(3, 1) * 10 + abs(-4)", 134),
            ("abs(4)", 4),
            ("!0 && 2 = 2 ? green : red", 1),
            ("(1 < 2) == true", 1),
            ("--3", 3),
        ] {
            let expr = parsed(text).expect(text);
            let system = system();
            let folded = crate::fold::Fold::new(&system, []).expr(&expr);
            assert_eq!(folded.as_const(), Some(value), "{text}");
        }
        for text in ["n + i", "row[red].left", "row[i + 1].right * n", "row[n > 2 ? red : green] . left"] {
            let mut system = system();
            let shape = system.variables[0].shape;
            let locals = vec![Local { name: "i".into(), shape, kind: LocalKind::Bound }];
            let params = vec![crate::Param {
                local: LocalId(0),
                values: crate::ParamValues::Steps { from: 0, to: 1, by: 1 },
            }];
            let cost = parse(&system, &locals, text, Span::default()).expect(text);
            system.actions.push(crate::Action { locals, params, cost: Some(cost), ..Default::default() });
            assert_eq!(crate::validate::validate(&system), [], "{text}");
        }
    }

    #[test]
    fn mistakes_are_pointed_at() {
        for (text, message, caret) in [
            ("1 +", "the expression ends here", 3),
            ("roww", "no scalar or value is called `roww`; did you mean `row`?", 0),
            ("n + row[red].up", "the record has no field `up`; it has left, right", 4),
            ("row", "expected `[`", 3),
            ("99999999999999999999", "this number is too large", 0),
            ("n n", "expected an operator or the end", 2),
            ("(n", "expected `)`", 2),
            ("abs(1, 2)", "`abs` takes one value", 0),
        ] {
            let error = parsed(text).expect_err(text);
            assert!(error.starts_with(message), "{text}: {error}");
            let line = error.lines().last().expect("a caret");
            assert_eq!(line.find('^'), Some(caret + 2), "{error}");
        }
        assert!(parsed(&"(".repeat(100_000)).is_err());
        let doubled = (0..40).fold("n".to_owned(), |text, _| format!("max({text}, 1)"));
        assert!(parsed(&doubled).expect_err("it would be written out 2^40 times").contains("too large"));
    }
}
