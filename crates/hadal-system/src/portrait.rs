//! A state as people read it: scalars by name, a multiset as the bag of its elements, a channel as its queue of
//! messages. Slots of multisets are sorted anew after every step, and those of channels move up: compared slot by slot,
//! one message would seem to turn into another.

use crate::domain::{DomainId, Value};
use crate::shape::{Shape, ShapeId};
use crate::system::{Role, System};

/// One thing that a state shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its path name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it consists of, where it is a collection.
    pub content: Content,
}

/// What an item consists of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Content {
    /// One scalar.
    #[default]
    Scalar,
    /// Elements without an order.
    Bag(Vec<String>),
    /// Messages, the oldest first.
    Queue(Vec<String>),
}

/// What there is to be shown of the states of one system, found once.
#[derive(Clone, Debug)]
pub struct Portrait<'s> {
    system: &'s System,
    parts: Vec<Part>,
}

#[derive(Clone, Debug)]
enum Part {
    Scalar {
        name: String,
        slot: usize,
        domain: DomainId,
    },
    /// Elements that are there where the scalar at their first slot says so.
    Bag {
        name: String,
        elements: Vec<Vec<Piece>>,
    },
    /// The first so many elements that the scalar at `count` says.
    Queue {
        name: String,
        count: usize,
        elements: Vec<Vec<Piece>>,
    },
}

/// A scalar inside an element: the name of its field, its slot and its domain.
#[derive(Clone, Debug)]
struct Piece {
    field: String,
    slot: usize,
    domain: DomainId,
}

impl<'s> Portrait<'s> {
    /// Looks at the variables of `system`.
    pub fn new(system: &'s System) -> Self {
        let mut portrait = Portrait { system, parts: Vec::new() };
        let (mut slot, mut n) = (0, 0);
        while let Some(variable) = system.variables.get(n) {
            let slots = system.shapes.slots(variable.shape);
            match portrait.queue(n, slot) {
                Some(queue) => {
                    portrait.parts.push(queue);
                    slot += slots + system.shapes.slots(system.variables[n + 1].shape);
                    n += 2;
                }
                None => {
                    portrait.add(&variable.name, variable.shape, slot);
                    slot += slots;
                    n += 1;
                }
            }
        }
        portrait
    }

    /// What the slots with these values show.
    pub fn of(&self, values: &[Option<Value>]) -> Vec<Item> {
        self.parts.iter().map(|part| self.item(part, values)).collect()
    }

    /// A channel with room is the number of messages in it, then the array of them.
    fn queue(&self, variable: usize, slot: usize) -> Option<Part> {
        let [count, messages] = self.system.variables.get(variable..variable + 2)? else { return None };
        let is_channel = count.role == Role::Channel && messages.role == Role::Channel;
        let counts = count.name.strip_prefix(&messages.name).is_some_and(|rest| rest.starts_with('.'));
        self.system.shapes.scalar(count.shape)?;
        let Shape::Array { index, element } = self.system.shapes[messages.shape] else { return None };
        (is_channel && counts).then(|| Part::Queue {
            name: messages.name.clone(),
            count: slot,
            elements: self.elements(index, element, slot + 1),
        })
    }

    fn add(&mut self, name: &str, shape: ShapeId, slot: usize) {
        let system = self.system;
        match &system.shapes[shape] {
            Shape::Scalar(domain) => {
                self.parts.push(Part::Scalar { name: name.to_owned(), slot, domain: *domain });
            }
            Shape::Array { index, element } => {
                let size = system.shapes.slots(*element);
                for (n, value) in system.domains[*index].values().enumerate() {
                    let name = format!("{name}[{}]", system.domains.render(*index, Some(value)));
                    self.add(&name, *element, slot + n * size);
                }
            }
            Shape::Record(fields) => {
                for (n, field) in fields.iter().enumerate() {
                    let at = slot + system.shapes.field_slot(fields, n);
                    self.add(&format!("{name}.{}", field.name), field.shape, at);
                }
            }
            Shape::Multiset { slots, element } => {
                let elements = self.elements(*slots, *element, slot);
                self.parts.push(Part::Bag { name: name.to_owned(), elements });
            }
        }
    }

    fn elements(&self, index: DomainId, element: ShapeId, slot: usize) -> Vec<Vec<Piece>> {
        let (shapes, domains) = (&self.system.shapes, &self.system.domains);
        let (count, size) = (domains[index].values().count(), shapes.slots(element));
        (0..count)
            .map(|n| {
                let (mut pieces, mut at) = (Vec::with_capacity(size), slot + n * size);
                shapes.for_each_scalar(domains, element, "", &mut |field, domain| {
                    pieces.push(Piece { field: field.trim_start_matches('.').to_owned(), slot: at, domain });
                    at += 1;
                });
                pieces
            })
            .collect()
    }

    fn item(&self, part: &Part, values: &[Option<Value>]) -> Item {
        match part {
            Part::Scalar { name, slot, domain } => Item {
                name: name.clone(),
                value: self.system.domains.render(*domain, values[*slot]),
                content: Content::Scalar,
            },
            Part::Bag { name, elements } => {
                let present = |pieces: &&Vec<Piece>| values[pieces[0].slot].is_some_and(|there| there != 0);
                let bag: Vec<String> = elements
                    .iter()
                    .filter(present)
                    .map(|pieces| self.element(&pieces[1..], values))
                    .collect();
                Item {
                    name: name.clone(),
                    value: format!("{{{}}}", bag.join(", ")),
                    content: Content::Bag(bag),
                }
            }
            Part::Queue { name, count, elements } => {
                let held = values[*count].and_then(|held| usize::try_from(held).ok()).unwrap_or(0);
                let queue: Vec<String> =
                    elements.iter().take(held).map(|pieces| self.message(pieces, values)).collect();
                Item {
                    name: name.clone(),
                    value: format!("[{}]", queue.join("; ")),
                    content: Content::Queue(queue),
                }
            }
        }
    }

    /// One message, as it is sent: its fields with commas between them.
    fn message(&self, pieces: &[Piece], values: &[Option<Value>]) -> String {
        let field = |piece: &Piece| self.system.domains.render(piece.domain, values[piece.slot]);
        pieces.iter().map(field).collect::<Vec<_>>().join(",")
    }

    /// One element: a bare value where there is but one, else its fields; undefined ones are left out.
    fn element(&self, pieces: &[Piece], values: &[Option<Value>]) -> String {
        let rendered = |piece: &Piece| self.system.domains.render(piece.domain, values[piece.slot]);
        if let [only] = pieces {
            return rendered(only);
        }
        let fields = pieces.iter().filter(|piece| values[piece.slot].is_some()).map(|piece| {
            let field = piece.field.trim_start_matches("value").trim_start_matches('.');
            match field.chars().next() {
                Some(first) if !first.is_ascii_digit() => format!("{field}: {}", rendered(piece)),
                _ => rendered(piece),
            }
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
    }
}

/// What went out of a bag and what came in, elements that stayed left out.
pub fn difference(before: &[String], after: &[String]) -> (Vec<String>, Vec<String>) {
    let mut gone = before.to_vec();
    let mut come = Vec::new();
    for element in after {
        match gone.iter().position(|old| old == element) {
            Some(at) => {
                gone.remove(at);
            }
            None => come.push(element.clone()),
        }
    }
    (gone, come)
}

#[cfg(test)]
mod tests {
    use super::difference;

    #[test]
    fn elements_that_stay_are_not_in_the_difference() {
        let bag = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(difference(&bag("a b b c"), &bag("b c d")), (bag("a b"), bag("d")));
    }
}
