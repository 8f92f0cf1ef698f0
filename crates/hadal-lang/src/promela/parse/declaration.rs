//! Variables, record types, processes.

use super::super::ast::{Initial, Name, Proctype, Type, Typedef, Variable};
use super::{Parsed, Parser};
use crate::cpp::lex::Kind;
use std::rc::Rc;

/// The set of plain `mtype`.
pub(crate) const PLAIN_MTYPE: &str = "_unnamed_";

const TYPES: [&str; 9] = ["bit", "bool", "byte", "pid", "short", "int", "unsigned", "mtype", "chan"];

impl Parser<'_> {
    /// Whether a declaration begins here.
    pub(super) fn at_declaration(&self) -> bool {
        let token = self.peek();
        if token.kind != Kind::Name {
            return false;
        }
        if ["hidden", "show", "local"].contains(&&*token.text) {
            return true;
        }
        if TYPES.contains(&&*token.text) {
            return true;
        }
        // A record type before a name.
        self.ahead(1).kind == Kind::Name
            && self.tree.typedefs.iter().any(|typedef| typedef.name.text == token.text)
    }

    /// A declaration of variables, or of message types (`None`).
    pub(super) fn declaration(&mut self) -> Parsed<Option<Vec<Variable>>> {
        let mut hidden = false;
        loop {
            if self.eat_word("hidden") {
                hidden = true;
            } else if !self.eat_word("show") && !self.eat_word("local") {
                break;
            }
        }
        if self.peek().word("mtype") && self.message_types()? {
            return Ok(None);
        }
        let ty = self.type_name()?;
        let mut variables = Vec::new();
        loop {
            let mut variable = self.variable(ty.clone())?;
            variable.hidden = hidden;
            variables.push(variable);
            if !self.eat(",") {
                return Ok(Some(variables));
            }
            // In a list of parameters a type may follow.
            if self.at_declaration() {
                self.at -= 1;
                return Ok(Some(variables));
            }
        }
    }

    /// `mtype = { ... }`, where it is one.
    fn message_types(&mut self) -> Parsed<bool> {
        let named = self.ahead(1).is(":");
        let at = if named { 3 } else { 1 };
        let assigned = self.ahead(at).is("=");
        if !self.ahead(at + usize::from(assigned)).is("{") {
            return Ok(false);
        }
        let set: Rc<str> = if named { self.ahead(2).text.clone() } else { PLAIN_MTYPE.into() };
        for _ in 0..at + usize::from(assigned) + 1 {
            self.take();
        }
        let mut names = Vec::new();
        while !self.peek().is("}") {
            names.push(self.name("the name of a message type")?);
            self.eat(",");
        }
        self.expect("}")?;
        self.tree.mtypes.push((set, names));
        Ok(true)
    }

    pub(super) fn type_name(&mut self) -> Parsed<Type> {
        let name = self.name("a type")?;
        Ok(match &*name.text {
            "bit" => Type::Bit,
            "bool" => Type::Bool,
            "byte" => Type::Byte,
            "pid" => Type::Pid,
            "short" => Type::Short,
            "int" => Type::Int,
            "unsigned" => Type::Unsigned(0),
            "mtype" if self.eat(":") => Type::Mtype(self.name("a set of message types")?.text),
            "mtype" => Type::Mtype(PLAIN_MTYPE.into()),
            "chan" => Type::Chan,
            _ => Type::User(name),
        })
    }

    fn variable(&mut self, mut ty: Type) -> Parsed<Variable> {
        let name = self.name("the name of a variable")?;
        if self.peek().is(":") && self.ahead(1).kind == Kind::Number {
            self.take();
            let width = self.take();
            match width.text.parse() {
                Ok(bits @ 1..=32) => ty = Type::Unsigned(bits),
                _ => return self.error(width.span, "a field has 1 to 32 bits"),
            }
        }
        if let Type::Unsigned(0) = ty {
            return self.error(name.span, "an unsigned variable needs a width, as in `unsigned x : 5`");
        }
        let length = match self.eat("[") {
            true => {
                let length = self.expression()?;
                self.expect("]")?;
                self.arrays.insert(name.text.clone());
                Some(length)
            }
            false => None,
        };
        let initial = match self.eat("=") {
            false => None,
            true if self.peek().is("[") => Some(self.channel()?),
            true if self.eat("{") => {
                let mut list = vec![self.expression()?];
                while self.eat(",") {
                    list.push(self.expression()?);
                }
                self.expect("}")?;
                Some(Initial::List(list))
            }
            true => Some(Initial::Value(self.expression()?)),
        };
        Ok(Variable { name, ty, length, initial, hidden: false })
    }

    fn channel(&mut self) -> Parsed<Initial> {
        self.expect("[")?;
        let capacity = self.expression()?;
        self.expect("]")?;
        if !self.eat_word("of") {
            return self.expected("`of`");
        }
        self.expect("{")?;
        let mut fields = vec![self.field_type()?];
        while self.eat(",") {
            fields.push(self.field_type()?);
        }
        self.expect("}")?;
        Ok(Initial::Channel(capacity, fields))
    }

    fn field_type(&mut self) -> Parsed<Type> {
        let ty = self.type_name()?;
        match ty {
            Type::Unsigned(_) => {
                let span = self.before();
                self.error(span, "a message field cannot be `unsigned`; use `byte` or `int`")
            }
            ty => Ok(ty),
        }
    }

    pub(super) fn typedef(&mut self) -> Parsed<()> {
        self.take();
        let name = self.name("the name of the type")?;
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.peek().is("}") {
            fields.extend(self.declaration()?.unwrap_or_default());
            while self.eat(";") || self.eat("->") {}
        }
        self.expect("}")?;
        self.tree.typedefs.push(Typedef { name, fields });
        Ok(())
    }

    pub(super) fn proctype(&mut self) -> Parsed<()> {
        let mut active = None;
        let begin = self.peek().span;
        if self.eat_word("active") {
            let one = super::super::ast::Expr { kind: super::super::ast::ExprKind::Number(1), span: begin };
            active = Some(one);
            if self.eat("[") {
                active = Some(self.expression()?);
                self.expect("]")?;
            }
        }
        let word = self.take();
        let mut parameters = Vec::new();
        let name = if word.word("init") {
            let one = super::super::ast::Expr { kind: super::super::ast::ExprKind::Number(1), span: begin };
            active = Some(one);
            Name { text: ":init:".into(), span: word.span }
        } else if word.word("proctype") || word.word("D_proctype") {
            let name = self.name("the name of the process")?;
            self.expect("(")?;
            while !self.peek().is(")") {
                parameters.extend(self.declaration()?.unwrap_or_default());
                if !self.eat(";") && !self.eat(",") && !self.peek().is(")") {
                    return self.expected("`;` or `)`");
                }
            }
            self.expect(")")?;
            name
        } else {
            return self.error(word.span, "expected `proctype` after `active`");
        };
        let (mut priority, mut provided) = (None, None);
        loop {
            if self.eat_word("priority") {
                priority = Some(self.primary()?);
            } else if self.eat_word("provided") {
                self.expect("(")?;
                provided = Some(self.expression()?);
                self.expect(")")?;
            } else {
                break;
            }
        }
        self.expect("{")?;
        let body = self.sequence("}")?;
        let end = self.expect("}")?;
        let deterministic = word.word("D_proctype");
        self.tree.proctypes.push(Proctype {
            name,
            active,
            parameters,
            provided,
            priority,
            body,
            deterministic,
            end,
        });
        Ok(())
    }
}
