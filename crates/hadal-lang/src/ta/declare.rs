//! What a network is besides its steps: locations, labels, initial states, the conditions of what is asked.

use super::network::Automaton;
use hadal_system::timed::LocationLabel;
use hadal_system::{
    Action, BinaryOp, Domain, DomainKind, Expr, Location, Process, ProcessId, Property, PropertyBody,
    PropertyKind, Role, Shape, Stmt, StmtKind, System, VarId, Variable,
};

/// Adds a variable for the location of each process, so that expressions may speak of them. `automata` give names and
/// locations only.
pub fn declare_locations(system: &mut System, automata: &[Automaton]) {
    for (n, automaton) in automata.iter().enumerate() {
        let names: Vec<String> = automaton.locations.iter().map(|place| place.name.clone()).collect();
        let last = names.len().max(1) as i64 - 1;
        let domain = Domain {
            name: Some(format!("{}.location", automaton.name)),
            intervals: vec![(0, last)],
            kind: DomainKind::Enum(names),
            undefined: false,
        };
        let domain = system.domains.add(domain);
        // A scalar always fits.
        let Ok(shape) = system.shapes.add(Shape::Scalar(domain), &system.domains) else { continue };
        let location = VarId(system.variables.len() as u32);
        system.variables.push(Variable {
            name: automaton.name.clone(),
            shape,
            role: Role::Location,
            owner: Some(ProcessId(n as u32)),
            span: automaton.span,
        });
        let locations = automaton.locations.iter().map(|place| Location {
            name: place.name.clone(),
            committed: place.committed,
            ..Location::default()
        });
        let locations = locations.collect();
        system.processes.push(Process {
            name: automaton.name.clone(),
            location,
            locations,
            edges: Vec::new(),
        });
    }
}

/// The condition that a process is at a location.
pub fn is_at(system: &System, process: usize, location: usize) -> Expr {
    let var = system.processes[process].location;
    Expr::binary(BinaryOp::Equal, system.whole(var).read(), Expr::constant(location as i64))
}

pub(super) fn labels(automata: &[Automaton]) -> Vec<LocationLabel> {
    let mut labels: Vec<LocationLabel> = Vec::new();
    for (process, automaton) in automata.iter().enumerate() {
        for (location, place) in automaton.locations.iter().enumerate() {
            for name in &place.labels {
                match labels.iter_mut().find(|label| label.name == *name) {
                    Some(label) => label.places.push((process, location)),
                    None => {
                        labels.push(LocationLabel { name: name.clone(), places: vec![(process, location)] })
                    }
                }
            }
        }
    }
    labels
}

/// One start for every choice of initial locations, in front of what the reader initialises.
pub(super) fn add_start(system: &mut System, automata: &[Automaton]) {
    let rest = system.starts.pop().unwrap_or_else(|| Action { name: "start".into(), ..Action::default() });
    let mut ways: Vec<Vec<Stmt>> = vec![Vec::new()];
    for (process, automaton) in automata.iter().enumerate() {
        let place = system.whole(system.processes[process].location);
        let enter = |&at: &usize| {
            Stmt::new(StmtKind::Assign(place.clone(), Expr::constant(at as i64)), automaton.span)
        };
        ways = ways
            .iter()
            .flat_map(|way| {
                automaton
                    .initial
                    .iter()
                    .map(enter)
                    .map(move |stmt| way.iter().cloned().chain([stmt]).collect())
            })
            .collect();
    }
    for mut body in ways {
        body.extend(rest.body.iter().cloned());
        system.starts.push(Action { body, ..rest.clone() });
    }
}

/// States that break what an invariant asks of variables do not exist.
pub(super) fn add_conditions(system: &mut System, automata: &[Automaton]) {
    for (process, automaton) in automata.iter().enumerate() {
        for (location, place) in automaton.locations.iter().enumerate() {
            let Some(condition) = &place.condition else { continue };
            let at = is_at(system, process, location);
            system.properties.push(Property {
                name: format!("{}.{}", automaton.name, place.name),
                kind: PropertyKind::Assumption,
                params: Vec::new(),
                locals: Vec::new(),
                body: PropertyBody::State(Expr::binary(BinaryOp::Implies, at, condition.clone())),
                span: place.span,
            });
        }
    }
}

/// Makes a shape for numbers from 0 up to the most edges of a process, for [`compose`].
pub fn declare_numbers(system: &mut System, automata: &[Automaton]) {
    let most = automata.iter().map(|automaton| automaton.edges.len()).max().unwrap_or(0) as i64;
    let domain = system.domains.add(Domain::range(0, most.max(1), false));
    // A scalar always fits.
    let _ = system.shapes.add(Shape::Scalar(domain), &system.domains);
}
