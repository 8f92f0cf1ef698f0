//! Conditions.

use super::{Reader, Scope, head_span, nearest};
use crate::diagnostic::Diagnostic;
use crate::pddl::ast::{Atom, Comparator, Formula, Term};
use crate::pddl::tree::Tree;
use hadal_system::Span;

/// Whether preferences may stand here.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Soft {
    /// They may.
    Allowed,
    /// They may not.
    Refused,
}

impl Reader {
    /// A condition over the variables of `scope`.
    pub(super) fn formula(&mut self, tree: &Tree, scope: &mut Scope, soft: Soft) -> Formula {
        let Some(items) = tree.list() else {
            self.expected(tree, "a condition in parentheses");
            return Formula::default();
        };
        let Some(head) = items.first() else { return Formula::Constant(true) };
        let Some(name) = head.word() else {
            self.expected(head, "a predicate, `and`, `or`, `not`, `forall`, `exists` or a comparison");
            return Formula::default();
        };
        let operands = &items[1..];
        match name {
            "and" => Formula::And(operands.iter().map(|item| self.formula(item, scope, soft)).collect()),
            "or" => {
                self.requirements.needs(":disjunctive-preconditions", head.span);
                Formula::Or(operands.iter().map(|item| self.formula(item, scope, Soft::Refused)).collect())
            }
            "not" => {
                let Some([inner]) = self.operands::<1>(tree, operands) else { return Formula::default() };
                let inner = self.formula(inner, scope, Soft::Refused);
                if !matches!(inner, Formula::Equal(..)) {
                    self.requirements.needs(":negative-preconditions", head.span);
                }
                Formula::Not(Box::new(inner))
            }
            "imply" => {
                self.requirements.needs(":disjunctive-preconditions", head.span);
                let Some([left, right]) = self.operands::<2>(tree, operands) else {
                    return Formula::default();
                };
                let left = self.formula(left, scope, Soft::Refused);
                let right = self.formula(right, scope, Soft::Refused);
                Formula::Or(vec![Formula::Not(Box::new(left)), right])
            }
            "forall" | "exists" => {
                let universal = name == "forall";
                let requirement =
                    if universal { ":universal-preconditions" } else { ":existential-preconditions" };
                self.requirements.needs(requirement, head.span);
                let Some([variables, inner]) = self.operands::<2>(tree, operands) else {
                    return Formula::default();
                };
                let Some(list) = variables.list() else {
                    self.expected(variables, "a list of variables");
                    return Formula::default();
                };
                let outside = scope.names.len();
                let variables = self.declare_variables(list, scope);
                let soft = if universal { soft } else { Soft::Refused };
                let inner = Box::new(self.formula(inner, scope, soft));
                scope.names.truncate(outside);
                if universal { Formula::Forall(variables, inner) } else { Formula::Exists(variables, inner) }
            }
            "preference" => {
                self.requirements.needs(":preferences", head.span);
                if soft == Soft::Refused {
                    self.error(head.span, "a preference may stand only under `and` and `forall`");
                }
                let Some((name, body)) = self.preference(tree, operands) else { return Formula::default() };
                Formula::Preference(name, Box::new(self.formula(body, scope, Soft::Refused)))
            }
            "<" => self.comparison(Comparator::Less, tree, operands, scope),
            "<=" => self.comparison(Comparator::AtMost, tree, operands, scope),
            ">=" => self.comparison(Comparator::AtLeast, tree, operands, scope),
            ">" => self.comparison(Comparator::Greater, tree, operands, scope),
            "=" => self.equality(tree, operands, scope),
            _ => self.atom(tree, scope).map_or(Formula::default(), Formula::Atom),
        }
    }

    /// A preference's name and body.
    pub(super) fn preference<'t, 'a>(
        &mut self,
        tree: &Tree<'a>,
        operands: &'t [Tree<'a>],
    ) -> Option<(Option<u32>, &'t Tree<'a>)> {
        match operands {
            [body] => Some((None, body)),
            [name, body] if name.word().is_some() => {
                let name = name.word().unwrap_or_default();
                let next = self.task.preferences.len() as u32;
                let number = *self.preferences.entry(name.to_string()).or_insert(next);
                if number == next {
                    self.task.preferences.push(name.to_string());
                }
                Some((Some(number), body))
            }
            _ => {
                self.error(head_span(tree), "a preference is `(preference name condition)`");
                None
            }
        }
    }

    fn comparison(
        &mut self,
        comparator: Comparator,
        tree: &Tree,
        operands: &[Tree],
        scope: &mut Scope,
    ) -> Formula {
        self.requirements.needs(":numeric-fluents", head_span(tree));
        let Some([left, right]) = self.operands::<2>(tree, operands) else { return Formula::default() };
        let (left, right) = (self.number(left, scope), self.number(right, scope));
        Formula::Compare(comparator, Box::new(left), Box::new(right))
    }

    /// `=` compares objects or numbers.
    fn equality(&mut self, tree: &Tree, operands: &[Tree], scope: &mut Scope) -> Formula {
        let Some([left, right]) = self.operands::<2>(tree, operands) else { return Formula::default() };
        let is_object = |item: &Tree| {
            item.word().is_some_and(|word| word.starts_with('?') || self.objects.contains_key(word))
        };
        if is_object(left) || is_object(right) {
            self.requirements.needs(":equality", head_span(tree));
            match (self.term(left, scope), self.term(right, scope)) {
                (Some(left), Some(right)) => Formula::Equal(left, right),
                _ => Formula::default(),
            }
        } else {
            self.comparison(Comparator::Equal, tree, operands, scope)
        }
    }

    /// Exactly `N` operands.
    pub(super) fn operands<'t, 'a, const N: usize>(
        &mut self,
        tree: &Tree<'a>,
        operands: &'t [Tree<'a>],
    ) -> Option<&'t [Tree<'a>; N]> {
        if let Ok(exact) = operands.try_into() {
            return Some(exact);
        }
        let name = tree.head().unwrap_or("list");
        let message = format!("`{name}` takes {N} operand{}, not {}", plural(N), operands.len());
        self.error(head_span(tree), message);
        None
    }

    /// A predicate with its arguments.
    pub(super) fn atom(&mut self, tree: &Tree, scope: &Scope) -> Option<Atom> {
        let Some(name) = tree.head() else {
            self.expected(tree, "a predicate with its arguments");
            return None;
        };
        let Some(&symbol) = self.predicates.get(name) else {
            let near = nearest(name, self.predicates.keys());
            self.unknown("predicate", name, head_span(tree), near);
            return None;
        };
        let terms = self.terms(&tree.list().unwrap_or_default()[1..], scope)?;
        let sorts = self.task.predicates[symbol as usize].sorts.len();
        self.check_arity("predicate", name, (terms.len(), sorts), head_span(tree))?;
        Some(Atom { symbol, terms })
    }

    /// Arguments; all that are unknown are reported.
    pub(super) fn terms(&mut self, items: &[Tree], scope: &Scope) -> Option<Vec<Term>> {
        let terms: Vec<Option<Term>> = items.iter().map(|item| self.term(item, scope)).collect();
        terms.into_iter().collect()
    }

    /// Given and declared numbers of arguments agree.
    pub(super) fn check_arity(
        &mut self,
        what: &str,
        name: &str,
        (given, declared): (usize, usize),
        span: Span,
    ) -> Option<()> {
        if given == declared {
            return Some(());
        }
        let message = format!("{what} `{name}` takes {declared} argument{}, not {given}", plural(declared));
        self.error(span, message);
        None
    }

    fn term(&mut self, tree: &Tree, scope: &Scope) -> Option<Term> {
        let Some(word) = tree.word() else {
            self.findings.push(
                Diagnostic::error(head_span(tree), "an argument is an object or a variable, not a list")
                    .help("functions whose values are objects are not supported"),
            );
            return None;
        };
        if word.starts_with('?') {
            if let Some(variable) = scope.find(word) {
                return Some(Term::Variable(variable.slot));
            }
            let near = nearest(word, scope.names.iter().map(|(name, _)| name));
            self.unknown("variable", word, tree.span, near);
        } else {
            if let Some(&object) = self.objects.get(word) {
                return Some(Term::Object(object));
            }
            let near = nearest(word, self.objects.keys());
            self.unknown("object", word, tree.span, near);
        }
        None
    }
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
