//! Every order of directed search as data: what `--order` may name, what each promises, which options go with it.
//!
//! The command line, its help, the document's table and the tests read this table.

use super::order::{Order, Tie};

/// What hadal knows of an order.
#[derive(Debug)]
pub struct OrderInfo {
    /// As it is typed, without its argument.
    pub name: &'static str,
    /// What may stand behind a colon.
    pub argument: Option<&'static str>,
    /// Which state comes next, in one line.
    pub help: &'static str,
    /// Whether everything is seen where nothing is found.
    pub complete: bool,
    /// Whether the trace is cheapest if the guide is admissible and nothing else disturbs the order.
    pub optimal: bool,
    /// Whether it has queues that priorities of transitions can fill.
    pub has_queues: bool,
    /// Whether a state may be left as soon as a successor is better.
    pub expands_in_part: bool,
    /// How ties are broken unless the user says.
    pub tie: Tie,
    make: fn(Option<&str>) -> Result<Order, String>,
}

const USUAL: OrderInfo = OrderInfo {
    name: "",
    argument: None,
    help: "",
    complete: true,
    optimal: false,
    has_queues: true,
    expands_in_part: false,
    tie: Tie::Lifo,
    make: |_| Err("no such order".into()),
};

/// Every order in RAM, in the order of docs/directed.md.
pub static ORDERS: &[OrderInfo] = &[
    OrderInfo {
        name: "greedy",
        help: "least estimate",
        expands_in_part: true,
        make: |_| Ok(Order::Greedy),
        ..USUAL
    },
    OrderInfo {
        name: "astar",
        help: "least cost plus estimate",
        optimal: true,
        expands_in_part: true,
        tie: Tie::Deep,
        make: |_| Ok(Order::AStar),
        ..USUAL
    },
    OrderInfo {
        name: "wastar",
        argument: Some("W"),
        help: "the same, estimate times W",
        expands_in_part: true,
        tie: Tie::Deep,
        make: weighted,
        ..USUAL
    },
    OrderInfo {
        name: "ehc",
        help: "hill climbing, then greedy where it is stuck",
        has_queues: false,
        make: |_| Ok(Order::HillClimbing),
        ..USUAL
    },
    OrderInfo {
        name: "beam",
        argument: Some("WIDTH"),
        help: "breadth-first, the best WIDTH of each layer",
        complete: false,
        has_queues: false,
        make: beam,
        ..USUAL
    },
    OrderInfo {
        name: "ida",
        help: "depth-first under a rising bound",
        optimal: true,
        has_queues: false,
        make: |_| Ok(Order::IterativeDeepening),
        ..USUAL
    },
    OrderInfo {
        name: "bfhs",
        help: "breadth-first under a rising bound",
        optimal: true,
        has_queues: false,
        tie: Tie::Fifo,
        make: |_| Ok(Order::BreadthHeuristic),
        ..USUAL
    },
    OrderInfo {
        name: "alternate",
        help: "greedy and breadth-first in turns",
        make: |_| Ok(Order::Alternating),
        ..USUAL
    },
    OrderInfo {
        name: "bfs",
        help: "first in, first out",
        tie: Tie::Fifo,
        make: |_| Ok(Order::Breadth),
        ..USUAL
    },
    OrderInfo { name: "dfs", help: "last in, first out", make: |_| Ok(Order::Depth), ..USUAL },
    OrderInfo {
        name: "ucs",
        help: "least cost",
        optimal: true,
        tie: Tie::Fifo,
        make: |_| Ok(Order::UniformCost),
        ..USUAL
    },
];

fn weighted(argument: Option<&str>) -> Result<Order, String> {
    let weight: f64 = argument.unwrap_or("5").parse().map_err(|_| "write it as wastar:2.5")?;
    if !(1.0..=1_000_000.0).contains(&weight) {
        return Err("the weight is at least 1 and at most 1000000".into());
    }
    Ok(Order::Weighted((weight * 1000.0).round() as u32))
}

fn beam(argument: Option<&str>) -> Result<Order, String> {
    match argument.unwrap_or("1000").parse() {
        Ok(width) if width > 0 => Ok(Order::Beam(width)),
        _ => Err("write it as beam:1000".into()),
    }
}

/// All names with their arguments: `greedy, astar, wastar:W` and so on.
pub fn list() -> String {
    ORDERS.iter().map(OrderInfo::spelling).collect::<Vec<_>>().join(", ")
}

impl OrderInfo {
    /// As it is typed, with the name of its argument.
    pub fn spelling(&self) -> String {
        match self.argument {
            Some(argument) => format!("{}:{argument}", self.name),
            None => self.name.to_owned(),
        }
    }

    /// Reads an order as it is typed.
    pub fn parse(text: &str) -> Result<Order, String> {
        let lower = text.to_ascii_lowercase();
        let (name, argument) = match lower.split_once(':') {
            Some((name, argument)) => (name, Some(argument)),
            None => (lower.as_str(), None),
        };
        let Some(info) = ORDERS.iter().find(|info| info.name == name) else {
            return Err(format!("no such order; there are {}", list()));
        };
        if argument.is_some() && info.argument.is_none() {
            return Err(format!("`{name}` takes no argument"));
        }
        (info.make)(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_order_is_read_back_as_it_is_written() {
        for info in ORDERS {
            let order: Order = info.name.parse().expect("its own name");
            assert_eq!(order.info().name, info.name);
            assert_eq!(order.to_string().parse(), Ok(order));
            assert!(format!("{}:x:", info.name).parse::<Order>().is_err());
        }
        assert_eq!("wastar:2.5".parse(), Ok(Order::Weighted(2500)));
        assert!("none".parse::<Order>().is_err_and(|why| why.contains("wastar:W")));
    }

    /// The table of docs/directed.md has a row for every order, and says of each whether it is complete.
    #[test]
    fn the_document_has_a_row_for_every_order() {
        let text = include_str!("../../../../docs/directed.md");
        let rows = text.lines().skip_while(|line| !line.starts_with("| `--order` |")).skip(2);
        let mut told = BTreeSet::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            for name in cells[1].split('`').skip(1).step_by(2) {
                told.insert(name.to_owned());
                if let Some(info) = ORDERS.iter().find(|info| info.spelling() == name) {
                    assert_eq!(cells[3] == "yes", info.complete, "{name}");
                }
            }
        }
        // On disk, and no order of this table.
        assert!(told.remove("external-astar"));
        assert_eq!(told, ORDERS.iter().map(OrderInfo::spelling).collect());
    }
}
