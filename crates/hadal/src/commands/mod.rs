//! The verbs, one file each: arguments in, an exit code out. A new verb is a file here, a line in [`Verb`] with its help,
//! and one in [`run`].

pub mod about;
mod automaton;
pub mod check;
mod graph;
mod inspect;
mod lsp;
mod manual;
pub mod plan;
pub(crate) mod present;
mod report;
mod runs;
pub(crate) mod several;
mod shorten;
mod simulate;
mod solve;
mod sweep;
mod test;
mod validate;
mod worker;

use crate::args::{
    CheckArgs, InspectArgs, OutputArgs, ReportArgs, ResumeArgs, RunsArgs, SimulateArgs, WorkerArgs,
};
use crate::failure::Failure;
use clap::Subcommand;

/// The verbs.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant, reason = "there is one per process")]
pub enum Verb {
    /// Explore the model and check its properties.
    Check(CheckArgs),
    /// Answer questions about probabilities and rewards, with proved bounds.
    Solve(solve::SolveArgs),
    /// Check a certificate from solve against the model, state by state, in exact arithmetic.
    CheckCertificate(solve::CheckCertificateArgs),
    /// Find a plan for a PDDL task, or the cheapest run of a priced real-time model.
    Plan(plan::PlanArgs),
    /// Walk through the model in a browser, with a search and its counterexample beside it.
    Explore(crate::explore::ExploreArgs),
    /// Walk through the model, by hand or at random.
    Simulate(SimulateArgs),
    /// Show how hadal reads the model: layout, actions, static facts.
    Inspect(InspectArgs),
    /// Write a temporal formula as an automaton.
    Automaton(automaton::AutomatonArgs),
    /// Run benchmark suites, and other tools beside them where they are installed.
    #[cfg(feature = "bench")]
    Bench(hadal_bench::BenchArgs),
    /// Continue a run that was stopped, interrupted or killed.
    Resume(ResumeArgs),
    /// List the runs kept on disk, or remove some.
    Runs(RunsArgs),
    /// Write a page about a run from its folder, finished or still running.
    Report(ReportArgs),
    /// Work for a search on several machines.
    Worker(WorkerArgs),
    /// Check that models answer as their first lines expect.
    Test(test::TestArgs),
    /// Check a plan against a PDDL domain and problem, step by step.
    Validate(validate::ValidateArgs),
    /// Find distances in an explicit graph on disk, and count the blocks that this moves.
    Graph(graph::GraphArgs),
    /// Turn an aircraft landing file of the OR-Library into a priced real-time model.
    Landing(crate::timed::landing::LandingArgs),
    /// Print a shell completion script.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Serve an editor: diagnostics, go to definition, hover (Language Server Protocol).
    Lsp,
    /// Print a manual page (roff), or write the pages of all commands.
    Man(manual::ManArgs),
}

impl Verb {
    /// What a verb that searches prints.
    pub fn output(&mut self) -> Option<&mut OutputArgs> {
        match self {
            Verb::Check(args) => Some(&mut args.output),
            Verb::Resume(args) => Some(&mut args.output),
            _ => None,
        }
    }
}

/// Runs a verb; returns the exit code.
pub fn run(verb: &Verb) -> Result<u8, Failure> {
    match verb {
        Verb::Check(args) if sweep::is_asked(args) => {
            // Settings beside the model may hold the range.
            let settings = args.output.settings.iter().flat_map(|settings| settings.options.clone());
            sweep::run(args, &std::env::args().skip(1).chain(settings).collect::<Vec<_>>())
        }
        Verb::Check(args) => check::run(args, None),
        Verb::Solve(args) => solve::run(args),
        Verb::CheckCertificate(args) => solve::check_certificate(args),
        Verb::Plan(args) => plan::run(args),
        Verb::Explore(args) => crate::explore::run(args),
        Verb::Simulate(args) => simulate::run(args),
        Verb::Inspect(args) => inspect::run(args),
        Verb::Automaton(args) => automaton::run(args),
        #[cfg(feature = "bench")]
        Verb::Bench(args) => Ok(hadal_bench::run(args)?),
        Verb::Resume(args) => runs::resume(args),
        Verb::Runs(args) => runs::run(args),
        Verb::Report(args) => report::run(args),
        Verb::Worker(args) => worker::run(args),
        Verb::Test(args) => test::run(args),
        Verb::Validate(args) => validate::run(args),
        Verb::Graph(args) => graph::run(args),
        Verb::Landing(args) => crate::timed::landing::run(args),
        Verb::Completions { shell } => manual::complete(*shell),
        Verb::Lsp => lsp::run(),
        Verb::Man(args) => manual::run(args),
    }
}
