//! The machine code of one system in memory: Cranelift's module, and the only place that turns it into callable
//! functions.

use cranelift_codegen::Context as CodegenContext;
use cranelift_codegen::ir::{AbiParam, Function, Signature, UserFuncName, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_jit::{ArenaMemoryProvider, JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};

use super::CompileError;
use super::runtime::{self, Context};
use std::sync::atomic::{AtomicU64, Ordering};

/// A function from the library that compiled code calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Helper {
    NoteFault,
    CopyBits,
    SameBits,
    ZeroBits,
    AnyZero,
    CopyWords,
}

/// A module under construction.
pub(super) struct Jit {
    module: JITModule,
    context: CodegenContext,
    helpers: Vec<(Helper, FuncId)>,
    /// Bytes of stack the largest frame takes.
    pub largest_frame: usize,
    /// Sum over all functions.
    pub all_frames: usize,
    /// Bytes of machine code made so far.
    bytes: u64,
}

/// Bytes of machine code in this process: its memory is not the allocator's.
static CODE_BYTES: AtomicU64 = AtomicU64::new(0);

/// Bytes of machine code that compiled models of this process hold.
pub fn code_bytes() -> u64 {
    CODE_BYTES.load(Ordering::Relaxed)
}

/// Addresses that are set aside for code; pages are taken as they are needed.
const MOST_CODE: usize = 1 << 29;

impl Jit {
    pub fn new() -> Result<Self, CompileError> {
        if cfg!(target_endian = "big") {
            return Err(CompileError::Host("packed words are little-endian".into()));
        }
        let mut flags = settings::builder();
        let setting = |flags: &mut settings::Builder, name, value| {
            flags.set(name, value).map_err(|e| CompileError::Host(e.to_string()))
        };
        setting(&mut flags, "use_colocated_libcalls", "false")?;
        setting(&mut flags, "is_pic", "false")?;
        setting(&mut flags, "opt_level", "speed")?;
        let verifier = if cfg!(debug_assertions) { "true" } else { "false" };
        setting(&mut flags, "enable_verifier", verifier)?;
        let isa = cranelift_native::builder()
            .map_err(|e| CompileError::Host(e.to_owned()))?
            .finish(settings::Flags::new(flags))
            .map_err(|e| CompileError::Host(e.to_string()))?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        for helper in Helper::ALL {
            builder.symbol(helper.name(), helper.address());
        }
        // Functions call each other over less than 2 GiB: in a process with much memory, pages found one by one may lie further apart.
        let room = ArenaMemoryProvider::new_with_size(MOST_CODE);
        builder.memory_provider(Box::new(room.map_err(|e| CompileError::Host(e.to_string()))?));
        let module = JITModule::new(builder);
        let context = module.make_context();
        let mut jit = Jit { module, context, helpers: Vec::new(), largest_frame: 0, all_frames: 0, bytes: 0 };
        for helper in Helper::ALL {
            let signature = jit.signature(helper.parameters(), helper.results());
            let id = jit.module.declare_function(helper.name(), Linkage::Import, &signature)?;
            jit.helpers.push((helper, id));
        }
        Ok(jit)
    }

    /// A signature of 64-bit integers.
    pub fn signature(&self, parameters: usize, results: usize) -> Signature {
        let mut signature = self.module.make_signature();
        signature.params = vec![AbiParam::new(types::I64); parameters];
        signature.returns = vec![AbiParam::new(types::I64); results];
        signature
    }

    /// The library function's id.
    pub fn helper(&self, helper: Helper) -> FuncId {
        // `new` declares all of them in this order.
        self.helpers[helper as usize].1
    }

    /// Announces a function.
    pub fn declare(&mut self, signature: &Signature) -> Result<FuncId, CompileError> {
        Ok(self.module.declare_anonymous_function(signature)?)
    }

    /// An empty function to build.
    pub fn function(&self, id: FuncId, signature: Signature) -> Function {
        Function::with_name_signature(UserFuncName::user(0, id.as_u32()), signature)
    }

    /// Makes `id` callable from `function`.
    pub fn reference(&mut self, id: FuncId, function: &mut Function) -> cranelift_codegen::ir::FuncRef {
        self.module.declare_func_in_func(id, function)
    }

    /// What the front of the code generator must know about the host.
    pub fn target(&self) -> cranelift_codegen::isa::TargetFrontendConfig {
        self.module.target_config()
    }

    /// Compiles a built function.
    pub fn define(&mut self, id: FuncId, function: Function) -> Result<(), CompileError> {
        self.context.clear();
        self.context.func = function;
        self.module.define_function(id, &mut self.context)?;
        if let Some(code) = self.context.compiled_code() {
            self.bytes += u64::from(code.buffer.total_size());
            if let Some(layout) = code.buffer.frame_layout() {
                // The return address and the saved frame pointer come on top.
                let frame = layout.frame_to_fp_offset as usize + 16;
                self.largest_frame = self.largest_frame.max(frame);
                self.all_frames += frame;
            }
        }
        Ok(())
    }

    /// Makes everything defined executable.
    pub fn finish(mut self) -> Result<Code, CompileError> {
        self.module.finalize_definitions()?;
        CODE_BYTES.fetch_add(self.bytes, Ordering::Relaxed);
        Ok(Code { module: Some(self.module), bytes: self.bytes })
    }
}

impl Helper {
    const ALL: [Helper; 6] = [
        Helper::NoteFault,
        Helper::CopyBits,
        Helper::SameBits,
        Helper::ZeroBits,
        Helper::AnyZero,
        Helper::CopyWords,
    ];

    fn name(self) -> &'static str {
        match self {
            Helper::NoteFault => "hadal_note_fault",
            Helper::CopyBits => "hadal_copy_bits",
            Helper::SameBits => "hadal_same_bits",
            Helper::ZeroBits => "hadal_zero_bits",
            Helper::AnyZero => "hadal_any_zero",
            Helper::CopyWords => "hadal_copy_words",
        }
    }

    fn address(self) -> *const u8 {
        match self {
            Helper::NoteFault => runtime::note_fault as *const u8,
            Helper::CopyBits => runtime::copy_bits as *const u8,
            Helper::SameBits => runtime::same_bits as *const u8,
            Helper::ZeroBits => runtime::zero_bits as *const u8,
            Helper::AnyZero => runtime::any_zero as *const u8,
            Helper::CopyWords => runtime::copy_words as *const u8,
        }
    }

    fn parameters(self) -> usize {
        match self {
            Helper::NoteFault => 2,
            Helper::CopyBits | Helper::SameBits => 5,
            Helper::ZeroBits | Helper::CopyWords => 3,
            Helper::AnyZero => 4,
        }
    }

    fn results(self) -> usize {
        match self {
            Helper::SameBits | Helper::AnyZero => 1,
            _ => 0,
        }
    }
}

/// Executable code. Owns its memory.
pub(super) struct Code {
    /// `None` only while it is dropped.
    module: Option<JITModule>,
    bytes: u64,
}

// SAFETY: after `Jit::finish` nobody changes the module; it only keeps the code's memory alive, and the code itself
// touches nothing but what its callers pass.
unsafe impl Send for Code {}
// SAFETY: as above.
unsafe impl Sync for Code {}

impl Drop for Code {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: every function that is called lives in what owns this code, and borrows it to run.
            unsafe { module.free_memory() }
            CODE_BYTES.fetch_sub(self.bytes, Ordering::Relaxed);
        }
    }
}

/// The ends of the written successors and labels.
#[repr(C)]
#[derive(Clone, Copy)]
pub(super) struct Ends {
    /// First free state.
    pub states: *mut u64,
    /// First free label.
    pub labels: *mut u32,
}

/// Appends successors: context, source state, first free state, first free label.
pub(super) type ExpandFn = unsafe extern "C" fn(*mut Context, *const u64, *mut u64, *mut u32) -> Ends;
/// Asks something of a state: context, state, parameter values of the property.
pub(super) type AskFn = unsafe extern "C" fn(*mut Context, *const u64, *const i64) -> u64;
/// Fires an instance: context, source state, where to, parameter values; gives a status.
pub(super) type FireFn = unsafe extern "C" fn(*mut Context, *const u64, *mut u64, *const i64) -> u64;

impl Code {
    /// The entry of a function that was built with the signature of a [`FireFn`].
    pub fn fire(&self, id: FuncId) -> FireFn {
        // SAFETY: the caller built `id` with four 64-bit parameters and one 64-bit result.
        unsafe { std::mem::transmute::<*const u8, FireFn>(self.entry(id)) }
    }

    /// The entry of a function that was built with the signature of an [`ExpandFn`].
    pub fn expand(&self, id: FuncId) -> ExpandFn {
        // SAFETY: the caller built `id` with four 64-bit parameters and two 64-bit results, which is how the C
        // convention passes these types.
        unsafe { std::mem::transmute::<*const u8, ExpandFn>(self.entry(id)) }
    }

    /// The entry of a function that was built with the signature of an [`AskFn`].
    pub fn ask(&self, id: FuncId) -> AskFn {
        // SAFETY: the caller built `id` with three 64-bit parameters and one 64-bit result.
        unsafe { std::mem::transmute::<*const u8, AskFn>(self.entry(id)) }
    }

    fn entry(&self, id: FuncId) -> *const u8 {
        // The module is there until `drop`.
        self.module.as_ref().expect("code is alive").get_finalized_function(id)
    }
}
