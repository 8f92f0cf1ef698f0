//! Model files: constants, formulas, labels, modules, rewards, composition.

use super::super::ast::{
    Assignment, Command, Composition, Constant, File, ModelKind, Module, ModuleText, Named, Renaming, Reward,
    RewardItem, Sync, Type, Variable,
};
use super::super::lex::Kind;
use super::{Parsed, Parser};
use crate::Diagnostic;

/// What begins a part of a model.
const PARTS: &[&str] = &[
    "const",
    "formula",
    "label",
    "global",
    "module",
    "rewards",
    "init",
    "system",
    "endmodule",
    "endrewards",
];

impl Parser<'_> {
    pub(super) fn model(&mut self, file: &mut File) {
        while !self.ended() {
            if self.take_sign(";") {
                continue;
            }
            if self.part(file).is_err() {
                let before = self.at;
                self.recover(PARTS);
                if self.is_word("endmodule") || self.is_word("endrewards") || before == self.at {
                    self.advance();
                }
            }
        }
    }

    /// One part of a model, or of a property file.
    pub(super) fn part(&mut self, file: &mut File) -> Parsed<()> {
        let (word, span) = self.name()?;
        match word.as_str() {
            "mdp" | "nondeterministic" => self.kind_of_model(file, ModelKind::Mdp),
            "dtmc" | "probabilistic" => self.kind_of_model(file, ModelKind::Dtmc),
            "ctmc" | "stochastic" => self.kind_of_model(file, ModelKind::Ctmc),
            "pta" | "pomdp" | "popta" | "smg" | "csg" | "tsg" | "ma" | "lts" | "idtmc" | "imdp" => {
                self.error(span, format!("hadal reads `mdp`, `dtmc` and `ctmc`, not `{word}`"))
            }
            "const" => self.constant(file),
            "formula" => {
                let named = self.named()?;
                file.formulas.push(named);
                Ok(())
            }
            "label" => {
                let (name, span) = self.quoted()?;
                self.expect("=")?;
                let value = self.expr()?;
                self.expect(";")?;
                file.labels.push(Named { name, value, span });
                Ok(())
            }
            "global" => {
                let variable = self.variable()?;
                file.globals.push(variable);
                Ok(())
            }
            "module" => self.module(file),
            "rewards" => self.rewards(file),
            "init" => {
                let states = self.expr()?;
                self.expect_word("endinit")?;
                file.init = Some(states);
                Ok(())
            }
            "system" => {
                let composition = self.composition()?;
                self.expect_word("endsystem")?;
                file.system = Some(composition);
                Ok(())
            }
            _ => {
                let message = format!("`{word}` does not begin a part of a model");
                self.diagnostics.push(Diagnostic::error(span, message).label(
                    "expected `module`, `const`, `formula`, `label`, `global`, `rewards`, `init` or `system`",
                ));
                Err(super::Reported)
            }
        }
    }

    fn kind_of_model(&mut self, file: &mut File, kind: ModelKind) -> Parsed<()> {
        file.kind = Some(kind);
        Ok(())
    }

    fn constant(&mut self, file: &mut File) -> Parsed<()> {
        let ty = if self.take_word("double") {
            Type::Double
        } else if self.take_word("bool") {
            Type::Bool
        } else {
            self.take_word("int");
            Type::Int
        };
        let (name, span) = self.name()?;
        let value = if self.take_sign("=") { Some(self.expr()?) } else { None };
        self.expect(";")?;
        file.constants.push(Constant { name, ty, value, span });
        Ok(())
    }

    fn named(&mut self) -> Parsed<Named> {
        let (name, span) = self.name()?;
        self.expect("=")?;
        let value = self.expr()?;
        self.expect(";")?;
        Ok(Named { name, value, span })
    }

    fn variable(&mut self) -> Parsed<Variable> {
        let (name, span) = self.name()?;
        self.expect(":")?;
        let mut variable = Variable { name, range: None, unbounded: false, init: None, span };
        if self.take_sign("[") {
            let low = self.expr()?;
            self.expect("..")?;
            let high = self.expr()?;
            self.expect("]")?;
            variable.range = Some((low, high));
        } else if self.take_word("int") {
            variable.unbounded = true;
        } else {
            if self.is_word("clock") {
                let span = self.span();
                return self
                    .error(span, "clocks belong to timed automata; hadal reads `mdp`, `dtmc` and `ctmc`");
            }
            self.expect_word("bool")?;
        }
        if self.take_word("init") {
            variable.init = Some(self.expr()?);
        }
        self.expect(";")?;
        Ok(variable)
    }

    fn module(&mut self, file: &mut File) -> Parsed<()> {
        let (name, span) = self.name()?;
        if self.take_sign("=") {
            let (base, _) = self.name()?;
            self.expect("[")?;
            let mut pairs = Vec::new();
            while !self.is_sign("]") {
                let (old, _) = self.name()?;
                self.expect("=")?;
                let (new, _) = self.name()?;
                pairs.push((old, new));
                if !self.take_sign(",") {
                    break;
                }
            }
            self.expect("]")?;
            self.expect_word("endmodule")?;
            file.modules.push(ModuleText::Renamed(Renaming { name, base, pairs, span }));
            return Ok(());
        }
        let mut module = Module { name, variables: Vec::new(), commands: Vec::new(), span };
        while !self.ended() && !self.is_word("endmodule") {
            let parsed = if self.is_sign("[") {
                self.command().map(|command| module.commands.push(command))
            } else {
                self.variable().map(|variable| module.variables.push(variable))
            };
            if parsed.is_err() {
                self.recover(PARTS);
                if matches!(self.kind(), Kind::Name(w) if w != "endmodule" && PARTS.contains(&w.as_str())) {
                    break;
                }
            }
        }
        self.expect_word("endmodule")?;
        file.modules.push(ModuleText::Plain(module));
        Ok(())
    }

    fn command(&mut self) -> Parsed<Command> {
        let start = self.span();
        let action = self.action()?;
        let guard = self.expr()?;
        self.expect("->")?;
        let mut updates = Vec::new();
        loop {
            updates.push(self.update()?);
            if !self.take_sign("+") {
                break;
            }
        }
        self.expect(";")?;
        Ok(Command { action, guard, updates, span: self.since(start) })
    }

    /// `[]` or `[a]`.
    fn action(&mut self) -> Parsed<Option<String>> {
        self.expect("[")?;
        let action = if self.is_sign("]") { None } else { Some(self.name()?.0) };
        self.expect("]")?;
        Ok(action)
    }

    fn update(&mut self) -> Parsed<(Option<super::Expr>, Vec<Assignment>)> {
        let assigns = self.is_sign("(") && *self.ahead(2) == Kind::Sign("'")
            || self.is_word("true") && matches!(self.ahead(1), Kind::Sign(";" | "+" | "&"));
        let probability = if assigns {
            None
        } else {
            let probability = self.expr()?;
            self.expect(":")?;
            Some(probability)
        };
        let mut assignments = Vec::new();
        loop {
            if !self.take_word("true") {
                let start = self.span();
                self.expect("(")?;
                let (name, _) = self.name()?;
                self.expect("'")?;
                self.expect("=")?;
                let value = self.expr()?;
                self.expect(")")?;
                assignments.push(Assignment { name, value, span: self.since(start) });
            }
            if !self.take_sign("&") {
                break;
            }
        }
        Ok((probability, assignments))
    }

    fn rewards(&mut self, file: &mut File) -> Parsed<()> {
        let name = if matches!(self.kind(), Kind::Text(_)) { self.quoted()?.0 } else { String::new() };
        let mut items = Vec::new();
        while !self.ended() && !self.is_word("endrewards") {
            let start = self.span();
            let action = if self.is_sign("[") { Some(self.action()?) } else { None };
            let guard = self.expr()?;
            self.expect(":")?;
            let value = self.expr()?;
            self.expect(";")?;
            items.push(RewardItem { action, guard, value, span: self.since(start) });
        }
        self.expect_word("endrewards")?;
        file.rewards.push(Reward { name, items });
        Ok(())
    }

    fn composition(&mut self) -> Parsed<Composition> {
        self.deeper(|p| {
            let mut left = p.composed_part()?;
            loop {
                let sync = if p.take_sign("|||") {
                    Sync::Only(Vec::new())
                } else if p.take_sign("||") {
                    Sync::Common
                } else if p.is_sign("|") && *p.ahead(1) == Kind::Sign("[") {
                    p.advance();
                    p.advance();
                    let mut names = Vec::new();
                    while !p.is_sign("]") {
                        names.push(p.name()?.0);
                        if !p.take_sign(",") {
                            break;
                        }
                    }
                    p.expect("]")?;
                    p.expect("|")?;
                    Sync::Only(names)
                } else {
                    return Ok(left);
                };
                let right = p.composed_part()?;
                left = Composition::Parallel(Box::new(left), sync, Box::new(right));
            }
        })
    }

    fn composed_part(&mut self) -> Parsed<Composition> {
        let mut part = if self.take_sign("(") {
            let inner = self.composition()?;
            self.expect(")")?;
            inner
        } else {
            let (name, span) = self.name()?;
            Composition::Module(name, span)
        };
        loop {
            if self.take_sign("/") {
                self.expect("{")?;
                let mut names = Vec::new();
                while !self.is_sign("}") {
                    names.push(self.name()?.0);
                    if !self.take_sign(",") {
                        break;
                    }
                }
                self.expect("}")?;
                part = Composition::Hide(Box::new(part), names);
            } else if self.take_sign("{") {
                let mut pairs = Vec::new();
                while !self.is_sign("}") {
                    let (old, _) = self.name()?;
                    self.expect("<-")?;
                    let (new, _) = self.name()?;
                    pairs.push((old, new));
                    if !self.take_sign(",") {
                        break;
                    }
                }
                self.expect("}")?;
                part = Composition::Rename(Box::new(part), pairs);
            } else {
                return Ok(part);
            }
        }
    }
}
