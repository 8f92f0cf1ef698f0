//! SPIN's never claims: printed, and read in the form that SPIN and its like print.

use crate::automaton::{Automaton, Edge};
use crate::formula::Ltl;
use crate::guard::{Cube, Guard};
use crate::parse::{Atoms, ParseError, parse};
use std::collections::HashMap;

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

/// Reads a never claim: labels, `if` and `do` whose options are a condition and a `goto`, `skip`, `false`. Conditions are
/// expressions of the model's language.
pub fn read(text: &str, atoms: &mut dyn Atoms) -> Result<Automaton, ParseError> {
    let plain = without_comments(text);
    let mut reader =
        Reader { text: &plain, at: 0, states: HashMap::new(), edges: Vec::new(), accepting: Vec::new() };
    reader.claim(atoms)
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
    states: HashMap<String, u32>,
    edges: Vec<Option<Vec<Edge>>>,
    accepting: Vec<bool>,
}

impl Reader<'_> {
    fn space(&mut self) {
        let rest = &self.text[self.at..];
        self.at += rest.len() - rest.trim_start().len();
    }

    fn take(&mut self, wanted: &str) -> bool {
        self.space();
        let rest = &self.text[self.at..];
        let word = wanted.ends_with(|c: char| c.is_alphanumeric());
        let fits = rest.starts_with(wanted)
            && !(word && rest[wanted.len()..].starts_with(|c: char| c.is_alphanumeric() || c == '_'));
        if fits {
            self.at += wanted.len();
        }
        fits
    }

    fn expect(&mut self, wanted: &str) -> Result<(), ParseError> {
        if self.take(wanted) { Ok(()) } else { Err(self.problem(format!("`{wanted}` is expected here"))) }
    }

    fn problem(&self, message: impl Into<String>) -> ParseError {
        let end = self.text[self.at..].chars().next().map_or(self.at, |c| self.at + c.len_utf8());
        ParseError::new(self.at..end, message)
    }

    fn name(&mut self) -> Option<String> {
        self.space();
        let rest = &self.text[self.at..];
        let length = rest.find(|c: char| !(c.is_alphanumeric() || c == '_')).unwrap_or(rest.len());
        self.at += length;
        (length > 0).then(|| rest[..length].to_owned())
    }

    fn label(&mut self) -> Option<String> {
        let start = self.at;
        if let Some(name) = self.name()
            && self.take(":")
            && !self.text[self.at..].starts_with(':')
        {
            return Some(name);
        }
        self.at = start;
        None
    }

    fn state(&mut self, name: &str) -> u32 {
        let next = self.edges.len() as u32;
        let state = *self.states.entry(name.to_owned()).or_insert(next);
        if state == next {
            self.edges.push(None);
            self.accepting.push(false);
        }
        self.accepting[state as usize] |= name.starts_with("accept");
        state
    }

    fn claim(&mut self, atoms: &mut dyn Atoms) -> Result<Automaton, ParseError> {
        self.expect("never")?;
        if !self.take("{") {
            self.name();
            self.expect("{")?;
        }
        let end = self.state("accept end of the claim");
        self.edges[end as usize] = Some(vec![Edge { target: end, marks: 1, guard: Guard::always() }]);
        let mut initial = None;
        let mut unnamed = 0;
        while !self.take("}") {
            let mut labels = Vec::new();
            while let Some(label) = self.label() {
                labels.push(label);
            }
            if labels.is_empty() {
                unnamed += 1;
                labels.push(format!("unnamed {unnamed}"));
            }
            let state = self.state(&labels[0]);
            for other in &labels[1..] {
                match self.states.get(other) {
                    // It was jumped to already: it becomes a state that behaves like the first.
                    Some(&known) => {
                        self.edges[known as usize] =
                            Some(vec![Edge { target: state, marks: u64::MAX, guard: Guard::never() }])
                    }
                    None => {
                        self.states.insert(other.clone(), state);
                    }
                }
                self.accepting[state as usize] |= other.starts_with("accept");
            }
            initial.get_or_insert(state);
            if self.take("}") {
                self.edges[state as usize] =
                    Some(vec![Edge { target: end, marks: 0, guard: Guard::always() }]);
                break;
            }
            let edges = self.statement(state, end, atoms)?;
            self.edges[state as usize] = Some(edges);
            while self.take(";") {}
        }
        self.space();
        if self.at < self.text.len() {
            return Err(self.problem("nothing may follow the claim"));
        }
        let initial = initial.unwrap_or(end);
        self.finished(initial)
    }

    /// One statement, as edges out of `state`.
    fn statement(&mut self, state: u32, end: u32, atoms: &mut dyn Atoms) -> Result<Vec<Edge>, ParseError> {
        let to = |target| Edge { target, marks: 0, guard: Guard::always() };
        if self.take("skip") || self.take("true") {
            // What follows: the end of the claim, as SPIN prints it.
            while self.take(";") {}
            self.space();
            return match self.text[self.at..].starts_with('}') {
                true => Ok(vec![to(end)]),
                false => {
                    Err(self.problem("a claim may end after `skip`; give the next part a label and a `goto`"))
                }
            };
        }
        if self.take("false") {
            return Ok(Vec::new());
        }
        let repeats = match (self.take("do"), self.take("if")) {
            (true, _) => true,
            (_, true) => false,
            _ => return Err(self.problem("a label, `if`, `do`, `skip` or `false` is expected here")),
        };
        let mut edges = Vec::new();
        while self.take("::") {
            let atomic = self.take("atomic");
            if atomic {
                self.expect("{")?;
            }
            let guard = self.guard(atoms)?;
            let mut target = if repeats { state } else { end };
            while self.take("->") || self.take(";") {
                if self.take("goto") {
                    let name = self.name().ok_or_else(|| self.problem("a label is expected here"))?;
                    target = self.state(&name);
                } else if self.take("assert") {
                    self.parentheses()?;
                    // SPIN prints it where the claim is over: an assertion that fails.
                    target = end;
                } else if self.take("break") {
                    target = end;
                } else {
                    self.take("skip");
                }
            }
            if atomic {
                self.expect("}")?;
            }
            edges.push(Edge { target, marks: 0, guard });
        }
        self.expect(if repeats { "od" } else { "fi" })?;
        Ok(edges)
    }

    /// Skips a text in parentheses and returns where it is.
    fn parentheses(&mut self) -> Result<std::ops::Range<usize>, ParseError> {
        self.space();
        let start = self.at;
        let mut depth = 0;
        for (offset, c) in self.text[start..].char_indices() {
            match c {
                '(' => depth += 1,
                ')' => depth -= 1,
                _ => {}
            }
            if depth == 0 && offset == 0 {
                break;
            }
            if depth == 0 {
                self.at = start + offset + 1;
                return Ok(start..self.at);
            }
        }
        Err(self.problem("a condition in parentheses is expected here"))
    }

    fn guard(&mut self, atoms: &mut dyn Atoms) -> Result<Guard, ParseError> {
        let range = self.parentheses()?;
        let formula = parse(&self.text[range.clone()], atoms).map_err(|error| ParseError {
            at: error.at.start + range.start..error.at.end + range.start,
            ..error
        })?;
        guard(&formula).ok_or_else(|| {
            ParseError::new(range, "a condition has no temporal operators and at most 64 atoms")
        })
    }

    fn finished(&mut self, initial: u32) -> Result<Automaton, ParseError> {
        let mut edges = Vec::with_capacity(self.edges.len());
        for (state, list) in self.edges.iter().enumerate() {
            match list {
                Some(list) => edges.push(list.clone()),
                None => {
                    let name = self.states.iter().find(|(_, number)| **number == state as u32);
                    let name = name.map_or("?", |(name, _)| name);
                    return Err(ParseError::new(0..0, format!("there is no label `{name}`")));
                }
            }
        }
        // Labels that were jumped to before they turned out to share a place with another.
        for state in 0..edges.len() {
            if let [Edge { target, marks: u64::MAX, .. }] = edges[state].as_slice() {
                let target = *target as usize;
                edges[state] = edges[target].clone();
                self.accepting[state] |= self.accepting[target];
            }
        }
        for (list, &accepting) in edges.iter_mut().zip(&self.accepting) {
            list.iter_mut().for_each(|edge| edge.marks = u64::from(accepting));
        }
        let mut automaton = Automaton { initial, edges, sets: 1 };
        automaton.tidy();
        let keep = vec![true; automaton.len()];
        Ok(automaton.restrict(&keep))
    }
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
