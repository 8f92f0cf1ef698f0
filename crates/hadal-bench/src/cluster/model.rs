//! How long more workers would take: a model of the exchange, computed from what one and two workers took.
//!
//! Layers below the width at which workers divide their states take as long as alone. Of a wider layer every worker has its share,
//! as uneven as a hash of so many states makes it, ships what others own of its successors at what shipping took two workers,
//! and waits for the slowest. Layers come one after the other, each with two meetings of all.

use super::measure::Taken;
use serde::Serialize;

/// Layers below this many states are explored by everybody alone, as long as all together have four times as many.
const SMALL: u64 = 65_536;

/// What lies between the workers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Network {
    pub(super) name: &'static str,
    /// Bytes that a worker sends in a second.
    bytes: f64,
    /// Seconds of a message to another.
    latency: f64,
}

impl Network {
    /// Workers of one machine.
    pub(super) const ONE_MACHINE: Network = Network { name: "one machine", bytes: 4e9, latency: 20e-6 };
    /// Machines with ten gigabits a second between them.
    pub(super) const TEN_GIGABIT: Network = Network { name: "10 Gbit/s", bytes: 1.1e9, latency: 60e-6 };
}

/// What the model says.
#[derive(Debug, Serialize)]
pub(super) struct Prediction {
    pub(super) workers: u32,
    pub(super) network: &'static str,
    pub(super) seconds: f64,
    /// Over one worker.
    pub(super) speed_up: f64,
}

/// The time of so many workers, from those of one and of two.
pub(super) fn predict((alone, two): (&Taken, &Taken), workers: u32, network: Network) -> Prediction {
    let p = f64::from(workers);
    let in_layers: f64 = alone.layers.iter().map(|layer| layer.seconds).sum();
    let besides = (alone.seconds - in_layers).max(0.0);
    // Shipping is what two workers took in processor time beyond one.
    let shipping = (two.cpu_seconds - alone.cpu_seconds).max(0.0) / two.sent_states.max(1) as f64;
    let bytes = two.sent_bytes as f64 / two.sent_states.max(1) as f64;
    let (mut seconds, mut seen) = (besides, 0);
    for layer in &alone.layers {
        seen += layer.states;
        if layer.states < SMALL && seen < 4 * SMALL {
            seconds += layer.seconds;
            continue;
        }
        let shipped = layer.candidates as f64 * (p - 1.0) / p / p;
        let own = uneven(layer.states, p) * (layer.seconds / p + shipped * shipping);
        // Sending goes on beside expanding; what is slower counts.
        seconds += own.max(shipped * bytes / network.bytes) + 2.0 * network.latency * p.log2().max(1.0);
    }
    Prediction { workers, network: network.name, seconds, speed_up: alone.seconds / seconds }
}

/// The largest share of so many states over an even one, as a hash deals them out.
fn uneven(states: u64, p: f64) -> f64 {
    let share = states as f64 / p;
    1.0 + (2.0 * p.ln() / share.max(1.0)).sqrt()
}

#[cfg(test)]
mod tests {
    use super::super::measure::LayerTaken;
    use super::*;

    fn taken(wall: f64, cpu: f64, layers: &[(u64, u64, f64)]) -> Taken {
        let of =
            |&(states, candidates, seconds): &(u64, u64, f64)| LayerTaken { states, candidates, seconds };
        Taken {
            verdict: "holds".into(),
            states: 0,
            transitions: 0,
            seconds: wall,
            cpu_seconds: cpu,
            busiest_seconds: 0.0,
            sent_bytes: 6_000_000,
            sent_states: 1_000_000,
            most_inbox_bytes: 0,
            layers: layers.iter().map(of).collect(),
        }
    }

    #[test]
    fn small_layers_are_not_divided_and_wide_ones_nearly_evenly() {
        let small = taken(1.0, 1.0, &[(1000, 2000, 0.9)]);
        let same = predict((&small, &small), 64, Network::ONE_MACHINE);
        assert!((same.seconds - 1.0).abs() < 1e-9, "{same:?}");
        let wide = taken(100.0, 100.0, &[(50_000_000, 80_000_000, 100.0)]);
        let two = predict((&wide, &wide), 2, Network::ONE_MACHINE);
        assert!((two.speed_up - 2.0).abs() < 0.01, "{two:?}");
        let many = predict((&wide, &wide), 1024, Network::TEN_GIGABIT);
        assert!(many.speed_up > 900.0 && many.speed_up < 1024.0, "{many:?}");
    }

    #[test]
    fn shipping_costs_what_two_workers_took_for_it() {
        let one = taken(100.0, 100.0, &[(50_000_000, 80_000_000, 100.0)]);
        // A millionth of a second for each state that was shipped.
        let two = taken(60.0, 101.0, &[]);
        let predicted = predict((&one, &two), 2, Network::ONE_MACHINE);
        assert!((predicted.seconds - (50.0 + 20.0)).abs() < 0.2, "{predicted:?}");
    }
}
