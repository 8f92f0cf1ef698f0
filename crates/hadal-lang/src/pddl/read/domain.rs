//! `(define (domain ...) ...)`.

use super::formula::Soft;
use super::{Reader, Scope, head_span};
use crate::diagnostic::Diagnostic;
use crate::pddl::ast::{Action, Axiom, Effect, Formula, Symbol};
use crate::pddl::tree::Tree;

impl Reader {
    /// Reads the one definition that `trees` should hold. Declarations are read first, wherever they stand.
    pub(super) fn domain(&mut self, trees: &[Tree]) {
        self.declare_builtin();
        let Some((_, sections)) = self.definition(trees, "domain") else { return };
        for section in &sections {
            let items = &section.list().unwrap_or_default()[1..];
            match section.head() {
                Some(":requirements") => {
                    items.iter().filter_map(Tree::word).for_each(|word| self.requirements.declare(word));
                }
                Some(":types") => self.read_types(items),
                _ => {}
            }
        }
        for wanted in [":constants", ":predicates", ":functions"] {
            for section in sections.iter().filter(|section| section.head() == Some(wanted)) {
                let items = &section.list().unwrap_or_default()[1..];
                match wanted {
                    ":constants" => self.read_objects(items),
                    ":predicates" => self.read_predicates(items),
                    _ => self.read_functions(items),
                }
            }
        }
        if self.requirements.has(":rewards") && !self.functions.contains_key("reward") {
            self.declare_function(Symbol { name: "reward".to_string(), sorts: Vec::new(), derived: false });
        }
        for section in sections.iter().filter(|section| section.head() == Some(":derived")) {
            let head = section.list().unwrap_or_default().get(1).and_then(Tree::head);
            if let Some(&symbol) = head.and_then(|name| self.predicates.get(name)) {
                self.task.predicates[symbol as usize].derived = true;
            }
        }
        for section in &sections {
            let items = &section.list().unwrap_or_default()[1..];
            match section.head().unwrap_or_default() {
                ":requirements" | ":types" | ":constants" | ":predicates" | ":functions" => {}
                ":action" => self.action(section, items),
                ":derived" => self.derived(section, items),
                ":constraints" => self.read_constraints(items),
                ":durative-action" => self.findings.push(
                    Diagnostic::error(head_span(section), "actions with durations are not supported")
                        .help("hadal reads PDDL without time"),
                ),
                _ => self.expected(section, "`:action`, `:derived` or another section of a domain"),
            }
        }
        self.requirements.report(&mut self.findings);
    }

    /// The name and sections of `(define (KIND name) section ...)`.
    pub(super) fn definition<'t, 'a>(
        &mut self,
        trees: &'t [Tree<'a>],
        kind: &str,
    ) -> Option<(String, Vec<&'t Tree<'a>>)> {
        let Some(tree) = trees.iter().find(|tree| tree.head() == Some("define")) else {
            let span = trees.first().map_or(hadal_system::Span::default(), head_span);
            let finding = Diagnostic::error(span, format!("this is not a {kind}"));
            self.findings.push(finding.label(format!("expected `(define ({kind} ...) ...)`")));
            return None;
        };
        let items = tree.list().unwrap_or_default();
        let name = match items.get(1) {
            Some(title) if title.head() == Some(kind) => {
                title.list().unwrap_or_default().get(1).and_then(Tree::word).unwrap_or_default()
            }
            Some(title) => {
                self.expected(title, &format!("`({kind} name)`"));
                return None;
            }
            None => {
                self.error(tree.span, format!("`define` is not followed by `({kind} name)`"));
                return None;
            }
        };
        let mut sections = Vec::new();
        for section in &items[2..] {
            match section.head() {
                Some(head) if head.starts_with(':') => sections.push(section),
                _ => self.expected(section, "a section `(:keyword ...)`"),
            }
        }
        Some((name.to_string(), sections))
    }

    /// `:constraints`, of a domain or of a problem.
    pub(super) fn read_constraints(&mut self, items: &[Tree]) {
        for item in items {
            let constraint = self.constraint(item, &mut Scope::default(), Soft::Allowed);
            self.task.constraints.push(constraint);
        }
    }

    fn action(&mut self, section: &Tree, items: &[Tree]) {
        let Some(name) = items.first().and_then(Tree::word) else {
            self.error(head_span(section), "`:action` is not followed by a name");
            return;
        };
        if self.task.actions.iter().any(|known| known.name == name) {
            self.error(items[0].span, format!("action `{name}` is declared twice"));
        }
        let mut scope = Scope::default();
        let parts = || items[1..].chunks(2);
        let mut parameters = Vec::new();
        for part in parts().filter(|part| part[0].word() == Some(":parameters")) {
            match part.get(1).and_then(Tree::list) {
                Some(list) => parameters = self.declare_variables(list, &mut scope),
                None => self.error(part[0].span, "`:parameters` is not followed by a list"),
            }
        }
        let (mut precondition, mut effect) = (Formula::default(), Effect::default());
        for part in parts() {
            match (part[0].word(), part.get(1)) {
                (Some(":parameters"), _) => {}
                (Some(":precondition"), Some(body)) => {
                    precondition = self.formula(body, &mut scope, Soft::Allowed);
                }
                (Some(":effect"), Some(body)) => effect = self.effect(body, &mut scope),
                (Some(word), None) if word.starts_with(':') => {
                    self.error(part[0].span, format!("`{word}` is followed by nothing"));
                }
                _ => self.expected(&part[0], "`:parameters`, `:precondition` or `:effect`"),
            }
        }
        let name = name.to_string();
        self.task.actions.push(Action { name, span: items[0].span, parameters, precondition, effect });
    }

    fn derived(&mut self, section: &Tree, items: &[Tree]) {
        let [head, body] = items else {
            self.error(head_span(section), "a rule is `(:derived (predicate ?parameter ...) condition)`");
            return;
        };
        self.requirements.needs(":derived-predicates", head_span(section));
        let Some(name) = head.head() else {
            self.expected(head, "a predicate with its parameters");
            return;
        };
        let Some(&predicate) = self.predicates.get(name) else {
            self.unknown("predicate", name, head_span(head), None);
            return;
        };
        let mut scope = Scope::default();
        let parameters = self.declare_variables(&head.list().unwrap_or_default()[1..], &mut scope);
        let declared = self.task.predicates[predicate as usize].sorts.len();
        let _ = self.check_arity("predicate", name, (parameters.len(), declared), head_span(head));
        let body = self.formula(body, &mut scope, Soft::Refused);
        self.task.axioms.push(Axiom { span: head_span(head), predicate, parameters, body });
    }
}
