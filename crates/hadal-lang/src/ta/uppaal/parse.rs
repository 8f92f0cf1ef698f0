//! Expressions, statements and declarations of UPPAAL.

use super::ast::*;
use super::lex::{Piece, Placed, Token, tokens};
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::{BinaryOp, Span, UnaryOp};
use std::rc::Rc;

/// Nesting beyond this is refused.
const MAX_DEPTH: usize = 80;

const LEVELS: [&[(&str, BinaryOp)]; 10] = [
    &[("imply", BinaryOp::Implies)],
    &[("||", BinaryOp::Or), ("or", BinaryOp::Or)],
    &[("&&", BinaryOp::And), ("and", BinaryOp::And)],
    &[("|", BinaryOp::BitOr)],
    &[("^", BinaryOp::BitXor)],
    &[("&", BinaryOp::BitAnd)],
    &[("==", BinaryOp::Equal), ("!=", BinaryOp::NotEqual)],
    &[
        ("<=", BinaryOp::LessEqual),
        (">=", BinaryOp::GreaterEqual),
        ("<", BinaryOp::Less),
        (">", BinaryOp::Greater),
    ],
    &[("<<", BinaryOp::ShiftLeft), (">>", BinaryOp::ShiftRight)],
    &[("+", BinaryOp::Add), ("-", BinaryOp::Subtract)],
];

const ASSIGNMENTS: [(&str, Option<BinaryOp>); 12] = [
    ("=", None),
    (":=", None),
    ("+=", Some(BinaryOp::Add)),
    ("-=", Some(BinaryOp::Subtract)),
    ("*=", Some(BinaryOp::Multiply)),
    ("/=", Some(BinaryOp::Divide)),
    ("%=", Some(BinaryOp::Remainder)),
    ("&=", Some(BinaryOp::BitAnd)),
    ("|=", Some(BinaryOp::BitOr)),
    ("^=", Some(BinaryOp::BitXor)),
    ("<<=", Some(BinaryOp::ShiftLeft)),
    (">>=", Some(BinaryOp::ShiftRight)),
];

pub(super) struct Parser<'f> {
    tokens: Vec<Placed>,
    at: usize,
    depth: usize,
    pub(super) findings: &'f mut Diagnostics,
    /// Names of types known so far, to tell declarations from expressions.
    pub(super) types: Vec<String>,
}

impl<'f> Parser<'f> {
    pub(super) fn new(piece: Piece, types: &[String], findings: &'f mut Diagnostics) -> Self {
        let tokens = tokens(piece, findings);
        Parser { tokens, at: 0, depth: 0, findings, types: types.to_vec() }
    }

    pub(super) fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        &self.tokens[(self.at + ahead).min(self.tokens.len() - 1)].0
    }

    pub(super) fn span(&self) -> Span {
        self.tokens[self.at].1
    }

    fn last_span(&self) -> Span {
        self.tokens[self.at.saturating_sub(1)].1
    }

    pub(super) fn next(&mut self) -> Placed {
        let token = self.tokens[self.at].clone();
        self.at = (self.at + 1).min(self.tokens.len() - 1);
        token
    }

    pub(super) fn is(&self, sign: &str) -> bool {
        match self.peek() {
            Token::Sign(it) => *it == sign,
            Token::Word(it) => it == sign,
            _ => false,
        }
    }

    pub(super) fn takes(&mut self, sign: &str) -> bool {
        let is = self.is(sign);
        if is {
            self.next();
        }
        is
    }

    pub(super) fn refuse<T>(&mut self, expected: &str) -> Option<T> {
        let found = match self.peek() {
            Token::Number(number) => format!("`{number}`"),
            Token::Word(word) => format!("`{word}`"),
            Token::Sign(sign) => format!("`{sign}`"),
            Token::End => "the end".into(),
        };
        let diagnostic = Diagnostic::error(self.span(), format!("{found} cannot stand here"));
        self.findings.push(diagnostic.label(format!("expected {expected}")));
        None
    }

    pub(super) fn expect(&mut self, sign: &str) -> Option<Span> {
        if self.is(sign) { Some(self.next().1) } else { self.refuse(&format!("`{sign}`")) }
    }

    pub(super) fn is_end(&self) -> bool {
        *self.peek() == Token::End
    }

    pub(super) fn end(&mut self) -> Option<()> {
        if self.is_end() { Some(()) } else { self.refuse("an operator or the end") }
    }

    pub(super) fn word(&mut self) -> Option<(String, Span)> {
        match self.peek().clone() {
            Token::Word(word) => Some((word, self.next().1)),
            _ => self.refuse("a name"),
        }
    }

    fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        if self.depth >= MAX_DEPTH {
            self.findings.push(Diagnostic::error(self.span(), "nested too deeply"));
            return None;
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// An expression, assignments included.
    pub(super) fn term(&mut self) -> Option<Term> {
        self.nested(|parser| {
            let left = parser.conditional()?;
            let Some(&(_, op)) = ASSIGNMENTS.iter().find(|(sign, _)| parser.is(sign)) else {
                return Some(left);
            };
            parser.next();
            let right = parser.term()?;
            let span = left.span.to(right.span);
            Some(Term { kind: TermKind::Assign(op, Box::new(left), Box::new(right)), span })
        })
    }

    /// A list of expressions, parted by commas, up to the end.
    pub(super) fn terms(&mut self) -> Option<Vec<Term>> {
        let mut all = Vec::new();
        while !self.is_end() {
            all.push(self.term()?);
            if !self.takes(",") {
                break;
            }
        }
        Some(all)
    }

    fn conditional(&mut self) -> Option<Term> {
        let condition = self.binary(0)?;
        if !self.takes("?") {
            return Some(condition);
        }
        let yes = self.term()?;
        self.expect(":")?;
        let no = self.nested(Self::conditional)?;
        let span = condition.span.to(no.span);
        Some(Term { kind: TermKind::If(Box::new(condition), Box::new(yes), Box::new(no)), span })
    }

    fn binary(&mut self, level: usize) -> Option<Term> {
        let Some(signs) = LEVELS.get(level) else { return self.product() };
        let mut left = self.binary(level + 1)?;
        while let Some((_, op)) = signs.iter().find(|(sign, _)| self.is(sign)) {
            self.next();
            let right = self.binary(level + 1)?;
            let span = left.span.to(right.span);
            left = Term { kind: TermKind::Binary(*op, Box::new(left), Box::new(right)), span };
        }
        Some(left)
    }

    fn product(&mut self) -> Option<Term> {
        let mut left = self.nested(Self::unary)?;
        loop {
            let sign = ["*", "/", "%", "<?", ">?"].into_iter().find(|sign| self.is(sign));
            let Some(sign) = sign else { return Some(left) };
            // `a ? b : c` never follows `<` here, so `<?` is the minimum.
            self.next();
            let right = self.nested(Self::unary)?;
            let span = left.span.to(right.span);
            let (left_term, right) = (Box::new(left), Box::new(right));
            let kind = match sign {
                "*" => TermKind::Binary(BinaryOp::Multiply, left_term, right),
                "/" => TermKind::Binary(BinaryOp::Divide, left_term, right),
                "%" => TermKind::Binary(BinaryOp::Remainder, left_term, right),
                "<?" => TermKind::Least(left_term, right),
                _ => TermKind::Most(left_term, right),
            };
            left = Term { kind, span };
        }
    }

    fn unary(&mut self) -> Option<Term> {
        let start = self.span();
        for (sign, step) in [("++", 1), ("--", -1)] {
            if self.takes(sign) {
                let of = self.nested(Self::unary)?;
                let span = start.to(of.span);
                return Some(Term { kind: TermKind::Step(Box::new(of), step, false), span });
            }
        }
        for (sign, op) in [("-", UnaryOp::Negate), ("!", UnaryOp::Not), ("not", UnaryOp::Not)] {
            if self.takes(sign) {
                let of = self.nested(Self::unary)?;
                let span = start.to(of.span);
                return Some(Term { kind: TermKind::Unary(op, Box::new(of)), span });
            }
        }
        if self.takes("+") {
            return self.nested(Self::unary);
        }
        for (word, quantity) in
            [("forall", Quantity::ForAll), ("exists", Quantity::Exists), ("sum", Quantity::Sum)]
        {
            if self.is(word) && *self.peek_at(1) == Token::Sign("(") {
                self.next();
                self.next();
                let (name, _) = self.word()?;
                self.expect(":")?;
                let ty = self.ty()?;
                self.expect(")")?;
                // The body reaches as far as it can.
                let body = self.nested(|parser| parser.conditional())?;
                let span = start.to(body.span);
                return Some(Term {
                    kind: TermKind::Quantified(quantity, name, Box::new(ty), Box::new(body)),
                    span,
                });
            }
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Option<Term> {
        let mut term = self.primary()?;
        loop {
            let start = term.span;
            let kind = if self.takes("[") {
                let index = self.term()?;
                self.expect("]")?;
                TermKind::Index(Box::new(term), Box::new(index))
            } else if self.takes(".") {
                let (name, _) = self.word()?;
                TermKind::Field(Box::new(term), name)
            } else if self.takes("(") {
                let mut arguments = Vec::new();
                while !self.is(")") {
                    arguments.push(self.term()?);
                    if !self.takes(",") {
                        break;
                    }
                }
                self.expect(")")?;
                TermKind::Call(Box::new(term), arguments)
            } else if self.takes("++") {
                TermKind::Step(Box::new(term), 1, true)
            } else if self.takes("--") {
                TermKind::Step(Box::new(term), -1, true)
            } else if self.takes("'") {
                TermKind::Rate(Box::new(term))
            } else {
                return Some(term);
            };
            term = Term { kind, span: start.to(self.last_span()) };
        }
    }

    fn primary(&mut self) -> Option<Term> {
        let span = self.span();
        let kind = match self.peek().clone() {
            Token::Number(number) => TermKind::Number(number),
            Token::Word(word) if word == "true" => TermKind::Number(1),
            Token::Word(word) if word == "false" => TermKind::Number(0),
            Token::Word(word) if word == "deadlock" => TermKind::Deadlock,
            Token::Word(word) => TermKind::Name(word),
            Token::Sign("(") => {
                self.next();
                let mut inside = self.term()?;
                inside.span = span.to(self.expect(")")?);
                return Some(inside);
            }
            Token::Sign("{") => {
                self.next();
                let mut all = Vec::new();
                while !self.is("}") {
                    // `name: value` in the initialiser of a struct.
                    if matches!(self.peek(), Token::Word(_)) && *self.peek_at(1) == Token::Sign(":") {
                        self.next();
                        self.next();
                    }
                    all.push(self.term()?);
                    if !self.takes(",") {
                        break;
                    }
                }
                let end = self.expect("}")?;
                return Some(Term { kind: TermKind::List(all), span: span.to(end) });
            }
            _ => return self.refuse("a number, a name or `(`"),
        };
        self.next();
        Some(Term { kind, span })
    }

    /// Whether a declaration begins here.
    pub(super) fn is_type(&self) -> bool {
        match self.peek() {
            Token::Word(word) => {
                [
                    "const",
                    "int",
                    "bool",
                    "clock",
                    "chan",
                    "urgent",
                    "broadcast",
                    "struct",
                    "scalar",
                    "void",
                    "meta",
                ]
                .contains(&word.as_str())
                    || (self.types.contains(word)
                        && matches!(self.peek_at(1), Token::Word(_) | Token::Sign("&")))
            }
            _ => false,
        }
    }

    pub(super) fn ty(&mut self) -> Option<Type> {
        let start = self.span();
        let (mut constant, mut urgent, mut broadcast, mut meta) = (false, false, false, false);
        loop {
            if self.takes("const") {
                constant = true;
            } else if self.takes("urgent") {
                urgent = true;
            } else if self.takes("broadcast") {
                broadcast = true;
            } else if self.takes("meta") {
                meta = true;
            } else {
                break;
            }
        }
        let kind = if self.takes("int") {
            if self.takes("[") {
                let low = self.term()?;
                self.expect(",")?;
                let high = self.term()?;
                self.expect("]")?;
                TypeKind::Int(Some((Box::new(low), Box::new(high))))
            } else {
                TypeKind::Int(None)
            }
        } else if self.takes("bool") {
            TypeKind::Bool
        } else if self.takes("clock") {
            TypeKind::Clock
        } else if self.takes("chan") {
            TypeKind::Channel
        } else if self.takes("void") {
            TypeKind::Void
        } else if self.takes("scalar") {
            self.expect("[")?;
            let size = self.term()?;
            self.expect("]")?;
            TypeKind::Scalar(Box::new(size))
        } else if self.takes("struct") {
            self.expect("{")?;
            let mut fields = Vec::new();
            while !self.is("}") {
                let ty = self.nested(Self::ty)?;
                self.declared(&ty, &mut fields)?;
                self.expect(";")?;
            }
            self.expect("}")?;
            TypeKind::Struct(fields)
        } else {
            TypeKind::Named(self.word()?.0)
        };
        let span = start.to(self.last_span());
        Some(Type { kind, constant, urgent, broadcast, meta, span })
    }

    /// Names of one type, parted by commas.
    fn declared(&mut self, ty: &Type, out: &mut Vec<Declared>) -> Option<()> {
        loop {
            out.push(self.one_declared(ty)?);
            if !self.takes(",") {
                return Some(());
            }
        }
    }

    fn one_declared(&mut self, ty: &Type) -> Option<Declared> {
        let reference = self.takes("&");
        let (name, span) = self.word()?;
        let mut dimensions = Vec::new();
        while self.takes("[") {
            let named = matches!(self.peek(), Token::Word(word) if self.types.contains(word))
                && *self.peek_at(1) == Token::Sign("]");
            dimensions.push(match self.is("int") || self.is("scalar") || named {
                true => Dimension::Type(self.ty()?),
                false => Dimension::Size(self.term()?),
            });
            self.expect("]")?;
        }
        let initial = if self.takes("=") || self.takes(":=") { Some(self.term()?) } else { None };
        Some(Declared { name, ty: ty.clone(), dimensions, reference, initial, span })
    }

    /// Parameters in parentheses, or up to the end.
    pub(super) fn parameters(&mut self) -> Option<Vec<Declared>> {
        let mut all: Vec<Declared> = Vec::new();
        while !self.is_end() && !self.is(")") {
            let ty = self.ty()?;
            all.push(self.one_declared(&ty)?);
            // `int a, b`: further names of the same type.
            while self.is(",") {
                let typed = {
                    self.next();
                    self.is_type() || matches!(self.peek(), Token::Word(word) if self.types.contains(word))
                };
                if typed {
                    break;
                }
                all.push(self.one_declared(&ty)?);
            }
            if self.takes(";") {
                continue;
            }
        }
        Some(all)
    }

    /// Declarations up to the end, or up to something else.
    pub(super) fn declarations(&mut self) -> Option<Vec<Declaration>> {
        let mut all = Vec::new();
        loop {
            while self.takes(";") {}
            if self.takes("typedef") {
                let ty = self.ty()?;
                let mut names = Vec::new();
                self.declared(&ty, &mut names)?;
                self.expect(";")?;
                for name in names {
                    self.types.push(name.name.clone());
                    all.push(Declaration::Typedef(name));
                }
            } else if self.is_type() {
                let start = self.span();
                let ty = self.ty()?;
                if matches!(self.peek(), Token::Word(_)) && *self.peek_at(1) == Token::Sign("(") {
                    let (name, _) = self.word()?;
                    self.expect("(")?;
                    let parameters = self.parameters()?;
                    self.expect(")")?;
                    let body = self.command()?;
                    let span = start;
                    all.push(Declaration::Function(Rc::new(Function {
                        name,
                        result: ty,
                        parameters,
                        body,
                        span,
                    })));
                    continue;
                }
                let mut names = Vec::new();
                self.declared(&ty, &mut names)?;
                self.expect(";")?;
                all.extend(names.into_iter().map(Declaration::Variable));
            } else {
                return Some(all);
            }
        }
    }

    fn command(&mut self) -> Option<Command> {
        self.nested(Self::command_here)
    }

    fn command_here(&mut self) -> Option<Command> {
        let start = self.span();
        let kind = if self.takes(";") {
            CommandKind::Empty
        } else if self.takes("{") {
            let types = self.types.len();
            let declarations = self.declarations()?;
            let mut all = Vec::new();
            while !self.is("}") && !self.is_end() {
                all.push(self.command()?);
            }
            self.expect("}")?;
            self.types.truncate(types);
            CommandKind::Block(declarations, all)
        } else if self.takes("if") {
            self.expect("(")?;
            let condition = self.term()?;
            self.expect(")")?;
            let yes = Box::new(self.command()?);
            let no = if self.takes("else") { Some(Box::new(self.command()?)) } else { None };
            CommandKind::If(condition, yes, no)
        } else if self.takes("while") {
            self.expect("(")?;
            let condition = self.term()?;
            self.expect(")")?;
            CommandKind::While(condition, Box::new(self.command()?))
        } else if self.takes("do") {
            let body = Box::new(self.command()?);
            self.expect("while")?;
            self.expect("(")?;
            let condition = self.term()?;
            self.expect(")")?;
            self.takes(";");
            CommandKind::Do(body, condition)
        } else if self.takes("for") {
            self.expect("(")?;
            if matches!(self.peek(), Token::Word(_)) && *self.peek_at(1) == Token::Sign(":") {
                let (name, _) = self.word()?;
                self.next();
                let ty = self.ty()?;
                self.expect(")")?;
                CommandKind::Each(name, ty, Box::new(self.command()?))
            } else {
                let mut parts = [None, None, None];
                for (n, close) in [";", ";", ")"].into_iter().enumerate() {
                    if !self.is(close) {
                        parts[n] = Some(self.term()?);
                    }
                    self.expect(close)?;
                }
                let [first, condition, step] = parts;
                CommandKind::For(first, condition, step, Box::new(self.command()?))
            }
        } else if self.takes("return") {
            let value = if self.is(";") { None } else { Some(self.term()?) };
            self.expect(";")?;
            CommandKind::Return(value)
        } else {
            let term = self.term()?;
            self.expect(";")?;
            CommandKind::Term(term)
        };
        Some(Command { kind, span: start.to(self.last_span()) })
    }

    /// `name : type, ...`
    pub(super) fn selections(&mut self) -> Option<Vec<(String, Type)>> {
        let mut all = Vec::new();
        while matches!(self.peek(), Token::Word(_)) {
            let (name, _) = self.word()?;
            self.expect(":")?;
            all.push((name, self.ty()?));
            if !self.takes(",") {
                break;
            }
        }
        Some(all)
    }

    /// `c!` or `c?`.
    pub(super) fn sync(&mut self) -> Option<(Term, bool)> {
        let channel = self.postfix()?;
        let sends = if self.takes("!") {
            true
        } else if self.takes("?") {
            false
        } else {
            return self.refuse("`!` or `?`");
        };
        Some((channel, sends))
    }

    /// Instances and the system line.
    pub(super) fn system(&mut self, document: &mut Document) -> Option<()> {
        loop {
            let declarations = self.declarations()?;
            document.declarations.extend(declarations);
            if self.takes("system") {
                break;
            }
            if self.is_end() {
                return self.refuse("`system`");
            }
            let (name, span) = self.word()?;
            if !(self.takes("=") || self.takes(":=")) {
                return self.refuse("`=`");
            }
            let (template, _) = self.word()?;
            self.expect("(")?;
            let mut arguments = Vec::new();
            while !self.is(")") {
                arguments.push(self.term()?);
                if !self.takes(",") {
                    break;
                }
            }
            self.expect(")")?;
            self.expect(";")?;
            document.instances.push(Instance { name, template, arguments, span });
        }
        loop {
            document.system.push(self.word()?);
            if self.is("<") {
                self.findings
                    .push(Diagnostic::error(self.span(), "priorities of processes are not supported"));
                return None;
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect(";")?;
        Some(())
    }

    /// One query; `None` where it is not one that can be answered, with the reason as a warning.
    pub(super) fn query(&mut self, text: String) -> Option<Query> {
        let span = self.span();
        let kind = if self.takes("E<>") {
            QueryKind::Possibly
        } else if self.takes("A[]") {
            QueryKind::Always
        } else {
            self.findings.push(
                Diagnostic::warning(span, "this query is left out: hadal answers `E<>` and `A[]`")
                    .label("here"),
            );
            return None;
        };
        let errors = self.findings.list.len();
        let formula = self.term();
        let whole = formula.is_some() && self.is_end();
        if !whole {
            // A query that cannot be read does not refuse the model.
            self.findings.list.truncate(errors);
            self.findings.push(Diagnostic::warning(self.span(), "this query is left out: it cannot be read"));
            return None;
        }
        Some(Query { text, kind, formula: formula?, span })
    }
}
