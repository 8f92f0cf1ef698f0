//! What this process has used so far, for reports.

use crate::memory::peak_resident;

/// Processor seconds of this process so far, all threads, user and system.
pub fn cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the clock is filled in where it exists; where it does not, it stays zero.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9
}

/// Gives memory that reading and compiling the model left behind back to the system, and begins to count the peak anew.
/// Returns the peak so far.
pub fn begin_peak() -> u64 {
    let before = peak_resident();
    give_back();
    release_code();
    // 5 resets the peak (proc(5)); where that is refused, the peak counts from the start.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    before
}

/// Gives memory that is free back to the system.
pub fn give_back() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // SAFETY: asks the allocator to return free memory; it touches nothing that is in use.
    unsafe {
        libc::malloc_trim(0);
    }
}

/// Lets go of the pages of the program's own code. Reading and compiling a model touches most of it, the code generator
/// above all, and a search little; what is needed again comes back from the page cache.
fn release_code() {
    #[cfg(all(target_os = "linux", not(miri)))]
    if let Some(code) = mapped_code(
        &std::fs::read_to_string("/proc/self/smaps").unwrap_or_default(),
        release_code as fn() as usize,
    ) {
        // SAFETY: a mapping of the program's file that nobody may write and nobody has written: every page of it that is
        // touched again is read from there again, with the same contents.
        unsafe { libc::madvise(code.start as *mut libc::c_void, code.len(), libc::MADV_DONTNEED) };
    }
}

/// The mapping that holds the code at this address, of those in `smaps` (proc(5)). None where it may be written, belongs to no
/// file, or has pages of its own: a debugger keeps its breakpoints in such.
#[cfg(target_os = "linux")]
fn mapped_code(smaps: &str, address: usize) -> Option<std::ops::Range<usize>> {
    let range_of = |line: &str| -> Option<std::ops::Range<usize>> {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    };
    let mut lines =
        smaps.lines().skip_while(|line| !range_of(line).is_some_and(|range| range.contains(&address)));
    let mapping = lines.next()?;
    let (range, fields) = (range_of(mapping)?, mapping.split_whitespace().collect::<Vec<_>>());
    let is_code = fields.get(1) == Some(&"r-xp") && fields.get(5).is_some_and(|file| file.starts_with('/'));
    let mut about = lines.take_while(|line| range_of(line).is_none());
    let is_clean = about.find_map(|line| line.strip_prefix("Anonymous:"))?.trim() == "0 kB";
    (is_code && is_clean).then_some(range)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_code_of_a_file_that_nobody_wrote_is_let_go() {
        let smaps = |permissions: &str, file: &str, dirty: u32| {
            format!(
                "1000-2000 r--p 00000000 00:01 7 /bin/hadal\nRss: 4 kB\nAnonymous: 4 kB\n\
                 2000-8000 {permissions} 00001000 00:01 7 {file}\nRss: 24 kB\nAnonymous:    {dirty} kB\n\
                 8000-9000 rw-p 00000000 00:00 0 \nRss: 4 kB\nAnonymous: 4 kB\n"
            )
        };
        assert_eq!(mapped_code(&smaps("r-xp", "/bin/hadal", 0), 0x2abc), Some(0x2000..0x8000));
        assert_eq!(mapped_code(&smaps("r-xp", "/bin/hadal", 4), 0x2abc), None, "a breakpoint");
        assert_eq!(mapped_code(&smaps("rwxp", "/bin/hadal", 0), 0x2abc), None, "may be written");
        assert_eq!(mapped_code(&smaps("r-xp", "", 0), 0x2abc), None, "of no file");
        assert_eq!(mapped_code(&smaps("r-xp", "/bin/hadal", 0), 0x9abc), None, "elsewhere");
    }

    #[test]
    fn code_that_was_let_go_still_runs() {
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("this system has it");
        let code = mapped_code(&smaps, release_code as fn() as usize).expect("nobody writes into code");
        assert!(code.len() > 1 << 20, "{code:x?}");
        release_code();
        assert!(begin_peak() > 0);
    }
}
