//! Which variable a name stands for.

use super::super::ast::Way;
use super::super::model::{VarPath, Variable};
use std::rc::Rc;

/// The names in sight inside a process.
#[derive(Debug, Default)]
pub(super) struct Scopes {
    inside: bool,
    /// By block, innermost last.
    blocks: Vec<Vec<(Rc<str>, usize)>>,
    /// All variables of the process so far.
    pub variables: Vec<Variable>,
    /// What the process says it alone does.
    pub alone: Vec<(Way, VarPath)>,
}

impl Scopes {
    /// Inside a process, where nothing is declared yet.
    pub fn of_process() -> Self {
        Scopes { inside: true, blocks: vec![Vec::new()], variables: Vec::new(), alone: Vec::new() }
    }

    /// Whether a process is at hand.
    pub fn inside(&self) -> bool {
        self.inside
    }

    /// Enters a block.
    pub fn open(&mut self) {
        self.blocks.push(Vec::new());
    }

    /// Leaves it.
    pub fn close(&mut self) {
        self.blocks.pop();
    }

    /// Adds a variable to the process; gives its number.
    pub fn declare(&mut self, variable: Variable) -> usize {
        let at = self.variables.len();
        if let Some(block) = self.blocks.last_mut() {
            block.push((variable.name.clone(), at));
        }
        self.variables.push(variable);
        at
    }

    /// The variable behind a number.
    pub fn variable(&self, at: usize) -> Option<Variable> {
        self.variables.get(at).cloned()
    }

    /// The number of the variable a name stands for.
    pub fn find(&self, name: &str) -> Option<usize> {
        self.blocks
            .iter()
            .rev()
            .flat_map(|block| block.iter().rev())
            .find(|(known, _)| &**known == name)
            .map(|(_, at)| *at)
    }
}
