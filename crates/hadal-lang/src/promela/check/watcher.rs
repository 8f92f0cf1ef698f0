//! Never claims, and the orders of messages that `trace` and `notrace` describe: control graphs that only look.

use super::super::ast::{self, Claim, Name, Proctype};
use super::super::model::{Argument, ElementKind, Op, Process, Term, Trace};
use super::Checker;

impl Checker<'_> {
    /// Builds the graphs of claims and traces.
    pub(super) fn watchers(&mut self) {
        let tree = self.tree;
        for claim in &tree.claims {
            let process = self.watcher(claim);
            self.only_looks(&process);
            self.model.claims.push(process);
        }
        self.in_trace = true;
        for claim in &tree.traces {
            if self.model.trace.is_some() {
                self.error(claim.word.span, "a text has one `trace` or `notrace`");
                continue;
            }
            let process = self.watcher(claim);
            for element in &process.elements {
                if let ElementKind::Op(Op::Event { .. } | Op::Jump) = element.kind {
                    continue;
                }
                if matches!(element.kind, ElementKind::Op(_) | ElementKind::Step(_)) {
                    self.error(element.span, "a trace is made of messages, `if`, `do` and `goto`");
                }
            }
            self.model.trace = Some(Trace { process, negated: &*claim.word.text == "notrace" });
        }
        self.in_trace = false;
    }

    fn watcher(&mut self, claim: &Claim) -> Process {
        let end = claim.body.last().map_or(claim.word.span, |last| last.span);
        let name = claim.name.as_ref().unwrap_or(&claim.word);
        let process = Proctype {
            name: Name { text: name.text.clone(), span: claim.word.span },
            active: None,
            parameters: Vec::new(),
            provided: None,
            priority: None,
            body: claim.body.clone(),
            deterministic: false,
            end,
        };
        let made = self.process(&process);
        if let Some(variable) = made.variables.first() {
            self.error(variable.span, "a claim has no variables of its own: declare it outside");
        }
        made
    }

    fn only_looks(&mut self, claim: &Process) {
        for element in &claim.elements {
            let problem = match &element.kind {
                ElementKind::Op(Op::Condition(term)) if term.starts() => "a claim starts no process",
                ElementKind::Op(
                    Op::Condition(_) | Op::Else | Op::Assert(_) | Op::Print(..) | Op::Jump | Op::Declare(_),
                ) => continue,
                ElementKind::Op(_) => "a claim only looks: it has conditions and assertions",
                ElementKind::Step(_) => "a claim has no `d_step`; write `atomic`",
                _ => continue,
            };
            self.error(element.span, problem);
        }
    }

    /// A send that a trace waits for.
    pub(super) fn sent(&mut self, channel: &ast::Place, values: &[ast::Expr]) -> Op {
        let nothing = Op::Condition(Checker::zero(channel.span));
        let Some(channel) = self.channel(channel) else { return nothing };
        let mut arguments = Vec::new();
        for value in values {
            if let ast::ExprKind::Place(place) = &value.kind
                && &*place.name.text == "_"
            {
                arguments.push(Argument::Ignore);
                continue;
            }
            let term = self.term(value);
            arguments.push(self.wanted(term));
        }
        Op::Event { channel, arguments, sent: true }
    }

    /// A receive that a trace waits for. Variables match everything, as in SPIN.
    pub(super) fn received(&mut self, receive: &ast::Receive) -> Op {
        let nothing = Op::Condition(Checker::zero(receive.channel.span));
        let Some(receive) = self.receive(receive) else { return nothing };
        let mut arguments = Vec::new();
        for argument in receive.arguments {
            arguments.push(match argument {
                Argument::Match(term) => self.wanted(term),
                Argument::Into(_) | Argument::Ignore => Argument::Ignore,
            });
        }
        Op::Event { channel: receive.channel, arguments, sent: false }
    }

    fn wanted(&mut self, term: Term) -> Argument {
        if super::constant(&term).is_none() {
            self.error(term.span, "a trace compares fields with constants; `_` matches everything");
        }
        Argument::Match(term)
    }
}
