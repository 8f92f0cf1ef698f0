//! Channels as they are shown: one value with all messages instead of a scalar for each field.

use super::Scalar;
use hadal_system::{Role, Shape, System};

/// Where a channel's scalars stand among those of the state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// Its name.
    pub name: String,
    /// The scalar that says how many messages there are.
    held: usize,
    /// The first field of the first message.
    first: usize,
    fields: usize,
    capacity: usize,
}

/// The channels of a system: a number of messages, named `q.len`, before the messages themselves.
pub fn channels(system: &System) -> Vec<Channel> {
    let slots = system.first_slots();
    let mut found = Vec::new();
    for (n, pair) in system.variables.windows(2).enumerate() {
        let is_channel = pair.iter().all(|variable| variable.role == Role::Channel);
        if !is_channel || pair[0].name.strip_suffix(".len") != Some(&pair[1].name) {
            continue;
        }
        let Shape::Array { element, .. } = system.shapes[pair[1].shape] else { continue };
        let fields = system.shapes.slots(element).max(1);
        let capacity = system.shapes.slots(pair[1].shape) / fields;
        let name = pair[1].name.clone();
        found.push(Channel { name, held: slots[n], first: slots[n + 1], fields, capacity });
    }
    found
}

/// A state with one value per channel. `scalars` are all of the state, in its order.
pub fn shown(channels: &[Channel], scalars: Vec<(String, String)>) -> Vec<Scalar> {
    let mut state = Vec::with_capacity(scalars.len());
    let mut skip = 0..0;
    for (n, (name, value)) in scalars.iter().enumerate() {
        if skip.contains(&n) {
            continue;
        }
        let Some(channel) = channels.iter().find(|channel| channel.held == n) else {
            state.push(Scalar { name: name.clone(), value: value.clone() });
            continue;
        };
        let held = value.parse().unwrap_or(0).min(channel.capacity);
        let end = channel.first + channel.capacity * channel.fields;
        let messages = scalars.get(channel.first..end).unwrap_or_default();
        let texts: Vec<String> = messages
            .chunks(channel.fields)
            .take(held)
            .map(|fields| fields.iter().map(|(_, value)| value.as_str()).collect::<Vec<_>>().join(","))
            .collect();
        state.push(Scalar { name: channel.name.clone(), value: format!("[{}]", texts.join("; ")) });
        skip = channel.first..end;
    }
    state
}
