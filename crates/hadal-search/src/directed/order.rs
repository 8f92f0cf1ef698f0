//! Which open state comes next: the orders of directed search and how equals are told apart.

use super::alternate::Alternating;
use super::beam::Beam;
use super::best_first::BestFirst;
use super::climb::Climb;
use super::core::{Core, Course};
use super::deepening::Deepening;
use super::freeing::Freeing;
use super::orders::{ORDERS, OrderInfo};
use std::fmt;
use std::str::FromStr;

/// An order of expansion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Least estimate first.
    Greedy,
    /// Least sum of cost and estimate first. With an admissible guide the trace is cheapest.
    AStar,
    /// As A*, the estimate weighted; in thousandths. With an admissible guide the trace costs at most that many times
    /// the least.
    Weighted(u32),
    /// Hill climbing that searches breadth-first for a better state, and goes on greedily where there is none.
    HillClimbing,
    /// Breadth-first, only this many of the best states of each layer kept. Incomplete.
    Beam(u64),
    /// Depth-first up to a bound on cost plus estimate, which is raised until something is found.
    IterativeDeepening,
    /// Breadth-first up to a bound on cost plus estimate, which is raised until something is found.
    BreadthHeuristic,
    /// First in, first out.
    Breadth,
    /// Last in, first out.
    Depth,
    /// Least cost first.
    UniformCost,
    /// Greedy, and breadth-first in turns of growing length: a bad guide costs little more than no guide.
    Alternating,
}

impl Order {
    /// Whether cheaper ways to known states matter: such states are opened again.
    pub(super) fn follows_cost(self) -> bool {
        matches!(
            self,
            Order::AStar
                | Order::Weighted(_)
                | Order::IterativeDeepening
                | Order::BreadthHeuristic
                | Order::UniformCost
        )
    }

    /// What a search in this order does.
    pub(super) fn course(self, core: &Core) -> Box<dyn Course> {
        match self {
            Order::HillClimbing => Box::new(Climb::new(core)),
            Order::Beam(width) => Box::new(Beam::new(core, width)),
            Order::IterativeDeepening => Box::new(Deepening::new(core)),
            Order::Alternating => Box::new(Alternating::new(core)),
            Order::BreadthHeuristic => match (core.search.options.bound, core.search.options.keep_layers) {
                (Some(bound), Some(keep)) => Box::new(Freeing::new(core, bound, keep)),
                _ => Box::new(BestFirst::new(core)),
            },
            _ => Box::new(BestFirst::new(core)),
        }
    }

    /// Its entry in the table.
    pub fn info(self) -> &'static OrderInfo {
        let name = self.name();
        // Every order has an entry, which a test makes sure of.
        ORDERS.iter().find(|info| info.name == name).unwrap_or(&ORDERS[0])
    }

    fn name(self) -> &'static str {
        match self {
            Order::Greedy => "greedy",
            Order::AStar => "astar",
            Order::Weighted(_) => "wastar",
            Order::HillClimbing => "ehc",
            Order::Beam(_) => "beam",
            Order::IterativeDeepening => "ida",
            Order::BreadthHeuristic => "bfhs",
            Order::Breadth => "bfs",
            Order::Depth => "dfs",
            Order::UniformCost => "ucs",
            Order::Alternating => "alternate",
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Weighted(weight) if weight % 1000 == 0 => write!(f, "wastar:{}", weight / 1000),
            Order::Weighted(weight) => write!(f, "wastar:{}", f64::from(*weight) / 1000.0),
            Order::Beam(width) => write!(f, "beam:{width}"),
            other => f.write_str(other.name()),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        OrderInfo::parse(text)
    }
}

/// Which of two states of equal priority comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tie {
    /// The one found last.
    Lifo,
    /// The one found first.
    Fifo,
    /// The one farther from the start, then the one found last.
    Deep,
    /// Any, by this seed.
    Random(u64),
}

impl fmt::Display for Tie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Tie::Lifo => f.write_str("lifo"),
            Tie::Fifo => f.write_str("fifo"),
            Tie::Deep => f.write_str("deep"),
            Tie::Random(seed) => write!(f, "random:{seed}"),
        }
    }
}

impl FromStr for Tie {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        match lower.as_str() {
            "lifo" => Ok(Tie::Lifo),
            "fifo" => Ok(Tie::Fifo),
            "deep" => Ok(Tie::Deep),
            "random" => Ok(Tie::Random(1)),
            other => match other.strip_prefix("random:").map(str::parse) {
                Some(Ok(seed)) => Ok(Tie::Random(seed)),
                _ => Err("ties are broken by lifo, fifo, deep or random:SEED".into()),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for text in
            ["greedy", "astar", "wastar:2.5", "wastar:3", "ehc", "beam:7", "ida", "bfhs", "bfs", "dfs"]
        {
            assert_eq!(text.parse::<Order>().map(|order| order.to_string()).as_deref(), Ok(text));
        }
        for text in ["lifo", "fifo", "deep", "random:9"] {
            assert_eq!(text.parse::<Tie>().map(|tie| tie.to_string()).as_deref(), Ok(text));
        }
        for wrong in ["", "greedy:1", "beam:0", "wastar:0.5", "wastar:x", "best"] {
            assert!(wrong.parse::<Order>().is_err(), "{wrong}");
        }
    }
}
