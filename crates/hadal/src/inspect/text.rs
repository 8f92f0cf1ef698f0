//! The view as text.

use std::fmt::Write;

use super::view::{ActionView, FootprintView, Known, Variable, View};
use hadal_check::units::counted;

/// Aggregates of at most this many scalars are listed scalar by scalar.
const MAX_LISTED: usize = 64;

/// Renders the view for people.
pub fn render(view: &View) -> String {
    let mut page = Page { text: String::new() };
    page.line(0, &format!("model {} ({})", view.model, view.source));
    let state = &view.state;
    page.line(
        0,
        &format!(
            "a state: {} in {}, {}, {}",
            counted(state.scalars as u64, "scalar"),
            counted(u64::from(state.bits), "bit"),
            counted(state.words as u64, "word"),
            counted(state.bytes as u64, "byte")
        ),
    );
    page.title("Variables (bits, and the least significant one's place in the state)");
    for variable in &view.variables {
        page.variable(variable);
    }
    if !view.processes.is_empty() {
        page.title("Processes");
        for process in &view.processes {
            let counts = format!(
                "{}, {}",
                counted(process.locations.len() as u64, "location"),
                counted(process.edges.len() as u64, "edge")
            );
            page.line(1, &format!("{}: {counts}", process.name));
            page.list(2, "locations", &process.locations);
            page.list(2, "variables", &process.variables);
        }
    }
    page.title("Starts");
    for start in &view.starts {
        page.action(start);
    }
    page.title("Actions");
    for action in &view.actions {
        page.action(action);
    }
    if !view.properties.is_empty() {
        page.title("Properties");
        for property in &view.properties {
            page.line(1, &format!("{} `{}` (line {})", property.kind, property.name, property.line));
            page.list(2, "reads", &property.reads);
            if property.cone.len() < view.variables.len() {
                page.list(2, "depends on", &property.cone);
            } else {
                page.line(2, "depends on every variable");
            }
        }
    }
    if !view.symmetric_domains.is_empty() {
        page.title("Symmetric domains");
        for set in &view.symmetric_domains {
            page.line(1, &format!("{} of {} values", set.name, set.size));
            page.list(2, "indexes", &set.indexes);
            page.list(2, "held by", &set.held_by);
            page.list(2, "parameters of", &set.parameters);
        }
    }
    page.graphs(view);
    page.text
}

struct Page {
    text: String,
}

impl Page {
    fn line(&mut self, indent: usize, line: &str) {
        // Writing to a string cannot fail.
        let _ = writeln!(self.text, "{:1$}{line}", "", indent * 2);
    }

    fn title(&mut self, title: &str) {
        self.line(0, "");
        self.line(0, title);
    }

    fn list(&mut self, indent: usize, what: &str, items: &[String]) {
        if !items.is_empty() {
            self.line(indent, &format!("{what:<11} {}", items.join(", ")));
        }
    }

    fn known(&mut self, indent: usize, what: &str, sign: &str, list: &[Known]) {
        let items: Vec<String> = (list.iter())
            .map(|known| {
                let sign =
                    if known.values.starts_with('{') || known.values.contains("..") { "in" } else { sign };
                format!("{} {sign} {}", known.scalar, known.values)
            })
            .collect();
        self.list(indent, what, &items);
    }

    fn variable(&mut self, variable: &Variable) {
        let owner = variable.owner.as_ref().map_or(String::new(), |o| format!(" of {o}"));
        let role =
            if variable.role == "data" { String::new() } else { format!(", {}{owner}", variable.role) };
        let written = if variable.written { "" } else { ", never written" };
        let place = format!("{} at {}", counted(u64::from(variable.bits), "bit"), variable.offset);
        self.line(1, &format!("{}: {} ({place}{role}{written})", variable.name, variable.shape));
        if variable.scalars.len() > 1 && variable.scalars.len() <= MAX_LISTED {
            for scalar in &variable.scalars {
                self.line(
                    2,
                    &format!(
                        "{:<32} {:>8} at {}",
                        scalar.name,
                        counted(u64::from(scalar.bits), "bit"),
                        scalar.offset
                    ),
                );
            }
        }
    }

    fn action(&mut self, action: &ActionView) {
        let parameters: Vec<String> =
            action.parameters.iter().map(|p| format!("{}: {}", p.name, p.values)).collect();
        let parameters =
            if parameters.is_empty() { String::new() } else { format!(" ({})", parameters.join("; ")) };
        let instances = if action.instances == 1 {
            String::new()
        } else {
            format!(", {}", counted(action.instances, "instance"))
        };
        self.line(1, &format!("`{}`{parameters} (line {}{instances})", action.name, action.line));
        self.list(2, "processes", &action.processes);
        self.footprint(2, &action.whole);
        if let Some(first) = action.each.first() {
            self.line(2, &format!("for example `{}`", first.name));
            self.footprint(3, &first.footprint);
        }
        let never = action.each.iter().filter(|each| !each.footprint.can_fire).count();
        if never > 0 {
            self.line(2, &format!("{never} of the instances can never fire"));
        }
    }

    fn footprint(&mut self, indent: usize, print: &FootprintView) {
        if !print.can_fire {
            self.line(indent, "can never fire");
        }
        self.list(indent, "tests", &print.tests);
        self.known(indent, "demands", "=", &print.demands);
        self.list(indent, "reads", &print.reads);
        self.list(indent, "may write", &print.may_write);
        self.list(indent, "must write", &print.must_write);
        self.known(indent, "leaves", ":=", &print.results);
        if print.may_fault {
            self.line(indent, "may raise an error");
        }
        if print.may_drop {
            self.line(indent, "may be dropped by an assumption");
        }
    }

    fn graphs(&mut self, view: &View) {
        let it = &view.interference;
        self.title("Interference between action instances");
        self.line(
            1,
            &format!(
                "{} in {}",
                counted(it.classes as u64, "different footprint"),
                counted(it.components as u64, "component")
            ),
        );
        if let (Some(pairs), Some(levels)) = (it.pairs, it.levels) {
            self.line(
                1,
                &format!(
                    "interfering: {}; the farthest are {} apart",
                    counted(pairs as u64, "pair"),
                    counted(levels as u64, "step")
                ),
            );
        }
        let causal = &view.causal_graph;
        self.title("Causal graph");
        let (nodes, arcs) = (causal.nodes.len(), causal.arcs.len());
        self.line(
            1,
            &format!(
                "{}, {}, {}",
                counted(nodes as u64, "node"),
                counted(arcs as u64, "arc"),
                counted(causal.components as u64, "component")
            ),
        );
        self.list(1, "influenced by nothing", &causal.independent);
    }
}
