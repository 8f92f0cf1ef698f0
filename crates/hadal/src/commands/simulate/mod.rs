//! `hadal simulate`: walks through a model's states, by hand or at random.
//!
//! The walk runs on the interpreter and without symmetry reduction: what is shown is what happens. The same seed walks
//! the same way on every machine.

mod policy;
mod replay;

use crate::args::SimulateArgs;
use crate::failure::Failure;
use crate::load::load;
use crate::paint::{Color, Paint};
use crate::stepping::{Choice, Spot, Stepper};
use crate::trace::{Detail, StepView};
use hadal_check::properties::select_properties;
use hadal_check::units::{counted, grouped};
use hadal_exec::model::{Engine, Model, ModelOptions};
use hadal_exec::symmetry::SymmetryMode;
use hadal_search::ViolationKind;
use hadal_system::DeadlockNotion;
use hadal_system::random::SplitMix;
use std::collections::BTreeMap;
use std::io::{BufRead, ErrorKind, IsTerminal, Write};

/// Runs the command; returns the exit code: 1 where the walk met something wrong.
pub fn run(args: &SimulateArgs) -> Result<u8, Failure> {
    if let Some(policy) = &args.policy {
        return policy::run(args, policy);
    }
    let mut loaded = load(&args.model)?;
    crate::output::aside(format_args!("{}", loaded.warnings));
    select_properties(&mut loaded.system, &[], &[])?;
    let options = ModelOptions { engine: Engine::Interpreted, symmetry: SymmetryMode::Off };
    let model = Model::new(loaded.system, options).map_err(|error| Failure::Usage(error.to_string()))?;
    let detail = if args.full_states { Detail::WholeStates } else { Detail::Changes };
    let (mut random, mut out) = (SplitMix::new(args.seed), std::io::stdout().lock());
    if args.runs > 1 {
        return match statistics(&model, loaded.language.deadlock, args, &mut out) {
            Ok(wrong) => Ok(u8::from(wrong)),
            Err(SimulationError::Io(error)) => Err(Failure::File { path: "standard output".into(), error }),
            Err(SimulationError::Failure(failure)) => Err(failure),
        };
    }
    let mut walk = Simulation::new(&model, loaded.language.deadlock, detail);
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
        by_hand(&mut walk, &mut random, Talk { input: &mut Commands::new(echo), echo, out: &mut out })
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
    random: &mut SplitMix,
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
        Met::Nothing => writeln!(out, "\nnothing wrong in {} (seed {})", counted(steps, "step"), args.seed)?,
        Met::Wrong(what) => {
            writeln!(out, "\nended after {} (seed {}): {what}", counted(steps, "step"), args.seed)?
        }
    }
    Ok(())
}

/// Where commands come from: a terminal, where lines can be edited and called back, or a pipe.
enum Commands {
    Terminal(Box<rustyline::DefaultEditor>),
    Pipe(std::io::StdinLock<'static>),
}

impl Commands {
    fn new(echo: Echo) -> Self {
        match (echo, rustyline::DefaultEditor::new()) {
            (Echo::No, Ok(editor)) => Commands::Terminal(Box::new(editor)),
            _ => Commands::Pipe(std::io::stdin().lock()),
        }
    }

    /// The next command; none when there is no more.
    fn next(&mut self, out: &mut dyn Write) -> Result<Option<String>, SimulationError> {
        match self {
            Commands::Terminal(editor) => match editor.readline("> ") {
                Ok(line) => {
                    // A history that cannot grow is no reason to stop.
                    let _ = editor.add_history_entry(line.as_str());
                    Ok(Some(line))
                }
                Err(_) => Ok(None),
            },
            Commands::Pipe(input) => {
                write!(out, "> ")?;
                out.flush()?;
                let mut line = String::new();
                Ok((input.read_line(&mut line)? > 0).then_some(line))
            }
        }
    }
}

/// The person's side of a walk by hand.
struct Talk<'t> {
    input: &'t mut Commands,
    echo: Echo,
    out: &'t mut dyn Write,
}

/// Whether commands are repeated in the output: a terminal shows them already, a pipe does not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Echo {
    Yes,
    No,
}

const HELP: &str = "a number takes that action; r: any action, b: back, j N: back to step N, t: the steps so far, s: show the state, \
     w FILE: write the walk, h: help, q: quit";

/// Asks for every step until the person quits or the input ends.
fn by_hand(walk: &mut Simulation, random: &mut SplitMix, talk: Talk) -> Result<(), SimulationError> {
    let Talk { input, echo, out } = talk;
    if walk.path.is_empty() && walk.enabled.len() == 1 {
        walk.take(0, out)?;
    }
    writeln!(out, "\n{HELP}")?;
    walk.list(out)?;
    loop {
        out.flush()?;
        let Some(line) = input.next(out)? else {
            writeln!(out)?;
            return Ok(());
        };
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
            "h" | "?" | "help" => {
                writeln!(out, "{HELP}")?;
                continue;
            }
            "t" => {
                for (n, visit) in walk.path.iter().enumerate() {
                    writeln!(out, "{n:>5}  {}", visit.step.action)?;
                }
                continue;
            }
            jump if jump.strip_prefix("j ").is_some() => {
                let to = jump[2..].trim().parse().unwrap_or(usize::MAX);
                if !walk.jump(to) {
                    writeln!(out, "there is no such step; there are {}", walk.steps())?;
                    continue;
                }
                walk.show_step(out)?;
                None
            }
            save if save.strip_prefix("w ").is_some() => {
                let steps: Vec<&StepView> = walk.path.iter().map(|visit| &visit.step).collect();
                let saved = serde_json::json!({ "steps": steps }).to_string();
                match std::fs::write(save[2..].trim(), saved) {
                    Ok(()) => writeln!(out, "written; `hadal simulate MODEL --replay FILE` follows it")?,
                    Err(error) => writeln!(out, "it cannot be written: {error}")?,
                }
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

/// A path from an initial state to where the person is.
struct Simulation<'m> {
    stepper: Stepper<'m>,
    detail: Detail,
    path: Vec<Visit>,
    /// What can fire at the end of the path; the starts where there is no state yet.
    enabled: Vec<Choice>,
    /// Something wrong was met, on this path or on one that was left by going back.
    met_violation: bool,
}

/// A state on the path and the step that led there.
struct Visit {
    spot: Spot,
    step: StepView,
}

impl<'m> Simulation<'m> {
    fn new(model: &'m Model, deadlock: DeadlockNotion, detail: Detail) -> Self {
        let mut stepper = Stepper::new(model, deadlock);
        let enabled = stepper.choices(None);
        Simulation { stepper, detail, path: Vec::new(), enabled, met_violation: false }
    }

    /// Steps from the initial state.
    fn steps(&self) -> u64 {
        (self.path.len() as u64).saturating_sub(1)
    }

    fn spot(&self) -> Option<&Spot> {
        self.path.last().map(|visit| &visit.spot)
    }

    fn list(&self, out: &mut dyn Write) -> Result<(), SimulationError> {
        if self.enabled.is_empty() {
            writeln!(out, "nothing can be done here")?;
        }
        for (n, choice) in self.enabled.iter().enumerate() {
            let remark = match &choice.to {
                None => "  (raises an error)".to_owned(),
                Some(to) if self.spot().is_some_and(|here| here.state == to.state) => {
                    "  (changes nothing)".to_owned()
                }
                Some(to) => match self.spot() {
                    Some(here) => self.effect(here, choice, to),
                    None => String::new(),
                },
            };
            writeln!(out, "{:>5}. {}{remark}", n + 1, self.stepper.name(self.spot(), choice.label))?;
        }
        Ok(())
    }

    /// What a choice would change, in short.
    fn effect(&self, here: &Spot, choice: &Choice, to: &Spot) -> String {
        const SHOWN: usize = 3;
        let step = self.stepper.step(Some(here), choice, to);
        let mut changes: Vec<String> =
            step.changes.iter().take(SHOWN).map(|it| it.text(Paint::Plain)).collect();
        if step.changes.len() > SHOWN {
            changes.push(format!("{} more", step.changes.len() - SHOWN));
        }
        format!("  [{}]", changes.join("; "))
    }

    /// Fires the `n`-th of what is enabled, shows the step, and looks at the state it leads to.
    fn take(&mut self, n: usize, out: &mut dyn Write) -> Result<Met, SimulationError> {
        let choice = self.enabled[n].clone();
        let Some(to) = choice.to.clone() else {
            for line in choice.printed.lines() {
                writeln!(out, "         | {line}")?;
            }
            let kind = match self.path.is_empty() {
                true => ViolationKind::StartFault(choice.label),
                false => ViolationKind::Fault(choice.label),
            };
            return self.report(kind, out);
        };
        let step = self.stepper.step(self.spot(), &choice, &to);
        self.enabled = self.stepper.choices(Some(&to));
        let wrong = self.stepper.wrong(&to, &self.enabled);
        self.path.push(Visit { spot: to, step });
        self.show_step(out)?;
        match wrong {
            Some(kind) => self.report(kind, out),
            None => Ok(Met::Nothing),
        }
    }

    /// Says what is wrong here, with the place in the model and the values behind it.
    fn report(&mut self, kind: ViolationKind, out: &mut dyn Write) -> Result<Met, SimulationError> {
        let path = self.path.iter().map(|visit| visit.spot.state.clone()).collect();
        let wrong = self.stepper.describe(path, kind)?;
        write!(out, "\n{}", wrong.text())?;
        self.met_violation = true;
        Ok(Met::Wrong(wrong.message))
    }

    /// Goes back to step `n`.
    fn jump(&mut self, n: usize) -> bool {
        let there = n < self.path.len();
        if there {
            self.path.truncate(n + 1);
            let here = self.path.last().map(|visit| visit.spot.clone());
            self.enabled = self.stepper.choices(here.as_ref());
        }
        there
    }

    /// Takes the last step back, unless it is the first.
    fn back(&mut self) -> bool {
        self.path.len() > 1 && self.jump(self.path.len() - 2)
    }

    fn show_step(&self, out: &mut dyn Write) -> Result<(), SimulationError> {
        if let Some(visit) = self.path.last() {
            write!(out, "{}", visit.step.text(self.steps(), self.detail, Color::Auto.paint()))?;
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

/// Many random walks, and what they met.
fn statistics(
    model: &Model,
    deadlock: DeadlockNotion,
    args: &SimulateArgs,
    out: &mut dyn Write,
) -> Result<bool, SimulationError> {
    let mut met: BTreeMap<String, (u64, u64)> = BTreeMap::new();
    let mut fired: BTreeMap<String, u64> = BTreeMap::new();
    let (mut steps, mut wrong_walks) = (0u64, 0u64);
    for run in 0..args.runs {
        let mut random = SplitMix::new(args.seed.wrapping_add(run));
        let mut stepper = Stepper::new(model, deadlock);
        let mut path: Vec<Vec<u64>> = Vec::new();
        let mut here: Option<Spot> = None;
        let mut choices = stepper.choices(None);
        let mut ending = None;
        for _ in 0..=args.steps {
            let Some(n) = random.below(choices.len()) else { break };
            let choice = choices[n].clone();
            let kind = match (&choice.to, &here) {
                (None, None) => Some(ViolationKind::StartFault(choice.label)),
                (None, Some(_)) => Some(ViolationKind::Fault(choice.label)),
                (Some(to), _) => {
                    if here.is_some() {
                        *fired.entry(stepper.name(here.as_ref(), choice.label)).or_default() += 1;
                        steps += 1;
                    }
                    path.push(to.state.clone());
                    choices = stepper.choices(Some(to));
                    here = Some(to.clone());
                    stepper.wrong(to, &choices)
                }
            };
            if let Some(kind) = kind {
                ending = Some(kind);
                break;
            }
        }
        if let Some(kind) = ending {
            wrong_walks += 1;
            let length = path.len().saturating_sub(1) as u64;
            let told = stepper.describe(path, kind)?.message;
            let seen = met.entry(told).or_insert((0, u64::MAX));
            *seen = (seen.0 + 1, seen.1.min(length));
        }
    }
    writeln!(
        out,
        "{} of at most {}, {} in all (seeds from {})",
        counted(args.runs, "walk"),
        counted(args.steps, "step"),
        counted(steps, "step"),
        args.seed
    )?;
    writeln!(out, "{} met something wrong", grouped(wrong_walks))?;
    for (what, (times, shortest)) in &met {
        writeln!(out, "  {times} x {what} (after {} at the earliest)", counted(*shortest, "step"))?;
    }
    writeln!(out, "{} fired; most often:", counted(fired.len() as u64, "action"))?;
    let mut often: Vec<(&String, &u64)> = fired.iter().collect();
    often.sort_by_key(|(name, times)| (std::cmp::Reverse(**times), (*name).clone()));
    for (name, times) in often.into_iter().take(10) {
        writeln!(out, "  {} x {name}", grouped(*times))?;
    }
    Ok(wrong_walks > 0)
}
