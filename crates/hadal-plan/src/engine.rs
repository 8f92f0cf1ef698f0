//! The searches by name: one table that the command line, the planner and the documents read.

/// A search that can be asked for by name.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Engine {
    /// Whatever suits the task and the question.
    #[default]
    Auto,
    /// Lazy greedy search with h^FF and landmarks, then cheaper plans.
    Lazy,
    /// Best-first width search.
    Width,
    /// Enforced hill climbing in RAM, going on on disk.
    Climbing,
    /// Enforced hill climbing on disk from the first state on.
    ExternalClimbing,
    /// External A* by h^FF alone.
    ExternalGreedy,
    /// Greedy search by h^FF, every state estimated when it is met.
    Greedy,
    /// The same; what helpful actions lead to takes turns with the rest.
    GreedyHelpful,
    /// The same; what useless actions lead to comes last.
    GreedyUseless,
    /// The same with both.
    GreedyHelpfulUseless,
    /// Beam search that widens.
    Beam,
    /// A* in RAM, going on as External A*.
    AStar,
    /// External A* from the first state on.
    ExternalAStar,
    /// Every state, the cheapest first, without a guide.
    Blind,
    /// Breadth-first branch and bound on disk with re-opening.
    BranchAndBound,
    /// Cost-optimal breadth-first search for metrics that are read in the last state.
    CostBreadth,
}

/// What an engine is called and what it is for.
#[derive(Clone, Copy, Debug)]
pub struct EngineInfo {
    /// Which one.
    pub engine: Engine,
    /// Its name on the command line.
    pub name: &'static str,
    /// What it does, in a line.
    pub what: &'static str,
    /// Whether its plans are proved to be best ones.
    pub proves: bool,
}

/// All engines, in the order of the documents.
pub const ENGINES: [EngineInfo; 16] = [
    EngineInfo {
        engine: Engine::Auto,
        name: "auto",
        what: "what suits the task: lazy greedy and width search in turns, then cheaper plans; with --optimal, A* continuing as \
               External A*",
        proves: false,
    },
    EngineInfo {
        engine: Engine::Lazy,
        name: "lazy",
        what: "lazy greedy search with h^FF, landmarks and preferred operators, then lazy weighted A* for cheaper plans",
        proves: false,
    },
    EngineInfo {
        engine: Engine::Width,
        name: "width",
        what: "best-first width search, which hardly estimates anything",
        proves: false,
    },
    EngineInfo {
        engine: Engine::Climbing,
        name: "ehc",
        what: "enforced hill climbing by h^FF, preferred operators first; segments that outgrow memory continue on disk",
        proves: false,
    },
    EngineInfo {
        engine: Engine::ExternalClimbing,
        name: "external-ehc",
        what: "external enforced hill climbing: every segment is a breadth-first search on disk, all its layers subtracted",
        proves: false,
    },
    EngineInfo {
        engine: Engine::ExternalGreedy,
        name: "external-greedy",
        what: "External A* on disk by h^FF alone",
        proves: false,
    },
    EngineInfo {
        engine: Engine::Greedy,
        name: "greedy",
        what: "greedy search by h^FF, every state estimated when it is met",
        proves: false,
    },
    EngineInfo {
        engine: Engine::GreedyHelpful,
        name: "greedy-helpful",
        what: "the same; what helpful actions lead to takes turns with the rest",
        proves: false,
    },
    EngineInfo {
        engine: Engine::GreedyUseless,
        name: "greedy-useless",
        what: "the same; what relatively useless actions lead to comes last",
        proves: false,
    },
    EngineInfo {
        engine: Engine::GreedyHelpfulUseless,
        name: "greedy-helpful-useless",
        what: "the same with three queues: helpful, others, and useless last",
        proves: false,
    },
    EngineInfo {
        engine: Engine::Beam,
        name: "beam",
        what: "breadth-first by the best of each layer, again with a wider beam until nothing is left out",
        proves: false,
    },
    EngineInfo {
        engine: Engine::AStar,
        name: "astar",
        what: "A* in RAM, continuing on disk as External A* when memory runs out",
        proves: true,
    },
    EngineInfo {
        engine: Engine::ExternalAStar,
        name: "external-astar",
        what: "External A* on disk from the first state on",
        proves: true,
    },
    EngineInfo {
        engine: Engine::Blind,
        name: "blind",
        what: "every state without a guide: breadth-first in a table, a diagram, then on disk where all steps cost the same, \
               else by ascending cost",
        proves: true,
    },
    EngineInfo {
        engine: Engine::BranchAndBound,
        name: "branch-and-bound",
        what: "breadth-first on disk, states that cost too much left out, states reached at less cost opened again",
        proves: true,
    },
    EngineInfo {
        engine: Engine::CostBreadth,
        name: "cost-bfs",
        what: "cost-optimal breadth-first search for metrics read in the last state: every state once, stops at the least \
               value the metric can have",
        proves: true,
    },
];

impl Engine {
    /// Its line in the table.
    pub fn info(self) -> &'static EngineInfo {
        // Every engine has a line: a test looks.
        ENGINES.iter().find(|info| info.engine == self).unwrap_or(&ENGINES[0])
    }

    /// The engine of this name.
    pub fn named(name: &str) -> Option<Engine> {
        ENGINES.iter().find(|info| info.name == name).map(|info| info.engine)
    }

    /// Whether it looks for a best plan.
    pub fn proves(self) -> bool {
        self.info().proves
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_engine_has_one_line_with_a_name_of_its_own() {
        for (at, info) in ENGINES.iter().enumerate() {
            assert_eq!(info.engine.info().name, info.name);
            assert_eq!(Engine::named(info.name), Some(info.engine));
            assert!(ENGINES[..at].iter().all(|other| other.name != info.name));
        }
    }

    #[test]
    fn the_documents_have_the_table() {
        let page = include_str!("../../../docs/planning.md");
        for info in &ENGINES {
            assert!(page.contains(&format!("| `{}` | {}", info.name, info.what)), "{}", info.name);
        }
    }
}
