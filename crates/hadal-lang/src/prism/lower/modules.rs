//! Modules: those made of others by renaming, and how all of them act together.

use super::super::ast::{
    Assignment, Command, Composition, Expr, File, Kind, Module, ModuleText, Renaming, Sync, Variable,
};
use crate::{Diagnostic, Diagnostics};
use std::collections::{BTreeSet, HashMap};

/// More joint commands than this are refused.
const MAX_JOINT: usize = 200_000;

/// Commands that act together, one per module taking part.
#[derive(Clone, Debug)]
pub(super) struct Joint {
    /// What it is called; `None`: nothing.
    pub action: Option<String>,
    /// Module and command, by place.
    pub parts: Vec<(usize, usize)>,
}

/// Every module, written out.
pub(super) fn written_out(file: &File, diagnostics: &mut Diagnostics) -> Vec<Module> {
    let formulas: HashMap<&str, &Expr> = file.formulas.iter().map(|f| (f.name.as_str(), &f.value)).collect();
    let mut modules: Vec<Module> = Vec::new();
    let plain: Vec<&Module> = file
        .modules
        .iter()
        .filter_map(|m| match m {
            ModuleText::Plain(module) => Some(module),
            ModuleText::Renamed(_) => None,
        })
        .collect();
    for text in &file.modules {
        match text {
            ModuleText::Plain(module) => modules.push(module.clone()),
            ModuleText::Renamed(renaming) => {
                let base = plain.iter().copied().find(|m| m.name == renaming.base).cloned();
                let base = base.or_else(|| modules.iter().find(|m| m.name == renaming.base).cloned());
                match base {
                    Some(base) => modules
                        .push(Renamer { renaming, formulas: &formulas, depth: 0 }.module(&base, diagnostics)),
                    None => diagnostics.push(Diagnostic::error(
                        renaming.span,
                        format!("there is no module `{}` before this one", renaming.base),
                    )),
                }
            }
        }
    }
    for (n, module) in modules.iter().enumerate() {
        if modules[..n].iter().any(|other| other.name == module.name) {
            diagnostics
                .push(Diagnostic::error(module.span, format!("there are two modules `{}`", module.name)));
        }
    }
    modules
}

struct Renamer<'a> {
    renaming: &'a Renaming,
    formulas: &'a HashMap<&'a str, &'a Expr>,
    depth: usize,
}

impl Renamer<'_> {
    fn module(mut self, base: &Module, diagnostics: &mut Diagnostics) -> Module {
        for variable in &base.variables {
            if self.new_name(&variable.name).is_none() {
                diagnostics.push(Diagnostic::error(
                    self.renaming.span,
                    format!("the variable `{}` of `{}` needs a new name", variable.name, base.name),
                ));
            }
        }
        Module {
            name: self.renaming.name.clone(),
            variables: base.variables.iter().map(|v| self.variable(v)).collect(),
            commands: base.commands.iter().map(|c| self.command(c)).collect(),
            span: self.renaming.span,
        }
    }

    fn new_name(&self, old: &str) -> Option<&str> {
        self.renaming.pairs.iter().find(|(from, _)| from == old).map(|(_, to)| to.as_str())
    }

    fn name(&self, old: &str) -> String {
        self.new_name(old).unwrap_or(old).to_owned()
    }

    fn variable(&mut self, variable: &Variable) -> Variable {
        Variable {
            name: self.name(&variable.name),
            range: variable.range.as_ref().map(|(low, high)| (self.expr(low), self.expr(high))),
            init: variable.init.as_ref().map(|e| self.expr(e)),
            ..variable.clone()
        }
    }

    fn command(&mut self, command: &Command) -> Command {
        let updates = command
            .updates
            .iter()
            .map(|(probability, assignments)| {
                let probability = probability.as_ref().map(|p| self.expr(p));
                let assignments = assignments
                    .iter()
                    .map(|a| Assignment {
                        name: self.name(&a.name),
                        value: self.expr(&a.value),
                        span: a.span,
                    })
                    .collect();
                (probability, assignments)
            })
            .collect();
        Command {
            action: command.action.as_ref().map(|a| self.name(a)),
            guard: self.expr(&command.guard),
            updates,
            span: command.span,
        }
    }

    fn expr(&mut self, expr: &Expr) -> Expr {
        let kind = match &expr.kind {
            Kind::Name(name) => match (self.new_name(name), self.formulas.get(name.as_str())) {
                (Some(new), _) => Kind::Name(new.to_owned()),
                // What a formula stands for is renamed, too. Circles are found when names are looked up.
                (None, Some(formula)) if self.depth < 64 => {
                    self.depth += 1;
                    let inner = self.expr(formula);
                    self.depth -= 1;
                    return inner;
                }
                (None, _) => expr.kind.clone(),
            },
            Kind::Not(operand) => Kind::Not(Box::new(self.expr(operand))),
            Kind::Negate(operand) => Kind::Negate(Box::new(self.expr(operand))),
            Kind::Binary(op, left, right) => {
                Kind::Binary(*op, Box::new(self.expr(left)), Box::new(self.expr(right)))
            }
            Kind::If(condition, then, otherwise) => Kind::If(
                Box::new(self.expr(condition)),
                Box::new(self.expr(then)),
                Box::new(self.expr(otherwise)),
            ),
            Kind::Call(function, arguments) => {
                Kind::Call(function.clone(), arguments.iter().map(|a| self.expr(a)).collect())
            }
            other => other.clone(),
        };
        Expr { kind, span: expr.span }
    }
}

/// What a composition can do, and the names it knows.
struct Composed {
    joints: Vec<Joint>,
    alphabet: BTreeSet<String>,
}

/// Everything that can happen: commands of their own, and joint ones.
pub(super) fn joints(file: &File, modules: &[Module], diagnostics: &mut Diagnostics) -> Vec<Joint> {
    let mut used = vec![false; modules.len()];
    let composed = match &file.system {
        Some(composition) => compose(composition, modules, &mut used, diagnostics),
        None => {
            let all = (0..modules.len()).map(|n| alone(modules, n));
            all.reduce(|left, right| parallel(left, right, &Sync::Common, diagnostics))
        }
    };
    composed.map_or_else(Vec::new, |c| c.joints)
}

fn alone(modules: &[Module], n: usize) -> Composed {
    let commands = modules[n].commands.iter().enumerate();
    Composed {
        joints: commands
            .map(|(c, command)| Joint { action: command.action.clone(), parts: vec![(n, c)] })
            .collect(),
        alphabet: modules[n].commands.iter().filter_map(|c| c.action.clone()).collect(),
    }
}

fn parallel(left: Composed, right: Composed, sync: &Sync, diagnostics: &mut Diagnostics) -> Composed {
    let together: BTreeSet<String> = match sync {
        Sync::Common => left.alphabet.intersection(&right.alphabet).cloned().collect(),
        Sync::Only(names) => names.iter().cloned().collect(),
    };
    let joins = |joint: &Joint| joint.action.as_ref().is_some_and(|a| together.contains(a));
    let mut by_name: HashMap<&str, Vec<&Joint>> = HashMap::new();
    for joint in right.joints.iter().filter(|j| joins(j)) {
        by_name.entry(joint.action.as_deref().unwrap_or("")).or_default().push(joint);
    }
    let mut joints = Vec::new();
    for joint in &left.joints {
        if !joins(joint) {
            joints.push(joint.clone());
            continue;
        }
        for other in by_name.get(joint.action.as_deref().unwrap_or("")).into_iter().flatten() {
            let parts = joint.parts.iter().chain(&other.parts).copied().collect();
            joints.push(Joint { action: joint.action.clone(), parts });
        }
        if joints.len() > MAX_JOINT {
            diagnostics.push(Diagnostic::error(
                hadal_system::Span::default(),
                format!("synchronisation makes more than {MAX_JOINT} joint commands"),
            ));
            break;
        }
    }
    joints.extend(right.joints.iter().filter(|j| !joins(j)).cloned());
    Composed { joints, alphabet: left.alphabet.union(&right.alphabet).cloned().collect() }
}

fn compose(
    composition: &Composition,
    modules: &[Module],
    used: &mut [bool],
    diagnostics: &mut Diagnostics,
) -> Option<Composed> {
    match composition {
        Composition::Module(name, span) => {
            let Some(n) = modules.iter().position(|m| m.name == *name) else {
                diagnostics.push(Diagnostic::error(*span, format!("there is no module `{name}`")));
                return None;
            };
            if std::mem::replace(&mut used[n], true) {
                diagnostics.push(Diagnostic::error(*span, format!("the module `{name}` takes part twice")));
                return None;
            }
            Some(alone(modules, n))
        }
        Composition::Parallel(left, sync, right) => {
            let left = compose(left, modules, used, diagnostics)?;
            let right = compose(right, modules, used, diagnostics)?;
            Some(parallel(left, right, sync, diagnostics))
        }
        Composition::Hide(part, names) => {
            let mut part = compose(part, modules, used, diagnostics)?;
            for joint in &mut part.joints {
                joint.action = joint.action.take().filter(|a| !names.contains(a));
            }
            part.alphabet.retain(|a| !names.contains(a));
            Some(part)
        }
        Composition::Rename(part, pairs) => {
            let mut part = compose(part, modules, used, diagnostics)?;
            let new = |old: String| {
                pairs.iter().find(|(from, _)| *from == old).map_or(old.clone(), |(_, to)| to.clone())
            };
            for joint in &mut part.joints {
                joint.action = joint.action.take().map(new);
            }
            part.alphabet = part.alphabet.into_iter().map(new).collect();
            Some(part)
        }
    }
}
