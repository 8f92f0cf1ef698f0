//! Resolving places, reading and writing scalars, codes and values.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value};
use cranelift_frontend::Variable;
use hadal_system::{Base, Domain, DomainId, Place, Shape, ShapeId, Step};

use super::emit::{Binding, Emitter};
use super::facts::Key;
use super::memory::{Mem, MemBase};
use super::values::{Code, Val, max_code};

/// Where a resolved place lies.
#[derive(Clone, Copy, Debug)]
pub(super) enum Location {
    /// Nowhere: a bound local, only read.
    Value(Val),
    /// A scalar local in a register.
    Register(Variable),
    /// Bits in memory.
    Memory(Mem),
}

/// A resolved place.
#[derive(Clone, Copy, Debug)]
pub(super) struct PackedPlace {
    pub location: Location,
    pub shape: ShapeId,
}

impl<'s> Emitter<'_, 's> {
    /// Walks the path, evaluating and checking its indices from left to right.
    pub fn resolve(&mut self, place: &'s Place) -> PackedPlace {
        let system = self.system;
        let mut at = self.resolve_base(place.base);
        for step in &place.steps {
            let Location::Memory(mut mem) = at.location else {
                unreachable!("a well-formed place has steps into aggregates only");
            };
            match (step, &system.shapes[at.shape]) {
                (Step::Field(field), Shape::Record(fields)) => {
                    mem.fixed += self.unit.layout.field_offset(system, at.shape, *field);
                    at.shape = fields[*field].shape;
                }
                (
                    Step::Index(index),
                    Shape::Array { index: domain, element } | Shape::Multiset { slots: domain, element },
                ) => {
                    let value = self.value(index);
                    self.step_to_element(&mut mem, &system.domains[*domain], value, *element);
                    at.shape = *element;
                }
                (step, shape) => unreachable!("a well-formed place has no step {step:?} into {shape:?}"),
            }
            at.location = Location::Memory(mem);
        }
        at
    }

    fn resolve_base(&mut self, base: Base) -> PackedPlace {
        match base {
            Base::Global(var) => PackedPlace {
                location: Location::Memory(Mem::at(MemBase::State, self.unit.layout.variable_offset(var))),
                shape: self.system.variable(var).shape,
            },
            Base::Local(local) => {
                let n = local.0 as usize;
                let frame = self.frame();
                let shape = frame.locals[n].shape;
                match frame.bindings[n] {
                    Binding::Value(value) => PackedPlace { location: Location::Value(value), shape },
                    Binding::Scalar(variable, shape) => {
                        PackedPlace { location: Location::Register(variable), shape }
                    }
                    Binding::Memory(mem, shape) => PackedPlace { location: Location::Memory(mem), shape },
                    Binding::Unbound => unreachable!("a local is bound before it is used"),
                }
            }
        }
    }

    fn step_to_element(&mut self, mem: &mut Mem, index: &Domain, value: Val, element: ShapeId) {
        let stride = self.unit.layout.shape_bits(element);
        let last = max_code(index) - u64::from(index.undefined);
        match value {
            Val::Const(value) => match index.position(value) {
                Some(position) => mem.fixed += (last - position) as u32 * stride,
                None => self.always_fault(),
            },
            Val::Dyn { .. } => {
                let position = self.position(value, index);
                if stride == 0 {
                    return;
                }
                let position = self.raw_code(position);
                // Elements stand from the most significant end, so the offset falls as the position grows.
                let last_value = self.int(last as i64);
                let behind = self.b.ins().isub(last_value, position);
                let stride_value = self.int(i64::from(stride));
                let offset = self.b.ins().imul(behind, stride_value);
                mem.moving = Some(match mem.moving {
                    Some(moving) => self.b.ins().iadd(moving, offset),
                    None => offset,
                });
                mem.grain = mem.grain.min(stride.trailing_zeros());
                mem.reach = mem.reach.saturating_add(last as u32 * stride);
            }
        }
    }

    /// The position of a value in a domain; a fault where it is outside.
    fn position(&mut self, value: Val, domain: &Domain) -> Code {
        let code = self.encode(value, domain);
        if !domain.undefined {
            return code;
        }
        match code {
            Code::Const(c) => Code::Const(c.wrapping_sub(1)),
            Code::Dyn { v, lo, hi } => {
                let one = self.int(1);
                let v = self.b.ins().isub(v, one);
                Code::Dyn { v, lo: lo.saturating_sub(1), hi: hi.saturating_sub(1) }
            }
        }
    }

    /// The code of a value; a fault where the domain does not have it.
    pub fn encode(&mut self, value: Val, domain: &Domain) -> Code {
        let undefined = u64::from(domain.undefined);
        if let Val::Const(value) = value {
            return match domain.position(value) {
                Some(position) => Code::Const(position + undefined),
                None => {
                    self.always_fault();
                    Code::Const(undefined)
                }
            };
        }
        let (lo, hi) = value.bounds();
        let v = self.raw(value);
        if let [(first, last)] = domain.intervals[..] {
            if hi < first || lo > last {
                self.always_fault();
                return Code::Const(undefined);
            }
            let position = self.minus(v, first);
            if lo < first || hi > last {
                let within = self.is(IntCC::UnsignedLessThanOrEqual, position, last.wrapping_sub(first));
                self.require(within);
            }
            let (lo, hi) = (lo.max(first), hi.min(last));
            // Both differences are offsets within one interval.
            let bounds =
                (lo.wrapping_sub(first) as u64 + undefined, hi.wrapping_sub(first) as u64 + undefined);
            let v = self.minus(position, -(undefined as i64));
            return Code::Dyn { v, lo: bounds.0, hi: bounds.1 };
        }
        let (member, position) = self.position_among(v, domain);
        self.require(member);
        let v = self.minus(position, -(undefined as i64));
        Code::Dyn { v, lo: undefined, hi: max_code(domain) }
    }

    /// Whether a value lies in one of several intervals, and its position there (anything where it does not).
    fn position_among(&mut self, v: Value, domain: &Domain) -> (Value, Value) {
        let mut before = 0u64;
        let mut member = self.is(IntCC::NotEqual, v, 0);
        let mut position = self.int(0);
        for (n, &(first, last)) in domain.intervals.iter().enumerate() {
            let offset = self.minus(v, first);
            let width = last.wrapping_sub(first);
            let here = self.is(IntCC::UnsignedLessThanOrEqual, offset, width);
            let place = self.minus(offset, (before as i64).wrapping_neg());
            position = if n == 0 { place } else { self.b.ins().select(here, place, position) };
            member = if n == 0 { here } else { self.b.ins().bor(member, here) };
            before = before.wrapping_add(width as u64).wrapping_add(1);
        }
        (member, position)
    }

    /// `value - amount`, wrapping.
    fn minus(&mut self, value: Value, amount: i64) -> Value {
        if amount == 0 {
            return value;
        }
        let amount = self.int(amount.wrapping_neg());
        self.b.ins().iadd(value, amount)
    }

    /// The value behind a code that is not "undefined".
    pub fn decode(&mut self, code: Code, domain: &Domain) -> Val {
        let undefined = u64::from(domain.undefined);
        let (lo, hi) = code.bounds();
        let (lo, hi) = (lo.max(undefined), hi.min(max_code(domain)));
        let value_of = |code: u64| domain.value_at(code - undefined).unwrap_or(domain.max());
        if lo >= hi {
            return Val::Const(value_of(lo.min(max_code(domain))));
        }
        let Code::Dyn { v, .. } = code else { return Val::Const(value_of(lo)) };
        let bounds = (value_of(lo), value_of(hi));
        let mut first_code = undefined;
        let mut value = v;
        for (n, &(first, last)) in domain.intervals.iter().enumerate() {
            let here = self.minus(v, (first_code as i64).wrapping_sub(first));
            value = if n == 0 {
                here
            } else {
                let beyond = self.is(IntCC::UnsignedGreaterThanOrEqual, v, first_code as i64);
                self.b.ins().select(beyond, here, value)
            };
            first_code = first_code.wrapping_add(last.wrapping_sub(first) as u64).wrapping_add(1);
        }
        Val::Dyn { v: value, lo: bounds.0, hi: bounds.1 }
    }

    /// 1 where the value lies in the domain.
    pub fn in_domain(&mut self, value: Val, domain: &Domain) -> Val {
        if let Val::Const(value) = value {
            return Val::Const(domain.contains(value).into());
        }
        let (lo, hi) = value.bounds();
        if domain.intervals.iter().any(|&(first, last)| first <= lo && hi <= last) {
            return Val::Const(1);
        }
        if domain.intervals.iter().all(|&(first, last)| hi < first || last < lo) {
            return Val::Const(0);
        }
        let v = self.raw(value);
        let (member, _) = self.position_among(v, domain);
        self.truth(member)
    }

    /// The domain of a scalar place.
    pub fn scalar_domain(&self, shape: ShapeId) -> (DomainId, &'s Domain) {
        // Only scalars are read and assigned in a well-formed system.
        let id = self.system.shapes.scalar(shape).expect("the place is a scalar");
        (id, &self.system.domains[id])
    }

    fn key(&self, location: Location) -> Option<(Key, u32)> {
        match location {
            Location::Value(_) => None,
            Location::Register(variable) => Some((Key::Var(variable.as_u32()), 64)),
            Location::Memory(mem) => Some((mem.key()?, 0)),
        }
    }

    /// Key and width of a scalar about which facts can be kept.
    fn fact_key(&self, target: &PackedPlace) -> Option<(Key, u32)> {
        let (key, width) = self.key(target.location)?;
        Some((key, if width == 0 { self.unit.layout.shape_bits(target.shape) } else { width }))
    }

    /// The code at a scalar place. Bound locals are encoded.
    pub fn load(&mut self, target: &PackedPlace) -> Code {
        let (_, domain) = self.scalar_domain(target.shape);
        let greatest = max_code(domain);
        let known = self.fact_key(target).and_then(|(key, width)| self.facts.get(key, width));
        let (lo, hi) = known.unwrap_or((0, greatest));
        if lo == hi {
            return Code::Const(lo);
        }
        let v = match target.location {
            Location::Value(value) => return self.encode(value, domain),
            Location::Register(variable) => self.b.use_var(variable),
            Location::Memory(mem) => self.load_bits(&mem, self.unit.layout.shape_bits(target.shape)),
        };
        Code::Dyn { v, lo, hi }
    }

    /// Writes a code to a scalar place.
    pub fn store(&mut self, target: &PackedPlace, code: Code) {
        let (lo, hi) = code.bounds();
        match target.location {
            Location::Value(_) => unreachable!("bound locals are only read"),
            Location::Register(variable) => {
                let v = self.raw_code(code);
                self.b.def_var(variable, v);
            }
            Location::Memory(mem) => {
                let width = self.unit.layout.shape_bits(target.shape);
                let v = self.raw_code(code);
                self.store_bits(&mem, width, v);
                self.forget_bits(&mem, width);
            }
        }
        if let Some((key, width)) = self.fact_key(target) {
            self.facts.set(key, width, lo, hi);
        }
    }

    /// Notes what is known of a scalar's code from here on.
    pub fn learn(&mut self, target: &PackedPlace, lo: u64, hi: u64) {
        if let Some((key, width)) = self.fact_key(target) {
            let (old_lo, old_hi) = self.facts.get(key, width).unwrap_or((0, u64::MAX));
            self.facts.set(key, width, lo.max(old_lo), hi.min(old_hi));
        }
    }

    /// Reads a scalar that must be defined.
    pub fn read(&mut self, place: &'s Place) -> Val {
        let target = self.resolve(place);
        self.read_target(&target)
    }

    /// [`Emitter::read`] of a resolved place.
    pub fn read_target(&mut self, target: &PackedPlace) -> Val {
        if let Location::Value(value) = target.location {
            return value;
        }
        let (_, domain) = self.scalar_domain(target.shape);
        let mut code = self.load(target);
        if domain.undefined {
            let (lo, hi) = code.bounds();
            if hi == 0 {
                self.always_fault();
                return Val::Const(domain.min());
            }
            if lo == 0 {
                let v = self.raw_code(code);
                let defined = self.is(IntCC::NotEqual, v, 0);
                self.require(defined);
                self.learn(target, 1, hi);
                code = Code::Dyn { v, lo: 1, hi };
            }
        }
        self.decode(code, domain)
    }

    /// Writes a value to a scalar; the value must lie in its domain.
    pub fn write(&mut self, target: &PackedPlace, value: Val) {
        let (_, domain) = self.scalar_domain(target.shape);
        let code = self.encode(value, domain);
        self.store(target, code);
    }
}
