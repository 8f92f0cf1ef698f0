//! A state space watched by a claim: the product whose accepted runs are the wrong ones.
//!
//! Vardi and Wolper, "An automata-theoretic approach to automatic program verification" (LICS 1986). The claim's location
//! lies above the bits of the state, so that compiled code sees states as it knows them. The claim reads the state that
//! is left (as in SPIN): every transition of the system is combined with every edge of the claim that the state allows.
//! Where the system cannot move, the claim may move alone if the property says that such runs stay for ever.

mod fairness;
mod verify;
mod watch;

use crate::model::Model;
use fairness::Fair;
use hadal_system::state::{get_bits, set_bits};
use hadal_system::{
    Acceptance, ActionInfo, Check, Label, PropertyBody, PropertyId, PropertyInfo, PropertyKind, Shown,
    StateField, StateSpace, Successors, Worker,
};
pub use verify::{LassoError, verify};
use watch::{Located, Table, Watch};

pub use fairness::Fairness;

/// Why there is no product.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProductError {
    /// The property is not about infinite runs.
    #[error("`{0}` is not about infinite runs")]
    OtherKind(String),
    /// Transitions are numbered with 32 bits.
    #[error("the model has too many rules for a claim with {0} edges in one place")]
    TooManyLabels(usize),
    /// Acceptance sets are counted with 64 bits.
    #[error("{0} acceptance sets are needed for fairness, more than 64")]
    TooManySets(usize),
    /// A run is fair to processes, or to rules.
    #[error("the model has nothing that runs could be fair to")]
    NobodyToBeFairTo,
}

/// The locations of a claim and where they lie in a state.
#[derive(Clone, Debug)]
pub struct ClaimGraph {
    /// The first bit of the location.
    pub offset: u32,
    /// Its bits.
    pub width: u32,
    /// Where each location leads.
    pub edges: Vec<Vec<u32>>,
    /// Locations in the first acceptance set that lie on a cycle.
    pub accepting: Vec<bool>,
    /// Locations where the claim is over.
    pub terminal: Vec<bool>,
}

/// A space whose accepted runs break one property.
pub struct Product<'m> {
    inner: &'m dyn StateSpace,
    watch: Watch,
    fair: Option<Fair>,
    acceptance: Acceptance,
    /// Whether assumptions forbid states.
    assumes: bool,
    properties: Vec<PropertyInfo>,
    actions: Vec<ActionInfo>,
    fields: Vec<StateField>,
    fingerprint: u64,
    words: usize,
    bits: u32,
}

impl<'m> Product<'m> {
    /// The product of a model with one of its properties about runs. `inner` is the model, or the model with fewer
    /// transitions.
    pub fn new(
        model: &'m Model,
        inner: &'m dyn StateSpace,
        property: PropertyId,
        fairness: Fairness,
    ) -> Result<Product<'m>, ProductError> {
        let info = &model.properties()[property.0 as usize];
        let (at, _) = model.system().property_instance(property).unwrap_or_default();
        let watch = match (info.kind, &model.system().properties[at].body) {
            (PropertyKind::Formula, PropertyBody::Claim(claim)) => {
                let bases = model.system().property_bases();
                let propositions = claim.propositions.iter().map(|&n| PropertyId(bases[n])).collect();
                Watch::Claim(Table::new(claim, propositions, inner.bits()))
            }
            (PropertyKind::Acceptance, PropertyBody::State(_)) => Watch::States(Located::of(model)),
            _ => return Err(ProductError::OtherKind(info.name.clone())),
        };
        let fair = Fair::new(model, fairness, watch.sets())?;
        let factor = watch.factor();
        let labels = inner.actions().last().map_or(0, |action| action.labels.end);
        let most = (u64::from(labels) + 1).checked_mul(u64::from(factor));
        if most.is_none_or(|most| most > u64::from(u32::MAX)) {
            return Err(ProductError::TooManyLabels(factor as usize));
        }
        let scaled = |action: &ActionInfo| ActionInfo {
            name: action.name.clone(),
            labels: action.labels.start * factor..action.labels.end * factor,
        };
        let mut actions: Vec<ActionInfo> = inner.actions().iter().map(scaled).collect();
        let bits = inner.bits() + watch.width();
        let mut fields = inner.fields().to_vec();
        if let Watch::Claim(table) = &watch {
            let group = fields.iter().map(|field| field.group + 1).max().unwrap_or(0);
            let (offset, width) = (table.offset, table.width);
            let name = "claim".to_owned();
            fields.push(StateField { name, offset, width, group, owner: None });
            if table.stutters {
                actions
                    .push(ActionInfo { name: "stay".into(), labels: labels * factor..(labels + 1) * factor });
            }
        }
        let acceptance = Acceptance {
            property,
            sets: watch.sets() + fair.as_ref().map_or(0, Fair::sets),
            pairs: fair.as_ref().map_or(0, Fair::pairs),
            on_states: watch.on_states() && fair.is_none(),
            weak: watch.is_weak() && fair.is_none(),
            by_reaching: fair.is_none() && matches!(&watch, Watch::Claim(table) if table.is_terminal()),
            shown: Shown::Some,
        };
        let text = format!("{watch:?} {fair:?} {property:?}");
        let told: Vec<u64> = text.bytes().map(u64::from).collect();
        Ok(Product {
            inner,
            watch,
            fair,
            acceptance,
            assumes: inner.properties().iter().any(|property| property.kind == PropertyKind::Assumption),
            properties: inner.properties().to_vec(),
            actions,
            fields,
            fingerprint: inner.fingerprint() ^ hadal_system::state::hash(&told),
            words: bits.div_ceil(64).max(inner.words() as u32) as usize,
            bits,
        })
    }

    /// The same, with another choice of the run that is shown; `None` where no state is accepting and loops are to begin in
    /// such a state.
    pub fn showing(mut self, shown: Shown) -> Option<Self> {
        let Acceptance { sets, pairs, on_states, .. } = self.acceptance;
        self.acceptance.shown = shown;
        (shown != Shown::FromAccepting || sets == 1 && pairs == 0 && on_states).then_some(self)
    }

    /// The space that is watched.
    pub fn inner(&self) -> &dyn StateSpace {
        self.inner
    }

    /// The system's part of a state.
    pub fn system_state(&self, state: &[u64]) -> Vec<u64> {
        let mut own = state.to_vec();
        if let Watch::Claim(table) = &self.watch {
            set_bits(&mut own, table.offset, table.width, 0);
        }
        own.truncate(self.inner.words());
        own
    }

    /// The system's own label of a transition; `None` where only the claim moves.
    pub fn system_label(&self, label: Label) -> Option<Label> {
        let labels = self.inner.actions().last().map_or(0, |action| action.labels.end);
        let own = label.0 / self.watch.factor();
        (own < labels).then_some(Label(own))
    }

    /// The claim as a graph, where there is a claim.
    pub fn claim_graph(&self) -> Option<ClaimGraph> {
        let Watch::Claim(table) = &self.watch else { return None };
        let edges = table.edges.iter().map(|edges| edges.iter().map(|edge| edge.target).collect()).collect();
        let accepting = table.edges.iter().zip(&table.components).map(|(edges, component)| {
            component.is_some() && edges.first().is_some_and(|edge| edge.marks & 1 == 1)
        });
        Some(ClaimGraph {
            offset: table.offset,
            width: table.width,
            edges,
            accepting: accepting.collect(),
            terminal: table.terminal.clone(),
        })
    }

    /// The claim's location in a state, where there is a claim.
    pub fn location(&self, state: &[u64]) -> Option<u32> {
        match &self.watch {
            Watch::Claim(table) => Some(get_bits(state, table.offset, table.width) as u32),
            Watch::States(_) => None,
        }
    }
}

impl StateSpace for Product<'_> {
    fn words(&self) -> usize {
        self.words
    }

    fn bits(&self) -> u32 {
        self.bits
    }

    fn fields(&self) -> &[StateField] {
        &self.fields
    }

    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn properties(&self) -> &[PropertyInfo] {
        &self.properties
    }

    fn actions(&self) -> &[ActionInfo] {
        &self.actions
    }

    fn admits(&self, state: &[u64]) -> bool {
        let located = match &self.watch {
            Watch::Claim(table) => get_bits(state, table.offset, table.width) < table.edges.len() as u64,
            Watch::States(_) => true,
        };
        let beside = (0..self.words as u32 * 64 - self.bits).all(|n| get_bits(state, self.bits + n, 1) == 0);
        located && beside && self.inner.admits(&self.system_state(state))
    }

    fn may_fault(&self) -> bool {
        self.inner.may_fault()
    }

    fn acceptance(&self) -> Option<Acceptance> {
        Some(self.acceptance)
    }

    fn worker(&self) -> Box<dyn Worker + '_> {
        Box::new(ProductWorker {
            product: self,
            inner: self.inner.worker(),
            out: Successors::new(self.inner.words()),
            own: vec![0; self.inner.words()],
            made: vec![0; self.words],
        })
    }

    fn render_label(&self, label: Label) -> String {
        match self.system_label(label) {
            Some(own) => self.inner.render_label(own),
            None => "stay".to_owned(),
        }
    }

    fn render_start(&self, label: Label) -> String {
        self.inner.render_start(label)
    }

    fn render_state(&self, state: &[u64]) -> Vec<(String, String)> {
        let mut shown = self.inner.render_state(&self.system_state(state));
        if let Some(location) = self.location(state) {
            shown.push(("claim".into(), location.to_string()));
        }
        shown
    }
}

struct ProductWorker<'p> {
    product: &'p Product<'p>,
    inner: Box<dyn Worker + 'p>,
    /// Successors of the system's part.
    out: Successors,
    /// The system's part of the state being expanded.
    own: Vec<u64>,
    /// A state being made.
    made: Vec<u64>,
}

impl ProductWorker<'_> {
    fn split(&mut self, state: &[u64], table: &Table) -> usize {
        let words = self.own.len();
        self.own.copy_from_slice(&state[..words]);
        if table.offset < words as u32 * 64 {
            let inside = (words as u32 * 64 - table.offset).min(table.width);
            set_bits(&mut self.own, table.offset, inside, 0);
        }
        get_bits(state, table.offset, table.width) as usize
    }

    /// The propositions of the state in `own`; those that cannot be evaluated count as false (and [`Worker::check`] has
    /// reported them).
    fn valuation(&mut self, table: &Table) -> u64 {
        let mut valuation = 0;
        for (n, &proposition) in table.propositions.iter().enumerate() {
            valuation |= u64::from(self.inner.satisfies(&self.own, proposition) == Some(true)) << n;
        }
        valuation
    }

    fn push(
        &mut self,
        table: &Table,
        from: Option<usize>,
        (label, target): (u32, u32),
        out: &mut Successors,
    ) {
        self.made.fill(0);
        let words = self.own.len();
        match from {
            Some(n) => self.made[..words].copy_from_slice(self.out.state(n)),
            None => self.made[..words].copy_from_slice(&self.own),
        }
        set_bits(&mut self.made, table.offset, table.width, u64::from(target));
        out.push(Label(label), &self.made);
    }
}

impl Worker for ProductWorker<'_> {
    fn initial(&mut self, out: &mut Successors) {
        let Watch::Claim(table) = &self.product.watch else { return self.inner.initial(out) };
        self.out.clear();
        self.inner.initial(&mut self.out);
        for n in 0..self.out.len() {
            let label = self.out.labels()[n].0;
            self.push(table, Some(n), (label, table.initial), out);
        }
        self.out.faults().iter().for_each(|&label| out.push_fault(label));
    }

    fn successors(&mut self, state: &[u64], out: &mut Successors) {
        let Watch::Claim(table) = &self.product.watch else { return self.inner.successors(state, out) };
        let location = self.split(state, table);
        let valuation = self.valuation(table);
        let edges = &table.edges[location];
        let enabled = edges.iter().enumerate().filter(|(_, edge)| edge.guard.holds(valuation));
        self.out.clear();
        let own = std::mem::take(&mut self.own);
        self.inner.successors(&own, &mut self.out);
        self.own = own;
        for n in 0..self.out.len() {
            let label = self.out.labels()[n].0 * table.factor;
            for (number, edge) in enabled.clone() {
                self.push(table, Some(n), (label + number as u32, edge.target), out);
            }
        }
        self.out.faults().iter().for_each(|&label| out.push_fault(Label(label.0 * table.factor)));
        if table.stutters && self.out.is_empty() && self.out.faults().is_empty() {
            // Where every way on leads into states that an assumption forbids, there is no run to be extended.
            let own = std::mem::take(&mut self.own);
            let cut = self.product.assumes && self.inner.can_leave(&own);
            self.own = own;
            if !cut {
                let labels = self.product.inner.actions().last().map_or(0, |action| action.labels.end);
                for (number, edge) in enabled {
                    self.push(table, None, (labels * table.factor + number as u32, edge.target), out);
                }
            }
        }
    }

    fn can_leave(&mut self, state: &[u64]) -> bool {
        match &self.product.watch {
            Watch::States(_) => self.inner.can_leave(state),
            Watch::Claim(table) => {
                self.split(state, table);
                self.inner.can_leave(&self.own)
            }
        }
    }

    fn check(&mut self, state: &[u64]) -> Check {
        let Watch::Claim(table) = &self.product.watch else { return self.inner.check(state) };
        let location = self.split(state, table);
        let found = self.inner.check(&self.own);
        if found != Check::Fine {
            return found;
        }
        for &proposition in &table.propositions {
            if self.inner.satisfies(&self.own, proposition).is_none() {
                return Check::Fault(proposition);
            }
        }
        match table.terminal[location] && self.product.fair.is_none() {
            true => Check::Hit(self.product.acceptance.property),
            false => Check::Fine,
        }
    }

    fn satisfies(&mut self, state: &[u64], property: PropertyId) -> Option<bool> {
        match &self.product.watch {
            Watch::States(_) => self.inner.satisfies(state, property),
            Watch::Claim(table) => {
                self.split(state, table);
                self.inner.satisfies(&self.own, property)
            }
        }
    }

    fn marks(&mut self, state: &[u64], out: &Successors, marks: &mut Vec<u64>) {
        marks.clear();
        match &self.product.watch {
            Watch::States(_) => {
                let own = self.state_marks(state);
                marks.resize(out.len(), own);
            }
            Watch::Claim(table) => {
                let edges = &table.edges[get_bits(state, table.offset, table.width) as usize];
                marks.extend(out.labels().iter().map(|label| edges[(label.0 % table.factor) as usize].marks));
            }
        }
        if let Some(fair) = &self.product.fair {
            fair.add(out, self.product.watch.factor(), marks);
        }
    }

    fn able(&mut self, _state: &[u64], out: &Successors) -> u64 {
        self.product.fair.as_ref().map_or(0, |fair| fair.able(out, self.product.watch.factor()))
    }

    fn state_marks(&mut self, state: &[u64]) -> u64 {
        match &self.product.watch {
            Watch::States(_) => {
                let property = self.product.acceptance.property;
                u64::from(self.inner.satisfies(state, property) == Some(true))
            }
            Watch::Claim(table) => {
                let location = get_bits(state, table.offset, table.width) as usize;
                table.edges[location].first().map_or(0, |edge| edge.marks)
            }
        }
    }

    fn component(&mut self, state: &[u64]) -> Option<u32> {
        match &self.product.watch {
            Watch::States(located) => located.component(state),
            Watch::Claim(table) => table.components[get_bits(state, table.offset, table.width) as usize],
        }
    }

    fn cover_counts(&self) -> &[u64] {
        self.inner.cover_counts()
    }
}
