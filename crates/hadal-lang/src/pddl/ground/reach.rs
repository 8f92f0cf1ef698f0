//! Facts and ground actions that are reachable when nothing is ever deleted: a Datalog program, evaluated semi-naively
//! (Helmert 2009, "Concise finite-domain representations for PDDL planning tasks", sec. 6).

use super::Excess;
use super::facts::Facts;
use super::join::{Binding, Trigger, join, value};
use super::rule::{Body, relax};
use crate::pddl::ast::{Atom, LiftedTask, Term};
use crate::pddl::normalise::{Condition, FlatEffect, Leaf, Traits};
use std::collections::VecDeque;

/// What a rule gives.
enum Head {
    /// An instance of a schema.
    Schema(u32),
    /// A fact.
    Fact(Atom),
}

struct Rule {
    body: Body,
    head: Head,
}

/// A schema as the grounder sees it.
pub(crate) struct Schema {
    pub(crate) precondition: Condition,
    pub(crate) effects: Vec<FlatEffect>,
}

/// Fills the relations of `facts` with everything reachable.
pub(crate) fn reach(
    task: &LiftedTask,
    schemas: &[Schema],
    axioms: &[Condition],
    facts: &mut Facts,
) -> Result<(), Excess> {
    let program = Program::of(task, schemas, axioms, facts.traits);
    let mut queue: VecDeque<u32> = VecDeque::new();
    for (predicate, objects) in &task.init.atoms {
        let relation = &mut facts.relations[*predicate as usize];
        if relation.insert(objects).is_some() {
            if facts.traits.static_predicate[*predicate as usize] {
                relation.show_next();
            } else {
                queue.push_back(*predicate);
            }
        }
    }
    let mut binding = Binding::default();
    let mut derive = Derivation { program: &program, made: 0, queue };
    for rule in program
        .rules
        .iter()
        .filter(|rule| rule.body.atoms.iter().all(|atom| program.is_static(atom.symbol, facts.traits)))
    {
        binding.reset(&rule.body, &[]);
        join(facts, &rule.body, &mut binding, None, &mut |facts, objects| {
            derive.head(facts, &rule.head, objects)
        });
    }
    while let Some(relation) = derive.queue.pop_front() {
        let tuple = facts.relations[relation as usize].visible();
        facts.relations[relation as usize].show_next();
        for &(rule, position) in &program.watchers[relation as usize] {
            let rule = &program.rules[rule as usize];
            let trigger = Trigger { position: position as usize, relation, tuple };
            binding.reset(&rule.body, &[]);
            join(facts, &rule.body, &mut binding, Some(trigger), &mut |facts, objects| {
                derive.head(facts, &rule.head, objects);
            });
        }
        if let Some(excess) = facts.over {
            return Err(excess);
        }
    }
    // Instances that nothing watches were never shown; whoever looks at relations from here on sees all.
    for relation in &mut facts.relations {
        while relation.visible() < relation.len() {
            relation.show_next();
        }
    }
    Ok(())
}

/// The rules, and which positions of them a new fact may take.
struct Program {
    rules: Vec<Rule>,
    watchers: Vec<Vec<(u32, u32)>>,
    /// Facts that follow from an instance of a schema at once.
    simple: Vec<Vec<Atom>>,
    predicates: u32,
}

impl Program {
    fn of(task: &LiftedTask, schemas: &[Schema], axioms: &[Condition], traits: &Traits) -> Self {
        let predicates = task.predicates.len() as u32;
        let mut rules = Vec::new();
        let mut simple = vec![Vec::new(); schemas.len()];
        for (number, (action, schema)) in task.actions.iter().zip(schemas).enumerate() {
            for body in relax(&schema.precondition, vec![Body::over(&action.parameters)], traits) {
                rules.push(Rule { body, head: Head::Schema(number as u32) });
            }
            for effect in &schema.effects {
                let Leaf::Add(added) = &effect.leaf else { continue };
                if effect.variables.is_empty() && matches!(effect.condition, Condition::Constant(true)) {
                    simple[number].push(added.clone());
                    continue;
                }
                let mut body = Body::over(&action.parameters);
                let terms = action.parameters.iter().map(|variable| Term::Variable(variable.slot)).collect();
                body.atoms.push(Atom { symbol: predicates + number as u32, terms });
                effect.variables.iter().for_each(|variable| body.declare(variable));
                let head = body.atom(added);
                for body in relax(&effect.condition, vec![body], traits) {
                    rules.push(Rule { body, head: Head::Fact(head.clone()) });
                }
            }
        }
        for (axiom, condition) in task.axioms.iter().zip(axioms) {
            let terms = axiom.parameters.iter().map(|variable| Term::Variable(variable.slot)).collect();
            let head = Atom { symbol: axiom.predicate, terms };
            for body in relax(condition, vec![Body::over(&axiom.parameters)], traits) {
                rules.push(Rule { body, head: Head::Fact(head.clone()) });
            }
        }
        let mut watchers = vec![Vec::new(); predicates as usize + schemas.len()];
        for (number, rule) in rules.iter().enumerate() {
            for (position, atom) in rule.body.atoms.iter().enumerate() {
                if atom.symbol >= predicates || !traits.static_predicate[atom.symbol as usize] {
                    watchers[atom.symbol as usize].push((number as u32, position as u32));
                }
            }
        }
        Program { rules, watchers, simple, predicates }
    }

    fn is_static(&self, relation: u32, traits: &Traits) -> bool {
        relation < self.predicates && traits.static_predicate[relation as usize]
    }
}

/// Takes what joins find.
struct Derivation<'a> {
    program: &'a Program,
    made: u64,
    queue: VecDeque<u32>,
}

impl Derivation<'_> {
    fn head(&mut self, facts: &mut Facts, head: &Head, objects: &[u32]) {
        match head {
            Head::Fact(atom) => self.fact(facts, atom, objects),
            Head::Schema(number) => {
                let relation = self.program.predicates + number;
                let simple = &self.program.simple[*number as usize];
                let arity = facts.relations[relation as usize].arity();
                if facts.relations[relation as usize].insert(&objects[..arity]).is_some() {
                    if !self.program.watchers[relation as usize].is_empty() {
                        self.queue.push_back(relation);
                    }
                    self.count(facts);
                    simple.iter().for_each(|atom| self.fact(facts, atom, objects));
                }
            }
        }
    }

    fn fact(&mut self, facts: &mut Facts, atom: &Atom, objects: &[u32]) {
        let mut tuple = [0; super::facts::MAX_ARITY];
        for (column, &term) in atom.terms.iter().enumerate() {
            tuple[column] = value(term, objects);
        }
        if facts.relations[atom.symbol as usize].insert(&tuple[..atom.terms.len()]).is_some() {
            self.queue.push_back(atom.symbol);
            self.count(facts);
        }
    }

    /// Looks at the memory now and then.
    fn count(&mut self, facts: &mut Facts) {
        self.made += 1;
        if self.made.is_multiple_of(1 << 14) {
            facts.look(0);
        }
    }
}
