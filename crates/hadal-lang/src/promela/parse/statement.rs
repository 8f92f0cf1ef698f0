//! Statements; `for`, `select` and inlined calls become what they stand for.

use super::super::ast::{
    Argument, Expr, ExprKind, Name, Place, Receive, Stmt, StmtKind, Type, Variable, Way,
};
use super::{Bad, MAX_INLINED, Parsed, Parser};
use crate::cpp::lex::{Kind, Token};
use hadal_system::Span;
use std::rc::Rc;

/// The widest range that `select` turns into one option per value, as SPIN does.
const MAX_OPTIONS: i64 = 32;

impl Parser<'_> {
    /// Statements up to something that closes them.
    pub(super) fn sequence(&mut self, close: &str) -> Parsed<Vec<Stmt>> {
        self.deeper(|parser| {
            let mut list = Vec::new();
            loop {
                while parser.eat(";") || parser.eat("->") {}
                let token = parser.peek();
                if token.kind == Kind::End || token.is(close) || token.is("}") || token.is("::") {
                    break;
                }
                if token.word("fi") || token.word("od") {
                    break;
                }
                parser.step(&mut list)?;
                // Separators may be left out, as SPIN allows, before what can only be another statement.
                let next = parser.peek();
                let starts = matches!(next.kind, Kind::Name | Kind::Number | Kind::End)
                    || [";", "->", "}", "::", "{", "(", "!", close].iter().any(|mark| next.is(mark));
                if !starts {
                    return parser.expected("`;` or `->`");
                }
            }
            Ok(list)
        })
    }

    /// A declaration or a statement, with what may be unless it.
    fn step(&mut self, list: &mut Vec<Stmt>) -> Parsed<()> {
        let begin = self.peek().span;
        if self.peek().word("xr") || self.peek().word("xs") {
            let way = if self.take().word("xr") { Way::Receive } else { Way::Send };
            let mut channels = vec![self.place()?];
            while self.eat(",") {
                channels.push(self.place()?);
            }
            list.push(Stmt { labels: Vec::new(), kind: StmtKind::Exclusive(way, channels), span: begin });
            return Ok(());
        }
        if self.at_declaration() {
            for variable in self.declaration()?.unwrap_or_default() {
                let span = variable.name.span;
                list.push(Stmt { labels: Vec::new(), kind: StmtKind::Declare(variable), span });
            }
            return Ok(());
        }
        let mut own = Vec::new();
        self.statement(&mut own)?;
        while self.peek().word("unless") {
            self.take();
            let mut escape = Vec::new();
            self.statement(&mut escape)?;
            let span = begin.to(self.before());
            let one = |mut list: Vec<Stmt>| match list.len() {
                1 => list.remove(0),
                _ => Stmt { labels: Vec::new(), kind: StmtKind::Block(list), span },
            };
            let kind = StmtKind::Unless(Box::new(one(own)), Box::new(one(escape)));
            own = vec![Stmt { labels: Vec::new(), kind, span }];
        }
        list.extend(own);
        Ok(())
    }

    fn statement(&mut self, list: &mut Vec<Stmt>) -> Parsed<()> {
        self.deeper(|parser| {
            let mut labels = Vec::new();
            while parser.peek().kind == Kind::Name && parser.ahead(1).is(":") && !parser.remote_statement() {
                labels.push(parser.name("a label")?);
                parser.take();
            }
            let from = list.len();
            let begin = parser.peek().span;
            if !labels.is_empty() && (parser.peek().is("}") || parser.peek().is("::")) {
                // A label at the end of a block stands at what follows.
                let kind = StmtKind::Condition(number(1, begin));
                list.push(Stmt { labels: Vec::new(), kind, span: begin });
            } else {
                parser.unlabelled(list)?;
            }
            if let Some(first) = list.get_mut(from) {
                labels.append(&mut first.labels);
                first.labels = labels;
            }
            Ok(())
        })
    }

    /// `P:x` at the beginning of a condition.
    fn remote_statement(&self) -> bool {
        self.tree.proctypes.iter().any(|process| process.name.text == self.peek().text)
            && self.ahead(2).kind == Kind::Name
            && [">", "<", "==", "!=", "<=", ">=", "+", "-", "&&", "||"]
                .iter()
                .any(|mark| self.ahead(3).is(mark))
    }

    fn unlabelled(&mut self, list: &mut Vec<Stmt>) -> Parsed<()> {
        let token = self.peek().clone();
        let begin = token.span;
        if token.is("{") {
            self.take();
            let body = self.sequence("}")?;
            self.expect("}")?;
            list.push(self.made(StmtKind::Block(body), begin));
            return Ok(());
        }
        let kind = match &*token.text {
            _ if token.kind != Kind::Name => StmtKind::Condition(self.expression()?),
            "if" | "do" => {
                self.take();
                let mut options = self.options()?;
                if !self.in_claim {
                    options.iter_mut().for_each(drop_idle);
                }
                let close = if token.word("if") { "fi" } else { "od" };
                if !self.eat_word(close) {
                    return self.expected(&format!("`::` or `{close}`"));
                }
                if token.word("if") { StmtKind::If(options) } else { StmtKind::Do(options) }
            }
            "atomic" | "d_step" => {
                self.take();
                self.expect("{")?;
                let body = self.sequence("}")?;
                self.expect("}")?;
                if token.word("atomic") { StmtKind::Atomic(body) } else { StmtKind::Step(body) }
            }
            "for" => return self.for_loop(list),
            "select" if self.ahead(1).is("(") => return self.select(list),
            "else" => {
                self.take();
                StmtKind::Else
            }
            "break" => {
                self.take();
                StmtKind::Break
            }
            "goto" => {
                self.take();
                StmtKind::Goto(self.name("a label")?)
            }
            "printf" => self.print()?,
            "printm" => {
                self.take();
                self.expect("(")?;
                let value = self.expression()?;
                self.expect(")")?;
                StmtKind::PrintName(value)
            }
            "assert" => {
                self.take();
                StmtKind::Assert(self.expression()?)
            }
            "set_priority" => {
                self.take();
                self.expect("(")?;
                let pid = self.expression()?;
                self.expect(",")?;
                let priority = self.expression()?;
                self.expect(")")?;
                StmtKind::SetPriority(pid, priority)
            }
            "c_code" | "c_expr" | "c_decl" | "c_state" | "c_track" => return self.embedded(),
            "scanf" => return self.error(begin, "`scanf` reads from a person: a model to be checked cannot"),
            _ if self.ahead(1).is("(") && self.inlines.contains_key(&token.text) => {
                let body = self.inlined()?;
                StmtKind::Block(body)
            }
            _ => self.on_place()?,
        };
        list.push(self.made(kind, begin));
        Ok(())
    }

    fn made(&self, kind: StmtKind, begin: Span) -> Stmt {
        let last = self.before();
        let span = if last.start >= begin.start { begin.to(last) } else { begin };
        Stmt { labels: Vec::new(), kind, span }
    }

    fn options(&mut self) -> Parsed<Vec<Vec<Stmt>>> {
        let mut options = Vec::new();
        if !self.peek().is("::") {
            return self.expected("`::`");
        }
        while self.eat("::") {
            let span = self.peek().span;
            let option = self.sequence("::")?;
            if option.is_empty() {
                return self.error(span, "an option needs a statement");
            }
            options.push(option);
        }
        Ok(options)
    }

    fn print(&mut self) -> Parsed<StmtKind> {
        self.take();
        self.expect("(")?;
        let text = self.peek().clone();
        if text.kind != Kind::Text {
            return self.expected("text between double quotes");
        }
        self.take();
        let mut values = Vec::new();
        while self.eat(",") {
            values.push(self.expression()?);
        }
        self.expect(")")?;
        Ok(StmtKind::Print(text.text, values))
    }

    /// An assignment, a message, or a condition that begins with a name.
    fn on_place(&mut self) -> Parsed<StmtKind> {
        let (start, inlined) = (self.at, self.tokens.clone());
        let words = ["run", "len", "empty", "nempty", "full", "nfull", "enabled", "pc_value", "get_priority"];
        let plain = ["true", "false", "skip", "timeout", "np_", "eval"];
        let word = self.peek().text.clone();
        let called = words.contains(&&*word) && (&*word == "run" || self.ahead(1).is("("));
        if called || plain.contains(&&*word) {
            return Ok(StmtKind::Condition(self.expression()?));
        }
        let place = self.place()?;
        let token = self.peek().clone();
        match &*token.text {
            "=" if token.is("=") => {
                self.take();
                Ok(StmtKind::Assign(place, self.expression()?))
            }
            "++" | "--" if token.kind == Kind::Mark => {
                self.take();
                let operator = if token.is("++") { "+" } else { "-" };
                Ok(StmtKind::Assign(place.clone(), changed(place, operator, token.span)))
            }
            "!" | "!!" if token.kind == Kind::Mark => {
                self.take();
                let mut values = vec![self.expression()?];
                if self.eat("(") {
                    values.extend(self.list(")")?);
                    self.expect(")")?;
                } else {
                    while self.eat(",") {
                        values.push(self.expression()?);
                    }
                }
                Ok(StmtKind::Send { channel: place, values, sorted: token.is("!!") })
            }
            "?" | "??" if token.kind == Kind::Mark && !self.ahead(1).is("[") => {
                self.take();
                let keep = self.eat("<");
                let arguments = self.arguments(if keep { ">" } else { ";" })?;
                if keep {
                    self.expect(">")?;
                }
                let random = token.is("??");
                Ok(StmtKind::Receive(Receive { channel: place, arguments, random, keep }))
            }
            _ => {
                debug_assert!(Rc::ptr_eq(&inlined, &self.tokens));
                self.at = start;
                Ok(StmtKind::Condition(self.expression()?))
            }
        }
    }

    /// The statements of an inlined call.
    fn inlined(&mut self) -> Parsed<Vec<Stmt>> {
        let name = self.take();
        self.take();
        let mut arguments: Vec<Vec<Token>> = vec![Vec::new()];
        let mut depth = 1;
        loop {
            let token = self.take();
            if token.kind == Kind::End {
                return self.error(name.span, "the call needs `)`");
            }
            if token.is("(") || token.is("[") || token.is("{") {
                depth += 1;
            } else if token.is(")") || token.is("]") || token.is("}") {
                depth -= 1;
                if depth == 0 {
                    break;
                }
            }
            if depth == 1 && token.is(",") {
                arguments.push(Vec::new());
            } else if let Some(last) = arguments.last_mut() {
                last.push(token);
            }
        }
        let Some(inline) = self.inlines.get(&name.text).cloned() else { return Err(Bad) };
        if inline.parameters.is_empty() && arguments.iter().all(Vec::is_empty) {
            arguments.clear();
        }
        if inline.parameters.len() != arguments.len() {
            let (wanted, given) = (inline.parameters.len(), arguments.len());
            return self.error(name.span, format!("`{}` has {wanted} parameters, not {given}", name.text));
        }
        let mut body: Vec<Token> = Vec::with_capacity(inline.body.len() + 1);
        for token in inline.body.iter() {
            let parameter =
                inline.parameters.iter().position(|it| token.kind == Kind::Name && *it == token.text);
            match parameter.and_then(|n| arguments.get(n)) {
                Some(argument) => body.extend(argument.iter().cloned()),
                None => body.push(token.clone()),
            }
        }
        self.inlined += body.len() + 1;
        if self.inlined > MAX_INLINED {
            return self.error(name.span, "the text is too large once its inlines are called");
        }
        body.push(Token { kind: Kind::End, text: "".into(), span: name.span, first: true, spaced: true });
        let outer = std::mem::replace(&mut self.tokens, body.into());
        let at = std::mem::take(&mut self.at);
        let read = self.sequence("}");
        let rest = match &read {
            Ok(_) if self.peek().kind != Kind::End => self.expected::<()>("a statement"),
            _ => Ok(()),
        };
        self.tokens = outer;
        self.at = at;
        rest?;
        read
    }

    /// `for (i : from .. to)`, `for (i in array)`.
    fn for_loop(&mut self, list: &mut Vec<Stmt>) -> Parsed<()> {
        let begin = self.take().span;
        self.expect("(")?;
        let place = self.place()?;
        let (from, to) = if self.eat_word("in") {
            let array = self.place()?;
            let span = array.span;
            if array.index.is_some() || !self.arrays.contains(&array.name.text) {
                self.expect(")")?;
                return self.for_messages(place, array, begin, list);
            }
            // The check stage knows how long the array is.
            let length = ExprKind::Channel("length", array);
            let last = binary("-", Expr { kind: length, span }, number(1, span));
            (number(0, span), last)
        } else {
            self.expect(":")?;
            let from = self.expression()?;
            self.expect("..")?;
            (from, self.expression()?)
        };
        let span = begin.to(self.expect(")")?);
        self.expect("{")?;
        let mut body = self.sequence("}")?;
        self.expect("}")?;
        let plain = |kind| Stmt { labels: Vec::new(), kind, span };
        let value = Expr { kind: ExprKind::Place(place.clone()), span: place.span };
        let mut option = vec![plain(StmtKind::Condition(binary("<=", value, to)))];
        option.append(&mut body);
        option.push(plain(StmtKind::Assign(place.clone(), changed(place.clone(), "+", span))));
        let otherwise = vec![plain(StmtKind::Else), plain(StmtKind::Break)];
        list.push(plain(StmtKind::Assign(place, from)));
        list.push(plain(StmtKind::Do(vec![option, otherwise])));
        Ok(())
    }

    /// `for (message in channel)`: every message is taken out, looked at, and put back.
    fn for_messages(
        &mut self,
        message: Place,
        channel: Place,
        begin: Span,
        list: &mut Vec<Stmt>,
    ) -> Parsed<()> {
        self.expect("{")?;
        let mut body = self.sequence("}")?;
        self.expect("}")?;
        let span = begin.to(channel.span);
        let plain = |kind| Stmt { labels: Vec::new(), kind, span };
        self.counters += 1;
        let name = Name { text: format!("for {}", self.counters).into(), span };
        let counter = Place { name: name.clone(), index: None, field: None, span };
        let variable = Variable { name, ty: Type::Int, length: None, initial: None, hidden: false };
        let value = Expr { kind: ExprKind::Place(counter.clone()), span };
        let all = Expr { kind: ExprKind::Channel("len", channel.clone()), span };
        let arguments = vec![Argument::Place(message.clone())];
        let take = Receive { channel: channel.clone(), arguments, random: false, keep: false };
        let values = vec![Expr { kind: ExprKind::Place(message), span }];
        let mut option = vec![
            plain(StmtKind::Condition(binary("<", value, all))),
            plain(StmtKind::Receive(take)),
            plain(StmtKind::Send { channel, values, sorted: false }),
        ];
        option.append(&mut body);
        option.push(plain(StmtKind::Assign(counter.clone(), changed(counter.clone(), "+", span))));
        let otherwise = vec![plain(StmtKind::Else), plain(StmtKind::Break)];
        list.push(plain(StmtKind::Temporary(variable)));
        list.push(plain(StmtKind::Assign(counter, number(0, span))));
        list.push(plain(StmtKind::Do(vec![option, otherwise])));
        Ok(())
    }

    fn select(&mut self, list: &mut Vec<Stmt>) -> Parsed<()> {
        let begin = self.take().span;
        self.take();
        let place = self.place()?;
        self.expect(":")?;
        let from = self.expression()?;
        self.expect("..")?;
        let to = self.expression()?;
        let span = begin.to(self.expect(")")?);
        let plain = |kind| Stmt { labels: Vec::new(), kind, span };
        self.tree.selected.insert(place.name.text.clone());
        if let (ExprKind::Number(from), ExprKind::Number(to)) = (&from.kind, &to.kind)
            && to.saturating_sub(*from) <= MAX_OPTIONS
            && from <= to
        {
            let option = |value| vec![plain(StmtKind::Assign(place.clone(), number(value, span)))];
            list.push(plain(StmtKind::If((*from..=*to).map(option).collect())));
            return Ok(());
        }
        let value = Expr { kind: ExprKind::Place(place.clone()), span: place.span };
        let up = vec![
            plain(StmtKind::Condition(binary("<", value, to))),
            plain(StmtKind::Assign(place.clone(), changed(place.clone(), "+", span))),
        ];
        list.push(plain(StmtKind::Assign(place, from)));
        list.push(plain(StmtKind::Do(vec![up, vec![plain(StmtKind::Break)]])));
        Ok(())
    }
}

fn number(value: i64, span: Span) -> Expr {
    Expr { kind: ExprKind::Number(value), span }
}

fn binary(operator: &'static str, left: Expr, right: Expr) -> Expr {
    let span = left.span;
    Expr { kind: ExprKind::Binary(operator, Box::new(left), Box::new(right)), span }
}

/// The place's value and one more or less.
fn changed(place: Place, operator: &'static str, span: Span) -> Expr {
    let value = Expr { kind: ExprKind::Place(place), span };
    binary(operator, value, number(1, span))
}

/// Leaves out all but the first of neighbours that do nothing, as SPIN does in options.
fn drop_idle(option: &mut Vec<Stmt>) {
    let mut left = option.len();
    let mut idle = 0;
    option.retain(|stmt| {
        left -= 1;
        let prints = matches!(stmt.kind, StmtKind::Print(..) | StmtKind::PrintName(_));
        let skips = matches!(&stmt.kind, StmtKind::Condition(it) if matches!(it.kind, ExprKind::Number(1)));
        idle = if (prints || skips) && stmt.labels.is_empty() { idle + 1 } else { 0 };
        idle < 2 || prints || left == 0
    });
}
