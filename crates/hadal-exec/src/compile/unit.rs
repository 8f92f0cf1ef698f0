//! Everything one compilation shares: the module under construction, the functions still to emit, the budget.

use std::collections::HashMap;

use cranelift_codegen::ir::{Signature, Value};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_module::FuncId;
use hadal_system::{FunctionId, Layout, System};

use super::CompileError;
use super::dispatch::Subtree;
use super::emit::{Covers, Emitter};
use super::firing::SharedBody;
use super::jit::Jit;
use super::plan::Plan;
use super::runtime::Field;

/// Instructions that unrolling and inlining may add up to, over all functions.
const BUDGET: usize = 120_000;

/// A function that was announced and must still be emitted.
pub(super) enum Job<'s> {
    /// A function of the model.
    Function(FunctionId, Covers),
    /// The body of an action that several instances share.
    Body(SharedBody<'s>),
    /// A part of the dispatch.
    Subtree(Subtree<'s>),
}

/// A compilation under way.
pub(super) struct Unit<'s> {
    pub system: &'s System,
    pub layout: &'s Layout,
    pub jit: Jit,
    pub plan: Plan,
    pub property_bases: Vec<u32>,
    /// The function that evaluates all assumption properties, where there are any.
    pub assumptions: Option<FuncId>,
    /// Whether compiled code may read up to 8 bytes behind a source state.
    pub padded: bool,
    /// Constants that compiled code points to.
    pub words: Vec<Box<[u64]>>,
    /// Tables that compiled code points to.
    pub fields: Vec<Box<[Field]>>,
    functions: HashMap<(FunctionId, Covers), FuncId>,
    queue: Vec<(FuncId, Signature, Job<'s>)>,
    builder: FunctionBuilderContext,
    emitted: usize,
    refused: Option<&'static str>,
}

impl<'s> Unit<'s> {
    pub fn new(system: &'s System, layout: &'s Layout, jit: Jit) -> Self {
        Unit {
            system,
            layout,
            jit,
            plan: Plan::new(system),
            property_bases: system.property_bases(),
            assumptions: None,
            padded: false,
            words: Vec::new(),
            fields: Vec::new(),
            functions: HashMap::new(),
            queue: Vec::new(),
            builder: FunctionBuilderContext::new(),
            emitted: 0,
            refused: None,
        }
    }

    /// Whether `more` instructions may still be spent on unrolling and inlining.
    pub fn has_budget(&self, more: usize) -> bool {
        self.emitted + more <= BUDGET
    }

    /// Notes that the system is outside what can be compiled; emitting goes on, the compilation fails.
    pub fn refuse(&mut self, what: &'static str) {
        self.refused = Some(what);
    }

    /// Keeps constant words alive as long as the code; gives their address.
    pub fn keep_words(&mut self, words: Vec<u64>) -> i64 {
        let words = words.into_boxed_slice();
        let address = words.as_ptr() as i64;
        self.words.push(words);
        address
    }

    /// Keeps a table alive as long as the code; gives its address.
    pub fn keep_fields(&mut self, fields: Vec<Field>) -> i64 {
        let fields = fields.into_boxed_slice();
        let address = fields.as_ptr() as i64;
        self.fields.push(fields);
        address
    }

    /// The compiled form of a function of the model.
    pub fn compiled_function(&mut self, id: FunctionId, covers: Covers) -> FuncId {
        if let Some(&known) = self.functions.get(&(id, covers)) {
            return known;
        }
        let depth = usize::from(self.plan.counts_depth);
        let words = Emitter::parameter_words(self.system.function(id), self.system);
        let signature = self.jit.signature(2 + depth + words, 2);
        let func = self.announce(signature, Job::Function(id, covers));
        self.functions.insert((id, covers), func);
        func
    }

    /// Announces a function that is emitted later.
    pub fn announce(&mut self, signature: Signature, job: Job<'s>) -> FuncId {
        // Fails only for 2^32 functions.
        let func = self.jit.declare(&signature).expect("an anonymous function can be declared");
        self.queue.push((func, signature, job));
        func
    }

    /// Emits and compiles everything announced.
    pub fn run_jobs(&mut self) -> Result<(), CompileError> {
        while let Some((func, signature, job)) = self.queue.pop() {
            match job {
                Job::Function(id, covers) => self.build(func, signature, covers, |e, parameters| {
                    e.function_body(id, &parameters);
                })?,
                Job::Body(body) => self.build(func, signature, Covers::Count, |e, parameters| {
                    e.shared_body(&body, &parameters);
                })?,
                Job::Subtree(subtree) => self.build(func, signature, Covers::Count, |e, parameters| {
                    e.subtree(subtree, &parameters);
                })?,
            }
        }
        Ok(())
    }

    /// Builds a function with `emit` and compiles it.
    pub fn build(
        &mut self,
        func: FuncId,
        signature: Signature,
        covers: Covers,
        emit: impl FnOnce(&mut Emitter<'_, 's>, Vec<Value>),
    ) -> Result<(), CompileError> {
        let mut function = self.jit.function(func, signature);
        let mut context = std::mem::take(&mut self.builder);
        let builder = FunctionBuilder::new(&mut function, &mut context);
        let (mut emitter, parameters) = Emitter::new(builder, self, covers);
        emit(&mut emitter, parameters);
        let (size, target) = (emitter.size(), emitter.unit.jit.target());
        let Emitter { b, .. } = emitter;
        b.finalize(target);
        self.builder = context;
        self.emitted += size;
        if let Some(what) = self.refused {
            return Err(CompileError::Unsupported(what));
        }
        self.jit.define(func, function)
    }

    /// Announces and builds a function at once.
    pub fn build_now(
        &mut self,
        signature: Signature,
        covers: Covers,
        emit: impl FnOnce(&mut Emitter<'_, 's>, Vec<Value>),
    ) -> Result<FuncId, CompileError> {
        let func = self.jit.declare(&signature)?;
        self.build(func, signature, covers, emit)?;
        Ok(func)
    }
}
