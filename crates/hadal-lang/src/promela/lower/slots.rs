//! How many instances of each process type can live at once.

use super::super::model::{
    Argument, Element, ElementKind, Op, Process, Receive, Segment, Step, Term, TermKind, VarPath,
};
use super::{Control, Instances, Lowering, Pid, Priority, Slot};
use hadal_system::{Domain, DomainKind, VarId};
use std::collections::HashMap;

/// The most processes at once, as in SPIN.
pub(super) const MAX_PROCESSES: usize = 255;
/// Room for a process type that is started in a loop, where nothing says how often.
const IN_LOOP: usize = 8;

impl Lowering<'_> {
    /// Makes the slots: those of processes that run from the beginning have the first numbers.
    pub(super) fn make_slots(&mut self, instances: &Instances) {
        let model = self.model;
        for process in &model.processes {
            let mut states = process.states();
            if !states.contains(&0) {
                states.push(0);
            }
            let values: HashMap<usize, i64> =
                states.iter().enumerate().map(|(n, &state)| (state, n as i64 + 1)).collect();
            let domain = self.domains.add(Domain::range(0, states.len() as i64, false));
            self.controls.push(Control { states, values, domain });
        }
        for class in 0..model.processes.len() {
            let names: Vec<String> = self.location_names(class).into_iter().map(|it| it.name).collect();
            let last = names.len() as i64 - 1;
            let kind = DomainKind::Enum(names);
            self.controls[class].domain =
                self.domains.add(Domain { name: None, intervals: vec![(0, last)], kind, undefined: false });
        }
        let counts = counts(&model.processes, instances);
        let started: Vec<bool> =
            (0..model.processes.len()).map(|class| sites(&model.processes, class) > 0).collect();
        let mut next_pid = 0;
        self.classes = vec![Vec::new(); model.processes.len()];
        for (class, process) in model.processes.iter().enumerate() {
            for n in 0..counts[class].max(process.active.count) {
                let always = n < process.active.count && !started[class];
                let pid = if n < process.active.count {
                    next_pid += 1;
                    next_pid - 1
                } else {
                    -1
                };
                // The variable of a number that varies is made with the others.
                let pid = if always { Pid::Always(pid) } else { Pid::State(VarId(pid as u32)) };
                self.classes[class].push(self.slots.len());
                let priority = Priority::Always(process.active.priority);
                self.slots.push(Slot { class, location: VarId(0), pid, priority, stores: Vec::new() });
            }
        }
        if self.slots.len() > MAX_PROCESSES * 4 {
            let span = model.processes.first().map_or(hadal_system::Span::default(), |it| it.span);
            self.error(span, format!("room for {} processes is too much", self.slots.len()));
        }
    }
}

/// How many instances of each type may live at once.
fn counts(processes: &[Process], instances: &Instances) -> Vec<usize> {
    let mut counts: Vec<usize> = processes.iter().map(|process| process.active.count).collect();
    // Types start each other: a few rounds settle everything but recursion.
    for _ in 0..=processes.len() {
        let before = counts.clone();
        for (class, count) in counts.iter_mut().enumerate() {
            *count = processes[class].active.count;
            for (starter, process) in processes.iter().enumerate() {
                let times = if starter == class { before[starter].min(1) } else { before[starter] };
                for (element, body) in process.elements.iter().enumerate() {
                    let runs = runs_in(body, class);
                    if runs == 0 {
                        continue;
                    }
                    let turns = match (in_loop(process, element), starter == class) {
                        (true, true) => loop_bound(process).unwrap_or(0).max(IN_LOOP),
                        (true, false) => loop_bound(process).unwrap_or(IN_LOOP),
                        // Nothing in the text says how deep the recursion goes.
                        (false, true) => IN_LOOP,
                        (false, false) => 1,
                    };
                    *count = count.saturating_add(times.saturating_mul(runs).saturating_mul(turns));
                }
            }
            *count = (*count).min(MAX_PROCESSES);
        }
        if before == counts {
            break;
        }
    }
    for (name, count) in instances {
        if let Some(class) = processes.iter().position(|process| *process.name == **name) {
            counts[class] = (*count).clamp(processes[class].active.count, MAX_PROCESSES);
        }
    }
    counts
}

/// Whether an element can come again after itself.
fn in_loop(process: &Process, element: usize) -> bool {
    let mut open = vec![element];
    let mut seen = vec![false; process.elements.len()];
    while let Some(at) = open.pop() {
        let this = &process.elements[at];
        let mut after: Vec<usize> = Vec::new();
        match &this.kind {
            ElementKind::Choice(options) => after.extend(options),
            ElementKind::Enter(to)
            | ElementKind::Goto(to)
            | ElementKind::Join(to)
            | ElementKind::Leave(to)
            | ElementKind::Unless(to) => after.push(*to),
            ElementKind::End => {}
            // A block's content goes on to what follows the block.
            ElementKind::Op(_) | ElementKind::Step(_) => after.push(this.next),
        }
        for next in after {
            if next == element {
                return true;
            }
            if !std::mem::replace(&mut seen[next], true) {
                open.push(next);
            }
        }
    }
    matches!(&process.elements[element].kind, ElementKind::Step(steps) if has_loop(steps))
}

fn has_loop(steps: &[Step]) -> bool {
    steps.iter().any(|step| match step {
        Step::Do(..) => true,
        Step::If(options, _) => options.iter().any(|option| has_loop(option)),
        _ => false,
    })
}

/// The largest constant that a condition of the process compares with: most loops that start processes count to one.
fn loop_bound(process: &Process) -> Option<usize> {
    let mut best = None;
    for element in &process.elements {
        terms(element, &mut |term| {
            if let TermKind::Binary("<" | "<=" | "==" | ">" | ">=" | "!=", left, right) = &term.kind {
                for side in [left, right] {
                    if let Some(value) = super::super::check::constant(side) {
                        best =
                            best.max(usize::try_from(value).ok().filter(|&value| value <= 64).map(|n| n + 1));
                    }
                }
            }
        });
    }
    best
}

/// How many statements start a process of this type.
pub(super) fn sites(processes: &[Process], class: usize) -> usize {
    processes.iter().flat_map(|process| &process.elements).map(|element| runs_in(element, class)).sum()
}

fn runs_in(element: &Element, class: usize) -> usize {
    let mut runs = 0;
    terms(element, &mut |term| {
        if let TermKind::Run(run) = &term.kind
            && run.process == class
        {
            runs += 1;
        }
    });
    runs
}

/// Visits every term of an element.
pub(in crate::promela) fn terms<'t>(element: &'t Element, visit: &mut dyn FnMut(&'t Term)) {
    ops(element, &mut |op| op_terms(op, visit));
}

/// Visits every term of a basic statement.
pub(in crate::promela) fn op_terms<'t>(op: &'t Op, visit: &mut dyn FnMut(&'t Term)) {
    match op {
        Op::Condition(term) | Op::Assert(term) => inner(term, visit),
        Op::Assign(target, term) => {
            indices(target, visit);
            inner(term, visit);
        }
        Op::Print(_, list) => list.iter().for_each(|term| inner(term, visit)),
        Op::Send { channel, values, .. } => {
            indices(channel, visit);
            values.iter().for_each(|term| inner(term, visit));
        }
        Op::Receive(receive) => received(receive, visit),
        Op::SetPriority(pid, priority) => {
            inner(pid, visit);
            inner(priority, visit);
        }
        Op::Else | Op::Declare(_) | Op::Jump | Op::Event { .. } => {}
    }
}

/// Visits every basic statement of an element.
pub(in crate::promela) fn ops<'t>(element: &'t Element, visit: &mut dyn FnMut(&'t Op)) {
    match &element.kind {
        ElementKind::Op(op) => visit(op),
        ElementKind::Step(steps) => step_ops(steps, visit),
        _ => {}
    }
}

fn step_ops<'t>(steps: &'t [Step], visit: &mut dyn FnMut(&'t Op)) {
    for step in steps {
        match step {
            Step::Op(op, _) => visit(op),
            Step::If(options, _) | Step::Do(options, _) => {
                options
                    .iter()
                    .for_each(|option| stacker::maybe_grow(64 << 10, 1 << 20, || step_ops(option, visit)));
            }
            Step::Break | Step::Goto(_) | Step::Label(_) => {}
        }
    }
}

pub(in crate::promela) fn inner<'t>(term: &'t Term, visit: &mut dyn FnMut(&'t Term)) {
    visit(term);
    stacker::maybe_grow(64 << 10, 1 << 20, || match &term.kind {
        TermKind::Unary(_, of) | TermKind::Process(_, of) => inner(of, visit),
        TermKind::Binary(_, left, right) => {
            inner(left, visit);
            inner(right, visit);
        }
        TermKind::Choice(condition, yes, no) => {
            inner(condition, visit);
            inner(yes, visit);
            inner(no, visit);
        }
        TermKind::Run(run) => run.arguments.iter().for_each(|argument| inner(argument, visit)),
        TermKind::Read(target) => indices(target, visit),
        TermKind::Channel(_, target) => indices(target, visit),
        TermKind::Poll(receive) => received(receive, visit),
        TermKind::Label { pid, .. } => pid.iter().for_each(|pid| inner(pid, visit)),
        TermKind::Remote { pid, target, .. } => {
            pid.iter().for_each(|pid| inner(pid, visit));
            indices(target, visit);
        }
        TermKind::Const(_)
        | TermKind::Pid
        | TermKind::Count
        | TermKind::Last
        | TermKind::Timeout
        | TermKind::NonProgress => {}
    });
}

/// Visits the terms inside a place.
pub(in crate::promela) fn indices<'t>(target: &'t VarPath, visit: &mut dyn FnMut(&'t Term)) {
    for segment in &target.path {
        if let Segment::Index(index) = segment {
            inner(index, visit);
        }
    }
}

/// Visits the terms of a receive.
pub(in crate::promela) fn received<'t>(receive: &'t Receive, visit: &mut dyn FnMut(&'t Term)) {
    indices(&receive.channel, visit);
    for argument in &receive.arguments {
        match argument {
            Argument::Match(term) => inner(term, visit),
            Argument::Into(target) => indices(target, visit),
            Argument::Ignore => {}
        }
    }
}
