//! What a model's names stand for: variables with their shapes and domains, functions, actions, properties, named values.

use super::text::Text;
use hadal_system::{Domain, DomainKind, Domains, Shape, ShapeId, Shapes, Span, System};
use serde_json::{Value, json};

/// More values than these are not listed one by one.
const MOST_NAMES: usize = 12;

/// Kinds of symbols as the protocol numbers them.
const FUNCTION: u32 = 12;
const VARIABLE: u32 = 13;
const EVENT: u32 = 24;
const BOOLEAN: u32 = 17;

/// Something that a name of the text stands for.
pub struct Symbol {
    /// As the model's text writes it.
    pub name: String,
    /// Where it is declared; nowhere for names that only live in types.
    pub span: Option<Span>,
    /// For people, in Markdown.
    pub about: String,
    /// Its kind in an outline, where it belongs there.
    kind: Option<u32>,
}

/// Everything that a system names.
pub fn of_system(system: &System) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    for variable in &system.variables {
        let shown = describe(&system.shapes, &system.domains, variable.shape);
        let about = format!("variable `{}`: {shown}", variable.name);
        symbols.push(Symbol::new(&variable.name, variable.span, about, VARIABLE));
    }
    for function in &system.functions {
        let result = function.result.map(|domain| format!(": {}", values(&system.domains[domain])));
        let about = format!("function `{}`{}", function.name, result.unwrap_or_default());
        symbols.push(Symbol::new(&function.name, function.span, about, FUNCTION));
    }
    for action in &system.actions {
        let about = format!("action `{}`", action.name);
        symbols.push(Symbol::new(&action.name, action.span, about, EVENT));
    }
    for property in &system.properties {
        let about = format!("property `{}` ({:?})", property.name, property.kind);
        symbols.push(Symbol::new(&property.name, property.span, about, BOOLEAN));
    }
    for (_, domain) in system.domains.iter() {
        let DomainKind::Enum(names) = &domain.kind else { continue };
        for name in names {
            let about = format!("value `{name}` of {}", values(domain));
            symbols.push(Symbol { name: name.clone(), span: None, about, kind: None });
        }
    }
    symbols
}

impl Symbol {
    fn new(name: &str, span: Span, about: String, kind: u32) -> Self {
        let span = (span != Span::default()).then_some(span);
        Symbol { name: name.to_owned(), span, about, kind: Some(kind) }
    }

    /// Whether `word` in the text may mean this: its name, or the last part of `Process.name`.
    pub fn is_called(&self, word: &str) -> bool {
        self.name == word || self.name.rsplit('.').next() == Some(word)
    }

    /// The entry of an outline.
    pub fn outlined(&self, text: &Text) -> Option<Value> {
        let range = text.range(self.span?);
        Some(json!({ "name": self.name, "kind": self.kind?, "range": range, "selectionRange": range }))
    }
}

/// A shape in words.
fn describe(shapes: &Shapes, domains: &Domains, shape: ShapeId) -> String {
    match &shapes[shape] {
        Shape::Scalar(domain) => values(&domains[*domain]),
        Shape::Array { index, element } => {
            format!("array [{}] of {}", values(&domains[*index]), describe(shapes, domains, *element))
        }
        Shape::Multiset { slots, element } => {
            let held = match &shapes[*element] {
                Shape::Record(fields) if fields.len() == 2 => describe(shapes, domains, fields[1].shape),
                _ => describe(shapes, domains, *element),
            };
            format!("multiset of at most {} of {held}", domains[*slots].size())
        }
        Shape::Record(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|f| format!("{}: {}", f.name, describe(shapes, domains, f.shape)))
                .collect();
            format!("record {{ {} }}", fields.join("; "))
        }
    }
}

/// A domain in words.
fn values(domain: &Domain) -> String {
    match &domain.kind {
        DomainKind::Bool => "boolean".to_owned(),
        DomainKind::Enum(names) if names.len() <= MOST_NAMES => format!("{{ {} }}", names.join(", ")),
        DomainKind::Scalarset(_) => {
            format!("scalarset of {}{}", domain.size(), named(domain))
        }
        _ => match domain.intervals.as_slice() {
            [(low, high)] => format!("{low}..{high}{}", named(domain)),
            _ => format!("{} values{}", domain.size(), named(domain)),
        },
    }
}

fn named(domain: &Domain) -> String {
    domain.name.as_ref().map_or_else(String::new, |name| format!(" (`{name}`)"))
}
