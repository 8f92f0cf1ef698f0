//! The top level: variables, channels, `system`, and the later dialect's instances and LTL properties.

use super::super::ast::*;
use super::super::token::{Keyword, TokenKind};
use super::{Parsed, Parser, Skip};
use crate::diagnostic::Diagnostic;

impl Parser<'_> {
    pub(super) fn model(&mut self) -> Model {
        let mut model = Model::default();
        while *self.peek() != TokenKind::End {
            let before = self.at;
            if self.item(&mut model).is_err() {
                self.skip_item();
            }
            if self.at == before {
                // Nothing was taken: whatever stands here has been reported, step over it.
                self.advance();
            }
        }
        if model.system.is_none() && !self.findings.has_errors() {
            self.findings.push(
                Diagnostic::error(self.last_span(), "the `system` line is missing")
                    .label("expected `system async;` after this")
                    .help("end the model with `system async;`"),
            );
        }
        model
    }

    /// Skips past the `;` or closing `}` that ends a broken top-level item.
    fn skip_item(&mut self) {
        self.skip_to(&[";"]);
        if !self.take_mark(";") {
            self.take_mark("}");
        }
    }

    fn item(&mut self, model: &mut Model) -> Parsed<()> {
        match self.peek() {
            TokenKind::Keyword(Keyword::Const | Keyword::Byte | Keyword::Int) => {
                self.variables(&mut model.variables)
            }
            TokenKind::Name(word) if word == "input" => self.variables(&mut model.variables),
            TokenKind::Keyword(Keyword::Channel) => self.channels(&mut model.channels),
            TokenKind::Keyword(Keyword::Process) => self.process_item(model, None),
            TokenKind::Keyword(Keyword::Property) => self.property_item(model),
            TokenKind::Keyword(Keyword::System) => self.system_line(model),
            TokenKind::Name(word) if word == "for" => self.repeated_instances(model),
            TokenKind::Name(word) if word == "expression" => self.named_expression(model),
            TokenKind::Name(word) if word == "bool" => Err(self.unknown_type()),
            TokenKind::Name(_) if matches!(self.peek_after(1), TokenKind::Name(_)) => {
                Err(self.unknown_type())
            }
            _ => Err(self.expected("a variable, `channel`, `process` or `system`")),
        }
    }

    pub(super) fn unknown_type(&mut self) -> Skip {
        let skip = self.expected("a type (`byte` or `int`)");
        if self.at_name("bool")
            && let Some(last) = self.findings.list.last_mut()
        {
            last.help = Some("DVE has no `bool`: use `byte` with the values 0 and 1".to_string());
        }
        skip
    }

    /// `[const] byte a, b[3] = {1, 2}, c = 4;`
    pub(super) fn variables(&mut self, into: &mut Vec<VariableDecl>) -> Parsed<()> {
        let mut storage = Storage::Variable;
        if self.at_name("input") {
            self.advance();
            storage = Storage::Input;
        }
        if self.take_keyword(Keyword::Const) {
            storage = Storage::Constant;
        }
        let scalar = self.scalar_type()?;
        loop {
            let name = self.expect_name("the name of a variable")?;
            let size = if self.take_mark("[") {
                let size = self.expression()?;
                self.expect_mark("]")?;
                Some(size)
            } else {
                None
            };
            let initial = if self.take_mark("=") { Some(self.initialiser()?) } else { None };
            into.push(VariableDecl { storage, scalar, name, size, initial });
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark(";")
    }

    fn scalar_type(&mut self) -> Parsed<Type> {
        if self.take_keyword(Keyword::Byte) {
            Ok(Type::Byte)
        } else if self.take_keyword(Keyword::Int) {
            Ok(Type::Int)
        } else {
            Err(self.unknown_type())
        }
    }

    fn initialiser(&mut self) -> Parsed<Initialiser> {
        let start = self.span();
        if !self.take_mark("{") {
            return Ok(Initialiser::Single(self.expression()?));
        }
        let mut values = vec![self.expression()?];
        while self.take_mark(",") {
            if self.at_mark("}") {
                break;
            }
            values.push(self.expression()?);
        }
        self.expect_mark("}")?;
        Ok(Initialiser::List(values, start.to(self.last_span())))
    }

    /// `channel a, b;`, `channel {byte, int} c[3];`
    fn channels(&mut self, into: &mut Vec<ChannelDecl>) -> Parsed<()> {
        self.advance();
        let types = if self.take_mark("{") {
            let mut types = vec![self.scalar_type()?];
            while self.take_mark(",") {
                types.push(self.scalar_type()?);
            }
            self.expect_mark("}")?;
            Some(types)
        } else {
            None
        };
        loop {
            let name = self.expect_name("the name of a channel")?;
            let buffer = if self.take_mark("[") {
                let size = self.expression()?;
                self.expect_mark("]")?;
                Some(size)
            } else {
                None
            };
            into.push(ChannelDecl { name, types: types.clone(), buffer });
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark(";")
    }

    /// `process P { ... }`, `process T(a, b) { ... }` or the instance `process T(1, 2);`
    fn process_item(&mut self, model: &mut Model, repeat: Option<(Ident, Expr, Expr)>) -> Parsed<()> {
        self.advance();
        let name = self.expect_name("the name of a process")?;
        if !self.at_mark("(") {
            let process = self.process_body(name, None, false)?;
            model.processes.push(process);
            return Ok(());
        }
        // A parenthesis that closes before `{` makes a template, before `;` an instance.
        let mut ahead = 1;
        let mut depth = 1u32;
        while depth > 0 {
            match self.peek_after(ahead) {
                TokenKind::Mark("(") => depth += 1,
                TokenKind::Mark(")") => depth -= 1,
                TokenKind::End => break,
                _ => {}
            }
            ahead += 1;
        }
        let is_template = matches!(self.peek_after(ahead), TokenKind::Mark("{"));
        self.expect_mark("(")?;
        if is_template {
            let mut parameters = Vec::new();
            while !self.at_mark(")") {
                // The first parameter may be marked as the key by which instances are told apart.
                if self.at_name("key") && matches!(self.peek_after(1), TokenKind::Name(_)) {
                    self.advance();
                }
                if self.at_keyword(Keyword::Byte) || self.at_keyword(Keyword::Int) {
                    self.advance();
                }
                parameters.push(self.expect_name("the name of a parameter")?);
                if !self.take_mark(",") {
                    break;
                }
            }
            self.expect_mark(")")?;
            let process = self.process_body(name, Some(parameters), false)?;
            model.processes.push(process);
            return Ok(());
        }
        let mut arguments = Vec::new();
        while !self.at_mark(")") {
            arguments.push(self.expression()?);
            if !self.take_mark(",") {
                break;
            }
        }
        self.expect_mark(")")?;
        self.expect_mark(";")?;
        model.instances.push(Instance { template: name, arguments, repeat });
        Ok(())
    }

    /// `for (x : 1 .. 3) { process T(x); ... }`
    fn repeated_instances(&mut self, model: &mut Model) -> Parsed<()> {
        self.advance();
        self.expect_mark("(")?;
        let variable = self.expect_name("the name of the loop's variable")?;
        self.expect_mark(":")?;
        let from = self.expression()?;
        self.expect_mark("..")?;
        let to = self.expression()?;
        self.expect_mark(")")?;
        self.expect_mark("{")?;
        while self.at_keyword(Keyword::Process) {
            self.process_item(model, Some((variable.clone(), from.clone(), to.clone())))?;
        }
        self.expect_mark("}")
    }

    /// `property process P { ... }` or `property ltl NAME "formula"`
    fn property_item(&mut self, model: &mut Model) -> Parsed<()> {
        self.advance();
        if self.take_keyword(Keyword::Process) {
            let name = self.expect_name("the name of a process")?;
            let process = self.process_body(name, None, true)?;
            model.processes.push(process);
            return Ok(());
        }
        if !self.at_name("ltl") {
            return Err(self.expected("`process` or `ltl`"));
        }
        self.advance();
        let name = self.expect_name("the name of a property")?;
        let span = self.span();
        let TokenKind::Text(formula) = self.peek() else {
            return Err(self.expected("the formula in double quotes"));
        };
        let formula = (formula.clone(), span);
        self.advance();
        self.take_mark(";");
        model.ltl.push(LtlDecl { name, formula });
        Ok(())
    }

    /// `expression name() { e }`
    fn named_expression(&mut self, model: &mut Model) -> Parsed<()> {
        self.advance();
        let name = self.expect_name("the name of an expression")?;
        if self.take_mark("(") {
            self.expect_mark(")")?;
        }
        self.expect_mark("{")?;
        let expression = self.expression()?;
        self.take_mark(";");
        self.expect_mark("}")?;
        self.take_mark(";");
        model.expressions.push((name, expression));
        Ok(())
    }

    /// `system async [property P];`
    fn system_line(&mut self, model: &mut Model) -> Parsed<()> {
        let start = self.span();
        self.advance();
        let composition = if self.take_keyword(Keyword::Async) {
            Composition::Asynchronous
        } else if self.take_keyword(Keyword::Sync) {
            Composition::Synchronous
        } else {
            return Err(self.expected("`async` or `sync`"));
        };
        let property = if self.take_keyword(Keyword::Property) {
            Some(self.expect_name("the name of the property process")?)
        } else {
            None
        };
        self.expect_mark(";")?;
        let span = start.to(self.last_span());
        if let Some(earlier) = &model.system {
            let line = Diagnostic::error(span, "the system is declared twice")
                .help(format!("keep one `system` line; the other is `{:?}`", earlier.composition));
            self.findings.push(line);
        }
        model.system = Some(SystemDecl { composition, property, span });
        Ok(())
    }
}
