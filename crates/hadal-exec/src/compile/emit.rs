//! The emitter of one function: control flow with facts, frames of locals, and the targets of early ends.
//!
//! Specialisation happens while emitting: a local bound to a constant, a scalar whose code is known, a condition that
//! folds, all shape the code at once; there is no intermediate form. Code after a certain fault is *dead*: emitting
//! goes on into a block nobody enters, and the code generator throws it away.

use std::collections::HashMap;

use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, BlockArg, FuncRef, InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, TrapCode,
    Value, types,
};
use cranelift_frontend::{FunctionBuilder, Variable};
use cranelift_module::FuncId;
use hadal_system::{DomainId, Local, LocalKind, ShapeId, System};

use super::facts::{Facts, Key};
use super::jit::Helper;
use super::memory::{Mem, MemBase, StateMode};
use super::unit::Unit;
use super::values::{Code, Val};

/// Whether cover statements count.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Covers {
    /// On the way to a state.
    Count,
    /// In properties: evaluated, not counted.
    Ignore,
}

/// What a local stands for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Binding {
    /// Not in scope.
    Unbound,
    /// A defined value that is only read.
    Value(Val),
    /// The code of a scalar in a register; the shape it was declared with.
    Scalar(Variable, ShapeId),
    /// Bits in memory.
    Memory(Mem, ShapeId),
}

/// The locals of an action, property or (inlined) function.
pub(super) struct Frame<'s> {
    pub locals: &'s [Local],
    pub bindings: Vec<Binding>,
    /// Where `return` goes.
    pub exit: Block,
    /// Where the result goes, if there is one.
    pub result: Option<(DomainId, Variable)>,
}

/// The calls around what is being emitted.
pub(super) struct Calls {
    /// Nested calls when this function started; `None` for 0.
    pub depth: Option<Value>,
    /// Inlined calls that are open here.
    pub inlined: u32,
}

/// Where a transition ends early.
pub(super) struct Ends {
    /// Where an error of the model leads.
    pub fault: Block,
    /// Where a failed assumption leads.
    pub dropped: Block,
}

/// Emits one function.
pub(super) struct Emitter<'e, 's> {
    pub b: FunctionBuilder<'e>,
    pub unit: &'e mut Unit<'s>,
    pub system: &'s System,
    pub facts: Facts,
    pub dead: bool,
    pending: HashMap<Block, Facts>,
    pub frames: Vec<Frame<'s>>,
    pub state: StateMode,
    pub context: Value,
    pub calls: Calls,
    pub ends: Ends,
    pub covers: Covers,
    /// Whether loops may be unrolled and calls inlined.
    pub expands: bool,
    references: HashMap<FuncId, FuncRef>,
}

impl<'e, 's> Emitter<'e, 's> {
    /// Starts a function; gives its parameters.
    pub fn new(mut b: FunctionBuilder<'e>, unit: &'e mut Unit<'s>, covers: Covers) -> (Self, Vec<Value>) {
        let entry = b.create_block();
        b.append_block_params_for_function_params(entry);
        b.switch_to_block(entry);
        b.seal_block(entry);
        let parameters = b.block_params(entry).to_vec();
        let ends = Ends { fault: b.create_block(), dropped: b.create_block() };
        let system = unit.system;
        let emitter = Emitter {
            b,
            unit,
            system,
            facts: Facts::default(),
            dead: false,
            pending: HashMap::new(),
            frames: Vec::new(),
            state: StateMode::unknown(parameters[1]),
            context: parameters[0],
            calls: Calls { depth: None, inlined: 0 },
            ends,
            covers,
            expands: true,
            references: HashMap::new(),
        };
        (emitter, parameters)
    }

    /// Instructions emitted so far.
    pub fn size(&self) -> usize {
        self.b.func.dfg.num_insts()
    }

    /// A constant.
    pub fn int(&mut self, value: i64) -> Value {
        self.b.ins().iconst(types::I64, value)
    }

    /// The value in a register.
    pub fn raw(&mut self, value: Val) -> Value {
        match value {
            Val::Const(c) => self.int(c),
            Val::Dyn { v, .. } => v,
        }
    }

    /// The code in a register.
    pub fn raw_code(&mut self, code: Code) -> Value {
        match code {
            Code::Const(c) => self.int(c as i64),
            Code::Dyn { v, .. } => v,
        }
    }

    /// A comparison, 0 or 1 in 8 bits.
    pub fn compare(&mut self, op: IntCC, left: Value, right: Value) -> Value {
        self.b.ins().icmp(op, left, right)
    }

    /// Ends the block; control goes on at `to`.
    pub fn goto(&mut self, to: Block) {
        self.goto_with(to, &[]);
    }

    /// [`Emitter::goto`] with block arguments.
    pub fn goto_with(&mut self, to: Block, values: &[Value]) {
        if self.dead {
            self.b.ins().trap(TrapCode::unwrap_user(1));
            return;
        }
        self.note_edge(to);
        let values: Vec<BlockArg> = values.iter().map(|&v| BlockArg::Value(v)).collect();
        self.b.ins().jump(to, &values);
    }

    /// Ends the block; control goes on at `then` where `condition` is not 0, else at `otherwise`.
    pub fn branch(&mut self, condition: Value, then: Block, otherwise: Block) {
        if self.dead {
            self.b.ins().trap(TrapCode::unwrap_user(1));
            return;
        }
        self.note_edge(then);
        self.note_edge(otherwise);
        self.b.ins().brif(condition, then, &[], otherwise, &[]);
    }

    /// Notes that control may pass from here to `to` with the current facts.
    pub fn note_edge(&mut self, to: Block) {
        if to == self.ends.fault || to == self.ends.dropped {
            self.pending.entry(to).or_default();
            return;
        }
        match self.pending.get_mut(&to) {
            Some(known) => known.join(&self.facts),
            None => {
                self.pending.insert(to, self.facts.clone());
            }
        }
    }

    /// Whether some emitted code leads to `block`.
    pub fn reached(&self, block: Block) -> bool {
        self.pending.contains_key(&block)
    }

    /// Goes on emitting at `block`, to which no further edges will be added.
    pub fn enter(&mut self, block: Block) {
        self.b.switch_to_block(block);
        self.b.seal_block(block);
        self.take_facts(block);
    }

    /// Goes on emitting at the head of a loop. The loop's last edge is followed by `seal`.
    pub fn enter_loop(&mut self, head: Block) {
        self.b.switch_to_block(head);
        self.take_facts(head);
        if self.state.is_source() {
            self.facts.forget_locals();
        } else {
            self.facts.forget_all();
            self.facts.dirty = u64::MAX;
        }
    }

    /// All edges to a loop's head are there.
    pub fn seal(&mut self, head: Block) {
        self.pending.remove(&head);
        self.b.seal_block(head);
    }

    fn take_facts(&mut self, block: Block) {
        match self.pending.remove(&block) {
            Some(facts) => {
                self.facts = facts;
                self.dead = false;
            }
            None => self.dead = true,
        }
    }

    /// What follows is never reached.
    pub fn die(&mut self) {
        let nowhere = self.b.create_block();
        self.b.switch_to_block(nowhere);
        self.b.seal_block(nowhere);
        self.dead = true;
    }

    /// Ends in a fault here.
    pub fn always_fault(&mut self) {
        self.goto(self.ends.fault);
        self.die();
    }

    /// Ends in a fault where `ok` is 0.
    pub fn require(&mut self, ok: Value) {
        let on = self.b.create_block();
        self.branch(ok, on, self.ends.fault);
        self.enter(on);
    }

    /// A 64-bit register variable that holds `value` now.
    pub fn variable(&mut self, value: Value) -> Variable {
        let variable = self.b.declare_var(types::I64);
        self.b.def_var(variable, value);
        variable
    }

    /// Calls a function of the module.
    pub fn call_id(&mut self, id: FuncId, arguments: &[Value]) -> Vec<Value> {
        let reference = match self.references.get(&id) {
            Some(&reference) => reference,
            None => {
                let reference = self.unit.jit.reference(id, self.b.func);
                self.references.insert(id, reference);
                reference
            }
        };
        let call = self.b.ins().call(reference, arguments);
        self.b.inst_results(call).to_vec()
    }

    /// Calls a library function.
    pub fn call_helper(&mut self, helper: Helper, arguments: &[Value]) -> Vec<Value> {
        let id = self.unit.jit.helper(helper);
        self.call_id(id, arguments)
    }

    /// The innermost frame.
    pub fn frame(&mut self) -> &mut Frame<'s> {
        // Every function opens a frame before it emits model code.
        self.frames.last_mut().expect("a frame is open")
    }

    /// Opens a frame whose variables are blank; only locals that `used` names get storage.
    pub fn open_frame(
        &mut self,
        locals: &'s [Local],
        exit: Block,
        result: Option<DomainId>,
        used: impl Fn(usize) -> bool,
    ) {
        let mut bindings = Vec::with_capacity(locals.len());
        for (n, local) in locals.iter().enumerate() {
            bindings.push(match local.kind {
                LocalKind::Variable if used(n) => self.blank_local(local.shape),
                _ => Binding::Unbound,
            });
        }
        let result = result.map(|domain| {
            let zero = self.int(0);
            (domain, self.variable(zero))
        });
        self.frames.push(Frame { locals, bindings, exit, result });
    }

    fn blank_local(&mut self, shape: ShapeId) -> Binding {
        if self.system.shapes.scalar(shape).is_some() {
            let zero = self.int(0);
            let variable = self.variable(zero);
            self.facts.set(Key::Var(variable.as_u32()), 64, 0, 0);
            return Binding::Scalar(variable, shape);
        }
        let bits = self.unit.layout.shape_bits(shape);
        let mem = Mem::at(MemBase::Slot(self.stack_slot(bits)), 0);
        self.zero_whole_slot(&mem, bits);
        Binding::Memory(mem, shape)
    }

    /// Room for `bits` bits on the stack, with a spare word behind for wide accesses.
    pub fn stack_slot(&mut self, bits: u32) -> StackSlot {
        let bytes = bits.div_ceil(64) * 8 + 8;
        self.b.create_sized_stack_slot(StackSlotData::new(StackSlotKind::ExplicitSlot, bytes, 3))
    }

    fn zero_whole_slot(&mut self, mem: &Mem, bits: u32) {
        let MemBase::Slot(slot) = mem.base else { return };
        let words = bits.div_ceil(64);
        let zero = self.int(0);
        let base = self.b.ins().stack_addr(types::I64, slot, 0);
        if words <= 16 {
            for word in 0..words {
                self.b.ins().store(MemFlagsData::trusted(), zero, base, word as i32 * 8);
            }
        } else {
            let bits = self.int(i64::from(words) * 64);
            self.call_helper(Helper::ZeroBits, &[base, zero, bits]);
        }
    }

    /// Whether repeating `cost` instructions `times` times is worth it here.
    pub fn may_expand(&self, times: u64, cost: usize) -> bool {
        let total = (times as usize).saturating_mul(cost.max(1));
        self.expands
            && times <= 64
            && total <= 600
            && self.size() + total <= 8000
            && self.unit.has_budget(total)
    }
}
