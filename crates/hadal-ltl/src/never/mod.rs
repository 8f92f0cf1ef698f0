//! SPIN's never claims, printed and read.

mod places;
mod read;

use crate::automaton::Automaton;
use crate::formula::Ltl;
use crate::guard::{Cube, Guard};
use crate::parse::{Atoms, ParseError};
use read::Reader;

/// The automaton as a never claim with these texts of atoms. One acceptance set on states.
pub fn print(automaton: &Automaton, atoms: &[String]) -> String {
    let automaton = if automaton.sets == 1 && automaton.is_state_based() {
        automaton.clone()
    } else {
        automaton.degeneralise()
    };
    let name = |atom: u32| atoms.get(atom as usize).cloned().unwrap_or_else(|| format!("p{atom}"));
    let label = |state: u32| {
        let kind = if automaton.is_final(state) && automaton.edges[state as usize].len() == 1 {
            return "accept_all".to_owned();
        } else if automaton.accepting(state) {
            "accept"
        } else {
            "T0"
        };
        if state == automaton.initial { format!("{kind}_init") } else { format!("{kind}_S{state}") }
    };
    let mut text = String::from("never {\n");
    let states = std::iter::once(automaton.initial)
        .chain((0..automaton.len() as u32).filter(|&state| state != automaton.initial));
    for state in states {
        text += &format!("{}:\n", label(state));
        let edges = &automaton.edges[state as usize];
        if label(state) == "accept_all" {
            text += "\tdo :: (1) od;\n";
        } else if edges.is_empty() {
            text += "\tfalse;\n";
        } else {
            text += "\tdo\n";
            for edge in edges {
                text += &format!("\t:: ({}) -> goto {}\n", edge.guard.show(&name), label(edge.target));
            }
            text += "\tod;\n";
        }
    }
    text + "}\n"
}

/// Reads a never claim. Conditions are expressions of the model's language.
pub fn read(text: &str, atoms: &mut dyn Atoms) -> Result<Automaton, ParseError> {
    let plain = without_comments(text);
    Ok(Reader::new(&plain, atoms).claim()?.automaton())
}

/// The valuations under which a formula without temporal operators holds.
pub fn guard(formula: &Ltl) -> Option<Guard> {
    Some(match formula {
        Ltl::True => Guard::always(),
        Ltl::False => Guard::never(),
        Ltl::Atom(n) if *n < 64 => Guard::of([Cube::literal(*n, true)]),
        Ltl::Not(a) => guard(a)?.not(),
        Ltl::And(a, b) => guard(a)?.and(&guard(b)?),
        Ltl::Or(a, b) => {
            let mut either = guard(a)?;
            either.join(&guard(b)?);
            either
        }
        _ => return None,
    })
}

/// The text with comments replaced by spaces, so that places stay.
fn without_comments(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    loop {
        let (block, line) = (rest.find("/*"), rest.find("//"));
        let (at, end) = match (block, line) {
            (Some(b), l) if l.is_none_or(|l| b < l) => {
                (b, rest[b..].find("*/").map_or(rest.len(), |e| b + e + 2))
            }
            (_, Some(l)) => (l, rest[l..].find('\n').map_or(rest.len(), |e| l + e)),
            _ => break,
        };
        plain += &rest[..at];
        plain.extend(std::iter::repeat_n(' ', end - at));
        rest = &rest[end..];
    }
    plain + rest
}
