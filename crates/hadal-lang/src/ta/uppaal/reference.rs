//! What names, indices and fields stand for.

use super::ast::{Term, TermKind};
use super::lower::{Code, Lowering, MAX_VALUES};
use super::types::{Constant, Meaning, Ty};
use hadal_system::timed::ClockRef;
use hadal_system::{BinaryOp, Expr, Place, Span, Step};

/// What a path of names, indices and fields means.
#[derive(Clone, Debug)]
pub(super) enum Reference {
    /// Constants, each where its condition holds.
    Constants(Vec<(Vec<Expr>, Constant)>, Ty),
    Place(Place, Ty),
    Clock {
        first: u32,
        among: Option<(Expr, i64, i64)>,
        ty: Ty,
    },
    /// Offset of the first channel, and indices that are not constant: value, first, last, stride.
    Channel {
        first: u32,
        open: Vec<(Expr, i64, i64, i64)>,
        ty: Ty,
    },
    Process(usize),
    Location(usize, usize),
}

impl Lowering<'_> {
    /// What a path means.
    pub(super) fn reference(&mut self, code: &mut Code, term: &Term) -> Option<Reference> {
        match &term.kind {
            TermKind::Name(name) => match self.lookup(code.scope, name).cloned() {
                Some(Meaning::Constant(constant, ty)) => {
                    Some(Reference::Constants(vec![(Vec::new(), constant)], ty))
                }
                Some(Meaning::Place(mut place, ty)) => {
                    place.span = term.span;
                    Some(Reference::Place(place, ty))
                }
                Some(Meaning::Clock(first, ty)) => Some(Reference::Clock { first, among: None, ty }),
                Some(Meaning::Channel(first, ty)) => Some(Reference::Channel { first, open: Vec::new(), ty }),
                Some(Meaning::Process(process)) => Some(Reference::Process(process)),
                Some(Meaning::Type(_) | Meaning::Function(..) | Meaning::Family(_)) => {
                    self.error(term.span, format!("`{name}` is not a value"));
                    None
                }
                None => {
                    self.error(term.span, format!("`{name}` is not declared"));
                    None
                }
            },
            TermKind::Index(of, index) => self.indexed(code, of, index, term.span),
            TermKind::Field(of, name) => self.field(code, of, name, term.span),
            TermKind::Call(of, arguments) => {
                let TermKind::Name(name) = &of.kind else { return None };
                if let Some(Meaning::Family(family)) = self.lookup(code.scope, name).cloned() {
                    let mut values = Vec::new();
                    for argument in arguments {
                        let value = self.value(code, argument)?;
                        let Some(value) = value.as_const() else {
                            self.error(argument.span, "a process is named by constants");
                            return None;
                        };
                        values.push(value);
                    }
                    let found = family.get(&values).copied();
                    if found.is_none() {
                        self.error(term.span, "there is no such process");
                    }
                    return found.map(Reference::Process);
                }
                self.error(term.span, format!("`{name}` is not a process"));
                None
            }
            _ => {
                self.error(term.span, "expected a variable");
                None
            }
        }
    }

    fn indexed(&mut self, code: &mut Code, of: &Term, index: &Term, span: Span) -> Option<Reference> {
        let of_reference = self.reference(code, of)?;
        let value = self.value(code, index)?;
        let constant = value.as_const();
        let outside = |low: i64, high: i64| constant.is_some_and(|n| n < low || n > high);
        match of_reference {
            Reference::Constants(all, Ty::Array { low, high, element }) => {
                if outside(low, high) {
                    self.error(index.span, format!("the index lies outside {low}..{high}"));
                    return None;
                }
                if constant.is_none() && (all.len() as i64).saturating_mul(high - low + 1) > MAX_VALUES {
                    self.error(span, "the table of constants is too large");
                    return None;
                }
                let mut parts = Vec::new();
                for (conditions, constants) in all {
                    let Constant::List(list) = constants else { continue };
                    for (n, constant_there) in (low..=high).zip(list) {
                        match constant {
                            Some(at) if at != n => continue,
                            Some(_) => parts.push((conditions.clone(), constant_there)),
                            None => {
                                let mut conditions = conditions.clone();
                                conditions.push(Expr::binary(
                                    BinaryOp::Equal,
                                    value.clone(),
                                    Expr::constant(n),
                                ));
                                parts.push((conditions, constant_there));
                            }
                        }
                    }
                }
                Some(Reference::Constants(parts, *element))
            }
            Reference::Place(mut place, Ty::Array { element, .. }) => {
                place.shape = self.shape(&element, span)?;
                place.steps.push(Step::Index(value));
                place.span = span;
                Some(Reference::Place(place, *element))
            }
            Reference::Clock { first, among: None, ty: Ty::Array { low, high, element } } => match constant {
                Some(_) if outside(low, high) => {
                    self.error(index.span, format!("the index lies outside {low}..{high}"));
                    None
                }
                Some(n) => {
                    let first = first + ((n - low) * element.size()) as u32;
                    Some(Reference::Clock { first, among: None, ty: *element })
                }
                None if *element == Ty::Clock => {
                    Some(Reference::Clock { first, among: Some((value, low, high - low + 1)), ty: *element })
                }
                None => {
                    self.error(index.span, "the first index of an array of clock arrays is a constant");
                    None
                }
            },
            Reference::Channel { first, mut open, ty: Ty::Array { low, high, element } } => match constant {
                Some(_) if outside(low, high) => {
                    self.error(index.span, format!("the index lies outside {low}..{high}"));
                    None
                }
                Some(n) => {
                    let first = first + ((n - low) * element.size()) as u32;
                    Some(Reference::Channel { first, open, ty: *element })
                }
                None => {
                    open.push((value, low, high, element.size()));
                    Some(Reference::Channel { first, open, ty: *element })
                }
            },
            _ => {
                self.error(span, "this is not an array");
                None
            }
        }
    }

    fn field(&mut self, code: &mut Code, of: &Term, name: &str, span: Span) -> Option<Reference> {
        match self.reference(code, of)? {
            Reference::Constants(all, Ty::Struct(fields)) => {
                let Some(at) = fields.iter().position(|(field, _)| field == name) else {
                    self.error(span, format!("there is no field `{name}`"));
                    return None;
                };
                let parts = all.into_iter().filter_map(|(conditions, constant)| match constant {
                    Constant::List(list) => list.into_iter().nth(at).map(|part| (conditions, part)),
                    Constant::Int(_) => None,
                });
                Some(Reference::Constants(parts.collect(), fields[at].1.clone()))
            }
            Reference::Place(mut place, Ty::Struct(fields)) => {
                let Some(at) = fields.iter().position(|(field, _)| field == name) else {
                    self.error(span, format!("there is no field `{name}`"));
                    return None;
                };
                place.shape = self.shape(&fields[at].1, span)?;
                place.steps.push(Step::Field(at));
                place.span = span;
                Some(Reference::Place(place, fields[at].1.clone()))
            }
            Reference::Process(process) => {
                let locations = &self.automata[process].locations;
                if let Some(at) = locations.iter().position(|location| location.name == name) {
                    return Some(Reference::Location(process, at));
                }
                let mut inside = Code { scope: self.process_scopes[process], ..Code::default() };
                self.reference(&mut inside, &Term { kind: TermKind::Name(name.to_owned()), span })
            }
            _ => {
                self.error(span, "this has no fields");
                None
            }
        }
    }

    /// A place to read or write.
    pub(super) fn place(&mut self, code: &mut Code, term: &Term) -> Option<(Place, Ty)> {
        match self.reference(code, term)? {
            Reference::Place(place, ty) => Some((place, ty)),
            _ => {
                self.error(term.span, "expected a variable");
                None
            }
        }
    }

    /// The clock a term means.
    pub(super) fn clock_of(&mut self, code: &mut Code, term: &Term) -> Option<ClockRef> {
        match self.reference(code, term)? {
            Reference::Clock { first, among, ty: Ty::Clock } => Some(match among {
                None => ClockRef::One(first),
                Some((index, least, count)) => {
                    ClockRef::Among { first, count: count as u32, least, index: Box::new(index) }
                }
            }),
            _ => {
                self.error(term.span, "expected a clock");
                None
            }
        }
    }
}
