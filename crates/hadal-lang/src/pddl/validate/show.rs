//! Conditions as PDDL writes them, variables replaced by objects.

use super::state::object_of;
use crate::pddl::ast::{Atom, Comparator, Formula, LiftedTask, Number, Symbol, Term, Variable};

/// Writes parts of a task.
pub(super) struct Writer<'a> {
    pub(super) task: &'a LiftedTask,
}

impl Writer<'_> {
    fn object(&self, term: Term, objects: &[u32]) -> String {
        match term {
            // Variables of quantifiers inside have no object yet.
            Term::Variable(slot) if slot as usize >= objects.len() => format!("?{slot}"),
            term => self.task.universe.objects[object_of(term, objects) as usize].clone(),
        }
    }

    fn symbol(&self, symbols: &[Symbol], atom: &Atom, objects: &[u32]) -> String {
        let mut words = vec![symbols[atom.symbol as usize].name.clone()];
        words.extend(atom.terms.iter().map(|&term| self.object(term, objects)));
        format!("({})", words.join(" "))
    }

    /// A condition.
    pub(super) fn formula(&self, formula: &Formula, objects: &[u32]) -> String {
        let list = |name: &str, parts: &[Formula]| {
            let parts: Vec<String> = parts.iter().map(|part| self.formula(part, objects)).collect();
            format!("({name} {})", parts.join(" "))
        };
        let quantified = |name: &str, variables: &[Variable], inner: &Formula| {
            let names: Vec<String> = variables.iter().map(|variable| format!("?{}", variable.slot)).collect();
            format!("({name} ({}) {})", names.join(" "), self.formula(inner, objects))
        };
        match formula {
            Formula::Constant(true) => "(and)".to_string(),
            Formula::Constant(false) => "(or)".to_string(),
            Formula::Atom(atom) => self.symbol(&self.task.predicates, atom, objects),
            Formula::Equal(left, right) => {
                format!("(= {} {})", self.object(*left, objects), self.object(*right, objects))
            }
            Formula::Compare(how, left, right) => {
                let how = match how {
                    Comparator::Less => "<",
                    Comparator::AtMost => "<=",
                    Comparator::Equal => "=",
                    Comparator::AtLeast => ">=",
                    Comparator::Greater => ">",
                };
                format!("({how} {} {})", self.number(left, objects), self.number(right, objects))
            }
            Formula::Not(inner) => format!("(not {})", self.formula(inner, objects)),
            Formula::And(parts) => list("and", parts),
            Formula::Or(parts) => list("or", parts),
            Formula::Exists(variables, inner) => quantified("exists", variables, inner),
            Formula::Forall(variables, inner) => quantified("forall", variables, inner),
            Formula::Preference(_, inner) => self.formula(inner, objects),
        }
    }

    /// An expression.
    pub(super) fn number(&self, number: &Number, objects: &[u32]) -> String {
        let list = |name: &str, parts: &[Number]| {
            let parts: Vec<String> = parts.iter().map(|part| self.number(part, objects)).collect();
            format!("({name} {})", parts.join(" "))
        };
        match number {
            Number::Constant(value) => value.to_string(),
            Number::Fluent(atom) => self.symbol(&self.task.functions, atom, objects),
            Number::Add(parts) => list("+", parts),
            Number::Multiply(parts) => list("*", parts),
            Number::Subtract(left, right) => {
                format!("(- {} {})", self.number(left, objects), self.number(right, objects))
            }
            Number::Divide(left, right) => {
                format!("(/ {} {})", self.number(left, objects), self.number(right, objects))
            }
            Number::Violated(preference) => {
                format!("(is-violated {})", self.task.preferences[*preference as usize])
            }
            Number::TotalTime => "(total-time)".to_string(),
            Number::GoalAchieved => "(goal-achieved)".to_string(),
        }
    }
}
