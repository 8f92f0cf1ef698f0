//! Interference contexts (Wehrle 2011, ch. 4): after a transition that brings nothing that is looked for nearer, those that
//! have to do with it come first, by their distance in the interference graph.

use super::Step;
use hadal_exec::Model;
use hadal_exec::symmetry::SymmetryMode;
use hadal_system::facts::{Facts, Interference};
use hadal_system::guide::Goal;
use hadal_system::{
    Action, ActionId, Expr, ExprKind, Label, PropertyBody, PropertyKind, Role, System, UnaryOp,
};
use std::sync::OnceLock;

/// A level that no transition has: those of different components.
const APART: u8 = u8::MAX;

/// Which queue a level goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Index {
    /// One less than the level: what interferes directly is not put off. The published figures follow this.
    Shifted,
    /// The level, as the published algorithm says.
    Literal,
}

/// Interference between the transitions of a model, and which of them are innocent.
pub struct Contexts {
    interference: Interference,
    /// The class of each label.
    class_of: Vec<u32>,
    /// By class, the level of every other; worked out when first asked for.
    levels: Vec<OnceLock<Box<[u8]>>>,
    innocent: Vec<bool>,
    /// Whether what lies in other components may be left out after an innocent transition.
    prunes: bool,
}

impl Contexts {
    /// The contexts of a model's transitions, for this goal.
    pub fn of(model: &Model, facts: &Facts, goal: &Goal) -> Self {
        let system = model.system();
        let interference = Interference::of(system, facts);
        let bases = system.label_bases(&system.actions);
        let class_of: Vec<u32> = (0..system.actions.len())
            .flat_map(|action| {
                let interference = &interference;
                let count = bases[action + 1] - bases[action];
                (0..count).map(move |n| interference.class(ActionId(action as u32), n))
            })
            .collect();
        let innocent = innocent(system, facts, goal, class_of.len());
        let levels = (0..interference.class_count()).map(|_| OnceLock::new()).collect();
        let prunes = pruning_is_exact(model, goal);
        Contexts { interference, class_of, levels, innocent, prunes }
    }

    /// Whether the transition satisfies no part of what is looked for.
    pub fn is_innocent(&self, label: Label) -> bool {
        self.innocent.get(label.0 as usize).copied().unwrap_or(false)
    }

    /// Whether successors may be left out at all.
    pub fn prunes(&self) -> bool {
        self.prunes
    }

    /// The class of a transition: those of one class read and write the same.
    pub fn class(&self, label: Label) -> u32 {
        self.class_of[label.0 as usize]
    }

    /// Steps of interference from one transition to another; `None` where nothing connects them.
    pub fn level(&self, from: Label, to: Label) -> Option<u32> {
        if from == to {
            return Some(0);
        }
        self.class_level(self.class(from), self.class(to))
    }

    /// Steps of interference between different transitions of two classes.
    pub fn class_level(&self, from: u32, to: u32) -> Option<u32> {
        let row = self.levels[from as usize].get_or_init(|| {
            let steps = self.interference.levels(from);
            steps
                .into_iter()
                .map(|level| level.map_or(APART, |n| n.min(u32::from(APART) - 1) as u8))
                .collect()
        });
        if from == to {
            // Two different transitions of one class meet directly, or through a third.
            if self.interference.interfere(from, to) {
                return Some(1);
            }
            return row.contains(&1).then_some(2);
        }
        match row[to as usize] {
            APART => None,
            level => Some(u32::from(level)),
        }
    }

    /// The greatest level of any pair that is connected, as far as the rows were asked for.
    pub fn greatest_level(&self) -> u32 {
        let classes = 0..self.interference.class_count() as u32;
        classes
            .flat_map(|from| (0..self.interference.class_count() as u32).map(move |to| (from, to)))
            .filter_map(|(from, to)| self.class_level(from, to))
            .max()
            .unwrap_or(0)
    }

    /// Which queue a step goes to; `None` where it may be left out.
    pub(super) fn queue(&self, step: &Step, index: Index) -> Option<u32> {
        let Some(incoming) = step.incoming.filter(|&label| self.is_innocent(label)) else { return Some(0) };
        match self.level(incoming, step.label) {
            Some(level) => Some(match index {
                Index::Shifted => level.saturating_sub(1),
                Index::Literal => level,
            }),
            None if self.prunes => None,
            None => Some(u32::from(APART)),
        }
    }
}

/// Whether leaving out other components is exact (Wehrle 2011, prop. 4.5): what is looked for is a predicate of single
/// states, transitions are told apart in every state, and nothing but variables couples them.
fn pruning_is_exact(model: &Model, goal: &Goal) -> bool {
    let system = model.system();
    let by_symmetry = model.symmetry().is_some_and(|s| s.mode() != SymmetryMode::Off);
    let timed = system.variables.iter().any(|variable| variable.role == Role::Clock);
    let assumes = system.properties.iter().any(|property| property.kind == PropertyKind::Assumption);
    !goal.deadlock && !goal.faults && !by_symmetry && !timed && !assumes
}

/// Which labels satisfy no part of what is looked for: whatever they write of what a predicate reads is a value that the
/// predicate does not allow.
fn innocent(system: &System, facts: &Facts, goal: &Goal, labels: usize) -> Vec<bool> {
    if goal.deadlock {
        return vec![false; labels];
    }
    let bases = system.property_bases();
    // The condition of each property as the guard of an action: the facts then say which values it demands.
    let mut conditions = system.clone();
    conditions.actions.clear();
    let mut wanted: Vec<(usize, Vec<u64>)> = Vec::new();
    for (n, property) in system.properties.iter().enumerate() {
        let PropertyBody::State(condition) = &property.body else { continue };
        let instances = (bases[n]..bases[n + 1]).filter(|id| goal.properties.iter().any(|p| p.0 == *id));
        let instances: Vec<u64> = instances.map(|id| u64::from(id - bases[n])).collect();
        if instances.is_empty() {
            continue;
        }
        let guard = match property.kind {
            PropertyKind::Invariant => {
                Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(condition.clone())), property.span)
            }
            _ => condition.clone(),
        };
        wanted.push((conditions.actions.len(), instances));
        conditions.actions.push(Action {
            name: property.name.clone(),
            params: property.params.clone(),
            locals: property.locals.clone(),
            guard,
            span: property.span,
            ..Action::default()
        });
    }
    conditions.processes.clear();
    let demanded = Facts::of(&conditions);
    let is_innocent = |label: u32| {
        let Some(print) = facts.footprint(Label(label)) else { return false };
        wanted.iter().all(|(action, instances)| {
            instances.iter().all(|&n| {
                let condition = demanded.actions[*action].instance(n);
                print.may_write.common(&condition.reads).iter().all(|slot| {
                    match (print.result(slot), condition.precondition(slot)) {
                        (Some(after), Some(allowed)) => after.is_disjoint(allowed),
                        _ => false,
                    }
                })
            })
        })
    };
    (0..labels as u32).map(is_innocent).collect()
}
