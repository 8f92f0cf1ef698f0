//! Effects.

use super::formula::Soft;
use super::number::parse_rational;
use super::{Reader, Scope, head_span};
use crate::pddl::ast::{Atom, Effect, Operator, Update};
use crate::pddl::tree::Tree;
use hadal_system::rows::Rational;
use num_traits::CheckedAdd;

impl Reader {
    /// What an action does.
    pub(super) fn effect(&mut self, tree: &Tree, scope: &mut Scope) -> Effect {
        let Some(items) = tree.list() else {
            self.expected(tree, "an effect in parentheses");
            return Effect::default();
        };
        let Some(head) = items.first() else { return Effect::default() };
        let operands = &items[1..];
        match head.word().unwrap_or_default() {
            "and" => Effect::And(operands.iter().map(|item| self.effect(item, scope)).collect()),
            "forall" => {
                self.requirements.needs(":conditional-effects", head.span);
                let Some([variables, inner]) = self.operands::<2>(tree, operands) else {
                    return Effect::default();
                };
                let Some(list) = variables.list() else {
                    self.expected(variables, "a list of variables");
                    return Effect::default();
                };
                let outside = scope.names.len();
                let variables = self.declare_variables(list, scope);
                let inner = Box::new(self.effect(inner, scope));
                scope.names.truncate(outside);
                Effect::Forall(variables, inner)
            }
            "when" => {
                self.requirements.needs(":conditional-effects", head.span);
                let Some([condition, inner]) = self.operands::<2>(tree, operands) else {
                    return Effect::default();
                };
                let condition = self.formula(condition, scope, Soft::Refused);
                Effect::When(condition, Box::new(self.effect(inner, scope)))
            }
            "not" => {
                let Some([inner]) = self.operands::<1>(tree, operands) else { return Effect::default() };
                self.changed(inner, scope).map_or(Effect::default(), Effect::Delete)
            }
            "assign" => self.update(Operator::Assign, tree, scope),
            "increase" => self.update(Operator::Increase, tree, scope),
            "decrease" => self.update(Operator::Decrease, tree, scope),
            "scale-up" => self.update(Operator::ScaleUp, tree, scope),
            "scale-down" => self.update(Operator::ScaleDown, tree, scope),
            "probabilistic" => {
                self.requirements.needs(":probabilistic-effects", head.span);
                self.chance.get_or_insert(head.span);
                let mut branches = Vec::new();
                for pair in operands.chunks(2) {
                    let [weight, outcome] = pair else {
                        self.error(pair[0].span, "a probability is not followed by an effect");
                        break;
                    };
                    let weight = self.probability(weight);
                    branches.push((weight, self.effect(outcome, scope)));
                }
                let total = total_of(branches.iter().map(|(weight, _)| *weight));
                if total.is_none_or(|total| total > Rational::from_integer(1)) {
                    self.error(head.span, "the probabilities add up to more than 1");
                }
                Effect::Probabilistic(branches)
            }
            _ => self.changed(tree, scope).map_or(Effect::default(), Effect::Add),
        }
    }

    /// A number between 0 and 1.
    pub(super) fn probability(&mut self, tree: &Tree) -> Rational {
        let zero = Rational::from_integer(0);
        let value = tree.word().and_then(parse_rational);
        match value.filter(|value| *value >= zero && *value <= Rational::from_integer(1)) {
            Some(value) => value,
            None => {
                self.expected(tree, "a probability between 0 and 1");
                zero
            }
        }
    }

    /// An atom that an effect may change.
    fn changed(&mut self, tree: &Tree, scope: &Scope) -> Option<Atom> {
        let atom = self.atom(tree, scope)?;
        let symbol = &self.task.predicates[atom.symbol as usize];
        if symbol.derived {
            let message = format!("`{}` is derived by rules: no effect may change it", symbol.name);
            self.error(head_span(tree), message);
        }
        Some(atom)
    }

    fn update(&mut self, operator: Operator, tree: &Tree, scope: &Scope) -> Effect {
        let span = head_span(tree);
        self.requirements.needs(":numeric-fluents", span);
        let operands = &tree.list().unwrap_or_default()[1..];
        let Some([target, value]) = self.operands::<2>(tree, operands) else { return Effect::default() };
        let target = self.fluent(target, scope);
        let value = self.number(value, scope);
        match target {
            Some(target) => Effect::Update(Update { span, operator, target, value }),
            None => Effect::default(),
        }
    }
}

/// The sum, unless it is too large to hold.
pub(super) fn total_of(weights: impl Iterator<Item = Rational>) -> Option<Rational> {
    let mut total = Rational::from_integer(0);
    for weight in weights {
        total = total.checked_add(&weight)?;
    }
    Some(total)
}
