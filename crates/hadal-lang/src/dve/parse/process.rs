//! Processes: locals, locations, assertions and transitions. The parts may come in any order.

use super::super::ast::*;
use super::super::token::{Keyword, TokenKind};
use super::{Parsed, Parser};
use crate::diagnostic::Diagnostic;

impl Parser<'_> {
    /// The braces of a process and everything between.
    pub(super) fn process_body(
        &mut self,
        name: Ident,
        parameters: Option<Vec<Ident>>,
        is_property: bool,
    ) -> Parsed<Process> {
        self.expect_mark("{")?;
        let mut process = Process {
            name,
            parameters,
            is_property,
            variables: Vec::new(),
            states: Vec::new(),
            init: Vec::new(),
            commit: Vec::new(),
            accept: Vec::new(),
            asserts: Vec::new(),
            transitions: Vec::new(),
        };
        loop {
            if self.take_mark("}") {
                return Ok(process);
            }
            if matches!(self.peek(), TokenKind::End | TokenKind::Keyword(Keyword::Process | Keyword::System))
            {
                self.expected("`}` to close the process");
                return Ok(process);
            }
            if self.process_part(&mut process).is_err() {
                self.skip_to(&[";"]);
                self.take_mark(";");
            }
        }
    }

    fn process_part(&mut self, process: &mut Process) -> Parsed<()> {
        let keyword = match self.peek() {
            TokenKind::Keyword(keyword) => *keyword,
            TokenKind::Name(word) if word == "input" => Keyword::Const,
            TokenKind::Name(word) if word == "bool" => return Err(self.unknown_type()),
            _ => return Err(self.expected("a variable, `state`, `init`, `trans` or `}`")),
        };
        match keyword {
            Keyword::Const | Keyword::Byte | Keyword::Int => return self.variables(&mut process.variables),
            Keyword::State => {
                self.advance();
                let mut names = self.names("the name of a state")?;
                process.states.append(&mut names);
            }
            Keyword::Init => {
                self.advance();
                let mut names = self.names("the name of the initial state")?;
                process.init.append(&mut names);
            }
            Keyword::Commit => {
                self.advance();
                let mut names = self.names("the name of a state")?;
                process.commit.append(&mut names);
            }
            Keyword::Accept => self.acceptance(process)?,
            Keyword::Assert => {
                self.advance();
                loop {
                    let state = self.expect_name("the name of a state")?;
                    self.expect_mark(":")?;
                    let condition = self.expression()?;
                    process.asserts.push((state, condition));
                    if !self.take_mark(",") {
                        break;
                    }
                }
            }
            Keyword::Trans => return self.transitions(process),
            _ => return Err(self.expected("a variable, `state`, `init`, `trans` or `}`")),
        }
        self.expect_mark(";")
    }

    /// `accept a, b`; the other kinds of acceptance are named and refused.
    fn acceptance(&mut self, process: &mut Process) -> Parsed<()> {
        self.advance();
        if let TokenKind::Name(word) = self.peek() {
            let word = word.clone();
            if word == "buchi" {
                self.advance();
            } else if ["genbuchi", "muller", "rabin", "streett"].contains(&word.as_str())
                && matches!(self.peek_after(1), TokenKind::Mark("("))
            {
                let finding = Diagnostic::error(self.span(), format!("{word} acceptance is not supported"))
                    .label("expected the names of Buchi accepting states")
                    .help("translate the property to a Buchi automaton: `accept q1, q2;`");
                self.findings.push(finding);
                return Err(super::Skip);
            }
        }
        let mut names = self.names("the name of a state")?;
        process.accept.append(&mut names);
        Ok(())
    }

    /// `trans a -> b { ... }, -> c { ... };`; a missing `;` before the closing brace is forgiven (later dialect).
    fn transitions(&mut self, process: &mut Process) -> Parsed<()> {
        self.advance();
        if self.take_mark(";") {
            return Ok(());
        }
        loop {
            match self.transition(process) {
                Ok(transition) => process.transitions.push(transition),
                Err(skip) => {
                    // Inside a transition's braces `transition` has skipped past them; before them we skip here.
                    if !self.at_mark(",") && !self.at_mark(";") {
                        self.skip_to(&[",", ";"]);
                    }
                    if !self.at_mark(",") && !self.at_mark(";") {
                        return Err(skip);
                    }
                }
            }
            if self.take_mark(",") {
                if self.at_mark(";") {
                    break;
                }
                continue;
            }
            break;
        }
        if self.at_mark("}") {
            return Ok(());
        }
        self.expect_mark(";")
    }

    fn transition(&mut self, process: &Process) -> Parsed<Transition> {
        let start = self.span();
        let source = if self.at_mark("->") {
            match process.transitions.last() {
                Some(previous) => previous.source.clone(),
                None => return Err(self.expected("the state this transition leaves")),
            }
        } else {
            self.expect_name("the state this transition leaves")?
        };
        if self.at_mark("=>") {
            let finding =
                Diagnostic::error(self.span(), "probabilistic transitions are not supported in DVE")
                    .label("expected `->`")
                    .help("write the model in PRISM, or make the choice nondeterministic with several `->`");
            self.findings.push(finding);
            return Err(super::Skip);
        }
        self.expect_mark("->")?;
        let target = self.expect_name("the state this transition enters")?;
        self.expect_mark("{")?;
        let mut transition =
            Transition { source, target, guard: None, sync: None, effects: Vec::new(), span: start };
        if let Err(skip) = self.transition_body(&mut transition) {
            self.skip_to(&[]);
            self.take_mark("}");
            return Err(skip);
        }
        transition.span = start.to(self.last_span());
        Ok(transition)
    }

    /// Guard, synchronisation and effects, and the closing brace.
    fn transition_body(&mut self, transition: &mut Transition) -> Parsed<()> {
        while !self.take_mark("}") {
            let at = self.span();
            match self.peek() {
                TokenKind::Keyword(Keyword::Guard) => {
                    self.advance();
                    let guard = self.expression()?;
                    if transition.guard.replace(guard).is_some() {
                        self.findings.push(
                            Diagnostic::error(at, "a transition has one guard")
                                .help("join the conditions with `and`"),
                        );
                    }
                }
                TokenKind::Keyword(Keyword::Sync) => {
                    let sync = self.synchronisation()?;
                    if transition.sync.replace(sync).is_some() {
                        self.findings.push(Diagnostic::error(at, "a transition synchronises on one channel"));
                    }
                }
                TokenKind::Keyword(Keyword::Effect) => {
                    self.advance();
                    if !self.at_mark(";") {
                        self.effects(&mut transition.effects)?;
                    }
                }
                _ => return Err(self.expected("`guard`, `sync`, `effect` or `}`")),
            }
            self.expect_mark(";")?;
        }
        Ok(())
    }

    /// `channel!value`, `channel?{x, y}`
    fn synchronisation(&mut self) -> Parsed<Synchronisation> {
        let start = self.span();
        self.advance();
        let channel = self.expect_name("the name of a channel")?;
        let direction = if self.take_mark("!") {
            Direction::Send
        } else if self.take_mark("?") {
            Direction::Receive
        } else {
            return Err(self.expected("`!` to send or `?` to receive"));
        };
        let mut values = Vec::new();
        if self.take_mark("{") {
            while !self.at_mark("}") {
                values.push(self.expression()?);
                if !self.take_mark(",") {
                    break;
                }
            }
            self.expect_mark("}")?;
        } else if !self.at_mark(";") {
            values.push(self.expression()?);
        }
        Ok(Synchronisation { channel, direction, values, span: start.to(self.last_span()) })
    }

    fn effects(&mut self, into: &mut Vec<Assignment>) -> Parsed<()> {
        loop {
            let target = self.expression()?;
            if !self.take_mark("=") {
                let equality = matches!(target.kind, ExprKind::Binary(BinaryOp::Equal, ..));
                let skip = self.expected("`=` and a value");
                if equality && let Some(last) = self.findings.list.last_mut() {
                    last.help = Some("an effect assigns with `=`; `==` compares".to_string());
                }
                return Err(skip);
            }
            let value = self.expression()?;
            into.push(Assignment { target, value });
            if !self.take_mark(",") {
                return Ok(());
            }
        }
    }
}
