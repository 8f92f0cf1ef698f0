//! Decomposition: a question about parts of the state that have nothing to do with each other is answered part by part
//! (Wehrle 2011, sec. 5.2).
//!
//! What is wrong with a property is a conjunction; each conjunct that speaks of one part only is looked for in that part
//! alone. All are reachable together exactly when each is reachable by itself, and a trace is one after the other.

use super::Stage;
use super::cone::{Slots, restrict};
use hadal_system::facts::{Facts, Footprint, SlotSet};
use hadal_system::system::instance_count;
use hadal_system::{BinaryOp, Expr, ExprKind, Property, PropertyBody, PropertyKind, System, UnaryOp};
use std::collections::{BTreeMap, BTreeSet};

/// A question taken apart.
#[derive(Clone, Debug)]
pub struct Split {
    /// How many parts of the state are asked about, or may meet errors.
    pub components: usize,
    /// The searches to make.
    pub parts: Vec<Part>,
}

/// One search.
#[derive(Clone, Debug)]
pub struct Part {
    /// The property that is wrong where this and its other parts are met; `None` where only errors are looked for. Every
    /// error of the model is met in one of those.
    pub property: Option<usize>,
    /// The system of the part: nothing else moves in it, and only this part of the property is asked about.
    pub stage: Stage,
}

/// Takes the question apart; `None` where it is about one part only, or there is more than one initial state.
/// Properties that are not asked about must have been made trivial.
pub fn split(system: &System) -> Option<Split> {
    if system.label_bases(&system.starts).last() != Some(&1) {
        return None;
    }
    let facts = Facts::of(system);
    let slots = Slots::of(system);
    let mut join = Join::new(system, &facts, &slots);
    let pieces = pieces(system, &facts);
    for piece in &pieces {
        join.all(&piece.reads);
    }
    for (property, facts) in system.properties.iter().zip(&facts.properties) {
        if property.kind == PropertyKind::Assumption {
            join.all(&facts.reads);
        }
    }
    // The component of every action that may fail, and of every piece; none where only constants are read.
    let failing: BTreeMap<usize, Option<usize>> = (facts.actions.iter().enumerate())
        .filter(|(_, action)| action.whole.may_fault)
        .map(|(n, action)| (n, join.component(&touched(&action.whole))))
        .collect();
    let mut asked: BTreeSet<usize> = failing.values().flatten().copied().collect();
    let mut groups: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
    for (n, piece) in pieces.iter().enumerate() {
        let component = join.component(&piece.reads).unwrap_or(0);
        asked.insert(component);
        groups.entry((piece.property, component)).or_default().push(n);
    }
    if asked.len() < 2 {
        return None;
    }
    let mut parts = Vec::new();
    let mut part = |property: Option<usize>, component: usize, pieces: Vec<&Piece>| {
        let matters =
            |action: usize| failing.get(&action).is_some_and(|at| at.is_none_or(|at| at == component));
        let mut roots = SlotSet::new();
        for (property, facts) in system.properties.iter().zip(&facts.properties) {
            if property.kind == PropertyKind::Assumption {
                roots.extend(&facts.reads);
            }
        }
        pieces.iter().for_each(|piece| roots.extend(&piece.reads));
        let narrowed = narrow(system, property, &pieces);
        let stage = restrict(&narrowed, &facts, roots, matters);
        let stage = stage.unwrap_or(Stage {
            system: narrowed,
            removed: Vec::new(),
            disabled: 0,
            local: None,
            copies: Vec::new(),
        });
        parts.push(Part { property, stage });
    };
    for (&(property, component), members) in &groups {
        part(Some(property), component, members.iter().map(|&n| &pieces[n]).collect());
    }
    // Where a part of a property is met, its search ends: errors behind that are looked for by themselves.
    let mut may_fail: BTreeSet<usize> = failing.values().flatten().copied().collect();
    if may_fail.is_empty() && !failing.is_empty() {
        may_fail.extend(asked.first());
    }
    for component in may_fail {
        part(None, component, Vec::new());
    }
    Some(Split { components: asked.len(), parts })
}

/// A conjunct of what is wrong with a property, or the whole of it.
struct Piece {
    property: usize,
    /// The conjunct; `None` for a property that is not taken apart.
    wrong: Option<Expr>,
    reads: SlotSet,
}

fn pieces(system: &System, facts: &Facts) -> Vec<Piece> {
    let mut pieces = Vec::new();
    for (n, property) in system.properties.iter().enumerate() {
        let Some(truth) = property.kind.found_when() else { continue };
        let PropertyBody::State(condition) = &property.body else { continue };
        if condition.as_const().is_some_and(|value| (value != 0) != truth) {
            continue;
        }
        let whole = instance_count(&property.params, &system.domains) != 1 || facts.properties[n].may_fault;
        if whole {
            pieces.push(Piece { property: n, wrong: None, reads: facts.properties[n].reads.clone() });
            continue;
        }
        let mut conjuncts = Vec::new();
        take_apart(condition, truth, &mut conjuncts);
        // The facts know what each reads when each is a property of its own.
        let mut asking = system.clone();
        asking.properties = (conjuncts.iter())
            .map(|conjunct| Property { body: PropertyBody::State(conjunct.clone()), ..property.clone() })
            .collect();
        let reads = Facts::of(&asking).properties.into_iter().map(|p| p.reads);
        pieces.extend(conjuncts.into_iter().zip(reads).map(|(wrong, reads)| Piece {
            property: n,
            wrong: Some(wrong),
            reads,
        }));
    }
    pieces
}

/// Adds expressions that are all true exactly where `condition` is `truth`.
fn take_apart(condition: &Expr, truth: bool, out: &mut Vec<Expr>) {
    match &condition.kind {
        ExprKind::Unary(UnaryOp::Not, of) => take_apart(of, !truth, out),
        ExprKind::Binary(BinaryOp::And, left, right) if truth => {
            take_apart(left, true, out);
            take_apart(right, true, out);
        }
        ExprKind::Binary(BinaryOp::Or, left, right) if !truth => {
            take_apart(left, false, out);
            take_apart(right, false, out);
        }
        ExprKind::Binary(BinaryOp::Implies, left, right) if !truth => {
            take_apart(left, true, out);
            take_apart(right, false, out);
        }
        _ if truth => out.push(condition.clone()),
        _ => out.push(not(condition.clone())),
    }
}

fn not(of: Expr) -> Expr {
    let span = of.span;
    Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(of)), span)
}

/// The system that asks only about these pieces of the property.
fn narrow(system: &System, property: Option<usize>, pieces: &[&Piece]) -> System {
    let mut system = system.clone();
    for (n, asked) in system.properties.iter_mut().enumerate() {
        let met: Option<Expr> = match asked.kind {
            PropertyKind::Invariant | PropertyKind::Goal if Some(n) == property => {
                let wrong: Option<Vec<Expr>> = pieces.iter().map(|piece| piece.wrong.clone()).collect();
                match wrong {
                    Some(wrong) => Some(Expr::all(wrong)),
                    None => continue,
                }
            }
            PropertyKind::Invariant | PropertyKind::Goal => None,
            PropertyKind::Assumption
            | PropertyKind::Cover
            | PropertyKind::Liveness
            | PropertyKind::Proposition
            | PropertyKind::Rest
            | PropertyKind::Formula
            | PropertyKind::Acceptance => continue,
        };
        let met = met.unwrap_or_else(|| Expr::constant(0));
        let condition = match (asked.kind, met.as_const()) {
            (PropertyKind::Goal, _) => met,
            (_, Some(value)) => Expr::constant((value == 0).into()),
            (_, None) => not(met),
        };
        asked.body = PropertyBody::State(condition);
    }
    system
}

fn touched(print: &Footprint) -> SlotSet {
    let mut touched = print.reads.clone();
    touched.extend(&print.may_write);
    touched
}

/// Variables that have to do with each other; those that never change have to do with nothing.
struct Join<'a> {
    slots: &'a Slots,
    written: Vec<bool>,
    parent: Vec<usize>,
}

impl<'a> Join<'a> {
    fn new(system: &System, facts: &Facts, slots: &'a Slots) -> Self {
        let count = system.variables.len();
        let mut join = Join { slots, written: vec![false; count], parent: (0..count).collect() };
        let prints: Vec<&Footprint> = facts.actions.iter().map(|a| &a.whole).collect();
        for print in prints.iter().filter(|print| print.can_fire) {
            slots.variables(&print.may_write).for_each(|var| join.written[var] = true);
        }
        for print in prints {
            if print.may_fault || (print.can_fire && !print.may_write.is_empty()) {
                join.all(&touched(print));
            }
        }
        join
    }

    /// These have to do with each other.
    fn all(&mut self, slots: &SlotSet) {
        let variables: Vec<usize> = self.slots.variables(slots).filter(|&var| self.written[var]).collect();
        for pair in variables.windows(2) {
            let (a, b) = (self.root(pair[0]), self.root(pair[1]));
            self.parent[a.max(b)] = a.min(b);
        }
    }

    /// The component of the first of them that ever changes.
    fn component(&self, slots: &SlotSet) -> Option<usize> {
        self.slots.variables(slots).find(|&var| self.written[var]).map(|var| self.root(var))
    }

    fn root(&self, mut var: usize) -> usize {
        while self.parent[var] != var {
            var = self.parent[var];
        }
        var
    }
}
