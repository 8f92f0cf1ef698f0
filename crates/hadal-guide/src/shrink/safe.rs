//! Safe abstraction: a part that depends on nothing else, and whose states all reach each other, can always be brought to
//! where it is needed. It is left out: guards and properties ask only whether some state of it would do, and an action whose
//! body reads it becomes one for each of the values that it reads (Wehrle 2011, sec. 5.3).
//!
//! A part is a set of variables that influence each other and are influenced by no others: a free-running input, say.

use super::cone::Slots;
use super::local::LocalGraph;
use super::remove::{clears, disable, forget_processes, returns_early};
use super::standing::{Standing, is_named, names};
use super::{ActionCopy, Stage};
use hadal_system::facts::{Facts, SlotSet};
use hadal_system::{ActionId, Layout, PropertyBody, PropertyKind, System, VarId};
use std::collections::BTreeSet;

/// Parts moved by more action instances than this are left alone.
const MAX_LABELS: usize = 4096;

/// The system without one safe part; `None` where it has none. To be repeated: what depended only on the part may now
/// be safe itself. Properties that are not asked about must have been made trivial.
pub fn safe(system: &System) -> Option<Stage> {
    look(system, &|_, _| true, Readers::All)
}

/// The same, where a part with these variables, moved by these actions, may also be left out for the sake of something that
/// the system does not show: clocks, say. Nothing but guards may read it then.
pub fn safe_where(system: &System, may: &dyn Fn(&[VarId], &[usize]) -> bool) -> Option<Stage> {
    look(system, may, Readers::Guards)
}

fn look(system: &System, may: &dyn Fn(&[VarId], &[usize]) -> bool, readers: Readers) -> Option<Stage> {
    let facts = Facts::of(system);
    let layout = Layout::natural(system);
    let look = Look { system, facts: &facts, slots: Slots::of(system), layout: &layout, may, readers };
    look.parts().into_iter().find_map(|part| look.without(&part))
}

/// What may read a part that is left out.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Readers {
    Guards,
    /// Guards, bodies, invariants and goals.
    All,
}

struct Look<'a> {
    system: &'a System,
    facts: &'a Facts,
    slots: Slots,
    layout: &'a Layout,
    may: &'a dyn Fn(&[VarId], &[usize]) -> bool,
    readers: Readers,
}

impl Look<'_> {
    /// The sets of variables that influence each other and are influenced by no others that ever change.
    fn parts(&self) -> Vec<Vec<VarId>> {
        let count = self.system.variables.len();
        let mut written = vec![false; count];
        let firing = || self.facts.actions.iter().map(|a| &a.whole).filter(|print| print.can_fire);
        for print in firing() {
            self.slots.variables(&print.may_write).for_each(|var| written[var] = true);
        }
        // What each variable is influenced by.
        let mut by: Vec<BTreeSet<usize>> = vec![BTreeSet::new(); count];
        for print in firing() {
            let mut touched = print.reads.clone();
            touched.extend(&print.may_write);
            let touched: Vec<usize> = self.slots.variables(&touched).filter(|&var| written[var]).collect();
            for var in self.slots.variables(&print.may_write) {
                by[var].extend(&touched);
            }
        }
        let closed = |var: usize| {
            let mut all = BTreeSet::from([var]);
            let mut open = vec![var];
            while let Some(var) = open.pop() {
                open.extend(by[var].iter().filter(|&&other| all.insert(other)));
            }
            all
        };
        // A part is what influences any one of its variables.
        let mut parts: Vec<BTreeSet<usize>> = Vec::new();
        for var in (0..count).filter(|&var| written[var]) {
            let part = closed(var);
            if part.iter().all(|&other| closed(other) == part) && !parts.contains(&part) {
                parts.push(part);
            }
        }
        parts.into_iter().map(|part| part.into_iter().map(|var| VarId(var as u32)).collect()).collect()
    }

    /// The system without the part, where that is safe.
    fn without(&self, part: &[VarId]) -> Option<Stage> {
        let system = self.system;
        let slots = self.slots_of(part);
        let whole: SlotSet = slots.iter().map(|&slot| slot as u32).collect();
        if system.starts.iter().any(returns_early) || self.named_by_functions(part) {
            return None;
        }
        let moves: Vec<usize> = (0..system.actions.len())
            .filter(|&n| {
                self.facts.actions[n].whole.can_fire && self.facts.actions[n].whole.may_write.meets(&whole)
            })
            .collect();
        if !(self.may)(part, &moves) {
            return None;
        }
        let mut labels = Vec::new();
        for &n in &moves {
            let facts = &self.facts.actions[n];
            if facts.whole.may_fault
                || facts.whole.may_drop
                || labels.len() as u64 + facts.count > MAX_LABELS as u64
            {
                return None;
            }
            labels.extend((0..facts.count).map(|i| self.facts.label(ActionId(n as u32), i)));
        }
        let local = LocalGraph::explore(system, self.layout, &slots, &labels)?;
        if local.states.len() < 2 || !local.is_strongly_connected() {
            return None;
        }
        let standing = Standing { system, layout: self.layout, part, slots: &slots, local: &local };
        let mut smaller = system.clone();
        self.ask_for_some_state(&standing, &whole, &mut smaller)?;
        let mut copies = Vec::new();
        for (n, action) in system.actions.iter().enumerate() {
            let print = &self.facts.actions[n].whole;
            if moves.contains(&n) {
                disable(&mut smaller.actions[n]);
            } else if print.can_hold && print.reads.meets(&whole) {
                if print.guard_faults.is_some() || print.may_drop {
                    return None;
                }
                if names(&action.body, part) {
                    self.copy(n, &standing, &mut smaller, &mut copies)?;
                } else {
                    smaller.actions[n].guard = standing.for_some_state(&action.guard)?;
                }
            }
        }
        for start in &mut smaller.starts {
            start.body.extend(clears(system, part));
        }
        forget_processes(&mut smaller, part);
        let (removed, disabled) = (part.to_vec(), moves.len());
        Some(Stage { system: smaller, removed, disabled, local: Some(local), copies })
    }

    /// Makes invariants and goals that read the part ask whether some state of it would break or meet them.
    fn ask_for_some_state(&self, standing: &Standing, whole: &SlotSet, smaller: &mut System) -> Option<()> {
        let properties = smaller.properties.iter_mut().zip(&self.facts.properties);
        for (property, facts) in properties.filter(|(_, facts)| facts.reads.meets(whole)) {
            let PropertyBody::State(body) = &mut property.body else { continue };
            *body = match property.kind {
                // Nobody asks about these.
                PropertyKind::Cover | PropertyKind::Liveness | PropertyKind::Proposition => continue,
                _ if facts.may_fault || self.readers == Readers::Guards => return None,
                PropertyKind::Invariant => standing.for_all_states(body)?,
                PropertyKind::Goal => standing.for_some_state(body)?,
                _ => return None,
            };
        }
        Some(())
    }

    /// Replaces an action whose body reads the part by one for each of the values that it reads.
    fn copy(
        &self,
        n: usize,
        standing: &Standing,
        smaller: &mut System,
        copies: &mut Vec<ActionCopy>,
    ) -> Option<()> {
        let action = &self.system.actions[n];
        let priced = action.cost.as_ref().is_some_and(|cost| is_named(cost, standing.part));
        if self.readers == Readers::Guards || action.outcomes.is_some() || priced {
            return None;
        }
        let of = ActionId(n as u32);
        let body_may_fault = self.facts.actions[n].whole.body_may_fault;
        for copy in standing.copies(&action.guard, &action.body, body_may_fault)? {
            let made = ActionId(smaller.actions.len() as u32);
            let mut another = action.clone();
            (another.guard, another.body) = (copy.guard, copy.body);
            smaller.actions.push(another);
            for process in &mut smaller.processes {
                let edges = process.edges.iter().filter(|edge| edge.action == of);
                let more: Vec<_> =
                    edges.map(|edge| hadal_system::ControlEdge { action: made, ..*edge }).collect();
                process.edges.extend(more);
            }
            copies.push(ActionCopy { of, states: copy.states });
        }
        disable(&mut smaller.actions[n]);
        Some(())
    }

    fn slots_of(&self, part: &[VarId]) -> Vec<usize> {
        let first = self.system.first_slots();
        let of = |var: &VarId| {
            let from = first[var.0 as usize];
            from..from + self.system.shapes.slots(self.system.variable(*var).shape)
        };
        part.iter().flat_map(of).collect()
    }

    fn named_by_functions(&self, part: &[VarId]) -> bool {
        self.system.functions.iter().any(|function| names(&function.body, part))
    }
}
