//! `hadal inspect`: what hadal makes of a model. Variables and where they are packed, actions and what they touch,
//! processes, properties, symmetric domains, interference and the causal graph.
//!
//! Everything is gathered once into a [`view::View`]; the text and the JSON show the same.

mod dot;
mod names;
mod text;
mod view;

use hadal_system::facts::Facts;
use hadal_system::{Layout, System};

/// How to show a system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// For people.
    Text,
    /// One JSON object (`docs/inspect.md`).
    Json,
    /// Graphviz: which part of the state depends on which.
    DotCausal,
    /// Graphviz: the control graph of every process, or of every small scalar where there are no processes.
    DotControl,
}

/// Shows what is known of a system.
pub fn render(system: &System, layout: &Layout, format: Format) -> String {
    let facts = Facts::of(system);
    match format {
        Format::Text => text::render(&view::View::of(system, layout, &facts)),
        Format::Json => {
            let view = view::View::of(system, layout, &facts);
            // The view has only strings, numbers, lists and structs: nothing that JSON cannot hold.
            let mut text = serde_json::to_string_pretty(&view).expect("a view is always JSON");
            text.push('\n');
            text
        }
        Format::DotCausal => dot::causal(system, &facts),
        Format::DotControl => dot::control(system, &facts),
    }
}

#[cfg(test)]
mod tests;
