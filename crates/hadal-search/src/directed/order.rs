//! Which open state comes next: the orders of directed search and how equals are told apart.

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

    /// Whether the trace is cheapest if the guide is admissible and nothing else disturbs the order.
    pub fn is_optimal(self) -> bool {
        matches!(
            self,
            Order::AStar | Order::IterativeDeepening | Order::BreadthHeuristic | Order::UniformCost
        )
    }

    /// Whether estimates decide the order (and not only what is left out).
    pub fn is_guided(self) -> bool {
        !matches!(self, Order::Breadth | Order::Depth | Order::UniformCost)
    }

    /// How ties are broken unless the user says.
    pub fn default_tie(self) -> Tie {
        match self {
            Order::AStar | Order::Weighted(_) => Tie::Deep,
            Order::Breadth | Order::UniformCost | Order::BreadthHeuristic => Tie::Fifo,
            _ => Tie::Lifo,
        }
    }
}

impl fmt::Display for Order {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Order::Greedy => f.write_str("greedy"),
            Order::AStar => f.write_str("astar"),
            Order::Weighted(weight) if weight % 1000 == 0 => write!(f, "wastar:{}", weight / 1000),
            Order::Weighted(weight) => write!(f, "wastar:{}", f64::from(*weight) / 1000.0),
            Order::HillClimbing => f.write_str("ehc"),
            Order::Beam(width) => write!(f, "beam:{width}"),
            Order::IterativeDeepening => f.write_str("ida"),
            Order::BreadthHeuristic => f.write_str("bfhs"),
            Order::Breadth => f.write_str("bfs"),
            Order::Depth => f.write_str("dfs"),
            Order::UniformCost => f.write_str("ucs"),
            Order::Alternating => f.write_str("alternate"),
        }
    }
}

impl FromStr for Order {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let lower = text.to_ascii_lowercase();
        let (name, argument) = match lower.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (lower.as_str(), None),
        };
        let plain = |order| match argument {
            None => Ok(order),
            Some(_) => Err(format!("`{name}` takes no argument")),
        };
        match name {
            "greedy" => plain(Order::Greedy),
            "astar" => plain(Order::AStar),
            "ehc" => plain(Order::HillClimbing),
            "ida" => plain(Order::IterativeDeepening),
            "bfhs" => plain(Order::BreadthHeuristic),
            "bfs" => plain(Order::Breadth),
            "dfs" => plain(Order::Depth),
            "ucs" => plain(Order::UniformCost),
            "alternate" => plain(Order::Alternating),
            "wastar" => {
                let weight: f64 = argument.unwrap_or("5").parse().map_err(|_| "write it as wastar:2.5")?;
                if !(1.0..=1_000_000.0).contains(&weight) {
                    return Err("the weight is at least 1 and at most 1000000".into());
                }
                Ok(Order::Weighted((weight * 1000.0).round() as u32))
            }
            "beam" => match argument.unwrap_or("1000").parse() {
                Ok(width) if width > 0 => Ok(Order::Beam(width)),
                _ => Err("write it as beam:1000".into()),
            },
            _ => Err("no such order; there are alternate, greedy, astar, wastar:W, ehc, beam:WIDTH, ida, bfhs, bfs, \
                      dfs, ucs"
                .into()),
        }
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
