//! Safe abstraction: a part that depends on nothing else, and whose states all reach each other, can always be brought to
//! where it is needed. It is left out, and guards ask only whether some state of it would do (Wehrle 2011, sec. 5.3).
//!
//! A part is a set of variables that influence each other and are influenced by no others: a free-running input, say.

use super::Stage;
use super::cone::Slots;
use super::local::LocalGraph;
use super::remove::{clears, disable, forget_processes, returns_early};
use hadal_system::facts::{Facts, SlotSet};
use hadal_system::fold::Fold;
use hadal_system::visit::{self, Node};
use hadal_system::{
    ActionId, Base, BinaryOp, Expr, ExprKind, Layout, Place, PropertyBody, PropertyKind, System, Value, VarId,
};
use std::collections::BTreeSet;

/// A guard is not asked about more combinations of removed scalars than this.
const MAX_COMBINATIONS: usize = 64;
/// Parts moved by more action instances than this are left alone.
const MAX_LABELS: usize = 4096;

/// The system without one safe part; `None` where it has none. To be repeated: what depended only on the part may now
/// be safe itself. Properties that are not asked about must have been made trivial.
pub fn safe(system: &System) -> Option<Stage> {
    safe_where(system, &|_, _| true)
}

/// The same, where a part with these variables, moved by these actions, may also be left out for the sake of something that
/// the system does not show: clocks, say.
pub fn safe_where(system: &System, may: &dyn Fn(&[VarId], &[usize]) -> bool) -> Option<Stage> {
    let facts = Facts::of(system);
    let layout = Layout::natural(system);
    let look = Look { system, facts: &facts, slots: Slots::of(system), layout: &layout, may };
    look.parts().into_iter().find_map(|part| look.without(&part))
}

struct Look<'a> {
    system: &'a System,
    facts: &'a Facts,
    slots: Slots,
    layout: &'a Layout,
    may: &'a dyn Fn(&[VarId], &[usize]) -> bool,
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
        let properties = system.properties.iter().zip(&self.facts.properties);
        let asked = properties.filter(|(p, _)| {
            matches!(p.body, PropertyBody::State(_))
                && !matches!(p.kind, PropertyKind::Cover | PropertyKind::Liveness | PropertyKind::Proposition)
        });
        if asked.into_iter().any(|(_, facts)| facts.reads.meets(&whole))
            || system.starts.iter().any(returns_early)
            || self.named_by_functions(part)
        {
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
        let mut smaller = system.clone();
        for (n, action) in system.actions.iter().enumerate() {
            let print = &self.facts.actions[n].whole;
            if moves.contains(&n) {
                disable(&mut smaller.actions[n]);
            } else if print.can_hold && print.reads.meets(&whole) {
                if print.guard_faults.is_some() || print.may_drop || names(&action.body, part) {
                    return None;
                }
                smaller.actions[n].guard = self.some_state(&action.guard, part, &slots, &local)?;
            }
        }
        for start in &mut smaller.starts {
            start.body.extend(clears(system, part));
        }
        forget_processes(&mut smaller, part);
        Some(Stage { system: smaller, removed: part.to_vec(), disabled: moves.len(), local: Some(local) })
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

    /// The guard for some state of the part: a disjunction over the values of its scalars that the guard reads.
    fn some_state(&self, guard: &Expr, part: &[VarId], slots: &[usize], local: &LocalGraph) -> Option<Expr> {
        let system = self.system;
        let first = system.first_slots();
        let mut read: Vec<VarId> = Vec::new();
        let mut plain = true;
        visit::expr(guard, &mut |node| {
            if let Node::Place(Place { base: Base::Global(var), steps, shape, .. }) = node
                && part.contains(var)
            {
                plain &= steps.is_empty() && system.shapes.scalar(*shape).is_some();
                if !read.contains(var) {
                    read.push(*var);
                }
            }
        });
        if !plain {
            return None;
        }
        let mut combinations: BTreeSet<Vec<Option<Value>>> = BTreeSet::new();
        for codes in &local.states {
            let value = |var: &VarId| {
                let slot = first[var.0 as usize];
                let at = slots.iter().position(|&s| s == slot)?;
                let domain = self.layout.slots()[slot].domain;
                system.domains[domain].decode(codes[at])
            };
            combinations.insert(read.iter().map(value).collect());
        }
        if combinations.len() > MAX_COMBINATIONS || combinations.iter().flatten().any(Option::is_none) {
            return None;
        }
        let fold = Fold::new(system, []);
        let mut ways: Vec<Expr> = Vec::new();
        for values in combinations {
            let known: Vec<(VarId, Value)> = read.iter().copied().zip(values.into_iter().flatten()).collect();
            let way = fold.expr(&substitute(guard, &known)?);
            match way.as_const() {
                Some(0) => {}
                Some(_) => return Some(Expr::constant(1)),
                None if ways.contains(&way) => {}
                None => ways.push(way),
            }
        }
        Some(
            ways.into_iter()
                .reduce(|left, right| Expr::binary(BinaryOp::Or, left, right))
                .unwrap_or_else(|| Expr::constant(0)),
        )
    }
}

/// Whether statements name one of the variables.
fn names(body: &[hadal_system::Stmt], part: &[VarId]) -> bool {
    let mut named = false;
    visit::block(body, &mut |node| {
        named |= matches!(node, Node::Place(Place { base: Base::Global(var), .. }) if part.contains(var));
    });
    named
}

/// The expression with these scalars known; `None` where they are asked about other than by reading.
fn substitute(expr: &Expr, known: &[(VarId, Value)]) -> Option<Expr> {
    let again = |expr: &Expr| substitute(expr, known).map(Box::new);
    let value = |place: &Place| match place.base {
        Base::Global(var) => known.iter().find(|(v, _)| *v == var).map(|(_, value)| *value),
        Base::Local(_) => None,
    };
    let kind = match &expr.kind {
        ExprKind::Read(place) => match value(place) {
            Some(value) => ExprKind::Const(value),
            None => ExprKind::Read(Box::new(substitute_place(place, known)?)),
        },
        ExprKind::Const(_) => expr.kind.clone(),
        ExprKind::IsUndefined(place) if value(place).is_none() => {
            ExprKind::IsUndefined(Box::new(substitute_place(place, known)?))
        }
        ExprKind::Unary(op, of) => ExprKind::Unary(*op, again(of)?),
        ExprKind::Binary(op, left, right) => ExprKind::Binary(*op, again(left)?, again(right)?),
        ExprKind::If(c, t, e) => ExprKind::If(again(c)?, again(t)?, again(e)?),
        ExprKind::InDomain(of, domain) => ExprKind::InDomain(again(of)?, *domain),
        ExprKind::Wrap(of, domain) => ExprKind::Wrap(again(of)?, *domain),
        ExprKind::Quantified { quantifier, local, range, body } => match **range {
            hadal_system::Range::Domain(_) => ExprKind::Quantified {
                quantifier: *quantifier,
                local: *local,
                range: range.clone(),
                body: again(body)?,
            },
            hadal_system::Range::Steps { .. } => return None,
        },
        ExprKind::IsUndefined(_) | ExprKind::Same(..) | ExprKind::Call(..) => return None,
    };
    Some(Expr::new(kind, expr.span))
}

fn substitute_place(place: &Place, known: &[(VarId, Value)]) -> Option<Place> {
    let mut place = place.clone();
    for step in &mut place.steps {
        if let hadal_system::Step::Index(index) = step {
            *index = substitute(index, known)?;
        }
    }
    Some(place)
}
