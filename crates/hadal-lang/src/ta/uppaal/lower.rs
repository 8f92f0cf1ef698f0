//! From a document to a network: declarations, then processes, then joint steps, then questions.

use super::ast::{Declaration, Declared, Dimension, Document, Term, TermKind, Type, TypeKind};
use super::types::{Constant, Meaning, Scope, Ty};
use crate::diagnostic::{Diagnostic, Diagnostics};
use crate::ta::compose::compose;
use crate::ta::declare::declare_numbers;
use crate::ta::network::{Automaton, Network};
use crate::text::unknown_constant;
use hadal_system::timed::TimedSystem;
use hadal_system::{
    Action, Base, Domain, Expr, Field, FunctionId, Local, LocalId, LocalKind, Place, Role, Shape, ShapeId,
    Shapes, Source, Span, Step, Stmt, StmtKind, System, VarId, Variable,
};
use std::collections::HashMap;
use std::rc::Rc;

/// The most elements of an array, values of a selection, and terms of a quantifier that is written out.
pub(super) const MAX_VALUES: i64 = 1 << 14;

/// A channel.
#[derive(Clone, Debug)]
pub(super) struct Channel {
    pub(super) name: String,
    pub(super) urgent: bool,
    pub(super) broadcast: bool,
}

pub(super) struct Lowering<'f> {
    pub(super) system: System,
    pub(super) clocks: Vec<String>,
    pub(super) channels: Vec<Channel>,
    pub(super) scopes: Vec<Scope>,
    pub(super) functions: HashMap<(usize, String), Option<FunctionId>>,
    pub(super) automata: Vec<Automaton>,
    /// The scope of each process.
    pub(super) process_scopes: Vec<usize>,
    /// Channel and direction of each edge, by process.
    pub(super) syncs: Vec<Vec<Option<(u32, bool)>>>,
    pub(super) define: HashMap<String, i64>,
    /// Expressions made so far: quantifiers that are written out may be too many.
    pub(super) work: u64,
    pub(super) findings: &'f mut Diagnostics,
}

/// Where code stands: its scope, its locals, and the statements made so far.
#[derive(Debug, Default)]
pub(super) struct Code {
    pub(super) scope: usize,
    pub(super) locals: Vec<Local>,
    pub(super) out: Vec<Stmt>,
    /// Whether expressions may write.
    pub(super) writes: bool,
}

pub(super) fn lower(
    source: Source,
    document: &Document,
    define: &[(String, i64)],
    findings: &mut Diagnostics,
) -> Option<TimedSystem> {
    let mut system = System { source: source.clone(), ..System::default() };
    system.name = source.name.rsplit('/').next().unwrap_or("model").to_owned();
    system.starts.push(Action { name: "start".into(), ..Action::default() });
    let mut lowering = Lowering {
        system,
        clocks: Vec::new(),
        channels: Vec::new(),
        scopes: vec![Scope::default()],
        functions: HashMap::new(),
        automata: Vec::new(),
        process_scopes: Vec::new(),
        syncs: Vec::new(),
        define: define.iter().cloned().collect(),
        work: 0,
        findings,
    };
    lowering.declarations(&document.declarations, 0, "");
    if let Some(name) = lowering.define.keys().next().cloned() {
        let is_constant = |meaning: &Meaning| matches!(meaning, Meaning::Constant(..));
        let known = lowering.scopes[0].names.iter().filter(|(_, meaning)| is_constant(meaning));
        let finding = unknown_constant(&name, known.map(|(name, _)| name.as_str()));
        lowering.findings.push(finding);
    }
    lowering.instantiate(document)?;
    if lowering.findings.has_errors() {
        return None;
    }
    let joints = lowering.joints();
    let mut network = Network {
        system: std::mem::take(&mut lowering.system),
        clocks: std::mem::take(&mut lowering.clocks),
        processes: std::mem::take(&mut lowering.automata),
    };
    let automata = std::mem::take(&mut network.processes);
    declare_numbers(&mut network.system, &automata);
    network.processes = automata.clone();
    let mut timed = compose(network, &joints, lowering.findings);
    lowering.automata = automata;
    lowering.system = std::mem::take(&mut timed.system);
    for query in &document.queries {
        lowering.query(query, &mut timed);
    }
    for (text, term) in &document.propositions {
        lowering.proposition(text, term)?;
    }
    timed.system = lowering.system;
    timed.formulas.resize(timed.system.properties.len(), None);
    Some(timed)
}

impl Lowering<'_> {
    pub(super) fn error(&mut self, span: Span, message: impl Into<String>) {
        self.findings.push(Diagnostic::error(span, message));
    }

    pub(super) fn scope(&mut self, outer: usize) -> usize {
        self.scopes.push(Scope { outer: Some(outer), ..Scope::default() });
        self.scopes.len() - 1
    }

    pub(super) fn lookup(&self, scope: usize, name: &str) -> Option<&Meaning> {
        let mut at = Some(scope);
        while let Some(scope) = at {
            if let Some(meaning) = self.scopes[scope].names.get(name) {
                return Some(meaning);
            }
            at = self.scopes[scope].outer;
        }
        None
    }

    pub(super) fn bind(&mut self, scope: usize, name: &str, meaning: Meaning) {
        self.scopes[scope].names.insert(name.to_owned(), meaning);
    }

    /// A constant number.
    pub(super) fn number(&mut self, scope: usize, term: &Term) -> Option<i64> {
        let mut code = Code { scope, ..Code::default() };
        let value = self.value(&mut code, term)?;
        if value.as_const().is_none() {
            self.error(term.span, "this must be a constant");
        }
        value.as_const()
    }

    pub(super) fn ty(&mut self, scope: usize, ty: &Type) -> Option<Ty> {
        Some(match &ty.kind {
            TypeKind::Int(None) => Ty::INT,
            TypeKind::Int(Some((low, high))) => {
                let (low, high) = (self.number(scope, low)?, self.number(scope, high)?);
                if low > high {
                    self.error(ty.span, format!("the range {low}..{high} is empty"));
                    return None;
                }
                Ty::Int(low, high)
            }
            TypeKind::Bool => Ty::Bool,
            TypeKind::Clock => Ty::Clock,
            TypeKind::Channel => Ty::Channel { urgent: ty.urgent, broadcast: ty.broadcast },
            TypeKind::Void => Ty::Void,
            TypeKind::Scalar(size) => {
                let size = self.number(scope, size)?;
                if size < 1 {
                    self.error(ty.span, "a scalar set has at least one value");
                    return None;
                }
                Ty::Int(0, size - 1)
            }
            TypeKind::Struct(fields) => {
                let mut all = Vec::new();
                for field in fields {
                    all.push((field.name.clone(), self.declared_ty(scope, field)?));
                }
                Ty::Struct(Rc::new(all))
            }
            TypeKind::Named(name) => match self.lookup(scope, name) {
                Some(Meaning::Type(ty)) => ty.clone(),
                _ => {
                    self.error(ty.span, format!("there is no type `{name}`"));
                    return None;
                }
            },
        })
    }

    /// The type of a declared name, dimensions included.
    pub(super) fn declared_ty(&mut self, scope: usize, declared: &Declared) -> Option<Ty> {
        let mut ty = self.ty(scope, &declared.ty)?;
        for dimension in declared.dimensions.iter().rev() {
            let (low, high) = match dimension {
                Dimension::Size(size) => (0, self.number(scope, size)?.saturating_sub(1)),
                Dimension::Type(of) => match self.ty(scope, of)? {
                    Ty::Int(low, high) => (low, high),
                    Ty::Bool => (0, 1),
                    _ => {
                        self.error(of.span, "an index is a number");
                        return None;
                    }
                },
            };
            if high < low || high.saturating_sub(low) >= MAX_VALUES {
                self.error(declared.span, format!("an array has between 1 and {MAX_VALUES} elements"));
                return None;
            }
            ty = Ty::Array { low, high, element: Box::new(ty) };
            if ty.size() > Shapes::MAX_SLOTS as i64 {
                self.error(declared.span, "the array is too large");
                return None;
            }
        }
        Some(ty)
    }

    /// The shape of values of a type; none where it has no values.
    pub(super) fn shape(&mut self, ty: &Ty, span: Span) -> Option<ShapeId> {
        let shape = match ty {
            Ty::Int(low, high) => Shape::Scalar(self.system.domains.add(Domain::range(*low, *high, false))),
            Ty::Bool => Shape::Scalar(self.system.domains.add(Domain::boolean(false))),
            Ty::Array { low, high, element } => {
                let element = self.shape(element, span)?;
                Shape::Array { index: self.system.domains.add(Domain::range(*low, *high, false)), element }
            }
            Ty::Struct(fields) => {
                let mut all = Vec::new();
                for (name, ty) in fields.iter() {
                    all.push(Field { name: name.clone(), shape: self.shape(ty, span)? });
                }
                Shape::Record(all)
            }
            Ty::Clock | Ty::Channel { .. } | Ty::Void => {
                self.error(span, "this type has no values");
                return None;
            }
        };
        match self.system.shapes.add(shape, &self.system.domains) {
            Ok(shape) => Some(shape),
            Err(error) => {
                self.error(span, error.to_string());
                None
            }
        }
    }

    pub(super) fn declarations(&mut self, all: &[Declaration], scope: usize, prefix: &str) {
        for declaration in all {
            match declaration {
                Declaration::Typedef(declared) => {
                    if let Some(ty) = self.declared_ty(scope, declared) {
                        self.bind(scope, &declared.name, Meaning::Type(ty));
                    }
                }
                Declaration::Function(function) => {
                    self.bind(scope, &function.name, Meaning::Function(function.clone(), scope));
                }
                Declaration::Variable(declared) => {
                    self.variable(declared, scope, prefix);
                }
            }
        }
    }

    fn variable(&mut self, declared: &Declared, scope: usize, prefix: &str) -> Option<()> {
        if declared.ty.meta {
            self.error(declared.span, "meta variables are not supported");
            return None;
        }
        let ty = self.declared_ty(scope, declared)?;
        let name = format!("{prefix}{}", declared.name);
        if declared.ty.constant {
            let mut value = match &declared.initial {
                Some(initial) => self.constant(scope, initial, &ty)?,
                None => {
                    self.error(declared.span, "a constant has a value");
                    return None;
                }
            };
            if prefix.is_empty()
                && let Some(given) = self.define.remove(&declared.name)
            {
                value = Constant::Int(given);
            }
            self.bind(scope, &declared.name, Meaning::Constant(value, ty));
            return Some(());
        }
        match ty.innermost() {
            Ty::Clock => {
                let first = self.clocks.len() as u32 + 1;
                self.name_elements(&name, &ty).into_iter().for_each(|name| self.clocks.push(name));
                self.bind(scope, &declared.name, Meaning::Clock(first, ty));
            }
            &Ty::Channel { urgent, broadcast } => {
                let first = self.channels.len() as u32;
                for name in self.name_elements(&name, &ty) {
                    self.channels.push(Channel { name, urgent, broadcast });
                }
                self.bind(scope, &declared.name, Meaning::Channel(first, ty));
            }
            _ => {
                let shape = self.shape(&ty, declared.span)?;
                let var = VarId(self.system.variables.len() as u32);
                let (role, span) = (Role::Data, declared.span);
                self.system.variables.push(Variable { name, shape, role, owner: None, span });
                let place = Place::global(var, shape, span);
                let mut code = Code { scope, ..Code::default() };
                self.initialise(&mut code, &place, &ty, declared.initial.as_ref());
                self.system.starts[0].body.extend(code.out);
                self.bind(scope, &declared.name, Meaning::Place(place, ty));
            }
        }
        Some(())
    }

    fn name_elements(&self, name: &str, ty: &Ty) -> Vec<String> {
        match ty {
            Ty::Array { low, high, element } => {
                (*low..=*high).flat_map(|n| self.name_elements(&format!("{name}[{n}]"), element)).collect()
            }
            _ => vec![name.to_owned()],
        }
    }

    fn constant(&mut self, scope: usize, term: &Term, ty: &Ty) -> Option<Constant> {
        match (ty, &term.kind) {
            (Ty::Array { low, high, element }, TermKind::List(list)) => {
                if list.len() as i64 != high - low + 1 {
                    self.error(term.span, format!("expected {} elements", high - low + 1));
                    return None;
                }
                list.iter()
                    .map(|term| self.constant(scope, term, element))
                    .collect::<Option<_>>()
                    .map(Constant::List)
            }
            (Ty::Struct(fields), TermKind::List(list)) => {
                if list.len() != fields.len() {
                    self.error(term.span, format!("expected {} fields", fields.len()));
                    return None;
                }
                let parts = list.iter().zip(fields.iter());
                parts
                    .map(|(term, (_, ty))| self.constant(scope, term, ty))
                    .collect::<Option<_>>()
                    .map(Constant::List)
            }
            (Ty::Array { .. } | Ty::Struct(_), TermKind::Name(name)) => match self.lookup(scope, name) {
                Some(Meaning::Constant(constant, _)) => Some(constant.clone()),
                _ => {
                    self.error(term.span, "this must be a constant");
                    None
                }
            },
            _ => self.number(scope, term).map(Constant::Int),
        }
    }

    /// Gives every scalar of a place its first value: what the model says, or 0 (the least value where 0 is none).
    pub(super) fn initialise(&mut self, code: &mut Code, place: &Place, ty: &Ty, initial: Option<&Term>) {
        let list = initial.and_then(|term| match &term.kind {
            TermKind::List(list) => Some(list),
            _ => None,
        });
        match ty {
            Ty::Array { low, high, element } => {
                if let (Some(term), None) = (initial, list) {
                    return self.copy(code, place, term);
                }
                let Some(shape) = self.shape(element, place.span) else { return };
                for n in *low..=*high {
                    let mut part = place.clone();
                    part.steps.push(Step::Index(Expr::constant(n)));
                    part.shape = shape;
                    self.initialise(code, &part, element, list.and_then(|list| list.get((n - low) as usize)));
                }
            }
            Ty::Struct(fields) => {
                if let (Some(term), None) = (initial, list) {
                    return self.copy(code, place, term);
                }
                for (n, (_, ty)) in fields.iter().enumerate() {
                    let Some(shape) = self.shape(ty, place.span) else { return };
                    let mut part = place.clone();
                    part.steps.push(Step::Field(n));
                    part.shape = shape;
                    self.initialise(code, &part, ty, list.and_then(|list| list.get(n)));
                }
            }
            _ => {
                let value = match initial {
                    Some(term) => match self.value(code, term) {
                        Some(value) => value,
                        None => return,
                    },
                    None => Expr::constant(match ty {
                        Ty::Int(low, high) => 0.clamp(*low, *high),
                        _ => 0,
                    }),
                };
                code.out.push(Stmt::new(StmtKind::Assign(place.clone(), value), place.span));
            }
        }
    }

    fn copy(&mut self, code: &mut Code, to: &Place, term: &Term) {
        if let Some((from, _)) = self.place(code, term) {
            code.out.push(Stmt::new(StmtKind::Copy { to: to.clone(), from }, term.span));
        }
    }
}

impl Code {
    /// A new local of this shape.
    pub(super) fn local(&mut self, name: &str, shape: ShapeId, kind: LocalKind, span: Span) -> Place {
        let id = LocalId(self.locals.len() as u32);
        self.locals.push(Local { name: name.to_owned(), shape, kind });
        Place { base: Base::Local(id), steps: Vec::new(), shape, span }
    }
}
