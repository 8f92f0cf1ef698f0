//! Walks the shapes of a system's variables and finds the blocks, the multisets and what lies inside them.

use hadal_system::state::mask;
use hadal_system::{Layout, Shape, ShapeId, System};

use super::blocks::{Blocks, Dim, Family, InstanceFamily, Sub, for_each_index, window};
use super::group::{Group, Segment};
use super::hash::fold;
use super::multiset::{Bag, Bags};

/// What a system's state consists of, for symmetry.
pub(super) struct Walked {
    pub blocks: Blocks,
    pub bags: Bags,
}

/// Walks every variable.
pub(super) fn walk(system: &System, layout: &Layout, group: &Group) -> Walked {
    let mut walk = SymmetryWalk {
        system,
        layout,
        group,
        dims: Vec::new(),
        inside: None,
        tag: 0,
        run: None,
        families: Vec::new(),
        instances: Vec::new(),
        instance_count: 1,
        bags: Vec::new(),
    };
    for (variable, id) in system.variables.iter().zip(0..) {
        walk.shape(variable.shape, layout.variable_offset(hadal_system::VarId(id)));
    }
    walk.flush();
    Walked {
        blocks: Blocks::new(walk.families, &walk.instances, group, layout.words()),
        bags: Bags::new(walk.bags),
    }
}

/// The walk so far. Every scalarset index is walked once, for its first element; every other index is spelt out.
struct SymmetryWalk<'a> {
    system: &'a System,
    layout: &'a Layout,
    group: &'a Group,
    dims: Vec<Dim>,
    inside: Option<usize>,
    tag: u64,
    run: Option<Run>,
    families: Vec<Family>,
    instances: Vec<InstanceFamily>,
    instance_count: u32,
    bags: Vec<Bag>,
}

/// Neighbouring scalars that will be one block.
struct Run {
    /// The least significant bit.
    offset: u32,
    width: u32,
    /// Offset, width, undefined and segments of scalars that hold elements.
    subs: Vec<(u32, u32, bool, Vec<Segment>)>,
}

impl SymmetryWalk<'_> {
    fn shape(&mut self, shape: ShapeId, offset: u32) {
        match &self.system.shapes[shape] {
            Shape::Scalar(domain) => {
                let segments = self.group.codes(self.system, *domain);
                let undefined = self.system.domains[*domain].undefined;
                self.scalar(offset, self.layout.shape_bits(shape), undefined, segments);
            }
            Shape::Record(fields) => {
                for (n, field) in fields.iter().enumerate() {
                    self.shape(field.shape, offset + self.layout.field_offset(self.system, shape, n));
                }
            }
            Shape::Array { index, element } => {
                let segments = self.group.positions(self.system, *index);
                let mut position = 0;
                while position < self.system.domains[*index].size() {
                    let at = offset + self.layout.element_offset(self.system, shape, position);
                    match segments.iter().find(|segment| segment.first == position) {
                        Some(segment) => {
                            self.row(segment, *element, at);
                            position += u64::from(segment.size);
                        }
                        None => {
                            self.shape(*element, at);
                            position += 1;
                        }
                    }
                }
            }
            Shape::Multiset { slots, element } => {
                self.multiset(shape, self.system.domains[*slots].size(), *element, offset);
            }
        }
    }

    /// The elements of an array along one scalarset; `offset` is the first element's.
    fn row(&mut self, segment: &Segment, element: ShapeId, offset: u32) {
        let Segment { set, base, size, .. } = *segment;
        self.flush();
        self.dims.push(Dim { set, base, size, stride: self.layout.shape_bits(element) });
        self.shape(element, offset);
        self.flush();
        self.dims.pop();
    }

    fn multiset(&mut self, shape: ShapeId, capacity: u64, element: ShapeId, offset: u32) {
        self.flush();
        let (families, instances, count) = (self.families.len(), self.instances.len(), self.instance_count);
        let (tag, outer) = (self.tag, self.inside);
        let images: u32 = self.dims.iter().map(|dim| u32::from(dim.size)).product();
        for slot in 0..capacity {
            // The slots of a multiset are alike: everything in them gets the same tags.
            self.tag = tag + 1;
            let at = offset + self.layout.element_offset(self.system, shape, slot);
            self.instances.push(InstanceFamily {
                first: self.instance_count,
                dims: self.dims.clone(),
                inside: outer,
                present: at + self.layout.shape_bits(element) - 1,
                tag,
            });
            self.instance_count += images;
            self.inside = Some(self.instances.len() - 1);
            self.shape(element, at);
            self.flush();
        }
        self.inside = outer;
        let inner = &self.families[families..];
        let permuted = inner.iter().any(|f| !f.subs.is_empty() || f.dims.len() > self.dims.len());
        if self.dims.is_empty() && !permuted && outer.is_none() {
            // Nothing in it changes or moves: to a permutation it is like any plain data.
            self.families.truncate(families);
            self.instances.truncate(instances);
            self.instance_count = count;
        }
        let stride = self.layout.shape_bits(element);
        for_each_index(&self.dims, |_, fall| {
            self.bags.push(Bag { offset: offset - fall, capacity: capacity as u32, stride, permuted });
        });
    }

    fn scalar(&mut self, offset: u32, width: u32, undefined: bool, segments: Vec<Segment>) {
        let untouched = segments.is_empty() && self.dims.is_empty() && self.inside.is_none();
        if width == 0 {
            return;
        }
        if untouched {
            self.flush();
            return;
        }
        let joins = |run: &Run| run.offset == offset + width && run.width + width <= 64;
        if !self.run.as_ref().is_some_and(joins) {
            self.flush();
        }
        let run = self.run.get_or_insert(Run { offset: offset + width, width: 0, subs: Vec::new() });
        run.offset = offset;
        run.width += width;
        if !segments.is_empty() {
            run.subs.push((offset, width, undefined, segments));
        }
    }

    /// Ends the block.
    fn flush(&mut self) {
        let Some(run) = self.run.take() else { return };
        self.tag += 1;
        let tag = fold(self.tag, 0xFA);
        let mut plain = mask(run.width);
        let mut subs = Vec::new();
        for (n, (offset, width, undefined, segments)) in run.subs.into_iter().enumerate() {
            let shift = offset - run.offset;
            plain &= !(mask(width) << shift);
            let Some((&segment, more)) = segments.split_first() else { continue };
            let tag = fold(tag, n as u64);
            subs.push(Sub { shift, mask: mask(width), undefined, tag, segment, more: more.into() });
        }
        let (span, lines) = window(run.width, &self.dims);
        self.families.push(Family {
            span,
            lines,
            offset: run.offset,
            width: run.width,
            dims: self.dims.clone(),
            plain,
            zero_stays: subs.iter().all(|sub| sub.undefined || sub.element(0).is_none()),
            subs,
            tag,
            inside: self.inside,
        });
    }
}
