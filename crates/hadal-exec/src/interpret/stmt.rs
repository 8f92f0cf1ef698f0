//! Running statements.

use hadal_system::{CheckKind, MAX_LOOP_TURNS, Place, Span, Stmt, StmtKind, SwitchArm, Value};

use super::memory::{Within, blank, for_each_domain};
use super::{Execution, Stop, with_stack};
use crate::fault::{FaultKind, describe_domain};

/// What to do after a statement.
pub(super) enum Flow {
    Next,
    /// Leave the function or action.
    Return(Option<Value>),
}

impl Execution<'_, '_> {
    /// Runs statements one after the other until one leaves.
    pub(super) fn block(&mut self, body: &[Stmt]) -> Result<Flow, Stop> {
        for stmt in body {
            if let Flow::Return(value) = with_stack(|| self.statement(stmt))? {
                return Ok(Flow::Return(value));
            }
        }
        Ok(Flow::Next)
    }

    fn statement(&mut self, stmt: &Stmt) -> Result<Flow, Stop> {
        match &stmt.kind {
            StmtKind::Assign(place, expr) => {
                let target = self.resolve(place)?;
                let value = self.value(expr)?;
                self.write(target, value, stmt.span)?;
            }
            StmtKind::Copy { to, from } => self.copy(to, from, stmt.span)?,
            StmtKind::Clear(place) => self.reset(place, |execution, domain, within| match within {
                Within::Plain => Some(execution.code.system.domains[domain].min()),
                Within::Multiset => blank(execution.code.system, domain),
            })?,
            StmtKind::Undefine(place) => {
                self.reset(place, |execution, domain, _| blank(execution.code.system, domain))?
            }
            StmtKind::If { branches, otherwise } => {
                for (condition, body) in branches {
                    if self.holds(condition)? {
                        return self.block(body);
                    }
                }
                return self.block(otherwise);
            }
            StmtKind::Switch { subject, arms, otherwise } => {
                let subject = self.value(subject)?;
                for arm in arms {
                    if self.matches(arm, subject)? {
                        return self.block(&arm.body);
                    }
                }
                return self.block(otherwise);
            }
            StmtKind::For { local, range, body } => {
                for value in self.range(range, stmt.span)? {
                    self.frame().bind(*local, value);
                    if let Flow::Return(value) = self.block(body)? {
                        return Ok(Flow::Return(value));
                    }
                }
            }
            StmtKind::While(condition, body) => {
                let mut turns = 0;
                while self.holds(condition)? {
                    turns += 1;
                    if turns > MAX_LOOP_TURNS {
                        let message = format!("the loop turned more than {MAX_LOOP_TURNS} times");
                        return Err(self.fault(FaultKind::RunawayLoop, stmt.span, message));
                    }
                    if let Flow::Return(value) = self.block(body)? {
                        return Ok(Flow::Return(value));
                    }
                }
            }
            StmtKind::Call(function, arguments) => {
                self.call(*function, arguments, stmt.span)?;
            }
            StmtKind::Return(None) => return Ok(Flow::Return(None)),
            StmtKind::Return(Some(expr)) => return Ok(Flow::Return(Some(self.value(expr)?))),
            StmtKind::Bind { local, place, body } => {
                let target = self.resolve(place)?;
                let before = self.frame().references[local.0 as usize].replace(target);
                let flow = self.block(body)?;
                self.frame().references[local.0 as usize] = before;
                return Ok(flow);
            }
            StmtKind::Check { kind, condition, message } => {
                if !self.holds(condition)? {
                    return Err(match kind {
                        CheckKind::Assume => Stop::Dropped,
                        CheckKind::Assert => self.fault(
                            FaultKind::Assertion,
                            stmt.span,
                            format!("assertion failed: {message}"),
                        ),
                    });
                }
            }
            StmtKind::Fail(message) => {
                return Err(self.fault(FaultKind::Error, stmt.span, message.clone()));
            }
            StmtKind::Cover(property, condition) => {
                if self.holds(condition)? {
                    self.notes.covered.push(self.code.cover_id(*property));
                }
            }
            StmtKind::Print(items) => self.print(items),
        }
        Ok(Flow::Next)
    }

    fn matches(&mut self, arm: &SwitchArm, subject: Value) -> Result<bool, Stop> {
        for value in &arm.values {
            if self.value(value)? == subject {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Copies scalar by scalar. The slots agree in a well-formed system; where their domains do not, a value that
    /// the target cannot hold is an error of the model like any other.
    fn copy(&mut self, to: &Place, from: &Place, span: Span) -> Result<(), Stop> {
        let to = self.resolve(to)?;
        let from = self.resolve(from)?;
        let values = self.contents(from);
        let system = self.code.system;
        let mut domains = Vec::with_capacity(values.len());
        for_each_domain(system, to.shape, &mut |domain, _| domains.push(domain));
        for (n, (&domain, &value)) in domains.iter().zip(&values).enumerate() {
            if system.domains[domain].encode(value).is_none() {
                let message = format!(
                    "`{}`: value {} is outside {}",
                    self.name(to),
                    value.map_or("undefined".into(), |v| v.to_string()),
                    describe_domain(&system.domains, domain)
                );
                return Err(self.fault(FaultKind::Range, span, message));
            }
            self.set(to.store, to.slot + n, value);
        }
        Ok(())
    }

    /// Gives every scalar below the place the content that `content` chooses for its domain.
    fn reset(
        &mut self,
        place: &Place,
        content: impl Fn(&Self, hadal_system::DomainId, Within) -> Option<Value>,
    ) -> Result<(), Stop> {
        let target = self.resolve(place)?;
        let mut values = Vec::new();
        for_each_domain(self.code.system, target.shape, &mut |domain, within| {
            values.push(content(self, domain, within));
        });
        for (n, value) in values.into_iter().enumerate() {
            self.set(target.store, target.slot + n, value);
        }
        Ok(())
    }
}
