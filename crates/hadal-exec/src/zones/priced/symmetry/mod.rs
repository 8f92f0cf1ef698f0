//! Processes that may take one another's place, with the clocks and variables that go with them: equal runways, say.
//!
//! Where exchanging two of them changes nothing of what the system says (guards, resets, prices, rates, the goal), a run and its
//! mirror image cost the same, so one state stands for all its mirror images: the one in which such processes stand in order of
//! what their variables and clocks show. Any choice among mirror images is sound; equal ones for equal orbits make it useful
//! (Clarke, Emerson, Jha and Sistla 1998; in real time Hendriks, Behrmann, Larsen, Niebert and Vaandrager 2004). A run of such
//! states is turned back into one of the model step by step.

mod text;

use super::super::code::{Code, Compiler};
use super::super::space::ZoneSpace;
use super::space::Priced;
use super::zone::PricedZone;
use hadal_system::state::{get_bits, set_bits};
use hadal_system::{Label, VarId};
use text::{Renaming, Texts};

/// The most processes and actions that are compared.
const MOST_PROCESSES: usize = 200;
const MOST_ACTIONS: usize = 20_000;
/// The most processes of one class: their order is kept in bytes.
const MOST_MEMBERS: usize = 250;

/// How processes were put into order: by class, who came to stand at each place. Empty where nothing moved.
pub(crate) type Turn = Vec<u8>;

/// Processes that may take one another's place.
pub(crate) struct Symmetry {
    classes: Vec<Class>,
}

struct Class {
    members: Vec<Member>,
    /// By member but the first: where each action goes when the two take one another's place.
    exchanges: Vec<Vec<usize>>,
}

/// What goes with a process.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    /// Offset and width of scalars in the discrete part.
    scalars: Vec<(u32, u32)>,
    clocks: Vec<usize>,
}

impl Symmetry {
    /// Of the processes of a zone graph, for runs to this goal; `None` where there are no such processes.
    pub(crate) fn of(zones: &ZoneSpace, goal: usize) -> Option<Self> {
        let timed = &zones.timed;
        let count = timed.system.processes.len();
        if count > MOST_PROCESSES || timed.system.actions.len() > MOST_ACTIONS {
            return None;
        }
        let texts = Texts::of(timed, goal)?;
        let mut classes: Vec<Class> = Vec::new();
        let mut placed = vec![false; count];
        for first in 0..count {
            if placed[first] {
                continue;
            }
            let mut class: Option<Class> = None;
            for other in (first + 1..count).filter(|&other| !placed[other]).collect::<Vec<_>>() {
                let Some((renaming, actions)) = exchange(zones, &texts, first, other) else { continue };
                let (vars, clocks) = moved(&renaming);
                let Some(its) = member(zones, vars.iter().map(|&var| renaming.vars[var]), &clocks, &renaming)
                else {
                    continue;
                };
                let unmoved = Renaming::none(timed);
                let Some(own) = member(zones, vars.iter().copied(), &clocks, &unmoved) else { continue };
                let known =
                    class.get_or_insert_with(|| Class { members: vec![own.clone()], exchanges: vec![] });
                let fits = known.members[0] == own && known.members.len() < MOST_MEMBERS;
                if fits {
                    known.members.push(its);
                    known.exchanges.push(actions);
                    placed[other] = true;
                }
            }
            classes.extend(class);
        }
        (!classes.is_empty()).then_some(Symmetry { classes })
    }

    /// How many processes each class has.
    pub(crate) fn sizes(&self) -> Vec<usize> {
        self.classes.iter().map(|class| class.members.len()).collect()
    }

    /// Puts processes into order.
    pub(crate) fn turn(&self, priced: &mut Priced) -> Turn {
        let orders: Vec<Vec<u8>> = self.classes.iter().map(|class| class.order(priced)).collect();
        if orders.iter().all(|order| order.is_sorted()) {
            return Turn::new();
        }
        let zone = &priced.zone;
        let mut clocks: Vec<usize> = (0..zone.slopes.len()).collect();
        let mut state = priced.state.clone();
        for (class, order) in self.classes.iter().zip(&orders) {
            for (to, &from) in class.members.iter().zip(order) {
                class.members[from as usize].copy_to(to, &priced.state, &mut state);
                for (&to, &from) in to.clocks.iter().zip(&class.members[from as usize].clocks) {
                    clocks[to] = from;
                }
            }
        }
        let mut turned = zone.clone();
        for (i, &from) in clocks.iter().enumerate() {
            turned.slopes[i] = zone.slopes[from];
            for (j, &minus) in clocks.iter().enumerate() {
                *turned.zone.entry_mut(i, j) = zone.zone.entry(from, minus);
            }
        }
        *priced = Priced { state, zone: PricedZone { cost: zone.cost, ..turned } };
        orders.concat()
    }

    /// The run of the model behind a run of states in order.
    pub(crate) fn turn_back(
        &self,
        zones: &ZoneSpace,
        labels: &mut [Label],
        states: &mut [Vec<u64>],
        turns: &[Turn],
    ) {
        // By class: where in the model each member of the ordered state is.
        let mut at: Vec<Vec<u8>> =
            self.classes.iter().map(|class| (0..class.members.len() as u8).collect()).collect();
        for (n, turn) in turns.iter().enumerate() {
            if n > 0 {
                let mut action = zones.action(labels[n]);
                let instance = labels[n].0 - zones.first_label(action);
                for (class, at) in self.classes.iter().zip(&at) {
                    action = class.moved_action(action, at);
                }
                labels[n] = Label(zones.first_label(action) + instance);
            }
            let mut rest = turn.as_slice();
            for (class, at) in self.classes.iter().zip(&mut at) {
                let Some((order, after)) = rest.split_at_checked(class.members.len()) else { break };
                *at = order.iter().map(|&from| at[from as usize]).collect();
                rest = after;
            }
            let ordered = states[n].clone();
            for (class, at) in self.classes.iter().zip(&at) {
                for (member, &to) in class.members.iter().zip(at) {
                    member.copy_to(&class.members[to as usize], &ordered, &mut states[n]);
                }
            }
        }
    }
}

impl Class {
    /// Who comes to stand at each place.
    fn order(&self, priced: &Priced) -> Vec<u8> {
        let key = |&member: &u8| {
            let member = &self.members[member as usize];
            let scalars = member.scalars.iter().map(|&(at, width)| get_bits(&priced.state, at, width) as i64);
            let zone = &priced.zone;
            let clocks = member.clocks.iter().flat_map(|&clock| {
                let (upper, lower) = (zone.zone.entry(clock, 0), zone.zone.entry(0, clock));
                [i64::from(upper), i64::from(lower), zone.slopes[clock]]
            });
            scalars.chain(clocks).collect::<Vec<i64>>()
        };
        let mut order: Vec<u8> = (0..self.members.len() as u8).collect();
        order.sort_by_cached_key(key);
        order
    }

    /// Where an action goes when every member moves to the place in `at`.
    fn moved_action(&self, mut action: usize, at: &[u8]) -> usize {
        let mut now: Vec<u8> = (0..at.len() as u8).collect();
        for place in 0..at.len() {
            let (a, b) = (now[place], at[place]);
            if a == b {
                continue;
            }
            for member in &mut now {
                *member = if *member == a {
                    b
                } else if *member == b {
                    a
                } else {
                    *member
                };
            }
            // (a b) by exchanges with the first member.
            let steps: &[u8] = match (a, b) {
                (0, other) | (other, 0) => &[other],
                (a, b) => &[a, b, a],
            };
            action = steps.iter().fold(action, |action, &by| self.exchanges[by as usize - 1][action]);
        }
        action
    }
}

impl Member {
    fn copy_to(&self, to: &Member, from: &[u64], into: &mut [u64]) {
        for (&(at, width), &(goes, _)) in self.scalars.iter().zip(&to.scalars) {
            set_bits(into, goes, width, get_bits(from, at, width));
        }
    }
}

/// The renaming by which two processes take one another's place, and where it leads each action, if there is one.
fn exchange(zones: &ZoneSpace, texts: &Texts, first: usize, other: usize) -> Option<(Renaming, Vec<usize>)> {
    let processes = &zones.timed.system.processes;
    let (left, right) = (&processes[first], &processes[other]);
    if left.locations.len() != right.locations.len() || left.edges.len() != right.edges.len() {
        return None;
    }
    let mut renaming = Renaming::none(&zones.timed);
    renaming.processes.swap(first, other);
    renaming.vars.swap(left.location.0 as usize, right.location.0 as usize);
    let learned = renaming.learn(&texts.places[first], &texts.places[other])
        && left.edges.iter().zip(&right.edges).all(|(left, right)| {
            let (left, right) = (left.action.0 as usize, right.action.0 as usize);
            renaming.learn(&texts.actions[left], &texts.actions[right])
        });
    // Whatever was guessed on the way: it is right where nothing that is said changes.
    let actions = learned.then(|| texts.kept_by(&renaming)).flatten()?;
    Some((renaming, actions))
}

/// The variables and clocks that move: of each pair the one that is numbered first.
fn moved(renaming: &Renaming) -> (Vec<usize>, Vec<usize>) {
    let lower = |map: &[usize]| (0..map.len()).filter(|&n| map[n] > n).collect::<Vec<_>>();
    (lower(&renaming.vars), lower(&renaming.clocks))
}

/// What goes with a process, where its variables are scalars.
fn member(
    zones: &ZoneSpace,
    vars: impl Iterator<Item = usize>,
    clocks: &[usize],
    renaming: &Renaming,
) -> Option<Member> {
    let system = zones.model.system();
    let compiler = Compiler { system, layout: zones.model.layout() };
    let scalar = |var: usize| match compiler.code(&system.whole(VarId(var as u32)).read()) {
        Code::Scalar(at, width, _) => Some((at, width)),
        _ => None,
    };
    let scalars = vars.map(scalar).collect::<Option<Vec<_>>>()?;
    let clocks = clocks.iter().map(|&clock| renaming.clocks[clock]).collect();
    Some(Member { scalars, clocks })
}
