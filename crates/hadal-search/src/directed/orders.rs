//! Every order of directed search as data: what `--order` may name, what each promises, which options go with it.
//!
//! The command line, its help, the document's table and the tests read this table.

use super::order::{Order, Tie};
use crate::strategies::Resumes;

/// What hadal knows of an order.
#[derive(Debug)]
pub struct OrderInfo {
    /// As it is typed, without its argument.
    pub name: &'static str,
    /// What may stand behind a colon.
    pub argument: Option<&'static str>,
    /// Which state comes next, in one line.
    pub help: &'static str,
    /// Options that belong to some orders and go with this one, without the dashes.
    pub options: &'static [&'static str],
    /// What holds of its answers.
    pub promises: OrderPromises,
    /// What it leaves behind when it stops, and goes on from.
    pub resumes: Resumes,
    /// How ties are broken unless the user says.
    pub tie: Tie,
    /// Makes it, where it works in RAM.
    make: Option<Make>,
}

type Make = fn(Option<&str>) -> Result<Order, String>;

/// What holds of an order's answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OrderPromises {
    /// Everything is seen where nothing is found.
    pub complete: bool,
    /// The trace is cheapest if the guide is admissible and nothing else disturbs the order.
    pub optimal: bool,
}

const COMPLETE: OrderPromises = OrderPromises { complete: true, optimal: false };
const OPTIMAL: OrderPromises = OrderPromises { optimal: true, ..COMPLETE };
const NEITHER: OrderPromises = OrderPromises { complete: false, ..COMPLETE };

/// The order that works on disk.
pub const EXTERNAL: &str = "external-astar";

const USUAL: OrderInfo = OrderInfo {
    name: "",
    argument: None,
    help: "",
    options: &["check-h", "priority", "seed", "tie"],
    promises: COMPLETE,
    resumes: Resumes::Nothing,
    tie: Tie::Lifo,
    make: None,
};

/// Every order, in that of docs/directed.md.
pub static ORDERS: &[OrderInfo] = &[
    OrderInfo {
        name: "greedy",
        help: "least estimate",
        options: &["calibration", "check-h", "expand", "priority", "seed", "tie"],
        make: Some(|_| Ok(Order::Greedy)),
        ..USUAL
    },
    OrderInfo {
        name: "astar",
        help: "least cost plus estimate",
        options: &["calibration", "check-h", "expand", "priority", "seed", "tie", "trace-by"],
        promises: OPTIMAL,
        // Once memory runs out it goes on as the next one.
        resumes: Resumes::ItsOwn,
        tie: Tie::Deep,
        make: Some(|_| Ok(Order::AStar)),
        ..USUAL
    },
    OrderInfo {
        name: EXTERNAL,
        help: "the same on disk, bucket by bucket",
        options: &["cost-bound", "defer-flush", "no-pipeline", "trace-by"],
        promises: OPTIMAL,
        resumes: Resumes::ItsOwn,
        ..USUAL
    },
    OrderInfo {
        name: "wastar",
        argument: Some("W"),
        help: "the same, estimate times W",
        options: &["check-h", "expand", "priority", "seed", "tie"],
        tie: Tie::Deep,
        make: Some(weighted),
        ..USUAL
    },
    OrderInfo {
        name: "ehc",
        help: "hill climbing, then greedy where it is stuck",
        options: &["check-h", "seed", "tie"],
        make: Some(|_| Ok(Order::HillClimbing)),
        ..USUAL
    },
    OrderInfo {
        name: "beam",
        argument: Some("WIDTH"),
        help: "breadth-first, the best WIDTH of each layer",
        options: &["check-h", "seed"],
        promises: NEITHER,
        make: Some(beam),
        ..USUAL
    },
    OrderInfo {
        name: "ida",
        help: "depth-first under a rising bound",
        options: &["seed"],
        promises: OPTIMAL,
        make: Some(|_| Ok(Order::IterativeDeepening)),
        ..USUAL
    },
    OrderInfo {
        name: "bfhs",
        help: "breadth-first under a rising bound",
        options: &["check-h", "cost-bound", "keep-layers", "seed", "tie"],
        promises: OPTIMAL,
        tie: Tie::Fifo,
        make: Some(|_| Ok(Order::BreadthHeuristic)),
        ..USUAL
    },
    OrderInfo {
        name: "alternate",
        help: "greedy and breadth-first in turns",
        make: Some(|_| Ok(Order::Alternating)),
        ..USUAL
    },
    OrderInfo {
        name: "bfs",
        help: "first in, first out",
        options: &["calibration", "check-h", "priority", "seed", "tie"],
        tie: Tie::Fifo,
        make: Some(|_| Ok(Order::Breadth)),
        ..USUAL
    },
    OrderInfo {
        name: "dfs",
        help: "last in, first out",
        options: &["calibration", "check-h", "priority", "seed", "tie"],
        make: Some(|_| Ok(Order::Depth)),
        ..USUAL
    },
    OrderInfo {
        name: "ucs",
        help: "least cost",
        promises: OPTIMAL,
        tie: Tie::Fifo,
        make: Some(|_| Ok(Order::UniformCost)),
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

    /// Whether an option, named without its dashes, goes with it.
    pub fn takes(&self, option: &str) -> bool {
        self.options.contains(&option)
    }

    /// The entry of this name, with or without an argument.
    pub fn named(text: &str) -> Option<&'static OrderInfo> {
        let name = text.split_once(':').map_or(text, |(name, _)| name);
        ORDERS.iter().find(|info| info.name.eq_ignore_ascii_case(name))
    }

    /// Reads an order in RAM as it is typed.
    pub fn parse(text: &str) -> Result<Order, String> {
        let lower = text.to_ascii_lowercase();
        let Some(info) = OrderInfo::named(&lower) else {
            return Err(format!("no such order; there are {}", list()));
        };
        let argument = lower.split_once(':').map(|(_, argument)| argument);
        if argument.is_some() && info.argument.is_none() {
            return Err(format!("`{}` takes no argument", info.name));
        }
        info.make.ok_or_else(|| format!("`{}` works on disk", info.name))?(argument)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn every_order_is_read_back_as_it_is_written() {
        for info in ORDERS.iter().filter(|info| info.name != EXTERNAL) {
            let order: Order = info.name.parse().expect("its own name");
            assert_eq!(order.info().name, info.name);
            assert_eq!(order.to_string().parse(), Ok(order));
            assert!(format!("{}:x:", info.name).parse::<Order>().is_err());
        }
        assert_eq!("wastar:2.5".parse(), Ok(Order::Weighted(2500)));
        assert!("none".parse::<Order>().is_err_and(|why| why.contains("wastar:W")));
        assert!(EXTERNAL.parse::<Order>().is_err_and(|why| why.contains("on disk")));
    }

    /// The table of docs/directed.md has a row for every order, and says what each promises, takes and resumes.
    #[test]
    fn the_document_has_a_row_for_every_order() {
        let text = include_str!("../../../../docs/directed.md");
        let rows = text.lines().skip_while(|line| !line.starts_with("| `--order` |")).skip(2);
        let mut told = BTreeMap::new();
        for row in rows.take_while(|line| line.starts_with('|')) {
            let cells: Vec<&str> = row.split('|').map(str::trim).collect();
            let codes =
                |cell: &str| cell.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>();
            let promises = OrderPromises { complete: cells[3] == "yes", optimal: cells[4] == "yes" };
            for name in codes(cells[1]) {
                told.insert(name, (promises, codes(cells[5]), cells[6] == "yes"));
            }
        }
        let known = ORDERS.iter().map(|info| {
            let options = info.options.iter().map(|option| format!("--{option}")).collect();
            (info.spelling(), (info.promises, options, info.resumes != Resumes::Nothing))
        });
        assert_eq!(told, known.collect());
    }
}
