//! How questions about infinite runs are answered.

use crate::error::CheckError;
use hadal_exec::product::Fairness;
use hadal_guide::Form;
use hadal_search::cycles::Engine;
use hadal_search::cycles::as_safety::Seeds;
use hadal_search::cycles::external::External;
use hadal_system::Shown;
use serde::{Deserialize, Serialize};

/// Which runs count, and how those that are wrong are looked for.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::Args))]
#[serde(default)]
pub struct Running {
    /// Which infinite runs count: all, or those that are fair to every process (to every rule if there are no
    /// processes).
    #[cfg_attr(feature = "clap", arg(long, value_enum, default_value_t = Fair::Off))]
    pub fair: Fair,
    /// How to search for accepting cycles.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "NAME", default_value_t = Liveness::Sweep))]
    pub liveness: Liveness,
    /// With --liveness sweep: which of the runs that violate a formula to show.
    #[cfg_attr(feature = "clap", arg(long, value_enum, value_name = "WHICH", default_value_t = Lasso::Some))]
    pub lasso: Lasso,
}

/// Which lasso is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Lasso {
    /// One that is found quickly; its stem is a shortest path to the loop's first state.
    #[default]
    Some,
    /// A shortest one among those whose loop begins in an accepting state of the product.
    Accepting,
    /// A shortest one.
    Shortest,
}

impl From<Lasso> for Shown {
    fn from(lasso: Lasso) -> Self {
        match lasso {
            Lasso::Some => Shown::Some,
            Lasso::Accepting => Shown::FromAccepting,
            Lasso::Shortest => Shown::Shortest,
        }
    }
}

/// Which infinite runs count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum Fair {
    /// All.
    #[default]
    Off,
    /// Those in which every process that is enabled from some point on forever also moves infinitely often.
    Weak,
    /// Those in which every process that is enabled infinitely often also moves infinitely often.
    Strong,
}

impl From<Fair> for Fairness {
    fn from(fair: Fair) -> Self {
        match fair {
            Fair::Off => Fairness::Off,
            Fair::Weak => Fairness::Weak,
            Fair::Strong => Fairness::Strong,
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
    /// Nested depth-first search on all threads, in RAM (Evangelista, Laarman, Petrucci and van de Pol 2012).
    Cndfs,
    /// Strongly connected components on all threads, in RAM (Bloemen, Laarman and van de Pol 2016).
    Ufscc,
    /// One way catch them young by sorting and scanning, on disk (Barnat, Brim and Simecek 2007).
    ExternalOwcty,
    /// Maximal accepting predecessors by sorting and scanning, on disk (Barnat, Brim, Simecek and Weber 2008).
    ExternalMap,
    /// Liveness as safety, with the chosen strategy: the lasso is a shortest one among those whose loop begins in an
    /// accepting state. With --max-depth: whether one that short exists (Jabbar 2008).
    LasBfs,
    /// As las-bfs, with loops that may begin in any state: the lasso is a shortest one (Schuppan and Biere 2004).
    LasAny,
    /// As las-bfs with External A*, guided by the distance of the claim from acceptance and of the processes from the
    /// start of the loop, including the claim's own cycles.
    LasAstar,
    /// As las-astar with the estimates as published (Jabbar 2008).
    LasAstarSeed,
}

impl Running {
    /// The first option that is given.
    pub fn given(&self) -> Option<&'static str> {
        let given = [
            (self.fair != Fair::default(), "fair"),
            (self.liveness != Liveness::default(), "liveness"),
            (self.lasso != Lasso::default(), "lasso"),
        ];
        given.into_iter().find_map(|(given, name)| given.then_some(name))
    }

    /// Whether sweeps follow the usual search.
    pub(crate) fn is_usual(&self) -> bool {
        self.liveness == Liveness::Sweep
    }

    /// The search in RAM that is asked for, where it is one.
    pub(crate) fn engine(&self) -> Option<Engine> {
        Some(match self.liveness {
            Liveness::Ndfs => Engine::Nested,
            Liveness::Driven => Engine::Driven,
            Liveness::Scc => Engine::Components,
            Liveness::Owcty => Engine::Owcty,
            Liveness::Map => Engine::Map,
            Liveness::Cndfs => Engine::SharedNested,
            Liveness::Ufscc => Engine::SharedComponents,
            _ => return None,
        })
    }

    /// The search by sorting and scanning that is asked for, where it is one.
    pub(crate) fn external(&self) -> Option<External> {
        match self.liveness {
            Liveness::ExternalOwcty => Some(External::Owcty),
            Liveness::ExternalMap => Some(External::Map),
            _ => None,
        }
    }

    /// The estimates of a guided search, where one is asked for.
    pub(crate) fn form(&self) -> Option<Form> {
        match self.liveness {
            Liveness::LasAstar => Some(Form::Stronger),
            Liveness::LasAstarSeed => Some(Form::Published),
            _ => None,
        }
    }

    /// Whether another search in RAM than the usual one is asked for.
    pub fn has_engine(&self) -> bool {
        self.engine().is_some()
    }

    /// Which states may begin a loop, where loops are looked for as states to be reached.
    pub fn seeds(&self) -> Option<Seeds> {
        match self.liveness {
            Liveness::LasBfs | Liveness::LasAstar | Liveness::LasAstarSeed => Some(Seeds::Accepting),
            Liveness::LasAny => Some(Seeds::Any),
            _ => None,
        }
    }

    /// Which lasso is shown; not every search can choose.
    pub(crate) fn shown(&self) -> Result<Shown, CheckError> {
        if self.lasso != Lasso::Some && self.liveness != Liveness::Sweep {
            return Err(CheckError::Question(
                "--lasso chooses among what sweeps leave: leave out --liveness, or take las-bfs or las-any, whose lassos \
                 are shortest"
                    .into(),
            ));
        }
        Ok(self.lasso.into())
    }

    /// Among which lassos one that is told to be shortest is shortest.
    pub fn shortest_among(&self) -> &'static str {
        match (self.liveness, self.lasso) {
            (Liveness::LasBfs | Liveness::LasAstar | Liveness::LasAstarSeed, _) | (_, Lasso::Accepting) => {
                "those whose loop begins in an accepting state"
            }
            _ => "all",
        }
    }
}
