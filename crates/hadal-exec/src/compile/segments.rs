//! Cutting the instances of a system into functions that append successors of consecutive labels.

use cranelift_module::FuncId;
use hadal_system::{Action, system};

use super::CompileError;
use super::dispatch::{Tree, looping_function};
use super::emit::Covers;
use super::jit::{Code, ExpandFn};
use super::unit::Unit;

/// Instances of one action beyond which its loop is called for one stretch of instances after the other.
pub(super) const STRETCH: u64 = 4096;

/// Successors of consecutive labels, appended by one function.
pub(super) struct Segment<F = ExpandFn> {
    pub expand: F,
    pub kind: SegmentKind,
}

/// How a segment's function is called.
#[derive(Clone, Copy, Debug)]
pub(super) enum SegmentKind {
    /// One call appends at most `most`.
    Tree { most: usize, ordered: bool },
    /// A call appends those of the instances it is asked for.
    Loop { count: u64 },
}

/// How instances are tried.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// By a decision tree.
    Dispatch,
    /// One after the other, in little code: for what runs once.
    Loops,
}

impl Segment<FuncId> {
    /// The same with the function's address.
    pub fn callable(self, code: &Code) -> Segment {
        Segment { expand: code.expand(self.expand), kind: self.kind }
    }
}

/// Plans and announces the functions for all instances of `actions`.
pub(super) fn plan<'s>(
    unit: &mut Unit<'s>,
    actions: &'s [Action],
    manner: Manner,
) -> Result<Vec<Segment<FuncId>>, CompileError> {
    let bases = unit.system.label_bases(actions);
    // `label_bases` ends with the total.
    let total = bases[actions.len()];
    if total > u64::from(u32::MAX) {
        return Err(CompileError::TooManyInstances(total));
    }
    let count = |n: usize| system::instance_count(&actions[n].params, &unit.system.domains);
    let long: Vec<usize> = (0..actions.len()).filter(|&n| count(n) > STRETCH).collect();
    let mut segments = Vec::new();
    let mut from = 0;
    for at in long.into_iter().chain([actions.len()]) {
        if from < at {
            segments.push(tree_segment(unit, &actions[from..at], &bases[from..=at], manner)?);
        }
        if let Some(action) = actions.get(at) {
            let expand = looping_function(unit, action, bases[at] as u32)?;
            segments.push(Segment { expand, kind: SegmentKind::Loop { count: bases[at + 1] - bases[at] } });
        }
        from = at + 1;
    }
    Ok(segments)
}

fn tree_segment<'s>(
    unit: &mut Unit<'s>,
    actions: &'s [Action],
    bases: &[u64],
    manner: Manner,
) -> Result<Segment<FuncId>, CompileError> {
    let tree = match manner {
        Manner::Dispatch => Tree::plan(unit, actions, bases),
        Manner::Loops => Tree::loops(actions, bases),
    };
    let kind = SegmentKind::Tree { most: tree.most_successors(), ordered: tree.is_ordered() };
    let signature = unit.jit.signature(4, 2);
    let expand = unit.build_now(signature, Covers::Count, |e, parameters| {
        let outputs = e.open_outputs(&parameters);
        e.expands = manner == Manner::Dispatch;
        e.try_tree(tree, &outputs);
        e.close_outputs(&outputs);
    })?;
    Ok(Segment { expand, kind })
}
