//! Bits in memory: the state (in memory or held in registers), local aggregates, and what references point to.
//!
//! A field at a static offset is a shift and mask of its aligned word. At a dynamic offset it is an unaligned 64-bit
//! access at its byte where it takes at most 57 bits, else the two aligned words it may lie in. Such accesses may
//! touch up to 8 bytes behind the last word: local aggregates and successor slots have them, and callers pad source
//! states where `Unit::padded` says so.

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, StackSlot, Value, types};
use cranelift_frontend::Variable;

use super::emit::Emitter;
use super::facts::Key;
use super::jit::Helper;

/// Where bits start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MemBase {
    /// The current state.
    State,
    /// A local aggregate of this function.
    Slot(StackSlot),
    /// Anything.
    Pointer(Value),
}

/// Where a scalar or aggregate lies.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mem {
    pub base: MemBase,
    /// Known part of the bit offset.
    pub fixed: u32,
    /// Unknown part of the bit offset.
    pub moving: Option<Value>,
    /// Greatest value of the unknown part.
    pub reach: u32,
    /// The unknown part is a multiple of two to this power.
    pub grain: u32,
}

/// How the current state is accessed.
#[derive(Clone, Debug)]
pub(super) enum StateMode {
    /// In memory.
    Memory { pointer: Value, access: Access },
    /// Word by word in registers; `source` holds what it was, `home` is where it can be spilled and will end.
    Registers { words: Vec<Variable>, source: Value, home: Value },
}

/// What is known about the memory of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Access {
    /// Nobody writes it while this function runs.
    Source,
    /// Nothing.
    Unknown,
}

impl Mem {
    /// A place at a static offset.
    pub fn at(base: MemBase, fixed: u32) -> Self {
        Mem { base, fixed, moving: None, reach: 0, grain: 6 }
    }

    /// The scalar's key, where its position is known.
    pub fn key(&self) -> Option<Key> {
        match (self.base, self.moving) {
            (MemBase::State, None) => Some(Key::State(self.fixed)),
            (MemBase::Slot(slot), None) => Some(Key::Slot(slot, self.fixed)),
            _ => None,
        }
    }

    /// The same place `bits` further on.
    pub fn plus(mut self, bits: u32) -> Self {
        self.fixed += bits;
        self
    }

    /// First and last word it can touch with `width` bits.
    fn span(&self, width: u32) -> (u32, u32) {
        let last = self.fixed.saturating_add(self.reach).saturating_add(width - 1);
        (self.fixed / 64, last / 64)
    }
}

impl StateMode {
    /// A state in memory of which nothing is known.
    pub fn unknown(pointer: Value) -> Self {
        StateMode::Memory { pointer, access: Access::Unknown }
    }

    /// A state in memory that does not change.
    pub fn source(pointer: Value) -> Self {
        StateMode::Memory { pointer, access: Access::Source }
    }

    /// Whether the state cannot change here.
    pub fn is_source(&self) -> bool {
        matches!(self, StateMode::Memory { access: Access::Source, .. })
    }
}

fn flags(access: Access) -> MemFlagsData {
    match access {
        Access::Source => MemFlagsData::trusted().with_readonly().with_can_move(),
        Access::Unknown => MemFlagsData::trusted(),
    }
}

fn mask(width: u32) -> i64 {
    hadal_system::state::mask(width) as i64
}

impl Emitter<'_, '_> {
    pub fn shift_right(&mut self, value: Value, by: u32) -> Value {
        if by == 0 {
            return value;
        }
        let by = self.int(i64::from(by));
        self.b.ins().ushr(value, by)
    }

    pub fn shift_left(&mut self, value: Value, by: u32) -> Value {
        if by == 0 {
            return value;
        }
        let by = self.int(i64::from(by));
        self.b.ins().ishl(value, by)
    }

    pub fn and_mask(&mut self, value: Value, mask: i64) -> Value {
        let mask = self.int(mask);
        self.b.ins().band(value, mask)
    }

    /// Reads `width` bits (at most 64).
    pub fn load_bits(&mut self, mem: &Mem, width: u32) -> Value {
        if width == 0 {
            return self.int(0);
        }
        match (mem.base, self.state.clone()) {
            (MemBase::State, StateMode::Registers { words, source, home }) => {
                let (first, last) = mem.span(width);
                if mem.moving.is_none() || first == last {
                    return self.combine(mem, width, &mut |e, word| e.b.use_var(words[word as usize]));
                }
                if self.facts.dirty & word_set(first, last) == 0 {
                    return self.load_memory(mem, source, Access::Source, width);
                }
                self.spill(&words, home, first, last);
                self.load_memory(mem, home, Access::Unknown, width)
            }
            (_, mode) => {
                let (pointer, access) = self.base_pointer(mem.base, &mode);
                self.load_memory(mem, pointer, access, width)
            }
        }
    }

    /// Writes `width` bits (at most 64); bits of `code` above them are 0.
    pub fn store_bits(&mut self, mem: &Mem, width: u32, code: Value) {
        if width == 0 {
            return;
        }
        match (mem.base, self.state.clone()) {
            (MemBase::State, StateMode::Registers { words, home, .. }) => {
                let (first, last) = mem.span(width);
                if mem.moving.is_none() || first == last {
                    self.merge(mem, width, code, &mut |e, word, change| {
                        let old = e.b.use_var(words[word as usize]);
                        let new = change(e, old);
                        e.b.def_var(words[word as usize], new);
                    });
                } else {
                    self.spill(&words, home, first, last);
                    self.store_memory(mem, home, width, code);
                    self.reload(&words, home, first, last);
                }
                self.facts.dirty |= word_set(first, last);
            }
            (_, mode) => {
                let (pointer, _) = self.base_pointer(mem.base, &mode);
                self.store_memory(mem, pointer, width, code);
            }
        }
    }

    /// The address behind a base and what is known about it.
    fn base_pointer(&mut self, base: MemBase, mode: &StateMode) -> (Value, Access) {
        match (base, mode) {
            (MemBase::State, StateMode::Memory { pointer, access }) => (*pointer, *access),
            (MemBase::State, StateMode::Registers { home, .. }) => (*home, Access::Unknown),
            (MemBase::Slot(slot), _) => (self.b.ins().stack_addr(types::I64, slot, 0), Access::Unknown),
            (MemBase::Pointer(pointer), _) => (pointer, Access::Unknown),
        }
    }

    /// The address and the whole bit offset, for passing on. A state in registers is written to its home first; the
    /// caller follows up with [`Emitter::reload_state`] where the memory may change.
    pub fn address(&mut self, mem: &Mem) -> (Value, Value) {
        if mem.base == MemBase::State {
            self.spill_state();
        }
        let mode = self.state.clone();
        let (pointer, _) = self.base_pointer(mem.base, &mode);
        (pointer, self.bit_offset(mem))
    }

    /// The pointer to the current state, whose memory is up to date.
    pub fn state_address(&mut self) -> Value {
        self.spill_state();
        let mode = self.state.clone();
        self.base_pointer(MemBase::State, &mode).0
    }

    /// Writes a state in registers to its home.
    pub fn spill_state(&mut self) {
        if let StateMode::Registers { words, home, .. } = self.state.clone() {
            self.spill(&words, home, 0, words.len() as u32 - 1);
        }
    }

    /// Reads a state in registers back from its home.
    pub fn reload_state(&mut self) {
        if let StateMode::Registers { words, home, .. } = self.state.clone() {
            self.reload(&words, home, 0, words.len() as u32 - 1);
            self.facts.dirty = u64::MAX;
        }
    }

    fn spill(&mut self, words: &[Variable], home: Value, first: u32, last: u32) {
        for word in first..=last {
            let value = self.b.use_var(words[word as usize]);
            self.b.ins().store(flags(Access::Unknown), value, home, word as i32 * 8);
        }
    }

    fn reload(&mut self, words: &[Variable], home: Value, first: u32, last: u32) {
        for word in first..=last {
            let value = self.b.ins().load(types::I64, flags(Access::Unknown), home, word as i32 * 8);
            self.b.def_var(words[word as usize], value);
        }
    }

    fn bit_offset(&mut self, mem: &Mem) -> Value {
        let fixed = self.int(i64::from(mem.fixed));
        match mem.moving {
            Some(moving) => self.b.ins().iadd(moving, fixed),
            None => fixed,
        }
    }

    /// Reads bits that lie in words which `word` provides: a static offset, or a dynamic one within one word.
    fn combine(&mut self, mem: &Mem, width: u32, word: &mut dyn FnMut(&mut Self, u32) -> Value) -> Value {
        let (first, shift) = (mem.fixed / 64, mem.fixed % 64);
        let low = word(self, first);
        if mem.moving.is_some() {
            let amount = self.bit_offset(&Mem { fixed: shift, ..*mem });
            let bits = self.b.ins().ushr(low, amount);
            return self.and_mask(bits, mask(width));
        }
        let mut bits = self.shift_right(low, shift);
        if shift + width > 64 {
            let high = word(self, first + 1);
            let high = self.shift_left(high, 64 - shift);
            bits = self.b.ins().bor(bits, high);
        }
        if shift + width == 64 { bits } else { self.and_mask(bits, mask(width)) }
    }

    /// Changes bits that lie in words which `update` reads and writes; the counterpart of `combine`.
    #[allow(clippy::type_complexity)]
    fn merge(
        &mut self,
        mem: &Mem,
        width: u32,
        code: Value,
        update: &mut dyn FnMut(&mut Self, u32, &mut dyn FnMut(&mut Self, Value) -> Value),
    ) {
        let (first, shift) = (mem.fixed / 64, mem.fixed % 64);
        if mem.moving.is_some() {
            let amount = self.bit_offset(&Mem { fixed: shift, ..*mem });
            update(self, first, &mut |e, old| e.replace_at(old, amount, width, code));
            return;
        }
        update(self, first, &mut |e, old| {
            if width == 64 && shift == 0 {
                return code;
            }
            let kept = e.and_mask(old, !(mask(width) << shift));
            let new = e.shift_left(code, shift);
            e.b.ins().bor(kept, new)
        });
        if shift + width > 64 {
            update(self, first + 1, &mut |e, old| {
                let kept = e.and_mask(old, !((mask(width) as u64 >> (64 - shift)) as i64));
                let new = e.shift_right(code, 64 - shift);
                e.b.ins().bor(kept, new)
            });
        }
    }

    /// `old` with `width` bits at `amount` (below 64) replaced; bits past the word are lost.
    fn replace_at(&mut self, old: Value, amount: Value, width: u32, code: Value) -> Value {
        let ones = self.int(mask(width));
        let hole = self.b.ins().ishl(ones, amount);
        let kept = self.b.ins().band_not(old, hole);
        let new = self.b.ins().ishl(code, amount);
        self.b.ins().bor(kept, new)
    }

    /// Splits a dynamic offset into a byte address and the bit within that byte (a constant where it is known).
    fn byte_of(&mut self, mem: &Mem, moving: Value, pointer: Value) -> (Value, Result<u32, Value>) {
        if mem.grain >= 3 {
            let bytes = self.shift_right(moving, 3);
            let pointer = self.b.ins().iadd(pointer, bytes);
            let fixed = self.int(i64::from(mem.fixed / 8));
            return (self.b.ins().iadd(pointer, fixed), Ok(mem.fixed % 8));
        }
        let offset = self.bit_offset(mem);
        let bytes = self.shift_right(offset, 3);
        let pointer = self.b.ins().iadd(pointer, bytes);
        (pointer, Err(self.and_mask(offset, 7)))
    }

    fn note_padding(&mut self, mem: &Mem, width: u32) {
        let end = match mem.base {
            MemBase::Slot(_) => return,
            MemBase::State => u64::from(self.unit.layout.words() as u32) * 64,
            MemBase::Pointer(_) => 0,
        };
        let last = u64::from(mem.fixed) + u64::from(mem.reach);
        let touched = if width <= 57 { last / 8 * 8 + 64 } else { last / 64 * 64 + 128 };
        if touched > end {
            self.unit.padded = true;
        }
    }

    fn load_memory(&mut self, mem: &Mem, pointer: Value, access: Access, width: u32) -> Value {
        let (first, last) = mem.span(width);
        let Some(moving) = mem.moving else {
            return self.combine(mem, width, &mut |e, word| {
                e.b.ins().load(types::I64, flags(access), pointer, word as i32 * 8)
            });
        };
        if first == last {
            return self.combine(mem, width, &mut |e, word| {
                e.b.ins().load(types::I64, flags(access), pointer, word as i32 * 8)
            });
        }
        self.note_padding(mem, width);
        let unaligned = MemFlagsData::new().with_notrap();
        if width <= 57 {
            let (address, bit) = self.byte_of(mem, moving, pointer);
            let word = self.b.ins().load(types::I64, unaligned, address, 0);
            let bits = match bit {
                Ok(shift) => self.shift_right(word, shift),
                Err(shift) => self.b.ins().ushr(word, shift),
            };
            return self.and_mask(bits, mask(width));
        }
        let (address, shift) = self.word_of(mem, pointer);
        let low = self.b.ins().load(types::I64, unaligned, address, 0);
        let high = self.b.ins().load(types::I64, unaligned, address, 8);
        let low = self.b.ins().ushr(low, shift);
        // Shifting by 64 in two steps, because the machine shifts modulo 64.
        let one = self.int(1);
        let high = self.b.ins().ishl(high, one);
        let rest = self.b.ins().bnot(shift);
        let high = self.b.ins().ishl(high, rest);
        let bits = self.b.ins().bor(low, high);
        self.and_mask(bits, mask(width))
    }

    fn store_memory(&mut self, mem: &Mem, pointer: Value, width: u32, code: Value) {
        let (first, last) = mem.span(width);
        let Some(moving) = mem.moving else {
            return self.merge_words(mem, pointer, width, code);
        };
        if first == last {
            return self.merge_words(mem, pointer, width, code);
        }
        self.note_padding(mem, width);
        let unaligned = MemFlagsData::new().with_notrap();
        if width <= 57 {
            let (address, bit) = self.byte_of(mem, moving, pointer);
            let amount = match bit {
                Ok(shift) => self.int(i64::from(shift)),
                Err(shift) => shift,
            };
            let old = self.b.ins().load(types::I64, unaligned, address, 0);
            let new = self.replace_at(old, amount, width, code);
            self.b.ins().store(unaligned, new, address, 0);
            return;
        }
        let (address, shift) = self.word_of(mem, pointer);
        let low = self.b.ins().load(types::I64, unaligned, address, 0);
        let high = self.b.ins().load(types::I64, unaligned, address, 8);
        let new_low = self.replace_at(low, shift, width, code);
        // The upper part: `ones >> (64 - shift)`, in two steps as above.
        let rest = self.b.ins().bnot(shift);
        let ones = self.int((mask(width) as u64 >> 1) as i64);
        let hole = self.b.ins().ushr(ones, rest);
        let kept = self.b.ins().band_not(high, hole);
        let one = self.int(1);
        let upper = self.b.ins().ushr(code, one);
        let upper = self.b.ins().ushr(upper, rest);
        let new_high = self.b.ins().bor(kept, upper);
        self.b.ins().store(unaligned, new_low, address, 0);
        self.b.ins().store(unaligned, new_high, address, 8);
    }

    fn merge_words(&mut self, mem: &Mem, pointer: Value, width: u32, code: Value) {
        self.merge(mem, width, code, &mut |e, word, change| {
            let at = word as i32 * 8;
            let old = e.b.ins().load(types::I64, flags(Access::Unknown), pointer, at);
            let new = change(e, old);
            e.b.ins().store(flags(Access::Unknown), new, pointer, at);
        });
    }

    /// The aligned word a dynamic offset starts in, and the bit within it.
    fn word_of(&mut self, mem: &Mem, pointer: Value) -> (Value, Value) {
        let offset = self.bit_offset(mem);
        let bytes = self.shift_right(offset, 6);
        let bytes = self.shift_left(bytes, 3);
        let address = self.b.ins().iadd(pointer, bytes);
        (address, self.and_mask(offset, 63))
    }

    /// Forgets what was known about bits that were written.
    pub fn forget_bits(&mut self, mem: &Mem, width: u32) {
        let end = mem.fixed.saturating_add(mem.reach).saturating_add(width);
        match mem.base {
            MemBase::State => self.facts.forget_state(mem.fixed, end),
            MemBase::Slot(slot) => self.facts.forget_slot(slot, mem.fixed, end),
            MemBase::Pointer(_) => self.facts.forget_memory(),
        }
    }

    /// Copies all words of a state.
    pub fn copy_state(&mut self, to: Value, from: Value) {
        let words = self.unit.layout.words() as i32;
        if words > 32 {
            let words = self.int(i64::from(words));
            self.call_helper(Helper::CopyWords, &[to, from, words]);
            return;
        }
        let mut word = 0;
        while word < words {
            let (ty, step) = if words - word >= 2 { (types::I64X2, 2) } else { (types::I64, 1) };
            let unaligned = MemFlagsData::new().with_notrap();
            let bits = self.b.ins().load(ty, unaligned, from, word * 8);
            self.b.ins().store(unaligned, bits, to, word * 8);
            word += step;
        }
    }

    /// 1 (in 64 bits) where a comparison with a constant holds.
    pub fn is(&mut self, op: IntCC, left: Value, right: i64) -> Value {
        let right = self.int(right);
        self.compare(op, left, right)
    }
}

/// The bits of words `first..=last` in a set of at most 64 words.
fn word_set(first: u32, last: u32) -> u64 {
    (first..=last.min(63)).fold(0, |set, word| set | 1 << word)
}
