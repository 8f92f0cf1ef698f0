//! The equations that are left when graph search has said what it can: one unknown per node, a node being a state or a
//! collapsed end component. Nodes stand in the order of their components, successors first; inside a component, those that were
//! found last stand first. Most branches lead away from where exploration began, so a sweep in this order uses values that it has
//! just found.

use crate::components::{Edges, NONE, Tarjan};
use crate::graph::Graph;
use hadal_system::chance::Sense;
use std::ops::Range;

/// What is known of a state before anything is solved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Its value is 0.
    Zero,
    /// Its value is 1.
    One,
    /// Its value is infinite: choices that may lead to it are out of the question.
    Infinite,
    /// Nothing.
    Open,
}

/// The unknowns and their equations.
#[derive(Debug)]
pub struct Problem {
    /// Whether choices make values small or large.
    pub sense: Sense,
    /// Where the choices of each node begin, and the end.
    pub first_choice: Vec<u32>,
    /// Where the branches of each choice begin, and the end.
    pub first_branch: Vec<u32>,
    /// Where branches lead: a node, or the number of nodes for the value 1.
    pub targets: Vec<u32>,
    /// Weights, as indices into the graph's numbers.
    pub weights: Vec<u32>,
    /// Rewards of choices, as indices into the graph's numbers; empty where there are none.
    pub rewards: Vec<u32>,
    /// Which choice of the graph each choice is.
    pub origin: Vec<u32>,
    /// The node of each state, [`NONE`] where its value is known.
    pub node_of: Vec<u32>,
    /// Where each component ends among the nodes.
    pub components: Vec<u32>,
}

impl Problem {
    /// The equations of the states that are [`Known::Open`]. States with the same number in `groups` are one node.
    pub fn new(graph: &Graph, known: &[Known], groups: &[u32], sense: Sense, rewards: bool) -> Self {
        let classes = Classes::new(graph, known, groups);
        let edges = ClassEdges { graph, known, classes: &classes };
        let count = classes.first.len() - 1;
        let (mut order, components) = Tarjan::new(count).run(&edges, 0..count as u32);
        let mut begin = 0;
        for &end in &components {
            order[begin..end as usize].sort_unstable_by_key(|&class| std::cmp::Reverse(class));
            begin = end as usize;
        }
        let mut node_of_class = vec![0u32; count];
        for (node, &class) in order.iter().enumerate() {
            node_of_class[class as usize] = node as u32;
        }
        let node_of =
            classes.of.iter().map(|&c| if c == NONE { NONE } else { node_of_class[c as usize] }).collect();
        let mut problem = Problem {
            sense,
            first_choice: vec![0],
            first_branch: vec![0],
            targets: Vec::new(),
            weights: Vec::new(),
            rewards: Vec::new(),
            origin: Vec::new(),
            node_of,
            components,
        };
        for &class in &order {
            for &state in classes.members(class as usize) {
                for choice in graph.choices_of(state as usize) {
                    if classes.matters(graph, known, state as usize, choice) {
                        problem.add_choice(graph, known, choice, count as u32);
                        if rewards {
                            problem.rewards.push(graph.reward_of(choice));
                        }
                    }
                }
            }
            problem.first_choice.push(problem.origin.len() as u32);
        }
        problem
    }

    fn add_choice(&mut self, graph: &Graph, known: &[Known], choice: usize, one: u32) {
        for branch in graph.branches_of(choice) {
            let target = graph.targets[branch] as usize;
            let to = match known[target] {
                Known::Open => self.node_of[target],
                Known::One => one,
                Known::Zero | Known::Infinite => continue,
            };
            self.targets.push(to);
            self.weights.push(graph.weights[branch]);
        }
        self.first_branch.push(self.targets.len() as u32);
        self.origin.push(choice as u32);
    }

    /// How many nodes.
    pub fn nodes(&self) -> usize {
        self.first_choice.len() - 1
    }

    /// The choices of a node.
    #[inline]
    pub fn choices_of(&self, node: usize) -> Range<usize> {
        self.first_choice[node] as usize..self.first_choice[node + 1] as usize
    }

    /// The branches of a choice.
    #[inline]
    pub fn branches_of(&self, choice: usize) -> Range<usize> {
        self.first_branch[choice] as usize..self.first_branch[choice + 1] as usize
    }

    /// The reward of a choice, as an index.
    #[inline]
    pub fn reward_of(&self, choice: usize) -> u32 {
        self.rewards.get(choice).copied().unwrap_or(0)
    }

    /// The nodes of each component, successors first.
    pub fn component_ranges(&self) -> impl Iterator<Item = Range<usize>> + '_ {
        let begins = std::iter::once(0).chain(self.components.iter().map(|&e| e as usize));
        begins.zip(self.components.iter()).map(|(begin, &end)| begin..end as usize)
    }
}

/// States that share a node.
struct Classes {
    of: Vec<u32>,
    first: Vec<u32>,
    members: Vec<u32>,
}

impl Classes {
    fn new(graph: &Graph, known: &[Known], groups: &[u32]) -> Self {
        let n = graph.states();
        let mut of = vec![NONE; n];
        let mut class_of_group: Vec<u32> = Vec::new();
        let mut sizes: Vec<u32> = Vec::new();
        for state in (0..n).filter(|&s| known[s] == Known::Open) {
            let group = groups.get(state).copied().unwrap_or(NONE);
            let class = if group == NONE {
                sizes.push(0);
                sizes.len() as u32 - 1
            } else {
                if class_of_group.len() <= group as usize {
                    class_of_group.resize(group as usize + 1, NONE);
                }
                let class = &mut class_of_group[group as usize];
                if *class == NONE {
                    sizes.push(0);
                    *class = sizes.len() as u32 - 1;
                }
                *class
            };
            of[state] = class;
            sizes[class as usize] += 1;
        }
        let mut first = vec![0; sizes.len() + 1];
        for (class, size) in sizes.iter().enumerate() {
            first[class + 1] = first[class] + size;
        }
        let mut next = first.clone();
        let mut members = vec![0; first[sizes.len()] as usize];
        for state in 0..n {
            if of[state] != NONE {
                let at = &mut next[of[state] as usize];
                members[*at as usize] = state as u32;
                *at += 1;
            }
        }
        Classes { of, first, members }
    }

    fn members(&self, class: usize) -> &[u32] {
        &self.members[self.first[class] as usize..self.first[class + 1] as usize]
    }

    /// Whether a choice says something about its node: it may not lead to infinity, and it leaves the node.
    fn matters(&self, graph: &Graph, known: &[Known], state: usize, choice: usize) -> bool {
        let me = self.of[state];
        let mut leaves = false;
        for &target in graph.targets_of(choice) {
            match known[target as usize] {
                Known::Infinite => return false,
                Known::Open => leaves |= self.of[target as usize] != me,
                Known::Zero | Known::One => leaves = true,
            }
        }
        leaves
    }
}

struct ClassEdges<'a> {
    graph: &'a Graph,
    known: &'a [Known],
    classes: &'a Classes,
}

impl Edges for ClassEdges<'_> {
    /// The cursor counts members in its first half and branches of a member, over all its choices, in the second.
    fn next(&self, class: usize, cursor: (u32, u32)) -> Option<(u32, (u32, u32))> {
        let members = self.classes.members(class);
        let (mut m, mut b) = cursor;
        while (m as usize) < members.len() {
            let state = members[m as usize] as usize;
            let choices = self.graph.choices_of(state);
            let begin = self.graph.first_branch[choices.start];
            let end = self.graph.first_branch[choices.end];
            while begin + b < end {
                let target = self.graph.targets[(begin + b) as usize] as usize;
                b += 1;
                if self.known[target] == Known::Open {
                    return Some((self.classes.of[target], (m, b)));
                }
            }
            m += 1;
            b = 0;
        }
        None
    }
}
