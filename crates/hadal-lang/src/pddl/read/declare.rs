//! Typed lists, types, objects, predicates and functions.

use super::{Reader, Scope, nearest};
use crate::diagnostic::Diagnostic;
use crate::pddl::ast::{Symbol, Variable};
use crate::pddl::tree::Tree;
use hadal_system::Span;

/// One entry of a typed list: its name, where it stands, its types.
pub(super) type Typed<'a> = (&'a str, Span, Vec<u32>);

/// How many variables one list may declare: joins keep a tuple's columns in a word.
const MAX_VARIABLES: usize = 60;

/// The number of the type `object`.
const OBJECT: u32 = 0;

impl Reader {
    /// The built-in type comes first.
    pub(super) fn declare_builtin(&mut self) {
        self.types.insert("object".to_string(), OBJECT);
        self.parents.push(Vec::new());
    }

    fn type_named(&mut self, name: &str) -> u32 {
        if let Some(&number) = self.types.get(name) {
            return number;
        }
        let number = self.parents.len() as u32;
        self.types.insert(name.to_string(), number);
        self.parents.push(Vec::new());
        number
    }

    /// `:types`. A type that stands only as a supertype is declared by that.
    pub(super) fn read_types(&mut self, items: &[Tree]) {
        let mut waiting: Vec<u32> = Vec::new();
        let mut rest = items.iter();
        while let Some(item) = rest.next() {
            match item.word() {
                Some("-") => {
                    let Some(supertype) = rest.next() else {
                        self.error(item.span, "`-` is not followed by a type");
                        return;
                    };
                    let parents: Vec<u32> = self
                        .type_names(supertype)
                        .into_iter()
                        .map(|(name, _)| self.type_named(name))
                        .collect();
                    for declared in waiting.drain(..) {
                        let known = &mut self.parents[declared as usize];
                        known.extend(parents.iter().filter(|&&parent| parent != declared));
                    }
                }
                Some(name) => waiting.push(self.type_named(name)),
                None => self.expected(item, "the name of a type"),
            }
        }
    }

    /// The names under a type: one, or those of `either`.
    fn type_names<'a>(&mut self, tree: &Tree<'a>) -> Vec<(&'a str, Span)> {
        match (tree.word(), tree.list()) {
            (Some(word), _) => vec![(word, tree.span)],
            (None, Some(items)) if tree.head() == Some("either") => {
                items[1..].iter().filter_map(|item| item.word().map(|word| (word, item.span))).collect()
            }
            _ => {
                self.expected(tree, "a type");
                Vec::new()
            }
        }
    }

    /// A typed list whose types must be known.
    pub(super) fn typed_list<'a>(&mut self, items: &[Tree<'a>], variables: bool) -> Vec<Typed<'a>> {
        let mut list: Vec<Typed<'a>> = Vec::new();
        let mut first_waiting = 0;
        let mut rest = items.iter();
        while let Some(item) = rest.next() {
            match item.word() {
                Some("-") => {
                    let Some(of) = rest.next() else {
                        self.error(item.span, "`-` is not followed by a type");
                        break;
                    };
                    self.requirements.needs(":typing", item.span);
                    let mut types = Vec::new();
                    for (name, span) in self.type_names(of) {
                        match self.types.get(name) {
                            Some(&number) => types.push(number),
                            None => {
                                let near = nearest(name, self.types.keys());
                                self.unknown("type", name, span, near);
                            }
                        }
                    }
                    types.sort_unstable();
                    types.dedup();
                    for entry in &mut list[first_waiting..] {
                        entry.2.clone_from(&types);
                    }
                    first_waiting = list.len();
                }
                Some(word) if word.starts_with('?') == variables => {
                    list.push((word, item.span, vec![OBJECT]));
                }
                _ => self.expected(item, if variables { "a variable `?name`" } else { "a name" }),
            }
        }
        list
    }

    /// Declares variables at the end of `scope` and returns them.
    pub(super) fn declare_variables(&mut self, items: &[Tree], scope: &mut Scope) -> Vec<Variable> {
        let list = self.variable_list(items);
        let mut declared: Vec<Variable> = Vec::with_capacity(list.len());
        let first = scope.names.len();
        for (name, span, types) in list {
            if scope.names[first..].iter().any(|(known, _)| known == name) {
                self.error(span, format!("`{name}` is declared twice"));
            }
            let variable = Variable { slot: scope.names.len() as u32, sort: self.sort_of(types) };
            scope.names.push((name.to_string(), variable.clone()));
            declared.push(variable);
        }
        declared
    }

    fn variable_list<'a>(&mut self, items: &[Tree<'a>]) -> Vec<Typed<'a>> {
        let mut list = self.typed_list(items, true);
        if let Some((_, span, _)) = list.get(MAX_VARIABLES) {
            self.error(*span, format!("a list has more than {MAX_VARIABLES} variables"));
            list.truncate(MAX_VARIABLES);
        }
        list
    }

    /// The number of a set of types.
    pub(super) fn sort_of(&mut self, types: Vec<u32>) -> u32 {
        let next = self.sorts.len() as u32;
        *self.sorts.entry(types).or_insert(next)
    }

    /// `:constants` and `:objects`.
    pub(super) fn read_objects(&mut self, items: &[Tree]) {
        for (name, _, types) in self.typed_list(items, false) {
            match self.objects.get(name) {
                // Problems repeat constants of their domain; an object may be declared with several types.
                Some(&known) => self.object_types[known as usize].extend(types),
                None => {
                    self.objects.insert(name.to_string(), self.object_types.len() as u32);
                    self.object_types.push(types);
                    self.task.universe.objects.push(name.to_string());
                }
            }
        }
    }

    /// `:predicates`.
    pub(super) fn read_predicates(&mut self, items: &[Tree]) {
        for item in items {
            let Some(symbol) = self.symbol(item) else { continue };
            if self.predicates.contains_key(&symbol.name) {
                self.error(item.span, format!("predicate `{}` is declared twice", symbol.name));
                continue;
            }
            self.predicates.insert(symbol.name.clone(), self.task.predicates.len() as u32);
            self.task.predicates.push(symbol);
        }
    }

    /// `:functions`: numeric ones only.
    pub(super) fn read_functions(&mut self, items: &[Tree]) {
        let mut rest = items.iter();
        while let Some(item) = rest.next() {
            if item.word() == Some("-") {
                match rest.next() {
                    Some(of) if of.word() == Some("number") => {}
                    Some(of) => self.findings.push(
                        Diagnostic::error(of.span, "functions whose values are objects are not supported")
                            .label("expected `number`")
                            .help("write a predicate with the value as its last argument"),
                    ),
                    None => self.error(item.span, "`-` is not followed by a type"),
                }
                continue;
            }
            let Some(symbol) = self.symbol(item) else { continue };
            if self.functions.contains_key(&symbol.name) {
                self.error(item.span, format!("function `{}` is declared twice", symbol.name));
                continue;
            }
            self.declare_function(symbol);
        }
    }

    /// Declares a function that is not known yet.
    pub(super) fn declare_function(&mut self, symbol: Symbol) -> u32 {
        let number = self.task.functions.len() as u32;
        self.functions.insert(symbol.name.clone(), number);
        self.task.functions.push(symbol);
        number
    }

    fn symbol(&mut self, item: &Tree) -> Option<Symbol> {
        let Some(name) = item.head().filter(|name| !name.starts_with('?')) else {
            self.expected(item, "`(name ?parameter ...)`");
            return None;
        };
        let list = self.variable_list(&item.list().unwrap_or_default()[1..]);
        let mut sorts = Vec::with_capacity(list.len());
        for (at, (variable, span, _)) in list.iter().enumerate() {
            // Nothing refers to these names; published domains repeat them.
            if list[..at].iter().any(|(known, ..)| known == variable) {
                self.findings.push(Diagnostic::warning(*span, format!("`{variable}` is declared twice")));
            }
        }
        for (.., types) in list {
            sorts.push(self.sort_of(types));
        }
        Some(Symbol { name: name.to_string(), sorts, derived: false })
    }

    /// Says which objects each sort has, once all are known.
    pub(super) fn close_universe(&mut self) {
        let count = self.parents.len();
        let above: Vec<Vec<bool>> = (0..count).map(|number| self.supertypes(number as u32)).collect();
        let universe = &mut self.task.universe;
        universe.members = vec![Vec::new(); self.sorts.len()];
        universe.has = vec![vec![false; universe.objects.len()]; self.sorts.len()];
        for (types, &sort) in &self.sorts {
            for (object, own) in self.object_types.iter().enumerate() {
                let fits = |&wanted: &u32| {
                    wanted == OBJECT || own.iter().any(|&own| above[own as usize][wanted as usize])
                };
                if types.iter().any(fits) {
                    universe.members[sort as usize].push(object as u32);
                    universe.has[sort as usize][object] = true;
                }
            }
        }
    }

    /// Which types a type is, itself included; cycles in the declaration make their types equal.
    fn supertypes(&self, of: u32) -> Vec<bool> {
        let mut above = vec![false; self.parents.len()];
        let mut open = vec![of];
        while let Some(number) = open.pop() {
            if !std::mem::replace(&mut above[number as usize], true) {
                open.extend(&self.parents[number as usize]);
            }
        }
        above
    }
}
