//! Breadth-first search with the closed set as a decision diagram, against a plain hash table.
//!
//! `cargo run --release -p hadal-store --example diagram_bench [-- NAME... [--level-bits N] [--threads N]]`
//!
//! Both searches generate the same successors. The table is sized beforehand for the final number of
//! states, which favours it.

mod search;
mod spaces;
mod table;

use search::{Options, compare, random};

fn main() {
    let mut options = Options::default();
    let mut names = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let number = |text: Option<String>| text.and_then(|text| text.parse().ok()).expect("a number");
        match argument.as_str() {
            "--level-bits" => options.level_bits = number(arguments.next()),
            "--threads" => options.threads = number(arguments.next()),
            "--no-table" => options.with_table = false,
            "--no-frontier" => options.diagram_frontier = false,
            _ => names.push(argument),
        }
    }
    let wanted = |name: &str| names.is_empty() || names.iter().any(|wanted| wanted == name);
    search::heading();
    for (name, space) in spaces::narrow() {
        if wanted(name) {
            compare::<1>(name, &*space, options);
        }
    }
    for (name, space) in spaces::wide() {
        if wanted(name) {
            compare::<2>(name, &*space, options);
        }
    }
    if wanted("random") {
        random(options);
    }
}
