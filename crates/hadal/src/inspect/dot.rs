//! Graphviz pictures of the causal graph and the control graphs.

use std::fmt::Write;

use hadal_system::facts::{CausalGraph, ControlGraph, Facts, Node};
use hadal_system::{Process, System};

use super::names::Names;
use super::view::node_name;

/// Scalars with more values than this are not drawn.
const MAX_DRAWN_VALUES: usize = 32;

/// The causal graph over processes and variables. An arc that only comes from writing both ends is dashed.
pub fn causal(system: &System, facts: &Facts) -> String {
    let graph = CausalGraph::over_processes(system, facts);
    let mut dot = String::from("digraph causal {\n  rankdir=LR;\n");
    for (n, node) in graph.nodes().iter().enumerate() {
        let shape = if matches!(node, Node::Process(_)) { "box" } else { "ellipse" };
        line(&mut dot, format_args!("n{n} [label={}, shape={shape}];", quote(&node_name(system, *node))));
    }
    for (from, to, arc) in graph.arcs() {
        let style = if arc.reads == 0 { ", style=dashed" } else { "" };
        line(&mut dot, format_args!("n{from} -> n{to} [label={}{style}];", arc.weight));
    }
    dot.push_str("}\n");
    dot
}

/// The control graph of every process; where there are none, of every small scalar that changes.
pub fn control(system: &System, facts: &Facts) -> String {
    let mut dot = String::from("digraph control {\n");
    for (n, process) in system.processes.iter().enumerate() {
        draw_process(system, n, process, &mut dot);
    }
    if system.processes.is_empty() {
        let names = Names::new(system);
        for slot in facts.ever_written().iter() {
            let domain = facts.slot_domain(slot);
            if system.domains[domain].size() <= MAX_DRAWN_VALUES as u64
                && let Some(graph) = ControlGraph::of_slot(system, facts, slot)
            {
                let labels: Vec<String> =
                    graph.values.iter().map(|v| system.domains.render(domain, *v)).collect();
                let title = &names.slot(slot);
                let cluster = Cluster { n: slot as usize, title, labels: &labels, graph: &graph };
                draw(system, cluster, &mut dot);
            }
        }
    }
    dot.push_str("}\n");
    dot
}

fn draw_process(system: &System, n: usize, process: &Process, dot: &mut String) {
    let graph = ControlGraph::of_process(process);
    let labels: Vec<String> = (process.locations.iter())
        .map(|location| {
            let mut label = location.name.clone();
            if location.committed {
                label.push_str(" (committed)");
            }
            if location.accepting {
                label.push_str(" (accepting)");
            }
            label
        })
        .collect();
    draw(system, Cluster { n, title: &process.name, labels: &labels, graph: &graph }, dot);
}

/// A control graph with a frame around it.
struct Cluster<'g> {
    n: usize,
    title: &'g str,
    /// Of its nodes.
    labels: &'g [String],
    graph: &'g ControlGraph,
}

fn draw(system: &System, Cluster { n, title, labels, graph }: Cluster<'_>, dot: &mut String) {
    line(dot, format_args!("subgraph cluster{n} {{"));
    line(dot, format_args!("  label={};", quote(title)));
    for (node, label) in labels.iter().enumerate() {
        line(dot, format_args!("  c{n}_{node} [label={}];", quote(label)));
    }
    // Edges between the same nodes are drawn once, with all their actions.
    let mut edges: Vec<(u32, u32, &str)> = (graph.edges.iter())
        .map(|e| (e.from, e.to, system.actions.get(e.action.0 as usize).map_or("", |a| a.name.as_str())))
        .collect();
    edges.sort_unstable();
    edges.dedup();
    for same in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
        let mut actions: Vec<&str> = same.iter().take(4).map(|e| e.2).collect();
        let more = format!("... {} more", same.len().saturating_sub(4));
        if same.len() > 4 {
            actions.push(&more);
        }
        let label = quote(&actions.join("\n"));
        line(dot, format_args!("  c{n}_{} -> c{n}_{} [label={label}];", same[0].0, same[0].1));
    }
    line(dot, format_args!("}}"));
}

fn line(dot: &mut String, text: std::fmt::Arguments) {
    // Writing to a string cannot fail.
    let _ = writeln!(dot, "  {text}");
}

fn quote(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n"))
}
