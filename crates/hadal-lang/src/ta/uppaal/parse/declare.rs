//! Types and declarations of UPPAAL's language.

use super::super::ast::*;
use super::super::lex::Token;
use super::Parser;
use std::rc::Rc;

impl Parser<'_> {
    /// Whether a declaration begins here.
    pub(in crate::ta::uppaal) fn is_type(&self) -> bool {
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

    pub(in crate::ta::uppaal) fn ty(&mut self) -> Option<Type> {
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
    pub(super) fn declared(&mut self, ty: &Type, out: &mut Vec<Declared>) -> Option<()> {
        loop {
            out.push(self.one_declared(ty)?);
            if !self.takes(",") {
                return Some(());
            }
        }
    }

    pub(super) fn one_declared(&mut self, ty: &Type) -> Option<Declared> {
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
    pub(in crate::ta::uppaal) fn parameters(&mut self) -> Option<Vec<Declared>> {
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
    pub(in crate::ta::uppaal) fn declarations(&mut self) -> Option<Vec<Declaration>> {
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
}
