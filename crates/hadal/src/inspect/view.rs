//! Everything `inspect` shows, gathered from a system and its facts. Field names are the JSON's (`docs/inspect.md`).

use hadal_system::facts::{
    ActionFacts, CausalGraph, Facts, Footprint, Interference, Node, SlotSet, ValueSet, symmetric_domains,
};
use hadal_system::{
    Action, ActionId, Layout, Local, Param, ParamValues, Process, PropertyKind, Role, Span, System, VarId,
};
use serde::Serialize;

use super::names::Names;

/// Actions with more instances than this are shown as a whole only.
const MAX_SHOWN_INSTANCES: u64 = 256;
/// Interfering pairs and levels are counted up to this many classes.
const MAX_COUNTED_CLASSES: usize = 2000;

/// A system as shown.
#[derive(Debug, Serialize)]
pub struct View {
    pub model: String,
    pub source: String,
    pub state: State,
    pub variables: Vec<Variable>,
    pub processes: Vec<ProcessView>,
    pub starts: Vec<ActionView>,
    pub actions: Vec<ActionView>,
    pub properties: Vec<PropertyView>,
    pub symmetric_domains: Vec<Symmetric>,
    pub interference: InterferenceView,
    pub causal_graph: CausalView,
}

#[derive(Debug, Serialize)]
pub struct State {
    pub bits: u32,
    pub words: usize,
    pub bytes: usize,
    pub scalars: usize,
}

#[derive(Debug, Serialize)]
pub struct Variable {
    pub name: String,
    pub role: &'static str,
    pub owner: Option<String>,
    pub shape: String,
    pub bits: u32,
    /// Of its least significant bit in the state.
    pub offset: u32,
    pub scalars: Vec<Scalar>,
    /// Whether some action may write it.
    pub written: bool,
}

#[derive(Debug, Serialize)]
pub struct Scalar {
    pub name: String,
    pub domain: String,
    pub bits: u32,
    pub offset: u32,
}

#[derive(Debug, Serialize)]
pub struct ProcessView {
    pub name: String,
    pub location: String,
    pub locations: Vec<String>,
    pub edges: Vec<EdgeView>,
    pub variables: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct EdgeView {
    pub from: String,
    pub to: String,
    pub action: String,
}

#[derive(Debug, Serialize)]
pub struct ActionView {
    pub name: String,
    pub line: usize,
    pub parameters: Vec<ParameterView>,
    pub instances: u64,
    pub processes: Vec<String>,
    #[serde(flatten)]
    pub whole: FootprintView,
    /// Empty where there is one instance, or too many to tell apart or to show.
    pub each: Vec<InstanceView>,
}

#[derive(Debug, Serialize)]
pub struct ParameterView {
    pub name: String,
    pub values: String,
}

#[derive(Debug, Serialize)]
pub struct InstanceView {
    pub name: String,
    #[serde(flatten)]
    pub footprint: FootprintView,
}

#[derive(Debug, Serialize)]
pub struct FootprintView {
    pub tests: Vec<String>,
    pub demands: Vec<Known>,
    pub reads: Vec<String>,
    pub may_write: Vec<String>,
    pub must_write: Vec<String>,
    pub results: Vec<Known>,
    pub may_fault: bool,
    pub may_drop: bool,
    pub can_fire: bool,
}

#[derive(Debug, Serialize)]
pub struct Known {
    pub scalar: String,
    pub values: String,
}

#[derive(Debug, Serialize)]
pub struct PropertyView {
    pub name: String,
    pub kind: &'static str,
    pub line: usize,
    pub reads: Vec<String>,
    /// Variables that can influence it.
    pub cone: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct Symmetric {
    pub name: String,
    pub size: u64,
    pub indexes: Vec<String>,
    pub held_by: Vec<String>,
    pub parameters: Vec<String>,
}

#[derive(Debug, Serialize)]
pub struct InterferenceView {
    /// Groups of action instances with the same read and write sets.
    pub classes: usize,
    pub components: usize,
    /// Pairs of different classes that interfere; absent where there are too many classes.
    pub pairs: Option<usize>,
    /// The longest shortest chain of interferences between two classes; absent where there are too many classes.
    pub levels: Option<u32>,
}

#[derive(Debug, Serialize)]
pub struct CausalView {
    pub nodes: Vec<String>,
    pub arcs: Vec<ArcView>,
    /// Nodes that nothing else influences.
    pub independent: Vec<String>,
    /// Weakly connected components.
    pub components: usize,
}

#[derive(Debug, Serialize)]
pub struct ArcView {
    pub from: String,
    pub to: String,
    pub weight: u32,
    pub reads: u32,
}

impl View {
    /// Gathers everything.
    pub fn of(system: &System, layout: &Layout, facts: &Facts) -> View {
        let names = Names::new(system);
        let gather = Gather { system, layout, facts, names };
        let by_variable = CausalGraph::over_variables(system, facts);
        View {
            model: system.name.clone(),
            source: system.source.name.to_string(),
            state: State {
                bits: layout.bits(),
                words: layout.words(),
                bytes: layout.words() * 8,
                scalars: facts.slots as usize,
            },
            variables: gather.variables(),
            processes: system.processes.iter().map(|p| gather.process(p)).collect(),
            starts: gather.actions(&system.starts, &facts.starts),
            actions: gather.actions(&system.actions, &facts.actions),
            properties: gather.properties(&by_variable),
            symmetric_domains: gather.symmetric(),
            interference: interference(system, facts),
            causal_graph: causal(system, facts),
        }
    }
}

struct Gather<'a> {
    system: &'a System,
    layout: &'a Layout,
    facts: &'a Facts,
    names: Names<'a>,
}

impl Gather<'_> {
    fn line(&self, span: Span) -> usize {
        self.system.source.locate(span).line
    }

    fn variables(&self) -> Vec<Variable> {
        let written = self.facts.ever_written();
        let slots = self.system.slots();
        let mut first = 0;
        let each = self.system.variables.iter().enumerate().map(|(n, variable)| {
            let end = first + self.system.shapes.slots(variable.shape);
            let scalars = slots[first..end].iter().zip(&self.layout.slots()[first..end]);
            let view = Variable {
                name: variable.name.clone(),
                role: role(variable.role),
                owner: variable.owner.map(|p| self.system.processes[p.0 as usize].name.clone()),
                shape: self.names.shape(variable.shape),
                bits: self.layout.shape_bits(variable.shape),
                offset: self.layout.variable_offset(VarId(n as u32)),
                scalars: scalars
                    .map(|((name, domain), slot)| Scalar {
                        name: name.clone(),
                        domain: self.names.domain(*domain),
                        bits: slot.width,
                        offset: slot.offset,
                    })
                    .collect(),
                written: written.meets_range(first as u32, end as u32),
            };
            first = end;
            view
        });
        each.collect()
    }

    fn process(&self, process: &Process) -> ProcessView {
        let location = |value: i64| match usize::try_from(value).ok().and_then(|v| process.locations.get(v)) {
            Some(location) => location.name.clone(),
            None => value.to_string(),
        };
        let own =
            self.system.variables.iter().filter(|v| {
                v.owner.is_some_and(|p| self.system.processes[p.0 as usize].name == process.name)
            });
        ProcessView {
            name: process.name.clone(),
            location: self.system.variable(process.location).name.clone(),
            locations: process.locations.iter().map(|l| l.name.clone()).collect(),
            edges: (process.edges.iter())
                .map(|edge| EdgeView {
                    from: location(edge.from),
                    to: location(edge.to),
                    action: self.action_name(edge.action),
                })
                .collect(),
            variables: own.map(|v| v.name.clone()).collect(),
        }
    }

    fn action_name(&self, id: ActionId) -> String {
        self.system.actions.get(id.0 as usize).map_or_else(|| id.0.to_string(), |a| a.name.clone())
    }

    fn actions(&self, actions: &[Action], facts: &[ActionFacts]) -> Vec<ActionView> {
        actions.iter().zip(facts).map(|(action, facts)| self.action(action, facts)).collect()
    }

    fn action(&self, action: &Action, facts: &ActionFacts) -> ActionView {
        let apart = facts.count > 1 && facts.count <= MAX_SHOWN_INSTANCES && facts.is_exact();
        let each = facts.footprints().filter(|_| apart).map(|(n, print)| InstanceView {
            name: self.instance_name(action, n),
            footprint: self.footprint(print),
        });
        ActionView {
            name: action.name.clone(),
            line: self.line(action.span),
            parameters: self.parameters(&action.params, &action.locals),
            instances: facts.count,
            processes: (action.processes.iter())
                .map(|p| self.system.processes[p.0 as usize].name.clone())
                .collect(),
            whole: self.footprint(&facts.whole),
            each: each.collect(),
        }
    }

    fn instance_name(&self, action: &Action, n: u64) -> String {
        let values = hadal_system::system::instance_values(&action.params, &self.system.domains, n);
        self.system.render_instance(&hadal_system::Instance { action, id: ActionId(0), values })
    }

    fn parameters(&self, params: &[Param], locals: &[Local]) -> Vec<ParameterView> {
        let each = params.iter().map(|param| ParameterView {
            name: locals[param.local.0 as usize].name.clone(),
            values: match param.values {
                ParamValues::Domain(id) => self.names.index(id),
                ParamValues::Steps { from, to, by: 1 } => format!("{from}..{to}"),
                ParamValues::Steps { from, to, by } => format!("{from}..{to} by {by}"),
            },
        });
        each.collect()
    }

    fn footprint(&self, print: &Footprint) -> FootprintView {
        FootprintView {
            tests: self.names.slots(&print.tests),
            demands: self.known(&print.preconditions),
            reads: self.names.slots(&print.reads),
            may_write: self.names.slots(&print.may_write),
            must_write: self.names.slots(&print.must_write),
            results: self.known(&print.results),
            may_fault: print.may_fault,
            may_drop: print.may_drop,
            can_fire: print.can_fire,
        }
    }

    fn known(&self, list: &[(u32, ValueSet)]) -> Vec<Known> {
        let each = list.iter().map(|(slot, values)| Known {
            scalar: self.names.slot(*slot),
            values: self.names.values(self.facts.slot_domain(*slot), values),
        });
        each.collect()
    }

    fn properties(&self, causal: &CausalGraph) -> Vec<PropertyView> {
        let each = self.system.properties.iter().zip(&self.facts.properties).map(|(property, facts)| {
            let cone = causal.cone(&facts.reads).into_iter();
            PropertyView {
                name: property.name.clone(),
                kind: kind(property.kind),
                line: self.line(property.span),
                reads: self.names.slots(&facts.reads),
                cone: cone.map(|n| node_name(self.system, causal.nodes()[n as usize])).collect(),
            }
        });
        each.collect()
    }

    fn symmetric(&self) -> Vec<Symmetric> {
        let variables = |ids: Vec<VarId>| ids.iter().map(|&v| self.system.variable(v).name.clone()).collect();
        let each = symmetric_domains(self.system).into_iter().map(|set| Symmetric {
            name: set.name.unwrap_or_else(|| format!("scalarset {}", set.id.0)),
            size: set.size,
            indexes: variables(set.indexes),
            held_by: variables(set.held_by),
            parameters: set.parameters.into_iter().map(|a| self.action_name(a)).collect(),
        });
        each.collect()
    }
}

fn interference(system: &System, facts: &Facts) -> InterferenceView {
    let all = Interference::of(system, facts);
    let classes = all.class_count();
    let (mut pairs, mut levels) = (None, None);
    if classes <= MAX_COUNTED_CLASSES {
        let (mut near, mut far) = (0, 0);
        for class in 0..classes as u32 {
            let reached = all.levels(class);
            near += reached.iter().filter(|level| **level == Some(1)).count();
            far = far.max(reached.into_iter().flatten().max().unwrap_or(0));
        }
        pairs = Some(near / 2);
        levels = Some(far);
    }
    InterferenceView { classes, components: all.component_count(), pairs, levels }
}

fn causal(system: &System, facts: &Facts) -> CausalView {
    let graph = CausalGraph::over_processes(system, facts);
    let name = |node: u32| node_name(system, graph.nodes()[node as usize]);
    CausalView {
        nodes: (0..graph.nodes().len() as u32).map(name).collect(),
        arcs: (graph.arcs())
            .map(|(from, to, arc)| ArcView {
                from: name(from),
                to: name(to),
                weight: arc.weight,
                reads: arc.reads,
            })
            .collect(),
        independent: graph.independent().into_iter().map(name).collect(),
        components: graph.components().into_iter().max().map_or(0, |c| c as usize + 1),
    }
}

/// What a node of a causal graph is called.
pub fn node_name(system: &System, node: Node) -> String {
    match node {
        Node::Slot(slot) => Names::new(system).slots(&SlotSet::range(slot, slot + 1)).join(""),
        Node::Variable(var) => system.variable(var).name.clone(),
        Node::Process(process) => system.processes[process.0 as usize].name.clone(),
    }
}

fn role(role: Role) -> &'static str {
    match role {
        Role::Data => "data",
        Role::Location => "location",
        Role::Channel => "channel",
        Role::Clock => "clock",
        Role::Monitor => "monitor",
    }
}

fn kind(kind: PropertyKind) -> &'static str {
    match kind {
        PropertyKind::Invariant => "invariant",
        PropertyKind::Assumption => "assumption",
        PropertyKind::Cover => "cover",
        PropertyKind::Liveness => "liveness",
        PropertyKind::Goal => "goal",
        PropertyKind::Proposition => "proposition",
        PropertyKind::Rest => "rest",
        PropertyKind::Formula => "formula",
        PropertyKind::Acceptance => "acceptance",
    }
}
