//! Buffers that one action puts a message into and another takes one from, in the order they came.
//!
//! Where both can, they do not disturb each other: the new message stands behind the oldest one, and room for it is
//! there before and after (Godefroid and Pirottin 1993; SPIN's `xr` and `xs` promise the same). Found in the text of an
//! action, whatever the language: a scalar `held` that it counts up (asking `held < c` only) and an array that it writes
//! at `held`; or a scalar that it counts down (asking `held > 0` only) and an array of which it reads the first element
//! and moves all others forward. An action that does anything else with either is no use of a buffer.

use hadal_system::visit::{self, Node};
use hadal_system::{
    Action, Base, BinaryOp, Expr, ExprKind, Place, Range, Shape, Step, Stmt, StmtKind, System, VarId,
};

/// What is done with a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Way {
    Send,
    Receive,
}

/// An action's use of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Use {
    pub(super) held: VarId,
    pub(super) messages: VarId,
    pub(super) way: Way,
}

/// The buffers that an action uses.
pub(super) fn uses(system: &System, action: &Action) -> Vec<Use> {
    let mut found = Vec::new();
    for stmt in &action.body {
        if let StmtKind::Assign(place, value) = &stmt.kind
            && let Some(held) = whole(place)
            && let ExprKind::Binary(op, left, right) = &value.kind
            && reads(left, held)
            && right.as_const() == Some(1)
        {
            let way = match op {
                BinaryOp::Add => Way::Send,
                BinaryOp::Subtract => Way::Receive,
                _ => continue,
            };
            found.extend(Reading { system, action, held }.confirm(way));
        }
    }
    found
}

/// The variable that a place is the whole of.
fn whole(place: &Place) -> Option<VarId> {
    match place.base {
        Base::Global(var) if place.steps.is_empty() => Some(var),
        _ => None,
    }
}

fn reads(expr: &Expr, var: VarId) -> bool {
    matches!(&expr.kind, ExprKind::Read(place) if whole(place) == Some(var))
}

/// An element of an array: the variable, the index, and what follows.
fn element(place: &Place) -> Option<(VarId, &Expr, &[Step])> {
    match (place.base, place.steps.as_slice()) {
        (Base::Global(var), [Step::Index(at), rest @ ..]) => Some((var, at, rest)),
        _ => None,
    }
}

struct Reading<'a> {
    system: &'a System,
    action: &'a Action,
    held: VarId,
}

impl Reading<'_> {
    /// The use, where nothing but a use is made of the variables.
    fn confirm(&self, way: Way) -> Option<Use> {
        let mut strange = false;
        let mut note = |node: Node| match node {
            Node::Expr(expr) => strange |= matches!(expr.kind, ExprKind::Call(..)),
            Node::Stmt(stmt) => {
                strange |=
                    matches!(stmt.kind, StmtKind::Call(..) | StmtKind::Return(_) | StmtKind::Bind { .. });
            }
            Node::Place(_) => {}
        };
        visit::expr(&self.action.guard, &mut note);
        visit::block(&self.action.body, &mut note);
        if strange {
            return None;
        }
        let messages = match way {
            Way::Send => self.sends()?,
            Way::Receive => self.receives()?,
        };
        Some(Use { held: self.held, messages, way })
    }

    /// How often a variable is named.
    fn mentions(&self, var: VarId) -> usize {
        let mut count = 0;
        let mut note = |node: Node| {
            if let Node::Place(place) = node {
                count += usize::from(place.base == Base::Global(var));
            }
        };
        visit::expr(&self.action.guard, &mut note);
        visit::block(&self.action.body, &mut note);
        count
    }

    /// How many elements an array has that is indexed from 0.
    fn length(&self, array: VarId) -> Option<i64> {
        let Shape::Array { index, .. } = self.system.shapes[self.system.variable(array).shape] else {
            return None;
        };
        let domain = &self.system.domains[index];
        match domain.intervals.as_slice() {
            &[(0, last)] => last.checked_add(1),
            _ => None,
        }
    }

    /// The constant that the guard compares `held` with, and how often it does.
    fn limit(&self, op: BinaryOp) -> Option<(i64, usize)> {
        let mut limits = Vec::new();
        conjuncts(&self.action.guard, &mut |part| {
            if let ExprKind::Binary(found, left, right) = &part.kind
                && *found == op
                && reads(left, self.held)
            {
                limits.extend(right.as_const());
            }
        });
        let least = limits.iter().copied().min()?;
        Some((least, limits.len()))
    }

    fn sends(&self) -> Option<VarId> {
        let (limit, asked) = self.limit(BinaryOp::Less)?;
        let mut array = None;
        let (mut written, mut indexed) = (0, 0);
        for stmt in &self.action.body {
            let StmtKind::Assign(place, _) = &stmt.kind else { continue };
            if whole(place) == Some(self.held) {
                break;
            }
            let Some((var, at, rest)) = element(place) else { continue };
            let behind = reads(at, self.held);
            let only = at.as_const() == Some(0) && limit == 1;
            // An array that is written at 0 may be any other one; that of a buffer is named nowhere else.
            if !(behind || only && array.is_none_or(|known| known == var) && self.is_buffer(var)) {
                continue;
            }
            if array.is_some_and(|known| known != var) || !rest.iter().all(|s| matches!(s, Step::Field(_))) {
                return None;
            }
            array = Some(var);
            written += 1;
            indexed += usize::from(behind);
        }
        let array = array?;
        // The count is named where it is asked about, as an index, and twice where it is counted up.
        let explained = self.mentions(self.held) == asked + indexed + 2 && self.mentions(array) == written;
        (explained && self.length(array) == Some(limit)).then_some(array)
    }

    fn is_buffer(&self, var: VarId) -> bool {
        self.system.variable(var).role == hadal_system::Role::Channel
    }

    fn receives(&self) -> Option<VarId> {
        let (limit, asked) = self.limit(BinaryOp::Greater)?;
        if limit != 0 || self.mentions(self.held) != asked + 2 {
            return None;
        }
        let count = self.action.body.iter().position(
            |stmt| matches!(&stmt.kind, StmtKind::Assign(place, _) if whole(place) == Some(self.held)),
        )?;
        // What is cleared last before the count is the buffer's last element.
        let array = match &self.action.body[count.checked_sub(1)?].kind {
            StmtKind::Clear(place) | StmtKind::Assign(place, _) => element(place)?.0,
            _ => return None,
        };
        let length = self.length(array)?;
        let mut explained = self.heads(array)?;
        let (mut moved, mut cleared) = (1, false);
        for stmt in &self.action.body {
            match &stmt.kind {
                StmtKind::Copy { to, from } if self.moves(array, to, from) == Some(moved) && !cleared => {
                    moved += 1;
                    explained += 2;
                }
                StmtKind::For { .. } if self.moves_all(array, length, stmt) => {
                    if moved != 1 || cleared {
                        return None;
                    }
                    moved = length;
                    explained += 2;
                }
                StmtKind::Clear(place) | StmtKind::Assign(place, _) => {
                    if let Some((var, at, _)) = element(place)
                        && var == array
                    {
                        if moved != length || at.as_const() != Some(length - 1) {
                            return None;
                        }
                        // Only a constant may be left there.
                        if let StmtKind::Assign(_, value) = &stmt.kind {
                            value.as_const()?;
                        }
                        cleared = true;
                        explained += 1;
                    } else if moved > 1 && self.names(stmt, array) {
                        return None;
                    }
                }
                _ if (moved > 1 || cleared) && self.names(stmt, array) => return None,
                _ => {}
            }
        }
        (moved == length && cleared && self.mentions(array) == explained).then_some(array)
    }

    /// How often the first element is read; nothing where anything else is.
    fn heads(&self, array: VarId) -> Option<usize> {
        let (mut count, mut other) = (0, false);
        let mut note = |node: Node| {
            if let Node::Expr(Expr { kind: ExprKind::Read(place), .. }) = node
                && place.base == Base::Global(array)
            {
                match element(place) {
                    Some((_, at, _)) if at.as_const() == Some(0) => count += 1,
                    _ => other = true,
                }
            }
        };
        visit::expr(&self.action.guard, &mut note);
        visit::block(&self.action.body, &mut note);
        (!other).then_some(count)
    }

    fn names(&self, stmt: &Stmt, var: VarId) -> bool {
        let mut found = false;
        visit::block(std::slice::from_ref(stmt), &mut |node| {
            found |= matches!(node, Node::Place(place) if place.base == Base::Global(var));
        });
        found
    }

    /// The element that is moved one place forward.
    fn moves(&self, array: VarId, to: &Place, from: &Place) -> Option<i64> {
        let (to, from) = (element(to)?, element(from)?);
        let (before, at) = (to.1.as_const()?, from.1.as_const()?);
        let whole = to.2.is_empty() && from.2.is_empty();
        (to.0 == array && from.0 == array && whole && before + 1 == at).then_some(at)
    }

    /// Whether a loop moves every element one place forward.
    fn moves_all(&self, array: VarId, length: i64, stmt: &Stmt) -> bool {
        let StmtKind::For { local, range: Range::Steps { from, to, by }, body } = &stmt.kind else {
            return false;
        };
        let bounds = [from, to, by].map(Expr::as_const);
        let [Stmt { kind: StmtKind::Copy { to, from }, .. }] = &body[..] else { return false };
        let (Some(to), Some(from)) = (element(to), element(from)) else { return false };
        let is_local = |expr: &Expr| matches!(&expr.kind, ExprKind::Read(place) if place.base == Base::Local(*local) && place.steps.is_empty());
        let before = matches!(&to.1.kind, ExprKind::Binary(BinaryOp::Subtract, left, right)
            if is_local(left) && right.as_const() == Some(1));
        bounds == [Some(1), Some(length - 1), Some(1)]
            && to.0 == array
            && from.0 == array
            && to.2.is_empty()
            && from.2.is_empty()
            && before
            && is_local(from.1)
    }
}

fn conjuncts<'e>(expr: &'e Expr, found: &mut dyn FnMut(&'e Expr)) {
    match &expr.kind {
        ExprKind::Binary(BinaryOp::And, left, right) => {
            conjuncts(left, found);
            conjuncts(right, found);
        }
        _ => found(expr),
    }
}
