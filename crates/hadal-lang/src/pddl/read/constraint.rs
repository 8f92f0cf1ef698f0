//! Conditions on the states of a plan (PDDL3).

use super::formula::Soft;
use super::{Reader, Scope, head_span};
use crate::pddl::ast::{Constraint, Watch};
use crate::pddl::tree::Tree;

impl Reader {
    /// A constraint over the variables of `scope`.
    pub(super) fn constraint(&mut self, tree: &Tree, scope: &mut Scope, soft: Soft) -> Constraint {
        let nothing = Constraint::And(Vec::new());
        let Some(items) = tree.list() else {
            self.expected(tree, "a constraint in parentheses");
            return nothing;
        };
        let Some(head) = items.first() else { return nothing };
        let operands = &items[1..];
        self.requirements.needs(":constraints", head.span);
        match head.word().unwrap_or_default() {
            "and" => {
                Constraint::And(operands.iter().map(|item| self.constraint(item, scope, soft)).collect())
            }
            "forall" => {
                let Some([variables, inner]) = self.operands::<2>(tree, operands) else { return nothing };
                let Some(list) = variables.list() else {
                    self.expected(variables, "a list of variables");
                    return nothing;
                };
                let outside = scope.names.len();
                let variables = self.declare_variables(list, scope);
                let inner = Box::new(self.constraint(inner, scope, soft));
                scope.names.truncate(outside);
                Constraint::Forall(variables, inner)
            }
            "preference" => {
                if soft == Soft::Refused {
                    self.error(head.span, "preferences do not nest");
                }
                let Some((name, body)) = self.preference(tree, operands) else { return nothing };
                Constraint::Preference(name, Box::new(self.constraint(body, scope, Soft::Refused)))
            }
            _ => self.watch(tree, scope).map_or(nothing, Constraint::Watch),
        }
    }

    fn watch(&mut self, tree: &Tree, scope: &mut Scope) -> Option<Watch> {
        let items = tree.list().unwrap_or_default();
        let operands = &items[1..];
        let mut of = |item: &Tree| self.formula(item, scope, Soft::Refused);
        Some(match (tree.head().unwrap_or_default(), operands) {
            ("at", [end, body]) if end.word() == Some("end") => Watch::AtEnd(of(body)),
            ("always", [body]) => Watch::Always(of(body)),
            ("sometime", [body]) => Watch::Sometime(of(body)),
            ("at-most-once", [body]) => Watch::AtMostOnce(of(body)),
            ("sometime-after", [first, second]) => Watch::SometimeAfter(of(first), of(second)),
            ("sometime-before", [first, second]) => Watch::SometimeBefore(of(first), of(second)),
            ("within", [steps, body]) => {
                Watch::Within(self.steps(steps)?, self.formula(body, scope, Soft::Refused))
            }
            ("always-within", [steps, first, second]) => {
                let steps = self.steps(steps)?;
                let first = self.formula(first, scope, Soft::Refused);
                Watch::AlwaysWithin(steps, first, self.formula(second, scope, Soft::Refused))
            }
            ("hold-during", [from, to, body]) => {
                let (from, to) = (self.steps(from)?, self.steps(to)?);
                Watch::HoldDuring(from, to, self.formula(body, scope, Soft::Refused))
            }
            ("hold-after", [from, body]) => {
                Watch::HoldAfter(self.steps(from)?, self.formula(body, scope, Soft::Refused))
            }
            _ => {
                let what = "`at end`, `always`, `sometime`, `at-most-once`, `sometime-after`, `sometime-before`, \
                            `within`, `always-within`, `hold-during` or `hold-after` with its operands";
                self.expected(tree, what);
                return None;
            }
        })
    }

    /// A whole number of steps.
    fn steps(&mut self, tree: &Tree) -> Option<u32> {
        let steps = tree.word().and_then(|word| word.parse::<u32>().ok()).filter(|&steps| steps <= 10_000);
        if steps.is_none() {
            self.expected(tree, "a number of steps from 0 to 10000");
        }
        let _ = head_span(tree);
        steps
    }
}
