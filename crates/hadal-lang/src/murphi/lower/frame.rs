//! The locals of the action, function or property being lowered, and what symbols mean in it.

use super::Lowering;
use crate::murphi::hir::{Expr, SymbolId};
use crate::murphi::types::TypeId;
use hadal_system::{Local, LocalId, LocalKind, ShapeId, VarId};
use std::collections::HashMap;
use std::rc::Rc;

/// Locals and meanings.
#[derive(Clone, Debug, Default)]
pub(super) struct Frame {
    pub locals: Vec<Local>,
    pub meaning: HashMap<SymbolId, Meaning>,
    /// Where a function that returns an array or record writes it.
    pub result: Option<LocalId>,
}

/// What a symbol stands for in a frame.
#[derive(Clone, Debug)]
pub(super) enum Meaning {
    Variable(VarId),
    Local(LocalId),
    /// An alias in a guard or property: the aliased expression itself.
    Same(Rc<Expr>),
}

impl Frame {
    /// A new local.
    pub(super) fn add(&mut self, name: impl Into<String>, shape: ShapeId, kind: LocalKind) -> LocalId {
        self.locals.push(Local { name: name.into(), shape, kind });
        LocalId(self.locals.len() as u32 - 1)
    }
}

impl Lowering<'_> {
    /// The innermost frame. One is open whenever an expression or statement is lowered.
    pub(super) fn frame(&mut self) -> &mut Frame {
        if self.frames.is_empty() {
            self.frames.push(Frame::default());
        }
        let innermost = self.frames.len() - 1;
        &mut self.frames[innermost]
    }

    /// Closes the innermost frame.
    pub(super) fn close_frame(&mut self) -> Frame {
        self.frames.pop().unwrap_or_default()
    }

    /// A new local for a symbol, which means it from here on.
    pub(super) fn local_for(&mut self, symbol: SymbolId, kind: LocalKind) -> LocalId {
        let declared = &self.model.symbols[symbol.0 as usize];
        let (name, ty) = (declared.name.to_string(), declared.ty);
        let shape = self.shape(ty);
        let local = self.frame().add(name, shape, kind);
        self.frame().meaning.insert(symbol, Meaning::Local(local));
        local
    }

    /// A local variable without a name in the model.
    pub(super) fn temporary(&mut self, name: &str, ty: TypeId) -> LocalId {
        let shape = self.shape(ty);
        self.frame().add(name, shape, LocalKind::Variable)
    }

    /// What a symbol means in the innermost frame. Local variables come to be where they are first met.
    pub(super) fn meaning(&mut self, symbol: SymbolId) -> Meaning {
        if let Some(&variable) = self.variable_of.get(&symbol) {
            return Meaning::Variable(variable);
        }
        if let Some(known) = self.frame().meaning.get(&symbol) {
            return known.clone();
        }
        Meaning::Local(self.local_for(symbol, LocalKind::Variable))
    }
}
