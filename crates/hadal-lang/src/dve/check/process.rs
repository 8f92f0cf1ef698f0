//! Processes: their locations, locals and transitions, and whether both ends of a channel fit together.

use super::super::ast::{self, Direction, Ident};
use super::super::model::{Effect, Location, Process, Synchronisation, Transition};
use super::names::{Meaning, Scope};
use super::{Checker, ProcessScope};
use crate::diagnostic::Diagnostic;
use crate::text::did_you_mean;
use hadal_system::units::counted;
use std::collections::HashMap;

impl Checker<'_> {
    /// First pass: names, so that other processes can refer to them.
    pub(super) fn declare_process(&mut self, tree: &ast::Process, arguments: &[i64]) {
        let name = match arguments.first() {
            Some(key) => format!("{}({key})", tree.name.text),
            None => tree.name.text.clone(),
        };
        if self.process_scopes.iter().any(|scope| scope.name == name) {
            let finding =
                Diagnostic::error(tree.name.span, format!("the process `{name}` is declared twice"))
                    .label("expected a new name");
            self.findings.push(finding);
        }
        let mut locals = Scope::default();
        for (parameter, value) in tree.parameters.iter().flatten().zip(arguments) {
            locals.insert(parameter, Meaning::Constant(*value));
        }
        let mut locations = HashMap::new();
        for (number, state) in tree.states.iter().enumerate() {
            if locations.insert(state.text.clone(), number).is_some() {
                let finding =
                    Diagnostic::error(state.span, format!("the state `{}` is declared twice", state.text))
                        .label("expected a new name");
                self.findings.push(finding);
            }
        }
        let instance = arguments.first().map(|key| (tree.name.text.clone(), *key));
        self.process_scopes.push(ProcessScope { name: name.clone(), locals, locations, instance });
        let number = self.process_scopes.len() - 1;
        for variable in &tree.variables {
            self.variable(variable, Some(number));
        }
        self.model.processes.push(Process {
            name,
            locations: Vec::new(),
            initial: 0,
            transitions: Vec::new(),
            assertions: Vec::new(),
            span: tree.name.span,
        });
    }

    /// Second pass: locations and transitions.
    pub(super) fn fill_process(&mut self, number: usize, tree: &ast::Process) {
        if tree.states.is_empty() {
            let finding =
                Diagnostic::error(tree.name.span, format!("the process `{}` has no state", tree.name.text))
                    .help("declare its states: `state q, r;`");
            self.findings.push(finding);
        }
        let mut locations: Vec<Location> = tree
            .states
            .iter()
            .map(|state| Location { name: state.text.clone(), committed: false, accepting: false })
            .collect();
        for state in &tree.commit {
            if let Some(at) = self.location(number, state) {
                locations[at].committed = true;
            }
        }
        for state in &tree.accept {
            if let Some(at) = self.location(number, state) {
                locations[at].accepting = true;
            }
        }
        let initial = match tree.init.as_slice() {
            [state] => self.location(number, state).unwrap_or(0),
            [] => {
                if !tree.states.is_empty() {
                    let message = format!("the process `{}` has no initial state", tree.name.text);
                    let help = format!("write `init {};`", tree.states[0].text);
                    self.findings.push(Diagnostic::error(tree.name.span, message).help(help));
                }
                0
            }
            [_, second, ..] => {
                let finding =
                    Diagnostic::error(second.span, "a process has one initial state").label("the second one");
                self.findings.push(finding);
                0
            }
        };
        let mut assertions = Vec::new();
        for (state, condition) in &tree.asserts {
            let at = self.location(number, state);
            let condition = self.term(condition, Some(number));
            if let (Some(at), Some(condition)) = (at, condition) {
                assertions.push((at, condition));
            }
        }
        let transitions = tree.transitions.iter().filter_map(|t| self.transition(number, t)).collect();
        let process = &mut self.model.processes[number];
        process.locations = locations;
        process.initial = initial;
        process.assertions = assertions;
        process.transitions = transitions;
    }

    fn location(&mut self, process: usize, state: &Ident) -> Option<usize> {
        let scope = &self.process_scopes[process];
        let found = scope.locations.get(&state.text).copied();
        if found.is_none() {
            let help = did_you_mean(&state.text, scope.locations.keys().map(String::as_str));
            let mut finding =
                Diagnostic::error(state.span, format!("`{}` has no state `{}`", scope.name, state.text))
                    .label("expected one of its states");
            finding.help = help;
            self.findings.push(finding);
        }
        found
    }

    fn transition(&mut self, process: usize, tree: &ast::Transition) -> Option<Transition> {
        let source = self.location(process, &tree.source);
        let target = self.location(process, &tree.target);
        let guard = match &tree.guard {
            Some(guard) => self.term(guard, Some(process)).map(Some),
            None => Some(None),
        };
        let sync = match &tree.sync {
            Some(sync) => self.synchronisation(process, sync).map(Some),
            None => Some(None),
        };
        let mut effects = Vec::new();
        for effect in &tree.effects {
            let target = self.target(&effect.target, process);
            let value = self.term(&effect.value, Some(process));
            if let (Some(target), Some(value)) = (target, value) {
                effects.push(Effect { target, value });
            }
        }
        Some(Transition {
            source: source?,
            target: target?,
            guard: guard?,
            sync: sync?,
            effects,
            span: tree.span,
        })
    }

    fn synchronisation(&mut self, process: usize, tree: &ast::Synchronisation) -> Option<Synchronisation> {
        let name = &tree.channel;
        let channel = match self.globals.get(&name.text) {
            Some(Meaning::Channel(channel)) => channel,
            other => {
                let mut finding = if other.is_some() {
                    Diagnostic::error(name.span, format!("`{}` is not a channel", name.text))
                } else {
                    Diagnostic::error(name.span, format!("the channel `{}` is not declared", name.text))
                };
                finding.help =
                    did_you_mean(&name.text, self.model.channels.iter().map(|channel| channel.name.as_str()));
                if other.is_none() && finding.help.is_none() {
                    finding.help = Some(format!("declare it: `channel {};`", name.text));
                }
                self.findings.push(finding.label("expected a channel"));
                return None;
            }
        };
        let mut sync = Synchronisation {
            channel,
            direction: tree.direction,
            sent: Vec::new(),
            received: Vec::new(),
            span: tree.span,
        };
        for value in &tree.values {
            match tree.direction {
                Direction::Send => sync.sent.extend(self.term(value, Some(process))),
                Direction::Receive => sync.received.extend(self.target(value, process)),
            }
        }
        if let Some(types) = &self.model.channels[channel].types
            && types.len() != tree.values.len()
        {
            let wanted = counted(types.len() as u64, "value");
            let message = format!("`{}` carries {wanted}, here are {}", name.text, tree.values.len());
            let finding = Diagnostic::error(tree.span, message).label(format!("expected {wanted}"));
            self.findings.push(finding);
        }
        Some(sync)
    }

    /// Untyped channels: every message must have as many values as every receiver takes. Told once per channel.
    pub(super) fn channel_uses(&mut self) {
        for channel in 0..self.model.channels.len() {
            if self.model.channels[channel].types.is_some() {
                continue;
            }
            let ends = |direction: Direction| {
                self.model
                    .processes
                    .iter()
                    .flat_map(|process| &process.transitions)
                    .filter_map(|transition| transition.sync.as_ref())
                    .filter(move |sync| sync.channel == channel && sync.direction == direction)
            };
            let name = &self.model.channels[channel].name;
            let mismatch = ends(Direction::Send).find_map(|send| {
                let receive =
                    ends(Direction::Receive).find(|receive| receive.received.len() != send.sent.len())?;
                let message = format!(
                    "`{name}` is received with {} but sent with {}",
                    counted(receive.received.len() as u64, "value"),
                    send.sent.len()
                );
                Some(Diagnostic::error(receive.span, message).label("expected as many values as are sent"))
            });
            self.findings.list.extend(mismatch);
        }
    }
}
