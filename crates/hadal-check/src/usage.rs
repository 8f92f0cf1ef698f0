//! What this process has used so far, for reports.

use crate::memory::peak_resident;
pub use hadal_store::governor::give_back;

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

/// Lets go of the pages of the program's own code and constants. Reading and compiling a model touches most of them, those of
/// the code generator above all, and a search few; what is needed again comes back from the page cache.
fn release_code() {
    #[cfg(all(target_os = "linux", not(miri)))]
    for mapping in clean_mappings(
        &std::fs::read_to_string("/proc/self/smaps").unwrap_or_default(),
        release_code as fn() as usize,
    ) {
        // SAFETY: a mapping of the program's file that nobody may write and nobody has written: every page of it that is
        // touched again is read from there again, with the same contents.
        unsafe {
            libc::madvise(mapping.start as *mut libc::c_void, mapping.len(), libc::MADV_DONTNEED);
        }
    }
}

/// The mappings of those in `smaps` (proc(5)) that are of the file which holds the code at this address, may not be written and
/// have no pages of their own: relocated constants and what a debugger keeps its breakpoints in have some.
#[cfg(target_os = "linux")]
fn clean_mappings(smaps: &str, address: usize) -> Vec<std::ops::Range<usize>> {
    let range_of = |line: &str| -> Option<std::ops::Range<usize>> {
        let (start, end) = line.split_whitespace().next()?.split_once('-')?;
        Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
    };
    let (mut clean, mut file_of_code) = (Vec::new(), None);
    let mut mapping = None;
    for line in smaps.lines() {
        if let Some(range) = range_of(line) {
            let fields: Vec<&str> = line.split_whitespace().collect();
            let file = fields.get(5).copied().filter(|file| file.starts_with('/'));
            if range.contains(&address) {
                file_of_code = file;
            }
            let fixed = matches!(fields.get(1), Some(&("r-xp" | "r--p")));
            mapping = file.filter(|_| fixed).map(|file| (range, file));
        } else if line.strip_prefix("Anonymous:").is_some_and(|bytes| bytes.trim() == "0 kB") {
            clean.extend(mapping.take());
        }
    }
    clean.into_iter().filter(|(_, file)| file_of_code == Some(*file)).map(|(range, _)| range).collect()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_what_nobody_wrote_of_the_file_with_the_code_is_let_go() {
        let smaps = |permissions: &str, file: &str, dirty: u32| {
            format!(
                "1000-2000 r--p 00000000 00:01 7 {file}\nRss: 4 kB\nAnonymous: 0 kB\n\
                 2000-8000 {permissions} 00001000 00:01 7 {file}\nRss: 24 kB\nAnonymous:    {dirty} kB\n\
                 8000-9000 r--p 00007000 00:01 7 {file}\nRss: 4 kB\nAnonymous: 4 kB\n\
                 9000-a000 rw-p 00000000 00:00 0 \nRss: 4 kB\nAnonymous: 4 kB\n\
                 b000-c000 r-xp 00000000 00:01 8 /lib/other.so\nRss: 4 kB\nAnonymous: 0 kB\n"
            )
        };
        let (constants, code) = (0x1000..0x2000, 0x2000..0x8000);
        let of_hadal = smaps("r-xp", "/bin/hadal", 0);
        assert_eq!(clean_mappings(&of_hadal, 0x2abc), [constants.clone(), code]);
        let written = clean_mappings(&smaps("r-xp", "/bin/hadal", 4), 0x2abc);
        assert_eq!(written, std::slice::from_ref(&constants), "a breakpoint");
        assert_eq!(clean_mappings(&smaps("rwxp", "/bin/hadal", 0), 0x2abc), [constants], "may be written");
        assert!(clean_mappings(&smaps("r-xp", "", 0), 0x2abc).is_empty(), "of no file");
        assert!(clean_mappings(&of_hadal, 0x9abc).is_empty(), "elsewhere");
    }

    #[test]
    fn code_that_was_let_go_still_runs() {
        let smaps = std::fs::read_to_string("/proc/self/smaps").expect("this system has it");
        let clean = clean_mappings(&smaps, release_code as fn() as usize);
        assert!(clean.len() > 1, "constants as well as code: {clean:x?}");
        assert!(clean.iter().map(|mapping| mapping.len()).sum::<usize>() > 1 << 20, "{clean:x?}");
        release_code();
        assert!(begin_peak() > 0);
    }
}
