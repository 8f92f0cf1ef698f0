//! Room for processes that come and go. A model is read with room for as many processes of a type as its text shows; where
//! more live at once, the search finds that as an error of the model, and the same question is asked with more room.
//!
//! ```
//! use hadal_check::{Check, room::MoreRoom};
//! use hadal_lang::promela;
//! # let text = "byte n; proctype P() { if :: n < 20 -> n++; run P() :: else fi; n == 99 } init { run P() }";
//! let mut processes = vec![("P".to_owned(), 4)];
//! let outcome = loop {
//!     let source = hadal_system::Source::new("breed.pml", text);
//!     let system = promela::load(source, promela::Options { instances: &processes, ..Default::default() })?.system;
//!     let outcome = Check::of(system).memory(64 << 20).threads(1).run()?;
//!     match MoreRoom::wanted(&outcome) {
//!         Some(more) => more.give(&mut processes),
//!         None => break outcome,
//!     }
//! };
//! // The 21 processes that live at once have room.
//! assert!(matches!(&processes[..], [(name, 21..)] if name == "P"), "{processes:?}");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use crate::run::Outcome;
use hadal_exec::replay::TraceEnd;

/// Processes of a type that may live at once at most.
const MOST: usize = 255;

/// A type of processes of which more were started than there was room for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MoreRoom {
    /// The type's name.
    pub process: String,
    /// Room for so many is worth another try.
    pub room: usize,
}

impl MoreRoom {
    /// What is wanted, where all that was found is that there was too little room.
    pub fn wanted(outcome: &Outcome) -> Option<Self> {
        let TraceEnd::Fault { fault, .. } = &outcome.trace.as_ref()?.end else { return None };
        let (process, room) = hadal_lang::promela::no_room(&fault.message)?;
        let process = process.to_owned();
        (room < MOST).then(|| MoreRoom { process, room: (2 * room).min(MOST) })
    }

    /// Puts it in the place of what was given before.
    pub fn give(&self, processes: &mut Vec<(String, usize)>) {
        processes.retain(|(known, _)| *known != self.process);
        processes.push((self.process.clone(), self.room));
    }
}
