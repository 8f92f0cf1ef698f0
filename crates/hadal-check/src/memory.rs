//! How much memory there is, and how much of a budget a model leaves for its search.

use crate::error::CheckError;
use hadal_exec::compile::code_bytes;
use hadal_system::units::size;

/// The least budget that may be asked for; a search of a small model goes far in it, others say what they need.
pub const LEAST_MEMORY: u64 = 1 << 20;
/// The budget in which every strategy works.
pub const ENOUGH_MEMORY: u64 = 16 << 20;
/// What the program and a small model take besides the budget: most of the fixed overhead. Resident, and of that what was
/// allocated or is machine code.
const PROGRAM_ALLOWANCE: u64 = 14 << 20;
const ALLOCATED_ALLOWANCE: u64 = 3 << 20;
/// A search has this much left beside a large model, or three quarters of a small budget.
const LEAST_LEFT: u64 = 12 << 20;

/// Three quarters of what the machine has free, or 1 GiB where it does not say.
pub fn default_memory() -> u64 {
    let text = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let available = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok());
    available.map_or(1 << 30, |kib| kib * 1024 / 4 * 3)
}

/// As many as there are cores.
pub fn default_threads() -> usize {
    std::thread::available_parallelism().map_or(1, |n| n.get()).min(64)
}

/// Memory that this process has resident, in bytes; 0 where the system does not say.
pub fn resident() -> u64 {
    status_bytes("VmRSS:")
}

/// The most memory this process had resident, in bytes; 0 where the system does not say.
pub fn peak_resident() -> u64 {
    status_bytes("VmHWM:")
}

fn status_bytes(name: &str) -> u64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    text.lines()
        .find_map(|line| line.strip_prefix(name))
        .and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok())
        .map_or(0, |kib| kib * 1024)
}

/// What the allocator has given out, in bytes. Unlike what is resident it is the same every time: which pages the system
/// keeps depends on everything that runs beside.
fn allocated() -> Option<u64> {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    let bytes = {
        // SAFETY: asks the allocator for its figures; it touches nothing else.
        let figures = unsafe { libc::mallinfo2() };
        Some((figures.uordblks + figures.hblkhd) as u64)
    };
    #[cfg(not(all(target_os = "linux", target_env = "gnu")))]
    let bytes = None;
    bytes
}

/// What the model takes of the budget, in whole megabytes: a search with the same budget is to do the same every time.
fn model_bytes() -> u64 {
    match allocated() {
        Some(bytes) => beyond(bytes + code_bytes(), ALLOCATED_ALLOWANCE),
        None => beyond(resident(), PROGRAM_ALLOWANCE),
    }
}

/// What these bytes are beyond an allowance, in whole megabytes.
fn beyond(bytes: u64, allowance: u64) -> u64 {
    bytes.saturating_sub(allowance).next_multiple_of(1 << 20)
}

/// What is left of the budget for the search: a model of more than a few megabytes counts.
pub(crate) fn search_budget(memory: u64) -> Result<u64, CheckError> {
    let model = model_bytes();
    left_beside(model, memory).ok_or_else(|| {
        CheckError::Question(format!(
            "the model itself takes {} of memory, which leaves too little of {} to search with; give it --memory {}M at \
             least",
            size(model),
            size(memory),
            least_beside(model) >> 20,
        ))
    })
}

/// What a model of so many bytes leaves of the budget, where that is enough.
fn left_beside(model: u64, memory: u64) -> Option<u64> {
    memory.checked_sub(model).filter(|&left| left >= LEAST_LEFT.min(memory / 4 * 3))
}

/// The least whole megabytes that are enough beside a model of so many bytes.
fn least_beside(model: u64) -> u64 {
    (model + LEAST_LEFT).min(model * 4).max(LEAST_MEMORY).next_multiple_of(1 << 20)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_model_takes_nothing_of_the_budget_and_a_large_one_takes_itself() {
        assert_eq!(beyond(ALLOCATED_ALLOWANCE, ALLOCATED_ALLOWANCE), 0);
        assert_eq!(beyond(100, ALLOCATED_ALLOWANCE), 0);
        // Whole megabytes: a few bytes more or less do not make another budget.
        assert_eq!(beyond(ALLOCATED_ALLOWANCE + 100, ALLOCATED_ALLOWANCE), 1 << 20);
        assert_eq!(beyond(ALLOCATED_ALLOWANCE + 900, ALLOCATED_ALLOWANCE), 1 << 20);
    }

    #[test]
    fn what_is_said_to_be_enough_beside_a_model_is() {
        for model in 0..64u64 {
            let model = model << 20;
            let enough = least_beside(model);
            assert!(left_beside(model, enough).is_some(), "{model} bytes of {enough}");
            assert_eq!(left_beside(model, enough - (1 << 20)).filter(|_| enough > LEAST_MEMORY), None);
        }
    }

    #[test]
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    fn what_is_allocated_is_counted_whether_it_is_resident_or_not() {
        let before = allocated().expect("this allocator says");
        let large = std::hint::black_box(vec![0u8; 256 << 20]);
        let with_it = allocated().expect("this allocator says");
        assert!(with_it > before + (200 << 20), "{before}, then {with_it}");
        drop(large);
    }
}
