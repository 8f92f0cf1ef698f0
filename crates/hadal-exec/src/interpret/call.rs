//! Calling functions: arguments, frames, results.

use hadal_system::{Argument, FunctionId, LocalId, MAX_CALL_DEPTH, Span, Value};

use super::memory::Store;
use super::stmt::Flow;
use super::{Execution, Stop};
use crate::fault::{FaultKind, describe_domain};

impl Execution<'_, '_> {
    /// Calls a function and gives its result, which is there exactly when the function declares one.
    ///
    /// Arguments are evaluated and, by value, copied from left to right, in the caller's frame.
    pub(super) fn call(
        &mut self,
        id: FunctionId,
        arguments: &[Argument],
        span: Span,
    ) -> Result<Option<Value>, Stop> {
        let system = self.code.system;
        let function = system.function(id);
        // The frame of the action or property itself is not a call.
        if self.frames.len() > MAX_CALL_DEPTH as usize {
            let message = format!("`{}`: calls nest deeper than {MAX_CALL_DEPTH}", function.name);
            return Err(self.fault(FaultKind::RunawayRecursion, span, message));
        }
        let mut frame = self.code.functions[id.0 as usize].frame();
        for (n, argument) in arguments.iter().enumerate() {
            let parameter = &function.locals[n];
            match argument {
                Argument::Value(expr) => {
                    let value = self.value(expr)?;
                    if let Some(domain) = system.shapes.scalar(parameter.shape)
                        && !system.domains[domain].contains(value)
                    {
                        let message = format!(
                            "`{}` of `{}`: value {value} is outside {}",
                            parameter.name,
                            function.name,
                            describe_domain(&system.domains, domain)
                        );
                        return Err(self.fault(FaultKind::Range, expr.span, message));
                    }
                    frame.bind(LocalId(n as u32), value);
                }
                Argument::Copy(place) => {
                    let target = self.resolve(place)?;
                    let first = frame.plan.first[n];
                    for (slot, value) in self.contents(target).into_iter().enumerate() {
                        frame.slots[first + slot] = value;
                    }
                }
                Argument::Reference(place) => frame.references[n] = Some(self.resolve(place)?),
            }
        }
        debug_assert!(frame.references.iter().flatten().all(|t| match t.store {
            Store::State => true,
            Store::Frame(depth) => depth < self.frames.len(),
        }));
        self.frames.push(frame);
        let flow = self.block(&function.body).map_err(|stop| match stop {
            // What a front end made has no place of its own: it is met where it is called.
            Stop::Fault(mut fault) if fault.span == Span::default() => {
                fault.span = span;
                Stop::Fault(fault)
            }
            stop => stop,
        })?;
        self.frames.pop();

        let Some(domain) = function.result else { return Ok(None) };
        let Flow::Return(Some(value)) = flow else {
            let message = format!("`{}` ended without a result", function.name);
            return Err(self.fault(FaultKind::MissingReturn, function.span, message));
        };
        if !system.domains[domain].contains(value) {
            let message = format!(
                "`{}`: result {value} is outside {}",
                function.name,
                describe_domain(&system.domains, domain)
            );
            return Err(self.fault(FaultKind::Range, span, message));
        }
        Ok(Some(value))
    }
}
