//! `hadal simulate`: walks through a model's states, by hand or at random.
//!
//! The walk runs on the interpreter and without symmetry reduction: what is shown is what happens. The same seed walks
//! the same way on every machine.

mod replay;

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::load::load;
use crate::trace::{Detail, Scalar, StepView, ViolationView};
use crate::violation;
use hadal_check::properties::select_properties;
use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_exec::symmetry::{Canonicaliser, Scratch, SymmetryMode};
use hadal_exec::{Interpreter, Notes, Outcome, follow};
use hadal_search::{Violation, ViolationKind};
use hadal_system::{Check, DeadlockNotion, Label, ProcessId, StateSpace};
use std::io::{BufRead, ErrorKind, IsTerminal, Write};

/// Runs the command; returns the exit code: 1 where the walk met something wrong.
pub fn run(args: &SimulateArgs) -> Result<u8, Failure> {
    let mut loaded = load(&args.model)?;
    eprint!("{}", loaded.warnings);
    select_properties(&mut loaded.system, &[])?;
    let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
    let model = Model::new(loaded.system, options).map_err(|error| Failure::Usage(error.to_string()))?;
    let detail = if args.full_states { Detail::WholeStates } else { Detail::Changes };
    let mut walk = Simulation::new(&model, loaded.language.deadlock, detail);
    let (mut random, mut out) = (SplitMix64(args.seed), std::io::stdout().lock());
    let replayed = match &args.replay {
        Some(trace) => replay::along(&mut walk, trace, &mut out),
        None => Ok(()),
    };
    let walked = if replayed.is_err() || args.replay.is_some() && !std::io::stdin().is_terminal() {
        replayed
    } else if args.random {
        at_random(&mut walk, args, &mut random, &mut out)
    } else {
        let echo = if std::io::stdin().is_terminal() { Echo::No } else { Echo::Yes };
        by_hand(&mut walk, &mut random, Talk { input: &mut std::io::stdin().lock(), echo, out: &mut out })
    };
    match walked {
        Ok(()) => {}
        // Whoever reads the walk has seen enough.
        Err(SimulationError::Io(error)) if error.kind() == ErrorKind::BrokenPipe => {}
        Err(SimulationError::Io(error)) => return Err(Failure::File { path: "the terminal".into(), error }),
        Err(SimulationError::Failure(failure)) => return Err(failure),
    }
    Ok(u8::from(walk.met_violation))
}

/// Why a walk cannot go on.
#[derive(Debug, thiserror::Error)]
enum SimulationError {
    #[error(transparent)]
    Io(#[from] std::io::Error),
    #[error(transparent)]
    Failure(#[from] Failure),
}

/// Walks until something is wrong, nothing leads on, or the steps are used up.
fn at_random(
    walk: &mut Simulation,
    args: &SimulateArgs,
    random: &mut SplitMix64,
    out: &mut dyn Write,
) -> Result<(), SimulationError> {
    let mut met = Met::Nothing;
    let mut left = args.steps.saturating_add(1);
    while matches!(met, Met::Nothing) && left > 0 {
        met = match random.below(walk.enabled.len()) {
            Some(n) => walk.take(n, out)?,
            None => Met::Wrong("nothing can be done here that the model's assumptions allow".into()),
        };
        left -= 1;
    }
    let steps = walk.steps();
    match met {
        Met::Nothing => writeln!(out, "\nnothing wrong in {steps} steps (seed {})", args.seed)?,
        Met::Wrong(what) => writeln!(out, "\nended after {steps} steps (seed {}): {what}", args.seed)?,
    }
    Ok(())
}

/// The person's side of a walk by hand.
struct Talk<'t> {
    input: &'t mut dyn BufRead,
    echo: Echo,
    out: &'t mut dyn Write,
}

/// Whether commands are repeated in the output: a terminal shows them already, a pipe does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Yes,
    No,
}

const HELP: &str = "a number takes that action; r: any action, b: back, s: show the state, q: quit";

/// Asks for every step until the person quits or the input ends.
fn by_hand(walk: &mut Simulation, random: &mut SplitMix64, talk: Talk) -> Result<(), SimulationError> {
    let Talk { input, echo, out } = talk;
    if walk.path.is_empty() && walk.enabled.len() == 1 {
        walk.take(0, out)?;
    }
    writeln!(out, "\n{HELP}")?;
    walk.list(out)?;
    loop {
        write!(out, "> ")?;
        out.flush()?;
        let mut line = String::new();
        if input.read_line(&mut line)? == 0 {
            writeln!(out)?;
            return Ok(());
        }
        let command = line.trim();
        if echo == Echo::Yes {
            writeln!(out, "{command}")?;
        }
        let chosen = match command {
            "q" => return Ok(()),
            "s" => {
                walk.show_state(out)?;
                continue;
            }
            "b" if walk.back() => {
                walk.show_step(out)?;
                None
            }
            "b" => {
                writeln!(out, "this is where the walk begins")?;
                continue;
            }
            "r" => random.below(walk.enabled.len()),
            "" => None,
            number => match number.parse() {
                Ok(n) if (1..=walk.enabled.len()).contains(&n) => Some(n - 1),
                _ => {
                    writeln!(out, "`{number}` is none of the choices. {HELP}")?;
                    continue;
                }
            },
        };
        if let Some(n) = chosen {
            walk.take(n, out)?;
        }
        walk.list(out)?;
    }
}

/// What a step showed.
enum Met {
    /// All is well.
    Nothing,
    /// Something is wrong, in one sentence.
    Wrong(String),
}

/// One instance of an action (or of a start) that can fire.
struct Choice {
    label: Label,
    printed: String,
    leads: Leads,
}

enum Leads {
    /// To this state.
    To(Vec<u64>),
    /// To an error of the model.
    Nowhere,
}

/// A path from an initial state to where the person is.
struct Simulation<'m> {
    model: &'m Model,
    deadlock: DeadlockNotion,
    interpreter: Interpreter<'m>,
    /// Where the model has multisets, whose elements have no order.
    multisets: Option<(&'m Canonicaliser, Scratch)>,
    detail: Detail,
    path: Vec<Visit>,
    /// What can fire at the end of the path; the starts where there is no state yet.
    enabled: Vec<Choice>,
    /// Something wrong was met, on this path or on one that was left by going back.
    met_violation: bool,
}

/// A state on the path and the step that led there.
struct Visit {
    state: Vec<u64>,
    step: StepView,
    /// Who goes on alone from here.
    then: Option<ProcessId>,
}

impl<'m> Simulation<'m> {
    fn new(model: &'m Model, deadlock: DeadlockNotion, detail: Detail) -> Self {
        let mut walk = Simulation {
            model,
            deadlock,
            interpreter: model.interpreter(),
            multisets: model.symmetry().map(|it| (it, it.scratch())),
            detail,
            path: Vec::new(),
            enabled: Vec::new(),
            met_violation: false,
        };
        walk.find_enabled();
        walk
    }

    /// Steps from the initial state.
    fn steps(&self) -> u64 {
        (self.path.len() as u64).saturating_sub(1)
    }

    fn state(&self) -> Option<&[u64]> {
        self.path.last().map(|visit| visit.state.as_slice())
    }

    fn find_enabled(&mut self) {
        let system = self.model.system();
        let actions = if self.path.is_empty() { &system.starts } else { &system.actions };
        let instances = system.label_bases(actions).last().copied().unwrap_or(0);
        self.enabled.clear();
        if let (Some(visit), false) = (self.path.last(), system.has_plain_steps()) {
            for step in follow::steps(self.model, &self.interpreter, &visit.state, visit.then) {
                let leads = step.to.map_or(Leads::Nowhere, Leads::To);
                self.enabled.push(Choice { label: step.label, printed: step.printed, leads });
            }
            return;
        }
        // `Model::new` refuses systems with more instances than labels.
        for label in (0..instances as u32).map(Label) {
            let mut notes = Notes { printed: Some(String::new()), ..Notes::default() };
            let outcome = match self.path.last() {
                Some(visit) => self.interpreter.fire_noting(&visit.state, label, &mut notes),
                None => self.interpreter.start_noting(label, &mut notes),
            };
            let leads = match outcome {
                Outcome::Disabled | Outcome::Dropped => continue,
                Outcome::Reached(mut state) => {
                    if let Some((multisets, scratch)) = &mut self.multisets {
                        multisets.normalise_multisets(&mut state, scratch);
                    }
                    Leads::To(state)
                }
                Outcome::Fault(_) => Leads::Nowhere,
            };
            self.enabled.push(Choice { label, printed: notes.printed.unwrap_or_default(), leads });
        }
    }

    fn name(&self, label: Label) -> String {
        match self.path.is_empty() {
            true => self.model.render_start(label),
            false => self.model.render_label(label),
        }
    }

    fn list(&self, out: &mut dyn Write) -> Result<(), SimulationError> {
        if self.enabled.is_empty() {
            writeln!(out, "nothing can be done here")?;
        }
        for (n, choice) in self.enabled.iter().enumerate() {
            let remark = match &choice.leads {
                Leads::Nowhere => "  (meets an error)",
                Leads::To(state) if Some(state.as_slice()) == self.state() => "  (changes nothing)",
                Leads::To(_) => "",
            };
            writeln!(out, "{:>5}. {}{remark}", n + 1, self.name(choice.label))?;
        }
        Ok(())
    }

    /// Fires the `n`-th of what is enabled, shows the step, and looks at the state it leads to.
    fn take(&mut self, n: usize, out: &mut dyn Write) -> Result<Met, SimulationError> {
        let Choice { label, printed, leads } = &self.enabled[n];
        let Leads::To(state) = leads else {
            for line in printed.lines() {
                writeln!(out, "         | {line}")?;
            }
            let kind = match self.path.is_empty() {
                true => ViolationKind::StartFault(*label),
                false => ViolationKind::Fault(*label),
            };
            return self.report(kind, out);
        };
        let scalars = self.model.render_state(state);
        let scalars = scalars.into_iter().map(|(name, value)| Scalar { name, value }).collect();
        let before = self.path.last().map(|visit| visit.step.state.as_slice());
        let step = StepView::new(self.name(*label), before, scalars, printed.clone());
        let check = self.interpreter.check(state);
        let system = self.model.system();
        let then = match self.path.is_empty() {
            true => None,
            false => system.instance(&system.actions, *label).and_then(|it| it.action.then),
        };
        self.path.push(Visit { state: state.clone(), step, then });
        self.find_enabled();
        self.show_step(out)?;
        match check {
            // Goals are not asked for: what is hit is an invariant.
            Check::Hit(id) => self.report(ViolationKind::Invariant(id), out),
            Check::Fault(id) => self.report(ViolationKind::PropertyFault(id), out),
            Check::Fine if self.is_deadlock() => self.report(ViolationKind::Deadlock, out),
            Check::Fine => Ok(Met::Nothing),
        }
    }

    /// The notion of deadlock that `check` has for the language.
    fn is_deadlock(&self) -> bool {
        let Some(here) = self.state() else { return false };
        let stays = |choice: &Choice| matches!(&choice.leads, Leads::To(state) if state == here);
        let suspected = match self.deadlock {
            DeadlockNotion::Off => false,
            DeadlockNotion::Stuck => self.enabled.is_empty(),
            DeadlockNotion::Stuttering => self.enabled.iter().all(stays),
        };
        suspected && !self.model.worker().can_leave(here)
    }

    /// Says what is wrong here, with the place in the model and the values behind it.
    fn report(&mut self, kind: ViolationKind, out: &mut dyn Write) -> Result<Met, SimulationError> {
        let path = self.path.iter().map(|visit| visit.state.clone()).collect();
        let found = Violation { kind, path, shortest: false };
        let wrong: ViolationView = violation::view(self.model, &found)?.violation;
        write!(out, "\n{}", wrong.text())?;
        self.met_violation = true;
        Ok(Met::Wrong(wrong.message))
    }

    /// Takes the last step back, unless it is the first.
    fn back(&mut self) -> bool {
        let more = self.path.len() > 1;
        if more {
            self.path.pop();
            self.find_enabled();
        }
        more
    }

    fn show_step(&self, out: &mut dyn Write) -> Result<(), SimulationError> {
        if let Some(visit) = self.path.last() {
            write!(out, "{}", visit.step.text(self.steps(), self.detail))?;
        }
        Ok(())
    }

    fn show_state(&self, out: &mut dyn Write) -> Result<(), SimulationError> {
        match self.path.last() {
            Some(visit) => {
                for scalar in &visit.step.state {
                    writeln!(out, "         {} = {}", scalar.name, scalar.value)?;
                }
            }
            None => writeln!(out, "no initial state is chosen yet")?,
        }
        Ok(())
    }
}

/// Sebastiano Vigna's splitmix64: small, and the same on every machine.
struct SplitMix64(u64);

impl SplitMix64 {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `bound`, unless there is none.
    fn below(&mut self, bound: usize) -> Option<usize> {
        // The high half of the product is below the bound.
        let drawn = (u128::from(self.next()) * bound as u128) >> 64;
        (bound > 0).then_some(drawn as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::SplitMix64;

    /// The first outputs for seed 1234567, as published with the generator's reference code.
    #[test]
    fn the_generator_is_splitmix64() {
        let mut random = SplitMix64(1_234_567);
        let drawn = [random.next(), random.next(), random.next()];
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn every_choice_is_drawn_and_none_from_nothing() {
        let mut random = SplitMix64(1);
        let drawn: std::collections::BTreeSet<_> = (0..100).filter_map(|_| random.below(3)).collect();
        assert_eq!(drawn.into_iter().collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!(random.below(0), None);
    }
}
