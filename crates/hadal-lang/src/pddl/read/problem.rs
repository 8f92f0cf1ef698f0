//! `(define (problem ...) ...)`.

use super::effect::total_of;
use super::formula::Soft;
use super::number::parse_rational;
use super::{Reader, Scope, head_span};
use crate::diagnostic::Diagnostic;
use crate::pddl::ast::{Atom, Init, Metric, Term};
use crate::pddl::tree::Tree;
use hadal_system::rows::{Rational, Sense};

impl Reader {
    /// Reads the one definition that `trees` should hold; the domain was read before.
    pub(super) fn problem(&mut self, trees: &[Tree]) {
        let Some((name, sections)) = self.definition(trees, "problem") else { return };
        self.task.name = name;
        for section in sections.iter().filter(|section| section.head() == Some(":objects")) {
            self.read_objects(&section.list().unwrap_or_default()[1..]);
        }
        let mut goal = None;
        let mut metric = None;
        for section in &sections {
            let items = &section.list().unwrap_or_default()[1..];
            match section.head().unwrap_or_default() {
                ":domain" | ":objects" | ":requirements" | ":length" | ":situation" => {}
                ":init" => {
                    let mut init = Init::default();
                    items.iter().for_each(|item| self.init_item(item, &mut init));
                    self.task.init = init;
                }
                ":goal" => goal = Some((section, items)),
                ":constraints" => self.read_constraints(items),
                ":metric" => metric = Some((section, items)),
                ":goal-reward" => {
                    self.task.goal_reward = items.first().and_then(Tree::word).and_then(parse_rational);
                    if self.task.goal_reward.is_none() {
                        self.expected(section, "`(:goal-reward number)`");
                    }
                }
                _ => self.expected(section, "`:init`, `:goal`, `:metric` or another section of a problem"),
            }
        }
        match goal {
            Some((_, [body])) => self.task.goal = self.formula(body, &mut Scope::default(), Soft::Allowed),
            Some((section, _)) => self.error(head_span(section), "`:goal` is not followed by one condition"),
            // PPDDL may ask for reward alone.
            None if metric.is_some() && self.requirements.has(":rewards") => {}
            None => {
                let span = trees.first().map_or(hadal_system::Span::default(), head_span);
                self.error(span, "the problem has no `:goal`");
            }
        }
        // Preferences of goal and constraints are known by now.
        match metric {
            Some((section, [sense, body])) => match sense.word() {
                Some("minimize" | "minimise") => self.metric(Sense::Minimise, body),
                Some("maximize" | "maximise") => self.metric(Sense::Maximise, body),
                _ => {
                    let _ = section;
                    self.expected(sense, "`minimize` or `maximize`");
                }
            },
            Some((section, _)) => self
                .error(head_span(section), "`:metric` is followed by `minimize` or `maximize` and a value"),
            None => {}
        }
    }

    fn metric(&mut self, sense: Sense, body: &Tree) {
        let value = self.metric_number(body);
        self.task.metric = Some(Metric { sense, value });
    }

    fn init_item(&mut self, tree: &Tree, init: &mut Init) {
        let items = tree.list().unwrap_or_default();
        let scope = Scope::default();
        match (tree.head(), items) {
            (Some("="), [_, left, right]) => {
                let named = left.word().or(left.head());
                if let Some(name) = named.filter(|name| !self.functions.contains_key(*name)) {
                    let message = format!("the domain has no function `{name}`: the value is ignored");
                    self.findings.push(Diagnostic::warning(head_span(left), message));
                    return;
                }
                let Some(value) = right.word().and_then(parse_rational) else {
                    self.findings.push(
                        Diagnostic::error(head_span(right), "a function begins with a number")
                            .help("functions whose values are objects are not supported"),
                    );
                    return;
                };
                let Some((symbol, objects)) = self.fluent(left, &scope).and_then(ground) else { return };
                init.values.push((symbol, objects, value));
            }
            (Some("at"), [head, time, _])
                if time.word().is_some_and(|word| parse_rational(word).is_some()) =>
            {
                self.findings.push(
                    Diagnostic::error(
                        head.span.to(time.span),
                        "literals that come true at a time are not supported",
                    )
                    .help("hadal reads PDDL without time"),
                );
            }
            // What is not listed is false: a negated atom says nothing new.
            (Some("not"), [_, inner]) => {
                let _ = self.atom(inner, &scope);
            }
            (Some("and"), [_, rest @ ..]) => rest.iter().for_each(|item| self.init_item(item, init)),
            (Some("probabilistic"), [head, branches @ ..]) => {
                self.chance.get_or_insert(head.span);
                let mut draw = Vec::new();
                for pair in branches.chunks(2) {
                    let [weight, outcome] = pair else {
                        self.error(pair[0].span, "a probability is not followed by an outcome");
                        break;
                    };
                    let weight = self.probability(weight);
                    let mut drawn = Init::default();
                    self.init_item(outcome, &mut drawn);
                    draw.push((weight, drawn));
                }
                let total = total_of(draw.iter().map(|(weight, _)| *weight));
                if total.is_none_or(|total| total > Rational::from_integer(1)) {
                    self.error(head.span, "the probabilities add up to more than 1");
                }
                init.draws.push(draw);
            }
            _ => {
                let Some(atom) = self.atom(tree, &scope) else { return };
                let symbol = &self.task.predicates[atom.symbol as usize];
                if symbol.derived {
                    let message =
                        format!("`{}` is derived by rules: it cannot be set at the start", symbol.name);
                    self.error(head_span(tree), message);
                }
                init.atoms.extend(ground(atom));
            }
        }
    }
}

/// Symbol and objects of an atom without variables.
fn ground(atom: Atom) -> Option<(u32, Vec<u32>)> {
    let objects = atom.terms.iter().map(|term| match term {
        Term::Object(object) => Some(*object),
        Term::Variable(_) => None,
    });
    Some((atom.symbol, objects.collect::<Option<Vec<u32>>>()?))
}
