//! The Hanoi Omega-Automata format, version 1: Büchi and generalised Büchi acceptance, on states or edges.
//!
//! Babiak et al., "The Hanoi Omega-Automata Format" (CAV 2015).

use crate::automaton::{Automaton, Edge};
use crate::guard::{Cube, Guard};
use crate::parse::ParseError;
use std::collections::HashMap;

/// An automaton and the texts of its atoms.
#[derive(Clone, Debug)]
pub struct Hoa {
    /// The automaton.
    pub automaton: Automaton,
    /// What its atoms are, by number.
    pub atoms: Vec<String>,
}

/// Writes an automaton in the format.
pub fn print(automaton: &Automaton, atoms: &[String], name: &str) -> String {
    let count = automaton.atoms().max(atoms.len() as u32);
    let quoted = |n: u32| match atoms.get(n as usize) {
        Some(text) => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")),
        None => format!("\"p{n}\""),
    };
    let mut text = format!("HOA: v1\nname: \"{}\"\n", name.replace('\\', "\\\\").replace('"', "\\\""));
    text += &format!("States: {}\nStart: {}\nAP: {count}", automaton.len(), automaton.initial);
    (0..count).for_each(|n| text += &format!(" {}", quoted(n)));
    let (acceptance, condition) = match automaton.sets {
        0 => ("all".to_owned(), "0 t".to_owned()),
        1 => ("Buchi".to_owned(), "1 Inf(0)".to_owned()),
        n => {
            let sets: Vec<String> = (0..n).map(|set| format!("Inf({set})")).collect();
            (format!("generalized-Buchi {n}"), format!("{n} {}", sets.join("&")))
        }
    };
    let on_states = automaton.is_state_based();
    text += &format!("\nacc-name: {acceptance}\nAcceptance: {condition}\nproperties: explicit-labels ");
    text += if on_states { "state-acc\n--BODY--\n" } else { "trans-acc\n--BODY--\n" };
    for (state, edges) in automaton.edges.iter().enumerate() {
        let marks = edges.first().map_or(0, |edge| edge.marks);
        text += &format!(
            "State: {state}{}\n",
            if on_states { sets(marks, automaton.sets) } else { String::new() }
        );
        for edge in edges {
            let marks = if on_states { String::new() } else { sets(edge.marks, automaton.sets) };
            text += &format!("[{}] {}{marks}\n", label(&edge.guard), edge.target);
        }
    }
    text + "--END--\n"
}

fn sets(marks: u64, count: u32) -> String {
    let list: Vec<String> =
        (0..count).filter(|set| marks >> set & 1 == 1).map(|set| set.to_string()).collect();
    if list.is_empty() { String::new() } else { format!(" {{{}}}", list.join(" ")) }
}

fn label(guard: &Guard) -> String {
    let cube = |cube: &Cube| {
        let literals: Vec<String> = (0..64)
            .filter(|atom| (cube.positive | cube.negative) >> atom & 1 == 1)
            .map(|atom| format!("{}{atom}", if cube.negative >> atom & 1 == 1 { "!" } else { "" }))
            .collect();
        if literals.is_empty() { "t".to_owned() } else { literals.join("&") }
    };
    let cubes: Vec<String> = guard.cubes().iter().map(cube).collect();
    if cubes.is_empty() { "f".to_owned() } else { cubes.join(" | ") }
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    /// `Name:`
    Header(String),
    Word(String),
    Text(String),
    Number(u32),
    /// `@name`
    Alias(String),
    Symbol(char),
    Body,
    End,
}

/// Reads an automaton.
pub fn read(text: &str) -> Result<Hoa, ParseError> {
    let tokens = lex(text)?;
    Reader { tokens: &tokens, at: 0, end: text.len(), aliases: HashMap::new() }.automaton()
}

fn lex(text: &str) -> Result<Vec<(Token, usize)>, ParseError> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(first) = text[at..].chars().next() {
        let rest = &text[at..];
        let start = at;
        at += first.len_utf8();
        let token = match first {
            c if c.is_whitespace() => continue,
            '/' if rest.starts_with("/*") => {
                at = rest.find("*/").map_or(text.len(), |end| start + end + 2);
                continue;
            }
            '"' => {
                let mut value = String::new();
                let mut closed = false;
                let mut escaped = false;
                for c in rest[1..].chars() {
                    at += c.len_utf8();
                    match c {
                        '\\' if !escaped => escaped = true,
                        '"' if !escaped => {
                            closed = true;
                            break;
                        }
                        c => {
                            value.push(c);
                            escaped = false;
                        }
                    }
                }
                if !closed {
                    return Err(ParseError::new(start..at, "this text is not closed"));
                }
                Token::Text(value)
            }
            '-' if rest.starts_with("--BODY--") => {
                at = start + 8;
                Token::Body
            }
            '-' if rest.starts_with("--END--") => {
                at = start + 7;
                Token::End
            }
            c if c.is_ascii_digit() => {
                let length = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
                at = start + length;
                let number = rest[..length].parse();
                Token::Number(number.map_err(|_| ParseError::new(start..at, "this number is too large"))?)
            }
            c if c.is_alphabetic() || c == '_' || c == '@' => {
                let part = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-');
                let length = rest[first.len_utf8()..].find(part).map_or(rest.len(), |n| n + first.len_utf8());
                at = start + length;
                let word = rest[..length].to_owned();
                if c == '@' {
                    Token::Alias(word[1..].to_owned())
                } else if text[at..].starts_with(':') {
                    at += 1;
                    Token::Header(word)
                } else {
                    Token::Word(word)
                }
            }
            c => Token::Symbol(c),
        };
        tokens.push((token, start));
    }
    Ok(tokens)
}

struct Reader<'a> {
    tokens: &'a [(Token, usize)],
    at: usize,
    end: usize,
    aliases: HashMap<String, Guard>,
}

#[derive(Default)]
struct Header {
    starts: Vec<u32>,
    atoms: Option<Vec<String>>,
    sets: Option<u32>,
}

impl Reader<'_> {
    fn problem(&self, message: impl Into<String>) -> ParseError {
        let at = self.tokens.get(self.at).map_or(self.end, |(_, at)| *at);
        ParseError::new(at..(at + 1).min(self.end.max(at)), message)
    }

    fn peek(&self) -> Option<&Token> {
        self.tokens.get(self.at).map(|(token, _)| token)
    }

    fn symbol(&mut self, wanted: char) -> bool {
        let fits = self.peek() == Some(&Token::Symbol(wanted));
        self.at += usize::from(fits);
        fits
    }

    fn number(&mut self) -> Option<u32> {
        match self.peek() {
            Some(&Token::Number(n)) => {
                self.at += 1;
                Some(n)
            }
            _ => None,
        }
    }

    fn automaton(&mut self) -> Result<Hoa, ParseError> {
        if self.peek() != Some(&Token::Header("HOA".into())) {
            return Err(self.problem("`HOA: v1` is expected here"));
        }
        let mut header = Header::default();
        loop {
            match self.peek().cloned() {
                Some(Token::Header(name)) => {
                    self.at += 1;
                    self.header(&name, &mut header)?;
                }
                Some(Token::Body) => break,
                _ => return Err(self.problem("a header or `--BODY--` is expected here")),
            }
        }
        self.at += 1;
        let atoms = header.atoms.unwrap_or_default();
        if atoms.len() > 64 {
            return Err(self.problem("at most 64 atoms are supported"));
        }
        let sets = header.sets.ok_or_else(|| self.problem("the header `Acceptance:` is missing"))?;
        let mut edges = self.body(sets, atoms.len() as u32)?;
        let initial = match header.starts.as_slice() {
            [] => return Err(self.problem("the automaton has no start state")),
            [one] => *one,
            several => {
                let mut all: Vec<Edge> = Vec::new();
                for &start in several {
                    all.extend(edges.get(start as usize).into_iter().flatten().cloned());
                }
                edges.push(all);
                edges.len() as u32 - 1
            }
        };
        if initial as usize >= edges.len() || edges.iter().flatten().any(|e| e.target as usize >= edges.len())
        {
            return Err(self.problem("an edge or the start leads to a state that is not there"));
        }
        let mut automaton = Automaton { initial, edges, sets };
        automaton.tidy();
        Ok(Hoa { automaton, atoms })
    }

    fn header(&mut self, name: &str, header: &mut Header) -> Result<(), ParseError> {
        match name {
            "Start" => {
                let start = self.number().ok_or_else(|| self.problem("a state is expected here"))?;
                header.starts.push(start);
                if self.peek() == Some(&Token::Symbol('&')) {
                    return Err(self.problem("alternating automata are not supported"));
                }
            }
            "AP" => {
                let count = self.number().ok_or_else(|| self.problem("a number is expected here"))?;
                let mut atoms = Vec::new();
                while let Some(Token::Text(text)) = self.peek() {
                    atoms.push(text.clone());
                    self.at += 1;
                }
                if atoms.len() != count as usize {
                    return Err(self.problem(format!("{count} atoms are expected here")));
                }
                header.atoms = Some(atoms);
            }
            "Alias" => {
                let Some(Token::Alias(alias)) = self.peek().cloned() else {
                    return Err(self.problem("an alias is expected here"));
                };
                self.at += 1;
                let atoms = header.atoms.as_ref().map_or(64, |atoms| atoms.len() as u32);
                let guard = self.label(atoms, 0)?;
                self.aliases.insert(alias, guard);
            }
            "Acceptance" => {
                let sets = self.number().ok_or_else(|| self.problem("a number is expected here"))?;
                self.acceptance(sets)?;
                header.sets = Some(sets);
            }
            _ => {
                while !matches!(self.peek(), Some(Token::Header(_) | Token::Body) | None) {
                    self.at += 1;
                }
            }
        }
        Ok(())
    }

    /// `t`, or every set once as `Inf(n)`, joined by `&`.
    fn acceptance(&mut self, sets: u32) -> Result<(), ParseError> {
        let refused = "only Büchi and generalised Büchi acceptance is supported";
        if sets > 64 {
            return Err(self.problem("at most 64 acceptance sets are supported"));
        }
        if sets == 0 {
            return match self.peek() {
                Some(Token::Word(word)) if word == "t" => {
                    self.at += 1;
                    Ok(())
                }
                _ => Err(self.problem(refused)),
            };
        }
        let mut seen = 0u64;
        loop {
            let open = self.symbol('(');
            if self.peek() != Some(&Token::Word("Inf".into())) {
                return Err(self.problem(refused));
            }
            self.at += 1;
            let set = match self.symbol('(') {
                true => self.number(),
                false => None,
            };
            match set.filter(|&set| set < sets) {
                Some(set) if self.symbol(')') => seen |= 1 << set,
                _ => return Err(self.problem(refused)),
            }
            if open && !self.symbol(')') {
                return Err(self.problem(refused));
            }
            if !self.symbol('&') {
                break;
            }
        }
        let all = if sets == 64 { u64::MAX } else { (1 << sets) - 1 };
        if seen == all && !matches!(self.peek(), Some(Token::Symbol('|'))) {
            Ok(())
        } else {
            Err(self.problem(refused))
        }
    }

    fn body(&mut self, sets: u32, atoms: u32) -> Result<Vec<Vec<Edge>>, ParseError> {
        let mut edges: Vec<Vec<Edge>> = Vec::new();
        loop {
            match self.peek() {
                Some(Token::Header(name)) if name == "State" => self.at += 1,
                Some(Token::End) => return Ok(edges),
                _ => return Err(self.problem("`State:` or `--END--` is expected here")),
            }
            let state_guard = self.bracketed(atoms)?;
            let state = self.number().ok_or_else(|| self.problem("a state is expected here"))? as usize;
            if state > 1 << 20 {
                return Err(self.problem("the automaton is too large"));
            }
            if let Some(Token::Text(_)) = self.peek() {
                self.at += 1;
            }
            let state_marks = self.marks(sets)?;
            if edges.len() <= state {
                edges.resize(state + 1, Vec::new());
            }
            let mut implicit = 0u64;
            loop {
                let guard = match (self.bracketed(atoms)?, &state_guard) {
                    (Some(guard), _) => guard,
                    (None, Some(guard)) => guard.clone(),
                    (None, None) => {
                        let mask = if atoms >= 64 { u64::MAX } else { (1 << atoms) - 1 };
                        Guard::of([Cube { positive: implicit, negative: mask & !implicit }])
                    }
                };
                let Some(target) = self.number() else { break };
                if self.peek() == Some(&Token::Symbol('&')) {
                    return Err(self.problem("alternating automata are not supported"));
                }
                implicit += 1;
                let marks = self.marks(sets)? | state_marks;
                edges[state].push(Edge { target, marks, guard });
            }
        }
    }

    fn marks(&mut self, sets: u32) -> Result<u64, ParseError> {
        let mut marks = 0;
        if self.symbol('{') {
            while let Some(set) = self.number() {
                if set >= sets {
                    return Err(self.problem("there is no such acceptance set"));
                }
                marks |= 1 << set;
            }
            if !self.symbol('}') {
                return Err(self.problem("`}` is expected here"));
            }
        }
        Ok(marks)
    }

    fn bracketed(&mut self, atoms: u32) -> Result<Option<Guard>, ParseError> {
        if !self.symbol('[') {
            return Ok(None);
        }
        let guard = self.label(atoms, 0)?;
        if self.symbol(']') { Ok(Some(guard)) } else { Err(self.problem("`]` is expected here")) }
    }

    /// A disjunction of conjunctions of literals, in parentheses where wanted.
    fn label(&mut self, atoms: u32, depth: u32) -> Result<Guard, ParseError> {
        if depth > 200 {
            return Err(self.problem("the label nests too deeply"));
        }
        let mut any = self.conjunction(atoms, depth)?;
        while self.symbol('|') {
            any.join(&self.conjunction(atoms, depth)?);
        }
        Ok(any)
    }

    fn conjunction(&mut self, atoms: u32, depth: u32) -> Result<Guard, ParseError> {
        let mut all = self.literal(atoms, depth)?;
        while self.symbol('&') {
            all = all.and(&self.literal(atoms, depth)?);
        }
        Ok(all)
    }

    fn literal(&mut self, atoms: u32, depth: u32) -> Result<Guard, ParseError> {
        let mut negated = false;
        while self.symbol('!') {
            negated = !negated;
        }
        let guard = match self.peek().cloned() {
            Some(Token::Symbol('(')) => {
                self.at += 1;
                let inner = self.label(atoms, depth + 1)?;
                if !self.symbol(')') {
                    return Err(self.problem("`)` is expected here"));
                }
                inner
            }
            Some(Token::Number(n)) if n < atoms => {
                self.at += 1;
                Guard::of([Cube::literal(n, true)])
            }
            Some(Token::Word(word)) if word == "t" || word == "f" => {
                self.at += 1;
                if word == "t" { Guard::always() } else { Guard::never() }
            }
            Some(Token::Alias(alias)) if self.aliases.contains_key(&alias) => {
                self.at += 1;
                self.aliases[&alias].clone()
            }
            _ => return Err(self.problem("an atom's number, `t`, `f` or an alias is expected here")),
        };
        Ok(if negated { guard.not() } else { guard })
    }
}
