//! An estimate of the user's own: an integer expression over the scalars of the state.
//!
//! Scalars are written by their path names as traces show them (`Procs[2].state`), enumeration values by their names,
//! `P.q` is 1 where process `P` is at location `q`. Operators are those of C, `=` also compares, and there are
//! `min(a, b, ...)`, `max(a, b, ...)` and `abs(a)`. Undefined counts as 0, and so does what is divided by 0. Below 0 is 0.

use crate::GuideError;
use hadal_exec::Model;
use hadal_system::cursor::Cursor;
use hadal_system::guide::Mask;
use hadal_system::guide::{Distance, Estimator, Guide, Promises};
use hadal_system::text::LEVELS;
use hadal_system::{BinaryOp, DomainKind, System};
use std::collections::HashMap;

/// A user's estimate.
pub struct Expression<'m> {
    model: &'m Model,
    text: String,
    tree: Tree,
}

#[derive(Clone, Debug, PartialEq)]
enum Tree {
    Number(i64),
    Slot(usize),
    /// 1 where the scalar has this value.
    Is(usize, i64),
    Negate(Box<Tree>),
    Not(Box<Tree>),
    Absolute(Box<Tree>),
    Binary(BinaryOp, Box<Tree>, Box<Tree>),
    If(Box<Tree>, Box<Tree>, Box<Tree>),
    Least(Vec<Tree>),
    Greatest(Vec<Tree>),
}

impl<'m> Expression<'m> {
    pub fn parse(model: &'m Model, text: &str) -> Result<Self, GuideError> {
        let mut parser = Parser { cursor: Cursor::new(text), names: Names::of(model.system()), depth: 0 };
        let tree = parser.whole()?;
        Ok(Expression { model, text: text.into(), tree })
    }
}

impl Guide for Expression<'_> {
    fn name(&self) -> String {
        format!("expr:{}", self.text)
    }

    /// Nobody knows what the user wrote; it is never infinite and does not look at masks.
    fn promises(&self) -> Promises {
        Promises { admissible: false, consistent: false, safe: true, monotone: true }
    }

    fn estimator(&self) -> Box<dyn Estimator + '_> {
        Box::new(ExpressionEstimator { guide: self })
    }
}

struct ExpressionEstimator<'g> {
    guide: &'g Expression<'g>,
}

impl Estimator for ExpressionEstimator<'_> {
    fn estimate(&mut self, state: &[u64], _: Option<&Mask>) -> Distance {
        let value = self.guide.tree.value(self.guide.model, state);
        Distance(value.clamp(0, i64::from(u32::MAX - 1)) as u32)
    }
}

impl Tree {
    fn value(&self, model: &Model, state: &[u64]) -> i64 {
        let read = |slot: usize| model.layout().value(model.system(), state, slot);
        match self {
            Tree::Number(value) => *value,
            Tree::Slot(slot) => read(*slot).unwrap_or(0),
            Tree::Is(slot, value) => (read(*slot) == Some(*value)).into(),
            Tree::Negate(of) => of.value(model, state).saturating_neg(),
            Tree::Not(of) => (of.value(model, state) == 0).into(),
            Tree::Absolute(of) => of.value(model, state).saturating_abs(),
            Tree::Binary(op, left, right) => {
                let (left, right) = (left.value(model, state), right.value(model, state));
                match op {
                    BinaryOp::Add => left.saturating_add(right),
                    BinaryOp::Subtract => left.saturating_sub(right),
                    BinaryOp::Multiply => left.saturating_mul(right),
                    _ => op.apply(left, right).unwrap_or(0),
                }
            }
            Tree::If(condition, yes, no) => {
                if condition.value(model, state) != 0 { yes } else { no }.value(model, state)
            }
            Tree::Least(of) => of.iter().map(|tree| tree.value(model, state)).min().unwrap_or(0),
            Tree::Greatest(of) => of.iter().map(|tree| tree.value(model, state)).max().unwrap_or(0),
        }
    }
}

/// What names mean.
struct Names {
    slots: HashMap<String, usize>,
    values: HashMap<String, i64>,
    /// Scalar and value behind `Process.location`.
    locations: HashMap<String, (usize, i64)>,
}

impl Names {
    fn of(system: &System) -> Self {
        let slots = system.slots().into_iter().enumerate().map(|(n, (name, _))| (name, n)).collect();
        let mut values = HashMap::from([("true".to_owned(), 1), ("false".to_owned(), 0)]);
        for (id, domain) in system.domains.iter() {
            if matches!(domain.kind, DomainKind::Enum(_) | DomainKind::Scalarset(_)) && domain.size() <= 4096
            {
                for value in domain.values() {
                    values.entry(system.domains.render(id, Some(value))).or_insert(value);
                }
            }
        }
        let first_slots = system.first_slots();
        let mut locations = HashMap::new();
        for process in &system.processes {
            for (n, location) in process.locations.iter().enumerate() {
                let slot = first_slots[process.location.0 as usize];
                locations.insert(format!("{}.{}", process.name, location.name), (slot, n as i64));
            }
        }
        Names { slots, values, locations }
    }
}

struct Parser<'t> {
    cursor: Cursor<'t>,
    names: Names,
    depth: u32,
}

/// Deeper brackets are refused.
const MAX_DEPTH: u32 = 200;

impl Parser<'_> {
    fn whole(&mut self) -> Result<Tree, GuideError> {
        let tree = self.choice()?;
        self.cursor.space();
        if self.cursor.at < self.cursor.text.len() {
            return Err(self.error(self.cursor.at, 1, "expected an operator or the end"));
        }
        Ok(tree)
    }

    fn choice(&mut self) -> Result<Tree, GuideError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(self.cursor.at, 1, "nested too deep"));
        }
        let condition = self.level(0)?;
        let tree = if self.cursor.eat("?") {
            let yes = self.choice()?;
            self.expect(":")?;
            let no = self.choice()?;
            Tree::If(Box::new(condition), Box::new(yes), Box::new(no))
        } else {
            condition
        };
        self.depth -= 1;
        Ok(tree)
    }

    fn level(&mut self, level: usize) -> Result<Tree, GuideError> {
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.level(level + 1)?;
        while let Some((_, op)) = operators.iter().find(|(sign, _)| self.cursor.eat(sign)) {
            let right = self.level(level + 1)?;
            left = Tree::Binary(*op, Box::new(left), Box::new(right));
        }
        Ok(left)
    }

    fn unary(&mut self) -> Result<Tree, GuideError> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(self.error(self.cursor.at, 1, "nested too deep"));
        }
        let tree = if self.cursor.eat("-") {
            Tree::Negate(Box::new(self.unary()?))
        } else if self.cursor.eat("!") {
            Tree::Not(Box::new(self.unary()?))
        } else if self.cursor.eat("(") {
            let inside = self.choice()?;
            self.expect(")")?;
            inside
        } else {
            self.primary()?
        };
        self.depth -= 1;
        Ok(tree)
    }

    fn primary(&mut self) -> Result<Tree, GuideError> {
        self.cursor.space();
        let from = self.cursor.at;
        let rest = &self.cursor.text[from..];
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        if digits > 0 {
            self.cursor.at += digits;
            let value = rest[..digits].parse();
            return value.map(Tree::Number).map_err(|_| self.error(from, digits, "this number is too large"));
        }
        let path = self.path()?;
        if path.is_empty() {
            let found =
                if rest.is_empty() { "the expression ends here" } else { "expected a number or a name" };
            return Err(self.error(from, 1, found));
        }
        if ["min", "max", "abs"].contains(&path.as_str()) && self.cursor.eat("(") {
            let mut of = vec![self.choice()?];
            while self.cursor.eat(",") {
                of.push(self.choice()?);
            }
            self.expect(")")?;
            return match (path.as_str(), of.len()) {
                ("min", _) => Ok(Tree::Least(of)),
                ("max", _) => Ok(Tree::Greatest(of)),
                (_, 1) => Ok(Tree::Absolute(Box::new(of.remove(0)))),
                _ => Err(self.error(from, 3, "`abs` takes one value")),
            };
        }
        if let Some(&slot) = self.names.slots.get(&path) {
            return Ok(Tree::Slot(slot));
        }
        if let Some(&(slot, value)) = self.names.locations.get(&path) {
            return Ok(Tree::Is(slot, value));
        }
        if let Some(&value) = self.names.values.get(&path) {
            return Ok(Tree::Number(value));
        }
        let reason = match self.names.nearest(&path) {
            Some(near) => format!("no scalar or value is called `{path}`; did you mean `{near}`?"),
            None => format!("no scalar or value is called `{path}`"),
        };
        Err(self.error(from, self.cursor.at - from, &reason))
    }

    /// A path name: an identifier, then fields and indices, without spaces.
    fn path(&mut self) -> Result<String, GuideError> {
        let mut path = String::new();
        let from = self.cursor.at;
        let mut characters = self.cursor.text[from..].char_indices().peekable();
        let mut depth = 0usize;
        while let Some(&(at, c)) = characters.peek() {
            match c {
                '[' if !path.is_empty() => depth += 1,
                ']' if depth > 0 => depth -= 1,
                c if depth > 0 && c.is_whitespace() => {
                    characters.next();
                    continue;
                }
                _ if depth > 0 => {}
                c if c.is_alphanumeric() || c == '_' || c == '.' && !path.is_empty() => {}
                _ => {
                    self.cursor.at = from + at;
                    return Ok(path);
                }
            }
            path.push(c);
            characters.next();
        }
        self.cursor.at = self.cursor.text.len();
        if depth > 0 {
            return Err(self.error(from, self.cursor.at - from, "a `[` is not closed"));
        }
        Ok(path)
    }

    fn expect(&mut self, sign: &str) -> Result<(), GuideError> {
        self.cursor.expect(sign).map_err(GuideError::Expression)
    }

    fn error(&self, at: usize, width: usize, message: &str) -> GuideError {
        GuideError::Expression(self.cursor.error(at, width, message))
    }
}

impl Names {
    /// A name that differs in case or by little at its end.
    fn nearest(&self, path: &str) -> Option<&str> {
        let wanted = path.to_lowercase();
        let all = self.slots.keys().chain(self.values.keys()).chain(self.locations.keys());
        let mut near: Vec<&str> = all
            .map(String::as_str)
            .filter(|name| {
                let name = name.to_lowercase();
                name == wanted || name.starts_with(&wanted) || wanted.starts_with(&name) && name.len() > 2
            })
            .collect();
        near.sort_unstable_by_key(|name| (name.len().abs_diff(path.len()), *name));
        near.first().copied()
    }
}
