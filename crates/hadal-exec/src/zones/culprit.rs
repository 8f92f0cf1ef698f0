//! Why a question has the answer it has where a run ends: the innermost part that decides it, and the values that it reads.

use hadal_system::timed::{Clause, Part, Says};
use hadal_system::{PropertyId, PropertyKind, Span, StateSpace};

use super::code::{Compiler, Context};
use super::concrete::{ConcreteTrace, Time};
use super::space::ZoneSpace;
use super::timing::ReadyBound;
use crate::interpret::{Culprit, Notes};

impl ZoneSpace {
    /// The part of a violated invariant (or of a goal that is met) that decides it where the run ends; none where the
    /// whole condition does, or that is not known.
    pub fn culprit(&self, run: &ConcreteTrace, property: PropertyId) -> Option<Culprit> {
        let (at, _) = self.model.system().property_instance(property)?;
        let condition = self.timed.asked.get(at)?.as_ref()?.condition.as_ref()?;
        let is = self.model.system().properties[at].kind != PropertyKind::Invariant;
        let interpreter = self.model.interpreter();
        let state = &run.steps.last()?.state;
        let context = Context { state, locals: &[], interpreter: &interpreter, shapes: &[] };
        let scale = run.clocks.first().map_or(1, |clock| clock.scale);
        let clocks = std::iter::once(0).chain(run.clocks.iter().map(|clock| clock.units)).collect();
        let moment = Moment { space: self, context, clocks, scale };
        let mut witnesses = Vec::new();
        let (span, is) = moment.decisive(condition, is, &mut witnesses);
        let found = Culprit { span, is, witnesses };
        (found.span != condition.span || !found.witnesses.is_empty()).then_some(found)
    }

    /// What a question reads where the run ends: variables, then clocks.
    pub fn read_by(&self, run: &ConcreteTrace, property: PropertyId) -> Vec<(String, String)> {
        let Some(last) = run.steps.last() else { return Vec::new() };
        let interpreter = self.model.interpreter();
        let mut notes = Notes { read: Some(Vec::new()), ..Notes::default() };
        // An error on the way has read what it is about.
        let _ = interpreter.holds_noting(&last.state, property, &mut notes);
        let names = self.model.render_state(&last.state);
        let mut values: Vec<(String, String)> = Vec::new();
        let slots = notes.read.unwrap_or_default();
        values.extend(slots.iter().filter_map(|&slot| names.get(slot)).cloned());
        let context = Context { state: &last.state, locals: &[], interpreter: &interpreter, shapes: &[] };
        let clauses = self.formulas.get(property.0 as usize).into_iter().flatten().flatten();
        for entry in clauses.flat_map(|clause| &clause.bounds).filter_map(|it| it.entry(&context).ok()?) {
            let shown = |&clock: &usize| Some((self.timed.clocks.get(clock)?, run.clocks.get(clock)?));
            let read = [entry.left, entry.minus].into_iter().filter_map(|clock| clock.checked_sub(1));
            let read = read.filter_map(|clock| shown(&clock));
            values.extend(read.map(|(name, time): (&String, &Time)| (name.clone(), time.to_string())));
        }
        let mut seen = std::collections::HashSet::new();
        values.retain(|(name, _)| seen.insert(name.clone()));
        values
    }
}

/// A moment of a run.
struct Moment<'s> {
    space: &'s ZoneSpace,
    context: Context<'s>,
    /// What clocks show, the one that stays 0 first, in parts of a unit.
    clocks: Vec<i64>,
    scale: i64,
}

impl Moment<'_> {
    /// Whether a part is true now; unknown of errors, and of what is said about deadlock.
    fn holds(&self, part: &Part) -> Option<bool> {
        match &part.says {
            Says::All(parts) => self.one_is(parts, false).map(|found| !found),
            Says::Any(parts) => self.one_is(parts, true),
            Says::Implies(pair) => match (self.holds(&pair[0]), self.holds(&pair[1])) {
                (Some(false), _) | (_, Some(true)) => Some(true),
                (Some(true), Some(false)) => Some(false),
                _ => None,
            },
            Says::Not(part) => self.holds(part).map(|is| !is),
            Says::For(_, _, part) => self.holds(part),
            Says::Some(clauses) => {
                let mut unknown = false;
                for clause in clauses {
                    match self.clause_holds(clause) {
                        Some(true) => return Some(true),
                        Some(false) => {}
                        None => unknown = true,
                    }
                }
                (!unknown).then_some(false)
            }
        }
    }

    /// Whether one of the parts is as said.
    fn one_is(&self, parts: &[Part], wanted: bool) -> Option<bool> {
        let mut unknown = false;
        for part in parts {
            match self.holds(part) {
                Some(is) if is == wanted => return Some(true),
                Some(_) => {}
                None => unknown = true,
            }
        }
        (!unknown).then_some(false)
    }

    fn clause_holds(&self, clause: &Clause) -> Option<bool> {
        let model = &self.space.model;
        let compiler = Compiler { system: model.system(), layout: model.layout() };
        if !compiler.code(&clause.when).holds(&self.context)? {
            return Some(false);
        }
        for bound in &clause.bounds {
            if let Some(entry) = ReadyBound::new(compiler, bound).entry(&self.context).ok()?
                && !entry.holds(&self.clocks, self.scale)
            {
                return Some(false);
            }
        }
        clause.going_on.is_none().then_some(true)
    }

    /// The innermost part of what `is` so that makes it so, and that part's value.
    fn decisive(&self, part: &Part, is: bool, bound: &mut Vec<(String, String)>) -> (Span, bool) {
        match &part.says {
            Says::Not(inner) => self.decisive(inner, !is, bound),
            Says::All(parts) if !is => self.decisive_among(part, parts, is, bound),
            Says::Any(parts) if is => self.decisive_among(part, parts, is, bound),
            Says::Implies(pair) if !is => self.decisive(&pair[1], false, bound),
            Says::For(name, value, inner) => {
                bound.push((name.clone(), value.to_string()));
                self.decisive(inner, is, bound)
            }
            _ => (part.span, is),
        }
    }

    fn decisive_among(
        &self,
        whole: &Part,
        parts: &[Part],
        is: bool,
        bound: &mut Vec<(String, String)>,
    ) -> (Span, bool) {
        let found = parts.iter().find(|part| self.holds(part) == Some(is));
        // What is known of none of them must be the only one that is not known.
        let mut unknown = parts.iter().filter(|part| self.holds(part).is_none());
        match (found, unknown.next(), unknown.next()) {
            (Some(part), ..) | (None, Some(part), None) => self.decisive(part, is, bound),
            _ => (whole.span, is),
        }
    }
}
