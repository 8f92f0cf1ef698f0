//! Who moves together: the joint steps of a model, in the order in which their parts take effect.
//!
//! A step is one transition alone, a sender with a receiver of the same handshake channel, either of these with a
//! transition of the property process, or (in a synchronous system) one transition of every process. Within a step
//! values are sent first, then the receiver's effects run, then the sender's, then the property's.

use super::super::ast::{Composition, Direction, Type};
use super::super::model::{Lvalue, Model, Term, Transition};
use crate::diagnostic::{Diagnostic, Diagnostics};
use hadal_system::Span;

/// The most joint steps of a model.
const MAX_STEPS: usize = 200_000;

/// Something that happens at once.
pub(super) struct Joint<'m> {
    /// The transitions taking part, the one that gives the step its name first.
    pub members: Vec<Member<'m>>,
    /// What happens to the variables, in order.
    pub operations: Vec<Operation<'m>>,
    /// The channel a handshake goes through.
    pub handshake: Option<usize>,
    /// Where the step stands in the source.
    pub span: Span,
}

/// A process with the transition it takes.
#[derive(Clone, Copy)]
pub(super) struct Member<'m> {
    pub process: usize,
    pub transition: &'m Transition,
}

/// One change of the state.
#[derive(Clone, Copy)]
pub(super) enum Operation<'m> {
    /// Assigns a value.
    Assign { target: &'m Lvalue, value: &'m Term },
    /// Assigns a value that came through a channel, cut to the channel's type where it has one. The target's index is
    /// the one before the step.
    Transfer { target: &'m Lvalue, value: &'m Term, cut: Option<Type> },
    /// Puts a message at the end of a buffer.
    Push { channel: usize, values: &'m [Term], span: Span },
    /// Takes the first message of a buffer.
    Pop { channel: usize, targets: &'m [Lvalue], span: Span },
    /// A process enters a location.
    Enter { process: usize, location: usize, span: Span },
}

/// All joint steps of the model, in source order. With a property process, the steps that it takes alone when the
/// rest of the system is stuck come last; [`Joint::is_idle`] tells them.
pub(super) fn joint_steps<'m>(model: &'m Model, findings: &mut Diagnostics) -> Vec<Joint<'m>> {
    let steps = match model.composition {
        Composition::Asynchronous => interleaved(model, findings),
        Composition::Synchronous => lockstep(model, findings),
    };
    let Some(property) = model.property.filter(|_| model.composition == Composition::Asynchronous) else {
        return steps;
    };
    let watching: Vec<Member> = model.processes[property]
        .transitions
        .iter()
        .map(|transition| Member { process: property, transition })
        .collect();
    for member in watching.iter().filter(|member| member.transition.sync.is_some()) {
        findings.push(
            Diagnostic::error(member.transition.span, "the property process cannot synchronise on a channel")
                .help("a property watches: test locations and variables of other processes in its guards"),
        );
    }
    if steps.len().saturating_mul(watching.len().max(1)) > MAX_STEPS {
        too_many(model, findings);
        return Vec::new();
    }
    let mut product = Vec::new();
    for step in &steps {
        for member in &watching {
            let mut joint = Joint {
                members: step.members.clone(),
                operations: step.operations.clone(),
                handshake: step.handshake,
                span: step.span,
            };
            joint.members.push(*member);
            joint.run(*member);
            product.push(joint);
        }
    }
    for member in watching {
        let mut joint = Joint {
            members: vec![member],
            operations: Vec::new(),
            handshake: None,
            span: member.transition.span,
        };
        joint.run(member);
        product.push(joint);
    }
    product
}

impl<'m> Joint<'m> {
    /// Whether the property process moves alone: it may only where nothing else can.
    pub(super) fn is_idle(&self, model: &Model) -> bool {
        self.members.len() == 1 && model.property == Some(self.members[0].process)
    }

    /// Adds a member's own effects.
    fn run(&mut self, member: Member<'m>) {
        let span = member.transition.span;
        self.operations.push(Operation::Enter {
            process: member.process,
            location: member.transition.target,
            span,
        });
        for effect in &member.transition.effects {
            self.operations.push(Operation::Assign { target: &effect.target, value: &effect.value });
        }
    }
}

/// Whether the member leaves a committed location.
pub(super) fn is_committed(model: &Model, member: Member) -> bool {
    model.processes[member.process].locations[member.transition.source].committed
}

fn too_many(model: &Model, findings: &mut Diagnostics) {
    let span = model.processes.first().map_or(Span::default(), |process| process.span);
    findings.push(
        Diagnostic::error(span, "the processes have too many ways to move together")
            .help(format!("hadal handles up to {MAX_STEPS} joint transitions")),
    );
}

/// Asynchronous: one transition at a time, or a pair that shakes hands.
fn interleaved<'m>(model: &'m Model, findings: &mut Diagnostics) -> Vec<Joint<'m>> {
    let mut steps = Vec::new();
    let system = || model.processes.iter().enumerate().filter(|(number, _)| Some(*number) != model.property);
    let mut receivers: Vec<Vec<Member>> = vec![Vec::new(); model.channels.len()];
    for (process, tree) in system() {
        for transition in &tree.transitions {
            if let Some(sync) = &transition.sync
                && sync.direction == Direction::Receive
                && model.channels[sync.channel].capacity == 0
            {
                receivers[sync.channel].push(Member { process, transition });
            }
        }
    }
    for (process, tree) in system() {
        for transition in &tree.transitions {
            let sender = Member { process, transition };
            let mut joint = Joint {
                members: vec![sender],
                operations: Vec::new(),
                handshake: None,
                span: transition.span,
            };
            match &transition.sync {
                None => joint.run(sender),
                Some(sync) if model.channels[sync.channel].capacity > 0 => {
                    joint.operations.push(match sync.direction {
                        Direction::Send => {
                            Operation::Push { channel: sync.channel, values: &sync.sent, span: sync.span }
                        }
                        Direction::Receive => {
                            Operation::Pop { channel: sync.channel, targets: &sync.received, span: sync.span }
                        }
                    });
                    joint.run(sender);
                }
                Some(sync) if sync.direction == Direction::Receive => continue,
                Some(sync) => {
                    for receiver in receivers[sync.channel].iter().filter(|member| member.process != process)
                    {
                        // Where one of two is committed only committed ones move, so the pair never does.
                        if is_committed(model, sender) != is_committed(model, *receiver) {
                            continue;
                        }
                        steps.push(handshake(model, sender, *receiver, findings));
                        if steps.len() > MAX_STEPS {
                            too_many(model, findings);
                            return Vec::new();
                        }
                    }
                    continue;
                }
            }
            steps.push(joint);
        }
    }
    steps
}

fn handshake<'m>(
    model: &'m Model,
    sender: Member<'m>,
    receiver: Member<'m>,
    findings: &mut Diagnostics,
) -> Joint<'m> {
    let mut joint = Joint {
        members: vec![sender, receiver],
        operations: Vec::new(),
        handshake: None,
        span: sender.transition.span,
    };
    if let (Some(send), Some(receive)) = (&sender.transition.sync, &receiver.transition.sync) {
        joint.handshake = Some(send.channel);
        let types = model.channels[send.channel].types.as_deref();
        for (item, (value, target)) in send.sent.iter().zip(&receive.received).enumerate() {
            let cut = types.and_then(|types| types.get(item)).copied();
            joint.operations.push(Operation::Transfer { target, value, cut });
        }
    }
    joint.run(receiver);
    joint.run(sender);
    warn_of_shared_writes(model, sender, receiver, findings);
    joint
}

/// DiVinE makes it an error that both ends of a handshake assign the same global variable.
fn warn_of_shared_writes(model: &Model, sender: Member, receiver: Member, findings: &mut Diagnostics) {
    for effect in &sender.transition.effects {
        let variable = effect.target.variable;
        let shared = model.variables[variable].owner.is_none()
            && receiver.transition.effects.iter().any(|other| other.target.variable == variable);
        if shared {
            let message = format!("both ends of a handshake assign `{}`", model.variables[variable].name);
            findings.push(
                Diagnostic::warning(effect.target.span, message)
                    .label("the receiver's effects run first, then these; DiVinE makes it an error"),
            );
            return;
        }
    }
}

/// Synchronous: every process takes a transition at once.
fn lockstep<'m>(model: &'m Model, findings: &mut Diagnostics) -> Vec<Joint<'m>> {
    let mut choices: Vec<Vec<Member>> = vec![Vec::new()];
    for (process, tree) in model.processes.iter().enumerate() {
        let mut longer = Vec::new();
        for choice in &choices {
            for transition in &tree.transitions {
                let mut members = choice.clone();
                members.push(Member { process, transition });
                longer.push(members);
            }
            if longer.len() > MAX_STEPS {
                too_many(model, findings);
                return Vec::new();
            }
        }
        choices = longer;
    }
    let mut steps = Vec::new();
    for members in choices {
        let Some(first) = members.first() else { continue };
        let mut joint = Joint {
            members: members.clone(),
            operations: Vec::new(),
            handshake: None,
            span: first.transition.span,
        };
        for member in members {
            joint.run(member);
        }
        steps.push(joint);
    }
    steps
}
