//! What a part of the state stands for once it is left out: expressions that read it ask whether some state of it would do, and
//! bodies that read it become one for each of the values that they read.

use super::local::LocalGraph;
use hadal_system::fold::Fold;
use hadal_system::visit::{self, Node};
use hadal_system::{
    Base, BinaryOp, Expr, ExprKind, Layout, Place, Shape, Step, Stmt, System, UnaryOp, Value, VarId,
};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Nothing is asked about more combinations of removed scalars than this.
const MAX_COMBINATIONS: usize = 64;

/// A part that is to be left out, and how it moves by itself.
pub(super) struct Standing<'a> {
    pub(super) system: &'a System,
    pub(super) layout: &'a Layout,
    pub(super) part: &'a [VarId],
    /// Its slots, in the order of the graph's codes.
    pub(super) slots: &'a [usize],
    pub(super) local: &'a LocalGraph,
}

/// Values of the scalars of the part that matter, and the states of it that have them.
struct Way {
    /// Of all its slots; what does not matter is 0.
    values: Vec<Value>,
    states: Vec<usize>,
}

/// An action's guard and body while the part is in one of these states.
pub(super) struct Copied {
    pub(super) guard: Expr,
    pub(super) body: Vec<Stmt>,
    pub(super) states: Vec<usize>,
}

impl Standing<'_> {
    /// The expression, true where it is for some state of the part. It cannot meet an error.
    pub(super) fn for_some_state(&self, expr: &Expr) -> Option<Expr> {
        let mut read = BTreeSet::new();
        visit::expr(expr, &mut |node| self.note(node, &mut read));
        let mut disjuncts: Vec<Expr> = Vec::new();
        for way in self.ways(&read)? {
            let disjunct = self.knowing(&way).expr(expr);
            if is_named(&disjunct, self.part) {
                return None;
            }
            match disjunct.as_const() {
                Some(0) => {}
                Some(_) => return Some(Expr::constant(1)),
                None if disjuncts.contains(&disjunct) => {}
                None => disjuncts.push(disjunct),
            }
        }
        let any = disjuncts.into_iter().reduce(|left, right| Expr::binary(BinaryOp::Or, left, right));
        Some(any.unwrap_or_else(|| Expr::constant(0)))
    }

    /// The expression, true where it is for every state of the part. It cannot meet an error.
    pub(super) fn for_all_states(&self, expr: &Expr) -> Option<Expr> {
        let not = |of: Expr| {
            let span = of.span;
            Expr::new(ExprKind::Unary(UnaryOp::Not, Box::new(of)), span)
        };
        self.for_some_state(&not(expr.clone())).map(not)
    }

    /// An action for each of the values that it reads of the part. Where its body may meet an error, it must not compute
    /// indices into the part.
    pub(super) fn copies(&self, guard: &Expr, body: &[Stmt], body_may_fault: bool) -> Option<Vec<Copied>> {
        let mut read = BTreeSet::new();
        let mut computes = false;
        visit::expr(guard, &mut |node| self.note(node, &mut read));
        visit::block(body, &mut |node| {
            self.note(node, &mut read);
            if let Node::Place(place) = node {
                computes |= self.covered(place).is_some_and(|covered| covered.len() > 1);
            }
        });
        if computes && body_may_fault {
            return None;
        }
        let mut copies: Vec<Copied> = Vec::new();
        for way in self.ways(&read)? {
            let fold = self.knowing(&way);
            let (guard, body) = (fold.expr(guard), fold.stmts(body));
            if is_named(&guard, self.part) || names(&body, self.part) {
                return None;
            }
            match copies.iter_mut().find(|copy| copy.guard == guard && copy.body == body) {
                _ if guard.as_const() == Some(0) => {}
                Some(same) => same.states.extend(way.states),
                None => copies.push(Copied { guard, body, states: way.states }),
            }
        }
        Some(copies)
    }

    /// Notes the slots of the part that something reads.
    fn note(&self, node: Node, read: &mut BTreeSet<usize>) {
        if let Node::Place(place) = node {
            read.extend(self.covered(place).into_iter().flatten());
        }
    }

    /// The slots of the part that a place may be about.
    fn covered(&self, place: &Place) -> Option<Range<usize>> {
        let Base::Global(var) = place.base else { return None };
        if !self.part.contains(&var) {
            return None;
        }
        let shapes = &self.system.shapes;
        let (mut from, mut shape) =
            (self.system.first_slots()[var.0 as usize], self.system.variable(var).shape);
        for step in &place.steps {
            match (&shapes[shape], step) {
                (Shape::Record(fields), Step::Field(field)) => {
                    from += shapes.field_slot(fields, *field);
                    shape = fields[*field].shape;
                }
                (Shape::Array { index, element }, Step::Index(at)) => {
                    let position = at.as_const().and_then(|at| self.system.domains[*index].position(at));
                    let Some(position) = position else { break };
                    from += position as usize * shapes.slots(*element);
                    shape = *element;
                }
                _ => break,
            }
        }
        Some(from..from + shapes.slots(shape))
    }

    /// The combinations of values of these slots; `None` where there are too many, or one is undefined.
    fn ways(&self, read: &BTreeSet<usize>) -> Option<Vec<Way>> {
        let mut ways: BTreeMap<Vec<Value>, Vec<usize>> = BTreeMap::new();
        for (number, codes) in self.local.states.iter().enumerate() {
            let mut values = vec![0; self.slots.len()];
            for (n, slot) in self.slots.iter().enumerate().filter(|(_, slot)| read.contains(slot)) {
                let domain = self.layout.slots()[*slot].domain;
                values[n] = self.system.domains[domain].decode(codes[n])?;
            }
            ways.entry(values).or_default().push(number);
            if ways.len() > MAX_COMBINATIONS {
                return None;
            }
        }
        Some(ways.into_iter().map(|(values, states)| Way { values, states }).collect())
    }

    fn knowing(&self, way: &Way) -> Fold<'_> {
        let first = self.system.first_slots();
        let held = self.part.iter().map(|&var| {
            let from = first[var.0 as usize];
            let own = from..from + self.system.shapes.slots(self.system.variable(var).shape);
            let values = self.slots.iter().zip(&way.values).filter(|(slot, _)| own.contains(slot));
            (var, values.map(|(_, &value)| value).collect())
        });
        Fold::new(self.system, []).holding(held)
    }
}

/// Whether an expression names one of the variables.
pub(super) fn is_named(expr: &Expr, part: &[VarId]) -> bool {
    let mut named = false;
    visit::expr(expr, &mut |node| named |= is_of(node, part));
    named
}

/// Whether statements name one of the variables.
pub(super) fn names(body: &[Stmt], part: &[VarId]) -> bool {
    let mut named = false;
    visit::block(body, &mut |node| named |= is_of(node, part));
    named
}

fn is_of(node: Node, part: &[VarId]) -> bool {
    matches!(node, Node::Place(Place { base: Base::Global(var), .. }) if part.contains(var))
}
