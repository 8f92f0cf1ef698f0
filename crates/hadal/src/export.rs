//! `hadal check MODEL --export FILE`: a small state space as a graph for other tools: Graphviz, Aldebaran (CADP, mCRL2, LTSmin), JSON.

use crate::failure::Failure;
use crate::violation::portrayed;
use hadal_exec::model::Model;
use hadal_system::portrait::Portrait;
use hadal_system::{StateSpace, Successors};
use std::collections::HashMap;
use std::fmt::Write;
use std::path::Path;

/// The formats of graphs, by the extensions of files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphFormat {
    /// Graphviz.
    Dot,
    /// Aldebaran: labelled transitions between numbered states.
    Aut,
    /// States with their values, and transitions.
    Json,
}

impl GraphFormat {
    /// The format that a file's extension says.
    pub fn of(path: &Path) -> Result<Self, Failure> {
        match path.extension().and_then(|extension| extension.to_str()) {
            Some("dot" | "gv") => Ok(GraphFormat::Dot),
            Some("aut") => Ok(GraphFormat::Aut),
            Some("json") => Ok(GraphFormat::Json),
            _ => Err(Failure::Usage(format!(
                "--export {}: the extension says no format of graphs; write .dot, .aut or .json",
                path.display()
            ))),
        }
    }
}

/// Without `--max-states`, larger spaces are refused.
const MOST_STATES: u64 = 100_000;

/// A whole state space, states numbered as breadth-first search finds them.
struct Graph {
    states: Vec<Vec<u64>>,
    initial: usize,
    /// From, label, to.
    edges: Vec<(usize, String, usize)>,
}

/// Writes the whole space of `model` to `path`, if it has no more than `most` states.
pub fn write(model: &Model, path: &Path, most: Option<u64>) -> Result<(), Failure> {
    let format = GraphFormat::of(path)?;
    let graph = explore(model, most.unwrap_or(MOST_STATES) as usize)?;
    let text = match format {
        GraphFormat::Dot => dot(model, &graph),
        GraphFormat::Aut => aut(&graph),
        GraphFormat::Json => json(model, &graph),
    };
    std::fs::write(path, text).map_err(|error| Failure::File { path: path.to_owned(), error })
}

fn explore(model: &Model, most: usize) -> Result<Graph, Failure> {
    let mut worker = model.worker();
    let words = model.words();
    let mut numbers: HashMap<Vec<u64>, usize> = HashMap::new();
    let mut graph = Graph { states: Vec::new(), initial: 0, edges: Vec::new() };
    let mut number = |state: &[u64], graph: &mut Graph| -> Result<usize, Failure> {
        if let Some(&known) = numbers.get(state) {
            return Ok(known);
        }
        if graph.states.len() >= most {
            return Err(Failure::Usage(format!(
                "--export: the model has more than {most} states; allow more with --max-states"
            )));
        }
        numbers.insert(state.to_vec(), graph.states.len());
        graph.states.push(state.to_vec());
        Ok(graph.states.len() - 1)
    };
    let mut out = Successors::new(words);
    worker.initial(&mut out);
    let initial: Vec<Vec<u64>> = (0..out.len()).map(|n| out.state(n).to_vec()).collect();
    for state in &initial {
        number(state, &mut graph)?;
    }
    let mut next = 0;
    while next < graph.states.len() {
        let state = graph.states[next].clone();
        out.clear();
        worker.successors(&state, &mut out);
        for n in 0..out.len() {
            let to = number(out.state(n), &mut graph)?;
            graph.edges.push((next, model.render_label(out.labels()[n]), to));
        }
        next += 1;
    }
    if initial.len() > 1 {
        // Other tools know one initial state: one more state leads to all of them.
        let first = graph.states.len();
        graph.states.push(Vec::new());
        graph.initial = first;
        for (n, _) in initial.iter().enumerate() {
            graph.edges.push((first, "start".into(), n));
        }
    }
    Ok(graph)
}

fn items(model: &Model, portrait: &Portrait, state: &[u64]) -> Vec<(String, String)> {
    match state.is_empty() {
        true => Vec::new(),
        false => portrayed(portrait, model, state).into_iter().map(|item| (item.name, item.value)).collect(),
    }
}

fn quoted(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

fn dot(model: &Model, graph: &Graph) -> String {
    let portrait = Portrait::new(model.system());
    let mut text = String::from("digraph states {\n  node [shape=box, fontname=monospace];\n");
    for (n, state) in graph.states.iter().enumerate() {
        let shown = items(model, &portrait, state);
        let lines: Vec<String> = shown
            .iter()
            .filter(|(_, value)| value != "undefined")
            .map(|(name, value)| quoted(&format!("{name} = {value}")))
            .collect();
        let style = if n == graph.initial { ", penwidth=2" } else { "" };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  s{n} [label=\"{}\"{style}];", lines.join("\\l") + "\\l");
    }
    for (from, label, to) in &graph.edges {
        let _ = writeln!(text, "  s{from} -> s{to} [label=\"{}\"];", quoted(label));
    }
    text + "}\n"
}

fn aut(graph: &Graph) -> String {
    let mut text = format!("des ({},{},{})\n", graph.initial, graph.edges.len(), graph.states.len());
    for (from, label, to) in &graph.edges {
        let _ = writeln!(text, "({from},\"{}\",{to})", quoted(label));
    }
    text
}

fn json(model: &Model, graph: &Graph) -> String {
    let portrait = Portrait::new(model.system());
    let states: Vec<serde_json::Value> = graph
        .states
        .iter()
        .map(|state| {
            let shown = items(model, &portrait, state).into_iter().map(|(name, value)| (name, value.into()));
            serde_json::Value::Object(shown.collect())
        })
        .collect();
    let edges: Vec<serde_json::Value> = graph
        .edges
        .iter()
        .map(|(from, label, to)| serde_json::json!({ "from": from, "action": label, "to": to }))
        .collect();
    let whole = serde_json::json!({ "initial": graph.initial, "states": states, "transitions": edges });
    whole.to_string() + "\n"
}
