//! `xs` and `xr`, where statements are merged and they are believed: an error where another process uses the channel.
//!
//! As SPIN's `q_S_check` and `q_R_check` (`pan.c`), which its reduction makes: a process that says that it alone sends to a channel
//! is there, and another sends to it or asks how full it is. SPIN remembers who came first, in the order of its
//! search; here whoever lives counts.

use super::super::ast::Way;
use super::super::model::{Op, TermKind};
use super::slots::op_terms;
use super::term::{and, not, or};
use super::{Env, Lowering};
use hadal_system::{CheckKind, Expr, Span, Stmt, StmtKind};

impl Lowering<'_> {
    /// Whether what processes say about channels is believed.
    fn believes(&self) -> bool {
        let some = |it: &super::super::model::Process| !it.alone.is_empty();
        self.model.processes.iter().any(|it| !it.merged.is_empty()) && self.model.processes.iter().any(some)
    }

    /// Checks before a statement that the channels it uses are no other process's alone.
    pub(super) fn keeps_out(&mut self, op: &Op, queue: Option<usize>, span: Span, env: Env) -> Vec<Stmt> {
        let (Some(own), true) = (env.slot, self.believes()) else { return Vec::new() };
        let mut used = Vec::new();
        match (op, queue) {
            (Op::Send { .. }, Some(queue)) => used.push((Way::Send, queue, Expr::constant(1))),
            (Op::Receive(_), Some(queue)) => used.push((Way::Receive, queue, Expr::constant(1))),
            _ => {}
        }
        let mut asked = Vec::new();
        op_terms(op, &mut |term| match &term.kind {
            TermKind::Channel(word, channel) => {
                let ways: &[Way] = match *word {
                    "nempty" | "full" => &[Way::Receive],
                    "nfull" | "empty" => &[Way::Send],
                    _ => &[Way::Send, Way::Receive],
                };
                asked.extend(ways.iter().map(|&way| (way, (**channel).clone())));
            }
            TermKind::Poll(receive) => {
                asked.extend([Way::Send, Way::Receive].map(|way| (way, receive.channel.clone())));
            }
            _ => {}
        });
        for (way, channel) in asked {
            used.extend(
                self.queues_of(&channel, None, env).into_iter().map(|(here, queue)| (way, queue, here)),
            );
        }
        let mut checks = Vec::new();
        for (way, queue, here) in used {
            let anothers = self.is_claimed(way, queue, Some(own));
            let condition = not(and(here, anothers));
            if condition.as_const() != Some(1) {
                let word = if way == Way::Send {
                    "xs: another process says that it alone sends here"
                } else {
                    "xr: another process says that it alone receives here"
                };
                checks.push(check(condition, word, span));
            }
        }
        checks
    }

    /// Checks that nobody says of a rendezvous channel that it is its own.
    pub(super) fn no_meeting(&mut self, queue: usize, span: Span) -> Vec<Stmt> {
        if !self.believes() {
            return Vec::new();
        }
        let (sent, got) =
            (self.is_claimed(Way::Send, queue, None), self.is_claimed(Way::Receive, queue, None));
        let condition = not(or(sent, got));
        match condition.as_const() {
            Some(1) => Vec::new(),
            _ => vec![check(condition, "xs and xr cannot be said of a rendezvous channel", span)],
        }
    }

    /// Whether a process besides `own` lives that says that it alone uses the channel so.
    fn is_claimed(&mut self, way: Way, queue: usize, own: Option<usize>) -> Expr {
        let model = self.model;
        let mut any = Expr::constant(0);
        for slot in (0..self.slots.len()).filter(|&slot| Some(slot) != own) {
            for (said, channel) in &model.processes[self.slots[slot].class].alone {
                if *said != way {
                    continue;
                }
                for (here, other) in self.queues_of(channel, None, Env::of(slot)) {
                    if other == queue {
                        any = or(any, and(not(self.is_at(slot, 0)), here));
                    }
                }
            }
        }
        any
    }
}

fn check(condition: Expr, message: &str, span: Span) -> Stmt {
    Stmt::new(StmtKind::Check { kind: CheckKind::Assert, condition, message: message.to_owned() }, span)
}
