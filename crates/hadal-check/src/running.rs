//! How questions about infinite runs are answered.

use crate::error::CheckError;
use crate::searching::Explored;
use hadal_exec::product::Fairness;
use hadal_search::cycles::as_safety::Seeds;
use hadal_search::cycles::{self, Engine};
use hadal_search::ram::Search;
use serde::{Deserialize, Serialize};

/// Which runs count, and how those that are wrong are looked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Running {
    /// Which infinite runs count: all, or those that are fair to every process (to every rule where there are no processes).
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Fair::Off))]
    pub fair: Fair,
    /// How cycles of such runs are looked for.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "NAME", default_value_t = Liveness::Sweep))]
    pub liveness: Liveness,
}

/// Which infinite runs count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Fair {
    /// All.
    #[default]
    Off,
    /// Those in which whoever can move from some time on for ever does move.
    Weak,
}

impl From<Fair> for Fairness {
    fn from(fair: Fair) -> Self {
        match fair {
            Fair::Off => Fairness::Off,
            Fair::Weak => Fairness::Weak,
        }
    }
}

/// How accepted cycles are looked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Liveness {
    /// Sweeps over the closed set once every state is known: in RAM and on disk.
    #[default]
    Sweep,
    /// Nested depth-first search in RAM (Schwoon and Esparza 2005).
    Ndfs,
    /// Nested depth-first search that looks at the claim's components first (Edelkamp, Leue and Lluch Lafuente 2004).
    Driven,
    /// Strongly connected components on the fly, in RAM (Couvreur 1999).
    Scc,
    /// One way catch them young, in RAM (Cerna and Pelanek 2003).
    Owcty,
    /// Maximal accepting predecessors, in RAM (Brim, Cerna, Moravec and Simsa 2004).
    Map,
    /// Liveness as safety, with the strategy asked for: the lasso is a shortest one among those that begin their loop in an
    /// accepting state. With --max-depth: whether there is one so short (Jabbar 2008).
    LasBfs,
    /// As las-bfs with any state as the beginning of the loop: the lasso is a shortest one (Schuppan and Biere 2004).
    LasAny,
}

impl Running {
    /// Whether sweeps follow the usual search.
    pub(crate) fn is_usual(&self) -> bool {
        self.liveness == Liveness::Sweep
    }

    /// Whether another search than the usual one is asked for.
    pub fn has_engine(&self) -> bool {
        self.liveness != Liveness::Sweep && self.seeds().is_none()
    }

    /// Which states may begin a loop, where loops are looked for as states to be reached.
    pub fn seeds(&self) -> Option<Seeds> {
        match self.liveness {
            Liveness::LasBfs => Some(Seeds::Accepting),
            Liveness::LasAny => Some(Seeds::Any),
            _ => None,
        }
    }

    /// Makes the search that was asked for.
    pub(crate) fn explore(&self, search: &Search) -> Result<Explored, CheckError> {
        let engine = match self.liveness {
            Liveness::Ndfs => Engine::Nested,
            Liveness::Driven => Engine::Driven,
            Liveness::Scc => Engine::Components,
            Liveness::Owcty => Engine::Owcty,
            Liveness::Map => Engine::Map,
            Liveness::Sweep | Liveness::LasBfs | Liveness::LasAny => {
                return Err(CheckError::Internal("this follows the usual search".into()));
            }
        };
        let report =
            cycles::explore(search, engine).map_err(|error| CheckError::Question(error.to_string()))?;
        Ok(Explored { report, decisions: Vec::new() })
    }
}
