//! Linear functions over zones: the least value of `sum r(x) * x`, as a transportation problem.
//!
//! Its dual sends what clocks with negative slopes owe to those with positive ones along the bounds of the closed matrix
//! (Larsen et al., CAV 2001; the matrix being closed, arcs straight from supply to demand suffice). Vertices of zones are
//! integral, so the value is an integer.

use super::super::dbm::{INFINITY, Zone, constant};

/// The least value of `sum slope[x] * x` over the closure of a zone, and which bounds are tight there; `None` where there
/// is none. `slopes[0]` is of no matter.
pub(crate) fn minimise(zone: &Zone, slopes: &[i64]) -> Option<(i64, Vec<(usize, usize)>)> {
    let n = zone.size();
    let total: i64 = slopes[1..].iter().sum();
    // Node i wants a net inflow of r(i); the reference balances.
    let mut want: Vec<i64> = slopes.to_vec();
    want[0] = -total;
    let sources: Vec<usize> = (0..n).filter(|&i| want[i] < 0).collect();
    let sinks: Vec<usize> = (0..n).filter(|&i| want[i] > 0).collect();
    let mut supply: Vec<i64> = sources.iter().map(|&i| -want[i]).collect();
    let mut demand: Vec<i64> = sinks.iter().map(|&i| want[i]).collect();
    let (s, t) = (sources.len(), sinks.len());
    let cost = |a: usize, b: usize| {
        let bound = zone.entry(sources[a], sinks[b]);
        (bound != INFINITY).then(|| i64::from(constant(bound)))
    };
    let mut flow = vec![0i64; s * t];
    let mut value = 0i64;
    while supply.iter().any(|&left| left > 0) {
        // Shortest ways from all open supplies through arcs and flow that may be taken back (Bellman and Ford).
        let mut to_source: Vec<Option<i64>> = supply.iter().map(|&left| (left > 0).then_some(0)).collect();
        let mut to_sink: Vec<Option<i64>> = vec![None; t];
        let (mut sink_from, mut source_from) = (vec![usize::MAX; t], vec![usize::MAX; s]);
        let mut changed = true;
        while changed {
            changed = false;
            for a in 0..s {
                let Some(so_far) = to_source[a] else { continue };
                for b in 0..t {
                    let Some(cost) = cost(a, b) else { continue };
                    if to_sink[b].is_none_or(|known| so_far + cost < known) {
                        (to_sink[b], sink_from[b]) = (Some(so_far + cost), a);
                        changed = true;
                    }
                }
            }
            for b in 0..t {
                let Some(so_far) = to_sink[b] else { continue };
                for a in (0..s).filter(|&a| flow[a * t + b] > 0) {
                    let back = so_far - cost(a, b)?;
                    if to_source[a].is_none_or(|known| back < known) {
                        (to_source[a], source_from[a]) = (Some(back), b);
                        changed = true;
                    }
                }
            }
        }
        let open = (0..t).filter(|&b| demand[b] > 0 && to_sink[b].is_some());
        let end = open.min_by_key(|&b| to_sink[b])?;
        // Walk back for what fits, then again to send it.
        let (mut amount, mut b) = (demand[end], end);
        let start = loop {
            let a = sink_from[b];
            match source_from[a] {
                usize::MAX => break a,
                before => {
                    amount = amount.min(flow[a * t + before]);
                    b = before;
                }
            }
        };
        amount = amount.min(supply[start]);
        value += amount * to_sink[end]?;
        let mut b = end;
        loop {
            let a = sink_from[b];
            flow[a * t + b] += amount;
            match source_from[a] {
                usize::MAX => break,
                before => {
                    flow[a * t + before] -= amount;
                    b = before;
                }
            }
        }
        supply[start] -= amount;
        demand[end] -= amount;
    }
    let tight = (0..s)
        .flat_map(|a| (0..t).map(move |b| (a, b)))
        .filter(|&(a, b)| flow[a * t + b] > 0)
        .map(|(a, b)| (sources[a], sinks[b]))
        .collect();
    Some((-value, tight))
}
