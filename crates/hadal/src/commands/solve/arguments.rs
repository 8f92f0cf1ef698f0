//! Arguments of `solve`, as they are typed.

use super::method::Method;
use crate::args::{Given, parse_override};
use clap::{Args, ValueEnum};
use hadal_check::options::parse_size;
use hadal_check::units::parse_time;
use std::path::PathBuf;
use std::time::Duration;

/// Which model.
#[derive(Args, Clone, Debug)]
pub struct SourceArgs {
    /// The model: PRISM's language (mdp, dtmc, ctmc), explicit files (.tra), JANI (.jani), or a PPDDL domain.
    pub model: PathBuf,
    /// The problem of a PPDDL domain, if it is in a file of its own.
    pub problem: Option<PathBuf>,
    /// Give a constant of the model or of the question a value; may be repeated.
    #[arg(short = 'D', value_name = "NAME=VALUE", value_parser = parse_override)]
    pub define: Vec<(String, Given)>,
}

/// What is asked of a model.
#[derive(Args, Clone, Debug)]
pub struct QuestionArgs {
    /// Answer this property of the file beside the model, given by name or number. For a PPDDL problem: goal (the
    /// probability of reaching it, the default), steps (the expected number) or cost (the expected cost).
    #[arg(long, value_name = "NAME", conflicts_with = "formula")]
    pub property: Option<String>,
    /// Answer this question.
    #[arg(long, value_name = "TEXT")]
    pub formula: Option<String>,
    /// The file of properties. Default: the .props or .pctl file beside the model with the model's name, or with its
    /// name up to a dot or digit.
    #[arg(long, value_name = "FILE")]
    pub properties: Option<PathBuf>,
    /// Compare the value with this bound and answer holds or violated: a relation and a number, such as '>=0.5' or
    /// '<1/3'.
    #[arg(long, value_name = "BOUND", conflicts_with = "export")]
    pub threshold: Option<String>,
}

/// How a question is answered.
#[derive(Args, Clone, Debug)]
pub struct MethodArgs {
    /// Print the exact value, as a fraction.
    #[arg(long)]
    pub exact: bool,
    /// How to compute values. Methods other than intervals and lao prove nothing: they compute least rewards until a
    /// target (fret: the greatest probability of one) and end when no value changes by more than the precision.
    #[arg(long, value_enum, default_value_t = Method::Intervals, value_name = "NAME")]
    pub method: Method,
    /// What the outcomes of a choice are worth together: their mean, as chance has it; their sum or the worst of them, as
    /// in AND/OR graphs and games, whatever their probabilities.
    #[arg(long, value_enum, default_value_t = Outcomes::Mean, value_name = "NAME")]
    pub outcomes: Outcomes,
    /// Estimates to begin with, for rtdp, lrtdp, ldfs, ao and fret: hmax, pdb or another guide that is never too high (`hadal
    /// guides`); for PPDDL hmax or lmcut. They let each choice pick its outcome.
    #[arg(long, value_name = "NAME", default_value = "blind")]
    pub guide: String,
    /// End jacobi and gauss-seidel after this many sweeps at the latest.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_sweeps: Option<u64>,
    /// Count a state from which the target cannot be reached as this much, and give up wherever going on costs more; for
    /// the methods that prove nothing but fret. Default: infinity.
    #[arg(long, value_name = "COST")]
    pub dead_end: Option<f64>,
    /// How far apart the bounds may be, relative to the value.
    #[arg(long, value_name = "WIDTH", default_value_t = 1e-6)]
    pub precision: f64,
    /// Where to keep values. All tiers but auto sweep all values at once and agree to the bit; those other than ram need
    /// --disk.
    #[arg(long, value_enum, default_value_t = TierName::Auto, value_name = "NAME")]
    pub tier: TierName,
}

/// How much an answer may take.
#[derive(Args, Clone, Debug)]
pub struct RoomArgs {
    /// Memory budget for the graph and for solving it.
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    pub memory: Option<u64>,
    /// Continue in this folder when memory runs out. After a kill, the same command resumes.
    #[arg(long, value_name = "DIR")]
    pub disk: Option<PathBuf>,
    /// Threads that sweep large components. The values are the same to the bit for any number.
    #[arg(long, value_name = "N", default_value_t = hadal_check::memory::default_threads())]
    pub threads: usize,
    /// Stop after this time, e.g. 90s, 10m, 2h. A run on disk goes on from its last commit when it is asked again.
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub time_limit: Option<Duration>,
    /// Stop when more states are found.
    #[arg(long, value_name = "N")]
    pub max_states: Option<u64>,
}

/// What is written.
#[derive(Args, Clone, Debug)]
pub struct WrittenArgs {
    /// Write a policy that attains the value, up to the precision, to this file: one line per state with its variables
    /// and the choice.
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// Write paths to this file that show how a probability compares with a bound (of the formula, or --threshold): the most
    /// likely ones under the best policy, until they are likely enough together.
    #[arg(long, value_name = "FILE")]
    pub paths: Option<PathBuf>,
    /// Write a certificate to this file; `hadal check-certificate` checks it without solving anything.
    #[arg(long, value_name = "FILE", conflicts_with = "exact")]
    pub certificate: Option<PathBuf>,
    /// Write the graph as explicit files for PRISM and Storm instead of answering: STEM.tra, STEM.sta, STEM.lab, and
    /// STEM.NAME.trew for each reward.
    #[arg(long, value_name = "STEM", conflicts_with_all = ["formula", "property", "exact", "policy", "paths", "disk"])]
    pub export: Option<PathBuf>,
    /// Print one JSON object instead of text.
    #[arg(long)]
    pub json: bool,
}

/// What the values of several outcomes become.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Outcomes {
    /// Their mean: chance decides.
    Mean,
    /// Their sum: all have to be dealt with (AND/OR graphs, additive).
    Sum,
    /// The worst: an opponent decides, or all are dealt with at once (AND/OR graphs, max; games).
    Worst,
}

/// Where values are kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TierName {
    /// In RAM, component by component; on disk when RAM runs out.
    Auto,
    /// In RAM.
    Ram,
    /// In RAM, with the equations on disk.
    SemiExternal,
    /// On disk, with one block in RAM at a time.
    Blocks,
    /// On edges that every sweep sorts again, as published.
    Faithful,
}
