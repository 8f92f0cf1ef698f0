//! Action instances one by one: what fires is named by the caller, who knows that its guard is true.

use hadal_system::system::{fill_instance_values, instance_count};
use hadal_system::{Label, Layout, Successors, System};

use super::CompileError;
use super::driver::Driver;
use super::emit::Covers;
use super::jit::{Code, FireFn, Jit};
use super::runtime::{Context, Field};
use super::unit::Unit;

/// Systems with more labels than this are not fired one by one.
const MAX_LABELS: u64 = 1 << 16;

/// The bodies of a system's actions.
pub struct Bodies {
    driver: Driver,
    /// By action.
    bodies: Vec<FireFn>,
    /// By label, its action and where its parameter values begin.
    labels: Vec<(u32, u32)>,
    values: Vec<i64>,
    // What compiled code points into.
    _words: Vec<Box<[u64]>>,
    _fields: Vec<Box<[Field]>>,
    _code: Code,
}

impl Bodies {
    /// Compiles the bodies of `system`, whose states `layout` packs; `None` where it has too many instances.
    pub fn new(system: &System, layout: &Layout) -> Result<Option<Bodies>, CompileError> {
        let count = |action: &hadal_system::Action| instance_count(&action.params, &system.domains);
        if system.actions.iter().map(count).fold(0, u64::saturating_add) > MAX_LABELS {
            return Ok(None);
        }
        let mut unit = Unit::new(system, layout, Jit::new()?);
        let (mut bodies, mut labels, mut values, mut own) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for (number, action) in system.actions.iter().enumerate() {
            let signature = unit.jit.signature(4, 1);
            bodies.push(unit.build_now(signature, Covers::Ignore, |e, parameters| {
                e.single_body(action, &parameters);
            })?);
            for n in 0..count(action) {
                labels.push((number as u32, values.len() as u32));
                fill_instance_values(&action.params, &system.domains, n, &mut own);
                values.extend_from_slice(&own);
            }
        }
        unit.run_jobs()?;
        let calls = if unit.plan.counts_depth { hadal_system::MAX_CALL_DEPTH as usize + 1 } else { 0 };
        let stack = unit.jit.all_frames + calls * unit.jit.largest_frame;
        let Unit { jit, words, fields, padded, .. } = unit;
        let code = jit.finish()?;
        let driver = Driver { words: layout.words(), properties: 0, padded, stack };
        let bodies = bodies.into_iter().map(|func| code.fire(func)).collect();
        Ok(Some(Bodies { driver, bodies, labels, values, _words: words, _fields: fields, _code: code }))
    }

    /// Appends what these instances, whose guards are true in `state`, lead to. False where one meets an error; then `out`
    /// is as it was. Cover properties are not counted.
    pub fn fire(&self, state: &[u64], labels: &[Label], out: &mut Successors) -> bool {
        assert_eq!(state.len(), self.driver.words, "every state has the same width");
        assert_eq!(out.words(), self.driver.words, "every state has the same width");
        // One more than can be needed: wide accesses may touch the word behind a state.
        let (states, ends) = out.spare(labels.len() + 1);
        let mut context =
            Context { faults: std::ptr::null_mut(), covers: std::ptr::null_mut(), first: 0, last: 0 };
        let fired = self.driver.with_source(state, |source| {
            labels.iter().enumerate().all(|(n, &label)| {
                let (action, values) = self.labels[label.0 as usize];
                // SAFETY: the source has `words` words (and one more where the code reads it); there is room for as many
                // states as there are labels, and one more; bodies return a status where they meet an error, note
                // nothing in the context and count nothing there, and read as many values as their action has parameters.
                unsafe {
                    let home = states.add(n * self.driver.words);
                    let values = self.values.as_ptr().add(values as usize);
                    ends.add(n).write(label);
                    self.bodies[action as usize](&raw mut context, source, home, values) == 0
                }
            })
        });
        if fired {
            // SAFETY: as many states and labels were written.
            unsafe { out.commit(labels.len()) }
        }
        fired
    }
}
