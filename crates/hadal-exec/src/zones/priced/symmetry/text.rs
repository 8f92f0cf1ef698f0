//! What a timed system says, as lists of tokens in which variables, clocks and processes can be renamed.

use hadal_system::timed::TimedSystem;
use hadal_system::{DomainId, PropertyBody, PropertyKind, ShapeId, System};
use std::collections::HashMap;
use std::fmt::Debug;

/// A piece of a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Token {
    Plain(String),
    Var(usize),
    Clock(usize),
    Process(usize),
}

/// One thing that a system says.
pub(super) type Text = Vec<Token>;

/// Who takes whose place. It is its own inverse.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Renaming {
    pub(super) vars: Vec<usize>,
    pub(super) clocks: Vec<usize>,
    pub(super) processes: Vec<usize>,
}

impl Renaming {
    pub(super) fn none(timed: &TimedSystem) -> Self {
        Renaming {
            vars: (0..timed.system.variables.len()).collect(),
            clocks: (0..=timed.clocks.len()).collect(),
            processes: (0..timed.system.processes.len()).collect(),
        }
    }

    pub(super) fn of(&self, text: &[Token]) -> Text {
        let renamed = |token: &Token| match token {
            Token::Plain(_) => token.clone(),
            Token::Var(n) => Token::Var(self.vars[*n]),
            Token::Clock(n) => Token::Clock(self.clocks[*n]),
            Token::Process(n) => Token::Process(self.processes[*n]),
        };
        text.iter().map(renamed).collect()
    }

    /// Takes what differs between two texts for one another; false where something else differs.
    pub(super) fn learn(&mut self, left: &[Token], right: &[Token]) -> bool {
        left.len() == right.len()
            && left.iter().zip(right).all(|pair| match pair {
                (Token::Var(a), Token::Var(b)) => exchange(&mut self.vars, *a, *b),
                (Token::Clock(a), Token::Clock(b)) => exchange(&mut self.clocks, *a, *b),
                (Token::Process(a), Token::Process(b)) => exchange(&mut self.processes, *a, *b),
                (a, b) => a == b,
            })
    }
}

fn exchange(map: &mut [usize], a: usize, b: usize) -> bool {
    if map[a] == a && map[b] == b {
        map.swap(a, b);
    }
    map[a] == b && map[b] == a
}

/// Everything that a system says about its runs and about the goal.
pub(super) struct Texts {
    pub(super) actions: Vec<Text>,
    /// By process: what its locations mean.
    pub(super) places: Vec<Text>,
    /// By start: its statements, in order of their text.
    starts: Vec<Vec<Text>>,
    /// Conditions that hold wherever they stand, in order of their text.
    others: Vec<Text>,
    numbers: HashMap<Text, usize>,
}

impl Texts {
    /// Of a system whose goal is this property; `None` where it says something that cannot be renamed here.
    pub(super) fn of(timed: &TimedSystem, goal: usize) -> Option<Self> {
        let system = &timed.system;
        let text = |it: &dyn Debug| tokens(system, &format!("{it:?}"));
        let mut actions = Vec::new();
        for (action, timing) in system.actions.iter().zip(&timed.timing) {
            let what = (&action.params, &action.locals, &action.guard, &action.body, &action.processes);
            let more = (&action.cost, &action.outcomes, &action.rank, &action.then);
            let clocks = (&timing.guard, &timing.resets, &timing.price);
            actions.push(text(&(what, more, clocks))?);
        }
        let mut places = Vec::new();
        for (process, stays) in system.processes.iter().zip(&timed.processes) {
            let committed: Vec<bool> = process.locations.iter().map(|place| place.committed).collect();
            places.push(text(&(committed, &stays.stays))?);
        }
        let mut starts = Vec::new();
        for start in &system.starts {
            let mut body = Vec::new();
            for statement in &start.body {
                // The order of plain assignments of constants does not matter.
                let is_plain = matches!(&statement.kind, hadal_system::StmtKind::Assign(place, value)
                    if place.steps.is_empty() && value.as_const().is_some());
                body.push(text(&statement.kind).filter(|_| is_plain && start.params.is_empty())?);
            }
            body.sort();
            starts.push(body);
        }
        let assumed = system.properties.iter().filter(|it| it.kind == PropertyKind::Assumption);
        let assumed = assumed.map(|it| match &it.body {
            PropertyBody::State(expr) => text(expr),
            _ => None,
        });
        let goals = timed.formulas.get(goal)?.as_ref()?.clauses.iter().map(|clause| text(clause));
        let rush = timed.rush.iter().map(|expr| text(expr));
        let mut others = assumed.chain(goals).chain(rush).collect::<Option<Vec<Text>>>()?;
        others.sort();
        let numbers = actions.iter().enumerate().map(|(n, action)| (action.clone(), n)).collect();
        Some(Texts { actions, places, starts, others, numbers })
    }

    /// Where each action goes by a renaming that changes nothing of what is said; `None` where it changes something.
    pub(super) fn kept_by(&self, renaming: &Renaming) -> Option<Vec<usize>> {
        let sorted = |texts: &[Text]| {
            let mut renamed: Vec<Text> = texts.iter().map(|text| renaming.of(text)).collect();
            renamed.sort();
            renamed
        };
        let places = (0..self.places.len())
            .all(|n| renaming.of(&self.places[n]) == self.places[renaming.processes[n]]);
        let starts = self.starts.iter().all(|start| sorted(start) == *start);
        if !places || !starts || sorted(&self.others) != self.others {
            return None;
        }
        self.actions.iter().map(|action| self.numbers.get(&renaming.of(action)).copied()).collect()
    }
}

/// The tokens of what the compiler's own form of a text shows, without places in the source.
fn tokens(system: &System, shown: &str) -> Option<Text> {
    let mut all: Text = Vec::new();
    let mut plain = String::new();
    let mut rest = shown;
    while let Some(c) = rest.chars().next() {
        // Functions and arrays of clocks would have to be renamed inside.
        if rest.starts_with("Call(") || rest.starts_with("Among {") {
            return None;
        }
        if rest.starts_with("Span {") {
            rest = &rest[rest.find('}')? + 1..];
            continue;
        }
        let number = |name: &str| {
            let digits = rest.strip_prefix(name)?.split(')').next()?;
            Some((digits.parse::<usize>().ok()?, name.len() + digits.len() + 1))
        };
        let named = [("VarId(", 0), ("One(", 1), ("ProcessId(", 2), ("ShapeId(", 3), ("DomainId(", 4)]
            .into_iter()
            .find_map(|(name, kind)| number(name).map(|found| (kind, found)));
        let Some((kind, (n, length))) = named else {
            plain.push(c);
            rest = &rest[c.len_utf8()..];
            continue;
        };
        rest = &rest[length..];
        if kind >= 3 {
            // Shapes of the same values are the same.
            let domain = match kind {
                3 => system.shapes.scalar(ShapeId(n as u32)),
                _ => Some(DomainId(n as u32)),
            };
            match domain {
                Some(domain) => plain.push_str(&format!("{:?}", system.domains[domain].intervals)),
                None => plain.push_str(&format!("shape {n}")),
            }
            continue;
        }
        all.push(Token::Plain(std::mem::take(&mut plain)));
        all.push(match kind {
            0 => Token::Var(n),
            1 => Token::Clock(n),
            _ => Token::Process(n),
        });
    }
    all.push(Token::Plain(plain));
    Some(all)
}
