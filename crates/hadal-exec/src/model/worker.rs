//! A thread's successor function of a model: single steps by either engine, processes that go on alone, symmetry.

use super::Model;
use crate::choices::Chooser;
use crate::chosen::Chosen;
use crate::compile::Compiled;
use crate::interpret::{Interpreter, Outcome};
use crate::passing::{Passing, PassingMemory, Steps};
use crate::symmetry::{Canonicaliser, Scratch};
use hadal_system::system::fill_instance_values;
use hadal_system::{
    COST_ERROR, Check, ChoiceFault, Choices, Label, ProcessId, PropertyId, PropertyKind, StateSpace,
    Successors, Value, Worker, check_one_by_one, successors_one_by_one,
};

enum Runner<'m> {
    Compiled(&'m Compiled),
    Interpreted(Box<Interpreter<'m>>),
}

/// Single steps of a runner, with the counts of covers.
struct Single<'r, 'm>(&'r Runner<'m>, &'r mut [u64]);

impl Steps for Single<'_, '_> {
    fn all(&mut self, state: &[u64], out: &mut Successors) {
        match self.0 {
            Runner::Compiled(compiled) => compiled.successors(state, out, self.1),
            Runner::Interpreted(interpreter) => interpreter.successors(state, out, self.1),
        }
    }

    fn alone(&mut self, process: ProcessId, state: &[u64], out: &mut Successors) {
        match self.0 {
            Runner::Compiled(compiled) => compiled.alone(process, state, out, self.1),
            Runner::Interpreted(interpreter) => interpreter.alone(process, state, out, self.1),
        }
    }
}

/// One thread's successor function of a model.
pub(crate) struct ModelWorker<'m> {
    model: &'m Model,
    runner: Runner<'m>,
    symmetry: Option<(&'m Canonicaliser, Scratch)>,
    passing: Option<(&'m Passing, PassingMemory)>,
    covers: Vec<u64>,
    /// Made when choices are first asked for.
    chooser: Option<Chooser<'m>>,
    /// Parameter values of the instance whose cost is asked for.
    values: Vec<Value>,
}

impl<'m> ModelWorker<'m> {
    pub(super) fn new(model: &'m Model) -> Self {
        ModelWorker {
            model,
            runner: match &model.compiled {
                Some(compiled) => Runner::Compiled(compiled),
                None => Runner::Interpreted(Box::new(model.interpreter())),
            },
            symmetry: model.symmetry.as_ref().map(|it| (it, it.scratch())),
            passing: model.passing.as_ref().map(|it| (it, PassingMemory::new(model.words()))),
            covers: vec![0; model.properties.len()],
            chooser: None,
            values: Vec::new(),
        }
    }

    /// Appends where these transitions lead, all of which are enabled; false, and nothing, where one may meet an error.
    pub(crate) fn fire(
        &mut self,
        chosen: &Chosen,
        state: &[u64],
        labels: &[Label],
        out: &mut Successors,
    ) -> bool {
        let Some((passing, walk)) = &mut self.passing else { return chosen.fire(state, labels, out) };
        walk.first.clear();
        let fires = chosen.fire(state, labels, &mut walk.first);
        if fires {
            passing.follow(&mut Single(&self.runner, &mut self.covers), walk, out);
        }
        fires
    }

    /// Replaces the states from number `from` on by their representatives.
    fn canonicalise(&mut self, source: Option<&[u64]>, out: &mut Successors, from: usize) {
        if let Some((canonicaliser, scratch)) = &mut self.symmetry {
            // States that were found are in normal form; looking once saves looking at every successor.
            let source = source.filter(|source| canonicaliser.is_normal(source, scratch));
            out.retain_from(from, |_, state| {
                match source {
                    Some(source) => canonicaliser.canonicalise_successor(state, source, scratch),
                    None => canonicaliser.canonicalise(state, scratch),
                }
                true
            });
        }
    }
}

impl Worker for ModelWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let from = out.len();
        match &self.runner {
            Runner::Compiled(compiled) => compiled.initial(out, &mut self.covers),
            Runner::Interpreted(interpreter) => interpreter.initial(out, &mut self.covers),
        }
        self.canonicalise(None, out, from);
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let from = out.len();
        let mut single = Single(&self.runner, &mut self.covers);
        match &mut self.passing {
            None => single.all(state, out),
            Some((passing, walk)) => passing.successors(&mut single, state, walk, out),
        }
        self.canonicalise(Some(state), out, from);
    }

    fn successors_of_each(
        &mut self,
        states: &[u64],
        enough: usize,
        out: &mut Successors,
        ends: &mut Vec<usize>,
    ) {
        if let (Runner::Compiled(compiled), None, None) = (&self.runner, &self.passing, &self.symmetry)
            && compiled.successors_of_each(states, enough, (&mut *out, &mut *ends, &mut self.covers))
        {
            return;
        }
        successors_one_by_one(self, states, enough, (out, ends));
    }

    fn choices(&mut self, state: &[u64], out: &mut Choices) -> Result<(), ChoiceFault> {
        let from = out.branches.len();
        self.successors(state, &mut out.branches);
        if let Some(&label) = out.branches.faults().first() {
            return Err(ChoiceFault::Transition(label));
        }
        let model = self.model;
        let chooser =
            self.chooser.get_or_insert_with(|| Chooser::new(&model.system, &model.layout, &model.certain));
        let runner = &self.runner;
        chooser.group(state, from, out, &mut |property| match runner {
            Runner::Compiled(compiled) => compiled.satisfies(state, property),
            Runner::Interpreted(interpreter) => interpreter.satisfies(state, property),
        })
    }

    fn costs(&mut self, state: &[u64], labels: &[Label], costs: &mut Vec<u32>) {
        let (system, infos) = (&self.model.system, &self.model.actions);
        for &label in labels {
            let cost = match &self.runner {
                Runner::Interpreted(interpreter) => interpreter.cost(state, label).unwrap_or(COST_ERROR),
                Runner::Compiled(compiled) => {
                    let at = infos.partition_point(|info| info.labels.end <= label.0);
                    let Some(action) = system.actions.get(at) else { continue };
                    let n = u64::from(label.0 - infos[at].labels.start);
                    if !action.params.is_empty() {
                        fill_instance_values(&action.params, &system.domains, n, &mut self.values);
                    }
                    compiled.cost(state, at, &self.values)
                }
            };
            costs.push(cost);
        }
    }

    fn can_leave(&mut self, state: &[u64]) -> bool {
        let rests = |&id: &PropertyId| self.model.properties[id.0 as usize].kind == PropertyKind::Rest;
        let mut resting = (0..self.model.properties.len() as u32).map(PropertyId).filter(rests);
        let interpreter = self.model.interpreter();
        if resting.any(|id| interpreter.holds(state, id) == Ok(true)) {
            return true;
        }
        let system = &self.model.system;
        let labels = system.label_bases(&system.actions).last().copied().unwrap_or(0);
        (0..labels as u32).any(|label| match interpreter.fire(state, Label(label)) {
            Outcome::Dropped => true,
            Outcome::Reached(mut next) => {
                if let Some((canonicaliser, scratch)) = &mut self.symmetry {
                    canonicaliser.normalise_multisets(&mut next, scratch);
                }
                next != state
            }
            Outcome::Disabled | Outcome::Fault(_) => false,
        })
    }

    fn check(&mut self, state: &[u64]) -> Check {
        match &self.runner {
            Runner::Compiled(compiled) => compiled.check(state),
            Runner::Interpreted(interpreter) => interpreter.check(state),
        }
    }

    fn check_each(&mut self, out: &Successors, numbers: &[usize]) -> Option<(usize, Check)> {
        match &self.runner {
            Runner::Compiled(compiled) => compiled.check_each(out, numbers),
            Runner::Interpreted(_) => check_one_by_one(self, out, numbers),
        }
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        match &self.runner {
            Runner::Compiled(compiled) => compiled.satisfies(state, property),
            Runner::Interpreted(interpreter) => interpreter.satisfies(state, property),
        }
    }

    fn cover_counts(&self) -> &[u64] {
        &self.covers
    }
}
