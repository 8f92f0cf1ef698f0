//! Calls.

use super::{AbstractMachine, Passed, block, resolve, value};
use crate::stmt::Argument;
use crate::system::FunctionId;

/// Calls a function; its result, where it has one.
pub fn call<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    id: FunctionId,
    arguments: &'a [Argument],
) -> Result<Option<M::Value>, M::Stop> {
    machine.deeper(|machine| inside(machine, id, arguments))
}

fn inside<'a, M: AbstractMachine<'a>>(
    machine: &mut M,
    id: FunctionId,
    arguments: &'a [Argument],
) -> Result<Option<M::Value>, M::Stop> {
    let system = machine.system();
    let function = system.function(id);
    let mut passed = Vec::with_capacity(arguments.len());
    for (argument, parameter) in arguments.iter().zip(&function.locals) {
        passed.push(match argument {
            Argument::Value(expr) => {
                let value = value(machine, expr)?;
                Passed::Value(match system.shapes.scalar(parameter.shape) {
                    Some(domain) => machine.fit(value, domain)?,
                    None => value,
                })
            }
            Argument::Copy(place) => {
                let from = resolve(machine, place)?;
                Passed::Copy(machine.contents(from)?)
            }
            Argument::Reference(place) => Passed::Reference(resolve(machine, place)?),
        });
    }
    if let Some(result) = machine.unfollowed(id, &passed) {
        return result;
    }
    let first = machine.next_slot();
    machine.enter(Some(id), &function.locals)?;
    for (n, passed) in passed.into_iter().enumerate() {
        let (slot, shape) = (machine.frame().slots[n], function.locals[n].shape);
        match passed {
            Passed::Value(value) => machine.hand_over(slot, shape, Ok(value)),
            Passed::Copy(contents) => machine.hand_over(slot, shape, Err(contents)),
            Passed::Reference(spot) => machine.frame().references[n] = Some(spot),
        }
    }
    let end = block(machine, &function.body);
    machine.leave_call(function, first, end)
}
