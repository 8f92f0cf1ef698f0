//! What an execution reads and writes: the unpacked state and a stack of frames, one per running call.

use hadal_system::{DomainId, Local, LocalId, LocalKind, Shape, ShapeId, System, Value};

/// The content of a scalar; `None` is undefined.
pub(super) type Scalar = Option<Value>;

/// A resolved place: where its first scalar stands, and what stands there.
#[derive(Clone, Copy, Debug)]
pub(super) struct SlotPlace {
    pub store: Store,
    pub slot: usize,
    pub shape: ShapeId,
}

/// Where a scalar can stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Store {
    State,
    /// The frame at this depth of the stack. References only point outwards, so the frame outlives them.
    Frame(usize),
}

/// How the locals of an action, function or property are laid out in a frame.
#[derive(Debug)]
pub(super) struct FramePlan<'a> {
    pub locals: &'a [Local],
    /// The first slot of each local; references take none.
    pub first: Vec<usize>,
    /// The frame's content when it starts.
    blank: Vec<Scalar>,
}

/// The locals of one running call.
#[derive(Clone, Debug)]
pub(super) struct Frame<'i> {
    pub plan: &'i FramePlan<'i>,
    pub slots: Vec<Scalar>,
    /// What each reference local stands for while it is bound.
    pub references: Vec<Option<SlotPlace>>,
}

impl<'a> FramePlan<'a> {
    pub fn new(system: &System, locals: &'a [Local]) -> Self {
        let (mut first, mut blank) = (Vec::with_capacity(locals.len()), Vec::new());
        for local in locals {
            first.push(blank.len());
            if local.kind != LocalKind::Reference {
                push_blank(system, local.shape, &mut blank);
            }
        }
        FramePlan { locals, first, blank }
    }

    pub fn frame(&self) -> Frame<'_> {
        Frame { plan: self, slots: self.blank.clone(), references: vec![None; self.locals.len()] }
    }
}

impl Frame<'_> {
    pub fn bind(&mut self, local: LocalId, value: Value) {
        self.slots[self.plan.first[local.0 as usize]] = Some(value);
    }
}

/// What a scalar holds before anything is written to it.
pub(super) fn blank(system: &System, domain: DomainId) -> Scalar {
    let domain = &system.domains[domain];
    if domain.undefined { None } else { Some(domain.min()) }
}

/// Appends the blank content of every scalar below `shape`.
pub(super) fn push_blank(system: &System, shape: ShapeId, out: &mut Vec<Scalar>) {
    for_each_domain(system, shape, &mut |domain, _| out.push(blank(system, domain)));
}

/// Whether a scalar stands inside a multiset that is itself below the shape asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Within {
    Plain,
    Multiset,
}

/// Calls `visit` for the domain of every scalar below `shape`, in slot order.
pub(super) fn for_each_domain(system: &System, shape: ShapeId, visit: &mut dyn FnMut(DomainId, Within)) {
    fn walk(system: &System, shape: ShapeId, within: Within, visit: &mut dyn FnMut(DomainId, Within)) {
        match &system.shapes[shape] {
            Shape::Scalar(domain) => visit(*domain, within),
            Shape::Array { index, element } => {
                for _ in 0..system.domains[*index].size() {
                    walk(system, *element, within, visit);
                }
            }
            Shape::Multiset { slots, element } => {
                for _ in 0..system.domains[*slots].size() {
                    walk(system, *element, Within::Multiset, visit);
                }
            }
            Shape::Record(fields) => {
                for field in fields {
                    walk(system, field.shape, within, visit);
                }
            }
        }
    }
    walk(system, shape, Within::Plain, visit);
}

/// The path name of the part of `shape` that starts `slot` scalars in and has the shape `part`; `path` in front.
pub(super) fn name_of_part(
    system: &System,
    mut shape: ShapeId,
    mut slot: usize,
    part: ShapeId,
    path: &str,
) -> String {
    let mut name = path.to_owned();
    while !(slot == 0 && shape == part) {
        match &system.shapes[shape] {
            Shape::Scalar(_) => break,
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                let stride = system.shapes.slots(*element).max(1);
                let value = system.domains[*index].value_at((slot / stride) as u64);
                name.push_str(&format!("[{}]", system.domains.render(*index, value)));
                (slot, shape) = (slot % stride, *element);
            }
            Shape::Record(fields) => {
                let Some(n) = (0..fields.len()).rev().find(|&n| system.shapes.field_slot(fields, n) <= slot)
                else {
                    break;
                };
                name.push_str(&format!(".{}", fields[n].name));
                (slot, shape) = (slot - system.shapes.field_slot(fields, n), fields[n].shape);
            }
        }
    }
    name
}
