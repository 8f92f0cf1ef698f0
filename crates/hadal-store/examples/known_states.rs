//! What a look-up in a table of states of one word costs, where the index says where states lie and where it holds them:
//! `cargo run --release -p hadal-store --example known_states STATES BITS KNOWN`, where KNOWN of KNOWN + 1 look-ups find a state.

use hadal_store::table::StateTable;
use hadal_store::{Governor, OverBudget};
use hadal_system::Payload;

/// Look-ups at a time.
const BATCH: usize = 512;
/// Asking for the place of a state while the table is small lets the index say places from then on.
const ASKED_BELOW: u64 = 90_000;

fn main() -> Result<(), OverBudget> {
    let mut numbers = std::env::args().skip(1).filter_map(|argument| argument.parse::<u64>().ok());
    let (states, bits, known) =
        (numbers.next().unwrap_or(300_000), numbers.next().unwrap_or(40), numbers.next().unwrap_or(3));
    let bits = (bits as u32).clamp(32, 64);
    for _ in 0..3 {
        for places in [true, false] {
            let (looked_up, seconds) = fill(states, bits, known, places)?;
            let what = if places { "places" } else { "states" };
            let nanoseconds = seconds * 1e9 / looked_up as f64;
            println!("{what} in the index: {nanoseconds:.1} ns of processor time a look-up");
        }
    }
    Ok(())
}

/// Fills a table; how many look-ups that took, and how many seconds.
fn fill(states: u64, bits: u32, known: u64, places: bool) -> Result<(u64, f64), OverBudget> {
    let mut table = StateTable::keeping((1, bits), Payload::NONE, 1, &Governor::new(4 << 30))?;
    let mut batch = Vec::with_capacity(BATCH);
    let (mut next, mut random, mut looked_up) = (0, 88_172_645_463_325_252u64, 0);
    let begun = processor_seconds();
    while next < states {
        batch.clear();
        for _ in 0..BATCH {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let is_new = random % (known + 1) == 0 || next == 0;
            let number = if is_new { next } else { (random >> 20) % next };
            next += u64::from(is_new);
            batch.push(number.wrapping_mul(0x2545_F491_4F6C_DD1D) & (u64::MAX >> (64 - bits)));
        }
        looked_up += BATCH as u64;
        table.insert_all(&batch, |_, _| {}, |_, _| {})?;
        if places && table.len() < ASKED_BELOW {
            table.find(&[0]);
        }
    }
    Ok((looked_up, processor_seconds() - begun))
}

fn processor_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is filled in where it exists; where it does not, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}
