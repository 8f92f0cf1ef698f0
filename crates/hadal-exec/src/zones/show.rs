//! Zones for people.

use super::dbm::{INFINITY, Zone, add, constant, weak};

/// The zone for people: bounds that say something.
pub fn render(zone: &Zone, names: &[String]) -> String {
    let mut parts = Vec::new();
    let name = |n: usize| names.get(n - 1).map_or("?", String::as_str);
    let sign = |bound: i32| if bound & 1 == 1 { "<=" } else { "<" };
    for i in 1..zone.size() {
        let (low, high) = (zone.entry(0, i), zone.entry(i, 0));
        if low != weak(0) {
            parts.push(format!("{} {} {}", -constant(low), sign(low), name(i)));
        }
        if high != INFINITY {
            parts.push(format!("{} {} {}", name(i), sign(high), constant(high)));
        }
    }
    for i in 1..zone.size() {
        for j in (1..zone.size()).filter(|&j| j != i) {
            let bound = zone.entry(i, j);
            let follows = add(zone.entry(i, 0), zone.entry(0, j));
            if bound != INFINITY && bound < follows {
                parts.push(format!("{} - {} {} {}", name(i), name(j), sign(bound), constant(bound)));
            }
        }
    }
    if parts.is_empty() { "true".into() } else { parts.join(", ") }
}
