//! Copying, comparing, clearing and testing whole aggregates.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use hadal_system::{DomainId, Shape, ShapeId};

use super::emit::Emitter;
use super::jit::Helper;
use super::memory::{Mem, MemBase};
use super::places::{Location, PackedPlace};
use super::runtime::Field;
use super::values::{Code, Val};

/// More chunks than this are left to a library function.
const MAX_CHUNKS: usize = 8;

/// One scalar below a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Bit offset in the shape.
    pub offset: u32,
    /// The scalar's shape.
    pub shape: ShapeId,
    /// Its domain.
    pub domain: DomainId,
    /// Whether it stands in a multiset below the shape.
    pub in_multiset: bool,
}

impl Emitter<'_, '_> {
    /// Every scalar below a shape, in slot order.
    fn parts(&self, shape: ShapeId) -> Vec<Part> {
        let mut parts = Vec::with_capacity(self.system.shapes.slots(shape));
        self.collect_parts(shape, 0, false, &mut parts);
        parts
    }

    fn collect_parts(&self, shape: ShapeId, offset: u32, in_multiset: bool, out: &mut Vec<Part>) {
        let (system, layout) = (self.system, self.unit.layout);
        match &system.shapes[shape] {
            Shape::Scalar(domain) => out.push(Part { offset, shape, domain: *domain, in_multiset }),
            Shape::Array { index: domain, element } | Shape::Multiset { slots: domain, element } => {
                let inside = in_multiset || matches!(system.shapes[shape], Shape::Multiset { .. });
                for position in 0..system.domains[*domain].size() {
                    let at = offset + layout.element_offset(system, shape, position);
                    self.collect_parts(*element, at, inside, out);
                }
            }
            Shape::Record(fields) => {
                for (n, field) in fields.iter().enumerate() {
                    let at = offset + layout.field_offset(system, shape, n);
                    self.collect_parts(field.shape, at, in_multiset, out);
                }
            }
        }
    }

    /// Whether two shapes have the same codes at the same offsets.
    pub fn same_bits(&self, left: ShapeId, right: ShapeId) -> bool {
        if left == right {
            return true;
        }
        let (l, r) = (self.parts(left), self.parts(right));
        l.len() == r.len()
            && l.iter().zip(&r).all(|(l, r)| {
                let (a, b) = (&self.system.domains[l.domain], &self.system.domains[r.domain]);
                l.offset == r.offset && a.intervals == b.intervals && a.undefined == b.undefined
            })
    }

    /// The bits of memory that a piecewise operation handles at once: at most a word, at most 56 bits where the
    /// offset is not known.
    fn chunks(&self, mems: &[&Mem], bits: u32) -> Vec<(u32, u32)> {
        let mut chunks = Vec::new();
        let mut done = 0;
        while done < bits {
            let most = mems
                .iter()
                .map(|mem| if mem.moving.is_some() { 56 } else { 64 - (mem.fixed + done) % 64 })
                .min()
                .unwrap_or(64);
            let width = most.min(bits - done);
            chunks.push((done, width));
            done += width;
        }
        chunks
    }

    /// Copies `bits` bits; the places are the same or do not overlap.
    pub fn copy_memory(&mut self, to: &Mem, from: &Mem, bits: u32) {
        let chunks = self.chunks(&[to, from], bits);
        if chunks.len() <= MAX_CHUNKS {
            for (at, width) in chunks {
                let value = self.load_bits(&from.plus(at), width);
                self.store_bits(&to.plus(at), width, value);
            }
        } else {
            let (from, from_at) = self.address(from);
            let (to_base, to_at) = self.address(to);
            let bits = self.int(i64::from(bits));
            self.call_helper(Helper::CopyBits, &[to_base, to_at, from, from_at, bits]);
            self.follow_up(to);
        }
        self.forget_bits(to, bits);
    }

    /// The state's registers follow memory that a library function wrote.
    fn follow_up(&mut self, written: &Mem) {
        if written.base == MemBase::State {
            self.reload_state();
        }
    }

    /// Copies every scalar of `from` to `to`.
    pub fn copy(&mut self, to: &PackedPlace, from: &PackedPlace) {
        if self.system.shapes.scalar(to.shape).is_some() {
            return self.copy_scalar(to, from);
        }
        let (Location::Memory(to_mem), Location::Memory(from_mem)) = (to.location, from.location) else {
            unreachable!("aggregates are in memory");
        };
        if self.same_bits(to.shape, from.shape) {
            return self.copy_memory(&to_mem, &from_mem, self.unit.layout.shape_bits(to.shape));
        }
        let (to_parts, from_parts) = (self.parts(to.shape), self.parts(from.shape));
        for (t, f) in to_parts.iter().zip(&from_parts) {
            let to = PackedPlace { location: Location::Memory(to_mem.plus(t.offset)), shape: t.shape };
            let from = PackedPlace { location: Location::Memory(from_mem.plus(f.offset)), shape: f.shape };
            self.copy_scalar(&to, &from);
        }
    }

    fn copy_scalar(&mut self, to: &PackedPlace, from: &PackedPlace) {
        if let Location::Value(value) = from.location {
            return self.write(to, value);
        }
        let code = self.load(from);
        let code = self.recode(code, from.shape, to.shape);
        self.store(to, code);
    }

    /// The code in one domain of what has `code` in another; a fault where it has none.
    pub fn recode(&mut self, code: Code, from: ShapeId, to: ShapeId) -> Code {
        let ((_, source), (_, target)) = (self.scalar_domain(from), self.scalar_domain(to));
        if source.intervals == target.intervals && source.undefined == target.undefined {
            return code;
        }
        if !source.undefined || code.bounds().0 > 0 {
            let value = self.decode(code, source);
            return self.encode(value, target);
        }
        let v = self.raw_code(code);
        let defined = self.is(IntCC::NotEqual, v, 0);
        if !target.undefined {
            self.require(defined);
            let (_, hi) = code.bounds();
            let value = self.decode(Code::Dyn { v, lo: 1, hi: hi.max(1) }, source);
            return self.encode(value, target);
        }
        let (some, none, end) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        let result = self.b.append_block_param(end, cranelift_codegen::ir::types::I64);
        self.branch(defined, some, none);
        self.enter(some);
        let (_, hi) = code.bounds();
        let value = self.decode(Code::Dyn { v, lo: 1, hi: hi.max(1) }, source);
        let code = self.encode(value, target);
        let code = self.raw_code(code);
        self.goto_with(end, &[code]);
        self.enter(none);
        let zero = self.int(0);
        self.goto_with(end, &[zero]);
        self.enter(end);
        Code::Dyn { v: result, lo: 0, hi: super::values::max_code(target) }
    }

    /// 1 where two aggregates are equal scalar by scalar.
    pub fn same(&mut self, left: &PackedPlace, right: &PackedPlace) -> Val {
        if self.dead {
            return Val::Const(0);
        }
        if self.system.shapes.scalar(left.shape).is_some() {
            return self.same_scalars(left, right);
        }
        let (Location::Memory(l), Location::Memory(r)) = (left.location, right.location) else {
            unreachable!("aggregates are in memory");
        };
        if !self.same_bits(left.shape, right.shape) {
            return self.same_parts((left.shape, &l), (right.shape, &r));
        }
        let bits = self.unit.layout.shape_bits(left.shape);
        let chunks = self.chunks(&[&l, &r], bits);
        if chunks.len() > MAX_CHUNKS {
            let (left, left_at) = self.address(&l);
            let (right, right_at) = self.address(&r);
            let bits = self.int(i64::from(bits));
            let v = self.call_helper(Helper::SameBits, &[left, left_at, right, right_at, bits])[0];
            return Val::Dyn { v, lo: 0, hi: 1 };
        }
        let mut different = self.int(0);
        for (at, width) in chunks {
            let a = self.load_bits(&l.plus(at), width);
            let b = self.load_bits(&r.plus(at), width);
            let change = self.b.ins().bxor(a, b);
            different = self.b.ins().bor(different, change);
        }
        let equal = self.is(IntCC::Equal, different, 0);
        self.truth(equal)
    }

    fn same_parts(&mut self, (left, l): (ShapeId, &Mem), (right, r): (ShapeId, &Mem)) -> Val {
        let (left, right) = (self.parts(left), self.parts(right));
        if left.len() != right.len() {
            return Val::Const(0);
        }
        let mut equal = self.int(1);
        for (a, b) in left.iter().zip(&right) {
            let a = PackedPlace { location: Location::Memory(l.plus(a.offset)), shape: a.shape };
            let b = PackedPlace { location: Location::Memory(r.plus(b.offset)), shape: b.shape };
            let same = self.same_scalars(&a, &b);
            let same = self.raw(same);
            equal = self.b.ins().band(equal, same);
        }
        Val::Dyn { v: equal, lo: 0, hi: 1 }
    }

    /// 1 where both are undefined, or both have the same value.
    fn same_scalars(&mut self, left: &PackedPlace, right: &PackedPlace) -> Val {
        if let (Location::Value(l), Location::Value(r)) = (left.location, right.location) {
            return self.binary(hadal_system::BinaryOp::Equal, l, r);
        }
        let ((_, dl), (_, dr)) = (self.scalar_domain(left.shape), self.scalar_domain(right.shape));
        let bound =
            matches!(left.location, Location::Value(_)) || matches!(right.location, Location::Value(_));
        if !bound && dl.intervals == dr.intervals && dl.undefined == dr.undefined {
            let (l, r) = (self.load(left), self.load(right));
            return self.same_codes(l, r);
        }
        let (l_defined, l_value) = self.optional(left);
        let (r_defined, r_value) = self.optional(right);
        let values = self.compare(IntCC::Equal, l_value, r_value);
        let states = self.compare(IntCC::Equal, l_defined, r_defined);
        let zero = self.int(0);
        let undefined = self.compare(IntCC::Equal, l_defined, zero);
        let content = self.b.ins().bor(values, undefined);
        let equal = self.b.ins().band(states, content);
        self.truth(equal)
    }

    /// Whether a scalar is defined (1 or 0), and its value where it is.
    fn optional(&mut self, target: &PackedPlace) -> (Value, Value) {
        if let Location::Value(value) = target.location {
            return (self.int(1), self.raw(value));
        }
        let (_, domain) = self.scalar_domain(target.shape);
        let code = self.load(target);
        let v = self.raw_code(code);
        let defined = if domain.undefined {
            let flag = self.is(IntCC::NotEqual, v, 0);
            let flag = self.truth(flag);
            self.raw(flag)
        } else {
            self.int(1)
        };
        let (lo, hi) = (u64::from(domain.undefined), super::values::max_code(domain));
        let value =
            if lo >= hi { Val::Const(domain.min()) } else { self.decode(Code::Dyn { v, lo, hi }, domain) };
        (defined, self.raw(value))
    }

    /// Sets every scalar below to its least value; empties multisets.
    pub fn clear(&mut self, target: &PackedPlace) {
        if let Some(domain) = self.system.shapes.scalar(target.shape) {
            let code = u64::from(self.system.domains[domain].undefined);
            return self.store(target, Code::Const(code));
        }
        let Location::Memory(mem) = target.location else { unreachable!("aggregates are in memory") };
        let bits = self.unit.layout.shape_bits(target.shape);
        let mut pattern = vec![0u64; bits.div_ceil(64) as usize + 1];
        for part in self.parts(target.shape) {
            if !part.in_multiset && self.system.domains[part.domain].undefined {
                hadal_system::state::set_bits(
                    &mut pattern,
                    part.offset,
                    self.unit.layout.shape_bits(part.shape),
                    1,
                );
            }
        }
        self.fill(&mem, bits, pattern);
        for part in self.parts(target.shape) {
            let code = u64::from(!part.in_multiset && self.system.domains[part.domain].undefined);
            if bits <= 256 && mem.moving.is_none() {
                let target =
                    PackedPlace { location: Location::Memory(mem.plus(part.offset)), shape: part.shape };
                self.learn(&target, code, code);
            }
        }
    }

    /// Makes every scalar below undefined, or its least value.
    pub fn undefine(&mut self, target: &PackedPlace) {
        if self.system.shapes.scalar(target.shape).is_some() {
            return self.store(target, Code::Const(0));
        }
        let Location::Memory(mem) = target.location else { unreachable!("aggregates are in memory") };
        let bits = self.unit.layout.shape_bits(target.shape);
        self.fill(&mem, bits, vec![0; bits.div_ceil(64) as usize + 1]);
    }

    /// Writes constant bits.
    fn fill(&mut self, mem: &Mem, bits: u32, pattern: Vec<u64>) {
        let chunks = self.chunks(&[mem], bits);
        if chunks.len() <= MAX_CHUNKS {
            for (at, width) in chunks {
                let word = self.int(hadal_system::state::get_bits(&pattern, at, width) as i64);
                self.store_bits(&mem.plus(at), width, word);
            }
        } else {
            let (base, at) = self.address(mem);
            let count = self.int(i64::from(bits));
            if pattern.iter().all(|&word| word == 0) {
                self.call_helper(Helper::ZeroBits, &[base, at, count]);
            } else {
                let from = self.unit.keep_words(pattern);
                let (from, zero) = (self.int(from), self.int(0));
                self.call_helper(Helper::CopyBits, &[base, at, from, zero, count]);
            }
            self.follow_up(mem);
        }
        self.forget_bits(mem, bits);
    }

    /// 1 where some scalar of an aggregate is undefined.
    pub fn any_undefined(&mut self, target: &PackedPlace) -> Val {
        let Location::Memory(mem) = target.location else { unreachable!("aggregates are in memory") };
        let fields: Vec<Part> = self
            .parts(target.shape)
            .into_iter()
            .filter(|part| self.system.domains[part.domain].undefined)
            .collect();
        if fields.is_empty() {
            return Val::Const(0);
        }
        if fields.len() > MAX_CHUNKS {
            let count = self.int(fields.len() as i64);
            let fields = fields
                .iter()
                .map(|part| Field { offset: part.offset, width: self.unit.layout.shape_bits(part.shape) })
                .collect();
            let table = self.unit.keep_fields(fields);
            let (base, at) = self.address(&mem);
            let table = self.int(table);
            let v = self.call_helper(Helper::AnyZero, &[base, at, table, count])[0];
            return Val::Dyn { v, lo: 0, hi: 1 };
        }
        let mut found = self.b.ins().iconst(cranelift_codegen::ir::types::I8, 0);
        for part in fields {
            let target = PackedPlace { location: Location::Memory(mem.plus(part.offset)), shape: part.shape };
            let code = self.load(&target);
            let v = self.raw_code(code);
            let undefined = self.is(IntCC::Equal, v, 0);
            found = self.b.ins().bor(found, undefined);
        }
        self.truth(found)
    }
}
