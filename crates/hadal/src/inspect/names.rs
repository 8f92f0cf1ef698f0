//! Names for people: sets of slots as short lists of paths, domains, shapes, sets of values.

use hadal_system::facts::{SlotSet, ValueSet};
use hadal_system::{Domain, DomainId, DomainKind, Shape, ShapeId, System};

/// Names what stands in a system.
pub struct Names<'a> {
    system: &'a System,
    first_slots: Vec<usize>,
}

impl<'a> Names<'a> {
    /// For this system.
    pub fn new(system: &'a System) -> Self {
        Names { system, first_slots: system.first_slots() }
    }

    /// The paths of a set of slots: a whole aggregate by its own name, `[*]` where every element takes part.
    pub fn slots(&self, set: &SlotSet) -> Vec<String> {
        let mut paths = Vec::new();
        for (variable, &first) in self.system.variables.iter().zip(&self.first_slots) {
            for suffix in self.suffixes(variable.shape, first as u32, set) {
                paths.push(format!("{}{suffix}", variable.name));
            }
        }
        paths
    }

    /// The path of one slot.
    pub fn slot(&self, slot: u32) -> String {
        self.slots(&SlotSet::range(slot, slot + 1)).pop().unwrap_or_else(|| format!("slot {slot}"))
    }

    /// What to append to the name of something that starts at `first` to name its slots in the set.
    fn suffixes(&self, shape: ShapeId, first: u32, set: &SlotSet) -> Vec<String> {
        let slots = self.system.shapes.slots(shape) as u32;
        if !set.meets_range(first, first + slots) {
            return Vec::new();
        }
        if SlotSet::range(first, first + slots).is_subset(set) {
            return vec![String::new()];
        }
        match &self.system.shapes[shape] {
            // A scalar is either inside or outside, so it was handled above.
            Shape::Scalar(_) => Vec::new(),
            Shape::Record(fields) => {
                let mut at = first;
                let mut all = Vec::new();
                for field in fields {
                    let inside = self.suffixes(field.shape, at, set);
                    all.extend(inside.into_iter().map(|suffix| format!(".{}{suffix}", field.name)));
                    at += self.system.shapes.slots(field.shape) as u32;
                }
                all
            }
            Shape::Array { index, element } | Shape::Multiset { slots: index, element } => {
                let stride = self.system.shapes.slots(*element) as u32;
                let length = self.system.domains[*index].size() as u32;
                let each: Vec<Vec<String>> =
                    (0..length).map(|n| self.suffixes(*element, first + n * stride, set)).collect();
                self.elements(*index, &each)
            }
        }
    }

    /// Joins runs of neighbouring elements with the same suffixes.
    fn elements(&self, index: DomainId, each: &[Vec<String>]) -> Vec<String> {
        let name = |n: usize| {
            let domain = &self.system.domains[index];
            self.system.domains.render(index, domain.value_at(n as u64))
        };
        let mut all = Vec::new();
        let mut from = 0;
        while from < each.len() {
            let run = each[from..].iter().take_while(|e| **e == each[from]).count();
            let index = match run {
                _ if run == each.len() => "*".to_string(),
                1 => name(from),
                _ => format!("{}..{}", name(from), name(from + run - 1)),
            };
            all.extend(each[from].iter().map(|suffix| format!("[{index}]{suffix}")));
            from += run;
        }
        all
    }

    /// How a domain is written.
    pub fn domain(&self, id: DomainId) -> String {
        let domain = &self.system.domains[id];
        let text = match &domain.kind {
            DomainKind::Bool => "boolean".to_string(),
            DomainKind::Range => ranges(domain),
            DomainKind::Enum(names) => match &domain.name {
                Some(name) if names.len() > 6 => name.clone(),
                _ => format!("{{{}}}", names.join(", ")),
            },
            DomainKind::Scalarset(_) => {
                let name = domain.name.as_deref().unwrap_or("scalarset");
                format!("{name} (scalarset of {})", domain.size())
            }
            DomainKind::Union(members) => {
                let parts: Vec<String> = members.iter().map(|&m| self.domain(m)).collect();
                parts.join(" | ")
            }
        };
        if domain.undefined { format!("{text} or undefined") } else { text }
    }

    /// How an index or parameter domain is written: undefined does not matter there.
    pub fn index(&self, id: DomainId) -> String {
        let domain = &self.system.domains[id];
        match (&domain.name, &domain.kind) {
            (Some(name), DomainKind::Enum(_) | DomainKind::Scalarset(_) | DomainKind::Union(_)) => {
                name.clone()
            }
            (_, DomainKind::Bool) => "boolean".into(),
            (_, DomainKind::Range) => ranges(domain),
            _ => self.domain(id),
        }
    }

    /// How a shape is written.
    pub fn shape(&self, id: ShapeId) -> String {
        match &self.system.shapes[id] {
            Shape::Scalar(domain) => self.domain(*domain),
            Shape::Array { index, element } => {
                format!("array [{}] of {}", self.index(*index), self.shape(*element))
            }
            Shape::Record(fields) => {
                let fields: Vec<String> =
                    fields.iter().map(|f| format!("{}: {}", f.name, self.shape(f.shape))).collect();
                format!("record {{ {} }}", fields.join("; "))
            }
            Shape::Multiset { slots, element } => {
                let value = match &self.system.shapes[*element] {
                    Shape::Record(fields) if fields.len() == 2 => self.shape(fields[1].shape),
                    _ => self.shape(*element),
                };
                format!("multiset [{}] of {value}", self.system.domains[*slots].size())
            }
        }
    }

    /// How a set of values of a slot's domain is written.
    pub fn values(&self, domain: DomainId, set: &ValueSet) -> String {
        let render = |value| self.system.domains.render(domain, Some(value));
        let mut parts: Vec<String> = (set.intervals().iter())
            .map(|&(lo, hi)| if lo == hi { render(lo) } else { format!("{}..{}", render(lo), render(hi)) })
            .collect();
        if set.may_be_undefined() {
            parts.push("undefined".into());
        }
        if parts.len() == 1 { parts.remove(0) } else { format!("{{{}}}", parts.join(", ")) }
    }
}

fn ranges(domain: &Domain) -> String {
    let each: Vec<String> = domain.intervals.iter().map(|(lo, hi)| format!("{lo}..{hi}")).collect();
    each.join(" | ")
}
