//! Multisets: counting, adding, removing.

use super::Lowering;
use super::call::Auxiliary;
use super::expr::{and, constant, not};
use super::frame::{Frame, Meaning};
use crate::murphi::hir::{self, Pick};
use crate::murphi::types::{Type, TypeId};
use hadal_system::{
    Argument, Base, BinaryOp, Expr, Function, FunctionId, Local, LocalKind, Place, Range, Span, Step, Stmt,
    StmtKind,
};

impl Lowering<'_> {
    /// Whether an element stands at a position of the multiset at `set`.
    pub(super) fn present(&mut self, set: &Place, position: Expr) -> Expr {
        self.flag(set, position).read()
    }

    /// The flag of a position.
    fn flag(&mut self, set: &Place, position: Expr) -> Place {
        let mut place = set.clone();
        place.steps.push(Step::Index(position));
        place.steps.push(Step::Field(0));
        place.shape = self.present_shape();
        place
    }

    fn capacity(&self, set: TypeId) -> i64 {
        match self.model.types[set] {
            Type::Multiset(capacity, _) => capacity,
            _ => 0,
        }
    }

    fn element_type(&self, set: TypeId) -> TypeId {
        match self.model.types[set] {
            Type::Multiset(_, element) => element,
            _ => TypeId::ERROR,
        }
    }

    fn positions(&mut self, set: TypeId) -> Range {
        let last = self.capacity(set) - 1;
        Range::Domain(self.domains.add(hadal_system::Domain::range(0, last, false)))
    }

    /// How many elements satisfy a condition: a function that looks at each.
    pub(super) fn count(&mut self, pick: &Pick, span: Span) -> Expr {
        let set = hir::Expr { kind: hir::ExprKind::Place(pick.set.clone()), ty: pick.set.ty, span };
        let counted = hadal_system::Domain::range(0, self.capacity(pick.set.ty), true);
        let domain = self.domains.add(counted);
        let needed = &[&set, &pick.condition];
        let function = Auxiliary { name: "multisetcount", ty: TypeId::INTEGER, needed, span };
        let call = self.in_function(function, |lowering, out| {
            let shape = match lowering.shapes.add(hadal_system::Shape::Scalar(domain), &lowering.domains) {
                Ok(shape) => shape,
                // One scalar is never too many.
                Err(_) => lowering.shape(TypeId::INTEGER),
            };
            let total = lowering.frame().add("total", shape, LocalKind::Variable);
            let total = Place::local(total, shape, span);
            let set = lowering.place(&pick.set);
            let range = lowering.positions(pick.set.ty);
            let local = lowering.local_for(pick.symbol, LocalKind::Bound);
            let position = Place::local(local, lowering.frame().locals[local.0 as usize].shape, span).read();
            let wanted = and(lowering.present(&set, position), lowering.expr(&pick.condition));
            let one_more = Expr::binary(BinaryOp::Add, total.clone().read(), constant(1, span));
            let count = Stmt::new(StmtKind::Assign(total.clone(), one_more), span);
            let branch = Stmt::new(
                StmtKind::If { branches: vec![(wanted, vec![count])], otherwise: Vec::new() },
                span,
            );
            out.push(Stmt::new(StmtKind::Assign(total.clone(), constant(0, span)), span));
            out.push(Stmt::new(StmtKind::For { local, range, body: vec![branch] }, span));
            total.read()
        });
        if let hadal_system::ExprKind::Call(FunctionId(id), _) = &call.kind
            && let Some(Some(function)) = self.functions.get_mut(*id as usize)
        {
            function.result = Some(domain);
        }
        call
    }

    /// Adds an element: a call of the function that does so for this type of multiset.
    pub(super) fn add(&mut self, element: &hir::Expr, set: &hir::Place, span: Span, out: &mut Vec<Stmt>) {
        let element_type = self.element_type(set.ty);
        let adder = self.adder(set.ty);
        let to = self.place(set);
        let shape = self.shape(element_type);
        let argument = if !self.model.types.is_simple(element_type) {
            Argument::Copy(self.aggregate(element, out))
        } else {
            match self.place_that_may_be_undefined(element) {
                Some(place) if place.shape == shape => Argument::Copy(place),
                Some(place) => Argument::Value(place.read()),
                None => Argument::Value(self.expr(element)),
            }
        };
        out.push(Stmt::new(StmtKind::Call(adder, vec![Argument::Reference(to), argument]), span));
    }

    /// The function that puts an element at the first free position of a multiset of this type.
    fn adder(&mut self, ty: TypeId) -> FunctionId {
        if let Some(&known) = self.adders.get(&ty) {
            return known;
        }
        let span = Span::default();
        let element = self.element_type(ty);
        let set_shape = self.shape(ty);
        let shape = self.shape(element);
        self.frames.push(Frame::default());
        let set = self.frame().add("set", set_shape, LocalKind::Reference);
        let added = self.frame().add("element", shape, LocalKind::Variable);
        let range = self.positions(ty);
        let position_type = match &range {
            Range::Domain(domain) => hadal_system::Shape::Scalar(*domain),
            Range::Steps { .. } => hadal_system::Shape::Scalar(hadal_system::DomainId(0)),
        };
        let position_shape = self.shapes.add(position_type, &self.domains).unwrap_or(shape);
        let position = self.frame().add("position", position_shape, LocalKind::Bound);
        let at = Place::local(position, position_shape, span).read();
        let set = Place::local(set, set_shape, span);
        let flag = self.flag(&set, at.clone());
        let free = not(flag.clone().read());
        let slot = Place { base: set.base, steps: vec![Step::Index(at), Step::Field(1)], shape, span };
        let body = vec![
            Stmt::new(StmtKind::Assign(flag, constant(1, span)), span),
            Stmt::new(StmtKind::Copy { to: slot, from: Place::local(added, shape, span) }, span),
            Stmt::new(StmtKind::Return(None), span),
        ];
        let branch = Stmt::new(StmtKind::If { branches: vec![(free, body)], otherwise: Vec::new() }, span);
        let full = format!("the multiset is full: it holds at most {}", self.capacity(ty));
        let body = vec![
            Stmt::new(StmtKind::For { local: position, range, body: vec![branch] }, span),
            Stmt::new(StmtKind::Fail(full), span),
        ];
        let frame = self.close_frame();
        let locals: Vec<Local> = frame.locals;
        let id = self.add_function(Function {
            name: "multisetadd".into(),
            parameters: 2,
            locals,
            result: None,
            body,
            span,
        });
        self.adders.insert(ty, id);
        id
    }

    /// Takes away the element at a position.
    pub(super) fn remove(&mut self, position: &hir::Expr, set: &hir::Place, span: Span, out: &mut Vec<Stmt>) {
        let at = self.expr(position);
        let place = self.place(set);
        out.extend(self.remove_at(&place, set.ty, at, span));
    }

    fn remove_at(&mut self, set: &Place, ty: TypeId, at: Expr, span: Span) -> [Stmt; 2] {
        let flag = self.flag(set, at.clone());
        let mut slot = set.clone();
        slot.steps.push(Step::Index(at));
        slot.steps.push(Step::Field(1));
        slot.shape = self.shape(self.element_type(ty));
        [
            Stmt::new(StmtKind::Assign(flag, constant(0, span)), span),
            Stmt::new(StmtKind::Undefine(slot), span),
        ]
    }

    /// Takes away every element that satisfies a condition.
    pub(super) fn remove_matching(&mut self, pick: &Pick, span: Span, out: &mut Vec<Stmt>) {
        let set = self.place(&pick.set);
        let range = self.positions(pick.set.ty);
        let local = self.local_for(pick.symbol, LocalKind::Bound);
        let shape = self.frame().locals[local.0 as usize].shape;
        let position = Place { base: Base::Local(local), steps: Vec::new(), shape, span };
        let present = self.present(&set, position.clone().read());
        let wanted = and(present, self.expr(&pick.condition));
        let removal = self.remove_at(&set, pick.set.ty, position.read(), span).into();
        let branch =
            Stmt::new(StmtKind::If { branches: vec![(wanted, removal)], otherwise: Vec::new() }, span);
        out.push(Stmt::new(StmtKind::For { local, range, body: vec![branch] }, span));
        self.frame().meaning.insert(pick.symbol, Meaning::Local(local));
    }
}
