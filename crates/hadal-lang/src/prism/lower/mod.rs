//! A parsed model to a [`System`]: every combination of commands that can act together is an action with outcomes.

mod command;
mod merge;
mod modules;
mod names;
mod objective;
mod start;
mod temporal;
mod term;

use super::ast::{self, File, ModelKind};
use crate::{Diagnostic, Diagnostics};
use hadal_system::chance::{Reward, RewardItem};
use hadal_system::rows::Rational;
use hadal_system::{
    ActionId, Amount, Chance, Domain, Expr, Property, PropertyBody, PropertyKind, Role, Shape, Source, Span,
    System, VarId, Variable,
};
use names::{Known, Names};
use start::{start_anywhere, start_at};
use std::collections::HashMap;
use term::Term;

/// The range of a variable that is declared as `int` without bounds.
const UNBOUNDED: (i64, i64) = (-(1 << 31), (1 << 31) - 1);

/// A model with its names, so that questions can be asked about it.
#[derive(Clone, Debug)]
pub struct Lowered {
    /// The model.
    pub system: System,
    names: Names,
    labels: HashMap<String, ast::Expr>,
    /// What each action is called in rewards.
    actions: Vec<Option<String>>,
    kind: ModelKind,
    /// How many rewards the model declares; questions may add others behind them.
    rewards: usize,
}

impl Lowered {
    /// The constants that are declared, with or without a value.
    pub fn constants(&self) -> impl Iterator<Item = &str> {
        self.names.constants.keys().chain(self.names.missing.keys()).map(String::as_str)
    }
}

/// Lowers a model; `None` where something was refused.
pub fn lower(
    file: &File,
    source: Source,
    given: &HashMap<String, Rational>,
    diagnostics: &mut Diagnostics,
) -> Option<Lowered> {
    let kind = file.kind.unwrap_or(ModelKind::Mdp);
    let mut names = Names::default();
    for formula in &file.formulas {
        if names.formulas.insert(formula.name.clone(), formula.value.clone()).is_some() {
            diagnostics.push(Diagnostic::error(
                formula.span,
                format!("the formula `{}` is defined twice", formula.name),
            ));
        }
    }
    names.define(&file.constants, given, diagnostics);
    let chance = match kind {
        ModelKind::Mdp => Chance::Chosen,
        ModelKind::Dtmc => Chance::Uniform,
        ModelKind::Ctmc => Chance::Racing,
    };
    let mut system = System { name: source.name.to_string(), source, ..System::default() };
    system.quantities.chance = chance;
    let mut modules = modules::written_out(file, diagnostics);
    if modules.is_empty() && !diagnostics.has_errors() {
        diagnostics.push(Diagnostic::error(Span::default(), "the model has no module"));
    }

    let mut owner: HashMap<String, Option<usize>> = HashMap::new();
    let mut inits = Vec::new();
    let declared =
        file.globals.iter().map(|v| (v, None)).chain(
            modules.iter().enumerate().flat_map(|(n, m)| m.variables.iter().map(move |v| (v, Some(n)))),
        );
    for (variable, by) in declared {
        if owner.insert(variable.name.clone(), by).is_some() {
            diagnostics
                .push(Diagnostic::error(variable.span, format!("`{}` is declared twice", variable.name)));
            continue;
        }
        match declare(variable, &mut names, &mut system) {
            Ok(init) => inits.push(init),
            Err((span, wrong)) => diagnostics.push(Diagnostic::error(span, wrong)),
        }
    }
    let starts = match &file.init {
        Some(states) => start_anywhere(states, &mut names, &system),
        None => Ok(start_at(&inits, &system)),
    };
    match starts {
        Ok(start) => system.starts.push(start),
        Err((span, wrong)) => diagnostics.push(Diagnostic::error(span, wrong)),
    }

    let mut lowered = command::lower_commands(&modules, &mut names, &owner, diagnostics);
    if diagnostics.has_errors() {
        return None;
    }
    merge::merge(&mut modules, &mut lowered, &system);
    let mut actions = Vec::new();
    for joint in modules::joints(file, &modules, diagnostics) {
        if let Some(action) = command::action(&joint, &modules, &lowered, &mut system, diagnostics) {
            system.actions.push(action);
            actions.push(joint.action);
        }
    }
    let labels = file.labels.iter().map(|l| (l.name.clone(), l.value.clone())).collect();
    let mut model = Lowered { system, names, labels, actions, kind, rewards: 0 };
    for label in &file.labels {
        if let Err((span, wrong)) = model.names.condition(&label.value) {
            diagnostics.push(Diagnostic::error(span, wrong));
        }
    }
    for reward in &file.rewards {
        match model.reward(reward) {
            Ok(reward) => model.system.quantities.rewards.push(reward),
            Err((span, wrong)) => diagnostics.push(Diagnostic::error(span, wrong)),
        }
    }
    model.rewards = model.system.quantities.rewards.len();
    (!diagnostics.has_errors()).then_some(model)
}

/// Adds a variable; answers with its value at the start.
fn declare(variable: &ast::Variable, names: &mut Names, system: &mut System) -> names::Placed<(VarId, i64)> {
    let (domain, bounds) = match &variable.range {
        Some((low, high)) => {
            let bounds = (names.number(low)?, names.number(high)?);
            if bounds.0 > bounds.1 {
                return Err((
                    low.span.to(high.span),
                    format!("the range {}..{} is empty", bounds.0, bounds.1),
                ));
            }
            (Domain::range(bounds.0, bounds.1, false), bounds)
        }
        None if variable.unbounded => (Domain::range(UNBOUNDED.0, UNBOUNDED.1, false), UNBOUNDED),
        None => (Domain::boolean(false), (0, 1)),
    };
    let is_bool = variable.range.is_none() && !variable.unbounded;
    let domain = system.domains.add(domain);
    let shape = match system.shapes.add(Shape::Scalar(domain), &system.domains) {
        Ok(shape) => shape,
        Err(error) => return Err((variable.span, error.to_string())),
    };
    let var = VarId(system.variables.len() as u32);
    system.variables.push(Variable {
        name: variable.name.clone(),
        shape,
        role: Role::Data,
        owner: None,
        span: variable.span,
    });
    names.variables.insert(variable.name.clone(), Known { var, shape, is_bool, bounds });
    let init = match &variable.init {
        Some(expr) => {
            let value = names.term(expr)?;
            let value = if is_bool { value.into_bool() } else { value.into_int() };
            let value = value.map_err(|wrong| (expr.span, wrong))?;
            let value = value.as_const().ok_or_else(|| {
                (expr.span, "a value at the start has to be known before the search".to_owned())
            })?;
            if value < bounds.0 || value > bounds.1 {
                return Err((expr.span, format!("{value} lies outside {}..{}", bounds.0, bounds.1)));
            }
            value
        }
        None if variable.unbounded => 0,
        None => bounds.0,
    };
    Ok((var, init))
}

impl Lowered {
    /// The place of a proposition with this condition.
    fn proposition(&mut self, condition: Expr, span: Span) -> usize {
        let same = |p: &Property| {
            p.kind == PropertyKind::Proposition && p.body == PropertyBody::State(condition.clone())
        };
        if let Some(at) = self.system.properties.iter().position(same) {
            return at;
        }
        let name = self.system.source.slice(span).to_owned();
        self.system.properties.push(Property {
            name,
            kind: PropertyKind::Proposition,
            params: Vec::new(),
            locals: Vec::new(),
            body: PropertyBody::State(condition),
            span,
        });
        self.system.properties.len() - 1
    }

    fn reward(&mut self, reward: &ast::Reward) -> names::Placed<Reward> {
        let mut items = Vec::new();
        for item in &reward.items {
            let guard = self.names.condition(&item.guard)?;
            let amount = match self.names.term(&item.value)? {
                Term::Bool(_) => return Err((item.value.span, "a reward is a number".into())),
                Term::Ratio(numerator, denominator) => Amount::Ratio { numerator, denominator },
                term => match term.constant() {
                    Some(value) => Amount::Constant(value),
                    None => {
                        let numerator = term.into_int().map_err(|wrong| (item.value.span, wrong))?;
                        Amount::Ratio { numerator, denominator: Expr::constant(1) }
                    }
                },
            };
            if guard.as_const() == Some(0) || amount == Amount::Constant(Rational::from_integer(0)) {
                continue;
            }
            let actions = item.action.as_ref().map(|wanted| {
                let all = self.actions.iter().enumerate();
                all.filter(|(_, action)| *action == wanted).map(|(n, _)| ActionId(n as u32)).collect()
            });
            let when = self.proposition(guard, item.guard.span);
            items.push(RewardItem { actions, when, amount, span: item.span });
        }
        Ok(Reward { name: reward.name.clone(), items })
    }
}
