//! What a model's names stand for: variables with their shapes and domains, functions, actions, properties, named values.

use super::text::Text;
use hadal_check::units::counted;
use hadal_system::{Domain, DomainKind, Domains, Shape, ShapeId, Shapes, Source, Span, System, TimedSystem};
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
    /// Where the name means this; anywhere, where there is nothing.
    scope: Option<Span>,
    /// The file that declares it, where that is another one, with the text there.
    other: Option<Box<(String, Text)>>,
    /// Its kind in an outline, where it belongs there.
    kind: Option<u32>,
}

/// Everything that a system names.
pub fn of_system(system: &System) -> Vec<Symbol> {
    let mut symbols = Vec::new();
    let declared = |name: &str, span: Span, about: String, kind: u32| {
        // Macros may stand between the text that was parsed and the one in the editor.
        let span = if span == Span::default() { span } else { system.source.original(span) };
        Symbol::new(name, span, about, kind)
    };
    for variable in &system.variables {
        let shown = describe(&system.shapes, &system.domains, variable.shape);
        let about = format!("variable `{}`: {shown}", variable.name);
        symbols.push(declared(&variable.name, variable.span, about, VARIABLE));
    }
    for function in &system.functions {
        let result = function.result.map(|domain| format!(": {}", values(&system.domains[domain])));
        let about = format!("function `{}`{}", function.name, result.unwrap_or_default());
        symbols.push(declared(&function.name, function.span, about, FUNCTION));
    }
    for action in &system.actions {
        let about = format!("action `{}`", action.name);
        symbols.push(declared(&action.name, action.span, about, EVENT));
    }
    for property in &system.properties {
        let about = format!("property `{}` ({:?})", property.name, property.kind);
        symbols.push(declared(&property.name, property.span, about, BOOLEAN));
    }
    for (_, domain) in system.domains.iter() {
        let DomainKind::Enum(names) = &domain.kind else { continue };
        for name in names {
            let about = format!("value `{name}` of {}", values(domain));
            symbols.push(Symbol { kind: None, ..Symbol::new(name, Span::default(), about, VARIABLE) });
        }
    }
    symbols
}

/// Everything that a system in real time names.
pub fn of_timed(timed: &TimedSystem) -> Vec<Symbol> {
    let mut symbols = of_system(&timed.system);
    for clock in &timed.clocks {
        let about = format!("clock `{clock}`: real numbers from 0 on");
        symbols.push(Symbol::new(clock, Span::default(), about, VARIABLE));
    }
    for (timing, process) in timed.processes.iter().zip(&timed.system.processes) {
        let about = format!("process `{}`: {}", process.name, counted(timing.stays.len() as u64, "location"));
        symbols.push(Symbol::new(&process.name, Span::default(), about, FUNCTION));
    }
    symbols
}

impl Symbol {
    fn new(name: &str, span: Span, about: String, kind: u32) -> Self {
        let span = (span != Span::default()).then_some(span);
        Symbol { name: name.to_owned(), span, about, scope: None, other: None, kind: Some(kind) }
    }

    /// A name of a planning text.
    pub fn planning(name: &str, span: Span, about: String) -> Self {
        Symbol::new(name, span, about, VARIABLE)
    }

    /// An action of a planning text.
    pub fn action(name: &str, span: Span, about: String) -> Self {
        Symbol::new(name, span, about, EVENT)
    }

    /// The same, where the name means this in a part of the text only.
    pub fn within(self, scope: Span) -> Self {
        Symbol { scope: Some(scope), kind: None, ..self }
    }

    /// The same, declared in another file.
    pub fn elsewhere(self, uri: &str, text: &str) -> Self {
        let text = Text::new(Source::new(uri, text));
        // What means something in a part of that file means nothing here.
        let scope = self.scope.map(|_| Span::default());
        Symbol { other: Some(Box::new((uri.to_owned(), text))), scope, kind: None, ..self }
    }

    /// Its declaration as the protocol writes places, and the line that it stands in; `own` is the text in the editor.
    pub fn declaration<'t>(&'t self, uri: &str, own: &'t Text) -> Option<(Value, &'t str)> {
        let (uri, text) = self.other.as_deref().map_or((uri, own), |(uri, text)| (uri.as_str(), text));
        // The text may have changed since the model was accepted.
        let last = self.name.rsplit('.').next().unwrap_or(&self.name);
        let span = self.span.and_then(|span| text.within(span, last)).or_else(|| text.first(last))?;
        Some((json!({ "uri": uri, "range": text.range(span) }), text.line_of(span)))
    }

    /// Whether `word` at a byte of the text may mean this: its name, or the last part of `Process.name`.
    pub fn is_called(&self, word: &str, at: usize) -> bool {
        let here = self.scope.is_none_or(|scope| (scope.start as usize..scope.end as usize).contains(&at));
        here && (self.name == word || self.name.rsplit('.').next() == Some(word))
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
