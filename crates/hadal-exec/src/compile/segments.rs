//! Cutting the instances of a system into functions that append successors of consecutive labels.

use cranelift_module::FuncId;
use hadal_system::{Action, ProcessId, system};

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
    /// It is asked only where segments of lower ranks give nothing.
    pub rank: u8,
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
        Segment { expand: code.expand(self.expand), kind: self.kind, rank: self.rank }
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
    // Long actions stand alone; the others stand together with their neighbours of the same rank.
    let mut cuts: Vec<(usize, usize)> = Vec::new();
    for n in 0..actions.len() {
        match cuts.last_mut() {
            Some((from, to))
                if count(n) <= STRETCH
                    && count(*from) <= STRETCH
                    && actions[*from].rank == actions[n].rank =>
            {
                *to = n + 1;
            }
            _ => cuts.push((n, n + 1)),
        }
    }
    let mut segments = Vec::new();
    for (from, to) in cuts {
        let mut segment = if count(from) > STRETCH {
            let expand = looping_function(unit, &actions[from], bases[from] as u32)?;
            let kind = SegmentKind::Loop { count: bases[to] - bases[from] };
            Segment { expand, kind, rank: 0 }
        } else {
            tree_segment(unit, &actions[from..to], &bases[from..=to], manner)?
        };
        segment.rank = actions[from].rank;
        segments.push(segment);
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
        Manner::Dispatch => {
            let list: Vec<(&Action, u64, u64)> = actions
                .iter()
                .zip(bases.windows(2))
                .map(|(action, bases)| (action, bases[0], bases[1] - bases[0]))
                .collect();
            Tree::plan(unit, &list)
        }
        Manner::Loops => Tree::loops(actions, bases),
    };
    function(unit, tree, manner)
}

/// The function for what one process can do alone: the actions of rank 0 that it stands first in.
pub(super) fn plan_alone<'s>(
    unit: &mut Unit<'s>,
    process: ProcessId,
) -> Result<Segment<FuncId>, CompileError> {
    let actions = &unit.system.actions;
    let bases = unit.system.label_bases(actions);
    let list: Vec<(&Action, u64, u64)> = actions
        .iter()
        .zip(bases.windows(2))
        .filter(|(action, _)| action.rank == 0 && action.processes.first() == Some(&process))
        .map(|(action, bases)| (action, bases[0], bases[1] - bases[0]))
        .collect();
    let tree = Tree::plan(unit, &list);
    function(unit, tree, Manner::Dispatch)
}

fn function<'s>(
    unit: &mut Unit<'s>,
    tree: Tree<'s>,
    manner: Manner,
) -> Result<Segment<FuncId>, CompileError> {
    let kind = SegmentKind::Tree { most: tree.most_successors(), ordered: tree.is_ordered() };
    let signature = unit.jit.signature(4, 2);
    let expand = unit.build_now(signature, Covers::Count, |e, parameters| {
        let outputs = e.open_outputs(&parameters);
        e.expands = manner == Manner::Dispatch;
        e.try_tree(tree, &outputs);
        e.close_outputs(&outputs);
    })?;
    Ok(Segment { expand, kind, rank: 0 })
}
