//! Actions that bring a process to life: they write its location and variables only while it is not there (its location
//! is 0), and do not look where it stands otherwise. While it lives, they leave it alone.

use hadal_system::facts::{Facts, Footprint, SlotSet};
use hadal_system::visit::{self, Node};
use hadal_system::{Action, Base, BinaryOp, Expr, ExprKind, StmtKind, System, VarId};
use std::collections::HashMap;

/// With more pairs than this, none is looked at.
const MAX_PAIRS: usize = 2000;

/// Which actions bring which processes to life.
pub(super) struct Births {
    /// By action and process, the action as a probe where the process lives.
    probes: HashMap<(usize, usize), usize>,
    /// The slot of each process's location.
    pub(super) locations: Vec<u32>,
}

impl Births {
    /// Finds them, and adds a probe for each to `extended`.
    pub(super) fn find(system: &System, own: &Facts, extended: &mut Vec<Action>) -> Self {
        let first_slots = system.first_slots();
        let slot = |var: VarId| first_slots[var.0 as usize] as u32;
        let locations: Vec<u32> = system.processes.iter().map(|it| slot(it.location)).collect();
        let mut pairs = Vec::new();
        for (n, action) in system.actions.iter().enumerate() {
            for (p, process) in system.processes.iter().enumerate() {
                let moved = process.edges.iter().any(|edge| edge.action.0 as usize == n);
                let written = own.actions[n].whole.may_write.contains(locations[p]);
                if written && !moved && asks_only_for_life(action, process.location) {
                    pairs.push((n, p));
                }
            }
        }
        if pairs.len() > MAX_PAIRS {
            pairs.clear();
        }
        let mut probes = HashMap::new();
        for (n, p) in pairs {
            let location = system.whole(system.processes[p].location).read();
            let lives = Expr::binary(BinaryOp::NotEqual, location, Expr::constant(0));
            let guard = Expr::binary(BinaryOp::And, lives, system.actions[n].guard.clone());
            probes.insert((n, p), extended.len());
            extended.push(Action { guard, ..system.actions[n].clone() });
        }
        Births { probes, locations }
    }

    /// What a step through these actions reads and may write while a process lives; nothing where it may end that.
    pub(super) fn while_living(
        &self,
        facts: &Facts,
        members: &[usize],
        process: usize,
    ) -> Option<(SlotSet, SlotSet)> {
        let (mut reads, mut writes) = (SlotSet::new(), SlotSet::new());
        let location = self.locations[process];
        for &member in members {
            match self.probes.get(&(member, process)) {
                Some(&probe) => {
                    let print = &facts.actions[probe].whole;
                    if print.may_write.contains(location) {
                        return None;
                    }
                    let mut read = print.reads.clone();
                    read.remove_range(location, location + 1);
                    reads.extend(&read);
                    writes.extend(&print.may_write);
                }
                None => {
                    let print = &facts.actions[member].whole;
                    if print.may_write.contains(location) {
                        return None;
                    }
                    reads.extend(&print.reads);
                    writes.extend(&print.may_write);
                }
            }
        }
        Some((reads, writes))
    }

    /// Whether an action moves a process in no other way than by bringing it to life.
    pub(super) fn only_bears(&self, facts: &Facts, action: usize, process: usize) -> bool {
        self.probes.contains_key(&(action, process)) && self.while_living(facts, &[action], process).is_some()
    }

    /// The processes that any of these actions brings to life.
    pub(super) fn borne(&self, members: &[usize]) -> Vec<usize> {
        let any = |p: &usize| members.iter().any(|&member| self.probes.contains_key(&(member, *p)));
        if self.probes.is_empty() { Vec::new() } else { (0..self.locations.len()).filter(any).collect() }
    }

    /// The processes that live where an instance fires, before and after.
    pub(super) fn living(&self, print: &Footprint) -> Vec<usize> {
        let lives = |&p: &usize| {
            let slot = self.locations[p];
            let without_0 = |values: Option<&hadal_system::facts::ValueSet>| {
                values.is_some_and(|values| !values.contains(0) && !values.may_be_undefined())
            };
            without_0(print.precondition(slot))
                && (!print.may_write.contains(slot) || without_0(print.result(slot)))
        };
        if self.probes.is_empty() { Vec::new() } else { (0..self.locations.len()).filter(lives).collect() }
    }
}

/// Whether a location is named only in comparisons with 0 and where it is set.
fn asks_only_for_life(action: &Action, location: VarId) -> bool {
    let (mut named, mut explained, mut calls) = (0, 0, false);
    let is_location = |expr: &Expr| matches!(&expr.kind, ExprKind::Read(place) if place.base == Base::Global(location) && place.steps.is_empty());
    let mut note = |node: Node| match node {
        Node::Place(place) => named += usize::from(place.base == Base::Global(location)),
        Node::Expr(expr) => match &expr.kind {
            ExprKind::Binary(BinaryOp::Equal | BinaryOp::NotEqual, left, right) => {
                explained += usize::from(is_location(left) && right.as_const() == Some(0));
            }
            ExprKind::Call(..) => calls = true,
            _ => {}
        },
        Node::Stmt(stmt) => match &stmt.kind {
            StmtKind::Assign(place, _) => explained += usize::from(place.base == Base::Global(location)),
            StmtKind::Call(..) => calls = true,
            _ => {}
        },
    };
    visit::expr(&action.guard, &mut note);
    visit::block(&action.body, &mut note);
    !calls && named == explained
}
